//! The list of a contract's hires, from the contract's own facts.

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, Quantity, Sender, Stimulus};

use crate::runtime::ToolContext;
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
    let mut lines = Vec::new();
    for (id, ask) in context.facts.iter().filter_map(Fact::asked) {
        if let Ask::Hire { brief, .. } = ask {
            lines.push(line(id, brief, context));
        }
    }
    if lines.is_empty() { "You have hired nobody yet.".to_owned() } else { lines.join("\n") }
}

fn line(id: AskId, brief: &Brief, ToolContext { facts, waits, texts, .. }: ToolContext<'_>) -> String {
    let label = brief.label.as_ref().and_then(|label| texts.text(label).ok());
    let (path, agent) = (&brief.path, wording::agent_with_label(brief, label.as_deref()));
    let raised = |fact: &Fact| if let Fact::Raised { hire, by } = fact { (*hire == id).then_some(*by) } else { None };
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
    // A task that can't be read is left out.
    let task = texts.text(&brief.task).unwrap_or_default();
    let goal = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let goal = wording::quote(&goal[..goal.floor_char_boundary(GOAL_BYTES_MAX)]);
    format!("{path} {agent}: {state}; task: {goal}")
}

/// Whether a hire has asked its hirer a question and has not received a message since.
fn waits_for_answer(brief: &Brief, facts: &[Fact]) -> bool {
    let is_question = |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Contract(key), stimulus: Stimulus::Question(_) } if key.contract == brief.path);
    let is_message = |fact: &Fact| matches!(fact.asked(), Some((_, Ask::Tell { to, what: Stimulus::Message(_), .. })) if *to == brief.path);
    let newest = facts.iter().rev().find(|fact| is_question(fact) || is_message(fact));
    newest.is_some_and(is_question)
}
