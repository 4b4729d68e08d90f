//! A reply with everything filled in, and what is common to writing it in both protocols.

use crate::json::{Literal, quote};
use crate::script::Protocol;
use crate::script::reply::{Amount, Reply, Thinking, Usage, UsageTold};
use crate::template::Filler;
use crate::{anthropic, openai};

/// A reply with all templates filled in.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) n: u64,
    pub(crate) model: String,
    pub(crate) thinking: Vec<Thought>,
    pub(crate) text: Option<Literal>,
    pub(crate) calls: Vec<ResolvedCall>,
    /// Absent when nothing is to be told.
    pub(crate) usage: Option<Usage>,
    /// In Anthropic's words; absent when none is to be told.
    pub(crate) stop: Option<String>,
    pub(crate) chunk_chars: Option<usize>,
    pub(crate) include_usage: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Thought {
    Open { thinking: Literal, signature: String },
    Redacted(String),
}

#[derive(Clone, Debug)]
pub(crate) struct ResolvedCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Literal,
}

/// A body in the order in which it goes out: the events of a stream, or one piece of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) events: Vec<String>,
    /// The last event that has a part of the reply.
    pub(crate) last_delta: Option<usize>,
    /// How many of the events are the end of the stream.
    pub(crate) end: usize,
}

impl Resolved {
    pub(crate) fn of(reply: &Reply, filler: Filler<'_>) -> Self {
        let fill = |text: &str| filler.fill(text, 0);
        let thinking = reply.thinking.iter().map(|thinking| match thinking {
            Thinking::Open { thinking, signature } => {
                Thought::Open { thinking: Literal::of(thinking, fill), signature: fill(signature) }
            }
            Thinking::Redacted { redacted } => Thought::Redacted(redacted.clone()),
        });
        let mut resolved = Self {
            n: filler.n,
            model: filler.turn.model.clone(),
            thinking: thinking.collect(),
            text: reply.text.as_ref().map(|text| Literal::of(text, fill)),
            calls: resolve_calls(reply, filler),
            usage: None,
            stop: None,
            chunk_chars: reply.pace.chunk_chars,
            include_usage: filler.turn.include_usage,
        };
        resolved.usage = match &reply.usage {
            UsageTold::Counted => Some(resolved.counted(filler.turn.bytes)),
            UsageTold::Absent => None,
            UsageTold::Given(usage) => Some(usage.clone()),
        };
        let usual = if resolved.calls.is_empty() { "end_turn" } else { "tool_use" };
        let stop = reply.stop.as_deref().unwrap_or(usual);
        resolved.stop = (stop != "missing").then(|| stop.into());
        if filler.turn.is_json { resolved.in_one_object() } else { resolved }
    }

    /// The same reply, held to a schema: calls or a report as one object.
    fn in_one_object(mut self) -> Self {
        let call = |call: &ResolvedCall| {
            format!(r#"{{"tool":{},"arguments":{}}}"#, quote(&call.name), call.arguments.verbatim())
        };
        let object = if self.calls.is_empty() {
            let report = self.text.as_ref().map_or_else(|| r#""""#.to_owned(), Literal::quoted);
            format!(r#"{{"report":{report}}}"#)
        } else {
            format!(r#"{{"calls":[{}]}}"#, self.calls.iter().map(call).collect::<Vec<_>>().join(","))
        };
        self.calls.clear();
        self.stop = self.stop.map(|stop| if stop == "tool_use" { "end_turn".into() } else { stop });
        Self { text: Some(Literal::Plain(object)), ..self }
    }

    pub(crate) fn render(&self, protocol: Protocol, stream: bool) -> Rendered {
        match (protocol, stream) {
            (Protocol::Anthropic, true) => anthropic::stream(self),
            (Protocol::Anthropic, false) => Rendered::whole(anthropic::message(self)),
            (Protocol::OpenAi, true) => openai::stream(self),
            (Protocol::OpenAi, false) => Rendered::whole(openai::completion(self)),
        }
    }

    /// A token for every four bytes: no tokenizer, but the same for the same request.
    fn counted(&self, request_bytes: usize) -> Usage {
        let thoughts = self.thinking.iter().map(|thought| match thought {
            Thought::Open { thinking, .. } => thinking.verbatim().len(),
            Thought::Redacted(data) => data.len(),
        });
        let texts = self.text.iter().map(|text| text.verbatim().len());
        let calls = self.calls.iter().map(|call| call.name.len() + call.arguments.verbatim().len());
        let reply_bytes: usize = thoughts.chain(texts).chain(calls).sum();
        Usage { input: tokens(request_bytes), output: tokens(reply_bytes), ..Usage::default() }
    }
}

fn tokens(bytes: usize) -> Amount {
    Amount::Whole(i64::try_from(bytes.div_ceil(4)).unwrap_or(i64::MAX))
}

fn resolve_calls(reply: &Reply, filler: Filler<'_>) -> Vec<ResolvedCall> {
    let prefix = match filler.turn.protocol {
        Protocol::Anthropic => "toolu",
        Protocol::OpenAi => "call",
    };
    let all = reply.calls.iter().flat_map(|call| (0..call.times).map(move |i| (call, i)));
    let resolved = all.enumerate().map(|(place, (call, i))| ResolvedCall {
        id: call.id.as_ref().map_or_else(|| format!("{prefix}_{}_{place}", filler.n), |id| filler.fill(id, i)),
        name: filler.fill(&call.name, i),
        arguments: match &call.raw {
            Some(raw) => Literal::of(raw, |text| filler.fill(text, i)),
            None => Literal::Plain(filler.fill_value(&call.arguments.clone().into(), i).to_string()),
        },
    });
    resolved.collect()
}

impl Rendered {
    pub(crate) fn whole(json: String) -> Self {
        Self { events: vec![json], last_delta: None, end: 0 }
    }

    pub(crate) fn push(&mut self, event: String) {
        self.events.push(event);
    }

    pub(crate) fn push_delta(&mut self, event: String) {
        self.last_delta = Some(self.events.len());
        self.events.push(event);
    }

    pub(crate) fn push_end(&mut self, event: String) {
        self.end += 1;
        self.events.push(event);
    }

    pub(crate) fn len(&self) -> usize {
        self.events.iter().map(String::len).sum()
    }
}

impl Amount {
    pub(crate) fn json(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Verbatim(text) => text.clone(),
        }
    }
}

/// The sum as JSON; what is no number wins.
pub(crate) fn sum(amounts: &[&Amount]) -> String {
    let mut total = 0_i128;
    for amount in amounts {
        match amount {
            Amount::Whole(number) => total += i128::from(*number),
            Amount::Verbatim(text) => return text.clone(),
        }
    }
    total.to_string()
}
