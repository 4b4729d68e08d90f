//! JSON turns: one JSON object per turn in place of native tool calls, for servers that can hold a reply to a schema. Small local
//! models make valid calls that way, and seldom otherwise. The object is `{"calls": [{"tool": …, "arguments": {…}}]}` or
//! `{"report": "…"}`.

use guildhall_agent::{Message, Part, Prompt, RawCall, Reply, ToolSpec};
use serde_json::{Map, Value, json};

use crate::http::arguments;
use crate::http::ids::Ids;
use crate::http::reduce::stop;
use crate::http::written::{self, Written};

/// The most calls of one turn. Those after that are not made.
const CALLS_MAX: usize = 8;

/// Parts of a tool's schema that servers stumble over when they make a grammar of it. None of them changes what a call means.
const UNSUPPORTED: &str =
    "minLength maxLength pattern format minItems maxItems minimum maximum examples default $schema";

/// Returns a prompt as one without tools: the calls are listed in its instructions, and what they brought is quoted.
pub(crate) fn plain(prompt: &Prompt) -> Prompt {
    let mut names = Vec::new();
    let messages = prompt.messages.iter().map(|message| match message {
        Message::Assistant(reply) => {
            names = reply.calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
            Message::Assistant(Reply::words(written_turn(reply)).into())
        }
        Message::User(parts) => Message::User(parts.iter().map(|part| quoted(part, &names)).collect()),
    });
    Prompt {
        system: format!("{}\n\n{}", prompt.system, rules(&prompt.tools)),
        tools: Vec::new(),
        messages: messages.collect(),
        must_call: None,
        ..prompt.clone()
    }
}

/// A reply as the object that it was.
fn written_turn(reply: &Reply) -> String {
    if reply.calls.is_empty() {
        return json!({"report": reply.words.as_deref().unwrap_or_default()}).to_string();
    }
    let call = |call: &RawCall| json!({"tool": call.name, "arguments": arguments::shown(&call.arguments)});
    json!({"calls": reply.calls.iter().map(call).collect::<Vec<_>>()}).to_string()
}

/// What a call brought, as quoted words.
fn quoted(part: &Part, names: &[(String, String)]) -> Part {
    match part {
        Part::Words(_) => part.clone(),
        Part::Result { call, text, failed } => {
            let tool = names.iter().find(|(id, _)| id == call).map_or("a call", |(_, name)| name.as_str());
            let what = if *failed { "error" } else { "result" };
            let text = text.replace("\"\"\"", "'''");
            Part::Words(format!("The {what} of {tool}:\n\"\"\"\n{text}\n\"\"\""))
        }
    }
}

/// What a model is told about its turns.
fn rules(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return "Answer with one JSON object and nothing else: {\"report\": \"…\"}.".to_owned();
    }
    let listed = tools.iter().map(listed).collect::<Vec<_>>().join("\n");
    format!(
        "# Your turns\n\nAnswer with one JSON object and nothing else. To use tools: {{\"calls\": [{{\"tool\": \"…\", \
         \"arguments\": {{…}}}}]}}, up to {CALLS_MAX} calls. When you are done: {{\"report\": \"…\"}}.\n\nTools:\n{listed}\n"
    )
}

fn listed(tool: &ToolSpec) -> String {
    let required = tool.schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
    let fields = tool.schema["properties"].as_object().into_iter().flatten().map(|(name, is)| {
        let optional = if is_required(name) { "" } else { "?" };
        let kind = match is["enum"].as_array() {
            Some(values) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "),
            None => is["type"].as_str().unwrap_or("any").to_owned(),
        };
        format!("{name}{optional}: {kind}")
    });
    let fields = fields.collect::<Vec<_>>().join(", ");
    format!("- {} {{{fields}}}: {}", tool.name, tool.description)
}

/// Returns the schema that a reply is held to.
pub(crate) fn response_format(prompt: &Prompt) -> Value {
    let tools = prompt.tools.iter().filter(|tool| prompt.must_call.as_ref().is_none_or(|must| *must == tool.name));
    let calls: Vec<Value> = tools.map(call_schema).collect();
    let mut turns = Vec::new();
    if !calls.is_empty() {
        turns.push(object(&[("calls", json!({"type": "array", "items": {"anyOf": calls}}))]));
    }
    if prompt.must_call.is_none() || turns.is_empty() {
        turns.push(object(&[("report", json!({"type": "string"}))]));
    }
    let schema = if turns.len() == 1 { turns.remove(0) } else { json!({"anyOf": turns}) };
    json!({"type": "json_schema", "json_schema": {"name": "turn", "strict": true, "schema": schema}})
}

