//! What a script may say: rules, what they match and what they answer. Reading a script checks it; the server never meets
//! a rule that it can't carry out.

pub(crate) mod reply;

use std::collections::BTreeMap;
use std::str::FromStr;

use hyper::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use reply::Reply;

/// What the server does, for all of its life: a list of rules, the first that matches a request answers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The API key that requests must carry; another or none is refused as the provider does it. Absent: any will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The models that exist; another is refused as the provider does it. Empty: every name is a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Whether a repeated request key gets the reply that it got before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replay: bool,
    /// Whether requests are taken that the provider would refuse, such as calls without results.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lenient: bool,
    /// The rules, in the order in which they are tried.
    pub rules: Vec<Rule>,
}

/// One rule: when it applies and what is then answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// All that must hold.
    #[serde(default, skip_serializing_if = "is_default")]
    pub when: When,
    /// The answer.
    pub then: Then,
    /// How often the rule may fire; absent: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
}

/// The conditions of a rule; those that are absent hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// What is asked for: a turn of a model, or the list of models.
    #[serde(skip_serializing_if = "is_default")]
    pub endpoint: Endpoint,
    /// The protocol of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The model, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A part of the system prompt: the marker of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A part of the last text that the user wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_user: Option<String>,
    /// A part of the results of tools in the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_result: Option<String>,
    /// Whether the last message has results of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_tool_result: Option<bool>,
    /// The number of the request among all; replayed ones don't count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<Count>,
    /// The number of the request among those whose system prompt has `agent`, which must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth_of_agent: Option<Count>,
    /// The number of messages in the request, without the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Count>,
    /// The request key, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_key: Option<String>,
    /// Whether a stream was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
}

/// A number, or a range with both ends in it: `3` or `{"from": 2, "to": 5}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// Exactly this many.
    Exactly(u64),
    /// From the first to the last; absent ends are open.
    Between {
        /// The least.
        #[serde(default)]
        from: u64,
        /// The most.
        #[serde(default = "u64_max")]
        to: u64,
    },
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// A turn of a model: `POST /v1/messages` or `POST /v1/chat/completions`.
    #[default]
    Turn,
    /// The list of models: `GET /v1/models`.
    Models,
}

/// The two wire protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    #[serde(rename = "openai")]
    OpenAi,
}

/// What a rule answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// A turn of the model, whole or damaged on its way.
    Reply(Box<Reply>),
    /// The provider says no, in its own words.
    Wrong(Wrong),
    /// A response given byte for byte.
    Raw(Raw),
    /// A redirect (307) to another address.
    Redirect {
        /// The address.
        to: String,
    },
    /// The connection is closed before any header.
    Close,
    /// The connection is reset before any header.
    Reset,
    /// Nothing is ever answered.
    Stall,
    /// The server closes all its connections and refuses new ones for a while.
    Down {
        /// How long.
        ms: u64,
    },
    /// A small compressed body that grows to this many MiB of spaces.
    GzipBomb {
        /// The size when unpacked.
        mib: u32,
    },
    /// A tree of delegations, driven by `TREE depth=d fanout=f` in the task.
    Tree(Tree),
}

/// The refusals of real providers. Each protocol has its own status and body for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// 401: the key is not known.
    Key,
    /// 404: the model is not known.
    Model,
    /// 400: the prompt is longer than the window.
    ContextTooLong,
    /// 400: the request is not understood.
    Request,
    /// 429: too many requests or tokens per minute.
    RateLimit {
        /// The `retry-after` header.
        #[serde(default)]
        retry_after: Option<RetryAfter>,
    },
    /// 429 that no retry mends: the monthly spend is used up.
    SpendLimit,
    /// 400 or 429: the account has no money left.
    Credit,
    /// 529, and 503 from OpenAI.
    Overloaded {
        /// The `retry-after` header.
        #[serde(default)]
        retry_after: Option<RetryAfter>,
    },
    /// 500.
    Server,
}

