//! Fills in the templates of a script, so that a small script can answer many turns. A filled-in value is never searched for
//! templates: a request can't insert templates.

use serde_json::Value;

use crate::script::Text;
use crate::turn::Turn;

impl Turn {
    /// Replaces `{{name}}` by its value. An unknown name is not replaced.
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

    /// Fills in the templates in all strings of a value.
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
