//! The session: a funded account with one root contract per request, and what became known later. A second, tiny fold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::money::{Msat, Quantity};
use crate::path::{AskKey, Path};
use crate::text::TextRef;

/// Something that happened to a session's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFact {
    /// A person put money in: for the session, or as a top-up for a root that is at work.
    Funded {
        /// How much.
        money: Msat,
        /// The root it goes to at once.
        root: Option<Path>,
    },
    /// A root contract was granted part of it.
    Requested {
        /// Which root; roots are numbered in order.
        root: Path,
        /// Its grant.
        money: Msat,
        /// The price table and the rate, locked for this root.
        prices: TextRef,
    },
    /// It became known that an ask had cost less than it was charged: the difference is the session's again.
    Corrected {
        /// Which ask.
        ask: AskKey,
        /// The difference.
        credit: Msat,
    },
    /// A root contract closed; its change came back.
    Ended {
        /// Which root.
        root: Path,
        /// What it spent.
        spent: Msat,
        /// The part of that which may not have been billed. Absent in form 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Msat>,
        /// The part of that which is an upper bound. Absent in form 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimated: Option<Msat>,
    },
}

/// Says why a session's account can't change so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is not so much left.
    #[error("{asked} is more than the {free} that is left: fund the session with more, or grant less")]
    Overdrawn {
        /// What was asked for.
        asked: Msat,
        /// What is left.
        free: Msat,
    },
    /// More than all bitcoin.
    #[error("the sum would exceed 21 million BTC: fund the session with less")]
    BeyondSupply,
    /// Roots are numbered in order, and end once.
    #[error("root {root} does not exist, or has ended")]
    NotThisRoot {
        /// What was named.
        root: Path,
    },
    /// A root can't spend more than it was given, nor can more be credited than it could have spent.
    #[error("{claimed} is more than the {most} that was available")]
    Impossible {
        /// What was claimed.
        claimed: Msat,
        /// The most that could be.
        most: Msat,
    },
    /// An ask was corrected before, by another amount.
    #[error("{ask} was corrected before, by {before}")]
    Contradicted {
        /// Which ask.
        ask: AskKey,
        /// By how much.
        before: Msat,
    },
}

