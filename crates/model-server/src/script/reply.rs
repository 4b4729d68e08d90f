//! A turn of the model as a script has it: what it says, at what pace, and how it is damaged on its way.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A turn of the model: first what it thinks, then what it says, then the tools it calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// What it thinks; `reasoning_content` in the OpenAI protocol.
    pub thinking: Vec<Thinking>,
    pub text: Option<Text>,
    pub calls: Vec<Call>,
    pub usage: UsageTold,
    /// The stop reason in Anthropic's words, which are translated; any other word is sent as it is, and `missing` is none.
    pub stop: Option<String>,
    /// Another content type than the right one.
    pub content_type: Option<String>,
    /// Whether a stream has what real ones have: comments, CRLF, pings and events that nobody knows.
    pub noise: bool,
    pub pace: Pace,
    pub damage: Option<Damage>,
}

/// A text of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Text {
    /// As it stands, with templates filled in.
    Plain(String),
    /// Put between the quotes of a JSON string as it is: the way to send a lone surrogate such as `\ud800`.
    Escaped { escaped: String },
    /// A piece, many times: the way to send 50 MB.
    Again { again: String, times: usize },
    /// JSON as deep as this, as `{"a":{"a":…1…}}`.
    Nested { nested: usize },
}

/// A block of thinking, readable or not. A client must send back `signature` and `redacted` unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Thinking {
    Open { thinking: Text, signature: String },
    Redacted { redacted: String },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The id of the call, with templates filled in; absent: one that is new.
    pub id: Option<String>,
    pub name: String,
    /// The arguments; templates in their texts are filled in.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The arguments as text instead, which need not be JSON.
    pub raw: Option<Text>,
    /// How many such calls, absent: one; `{{i}}` is the number of each, from 0.
    pub times: Option<usize>,
}

/// What is said about usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageTold {
    /// A token for every four bytes of request and reply.
    #[default]
    Counted,
    Absent,
    #[serde(untagged)]
    Given(Usage),
}

/// Numbers of tokens. `input` leaves out what the cache gave or took, as Anthropic counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: Amount,
    pub output: Amount,
    pub cache_read: Amount,
    pub cache_write: Amount,
    /// `input` as the start of a stream has it, if that differs (Anthropic).
    pub input_at_start: Option<Amount>,
    /// What a stream reports before this, after the reply and in this order.
    pub earlier: Vec<Usage>,
}

/// A number, or anything that a bad provider writes in its place, such as `1e400`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    Whole(i64),
    /// Sent as it is.
    Verbatim(String),
}

/// How fast a reply comes. Everything at once, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Before the headers.
    pub headers_ms: u64,
    /// Between the headers and the first byte.
    pub first_ms: u64,
    /// Between two events of a stream.
    pub between_ms: u64,
    /// The characters in a delta, at least 1; absent: 24. A text never has more than 1,000 deltas.
    pub chunk_chars: Option<usize>,
    /// A few bytes at a time, wherever they are cut.
    pub drip: Option<Drip>,
}

/// A slow drip: this many bytes, at least 1, then a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drip {
    pub bytes: usize,
    pub every_ms: u64,
}

/// How a reply is damaged on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It breaks off.
    Cut { after: Place, how: Cut },
    /// The stream goes silent and stays open.
    Stall { after: Place },
    /// After some events, the stream says that something went wrong (Anthropic's `error` event, an `error` chunk of
    /// OpenAI) and ends. `kind` is the type of the error.
    Error { events: usize, kind: String, message: String },
    /// The end of the stream comes twice.
    EndTwice,
}

/// A place in the body of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before any header: the turn was executed, and nothing of it arrives.
    Start,
    Bytes(usize),
    /// After this many events of a stream.
    Events(usize),
    /// Inside the first character of more than one byte; without one, in the middle.
    InsideUtf8,
    /// Inside the JSON of the last delta; without a stream, inside the JSON.
    InsideDelta,
}

/// How a body breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The connection is reset.
    Reset,
    /// The connection is closed, the end of the body is missing.
    Close,
    /// The body ends as if it were whole.
    End,
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Box<Self> {
        Box::new(Self { text: Some(Text::Plain(text.into())), ..Self::default() })
    }

    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Box<Self> {
        Box::new(Self { calls: calls.into_iter().collect(), ..Self::default() })
    }

    #[must_use]
    pub fn damage(self: Box<Self>, damage: Damage) -> Box<Self> {
        Box::new(Self { damage: Some(damage), ..*self })
    }

    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.calls.iter().any(|call| call.raw.is_some() && !call.arguments.is_empty()) {
            Some("a call has `arguments` or `raw`, not both")
        } else if self.pace.chunk_chars == Some(0) {
            Some("`chunk_chars` is at least 1")
        } else if self.pace.drip.is_some_and(|drip| drip.bytes == 0) {
            Some("a drop has at least one byte")
        } else {
            self.content_type.as_deref().and_then(super::value_fault)
        }
    }
}

impl Call {
    /// A call with these arguments, which are an object.
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object: {arguments}") };
        Self { id: None, name: name.into(), arguments, raw: None, times: None }
    }

    pub fn raw(name: impl Into<String>, raw: Text) -> Self {
        Self { raw: Some(raw), ..Self::new(name, Value::Object(Map::new())) }
    }

    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Whole(0)
    }
}
