//! What a model is to Guildhall: it is shown a prompt and replies, once. Providers implement [`Model`]; so may anybody.

use std::pin::Pin;
use std::sync::Arc;

use guildhall_kernel::AskKey;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::prompt_data::PromptData;
use crate::transcript::size;

/// Work that is under way. Dropping it stops it.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model that can be asked.
///
/// An implementation retries by itself only after a failure that can't have cost anything (a refused connection, HTTP 429, 500,
/// 503 or 529), with pauses and a limited number of times. It reports every other failure. It never guesses usage.
pub trait Model: Send + Sync {
    /// Shows the model a prompt and waits for its whole reply. What arrives on the way is told to `watch`.
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt>;

    /// Says whether somebody bills what it uses.
    fn billing(&self) -> Billing {
        Billing::Billed
    }

    /// Says whether the model reads [`Prompt::data`]. Nobody else pays for collecting it.
    fn reads_data(&self) -> bool {
        false
    }

    /// Says whether its replies are JSON turns: one object in place of native tool calls. Models that need them are small and
    /// copy what they read, so that each hire of theirs is also shown the task of the root.
    fn has_json_turns(&self) -> bool {
        false
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        M::ask(self, prompt, watch)
    }

    fn billing(&self) -> Billing {
        M::billing(self)
    }

    fn has_json_turns(&self) -> bool {
        M::has_json_turns(self)
    }

    fn reads_data(&self) -> bool {
        M::reads_data(self)
    }
}

/// How a model makes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallFormat {
    /// By the protocol's own tool calls.
    #[default]
    Tools,
    /// By one JSON object per turn, which the server holds to a schema. A server that refuses that is asked with
    /// [`CallFormat::Tools`] from then on. Only Chat Completions has it.
    Json,
}

/// Whether somebody bills what a model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// A provider does, also for replies that never arrived: a call that was lost or stopped counts as its hold.
    Billed,
    /// Nobody does, and its price is nominal: a call that was lost or stopped counts as what was sent and what arrived.
    Nominal,
}

/// Is told what arrives of a reply before it is whole: for people who watch, and for a meter that says what a call costs that
/// is stopped. A [`Delta::Used`] on the way is no bill: providers count output at the end.
pub type Watch<'a> = &'a (dyn Fn(Delta<'_>) + Send + Sync);

/// A piece of a reply, as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Delta<'a> {
    Words(&'a str),
    /// The model thinks; what, is its own business.
    Thinking,
    Call {
        name: &'a str,
    },
    /// The request leaves, for the first time or once more. From here on it may cost something.
    Asking,
    /// What was asked can't have cost anything. The attempt waits before it tries again. It says so once per pause.
    Waiting {
        seconds: u64,
        why: WaitReason,
        said: &'a str,
    },
    /// More of the reply has arrived: words, thoughts and arguments of calls alike.
    Received {
        bytes: u64,
    },
    /// There is no whole reply, and it may be billed all the same. The ask ends, and a new one may follow.
    Lost {
        why: &'a str,
    },
    /// What the provider has reported as used so far.
    Used(Usage),
}

/// Why an attempt waits before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The provider takes only so many requests at a time: HTTP 429.
    RateLimited,
    /// The provider answered that it can't work now: HTTP 408, 500, 503, 529.
    Unavailable,
    /// There is no connection to the provider.
    Unreachable,
}

/// Everything a model is shown. The longer it stays the same from its beginning, the more of it a provider has in its cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The ask: a provider that knows keys answers the same key with the same reply.
    pub key: AskKey,
    /// Who the agent is, what it can do, by which rules. It does not change during a contract.
    pub system: String,
    /// The tools it may call, in an order that does not change.
    pub tools: Vec<ToolSpec>,
    /// What was said so far. The last is a user's.
    pub messages: Vec<Message>,
    /// What holds for this request alone. It is shown after everything else, as the last words of the last message, and
    /// after what a provider is asked to cache.
    pub status: Option<String>,
    /// The most tokens that may come back.
    pub max_tokens: u32,
    /// The tool that the reply must call, if it must call one. Not every provider can be held to it.
    pub must_call: Option<String>,
    /// The same as data, for a model within the process that [reads it](Model::reads_data). It is never sent.
    pub data: Option<Box<PromptData>>,
}

impl Prompt {
    /// Returns what the agent was told last in words: its task, at first.
    pub fn last_words(&self) -> Option<&str> {
        self.newest().iter().rev().find_map(|part| match part {
            Part::Words(words) => Some(words.as_str()),
            Part::Result { .. } => None,
        })
    }

    /// Returns what the last call of the reply before brought, if the agent is told that now.
    pub fn last_result(&self) -> Option<&str> {
        self.newest().iter().rev().find_map(|part| match part {
            Part::Result { text, .. } => Some(text.as_str()),
            Part::Words(_) => None,
        })
    }

    fn newest(&self) -> &[Part] {
        self.messages.last().map(Message::parts).unwrap_or_default()
    }
}

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolSpec {
    pub name: String,
    /// What it does, and when to use it.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub schema: Value,
}

/// One message of a conversation. Those of the same side never follow each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the agent is told. Results come before words.
    User(Vec<Part>),
    /// What the model replied.
    Assistant(Arc<Reply>),
}

/// A part of what an agent is told.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Part {
    Words(String),
    /// What became of a call of the reply before.
    Result {
        /// The call's id, as the model gave it.
        call: String,
        text: String,
        /// Whether it failed or was refused.
        failed: bool,
    },
}

impl Message {
    /// What the agent is told by it; nothing by its own reply.
    pub(crate) fn parts(&self) -> &[Part] {
        match self {
            Message::User(parts) => parts,
            Message::Assistant(_) => &[],
        }
    }
}

