//! What an agent is shown: its facts, as a conversation. The same facts always give the same messages, so that what was
//! shown before stays a prefix of what is shown next.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Brief, CALLS_MAX, CallRef, Context, Fact, Mode, Origin, Path, Pause, Report, Said,
    Sender, Stimulus, TextRef,
};
use serde_json::{Value, json};

use crate::checks::{Demands, demands};
use crate::hiring::example;
use crate::model::{Message, Part, RawCall, Reply, Stop, Wire};
use crate::text::{TextError, Texts};
use crate::tool::ToolOutcome;
use crate::wording;

/// Turns a contract's facts into what its agent is shown.
pub fn transcript(facts: &[Fact], texts: &dyn Texts) -> Result<Vec<Message>, TextError> {
    let compacted = |fact: &Fact| if let Fact::Compacted { upto, .. } = fact { Some(*upto as usize) } else { None };
    let short_until = facts.iter().rev().find_map(compacted).unwrap_or(0);
    let mut builder = TranscriptBuilder {
        texts,
        messages: Vec::new(),
        told: Vec::new(),
        asks: BTreeMap::new(),
        calls: BTreeMap::new(),
        brief: None,
        cites_as: None,
    };
    for (at, fact) in facts.iter().enumerate() {
        let view = if at < short_until { View::Short } else { View::Full };
        builder.write(fact, view)?;
    }
    builder.turn();
    Ok(builder.messages)
}

/// The size of a conversation in bytes: no text has more tokens.
pub(crate) fn size(messages: &[Message]) -> u64 {
    let part = |part: &Part| match part {
        Part::Words(words) => words.len(),
        Part::Result { call, text, .. } => call.len() + text.len(),
    };
    let bytes = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(part).sum::<usize>(),
        Message::Assistant(reply) if reply.raw.is_null() => {
            let arguments =
                |call: &RawCall| call.arguments.as_ref().map_or_else(String::len, |value| value.to_string().len());
            let call = |call: &RawCall| call.id.len() + call.name.len() + arguments(call);
            reply.words.as_ref().map_or(0, String::len) + reply.calls.iter().map(call).sum::<usize>()
        }
        Message::Assistant(reply) => reply.raw.to_string().len(),
    };
    messages.iter().map(|message| bytes(message) as u64).sum()
}

/// What an agent is shown for its last reply: everything if it fits into so many bytes, otherwise the brief and the newest
/// texts that do, without what a fork inherited.
pub(crate) fn cut(facts: &[Fact], texts: &dyn Texts, bytes: u64) -> Result<Vec<Message>, TextError> {
    let mut messages = transcript(facts, texts)?;
    let last = Part::Words(wording::LAST.to_owned());
    if size(&messages) + wording::LAST.len() as u64 <= bytes {
        match messages.last_mut() {
            Some(Message::User(parts)) => parts.push(last),
            Some(Message::Assistant(_)) | None => messages.push(Message::User(vec![last])),
        }
        return Ok(messages);
    }
    let brief = facts.iter().find_map(Fact::opened).map(|brief| opening(brief, texts)).transpose()?.unwrap_or_default();
    let mut left = bytes.saturating_sub((wording::LAST.len() + wording::CUT.len() + brief.len()) as u64);
    let mut newest: Vec<&str> = Vec::new();
    for words in messages.iter().rev().flat_map(spoken).filter(|words| *words != brief) {
        let fits = words.floor_char_boundary(usize::try_from(left).unwrap_or(usize::MAX));
        newest.push(&words[..fits]);
        left -= fits as u64;
        if left == 0 {
            break;
        }
    }
    newest.reverse();
    let found = format!("{}\n{}", wording::CUT, newest.join("\n\n"));
    Ok(vec![Message::User(vec![Part::Words(brief), Part::Words(found), last])])
}

fn spoken(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(reply) => reply.words.as_deref().into_iter().collect(),
        Message::User(parts) => parts.iter().rev().map(Part::text).collect(),
    }
}

/// How much of a tool's result is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Full,
    /// Only that there was one: its text stays in the journal.
    Short,
}

struct TranscriptBuilder<'a> {
    texts: &'a dyn Texts,
    messages: Vec<Message>,
    /// What the agent is to be told next, each with the call that it is the result of.
    told: Vec<(Option<CallRef>, Part)>,
    /// What was asked and is answered by a later fact.
    asks: BTreeMap<AskId, (&'a Ask, Origin)>,
    /// The calls of the newest reply, by their place: the model's own id for each, and the tool.
    calls: BTreeMap<CallRef, (String, String)>,
    /// What the agent was hired for.
    brief: Option<&'a Brief>,
    /// As whose calls results are to be cited, if they must be.
    cites_as: Option<&'a Path>,
}

