//! A turn of the model as a script has it: what it says, at what pace, and how it is damaged on its way.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::is_default;

/// A turn of the model: first what it thinks, then what it says, then the tools it calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// What it thinks; `reasoning_content` in the OpenAI protocol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thinking: Vec<Thinking>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// The tools it calls, all in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The tokens it says to have used.
    #[serde(skip_serializing_if = "is_default")]
    pub usage: UsageTold,
    /// The stop reason in Anthropic's words, which are translated; any other word is sent as it is, and `missing` is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Another content type than the right one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Whether a stream has what real ones have: comments, CRLF, pings and events that nobody knows.
    #[serde(skip_serializing_if = "is_default")]
    pub noise: bool,
    /// How fast it comes.
    #[serde(skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// How it is damaged on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<Damage>,
}

/// A text of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Text {
    /// As it stands, with templates filled in.
    Plain(String),
    /// Put between the quotes of a JSON string as it is: the way to send a lone surrogate.
    Escaped {
        /// Such as `\ud800`.
        escaped: String,
    },
    /// A piece, many times: the way to send 50 MB.
    Again {
        /// The piece.
        again: String,
        /// How often.
        times: usize,
    },
    /// JSON as deep as this, as `{"a":{"a":…1…}}`.
    Nested {
        /// The depth.
        nested: usize,
    },
}

/// A block of thinking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Thinking {
    /// One that can be read, with its signature.
    Open {
        /// What is thought.
        thinking: Text,
        /// What a client must send back unchanged.
        signature: String,
    },
    /// One that can't.
    Redacted {
        /// What a client must send back unchanged.
        redacted: String,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The id of the call, with templates filled in; absent: one that is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments; templates in their texts are filled in.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The arguments as text instead, which need not be JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Text>,
    /// How many such calls; `{{i}}` is the number of each, from 0.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: usize,
}

/// What is said about usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageTold {
    /// A token for every four bytes of request and reply.
    #[default]
    Counted,
    /// Nothing.
    Absent,
    /// These numbers.
    #[serde(untagged)]
    Given(Usage),
}

/// Numbers of tokens. `input` leaves out what the cache gave or took, as Anthropic counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Neither read from the cache nor written to it.
    pub input: Amount,
    /// Written by the model.
    pub output: Amount,
    /// Read from the cache.
    pub cache_read: Amount,
    /// Written to the cache.
    pub cache_write: Amount,
    /// `input` as the start of a stream has it, if that differs (Anthropic).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_at_start: Option<Amount>,
    /// What a stream reports before this, after the reply and in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Usage>,
}

/// A number, or anything that a bad provider writes in its place, such as `1e400`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number.
    Whole(i64),
    /// Sent as it is.
    Verbatim(String),
}

/// How fast a reply comes. Everything at once, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Before the headers.
    #[serde(skip_serializing_if = "is_default")]
    pub headers_ms: u64,
    /// Between the headers and the first byte.
    #[serde(skip_serializing_if = "is_default")]
    pub first_ms: u64,
    /// Between two events of a stream.
    #[serde(skip_serializing_if = "is_default")]
    pub between_ms: u64,
    /// The characters in a delta, at least 1; absent: 24. A text never has more than 1,000 deltas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_chars: Option<usize>,
    /// A few bytes at a time, wherever they are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drip: Option<Drip>,
}

/// A slow drip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drip {
    /// The bytes of each drop, at least 1.
    pub bytes: usize,
    /// The time between two.
    pub every_ms: u64,
}

/// How a reply is damaged on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// It breaks off.
    Cut {
        /// Where.
        after: Place,
        /// How.
        how: Cut,
    },
    /// The stream goes silent and stays open.
    Stall {
        /// Where.
        after: Place,
    },
    /// The stream says that something went wrong (Anthropic's `error` event, an `error` chunk of OpenAI) and ends.
    Error {
        /// After this many events.
        events: usize,
        /// The type of the error.
        kind: String,
        /// What it says.
        message: String,
    },
    /// The end of the stream comes twice.
    EndTwice,
}

/// A place in the body of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before any header: the turn was executed, and nothing of it arrives.
    Start,
    /// After this many bytes.
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
    /// A turn that only says something.
    pub fn text(text: impl Into<String>) -> Box<Self> {
        Box::new(Self { text: Some(Text::Plain(text.into())), ..Self::default() })
    }

    /// A turn that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Box<Self> {
        Box::new(Self { calls: calls.into_iter().collect(), ..Self::default() })
    }

    /// The reply, damaged.
    #[must_use]
    pub fn damage(self: Box<Self>, damage: Damage) -> Box<Self> {
        Box::new(Self { damage: Some(damage), ..*self })
    }

    pub(super) fn fault(&self) -> Option<&'static str> {
        let both = |call: &Call| call.raw.is_some() && !call.arguments.is_empty();
        if self.calls.iter().any(both) {
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
        Self { id: None, name: name.into(), arguments, raw: None, times: 1 }
    }

    /// A call whose arguments are this text.
    pub fn raw(name: impl Into<String>, raw: Text) -> Self {
        Self { raw: Some(raw), ..Self::new(name, Value::Object(Map::new())) }
    }

    /// The call, with this id.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The call, this many times.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Whole(0)
    }
}

impl Default for Usage {
    fn default() -> Self {
        let zero = Amount::default;
        Self {
            input: zero(),
            output: zero(),
            cache_read: zero(),
            cache_write: zero(),
            input_at_start: None,
            earlier: Vec::new(),
        }
    }
}

fn once() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_once(times: &usize) -> bool {
    *times == 1
}
