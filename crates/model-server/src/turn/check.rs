//! What the providers refuse to take: a client that writes a history which no provider accepts must not pass its tests.
//! Only rules that were met in the wild are here, in the providers' own words.

use serde_json::Value;

use crate::script::Protocol;

pub(super) const NO_VERSION: &str = "anthropic-version: header is required";
const CACHE_BLOCKS_MAX: usize = 4;
const TOOL_NAME_CHARS_MAX: usize = 128;

/// What is wrong with the body of a request.
pub(crate) fn fault(protocol: Protocol, body: &Value) -> Option<String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Some("model: Field required".into());
    }
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        return Some("messages: at least one message is required".into());
    }
    match protocol {
        Protocol::Anthropic => anthropic(body, messages),
        Protocol::OpenAi => openai(body, messages),
    }
}

fn anthropic(body: &Value, messages: &[Value]) -> Option<String> {
    if body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        return Some("max_tokens: Field required, greater than or equal to 1".into());
    }
    let cached = cache_blocks(body);
    if cached > CACHE_BLOCKS_MAX {
        return Some(format!("A maximum of 4 blocks with cache_control may be provided. Found {cached}."));
    }
    let names = list(&body["tools"]).iter().map(|tool| &tool["name"]);
    names
        .map(|name| bad_name("tools", name))
        .chain(messages.iter().enumerate().map(|(at, message)| bad_message(at, message)))
        .chain([unique_ids(messages)])
        .chain((0..messages.len()).map(|at| unpaired(messages, at)))
        .find_map(|fault| fault)
}

fn openai(body: &Value, messages: &[Value]) -> Option<String> {
    let names = list(&body["tools"]).iter().map(|tool| &tool["function"]["name"]);
    names.map(|name| bad_name("tools", name)).chain([unanswered(messages)]).find_map(|fault| fault)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn bad_name(place: &str, name: &Value) -> Option<String> {
    let good = |name: &str| {
        let known = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
        (1..=TOOL_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(known)
    };
    let bad = !name.as_str().is_some_and(good);
    bad.then(|| format!("{place}: {name} should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"))
}

fn cache_blocks(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(cache_blocks).sum(),
        Value::Object(values) => {
            let own = usize::from(values.get("cache_control").is_some_and(|control| !control.is_null()));
            own + values.values().map(cache_blocks).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn bad_message(at: usize, message: &Value) -> Option<String> {
    if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
        return Some(format!("messages.{at}: role: Input should be 'user' or 'assistant'"));
    }
    let content = &message["content"];
    let empty = |block: &Value| block["type"] == "text" && block["text"].as_str().is_none_or(str::is_empty);
    if content == "" || list(content).iter().any(empty) {
        return Some(format!("messages.{at}: text content blocks must be non-empty"));
    }
    let odd = list(content).iter().find(|block| block["type"] == "tool_use" && !block["input"].is_object())?;
    Some(format!("messages.{at}: tool_use.input: Input should be a valid dictionary, not {}", odd["input"]))
}

/// The ids that a message has in blocks of a kind.
fn ids<'a>(message: &'a Value, kind: &'a str, name: &'a str) -> Vec<&'a str> {
    let blocks = list(&message["content"]).iter().filter(|block| block["type"] == kind);
    blocks.map(|block| block[name].as_str().unwrap_or_default()).collect()
}

fn unique_ids(messages: &[Value]) -> Option<String> {
    let mut all: Vec<&str> = messages.iter().flat_map(|message| ids(message, "tool_use", "id")).collect();
    all.sort_unstable();
    let twice = all.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("messages: `tool_use` ids must be unique: {}", twice[0]))
}

fn unpaired(messages: &[Value], at: usize) -> Option<String> {
    let none = Value::Null;
    let (before, next) = (at.checked_sub(1).map_or(&none, |at| &messages[at]), messages.get(at + 1).unwrap_or(&none));
    let (called, answered) = (ids(&messages[at], "tool_use", "id"), ids(next, "tool_result", "tool_use_id"));
    let open: Vec<&str> = called.into_iter().filter(|id| !answered.contains(id)).collect();
    if !open.is_empty() {
        let ids = open.join(", ");
        return Some(format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message."
        ));
    }
    let asked = ids(before, "tool_use", "id");
    let stray = ids(&messages[at], "tool_result", "tool_use_id").into_iter().find(|id| !asked.contains(id))?;
    Some(format!(
        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {stray}. Each `tool_result` block must \
         have a corresponding `tool_use` block in the previous message."
    ))
}

fn unanswered(messages: &[Value]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut called: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !called.contains(&id) {
                return Some(
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.".into(),
                );
            }
            open.retain(|other| *other != id);
            continue;
        }
        if !open.is_empty() {
            break;
        }
        called = list(&message["tool_calls"]).iter().map(|call| call["id"].as_str().unwrap_or_default()).collect();
        open.clone_from(&called);
    }
    let ids = open.join(", ");
    (!open.is_empty()).then(|| {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        )
    })
}
