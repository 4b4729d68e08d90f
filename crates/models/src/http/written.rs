//! Calls that a model wrote as text. Small local models do that instead of using tool calls: as fenced JSON, between tags, or as
//! a bare object. Only a call of a tool that the prompt lists counts; all other text stays text.

use serde_json::{Map, Value};

use crate::http::arguments;

/// How many bytes of a reply are searched.
const SEARCHED_BYTES_MAX: usize = 256 * 1024;

/// How many places are tried, so that a reply full of braces does not take long.
const PLACES_MAX: usize = 256;

const NAME_KEYS: [&str; 4] = ["name", "tool", "tool_name", "function"];
const ARGUMENT_KEYS: [&str; 5] = ["arguments", "parameters", "args", "input", "params"];

/// Marks around a call. They are removed with the call. Each is removed separately, because models often forget one of the two.
const OPENERS: &str =
    "<tool_call> <function_call> <tools> <|tool_call|> <|python_tag|> [TOOL_CALLS] ```json ```tool_call ```";
const CLOSERS: &str = "</tool_call> </function_call> </tools> <|/tool_call|> ```";

/// The calls in a text, and the rest of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The text without the calls.
    pub words: Option<String>,
    /// The calls, in order: the name of the tool, and the arguments, or their text if it is not a JSON object with unique keys.
    pub calls: Vec<(String, Result<Value, String>)>,
}

/// Finds the calls of the listed tools in a text; `None` if there are none.
///
/// ```
/// let reply = "Let me look.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.rs\"}}\n```";
/// let written = guildhall_models::read_written_calls(reply, &["read_file"]).unwrap();
/// assert_eq!(written.words.as_deref(), Some("Let me look."));
/// assert_eq!(written.calls[0].0, "read_file");
/// ```
pub fn read(text: &str, tools: &[&str]) -> Option<Written> {
    let searched = &text[..text.floor_char_boundary(SEARCHED_BYTES_MAX)];
    let mut calls = Vec::new();
    let mut words = String::new();
    let mut copied = 0;
    let mut at = 0;
    for _ in 0..PLACES_MAX {
        let Some(found) = searched[at..].find(['{', '[']) else { break };
        let start = at + found;
        let Some((value, end)) = value_at(searched, start) else {
            at = start + 1;
            continue;
        };
        match called(&value, &searched[start..end], tools) {
            Some(read) => {
                words.push_str(before(&text[copied..start]));
                copied = after(text, end);
                calls.extend(read);
                at = copied.min(searched.len());
            }
            // Calls inside another object don't count: they are data.
            None => at = end,
        }
    }
    words.push_str(&text[copied..]);
    let words = words.trim();
    let words = (!words.is_empty()).then(|| words.to_owned());
    (!calls.is_empty()).then_some(Written { words, calls })
}

/// A call at the end of a text that was cut within the call.
pub(crate) struct CutCall {
    /// The text before the call.
    pub(crate) words: Option<String>,
    /// The tool.
    pub(crate) name: String,
    /// The call as far as it came.
    pub(crate) source: String,
}

/// Finds the call within which a text was cut; `None` if the text ends in no call of a listed tool. The name of the tool must have
/// come first.
pub(crate) fn read_cut(text: &str, tools: &[&str]) -> Option<CutCall> {
    let searched = &text[..text.floor_char_boundary(SEARCHED_BYTES_MAX)];
    let mut at = 0;
    for _ in 0..PLACES_MAX {
        let start = at + searched[at..].find(['{', '['])?;
        let mut values = serde_json::Deserializer::from_str(&searched[start..]).into_iter::<Value>();
        match values.next()? {
            Ok(_) => at = start + values.byte_offset(),
            Err(why) if why.is_eof() => {
                let name = first_name(&searched[start..], tools)?.to_owned();
                let words = before(&text[..start]).trim();
                let words = (!words.is_empty()).then(|| words.to_owned());
                return Some(CutCall { words, name, source: text[start..].to_owned() });
            }
            Err(_) => at = start + 1,
        }
    }
    None
}

/// Returns the tool that an unfinished object names first.
fn first_name<'a>(source: &str, tools: &[&'a str]) -> Option<&'a str> {
    let value = |source: &'_ str, key: &str| {
        let rest = source.strip_prefix('"')?.strip_prefix(key)?.strip_prefix('"')?.trim_start();
        Some(rest.strip_prefix(':')?.trim_start().to_owned())
    };
    let first = |source: &str| source.trim_start_matches(|at: char| at.is_whitespace() || "{[".contains(at)).to_owned();
    let key = first(source);
    let key = value(&key, "function").filter(|inner| inner.starts_with('{')).map_or(key, |inner| first(&inner));
    let name = NAME_KEYS.iter().find_map(|name| value(&key, name))?;
    tools.iter().copied().find(|tool| {
        name.strip_prefix('"').and_then(|name| name.strip_prefix(*tool)).is_some_and(|rest| rest.starts_with('"'))
    })
}

/// Reads the object or list at a position, and returns its end.
fn value_at(text: &str, start: usize) -> Option<(Value, usize)> {
    let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    let value = stream.next()?.ok()?;
    Some((value, start + stream.byte_offset()))
}

type Call = (String, Result<Value, String>);

/// Reads a value as a call or as a list of calls.
fn called(value: &Value, source: &str, tools: &[&str]) -> Option<Vec<Call>> {
    match value {
        Value::Object(map) => {
            let (name, arguments) = one(map, tools)?;
            // Read again, strictly: of a repeated key, the second value must not win silently.
            let strict = arguments::read(source);
            Some(vec![(name, if strict.is_ok() { arguments } else { Err(source.to_owned()) })])
        }
        Value::Array(items) => {
            let calls = items.iter().map(|item| one(item.as_object()?, tools)).collect::<Option<Vec<Call>>>()?;
            (!calls.is_empty()).then_some(calls)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn one(map: &Map<String, Value>, tools: &[&str]) -> Option<Call> {
    if let Some(Value::Object(function)) = map.get("function") {
        return one(function, tools);
    }
    let name = NAME_KEYS.iter().find_map(|key| map.get(*key)?.as_str()).filter(|name| tools.contains(name))?;
    let arguments = ARGUMENT_KEYS.iter().find_map(|key| map.get(*key));
    // An object with only a name is a call without arguments. An object with other fields is not a call.
    let has_only_name =
        || map.keys().all(|key| ["name", "tool", "tool_name", "function", "type", "id"].contains(&&**key));
    match arguments {
        Some(value) => Some((name.to_owned(), arguments::read_value(value))),
        None => has_only_name().then(|| (name.to_owned(), Ok(Value::Object(Map::new())))),
    }
}

fn before(text: &str) -> &str {
    let trimmed = text.trim_end();
    OPENERS.split(' ').find_map(|opener| trimmed.strip_suffix(opener)).unwrap_or(text)
}

fn after(text: &str, end: usize) -> usize {
    let rest = text[end..].trim_start();
    let closed = CLOSERS.split(' ').find_map(|closer| rest.strip_prefix(closer));
    closed.map_or(end, |rest| text.len() - rest.len())
}
