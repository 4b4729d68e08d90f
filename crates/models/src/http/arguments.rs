//! Reads the arguments of a call: one JSON object without a key twice, no deeper and no larger than allowed. What is
//! not that is kept as text, so that the model can be told what it wrote.

use serde_json::{Map, Value};

/// The most bytes the arguments of one call may have.
const ARGUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How much of larger ones is kept, to tell the model what they began with.
const EXCERPT_BYTES_MAX: usize = 1024;

/// Under this key a provider is shown arguments again that were no object: the wire has no other place for them.
const INVALID: &str = "INVALID_JSON";

/// Reads arguments. None at all are an empty object: that is what a call without arguments looks like on the wire.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    if text.len() > ARGUMENT_BYTES_MAX {
        let cut = text.floor_char_boundary(EXCERPT_BYTES_MAX);
        return Err(format!("{}… ({} bytes, more than {ARGUMENT_BYTES_MAX})", &text[..cut], text.len()));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) if !has_key_twice(text, &value) => Ok(value),
        Ok(_) | Err(_) => Err(text.to_owned()),
    }
}

/// Reads arguments that a server has already read, or has left as a text.
pub(crate) fn read_value(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => read(text),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(value.to_string()),
    }
}

/// Returns the object to show a provider for these arguments.
pub(crate) fn shown(arguments: &Result<Value, String>) -> Value {
    match arguments {
        Ok(value) => value.clone(),
        Err(text) => Value::Object(Map::from_iter([(INVALID.to_owned(), Value::String(text.clone()))])),
    }
}

/// Whether an object within a value that was read from a JSON text has a key twice there: it then has fewer keys than the
/// text, in which each key is followed by a colon.
fn has_key_twice(json: &str, read: &Value) -> bool {
    let (mut written, mut quoted, mut escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b':' if !quoted => written += 1,
            _ => {}
        }
    }
    keys(read) < written
}

/// How many keys the objects within a value have.
fn keys(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
