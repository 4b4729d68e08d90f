//! Laws 4 and 9 for a hire: what a hirer may pass on, and which agents it may hire. A hire that has to wait is checked
//! when it begins to wait, and again when it is admitted.

use std::sync::Arc;

use guildhall_kernel::{
    AgentName, AskId, Brief, CALLS_MAX, CloseWhen, Context, DEPTH_MAX, Hash, Inherit, Link, Mode, NOTICE_BYTES_MAX,
    Offer, Origin, Power, PowerSet, Powers, Standing,
};

use crate::batch::Batch;
use crate::checker::Step;
use crate::contract::{Contract, Hired};
use crate::deadlines;
use crate::purse::{minimum, wide};
use crate::queue;
use crate::row::Slot;
use crate::sizes;
use crate::violation::{Found, Law};

/// Of the heads that are free, a hirer keeps a tenth.
const HEADS_KEPT_DIVISOR: i128 = 10;

/// The contract hired: at once, or after the hire waited.
pub(crate) fn asked(step: &mut Step<'_, '_>, id: AskId, hire: &Arc<Brief>, mode: Mode, origin: Origin) -> Hired {
    let contract = &mut step.tree.contracts[step.me];
    queue::check_order(contract, &hire.path, step.found);
    let waiting = queue::waiting_for(contract, hire).cloned();
    deadlines::check_hire(&contract.brief.grant, &hire.grant, step.at, step.found);
    let offer = if let Some(waiting) = &waiting {
        queue::check_admitted(contract, waiting, hire, (origin, mode), step.found);
        Some(waiting.offer.clone())
    } else {
        check_context(contract, &hire.context, origin, step.found);
        hired(contract, step.batch);
        offered(contract, step.batch, hire, origin, step.found)
    };
    check(contract, hire, offer.as_deref(), step.found);
    if let Some(offer) = &offer {
        check_offered(offer, hire, contract, step.found);
    }
    step.batch.shares.grant(contract, hire, offer.as_deref(), mode);
    if waiting.is_some() {
        queue::admitted(contract, hire.path.ordinal(), id);
    } else {
        contract.row.add(Slot::Admitted(id));
        if mode == Mode::Blocking {
            contract.row.blocking.insert(hire.path.ordinal());
        }
    }
    contract.live.insert(id);
    Hired::new(Arc::clone(hire))
}

/// Notes with how much money the contract hired.
pub(crate) fn hired(contract: &mut Contract, batch: &Batch) {
    if let Some(money) = batch.hiring_with {
        contract.experience.hired(money);
    }
}

/// Returns the offer from outside that a hire belongs to.
fn offered(
    hirer: &Contract,
    batch: &mut Batch,
    hire: &Brief,
    origin: Origin,
    found: &mut Found<'_>,
) -> Option<Box<Offer>> {
    if origin != Origin::Outside {
        return None;
    }
    let offer = batch.offer.take().filter(|offer| is_offered(offer, hire) && inherits(offer, &hire.context, hirer));
    let agent = &hire.agent;
    found.demand(offer.is_some(), Law::Refusals, format_args!("hires {agent} from outside, which was not offered"));
    offer
}

/// Returns whether a hire has the agent and the task that were offered. A fork has its hirer's agent, whatever agent the
/// offer names.
pub(crate) fn is_offered(offer: &Offer, hire: &Brief) -> bool {
    let who = offer.inherit == Inherit::Fork || offer.agent == hire.agent;
    who && offer.task_key == hire.task_key
}

/// Returns whether a hire has the context that its offer names. Before its first request, a contract has no context to
/// pass on.
fn inherits(offer: &Offer, context: &Context, hirer: &Contract) -> bool {
    let is_fork = matches!(context, Context::Fork { .. });
    match offer.inherit {
        Inherit::Fresh => !is_fork,
        Inherit::Fork => is_fork || hirer.request.is_none(),
    }
}

/// Checks an offer that has to wait against the contract that makes it, as far as no later fact changes the result.
pub(crate) fn check_offer(hirer: &Contract, offer: &Offer, context: &Context, origin: Origin, found: &mut Found<'_>) {
    let fits = inherits(offer, context, hirer);
    found.demand(fits, Law::Grants, format_args!("a hire waits with a context that was not offered"));
    check_context(hirer, context, origin, found);
    match offer.inherit {
        Inherit::Fresh => {
            let Offer { agent, standing, task_key, .. } = offer;
            let who = Who { agent, standing: *standing, task_key: *task_key, is_fork: false };
            check_who(&hirer.brief, &who, found);
            check_task(&hirer.brief, &who, found);
            check_powers(&hirer.brief, &offer.powers, found);
        }
        Inherit::Fork => {
            let (agent, standing) = (&hirer.brief.agent, hirer.brief.standing);
            let who = Who { agent, standing, task_key: offer.task_key, is_fork: true };
            check_who(&hirer.brief, &who, found);
            check_task(&hirer.brief, &who, found);
        }
    }
    let depth = hirer.brief.grant.depth;
    found.demand(depth > 0, Law::Grants, format_args!("a hire waits, but the contract's own depth is {depth}"));
}

