//! Refusals for money: no hire and no draw is refused while something that it may wait for holds money, or while the
//! contract's own hirer could still give some.

use guildhall_kernel::{AskId, Mode, Msat, Offer, Path};

use crate::batch::Batch;
use crate::checker::Step;
use crate::contract::{Contract, Ending};
use crate::draws;
use crate::purse::wide;
use crate::row::Slot;
use crate::shares;
use crate::tells;
use crate::violation::{Found, Law};

/// A hire that was refused for lack of money, as far as the facts tell.
pub(crate) struct Short<'a> {
    /// The ordinal, if the hire waited.
    pub(crate) ordinal: Option<u32>,
    /// The offer, if it is stored.
    pub(crate) offer: Option<&'a Offer>,
    /// The most that its first turn costs, if that is known, with its severance and its fee.
    pub(crate) cost: Option<i128>,
    pub(crate) mode: Option<Mode>,
}

impl<'a> Short<'a> {
    /// Finds the hire that is refused: one that waited, or the newest offer from outside.
    pub(crate) fn find(contract: &'a Contract, ordinal: Option<u32>, outside: Option<&'a Offer>) -> Short<'a> {
        match ordinal.and_then(|ordinal| contract.row.slot(ordinal)) {
            Some(Slot::Waiting(waiting)) => {
                let blocks = ordinal.is_some_and(|ordinal| contract.row.blocking.contains(&ordinal));
                let mode = Some(if blocks { Mode::Blocking } else { Mode::Background });
                let cost = shares::first_turn(&contract.brief, &waiting.offer, waiting.context.tokens());
                Short { ordinal, offer: Some(&waiting.offer), cost: Some(cost), mode }
            }
            Some(Slot::Admitted(_) | Slot::Refused) | None => {
                Short { ordinal: None, offer: outside, cost: None, mode: outside.map(|offer| offer.mode) }
            }
        }
    }
}

/// Checks that a hire may be refused for lack of money.
pub(crate) fn check_hire(
    contract: &Contract,
    batch: &Batch,
    short: &Short<'_>,
    (asked, minimum): (Msat, Msat),
    found: &mut Found<'_>,
) {
    // A limit below the minimum never fits. If the offer is not stored, the offered amount may be that limit.
    let limit = short.offer.map_or(Some(asked), |offer| offer.budget.or(offer.share_max));
    if limit.is_some_and(|limit| limit < minimum) {
        return;
    }
    let row = &contract.row;
    // A blocking hire does not wait for hires in the background. An unknown mode counts as blocking.
    let movers = if short.mode == Some(Mode::Background) { &row.moving } else { &row.moving_blocking };
    let holds = contract.own_work_paid > 0 || !movers.is_empty();
    found.demand(
        !holds,
        Law::Refusals,
        format_args!("a hire is refused for lack of money while something that it may wait for holds money"),
    );
    if !row.moving.is_empty() {
        return;
    }
    let draws = row.drawers.len();
    found.demand(
        draws == 0,
        Law::Refusals,
        format_args!("a hire is refused for lack of money before {draws} hires that draw"),
    );
    let oldest = row.waiting.first().copied();
    found.demand(
        short.ordinal.is_none() || short.ordinal == oldest,
        Law::Refusals,
        format_args!("a hire is refused for lack of money before hire {}, which is older", oldest.unwrap_or_default()),
    );
    check_drew(contract, batch, short.cost.map(|cost| cost.max(wide(minimum))), found);
}

/// Checks a refused draw of a hire: it is beyond the hire's limit, or it is the youngest and nothing moves.
pub(crate) fn draw_refused(step: &mut Step<'_, '_>, to: &Path, draw: AskId) {
    let contract = &mut step.tree.contracts[step.me];
    let Some(hire) = contract.live_hire(to) else { return tells::not_live(step, to) };
    // The money is missing for the first in the row.
    let oldest = contract.row.drawers.first().and_then(|oldest| contract.row.ask(*oldest));
    let missing = oldest.and_then(|id| contract.hired(id)?.draw).map(|open| open.left);
    let Some(hired) = contract.hired_mut(hire) else { return };
    let Some(open) = hired.draw.filter(|open| open.ask == draw) else {
        return step.found.broken(Law::Hires, format_args!("refuses the draw {draw} of {to}, which is not open"));
    };
    let room = draws::room(hired.brief.money_max, hired.brief.grant.money, hired.drawn);
    hired.draw = None;
    if room.is_none_or(|room| open.least <= room) {
        let row = &contract.row;
        let holds = contract.own_work_paid > 0 || !row.moving.is_empty();
        step.found.demand(
            !holds,
            Law::Refusals,
            format_args!("the draw of {to} is refused while something that it may wait for holds money"),
        );
        let youngest = row.drawers.last().copied().unwrap_or_default();
        step.found.demand(
            youngest == to.ordinal(),
            Law::Refusals,
            format_args!("the draw of {to} is refused, but hire {youngest} is younger"),
        );
        check_drew(contract, step.batch, missing, step.found);
    }
    contract.refresh(to.ordinal());
}

/// Checks that a contract that has a hirer drew from it before it refuses, unless the draw would be beyond its limit.
/// `cost` is the most that it had to draw for; `None` if the facts do not tell.
fn check_drew(contract: &Contract, batch: &Batch, cost: Option<i128>, found: &mut Found<'_>) {
    let brief = &contract.brief;
    let ends = contract.ending != Ending::Nothing || contract.requests >= brief.turns_max;
    // While the answer to a nudge is due and can't be paid, nobody is served, and the contract does not draw for it.
    if contract.path().level() == 0 || batch.draws.not_met.is_some() || ends || contract.is_nudged {
        return;
    }
    let room = draws::room(brief.money_max, brief.grant.money, contract.drawn);
    // A hirer keeps at most half of what it had. Its own next turn goes first if it is due, and the facts do not tell
    // what that turn costs.
    let is_due = || contract.own_work == 0 && contract.row.blocking.is_empty() && contract.calls.unresolved().is_none();
    let half = shares::half_most(contract);
    let could = room.is_none_or(|room| cost.is_some_and(|cost| cost + half <= room) && !is_due());
    found.demand(
        !could,
        Law::Refusals,
        format_args!("something is refused for lack of money, although the contract could draw from its own hirer"),
    );
}

/// Returns whether a contract may run out of money now: a hire draws first, unless it can't. It does not draw for the
/// answer to a nudge.
pub(crate) fn is_dry(contract: &Contract, batch: &Batch) -> bool {
    let refused = batch.draws.not_met.is_some() || contract.is_nudged;
    let limited = contract.brief.money_max.is_some() || contract.requests >= contract.brief.turns_max;
    contract.path().level() == 0 || refused || limited || contract.ending != Ending::Nothing
}
