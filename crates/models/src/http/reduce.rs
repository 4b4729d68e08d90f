//! Builds a reply from the events of a stream, or from one body. Pure: takes events, returns pieces and at the end a reply.
//! Limits the size of a reply.

mod anthropic;
mod counts;
mod openai;

use std::sync::Arc;

use guildhall_agent::{CallFormat, Delta, Opening, Prompt, RawCall, Reply, Reported, Stop, Usage, Wire};
use serde_json::{Map, Value};

use crate::http::endpoint::WrittenCalls;
use crate::http::ids::Ids;
use crate::http::json::Json;
use crate::http::json_turn;
use crate::http::lenient;
use crate::http::sse::Event;
use crate::http::verdict::ProviderMessage;
use crate::http::written::{self, Written};
use counts::Counts;

pub use counts::TOKENS_MAX;

/// The most bytes of a reply: text, thinking and arguments together.
pub const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most calls, or other blocks, of a reply.
pub const CALLS_MAX: usize = 1024;

/// A part of a reply that an event added, for the caller's `watch` function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Words(String),
    /// The model thinks.
    Thinking,
    /// A call of the named tool has begun.
    Call(String),
    /// The usage reported so far.
    Used(Usage),
}

impl Piece {
    /// Returns the piece in the form for the `watch` function.
    pub fn delta(&self) -> Delta<'_> {
        match self {
            Piece::Words(words) => Delta::Words(words),
            Piece::Thinking => Delta::Thinking,
            Piece::Call(name) => Delta::Call { name },
            Piece::Used(usage) => Delta::Used(*usage),
        }
    }
}

/// Why there is no complete reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The provider sent an error instead of the rest.
    #[error("{0}")]
    ProviderError(ProviderMessage),
    /// The data does not follow the protocol.
    #[error("{0}")]
    Malformed(String),
    /// The reply is larger than the limit.
    #[error("the reply is larger than {REPLY_BYTES_MAX} bytes or {CALLS_MAX} blocks")]
    TooLarge,
    /// The stream ended before the reply was complete.
    #[error("the stream ended before the reply was complete")]
    Incomplete,
}

/// Builds one reply from its events.
#[derive(Debug)]
pub struct Reducer {
    protocol: State,
    progress: Progress,
    ids: Ids,
    opening: Arc<Opening>,
    written: WrittenCalls,
    /// The report that is being decoded, if the reply is a JSON turn.
    json: Option<json_turn::PartialReport>,
    /// What the model has written before of the same JSON turn.
    continues: Option<String>,
}

#[derive(Debug)]
enum State {
    Anthropic(anthropic::State),
    OpenAi(openai::State),
}

/// The progress of a reply, for both protocols.
#[derive(Debug, Default)]
struct Progress {
    phase: Phase,
    weight: Weight,
    counts: Counts,
    stop: Option<Stop>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Waiting,
    Begun,
    /// The stop reason was received: the reply is complete, even if the connection breaks now. Usage may follow.
    Stopped,
    Done,
}

impl Reducer {
    /// Starts the reply to a prompt. Only Chat Completions has JSON turns, so `calls` is ignored for Anthropic Messages.
    pub fn new(wire: Wire, prompt: &Prompt, written: WrittenCalls, calls: CallFormat) -> Reducer {
        let (protocol, calls) = match wire {
            Wire::Anthropic => (State::Anthropic(anthropic::State::default()), CallFormat::Tools),
            Wire::OpenAi | Wire::Inside => (State::OpenAi(openai::State::default()), calls),
        };
        let opening = Arc::clone(&prompt.opening);
        let continues = prompt.continues.clone();
        let is_json = calls == CallFormat::Json || continues.is_some();
        let json = is_json.then(|| json_turn::PartialReport::after(continues.as_deref().unwrap_or_default()));
        let ids = Ids::new(&prompt.key);
        Reducer { protocol, progress: Progress::default(), ids, opening, written, json, continues }
    }

