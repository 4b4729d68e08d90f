//! The request of Anthropic Messages. It has two cache breakpoints: after the system prompt, which follows the tools, and on
//! the last message, so that the next turn can read everything before it from the cache. The status comes after both.

use guildhall_agent::{Message, Part, Prompt, Reply, ToolSpec, Wire};
use serde_json::{Map, Value, json};

use super::{Form, ToolChoice, object};
use crate::http::arguments;
use crate::http::endpoint::Endpoint;
use crate::http::ids::plain;

/// The content of a message without content: the API refuses an empty message.
const NO_CONTENT: &str = "(nothing)";

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
    let tool =
        |tool: &ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
    let mut tools: Vec<Value> = prompt.tools.iter().map(tool).collect();
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
    // The API can't force a call when the model thinks.
    let can_force = !endpoint.extra.contains_key("thinking") && form.tool_choice == ToolChoice::Forced;
    if let Some(tool) = prompt.must_call.as_ref().filter(|_| can_force) {
        body.insert("tool_choice".into(), json!({"type": "tool", "name": tool}));
    }
    body.insert("messages".into(), Value::Array(messages));
    body
}

/// Adds a block to the last message if that is a user message, else as a new user message.
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
        content.push(text(NO_CONTENT));
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

/// Returns the blocks of a reply. A reply from this protocol is sent back unchanged, except for blank texts, which the API sends
/// but does not accept. A reply from another protocol is written as text and calls.
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
