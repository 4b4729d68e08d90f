//! The request of Anthropic Messages. Two cache breakpoints: after the system prompt, which follows the tools, and on
//! the last message, so that the next turn finds everything up to it. The status comes after both.

use guildhall_agent::{Message, Part, Prompt, Reply, Wire};
use serde_json::{Map, Value, json};

use super::{Form, ToolChoice, object};
use crate::http::arguments;
use crate::http::endpoint::Endpoint;
use crate::http::ids::plain;

/// Stands for words where there are none: the API refuses an empty message.
const SILENCE: &str = "(nothing)";

pub(super) fn body(endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Map<String, Value> {
    let mut messages: Vec<Value> = prompt.messages.iter().map(message).collect();
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut()) {
        mark(last);
    }
    if let Some(status) = &prompt.status {
        add(text(status), &mut messages);
    }
    let mut body =
        object([("model", json!(endpoint.model)), ("max_tokens", json!(prompt.max_tokens)), ("stream", json!(true))]);
    let mut tools: Vec<Value> = prompt
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
        .collect();
    if prompt.system.trim().is_empty() {
        tools.last_mut().map(mark);
    } else {
        let mut system = json!({"type": "text", "text": prompt.system});
        mark(&mut system);
        body.insert("system".into(), json!([system]));
    }
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    // A model that thinks can't be held to a tool.
    if let Some(tool) = prompt
        .must_call
        .as_ref()
        .filter(|_| !endpoint.extra.contains_key("thinking") && form.tool_choice == ToolChoice::Forced)
    {
        body.insert("tool_choice".into(), json!({"type": "tool", "name": tool}));
    }
    body.insert("messages".into(), Value::Array(messages));
    body
}

/// Adds a block to the last message if that is the user's, else as one of its own.
fn add(block: Value, messages: &mut Vec<Value>) {
    let last = messages.last_mut().filter(|message| message["role"] == "user");
    match last.and_then(|message| message["content"].as_array_mut()) {
        Some(content) => content.push(block),
        None => messages.push(json!({"role": "user", "content": [block]})),
    }
}

fn mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}

fn message(message: &Message) -> Value {
    let (role, mut content) = match message {
        Message::User(parts) => ("user", parts.iter().filter_map(part).collect()),
        Message::Assistant(reply) => ("assistant", replied(reply)),
    };
    if content.is_empty() {
        content.push(text(SILENCE));
    }
    json!({"role": role, "content": content})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Words(words) => (!words.trim().is_empty()).then(|| text(words)),
        Part::Result { call, text, failed } => {
            let mut block = object([("type", json!("tool_result")), ("tool_use_id", json!(plain(call)))]);
            if !text.is_empty() {
                block.insert("content".into(), json!(text));
            }
            if *failed {
                block.insert("is_error".into(), json!(true));
            }
            Some(Value::Object(block))
        }
    }
}

/// A reply that came over this wire as it came, but for blank texts, which the API sends and refuses; another's words
/// and calls.
fn replied(reply: &Reply) -> Vec<Value> {
    if let (Wire::Anthropic, Value::Array(blocks)) = (reply.wire, &reply.raw) {
        let is_blank = |block: &&Value| block["type"] == "text" && block["text"].as_str().is_none_or(is_blank);
        return blocks.iter().filter(|block| !is_blank(block)).cloned().collect();
    }
    let words = reply.words.iter().filter(|words| !is_blank(words)).map(|words| text(words));
    let calls = reply.calls.iter().map(|call| {
        let input = arguments::shown(&call.arguments);
        json!({"type": "tool_use", "id": plain(&call.id), "name": plain(&call.name), "input": input})
    });
    words.chain(calls).collect()
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