/// Checks a hire against the contract that makes it.
fn check(hirer: &Contract, hire: &Brief, offer: Option<&Offer>, found: &mut Found<'_>) {
    check_grant(&hirer.brief, hire, found);
    check_powers(&hirer.brief, &hire.powers, found);
    check_handed_down(&hirer.brief, hire, found);
    // A fork that was offered before the hirer's first request has no prefix, but is still a fork.
    let has_prefix = matches!(hire.context, Context::Fork { .. });
    let is_fork = has_prefix || offer.is_some_and(|offer| offer.inherit == Inherit::Fork);
    let who = Who { agent: &hire.agent, standing: hire.standing, task_key: hire.task_key, is_fork };
    check_who(&hirer.brief, &who, found);
    check_task(&hirer.brief, &who, found);
    let same = !has_prefix || hire.tariff == hirer.brief.tariff;
    found.demand(same, Law::Grants, format_args!("a fork with its own tariff"));
}

/// The agent that is hired, and its task.
struct Who<'a> {
    agent: &'a AgentName,
    standing: Standing,
    task_key: Hash,
    is_fork: bool,
}

fn check_grant(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let (have, gives) = (hirer.grant.depth, hire.grant.depth);
    let falls = gives < have && hire.path.level() <= usize::from(DEPTH_MAX);
    found.demand(falls, Law::Grants, format_args!("passes on depth {gives}, but its own depth is {have}"));
    let (money, least) = (wide(hire.grant.money), minimum(hire));
    found.demand(money >= least, Law::Refusals, format_args!("the grant is {money} msat, but the minimum is {least}"));
    let most = hire.money_max.map_or(i128::MAX, wide);
    found.demand(money <= most, Law::Grants, format_args!("the grant is {money} msat, but at most {most} are allowed"));
}

fn check_powers(hirer: &Brief, powers: &Powers, found: &mut Found<'_>) {
    for set in [&powers.usable, &powers.grantable] {
        if let Some(power) = lacking(set, &hirer.powers.grantable) {
            found.broken(Law::Grants, format_args!("passes on the power {power}, which it is not allowed to grant"));
        }
    }
}

fn check_handed_down(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let due = hirer.terms.iter().chain(hirer.adds.iter());
    let enough = hire.terms.len() >= hirer.terms.len() + hirer.adds.len();
    let kept = enough && due.zip(hire.terms.iter()).all(|(due, term)| due == term);
    found.demand(kept, Law::Grants, format_args!("the hirer's terms were dropped or changed"));
    let mut links = hire.lineage.upward();
    let is_hirer =
        |link: &Link| link.agent == hirer.agent && link.standing == hirer.standing && link.task_key == hirer.task_key;
    let mine = links.next().is_some_and(is_hirer);
    let rest = links.eq(hirer.lineage.upward());
    found.demand(mine && rest, Law::Grants, format_args!("the lineage is not the hirer's lineage plus the hirer"));
    found.demand(
        hire.close_when == CloseWhen::FinalText,
        Law::Grants,
        format_args!("a hire stays open after its final text"),
    );
}

/// Checks the hired agent. A fork has the hirer's own agent, which is not on its team.
fn check_who(hirer: &Brief, hire: &Who<'_>, found: &mut Found<'_>) {
    let agent = hire.agent;
    let Some(hiring) = &hirer.hiring else {
        return found.broken(Law::Refusals, format_args!("hires {agent}, but is not allowed to hire"));
    };
    if hire.is_fork {
        return found.demand(
            *agent == hirer.agent,
            Law::Refusals,
            format_args!("a fork has {agent}, which is not the hirer's agent"),
        );
    }
    let allowed = match hire.standing {
        Standing::Listed => hiring.team.contains(agent),
        Standing::AdHoc => hiring.ad_hoc,
    };
    found.demand(allowed, Law::Refusals, format_args!("hires {agent}, which is not on its team"));
    if hiring.recursive || hire.standing == Standing::AdHoc {
        return;
    }
    // The name of an ad-hoc specialist is not the name of an agent, so it is compared with nothing.
    let itself = hirer.standing == Standing::Listed && *agent == hirer.agent;
    found.demand(!itself, Law::Refusals, format_args!("{agent} hires itself"));
    let above = is_listed_above(hirer, agent);
    found.demand(!above, Law::Refusals, format_args!("hires {agent}, which is above it in the tree"));
}

