//! Violations of the rules for the hall's money: the place, and what was wrong.

use std::fmt;

use guildhall_kernel::{Path, SessionId};

/// A rule for the hall's money that stored facts break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct TreasuryViolation {
    /// The place of the fact that breaks the rule.
    pub place: MoneyPlace,
    /// What was wrong.
    pub what: String,
}

/// A place in the stored facts about money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoneyPlace {
    /// A fact of the treasury, by its number.
    Treasury(u64),
    /// A fact of a session's account, counted from 1.
    Account {
        /// The session.
        session: SessionId,
        /// The number of the fact.
        seq: usize,
    },
    /// A contract.
    Contract {
        /// The session of the contract.
        session: SessionId,
        /// The contract.
        contract: Path,
    },
    /// A whole session.
    Session(SessionId),
    /// The sums of all sessions.
    Hall,
}

impl fmt::Display for MoneyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoneyPlace::Treasury(n) => write!(f, "treasury fact {n}"),
            MoneyPlace::Account { session, seq } => write!(f, "session {session}, account fact {seq}"),
            MoneyPlace::Contract { session, contract } => write!(f, "session {session}, contract {contract}"),
            MoneyPlace::Session(session) => write!(f, "session {session}"),
            MoneyPlace::Hall => f.write_str("all sessions"),
        }
    }
}

/// Something in the treasury's facts that is unusual, but breaks no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreasuryNote {
    /// The number of the fact.
    pub n: u64,
    /// What is unusual.
    pub what: String,
}

impl fmt::Display for TreasuryNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "treasury fact {}: {}", self.n, self.what)
    }
}

/// The violations found so far, and the place that is being checked.
pub(super) struct Found {
    place: MoneyPlace,
    list: Vec<TreasuryViolation>,
}

impl Found {
    /// Begins with a fact of the treasury.
    pub(super) fn at(n: u64) -> Found {
        Found::in_place(MoneyPlace::Treasury(n))
    }

    pub(super) fn in_place(place: MoneyPlace) -> Found {
        Found { place, list: Vec::new() }
    }

    /// Goes on to another place.
    pub(super) fn go_to(&mut self, place: MoneyPlace) {
        self.place = place;
    }

    /// Adds a violation unless the rule holds.
    pub(super) fn demand(&mut self, holds: bool, what: fmt::Arguments<'_>) {
        if !holds {
            self.broken(what);
        }
    }

    #[cold]
    pub(super) fn broken(&mut self, what: fmt::Arguments<'_>) {
        self.list.push(TreasuryViolation { place: self.place.clone(), what: what.to_string() });
    }

    pub(super) fn into_list(self) -> Vec<TreasuryViolation> {
        self.list
    }
}
