//! Turns a contract's facts into the conversation that its agent is shown. The same facts always give the same messages, so
//! that each prompt begins with the prompt before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Brief, CALLS_MAX, CallRef, Context, Fact, Mode, Origin, Path, Pause, Refusal, Report,
    Said, Sender, Stimulus, TextRef,
};
use serde_json::{Value, json};

use crate::checks::{self, Check};
use crate::hiring::example;
use crate::model::{Message, Part, RawCall, Reply, Stop, Wire};
use crate::prompt_data::{Heard, HeardReport};
use crate::text::{TextError, Texts};
use crate::tool::ToolOutcome;
use crate::wording;

/// Turns a contract's facts into the messages that its agent is shown.
pub fn transcript(facts: &[Fact], texts: &dyn Texts) -> Result<Vec<Message>, TextError> {
    Ok(build(facts, texts, None)?.messages)
}

/// Turns a contract's facts into the data that a model within the process is shown.
pub(crate) fn heard(facts: &[Fact], texts: &dyn Texts) -> Result<Vec<Heard>, TextError> {
    Ok(build(facts, texts, Some(Data::default()))?.data.unwrap_or_default().heard)
}

fn build<'a>(facts: &'a [Fact], texts: &'a dyn Texts, data: Option<Data>) -> Result<TranscriptBuilder<'a>, TextError> {
    let compacted = |fact: &Fact| if let Fact::Compacted { upto, .. } = fact { Some(*upto as usize) } else { None };
    let short_until = facts.iter().rev().find_map(compacted).unwrap_or(0);
    let mut builder = TranscriptBuilder {
        texts,
        messages: Vec::new(),
        next: Vec::new(),
        data,
        is_compacted: false,
        asks: BTreeMap::new(),
        calls: BTreeMap::new(),
        unanswered: BTreeSet::new(),
        brief: None,
        cites_as: None,
    };
    for (at, fact) in facts.iter().enumerate() {
        builder.is_compacted = at < short_until;
        builder.add(fact)?;
    }
    builder.end_turn();
    Ok(builder)
}

/// Returns the size of a conversation in bytes. It has at most as many tokens.
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

/// Returns the messages for an agent's last reply, in at most `bytes` bytes: the whole transcript if it fits, otherwise the brief
/// and as many of the newest texts as fit. What precedes the brief is left out.
pub(crate) fn cut(facts: &[Fact], texts: &dyn Texts, bytes: u64) -> Result<Vec<Message>, TextError> {
    let mut messages = transcript(facts, texts)?;
    let last = Part::Words(wording::LAST_REPLY.to_owned());
    if size(&messages) + wording::LAST_REPLY.len() as u64 <= bytes {
        match messages.last_mut() {
            Some(Message::User(parts)) => parts.push(last),
            Some(Message::Assistant(_)) | None => messages.push(Message::User(vec![last])),
        }
        return Ok(messages);
    }
    let brief = facts.iter().find_map(Fact::opened).map(|brief| opening(brief, texts)).transpose()?.unwrap_or_default();
    let mut left = bytes.saturating_sub((wording::LAST_REPLY.len() + wording::CUT_HEADING.len() + brief.len()) as u64);
    let mut newest: Vec<&str> = Vec::new();
    for words in messages.iter().rev().flat_map(texts_of).filter(|words| *words != brief) {
        let fits = words.floor_char_boundary(usize::try_from(left).unwrap_or(usize::MAX));
        newest.push(&words[..fits]);
        left -= fits as u64;
        if left == 0 {
            break;
        }
    }
    newest.reverse();
    let newest = format!("{}\n{}", wording::CUT_HEADING, newest.join("\n\n"));
    Ok(vec![Message::User(vec![Part::Words(brief), Part::Words(newest), last])])
}

fn texts_of(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(reply) => reply.words.as_deref().into_iter().collect(),
        Message::User(parts) => parts.iter().rev().map(Part::text).collect(),
    }
}

