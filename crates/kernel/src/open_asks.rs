//! Tells which contracts only wait for other contracts or for a person. Engines show hirers what their hires wait for, and stop
//! the session's time while only a person is awaited.

use std::collections::BTreeMap;

use crate::{Addressee, Ask, AskId, Fact, Path};

/// The asks of a session that have no answer yet, by contract: a fold of the session's facts.
#[derive(Clone, Debug, Default)]
pub struct OpenAsks(BTreeMap<Path, BTreeMap<AskId, Awaited>>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Awaited {
    /// Work of the contract itself, such as a model call.
    Work,
    Report(Path),
    Money,
    Owner,
}

/// What a contract waits for while it does no work itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The reports of these hires.
    Reports(Vec<Path>),
    /// More money from its hirer.
    Money,
    /// The answer of the person who pays.
    Owner,
}

impl OpenAsks {
    /// Takes a fact of a contract. The facts of each contract must come in their order.
    pub fn apply(&mut self, contract: &Path, fact: &Fact) {
        if let Fact::Closed(_) = fact {
            self.0.remove(contract);
        } else if let Some((id, _)) = fact.answered() {
            if let Some(open) = self.0.get_mut(contract) {
                open.remove(&id);
            }
        } else if let Some((id, ask)) = fact.asked() {
            let awaited = match ask {
                Ask::Hire { brief, .. } => Awaited::Report(brief.path.clone()),
                Ask::Question { to: Addressee::Owner, .. } => Awaited::Owner,
                Ask::Draw { .. } => Awaited::Money,
                Ask::Question { to: Addressee::Hirer, .. }
                | Ask::Model(_)
                | Ask::Tool(_)
                | Ask::Check(_)
                | Ask::Tell { .. } => Awaited::Work,
            };
            self.0.entry(contract.clone()).or_default().insert(id, awaited);
        }
    }

    /// Whether a contract waits for a person: for an answer, or, with no open asks, for the next message to a root that stays
    /// open.
    pub fn waits_for_person(&self, contract: &Path) -> bool {
        self.0
            .get(contract)
            .is_none_or(|open| open.is_empty() || open.values().any(|awaited| *awaited == Awaited::Owner))
    }

    /// Returns what each hire of a contract waits for. A hire that works itself, or has no open ask, is left out.
    pub fn of_hires(&self, hirer: &Path) -> BTreeMap<Path, WaitsFor> {
        let is_hire = |contract: &Path| contract.hirer().as_ref() == Some(hirer);
        let below = self.0.iter().filter(|(contract, _)| is_hire(contract));
        below.filter_map(|(contract, open)| Some((contract.clone(), waits_for(open)?))).collect()
    }
}

fn waits_for(open: &BTreeMap<AskId, Awaited>) -> Option<WaitsFor> {
    let (mut reports, mut money, mut owner) = (Vec::new(), None, None);
    for awaited in open.values() {
        match awaited {
            Awaited::Work => return None,
            Awaited::Owner => owner = Some(WaitsFor::Owner),
            Awaited::Money => money = Some(WaitsFor::Money),
            Awaited::Report(hire) => reports.push(hire.clone()),
        }
    }
    owner.or(money).or_else(|| (!reports.is_empty()).then_some(WaitsFor::Reports(reports)))
}

#[cfg(test)]
mod tests {
    use super::{OpenAsks, WaitsFor};
    use crate::{
        Addressee, Answer, Ask, AskId, Check, Cost, Fact, Hash, Hold, Matter, Millis, Msat, Origin, Path, TextKind,
        TextRef,
    };

    #[test]
    fn a_contract_waits_for_its_owner_once_it_has_no_work_of_its_own() {
        let path = |path: &str| path.parse::<Path>().unwrap();
        let text = TextRef { hash: Hash([0; 32]), bytes: 1, kind: TextKind::Words };
        let asked = |id, ask| Fact::Asked { id: AskId(id), ask, hold: Hold::default(), origin: Origin::Outside };
        let question = Ask::Question { to: Addressee::Owner, matter: Matter::Text(text), until: Millis(1) };
        let check = Ask::Check(Check { what: text, price: Msat::ZERO });
        let mut open = OpenAsks::default();
        assert!(open.waits_for_person(&path("1.2")));
        open.apply(&path("1.2"), &asked(1, check));
        assert!(!open.waits_for_person(&path("1.2")));
        open.apply(&path("1.2"), &asked(2, question));
        assert_eq!((open.of_hires(&path("1")), open.waits_for_person(&path("1.2"))), ([].into(), true));
        let cost = Cost::Known(Msat::ZERO);
        open.apply(&path("1.2"), &Fact::Answered { id: AskId(1), answer: Answer::Passed, cost });
        assert_eq!(open.of_hires(&path("1")), [(path("1.2"), WaitsFor::Owner)].into());
        open.apply(&path("1.2"), &Fact::Answered { id: AskId(2), answer: Answer::NoReply, cost });
        assert_eq!((open.of_hires(&path("1")), open.of_hires(&path("1.2"))), ([].into(), [].into()));
    }

    #[test]
    fn a_contract_waits_for_money_until_its_draw_is_answered_also_if_it_ends_the_draw_itself() {
        let (hirer, hire) = (Path::root(1), Path::root(1).hire(2));
        let draw = Ask::Draw { least: Msat::from_sat(3).unwrap() };
        let drawn = Fact::Asked { id: AskId(7), ask: draw, hold: Hold::default(), origin: Origin::Course };
        for answer in [Answer::Met, Answer::NotMet] {
            let mut open = OpenAsks::default();
            open.apply(&hire, &drawn);
            // The hirer knows nothing of money from a person, or of an ending: only the facts of the hire tell.
            assert_eq!(open.of_hires(&hirer), [(hire.clone(), WaitsFor::Money)].into());
            assert!(!open.waits_for_person(&hire));
            open.apply(&hire, &Fact::Answered { id: AskId(7), answer, cost: Cost::Known(Msat::ZERO) });
            assert_eq!(open.of_hires(&hirer), [].into());
        }
    }
}