impl<'a> TranscriptBuilder<'a> {
    fn write(&mut self, fact: &'a Fact, view: View) -> Result<(), TextError> {
        match fact {
            Fact::Opened(brief) => {
                self.brief = Some(brief);
                self.cites_as = demands_of(brief, self.texts)?.receipts.then_some(&brief.path);
                self.say(opening(brief, self.texts)?);
            }
            Fact::Asked { id, ask, origin, .. } => self.asked(*id, ask, *origin)?,
            Fact::Answered { id, answer, .. } => self.answered(*id, answer, view)?,
            Fact::Refused { why, origin: Origin::Call(call), .. } => {
                let tool = self.calls.get(call).map(|(_, tool)| tool.as_str());
                let example = tool.zip(self.brief).and_then(|(tool, brief)| example(tool, brief));
                self.result(*call, wording::refusal(why, example), ToolOutcome::Failed);
            }
            Fact::Refused { why, origin: Origin::Cascade, .. } => self.say(wording::not_handed_on(why)),
            Fact::Heard { from, stimulus } => self.heard(from, stimulus)?,
            Fact::Woke { pause: Pause::Call(call), why } => {
                self.result(*call, wording::waking(*why).to_owned(), ToolOutcome::Done);
            }
            Fact::Woke { pause: Pause::Hire(id), .. } => {
                if let Some((Ask::Hire { brief, .. }, Origin::Call(call))) = self.asks.get(id).copied() {
                    let text = wording::goes_on(brief, self.label(brief)?.as_deref());
                    self.result(call, text, ToolOutcome::Done);
                }
            }
            Fact::Nudged(nudge) => self.say(wording::nudge(*nudge).to_owned()),
            Fact::Refused { origin: Origin::Course | Origin::Promise | Origin::Outside, .. }
            | Fact::Raised { .. }
            | Fact::Waiting { .. }
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => {}
        }
        Ok(())
    }

