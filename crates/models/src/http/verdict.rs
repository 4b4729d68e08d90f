//! What a provider's "no" means: whether it can have cost something, and whether asking again can help.

use std::fmt;
use std::time::{Duration, SystemTime};

use guildhall_agent::WaitReason;
use serde_json::Value;

/// The most characters of a provider's words that are passed on.
const WORDS_CHARS_MAX: usize = 400;

/// What an account that has run dry is called; asking again does not fill it.
const SPENT_CODES: &str = "insufficient_quota, billing_hard_limit_reached, billing_not_active, billing_error, \
    insufficient_credits, payment_required";
const SPENT_WORDS: &str = "spend limit, spending limit, usage limit, credit balance, out of credits";

/// What a prompt that is longer than the window is called.
const LONG_WORDS: &str = "context_length_exceeded, exceed_context_size, request_too_large, prompt is too long, \
    input is too long, maximum context length, context window, context length, context size, too many input tokens, \
    reduce the length";

/// What a server says that has not begun to work on the request: because there were too many, or for another reason.
const RATE_WORDS: &str = "rate_limit, slow down, slow_down";
const BUSY_WORDS: &str = "loading, overloaded, at capacity";

/// A provider's words on why there is no reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its codes, if it has some.
    pub code: String,
    /// Its words.
    pub text: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.text.as_str(), self.code.as_str()) {
            ("", "") => f.write_str("it did not say why"),
            (text, "") => f.write_str(text),
            ("", code) => f.write_str(code),
            (text, code) => write!(f, "{text} ({code})"),
        }
    }
}

impl Said {
    /// Reads the body of an answer that is no reply.
    pub(crate) fn in_body(body: &str) -> Said {
        let trimmed = body.trim_start_matches('\u{feff}').trim();
        if trimmed.starts_with('<') {
            return Said { code: String::new(), text: "an HTML page instead of JSON".into() };
        }
        match serde_json::from_str::<Value>(trimmed) {
            Ok(value) => Said::in_value(&value),
            Err(_) => Said { code: String::new(), text: clean(trimmed) },
        }
    }

    /// Finds the error in what should be a reply or a part of one.
    pub(crate) fn in_reply(value: &Value) -> Option<Said> {
        // Some servers have the field in every chunk, with nothing in it.
        let has_error = !matches!(value["error"], Value::Null | Value::Bool(false)) && value["error"] != "";
        (has_error || value["type"] == "error").then(|| Said::in_value(value))
    }

    fn in_value(value: &Value) -> Said {
        let error = if value["error"].is_object() { &value["error"] } else { value };
        let words =
            [&error["message"], &value["error"], &value["message"], &value["detail"], &value["detail"]["message"]];
        let text = words.into_iter().find_map(Value::as_str).unwrap_or_default();
        let codes: Vec<&str> = [&error["type"], &error["code"]].into_iter().filter_map(Value::as_str).collect();
        Said { code: clean(&codes.join(", ")), text: clean(text) }
    }

    fn has(&self, words: &str) -> bool {
        let said = format!("{} {}", self.code, self.text).to_lowercase();
        words.split(", ").any(|words| said.contains(words))
    }

    /// Why to ask again for a reply in place of which this was sent, if nothing can have been done for it.
    pub(crate) fn busy(&self) -> Option<WaitReason> {
        match () {
            () if self.has(SPENT_CODES) => None,
            () if self.has(RATE_WORDS) => Some(WaitReason::RateLimited),
            () if self.has(BUSY_WORDS) => Some(WaitReason::Unavailable),
            () => None,
        }
    }
}

/// Makes a provider's words fit to be shown: one line, no control characters, not endless.
pub(crate) fn clean(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = printable.take(WORDS_CHARS_MAX + 1).collect();
    let line = line.trim();
    match line.char_indices().nth(WORDS_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

/// What to make of an answer that is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing was done: ask again.
    Again(WaitReason),
    /// It won't, now or later; this is what a person can do about it.
    Refused(&'static str),
    /// The prompt does not fit.
    TooLong,
    /// It may have been worked on, and may be billed.
    Lost,
}

/// Judges an answer by its status, its words, and whether it says when to come back.
pub(crate) fn judge(status: u16, said: &Said, wait: Option<Duration>) -> Verdict {
    let spent = "the account has no money left or has reached its limit: fill it or raise the limit";
    let redirected = "redirects are not followed, they would carry the key along: correct the base URL";
    let is_spent = said.has(SPENT_CODES) || (wait.is_none() && said.has(SPENT_WORDS));
    match status {
        300..=399 => Verdict::Refused(redirected),
        402 => Verdict::Refused(spent),
        400 | 403 | 429 if is_spent => Verdict::Refused(spent),
        401 | 403 => Verdict::Refused("check the key and what it may do"),
        413 => Verdict::TooLong,
        // llama.cpp once said so with a 500.
        400 | 422 | 500 if said.has(LONG_WORDS) => Verdict::TooLong,
        404 | 405 => Verdict::Refused("check the name of the model and the base URL"),
        429 => Verdict::Again(WaitReason::RateLimited),
        // No provider bills these: the request was not worked on, or its work was thrown away.
        408 | 500 | 503 | 529 => Verdict::Again(WaitReason::Unavailable),
        400..=499 => Verdict::Refused("it can't read the request"),
        // A gateway's 5xx says nothing of what happened behind it.
        _ => Verdict::Lost,
    }
}

/// Reads when to come back: seconds or a date, or milliseconds where a server says so. A date is taken against the
/// server's own clock if it showed it, so that ours may be wrong.
pub(crate) fn wait(after_ms: Option<&str>, after: Option<&str>, date: Option<&str>) -> Option<Duration> {
    if let Some(ms) = after_ms.and_then(|text| text.trim().parse::<u64>().ok()) {
        return Some(Duration::from_millis(ms));
    }
    let after = after?.trim();
    if let Ok(seconds) = after.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    // Fractions of a second are not in the standard, but in use.
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = httpdate::parse_http_date(after).ok()?;
    let now = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(SystemTime::now);
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}
