//! Refusals: the reason must be true at that time, as far as the facts show.

use guildhall_kernel::{
    AgentName, BRIEF_BYTES_MAX, CALLS_MAX, Cause, Hash, MESSAGE_BYTES_MAX, Origin, Path, Power, PowerSet, Refusal,
    Standing,
};

use crate::batch::{Batch, Duty, Stage};
use crate::calls::{Act, Call};
use crate::checker::Step;
use crate::contract::Phase;
use crate::deadlines;
use crate::hires::is_listed_above;
use crate::purse::wide;
use crate::row::Slot;
use crate::scarce::{self, Short};
use crate::violation::Law;
use crate::{answers, queue};

/// What was refused.
#[derive(Clone, Copy)]
pub(crate) struct Refused<'a> {
    pub(crate) why: &'a Refusal,
    pub(crate) origin: Origin,
    pub(crate) bytes: u32,
    /// The agent that was not hired.
    pub(crate) agent: Option<&'a AgentName>,
    /// The ordinal of a hire that had waited.
    pub(crate) ordinal: Option<u32>,
}

/// A call, a hire, a check or a top-up was refused.
pub(crate) fn refused(step: &mut Step<'_, '_>, refused: Refused<'_>) {
    let Refused { why, origin, bytes, ordinal, .. } = refused;
    let holds = is_true(step, why, origin);
    step.found.demand(holds, Law::Refusals, format_args!("the reason of the refusal is not true: {why:?}"));
    check_money(step, refused);
    if let Refusal::TopUpStays { to, with } = why {
        stays(step, to, with);
    }
    if let Refusal::Closing = why {
        step.batch.must(Duty::BeEnding);
    }
    if let Refusal::StoppedBeforeStart { hire } = why {
        let stopped = is_stopped(step, hire, ordinal);
        step.found.demand(stopped, Law::Refusals, format_args!("{hire} is refused as stopped, but nobody stopped it"));
    }
    let call = match (ordinal, origin) {
        (Some(ordinal), _) => {
            step.batch.must(Duty::WakeWaiting);
            queue::refused(step, ordinal, origin)
        }
        (None, Origin::Call(call)) => {
            let contract = &mut step.tree.contracts[step.me];
            contract.calls.place(call, Act::Refusal, Call::Resolved, step.found);
            None
        }
        (None, Origin::Outside) => {
            step.batch.offer = None;
            None
        }
        (None, Origin::Course | Origin::Cascade) => None,
    };
    let contract = &mut step.tree.contracts[step.me];
    if let Some(call) = call {
        contract.calls.turn(call, Call::Resolved);
    }
    if let Origin::Call(_) = origin {
        // The next request shows the refusal as the call's answer.
        answers::shown(contract, u64::from(bytes));
    }
}

/// Checks a refused hire against the money that is held and available.
fn check_money(step: &mut Step<'_, '_>, refused: Refused<'_>) {
    let Refused { why, origin, agent, ordinal, .. } = refused;
    let outside = step.batch.offer.as_deref().filter(|_| origin == Origin::Outside);
    let is_hire = ordinal.is_some() || agent.is_some() || outside.is_some() || origin == Origin::Cascade;
    if !is_hire {
        return;
    }
    let contract = &mut step.tree.contracts[step.me];
    if let (None, Some(money)) = (ordinal, step.batch.hiring_with) {
        contract.experience.tried_to_hire(money);
    }
    if let Refusal::Money { asked, minimum, .. } = why {
        let short = Short::find(contract, ordinal, outside);
        scarce::check_hire(contract, step.batch, &short, (*asked, *minimum), step.found);
    }
}

/// Returns whether a waiting hire was stopped: by the owner, or by a call of the newest reply. Such a call is refused
/// with the same reason.
fn is_stopped(step: &Step<'_, '_>, hire: &Path, ordinal: Option<u32>) -> bool {
    let contract = &step.tree.contracts[step.me];
    let mine = hire.hirer().as_ref() == Some(contract.path());
    let waited = match contract.row.slot(hire.ordinal()) {
        Some(Slot::Waiting(_)) => true,
        Some(Slot::Refused) => ordinal.is_none(),
        Some(Slot::Admitted(_)) | None => false,
    };
    let same = ordinal.is_none_or(|ordinal| ordinal == hire.ordinal());
    mine && waited && same && was_asked_to_stop(step.batch, hire.ordinal())
}

