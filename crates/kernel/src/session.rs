//! The session: a funded account with one root contract per request, and later corrections. Its state is a fold of its
//! own facts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::money::{Msat, Quantity};
use crate::path::{AskKey, Path};
use crate::text::TextRef;

/// Something that happened to a session's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFact {
    /// A person added money: for the session, or as a top-up for a root that is at work.
    Funded {
        /// The amount.
        money: Msat,
        /// The root that gets the money immediately.
        root: Option<Path>,
    },
    /// A root contract was granted part of the money.
    Requested {
        /// The root; roots are numbered in order.
        root: Path,
        /// Its grant.
        money: Msat,
        /// The price table and the rate, locked for this root.
        prices: TextRef,
    },
    /// A person learned that an ask had cost less than its charge: the difference goes back to the session.
    Corrected {
        /// The ask.
        ask: AskKey,
        /// The difference.
        credit: Msat,
    },
    /// A root contract closed; its change went back to the session.
    Ended {
        /// The root.
        root: Path,
        /// The money that the root spent.
        spent: Msat,
        /// The part of `spent` that may not have been billed. Absent in form 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Msat>,
        /// The part of `spent` that is an upper bound. Absent in form 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimated: Option<Msat>,
    },
}

/// Why a session's account can't take a fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The session does not have enough money.
    #[error("{asked} was asked for, but only {free} is left in the session: add money to the session, or grant less")]
    Overdrawn {
        /// The requested amount.
        asked: Msat,
        /// The amount that is left.
        free: Msat,
    },
    /// The sum exceeds the supply of bitcoin.
    #[error("the sum would exceed 21 million BTC: fund the session with less")]
    BeyondSupply,
    /// Roots are numbered in order, and end once.
    #[error("root {root} does not exist, or has ended")]
    NotThisRoot {
        /// The root that was named.
        root: Path,
    },
    /// A root can't spend more than its grant, and a credit can't be more than the root could have spent.
    #[error("{claimed} is more than the {most} that was available")]
    Impossible {
        /// The claimed amount.
        claimed: Msat,
        /// The maximum amount.
        most: Msat,
    },
    /// The ask was corrected before, by a different amount.
    #[error("ask {ask} was corrected before, by {before}")]
    Contradicted {
        /// The ask.
        ask: AskKey,
        /// The earlier amount.
        before: Msat,
    },
}

/// A fact of a session's journal that can't have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {} of the session's account can't have happened: {source}", .index + 1)]
pub struct SessionCorrupt {
    /// The fact's place, counted from 0.
    pub index: usize,
    /// The reason.
    pub source: SessionError,
}

/// A session's account: `funded + credited = free + granted to roots at work + spent`.
///
/// ```
/// use guildhall_kernel::{Hash, Msat, Path, Session, SessionFact, TextKind, TextRef};
/// let prices = TextRef { hash: Hash([0; 32]), bytes: 0, kind: TextKind::Prices };
/// let sat = |sat| Msat::from_sat(sat).unwrap();
/// let session = Session::restore([
///     SessionFact::Funded { money: sat(100), root: None },
///     SessionFact::Requested { root: Path::root(1), money: sat(60), prices },
///     SessionFact::Ended { root: Path::root(1), spent: sat(25), reserved: Some(sat(5)), estimated: None },
/// ]).unwrap();
/// assert_eq!((session.free(), session.reserved()), (sat(75), sat(5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    free: Msat,
    spent: Msat,
    reserved: Msat,
    estimated: Msat,
    credited: Msat,
    /// All roots, in order.
    roots: Vec<Root>,
    /// The credit of each corrected ask. The same correction twice counts once.
    corrections: BTreeMap<AskKey, Msat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Root {
    /// While the root is at work: the most that it may spend. After it ended: what it spent.
    most: Msat,
    /// The most that corrections may return: everything that the root may spend, until the root ends and says how much
    /// is reserved.
    correctable: Msat,
    credited: Msat,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    AtWork,
    Ended,
}

impl Session {
    /// Restores a session from its stored facts.
    pub fn restore(facts: impl IntoIterator<Item = SessionFact>) -> Result<Session, SessionCorrupt> {
        let mut session = Session::default();
        for (index, fact) in facts.into_iter().enumerate() {
            session.apply(&fact).map_err(|source| SessionCorrupt { index, source })?;
        }
        Ok(session)
    }

