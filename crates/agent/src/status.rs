//! The status line: what a contract has left. It changes from turn to turn, so it comes after everything else in a prompt: the
//! prompt before it stays the same for a provider's cache. It is not a part of the transcript.

use guildhall_kernel::{AskId, Contract, Heads, Millis, Msat};

/// The longest status line, in bytes. Every request reserves room for it.
pub const STATUS_BYTES_MAX: u64 = 224;

/// What a contract has left when it asks its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The money that it has, including the hold of this request.
    pub money: Msat,
    /// Whether it may get more money from its hirer.
    pub may_draw: bool,
    /// How many replies it may still give, including the reply to this request.
    pub turns: u32,
    /// What is left for hires, if it may hire.
    pub hiring: Option<HiringLeft>,
    /// The time until its deadline, if it has one.
    pub time: Option<Millis>,
}

/// What a contract has left for hires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiringLeft {
    /// How much of its money it could grant to a hire now.
    pub money: Msat,
    /// How many hires, including those that its hires make.
    pub heads: Heads,
    /// How many levels of hires below it.
    pub depth: u8,
}

impl Status {
    /// Returns a contract's status at a time, for one request.
    pub fn of(contract: &Contract, ask: AskId, now: Millis) -> Status {
        let (brief, money) = (contract.brief(), contract.money_with(ask));
        let (heads, depth) = (contract.heads().available(), brief.grant.depth);
        Status {
            money,
            may_draw: contract.may_draw(),
            turns: contract.turns_left(),
            hiring: brief.hiring.as_ref().map(|_| HiringLeft { money: contract.grantable(money), heads, depth }),
            time: brief.grant.deadline.map(|deadline| Millis(deadline.0.saturating_sub(now.0))),
        }
    }
}
