//! A list of tasks. Each task is for one agent, and a task can come after others. All hires share one purse, and no model
//! decides which agents are hired.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{AgentName, BRIEF_BYTES_MAX, Msat};
use serde::{Deserialize, Serialize};

/// The most tasks of one list. One reply may hire for all of them.
pub const TASKS_MAX: usize = 1000;

/// The longest name of a task, in bytes.
pub const TASK_NAME_BYTES_MAX: usize = 64;

/// One task of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The name of the task, for `after` of other tasks.
    pub name: String,
    /// The agent that does the task.
    pub agent: AgentName,
    /// The text of the task.
    pub task: String,
    /// The names of the tasks that must report first. This task receives their reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The most that the task can cost. Without it, the task gets the budget of its agent's file, or an equal share of the free
    /// money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Msat>,
}

/// Why a list of tasks can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    /// The list is empty.
    #[error("the list has no task")]
    Empty,
    /// The list has too many tasks.
    #[error("the list has {count} tasks, but at most {TASKS_MAX} are allowed: split it into several lists")]
    TooMany {
        /// The number of tasks.
        count: usize,
    },
    /// The texts of the tasks are too long.
    #[error(
        "the tasks have {bytes} bytes together, but at most {BRIEF_BYTES_MAX} are allowed: put long texts into files and name the files"
    )]
    TooLong {
        /// The length of the list, in bytes.
        bytes: usize,
    },
    /// One task is wrong.
    #[error("{why}")]
    Task {
        /// The index of the task, counted from 0.
        index: usize,
        /// What is wrong with the task.
        why: TaskError,
    },
}

/// What is wrong with a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The name is not valid.
    #[error(
        "{0:?} can't be the name of a task: use 1 to {TASK_NAME_BYTES_MAX} letters, digits, dots, dashes or underscores"
    )]
    BadName(String),
    /// Two tasks have this name.
    #[error("two tasks have the name {0:?}: rename one of them")]
    DuplicateName(String),
    /// The text of the task is empty.
    #[error("the task {0:?} has no text: write in `task` what to do")]
    NoText(String),
    /// The task comes after an unknown task.
    #[error("task {name:?} must run after {after:?}, but there is no task {after:?}: the tasks are {known}")]
    Unknown {
        /// The name of the task.
        name: String,
        /// The unknown name.
        after: String,
        /// The names of all tasks.
        known: String,
    },
    /// The task waits for itself.
    #[error("these tasks wait for each other: {0}. Remove one of them from `after`")]
    Cycle(String),
}

/// A valid list: all names are known, no name is used twice, and no task waits for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Listed", into = "Listed")]
pub struct Tasks(Vec<TaskSpec>);

/// The stored form of a list. It is the task of the agent that executes the list.
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
    /// Returns a list, or what is wrong with it.
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
                return Err(wrong(TaskError::NoText(task.name.clone())));
            }
            if places.insert(task.name.as_str(), index).is_some() {
                return Err(wrong(TaskError::DuplicateName(task.name.clone())));
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

    /// Gives each task without a budget the default budget of its agent, if the agent has one.
    pub(crate) fn with_budgets(mut self, default_budget: impl Fn(&AgentName) -> Option<Msat>) -> Tasks {
        for task in &mut self.0 {
            task.budget = task.budget.or_else(|| default_budget(&task.agent));
        }
        self
    }

    /// Returns the tasks, in their order.
    pub fn specs(&self) -> &[TaskSpec] {
        &self.0
    }

    /// Returns a short description of the list.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|task| task.name.as_str()).collect();
        format!("{} tasks: {}", names.len(), names.join(", "))
    }

    /// Returns for each task the indexes of the tasks that come before it.
    pub(crate) fn predecessors(&self) -> Vec<Vec<usize>> {
        let places = self.0.iter().enumerate().map(|(at, task)| (task.name.as_str(), at)).collect();
        predecessors(&self.0, &places)
    }

    /// Reads a list from its stored form.
    pub fn read(text: &str) -> Option<Tasks> {
        serde_json::from_str(text).ok()
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

/// For each task, the indexes of the tasks that come before it.
fn predecessors(tasks: &[TaskSpec], places: &BTreeMap<&str, usize>) -> Vec<Vec<usize>> {
    let place = |after: &String| places.get(after.as_str()).copied();
    let before = |task: &TaskSpec| task.after.iter().filter_map(place).collect::<BTreeSet<_>>();
    tasks.iter().map(|task| before(task).into_iter().collect()).collect()
}

/// An order in which each task comes after its predecessors. Tasks that wait for a cycle are missing.
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

/// A task that waits for itself, and the chain of tasks from the task to itself.
fn cycle(tasks: &[TaskSpec], before: &[Vec<usize>]) -> Option<(usize, String)> {
    let ordered: BTreeSet<usize> = order(before).into_iter().collect();
    // Each task outside the order waits for another task outside the order, so following the predecessors leads to a cycle.
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
    fn only_a_graph_without_cycles_is_accepted() {
        check(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b", "a"])], None);
        check(&[("b", &["a"]), ("a", &[])], None);
        check(&[("a", &["a"])], Some((0, "these tasks wait for each other: a -> a. Remove one of them from `after`")));
        check(
            &[("x", &["c"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])],
            Some((3, "these tasks wait for each other: c -> a -> b -> c. Remove one of them from `after`")),
        );
    }

    #[test]
    fn names_are_known_and_used_once() {
        check(&[("a", &[]), ("a", &[])], Some((1, "two tasks have the name \"a\": rename one of them")));
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
