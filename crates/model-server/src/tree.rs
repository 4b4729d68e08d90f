//! Drives a tree of delegations by the task alone, without memory: `TREE depth=d fanout=f` is answered with f hires of
//! depth d - 1, their reports with the sum, and depth 0 with `done`.

use serde_json::json;

use crate::script::{Call, Reply, Tree};
use crate::turn::Turn;

/// A task of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    depth: u64,
    fanout: u64,
    budget: Option<u64>,
}

/// What the agent whose turn it is says.
pub(crate) fn reply(tree: &Tree, turn: &Turn) -> Reply {
    let Some(task) = turn.user_texts.iter().rev().find_map(|text| Task::find(text)) else {
        return *Reply::text("no TREE in the task");
    };
    if task.depth == 0 {
        return *Reply::text("done d=0 n=1 err=0");
    }
    if turn.tool_results_ever.is_empty() { hire(tree, task) } else { sum(task, &turn.tool_results_ever) }
}

fn hire(tree: &Tree, task: Task) -> Reply {
    let budget = task.budget.map(|budget| budget / (task.fanout + 1));
    let child = Task { depth: task.depth - 1, budget, ..task };
    let mut arguments = json!({"specialty": tree.specialty, "task": child.text()});
    if let Some(budget) = budget.or(tree.budget) {
        arguments["budget"] = budget.into();
    }
    let times = usize::try_from(task.fanout).expect("a fanout is small");
    *Reply::calls([Call::new(&tree.tool, arguments).times(times)])
}

/// The leaves below, and an error for each report that is missing or not one of ours.
fn sum(task: Task, reports: &[String]) -> Reply {
    let done: Vec<(u64, u64)> = reports.iter().filter_map(|report| leaves(report)).collect();
    let missing = task.fanout.saturating_sub(done.len() as u64);
    let n: u64 = done.iter().map(|(n, _)| n).sum();
    let err: u64 = missing + done.iter().map(|(_, err)| err).sum::<u64>();
    *Reply::text(format!("done d={} n={n} err={err}", task.depth))
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

/// The number after a name, wherever that is.
fn number(text: &str, name: &str) -> Option<u64> {
    let (_, after) = text.split_once(name)?;
    let digits = after.split(|char: char| !char.is_ascii_digit()).next()?;
    digits.parse().ok()
}
