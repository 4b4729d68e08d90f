//! What a hirer is shown of its hires: what its own facts say.

use guildhall_kernel::{Answer, Ask, AskId, Brief, Fact, Path, Quantity, Sender, Stimulus, WaitsFor};

use crate::runtime::ToolContext;
use crate::wording;

/// The name of the tool that lists a contract's hires.
pub const LIST: &str = "list_agents";

/// How much of a hire's task is shown, in bytes.
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
    let (path, who) = (&brief.path, wording::who(brief, label.as_deref()));
    let (mut granted, mut report) = (brief.grant.money, None);
    for fact in facts {
        if let Fact::Raised { hire, by } = fact
            && *hire == id
        {
            granted = granted.plus(*by).unwrap_or(granted);
        } else if let Some((of, Answer::Report(reported))) = fact.answered()
            && of == id
        {
            report = Some(reported);
        }
    }
    let state = match report {
        None if waits_for_answer(brief, facts) => format!("waits for your answer, granted {granted}"),
        None => match waits.get(path) {
            Some(WaitsFor::Owner) => format!("waits for the user's answer, granted {granted}"),
            Some(WaitsFor::Reports(hires)) => format!("waits for the report of {}, granted {granted}", paths(hires)),
            None => format!("at work, granted {granted}"),
        },
        Some(report) => {
            let (ended, used) = (wording::label(report.outcome), report.used());
            format!("reported ({ended}), granted {granted}, used {used}")
        }
    };
    // A task that can't be read any more is left out.
    let task = texts.text(&brief.task).unwrap_or_default();
    let goal = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let goal = wording::quote(&goal[..goal.floor_char_boundary(GOAL_BYTES_MAX)]);
    format!("{path} {who}: {state}; task: {goal}")
}

fn paths(hires: &[Path]) -> String {
    hires.iter().map(Path::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether a hire has asked its hirer something and was told nothing since.
fn waits_for_answer(brief: &Brief, facts: &[Fact]) -> bool {
    let is_question = |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Contract(key), stimulus: Stimulus::Question(_) } if key.contract == brief.path);
    let is_message = |fact: &Fact| matches!(fact.asked(), Some((_, Ask::Tell { to, what: Stimulus::Message(_), .. })) if *to == brief.path);
    let newest = facts.iter().rev().find(|fact| is_question(fact) || is_message(fact));
    newest.is_some_and(is_question)
}
