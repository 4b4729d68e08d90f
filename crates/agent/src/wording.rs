//! The runtime's own texts: what an agent is shown about its hires, its nudges and its refusals. The texts of tools and hires are
//! put between marks, as data. They never look like texts of the runtime.

use std::fmt;

use guildhall_kernel::{
    Acceptance, AgentName, Answer, Brief, EXAMPLE_BYTES_MAX, Limit, Msat, NOTICE_BYTES_MAX, Nudge, Outcome, Path,
    Refusal, Report, Undone, WaitsFor, Waking,
};

use crate::status::{HiringLeft, Status};
use crate::transcript::Hire;

/// Returns the mark of a report, which says how the hire ended.
pub(crate) fn label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "sub-agent-complete",
        Outcome::Exhausted(_) => "sub-agent-exhausted",
        Outcome::Failed => "sub-agent-failed",
        Outcome::Cancelled => "sub-agent-cancelled",
    }
}

/// Returns a report as its hirer is shown it: as data between marks. `name` is the hirer's name for the work. The task is shown
/// unless it precedes the report anyway.
pub(crate) fn report(brief: &Brief, report: &Report, name: Option<&str>, task: Option<&str>, text: &str) -> String {
    let (hire, agent) = (&brief.path, &brief.agent);
    let why = match report.outcome {
        Outcome::Done | Outcome::Failed | Outcome::Cancelled => "",
        Outcome::Exhausted(Limit::Purse) => " ran out of money",
        Outcome::Exhausted(Limit::Turns) => " ran out of turns",
        Outcome::Exhausted(Limit::Deadline) => " ran out of time",
        Outcome::Exhausted(Limit::Asked) => " was told to wrap up",
        Outcome::Exhausted(Limit::Length) => " could not finish its report",
    };
    let accepted = match report.acceptance {
        Acceptance::Accepted => "",
        Acceptance::NotAccepted => " not-accepted",
    };
    let undone = match report.undone {
        None | Some(Undone::Unclear) => "",
        Some(Undone::RequiredHire | Undone::NoHire) => " hired-nobody",
        Some(Undone::PromisedHire) => " promised-hire-not-made",
    };
    let cut = if report.cut { " cut" } else { "" };
    let (label, money, text) = (label(report.outcome), money(report), quote(text));
    let task = task.map(|task| format!("task: {}\n\n", quote(task))).unwrap_or_default();
    let name = name.map(|name| format!("name=\"{}\" ", quote(name).replace('"', "'"))).unwrap_or_default();
    format!(
        "<{label} id=\"{hire}\" agent=\"{agent}\" {name}{money}{accepted}{undone}{cut}>{why}\n{task}{text}\n</{label}>"
    )
}

/// Describes what a hire was granted and what it used. Money that may not have been billed is shown separately.
fn money(report: &Report) -> String {
    let granted = Msat::capped(u128::from(report.spent.get()) + u128::from(report.change.get()));
    let also = [("estimated", report.estimated), ("reserved", report.reserved)];
    let also = also.into_iter().filter(|(_, part)| *part > Msat::ZERO);
    also.fold(format!("granted=\"{granted}\" used=\"{}\"", report.used()), |money, (what, part)| {
        format!("{money} {what}=\"{part}\"")
    })
}

/// Changes data so that it can't close its own marks or open others: a reader must know which texts are the runtime's.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        quoted.push(letter);
        let rest = &text[at + letter.len_utf8()..];
        if letter == '<' && is_mark(rest) || letter == '[' && stripped(rest, "status:").is_some() {
            quoted.push('\\');
        }
    }
    quoted
}

