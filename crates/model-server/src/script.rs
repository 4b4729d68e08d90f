//! The script: rules, the requests that each rule matches, and the answers that it gives. The README explains every field.
//! Reading a script checks it, so that the server never has a rule that it can't follow.

mod reply;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use reply::{Amount, Call, Cut, Damage, Pace, Place, Reply, ReportedUsage, Text, Thinking, Usage};

/// What the server does: the first rule that matches a request answers the request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    pub(crate) key: Option<String>,
    #[serde(default)]
    pub(crate) models: Vec<String>,
    #[serde(default)]
    pub(crate) replay: bool,
    #[serde(default)]
    pub(crate) lenient: bool,
    /// Whether replies to requests with a schema follow the schema and end at the limit of tokens.
    #[serde(default)]
    pub(crate) held_to_schema: bool,
    /// What replies report as usage that don't say it themselves.
    #[serde(default)]
    pub(crate) usage: ReportedUsage,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(default)]
    pub(crate) when: When,
    pub(crate) then: Then,
    /// How many requests the rule answers; absent: all that it matches.
    pub(crate) repeat: Option<u64>,
}

/// The conditions of a rule. The rule matches a request that meets all conditions that are present.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct When {
    pub(crate) endpoint: Endpoint,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) model: Option<String>,
    pub(crate) agent: Option<String>,
    /// A part of the body.
    pub(crate) body: Option<String>,
    pub(crate) last_user: Option<String>,
    pub(crate) tool_result: Option<String>,
    pub(crate) has_tool_result: Option<bool>,
    pub(crate) nth: Option<Count>,
    pub(crate) nth_of_agent: Option<Count>,
    pub(crate) messages: Option<Count>,
    pub(crate) request_key: Option<String>,
    pub(crate) stream: Option<bool>,
}

/// A number, or a range that includes both ends. An absent end means that there is no limit.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(crate) enum Count {
    Exactly(u64),
    Between {
        #[serde(default)]
        from: u64,
        #[serde(default = "u64_max")]
        to: u64,
    },
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Endpoint {
    /// A turn of a model: `POST /v1/messages` or `POST /v1/chat/completions`.
    #[default]
    Turn,
    /// The list of models: `GET /v1/models`.
    Models,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    Anthropic,
    OpenAi,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    Reply(Box<Reply>),
    Wrong(Wrong),
    Raw(Raw),
    Redirect { to: String },
    Close,
    Reset,
    Stall,
    Down { ms: u64 },
    GzipBomb { mib: u32 },
    Tree(Tree),
    Work(Work),
}

/// The refusals of real providers. `refusal.rs` has the status and the body of each in both protocols.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wrong {
    Key,
    Model,
    ContextTooLong,
    Request,
    RateLimit { retry_after: Option<Amount> },
    SpendLimit,
    Credit,
    Overloaded { retry_after: Option<Amount> },
    Server,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: String,
}

#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tree {
    pub(crate) tool: String,
    pub(crate) specialty: String,
    pub(crate) budget: Option<u64>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { tool: "delegate_task".into(), specialty: "worker".into(), budget: None }
    }
}

/// Agents with a known amount of work. `work.rs` plays them.
#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Work {
    /// The tool that hires, and whom it hires: for work that is hired out again, and for a leaf.
    pub(crate) tool: String,
    pub(crate) hirer: String,
    pub(crate) leaf: String,
    /// The tool that a leaf calls, and its arguments.
    pub(crate) cheap_tool: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) pace: Pace,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            tool: "delegate_task".into(),
            hirer: "manager".into(),
            leaf: "worker".into(),
            cheap_tool: "read_file".into(),
            arguments: Map::from_iter([("path".into(), "notes.txt".into())]),
            pace: Pace::default(),
        }
    }
}

impl Script {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let script: Self = serde_json::from_str(text).map_err(|error| format!("the script can't be read: {error}"))?;
        if let Some(why) = script.usage.fault() {
            return Err(format!("`usage` of the script: {why}"));
        }
        match script.rules.iter().enumerate().find_map(|(at, rule)| Some((at, rule.fault()?))) {
            Some((rule, why)) => Err(format!("rule {rule} of the script (the first rule is 0): {why}")),
            None => Ok(script),
        }
    }
}

impl Rule {
    fn fault(&self) -> Option<&'static str> {
        if self.when.nth_of_agent.is_some() && self.when.agent.is_none() {
            return Some("`nth_of_agent` needs `agent`");
        }
        match &self.then {
            Then::Reply(_) | Then::Tree(_) | Then::Work(_) if self.when.endpoint == Endpoint::Models => Some(
                "a rule for the list of models can't have `reply`, `tree` or `work`: a list is not a turn of a model",
            ),
            Then::Reply(reply) => reply.fault(),
            Then::Wrong(wrong) => wrong.retry_after().and_then(|retry| header_value_fault(&retry)),
            Then::Redirect { to } => header_value_fault(to),
            Then::Raw(raw) => raw.fault(),
            Then::Close | Then::Reset | Then::Stall | Then::Down { .. } | Then::GzipBomb { .. } | Then::Tree(_) => None,
            Then::Work(work) => work.pace.fault(),
        }
    }
}

impl Wrong {
    /// The value of the `retry-after` header.
    pub(crate) fn retry_after(&self) -> Option<String> {
        let (Self::RateLimit { retry_after } | Self::Overloaded { retry_after }) = self else { return None };
        Some(Amount::sum(&[retry_after.as_ref()?]))
    }
}

impl Raw {
    fn fault(&self) -> Option<&'static str> {
        let is_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        if !(200..=599).contains(&self.status) {
            Some("`status` must be from 200 to 599")
        } else if self.headers.keys().any(|name| name.is_empty() || !name.chars().all(is_token)) {
            Some("the name of a header is not valid")
        } else {
            self.headers.values().find_map(|value| header_value_fault(value))
        }
    }
}

fn header_value_fault(value: &str) -> Option<&'static str> {
    let is_allowed = |char| matches!(char, '\t' | ' '..='~');
    (!value.chars().all(is_allowed)).then_some("the value of a header must be printable ASCII on one line")
}

impl Count {
    pub(crate) fn includes(self, number: u64) -> bool {
        match self {
            Self::Exactly(exact) => number == exact,
            Self::Between { from, to } => (from..=to).contains(&number),
        }
    }
}

fn u64_max() -> u64 {
    u64::MAX
}
