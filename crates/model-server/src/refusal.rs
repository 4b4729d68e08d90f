//! The refusals of the two providers, in their own words: status, headers and body.

use serde_json::{Value, json};

use crate::script::{Protocol, Wrong};

/// What a refusal looks like on the wire.
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Refused {
    pub(crate) fn of(wrong: &Wrong, protocol: Protocol, model: &str, n: u64) -> Self {
        let (status, error) = match protocol {
            Protocol::Anthropic => anthropic(wrong, model),
            Protocol::OpenAi => openai(wrong, model),
        };
        let headers = wrong.retry_after().map(|retry| ("retry-after".into(), retry.header()));
        Self { status, headers: headers.into_iter().collect(), body: envelope(protocol, &error, n) }
    }

    /// A 400 in the words of this server: the test asked for something that the script does not have.
    pub(crate) fn bad_request(message: &str, protocol: Protocol, n: u64) -> Self {
        let error = match protocol {
            Protocol::Anthropic => json!({"type": "invalid_request_error", "message": message}),
            Protocol::OpenAi => coded(message, "invalid_request_error", &Value::Null),
        };
        Self { status: 400, headers: Vec::new(), body: envelope(protocol, &error, n) }
    }
}

fn envelope(protocol: Protocol, error: &Value, n: u64) -> String {
    match protocol {
        Protocol::Anthropic => json!({"type": "error", "error": error, "request_id": format!("req_{n}")}),
        Protocol::OpenAi => json!({"error": error}),
    }
    .to_string()
}

fn anthropic(wrong: &Wrong, model: &str) -> (u16, Value) {
    let (status, kind, message) = match wrong {
        Wrong::Key => (401, "authentication_error", "invalid x-api-key".into()),
        Wrong::Model => (404, "not_found_error", format!("model: {model}")),
        Wrong::ContextTooLong => {
            (400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum".into())
        }
        Wrong::Request => (400, "invalid_request_error", "messages: Field required".into()),
        Wrong::RateLimit { .. } => {
            (429, "rate_limit_error", "This request would exceed your organization's rate limit.".into())
        }
        Wrong::SpendLimit => {
            let message = "Your organization has reached its monthly API usage limit.";
            let details = json!({"error_code": "enforced_spend_limit_reached"});
            return (429, json!({"type": "rate_limit_error", "message": message, "details": details}));
        }
        Wrong::Credit => {
            (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.".into())
        }
        Wrong::Overloaded { .. } => (529, "overloaded_error", "Overloaded".into()),
        Wrong::Server => (500, "api_error", "Internal server error".into()),
    };
    (status, json!({"type": kind, "message": message}))
}

fn openai(wrong: &Wrong, model: &str) -> (u16, Value) {
    let request = "invalid_request_error";
    match wrong {
        Wrong::Key => (401, coded("Incorrect API key provided.", request, &json!("invalid_api_key"))),
        Wrong::Model => {
            let message = format!("The model `{model}` does not exist or you do not have access to it.");
            (404, coded(&message, request, &json!("model_not_found")))
        }
        Wrong::ContextTooLong => {
            let message = "This model's maximum context length is 128000 tokens. However, your messages resulted in \
                           208310 tokens. Please reduce the length of the messages.";
            let code = "context_length_exceeded";
            (400, json!({"message": message, "type": request, "param": "messages", "code": code}))
        }
        Wrong::Request => (400, coded("Missing required parameter: 'messages'.", request, &Value::Null)),
        Wrong::RateLimit { .. } => {
            let message = format!("Rate limit reached for {model} on requests per min (RPM).");
            (429, coded(&message, "requests", &json!("rate_limit_exceeded")))
        }
        Wrong::SpendLimit => {
            let message = "Your organization has reached its hard spend limit.";
            (429, coded(message, request, &json!("organization_spend_limit_exceeded")))
        }
        Wrong::Credit => {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            (429, coded(message, "insufficient_quota", &json!("insufficient_quota")))
        }
        Wrong::Overloaded { .. } => {
            let message = "The server is currently overloaded with other requests. Please retry after a brief wait.";
            (503, coded(message, "server_error", &Value::Null))
        }
        Wrong::Server => {
            let message = "The server had an error while processing your request. Sorry about that!";
            (500, coded(message, "server_error", &Value::Null))
        }
    }
}

fn coded(message: &str, kind: &str, code: &Value) -> Value {
    json!({"message": message, "type": kind, "param": null, "code": code})
}