    /// Applies one fact, or says why the fact can't have happened. A refused fact changes nothing.
    pub fn apply(&mut self, fact: &SessionFact) -> Result<(), SessionError> {
        match fact {
            SessionFact::Funded { money, root } => self.fund(*money, root.as_ref()),
            SessionFact::Requested { root, money, .. } => self.request(root, *money),
            SessionFact::Corrected { ask, credit } => self.correct(ask, *credit),
            SessionFact::Ended { root, spent, reserved, estimated } => {
                self.end(root, *spent, *reserved, estimated.unwrap_or(Msat::ZERO))
            }
        }
    }

    /// Returns the money that no root has been granted.
    pub fn free(&self) -> Msat {
        self.free
    }

    /// Returns the money that ended roots have spent, before corrections.
    pub fn spent(&self) -> Msat {
        self.spent
    }

    /// Returns the part of the spent money that may not have been billed, before corrections.
    pub fn reserved(&self) -> Msat {
        self.reserved
    }

    /// Returns the part of the spent money that is an upper bound.
    pub fn estimated(&self) -> Msat {
        self.estimated
    }

    /// Returns the money that corrections gave back: the money reserved for the corrected calls minus the cost of those calls.
    pub fn credited(&self) -> Msat {
        self.credited
    }

    /// Returns the path of the next root.
    pub fn next_root(&self) -> Path {
        Path::root(u32::try_from(self.roots.len()).map_or(u32::MAX, |roots| roots.saturating_add(1)))
    }

    /// Returns whether the session had this root and the root has ended.
    pub fn has_ended(&self, root: &Path) -> bool {
        let place = usize::try_from(root.ordinal()).ok().and_then(|ordinal| ordinal.checked_sub(1));
        let found = place.and_then(|place| self.roots.get(place)).filter(|_| root.level() == 0);
        found.is_some_and(|root| root.stage == Stage::Ended)
    }

    fn fund(&mut self, money: Msat, root: Option<&Path>) -> Result<(), SessionError> {
        let at_work = self.roots.iter().filter(|root| root.stage == Stage::AtWork).map(|root| root.most);
        let held = at_work.into_iter().try_fold(self.free, Msat::plus).and_then(|sum| sum.plus(money));
        held.ok_or(SessionError::BeyondSupply)?;
        let account = match root {
            None => &mut self.free,
            Some(root) => &mut self.at_work(root)?.most,
        };
        *account = account.plus(money).ok_or(SessionError::BeyondSupply)?;
        if let Some(root) = root {
            let root = self.at_work(root)?;
            root.correctable = root.most;
        }
        Ok(())
    }

    fn request(&mut self, root: &Path, money: Msat) -> Result<(), SessionError> {
        if *root != self.next_root() {
            return Err(SessionError::NotThisRoot { root: root.clone() });
        }
        self.free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.roots.push(Root { most: money, correctable: money, credited: Msat::ZERO, stage: Stage::AtWork });
        Ok(())
    }

    fn correct(&mut self, ask: &AskKey, credit: Msat) -> Result<(), SessionError> {
        match self.corrections.get(ask) {
            Some(before) if *before == credit => return Ok(()),
            Some(before) => return Err(SessionError::Contradicted { ask: ask.clone(), before: *before }),
            None => {}
        }
        let root = self.root(&ask.contract.top())?;
        let most = root.correctable.minus(root.credited).unwrap_or(Msat::ZERO);
        if credit > most {
            return Err(SessionError::Impossible { claimed: credit, most });
        }
        let of_root = root.credited.plus(credit).ok_or(SessionError::BeyondSupply)?;
        let free = self.free.plus(credit).ok_or(SessionError::BeyondSupply)?;
        let credited = self.credited.plus(credit).ok_or(SessionError::BeyondSupply)?;
        self.root(&ask.contract.top())?.credited = of_root;
        (self.free, self.credited) = (free, credited);
        self.corrections.insert(ask.clone(), credit);
        Ok(())
    }

