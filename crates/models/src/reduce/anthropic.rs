//! The events of Anthropic Messages. Blocks arrive by index, perhaps interleaved, and are kept as they came: thinking
//! is signed, and shown to the provider again byte for byte.

use std::collections::BTreeMap;

use guildhall_agent::{RawCall, Reply, Reported, Stop, Wire};
use serde_json::{Map, Value, json};

use super::counts::{Counts, tokens};
use super::{CALLS_MAX, Fault, Piece, Weight, reply, some_words};
use crate::ids::Ids;
use crate::{arguments, written};

#[derive(Debug, Default)]
pub(super) struct State {
    blocks: BTreeMap<u64, Block>,
    weight: Weight,
    counts: Counts,
    /// Whether output was counted when there was some: what is reported at the beginning says nothing of what came after it.
    has_output_count: bool,
    stop: Option<Stop>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Waiting,
    Begun,
    /// A stop reason came: the reply is whole, even if the connection breaks now.
    Stopped,
    Done,
}

#[derive(Debug)]
struct Block {
    value: Map<String, Value>,
    /// A call's input, as text in pieces.
    input: String,
}

impl State {
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(super) fn has_begun(&self) -> bool {
        self.phase != Phase::Waiting
    }

    pub(super) fn usage(&self) -> Reported {
        self.counts.usage()
    }

    pub(super) fn final_usage(&self) -> Reported {
        match self.counts.usage() {
            Reported::Whole(usage) if !self.has_output_count => Reported::Part(usage),
            usage @ (Reported::Nothing | Reported::Part(_) | Reported::Whole(_)) => usage,
        }
    }

    pub(super) fn weight(&self) -> Weight {
        self.weight
    }

