//! Writes a prompt as a request of one of the protocols. The same prompt always gives the same bytes: a provider's cache depends
//! on it. A request begins with its agent's opening, which is written once, and continues with everything that changes.

mod anthropic;
mod openai;
mod opening;

use std::sync::Arc;

use guildhall_agent::{CallFormat, JsonTurn, Opening, Prompt, Wire};
use serde::Serialize;

use crate::http::endpoint::Endpoint;
use crate::http::json_turn::{self, Bounds};

pub(crate) use opening::{Openings, WrittenOpening};

/// The parts of a request that not every server knows. They are left out after the server has refused them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How the model makes calls.
    pub calls: CallFormat,
    /// Whether the model is forced to call the tool that the prompt says it must call.
    pub tool_choice: ToolChoice,
    /// What a request for a JSON turn has besides the schema.
    pub extras: Extras,
}

/// What a request for a JSON turn has besides the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extras {
    /// A penalty for repetition, and bounds on the number of calls.
    PenaltyAndBounds,
    /// Bounds on the number of calls.
    Bounds,
    /// Nothing.
    Nothing,
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
        Form { calls: endpoint.calls, tool_choice: ToolChoice::Forced, extras: Extras::PenaltyAndBounds }
    }

    /// Returns a simpler form for a server that refused this one; `None` if there is none. What the refused request did not have
    /// is not left out of the next: the server would refuse the same request again.
    pub(crate) fn simpler(self, wire: Wire, endpoint: &Endpoint, prompt: &Prompt) -> Option<Form> {
        if let Some(turn) = self.json_turn(wire, prompt) {
            let has_bounds = turn.choice.calls().is_some() && prompt.continues.is_none();
            return Some(match self.extras {
                Extras::PenaltyAndBounds if penalty(endpoint).is_some() => Form { extras: Extras::Bounds, ..self },
                Extras::PenaltyAndBounds | Extras::Bounds if has_bounds => Form { extras: Extras::Nothing, ..self },
                Extras::PenaltyAndBounds | Extras::Bounds | Extras::Nothing => {
                    Form { calls: CallFormat::Tools, ..self }
                }
            });
        }
        let is_forced = self.tool_choice == ToolChoice::Forced && prompt.must_call.is_some();
        is_forced.then_some(Form { tool_choice: ToolChoice::Free, ..self })
    }

    /// Returns the form without the parts that this form or another one, which a server accepted, leaves out. Only the request
    /// for a certain call says whether the server can force a call.
    pub(crate) fn simplest(self, accepted: Form) -> Form {
        let calls = if accepted.calls == CallFormat::Tools { CallFormat::Tools } else { self.calls };
        Form { calls, extras: self.extras.max(accepted.extras), ..self }
    }

    /// Returns the JSON turn that a request in this form asks for. Only Chat Completions has JSON turns.
    fn json_turn(self, wire: Wire, prompt: &Prompt) -> Option<&JsonTurn> {
        let is_json = wire == Wire::OpenAi && self.calls == CallFormat::Json;
        prompt.json_turn.as_ref().filter(|_| is_json)
    }

    /// Returns the calls of the reply to a request in this form.
    pub(crate) fn calls_of_reply(self, wire: Wire, prompt: &Prompt) -> CallFormat {
        if self.json_turn(wire, prompt).is_some() { CallFormat::Json } else { CallFormat::Tools }
    }

    /// Returns the opening that a request in this form begins with.
    pub(crate) fn opening(self, wire: Wire, prompt: &Prompt) -> &Arc<Opening> {
        self.json_turn(wire, prompt).map_or(&prompt.opening, |turn| &turn.opening)
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
    let opening = WrittenOpening::new(wire, endpoint, form.opening(wire, prompt))?;
    let rest = rest(wire, endpoint, prompt, form, &opening);
    Some([opening.start().as_ref(), &rest].concat())
}

/// Fields of the endpoint's own settings that Guildhall sets in some requests of an opening and not in others.
const SOMETIMES_OURS: [&str; 2] = ["tool_choice", "response_format"];

/// The field that makes a model repeat itself less. Small models otherwise go on with the same words.
const PENALTY: &str = "frequency_penalty";

/// Returns the penalty of JSON turns, unless the endpoint's own settings have one.
fn penalty(endpoint: &Endpoint) -> Option<f64> {
    (!endpoint.extra.contains_key(PENALTY)).then_some(0.3)
}

/// Returns the part of a request behind its written opening: the messages, and the fields that change from request to request.
pub(crate) fn rest(wire: Wire, endpoint: &Endpoint, prompt: &Prompt, form: Form, opening: &WrittenOpening) -> Vec<u8> {
    let mut json = JsonWriter { bytes: Vec::new(), is_list_empty: !opening.has_message() };
    let status = prompt.status.as_deref();
    let json_turn = form.json_turn(wire, prompt);
    match (wire, json_turn) {
        (Wire::Anthropic, _) => anthropic::write_messages(&prompt.messages, status, &mut json),
        (Wire::OpenAi | Wire::Inside, Some(turn)) => {
            openai::write_messages(&json_turn::without_calls(&prompt.messages), turn.status.as_deref(), &mut json);
        }
        (Wire::OpenAi | Wire::Inside, None) => openai::write_messages(&prompt.messages, status, &mut json),
    }
    json.raw("]");
    let max_tokens = json_turn.map_or(prompt.max_tokens, |turn| turn.max_tokens);
    json.field(limit_name(wire, endpoint), &max_tokens);
    let forced = match wire {
        Wire::Anthropic => anthropic::tool_choice(endpoint, prompt, form),
        Wire::OpenAi | Wire::Inside => openai::tool_choice(endpoint, prompt, form).filter(|_| json_turn.is_none()),
    };
    let forced = forced.as_ref().or_else(|| endpoint.extra.get("tool_choice"));
    if let Some(forced) = forced {
        json.field("tool_choice", forced);
    }
    let (penalizes, bounds) = match form.extras {
        Extras::PenaltyAndBounds => (true, Bounds::Set),
        Extras::Bounds => (false, Bounds::Set),
        Extras::Nothing => (false, Bounds::LeftOut),
    };
    if let Some(penalty) = json_turn.and_then(|_| penalty(endpoint)).filter(|_| penalizes) {
        json.field(PENALTY, &penalty);
    }
    // The rest of an object does not follow the schema of an object.
    let format = json_turn.filter(|_| prompt.continues.is_none());
    let format = format.map(|turn| json_turn::response_format(&turn.choice, bounds));
    if let Some(format) = format.as_ref().or_else(|| endpoint.extra.get("response_format")) {
        json.field("response_format", format);
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
