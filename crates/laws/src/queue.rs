//! Hires that wait for money: each has its ordinal from the beginning, keeps its place, and is admitted or refused
//! exactly once.

use guildhall_kernel::{AskId, Brief, CallRef, Context, Inherit, Mode, NOTICE_BYTES_MAX, Offer, Origin, Path};

use crate::calls::{Act, Call};
use crate::checker::Step;
use crate::contract::{Contract, Ending, Phase};
use crate::hires;
use crate::purse::{ceiling, output_least, wide};
use crate::row::{Slot, Waiting};
use crate::violation::{Found, Law};

/// A hire begins to wait for money.
pub(crate) fn queued(step: &mut Step<'_, '_>, ordinal: u32, waiting: &Waiting) {
    let contract = &mut step.tree.contracts[step.me];
    check_queued(contract, ordinal, waiting, step.found);
    let Waiting { origin, offer, context } = waiting;
    hires::check_offer(contract, offer, context, *origin, step.found);
    hires::hired(contract, step.batch);
    let blocks = offer.mode == Mode::Blocking;
    match origin {
        Origin::Call(call) => {
            let state = if blocks { Call::Hire } else { Call::Resolved };
            contract.calls.place(*call, Act::Other, state, step.found);
        }
        Origin::Outside => {
            let offered = step.batch.offer.take().is_some_and(|other| is_stored(&other, offer));
            let agent = &offer.agent;
            step.found.demand(
                offered,
                Law::Refusals,
                format_args!("hires {agent} from outside, which was not offered"),
            );
        }
        Origin::Cascade => {}
        Origin::Course => {
            step.found.broken(Law::Replay, format_args!("a hire can't wait because of {origin:?}"));
        }
    }
    contract.row.add(Slot::Waiting(Box::new(waiting.clone())));
    contract.row.waiting.insert(ordinal);
    if blocks {
        contract.row.blocking.insert(ordinal);
    }
    let (waits, free) = (contract.row.waiting.len(), contract.heads.available);
    let enough = i128::try_from(waits).is_ok_and(|waits| waits <= free);
    step.found.demand(enough, Law::Purse, format_args!("{waits} hires wait, but only {free} heads are available"));
}

fn check_queued(contract: &Contract, ordinal: u32, waiting: &Waiting, found: &mut Found<'_>) {
    let next = contract.row.next();
    found.demand(ordinal == next, Law::Hires, format_args!("hire {ordinal} waits, but {next} is the next ordinal"));
    let open = matches!(contract.phase, Phase::Working) && contract.ending == Ending::Nothing;
    found.demand(open, Law::Closing, format_args!("a hire waits for money after the contract was asked to end"));
    let (offer, context) = (&waiting.offer, &waiting.context);
    let (most, least) = (offer.budget.or(offer.share_max).map(wide), least_of(offer, context));
    found.demand(
        most.is_none_or(|most| most >= least),
        Law::Refusals,
        format_args!("hire {ordinal} waits, but can never have its minimum of {least} msat"),
    );
}

/// Returns whether a waiting hire is the one that was offered from outside. It may wait in the background instead.
fn is_stored(offered: &Offer, waiting: &Offer) -> bool {
    let mode = waiting.mode == offered.mode || waiting.mode == Mode::Background;
    mode && Offer { mode: waiting.mode, ..offered.clone() } == *waiting
}

/// Returns a lower bound of the least money that an offered hire can begin with. A fork has its hirer's tariff, so only
/// its fee is counted.
fn least_of(offer: &Offer, context: &Context) -> i128 {
    let work = match offer.inherit {
        Inherit::Fresh => {
            let input = offer.opening_bytes.saturating_add(context.tokens());
            ceiling(&offer.tariff, input, output_least(&offer.tariff)) + wide(offer.severance)
        }
        Inherit::Fork => 0,
    };
    work + wide(offer.fee)
}

/// Returns the waiting hire that a brief belongs to.
pub(crate) fn waiting_for<'a>(contract: &'a Contract, hire: &Brief) -> Option<&'a Waiting> {
    let ordinal = contract.waiting_hire(&hire.path)?;
    match contract.row.slot(ordinal)? {
        Slot::Waiting(waiting) => Some(waiting),
        Slot::Admitted(_) | Slot::Refused => None,
    }
}

/// Checks that a hire does not overtake those that wait.
pub(crate) fn check_order(contract: &Contract, hire: &Path, found: &mut Found<'_>) {
    let ordinal = contract.waiting_hire(hire);
    let oldest = contract.row.waiting.first().copied();
    let in_order = oldest.is_none() || oldest == ordinal;
    found.demand(
        in_order,
        Law::Grants,
        format_args!("{hire} is hired before hire {}, which waits longer", oldest.unwrap_or_default()),
    );
    let drawer = contract.row.drawers.first().copied();
    found.demand(
        drawer.is_none(),
        Law::Grants,
        format_args!("{hire} is hired before hire {} got the money that it drew", drawer.unwrap_or_default()),
    );
    let next = contract.row.next();
    let numbered = ordinal.is_some() || hire.ordinal() == next && hire.hirer().as_ref() == Some(contract.path());
    found.demand(numbered, Law::Hires, format_args!("{hire} is not the path of hire {next}"));
}

