//! Describes states, outcomes and calls for people.

use std::fmt;
use std::time::Duration;

use anstyle::Style;
use guildhall::kernel::{AgentName, Hiring, Limit, Msat, Nudge, Origin, Outcome, PayeeName, Refusal, Report};
use guildhall::{Charges, Lack};
use serde_json::Value;

use crate::amount::sats;
use crate::bill::charges;
use crate::print::{BAD, GOOD, WARN, count, tame};

/// The longest description of a call, in characters.
const CALL_CHARS_MAX: usize = 100;

/// The spinner's frames, ten per second.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The figures of a status line.
pub(super) struct Status {
    pub(super) elapsed: Duration,
    /// How many contracts are open.
    pub(super) agents: usize,
    /// How many calls of models and tools have no answer yet, and how much is held for those calls.
    pub(super) calls: usize,
    pub(super) held: Msat,
    pub(super) spent: Charges,
    pub(super) budget: Msat,
    /// Who pays.
    pub(super) paid_by: String,
}

/// Returns the status line in four lengths, the longest first.
pub(super) fn status(status: &Status) -> [String; 4] {
    let Status { elapsed, agents, calls, spent, held, budget, paid_by } = status;
    let frame = usize::try_from(elapsed.as_millis() / 100).unwrap_or(0) % SPINNER.len();
    let head = format!("{} {}", SPINNER[frame], time(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)));
    let (in_words, in_short, budget) = (charges(*spent, sats), charges(*spent, short), sats(*budget));
    let (agent, call) = (count(*agents, "agent"), count(*calls, "call"));
    let (all, holds) = (short(spent.total()), short(*held));
    [
        format!(
            "{head} · {agent} at work · {call} in flight · {in_words}, held {} of {budget}, {paid_by}",
            sats(*held)
        ),
        format!("{head} · {agent} · {call} · {in_short}, held {holds} of {budget}, {paid_by}"),
        format!("{head} · {agent} · {all} of {budget}"),
        format!("{head} {all}/{budget}"),
    ]
}

/// Says why a hire that waited for money has not begun.
pub(super) fn not_begun(why: &Refusal) -> String {
    if matches!(why, Refusal::StoppedBeforeStart { .. }) {
        "was stopped while it waited for money: nothing was spent".to_owned()
    } else if *why == Refusal::Closing {
        "was not started: its hirer is ending".to_owned()
    } else {
        format!("waited for money and was refused: {why}")
    }
}

/// Says what was refused.
pub(super) fn refused(why: &Refusal, origin: Origin) -> String {
    if matches!(why, Refusal::TopUpStays { .. }) {
        why.to_string()
    } else if origin == Origin::Outside {
        format!("an order was refused: {why}")
    } else {
        refused_call(why)
    }
}

/// The reasons are written for the agent ("you can't hire yourself"), so the most frequent ones have words of their own here.
fn refused_call(why: &Refusal) -> String {
    if *why == Refusal::SelfHire {
        "tried to hire itself: refused".to_owned()
    } else if let Refusal::UnknownAgent { agent, .. } = why {
        format!("tried to hire {agent}, which is not in its team: refused")
    } else {
        format!("had a call refused: {why}")
    }
}

/// Describes the fee of a report, as a part of its cost: the fee that was earned, or the fee that was held and is not earned.
pub(super) fn fee(earned: Msat, held: Msat, payee: Option<&PayeeName>) -> String {
    let to = payee.map_or_else(String::new, |payee| format!(" to {payee}"));
    match (earned, held) {
        (Msat::ZERO, Msat::ZERO) => String::new(),
        (Msat::ZERO, held) => format!(" (its fee of {} is not earned)", sats(held)),
        (earned, _) => format!(" (fee {}{to})", sats(earned)),
    }
}

/// An amount of sats without its unit, in few digits.
fn short(amount: Msat) -> String {
    let msat = amount.get();
    if msat.is_multiple_of(1000) || msat >= 100_000 {
        (msat / 1000).to_string()
    } else {
        format!("{}.{}", msat / 1000, msat % 1000 / 100)
    }
}

/// Formats a duration for people.
pub(super) fn time(ms: u64) -> String {
    match ms / 1000 {
        0..10 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Describes a tool call. A call of an unknown tool is described by its arguments.
pub(super) fn tool_call(tool: &str, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let said = |key: &str| arguments[key].as_str();
    let within = said("path").map_or_else(String::new, |path| format!(" in {path}"));
    let words = match tool {
        "read_file" => said("path").map(|path| format!("reads {path}")),
        "search" => said("pattern").map(|pattern| format!("searches for {pattern}{within}")),
        "list_files" => {
            let matching = said("pattern").map_or_else(String::new, |pattern| format!(" that match {pattern}"));
            Some(format!("lists files{within}{matching}"))
        }
        _ => None,
    };
    tame(&words.unwrap_or_else(|| format!("calls {tool}{}", pairs(&arguments))), CALL_CHARS_MAX)
}

fn pairs(arguments: &Value) -> String {
    let Some(arguments) = arguments.as_object().filter(|arguments| !arguments.is_empty()) else {
        return String::new();
    };
    let pair = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{key}: {value}")
        }
    };
    format!(" ({})", arguments.iter().map(pair).collect::<Vec<_>>().join(", "))
}

