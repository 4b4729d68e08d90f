//! A program that replaces a model, for demos and tests without a model. The program needs no key and no server, and does not
//! understand language: it searches files for the words of a question, hires through the same tool calls as a model, and compares
//! lines. It never says *why* something happens; it names the line that different kinds of evidence have in common.
//!
//! The program reads only [`guildhall_agent::PromptData`]. The same prompt always gives the same reply: the program reads no clock,
//! uses no randomness and remembers nothing between two asks.
#![deny(missing_docs)]

mod kind;
mod next;
mod order;
mod places;
mod report;
mod results;
mod state;
mod words;

use guildhall_agent::{
    Attempt, Billing, Delta, Model, Prompt, PromptData, RawCall, Reply, Reported, Stop, Task, Usage, Watch, Wire,
};
use serde_json::{Value, json};

use crate::next::{Call, next};
use crate::report::Report;
use crate::state::State;

/// The first line of every report of a rehearsal.
pub const LABEL: &str = "rehearsal: no language model";

/// A program that replaces a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rehearsal;

impl Model for Rehearsal {
    fn billing(&self) -> Billing {
        Billing::Nominal
    }

    fn reads_data(&self) -> bool {
        true
    }

    fn ask<'a>(&'a self, prompt: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            let reply = reply(prompt);
            for call in &reply.calls {
                watch(Delta::Call { name: &call.name });
            }
            if let Some(words) = &reply.words {
                watch(Delta::Words(words));
            }
            Attempt { usage: Reported::Whole(Usage::in_bytes(prompt, &reply)), outcome: Ok(reply) }
        })
    }
}

fn reply(prompt: &Prompt) -> Reply {
    let bytes_max = prompt.max_tokens as usize;
    let Some(data) = &prompt.data else {
        return reply_with_text(
            |_| format!("{LABEL}\nA rehearsal reads the prompt's data, and this prompt has none: nothing was done."),
            0,
            bytes_max,
        );
    };
    let state = State::read(data);
    let tools: Vec<&str> = prompt.opening.tools().iter().map(|tool| tool.name.as_str()).collect();
    reply_with_calls(next(data, &tools, &state), state.replies, bytes_max).unwrap_or_else(|| {
        if data.asks_to_confirm() {
            return Reply::words(PromptData::CONFIRMS_REPORT);
        }
        let report = Report::of(&state);
        reply_with_text(|count| report.text(count), report.places.len(), bytes_max)
    })
}

/// Returns a reply with as many calls as fit; `None` if there are no calls, or no call fits.
fn reply_with_calls(wanted: Vec<Call>, turn: usize, bytes_max: usize) -> Option<Reply> {
    let mut calls: Vec<RawCall> = Vec::new();
    for (at, Call { tool, arguments }) in wanted.into_iter().enumerate() {
        let id = format!("call-{}-{}", turn + 1, at + 1);
        calls.push(RawCall { id, name: tool.to_owned(), arguments: Ok(arguments) });
        if raw_calls(&calls).to_string().len() > bytes_max {
            calls.pop();
        }
    }
    let (raw, wire, stop) = (raw_calls(&calls), Wire::Inside, Stop::Calls);
    (!calls.is_empty()).then_some(Reply { wire, raw, words: None, calls, stop, part: None })
}

/// Returns a reply with as many places as fit. If even the text without places does not fit, the text is cut.
fn reply_with_text(text: impl Fn(usize) -> String, places: usize, bytes_max: usize) -> Reply {
    let fits = |words: &String| json!({ "words": words }).to_string().len() <= bytes_max;
    let words = (0..=places).rev().map(&text).find(fits).unwrap_or_else(|| {
        let text = text(0);
        let ends = (0..=text.len().min(bytes_max)).rev().filter(|end| text.is_char_boundary(*end));
        ends.map(|end| text[..end].to_owned()).find(fits).unwrap_or_else(|| LABEL.to_owned())
    });
    Reply::words(words)
}

/// Returns the calls in the form in which the journal stores them and the price counts them.
fn raw_calls(calls: &[RawCall]) -> Value {
    let call = |call: &RawCall| json!({"id": call.id, "name": call.name, "arguments": call.arguments.as_ref().ok()});
    json!({ "calls": calls.iter().map(call).collect::<Vec<_>>() })
}
