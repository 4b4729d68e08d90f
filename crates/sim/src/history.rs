//! Prints a journal for a person: one short line per fact, indented by depth.

use std::fmt::Write;

use guildhall_kernel::{Answer, Ask, Fact, Stimulus, Stored};

use crate::run::cause_name;

/// Prints a journal, one line per fact.
pub fn history(journal: &[Stored]) -> String {
    let mut lines = String::new();
    let mut cause = String::new();
    for stored in journal {
        let indent = "  ".repeat(stored.contract.level());
        let now = format!(
            "{}  {:>6}  {indent}{} on {}\n",
            stored.seq,
            stored.at.0,
            stored.contract,
            cause_name(&stored.cause)
        );
        let here = format!("{} {}", stored.contract, cause_name(&stored.cause));
        if here != cause {
            lines.push_str(&now);
            cause = here;
        }
        writeln!(lines, "                {indent}  {}", line(&stored.fact)).expect("writing to a string can't fail");
    }
    lines
}

fn line(fact: &Fact) -> String {
    match fact {
        Fact::Opened(brief) => {
            let (grant, fee, severance) = (brief.grant, brief.fee, brief.severance);
            format!(
                "opened as {} with {} ({} heads, depth {}), fee {fee}, severance {severance}",
                brief.agent, grant.money, grant.heads, grant.depth
            )
        }
        Fact::Asked { id, ask, hold, .. } => format!("asked {id} {}, holds {}", ask_line(ask), hold.money),
        Fact::Answered { id, answer, cost } => format!("answered {id} {} at {cost:?}", answer_line(answer)),
        Fact::Queued { ordinal, offer, .. } => format!("queued {ordinal}: {} as {:?}", offer.agent, offer.mode),
        Fact::Refused { why, ordinal: Some(ordinal), .. } => format!("refused hire {ordinal}, which waited: {why}"),
        Fact::Refused { why, ordinal: None, .. } => format!("refused: {why}"),
        Fact::Raised { hire, by, draw: None } => format!("raised {hire} by {by}"),
        Fact::Raised { hire, by, draw: Some(draw) } => format!("raised {hire} by {by} for its draw {draw}"),
        Fact::Heard { stimulus, .. } => format!("heard {}", stimulus_line(stimulus)),
        Fact::Waiting { on, need, until, .. } => format!("waiting for {need:?} of {on:?} until {until:?}"),
        Fact::Woke { pause, why } => format!("woke {pause:?}: {why:?}"),
        Fact::Nudged(nudge) => format!("nudged: {nudge:?}"),
        Fact::Compacted { upto, bytes } => format!("compacted up to {upto}, {bytes} bytes left"),
        Fact::Closing(outcome) => format!("closing: {outcome:?}"),
        Fact::Closed(report) => format!(
            "closed: {:?}, {:?}, spent {}, change {}, heads {}, unheard {:?}",
            report.outcome, report.acceptance, report.spent, report.change, report.heads, report.unheard
        ),
    }
}

fn ask_line(ask: &Ask) -> String {
    match ask {
        Ask::Model(request) => {
            format!("model, {:?} turn, shows {}, hears {:?}", request.turn, request.upto, request.hears)
        }
        Ask::Tool(call) => format!("tool {:?}", call.effect),
        Ask::Hire { brief, mode } => format!("hire {} as {mode:?} {}", brief.agent, brief.path),
        Ask::Check(check) => format!("check at {}", check.price),
        Ask::Question { to, until, .. } => format!("question to {to:?} until {until}"),
        Ask::Draw { least } => format!("draw {least}"),
        Ask::Tell { to, what } => format!("tell {to}: {}", stimulus_line(what)),
    }
}

fn answer_line(answer: &Answer) -> String {
    match answer {
        Answer::Said(said) => {
            format!("said {} with {} calls", if said.words.is_some() { "a text" } else { "nothing" }, said.calls)
        }
        Answer::Report(report) => format!("report {:?}", report.outcome),
        Answer::Result(_)
        | Answer::Passed
        | Answer::FailedCheck(_)
        | Answer::Text(_)
        | Answer::Approved
        | Answer::Denied
        | Answer::NoReply
        | Answer::Met
        | Answer::NotMet
        | Answer::Delivered
        | Answer::Gone
        | Answer::Lost
        | Answer::Aborted
        | Answer::Failed(_) => format!("{answer:?}").chars().take_while(|c| c.is_alphabetic()).collect(),
    }
}

fn stimulus_line(stimulus: &Stimulus) -> String {
    match stimulus {
        Stimulus::TopUp { to, money, draw: None } => format!("{money} for {to}"),
        Stimulus::TopUp { money, draw: Some(draw), .. } => format!("{money} for draw {draw}"),
        Stimulus::Draw { least } => format!("draw of {least}"),
        Stimulus::RefuseDraw { draw } => format!("no money for draw {draw}"),
        Stimulus::DropHire { ordinal } => format!("drop hire {ordinal}"),
        Stimulus::Hire(offer) => format!("hire {}", offer.agent),
        Stimulus::Message(_) => "a message".to_owned(),
        Stimulus::Question(_) => "a question".to_owned(),
        Stimulus::WrapUp => "wrap up".to_owned(),
        Stimulus::OutOfTokens { left } => format!("out of tokens: {left} left"),
        Stimulus::Cancel => "cancel".to_owned(),
    }
}
