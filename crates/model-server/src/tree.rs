//! Answers the agents of a tree of hires from their tasks alone, without memory: the answer to `TREE depth=d fanout=f` is
//! f hires of depth d - 1, the answer to their reports is the sum, and the answer to depth 0 is `done`.

use serde_json::{Map, json};

use crate::script::{Call, Reply, Text, Tree};
use crate::turn::Turn;

#[derive(Clone, Copy)]
struct Task {
    depth: u64,
    fanout: u64,
    budget: Option<u64>,
}

/// Returns the reply of the agent that sent the request.
pub(crate) fn reply(tree: &Tree, turn: &Turn) -> Reply {
    let Some(task) = turn.user_texts.iter().rev().find_map(|text| Task::find(text)) else {
        return text("no TREE in the task".into());
    };
    if task.depth == 0 {
        return text("done d=0 n=1 err=0".into());
    }
    if turn.all_tool_results.is_empty() { hire(tree, task) } else { sum(task, &turn.all_tool_results) }
}

fn hire(tree: &Tree, task: Task) -> Reply {
    let budget = task.budget.map(|budget| budget / (task.fanout + 1));
    let child = Task { depth: task.depth - 1, budget, ..task };
    let mut arguments =
        Map::from_iter([("specialty".into(), json!(tree.specialty)), ("task".into(), json!(child.text()))]);
    arguments.extend(budget.or(tree.budget).map(|budget| ("budget".into(), json!(budget))));
    let times = Some(usize::try_from(task.fanout).expect("a fanout is small"));
    let call = Call { id: None, name: tree.tool.clone(), arguments, raw: None, times };
    Reply { calls: vec![call], ..Reply::default() }
}

fn text(text: String) -> Reply {
    Reply { text: Some(Text::Plain(text)), ..Reply::default() }
}

/// Adds up the leaves below, and counts an error for each report that is missing or that this server did not write.
fn sum(task: Task, reports: &[String]) -> Reply {
    let done: Vec<(u64, u64)> = reports.iter().filter_map(|report| leaves(report)).collect();
    let missing = task.fanout.saturating_sub(done.len() as u64);
    let n: u64 = done.iter().map(|(n, _)| n).sum();
    let err: u64 = missing + done.iter().map(|(_, err)| err).sum::<u64>();
    text(format!("done d={} n={n} err={err}", task.depth))
}

fn leaves(report: &str) -> Option<(u64, u64)> {
    let (_, done) = report.split_once("done d=")?;
    Some((number(done, "n=")?, number(done, "err=")?))
}

impl Task {
    fn find(text: &str) -> Option<Self> {
        let (_, task) = text.rsplit_once("TREE ")?;
        let line = task.lines().next()?;
        let (depth, fanout) = (number(line, "depth=")?, number(line, "fanout=")?);
        Some(Self { depth, fanout, budget: number(line, "budget=") })
    }

    fn text(self) -> String {
        let budget = self.budget.map_or_else(String::new, |budget| format!(" budget={budget}"));
        format!("TREE depth={} fanout={}{budget}", self.depth, self.fanout)
    }
}

/// Returns the number after the first occurrence of a name.
fn number(text: &str, name: &str) -> Option<u64> {
    let (_, after) = text.split_once(name)?;
    let digits = after.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}
