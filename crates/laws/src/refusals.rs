//! Refusals: the reason must be true at that time, as far as the facts show.

use guildhall_kernel::{BRIEF_BYTES_MAX, CALLS_MAX, MESSAGE_BYTES_MAX, Millis, Origin, Path, Power, PowerSet, Refusal};

use crate::batch::{Duty, Stage};
use crate::calls::{Act, Call};
use crate::checker::Step;
use crate::contract::{Contract, Phase};
use crate::deadlines;
use crate::form::Form;
use crate::purse::wide;
use crate::violation::Law;

/// A call, a hire, a check or a top-up was refused.
pub(crate) fn refused(step: &mut Step<'_, '_>, why: &Refusal, origin: Origin, bytes: Option<u32>) {
    step.form.check_field("bytes", bytes, step.found);
    let holds = is_true(&step.tree.contracts[step.me], why, origin, step.at, step.form);
    step.found.demand(holds, Law::Refusals, format_args!("the reason of the refusal is not true: {why:?}"));
    if let Refusal::TopUpStays { to, with } = why {
        stays(step, to, with);
    }
    if let Refusal::Closing = why {
        step.batch.must(Duty::BeEnding);
    }
    match origin {
        Origin::Call(call) => {
            let contract = &mut step.tree.contracts[step.me];
            contract.calls.place(call, Act::Refusal, Call::Resolved, step.found);
            // The next request shows the refusal as the call's answer.
            contract.shown = contract.shown.saturating_add(u64::from(bytes.unwrap_or(0)));
        }
        Origin::Outside => step.batch.offer = None,
        Origin::Course | Origin::Cascade | Origin::Promise => {}
    }
}

/// Checks money that stays: the hire on the way is not live, the receiver is not below, or the contract is ending.
fn stays(step: &mut Step<'_, '_>, to: &Path, with: &Path) {
    let contract = &step.tree.contracts[step.me];
    let ending = !matches!(contract.phase, Phase::Working);
    let unreachable = contract.path().toward(to).is_none_or(|hire| contract.live_hire(&hire).is_none());
    let holds = with == contract.path() && (ending || unreachable);
    step.found.demand(holds, Law::Refusals, format_args!("money for {to} stays with {with} without a reason"));
    match step.batch.top_up.as_mut().filter(|due| due.to == *to && due.stage == Stage::Heard) {
        Some(due) => due.stage = Stage::Stays,
        None => step.found.broken(Law::Refusals, format_args!("money for {to} stays, but was never heard")),
    }
}

fn is_true(contract: &Contract, why: &Refusal, origin: Origin, at: Millis, form: Form) -> bool {
    let brief = &contract.brief;
    let recursive = brief.hiring.as_ref().is_some_and(|hiring| hiring.recursive);
    match why {
        Refusal::CantHire => brief.hiring.is_none(),
        Refusal::SelfHire | Refusal::Cycle { .. } => !recursive,
        // An ad-hoc specialist may have the name of a team member; then the refusal does not offer that name.
        Refusal::UnknownAgent { agent, team } => brief
            .hiring
            .as_ref()
            .is_none_or(|hiring| !hiring.team.contains(agent) || !hiring.ad_hoc && !team.contains(agent)),
        Refusal::SameTask { agent } => brief.agent == *agent || brief.lineage.upward().any(|link| link.agent == *agent),
        Refusal::TooDeep { asked, left } => asked > left && *left <= brief.grant.depth,
        Refusal::NoHeads { asked, free } => asked > free && i128::from(free.0) <= contract.heads.available,
        Refusal::Money { asked, free, minimum } => {
            (asked > free || asked < minimum) && wide(*free) <= contract.money.available
        }
        Refusal::Deadline { deadline, now } => *now == at && deadlines::is_too_near(*deadline, *now, form),
        Refusal::Powers { power } => !has(&brief.powers.grantable, power),
        Refusal::NoPower { power, .. } => !has(&brief.powers.usable, power),
        Refusal::BriefTooLong { bytes } => *bytes > BRIEF_BYTES_MAX,
        Refusal::MessageTooLong { bytes } => *bytes > MESSAGE_BYTES_MAX,
        Refusal::TooManyCalls { calls } => {
            let over = matches!(origin, Origin::Call(call) if call.index == CALLS_MAX);
            over && *calls > CALLS_MAX && *calls == contract.calls.made
        }
        Refusal::UnknownHire { hire } => contract.live_hire(hire).is_none(),
        Refusal::AskedYou { hire } => contract.live_hire(hire).is_some_and(|hire| contract.is_asked_by(hire)),
        Refusal::NothingToAwait => contract.live.is_empty(),
        Refusal::NotApproved => {
            matches!(origin, Origin::Call(call) if matches!(contract.calls.get(call), Some(Call::Denied)))
        }
        // These depend on texts or on offers that are not stored, or they are checked elsewhere.
        Refusal::Closing
        | Refusal::TopUpStays { .. }
        | Refusal::StaysOpen
        | Refusal::Unworkable
        | Refusal::BadAmount(_)
        | Refusal::BadName(_)
        | Refusal::Malformed
        | Refusal::Field { .. }
        | Refusal::EmptyText
        | Refusal::UnknownTool
        | Refusal::DuplicateCallId => true,
    }
}

fn has(set: &PowerSet, power: &Power) -> bool {
    set.iter().any(|other| other == power)
}