fn call_schema(tool: &ToolSpec) -> Value {
    let name = ("tool", json!({"const": tool.name}));
    let arguments = supported(&tool.schema);
    let has_fields = arguments["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    if has_fields { object(&[name, ("arguments", arguments)]) } else { object(&[name]) }
}

fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = fields.iter().map(|(name, is)| ((*name).to_owned(), is.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// A schema without the parts that servers stumble over. The names of fields are no such parts.
fn supported(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| UNSUPPORTED.split(' ').all(|part| part != *key));
            let cleaned = kept.map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("properties", Value::Object(fields)) => {
                        fields.iter().map(|(name, is)| (name.clone(), supported(is))).collect()
                    }
                    (_, value) => supported(value),
                };
                (key.clone(), value)
            });
            cleaned.collect()
        }
        Value::Array(items) => items.iter().map(supported).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// Reads a reply whose words should be one object. Prose is searched for calls; without any, the prose is the report.
pub(crate) fn read(reply: Reply, tools: &[&str], ids: &mut Ids) -> Reply {
    let Some(said) = &reply.words else { return reply };
    let turn = turn(said, tools);
    let calls =
        turn.calls.into_iter().take(CALLS_MAX).map(|(name, arguments)| RawCall { id: ids.give(""), name, arguments });
    let calls: Vec<RawCall> = calls.collect();
    let stop = stop(Some(reply.stop), &calls);
    // The provider's own form has no calls in it: the reply is shown again by its words and calls.
    Reply { raw: Value::Null, words: turn.words, calls, stop, ..reply }
}

fn turn(said: &str, tools: &[&str]) -> Written {
    let report = |report: String| Written { words: Some(report), calls: Vec::new() };
    if let Ok(Value::Object(object)) = serde_json::from_str(said.trim()) {
        if let Some(calls) = object.get("calls").and_then(Value::as_array) {
            return Written { words: None, calls: calls.iter().filter_map(called).collect() };
        }
        if let Some(words) = object.get("report").and_then(Value::as_str) {
            return report(words.to_owned());
        }
    }
    let half = Report::default().push(said).filter(|half| !half.trim().is_empty());
    half.map(report).or_else(|| written::read(said, tools)).unwrap_or_else(|| report(said.to_owned()))
}

/// One call. A tool that is not there is a call all the same: its model is told so.
fn called(call: &Value) -> Option<(String, Result<Value, String>)> {
    let name = call["tool"].as_str()?.to_owned();
    let arguments = match call.get("arguments") {
        None | Some(Value::Null) => Ok(json!({})),
        Some(value) => arguments::read_value(value),
    };
    Some((name, arguments))
}

/// Decodes the text of a report while its object arrives.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What has arrived and was not decoded yet.
    rest: String,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It may become a report.
    #[default]
    Before,
    Inside,
    /// The report has ended, or this is none.
    Over,
}

impl Report {
    /// Takes what arrived, and returns what of the report's text is new.
    pub(crate) fn push(&mut self, arrived: &str) -> Option<String> {
        self.rest.push_str(arrived);
        if self.state == State::Before {
            self.begin();
        }
        (self.state == State::Inside).then(|| self.decode()).filter(|text| !text.is_empty())
    }

    /// Looks for `{"report": "`, with whatever blanks.
    fn begin(&mut self) {
        let mut rest = self.rest.as_str();
        for token in ["{", "\"report\"", ":", "\""] {
            rest = rest.trim_start();
            match rest.strip_prefix(token) {
                Some(after) => rest = after,
                None if token.starts_with(rest) => return,
                None => {
                    self.state = State::Over;
                    return;
                }
            }
        }
        self.rest = rest.to_owned();
        self.state = State::Inside;
    }

    /// Decodes as much as there is. An escape that is not whole waits for the rest of it.
    fn decode(&mut self) -> String {
        let mut text = String::new();
        let mut at = 0;
        while let Some(letter) = self.rest[at..].chars().next() {
            match letter {
                '"' => {
                    self.state = State::Over;
                    break;
                }
                '\\' => {
                    let Some((decoded, bytes)) = escape(&self.rest[at..]) else { break };
                    text.push(decoded);
                    at += bytes;
                }
                other => {
                    text.push(other);
                    at += other.len_utf8();
                }
            }
        }
        self.rest.drain(..at);
        text
    }
}

/// The character that an escape stands for, and how long the escape is; `None` if more of it is to come.
fn escape(text: &str) -> Option<(char, usize)> {
    let plain = |letter| Some((letter, 2));
    match text[1..].chars().next()? {
        'n' => plain('\n'),
        't' => plain('\t'),
        'r' => plain('\r'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'u' => {
            let first = text.get(2..6)?;
            let Ok(high) = u32::from_str_radix(first, 16) else { return Some((char::REPLACEMENT_CHARACTER, 2)) };
            if !(0xd800..0xdc00).contains(&high) {
                return Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
            }
            let rest = &text[6..];
            if rest.len() < 6 && (rest.starts_with("\\u") || "\\u".starts_with(rest)) {
                return None;
            }
            let low = rest.strip_prefix("\\u").and_then(|digits| digits.get(..4));
            let low =
                low.and_then(|low| u32::from_str_radix(low, 16).ok()).filter(|low| (0xdc00..0xe000).contains(low));
            let pair = low.and_then(|low| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
            Some(pair.map_or((char::REPLACEMENT_CHARACTER, 6), |letter| (letter, 12)))
        }
        other => Some((other, 1 + other.len_utf8())),
    }
}
