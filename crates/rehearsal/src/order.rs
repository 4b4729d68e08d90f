//! The task that a rehearsal gives to its hires, written and read in this file. Any other task is a question from a person.

use crate::kind::Kind;
use crate::results::Line;
use crate::words::Term;

/// How many bytes of a question are read.
const QUESTION_BYTES_MAX: usize = 4 * 1024;

const LOOK_FOR: &str = "Look for: ";
const READ: &str = "Read: ";
const CLOSING: &str = "Report each line that bears on the question as `path:line: text`.";

/// A question, and where to search for the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) question: String,
    /// Identifiers and numbers that the hirer found.
    pub(crate) clues: Vec<Term>,
    /// The kinds of evidence to read. `None`: the task is not from a rehearsal.
    pub(crate) kinds: Option<Vec<Kind>>,
    /// Lines that the task quotes as `path:line: text`.
    pub(crate) quoted: Vec<Line>,
}

impl Order {
    /// Writes the order as the task of a hire.
    pub(crate) fn write(&self) -> String {
        let mut lines = vec![self.question.clone(), String::new()];
        if !self.clues.is_empty() {
            let clues: Vec<String> = self.clues.iter().map(|clue| format!("`{}`", clue.text())).collect();
            lines.push(format!("{LOOK_FOR}{}", clues.join(", ")));
        }
        let kinds: Vec<&str> = self.kinds.iter().flatten().map(|kind| kind.name()).collect();
        lines.push(format!("{READ}{}", kinds.join(", ")));
        lines.push(CLOSING.to_owned());
        lines.join("\n")
    }

    /// Reads a task. If the task quotes lines, its first paragraph is the question.
    pub(crate) fn read(task: &str) -> Order {
        let (first, rest) = task.trim().split_once("\n\n").unwrap_or((task.trim(), ""));
        let (order, quoted) = (rest.strip_suffix(CLOSING), places(rest));
        let question = if order.is_some() || !quoted.is_empty() { first } else { task };
        let question = &question[..question.floor_char_boundary(QUESTION_BYTES_MAX)];
        let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = |label: &str| order.and_then(|order| order.lines().find_map(|line| line.strip_prefix(label)));
        let clues = value(LOOK_FOR).unwrap_or_default().split('`').skip(1).step_by(2).map(Term::parse).collect();
        let kinds = value(READ).map(|kinds| kinds.split(',').filter_map(Kind::parse).collect());
        Order { question, clues, kinds, quoted }
    }
}

/// Returns the lines of a text of the form `path:line: text`, also in a numbered list.
pub(crate) fn places(text: &str) -> Vec<Line> {
    let item = |line: &'_ str| match line.split_once(". ") {
        Some((number, rest)) if number.parse::<u32>().is_ok() => Line::parse(rest),
        Some(_) | None => Line::parse(line).filter(|line| !line.path.contains(char::is_whitespace)),
    };
    text.lines().filter_map(item).collect()
}