/// Returns whether a contract above has this agent of the roster.
pub(crate) fn is_listed_above(brief: &Brief, agent: &AgentName) -> bool {
    brief.lineage.upward().filter(|link| link.standing == Standing::Listed).any(|link| link.agent == *agent)
}

/// Checks that no contract above has the same listed agent and task; for an ad-hoc specialist only the task is compared.
fn check_task(hirer: &Brief, hire: &Who<'_>, found: &mut Found<'_>) {
    let same = |agent: &AgentName, standing: Standing| match hire.standing {
        Standing::AdHoc => true,
        Standing::Listed => standing == Standing::Listed && hire.agent == agent,
    };
    let mut again = hire.task_key == hirer.task_key && same(&hirer.agent, hirer.standing);
    again |= hirer.lineage.upward().any(|link| link.task_key == hire.task_key && same(&link.agent, link.standing));
    found.demand(
        !again,
        Law::Refusals,
        format_args!("hires {} for a task that a contract above already has", hire.agent),
    );
    let keys = hirer.lineage.upward().map(|link| link.task_key).chain([hirer.task_key]);
    let times = keys.filter(|key| *key == hire.task_key).count();
    found.demand(
        times < 3,
        Law::Refusals,
        format_args!("hires {} for a task that {times} contracts above already have", hire.agent),
    );
}

fn check_context(hirer: &Contract, context: &Context, origin: Origin, found: &mut Found<'_>) {
    match context {
        Context::Fresh => {}
        Context::After { .. } => {
            found.broken(Law::Grants, format_args!("a hire continues after a root, which only a root can do"));
        }
        Context::Fork { request, upto, tokens } => {
            let newest = hirer.request.is_some_and(|newest| newest.ask == *request && newest.upto == *upto);
            found.demand(
                newest,
                Law::Grants,
                format_args!("the fork refers to {request}, which is not the newest request"),
            );
            let least = fork_least(hirer, origin);
            found.demand(
                *tokens >= least,
                Law::Holds,
                format_args!("the fork counts {tokens} tokens, but its prefix has at least {least}"),
            );
        }
    }
}

/// Returns the minimum size of a fork's prefix: the newest request, and the reply that made the fork, each of whose
/// calls is answered with a notice.
fn fork_least(hirer: &Contract, origin: Origin) -> u64 {
    let Some(newest) = hirer.request else { return 0 };
    let Some(said) = hirer.said.filter(|_| hirer.calls.reply == Some(newest.ask)) else { return newest.tokens };
    let request = said.input_tokens.unwrap_or(newest.tokens);
    match origin {
        Origin::Call(_) | Origin::Cascade => {
            let notices = u64::from(said.calls.min(CALLS_MAX)) * NOTICE_BYTES_MAX;
            request.saturating_add(sizes::of_own(said.size)).saturating_add(notices)
        }
        // No reply made this fork.
        Origin::Course | Origin::Outside => request.min(newest.tokens),
    }
}

/// Checks that a hire gets no more than its offer says, or no more than a share if the offer says nothing.
fn check_offered(offer: &Offer, hire: &Brief, hirer: &Contract, found: &mut Found<'_>) {
    let grant = &hire.grant;
    let (most, due) = (hire.money_max, offer.budget.or(offer.share_max));
    found.demand(most == due, Law::Grants, format_args!("the hire may get {most:?}, but its offer says {due:?}"));
    let (heads, free) = (i128::from(grant.heads.0), hirer.heads.available);
    let most = match (offer.heads, &hire.hiring) {
        (Some(said), _) => i128::from(said.0),
        (None, None) => 0,
        // The hire's own head is part of its share.
        (None, Some(_)) => free - free / HEADS_KEPT_DIVISOR - 1,
    };
    found.demand(
        heads <= most,
        Law::Grants,
        format_args!("the hire is granted {heads} heads, but at most {most} are allowed"),
    );
    let (depth, most) = (grant.depth, offer.depth.unwrap_or(u8::MAX));
    found.demand(
        depth <= most,
        Law::Grants,
        format_args!("the hire is granted depth {depth}, but at most {most} is allowed"),
    );
    let in_time = offer.deadline.is_none_or(|said| grant.deadline.is_some_and(|deadline| deadline <= said));
    let (said, due) = (offer.deadline, grant.deadline);
    found.demand(in_time, Law::Grants, format_args!("the hire is due {due:?}, but its offer says {said:?}"));
}

/// Returns the first power of `set` that is missing in `of`. Both sets are sorted.
pub(crate) fn lacking<'a>(set: &'a PowerSet, of: &PowerSet) -> Option<&'a Power> {
    let mut have = of.iter().peekable();
    set.iter().find(|power| {
        while have.next_if(|other| other < power).is_some() {}
        have.peek() != Some(power)
    })
}
