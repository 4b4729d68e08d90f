//! The request of Anthropic Messages. It has two cache breakpoints: after the system prompt, which follows the tools, and on
//! the last message, so that the next turn can read everything before it from the cache. The status comes after both.

use std::borrow::Cow;

use guildhall_agent::{Message, Opening, Part, Prompt, Reply, ToolSpec, Wire};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Form, JsonWriter};
use crate::http::arguments;
use crate::http::endpoint::Endpoint;
use crate::http::ids::plain;

/// The content of a message without content: the API refuses an empty message.
const NO_CONTENT: &str = "(nothing)";

/// Returns the fields that requests with this opening have.
pub(super) fn fields(opening: &Opening) -> Vec<&'static str> {
    let mut fields = vec!["model", "stream", "messages"];
    fields.extend((!is_blank(opening.system())).then_some("system"));
    fields.extend((!opening.tools().is_empty()).then_some("tools"));
    fields
}

pub(super) fn write_opening(opening: &Opening, json: &mut JsonWriter) {
    let has_system = !is_blank(opening.system());
    if has_system {
        json.field("system", &[Block::text(opening.system()).marked()]);
    }
    let last = opening.tools().len().wrapping_sub(1);
    let tool = |(at, ToolSpec { name, description, schema }): (usize, &'_ ToolSpec)| {
        let mut tool = json!({"name": name, "description": description, "input_schema": schema});
        if !has_system && at == last {
            mark(&mut tool);
        }
        tool
    };
    let tools: Vec<Value> = opening.tools().iter().enumerate().map(tool).collect();
    if !tools.is_empty() {
        json.field("tools", &tools);
    }
    json.raw(",\"messages\":[");
}

pub(super) fn tool_choice(endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Value> {
    let tool = form.forced_call(prompt, endpoint, &["thinking"])?;
    Some(json!({"type": "tool", "name": tool}))
}

pub(super) fn write_messages(messages: &[Message], status: Option<&str>, json: &mut JsonWriter) {
    let mut sent: Vec<Sent<'_>> = messages.iter().map(Sent::of).collect();
    if let Some(last) = sent.last_mut().and_then(|message| message.content.pop().map(|block| (message, block))) {
        let (message, block) = last;
        message.content.push(block.marked());
    }
    if let Some(status) = status {
        match sent.last_mut().filter(|message| message.role == USER) {
            Some(message) => message.content.push(Block::text(status)),
            None => sent.push(Sent { role: USER, content: vec![Block::text(status)] }),
        }
    }
    for message in &sent {
        json.item(message);
    }
}

const USER: &str = "user";

/// A message as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block in the provider's own form.
    #[serde(untagged)]
    Own(Cow<'a, Value>),
}

/// Asks the provider to cache the request up to this block.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

impl<'a> Block<'a> {
    fn text(text: &'a str) -> Block<'a> {
        Block::Text { text, cache_control: None }
    }

    fn marked(self) -> Block<'a> {
        let cache_control = Some(CacheControl::Ephemeral);
        match self {
            Block::Text { text, .. } => Block::Text { text, cache_control },
            Block::ToolResult { tool_use_id, content, is_error, .. } => {
                Block::ToolResult { tool_use_id, content, is_error, cache_control }
            }
            Block::Own(value) => {
                let mut value = value.into_owned();
                mark(&mut value);
                Block::Own(Cow::Owned(value))
            }
        }
    }

    fn part(part: &'a Part) -> Option<Block<'a>> {
        match part {
            Part::Words(words) => (!is_blank(words)).then(|| Block::text(words)),
            Part::Result { call, text, failed } => Some(Block::ToolResult {
                tool_use_id: plain(call),
                content: text,
                is_error: *failed,
                cache_control: None,
            }),
        }
    }
}

impl<'a> Sent<'a> {
    fn of(message: &'a Message) -> Sent<'a> {
        let (role, mut content) = match message {
            Message::User(parts) => (USER, parts.iter().filter_map(Block::part).collect()),
            Message::Assistant(reply) => ("assistant", replied(reply)),
        };
        if content.is_empty() {
            content.push(Block::text(NO_CONTENT));
        }
        Sent { role, content }
    }
}

fn mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert("cache_control".into(), json!(CacheControl::Ephemeral));
    }
}

/// Returns the blocks of a reply. A reply from this protocol is sent back unchanged, except for blank texts, which the API sends
/// but does not accept. A reply from another protocol is written as text and calls.
fn replied(reply: &Reply) -> Vec<Block<'_>> {
    if let (Wire::Anthropic, Value::Array(blocks)) = (reply.wire, &reply.raw) {
        let is_blank = |block: &&Value| block["type"] == "text" && block["text"].as_str().is_none_or(is_blank);
        return blocks.iter().filter(|block| !is_blank(block)).map(|block| Block::Own(Cow::Borrowed(block))).collect();
    }
    let words = reply.words.iter().filter(|words| !is_blank(words)).map(|words| Block::text(words));
    let calls = reply.calls.iter().map(|call| {
        let input = arguments::shown(&call.arguments);
        let call = json!({"type": "tool_use", "id": plain(&call.id), "name": plain(&call.name), "input": input});
        Block::Own(Cow::Owned(call))
    });
    words.chain(calls).collect()
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
