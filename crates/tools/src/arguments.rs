//! The arguments of a call. The list of fields gives both the schema for the model and the message about a wrong call.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::text::{cut, shown};

/// How many bytes of a wrong value are quoted.
const QUOTE_BYTES_MAX: usize = 60;

/// One argument of a tool.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) need: Need,
    pub(crate) about: &'static str,
}

/// The values that an argument accepts.
pub(crate) enum Kind {
    Text { bytes_max: usize },
    Count { min: u64, max: u64 },
    OneOf(&'static [&'static str]),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Need {
    Required,
    Optional,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text { bytes_max } => write!(f, "a text of at most {bytes_max} bytes"),
            Kind::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Kind::OneOf(words) => write!(f, "one of \"{}\"", words.join("\", \"")),
        }
    }
}

/// Returns the JSON schema of the arguments. Every request pays for it, so it leaves out the limits: the message about a wrong
/// call names them.
pub(crate) fn schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<&str> =
        fields.iter().filter(|field| field.need == Need::Required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    // Some strict readers of JSON Schema refuse an empty list.
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn property(field: &Field) -> Value {
    match field.kind {
        Kind::Text { .. } => json!({ "type": "string", "description": field.about }),
        Kind::Count { .. } => json!({ "type": "integer", "description": field.about }),
        Kind::OneOf(words) => json!({ "type": "string", "enum": words, "description": field.about }),
    }
}

/// Arguments that match the fields.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Checks a call's arguments. The error tells the model what is wrong and what is expected. `null` counts as absent.
    pub(crate) fn check(fields: &[Field], arguments: &'a Value) -> Result<Arguments<'a>, String> {
        let wrong = |what: String| {
            let fields: Vec<String> = fields.iter().map(described).collect();
            format!("{what} The arguments must be an object with {}.", fields.join("; "))
        };
        let Value::Object(given) = arguments else {
            return Err(wrong(format!("The arguments are {}.", quoted(arguments))));
        };
        for name in given.keys() {
            if !fields.iter().any(|field| field.name == name) {
                return Err(wrong(format!(
                    "`{}` is not an argument of this tool.",
                    cut(&shown(name.as_bytes()), QUOTE_BYTES_MAX)
                )));
            }
        }
        for Field { name, kind, need, .. } in fields {
            match given.get(*name).filter(|value| !value.is_null()) {
                None if *need == Need::Required => return Err(wrong(format!("`{name}` is missing."))),
                Some(value) if !fits(kind, value) => {
                    return Err(wrong(format!("`{name}` is {}; it must be {kind}.", quoted(value))));
                }
                None | Some(_) => {}
            }
        }
        Ok(Arguments(given))
    }

    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn count(self, name: &str) -> Option<usize> {
        self.0.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
    }
}

fn fits(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Text { bytes_max } => value.as_str().is_some_and(|text| text.len() <= *bytes_max),
        Kind::Count { min, max } => value.as_u64().is_some_and(|count| (*min..=*max).contains(&count)),
        Kind::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
    }
}

fn described(field: &Field) -> String {
    let need = match field.need {
        Need::Required => "",
        Need::Optional => ", optional",
    };
    format!("`{}` ({}{need})", field.name, field.kind)
}

/// Returns a short form of a value. Lists and objects are named but not written out, because they can be deep.
fn quoted(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.len() > QUOTE_BYTES_MAX => format!("a text of {} bytes", text.len()),
        Value::String(text) => format!("the text \"{}\"", shown(text.as_bytes())),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Field, Kind, Need, schema};
    use serde_json::{Value, json};

    const FIELDS: &[Field] = &[
        Field { name: "path", kind: Kind::Text { bytes_max: 100 }, need: Need::Required, about: "Where." },
        Field { name: "depth", kind: Kind::Count { min: 1, max: 9 }, need: Need::Optional, about: "How far." },
        Field { name: "case", kind: Kind::OneOf(&["smart", "exact"]), need: Need::Optional, about: "How." },
    ];

    fn check(arguments: &Value, expected: &str) {
        let expected = format!(
            "{expected} The arguments must be an object with `path` (a text of at most 100 bytes); `depth` (a whole number from 1 \
             to 9, optional); `case` (one of \"smart\", \"exact\", optional)."
        );
        assert_eq!(Arguments::check(FIELDS, arguments).err(), Some(expected));
    }

    #[test]
    fn the_message_about_wrong_arguments_says_what_is_expected() {
        check(&json!("x"), "The arguments are the text \"x\".");
        check(&json!([1, 2]), "The arguments are a list of 2.");
        check(&json!({}), "`path` is missing.");
        check(&json!({ "path": null }), "`path` is missing.");
        check(&json!({ "path": 7 }), "`path` is 7; it must be a text of at most 100 bytes.");
        check(&json!({ "path": {} }), "`path` is an object; it must be a text of at most 100 bytes.");
        check(
            &json!({ "path": "x".repeat(101) }),
            "`path` is a text of 101 bytes; it must be a text of at most 100 bytes.",
        );
        check(&json!({ "path": "x", "file\u{1b}": 1 }), "`file\\x1b` is not an argument of this tool.");
        for odd in [json!("3"), json!(0), json!(10), json!(-1), json!(1.5), json!(1e300), json!(true)] {
            let arguments = json!({ "path": "x", "depth": odd });
            assert!(Arguments::check(FIELDS, &arguments).is_err(), "{arguments}");
        }
        check(
            &json!({ "path": "x", "case": "Smart" }),
            "`case` is the text \"Smart\"; it must be one of \"smart\", \"exact\".",
        );
    }

    #[test]
    fn right_arguments_are_accepted_and_null_counts_as_absent() {
        let given = json!({ "path": "src", "depth": 3, "case": null });
        let arguments = Arguments::check(FIELDS, &given).unwrap();
        assert_eq!(
            (arguments.text("path"), arguments.count("depth"), arguments.text("case")),
            (Some("src"), Some(3), None)
        );
    }

    #[test]
    fn the_schema_matches_the_fields() {
        let expected = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where." },
                "depth": { "type": "integer", "description": "How far." },
                "case": { "type": "string", "enum": ["smart", "exact"], "description": "How." },
            },
            "required": ["path"],
        });
        assert_eq!(schema(FIELDS), expected);
    }
}
