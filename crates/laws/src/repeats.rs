//! Repeated calls: an agent that gets the same result for the same call again and again is told, and then refused. Only calls
//! that change nothing count.

use std::collections::HashMap;

use guildhall_kernel::{Answer, AskId, Effect, Hash, ToolCall, ToolName};

use crate::violation::{Found, Law};

/// From this many equal results on, the next request says so.
const TOLD_FROM: u32 = 3;

/// The most equal results of one call in a row.
const TIMES_MAX: u32 = 7;

/// The calls of a contract since something may have changed.
#[derive(Default)]
pub(crate) struct Repeats {
    open: HashMap<AskId, (ToolName, Hash)>,
    streaks: HashMap<(ToolName, Hash), Streak>,
}

struct Streak {
    result: Hash,
    times: u32,
}

impl Repeats {
    /// A message, a report, a change or a shorter transcript starts the count anew.
    pub(crate) fn restart(&mut self) {
        *self = Repeats::default();
    }

    /// A tool is called.
    pub(crate) fn called(&mut self, id: AskId, call: &ToolCall, found: &mut Found<'_>) {
        if call.for_hires {
            return;
        }
        if call.effect != Effect::Pure {
            return self.restart();
        }
        let what = (call.tool.clone(), call.arguments.hash);
        let times = self.times(&what);
        found.demand(
            times < TIMES_MAX,
            Law::Refusals,
            format_args!("calls {} again after {times} equal calls", call.tool),
        );
        self.open.insert(id, what);
    }

    /// A call is answered. Returns whether the agent is told that it repeats the call.
    pub(crate) fn answered(&mut self, id: AskId, answer: &Answer) -> bool {
        let Some(what) = self.open.remove(&id) else { return false };
        let (Answer::Result(text) | Answer::Failed(text)) = answer else {
            self.streaks.remove(&what);
            return false;
        };
        let streak = self.streaks.entry(what).or_insert(Streak { result: text.hash, times: 0 });
        if streak.result != text.hash {
            *streak = Streak { result: text.hash, times: 0 };
        }
        streak.times += 1;
        streak.times >= TOLD_FROM
    }

    /// Whether a call of this tool was made this often without a change. The facts don't tell the arguments of a refused call.
    pub(crate) fn has_repeated(&self, tool: &ToolName, times: u32) -> bool {
        let mut all = self.streaks.keys().chain(self.open.values());
        times >= TIMES_MAX && all.any(|what| what.0 == *tool && self.times(what) == times)
    }

    fn times(&self, what: &(ToolName, Hash)) -> u32 {
        let open =
            (0..).zip(self.open.values().filter(|open| *open == what)).last().map_or(0, |(before, _)| before + 1);
        self.streaks.get(what).map_or(0, |streak| streak.times) + open
    }
}
