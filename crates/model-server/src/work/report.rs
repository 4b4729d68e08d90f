//! The reports of agents with work. A report states its own length, so that its reader knows whether it is whole.

use super::task::number;
use crate::turn::Turn;

const START: &str = "REPORT:bytes=";
const END: &str = ":END";
const FILLER: &str = "0123456789abcdef";

/// What a request shows of the reports of an agent's hires.
#[derive(Default)]
pub(super) struct Seen {
    whole: usize,
    all: usize,
    /// The hirers below that have not seen every report whole.
    poor: usize,
}

/// Returns a text of so many bytes. It has no space, because a space at the end of a part may be removed.
pub(super) fn filler(bytes: usize) -> String {
    FILLER.chars().cycle().take(bytes).collect()
}

/// Returns a report of so many bytes. If they are too few, it is a little longer.
pub(super) fn of_leaf(bytes: usize) -> String {
    with_length(bytes, "")
}

fn with_length(bytes: usize, found: &str) -> String {
    let head = format!("{START}{bytes}{found}:");
    let filler = filler(bytes.saturating_sub(head.len() + END.len()));
    format!("{head}{filler}{END}")
}

/// Whether a text contains a report from its start to its end.
fn is_whole(text: &str) -> bool {
    let Some(at) = text.find(START) else { return false };
    let report = &text[at..];
    let report = number(report, START).and_then(|bytes| report.get(..bytes));
    report.is_some_and(|report| report.ends_with(END) && report.matches(END).count() == 1)
}

impl Seen {
    pub(super) fn in_request(turn: &Turn) -> Self {
        let mut seen = Self::default();
        for text in turn.all_tool_results.iter().chain(&turn.user_texts) {
            text.split("<sub-agent-").skip(1).for_each(|report| seen.add(report));
        }
        let left_out = turn.last_user().rsplit_once(" could not be shown").map(|(before, _)| before);
        let left_out = left_out.and_then(|before| before.split(' ').rev().nth(1)?.parse().ok());
        seen.all += left_out.unwrap_or(0);
        seen
    }

    /// Adds what a hirer is shown about one hire. A hire that has not finished its work need not have a report of ours.
    fn add(&mut self, text: &str) {
        let label = text.split(' ').next().unwrap_or_default();
        let is_closed = text.contains(&format!("</sub-agent-{label}>"));
        self.all += 1;
        self.whole += usize::from(is_closed && (label != "complete" || is_whole(text)));
        self.poor += number(text, ",poor=").unwrap_or(0);
    }

    /// Returns the report of a hirer: how many of the reports it has seen whole.
    pub(super) fn report(&self, bytes: usize) -> String {
        let poor = self.poor + usize::from(self.whole < self.all);
        with_length(bytes, &format!(",saw={},of={},poor={poor}", self.whole, self.all))
    }
}