    fn asked(&mut self, id: AskId, ask: &'a Ask, origin: Origin) -> Result<(), TextError> {
        self.asks.insert(id, (ask, origin));
        match (ask, origin) {
            // What comes while the model is at work is for its next turn.
            (Ask::Model(_), _) => self.turn(),
            (Ask::Hire { brief, mode: Mode::Background }, Origin::Call(call)) => {
                let text = wording::begins(brief, self.label(brief)?.as_deref());
                self.result(call, text, ToolOutcome::Done);
            }
            (Ask::Hire { .. } | Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. }, _) => {}
        }
        Ok(())
    }

    fn label(&self, brief: &Brief) -> Result<Option<String>, TextError> {
        brief.label.as_ref().map(|label| self.texts.text(label)).transpose()
    }

    fn answered(&mut self, id: AskId, answer: &Answer, view: View) -> Result<(), TextError> {
        if let Answer::Said(said) = answer {
            return self.said(id, said);
        }
        let Some((ask, origin)) = self.asks.get(&id).copied() else { return Ok(()) };
        let failed = matches!(answer, Answer::Failed(_) | Answer::Lost);
        let text = match (answer, answer.text()) {
            (Answer::Report(report), Some(text)) => {
                let Ask::Hire { brief, .. } = ask else { return Ok(()) };
                self.report(brief, origin, report, &text)?
            }
            (_, Some(text)) if view == View::Short && matches!(ask, Ask::Tool(_)) => {
                format!("[{} bytes, left out to save room; call again if you need it]", text.bytes)
            }
            (_, Some(text)) => self.texts.text(&text)?,
            (Answer::Delivered, None) if matches!(ask, Ask::Tell { what: Stimulus::Cancel, .. }) => {
                wording::STOPPED.to_owned()
            }
            (_, None) => wording::bare(answer).to_owned(),
        };
        let text = match self.cites_as {
            Some(path) if matches!(ask, Ask::Tool(_) | Ask::Hire { .. }) => {
                format!("[{}]\n{text}", AskKey { contract: path.clone(), ask: id })
            }
            Some(_) | None => text,
        };
        if matches!(answer, Answer::Text(_)) {
            // The words that answer a question were heard just before; they are told as its answer alone.
            self.told.pop();
        }
        match (ask, origin) {
            // What was approved is told by its own result.
            (Ask::Question { .. }, _) if *answer == Answer::Approved => {}
            (Ask::Check(_), _) if *answer == Answer::Passed => {}
            (Ask::Model(_), _) => {}
            (_, Origin::Call(call)) if self.awaits(call) => {
                self.result(call, text, if failed { ToolOutcome::Failed } else { ToolOutcome::Done });
            }
            (Ask::Tell { .. }, _) => {}
            (Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. }, _) => self.say(text),
        }
        Ok(())
    }

    fn said(&mut self, id: AskId, said: &Said) -> Result<(), TextError> {
        let reply = match self.texts.reply(&said.reply) {
            Err(TextError::NotReply { .. }) => Arc::new(self.stand_in(id, said)?),
            reply => reply?,
        };
        let place = |index| CallRef { reply: id, index };
        self.calls =
            (0..).zip(&reply.calls).map(|(index, call)| (place(index), (call.id.clone(), call.name.clone()))).collect();
        self.messages.push(Message::Assistant(reply));
        Ok(())
    }

    /// What is shown for a reply that is stored and can't be read: its words, which are stored apart, and as many calls as it
    /// had, so that what they brought has its place. Nothing else is known of it, and nothing is made up.
    fn stand_in(&self, id: AskId, said: &Said) -> Result<Reply, TextError> {
        let words = said.words.map(|words| self.texts.text(&words)).transpose()?.unwrap_or_default();
        let call = |index: u32| RawCall {
            id: format!("unreadable-{:?}-{}-{index}", said.reply.hash, id.0),
            name: wording::UNREADABLE_CALL.to_owned(),
            arguments: Ok(json!({})),
        };
        let calls: Vec<RawCall> = (0..said.calls.min(CALLS_MAX)).map(call).collect();
        let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
        let words = Some(format!("{words}{}", wording::UNREADABLE));
        Ok(Reply { wire: Wire::Inside, raw: Value::Null, words, calls, stop })
    }

    /// A report as its hirer reads it: one that comes by itself, later, says what it is about.
    fn report(&self, brief: &Brief, origin: Origin, report: &Report, text: &TextRef) -> Result<String, TextError> {
        let later = match origin {
            Origin::Call(call) => !self.awaits(call),
            Origin::Outside => true,
            // Its task is what the agent has just said.
            Origin::Cascade | Origin::Promise | Origin::Course => false,
        };
        let task = later.then(|| self.texts.text(&brief.task)).transpose()?;
        // Of one who came to nothing, the text is the task: there is no other.
        let text = if *text == brief.task { wording::SAID_NOTHING.to_owned() } else { self.texts.text(text)? };
        Ok(wording::report(brief, report, self.label(brief)?.as_deref(), task.as_deref(), &text))
    }

    fn heard(&mut self, from: &Sender, stimulus: &Stimulus) -> Result<(), TextError> {
        let (text, marked): (_, fn(&Path, &str) -> String) = match stimulus {
            Stimulus::Message(text) => (text, wording::message),
            Stimulus::Question(text) => (text, wording::question),
            Stimulus::TopUp { .. } | Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel => return Ok(()),
        };
        let words = self.texts.text(text)?;
        self.say(match from {
            // The owner's words are the task's own voice.
            Sender::Owner { .. } => words,
            Sender::Contract(key) => marked(&key.contract, &words),
        });
        Ok(())
    }

    /// Whether a call of the newest reply has no result yet.
    fn awaits(&self, call: CallRef) -> bool {
        self.calls.contains_key(&call)
    }

    fn result(&mut self, call: CallRef, text: String, outcome: ToolOutcome) {
        if let Some((id, _)) = self.calls.remove(&call) {
            self.told.push((Some(call), Part::Result { call: id, text, failed: outcome == ToolOutcome::Failed }));
        }
    }

    fn say(&mut self, words: String) {
        self.told.push((None, Part::Words(words)));
    }

    /// Ends what the agent is told before its next turn: results in the order of their calls, then words.
    fn turn(&mut self) {
        self.told.sort_by_key(|(call, _)| (call.is_none(), *call));
        let parts: Vec<Part> = self.told.drain(..).map(|(_, part)| part).collect();
        match self.messages.last_mut() {
            Some(Message::User(before)) => before.extend(parts),
            Some(Message::Assistant(_)) | None if parts.is_empty() => {}
            Some(Message::Assistant(_)) | None => self.messages.push(Message::User(parts)),
        }
    }
}

/// The brief, as the agent reads it: the task, the terms it must honour, the checks its report must pass.
fn opening(brief: &Brief, texts: &dyn Texts) -> Result<String, TextError> {
    let mut words = match brief.context {
        Context::Fork { .. } => wording::FORK.to_owned(),
        Context::Fresh | Context::After { .. } => {
            brief.lineage.upward().next().map(|hirer| wording::needs(hirer.agent.as_str())).unwrap_or_default()
        }
    };
    words.push_str(&texts.text(&brief.task)?);
    if !brief.terms.is_empty() {
        words.push_str(wording::TERMS);
        for term in brief.terms.iter() {
            words.push_str(wording::TERM);
            words.push_str(&texts.text(term)?);
        }
    }
    words.push_str(&demands_of(brief, texts)?.words);
    Ok(words)
}

fn demands_of(brief: &Brief, texts: &dyn Texts) -> Result<Demands, TextError> {
    let checks = brief.checks.iter().map(|check| texts.text(&check.what)).collect::<Result<Vec<_>, _>>()?;
    Ok(demands(checks.iter().map(String::as_str)))
}
