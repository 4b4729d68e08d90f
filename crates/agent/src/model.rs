//! The trait of a model: it is shown a prompt and replies once. Providers implement [`Model`], and other programs can.

use std::pin::Pin;
use std::sync::Arc;

use guildhall_kernel::{AskKey, Tokens};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json_turn::JsonTurn;
use crate::prompt_data::PromptData;
use crate::transcript::size;

/// Work that is running. Dropping the task stops the work.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model that can be asked.
///
/// An implementation retries by itself only after a failure that can't have cost anything (a refused connection, HTTP 429, 500,
/// 503 or 529), with pauses and a limited number of times. It reports every other failure. It never guesses usage.
pub trait Model: Send + Sync {
    /// Shows the model a prompt and waits for the complete reply. `watch` receives the pieces as they arrive.
    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt>;

    /// Returns whether a provider bills the model's usage.
    fn billing(&self) -> Billing {
        Billing::Billed
    }

    /// Returns whether the model reads [`Prompt::data`]. The data is not collected for other models.
    fn reads_data(&self) -> bool {
        false
    }

    /// Returns whether the model's replies are JSON turns: one object in place of native tool calls. Models that need JSON turns
    /// are small and copy what they read into the tasks that they write, so each hire is also shown the task of the root.
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
    /// As the protocol's own tool calls.
    #[default]
    Tools,
    /// As one JSON object per turn, which the server makes follow a schema. What a server refuses of such a request is left out of
    /// later requests: the penalty for repetition, then the bounds on the number of calls. If the server refuses the schema, later
    /// requests use [`CallFormat::Tools`]. Only Chat Completions supports this format.
    Json,
}

/// Whether a provider bills a model's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// A provider bills it, even for replies that never arrived: a call that was lost or stopped counts as its hold.
    Billed,
    /// No provider bills it, and the price is nominal: a call that was lost or stopped counts as what was sent and received.
    Nominal,
}

/// Receives the pieces of a reply as they arrive: to show them to people, and to meter the cost of a call that is stopped. The
/// usage in a [`Delta::Used`] is not final: providers count output at the end.
pub type Watch<'a> = &'a (dyn Fn(Delta<'_>) + Send + Sync);

/// A piece of a reply, as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Delta<'a> {
    Words(&'a str),
    /// The model thinks. The content is not passed on.
    Thinking,
    Call {
        name: &'a str,
    },
    /// The request is sent, for the first time or again. From now on it may cost something.
    Asking,
    /// The request failed without cost, and the attempt waits before it tries again. There is one such delta per wait.
    Waiting {
        seconds: u64,
        why: WaitReason,
        message: &'a str,
    },
    /// More of the reply has arrived: words, thinking, or arguments of calls.
    Received {
        bytes: u64,
    },
    /// The reply is incomplete, and may be billed all the same. The ask ends, and a new ask may follow.
    Lost {
        why: &'a str,
    },
    /// The usage that the provider has reported so far.
    Used(Usage),
}

/// Why an attempt waits before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The provider limits the number of requests: HTTP 429.
    RateLimited,
    /// The provider is temporarily unable to answer: HTTP 408, 500, 503, 529.
    Unavailable,
    /// No connection to the provider can be made.
    Unreachable,
}

/// Everything that a model is shown. A provider caches the part that is the same as in the prompt before, from the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The ask's key. A provider that supports keys answers the same key with the same reply.
    pub key: AskKey,
    /// The agent's instructions and tools.
    pub opening: Arc<Opening>,
    /// The conversation so far. The last message is a [`Message::User`].
    pub messages: Vec<Message>,
    /// The status line, which is for this request alone. It is shown at the end of the last message, after the part that a
    /// provider is asked to cache.
    pub status: Option<String>,
    /// The highest number of tokens of the reply.
    pub max_tokens: u32,
    /// The tool that the reply must call, if any. Not every provider can enforce it.
    pub must_call: Option<String>,
    /// What a request for a JSON turn shows besides the messages, if the model [has JSON turns](Model::has_json_turns). Without
    /// it, a request has native tools.
    pub json_turn: Option<JsonTurn>,
    /// What the model has written so far of a JSON turn that was cut. The reply continues this text.
    pub continues: Option<String>,
    /// The prompt as data, for a model within the process that [reads it](Model::reads_data). It is never sent.
    pub data: Option<Box<PromptData>>,
}

impl Prompt {
    /// Returns the newest text of the newest message to the agent. In the first turn that is its task.
    pub fn last_words(&self) -> Option<&str> {
        self.newest().iter().rev().find_map(|part| match part {
            Part::Words(words) => Some(words.as_str()),
            Part::Result { .. } => None,
        })
    }

    /// Returns the result of the last call of the newest reply, if the newest message has results.
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

/// What the prompts of an agent begin with: its instructions and its tools. They do not change during a contract. All prompts of
/// an agent share one opening, so that a provider has to write it only once.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    system: Arc<str>,
    tools: Vec<ToolSpec>,
    bytes: u64,
}

impl Opening {
    /// Makes an opening of instructions and tools.
    pub fn new(system: impl Into<Arc<str>>, tools: Vec<ToolSpec>) -> Opening {
        let system = system.into();
        let specs = serde_json::to_string(&tools).expect("a tool's schema is JSON");
        Opening { bytes: (system.len() + specs.len()) as u64, system, tools }
    }

