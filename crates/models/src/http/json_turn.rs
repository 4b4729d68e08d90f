//! JSON turns over HTTP: the conversation without native calls, the schema of a reply, and how a reply is read. The object is
//! `{"calls": [{"tool": …, "arguments": {…}}]}` or `{"report": "…"}`.

use guildhall_agent::{Calls, Choice, Message, Part, RawCall, Reply, ToolSpec};
use serde_json::{Map, Value, json};

use crate::http::arguments;
use crate::http::ids::Ids;
use crate::http::lenient::escape;
use crate::http::reduce::stop;
use crate::http::written::{self, Written};

/// Parts of a tool's schema that some servers can't turn into a grammar, or that a grammar does not need. Without these parts a
/// call means the same.
const UNSUPPORTED: &str =
    "minLength maxLength pattern format minItems maxItems minimum maximum examples default description $schema";

/// Returns messages without calls. Results of calls are quoted as text.
pub(crate) fn without_calls(messages: &[Message]) -> Vec<Message> {
    let mut names = Vec::new();
    let messages = messages.iter().map(|message| match message {
        Message::Assistant(reply) => {
            names = reply.calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
            Message::Assistant(Reply::words(written_turn(reply)).into())
        }
        Message::User(parts) => Message::User(parts.iter().map(|part| quoted(part, &names)).collect()),
    });
    messages.collect()
}

/// Returns a reply as the JSON object that the model wrote.
fn written_turn(reply: &Reply) -> String {
    if let Some(part) = &reply.part {
        return part.clone();
    }
    if reply.calls.is_empty() {
        return json!({"report": reply.words.as_deref().unwrap_or_default()}).to_string();
    }
    let call = |call: &RawCall| json!({"tool": call.name, "arguments": arguments::shown(&call.arguments)});
    json!({"calls": reply.calls.iter().map(call).collect::<Vec<_>>()}).to_string()
}

/// Returns the result of a call as quoted text.
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

/// Whether the schema of a reply has bounds on the number of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    Set,
    LeftOut,
}

/// Returns the schema that a reply must follow.
pub(crate) fn response_format(choice: &Choice, bounds: Bounds) -> Value {
    let mut turns = Vec::new();
    if let Some(Calls { tools, max }) = choice.calls() {
        let mut calls = json!({"type": "array", "items": {"anyOf": tools.iter().map(call_schema).collect::<Vec<_>>()}});
        if bounds == Bounds::Set {
            calls["minItems"] = json!(1);
            calls["maxItems"] = json!(max);
        }
        turns.push(object(&[("calls", calls)]));
    }
    if choice.may_report() {
        turns.push(object(&[("report", json!({"type": "string"}))]));
    }
    let schema = if turns.len() == 1 { turns.remove(0) } else { json!({"anyOf": turns}) };
    json!({"type": "json_schema", "json_schema": {"name": "turn", "strict": true, "schema": schema}})
}

