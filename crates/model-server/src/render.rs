//! Writes a reply as the body of a response: the part that both protocols share. The JSON is built from strings, because
//! a library would refuse lone surrogates, invalid arguments and numbers out of range.

use std::borrow::Cow;

use crate::entry::Tokens;
use crate::script::{Amount, Protocol, Reply, ReportedUsage, Text, Thinking, Usage};
use crate::turn::Turn;
use crate::{anthropic, openai};

/// A text is sent in at most this many deltas, so that a test with a huge text stays fast.
const DELTAS_MAX: usize = 1000;
const DELTA_CHARS: usize = 24;

/// A reply with all templates filled in.
pub(crate) struct Resolved<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) parts: Vec<Part>,
    /// Absent when the reply reports no usage.
    pub(crate) usage: Option<Usage>,
    /// The stop reason as Anthropic names it; absent when the reply has none.
    pub(crate) stop: Option<&'a str>,
    pub(crate) chunk_chars: Option<usize>,
}

/// A part of a reply. Parts are sent in this order.
pub(crate) enum Part {
    Thinking { text: Text, signature: String },
    Redacted(String),
    Text(Text),
    Call { id: String, name: String, arguments: Text },
}

/// A body in the order in which it is sent: the events of a stream, or one JSON text.
#[derive(Clone, Default)]
pub(crate) struct Rendered {
    pub(crate) events: Vec<String>,
    /// The index of the last event that contains a part of the reply.
    pub(crate) last_delta: Option<usize>,
    /// How many of the last events are the end of the stream.
    pub(crate) end: usize,
}

/// Returns the body of the response to a request, and the tokens of both. `usual` is what a reply reports that does not say it.
/// A JSON turn of more than so many bytes is cut.
pub(crate) fn render(reply: &Reply, usual: &ReportedUsage, turn: &Turn, bytes_max: usize) -> (Rendered, Tokens) {
    let mut parts = resolve(reply, turn);
    let mut is_cut = false;
    if turn.schema.is_some() {
        parts = in_one_object(parts);
        is_cut = cut(&mut parts, bytes_max);
    }
    let counted = counted(turn.body.len(), &parts);
    let usage = match reply.usage.as_ref().unwrap_or(usual) {
        ReportedUsage::Counted => Some(reported(counted, |tokens| tokens)),
        ReportedUsage::Absent => None,
        ReportedUsage::Fraction(part, whole) => Some(reported(counted, |tokens| tokens.saturating_mul(*part) / whole)),
        ReportedUsage::Given(usage) => Some(usage.clone()),
    };
    let usual = match parts.iter().any(|part| matches!(part, Part::Call { .. })) {
        _ if is_cut => "max_tokens",
        true => "tool_use",
        false => "end_turn",
    };
    let resolved = Resolved {
        turn,
        parts,
        usage,
        stop: Some(reply.stop.as_deref().unwrap_or(usual)).filter(|stop| *stop != "missing"),
        chunk_chars: reply.pace.chunk_chars,
    };
    let body = match (turn.protocol, turn.stream) {
        (Protocol::Anthropic, true) => anthropic::stream(&resolved),
        (Protocol::Anthropic, false) => Rendered::single(anthropic::message(&resolved)),
        (Protocol::OpenAi, true) => openai::stream(&resolved),
        (Protocol::OpenAi, false) => Rendered::single(openai::completion(&resolved)),
    };
    (body, counted)
}

fn resolve(reply: &Reply, turn: &Turn) -> Vec<Part> {
    let thinking = reply.thinking.iter().map(|thinking| match thinking {
        Thinking::Open { thinking, signature } => {
            Part::Thinking { text: turn.fill_text(thinking, 0), signature: turn.fill(signature, 0) }
        }
        Thinking::Redacted { redacted } => Part::Redacted(redacted.clone()),
    });
    let text = reply.text.iter().map(|text| Part::Text(turn.fill_text(text, 0)));
    let prefix = match turn.protocol {
        Protocol::Anthropic => "toolu",
        Protocol::OpenAi => "call",
    };
    let calls = reply.calls.iter().flat_map(|call| (0..call.times.unwrap_or(1)).map(move |i| (call, i)));
    let calls = calls.enumerate().map(|(place, (call, i))| Part::Call {
        id: call.id.as_ref().map_or_else(|| format!("{prefix}_{}_{place}", turn.n), |id| turn.fill(id, i)),
        name: turn.fill(&call.name, i),
        arguments: match &call.raw {
            Some(raw) => turn.fill_text(raw, i),
            None => Text::Plain(turn.fill_value(&call.arguments.clone().into(), i).to_string()),
        },
    });
    thinking.chain(text).chain(calls).collect()
}

