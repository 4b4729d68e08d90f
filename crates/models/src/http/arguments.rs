//! Reads the arguments of a call: one JSON object with unique keys, within the limits on depth and size. Other arguments stay
//! text, so that the error message to the model can quote them.

use serde_json::{Map, Value};

/// The most bytes the arguments of one call may have.
const ARGUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How many bytes of too large arguments stay, for the error message to the model.
const EXCERPT_BYTES_MAX: usize = 1024;

/// Arguments that are not an object are sent back to the provider under this key: the protocols accept only objects.
const INVALID: &str = "INVALID_JSON";

/// Reads arguments. An empty text is an empty object: some servers send a call without arguments that way.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    if text.len() > ARGUMENT_BYTES_MAX {
        let cut = text.floor_char_boundary(EXCERPT_BYTES_MAX);
        return Err(format!("{}… ({} bytes, more than {ARGUMENT_BYTES_MAX})", &text[..cut], text.len()));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) if !has_repeated_key(text, &value) => Ok(value),
        Ok(_) | Err(_) => Err(text.to_owned()),
    }
}

/// Reads arguments that a server sent as JSON or as text.
pub(crate) fn read_value(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(text) => read(text),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value.clone()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(value.to_string()),
    }
}

/// Returns the arguments as the object that is sent back to a provider.
pub(crate) fn shown(arguments: &Result<Value, String>) -> Value {
    match arguments {
        Ok(value) => value.clone(),
        Err(text) => Value::Object(Map::from_iter([(INVALID.to_owned(), Value::String(text.clone()))])),
    }
}

/// Whether an object in the text has a repeated key. The text has a colon after each key, so the value that was read from it then
/// has fewer keys than the text has colons.
pub(crate) fn has_repeated_key(json: &str, read: &Value) -> bool {
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

/// Counts the keys of all objects in a value.
fn keys(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
