//! Writes a prompt as a request of one of the protocols. The same prompt always gives the same bytes: a provider's cache depends
//! on it. A request begins with its agent's opening, which is written once, and continues with everything that changes.

mod anthropic;
mod openai;
mod opening;

use guildhall_agent::{CallFormat, Prompt, Wire};
use serde::Serialize;

use crate::http::endpoint::Endpoint;
use crate::http::json_turn;

pub(crate) use opening::{Openings, WrittenOpening};

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

    /// Returns the tool that the request forces the model to call. The APIs can't force a call when the model thinks, which the
    /// endpoint asks for with one of these fields.
    fn forced_call<'a>(self, prompt: &'a Prompt, endpoint: &Endpoint, thinking: &[&str]) -> Option<&'a str> {
        let thinks = thinking.iter().any(|field| endpoint.extra.contains_key(*field));
        let can_force = !thinks && self.tool_choice == ToolChoice::Forced;
        prompt.must_call.as_deref().filter(|_| can_force)
    }
}

/// Returns the body of the request that sends a prompt to an endpoint; `None` for a model inside this process, which needs no
/// request.
pub fn body(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form) -> Option<Vec<u8>> {
    let opening = WrittenOpening::new(wire, endpoint, &prompt.opening, form.calls)?;
    let rest = rest(wire, endpoint, prompt, form, &opening);
    Some([opening.start().as_ref(), &rest].concat())
}

/// Fields of the endpoint's own settings that Guildhall sets in some requests of an opening and not in others.
const SOMETIMES_OURS: [&str; 2] = ["tool_choice", "response_format"];

/// Returns the part of a request behind its written opening: the messages, and the fields that change from request to request.
pub(crate) fn rest(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form, opening: &WrittenOpening) -> Vec<u8> {
    let mut json = JsonWriter { bytes: Vec::new(), is_list_empty: !opening.has_message() };
    let status = prompt.status.as_deref();
    let in_json = wire == Wire::OpenAi && form.calls == CallFormat::Json;
    match wire {
        Wire::Anthropic => anthropic::write_messages(&prompt.messages, status, &mut json),
        Wire::OpenAi | Wire::Inside if in_json => {
            openai::write_messages(&json_turn::without_calls(&prompt.messages), status, &mut json);
        }
        Wire::OpenAi | Wire::Inside => openai::write_messages(&prompt.messages, status, &mut json),
    }
    json.raw("]");
    json.field(limit_name(wire, endpoint), &prompt.max_tokens);
    let forced = match wire {
        Wire::Anthropic => anthropic::tool_choice(endpoint, prompt, form),
        Wire::OpenAi | Wire::Inside => openai::tool_choice(endpoint, prompt, form).filter(|_| !in_json),
    };
    let forced = forced.as_ref().or_else(|| endpoint.extra.get("tool_choice"));
    if let Some(forced) = forced {
        json.field("tool_choice", forced);
    }
    // The rest of an object does not follow the schema of an object.
    let response_format = opening.response_format().filter(|_| prompt.continues.is_none());
    match (&prompt.must_call, response_format) {
        (Some(must_call), Some(_)) => {
            json.field("response_format", &json_turn::response_format(prompt.opening.tools(), Some(must_call)));
        }
        (None, Some(format)) => json.raw_field("response_format", format),
        (_, None) => {
            if let Some(format) = endpoint.extra.get("response_format") {
                json.field("response_format", format);
            }
        }
    }
    json.raw("}");
    json.bytes
}

/// Returns the name of the limit on output. OpenAI's newer models accept only `max_completion_tokens`, many local servers only
/// `max_tokens`.
fn limit_name(wire: Wire, endpoint: &Endpoint) -> &'static str {
    if wire == Wire::OpenAi && endpoint.base_url.is_makers() { "max_completion_tokens" } else { "max_tokens" }
}

/// Writes JSON piece by piece, so that a request never exists as a tree of values.
#[derive(Default)]
struct JsonWriter {
    bytes: Vec<u8>,
    is_list_empty: bool,
}

impl JsonWriter {
    fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.bytes, value).expect("a request is JSON, and memory takes all bytes");
    }

    /// Adds a field to the object.
    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        self.value(value);
    }

    fn raw_field(&mut self, name: &str, json: &str) {
        self.name(name);
        self.raw(json);
    }

    fn name(&mut self, name: &str) {
        if self.bytes.last() != Some(&b'{') {
            self.raw(",");
        }
        self.value(name);
        self.raw(":");
    }

    /// Adds an item to the list.
    fn item(&mut self, value: &impl Serialize) {
        if !std::mem::take(&mut self.is_list_empty) {
            self.raw(",");
        }
        self.value(value);
    }
}