    /// Returns the agent's instructions.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Returns the tools that the agent may call.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Returns the size in bytes. An opening has at most as many tokens.
    pub fn bytes(&self) -> u64 {
        self.bytes
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

/// One message of a conversation. Two messages of the same side never follow each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the agent is shown. Results come before words.
    User(Vec<Part>),
    /// What the model replied.
    Assistant(Arc<Reply>),
}

/// A part of a message that an agent is shown.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Part {
    Words(String),
    /// The result of a call of the newest reply.
    Result {
        /// The call's id, as the model gave it.
        call: String,
        text: String,
        /// Whether it failed or was refused.
        failed: bool,
    },
}

impl Message {
    /// Returns the parts that the agent is shown; none for its own reply.
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

/// A model's complete reply. It is stored in this form, and its `raw` is sent to the same provider again byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The protocol of the reply. Over another protocol, only the words and calls are shown.
    pub wire: Wire,
    /// The provider's own form of the reply, including thinking.
    pub raw: Value,
    /// The words for a reader, if there are any.
    pub words: Option<String>,
    /// The calls, in order.
    pub calls: Vec<RawCall>,
    /// Why it ended.
    pub stop: Stop,
    /// What the model wrote in this reply, as it wrote it, if a JSON turn has several parts. Later requests show this part in place
    /// of the words and calls, which are those of the whole turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl Reply {
    /// Makes a reply of words, by a model within the process.
    pub fn words(words: impl Into<String>) -> Reply {
        let words = words.into();
        let raw = json!({ "words": words });
        Reply { wire: Wire::Inside, raw, words: Some(words), calls: Vec::new(), stop: Stop::End, part: None }
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
        let none =
            Reply { wire: Wire::Inside, raw: json!({}), words: None, calls: Vec::new(), stop: Stop::Calls, part: None };
        none.and_call(name, arguments)
    }

    /// Adds a call. All calls of a reply are made at the same time.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Reply {
        let id = format!("call-{}", self.calls.len() + 1);
        self.calls.push(RawCall { id, name: name.into(), arguments: Ok(arguments) });
        let shown = |call: &RawCall| json!({ "name": call.name, "arguments": call.arguments.as_ref().ok() });
        let calls = self.calls.iter().map(shown).collect();
        // The provider's form of a reply can't be changed, so it is dropped, and the reply is shown as words and calls.
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
    /// No protocol: a model within the process.
    Inside,
}

/// A call as the model wrote it. Its content can't be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RawCall {
    /// The call's id. If the model gives none, the adapter makes one.
    pub id: String,
    pub name: String,
    /// The arguments, or the text that is not a JSON object.
    pub arguments: Result<Value, String>,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model finished.
    End,
    /// The model made calls.
    Calls,
    /// The reply reached `max_tokens`. Its last call may be cut off.
    Length,
    /// The model's context window is full.
    Window,
    /// The provider stopped the reply.
    Refusal,
}

impl Stop {
    /// Whether the reply is cut.
    pub fn is_cut(self) -> bool {
        match self {
            Stop::Length | Stop::Window => true,
            Stop::End | Stop::Calls | Stop::Refusal => false,
        }
    }
}

/// The result of asking a model once.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The reply, or why there is none.
    pub outcome: Result<Reply, ModelError>,
    /// The usage that the provider reported, even if there is no reply.
    pub usage: Reported,
}

/// The usage of a call, as far as its provider reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reported {
    /// Nothing was reported.
    #[default]
    Nothing,
    /// Only a part was reported. A missing or too low count may be most of the usage.
    Part(Usage),
    /// Input and output were reported.
    Whole(Usage),
}

impl Reported {
    /// Returns the usage if it was reported in full.
    pub fn whole(self) -> Option<Usage> {
        match self {
            Reported::Whole(usage) => Some(usage),
            Reported::Nothing | Reported::Part(_) => None,
        }
    }

    /// Returns each count that was reported, and zero for each other count.
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
    /// All input, including cached input.
    pub input: u64,
    /// The part of the input that was read from a cache.
    pub cache_read: u64,
    /// The part of the input that was written to a cache.
    pub cache_write: u64,
    /// Output, including thinking.
    pub output: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Tokens {
        Tokens { input: usage.input, cached: usage.cache_read, output: usage.output }
    }
}

impl Usage {
    /// Counts the bytes of a prompt and a reply, for a model that has no tokens. All but the newest message and the status counts
    /// as read from a cache.
    pub fn in_bytes(prompt: &Prompt, reply: &Reply) -> Usage {
        let status = prompt.status.as_ref().map_or(0, String::len) as u64;
        let input = prompt.opening.bytes() + size(&prompt.messages) + status;
        let newest = prompt.messages.last().map_or(0, |newest| size(std::slice::from_ref(newest))) + status;
        let cache_read = if prompt.messages.len() > 1 { input - newest } else { 0 };
        let output = size(&[Message::Assistant(Arc::new(reply.clone()))]);
        Usage { input, cache_read, cache_write: 0, output }
    }
}

/// Why a model did not reply. Each message says what happened and what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ModelError {
    /// The provider could not be reached, even after retries. The request can't have cost anything.
    #[error("{provider} can't be reached: {why}")]
    Unavailable { provider: String, why: String },
    /// The reply broke off, or was not valid. It may have cost something, even if no usage was reported.
    #[error("did not get a complete reply from {provider}: {why}")]
    Broken { provider: String, why: String },
    /// The provider refused: a wrong key, an unknown model, a limit, an unreadable request, or too many requests.
    #[error("{provider} refused: {why}")]
    Refused { provider: String, why: String },
    /// There is no model to ask, because the agent can't be set up.
    #[error("{why}")]
    NoModel { why: String },
    /// The prompt is longer than the model's window.
    #[error("the prompt is too long for {provider}: {why}")]
    TooLong { provider: String, why: String },
}
