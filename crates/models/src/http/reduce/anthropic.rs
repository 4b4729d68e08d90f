//! The events of Anthropic Messages. Blocks arrive by index and may be interleaved. They are stored unchanged: thinking is
//! signed, and must be sent back to the provider byte for byte.

use std::collections::BTreeMap;

use guildhall_agent::{RawCall, Reply, Stop, Wire};
use serde_json::{Map, Number, Value, json};

use super::counts::tokens;
use super::{CALLS_MAX, Fault, Phase, Piece, Progress, mark_cut, merge, read_written, reply, some_words, words};
use crate::http::arguments;
use crate::http::ids::Ids;
use crate::http::json::Json;

#[derive(Debug, Default)]
pub(super) struct State {
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    value: Map<String, Value>,
    /// The input of a call as text, joined from pieces.
    input: String,
}

impl State {
    pub(super) fn event(&mut self, name: &str, value: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        match value["type"].as_str().unwrap_or(name) {
            "message_start" => {
                progress.phase = Phase::Begun;
                let pieces = count(&value["message"]["usage"], progress);
                progress.counts.begin();
                Ok(pieces)
            }
            "content_block_start" => self.block(index(value)?, &value["content_block"], progress),
            "content_block_delta" => self.delta(index(value)?, &value["delta"], progress),
            "message_delta" => {
                end(&value["delta"]["stop_reason"], progress);
                Ok(count(&value["usage"], progress))
            }
            "message_stop" => {
                progress.phase = Phase::Done;
                Ok(Vec::new())
            }
            // A ping, the end of a block, or an event that this program does not know.
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn body(&mut self, value: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        let Some(blocks) = value["content"].as_list() else {
            return Err(Fault::Malformed("the body has no content".into()));
        };
        let mut pieces = Vec::new();
        for (index, block) in (0..).zip(blocks) {
            pieces.extend(self.block(index, block, progress)?);
        }
        end(&value["stop_reason"], progress);
        progress.phase = Phase::Done;
        pieces.extend(count(&value["usage"], progress));
        Ok(pieces)
    }

    pub(super) fn finish(self, stop: Option<Stop>, ids: &mut Ids, tools: &[&str]) -> Reply {
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
        mark_cut(&mut calls, stop);
        let mut words = some_words(&words);
        if calls.is_empty()
            && let Some(written) = words.as_deref().and_then(|words| read_written(words, stop, tools))
        {
            // The provider must get tool calls back, because the next request has their results.
            raw.retain(|block| block["type"] != "text");
            raw.extend(written.words.as_ref().map(|text| json!({"type": "text", "text": text})));
            for (name, arguments) in written.calls {
                let id = ids.give("");
                let input = arguments::shown(&arguments);
                raw.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                calls.push(RawCall { id, name, arguments });
            }
            words = written.words;
        }
        reply(Wire::Anthropic, Value::Array(raw), words, calls, stop)
    }

    fn block(&mut self, index: u64, block: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        let (Some(kind), Value::Object(value)) = (block["type"].as_str(), block.to_value()) else {
            return Err(Fault::Malformed("a block has no type".into()));
        };
        progress.weight.add(block)?;
        if self.blocks.len() >= CALLS_MAX {
            return Err(Fault::TooLarge);
        }
        if self.blocks.insert(index, Block { value, input: String::new() }).is_some() {
            return Err(Fault::Malformed(format!("block {index} is sent twice")));
        }
        progress.phase = progress.phase.max(Phase::Begun);
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        Ok(match kind {
            "text" => words(text("text")).into_iter().collect(),
            "tool_use" => vec![Piece::Call(text("name").to_owned())],
            "thinking" | "redacted_thinking" => vec![Piece::Thinking],
            _ => Vec::new(),
        })
    }

    fn delta(&mut self, index: u64, delta: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        progress.weight.add(delta)?;
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(Fault::Malformed(format!("a delta is for block {index}, which has not started")));
        };
        let Some(delta) = delta.as_object() else {
            return Err(Fault::Malformed("a delta is not an object".into()));
        };
        let mut pieces = Vec::new();
        for (key, part) in delta.iter().filter(|(key, _)| *key != "type") {
            match (key.as_ref(), part) {
                ("partial_json", Json::Text(text)) => block.input.push_str(text),
                ("citation", citation) => {
                    merge(&mut block.value, "citations", &Json::List(vec![citation.clone()]));
                }
                (key, part) => {
                    merge(&mut block.value, key, part);
                    match (key, part) {
                        ("text", Json::Text(text)) => pieces.extend(words(text)),
                        ("thinking", Json::Text(_)) => pieces.push(Piece::Thinking),
                        _ => {}
                    }
                }
            }
        }
        Ok(pieces)
    }
}

impl Block {
    /// Reads the block as a call, and makes the block valid to be sent back to the provider.
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

fn index(value: &Json<'_>) -> Result<u64, Fault> {
    let index = value["index"].as_number().and_then(Number::as_u64);
    index.ok_or_else(|| Fault::Malformed("the index of an event is missing or not a whole number".into()))
}

fn count(usage: &Json<'_>, progress: &mut Progress) -> Vec<Piece> {
    progress.counts.parted_input(
        tokens(&usage["input_tokens"]),
        tokens(&usage["cache_read_input_tokens"]),
        tokens(&usage["cache_creation_input_tokens"]),
    );
    progress.counts.output(tokens(&usage["output_tokens"]));
    progress.used(usage).into_iter().collect()
}

fn end(reason: &Json<'_>, progress: &mut Progress) {
    let Some(reason) = reason.as_str() else { return };
    progress.phase = Phase::Stopped;
    progress.stop = match reason {
        "end_turn" | "stop_sequence" | "pause_turn" => Some(Stop::End),
        "tool_use" => Some(Stop::Calls),
        "max_tokens" => Some(Stop::Length),
        "model_context_window_exceeded" => Some(Stop::Window),
        "refusal" => Some(Stop::Refusal),
        _ => None,
    };
}