    /// Takes the next event of a stream. Events after the end of a reply are ignored.
    pub fn reduce(&mut self, event: &Event) -> Result<Vec<Piece>, Fault> {
        if self.is_done() || event.data.trim().is_empty() {
            return Ok(Vec::new());
        }
        if let (State::OpenAi(_), "[DONE]") = (&self.protocol, event.data.trim()) {
            if self.has_begun() {
                self.progress.phase = Phase::Done;
            }
            return Ok(Vec::new());
        }
        let progress = &mut self.progress;
        let pieces = parsed(&event.data, "an event", |value| match &mut self.protocol {
            State::Anthropic(state) => state.event(&event.name, value, progress),
            State::OpenAi(state) => state.chunk(value, progress),
        });
        Ok(self.decoded(pieces?))
    }

    /// Replaces the JSON text of a JSON turn by the decoded text of its report.
    fn decoded(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let Some(report) = &mut self.json else { return pieces };
        let decoded = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Words(words) => report.push(&words).map(Piece::Words),
            Piece::Thinking | Piece::Call(_) | Piece::Used(_) => Some(piece),
        });
        decoded.collect()
    }

    /// Takes a reply that was not streamed.
    pub fn read_body(&mut self, body: &str) -> Result<Vec<Piece>, Fault> {
        let progress = &mut self.progress;
        let pieces = parsed(body, "the body", |value| match &mut self.protocol {
            State::Anthropic(state) => state.body(value, progress),
            State::OpenAi(state) => state.body(value, progress),
        });
        Ok(self.decoded(pieces?))
    }

    /// Whether the reply is complete and the stream has ended.
    pub fn is_done(&self) -> bool {
        self.progress.phase == Phase::Done
    }

    /// Whether a part of the reply was received, which may have cost something.
    pub fn has_begun(&self) -> bool {
        self.progress.phase != Phase::Waiting
    }

    /// Returns the usage reported so far.
    pub fn usage(&self) -> Reported {
        self.progress.counts.usage()
    }

    /// Returns the usage of a complete reply. It is `Reported::Part` if output was only counted before the model wrote any.
    pub fn final_usage(&self) -> Reported {
        self.progress.counts.final_usage()
    }

    /// Returns how many bytes the model has written so far: text, thinking, names and arguments of calls.
    pub fn written_bytes(&self) -> u64 {
        self.progress.weight.written as u64
    }

    /// Ends the stream and returns the reply, if it is complete.
    pub fn finish(mut self) -> Result<Reply, Fault> {
        if self.progress.phase < Phase::Stopped {
            return Err(Fault::Incomplete);
        }
        let tools: Vec<&str> = self.opening.tools().iter().map(|tool| tool.name.as_str()).collect();
        let is_json = self.json.is_some();
        let written = match self.written {
            WrittenCalls::Read if !is_json => tools.as_slice(),
            WrittenCalls::Read | WrittenCalls::Leave => &[],
        };
        let stop = self.progress.stop;
        let reply = match self.protocol {
            State::Anthropic(state) => state.finish(stop, &mut self.ids, written),
            State::OpenAi(state) => state.finish(stop, &mut self.ids, written),
        };
        let is_turn = is_json && reply.calls.is_empty();
        let before = self.continues.as_deref().unwrap_or_default();
        Ok(if is_turn { json_turn::read(reply, before, &tools, &mut self.ids) } else { reply })
    }
}

/// Reads a reply or a part of one. Returns the provider's error if the provider sent one instead.
fn parsed<T>(text: &str, what: &str, read: impl FnOnce(&Json<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
    let malformed = |error: serde_json::Error| Fault::Malformed(format!("{what} is not JSON ({error})"));
    let repaired;
    let value = if let Ok(value) = serde_json::from_str(text) {
        value
    } else {
        repaired = lenient::without_lone_surrogates(text);
        serde_json::from_str(&repaired).map_err(malformed)?
    };
    match ProviderMessage::in_reply(&value) {
        Some(message) => Err(Fault::ProviderError(message)),
        None => read(&value),
    }
}

impl Progress {
    /// Returns the piece for a report of usage, once the usage is complete.
    fn used(&self, report: &Json<'_>) -> Option<Piece> {
        self.counts.usage().whole().filter(|_| report.as_object().is_some()).map(Piece::Used)
    }
}

/// Counts the bytes of a reply, up to [`REPLY_BYTES_MAX`], and the bytes of them that the model wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    total: usize,
    written: usize,
}