/// Whether a model could take the text after a `<` for a mark of the runtime, ignoring case and blanks.
fn is_mark(rest: &str) -> bool {
    let blank = |letter: char| letter.is_whitespace();
    let name = rest.trim_start_matches(|letter| blank(letter) || letter == '/');
    let closes = rest[..rest.len() - name.len()].contains('/');
    let named = |mark: &&str| {
        let after = stripped(name, mark)?;
        let ends = after.starts_with(|letter| blank(letter) || letter == '>') || after.is_empty();
        (if closes { ends } else { stripped(after.trim_start(), "from").is_some() && ends }).then_some(())
    };
    stripped(name, "sub-agent-").is_some() || ["message", "question", "post"].iter().any(|mark| named(mark).is_some())
}

/// Returns the rest of a text that starts with `with`, ignoring case.
fn stripped<'a>(text: &'a str, with: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(with.len())?;
    start.eq_ignore_ascii_case(with).then_some(rest)
}

pub(crate) fn message(from: &Path, text: &str) -> String {
    format!("<message from=\"{from}\">\n{}\n</message>", quote(text))
}

pub(crate) fn was_hired(hire: &Hire, money: Msat, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    format!("{agent} was hired as {path}; granted {money}; you will get its report.")
}

/// The result of a call that hired in the background, if there is not enough money yet.
pub(crate) fn waits_for_money(hire: &Hire, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    format!(
        "{agent} waits for money as {path} and begins when other work returns enough; you will get its report. Stop {path} if you \
         no longer need it."
    )
}

/// Tells a hirer that a hire that waited for money has begun.
pub(crate) fn has_begun(hire: &Hire, money: Msat, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    format!("{agent} has begun as {path}; granted {money}; you will get its report.")
}

/// Tells a hirer that a hire that waited for money in the background was refused.
pub(crate) fn not_begun(hire: &Hire, why: &Refusal, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    if matches!(why, Refusal::StoppedBeforeStart { .. }) {
        return format!("{agent} was stopped as {path} before it started; nothing was spent.");
    }
    format!("{agent}, which waited for money as {path}, was refused: {why}.")
}

pub(crate) fn agent_with_label(agent: &AgentName, label: Option<&str>) -> String {
    match label {
        Some(label) => format!("{} ({agent})", quote(label)),
        None => agent.to_string(),
    }
}

/// The result of a call that waited for a hire, if the hirer received a message meanwhile.
pub(crate) fn continues(hire: &Hire, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    format!("You got a message. {agent} continues as {path} in the background; you will get its report.")
}

/// The same, if the hire has not begun because it waits for money.
pub(crate) fn keeps_waiting(hire: &Hire, label: Option<&str>) -> String {
    let (agent, path) = (agent_with_label(&hire.agent, label), &hire.path);
    format!(
        "You got a message. {agent} still waits for money as {path}. It begins in the background when other work returns enough; you \
         will get its report."
    )
}

pub(crate) const STOPPED: &str = "The hire was told to stop. You will get its report.";

/// The text of a report if the hire ended before it wrote anything.
pub(crate) const SAID_NOTHING: &str = "The hire ended before it wrote anything.";

pub(crate) fn question(from: &Path, text: &str) -> String {
    format!(
        "<question from=\"{from}\">\n{}\n</question>\nThe hire waits for your answer: use message_agent.",
        quote(text)
    )
}

pub(crate) fn post(from: &Path, agent: &str, text: &str) -> String {
    format!("<post from=\"{from}\" agent=\"{agent}\">\n{}\n</post>", quote(text))
}

/// Returns the task of a hire that the runtime makes on an agent's behalf: the agent's words, and the agent's own task.
pub(crate) fn cascade_task(words: &str, task: &str) -> String {
    format!("{words}\n\nThe whole task is:\n{task}\n\nDo your part of it and report.")
}

/// Returns the text before the task of a hire.
pub(crate) fn task_heading(hirer: &str) -> String {
    format!("{hirer} needs:\n\n")
}

/// The members of an agent's team that work above it. Empty if there are none.
pub(crate) fn members_above(names: &[&AgentName]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    format!("\n\nThese members of your team work above you and can't be hired: {}.", names.join(", "))
}

