//! The request of Chat Completions. Servers cache the unchanged beginning of a request by themselves, so the status comes
//! last.

use guildhall_agent::{Message, Part, Prompt, Reply, Wire};
use serde_json::{Map, Value, json};

use super::{Form, ToolChoice, object};
use crate::http::arguments;
use crate::http::endpoint::Endpoint;

pub(super) fn body(endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Map<String, Value> {
    let mut messages = Vec::new();
    if !prompt.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for message in &prompt.messages {
        match message {
            Message::User(parts) => user(parts, &mut messages),
            Message::Assistant(reply) => messages.push(replied(reply)),
        }
    }
    if let Some(status) = &prompt.status {
        add(status, &mut messages);
    }
    // OpenAI's newer models accept only `max_completion_tokens`, many local servers only `max_tokens`.
    let limit = if endpoint.base_url.is_makers() { "max_completion_tokens" } else { "max_tokens" };
    let mut body = object([
        ("model", json!(endpoint.model)),
        (limit, json!(prompt.max_tokens)),
        ("stream", json!(true)),
        ("stream_options", json!({"include_usage": true})),
    ]);
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"type": "function", "function":
                {"name": tool.name, "description": tool.description, "parameters": tool.schema}})
        });
        body.insert("tools".into(), tools.collect());
    }
    // The API can't force a call when the model thinks.
    let thinks = ["thinking", "reasoning", "reasoning_effort"].iter().any(|field| endpoint.extra.contains_key(*field));
    if let Some(tool) = prompt.must_call.as_ref().filter(|_| !thinks && form.tool_choice == ToolChoice::Forced) {
        body.insert("tool_choice".into(), json!({"type": "function", "function": {"name": tool}}));
    }
    body.insert("messages".into(), Value::Array(messages));
    body
}

/// Adds a message for each result, then one message with all texts.
fn user(parts: &[Part], messages: &mut Vec<Value>) {
    let mut words: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            Part::Words(text) => words.push(text),
            Part::Result { call, text, failed } => {
                // The protocol has no field for a failure.
                let prefix = if *failed { "Error: " } else { "" };
                messages.push(json!({"role": "tool", "tool_call_id": call, "content": format!("{prefix}{text}")}));
            }
        }
    }
    if !words.is_empty() {
        messages.push(json!({"role": "user", "content": words.join("\n\n")}));
    }
}

/// Adds text to the last message if that is a user message, else as a new user message. Results are data, so the runtime's text
/// is never added to a result.
fn add(words: &str, messages: &mut Vec<Value>) {
    match messages.last_mut().filter(|message| message["role"] == "user") {
        Some(message) => {
            let before = message["content"].as_str().unwrap_or_default();
            message["content"] = json!(format!("{before}\n\n{words}"));
        }
        None => messages.push(json!({"role": "user", "content": words})),
    }
}

fn replied(reply: &Reply) -> Value {
    let mut message = if let (Wire::OpenAi, Value::Object(_)) = (reply.wire, &reply.raw) {
        reply.raw.clone()
    } else {
        let calls = reply.calls.iter().map(|call| {
            let arguments = arguments::shown(&call.arguments).to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        let mut message = object([("role", json!("assistant")), ("content", json!(reply.words))]);
        message.extend((!reply.calls.is_empty()).then(|| ("tool_calls".to_owned(), calls.collect())));
        Value::Object(message)
    };
    // Servers refuse a message without content and calls.
    if message["content"].is_null() && message["tool_calls"].is_null() {
        message["content"] = json!("");
    }
    message
}
