//! Checks that the real providers make: a client whose history a provider would refuse must not pass its tests.
//! Each check was observed at a real provider and has the text of that provider.

use serde_json::Value;

use super::list;
use crate::script::Protocol;

pub(super) const NO_VERSION: &str = "anthropic-version: header is required";
const CACHE_BLOCKS_MAX: usize = 4;
const TOOL_NAME_CHARS_MAX: usize = 128;

/// Returns why the provider would refuse the body of a request.
pub(super) fn fault(protocol: Protocol, body: &Value) -> Option<String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Some("model: Field required".into());
    }
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        return Some("messages: at least one message is required".into());
    }
    match protocol {
        Protocol::Anthropic => anthropic(body, messages),
        Protocol::OpenAi => {
            let names = list(&body["tools"]).iter().map(|tool| &tool["function"]["name"]);
            names.map(bad_name).chain([unanswered(messages)]).find_map(|fault| fault)
        }
    }
}

fn anthropic(body: &Value, messages: &[Value]) -> Option<String> {
    if body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        return Some("max_tokens: Field required, greater than or equal to 1".into());
    }
    // Inside a string the quotes would be escaped, so this counts only real keys.
    let cached = body.to_string().matches(r#""cache_control":{"#).count();
    if cached > CACHE_BLOCKS_MAX {
        return Some(format!("A maximum of 4 blocks with cache_control may be provided. Found {cached}."));
    }
    let names = list(&body["tools"]).iter().map(|tool| bad_name(&tool["name"]));
    names
        .chain(messages.iter().enumerate().map(|(at, message)| bad_message(at, message)))
        .chain([unique_ids(messages)])
        .chain((0..messages.len()).map(|at| unpaired(messages, at)))
        .find_map(|fault| fault)
}

fn bad_name(name: &Value) -> Option<String> {
    let is_known = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let is_good = |name: &str| (1..=TOOL_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_known);
    let bad = !name.as_str().is_some_and(is_good);
    bad.then(|| format!("tools: {name} should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"))
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

/// Returns the ids of the calls in a message.
fn called(message: &Value) -> Vec<&str> {
    let blocks = list(&message["content"]).iter().filter(|block| block["type"] == "tool_use");
    blocks.chain(list(&message["tool_calls"])).map(|call| call["id"].as_str().unwrap_or_default()).collect()
}

/// Returns the ids of the calls whose results are in a message.
fn answered(message: &Value) -> Vec<&str> {
    let blocks = list(&message["content"]).iter().filter(|block| block["type"] == "tool_result");
    blocks.map(|block| block["tool_use_id"].as_str().unwrap_or_default()).collect()
}

fn unique_ids(messages: &[Value]) -> Option<String> {
    let mut all: Vec<&str> = messages.iter().flat_map(called).collect();
    all.sort_unstable();
    let twice = all.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("messages: `tool_use` ids must be unique: {}", twice[0]))
}

fn unpaired(messages: &[Value], at: usize) -> Option<String> {
    let results = messages.get(at + 1).map_or_else(Vec::new, answered);
    let open: Vec<&str> = called(&messages[at]).into_iter().filter(|id| !results.contains(id)).collect();
    if !open.is_empty() {
        return Some(format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        ));
    }
    let calls = at.checked_sub(1).map_or_else(Vec::new, |before| called(&messages[before]));
    let stray = answered(&messages[at]).into_iter().find(|id| !calls.contains(id))?;
    Some(format!(
        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {stray}. Each `tool_result` block must \
         have a corresponding `tool_use` block in the previous message."
    ))
}

/// Pairs calls with results in the OpenAI protocol, in which each result is a message.
fn unanswered(messages: &[Value]) -> Option<String> {
    for (at, message) in messages.iter().enumerate() {
        let calls = called(message);
        let results = messages[at + 1..].iter().take_while(|next| next["role"] == "tool");
        let results: Vec<&str> = results.map(|next| next["tool_call_id"].as_str().unwrap_or_default()).collect();
        let is_result = message["role"] == "tool";
        if (is_result && at == 0) || (!is_result && results.iter().any(|id| !calls.contains(id))) {
            let stray = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
            return Some(stray.into());
        }
        let open: Vec<&str> = calls.into_iter().filter(|id| !results.contains(id)).collect();
        if !open.is_empty() {
            return Some(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            ));
        }
    }
    None
}
