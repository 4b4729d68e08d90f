//! A list of tasks, each for one agent, some of them after others: a graph of hires under one purse, without a model that
//! decides who is hired.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{AgentName, BRIEF_BYTES_MAX, Msat};
use serde::{Deserialize, Serialize};

/// How many tasks one list may have: all of them may be hired in one reply.
pub const TASKS_MAX: usize = 1000;

/// The longest name of a task, in bytes.
pub const TASK_NAME_BYTES_MAX: usize = 64;

/// One task of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// What the others call it.
    pub name: String,
    /// Who does it.
    pub agent: AgentName,
    /// What is to be done.
    pub task: String,
    /// The tasks whose reports it is handed, and which it is begun after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// What it may cost. Without it, it gets what its agent's file says, or the same part of what is free as every other task
    /// that is still to be begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Msat>,
}

/// Why a list of tasks can't be worked on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    /// It has no task.
    #[error("there is no task in it")]
    Empty,
    /// It has too many.
    #[error("{count} tasks are more than the {TASKS_MAX} that one list may have")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// It is too long.
    #[error(
        "the tasks take {bytes} bytes together, and {BRIEF_BYTES_MAX} is the most: put what is long into files and name them"
    )]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// One task is wrong.
    #[error("{why}")]
    Task {
        /// Which, counted from 0.
        index: usize,
        /// What is wrong with it.
        why: TaskError,
    },
}

/// What is wrong with a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// Its name can't be used.
    #[error(
        "{0:?} is no name for a task: it takes 1 to {TASK_NAME_BYTES_MAX} letters, digits, dots, dashes or underscores"
    )]
    BadName(String),
    /// Another has its name.
    #[error("there are two tasks called {0:?}")]
    Doubled(String),
    /// It asks for nothing.
    #[error("the task {0:?} says nothing about what is to be done")]
    SaysNothing(String),
    /// It comes after one that there is not.
    #[error("task {name:?} must run after {after:?}, but there is no task {after:?}: the tasks are {known}")]
    Unknown {
        /// Whose.
        name: String,
        /// After what.
        after: String,
        /// What there is.
        known: String,
    },
    /// It waits for itself.
    #[error("these tasks wait for each other: {0}")]
    Cycle(String),
}

/// A list that can be worked on: names are known and each used once, and nothing waits for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Listed", into = "Listed")]
pub struct Tasks(Vec<TaskSpec>);

/// The form in which a list is stored, as the task of whoever works it off.
#[derive(Serialize, Deserialize)]
struct Listed {
    tasks: Vec<TaskSpec>,
}

impl TryFrom<Listed> for Tasks {
    type Error = TasksError;
    fn try_from(listed: Listed) -> Result<Tasks, TasksError> {
        Tasks::new(listed.tasks)
    }
}

impl From<Tasks> for Listed {
    fn from(tasks: Tasks) -> Listed {
        Listed { tasks: tasks.0 }
    }
}

impl Tasks {
    /// Takes a list, or says what is wrong with it.
    pub fn new(tasks: Vec<TaskSpec>) -> Result<Tasks, TasksError> {
        match tasks.len() {
            0 => return Err(TasksError::Empty),
            count @ 1..=TASKS_MAX => count,
            count => return Err(TasksError::TooMany { count }),
        };
        let mut places = BTreeMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let wrong = |why| TasksError::Task { index, why };
            if !is_name(&task.name) {
                return Err(wrong(TaskError::BadName(task.name.clone())));
            }
            if task.task.trim().is_empty() {
                return Err(wrong(TaskError::SaysNothing(task.name.clone())));
            }
            if places.insert(task.name.as_str(), index).is_some() {
                return Err(wrong(TaskError::Doubled(task.name.clone())));
            }
        }
        for (index, task) in tasks.iter().enumerate() {
            if let Some(after) = task.after.iter().find(|after| !places.contains_key(after.as_str())) {
                let known = tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>().join(", ");
                let why = TaskError::Unknown { name: task.name.clone(), after: after.clone(), known };
                return Err(TasksError::Task { index, why });
            }
        }
        let before = predecessors(&tasks, &places);
        if let Some((index, chain)) = cycle(&tasks, &before) {
            return Err(TasksError::Task { index, why: TaskError::Cycle(chain) });
        }
        let tasks = Tasks(tasks);
        let bytes = tasks.to_string().len();
        if bytes as u64 > BRIEF_BYTES_MAX { Err(TasksError::TooLong { bytes }) } else { Ok(tasks) }
    }

    /// Gives those that name no budget what their agent usually gets, where it gets something.
    pub(crate) fn with_budgets(mut self, usual: impl Fn(&AgentName) -> Option<Msat>) -> Tasks {
        for task in &mut self.0 {
            task.budget = task.budget.or_else(|| usual(&task.agent));
        }
        self
    }

    /// Returns the tasks, in their order.
    pub fn specs(&self) -> &[TaskSpec] {
        &self.0
    }

    /// Says in a few words what it is.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|task| task.name.as_str()).collect();
        format!("{} tasks: {}", names.len(), names.join(", "))
    }

    /// Returns where each task has those that come before it.
    pub(crate) fn predecessors(&self) -> Vec<Vec<usize>> {
        let places = self.0.iter().enumerate().map(|(at, task)| (task.name.as_str(), at)).collect();
        predecessors(&self.0, &places)
    }

    /// Reads a list out of the words that it was written as.
    pub fn read(words: &str) -> Option<Tasks> {
        serde_json::from_str(words).ok()
    }
}

