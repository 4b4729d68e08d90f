//! What a hirer keeps when it hires: enough for two more turns of its own, at least a tenth and at most a half of what was
//! free before, less the tools of the same reply.
//!
//! Facts show less than the kernel knew. The offers that a reply's calls make are not stored, so nobody can tell a said budget
//! from a share: the bound holds for both, since said budgets are cut to it. Heads that were said are not cut, so the hires of a
//! reply may take all heads, and nothing can be demanded of them here beyond the purse's own law. An offer from outside is
//! stored as it was made, and is held to in full.

use guildhall_kernel::{Brief, Context, Inherit, Offer, TURN_TOKENS};

use crate::contract::Contract;
use crate::purse::{ceiling, minimum, wide};
use crate::violation::{Found, Law};

/// The hirer keeps at least what was free divided by this.
const KEPT_DIVISOR_LEAST: i128 = 10;

/// The hirer need not keep more than what was free divided by this.
const KEPT_DIVISOR_MOST: i128 = 2;

/// The report that each hire is expected to bring before the second of the turns that the hirer keeps money for.
const REPORT_BYTES: u64 = 4000;

/// The hires that were admitted together, and what their hirer had before.
pub(crate) struct Shares {
    /// The money that was available before the first of them.
    free: i128,
    /// The fewest tokens that the hirer's next request could have at that time.
    shown: u64,
    /// The prices of the tool calls that were placed with them.
    tools: i128,
    granted: i128,
    hires: u64,
}

impl Shares {
    /// Begins with what a hirer has now.
    pub(crate) fn new(hirer: &Contract) -> Shares {
        Shares { free: hirer.money.available, shown: hirer.shown, tools: 0, granted: 0, hires: 0 }
    }

    /// Takes over that the hirer's next requests show less than they would have.
    pub(crate) fn shorten(&mut self, hirer: &Contract) {
        self.shown = self.shown.min(hirer.shown);
    }

    pub(crate) fn add_tool(&mut self, price: i128) {
        self.tools += price;
    }

    pub(crate) fn add_hire(&mut self, grant: i128) {
        self.granted += grant;
        self.hires = self.hires.saturating_add(1);
    }

    /// Checks that the hirer kept its part. A tool call that was not placed may have been counted, and a turn may cost more
    /// than is known here: both only make the kernel's own bound tighter.
    pub(crate) fn check(&self, hirer: &Contract, found: &mut Found<'_>) {
        if self.hires == 0 {
            return;
        }
        let free = self.free - self.tools;
        let kept = self.kept(hirer, free);
        let (granted, count) = (self.granted, self.hires);
        found.demand(
            granted <= free - kept,
            Law::Grants,
            format_args!("grants {granted} of {free} msat to hires ({count}), and must keep {kept}"),
        );
    }

    /// The least that the hirer must keep of `free`.
    fn kept(&self, hirer: &Contract, free: i128) -> i128 {
        let shown = self.shown;
        let tariff = &hirer.brief.tariff;
        let output = TURN_TOKENS.min(tariff.max_tokens);
        let reports = self.hires.saturating_mul(REPORT_BYTES);
        let turns = ceiling(tariff, shown, output) + ceiling(tariff, shown.saturating_add(reports), output);
        turns.min(free / KEPT_DIVISOR_MOST).max(free / KEPT_DIVISOR_LEAST)
    }
}

/// Returns whether a hire is the one that was offered. A fork is its hirer's agent, whoever was named.
pub(crate) fn is_offered(offer: &Offer, hire: &Brief) -> bool {
    let inherits = matches!(hire.context, Context::Fork { .. });
    let who = match offer.inherit {
        Inherit::Fresh => !inherits && offer.agent == hire.agent,
        Inherit::Fork => inherits,
    };
    who && offer.task_key == hire.task_key
}

/// Checks that a hire from outside is granted no more than was said, and where nothing was said, no more than a share.
pub(crate) fn check_offered(offer: &Offer, hire: &Brief, hirer: &Contract, found: &mut Found<'_>) {
    let (free, heads_free) = (hirer.money.available, hirer.heads.available);
    let grant = &hire.grant;
    let money = wide(grant.money);
    let most = match (offer.budget, offer.share_max) {
        (Some(said), _) => wide(said),
        (None, share_max) => most_of(free).min(share_max.map_or(i128::MAX, |most| wide(most).max(minimum(hire)))),
    };
    found.demand(money <= most, Law::Grants, format_args!("a hire from outside is granted {money} msat of {most}"));
    let heads = i128::from(grant.heads.0);
    let most = match (offer.heads, &hire.hiring) {
        (Some(said), _) => i128::from(said.0),
        (None, None) => 0,
        // Its own head is part of its share.
        (None, Some(_)) => most_of(heads_free) - 1,
    };
    found.demand(heads <= most, Law::Grants, format_args!("a hire from outside is granted {heads} heads of {most}"));
    let (depth, most) = (grant.depth, offer.depth.unwrap_or(u8::MAX));
    found.demand(depth <= most, Law::Grants, format_args!("a hire from outside is granted depth {depth} of {most}"));
    let in_time = offer.deadline.is_none_or(|said| grant.deadline.is_some_and(|deadline| deadline <= said));
    let (said, due) = (offer.deadline, grant.deadline);
    found.demand(in_time, Law::Grants, format_args!("a hire from outside is due {due:?}, {said:?} was said"));
}

/// The most that one share can be.
fn most_of(free: i128) -> i128 {
    free - free / KEPT_DIVISOR_LEAST
}
