//! Fills in what a script leaves open, so that a small script can drive many turns. What is filled in is never itself
//! filled in: a request can't write templates.

use serde_json::Value;

use crate::turn::Turn;

/// The values of one request.
#[derive(Clone, Copy)]
pub(crate) struct Filler<'a> {
    pub(crate) turn: &'a Turn,
    /// The number of the request.
    pub(crate) n: u64,
    pub(crate) request_key: Option<&'a str>,
}

impl Filler<'_> {
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
            "last_user" => self.turn.last_user().into(),
            "tool_result" => self.turn.tool_results.join("\n"),
            "model" => self.turn.model.clone(),
            "messages" => self.turn.messages.to_string(),
            "request_key" => self.request_key.unwrap_or_default().into(),
            "n" => self.n.to_string(),
            "i" => i.to_string(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::script::Protocol;

    #[test]
    fn values_are_filled_in_once() {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "{{n}} }} {{"}]});
        let turn = Turn::read(Protocol::Anthropic, &body, 0);
        let filler = Filler { turn: &turn, n: 5, request_key: None };
        assert_eq!(filler.fill("{{last_user}}|{{n}}|{{i}}|{{messages}}{{model}}", 2), "{{n}} }} {{|5|2|1m");
        assert_eq!(filler.fill("{{what}} {{ {{n}} }}", 0), "{{what}} {{ 5 }}");
        assert_eq!(filler.fill_value(&json!({"a": ["{{n}}", 1]}), 0), json!({"a": ["5", 1]}));
    }
}