struct TranscriptBuilder<'a> {
    texts: &'a dyn Texts,
    messages: Vec<Message>,
    /// The parts of the next message, each with the call that it is the result of.
    next: Vec<(Option<CallRef>, Part)>,
    /// The same as data, if a model reads data.
    data: Option<Data>,
    /// Whether the results of tools are left out, except for their sizes. The texts stay in the journal.
    is_compacted: bool,
    /// The asks so far, for the facts that answer them.
    asks: BTreeMap<AskId, (&'a Ask, Origin)>,
    /// All calls so far: the id that the model gave each, and the tool.
    calls: BTreeMap<CallRef, (String, String)>,
    /// The calls of the newest reply that have no result yet.
    unanswered: BTreeSet<CallRef>,
    brief: Option<&'a Brief>,
    /// The contract by which results are cited, if the report must cite them.
    cites_as: Option<&'a Path>,
}

#[derive(Default)]
struct Data {
    heard: Vec<Heard>,
    /// What is heard before the next turn, each with its call.
    next: Vec<(Option<CallRef>, Heard)>,
}

impl<'a> TranscriptBuilder<'a> {
    fn add(&mut self, fact: &'a Fact) -> Result<(), TextError> {
        match fact {
            Fact::Opened(brief) => {
                self.brief = Some(brief);
                self.cites_as = checks_of(brief, self.texts)?.contains(&Check::Receipts).then_some(&brief.path);
                self.add_words(opening(brief, self.texts)?);
            }
            Fact::Asked { id, ask, origin, .. } => self.asked(*id, ask, *origin)?,
            Fact::Answered { id, answer: Answer::Said(said), .. } => self.replied(*id, said)?,
            Fact::Answered { id, answer, .. } => self.answered(*id, answer)?,
            Fact::Refused { why, origin, .. } => self.refused(why, *origin),
            Fact::Heard { from, stimulus } => self.heard(from, stimulus)?,
            Fact::Woke { pause: Pause::Call(call), why } => {
                self.add_result(*call, wording::waking(*why).to_owned(), ToolOutcome::Done);
            }
            Fact::Woke { pause: Pause::Hire(id), .. } => {
                if let Some((Ask::Hire { brief, .. }, Origin::Call(call))) = self.asks.get(id).copied() {
                    let text = wording::continues(brief, self.label(brief)?.as_deref());
                    self.add_result(call, text, ToolOutcome::Done);
                }
            }
            Fact::Nudged(nudge) => {
                self.add_words(wording::nudge(*nudge).to_owned());
                self.add_data(None, |_| Heard::Nudged(*nudge));
            }
            Fact::Raised { .. }
            | Fact::Waiting { .. }
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => {}
        }
        Ok(())
    }

    fn asked(&mut self, id: AskId, ask: &'a Ask, origin: Origin) -> Result<(), TextError> {
        self.asks.insert(id, (ask, origin));
        match ask {
            // What arrives while the model works is for its next turn.
            Ask::Model(_) => self.end_turn(),
            Ask::Hire { brief, mode } => {
                let (hire, agent) = (brief.path.clone(), brief.agent.clone());
                self.add_data(call_of(origin), |call| Heard::Hired { call, hire, agent });
                if let (Mode::Background, Origin::Call(call)) = (mode, origin) {
                    let text = wording::was_hired(brief, self.label(brief)?.as_deref());
                    self.add_result(call, text, ToolOutcome::Done);
                }
            }
            Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => {}
        }
        Ok(())
    }

    fn label(&self, brief: &Brief) -> Result<Option<String>, TextError> {
        brief.label.as_ref().map(|label| self.texts.text(label)).transpose()
    }

    fn refused(&mut self, why: &Refusal, origin: Origin) {
        self.add_data(call_of(origin), |call| Heard::Refused { call, why: why.clone() });
        match origin {
            Origin::Call(call) => {
                let tool = self.calls.get(&call).map(|(_, tool)| tool.as_str());
                let example = tool.zip(self.brief).and_then(|(tool, brief)| example(tool, brief));
                self.add_result(call, wording::refusal(why, example), ToolOutcome::Failed);
            }
            Origin::Cascade => self.add_words(wording::cascade_refused(why)),
            Origin::Course | Origin::Promise | Origin::Outside => {}
        }
    }