/// Checks a hire that waited against what was stored when it began to wait.
pub(crate) fn check_admitted(
    contract: &Contract,
    waiting: &Waiting,
    hire: &Brief,
    as_now: (Origin, Mode),
    found: &mut Found<'_>,
) {
    let (offer, path) = (&waiting.offer, &hire.path);
    let same = hire.context == waiting.context && as_now.0 == waiting.origin && is_same(offer, hire);
    found.demand(same, Law::Hires, format_args!("{path} differs from the hire that waited"));
    // A message may have moved the hire into the background.
    let blocks = contract.row.blocking.contains(&path.ordinal());
    let mode = if blocks { Mode::Blocking } else { Mode::Background };
    found.demand(as_now.1 == mode, Law::Hires, format_args!("{path} is hired as {:?}, not {mode:?}", as_now.1));
}

/// Returns whether a brief belongs to an offer. A fork has much of its hirer, whatever the offer names.
fn is_same(offer: &Offer, hire: &Brief) -> bool {
    let own = match offer.inherit {
        Inherit::Fresh => {
            let model = offer.tariff == hire.tariff && offer.severance <= hire.severance;
            model && offer.standing == hire.standing && offer.opening_bytes == hire.opening_bytes
        }
        Inherit::Fork => true,
    };
    let paid = offer.fee == hire.fee;
    let limits = offer.turns_max == hire.turns_max && offer.budget.or(offer.share_max) == hire.money_max;
    hires::is_offered(offer, hire) && offer.task == hire.task && own && paid && limits
}

/// Ends the wait of a hire that was admitted.
pub(crate) fn admitted(contract: &mut Contract, ordinal: u32, ask: AskId) {
    let Some(Slot::Waiting(waiting)) = contract.row.slot(ordinal) else { return };
    let by_call = matches!(waiting.origin, Origin::Call(_));
    contract.row.settle(ordinal, Slot::Admitted(ask));
    if by_call && !contract.row.blocking.contains(&ordinal) {
        // The next request shows that the hire has begun.
        contract.shown = contract.shown.saturating_add(NOTICE_BYTES_MAX);
    }
}

/// A hire that waited was refused. Returns the call that waited for it.
pub(crate) fn refused(step: &mut Step<'_, '_>, ordinal: u32, origin: Origin) -> Option<CallRef> {
    let contract = &mut step.tree.contracts[step.me];
    let Some(Slot::Waiting(waiting)) = contract.row.slot(ordinal) else {
        step.found.broken(Law::Reports, format_args!("hire {ordinal} is refused, but it does not wait"));
        return None;
    };
    let same = waiting.origin == origin;
    step.found.demand(same, Law::Reports, format_args!("hire {ordinal} is refused with another origin"));
    let blocks = contract.row.blocking.contains(&ordinal);
    let call = contract.unblock(ordinal).filter(|_| blocks);
    contract.row.settle(ordinal, Slot::Refused);
    contract.calls.reported(ordinal);
    call
}

/// Checks that a hire that a person gave up no longer waits.
pub(crate) fn check_dropped(contract: &Contract, ordinal: u32, found: &mut Found<'_>) {
    let waits = contract.row.waiting.contains(&ordinal);
    found.demand(!waits, Law::Reports, format_args!("hire {ordinal} was given up, but still waits for money"));
}

/// Checks that no hire waits and no draw is open once a contract is ending.
pub(crate) fn check_ended(contract: &Contract, found: &mut Found<'_>) {
    if matches!(contract.phase, Phase::Working) {
        return;
    }
    let waits = contract.row.waiting.len();
    found.demand(waits == 0, Law::Closing, format_args!("the contract is ending, but {waits} of its hires wait"));
    let draw = contract.draw.map_or(0, |draw| draw.ask.0);
    found.demand(draw == 0, Law::Closing, format_args!("the contract is ending, but its draw #{draw} is open"));
}

/// Checks that something can return money while a hire waits or draws. Otherwise the hire would wait for ever.
pub(crate) fn check_moves(contract: &Contract, found: &mut Found<'_>) {
    let row = &contract.row;
    let waits = !row.waiting.is_empty() || !row.drawers.is_empty();
    if !waits || !matches!(contract.phase, Phase::Working) {
        return;
    }
    let moves = !row.moving.is_empty() || contract.own_work > 0 || contract.draw.is_some();
    found.demand(
        moves,
        Law::Liveness,
        format_args!("a hire waits for money, but nothing that could free money is open"),
    );
}