/// The longest part of a root's task that is shown to its hires, in bytes.
const ROOT_TASK_BYTES_MAX: usize = 500;

/// Returns the task of the root, as a hire is shown it.
pub(crate) fn root_task(task: &str) -> String {
    let cut = &task[..task.floor_char_boundary(ROOT_TASK_BYTES_MAX)];
    format!("For your information, the whole work began with this request:\n\"{}\"", quote(cut))
}

/// The text before the task of a fork. A fork knows the conversation, and must not continue with all of it.
pub(crate) const FORK: &str =
    "You are a copy of the agent above. Do the following part of the work and nothing else, and report on it:\n\n";

/// The result that a fork is shown for the calls of the reply that made it.
pub(crate) const OPEN_CALL: &str = "The agent that you are a copy of gets the result of this call.";
pub(crate) const TERMS: &str = "\n\nThese terms hold for you and for everybody you hire:";
pub(crate) const TERM: &str = "\n- ";

/// What the agent is asked about in a text that reads as if a hire or a call was still to come.
pub(crate) enum NotMade<'a> {
    /// Nobody was hired since the agent was last told something.
    AnyHire,
    /// This member of the team was not hired.
    Hire(&'a AgentName),
    /// The text writes a call.
    Call,
}

/// A nudge as the agent reads it. `not_made` is what the question about a report is about.
pub(crate) fn nudge(nudge: Nudge, not_made: &NotMade<'_>) -> String {
    let text = match (nudge, not_made) {
        (Nudge::Required, _) => {
            "You must hire at least one member of your team before you report. Make the call now.".to_owned()
        }
        (Nudge::ConfirmReport, NotMade::AnyHire) => format!("Nobody was hired. {CONFIRM_REPORT}"),
        (Nudge::ConfirmReport, NotMade::Hire(name)) => format!("{name} was not hired. {CONFIRM_REPORT}"),
        (Nudge::ConfirmReport, NotMade::Call) => format!("The call in your text was not made. {CONFIRM_REPORT}"),
        (Nudge::FixReport, _) => {
            "Your report did not pass its checks, see above. Correct it and report again: it is checked once more."
                .to_owned()
        }
        (Nudge::Empty, _) => "Your reply was empty. Say what you found, or call a tool.".to_owned(),
    };
    debug_assert!(text.len() as u64 <= NOTICE_BYTES_MAX, "a nudge has room in every request: {text}");
    text
}

const CONFIRM_REPORT: &str = "If this is your report, answer only DONE. If not, make the calls now.";

/// Says why a call was not admitted, and shows a right call if the call was written wrongly.
pub(crate) fn refusal(why: &Refusal, example: Option<String>) -> String {
    let example = example.filter(|example| why.has_example() && example.len() <= EXAMPLE_BYTES_MAX);
    format!("refused: {why}.{}", example.unwrap_or_default())
}

pub(crate) fn cascade_refused(why: &Refusal) -> String {
    format!("Nobody was hired for you: {why}")
}

pub(crate) fn waits_for(what: &WaitsFor) -> String {
    match what {
        WaitsFor::Owner => "waits for the user's answer".to_owned(),
        WaitsFor::Money => "waits for money".to_owned(),
        WaitsFor::Reports(hires) => {
            let hires: Vec<String> = hires.iter().map(ToString::to_string).collect();
            format!("waits for the report of {}", hires.join(", "))
        }
    }
}

/// The note beside the result of a call that the agent repeats.
pub(crate) fn repeated(times: u32) -> String {
    format!("[You made this call {times} times and got the same result. Use it, or do something else.]")
}

pub(crate) fn waking(why: Waking) -> &'static str {
    match why {
        Waking::Reported => "The hires that you waited for have reported.",
        Waking::TimedOut => {
            "The time limit of your wait is reached. Not all of the hires that you waited for have reported."
        }
        Waking::Message => {
            "You were sent a message while you waited. You will get the reports of the hires when they are done."
        }
        Waking::Closing => "You must report now.",
    }
}

