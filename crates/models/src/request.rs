//! Writes a prompt as the request of a protocol. The same prompt is the same bytes: a provider's cache depends on it.

mod anthropic;
mod openai;

use guildhall_agent::{Prompt, Wire};
use serde_json::{Map, Value};

use crate::endpoint::Endpoint;

/// Returns the body of the request that shows a prompt to the model at an endpoint; `None` for a model within the
/// process, which needs no request.
pub fn body(wire: Wire, endpoint: &Endpoint, prompt: &Prompt) -> Option<Value> {
    let ours = match wire {
        Wire::Anthropic => anthropic::body(endpoint, prompt),
        Wire::OpenAi => openai::body(endpoint, prompt),
        Wire::Inside => return None,
    };
    let mut body = endpoint.extra.clone();
    body.extend(ours);
    Some(Value::Object(body))
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
