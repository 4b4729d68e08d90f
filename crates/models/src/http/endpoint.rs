//! The address of a model and the settings for its requests. Everything is a parameter; nothing is read from the environment.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use guildhall_agent::{CallFormat, SECRET_BYTES_MIN};
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};

use crate::http::retry::Retry;

/// A model at an address.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name in messages: `anthropic`, `ollama`, `127.0.0.1:8080`.
    pub name: String,
    /// The address of the server.
    pub base_url: BaseUrl,
    /// The key, if the server needs one.
    pub key: Option<Key>,
    /// The model's full name.
    pub model: String,
    /// The time limits.
    pub timeouts: Timeouts,
    /// How to retry after a failure that can't have cost anything.
    pub retry: Retry,
    /// What to do with calls written as text.
    pub written_calls: WrittenCalls,
    /// How the model makes calls.
    pub calls: CallFormat,
    /// More fields of the request, such as `temperature` or `thinking`. A field that Guildhall sets itself is not replaced.
    pub extra: Map<String, Value>,
    /// The session's id. If present, each request has the header `idempotency-key: <session>/<ask>`, by which a server that
    /// supports such keys recognises a repeated ask. The ask alone is not unique: every session has an ask `1#1`.
    pub session: Option<String>,
}

impl Endpoint {
    /// Creates an endpoint with default settings.
    pub fn new(base_url: BaseUrl, key: Option<Key>, model: impl Into<String>) -> Endpoint {
        let written_calls = if base_url.is_makers() { WrittenCalls::Leave } else { WrittenCalls::Read };
        Endpoint {
            name: base_url.host(),
            base_url,
            key,
            model: model.into(),
            timeouts: Timeouts::default(),
            retry: Retry::default(),
            written_calls,
            calls: CallFormat::Tools,
            extra: Map::new(),
            session: None,
        }
    }

    /// Whether the server runs on this machine and needs no key. Nobody sends a bill for such a server.
    pub fn is_local(&self) -> bool {
        self.key.is_none() && self.base_url.is_loopback()
    }
}

/// What to do when a model writes a call as text instead of making it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenCalls {
    /// Read the text as a call, if the reply has no tool call.
    Read,
    /// Leave the text: the models of the large providers use tool calls, and may quote a call in a text.
    Leave,
}

/// Time limits. There is no limit on the total time: a long reply is not a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the first event. Models that think, and small machines with a long prompt, may send nothing for minutes.
    pub first_byte: Duration,
    /// Between two events. A ping is an event, too.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(10), first_byte: Duration::from_mins(10), idle: Duration::from_mins(2) }
    }
}

/// An API key of a provider. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// A text is not a valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key is not valid: it must be one non-empty line of printable characters. Copy the key again")]
pub struct KeyError;

impl Key {
    /// Takes a key. White space around it is removed.
    pub fn new(text: &str) -> Result<Key, KeyError> {
        let text = text.trim();
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !is_printable { Err(KeyError) } else { Ok(Key(text.to_owned())) }
    }

    /// Replaces every occurrence of the key in a text: servers quote keys in their messages. A key of less than
    /// [`SECRET_BYTES_MIN`] bytes does not count as a secret and is not replaced.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.len() < SECRET_BYTES_MIN { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }

    pub(crate) fn header(&self, prefix: &str) -> HeaderValue {
        let text = format!("{prefix}{}", self.0);
        let mut value = HeaderValue::from_str(&text).expect("a key is printable ASCII");
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The address of a server, without the method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why a text is not a valid base URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// The text is not a URL.
    #[error("{0:?} is not a URL: write it like http://127.0.0.1:11434 or https://openrouter.ai/api/v1")]
    NoUrl(String),
    /// The URL has a user, a password, a query or a fragment.
    #[error("a base URL must not have a user, password, query or fragment: configure the key separately")]
    TooMuch,
}

impl BaseUrl {
    /// Reads a base URL.
    pub fn parse(text: &str) -> Result<BaseUrl, BaseUrlError> {
        let no_url = || BaseUrlError::NoUrl(text.to_owned());
        let url = Url::parse(text.trim()).map_err(|_| no_url())?;
        if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
            return Err(no_url());
        }
        let more =
            [!url.username().is_empty(), url.password().is_some(), url.query().is_some(), url.fragment().is_some()];
        if more.contains(&true) { Err(BaseUrlError::TooMuch) } else { Ok(BaseUrl(url)) }
    }

    /// Returns the base URL of Anthropic.
    pub fn anthropic() -> BaseUrl {
        BaseUrl::parse("https://api.anthropic.com").expect("a constant that is a URL")
    }

    /// Returns the base URL of `OpenAI`.
    pub fn openai() -> BaseUrl {
        BaseUrl::parse("https://api.openai.com/v1").expect("a constant that is a URL")
    }

    /// Returns the URL as it was given.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether the server belongs to Anthropic or `OpenAI`, the makers of the two protocols.
    pub fn is_makers(&self) -> bool {
        ["api.anthropic.com", "api.openai.com"].contains(&self.0.host_str().unwrap_or_default())
    }

    /// Returns the host, with the port if it is not the default port.
    pub(crate) fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the URL of a method. People write base URLs with or without the version, and sometimes with the method.
    pub(crate) fn method(&self, method: &str) -> Url {
        let path = self.0.path().trim_end_matches('/');
        let path = path.strip_suffix(method).unwrap_or(path).trim_end_matches('/');
        let is_versioned = path.rsplit('/').next().is_some_and(is_version);
        let needs_version = path.is_empty() || (method == MESSAGES && !is_versioned);
        let version = if needs_version { "/v1" } else { "" };
        let mut url = self.0.clone();
        url.set_path(&format!("{path}{version}/{method}"));
        url
    }
}

/// The method of Anthropic Messages.
pub(crate) const MESSAGES: &str = "messages";
/// The method of Chat Completions.
pub(crate) const COMPLETIONS: &str = "chat/completions";
/// The list of models, in both protocols.
pub(crate) const MODELS: &str = "models";

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
