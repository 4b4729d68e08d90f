//! What a script may say: rules, what they match and what they answer. Reading a script checks it; the server never meets
//! a rule that it can't carry out.
#![allow(missing_docs, reason = "a field whose name says everything has no comment")]

mod reply;

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use reply::{Amount, Call, Cut, Damage, Drip, Pace, Place, Reply, Text, Thinking, Usage, UsageTold};

/// What the server does, for all of its life: a list of rules, the first that matches a request answers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The API key that requests must carry; another or none is refused as the provider does it. Absent: any will do.
    pub key: Option<String>,
    /// The models that exist; another is refused as the provider does it. Empty: every name is a model.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether a repeated request key gets the reply that it got before.
    #[serde(default)]
    pub replay: bool,
    /// Whether requests are taken that the provider would refuse, such as calls without results.
    #[serde(default)]
    pub lenient: bool,
    pub rules: Vec<Rule>,
}

/// One rule: when it applies and what is then answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub when: When,
    pub then: Then,
    /// How often the rule may fire; absent: always.
    pub repeat: Option<u64>,
}

/// The conditions of a rule, all of which must hold; those that are absent hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    pub endpoint: Endpoint,
    pub protocol: Option<Protocol>,
    pub model: Option<String>,
    /// A part of the system prompt: the marker of an agent.
    pub agent: Option<String>,
    /// A part of the last text that the user wrote.
    pub last_user: Option<String>,
    /// A part of the results of tools in the last message.
    pub tool_result: Option<String>,
    /// Whether the last message has results of tools.
    pub has_tool_result: Option<bool>,
    /// The number of the request among all; replayed ones don't count.
    pub nth: Option<Count>,
    /// The number of the request among those whose system prompt has `agent`, which must be given.
    pub nth_of_agent: Option<Count>,
    /// The number of messages in the request, without the system prompt.
    pub messages: Option<Count>,
    pub request_key: Option<String>,
    pub stream: Option<bool>,
}

/// A number, or a range with both ends in it: `3` or `{"from": 2, "to": 5}`. Absent ends are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    Exactly(u64),
    Between {
        #[serde(default)]
        from: u64,
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

/// The two wire protocols: Anthropic Messages and OpenAI Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Anthropic,
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
    /// A response byte for byte.
    Raw(Raw),
    /// A redirect (307) to another address.
    Redirect { to: String },
    /// The connection is closed before any header.
    Close,
    /// The connection is reset before any header.
    Reset,
    /// Nothing is ever answered.
    Stall,
    /// The server closes all its connections and refuses new ones for a while.
    Down { ms: u64 },
    /// A small compressed body that grows to this many MiB of spaces.
    GzipBomb { mib: u32 },
    /// A tree of delegations.
    Tree(Tree),
}

/// The refusals of real providers, each with the status and body of its protocol (in `refusal.rs`). The monthly spend of
/// `SpendLimit` is used up however often a client retries; with `Credit` the account has no money left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    Key,
    Model,
    ContextTooLong,
    Request,
    RateLimit { retry_after: Option<RetryAfter> },
    SpendLimit,
    Credit,
    Overloaded { retry_after: Option<RetryAfter> },
    Server,
}

/// A `retry-after` header: seconds, or any text (a date, nonsense).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RetryAfter {
    Seconds(u64),
    Text(String),
}

/// A response given byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    pub status: u16,
    /// Without a content type it is `application/json`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Templates are filled in.
    #[serde(default)]
    pub body: String,
}

/// A tree of delegations, driven by `TREE depth=d fanout=f` in the task.
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
    #[error("the script is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// A rule that can't be carried out; the first is rule 0.
    #[error("rule {rule} of the script: {why}")]
    Rule { rule: usize, why: &'static str },
}

impl Script {
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), ..Self::default() }
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text)?;
        match script.rules.iter().enumerate().find_map(|(at, rule)| Some((at, rule.fault()?))) {
            Some((rule, why)) => Err(ScriptError::Rule { rule, why }),
            None => Ok(script),
        }
    }
}

impl Rule {
    pub fn new(then: Then) -> Self {
        Self { when: When::default(), then, repeat: None }
    }

    #[must_use]
    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    #[must_use]
    pub fn repeat(self, times: u64) -> Self {
        Self { repeat: Some(times), ..self }
    }

    fn fault(&self) -> Option<&'static str> {
        if self.when.nth_of_agent.is_some() && self.when.agent.is_none() {
            return Some("`nth_of_agent` needs `agent`");
        }
        match &self.then {
            Then::Reply(_) | Then::Tree(_) if self.when.endpoint == Endpoint::Models => {
                Some("the list of models is no turn: it can only go wrong")
            }
            Then::Reply(reply) => reply.fault(),
            Then::Wrong(wrong) => wrong.retry_after().and_then(|retry| value_fault(&retry)),
            Then::Redirect { to } => value_fault(to),
            Then::Raw(raw) => raw_fault(raw),
            Then::Close | Then::Reset | Then::Stall | Then::Down { .. } | Then::GzipBomb { .. } | Then::Tree(_) => None,
        }
    }
}

impl Wrong {
    /// The `retry-after` header.
    pub(crate) fn retry_after(&self) -> Option<String> {
        let (Self::RateLimit { retry_after } | Self::Overloaded { retry_after }) = self else { return None };
        Some(match retry_after.as_ref()? {
            RetryAfter::Seconds(seconds) => seconds.to_string(),
            RetryAfter::Text(text) => text.clone(),
        })
    }
}

fn raw_fault(raw: &Raw) -> Option<&'static str> {
    let is_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
    if !(200..=599).contains(&raw.status) {
        Some("a status is from 200 to 599")
    } else if raw.headers.keys().any(|name| name.is_empty() || !name.chars().all(is_token)) {
        Some("a header has a bad name")
    } else {
        raw.headers.values().find_map(|value| value_fault(value))
    }
}

fn value_fault(value: &str) -> Option<&'static str> {
    let is_fit = |char| matches!(char, '\t' | ' '..='~');
    (!value.chars().all(is_fit)).then_some("a header can't have this value")
}

impl Count {
    pub(crate) fn holds(self, number: u64) -> bool {
        match self {
            Self::Exactly(exact) => number == exact,
            Self::Between { from, to } => (from..=to).contains(&number),
        }
    }
}

fn u64_max() -> u64 {
    u64::MAX
}
