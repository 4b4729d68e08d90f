//! What an error of a provider means: whether the request can have cost something, and whether a retry can help.

use std::fmt;
use std::time::{Duration, SystemTime};

use guildhall_agent::WaitReason;
use serde_json::Value;

use crate::http::json::Json;

/// The most characters of a provider's message that are shown.
const MESSAGE_CHARS_MAX: usize = 400;

/// Codes and texts for an account without money. A retry does not help.
const SPENT_CODES: &str = "insufficient_quota, billing_hard_limit_reached, billing_not_active, billing_error, \
    insufficient_credits, payment_required";
const SPENT_TEXTS: &str = "spend limit, spending limit, usage limit, credit balance, out of credits";

/// Texts for a prompt that is longer than the model's window.
const TOO_LONG_TEXTS: &str = "context_length_exceeded, exceed_context_size, request_too_large, prompt is too long, \
    input is too long, maximum context length, context window, context length, context size, too many input tokens, \
    reduce the length";

/// Texts of a server that has not started to work on the request, because of a rate limit or for another reason.
const RATE_TEXTS: &str = "rate_limit, slow down, slow_down";
const BUSY_TEXTS: &str = "loading, overloaded, at capacity";

/// A provider's message about why there is no reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderMessage {
    /// The codes, joined by commas; empty if there are none.
    pub code: String,
    /// The text; empty if there is none.
    pub text: String,
}

impl fmt::Display for ProviderMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text.as_str(), self.code.as_str()) {
            ("", "") => f.write_str("the provider gave no reason"),
            (text, "") => f.write_str(text),
            ("", code) => f.write_str(code),
            (text, code) => write!(f, "{text} ({code})"),
        }
    }
}

impl ProviderMessage {
    /// Reads the body of an error response.
    pub(crate) fn in_body(body: &str) -> ProviderMessage {
        let trimmed = body.trim_start_matches('\u{feff}').trim();
        if trimmed.starts_with('<') {
            return ProviderMessage { code: String::new(), text: "an HTML page instead of JSON".into() };
        }
        match serde_json::from_str::<Value>(trimmed) {
            Ok(value) => ProviderMessage::in_value(&value),
            Err(_) => ProviderMessage { code: String::new(), text: clean(trimmed) },
        }
    }

    /// Finds an error that was sent instead of a reply or a part of a reply.
    pub(crate) fn in_reply(value: &Json<'_>) -> Option<ProviderMessage> {
        // Some servers send an empty `error` field in every chunk.
        let has_error = !matches!(value["error"], Json::Null | Json::Bool(false)) && value["error"] != "";
        (has_error || value["type"] == "error").then(|| ProviderMessage::in_value(&value.to_value()))
    }

    fn in_value(value: &Value) -> ProviderMessage {
        let error = if value["error"].is_object() { &value["error"] } else { value };
        let texts =
            [&error["message"], &value["error"], &value["message"], &value["detail"], &value["detail"]["message"]];
        let text = texts.into_iter().find_map(Value::as_str).unwrap_or_default();
        let codes: Vec<&str> = [&error["type"], &error["code"]].into_iter().filter_map(Value::as_str).collect();
        ProviderMessage { code: clean(&codes.join(", ")), text: clean(text) }
    }

    fn has_any(&self, texts: &str) -> bool {
        let message = format!("{} {}", self.code, self.text).to_lowercase();
        texts.split(", ").any(|text| message.contains(text))
    }

    /// Returns the reason for a retry, if this message was sent instead of a reply and the request can't have cost anything.
    pub(crate) fn busy(&self) -> Option<WaitReason> {
        match () {
            () if self.has_any(SPENT_CODES) => None,
            () if self.has_any(RATE_TEXTS) => Some(WaitReason::RateLimited),
            () if self.has_any(BUSY_TEXTS) => Some(WaitReason::Unavailable),
            () => None,
        }
    }
}

/// Makes a provider's message safe to show: one line, no control characters, limited length.
pub(crate) fn clean(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = printable.take(MESSAGE_CHARS_MAX + 1).collect();
    let line = line.trim();
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

/// What to do after an error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request can't have cost anything: send it again.
    Retry(WaitReason),
    /// A retry does not help. The text says what a person can do.
    Refused(&'static str),
    /// The prompt does not fit into the model's window.
    TooLong,
    /// The provider may have processed the request, and may bill it.
    Lost,
}

/// Judges an error response by its status, its message, and whether it says when to retry.
pub(crate) fn judge(status: u16, message: &ProviderMessage, wait: Option<Duration>) -> Verdict {
    let spent = "add money to your account at the provider or raise its spending limit: the account has no money left or has reached the limit";
    let redirected = "correct the base URL: the server redirects, and redirects are not followed, because they would send the key to another server";
    let is_spent = message.has_any(SPENT_CODES) || (wait.is_none() && message.has_any(SPENT_TEXTS));
    match status {
        300..=399 => Verdict::Refused(redirected),
        402 => Verdict::Refused(spent),
        400 | 403 | 429 if is_spent => Verdict::Refused(spent),
        401 | 403 => Verdict::Refused("check the key and its permissions"),
        413 => Verdict::TooLong,
        // Old versions of llama.cpp send this with a 500.
        400 | 422 | 500 if message.has_any(TOO_LONG_TEXTS) => Verdict::TooLong,
        404 | 405 => Verdict::Refused("check the name of the model and the base URL"),
        429 => Verdict::Retry(WaitReason::RateLimited),
        // No provider bills these: the request was not processed, or its result was discarded.
        408 | 500 | 503 | 529 => Verdict::Retry(WaitReason::Unavailable),
        400..=499 => {
            Verdict::Refused("check the protocol and the settings of this provider: it does not accept the request")
        }
        // After another 5xx of a gateway, the server behind it may have processed the request.
        _ => Verdict::Lost,
    }
}

/// Reads the time until a retry: seconds, a date, or milliseconds. A date is compared with the server's clock if the server sent
/// its time, because the clock of this machine may be wrong.
pub(crate) fn wait(after_ms: Option<&str>, after: Option<&str>, date: Option<&str>) -> Option<Duration> {
    if let Some(ms) = after_ms.and_then(|text| text.trim().parse::<u64>().ok()) {
        return Some(Duration::from_millis(ms));
    }
    let after = after?.trim();
    if let Ok(seconds) = after.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    // Fractions of a second are not in the standard, but some servers send them.
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = httpdate::parse_http_date(after).ok()?;
    let now = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}
