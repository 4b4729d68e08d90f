//! The request of Chat Completions. Servers cache the unchanged beginning of a request by themselves, so the status comes
//! last.

use std::borrow::Cow;
use std::fmt;

use guildhall_agent::{Message, Opening, Part, Prompt, Reply, ToolSpec, Wire};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Form, JsonWriter};
use crate::http::arguments;
use crate::http::endpoint::Endpoint;

/// Returns the fields that requests with this opening have.
pub(super) fn fields(opening: &Opening) -> Vec<&'static str> {
    let mut fields = vec!["model", "stream", "stream_options", "messages"];
    fields.extend((!opening.tools().is_empty()).then_some("tools"));
    fields
}

pub(super) fn write_opening(opening: &Opening, json: &mut JsonWriter) {
    json.field("stream_options", &json!({"include_usage": true}));
    let tool = |ToolSpec { name, description, schema }: &ToolSpec| {
        let function = json!({"name": name, "description": description, "parameters": schema});
        json!({"type": "function", "function": function})
    };
    if !opening.tools().is_empty() {
        json.field("tools", &opening.tools().iter().map(tool).collect::<Vec<_>>());
    }
    json.raw(",\"messages\":[");
    json.is_list_empty = true;
    let system = opening.system();
    if !system.trim().is_empty() {
        json.item(&Sent::System { content: system });
    }
}

pub(super) fn tool_choice(endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Value> {
    let tool = form.forced_call(prompt, endpoint, &["thinking", "reasoning", "reasoning_effort"])?;
    Some(json!({"type": "function", "function": {"name": tool}}))
}

pub(super) fn write_messages(messages: &[Message], status: Option<&str>, json: &mut JsonWriter) {
    let mut sent = Vec::new();
    for message in messages {
        match message {
            Message::User(parts) => user(parts, &mut sent),
            Message::Assistant(reply) => sent.push(replied(reply)),
        }
    }
    // Results are data, so the status is never added to a result.
    match (status, sent.last_mut()) {
        (Some(status), Some(Sent::User { content: Joined(texts) })) => texts.push(status),
        (Some(status), _) => sent.push(Sent::User { content: Joined(vec![status]) }),
        (None, _) => {}
    }
    for message in &sent {
        json.item(message);
    }
}

/// A message as it is sent.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Sent<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Joined<'a>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
    /// A reply in the provider's own form.
    #[serde(untagged)]
    Own(Cow<'a, Value>),
}

/// Texts with an empty line between them.
struct Joined<'a>(Vec<&'a str>);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, text) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n\n")?;
            }
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Adds a message for each result, then one message with all texts.
fn user<'a>(parts: &'a [Part], sent: &mut Vec<Sent<'a>>) {
    let mut words: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            Part::Words(text) => words.push(text),
            Part::Result { call, text, failed } => {
                // The protocol has no field for a failure.
                let content = if *failed { Cow::Owned(format!("Error: {text}")) } else { Cow::Borrowed(text.as_str()) };
                sent.push(Sent::Tool { tool_call_id: call, content });
            }
        }
    }
    if !words.is_empty() {
        sent.push(Sent::User { content: Joined(words) });
    }
}

fn replied(reply: &Reply) -> Sent<'_> {
    let mut message = if let (Wire::OpenAi, raw @ Value::Object(_)) = (reply.wire, &reply.raw) {
        Cow::Borrowed(raw)
    } else {
        let calls = reply.calls.iter().map(|call| {
            let arguments = arguments::shown(&call.arguments).to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        let mut message = json!({"role": "assistant", "content": reply.words});
        if !reply.calls.is_empty() {
            message["tool_calls"] = calls.collect();
        }
        Cow::Owned(message)
    };
    // Servers refuse a message without content and calls.
    if message["content"].is_null() && message["tool_calls"].is_null() {
        message.to_mut()["content"] = json!("");
    }
    Sent::Own(message)
}
