//! Calls that an agent repeats: the same tool, the same arguments and the same result, although nothing has changed in between.

use std::collections::BTreeMap;

use crate::ask::{Answer, Ask, Effect, Stimulus, ToolCall};
use crate::fact::Fact;
use crate::name::ToolName;
use crate::path::AskId;
use crate::text::Hash;

/// From this many equal results on, the agent is told that it repeats a call.
pub const REPEATS_TOLD_MIN: u32 = 3;

/// After this many equal results, the same call is refused.
pub const REPEATS_MAX: u32 = 7;

/// Follows the facts of one contract and counts its equal calls with equal results. A message, a report, and a call that may
/// change something start the count anew, and so does a shorter transcript: the agent no longer sees the earlier results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repeats {
    /// Boxed, because most contracts call no tools.
    calls: Option<Box<Calls>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Calls {
    /// The calls without an answer.
    open: BTreeMap<AskId, Key>,
    /// For each call, its newest result and how often that result came in a row.
    results: BTreeMap<Key, (Hash, u32)>,
}

type Key = (ToolName, Hash);

impl Repeats {
    /// Takes the contract's next fact. If the fact is a call's result, returns how often this result came in a row.
    pub fn note(&mut self, fact: &Fact) -> Option<u32> {
        match fact {
            Fact::Asked { ask: Ask::Tool(call), .. } if call.for_hires => None,
            Fact::Asked { id, ask: Ask::Tool(call), .. } => {
                match call.effect {
                    Effect::Pure => drop(self.calls.get_or_insert_default().open.insert(*id, key(call))),
                    Effect::Idempotent | Effect::Reconcilable | Effect::Once => self.clear(),
                }
                None
            }
            Fact::Answered { answer: Answer::Report(_), .. }
            | Fact::Compacted { .. }
            | Fact::Heard { stimulus: Stimulus::Message(_) | Stimulus::Question(_), .. } => {
                self.clear();
                None
            }
            Fact::Answered { id, answer, .. } => self.answered(*id, answer),
            Fact::Opened(_)
            | Fact::Asked { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Closing(_)
            | Fact::Closed(_) => None,
        }
    }

    /// Returns how often this call was made since something may have changed: its equal results in a row, and the equal calls
    /// without a result. A call that may change something never counts.
    pub fn of(&self, call: &ToolCall) -> u32 {
        let counts = call.effect == Effect::Pure && !call.for_hires;
        let Some(calls) = self.calls.as_ref().filter(|_| counts) else { return 0 };
        let key = key(call);
        let open = calls.open.values().filter(|open| **open == key).map(|_| 1).sum::<u32>();
        calls.results.get(&key).map_or(0, |(_, times)| *times).saturating_add(open)
    }

    /// Forgets all results, and the calls without an answer: their results may be from before the change.
    fn clear(&mut self) {
        self.calls = None;
    }

    fn answered(&mut self, id: AskId, answer: &Answer) -> Option<u32> {
        let calls = self.calls.as_mut()?;
        let key = calls.open.remove(&id)?;
        let Some(result) = answer.text() else {
            calls.results.remove(&key);
            return None;
        };
        let (newest, times) = calls.results.entry(key).or_insert((result.hash, 0));
        *times = if *newest == result.hash { times.saturating_add(1) } else { 1 };
        *newest = result.hash;
        Some(*times)
    }
}

fn key(call: &ToolCall) -> Key {
    (call.tool.clone(), call.arguments.hash)
}
