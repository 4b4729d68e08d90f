//! Makes a reply out of the events of a stream, or out of a body that came whole. Pure: events in, pieces and at the
//! end a reply out, whatever the events are. What a stream may grow to is bounded here.

mod anthropic;
mod counts;
mod openai;

use guildhall_agent::{CallFormat, Delta, Prompt, RawCall, Reply, Reported, Stop, Usage, Wire};
use serde_json::Value;

use crate::endpoint::WrittenCalls;
use crate::ids::Ids;
use crate::json_turn;
use crate::lenient;
use crate::sse::Event;
use crate::verdict::Said;

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
        Reducer { wire, ids: Ids::new(&prompt.key), tools, written, json: None }
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
        if let (State::OpenAi(state), "[DONE]") = (&mut self.wire, event.data.trim()) {
            state.end();
            return Ok(Vec::new());
        }
        let value = lenient::value(&event.data)
            .map_err(|error| Fault::Malformed(format!("an event that is no JSON ({error})")))?;
        if let Some(said) = Said::in_reply(&value) {
            return Err(Fault::Said(said));
        }
        let pieces = match &mut self.wire {
            State::Anthropic(state) => state.event(&event.name, &value),
            State::OpenAi(state) => state.chunk(&value),
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
        let value =
            lenient::value(body).map_err(|error| Fault::Malformed(format!("a body that is no JSON ({error})")))?;
        if let Some(said) = Said::in_reply(&value) {
            return Err(Fault::Said(said));
        }
        let pieces = match &mut self.wire {
            State::Anthropic(state) => state.body(&value),
            State::OpenAi(state) => state.body(&value),
        };
        Ok(self.decoded(pieces?))
    }

    /// Whether the reply is whole and nothing more is to come.
    pub fn is_done(&self) -> bool {
        match &self.wire {
            State::Anthropic(state) => state.is_done(),
            State::OpenAi(state) => state.is_done(),
        }
    }

    /// Whether anything came that may have cost something.
    pub fn has_begun(&self) -> bool {
        match &self.wire {
            State::Anthropic(state) => state.has_begun(),
            State::OpenAi(state) => state.has_begun(),
        }
    }

    /// Returns what was reported as used so far.
    pub fn usage(&self) -> Reported {
        match &self.wire {
            State::Anthropic(state) => state.usage(),
            State::OpenAi(state) => state.usage(),
        }
    }

    /// Returns what was reported as used for a reply that is whole: a part if output was counted only before there was any.
    pub fn final_usage(&self) -> Reported {
        match &self.wire {
            State::Anthropic(state) => state.final_usage(),
            State::OpenAi(state) => state.usage(),
        }
    }

    /// Returns how many bytes the model has written so far: words, thoughts, names and arguments of calls.
    pub fn written_bytes(&self) -> u64 {
        let weight = match &self.wire {
            State::Anthropic(state) => state.weight(),
            State::OpenAi(state) => state.weight(),
        };
        weight.written as u64
    }

    /// Ends the stream and returns the reply, if it is whole.
    pub fn finish(mut self) -> Result<Reply, Fault> {
        let tools: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        let is_json = self.json.is_some();
        let written = match self.written {
            WrittenCalls::Read if !is_json => tools.as_slice(),
            WrittenCalls::Read | WrittenCalls::Leave => &[],
        };
        let reply = match self.wire {
            State::Anthropic(state) => state.finish(&mut self.ids, written),
            State::OpenAi(state) => state.finish(&mut self.ids, written),
        }?;
        let is_turn = is_json && reply.calls.is_empty();
        Ok(if is_turn { json_turn::read(reply, &tools, &mut self.ids) } else { reply })
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
fn stop(said: Option<Stop>, calls: &[RawCall]) -> Stop {
    match (said, calls.is_empty()) {
        (Some(stop @ (Stop::Length | Stop::Refusal)), _) => stop,
        (Some(Stop::End | Stop::Calls) | None, false) => Stop::Calls,
        (Some(Stop::End | Stop::Calls) | None, true) => Stop::End,
    }
}

fn some_words(words: &str) -> Option<String> {
    (!words.trim().is_empty()).then(|| words.to_owned())
}

fn reply(wire: Wire, raw: Value, words: Option<String>, calls: Vec<RawCall>, said: Option<Stop>) -> Reply {
    let stop = stop(said, &calls);
    Reply { wire, raw, words, calls, stop }
}
