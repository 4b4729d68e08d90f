//! Writes a prompt as a request of one of the protocols. The same prompt always gives the same bytes: a provider's cache depends on it.

mod anthropic;
mod openai;

use guildhall_agent::{CallFormat, Prompt, Wire};
use serde_json::{Map, Value};

use crate::http::endpoint::Endpoint;
use crate::http::json_turn;

/// The parts of a request that not every server knows. They are left out after the server has refused them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How the model makes calls.
    pub calls: CallFormat,
    /// Whether the model is forced to call the tool that the prompt says it must call.
    pub tool_choice: ToolChoice,
}

/// Whether a model is forced to call the tool that it must call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The request forces the call.
    Forced,
    /// Only the instructions ask for the call.
    Free,
}

impl Form {
    /// Returns the form with all parts that the endpoint allows.
    pub fn of(endpoint: &Endpoint) -> Form {
        Form { calls: endpoint.calls, tool_choice: ToolChoice::Forced }
    }

    /// Returns a simpler form for a server that refused this one; `None` if there is none.
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

/// Returns the body of the request that sends a prompt to an endpoint; `None` for a model inside this process, which needs no
/// request.
pub fn body(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Value> {
    let ours = match (wire, form.calls) {
        (Wire::Anthropic, _) => anthropic::body(endpoint, prompt, form),
        (Wire::OpenAi, CallFormat::Tools) => openai::body(endpoint, prompt, form),
        (Wire::OpenAi, CallFormat::Json) => {
            let mut body = openai::body(endpoint, &json_turn::without_tools(prompt), form);
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