    fn end(&mut self, root: &Path, spent: Msat, reserved: Option<Msat>, estimated: Msat) -> Result<(), SessionError> {
        let Root { most, credited, .. } = *self.at_work(root)?;
        let change = most.minus(spent).ok_or(SessionError::Impossible { claimed: spent, most })?;
        // Form 1 does not store what is reserved, so all spent money may be reserved.
        let correctable = reserved.unwrap_or(spent).max(credited);
        let uncertain = reserved.unwrap_or(Msat::ZERO).plus(estimated).ok_or(SessionError::BeyondSupply)?;
        for (claimed, most) in [(uncertain, spent), (credited, spent)] {
            if claimed > most {
                return Err(SessionError::Impossible { claimed, most });
            }
        }
        let sum = |before: Msat, more: Msat| before.plus(more).ok_or(SessionError::BeyondSupply);
        let (free, all_spent) = (sum(self.free, change)?, sum(self.spent, spent)?);
        let all_reserved = sum(self.reserved, reserved.unwrap_or(Msat::ZERO))?;
        let all_estimated = sum(self.estimated, estimated)?;
        *self.at_work(root)? = Root { most: spent, correctable, credited, stage: Stage::Ended };
        (self.free, self.spent, self.reserved, self.estimated) = (free, all_spent, all_reserved, all_estimated);
        Ok(())
    }

    fn root(&mut self, root: &Path) -> Result<&mut Root, SessionError> {
        let place = usize::try_from(root.ordinal()).unwrap_or(usize::MAX) - 1;
        let found = if root.level() == 0 { self.roots.get_mut(place) } else { None };
        found.ok_or(SessionError::NotThisRoot { root: root.clone() })
    }