impl Weight {
    fn add(&mut self, value: &Json<'_>) -> Result<(), Fault> {
        self.written = self.written.saturating_add(written(value));
        self.add_bytes(weight(value))
    }

    fn add_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.total = self.total.saturating_add(bytes);
        if self.total > REPLY_BYTES_MAX { Err(Fault::TooLarge) } else { Ok(()) }
    }
}

/// Counts the bytes of a part of a reply that the model wrote, without the fields that the provider adds.
fn written(value: &Json<'_>) -> usize {
    match value {
        Json::Text(text) => text.len(),
        Json::List(items) => items.iter().map(written).sum(),
        Json::Object(fields) => fields.iter().map(|(key, value)| written_under(key, value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

fn written_under(key: &str, value: &Json<'_>) -> usize {
    match key {
        "type" | "id" | "index" => 0,
        // Arguments as an object: the model also wrote the keys. At the start of a streamed call the object is empty.
        "input" if value.as_object().is_some_and(|input| !input.is_empty()) => value.to_value().to_string().len(),
        _ => written(value),
    }
}

/// Estimates the size of a value in bytes. `serde_json` limits the depth to 128, so the recursion is limited, too.
fn weight(value: &Json<'_>) -> usize {
    const EACH: usize = 8;
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => EACH,
        Json::Text(text) => text.len(),
        Json::List(items) => items.iter().map(|item| EACH + weight(item)).sum(),
        Json::Object(fields) => fields.iter().map(|(key, value)| EACH + key.len() + weight(value)).sum(),
    }
}

/// Returns why a reply ended, from the provider's stop reason and the calls: the two may contradict each other.
pub(crate) fn stop(reason: Option<Stop>, calls: &[RawCall]) -> Stop {
    match (reason, calls.is_empty()) {
        (Some(stop @ (Stop::Length | Stop::Window | Stop::Refusal)), _) => stop,
        (Some(Stop::End | Stop::Calls) | None, false) => Stop::Calls,
        (Some(Stop::End | Stop::Calls) | None, true) => Stop::End,
    }
}

/// Adds a part to a field: texts and lists are extended, other values are replaced.
fn merge(into: &mut Map<String, Value>, key: &str, part: &Json<'_>) {
    match (into.get_mut(key), part) {
        (Some(Value::String(so_far)), Json::Text(text)) => so_far.push_str(text),
        (Some(Value::Array(so_far)), Json::List(items)) => so_far.extend(items.iter().map(Json::to_value)),
        (Some(_) | None, part) => {
            into.insert(key.to_owned(), part.to_value());
        }
    }
}

/// Returns text as a piece, unless it is empty.
fn words(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Words(text.to_owned()))
}

fn some_words(words: &str) -> Option<String> {
    (!words.trim().is_empty()).then(|| words.to_owned())
}

fn reply(wire: Wire, raw: Value, words: Option<String>, calls: Vec<RawCall>, reason: Option<Stop>) -> Reply {
    let stop = stop(reason, &calls);
    Reply { wire, raw, words, calls, stop, part: None }
}

/// Marks the last call as cut if nothing of its arguments came: a reply that was cut behind the name of a call says nothing about
/// the arguments.
fn mark_cut(calls: &mut [RawCall], stop: Option<Stop>) {
    let is_empty = |arguments: &Value| arguments.as_object().is_some_and(Map::is_empty);
    if stop.is_some_and(Stop::is_cut)
        && let Some(last) = calls.last_mut()
        && last.arguments.as_ref().is_ok_and(is_empty)
    {
        last.arguments = Err(String::new());
    }
}

/// Finds the calls that a model wrote as text; `None` if there are none. Of a text that was cut within a call, that call comes last,
/// with as much of its arguments as came.
fn read_written(text: &str, stop: Option<Stop>, tools: &[&str]) -> Option<Written> {
    let whole = written::read(text, tools);
    let rest =
        whole.as_ref().map_or(Some(text), |whole| whole.words.as_deref()).filter(|_| stop.is_some_and(Stop::is_cut));
    let Some(cut) = rest.and_then(|rest| written::read_cut(rest, tools)) else { return whole };
    let mut calls = whole.map(|whole| whole.calls).unwrap_or_default();
    calls.push((cut.name, Err(cut.source)));
    Some(Written { words: cut.words, calls })
}
