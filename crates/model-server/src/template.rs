//! Fills in what a script leaves open, so that a small script can drive many turns. What is filled in is never itself
//! filled in: a request can't write templates.

use serde_json::Value;

use crate::script::Text;
use crate::turn::Turn;

impl Turn {
    /// Fills `{{name}}` with its value; a name that is none stays as it is.
    pub(crate) fn fill(&self, text: &str, i: usize) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let known = after.split_once("}}").and_then(|(name, more)| Some((self.value(name, i)?, more)));
            let (value, more) = known.unwrap_or_else(|| ("{{".into(), after));
            filled.push_str(&value);
            rest = more;
        }
        filled + rest
    }

    pub(crate) fn fill_text(&self, text: &Text, i: usize) -> Text {
        match text {
            Text::Plain(text) => Text::Plain(self.fill(text, i)),
            Text::Escaped { .. } | Text::Again { .. } | Text::Nested { .. } => text.clone(),
        }
    }

    /// Fills all texts of a value.
    pub(crate) fn fill_value(&self, value: &Value, i: usize) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text, i)),
            Value::Array(values) => values.iter().map(|value| self.fill_value(value, i)).collect(),
            Value::Object(values) => {
                Value::Object(values.iter().map(|(key, value)| (key.clone(), self.fill_value(value, i))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn value(&self, name: &str, i: usize) -> Option<String> {
        Some(match name {
            "last_user" => self.last_user().into(),
            "tool_result" => self.tool_results.join("\n"),
            "model" => self.model.clone(),
            "messages" => self.messages.to_string(),
            "request_key" => self.request_key.clone().unwrap_or_default(),
            "n" => self.n.to_string(),
            "i" => i.to_string(),
            _ => return None,
        })
    }
}