/// Says which fact of a session's journal can't have happened, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session fact {index} can't have happened: {source}")]
pub struct SessionCorrupt {
    /// Its place, counted from 0.
    pub index: usize,
    /// Why.
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
    /// Every root there was, in order.
    roots: Vec<Root>,
    /// What later truth has returned, by the ask that it was about: the same twice is once.
    corrections: BTreeMap<AskKey, Msat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Root {
    /// What it may spend while at work, what it has spent since it ended.
    most: Msat,
    /// What corrections may return at most: all that it may spend, until it ends and says what of that is reserved.
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
    /// Folds stored facts.
    pub fn restore(facts: impl IntoIterator<Item = SessionFact>) -> Result<Session, SessionCorrupt> {
        let mut session = Session::default();
        for (index, fact) in facts.into_iter().enumerate() {
            session.apply(&fact).map_err(|source| SessionCorrupt { index, source })?;
        }
        Ok(session)
    }

    /// Takes one fact in, or says why it can't have happened. A refused one changes nothing.
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

    /// What no root has been granted.
    pub fn free(&self) -> Msat {
        self.free
    }

    /// What ended roots have spent, before corrections.
    pub fn spent(&self) -> Msat {
        self.spent
    }

    /// The part of it that may not have been billed, before corrections.
    pub fn reserved(&self) -> Msat {
        self.reserved
    }

    /// The part of it that is an upper bound.
    pub fn estimated(&self) -> Msat {
        self.estimated
    }

    /// What corrections have returned.
    pub fn credited(&self) -> Msat {
        self.credited
    }

    /// The path of the next root.
    pub fn next_root(&self) -> Path {
        Path::root(u32::try_from(self.roots.len()).map_or(u32::MAX, |roots| roots.saturating_add(1)))
    }

    /// Whether a root there was has ended.
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
        // Form 1 does not say what is reserved: all that was spent may have been, also by hires that closed in that form.
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
    fn nobody_is_granted_more_than_was_put_in() {
        let mut session = Session::restore([SessionFact::Funded { money: sat(100), root: None }]).unwrap();
        let refused = session.apply(&requested(1, 101));
        assert_eq!(refused, Err(SessionError::Overdrawn { asked: sat(101), free: sat(100) }));
        assert_eq!(session.apply(&requested(2, 1)), Err(SessionError::NotThisRoot { root: Path::root(2) }));
        assert_eq!(session.apply(&requested(1, 100)), Ok(()));
        assert_eq!(session.free(), Msat::ZERO);
    }

    #[test]
    fn a_top_up_goes_to_a_root_at_work_and_its_change_comes_back() {
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
    fn later_truth_is_credited_up_to_what_was_spent() {
        let ended = SessionFact::Ended { root: Path::root(1), spent: sat(8), reserved: None, estimated: None };
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let mut session = Session::restore([funded, requested(1, 10), ended]).unwrap();
        let key = |root, ask| AskKey { contract: Path::root(root).hire(2), ask: AskId(ask) };
        let corrected = |ask, credit| SessionFact::Corrected { ask: key(1, ask), credit: sat(credit) };
        assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
        assert_eq!(session.apply(&corrected(2, 3)), Err(SessionError::Impossible { claimed: sat(3), most: sat(2) }));
        assert_eq!((session.free(), session.credited()), (sat(8), sat(6)));
        // The same truth twice is one truth; another one about the same ask is an error.
        assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
        let contradicted = SessionError::Contradicted { ask: key(1, 1), before: sat(6) };
        assert_eq!(session.apply(&corrected(1, 2)), Err(contradicted));
        let stranger = SessionFact::Corrected { ask: key(2, 1), credit: sat(1) };
        assert_eq!(session.apply(&stranger), Err(SessionError::NotThisRoot { root: Path::root(2) }));
        assert_eq!((session.free(), session.credited(), session.spent()), (sat(8), sat(6), sat(8)));
        assert_eq!(session.apply(&corrected(2, 2)), Ok(()), "up to all that was spent");
    }

    #[test]
    fn only_what_is_reserved_can_be_corrected_once_a_root_says_how_much_that_is() {
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let ended = |reserved, estimated| SessionFact::Ended {
            root: Path::root(1),
            spent: sat(8),
            reserved: Some(sat(reserved)),
            estimated: Some(sat(estimated)),
        };
        let mut session = Session::restore([funded, requested(1, 10)]).unwrap();
        let impossible = |claimed, most| Err(SessionError::Impossible { claimed: sat(claimed), most: sat(most) });
        assert_eq!(session.apply(&ended(5, 4)), impossible(9, 8), "parts are within what was spent");
        assert_eq!(session.apply(&ended(3, 1)), Ok(()));
        let ask = AskKey { contract: Path::root(1), ask: AskId(3) };
        let corrected = |credit| SessionFact::Corrected { ask: ask.clone(), credit: sat(credit) };
        assert_eq!(session.apply(&corrected(4)), impossible(4, 3));
        assert_eq!(session.apply(&corrected(3)), Ok(()));
        assert_eq!((session.free(), session.reserved(), session.estimated()), (sat(5), sat(3), sat(1)));
    }

    #[test]
    fn a_root_at_work_can_be_corrected_and_then_has_spent_at_least_that() {
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
    fn money_that_goes_round_for_ever_is_an_error_and_no_panic() {
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
    fn a_damaged_journal_is_named_at_its_fact() {
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let corrupt = Session::restore([funded, requested(1, 10), requested(1, 10)]).unwrap_err();
        assert_eq!(corrupt.index, 2);
    }

    #[test]
    fn a_session_never_holds_more_than_there_is() {
        let all = SessionFact::Funded { money: Msat::SUPPLY, root: None };
        let mut session = Session::restore([all]).unwrap();
        let more = SessionFact::Funded { money: sat(1), root: None };
        assert_eq!(session.apply(&more), Err(SessionError::BeyondSupply));
    }
}
