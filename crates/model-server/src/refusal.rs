//! The refusals of the two providers, with the texts that the real providers send.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::entry::AnswerKind;
use crate::script::{Protocol, Wrong};
use crate::turn::Turn;

const REQUEST: &str = "invalid_request_error";

/// A status, a type, a code and a message. `{model}` in the message is replaced by the model's name.
type Refusal = (u16, &'static str, Option<&'static str>, &'static str);

/// Returns the refusal of the provider for a request.
pub(crate) fn refuse(wrong: &Wrong, turn: &Turn) -> Answer {
    let (status, kind, code, message) = match turn.protocol {
        Protocol::Anthropic => anthropic(wrong),
        Protocol::OpenAi => openai(wrong),
    };
    let headers = wrong.retry_after().map(|retry| ("retry-after".into(), retry));
    let message = message.replace("{model}", &turn.model);
    Answer::response(AnswerKind::Fault, status, headers.into_iter().collect(), body(turn, kind, code, &message))
}

/// Returns a 400 with this message.
pub(crate) fn bad_request(answer: AnswerKind, message: &str, turn: &Turn) -> Answer {
    Answer::response(answer, 400, Vec::new(), body(turn, REQUEST, None, message))
}

/// Returns the event that ends a stream with an error.
pub(crate) fn error_event(protocol: Protocol, kind: &str, message: &str) -> String {
    let error = error(protocol, kind, None, message);
    match protocol {
        Protocol::Anthropic => format!("event: error\ndata: {}\n\n", json!({"type": "error", "error": error})),
        Protocol::OpenAi => format!("data: {}\n\n", json!({"error": error})),
    }
}

fn body(turn: &Turn, kind: &str, code: Option<&str>, message: &str) -> String {
    let (n, error) = (turn.n, error(turn.protocol, kind, code, message));
    match turn.protocol {
        Protocol::Anthropic => json!({"type": "error", "error": error, "request_id": format!("req_{n}")}).to_string(),
        Protocol::OpenAi => json!({"error": error}).to_string(),
    }
}

fn error(protocol: Protocol, kind: &str, code: Option<&str>, message: &str) -> Value {
    match (protocol, code) {
        (Protocol::Anthropic, None) => json!({"type": kind, "message": message}),
        (Protocol::Anthropic, Some(code)) => {
            json!({"type": kind, "message": message, "details": {"error_code": code}})
        }
        (Protocol::OpenAi, code) => {
            let param = (code == Some("context_length_exceeded")).then_some("messages");
            json!({"message": message, "type": kind, "param": param, "code": code})
        }
    }
}

fn anthropic(wrong: &Wrong) -> Refusal {
    let limit = "rate_limit_error";
    match wrong {
        Wrong::Key => (401, "authentication_error", None, "invalid x-api-key"),
        Wrong::Model => (404, "not_found_error", None, "model: {model}"),
        Wrong::ContextTooLong => (400, REQUEST, None, "prompt is too long: 208310 tokens > 200000 maximum"),
        Wrong::Request => (400, REQUEST, None, "messages: Field required"),
        Wrong::RateLimit { .. } => (429, limit, None, "This request would exceed your organization's rate limit."),
        Wrong::SpendLimit => {
            let message = "Your organization has reached its monthly API usage limit.";
            (429, limit, Some("enforced_spend_limit_reached"), message)
        }
        Wrong::Credit => (400, REQUEST, None, "Your credit balance is too low to access the Anthropic API."),
        Wrong::Overloaded { .. } => (529, "overloaded_error", None, "Overloaded"),
        Wrong::Server => (500, "api_error", None, "Internal server error"),
    }
}

fn openai(wrong: &Wrong) -> Refusal {
    let (quota, server) = ("insufficient_quota", "server_error");
    match wrong {
        Wrong::Key => (401, REQUEST, Some("invalid_api_key"), "Incorrect API key provided."),
        Wrong::Model => {
            let message = "The model `{model}` does not exist or you do not have access to it.";
            (404, REQUEST, Some("model_not_found"), message)
        }
        Wrong::ContextTooLong => {
            let message = "This model's maximum context length is 128000 tokens. However, your messages resulted in \
                           208310 tokens. Please reduce the length of the messages.";
            (400, REQUEST, Some("context_length_exceeded"), message)
        }
        Wrong::Request => (400, REQUEST, None, "Missing required parameter: 'messages'."),
        Wrong::RateLimit { .. } => {
            let message = "Rate limit reached for {model} on requests per min (RPM).";
            (429, "requests", Some("rate_limit_exceeded"), message)
        }
        Wrong::SpendLimit => {
            let message = "Your organization has reached its hard spend limit.";
            (429, REQUEST, Some("organization_spend_limit_exceeded"), message)
        }
        Wrong::Credit => {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            (429, quota, Some(quota), message)
        }
        Wrong::Overloaded { .. } => {
            let message = "The server is currently overloaded with other requests. Please retry after a brief wait.";
            (503, server, None, message)
        }
        Wrong::Server => {
            (500, server, None, "The server had an error while processing your request. Sorry about that!")
        }
    }
}
