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
    /// There can't be so much.
    #[error("there is only so much money: fund the session with less")]
    BeyondSupply,
    /// Roots are numbered in order, and end once.
    #[error("{root} is not a root that could do so now")]
    NotThisRoot {
        /// What was named.
        root: Path,
    },
    /// A root can't spend more than it was given, nor a correction return more than was spent.
    #[error("{claimed} is more than the {most} that could be")]
    Impossible {
        /// What was claimed.
        claimed: Msat,
        /// The most that could be.
        most: Msat,
    },
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
///     SessionFact::Ended { root: Path::root(1), spent: sat(25) },
/// ]).unwrap();
/// assert_eq!(session.free(), sat(75));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    free: Msat,
    at_work: BTreeMap<Path, Msat>,
    roots: u32,
    spent: Msat,
    credited: Msat,
}

impl Session {
    /// Folds stored facts.
    pub fn restore(facts: impl IntoIterator<Item = SessionFact>) -> Result<Session, SessionError> {
        let mut session = Session::default();
        facts.into_iter().try_for_each(|fact| session.apply(&fact))?;
        Ok(session)
    }

    /// Takes one fact in, or says why it can't have happened. A refused one changes nothing.
    pub fn apply(&mut self, fact: &SessionFact) -> Result<(), SessionError> {
        match fact {
            SessionFact::Funded { money, root } => self.fund(*money, root.as_ref()),
            SessionFact::Requested { root, money, .. } => self.request(root, *money),
            SessionFact::Corrected { credit, .. } => self.correct(*credit),
            SessionFact::Ended { root, spent } => self.end(root, *spent),
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

    /// What corrections have returned.
    pub fn credited(&self) -> Msat {
        self.credited
    }

    /// The path of the next root.
    pub fn next_root(&self) -> Path {
        Path::root(self.roots + 1)
    }

    fn fund(&mut self, money: Msat, root: Option<&Path>) -> Result<(), SessionError> {
        let in_it = self.at_work.values().try_fold(self.free, |sum, grant| sum.plus(*grant));
        let within = in_it.and_then(|sum| sum.plus(self.spent)).and_then(|sum| sum.plus(money));
        within.ok_or(SessionError::BeyondSupply)?;
        let account = match root {
            None => &mut self.free,
            Some(root) => self.at_work.get_mut(root).ok_or(SessionError::NotThisRoot { root: root.clone() })?,
        };
        *account = account.plus(money).ok_or(SessionError::BeyondSupply)?;
        Ok(())
    }

    fn request(&mut self, root: &Path, money: Msat) -> Result<(), SessionError> {
        if *root != self.next_root() {
            return Err(SessionError::NotThisRoot { root: root.clone() });
        }
        self.free = self.free.minus(money).ok_or(SessionError::Overdrawn { asked: money, free: self.free })?;
        self.roots += 1;
        self.at_work.insert(root.clone(), money);
        Ok(())
    }

    fn correct(&mut self, credit: Msat) -> Result<(), SessionError> {
        let most = self.spent.minus(self.credited).expect("no more is returned than was spent");
        if credit > most {
            return Err(SessionError::Impossible { claimed: credit, most });
        }
        self.credited = self.credited.plus(credit).expect("no more is returned than was spent");
        self.free = self.free.plus(credit).ok_or(SessionError::BeyondSupply)?;
        Ok(())
    }

    fn end(&mut self, root: &Path, spent: Msat) -> Result<(), SessionError> {
        let granted = *self.at_work.get(root).ok_or(SessionError::NotThisRoot { root: root.clone() })?;
        let change = granted.minus(spent).ok_or(SessionError::Impossible { claimed: spent, most: granted })?;
        self.at_work.remove(root);
        self.free = self.free.plus(change).expect("change was funded");
        self.spent = self.spent.plus(spent).expect("spending was funded");
        Ok(())
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
        let ended = |spent| SessionFact::Ended { root: Path::root(1), spent: sat(spent) };
        assert_eq!(session.apply(&ended(16)), Err(SessionError::Impossible { claimed: sat(16), most: sat(15) }));
        assert_eq!(session.apply(&ended(12)), Ok(()));
        assert_eq!(session.apply(&ended(12)), Err(SessionError::NotThisRoot { root: Path::root(1) }));
        assert_eq!((session.free(), session.spent()), (sat(3), sat(12)));
    }

    #[test]
    fn later_truth_is_credited_up_to_what_was_spent() {
        let ended = SessionFact::Ended { root: Path::root(1), spent: sat(8) };
        let funded = SessionFact::Funded { money: sat(10), root: None };
        let mut session = Session::restore([funded, requested(1, 10), ended]).unwrap();
        let corrected = |credit| SessionFact::Corrected {
            ask: AskKey { contract: Path::root(1), ask: AskId(1) },
            credit: sat(credit),
        };
        assert_eq!(session.apply(&corrected(6)), Ok(()));
        assert_eq!(session.apply(&corrected(3)), Err(SessionError::Impossible { claimed: sat(3), most: sat(2) }));
        assert_eq!((session.free(), session.credited()), (sat(8), sat(6)));
    }

    #[test]
    fn a_session_never_holds_more_than_there_is() {
        let all = SessionFact::Funded { money: Msat::SUPPLY, root: None };
        let mut session = Session::restore([all]).unwrap();
        let more = SessionFact::Funded { money: sat(1), root: None };
        assert_eq!(session.apply(&more), Err(SessionError::BeyondSupply));
    }
}