/// Describes which agents an agent may hire.
pub(super) fn team(hiring: &Hiring) -> String {
    let ad_hoc = if hiring.ad_hoc { ", and any other specialist" } else { "" };
    match &*hiring.team {
        [] if hiring.ad_hoc => "may hire any specialist".to_owned(),
        [] => "has no agents to hire".to_owned(),
        [one] => format!("may hire 1 agent: {one}{ad_hoc}"),
        several => format!("may hire {} agents: {}{ad_hoc}", several.len(), names(several)),
    }
}

pub(super) fn names(agents: &[AgentName]) -> String {
    agents.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")
}

/// Describes why an agent was nudged.
pub(super) fn nudged(nudge: Nudge) -> &'static str {
    match nudge {
        Nudge::Required => "is reminded that it must hire an agent",
        Nudge::ConfirmReport => "is asked whether this is its report",
        Nudge::FixReport => "is told to correct its report",
        Nudge::Empty => "is told that its reply was empty",
    }
}

/// Describes how a contract ended. `out_of_tokens` is the token limit, if that limit ended the contract.
pub(crate) fn ending(outcome: Outcome, out_of_tokens: Option<u64>) -> String {
    let words = match outcome {
        Outcome::Done => "done",
        Outcome::Exhausted(Limit::Purse) => "out of money",
        Outcome::Exhausted(Limit::Turns) => "out of turns",
        Outcome::Exhausted(Limit::Deadline) => "out of time",
        Outcome::Exhausted(Limit::Length) => "report cut",
        Outcome::Exhausted(Limit::Asked) => match out_of_tokens {
            Some(limit) => return format!("out of tokens (limit {limit})"),
            None => "stopped early: told to wrap up",
        },
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    };
    words.to_owned()
}

/// Describes why a contract makes its last report.
pub(super) fn wraps_up(outcome: Outcome, out_of_tokens: Option<u64>) -> String {
    match (outcome, out_of_tokens) {
        (Outcome::Exhausted(Limit::Asked), None) => "wraps up because it was asked to".to_owned(),
        (Outcome::Exhausted(Limit::Length), _) => "ends with a cut report: the report could not be finished".to_owned(),
        (outcome, out_of_tokens) => format!("wraps up: {}", ending(outcome, out_of_tokens)),
    }
}

/// How a contract ended, and what its report lacks.
#[derive(Clone, Copy)]
pub(crate) struct HowEnded {
    pub(crate) outcome: Outcome,
    pub(crate) lack: Option<Lack>,
    /// Whether the report is cut: its model could not finish it.
    pub(crate) cut: bool,
    /// The token limit, if that limit ended the contract.
    pub(crate) out_of_tokens: Option<u64>,
}

impl HowEnded {
    pub(crate) fn of(report: &Report, out_of_tokens: Option<u64>) -> HowEnded {
        HowEnded { outcome: report.outcome, lack: Lack::of(report), cut: report.cut, out_of_tokens }
    }

    /// Returns the colour of an outcome.
    pub(crate) fn style(self) -> Style {
        match (self.outcome, self.lack) {
            (Outcome::Done, None) => GOOD,
            (Outcome::Done, Some(_)) | (Outcome::Exhausted(_) | Outcome::Cancelled, _) => WARN,
            (Outcome::Failed, _) => BAD,
        }
    }
}

impl fmt::Display for HowEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HowEnded { outcome, lack, cut, out_of_tokens } = *self;
        let lack = match lack {
            None => "",
            Some(Lack::Acceptance) => ", but its report is not accepted",
            Some(Lack::Hire) => ", but it hired nobody although its file requires a hire",
            Some(Lack::PromisedHire) => ", but a hire that its report promises was not made",
            Some(Lack::NoHire) => ", hired nobody",
        };
        let cut = if cut && outcome != Outcome::Exhausted(Limit::Length) { ", its report is cut" } else { "" };
        write!(f, "{}{lack}{cut}", ending(outcome, out_of_tokens))
    }
}

#[cfg(test)]
mod tests {
    use guildhall::kernel::{Msat, PayeeName};

    use super::{fee, time, tool_call};

    #[test]
    fn calls_are_described() {
        assert_eq!(tool_call("read_file", r#"{"path":"notes.txt","limit":3}"#), "reads notes.txt");
        assert_eq!(tool_call("search", r#"{"pattern":"(?i:x)","path":"src"}"#), "searches for (?i:x) in src");
        assert_eq!(tool_call("list_files", "{}"), "lists files");
        assert_eq!(tool_call("board", r#"{"post":"hello","n":2}"#), "calls board (post: hello, n: 2)");
        assert_eq!(tool_call("search", "not JSON"), "calls search");
    }

    #[test]
    fn a_fee_is_described_only_where_there_is_one() {
        let (nothing, some, ada) = (Msat::ZERO, Msat::from_sat(150).unwrap(), PayeeName::parse("ada").unwrap());
        assert_eq!(fee(nothing, nothing, None), "");
        assert_eq!(fee(some, some, Some(&ada)), " (fee 150 sat to ada)");
        assert_eq!(fee(some, some, None), " (fee 150 sat)", "play money has no payee");
        assert_eq!(fee(nothing, some, Some(&ada)), " (its fee of 150 sat is not earned)");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(
            [time(340), time(42_000), time(125_000), time(7_260_000)],
            ["0.3 s", "42 s", "2 min 5 s", "2 h 1 min"]
        );
    }
}
