//! Where a model is and how it is asked. Everything comes in as a parameter; nothing is read from the environment.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use guildhall_agent::{CallFormat, SECRET_BYTES_MIN};
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};

use crate::http::retry::Retry;

/// A model at a place.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What it is called in messages: `anthropic`, `ollama`, `127.0.0.1:8080`.
    pub name: String,
    /// Where.
    pub base_url: BaseUrl,
    /// The key, if it needs one.
    pub key: Option<Key>,
    /// The model's full name.
    pub model: String,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How to ask again when nothing was done.
    pub retry: Retry,
    /// What to do with calls written as text.
    pub written_calls: WrittenCalls,
    /// How the model makes calls.
    pub calls: CallFormat,
    /// More fields of the request, such as `temperature` or `thinking`. Those that Guildhall sets itself win.
    pub extra: Map<String, Value>,
    /// The session's id. If there is one, each request carries `idempotency-key: <session>/<ask>`, by which a server that
    /// knows keys recognises a repeated ask. An ask's key alone is no such id: every session has an ask `1#1`.
    pub session: Option<String>,
}

impl Endpoint {
    /// Describes a model at a place, with what is usual for everything else.
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

    /// Whether it runs on this machine and wants no key: nobody will send a bill.
    pub fn is_local(&self) -> bool {
        self.key.is_none() && self.base_url.is_loopback()
    }
}

/// What to do when a model writes a call as text instead of making it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenCalls {
    /// Read it as a call, if it made no real one.
    Read,
    /// Leave it as words: the large providers' models call properly, and may quote a call.
    Leave,
}

/// How long to wait. There is no limit on the whole: a long reply is not a broken one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection.
    pub connect: Duration,
    /// For the first event; models that think, and small machines that read a long prompt, are silent for minutes.
    pub first_byte: Duration,
    /// Between two events. A ping is one.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { connect: Duration::from_secs(10), first_byte: Duration::from_mins(10), idle: Duration::from_mins(2) }
    }
}

/// A key to a provider. It is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Says why something is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key is not valid: it must be one non-empty line of printable characters. Copy the key again")]
pub struct KeyError;

impl Key {
    /// Takes a key; blanks around it are dropped.
    pub fn new(text: &str) -> Result<Key, KeyError> {
        let text = text.trim();
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || !is_printable { Err(KeyError) } else { Ok(Key(text.to_owned())) }
    }

    /// Returns the text with every occurrence of the key removed: servers quote keys in their messages. One of less than
    /// [`SECRET_BYTES_MIN`] bytes is no secret, and is left where it is.
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

/// Where a server is, up to and without the method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Says why something is no base URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL.
    #[error("{text:?} is no URL: write it like http://127.0.0.1:11434 or https://openrouter.ai/api/v1")]
    NoUrl {
        /// What was given.
        text: String,
    },
    /// A name and password, a query or a fragment.
    #[error("a base URL has no user, password, query or fragment: give the key as the key")]
    TooMuch,
}

impl BaseUrl {
    /// Reads a base URL.
    pub fn parse(text: &str) -> Result<BaseUrl, BaseUrlError> {
        let no_url = || BaseUrlError::NoUrl { text: text.to_owned() };
        let url = Url::parse(text.trim()).map_err(|_| no_url())?;
        if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
            return Err(no_url());
        }
        let more =
            [!url.username().is_empty(), url.password().is_some(), url.query().is_some(), url.fragment().is_some()];
        if more.contains(&true) { Err(BaseUrlError::TooMuch) } else { Ok(BaseUrl(url)) }
    }

    /// Anthropic's own.
    pub fn anthropic() -> BaseUrl {
        BaseUrl::parse("https://api.anthropic.com").expect("a constant that is a URL")
    }

    /// `OpenAI`'s own.
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

    /// Whether TLS is needed to get there.
    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it belongs to one of the two makers whose protocols these are.
    pub fn is_makers(&self) -> bool {
        ["api.anthropic.com", "api.openai.com"].contains(&self.0.host_str().unwrap_or_default())
    }

    /// The host, with its port if that is not the usual one.
    pub(crate) fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The URL of a method. People give a base with and without the version, and sometimes with the method.
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
/// The list of models, in both.
pub(crate) const MODELS: &str = "models";

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