impl Part {
    pub(crate) fn text(&self) -> &str {
        let (Part::Words(text) | Part::Result { text, .. }) = self;
        text
    }
}

/// A model's whole reply. It is stored as it is here, and shown to the same provider again byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Which protocol it came over: another one is shown the words and calls only.
    pub wire: Wire,
    /// The provider's own form of it, thinking and all.
    pub raw: Value,
    /// The words for a reader, if there are any.
    pub words: Option<String>,
    /// The calls, in order.
    pub calls: Vec<RawCall>,
    /// Why it ended.
    pub stop: Stop,
}

impl Reply {
    /// Makes a reply of words, by a model within the process.
    pub fn words(words: impl Into<String>) -> Reply {
        let words = words.into();
        let raw = json!({ "words": words });
        Reply { wire: Wire::Inside, raw, words: Some(words), calls: Vec::new(), stop: Stop::End }
    }

    /// Makes a reply that calls a tool, by a model within the process.
    ///
    /// ```
    /// use guildhall_agent::Reply;
    /// use serde_json::json;
    /// let reply = Reply::call("stock", json!({"shelf": "north"})).and_call("stock", json!({"shelf": "south"}));
    /// assert_eq!(reply.calls.len(), 2);
    /// ```
    pub fn call(name: impl Into<String>, arguments: Value) -> Reply {
        let none = Reply { wire: Wire::Inside, raw: json!({}), words: None, calls: Vec::new(), stop: Stop::Calls };
        none.and_call(name, arguments)
    }

    /// Adds a call to it. All calls of a reply are made at once.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Reply {
        let id = format!("call-{}", self.calls.len() + 1);
        self.calls.push(RawCall { id, name: name.into(), arguments: Ok(arguments) });
        let shown = |call: &RawCall| json!({ "name": call.name, "arguments": call.arguments.as_ref().ok() });
        let calls = self.calls.iter().map(shown).collect();
        // What came over a wire has another form, and is shown by its calls once it has none.
        if let Value::Object(raw) = &mut self.raw {
            raw.insert("calls".to_owned(), calls);
        } else {
            self.raw = Value::Null;
        }
        self.stop = Stop::Calls;
        self
    }
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Wire {
    Anthropic,
    /// OpenAI-compatible Chat Completions.
    OpenAi,
    /// None: a model within the process.
    Inside,
}

/// A call as the model wrote it. Nothing in it can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RawCall {
    /// Its id; adapters make one up where the model gave none.
    pub id: String,
    pub name: String,
    /// The arguments, or the text that was no JSON object.
    pub arguments: Result<Value, String>,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had said what it wanted.
    End,
    /// It wants its calls answered.
    Calls,
    /// It ran into `max_tokens`; its last call may be cut.
    Length,
    /// The provider would not let it go on.
    Refusal,
}

/// What came of asking a model once.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The reply, or why there is none.
    pub outcome: Result<Reply, ModelError>,
    /// What the provider reported as used, also where there is no reply.
    pub usage: Reported,
}

/// What a provider reported of the tokens of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reported {
    /// It did not say.
    #[default]
    Nothing,
    /// Only some of it. A count that is missing here, or too low, may be most of what was used.
    Part(Usage),
    /// Input and output.
    Whole(Usage),
}

impl Reported {
    /// Returns the usage if all of it was reported.
    pub fn whole(self) -> Option<Usage> {
        match self {
            Reported::Whole(usage) => Some(usage),
            Reported::Nothing | Reported::Part(_) => None,
        }
    }

    /// Returns each count that was reported, and zero for one that was not.
    pub(crate) fn at_least(self) -> Usage {
        match self {
            Reported::Part(usage) | Reported::Whole(usage) => usage,
            Reported::Nothing => Usage::default(),
        }
    }
}

/// Tokens, as a provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    /// The part of the input that was read from a cache.
    pub cache_read: u64,
    /// The part of the input that was written to a cache.
    pub cache_write: u64,
    /// Output, thinking included.
    pub output: u64,
}

impl Usage {
    /// Counts bytes, for a model that has no tokens: those that it was shown and those that it wrote. All but the newest
    /// message and the status was shown before.
    pub fn in_bytes(prompt: &Prompt, reply: &Reply) -> Usage {
        let specs = serde_json::to_string(&prompt.tools).map_or(0, |specs| specs.len());
        let status = prompt.status.as_ref().map_or(0, String::len) as u64;
        let input = (prompt.system.len() + specs) as u64 + size(&prompt.messages) + status;
        let newest = prompt.messages.last().map_or(0, |newest| size(std::slice::from_ref(newest))) + status;
        let cache_read = if prompt.messages.len() > 1 { input - newest } else { 0 };
        let output = size(&[Message::Assistant(Arc::new(reply.clone()))]);
        Usage { input, cache_read, cache_write: 0, output }
    }
}

/// Why a model did not reply. Each says what happened and what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ModelError {
    /// It can't have cost anything, and trying again did not help.
    #[error("{provider} can't be reached: {why}")]
    Unavailable { provider: String, why: String },
    /// The reply broke off, or was no reply: it may have cost something, whatever was reported by then.
    #[error("did not get a complete reply from {provider}: {why}")]
    Broken { provider: String, why: String },
    /// The provider answered that it won't: a wrong key, an unknown model, a limit, a request it can't read, too many requests.
    #[error("{provider} refused: {why}")]
    Refused { provider: String, why: String },
    /// The prompt is longer than the model's window.
    #[error("the prompt is too long for {provider}: {why}")]
    TooLong { provider: String, why: String },
}
