//! Laws 4 and 9 for an admitted hire: what a hirer may pass on, and which agents it may hire.

use guildhall_kernel::{AgentName, Brief, CloseWhen, Context, DEPTH_MAX, Millis, Power, PowerSet, Standing};

use crate::contract::Contract;
use crate::deadlines;
use crate::form::Form;
use crate::purse::{minimum, wide};
use crate::violation::{Found, Law};

/// Checks a hire against the contract that makes it.
pub(crate) fn check(hirer: &Contract, hire: &Brief, at: Millis, form: Form, found: &mut Found<'_>) {
    let ordinal = u32::try_from(hirer.hires.len() + 1).unwrap_or(u32::MAX);
    let next = hire.path.ordinal() == ordinal && hire.path.hirer().as_ref() == Some(hirer.path());
    found.demand(next, Law::Hires, format_args!("{} is not the path of hire {ordinal}", hire.path));
    check_grant(&hirer.brief, hire, found);
    deadlines::check_hire(&hirer.brief.grant, &hire.grant, at, form, found);
    check_handed_down(&hirer.brief, hire, found);
    check_who(&hirer.brief, hire, found);
    check_task(&hirer.brief, hire, found);
    check_context(hirer, hire, found);
}

fn check_grant(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let (have, gives) = (hirer.grant.depth, hire.grant.depth);
    let falls = gives < have && hire.path.level() <= usize::from(DEPTH_MAX);
    found.demand(falls, Law::Grants, format_args!("passes on depth {gives}, but its own depth is {have}"));
    for set in [&hire.powers.usable, &hire.powers.grantable] {
        if let Some(power) = lacking(set, &hirer.powers.grantable) {
            found.broken(Law::Grants, format_args!("passes on the power {power}, which it is not allowed to grant"));
        }
    }
    let (money, least) = (wide(hire.grant.money), minimum(hire));
    found.demand(money >= least, Law::Refusals, format_args!("the grant is {money} msat, but the minimum is {least}"));
}

fn check_handed_down(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let due = hirer.terms.iter().chain(hirer.adds.iter());
    let enough = hire.terms.len() >= hirer.terms.len() + hirer.adds.len();
    let kept = enough && due.zip(hire.terms.iter()).all(|(due, term)| due == term);
    found.demand(kept, Law::Grants, format_args!("the hirer's terms were dropped or changed"));
    let mut links = hire.lineage.upward();
    let mine = links.next().is_some_and(|link| link.agent == hirer.agent && link.task_key == hirer.task_key);
    let rest = links.eq(hirer.lineage.upward());
    found.demand(mine && rest, Law::Grants, format_args!("the lineage is not the hirer's lineage plus the hirer"));
    found.demand(
        hire.close_when == CloseWhen::FinalText,
        Law::Grants,
        format_args!("a hire stays open after its final text"),
    );
}

/// Checks the hired agent. A fork has the hirer's own agent, which is not on its team.
fn check_who(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let agent = &hire.agent;
    let Some(hiring) = &hirer.hiring else {
        return found.broken(Law::Refusals, format_args!("hires {agent}, but is not allowed to hire"));
    };
    if let Context::Fork { .. } = hire.context {
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
    found.demand(*agent != hirer.agent, Law::Refusals, format_args!("{agent} hires itself"));
    let above = hirer.lineage.upward().any(|link| link.agent == *agent);
    found.demand(!above, Law::Refusals, format_args!("hires {agent}, which is above it in the tree"));
}

/// Checks that no contract above has the same agent and task; for an ad-hoc specialist only the task is compared.
fn check_task(hirer: &Brief, hire: &Brief, found: &mut Found<'_>) {
    let same = |agent: &AgentName| hire.standing == Standing::AdHoc || hire.agent == *agent;
    let mut again = hire.task_key == hirer.task_key && same(&hirer.agent);
    again |= hirer.lineage.upward().any(|link| link.task_key == hire.task_key && same(&link.agent));
    found.demand(
        !again,
        Law::Refusals,
        format_args!("hires {} for a task that a contract above already has", hire.agent),
    );
}

fn check_context(hirer: &Contract, hire: &Brief, found: &mut Found<'_>) {
    match &hire.context {
        Context::Fresh => {}
        Context::After { .. } => {
            found.broken(Law::Grants, format_args!("a hire continues after a root, which only a root can do"));
        }
        Context::Fork { request, upto, .. } => {
            let newest = hirer.request.is_some_and(|newest| newest.ask == *request && newest.upto == *upto);
            found.demand(
                newest,
                Law::Grants,
                format_args!("the fork refers to {request}, which is not the newest request"),
            );
            let same = hire.tariff == hirer.brief.tariff;
            found.demand(same, Law::Grants, format_args!("a fork with its own tariff"));
        }
    }
}

/// Returns the first power of `set` that is missing in `of`. Both sets are sorted.
pub(crate) fn lacking<'a>(set: &'a PowerSet, of: &PowerSet) -> Option<&'a Power> {
    let mut have = of.iter().peekable();
    set.iter().find(|power| {
        while have.next_if(|other| other < power).is_some() {}
        have.peek() != Some(power)
    })
}
