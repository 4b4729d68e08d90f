//! The money that a hirer keeps when it hires: enough for two more turns of its own, but at least a tenth and at most
//! half of the available money, after the tools of the same reply are paid.
//!
//! The facts contain less than the kernel knew. The offers of a reply's calls are not stored, so the checker can't tell
//! a named budget from a share. The limit holds for both, because named budgets are cut to it. Named heads are not cut,
//! so the hires of a reply may take all heads, and only law 1 is checked for them. An offer from outside is stored, so
//! it is checked in full.

use guildhall_kernel::{Brief, Context, Inherit, Offer, TURN_TOKENS};

use crate::contract::Contract;
use crate::purse::{ceiling, minimum, wide};
use crate::violation::{Found, Law};

/// The hirer keeps at least the available money divided by this number.
const KEPT_DIVISOR_LEAST: i128 = 10;

/// The hirer need not keep more than the available money divided by this number.
const KEPT_DIVISOR_MOST: i128 = 2;

/// The expected size of each hire's report, in bytes. The hirer reads the reports in the second of the two turns.
const REPORT_BYTES: u64 = 4000;

/// The hires that were admitted together, and their hirer's money before.
pub(crate) struct Shares {
    /// The money that was available before the first hire.
    free: i128,
    /// The fewest tokens that the hirer's next request could have at that time.
    shown: u64,
    /// The prices of the tool calls of the same reply.
    tools: i128,
    granted: i128,
    hires: u64,
}

impl Shares {
    /// Starts with the hirer's available money.
    pub(crate) fn new(hirer: &Contract) -> Shares {
        Shares { free: hirer.money.available, shown: hirer.shown, tools: 0, granted: 0, hires: 0 }
    }

    /// Takes over the smaller size of the hirer's next request after a compaction.
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

    /// Checks that the hirer kept its part. The kernel may have counted a tool call that was then refused, or a higher
    /// price for a turn: both only make the kernel's own limit stricter.
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
            format_args!("grants {granted} of {free} msat to {count} hires, but must keep {kept}"),
        );
    }

    /// Returns the least money that the hirer must keep of `free`.
    fn kept(&self, hirer: &Contract, free: i128) -> i128 {
        let shown = self.shown;
        let tariff = &hirer.brief.tariff;
        let output = TURN_TOKENS.min(tariff.max_tokens);
        let reports = self.hires.saturating_mul(REPORT_BYTES);
        let turns = ceiling(tariff, shown, output) + ceiling(tariff, shown.saturating_add(reports), output);
        turns.min(free / KEPT_DIVISOR_MOST).max(free / KEPT_DIVISOR_LEAST)
    }
}

/// Returns whether a hire is the one that was offered. A fork has its hirer's agent, whatever agent the offer names.
pub(crate) fn is_offered(offer: &Offer, hire: &Brief) -> bool {
    let inherits = matches!(hire.context, Context::Fork { .. });
    let who = match offer.inherit {
        Inherit::Fresh => !inherits && offer.agent == hire.agent,
        Inherit::Fork => inherits,
    };
    who && offer.task_key == hire.task_key
}

/// Checks that a hire from outside is granted no more than its offer says, or no more than a share if the offer says
/// nothing.
pub(crate) fn check_offered(offer: &Offer, hire: &Brief, hirer: &Contract, found: &mut Found<'_>) {
    let (free, heads_free) = (hirer.money.available, hirer.heads.available);
    let grant = &hire.grant;
    let money = wide(grant.money);
    let most = match (offer.budget, offer.share_max) {
        (Some(said), _) => wide(said),
        (None, share_max) => most_of(free).min(share_max.map_or(i128::MAX, |most| wide(most).max(minimum(hire)))),
    };
    found.demand(
        money <= most,
        Law::Grants,
        format_args!("a hire from outside is granted {money} msat, but at most {most} are allowed"),
    );
    let heads = i128::from(grant.heads.0);
    let most = match (offer.heads, &hire.hiring) {
        (Some(said), _) => i128::from(said.0),
        (None, None) => 0,
        // The hire's own head is part of its share.
        (None, Some(_)) => most_of(heads_free) - 1,
    };
    found.demand(
        heads <= most,
        Law::Grants,
        format_args!("a hire from outside is granted {heads} heads, but at most {most} are allowed"),
    );
    let (depth, most) = (grant.depth, offer.depth.unwrap_or(u8::MAX));
    found.demand(
        depth <= most,
        Law::Grants,
        format_args!("a hire from outside is granted depth {depth}, but at most {most} is allowed"),
    );
    let in_time = offer.deadline.is_none_or(|said| grant.deadline.is_some_and(|deadline| deadline <= said));
    let (said, due) = (offer.deadline, grant.deadline);
    found.demand(in_time, Law::Grants, format_args!("a hire from outside is due {due:?}, but its offer says {said:?}"));
}

/// Returns the maximum of one share.
fn most_of(free: i128) -> i128 {
    free - free / KEPT_DIVISOR_LEAST
}