fn was_asked_to_stop(batch: &Batch, ordinal: u32) -> bool {
    match batch.cause {
        Cause::Stimulus(_) => batch.dropped == Some(ordinal),
        Cause::Answer(_) => true,
        Cause::Opening | Cause::Tick => false,
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

fn is_true(step: &Step<'_, '_>, why: &Refusal, origin: Origin) -> bool {
    let (contract, at) = (&step.tree.contracts[step.me], step.at);
    let brief = &contract.brief;
    let recursive = brief.hiring.as_ref().is_some_and(|hiring| hiring.recursive);
    match why {
        Refusal::CantHire => brief.hiring.is_none(),
        Refusal::SelfHire => !recursive && brief.standing == Standing::Listed,
        Refusal::Cycle { way } => !recursive && way.first().is_some_and(|agent| is_listed_above(brief, agent)),
        // An ad-hoc specialist may have the name of a team member; then the refusal does not offer that name.
        Refusal::UnknownAgent { agent, team } => brief
            .hiring
            .as_ref()
            .is_none_or(|hiring| !hiring.team.contains(agent) || !hiring.ad_hoc && !team.contains(agent)),
        Refusal::SameTask { agent } => brief.agent == *agent || brief.lineage.upward().any(|link| link.agent == *agent),
        Refusal::PassedOn { times } => {
            let above = || brief.lineage.upward().map(|link| link.task_key).chain([brief.task_key]);
            let same = |key: Hash| above().filter(|other| *other == key).count();
            *times >= 3 && above().any(|key| u32::try_from(same(key)) == Ok(*times))
        }
        Refusal::Repeated { tool, times } => contract.repeats.has_repeated(tool, *times),
        Refusal::TooDeep { asked, left } => asked > left && *left <= brief.grant.depth,
        Refusal::NoHeads { asked, free } => asked > free && i128::from(free.0) <= contract.heads.available,
        Refusal::Money { asked, free, minimum } => {
            (asked > free || asked < minimum) && wide(*free) <= contract.money.available
        }
        Refusal::Deadline { deadline, now } => *now == at && deadlines::is_too_near(*deadline, *now),
        Refusal::Powers { power } => !has(&brief.powers.grantable, power),
        Refusal::NoPower { power, .. } => !has(&brief.powers.usable, power),
        Refusal::BriefTooLong { bytes } => *bytes > BRIEF_BYTES_MAX,
        Refusal::MessageTooLong { bytes } => *bytes > MESSAGE_BYTES_MAX,
        Refusal::TooManyCalls { calls } => {
            let over = matches!(origin, Origin::Call(call) if call.index == CALLS_MAX);
            over && *calls > CALLS_MAX && *calls == contract.calls.made
        }
        Refusal::UnknownHire { hire } => contract.live_hire(hire).is_none() && contract.waiting_hire(hire).is_none(),
        Refusal::AskedYou { hire } => contract.live_hire(hire).is_some() && contract.is_asked_by(hire.ordinal()),
        Refusal::NotStarted { hire } => contract.waiting_hire(hire).is_some(),
        Refusal::NothingToAwait => contract.live.is_empty() && contract.row.waiting.is_empty(),
        Refusal::NotApproved => {
            matches!(origin, Origin::Call(call) if matches!(contract.calls.get(call), Some(Call::Denied)))
        }
        // These depend on texts or on offers that are not stored, or they are checked elsewhere.
        Refusal::Closing
        | Refusal::TopUpStays { .. }
        | Refusal::StoppedBeforeStart { .. }
        | Refusal::StaysOpen
        | Refusal::Unworkable
        | Refusal::BadAmount(_)
        | Refusal::BadName(_)
        | Refusal::Malformed
        | Refusal::CutCall
        | Refusal::Field { .. }
        | Refusal::EmptyText
        | Refusal::UnknownTool
        | Refusal::DuplicateCallId => true,
    }
}

fn has(set: &PowerSet, power: &Power) -> bool {
    set.iter().any(|other| other == power)
}
