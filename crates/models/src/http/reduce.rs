//! Makes a reply out of the events of a stream, or out of a body that came whole. Pure: events in, pieces and at the
//! end a reply out, whatever the events are. What a stream may grow to is bounded here.

mod anthropic;
mod counts;
mod openai;

use guildhall_agent::{CallFormat, Delta, Prompt, RawCall, Reply, Reported, Stop, Usage, Wire};
use serde_json::{Map, Value};

use crate::http::endpoint::WrittenCalls;
use crate::http::ids::Ids;
use crate::http::json_turn;
use crate::http::lenient;
use crate::http::sse::Event;
use crate::http::verdict::Said;
use counts::Counts;

pub use counts::TOKENS_MAX;

/// The most bytes that a reply may have: words, thinking and arguments together.
pub const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most calls, or other blocks, that a reply may have.
pub const CALLS_MAX: usize = 1024;

/// What an event brought, for those who watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Words.
    Words(String),
    /// The model thinks.
    Thinking,
    /// A call of the named tool has begun.
    Call(String),
    /// What has been used so far.
    Used(Usage),
}

impl Piece {
    /// Returns the piece as a watcher is told it.
    pub fn delta(&self) -> Delta<'_> {
        match self {
            Piece::Words(words) => Delta::Words(words),
            Piece::Thinking => Delta::Thinking,
            Piece::Call(name) => Delta::Call { name },
            Piece::Used(usage) => Delta::Used(*usage),
        }
    }
}

/// Why the events make no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The provider sent an error instead of the rest.
    #[error("{0}")]
    Said(Said),
    /// Something came that the protocol does not have.
    #[error("{0}")]
    Malformed(String),
    /// It was more than a reply may be.
    #[error("a reply of more than {REPLY_BYTES_MAX} bytes or {CALLS_MAX} blocks")]
    TooMuch,
    /// The stream ended before the reply did.
    #[error("the stream ended before the reply did")]
    BrokeOff,
}

/// Reduces the events of one reply.
#[derive(Debug)]
pub struct Reducer {
    wire: State,
    progress: Progress,
    ids: Ids,
    tools: Vec<String>,
    written: WrittenCalls,
    /// Of a JSON turn, the report that is being decoded.
    json: Option<json_turn::Report>,
}

#[derive(Debug)]
enum State {
    Anthropic(anthropic::State),
    OpenAi(openai::State),
}

/// How far a reply has come, whatever the protocol.
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
    /// The reason why the model stopped came: the reply is whole, even if the connection breaks now. Usage may follow.
    Stopped,
    Done,
}

impl Reducer {
    /// Begins the reply to a prompt over Anthropic Messages.
    pub fn anthropic(prompt: &Prompt, written: WrittenCalls) -> Reducer {
        Reducer::new(State::Anthropic(anthropic::State::default()), prompt, written)
    }

    /// Begins the reply to a prompt over Chat Completions.
    pub fn openai(prompt: &Prompt, written: WrittenCalls) -> Reducer {
        Reducer::new(State::OpenAi(openai::State::default()), prompt, written)
    }

    fn new(wire: State, prompt: &Prompt, written: WrittenCalls) -> Reducer {
        let tools = prompt.tools.iter().map(|tool| tool.name.clone()).collect();
        Reducer { wire, progress: Progress::default(), ids: Ids::new(&prompt.key), tools, written, json: None }
    }

    /// Reads the reply as a JSON turn if the request asked for one.
    #[must_use]
    pub fn in_format(mut self, calls: CallFormat) -> Reducer {
        self.json = (calls == CallFormat::Json).then(json_turn::Report::default);
        self
    }

    /// Takes the next event of a stream. What comes after the end of a reply is ignored.
    pub fn reduce(&mut self, event: &Event) -> Result<Vec<Piece>, Fault> {
        if self.is_done() || event.data.trim().is_empty() {
            return Ok(Vec::new());
        }
        if let (State::OpenAi(_), "[DONE]") = (&self.wire, event.data.trim()) {
            if self.has_begun() {
                self.progress.phase = Phase::Done;
            }
            return Ok(Vec::new());
        }
        let value = parsed(&event.data, "an event")?;
        let pieces = match &mut self.wire {
            State::Anthropic(state) => state.event(&event.name, &value, &mut self.progress),
            State::OpenAi(state) => state.chunk(&value, &mut self.progress),
        };
        Ok(self.decoded(pieces?))
    }

