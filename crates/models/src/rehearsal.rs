//! The model that is always there: a program in a model's seat. It needs no key and no server, knows no language, and speaks
//! through the same tool calls. It never says *why*; it says *where the evidence meets*, from lines that it compares.
//!
//! The same prompt always gives the same reply: it reads no clock, draws no lots and remembers nothing between two asks.

mod asked;
mod hiring;
mod look;
mod merge;
mod place;
mod rank;
mod report;
mod scene;
mod source;
mod team;
mod words;

use guildhall_agent::{
    Attempt, Billing, Delta, Model, Prompt, RawCall, Reply, Reported, Stop, Task, Usage, Watch, Wire,
};
use serde_json::{Value, json};

use self::asked::is_about_project;
use self::hiring::hires;
use self::look::{Wish, confirm, look, survey};
use self::report::{Report, meeting_names};
use self::scene::{Scene, scene};

/// What every report of a rehearsal begins with.
pub const LABEL: &str = "rehearsal: no language model";

/// A program in the seat of a model.
///
/// ```
/// use guildhall_agent::{Message, Model, Part, Prompt};
/// use guildhall_kernel::{AskId, AskKey, Path};
/// use guildhall_models::Rehearsal;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let words = Part::Words("Why does the upload fail?".to_owned());
/// let prompt = Prompt {
///     key: AskKey { contract: Path::root(1), ask: AskId(1) },
///     system: String::new(),
///     tools: Vec::new(),
///     messages: vec![Message::User(vec![words])],
///     status: None,
///     max_tokens: 8192,
/// };
/// let reply = Rehearsal.ask(&prompt, &|_| {}).await.outcome.unwrap();
/// assert!(reply.words.unwrap().starts_with("rehearsal: no language model\nno evidence"));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rehearsal;

impl Model for Rehearsal {
    fn billing(&self) -> Billing {
        Billing::Nominal
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

/// What is done next.
enum Next {
    Call(Vec<Wish>),
    Report(Report),
}

fn next(scene: &Scene) -> Next {
    let wishes = if scene.is_last { Vec::new() } else { wishes(scene) };
    if wishes.is_empty() { Next::Report(Report::of(scene)) } else { Next::Call(wishes) }
}

fn wishes(scene: &Scene) -> Vec<Wish> {
    if scene.team.is_empty() {
        return look(scene);
    }
    let is_handed_down = scene.task.sources.is_some();
    if !scene.hired.is_empty() {
        return match (scene.reports.is_empty(), is_handed_down) {
            // Without any report there is only what one finds oneself.
            (true, _) => look(scene),
            (false, true) => Vec::new(),
            (false, false) if scene.was_confirmed() => Vec::new(),
            (false, false) => confirm(scene, &meeting_names(scene)),
        };
    }
    let surveyed = if is_handed_down { Vec::new() } else { survey(scene) };
    if !surveyed.is_empty() {
        return surveyed;
    }
    let could_match = is_handed_down || !scene.tools.contains("search") || is_about_project(scene);
    if could_match || scene.must_hire { hires(scene) } else { Vec::new() }
}

/// The whole reply, within what may be said.
fn reply(prompt: &Prompt) -> Reply {
    let bytes_max = prompt.max_tokens as usize;
    let scene = scene(prompt);
    let called = match next(&scene) {
        Next::Call(wishes) => calling(wishes, prompt.messages.len(), bytes_max),
        Next::Report(report) => return saying(&report, bytes_max),
    };
    called.unwrap_or_else(|| saying(&Report::of(&scene), bytes_max))
}

/// A reply with as many of the calls as fit. `None`: not one does.
fn calling(wishes: Vec<Wish>, turn: usize, bytes_max: usize) -> Option<Reply> {
    let mut calls: Vec<RawCall> = Vec::new();
    for (at, Wish { tool, arguments }) in wishes.into_iter().enumerate() {
        calls.push(RawCall { id: format!("call-{turn}-{}", at + 1), name: tool.to_owned(), arguments: Ok(arguments) });
        if raw(None, &calls).to_string().len() > bytes_max {
            calls.pop();
        }
    }
    let raw = raw(None, &calls);
    (!calls.is_empty()).then_some(Reply { wire: Wire::Inside, raw, words: None, calls, stop: Stop::Calls })
}

/// A reply with as many of the places as fit.
fn saying(report: &Report, bytes_max: usize) -> Reply {
    let fits = |text: &String| raw(Some(text), &[]).to_string().len() <= bytes_max;
    let texts = (0..=report.places_count()).rev().map(|count| report.text(count));
    let words = texts.into_iter().find(fits).unwrap_or_else(|| {
        let text = report.text(0);
        let ends = (0..=text.len().min(bytes_max)).rev().filter(|end| text.is_char_boundary(*end));
        ends.map(|end| text[..end].to_owned()).find(fits).unwrap_or_else(|| LABEL.to_owned())
    });
    let raw = raw(Some(&words), &[]);
    Reply { wire: Wire::Inside, raw, words: Some(words), calls: Vec::new(), stop: Stop::End }
}

/// The form in which a reply is stored, shown again and counted.
fn raw(words: Option<&str>, calls: &[RawCall]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| {
            let arguments = call.arguments.as_ref().cloned().unwrap_or_default();
            json!({ "id": call.id, "name": call.name, "arguments": arguments })
        })
        .collect();
    match words {
        Some(words) => json!({ "words": words }),
        None => json!({ "calls": calls }),
    }
}
