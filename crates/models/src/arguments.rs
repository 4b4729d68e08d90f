//! Reads the arguments of a call: one JSON object without a key twice, no deeper and no larger than allowed. What is
//! not that is kept as text, so that the model can be told what it wrote.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

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
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(value @ Value::Object(_))) => Ok(value),
        Ok(Strict(_)) | Err(_) => Err(text.to_owned()),
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

/// A value none of whose objects has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        Seed.deserialize(deserializer).map(Strict)
    }
}

struct Seed;

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without a key twice")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Seed)?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ARGUMENT_BYTES_MAX, read, read_value, shown};

    #[test]
    fn an_object_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,0.5,true,null,"ü"],"b":{"c":18446744073709551615}}"#;
        assert_eq!(read(text), Ok(json!({"a": [1, -2, 0.5, true, null, "ü"], "b": {"c": u64::MAX}})));
        assert_eq!(read(""), Ok(json!({})));
        assert_eq!(read(" \n"), Ok(json!({})));
    }

    #[test]
    fn what_is_no_object_stays_text() {
        let deep = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
        for text in [
            "null",
            "[]",
            "\"x\"",
            "7",
            "{\"a\":",
            "{\"a\":1,\"a\":2}",
            "{\"b\":{\"a\":1,\"a\":1}}",
            "{\"a\":1e400}",
            "{\"a\":\"\\ud800\"}",
            "{} {}",
            "{'a':1}",
            &deep,
        ] {
            assert_eq!(read(text), Err(text.to_owned()));
        }
    }

    #[test]
    fn what_is_too_large_is_cut_to_an_excerpt() {
        let text = format!("{{\"a\":\"{}\"}}", "ü".repeat(ARGUMENT_BYTES_MAX / 2));
        let excerpt = read(&text).unwrap_err();
        assert!(excerpt.len() < 1200 && excerpt.ends_with("(1048584 bytes, more than 1048576)"), "{excerpt}");
    }

    #[test]
    fn arguments_a_server_has_read_are_taken_and_shown_as_an_object() {
        assert_eq!(read_value(&json!({"a": 1})), Ok(json!({"a": 1})));
        assert_eq!(read_value(&json!("{\"a\":1}")), Ok(json!({"a": 1})));
        assert_eq!(read_value(&json!(null)), Ok(json!({})));
        assert_eq!(shown(&read_value(&json!([1]))), json!({"INVALID_JSON": "[1]"}));
    }
}
