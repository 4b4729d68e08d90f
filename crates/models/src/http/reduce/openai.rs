//! The chunks of Chat Completions. Servers differ: calls without an index or all with the same index, ids in every chunk or in
//! none, arguments as a text or as an object, thinking under several names.

use std::borrow::Cow;

use guildhall_agent::{RawCall, Reply, Stop, Wire};
use serde_json::{Map, Number, Value, json};

use super::counts::tokens;
use super::{
    CALLS_MAX, Fault, Phase, Piece, Progress, TOKENS_MAX, mark_cut, merge, read_written, reply, some_words, words,
};
use crate::http::arguments;
use crate::http::ids::Ids;
use crate::http::json::Json;

/// The name under which a call without a name is sent back: providers refuse a conversation with an empty name.
const UNNAMED: &str = "unnamed";

const THOUGHT_START: &str = "<think>";
const THOUGHT_END: &str = "</think>";

#[derive(Debug, Default)]
pub(super) struct State {
    content: String,
    refusal: String,
    calls: Vec<Call>,
    /// The other fields of the message, for example thinking.
    rest: Map<String, Value>,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// The other fields of the call, for example signatures of thinking.
    rest: Map<String, Value>,
}

impl State {
    pub(super) fn chunk(&mut self, value: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        if value.as_object().is_none() {
            return Err(Fault::Malformed("an event is not an object".into()));
        }
        self.choice(value, "delta", progress)
    }

    pub(super) fn body(&mut self, value: &Json<'_>, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        let choice = value["choices"].as_list().and_then(<[_]>::first);
        if choice.is_none_or(|choice| choice["message"].as_object().is_none()) {
            return Err(Fault::Malformed("the body has no message".into()));
        }
        let pieces = self.choice(value, "message", progress)?;
        progress.phase = Phase::Done;
        Ok(pieces)
    }

    fn choice(&mut self, value: &Json<'_>, key: &str, progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        let mut pieces = Vec::new();
        // Some servers send a last chunk with a null or empty list of choices and the usage.
        if let Some(choice) = value["choices"].as_list().and_then(<[_]>::first) {
            progress.phase = progress.phase.max(Phase::Begun);
            if let Some(delta) = choice[key].as_object() {
                pieces.extend(self.delta(delta, progress)?);
            }
            if let Some(reason) = choice["finish_reason"].as_str() {
                progress.phase = Phase::Stopped;
                progress.stop = match reason {
                    "stop" => Some(Stop::End),
                    "tool_calls" | "function_call" => Some(Stop::Calls),
                    "length" => Some(Stop::Length),
                    "content_filter" => Some(Stop::Refusal),
                    _ => None,
                };
            }
        }
        pieces.extend(count(&value["usage"], progress));
        Ok(pieces)
    }

    fn delta(&mut self, delta: &[(Cow<'_, str>, Json<'_>)], progress: &mut Progress) -> Result<Vec<Piece>, Fault> {
        let mut pieces = Vec::new();
        for (key, part) in delta.iter().filter(|(key, _)| *key != "role") {
            progress.weight.add_bytes(key.len())?;
            progress.weight.add(part)?;
            match (key.as_ref(), part) {
                ("function_call", _) | (_, Json::Null) => {}
                ("content", part) => self.content(part, &mut pieces),
                ("refusal", Json::Text(text)) => {
                    self.refusal.push_str(text);
                    pieces.extend(words(text));
                }
                ("tool_calls", Json::List(calls)) => {
                    for call in calls {
                        pieces.extend(self.call(call)?);
                    }
                }
                (key, part) => {
                    if key.starts_with("reasoning") && part.as_str() != Some("") {
                        pieces.push(Piece::Thinking);
                    }
                    merge(&mut self.rest, key, part);
                }
            }
        }
        Ok(pieces)
    }

    fn content(&mut self, part: &Json<'_>, pieces: &mut Vec<Piece>) {
        let parts = part.as_list().into_iter().flatten().map(|part| &part["text"]);
        for text in parts.chain([part]).filter_map(Json::as_str) {
            self.content.push_str(text);
            pieces.extend(words(text));
        }
    }

    fn call(&mut self, part: &Json<'_>) -> Result<Option<Piece>, Fault> {
        let text = |value: &Json<'_>| value.as_str().unwrap_or_default().to_owned();
        let index = part["index"].as_number().and_then(Number::as_u64);
        let id = text(&part["id"]);
        let name = text(&part["function"]["name"]);
        let at = self.call_index(index, &id, &name)?;
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        match &part["function"]["arguments"] {
            Json::Text(text) => call.arguments.push_str(text),
            Json::Null => {}
            // The server sent a JSON value instead of text: make it text, to read it like the others.
            other @ (Json::Bool(_) | Json::Number(_) | Json::List(_) | Json::Object(_)) => {
                call.arguments.push_str(&other.to_value().to_string());
            }
        }
        for (key, part) in part.as_object().into_iter().flatten() {
            if !["index", "id", "type", "function"].contains(&key.as_ref()) {
                merge(&mut call.rest, key, part);
            }
        }
        if call.name.is_empty() && !name.is_empty() {
            call.name.clone_from(&name);
            return Ok(Some(Piece::Call(name)));
        }
        Ok(None)
    }

