//! A turn of the model as a script describes it: what the model returns, how fast, and how the network damages it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// A turn of the model, in the order in which it is sent: thinking, text, calls.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Reply {
    pub(crate) thinking: Vec<Thinking>,
    pub(crate) text: Option<Text>,
    pub(crate) calls: Vec<Call>,
    /// Absent if the reply reports what the script says for all replies.
    pub(crate) usage: Option<ReportedUsage>,
    pub(crate) stop: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) noise: bool,
    pub(crate) pace: Pace,
    pub(crate) damage: Option<Damage>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Text {
    /// A text with templates.
    Plain(String),
    /// Copied unchanged between the quotes of a JSON string: the way to send a lone surrogate such as `\ud800`.
    Escaped { escaped: String },
    /// A piece, many times: the way to send 50 MB.
    Again { again: String, times: usize },
    /// JSON of this depth, as `{"a":{"a":…1…}}`.
    Nested { nested: usize },
}

#[derive(Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Thinking {
    Open { thinking: Text, signature: String },
    Redacted { redacted: String },
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
    pub(crate) raw: Option<Text>,
    pub(crate) times: Option<usize>,
}

/// What the server reports as usage.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportedUsage {
    /// A token for every four bytes of request and reply.
    #[default]
    Counted,
    Absent,
    /// This part of what is counted, as numerator and denominator, rounded down: a provider that reports too little, or nothing.
    Fraction(u64, u64),
    #[serde(untagged)]
    Given(Usage),
}

/// Numbers of tokens. `input` does not include tokens that a cache read or wrote: Anthropic counts that way.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    pub(crate) input: Amount,
    pub(crate) output: Amount,
    pub(crate) cache_read: Amount,
    pub(crate) cache_write: Amount,
    pub(crate) input_at_start: Option<Amount>,
    pub(crate) earlier: Vec<Usage>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Amount {
    Number(i64),
    /// Text that is sent instead of a number, such as `1e400`.
    Verbatim(String),
}

/// How fast a reply is sent. By default nothing waits.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Pace {
    /// Before the headers.
    pub(crate) headers_ms: u64,
    /// Between the headers and the first byte.
    pub(crate) first_ms: u64,
    /// Between two events of a stream.
    pub(crate) between_ms: u64,
    pub(crate) chunk_chars: Option<usize>,
    pub(crate) drip: Option<Drip>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drip {
    pub(crate) bytes: usize,
    pub(crate) every_ms: u64,
}

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Damage {
    /// The body ends early.
    Cut { after: Place, how: Cut },
    /// The server stops sending and leaves the connection open.
    Stall { after: Place },
    /// After some events, the stream reports an error (Anthropic's `error` event, an `error` chunk of OpenAI) and ends.
    Error { events: usize, kind: String, message: String },
    /// The last events of the stream are sent twice.
    EndTwice,
}

/// A place in the body of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// Before any header: the turn was executed, but the client receives nothing.
    Start,
    Bytes(usize),
    /// After this many events of a stream.
    Events(usize),
    /// Inside the first character that has more than one byte; if there is none, in the middle of the body.
    InsideUtf8,
    /// Inside the JSON of the last delta; in a body that is not a stream, in the middle.
    InsideDelta,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cut {
    Reset,
    /// The connection is closed before the announced end of the body.
    Close,
    /// The shortened body ends correctly.
    End,
}

impl Reply {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.calls.iter().any(|call| call.raw.is_some() && !call.arguments.is_empty()) {
            Some("a call must have `arguments` or `raw`, not both")
        } else if let Some(why) = self.pace.fault() {
            Some(why)
        } else if let Some(why) = self.usage.as_ref().and_then(ReportedUsage::fault) {
            Some(why)
        } else {
            self.content_type.as_deref().and_then(super::header_value_fault)
        }
    }
}

impl Pace {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.chunk_chars == Some(0) {
            Some("`chunk_chars` must be at least 1")
        } else {
            self.drip.is_some_and(|drip| drip.bytes == 0).then_some("`bytes` of `drip` must be at least 1")
        }
    }
}

impl ReportedUsage {
    pub(super) fn fault(&self) -> Option<&'static str> {
        matches!(self, Self::Fraction(_, 0)).then_some("the denominator of `fraction` must be at least 1")
    }
}

impl Amount {
    /// Returns the sum as text, or the first amount that is not a number.
    pub(crate) fn sum(amounts: &[&Amount]) -> String {
        let mut total = 0_i128;
        for amount in amounts {
            match amount {
                Amount::Number(number) => total += i128::from(*number),
                Amount::Verbatim(text) => return text.clone(),
            }
        }
        total.to_string()
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Number(0)
    }
}
