//! The supported part of JSON Schema. A schema with any other keyword is refused when it is read: if a keyword were ignored,
//! reports would pass that its author meant to refuse.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::text::shortened;

/// The types that a schema can demand.
const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

/// How many failures a hire is shown.
const FAILURES_MAX: usize = 8;

/// The longest value that a failure shows, in characters.
const VALUE_CHARS_MAX: usize = 60;

/// A schema that has only supported keywords.
///
/// ```
/// use guildhall_agent::checks::Schema;
/// use serde_json::json;
/// assert!(Schema::new(json!({"type": "object", "required": ["a"]})).is_ok());
/// assert!(Schema::new(json!({"$ref": "#/a"})).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Schema(Value);

/// Says what is wrong with a schema, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", prefix(at))]
pub struct SchemaError {
    /// The keys that lead to the wrong value.
    pub at: Vec<String>,
    /// What is wrong.
    pub why: String,
}

fn prefix(at: &[String]) -> String {
    if at.is_empty() { String::new() } else { format!("{}: ", at.join(".")) }
}

impl Schema {
    /// Takes a schema, or returns every error in it.
    pub fn new(schema: Value) -> Result<Schema, Vec<SchemaError>> {
        let errors = errors(&schema);
        if errors.is_empty() { Ok(Schema(schema)) } else { Err(errors) }
    }

    /// Returns the schema as JSON.
    pub fn value(&self) -> &Value {
        &self.0
    }

    pub(super) fn check(&self, output: &Value) -> Result<(), String> {
        let mut failures = Failures::default();
        failures.value(&self.0, output, "");
        let Failures { mut first, count } = failures;
        if count == 0 {
            return Ok(());
        }
        if count > first.len() {
            first.push(format!("and {} more", count - first.len()));
        }
        Err(format!("Your structured output does not follow the schema:\n- {}", first.join("\n- ")))
    }
}

fn errors(schema: &Value) -> Vec<SchemaError> {
    let Value::Object(keywords) = schema else { return error("a schema must be a map") };
    keywords.iter().flat_map(|(keyword, value)| under(keyword, keyword_errors(keyword, value))).collect()
}

fn keyword_errors(keyword: &str, value: &Value) -> Vec<SchemaError> {
    let list = value.as_array();
    let (is_right, wanted) = match keyword {
        // These describe the schema to people and demand nothing; `const` takes any value.
        "$schema" | "$id" | "$comment" | "title" | "description" | "default" | "examples" | "const" => {
            return Vec::new();
        }
        "properties" => {
            let Value::Object(properties) = value else { return error("it must be a map") };
            return properties.iter().flat_map(|(key, schema)| under(key, errors(schema))).collect();
        }
        "items" => return errors(value),
        "type" => {
            let types = TYPES.join(", ");
            return if is_type(value) {
                Vec::new()
            } else {
                error(format!("it must be one of {types}, or a list of them"))
            };
        }
        "required" => (list.is_some_and(|of| of.iter().all(Value::is_string)), "it must be a list of keys"),
        "additionalProperties" => (value.is_boolean(), "only true or false is supported here"),
        "enum" => (list.is_some_and(|of| !of.is_empty()), "it must be a list of values"),
        "minimum" | "maximum" => (value.is_number(), "it must be a number"),
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            (value.is_u64(), "it must be a whole number, not below zero")
        }
        unknown => return error(format!("the keyword {unknown} is not supported here, so it can't be checked")),
    };
    if is_right { Vec::new() } else { error(wanted) }
}

fn error(why: impl Into<String>) -> Vec<SchemaError> {
    vec![SchemaError { at: Vec::new(), why: why.into() }]
}

/// Puts a key in front of the keys that lead to each error.
fn under(key: &str, errors: Vec<SchemaError>) -> impl Iterator<Item = SchemaError> {
    errors.into_iter().map(|SchemaError { at, why }| SchemaError { at: [vec![key.to_owned()], at].concat(), why })
}

fn is_type(value: &Value) -> bool {
    let is_one = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    is_one(value) || value.as_array().is_some_and(|of| !of.is_empty() && of.iter().all(is_one))
}

