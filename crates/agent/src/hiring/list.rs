//! The list of a contract's hires, from the contract's own facts.

use std::collections::BTreeMap;

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, Offer, Quantity, Sender, Stimulus, TextRef};

use crate::runtime::ToolContext;
use crate::text::Texts;
use crate::transcript::Hire;
use crate::wording;

/// The name of the tool that lists a contract's hires.
pub const LIST: &str = "list_agents";

/// The longest part of a hire's task that is shown, in bytes.
const GOAL_BYTES_MAX: usize = 160;

/// Lists the hires of a contract as they were when it asked for the list, and what they wait for now.
pub(crate) fn list(asked: AskId, context: ToolContext<'_>) -> String {
    let asks_for_list = |fact: &Fact| fact.asked().is_some_and(|(id, _)| id == asked);
    let upto = context.facts.iter().position(asks_for_list).unwrap_or(context.facts.len());
    let context = ToolContext { facts: &context.facts[..upto], ..context };
    // By ordinal: a hire that waited for money has the line that it had while it waited.
    let mut lines = BTreeMap::new();
    for fact in context.facts {
        match (fact, fact.asked()) {
            (_, Some((id, Ask::Hire { brief, .. }))) => {
                lines.insert(brief.path.ordinal(), line(id, brief, context));
            }
            (Fact::Queued { ordinal, offer, .. }, _) => {
                lines.extend(waiting(*ordinal, offer, context).map(|line| (*ordinal, line)));
            }
            (Fact::Refused { ordinal: Some(ordinal), .. }, _) => {
                lines.remove(ordinal);
            }
            (_, _) => {}
        }
    }
    if lines.is_empty() {
        return "You have hired nobody yet.".to_owned();
    }
    lines.into_values().collect::<Vec<_>>().join("\n")
}

/// Returns the line of a hire that waits for money.
fn waiting(ordinal: u32, offer: &Offer, ToolContext { facts, texts, .. }: ToolContext<'_>) -> Option<String> {
    let hire = Hire::offered(facts.iter().find_map(Fact::opened)?, ordinal, offer);
    let label = hire.label.and_then(|label| texts.text(&label).ok());
    let agent = wording::agent_with_label(&hire.agent, label.as_deref());
    Some(format!("{} {agent}: waits for money; task: {}", hire.path, goal(&hire.task, texts)))
}

/// Returns the beginning of a task. A task that can't be read is left out.
fn goal(task: &TextRef, texts: &dyn Texts) -> String {
    let task = texts.text(task).unwrap_or_default();
    let goal = task.split_whitespace().collect::<Vec<_>>().join(" ");
    wording::quote(&goal[..goal.floor_char_boundary(GOAL_BYTES_MAX)])
}

fn line(id: AskId, brief: &Brief, ToolContext { facts, waits, texts, .. }: ToolContext<'_>) -> String {
    let label = brief.label.as_ref().and_then(|label| texts.text(label).ok());
    let (path, agent) = (&brief.path, wording::agent_with_label(&brief.agent, label.as_deref()));
    let raised =
        |fact: &Fact| if let Fact::Raised { hire, by, .. } = fact { (*hire == id).then_some(*by) } else { None };
    let granted = brief.grant.money;
    let granted = facts.iter().filter_map(raised).fold(granted, |granted, by| granted.plus(by).unwrap_or(granted));
    let mut answers = facts.iter().filter_map(Fact::answered).filter(|(of, _)| *of == id);
    let state = if let Some((_, Answer::Report(report))) = answers.next() {
        let (ended, used) = (wording::label(report.outcome), report.used());
        format!("reported ({ended}), granted {granted}, used {used}")
    } else if waits_for_answer(brief, facts) {
        format!("waits for your answer, granted {granted}")
    } else {
        let waits = waits.get(path).map_or_else(|| "at work".to_owned(), wording::waits_for);
        format!("{waits}, granted {granted}")
    };
    format!("{path} {agent}: {state}; task: {}", goal(&brief.task, texts))
}

/// Whether a hire has asked its hirer a question and has not received a message since.
fn waits_for_answer(brief: &Brief, facts: &[Fact]) -> bool {
    let is_question = |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Contract(key), stimulus: Stimulus::Question(_) } if key.contract == brief.path);
    let is_message = |fact: &Fact| matches!(fact.asked(), Some((_, Ask::Tell { to, what: Stimulus::Message(_), .. })) if *to == brief.path);
    let newest = facts.iter().rev().find(|fact| is_question(fact) || is_message(fact));
    newest.is_some_and(is_question)
}
