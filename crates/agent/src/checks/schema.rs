//! JSON Schema, the part that is understood here. A schema with anything else is refused when it is read: a keyword that
//! was passed over would accept what its author meant to refuse.

mod conform;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The types that a value may be demanded to have.
const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

/// A schema of which every word is understood.
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
    /// The keys that lead to it.
    pub at: Vec<String>,
    /// What is wrong.
    pub why: String,
}

fn prefix(at: &[String]) -> String {
    if at.is_empty() { String::new() } else { format!("{}: ", at.join(".")) }
}

impl Schema {
    /// Takes a schema, or says everything that is wrong with it.
    pub fn new(schema: Value) -> Result<Schema, Vec<SchemaError>> {
        let mut errors = Errors::default();
        errors.schema(&schema);
        if errors.found.is_empty() { Ok(Schema(schema)) } else { Err(errors.found) }
    }

    /// Returns it as JSON.
    pub fn value(&self) -> &Value {
        &self.0
    }

    pub(super) fn check(&self, output: &Value) -> Result<(), String> {
        conform::check(&self.0, output)
    }
}

/// A walk through a schema.
#[derive(Default)]
struct Errors {
    at: Vec<String>,
    found: Vec<SchemaError>,
}

impl Errors {
    fn schema(&mut self, schema: &Value) {
        let Value::Object(keywords) = schema else {
            return self.tell("a schema must be a map".to_owned());
        };
        for (keyword, value) in keywords {
            self.within(keyword, |errors| errors.keyword(keyword, value));
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value) {
        match keyword {
            // They say something to people, and demand nothing.
            "$schema" | "$id" | "$comment" | "title" | "description" | "default" | "examples" | "const" => {}
            "type" => {
                self.demand(is_type(value), &format!("it must be one of {}, or a list of them", TYPES.join(", ")));
            }
            "properties" => self.properties(value),
            "required" => {
                let is_keys = value.as_array().is_some_and(|of| of.iter().all(Value::is_string));
                self.demand(is_keys, "it must be a list of keys");
            }
            "additionalProperties" => self.demand(value.is_boolean(), "only true or false is supported here"),
            "items" => self.schema(value),
            "enum" => self.demand(value.as_array().is_some_and(|of| !of.is_empty()), "it must be a list of values"),
            "minimum" | "maximum" => self.demand(value.is_number(), "it must be a number"),
            "minLength" | "maxLength" | "minItems" | "maxItems" => {
                self.demand(value.is_u64(), "it must be a whole number, not below zero");
            }
            unknown => self.tell(format!("the keyword {unknown} is not supported here, so it can't be checked")),
        }
    }

    fn properties(&mut self, properties: &Value) {
        let Value::Object(properties) = properties else {
            return self.tell("it must be a map".to_owned());
        };
        for (key, schema) in properties {
            self.within(key, |errors| errors.schema(schema));
        }
    }

    fn within(&mut self, key: &str, walk: impl FnOnce(&mut Errors)) {
        self.at.push(key.to_owned());
        walk(self);
        self.at.pop();
    }

    fn demand(&mut self, met: bool, why: &str) {
        if !met {
            self.tell(why.to_owned());
        }
    }

    fn tell(&mut self, why: String) {
        self.found.push(SchemaError { at: self.at.clone(), why });
    }
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
