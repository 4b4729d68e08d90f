//! Answers agents that have a known amount of work, from the text of their tasks and from what they have said so far. A leaf
//! writes text and calls a cheap tool in each turn but the last, in which it reports. A hirer hires for all its work at once,
//! and then reports which reports it has seen whole. All of them obey the limit of tokens of a request.

mod report;
mod task;

use serde_json::{Map, Value, json};

use self::report::Seen;
use self::task::{Hire, Task};
use crate::script::{Call, Reply, Text, Work};
use crate::turn::{OwnReply, Turn};

/// A token is four bytes, as in the usage that this server counts.
const TOKEN_BYTES: usize = 4;

/// The text with which a hirer hires, and its report.
const HIRING_TOKENS: usize = 40;
const REPORT_TOKENS: usize = 60;

/// The longest last report of a leaf.
const LAST_TOKENS_MAX: usize = 400;

/// What an agent writes next if nothing limits it.
struct Wanted {
    text: String,
    calls: Vec<Call>,
}

/// Returns the reply of the agent that sent the request.
pub(crate) fn reply(work: &Work, turn: &Turn) -> Reply {
    let asked = turn.user_texts.first().and_then(|brief| Task::find(brief));
    let wanted = match (asked, last_tokens(turn.last_user())) {
        (None, _) => Wanted::text("There is no WORK in the task.".into()),
        (Some(task), Some(most)) => last_report(&task, most, turn),
        (Some(task), None) => next(work, &task, turn).without(written(&turn.replies)),
    };
    let bytes = turn.max_tokens.map_or(usize::MAX, |most| most.saturating_mul(TOKEN_BYTES));
    Reply { pace: work.pace.clone(), ..wanted.cut(bytes) }
}

/// Returns the whole text and the calls of the agent's current turn.
fn next(work: &Work, task: &Task, turn: &Turn) -> Wanted {
    match task {
        Task::Leaf { turns, tokens } => {
            let turns_before = turn.replies.iter().filter(|reply| !reply.calls.is_empty()).count();
            if turns_before + 1 < *turns {
                let cheap = Call { arguments: work.arguments.clone(), ..call(&work.cheap_tool) };
                Wanted { text: report::filler(tokens * TOKEN_BYTES), calls: vec![cheap] }
            } else {
                Wanted::text(report::of_leaf(tokens * TOKEN_BYTES))
            }
        }
        Task::Hirer(all) => {
            let calls = turn.replies.iter().flat_map(|reply| &reply.calls);
            // The call in which a reply was cut has no readable arguments and is made again.
            let made = calls.filter(|call| call.name == work.tool && call.arguments["task"].is_string()).count();
            if made < all.len() {
                let calls = all[made..].iter().map(|hire| hiring(work, hire)).collect();
                Wanted { text: report::filler(HIRING_TOKENS * TOKEN_BYTES), calls }
            } else {
                Wanted::text(Seen::in_request(turn).report(REPORT_TOKENS * TOKEN_BYTES))
            }
        }
    }
}

/// Returns the last report of an agent, which may have at most this many tokens.
fn last_report(task: &Task, most: usize, turn: &Turn) -> Wanted {
    Wanted::text(match task {
        Task::Leaf { tokens, .. } => report::of_leaf((*tokens).min(LAST_TOKENS_MAX).min(most) * TOKEN_BYTES),
        Task::Hirer(_) => Seen::in_request(turn).report(REPORT_TOKENS.min(most) * TOKEN_BYTES),
    })
}

/// Returns the limit that the demand for a last reply names: `Write at most 512 tokens`.
fn last_tokens(demand: &str) -> Option<usize> {
    let (_, demand) = demand.rsplit_once("This is your last reply")?;
    let (_, most) = demand.split_once("at most ")?;
    most.split(' ').next()?.parse().ok()
}

/// Returns the bytes that are written of a reply that was cut and must be continued. It may have been cut several times.
fn written(replies: &[OwnReply]) -> usize {
    let is_continued = |reply: &&OwnReply| reply.then.contains("Continue exactly where you stopped.");
    replies.iter().rev().take_while(is_continued).map(|reply| reply.text.len()).sum()
}

fn hiring(work: &Work, hire: &Hire) -> Call {
    let specialty = if hire.task.is_of_a_leaf() { &work.leaf } else { &work.hirer };
    let mut arguments =
        Map::from_iter([("specialty".into(), json!(specialty)), ("task".into(), json!(hire.task.text()))]);
    arguments.extend(hire.budget.map(|budget| ("budget".into(), json!(budget))));
    Call { arguments, ..call(&work.tool) }
}

fn call(name: &str) -> Call {
    Call { id: None, name: name.into(), arguments: Map::new(), raw: None, times: None }
}

impl Wanted {
    fn text(text: String) -> Self {
        Self { text, calls: Vec::new() }
    }

    /// Leaves out the bytes that are already written.
    fn without(self, written: usize) -> Self {
        Self { text: self.text.get(written..).unwrap_or_default().into(), ..self }
    }

    /// Returns as much as fits into so many bytes. A call that does not fit is cut, too.
    fn cut(mut self, bytes: usize) -> Reply {
        let mut left = bytes;
        let mut is_cut = self.text.len() > left;
        self.text.truncate(left);
        left -= self.text.len();
        let mut calls = Vec::new();
        for call in if is_cut { Vec::new() } else { self.calls } {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            let needed = call.name.len() + arguments.len();
            if needed <= left {
                left -= needed;
                calls.push(call);
                continue;
            }
            is_cut = true;
            if let Some(part) = left.checked_sub(call.name.len()).and_then(|part| arguments.get(..part)) {
                calls.push(Call { arguments: Map::new(), raw: Some(Text::Plain(part.into())), ..call });
            }
            break;
        }
        Reply {
            text: (!self.text.is_empty()).then_some(Text::Plain(self.text)),
            calls,
            stop: is_cut.then(|| "max_tokens".into()),
            ..Reply::default()
        }
    }
}