/// Returns the text for an answer that has no text of its own.
pub(crate) fn without_text(answer: &Answer) -> &'static str {
    match answer {
        Answer::Denied => "Not approved.",
        Answer::NoReply => "No reply came in time: use your judgement.",
        Answer::Delivered => "Delivered.",
        Answer::Gone => "That hire has ended already.",
        Answer::Lost => "The outcome is unknown: the runtime was interrupted. Find out before you do it again.",
        Answer::Aborted => "Stopped.",
        Answer::Passed => "Passed.",
        Answer::Approved => "Approved.",
        Answer::Met
        | Answer::NotMet
        | Answer::Said(_)
        | Answer::Result(_)
        | Answer::Report(_)
        | Answer::FailedCheck(_)
        | Answer::Text(_)
        | Answer::Failed(_) => "",
    }
}

pub(crate) fn status(status: &Status) -> String {
    let Status { money, turns, may_draw, hiring, time } = status;
    let (money, turns) = (money.get() / 1000, count(*turns, "turn"));
    let more = if *may_draw { ", and more may be asked for" } else { "" };
    let (granted, hires) = match hiring {
        Some(HiringLeft { money, heads, depth }) => (
            format!(", up to {} sat for hires", money.get() / 1000),
            format!("; {} left, {} deep", count(heads.0, "hire"), count(depth, "level")),
        ),
        None => Default::default(),
    };
    let time = time.map(|time| format!("; {} s left", time.0 / 1000)).unwrap_or_default();
    format!("[status: you have {money} sat{granted}{more}; {turns} left, this one included{hires}{time}]")
}

/// A number with its noun: `1 hire`, `2 hires`.
pub(crate) fn count(number: impl fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    if number == "1" { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The result of a call that was never made.
pub(crate) const UNANSWERED: &str = "This call was not made: the work had ended.";

/// The result of a call whose stored arguments can't be read.
pub(crate) fn not_called(why: &dyn fmt::Display) -> String {
    format!("not called: the arguments could not be read back from the journal ({why}). Make the call again.")
}

pub(crate) const UNREADABLE: &str =
    "\n\n[this reply could not be read back from the journal: its calls are shown without their names and arguments]";

pub(crate) const UNREADABLE_CALL: &str = "unreadable";
pub(crate) const ENDED_BY_PROVIDER: &str = "\n\n[the model's provider ended the reply here]";

/// Asks for another turn, if something came before the rest of a reply that was cut.
pub(crate) const NEWS_WHILE_CUT: &str = "Something came while you wrote: it is above, before the rest of your reply. Respond to it now. Your next text without a call \
     is your report.";

/// Returns the demand for the rest of a reply that was cut.
pub(crate) fn continue_reply(tokens: u32) -> String {
    format!("Your reply was cut at {tokens} tokens. Continue exactly where you stopped.")
}

/// Returns whether a text is the report of a hire.
pub(crate) fn is_report(text: &str) -> bool {
    text.starts_with("<sub-agent-") || text.starts_with('[') && text.contains("]\n<sub-agent-")
}

/// Returns the demand for the last reply. `left_out` is the number of reports that the request does not show in full.
pub(crate) fn last_reply(max_tokens: u32, left_out: usize) -> String {
    let words = max_tokens / 4 * 3;
    let missing = match left_out {
        0 => String::new(),
        some => format!(" {} could not be shown in full: say so.", count(some, "report")),
    };
    format!(
        "This is your last reply: no more calls. Report what you found, in full sentences, and say what is missing. Write at most \
         {max_tokens} tokens, about {words} words.{missing}"
    )
}

/// The text after the beginning of a task, if a last request had to be cut.
pub(crate) const TASK_CUT: &str = "\n[the rest of the task had to be cut]";

/// The text before the newest texts, if a last request had to be cut.
pub(crate) const CUT_HEADING: &str = "The newest of what was said and found so far (the rest had to be cut):";