    /// Of a JSON turn, those who watch are told the report's text.
    fn decoded(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let Some(report) = &mut self.json else { return pieces };
        let decoded = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Words(words) => report.push(&words).map(Piece::Words),
            Piece::Thinking | Piece::Call(_) | Piece::Used(_) => Some(piece),
        });
        decoded.collect()
    }

    /// Takes a reply that came whole.
    pub fn whole(&mut self, body: &str) -> Result<Vec<Piece>, Fault> {
        let value = parsed(body, "a body")?;
        let pieces = match &mut self.wire {
            State::Anthropic(state) => state.body(&value, &mut self.progress),
            State::OpenAi(state) => state.body(&value, &mut self.progress),
        };
        Ok(self.decoded(pieces?))
    }

    /// Whether the reply is whole and nothing more is to come.
    pub fn is_done(&self) -> bool {
        self.progress.phase == Phase::Done
    }

    /// Whether anything came that may have cost something.
    pub fn has_begun(&self) -> bool {
        self.progress.phase != Phase::Waiting
    }

    /// Returns what was reported as used so far.
    pub fn usage(&self) -> Reported {
        self.progress.counts.usage()
    }

    /// Returns what was reported as used for a reply that is whole: a part if output was counted only before there was any.
    pub fn final_usage(&self) -> Reported {
        self.progress.counts.final_usage()
    }

    /// Returns how many bytes the model has written so far: words, thoughts, names and arguments of calls.
    pub fn written_bytes(&self) -> u64 {
        self.progress.weight.written as u64
    }

    /// Ends the stream and returns the reply, if it is whole.
    pub fn finish(mut self) -> Result<Reply, Fault> {
        if self.progress.phase < Phase::Stopped {
            return Err(Fault::BrokeOff);
        }
        let tools: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let is_json = self.json.is_some();
        let written = match self.written {
            WrittenCalls::Read if !is_json => tools.as_slice(),
            WrittenCalls::Read | WrittenCalls::Leave => &[],
        };
        let stop = self.progress.stop;
        let reply = match self.wire {
            State::Anthropic(state) => state.finish(stop, &mut self.ids, written),
            State::OpenAi(state) => state.finish(stop, &mut self.ids, written),
        };
        let is_turn = is_json && reply.calls.is_empty();
        Ok(if is_turn { json_turn::read(reply, &tools, &mut self.ids) } else { reply })
    }
}

/// Reads what should be a reply or a part of one; the provider may have sent an error in its place.
fn parsed(text: &str, what: &str) -> Result<Value, Fault> {
    let value = lenient::value(text).map_err(|error| Fault::Malformed(format!("{what} that is no JSON ({error})")))?;
    Said::in_reply(&value).map_or(Ok(value), |said| Err(Fault::Said(said)))
}

impl Progress {
    /// What those who watch are told of a report of usage.
    fn used(&self, report: &Value) -> Option<Piece> {
        self.counts.usage().whole().filter(|_| report.is_object()).map(Piece::Used)
    }
}

/// Keeps a running total within [`REPLY_BYTES_MAX`], and counts what of it the model wrote.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    total: usize,
    written: usize,
}

impl Weight {
    fn add(&mut self, value: &Value) -> Result<(), Fault> {
        self.written = self.written.saturating_add(written(value));
        self.add_bytes(weight(value))
    }

    fn add_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.total = self.total.saturating_add(bytes);
        if self.total > REPLY_BYTES_MAX { Err(Fault::TooMuch) } else { Ok(()) }
    }
}

/// How many bytes of a part of a reply are the model's: not the wrapping that its provider adds.
fn written(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(written).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| written_under(key, value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn written_under(key: &str, value: &Value) -> usize {
    match key {
        "type" | "id" | "index" => 0,
        // Arguments that come as an object: the model wrote their names, too. A call that begins has none yet.
        "input" if value.as_object().is_some_and(|input| !input.is_empty()) => value.to_string().len(),
        _ => written(value),
    }
}

/// About how many bytes a value takes. Events are at most 128 deep, so this ends.
fn weight(value: &Value) -> usize {
    const EACH: usize = 8;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => EACH,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| EACH + weight(item)).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| EACH + key.len() + weight(value)).sum(),
    }
}

/// Why a reply ended, given what the provider said and what is in it: the two may contradict each other.
pub(crate) fn stop(said: Option<Stop>, calls: &[RawCall]) -> Stop {
    match (said, calls.is_empty()) {
        (Some(stop @ (Stop::Length | Stop::Refusal)), _) => stop,
        (Some(Stop::End | Stop::Calls) | None, false) => Stop::Calls,
        (Some(Stop::End | Stop::Calls) | None, true) => Stop::End,
    }
}

/// Adds a part to what is there: texts and lists grow, all else is replaced.
fn merge(into: &mut Map<String, Value>, key: &str, part: &Value) {
    match (into.get_mut(key), part) {
        (Some(Value::String(so_far)), Value::String(text)) => so_far.push_str(text),
        (Some(Value::Array(so_far)), Value::Array(items)) => so_far.extend(items.iter().cloned()),
        (Some(_) | None, part) => {
            into.insert(key.to_owned(), part.clone());
        }
    }
}

/// Words as those who watch are told them.
fn words(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Words(text.to_owned()))
}

fn some_words(words: &str) -> Option<String> {
    (!words.trim().is_empty()).then(|| words.to_owned())
}

fn reply(wire: Wire, raw: Value, words: Option<String>, calls: Vec<RawCall>, said: Option<Stop>) -> Reply {
    let stop = stop(said, &calls);
    Reply { wire, raw, words, calls, stop }
}