/// Returns the same parts for a request with a schema: the calls or the report as one JSON object.
fn in_one_object(parts: Vec<Part>) -> Vec<Part> {
    let (mut thoughts, mut report, mut calls) = (Vec::new(), "\"\"".to_owned(), Vec::new());
    for part in parts {
        match part {
            Part::Thinking { .. } | Part::Redacted(_) => thoughts.push(part),
            Part::Text(text) => report = text.quoted(),
            Part::Call { name, arguments, .. } => {
                let arguments = arguments.verbatim();
                // A tool without fields has no arguments in the schema.
                let arguments = if arguments == "{}" { String::new() } else { format!(r#","arguments":{arguments}"#) };
                calls.push(format!(r#"{{"tool":{}{arguments}}}"#, quote(&name)));
            }
        }
    }
    let object = if calls.is_empty() {
        format!(r#"{{"report":{report}}}"#)
    } else {
        format!(r#"{{"calls":[{}]}}"#, calls.join(","))
    };
    thoughts.push(Part::Text(Text::Plain(object)));
    thoughts
}

/// Returns a reply as the text of a JSON turn.
pub(crate) fn json_turn(reply: &Reply, turn: &Turn) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.verbatim().into_owned()),
        Part::Thinking { .. } | Part::Redacted(_) | Part::Call { .. } => None,
    };
    in_one_object(resolve(reply, turn)).iter().find_map(text).unwrap_or_default()
}

/// Cuts the text of a JSON turn, and returns whether it was too long.
fn cut(parts: &mut [Part], bytes_max: usize) -> bool {
    let mut is_cut = false;
    for part in parts {
        if let Part::Text(text) = part
            && text.verbatim().len() > bytes_max
        {
            let whole = text.verbatim().into_owned();
            *text = Text::Plain(whole[..whole.floor_char_boundary(bytes_max)].to_owned());
            is_cut = true;
        }
    }
    is_cut
}

/// Counts a token for every four bytes. That is not exact, but it is the same for the same request.
fn counted(request_bytes: usize, parts: &[Part]) -> Tokens {
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    let bytes = parts.iter().map(|part| match part {
        Part::Thinking { text, .. } | Part::Text(text) => text.verbatim().len(),
        Part::Redacted(data) => data.len(),
        Part::Call { name, arguments, .. } => name.len() + arguments.verbatim().len(),
    });
    Tokens { input: tokens(request_bytes), output: tokens(bytes.sum()) }
}

/// Returns the report of these tokens, after a change of both numbers.
fn reported(Tokens { input, output }: Tokens, change: impl Fn(u64) -> u64) -> Usage {
    let amount = |tokens| Amount::Number(i64::try_from(change(tokens)).unwrap_or(i64::MAX));
    Usage { input: amount(input), output: amount(output), ..Usage::default() }
}

impl Rendered {
    fn single(json: String) -> Self {
        Self { events: vec![json], last_delta: None, end: 0 }
    }

    pub(crate) fn push_deltas(&mut self, events: impl IntoIterator<Item = String>) {
        for event in events {
            self.last_delta = Some(self.events.len());
            self.events.push(event);
        }
    }

    pub(crate) fn push_end(&mut self, event: String) {
        self.end += 1;
        self.events.push(event);
    }
}

impl Text {
    /// Returns the text itself.
    pub(crate) fn verbatim(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) | Self::Escaped { escaped: text } => text.into(),
            Self::Again { again, times } => again.repeat(*times).into(),
            Self::Nested { nested } => format!("{}1{}", r#"{"a":"#.repeat(*nested), "}".repeat(*nested)).into(),
        }
    }

    /// Returns the text as a JSON string, with its quotes.
    pub(crate) fn quoted(&self) -> String {
        match self {
            Self::Escaped { escaped } => format!("\"{escaped}\""),
            Self::Plain(_) | Self::Again { .. } | Self::Nested { .. } => quote(&self.verbatim()),
        }
    }

    /// Returns the text in pieces, each as a JSON string.
    pub(crate) fn deltas(&self, chunk_chars: Option<usize>) -> Vec<String> {
        if matches!(self, Self::Escaped { .. }) {
            return vec![self.quoted()];
        }
        let text = self.verbatim();
        let chars = chunk_chars.unwrap_or(DELTA_CHARS).max(text.len().div_ceil(DELTAS_MAX));
        let mut rest = &*text;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
            pieces.push(quote(&rest[..end]));
            rest = &rest[end..];
        }
        pieces
    }
}

/// Returns a text as a JSON string, with its quotes.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}