    pub(super) fn event(&mut self, name: &str, value: &Value) -> Result<Vec<Piece>, Fault> {
        match value["type"].as_str().unwrap_or(name) {
            "message_start" => {
                self.phase = Phase::Begun;
                let pieces = self.count(&value["message"]["usage"]);
                self.has_output_count = false;
                Ok(pieces)
            }
            "content_block_start" => self.block(index(value)?, &value["content_block"]),
            "content_block_delta" => self.delta(index(value)?, &value["delta"]),
            "message_delta" => {
                self.end(&value["delta"]["stop_reason"]);
                Ok(self.count(&value["usage"]))
            }
            "message_stop" => {
                self.phase = Phase::Done;
                Ok(Vec::new())
            }
            // A ping, the end of a block, or an event that is newer than this program.
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn body(&mut self, value: &Value) -> Result<Vec<Piece>, Fault> {
        let Some(blocks) = value["content"].as_array() else {
            return Err(Fault::Malformed("a body without content".into()));
        };
        let mut pieces = Vec::new();
        for (index, block) in (0..).zip(blocks) {
            pieces.extend(self.block(index, block)?);
        }
        self.end(&value["stop_reason"]);
        self.phase = Phase::Done;
        pieces.extend(self.count(&value["usage"]));
        Ok(pieces)
    }

    pub(super) fn finish(self, ids: &mut Ids, tools: &[&str]) -> Result<Reply, Fault> {
        if !matches!(self.phase, Phase::Stopped | Phase::Done) {
            return Err(Fault::BrokeOff);
        }
        let mut raw = Vec::new();
        let mut words = String::new();
        let mut calls = Vec::new();
        for mut block in self.blocks.into_values() {
            match block.value["type"].as_str() {
                Some("text") => words.push_str(block.value.get("text").and_then(Value::as_str).unwrap_or_default()),
                Some("tool_use") => calls.push(block.call(ids)),
                _ => {}
            }
            raw.push(Value::Object(block.value));
        }
        if calls.is_empty()
            && let Some(written) = written::read(&words, tools)
        {
            // The provider is shown real calls, since it will be shown their results.
            raw.retain(|block| block["type"] != "text");
            raw.extend(written.words.as_ref().map(|text| json!({"type": "text", "text": text})));
            for (name, arguments) in written.calls {
                let id = ids.give("");
                let input = arguments::shown(&arguments);
                raw.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                calls.push(RawCall { id, name, arguments });
            }
            return Ok(reply(Wire::Anthropic, Value::Array(raw), written.words, calls, self.stop));
        }
        Ok(reply(Wire::Anthropic, Value::Array(raw), some_words(&words), calls, self.stop))
    }

    fn count(&mut self, usage: &Value) -> Vec<Piece> {
        self.counts.parted_input(
            tokens(&usage["input_tokens"]),
            tokens(&usage["cache_read_input_tokens"]),
            tokens(&usage["cache_creation_input_tokens"]),
        );
        let output = tokens(&usage["output_tokens"]);
        self.has_output_count |= output.is_some();
        self.counts.output(output);
        if usage.is_object() { self.usage().whole().map(Piece::Used).into_iter().collect() } else { Vec::new() }
    }

    fn end(&mut self, reason: &Value) {
        let Some(reason) = reason.as_str() else { return };
        self.phase = Phase::Stopped;
        self.stop = match reason {
            "end_turn" | "stop_sequence" | "pause_turn" => Some(Stop::End),
            "tool_use" => Some(Stop::Calls),
            "max_tokens" | "model_context_window_exceeded" => Some(Stop::Length),
            "refusal" => Some(Stop::Refusal),
            _ => None,
        };
    }

    fn block(&mut self, index: u64, block: &Value) -> Result<Vec<Piece>, Fault> {
        let Some(value) = block.as_object().filter(|block| block.get("type").is_some_and(Value::is_string)) else {
            return Err(Fault::Malformed("a block without a type".into()));
        };
        self.weight.add(block)?;
        if self.blocks.len() >= CALLS_MAX {
            return Err(Fault::TooMuch);
        }
        if self.blocks.insert(index, Block { value: value.clone(), input: String::new() }).is_some() {
            return Err(Fault::Malformed(format!("block {index} twice")));
        }
        self.phase = self.phase.max_begun();
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(match value["type"].as_str() {
            Some("text") => words(text("text")),
            Some("tool_use") => vec![Piece::Call(text("name"))],
            Some("thinking" | "redacted_thinking") => vec![Piece::Thinking],
            _ => Vec::new(),
        })
    }

    fn delta(&mut self, index: u64, delta: &Value) -> Result<Vec<Piece>, Fault> {
        self.weight.add(delta)?;
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(Fault::Malformed(format!("a part of block {index}, which has not begun")));
        };
        let Some(delta) = delta.as_object() else {
            return Err(Fault::Malformed("a part that is no object".into()));
        };
        let mut pieces = Vec::new();
        for (key, part) in delta.iter().filter(|(key, _)| *key != "type") {
            match (key.as_str(), part) {
                ("partial_json", Value::String(text)) => block.input.push_str(text),
                ("citation", citation) => block.push("citations", citation.clone()),
                (key, Value::String(text)) => {
                    block.append(key, text);
                    match key {
                        "text" => pieces.extend(words(text.clone())),
                        "thinking" => pieces.push(Piece::Thinking),
                        _ => {}
                    }
                }
                (key, other) => {
                    block.value.insert(key.to_owned(), other.clone());
                }
            }
        }
        Ok(pieces)
    }
}

impl Phase {
    fn max_begun(self) -> Phase {
        if self == Phase::Waiting { Phase::Begun } else { self }
    }
}

impl Block {
    fn append(&mut self, key: &str, text: &str) {
        match self.value.get_mut(key) {
            Some(Value::String(so_far)) => so_far.push_str(text),
            Some(_) | None => {
                self.value.insert(key.to_owned(), text.into());
            }
        }
    }

    fn push(&mut self, key: &str, item: Value) {
        match self.value.get_mut(key) {
            Some(Value::Array(items)) => items.push(item),
            Some(_) | None => {
                self.value.insert(key.to_owned(), Value::Array(vec![item]));
            }
        }
    }

    /// Reads the block as a call, and puts into it what can be shown to the provider again.
    fn call(&mut self, ids: &mut Ids) -> RawCall {
        let text = |key: &str| self.value.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = ids.give(text("id"));
        let name = text("name").to_owned();
        let arguments = if self.input.is_empty() {
            arguments::read_value(self.value.get("input").unwrap_or(&Value::Null))
        } else {
            arguments::read(&self.input)
        };
        self.value.insert("id".into(), id.as_str().into());
        self.value.insert("input".into(), arguments::shown(&arguments));
        RawCall { id, name, arguments }
    }
}

fn index(value: &Value) -> Result<u64, Fault> {
    value["index"].as_u64().ok_or_else(|| Fault::Malformed("a block without an index".into()))
}

fn words(text: String) -> Vec<Piece> {
    if text.is_empty() { Vec::new() } else { vec![Piece::Words(text)] }
}