/// A `retry-after` header: seconds, or any text (a date, nonsense).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RetryAfter {
    /// Seconds.
    Seconds(u64),
    /// The header as it is sent.
    Text(String),
}

/// A response given byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The status.
    pub status: u16,
    /// The headers; without a content type it is `application/json`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body; templates are filled in.
    #[serde(default)]
    pub body: String,
}

/// How a tree of delegations is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tree {
    /// The tool that hires.
    pub tool: String,
    /// Its argument `specialty`.
    pub specialty: String,
    /// Its argument `budget`, when the task says no `budget=b`, which is then shared among the children.
    pub budget: Option<u64>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { tool: "delegate_task".into(), specialty: "worker".into(), budget: None }
    }
}

/// Why a text is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not JSON, or not of this shape.
    #[error("the script is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// A rule that can't be carried out.
    #[error("rule {rule} of the script: {why}")]
    Rule {
        /// Its place, from 0.
        rule: usize,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Script {
    /// A script of these rules, without a key, for all models, without replay.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), ..Self::default() }
    }

    fn check(&self) -> Result<(), ScriptError> {
        for (rule, Rule { when, then, .. }) in self.rules.iter().enumerate() {
            if let Some(why) = when.fault().or_else(|| then.fault(when.endpoint)) {
                return Err(ScriptError::Rule { rule, why });
            }
        }
        Ok(())
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text)?;
        script.check()?;
        Ok(script)
    }
}

impl Rule {
    /// A rule that always applies.
    pub fn new(then: Then) -> Self {
        Self { when: When::default(), then, repeat: None }
    }

    /// The rule, under these conditions.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// The rule, which may fire this often.
    #[must_use]
    pub fn repeat(self, times: u64) -> Self {
        Self { repeat: Some(times), ..self }
    }
}

impl When {
    fn fault(&self) -> Option<&'static str> {
        (self.nth_of_agent.is_some() && self.agent.is_none()).then_some("`nth_of_agent` needs `agent`")
    }
}

impl Then {
    fn fault(&self, endpoint: Endpoint) -> Option<&'static str> {
        match self {
            Self::Reply(_) | Self::Tree(_) if endpoint == Endpoint::Models => {
                Some("the list of models is no turn: it can only go wrong")
            }
            Self::Reply(reply) => reply.fault(),
            Self::Wrong(wrong) => wrong.retry_after().and_then(|retry| value_fault(&retry.header())),
            Self::Redirect { to } => value_fault(to),
            Self::Raw(raw) => raw.fault(),
            Self::Close | Self::Reset | Self::Stall | Self::Down { .. } | Self::GzipBomb { .. } | Self::Tree(_) => None,
        }
    }
}

impl Wrong {
    pub(crate) fn retry_after(&self) -> Option<&RetryAfter> {
        match self {
            Self::RateLimit { retry_after } | Self::Overloaded { retry_after } => retry_after.as_ref(),
            Self::Key
            | Self::Model
            | Self::ContextTooLong
            | Self::Request
            | Self::SpendLimit
            | Self::Credit
            | Self::Server => None,
        }
    }
}

impl Raw {
    fn fault(&self) -> Option<&'static str> {
        if !(200..=599).contains(&self.status) {
            return Some("a status is from 200 to 599");
        }
        let named = self.headers.keys().all(|name| HeaderName::from_bytes(name.as_bytes()).is_ok());
        if named { self.headers.values().find_map(|value| value_fault(value)) } else { Some("a header has a bad name") }
    }
}

fn value_fault(value: &str) -> Option<&'static str> {
    HeaderValue::from_str(value).is_err().then_some("a header can't have this value")
}

impl Count {
    pub(crate) fn holds(self, number: u64) -> bool {
        match self {
            Self::Exactly(exact) => number == exact,
            Self::Between { from, to } => (from..=to).contains(&number),
        }
    }
}

impl RetryAfter {
    pub(crate) fn header(&self) -> String {
        match self {
            Self::Seconds(seconds) => seconds.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

fn u64_max() -> u64 {
    u64::MAX
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