fn call_schema(tool: &ToolSpec) -> Value {
    let name = ("tool", json!({"const": tool.name}));
    let mut arguments = supported(&tool.schema);
    if let Value::Object(schema) = &mut arguments {
        // Some servers otherwise accept every field.
        schema.entry("additionalProperties").or_insert(json!(false));
    }
    let has_fields = arguments["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    if has_fields { object(&[name, ("arguments", arguments)]) } else { object(&[name]) }
}

fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// Removes the [`UNSUPPORTED`] parts from a schema. A field whose name is one of those words stays.
fn supported(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| UNSUPPORTED.split(' ').all(|part| part != *key));
            let cleaned = kept.map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("properties", Value::Object(fields)) => {
                        fields.iter().map(|(name, field)| (name.clone(), supported(field))).collect()
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

/// Reads a reply whose text should be one JSON object, behind what was written of the object before. In other text it looks for
/// calls; without calls, the text is the report.
pub(crate) fn read(reply: Reply, before: &str, tools: &[&str], ids: &mut Ids) -> Reply {
    let text = reply.words.as_deref().unwrap_or_default();
    if text.is_empty() && before.is_empty() {
        return reply;
    }
    let joined = format!("{before}{text}");
    // Some models begin the object again.
    let is_restarted = first_object(&joined).is_none() && first_object(text).is_some_and(|(turn, _)| is_turn(&turn));
    let whole = if is_restarted { text } else { &joined };
    let part = Some(text.to_owned());
    if reply.stop.is_cut() && first_object(whole).is_none() {
        // The object is read when it is whole.
        let report = PartialReport::default().push(whole);
        let words = Some(report.unwrap_or_else(|| whole.to_owned()));
        return Reply { raw: Value::Null, words, part, ..reply };
    }
    let part = part.filter(|_| !before.is_empty());
    let turn = turn(whole, tools);
    let calls = turn.calls.into_iter().map(|(name, arguments)| RawCall { id: ids.give(""), name, arguments });
    let calls: Vec<RawCall> = calls.collect();
    // What follows a whole object, often white space without an end, is not missed.
    let stop = stop(Some(reply.stop).filter(|reason| !reason.is_cut()), &calls);
    // The raw message has no calls. Without it, later requests show the text and the calls.
    Reply { raw: Value::Null, words: turn.words, calls, stop, part, ..reply }
}

/// Returns the object at the start of a text, and its JSON, without the code fence or byte order mark that some models write
/// before it.
fn first_object(text: &str) -> Option<(Value, &str)> {
    let text = text.trim_start().trim_start_matches('\u{feff}').trim_start();
    let fenced = text.strip_prefix("```").map(|text| text.trim_start().trim_start_matches("json").trim_start());
    let json = fenced.unwrap_or(text);
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let object = values.next()?.ok().filter(Value::is_object)?;
    Some((object, &json[..values.byte_offset()]))
}

fn is_turn(object: &Value) -> bool {
    object["calls"].is_array() || object["report"].is_string()
}

fn turn(text: &str, tools: &[&str]) -> Written {
    let report = |report: String| Written { words: Some(report), calls: Vec::new() };
    if let Some((turn, json)) = first_object(text) {
        if let Some(calls) = turn["calls"].as_array().filter(|calls| !calls.is_empty()) {
            let repeats = arguments::has_repeated_key(json, &turn);
            return Written { words: None, calls: calls.iter().map(|call| called(call, repeats)).collect() };
        }
        if let Some(text) = turn["report"].as_str() {
            return report(text.to_owned());
        }
    }
    let partial = PartialReport::default().push(text).filter(|partial| !partial.trim().is_empty());
    partial.map(report).or_else(|| written::read(text, tools)).unwrap_or_else(|| report(text.to_owned()))
}

/// Reads one call. A call without a tool, or of an unknown tool, is a call, too: the model then gets an error for it.
fn called(call: &Value, repeats: bool) -> (String, Result<Value, String>) {
    let name = call["tool"].as_str().or_else(|| call["name"].as_str()).unwrap_or_default().to_owned();
    let read = arguments::read_value(&call["arguments"]);
    (name, if repeats { Err(call["arguments"].to_string()) } else { read })
}

/// Decodes the text of a report while its object arrives.
#[derive(Debug, Default)]
pub(crate) struct PartialReport {
    /// Text that has arrived but is not decoded yet.
    rest: String,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The object may become a report.
    #[default]
    Before,
    Inside,
    /// The report has ended, or the object is not a report.
    Over,
}

impl PartialReport {
    /// Starts behind the text that has arrived before.
    pub(crate) fn after(text: &str) -> PartialReport {
        let mut report = PartialReport::default();
        report.push(text);
        report
    }

    /// Takes the text that arrived, and returns the newly decoded text of the report.
    pub(crate) fn push(&mut self, arrived: &str) -> Option<String> {
        self.rest.push_str(arrived);
        if self.state == State::Before {
            self.begin();
        }
        (self.state == State::Inside).then(|| self.decode()).filter(|text| !text.is_empty())
    }

    /// Looks for `{"report": "`, with any white space between.
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

    /// Decodes the available text. An incomplete escape sequence waits for its rest.
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
