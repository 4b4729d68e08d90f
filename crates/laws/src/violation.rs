//! Violations: the law, the fact, and what was wrong. A text is made only for a violation.

use std::fmt;

use guildhall_kernel::Path;

/// One of the laws, by its number in the design. A journal that is not well-formed breaks [`Law::Replay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// 1: granted = available + held + spent, for money and for heads.
    Purse,
    /// 2: a hold precedes its ask, and each ask, a draw included, is settled exactly once.
    Holds,
    /// 3: a hire's hold is its contract's grant, and the bill adds up, part by part.
    Hires,
    /// 4: a hire's depth, deadline, powers and terms are within its hirer's, the hirer keeps its part of the money, and
    /// its hires are served in order and within their limits.
    Grants,
    /// 5: every call and every hire is answered once, every report is included in a request or listed as unheard, and a
    /// text that was cut is marked.
    Reports,
    /// 6: no contract is open after its hirer has closed, and a contract that is ending asks for nothing new.
    Closing,
    /// 7: the severance pays for one last request and nothing else.
    Severance,
    /// 8: a contract that is not closed has an open ask.
    Liveness,
    /// 9: a call that breaks a rule is refused, the reason is true, and nothing is refused for money that could wait.
    Refusals,
    /// 10: the journal can be replayed: its facts are in order, in whole batches, with correct cursors.
    Replay,
}

impl Law {
    /// Every law that can be checked from facts.
    pub const ALL: [Law; 10] = [
        Law::Purse,
        Law::Holds,
        Law::Hires,
        Law::Grants,
        Law::Reports,
        Law::Closing,
        Law::Severance,
        Law::Liveness,
        Law::Refusals,
        Law::Replay,
    ];

    /// Returns the law's number in the design.
    pub fn number(self) -> u8 {
        match self {
            Law::Purse => 1,
            Law::Holds => 2,
            Law::Hires => 3,
            Law::Grants => 4,
            Law::Reports => 5,
            Law::Closing => 6,
            Law::Severance => 7,
            Law::Liveness => 8,
            Law::Refusals => 9,
            Law::Replay => 10,
        }
    }

    /// Returns the law's name.
    pub fn name(self) -> &'static str {
        match self {
            Law::Purse => "purse",
            Law::Holds => "holds",
            Law::Hires => "hires",
            Law::Grants => "grants",
            Law::Reports => "reports",
            Law::Closing => "closing",
            Law::Severance => "severance",
            Law::Liveness => "liveness",
            Law::Refusals => "refusals",
            Law::Replay => "replay",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "law {} ({})", self.number(), self.name())
    }
}

/// A law that a journal breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}, contract {contract}, fact {seq}: {what}")]
pub struct Violation {
    /// The law.
    pub law: Law,
    /// The contract whose fact broke the law.
    pub contract: Path,
    /// The number of the fact; the last fact for a violation that is found only between steps.
    pub seq: u64,
    /// What was wrong.
    pub what: String,
}

/// The violations found while checking one fact of one contract.
pub(crate) struct Found<'a> {
    contract: &'a Path,
    seq: u64,
    list: Vec<Violation>,
}

impl<'a> Found<'a> {
    pub(crate) fn at(contract: &'a Path, seq: u64) -> Found<'a> {
        Found { contract, seq, list: Vec::new() }
    }

    /// Adds a violation unless the law holds.
    pub(crate) fn demand(&mut self, holds: bool, law: Law, what: fmt::Arguments<'_>) {
        if !holds {
            self.broken(law, what);
        }
    }

    #[cold]
    pub(crate) fn broken(&mut self, law: Law, what: fmt::Arguments<'_>) {
        self.list.push(Violation { law, contract: self.contract.clone(), seq: self.seq, what: what.to_string() });
    }

    pub(crate) fn add(&mut self, mut other: Vec<Violation>) {
        if !other.is_empty() {
            self.list.append(&mut other);
        }
    }

    pub(crate) fn into_list(self) -> Vec<Violation> {
        self.list
    }
}