    fn at_work(&mut self, root: &Path) -> Result<&mut Root, SessionError> {
        match self.root(root)? {
            found if found.stage == Stage::AtWork => Ok(found),
            _ended => Err(SessionError::NotThisRoot { root: root.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Session, SessionError, SessionFact};
    use crate::{AskId, AskKey, Hash, Msat, Path, TextKind, TextRef};

    fn sat(sat: u64) -> Msat {
        Msat::from_sat(sat).unwrap()
    }

    fn requested(root: u32, money: u64) -> SessionFact {
        let prices = TextRef { hash: Hash([7; 32]), bytes: 9, kind: TextKind::Prices };
        SessionFact::Requested { root: Path::root(root), money: sat(money), prices }
    }

    #[test]
    fn a_root_is_not_granted_more_than_the_session_has() {
        let mut session = Session::restore([SessionFact::Funded { money: sat(100), root: None }]).unwrap();
        let refused = session.apply(&requested(1, 101));
        assert_eq!(refused, Err(SessionError::Overdrawn { asked: sat(101), free: sat(100) }));
        assert_eq!(session.apply(&requested(2, 1)), Err(SessionError::NotThisRoot { root: Path::root(2) }));
        assert_eq!(session.apply(&requested(1, 100)), Ok(()));
        assert_eq!(session.free(), Msat::ZERO);
    }

    #[test]
    fn a_top_up_goes_to_a_root_at_work_and_the_roots_change_comes_back() {
        let mut session = Session::default();
        let top_up = SessionFact::Funded { money: sat(5), root: Some(Path::root(1)) };
        assert_eq!(session.apply(&top_up), Err(SessionError::NotThisRoot { root: Path::root(1) }));
        for fact in [SessionFact::Funded { money: sat(10), root: None }, requested(1, 10), top_up] {
            assert_eq!(session.apply(&fact), Ok(()));
        }
        let ended =
            |spent| SessionFact::Ended { root: Path::root(1), spent: sat(spent), reserved: None, estimated: None };
        assert_eq!(session.apply(&ended(16)), Err(SessionError::Impossible { claimed: sat(16), most: sat(15) }));
        assert_eq!(session.apply(&ended(12)), Ok(()));
        assert_eq!(session.apply(&ended(12)), Err(SessionError::NotThisRoot { root: Path::root(1) }));
        assert_eq!((session.free(), session.spent()), (sat(3), sat(12)));
    }

    #[test]
    fn corrections_are_credited_up_to_the_spent_money() {
        let ended = SessionFact::Ended { root: Path::root(1), spent: sat(8), reserved: None, estimated: None };
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let mut session = Session::restore([funded, requested(1, 10), ended]).unwrap();
        let key = |root, ask| AskKey { contract: Path::root(root).hire(2), ask: AskId(ask) };
        let corrected = |ask, credit| SessionFact::Corrected { ask: key(1, ask), credit: sat(credit) };
        assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
        assert_eq!(session.apply(&corrected(2, 3)), Err(SessionError::Impossible { claimed: sat(3), most: sat(2) }));
        assert_eq!((session.free(), session.credited()), (sat(8), sat(6)));
        // The same correction twice counts once; a different correction of the same ask is an error.
        assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
        let contradicted = SessionError::Contradicted { ask: key(1, 1), before: sat(6) };
        assert_eq!(session.apply(&corrected(1, 2)), Err(contradicted));
        let stranger = SessionFact::Corrected { ask: key(2, 1), credit: sat(1) };
        assert_eq!(session.apply(&stranger), Err(SessionError::NotThisRoot { root: Path::root(2) }));
        assert_eq!((session.free(), session.credited(), session.spent()), (sat(8), sat(6), sat(8)));
        assert_eq!(session.apply(&corrected(2, 2)), Ok(()), "corrections may return all spent money");
    }

    #[test]
    fn only_reserved_money_can_be_corrected_once_the_root_reports_how_much_is_reserved() {
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let ended = |reserved, estimated| SessionFact::Ended {
            root: Path::root(1),
            spent: sat(8),
            reserved: Some(sat(reserved)),
            estimated: Some(sat(estimated)),
        };
        let mut session = Session::restore([funded, requested(1, 10)]).unwrap();
        let impossible = |claimed, most| Err(SessionError::Impossible { claimed: sat(claimed), most: sat(most) });
        assert_eq!(
            session.apply(&ended(5, 4)),
            impossible(9, 8),
            "reserved and estimated are parts of the spent money"
        );
        assert_eq!(session.apply(&ended(3, 1)), Ok(()));
        let ask = AskKey { contract: Path::root(1), ask: AskId(3) };
        let corrected = |credit| SessionFact::Corrected { ask: ask.clone(), credit: sat(credit) };
        assert_eq!(session.apply(&corrected(4)), impossible(4, 3));
        assert_eq!(session.apply(&corrected(3)), Ok(()));
        assert_eq!((session.free(), session.reserved(), session.estimated()), (sat(5), sat(3), sat(1)));
    }

    #[test]
    fn a_root_at_work_can_be_corrected_and_must_have_spent_at_least_the_credit() {
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let mut session = Session::restore([funded, requested(1, 10)]).unwrap();
        let ask = AskKey { contract: Path::root(1), ask: AskId(3) };
        assert_eq!(session.apply(&SessionFact::Corrected { ask, credit: sat(4) }), Ok(()));
        let ended =
            |spent| SessionFact::Ended { root: Path::root(1), spent: sat(spent), reserved: None, estimated: None };
        assert_eq!(session.apply(&ended(3)), Err(SessionError::Impossible { claimed: sat(4), most: sat(3) }));
        assert_eq!(session.apply(&ended(7)), Ok(()));
        assert_eq!((session.free(), session.spent(), session.credited()), (sat(7), sat(7), sat(4)));
        assert_eq!(session.next_root(), Path::root(2));
    }

    #[test]
    fn crediting_beyond_the_supply_is_an_error_and_not_a_panic() {
        let mut session = Session::restore([SessionFact::Funded { money: Msat::SUPPLY, root: None }]).unwrap();
        let mut round = |root| {
            let path = Path::root(root);
            let ask = AskKey { contract: path.clone(), ask: AskId(1) };
            let prices = TextRef { hash: Hash([7; 32]), bytes: 9, kind: TextKind::Prices };
            session.apply(&SessionFact::Requested { root: path.clone(), money: Msat::SUPPLY, prices })?;
            session.apply(&SessionFact::Ended { root: path, spent: Msat::SUPPLY, reserved: None, estimated: None })?;
            session.apply(&SessionFact::Corrected { ask, credit: Msat::SUPPLY })
        };
        assert_eq!(round(1), Ok(()));
        assert_eq!(round(2), Err(SessionError::BeyondSupply));
    }

    #[test]
    fn the_error_of_a_damaged_journal_names_the_fact() {
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let corrupt = Session::restore([funded, requested(1, 10), requested(1, 10)]).unwrap_err();
        assert_eq!(corrupt.index, 2);
    }

    #[test]
    fn a_session_never_has_more_than_the_supply() {
        let all = SessionFact::Funded { money: Msat::SUPPLY, root: None };
        let mut session = Session::restore([all]).unwrap();
        let more = SessionFact::Funded { money: sat(1), root: None };
        assert_eq!(session.apply(&more), Err(SessionError::BeyondSupply));
    }
}
