//! Writes a prompt as the request of a protocol. The same prompt is the same bytes: a provider's cache depends on it.

mod anthropic;
mod openai;

use guildhall_agent::{CallFormat, Prompt, Wire};
use serde_json::{Map, Value};

use crate::http::endpoint::Endpoint;
use crate::http::json_turn;

/// What of a request a server may not know, and is left out once the server has refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How the model makes calls.
    pub calls: CallFormat,
    /// Whether the model is held to a tool, where the prompt has one that must be called.
    pub tool_choice: ToolChoice,
}

/// Whether a model is held to the tool that it must call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// It is.
    Forced,
    /// It is only told.
    Free,
}

impl Form {
    /// Returns the form that asks for the most.
    pub fn of(endpoint: &Endpoint) -> Form {
        Form { calls: endpoint.calls, tool_choice: ToolChoice::Forced }
    }

    /// Returns a form that asks for less, for a server that refused this one; `None` if there is none.
    pub(crate) fn simpler(self, prompt: &Prompt) -> Option<Form> {
        match self {
            Form { calls: CallFormat::Json, .. } => Some(Form { calls: CallFormat::Tools, ..self }),
            Form { tool_choice: ToolChoice::Forced, .. } if prompt.must_call.is_some() => {
                Some(Form { tool_choice: ToolChoice::Free, ..self })
            }
            Form { .. } => None,
        }
    }
}

/// Returns the body of the request that shows a prompt to the model at an endpoint; `None` for a model within the
/// process, which needs no request.
pub fn body(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Value> {
    let ours = match (wire, form.calls) {
        (Wire::Anthropic, _) => anthropic::body(endpoint, prompt, form),
        (Wire::OpenAi, CallFormat::Tools) => openai::body(endpoint, prompt, form),
        (Wire::OpenAi, CallFormat::Json) => {
            let mut body = openai::body(endpoint, &json_turn::plain(prompt), form);
            body.insert("response_format".to_owned(), json_turn::response_format(prompt));
            body
        }
        (Wire::Inside, _) => return None,
    };
    let mut body = endpoint.extra.clone();
    body.extend(ours);
    Some(Value::Object(body))
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
