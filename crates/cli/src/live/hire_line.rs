//! The line of a hire: as much of its task as fits into the row. If that would be the same for several hires of one reply, the line
//! shows the part of the task in which it differs from theirs.

use guildhall::kernel::Path;

use super::{Live, SHOWN_CHARS_MAX, TASK_COLUMNS_MIN};
use crate::print::{DIM, tame};
use crate::screen::{cut, width};

/// How many tasks of a reply a task is compared with, and how much of each, in bytes.
const COMPARED_MAX: usize = 4;
const COMPARED_BYTES_MAX: usize = 2000;

/// How much of a task is kept until its line is printed, in bytes.
const TASK_BYTES_MAX: usize = 4096;

/// A line about a fact.
pub(crate) enum Line {
    Text(String),
    /// About a new contract. The part of the task that is shown depends on the other hires of the same reply.
    Task {
        contract: Path,
        what: String,
        task: String,
    },
}

/// The tasks of the hires of an agent's newest reply: the first ones.
#[derive(Default)]
pub(super) struct HiredTasks {
    tasks: Vec<(Path, String)>,
    /// Whether the agent has called its model since.
    is_over: bool,
}

impl HiredTasks {
    pub(super) fn add(&mut self, hire: &Path, task: &str) {
        if std::mem::take(&mut self.is_over) {
            self.tasks.clear();
        }
        // A hire that waited for money is added twice.
        let is_new = self.tasks.iter().all(|(known, _)| known != hire);
        if is_new && self.tasks.len() < COMPARED_MAX {
            let end = task.floor_char_boundary(COMPARED_BYTES_MAX.min(task.len()));
            self.tasks.push((hire.clone(), task[..end].to_owned()));
        }
    }

    /// Notes that the reply is over. Its tasks are kept until the next hire.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Splits a task after the words that it has in common with another one. Equal tasks have no difference.
    fn difference<'a>(&self, hire: &Path, task: &'a str) -> Option<(&'a str, &'a str)> {
        let others = self.tasks.iter().filter(|(other, known)| other != hire && !task.starts_with(known.as_str()));
        let common = others.map(|(_, other)| common_words(task, other)).max()?;
        Some(task.split_at(common)).filter(|(_, rest)| common > 0 && !rest.is_empty())
    }
}

/// Returns the length of the beginning that two tasks have in common, in whole words.
fn common_words(task: &str, other: &str) -> usize {
    let same = task.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    // One of them is the beginning of the other.
    let same = same.unwrap_or(task.len().min(other.len()));
    task[..same].rfind(char::is_whitespace).map_or(0, |at| at + task[at..].chars().next().map_or(0, char::len_utf8))
}

impl Live {
    /// Adds the line about a hire or a root.
    pub(super) fn hire_line(&mut self, contract: &Path, what: String, task: &str) {
        let task = task.trim();
        if let Some(hirer) = contract.hirer() {
            self.of(&hirer).hired.add(contract, task);
        }
        let end = task.floor_char_boundary(TASK_BYTES_MAX.min(task.len()));
        let line = Line::Task { contract: contract.clone(), what, task: task[..end].to_owned() };
        self.lines.push((contract.clone(), line));
    }

    /// Returns the text of a line, once all hires of the same reply are known.
    pub(crate) fn finish(&self, line: Line) -> String {
        match line {
            Line::Text(text) => text,
            Line::Task { contract, what, task } => {
                let excerpt = self.excerpt(&contract, &what, &task);
                format!("{} {DIM}{what}{excerpt}{DIM:#}", self.who(&contract))
            }
        }
    }

    /// Returns as much of a task as fits into the rest of the row.
    fn excerpt(&self, contract: &Path, what: &str, task: &str) -> String {
        let room = match (self.columns)() {
            None => SHOWN_CHARS_MAX,
            Some(columns) => columns.saturating_sub(width(&self.who(contract)) + 1 + width(what) + 2),
        };
        if room < TASK_COLUMNS_MIN {
            return String::new();
        }
        let shown = tame(task, SHOWN_CHARS_MAX.max(room));
        let room = room.min(SHOWN_CHARS_MAX);
        if width(&shown) <= room {
            return format!(": {shown}");
        }
        let hired = contract.hirer().and_then(|hirer| self.known.get(&hirer)).map(|known| &known.hired);
        match hired.and_then(|hired| hired.difference(contract, task)) {
            // Tasks that differ early in the row are shown from the beginning.
            Some((common, rest)) if 2 * width(common) > room => {
                format!(": {}", cut(&format!("…{}", tame(rest, SHOWN_CHARS_MAX)), room))
            }
            Some(_) | None => format!(": {}", cut(&shown, room)),
        }
    }
}

#[cfg(test)]
mod tests {
    use guildhall::kernel::Path;

    use super::HiredTasks;

    /// The parts of the tasks that a line shows.
    fn parts<'a>(tasks: &[&'a str]) -> Vec<Option<&'a str>> {
        let mut hired = HiredTasks::default();
        let hire = |at: usize| Path::root(1).hire(u32::try_from(at + 1).unwrap());
        for (at, task) in tasks.iter().enumerate() {
            hired.add(&hire(at), task);
        }
        tasks.iter().enumerate().map(|(at, task)| hired.difference(&hire(at), task).map(|(_, rest)| rest)).collect()
    }

    #[test]
    fn tasks_of_one_reply_differ_from_the_first_word_that_is_not_the_same() {
        let tasks =
            ["Why does it fail? Look at logs", "Why does it fail? Look at tests", "Why does it fail? Look into docs"];
        assert_eq!(parts(&tasks), [Some("logs"), Some("tests"), Some("into docs")]);
        assert_eq!(parts(&["Look at logs", "Count chairs"]), [None, None]);
        assert_eq!(parts(&["the same", "the same"]), [None, None]);
        assert_eq!(parts(&["über die Bücher", "über die Büsche"]), [Some("Bücher"), Some("Büsche")]);
        assert_eq!(parts(&["look at one", "look at one two"]), [Some("one"), None]);
        assert_eq!(parts(&["alone"]), [None]);
    }

    #[test]
    fn tasks_of_another_reply_are_not_compared() {
        let mut hired = HiredTasks::default();
        let hire = |ordinal| Path::root(1).hire(ordinal);
        hired.add(&hire(1), "Look at logs");
        hired.end();
        assert_eq!(hired.difference(&hire(2), "Look at tests"), Some(("Look at ", "tests")));
        hired.add(&hire(2), "Look at tests");
        assert_eq!(hired.difference(&hire(2), "Look at tests"), None);
    }
}