impl std::fmt::Display for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=TASK_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(plain)
}

/// Where each task has those that come before it.
fn predecessors(tasks: &[TaskSpec], places: &BTreeMap<&str, usize>) -> Vec<Vec<usize>> {
    let place = |after: &String| places.get(after.as_str()).copied();
    let before = |task: &TaskSpec| task.after.iter().filter_map(place).collect::<BTreeSet<_>>();
    tasks.iter().map(|task| before(task).into_iter().collect()).collect()
}

/// An order in which each task comes after its predecessors. Those that wait for a circle are missing.
pub(crate) fn order(before: &[Vec<usize>]) -> Vec<usize> {
    let mut followers = vec![Vec::new(); before.len()];
    for (at, before) in before.iter().enumerate() {
        for before in before {
            followers[*before].push(at);
        }
    }
    let mut waits_for: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..before.len()).filter(|at| waits_for[*at] == 0).collect();
    let mut next = 0;
    while let Some(done) = order.get(next).copied() {
        for follower in &followers[done] {
            waits_for[*follower] -= 1;
            if waits_for[*follower] == 0 {
                order.push(*follower);
            }
        }
        next += 1;
    }
    order
}

/// A task that waits for itself, and the chain by which it does.
fn cycle(tasks: &[TaskSpec], before: &[Vec<usize>]) -> Option<(usize, String)> {
    let ordered: BTreeSet<usize> = order(before).into_iter().collect();
    // Each that is left waits for one that is left, so going back from any of them comes to a circle.
    let mut at = (0..tasks.len()).find(|at| !ordered.contains(at))?;
    let mut seen = Vec::new();
    while !seen.contains(&at) {
        seen.push(at);
        at = *before[at].iter().find(|before| !ordered.contains(before))?;
    }
    let begins = seen.iter().position(|before| *before == at)?;
    let chain: Vec<&str> = seen[begins..].iter().chain([&at]).map(|at| tasks[*at].name.as_str()).collect();
    Some((at, chain.join(" -> ")))
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::AgentName;

    use super::{TaskError, TaskSpec, Tasks, TasksError};

    fn task(name: &str, after: &[&str]) -> TaskSpec {
        let after = after.iter().map(|name| (*name).to_owned()).collect();
        let agent = AgentName::parse("ada").unwrap();
        TaskSpec { name: name.to_owned(), agent, task: "Look.".to_owned(), after, budget: None }
    }

    #[track_caller]
    fn check(tasks: &[(&str, &[&str])], wrong: Option<(usize, &str)>) {
        let found = Tasks::new(tasks.iter().map(|(name, after)| task(name, after)).collect());
        let found = match &found {
            Ok(_) => None,
            Err(TasksError::Task { index, why }) => Some((*index, why.to_string())),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found.as_ref().map(|(index, why)| (*index, why.as_str())), wrong);
    }

    #[test]
    fn only_a_graph_without_circles_is_taken() {
        check(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b", "a"])], None);
        check(&[("b", &["a"]), ("a", &[])], None);
        check(&[("a", &["a"])], Some((0, "these tasks wait for each other: a -> a")));
        check(
            &[("x", &["c"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])],
            Some((3, "these tasks wait for each other: c -> a -> b -> c")),
        );
    }

    #[test]
    fn names_are_known_and_used_once() {
        check(&[("a", &[]), ("a", &[])], Some((1, "there are two tasks called \"a\"")));
        check(
            &[("a", &[]), ("b", &["z"])],
            Some((1, "task \"b\" must run after \"z\", but there is no task \"z\": the tasks are a, b")),
        );
        for name in ["", "a b", "a\n", &"x".repeat(65)] {
            let wrong = TasksError::Task { index: 0, why: TaskError::BadName(name.to_owned()) };
            assert_eq!(Tasks::new(vec![task(name, &[])]), Err(wrong));
        }
    }

    #[test]
    fn a_list_has_limits_and_is_read_as_it_was_written() {
        assert_eq!(Tasks::new(Vec::new()), Err(TasksError::Empty));
        let many = |count: usize| Tasks::new((0..count).map(|at| task(&at.to_string(), &[])).collect());
        assert_eq!(many(1001), Err(TasksError::TooMany { count: 1001 }));
        let thousand = many(1000).unwrap();
        assert_eq!(Tasks::read(&thousand.to_string()), Some(thousand));
        let long = TaskSpec { task: "x".repeat(65 * 1024), ..task("a", &[]) };
        assert!(matches!(Tasks::new(vec![long]), Err(TasksError::TooLong { .. })));
        assert_eq!(Tasks::read(r#"{"tasks": []}"#), None);
    }
}
