//! Work at a steady pace, for the benchmark of `serve`: one agent that calls a tool in each reply. The task says when each reply is
//! due, so the fake model needs no memory, and a program that is late catches up.

use std::time::Duration;

use crate::fake::now_us;
use crate::tree::number;

/// The beginning of the task.
const TASK: &[u8] = b"PACE turns=";

/// An agent that makes `turns` calls of a tool, one in each reply, and then answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) turns: u64,
    pub(crate) every_ms: u64,
    /// When the work begins, in milliseconds since 1970.
    pub(crate) start_ms: u64,
}

impl Pace {
    pub(crate) fn task(self) -> String {
        format!("PACE turns={} every={} start={}", self.turns, self.every_ms, self.start_ms)
    }

    /// Finds the first task in a text.
    pub(crate) fn find(text: &[u8]) -> Option<Pace> {
        let task = &text[memchr::memmem::find(text, TASK)?..];
        Some(Pace {
            turns: number(task, b"turns=")?,
            every_ms: number(task, b"every=")?,
            start_ms: number(task, b"start=")?,
        })
    }

    /// How long to wait with the reply after this many calls.
    pub(crate) fn wait(self, calls: u64) -> Duration {
        let due_ms = self.start_ms.saturating_add(calls.saturating_mul(self.every_ms));
        Duration::from_micros(due_ms.saturating_mul(1000).saturating_sub(now_us()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_due_at_its_time_and_at_once_if_it_is_late() {
        let pace = Pace { turns: 3, every_ms: 200, start_ms: 5_000 };
        assert_eq!(Pace::find(format!("say {:?}", pace.task()).as_bytes()), Some(pace));
        assert_eq!(pace.wait(2), Duration::ZERO);
        let later = Pace { start_ms: now_us() / 1000 + 600_000, ..pace };
        assert!(later.wait(0) < later.wait(1) && later.wait(0) > Duration::from_mins(9));
    }
}
