//! What changes from turn to turn. It is told after everything else, so that what precedes it stays the same for a
//! provider's cache, and it is told anew each time: it is no part of the transcript.

use guildhall_kernel::{AskId, Contract, Heads, Millis, Msat};

/// The longest status line, in bytes. Every request holds room for it.
pub const STATUS_BYTES_MAX: u64 = 192;

/// What a contract has left when it asks its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The money that it has, the hold of the request that tells this included: nobody else can use that.
    pub money: Msat,
    /// How many replies it may still give, the one that is asked for included.
    pub turns: u32,
    /// What it may hire with, if it may hire.
    pub hiring: Option<HiringLeft>,
    /// How long until its deadline, if it has one.
    pub time: Option<Millis>,
}

/// What is left to hire with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiringLeft {
    /// How much of its money it could grant to a hire now.
    pub money: Msat,
    /// How many hires, its hires' own included.
    pub heads: Heads,
    /// How many levels below it.
    pub depth: u8,
}

impl Status {
    /// Takes a contract's status at a time, for the request that is asked.
    pub fn of(contract: &Contract, ask: AskId, now: Millis) -> Status {
        let (brief, money) = (contract.brief(), contract.money_with(ask));
        let (heads, depth) = (contract.heads().available(), brief.grant.depth);
        Status {
            money,
            turns: contract.turns_left(),
            hiring: brief.hiring.as_ref().map(|_| HiringLeft { money: contract.grantable(money), heads, depth }),
            time: brief.grant.deadline.map(|deadline| Millis(deadline.0.saturating_sub(now.0))),
        }
    }
}