    fn answered(&mut self, id: AskId, answer: &Answer) -> Result<(), TextError> {
        let Some((ask, origin)) = self.asks.get(&id).copied() else { return Ok(()) };
        let text = match (answer, answer.text()) {
            (Answer::Report(report), Some(text)) => {
                let Ask::Hire { brief, .. } = ask else { return Ok(()) };
                self.report(brief, origin, report, &text)?
            }
            (_, Some(text)) if self.is_compacted && matches!(ask, Ask::Tool(_)) => {
                format!("[{} bytes, left out to save room; call again if you need it]", text.bytes)
            }
            (_, Some(text)) => self.texts.text(&text)?,
            (Answer::Delivered, None) if matches!(ask, Ask::Tell { what: Stimulus::Cancel, .. }) => {
                wording::STOPPED.to_owned()
            }
            (_, None) => wording::without_text(answer).to_owned(),
        };
        let text = match self.cites_as {
            Some(path) if matches!(ask, Ask::Tool(_) | Ask::Hire { .. }) => {
                format!("[{}]\n{text}", AskKey { contract: path.clone(), ask: id })
            }
            Some(_) | None => text,
        };
        if matches!(answer, Answer::Text(_)) {
            // The message that answers a question was heard just before. It is shown only as the answer.
            self.next.pop();
            self.data.as_mut().and_then(|data| data.next.pop());
        }
        self.answered_as_data(ask, call_of(origin), answer)?;
        match (ask, origin) {
            // The result of the approved call shows the approval.
            (Ask::Question { .. }, _) if *answer == Answer::Approved => {}
            (Ask::Check(_), _) if *answer == Answer::Passed => {}
            (Ask::Model(_), _) => {}
            (_, Origin::Call(call)) if self.unanswered.contains(&call) => {
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost);
                self.add_result(call, text, if failed { ToolOutcome::Failed } else { ToolOutcome::Done });
            }
            (Ask::Tell { .. }, _) => {}
            (Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. }, _) => self.add_words(text),
        }
        Ok(())
    }

    fn answered_as_data(&mut self, ask: &Ask, call: Option<CallRef>, answer: &Answer) -> Result<(), TextError> {
        let Some(data) = &mut self.data else { return Ok(()) };
        let id = call.and_then(|call| self.calls.get(&call)).map(|(id, _)| id.clone());
        let text = |of: Option<TextRef>| of.map(|of| self.texts.text(&of)).transpose().map(Option::unwrap_or_default);
        let heard = match (ask, id) {
            (Ask::Hire { brief, .. }, call) => {
                let Answer::Report(report) = answer else { return Ok(()) };
                let text = text(answer.text().filter(|text| *text != brief.task))?;
                let (hire, agent) = (brief.path.clone(), brief.agent.clone());
                Heard::Report(HeardReport { call, hire, agent, outcome: report.outcome, text })
            }
            (Ask::Tool(_) | Ask::Question { .. }, Some(call)) if *answer != Answer::Approved => {
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost | Answer::Aborted);
                Heard::Result { call, text: text(answer.text())?, failed }
            }
            (Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. }, _) => {
                return Ok(());
            }
        };
        data.next.push((call, heard));
        Ok(())
    }

    fn replied(&mut self, id: AskId, said: &Said) -> Result<(), TextError> {
        let reply = match self.texts.reply(&said.reply) {
            Err(TextError::NotReply { .. }) => Arc::new(self.placeholder(id, said)?),
            reply => reply?,
        };
        let calls = (0..).zip(&reply.calls).map(|(index, call)| (CallRef { reply: id, index }, call));
        self.unanswered = calls.clone().map(|(at, _)| at).collect();
        self.calls.extend(calls.map(|(at, call)| (at, (call.id.clone(), call.name.clone()))));
        if let Some(data) = &mut self.data {
            data.heard.push(Heard::Reply(Arc::clone(&reply)));
        }
        self.messages.push(Message::Assistant(reply));
        Ok(())
    }

    /// Returns what is shown for a stored reply that can't be read: its words, which are stored separately, and as many calls
    /// as it had, so that their results can follow.
    fn placeholder(&self, id: AskId, said: &Said) -> Result<Reply, TextError> {
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

    /// Returns a report as its hirer is shown it. A report that arrives after its call was answered repeats its task.
    fn report(&self, brief: &Brief, origin: Origin, report: &Report, text: &TextRef) -> Result<String, TextError> {
        let later = match origin {
            Origin::Call(call) => !self.unanswered.contains(&call),
            Origin::Outside => true,
            // The task is the reply that the agent has just given.
            Origin::Cascade | Origin::Promise | Origin::Course => false,
        };
        let task = later.then(|| self.texts.text(&brief.task)).transpose()?;
        // A hire that ended before it wrote anything reports its task as its text.
        let text = if *text == brief.task { wording::SAID_NOTHING.to_owned() } else { self.texts.text(text)? };
        Ok(wording::report(brief, report, self.label(brief)?.as_deref(), task.as_deref(), &text))
    }

    fn heard(&mut self, from: &Sender, stimulus: &Stimulus) -> Result<(), TextError> {
        let text = match stimulus {
            Stimulus::Message(text) | Stimulus::Question(text) => self.texts.text(text)?,
            Stimulus::TopUp { .. } | Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel => return Ok(()),
        };
        let (words, heard) = match from {
            Sender::Owner { .. } => (text.clone(), Heard::Owner(text)),
            Sender::Contract(AskKey { contract: from, .. }) if matches!(stimulus, Stimulus::Question(_)) => {
                (wording::question(from, &text), Heard::Question { from: from.clone(), text })
            }
            Sender::Contract(AskKey { contract: from, .. }) => {
                (wording::message(from, &text), Heard::Message { from: from.clone(), text })
            }
        };
        self.add_words(words);
        self.add_data(None, |_| heard);
        Ok(())
    }

    /// Adds the result of a call, if it is the first.
    fn add_result(&mut self, call: CallRef, text: String, outcome: ToolOutcome) {
        if let Some((id, _)) = self.calls.get(&call).filter(|_| self.unanswered.remove(&call)) {
            let failed = outcome == ToolOutcome::Failed;
            self.next.push((Some(call), Part::Result { call: id.clone(), text, failed }));
        }
    }

    fn add_words(&mut self, words: String) {
        self.next.push((None, Part::Words(words)));
    }

    /// Adds what `heard` makes of the id that the model gave the call.
    fn add_data(&mut self, call: Option<CallRef>, heard: impl FnOnce(Option<String>) -> Heard) {
        if let Some(data) = &mut self.data {
            let id = call.and_then(|call| self.calls.get(&call)).map(|(id, _)| id.clone());
            data.next.push((call, heard(id)));
        }
    }

    /// Ends the message that the agent is shown before its next turn: results in the order of their calls, then words.
    fn end_turn(&mut self) {
        if let Some(Data { heard, next }) = &mut self.data {
            heard.extend(in_order_of_calls(next));
        }
        let parts: Vec<Part> = in_order_of_calls(&mut self.next).collect();
        match self.messages.last_mut() {
            Some(Message::User(before)) => before.extend(parts),
            Some(Message::Assistant(_)) | None if parts.is_empty() => {}
            Some(Message::Assistant(_)) | None => self.messages.push(Message::User(parts)),
        }
    }
}

fn in_order_of_calls<T>(items: &mut Vec<(Option<CallRef>, T)>) -> impl Iterator<Item = T> {
    items.sort_by_key(|(call, _)| (call.is_none(), *call));
    items.drain(..).map(|(_, item)| item)
}

fn call_of(origin: Origin) -> Option<CallRef> {
    if let Origin::Call(call) = origin { Some(call) } else { None }
}

/// Returns the brief as the agent is shown it: the task, the terms, and the checks that its report must pass.
fn opening(brief: &Brief, texts: &dyn Texts) -> Result<String, TextError> {
    let mut words = match brief.context {
        Context::Fork { .. } => wording::FORK.to_owned(),
        Context::Fresh | Context::After { .. } => {
            brief.lineage.upward().next().map(|hirer| wording::task_heading(hirer.agent.as_str())).unwrap_or_default()
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
    words.push_str(&checks::described(&checks_of(brief, texts)?));
    Ok(words)
}

fn checks_of(brief: &Brief, texts: &dyn Texts) -> Result<Vec<Check>, TextError> {
    let checks = brief.checks.iter().map(|check| texts.text(&check.what)).collect::<Result<Vec<_>, _>>()?;
    Ok(checks::read(checks.iter().map(String::as_str)))
}