    /// Finds the call that a part belongs to, or starts a new call. A new id with a known index also starts a new call: some
    /// servers number all calls 0.
    fn call_index(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<usize, Fault> {
        let is_other = |call: &Call| !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        match found.filter(|at| !is_other(&self.calls[*at])) {
            Some(at) => Ok(at),
            None if self.calls.len() >= CALLS_MAX => Err(Fault::TooLarge),
            None => {
                self.calls.push(Call { index, ..Call::default() });
                Ok(self.calls.len() - 1)
            }
        }
    }

    pub(super) fn finish(self, stop: Option<Stop>, ids: &mut Ids, tools: &[&str]) -> Reply {
        let (stop, text) = if self.refusal.is_empty() {
            (stop, without_thought(&self.content, stop))
        } else {
            (Some(Stop::Refusal), self.refusal.as_str())
        };
        let mut words = some_words(text);
        let mut content = Some(self.content.clone()).filter(|content| !content.is_empty());
        let mut calls = Vec::new();
        let mut raw_calls = Vec::new();
        for call in self.calls {
            let (raw, call) = call.read(ids);
            raw_calls.push(raw);
            calls.push(call);
        }
        mark_cut(&mut calls, stop);
        if calls.is_empty()
            && let Some(written) = read_written(text, stop, tools)
        {
            words = written.words;
            // The provider must get tool calls back, because the next request has their results.
            content.clone_from(&words);
            for (name, arguments) in written.calls {
                let (id, call) = (ids.give(""), Call { name, ..Call::default() });
                raw_calls.push(call.raw(&call.name, &id, &arguments));
                calls.push(RawCall { id, name: call.name, arguments });
            }
        }
        let mut raw = Map::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), json!(content))]);
        if !self.refusal.is_empty() {
            raw.insert("refusal".into(), self.refusal.into());
        }
        raw.extend(self.rest);
        if !raw_calls.is_empty() {
            raw.insert("tool_calls".into(), Value::Array(raw_calls));
        }
        reply(Wire::OpenAi, Value::Object(raw), words, calls, stop)
    }
}

impl Call {
    fn read(self, ids: &mut Ids) -> (Value, RawCall) {
        let id = ids.give(&self.id);
        let arguments = arguments::read(&self.arguments);
        let shown = if self.name.is_empty() { UNNAMED } else { &self.name };
        let raw = self.raw(shown, &id, &arguments);
        (raw, RawCall { id, name: self.name, arguments })
    }

    /// Returns the call as the provider sent it. Arguments that are not an object are wrapped, because servers refuse every later
    /// request that contains them.
    fn raw(&self, name: &str, id: &str, read: &Result<Value, String>) -> Value {
        let verbatim = read.is_ok() && !self.arguments.trim().is_empty();
        let text = if verbatim { self.arguments.clone() } else { arguments::shown(read).to_string() };
        let mut raw = Map::from_iter([
            ("id".to_owned(), json!(id)),
            ("type".to_owned(), json!("function")),
            ("function".to_owned(), json!({"name": name, "arguments": text})),
        ]);
        raw.extend(self.rest.clone());
        Value::Object(raw)
    }
}

fn count(usage: &Json<'_>, progress: &mut Progress) -> Option<Piece> {
    let (input, details) = (tokens(&usage["prompt_tokens"]), &usage["prompt_tokens_details"]);
    // Two names for the same count. If both are present and differ, the smaller counts.
    let cached = [&usage["prompt_cache_hit_tokens"], &details["cached_tokens"]];
    let cached = cached.into_iter().filter_map(tokens).min();
    let counts = &mut progress.counts;
    counts.whole_input(input, cached, tokens(&details["cache_write_tokens"]));
    counts.output(output(usage));
    // Parts may be missing or may not add up to the total.
    let total = tokens(&usage["total_tokens"]).unwrap_or(0);
    counts.output_at_least(total.saturating_sub(counts.input));
    progress.used(usage)
}

/// Returns the output of a report. Some servers don't include thinking, which is billed, too: there, thinking can be larger than
/// output.
fn output(usage: &Json<'_>) -> Option<u64> {
    let output = tokens(&usage["completion_tokens"])?;
    let thinking = tokens(&usage["completion_tokens_details"]["reasoning_tokens"]).unwrap_or(0);
    let with_thinking = if thinking > output { output + thinking } else { output };
    Some(with_thinking.min(TOKENS_MAX))
}

/// Removes thinking that the server left in the text. A reply that was cut can end within its thinking.
fn without_thought(text: &str, stop: Option<Stop>) -> &str {
    let Some(thought) = text.trim_start().strip_prefix(THOUGHT_START) else { return text };
    let without_end = if stop.is_some_and(Stop::is_cut) { "" } else { text };
    thought.split_once(THOUGHT_END).map_or(without_end, |(_, rest)| rest.trim_start())
}