impl TryFrom<Value> for Schema {
    type Error = SchemaError;
    fn try_from(schema: Value) -> Result<Schema, SchemaError> {
        Schema::new(schema).map_err(|mut errors| errors.swap_remove(0))
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Value {
        schema.0
    }
}

/// What is wrong with a value. The schema is valid, so each of its keywords is supported and has a right value.
#[derive(Default)]
struct Failures {
    /// The first failures, as the hire is shown them.
    first: Vec<String>,
    count: usize,
}

impl Failures {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        let Value::Object(keywords) = schema else { return };
        // A value of the wrong type would only fail everything else, too.
        if let Some(wanted) = keywords.get("type").filter(|wanted| !has_type(wanted, value)) {
            return self.add(at, &format!("expected {}, found {}", named(wanted), shown(value)));
        }
        for (keyword, wanted) in keywords {
            self.keyword(keyword, wanted, value, at);
        }
        if let Value::Object(object) = value {
            self.object(keywords, object, at);
        }
        if let (Some(schema), Value::Array(items)) = (keywords.get("items"), value) {
            for (index, item) in items.iter().enumerate() {
                self.value(schema, item, &format!("{at}[{index}]"));
            }
        }
    }

    /// Checks one keyword against the value itself.
    fn keyword(&mut self, keyword: &str, wanted: &Value, value: &Value, at: &str) {
        let why = match (keyword, value) {
            ("const", _) if !is_same(wanted, value) => format!("expected {}, found {}", shown(wanted), shown(value)),
            ("enum", _) if !wanted.as_array().is_some_and(|of| of.iter().any(|one| is_same(one, value))) => {
                format!("expected one of {}, found {}", shown(wanted), shown(value))
            }
            ("minimum", Value::Number(number)) if is(number, Ordering::Less, wanted) => {
                format!("expected at least {wanted}, found {number}")
            }
            ("maximum", Value::Number(number)) if is(number, Ordering::Greater, wanted) => {
                format!("expected at most {wanted}, found {number}")
            }
            ("minLength" | "maxLength", Value::String(text)) => {
                return self.count(keyword, wanted, text.chars().count(), "character", at);
            }
            ("minItems" | "maxItems", Value::Array(items)) => {
                return self.count(keyword, wanted, items.len(), "item", at);
            }
            _ => return,
        };
        self.add(at, &why);
    }

    fn count(&mut self, keyword: &str, wanted: &Value, count: usize, what: &str, at: &str) {
        let (count, wanted) = (count as u64, wanted.as_u64().unwrap_or_default());
        let what = if wanted == 1 { what.to_owned() } else { format!("{what}s") };
        let least = keyword.starts_with("min");
        if least && count < wanted {
            self.add(at, &format!("expected at least {wanted} {what}, found {count}"));
        } else if !least && count > wanted {
            self.add(at, &format!("expected at most {wanted} {what}, found {count}"));
        }
    }

    fn object(&mut self, keywords: &Map<String, Value>, object: &Map<String, Value>, at: &str) {
        let properties = keywords.get("properties").and_then(Value::as_object);
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !object.contains_key(*key)) {
            self.add(at, &format!("the key {} is missing", shortened(key, VALUE_CHARS_MAX)));
        }
        let closed = keywords.get("additionalProperties") == Some(&Value::Bool(false));
        for (key, value) in object {
            match properties.and_then(|properties| properties.get(key)) {
                Some(schema) => self.value(schema, value, &joined(at, key)),
                None if closed => self.add(at, &format!("the key {} is not allowed", shortened(key, VALUE_CHARS_MAX))),
                None => {}
            }
        }
    }

    fn add(&mut self, at: &str, why: &str) {
        self.count += 1;
        if self.first.len() < FAILURES_MAX {
            let place = if at.is_empty() { "the whole output" } else { at };
            self.first.push(format!("{place}: {why}"));
        }
    }
}

fn joined(at: &str, key: &str) -> String {
    let key = shortened(key, VALUE_CHARS_MAX);
    if at.is_empty() { key } else { format!("{at}.{key}") }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(of) => of.iter().any(|one| has_type(one, value)),
        Value::String(name) => match name.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.as_number().is_some_and(is_whole),
            "boolean" => value.is_boolean(),
            _ => value.is_null(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn named(wanted: &Value) -> String {
    let one = |name: &Value| match name.as_str() {
        Some("null") => "null".to_owned(),
        Some(name @ ("object" | "array" | "integer")) => format!("an {name}"),
        Some(name) => format!("a {name}"),
        None => String::new(),
    };
    wanted.as_array().map_or_else(|| one(wanted), |of| of.iter().map(one).collect::<Vec<_>>().join(" or "))
}

fn is(number: &Number, how: Ordering, other: &Value) -> bool {
    other.as_number().and_then(|other| compared(number, other)) == Some(how)
}

fn compared(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// Whether two values are the same. 1 and 1.0 are the same.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compared(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in = |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(is_in)
        }
        _ => one == other,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => "an array".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            shortened(&value.to_string(), VALUE_CHARS_MAX)
        }
    }
}
