//! The texts of refusals in form 1. Facts of form 1 do not store the length of a refusal's text, and the price of a
//! request depends on that length. So these texts must never change. They are not shown to anyone.

use super::Refusal;
use crate::money::{AmountError, Msat};
use crate::name::{AgentName, NameError};

/// Returns the text of a refusal in form 1; `None` for a refusal that form 1 did not have.
pub(super) fn wording(why: &Refusal) -> Option<String> {
    Some(match why {
        Refusal::CantHire => "this agent may not hire: do the work yourself".into(),
        Refusal::SelfHire => "an agent can't hire itself: do the work yourself, or hire somebody else".into(),
        Refusal::UnknownAgent { agent, team } => {
            let team = if team.is_empty() { "nobody".into() } else { joined(team, ", ") };
            format!("{} is not on your team: hire one of {team}", agent.as_str())
        }
        Refusal::Cycle { way } => {
            format!("{} would be a circle: hire somebody who is not waiting for you", joined(way, " -> "))
        }
        Refusal::SameTask { agent } => {
            let agent = agent.as_str();
            format!("{agent} above you already has this very task: do your part of it, or hand on a smaller one")
        }
        Refusal::TooDeep { asked, left } => {
            format!("no hires below this level: {asked} more levels asked for, {left} left: do the work yourself")
        }
        Refusal::NoHeads { asked, free } => {
            format!("{} heads asked for, {} free: hire fewer, or wait for a report", asked.0, free.0)
        }
        Refusal::Money { asked, free, minimum } => {
            let (asked, free, minimum) = (money(*asked), money(*free), money(*minimum));
            format!(
                "{asked} is not possible: {free} free, at least {minimum} needed: do it yourself, or wait for change"
            )
        }
        Refusal::Deadline { deadline, now } => {
            let (deadline, now) = (deadline.0, now.0);
            format!(
                "a report due at {deadline}ms leaves no time to work, it is {now}ms and wrapping up takes 30000ms: do it yourself"
            )
        }
        Refusal::Powers { power } => format!("the power {} is not yours to grant: hire without it", power.as_str()),
        Refusal::NoPower { tool, power } => {
            let (tool, power) = (tool.as_str(), power.as_str());
            format!("{tool} needs the power {power}, which you do not have: use another tool, or hire one who has it")
        }
        Refusal::NotApproved => "not approved: go on without it".into(),
        Refusal::StaysOpen => "only a root can stay open".into(),
        Refusal::Unworkable => {
            "the brief does not fit its place: its context, lineage, model or severance is wrong".into()
        }
        Refusal::BriefTooLong { bytes } => {
            format!("a brief of {bytes} bytes is too long: at most 65536: put the rest into a file and name it")
        }
        Refusal::MessageTooLong { bytes } => {
            format!("a message of {bytes} bytes is too long: at most 65536: put the rest into a file and name it")
        }
        Refusal::TooManyCalls { calls } => {
            format!(
                "{calls} calls in one reply: only the first 1024 were considered: make the others again, fewer at a time"
            )
        }
        Refusal::UnknownHire { hire } => format!("{hire} is not one of your live hires: ask for the list"),
        Refusal::NothingToAwait => "none of your hires is at work: there is nothing to wait for".into(),
        Refusal::AskedYou { .. } | Refusal::Field { .. } => return None,
        Refusal::Closing => "it is time to report: no more calls".into(),
        Refusal::TopUpStays { to, with } => {
            format!("{to} takes no more money: it stays with {with}")
        }
        Refusal::BadAmount(why) => amount(why).into(),
        Refusal::BadName(why) => name(why),
        Refusal::Malformed => "the call could not be read: follow the tool's schema".into(),
        Refusal::EmptyText => "there is not a word in it: say what is to be done, told or asked".into(),
        Refusal::UnknownTool => "there is no such tool: use one of those you were given".into(),
        Refusal::DuplicateCallId => "another call of this reply has the same id: give each its own".into(),
    })
}

fn amount(why: &AmountError) -> &'static str {
    match why {
        AmountError::Zero => "an amount of 0 buys nothing: give at least 1 sat, or leave the budget out for a share",
        AmountError::Negative => "an amount can't be negative: give a whole number of sats",
        AmountError::Fractional => "an amount must be a whole number of sats, such as 250",
        AmountError::NotANumber => "an amount must be a whole number of sats, such as 250, not a word, a list or NaN",
        AmountError::BeyondSupply => "there are only 21 million bitcoin: give at most 2100000000000000 sats",
    }
}

fn name(why: &NameError) -> String {
    match why {
        NameError::Empty => "a name can't be empty: use letters, digits, '-', '_' or '.', such as log-reader".into(),
        NameError::TooLong { bytes } => format!("a name of {bytes} bytes is too long: use at most 64"),
        NameError::BadCharacter { found } => format!(
            "{found:?} can't stand there in a name: use letters a-z, digits, '-' and '_', and inside it single spaces and '.'"
        ),
    }
}

fn money(amount: Msat) -> String {
    match (amount.get() / 1000, amount.get() % 1000) {
        (sat, 0) => format!("{sat}sat"),
        (sat, msat) => format!("{sat}.{}sat", format!("{msat:03}").trim_end_matches('0')),
    }
}

fn joined(names: &[AgentName], between: &str) -> String {
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(between)
}
