//! Turns a contract's facts into the conversation that its agent is shown. The same facts always give the same messages, so
//! that each prompt begins with the prompt before.

mod last;
mod size;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, AskKey, Brief, CALLS_MAX, CallRef, Context, Fact, Mode, Offer, Origin, Path, Pause,
    REPEATS_TOLD_MIN, Refusal, Repeats, ReplyParts, Report, Said, Sender, Stimulus, TextRef,
};
use serde_json::{Value, json};

use crate::checks::{self, Check};
use crate::hiring::{SinceTold, example, members_above};
use crate::model::{Message, Part, RawCall, Reply, Stop, Wire};
use crate::prompt_data::{Heard, HeardReport};
use crate::text::{TextError, Texts};
use crate::tool::ToolOutcome;
use crate::wording;

pub(crate) use last::{LastPrompt, last_prompt};
pub(crate) use size::{size, text_size, written_size};

/// Turns a contract's facts into the messages that its agent is shown.
pub fn transcript(facts: &[Fact], texts: &dyn Texts) -> Result<Vec<Message>, TextError> {
    Ok(build(facts, texts, None)?.messages)
}

/// Turns a contract's facts into the data that a model within the process is shown.
pub(crate) fn heard(facts: &[Fact], texts: &dyn Texts) -> Result<Vec<Heard>, TextError> {
    Ok(build(facts, texts, Some(Data::default()))?.data.unwrap_or_default().heard)
}

fn build(facts: &[Fact], texts: &dyn Texts, data: Option<Data>) -> Result<TranscriptBuilder, TextError> {
    let compacted = |fact: &Fact| if let Fact::Compacted { upto, .. } = fact { Some(*upto as usize) } else { None };
    let short_until = facts.iter().rev().find_map(compacted).unwrap_or(0);
    let mut builder = TranscriptBuilder { data, ..TranscriptBuilder::default() };
    for (at, fact) in facts.iter().enumerate() {
        builder.is_compacted = at < short_until;
        builder.add(fact, texts)?;
    }
    builder.ask_for_rest();
    builder.end_turn();
    Ok(builder)
}

/// Returns the parts of the newest reply, the oldest first, if it was cut and the next ordinary reply continues it. The words of the
/// last part are the whole text so far.
pub(crate) fn unfinished(facts: &[Fact]) -> Option<Vec<Said>> {
    let (mut parts, mut newest) = (Vec::new(), ReplyParts::default());
    for fact in facts {
        newest.note(fact);
        if !newest.are_continued() {
            parts.clear();
        } else if let Some((_, said)) = fact.said() {
            parts.push(*said);
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// Turns a contract's facts into what its agent is shown, one fact at a time.
#[derive(Debug, Default)]
pub struct Conversation(TranscriptBuilder);

impl Conversation {
    /// Adds the contract's next fact, and returns what it adds to the conversation: the parts that the agent is shown, or its
    /// reply. Results of tools are never left out here. `texts` must have the texts of [`Conversation::texts_of`].
    pub fn add(&mut self, fact: &Fact, texts: &dyn Texts) -> Result<Option<Message>, TextError> {
        self.0.add(fact, texts)?;
        let parts: Vec<Part> = self.0.next.drain(..).map(|(_, part)| part).collect();
        let shown = (!parts.is_empty()).then_some(Message::User(parts));
        Ok(self.0.messages.pop().or(shown))
    }

    /// Returns the texts of earlier facts that are shown with this fact: the task and the name of the hire that it is about.
    pub fn texts_of(&self, fact: &Fact) -> Vec<TextRef> {
        let builder = &self.0;
        let hire = match fact {
            Fact::Answered { id, .. } => match builder.asks.get(id) {
                Some((Asked::Hire(brief), _)) => Some(Hire::of(brief)),
                Some(_) | None => None,
            },
            Fact::Woke { pause: Pause::Hire(ordinal), .. } | Fact::Refused { ordinal: Some(ordinal), .. } => {
                builder.hires.get(ordinal).map(|(hire, _)| hire.clone())
            }
            Fact::Opened(_)
            | Fact::Asked { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => None,
        };
        hire.into_iter().flat_map(|hire| std::iter::once(hire.task).chain(hire.label)).collect()
    }
}

#[derive(Debug, Default)]
struct TranscriptBuilder {
    messages: Vec<Message>,
    /// The parts of the next message, each with the call that it is the result of.
    next: Vec<(Option<CallRef>, Part)>,
    /// The same as data, if a model reads data.
    data: Option<Data>,
    /// Whether the results of tools are left out, except for their sizes. The texts stay in the journal.
    is_compacted: bool,
    /// The asks so far, for the facts that answer them.
    asks: BTreeMap<AskId, (Asked, Origin)>,
    /// The hires that were admitted or had to wait, by ordinal, each with the call that hired it.
    hires: BTreeMap<u32, (Hire, Origin)>,
    /// The ordinals of the hires that wait for money and have not begun.
    waiting: BTreeSet<u32>,
    /// The limit of the newest request.
    max_tokens: u32,
    parts: ReplyParts,
    /// The length of the newest reply in tokens, until the next request.
    cut_at: Option<u32>,
    /// Whether something else was shown before the rest of a reply that was cut.
    has_news: bool,
    /// All calls so far: the id that the model gave each, and the tool.
    calls: BTreeMap<CallRef, (String, String)>,
    /// The calls of the newest reply that have no result yet.
    unanswered: BTreeSet<CallRef>,
    brief: Option<Arc<Brief>>,
    /// What the agent did since it was last told something.
    since_told: SinceTold,
    repeats: Repeats,
    /// How often the newest result came in a row, if the agent is told.
    repeated: Option<u32>,
    /// The newest reply.
    reply: Option<Arc<Reply>>,
    /// The contract by which results are cited, if the report must cite them.
    cites_as: Option<Path>,
}

/// A hire, as its hirer is told about it.
#[derive(Clone, Debug)]
pub(crate) struct Hire {
    pub(crate) path: Path,
    pub(crate) agent: AgentName,
    pub(crate) label: Option<TextRef>,
    pub(crate) task: TextRef,
}

impl Hire {
    pub(crate) fn of(brief: &Brief) -> Hire {
        let label = brief.label.as_deref().copied();
        Hire { path: brief.path.clone(), agent: brief.agent.clone(), label, task: brief.task }
    }

    /// Makes the hire of an offer.
    pub(crate) fn offered(hirer: &Brief, ordinal: u32, offer: &Offer) -> Hire {
        let agent = offer.agent_of_hire(&hirer.agent);
        let label = offer.label.as_deref().copied();
        Hire { path: hirer.path.hire(ordinal), agent: agent.clone(), label, task: offer.task }
    }
}

/// What the answer to an ask needs to know about the ask.
#[derive(Clone, Debug)]
enum Asked {
    Model,
    Tool,
    Hire(Arc<Brief>),
    Check,
    Question,
    Message,
    Cancel,
    Draw,
}

impl Asked {
    fn of(ask: &Ask) -> Asked {
        match ask {
            Ask::Model(_) => Asked::Model,
            Ask::Tool(_) => Asked::Tool,
            Ask::Hire { brief, .. } => Asked::Hire(Arc::clone(brief)),
            Ask::Check(_) => Asked::Check,
            Ask::Question { .. } => Asked::Question,
            Ask::Draw { .. } => Asked::Draw,
            Ask::Tell { what: Stimulus::Cancel, .. } => Asked::Cancel,
            Ask::Tell { .. } => Asked::Message,
        }
    }
}

#[derive(Debug, Default)]
struct Data {
    heard: Vec<Heard>,
    /// What is heard before the next turn, each with its call.
    next: Vec<(Option<CallRef>, Heard)>,
}

impl TranscriptBuilder {
    fn add(&mut self, fact: &Fact, texts: &dyn Texts) -> Result<(), TextError> {
        self.parts.note(fact);
        self.repeated = self.repeats.note(fact).filter(|times| *times >= REPEATS_TOLD_MIN);
        self.since_told.note(fact);
        match fact {
            Fact::Opened(brief) => {
                self.brief = Some(Arc::clone(brief));
                let cites = checks_of(brief, texts)?.contains(&Check::Receipts);
                self.cites_as = cites.then(|| brief.path.clone());
                self.add_words(opening(brief, texts)?);
            }
            Fact::Asked { id, ask, origin, .. } => self.asked(*id, ask, *origin, texts)?,
            Fact::Answered { id, answer: Answer::Said(said), .. } => self.replied(*id, said, texts)?,
            Fact::Answered { id, answer, .. } => self.answered(*id, answer, texts)?,
            Fact::Queued { origin, ordinal, offer, .. } => self.queued(*origin, *ordinal, offer, texts)?,
            Fact::Refused { why, origin, ordinal, .. } => self.refused(why, *origin, *ordinal, texts)?,
            Fact::Heard { from, stimulus } => self.heard(from, stimulus, texts)?,
            Fact::Woke { pause: Pause::Call(call), why } => {
                self.add_result(*call, wording::waking(*why).to_owned(), ToolOutcome::Done);
            }
            Fact::Woke { pause: Pause::Hire(ordinal), .. } => {
                if let Some((hire, Origin::Call(call))) = self.hires.get(ordinal).cloned() {
                    let name = label(&hire, texts)?;
                    let text = if self.waiting.contains(ordinal) {
                        wording::keeps_waiting(&hire, name.as_deref())
                    } else {
                        wording::continues(&hire, name.as_deref())
                    };
                    self.add_result(call, text, ToolOutcome::Done);
                }
            }
            Fact::Nudged(nudge) => {
                let words = self.reply.as_ref().and_then(|reply| reply.words.as_deref()).unwrap_or_default();
                let not_made = self.since_told.not_made(self.brief.as_deref(), words);
                self.add_words(wording::nudge(*nudge, &not_made));
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

    fn asked(&mut self, id: AskId, ask: &Ask, origin: Origin, texts: &dyn Texts) -> Result<(), TextError> {
        self.asks.insert(id, (Asked::of(ask), origin));
        match ask {
            // What arrives while the model works is for its next turn.
            Ask::Model(request) => {
                self.ask_for_rest();
                self.end_turn();
                self.max_tokens = request.max_tokens;
            }
            Ask::Hire { brief, mode } => self.hired(brief, *mode, origin, texts)?,
            Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {}
        }
        Ok(())
    }

    /// A hire has begun. The call of a hire that has waited was answered when the hire had to wait.
    fn hired(&mut self, brief: &Brief, mode: Mode, origin: Origin, texts: &dyn Texts) -> Result<(), TextError> {
        let (hire, name) = (Hire::of(brief), label(&Hire::of(brief), texts)?);
        let money = brief.grant.money;
        self.hires.insert(brief.path.ordinal(), (hire.clone(), origin));
        let has_waited = self.waiting.remove(&brief.path.ordinal());
        if !has_waited {
            let (path, agent) = (hire.path.clone(), hire.agent.clone());
            self.add_data(call_of(origin), |call| Heard::Hired { call, hire: path, agent });
        }
        match (mode, origin) {
            (Mode::Background, Origin::Call(_)) if has_waited => {
                self.add_words(wording::has_begun(&hire, money, name.as_deref()));
            }
            (Mode::Background, Origin::Call(call)) => {
                self.add_result(call, wording::was_hired(&hire, money, name.as_deref()), ToolOutcome::Done);
            }
            (Mode::Background | Mode::Blocking, _) => {}
        }
        Ok(())
    }

    /// A hire has to wait for money.
    fn queued(&mut self, origin: Origin, ordinal: u32, offer: &Offer, texts: &dyn Texts) -> Result<(), TextError> {
        let Some(brief) = &self.brief else { return Ok(()) };
        let hire = Hire::offered(brief, ordinal, offer);
        let name = label(&hire, texts)?;
        self.hires.insert(ordinal, (hire.clone(), origin));
        self.waiting.insert(ordinal);
        let (path, agent) = (hire.path.clone(), hire.agent.clone());
        self.add_data(call_of(origin), |call| Heard::Hired { call, hire: path, agent });
        if let (Mode::Background, Origin::Call(call)) = (offer.mode, origin) {
            self.add_result(call, wording::waits_for_money(&hire, name.as_deref()), ToolOutcome::Done);
        }
        Ok(())
    }

    fn refused(
        &mut self,
        why: &Refusal,
        origin: Origin,
        ordinal: Option<u32>,
        texts: &dyn Texts,
    ) -> Result<(), TextError> {
        let waited = ordinal.filter(|ordinal| self.waiting.remove(ordinal));
        let waited = waited.and_then(|ordinal| self.hires.get(&ordinal)).map(|(hire, _)| hire.clone());
        let path = waited.as_ref().map(|hire| hire.path.clone());
        self.add_data(call_of(origin), |call| Heard::Refused { call, hire: path, why: why.clone() });
        match (origin, waited) {
            (Origin::Call(call), Some(hire)) if !self.unanswered.contains(&call) => {
                self.add_words(wording::not_begun(&hire, why, label(&hire, texts)?.as_deref()));
            }
            (origin, Some(_) | None) => self.refused_at_once(why, origin),
        }
        Ok(())
    }

    fn refused_at_once(&mut self, why: &Refusal, origin: Origin) {
        match origin {
            Origin::Call(call) => {
                let tool = self.calls.get(&call).map(|(_, tool)| tool.as_str());
                let example = tool.zip(self.brief.as_deref()).and_then(|(tool, brief)| example(tool, brief));
                self.add_result(call, wording::refusal(why, example), ToolOutcome::Failed);
            }
            Origin::Cascade => self.add_words(wording::cascade_refused(why)),
            Origin::Course | Origin::Outside => {}
        }
    }

    fn answered(&mut self, id: AskId, answer: &Answer, texts: &dyn Texts) -> Result<(), TextError> {
        let Some((ask, origin)) = self.asks.get(&id).cloned() else { return Ok(()) };
        let text = match (answer, answer.text()) {
            (Answer::Report(report), Some(text)) => {
                let Asked::Hire(brief) = &ask else { return Ok(()) };
                self.report(brief, origin, report, &text, texts)?
            }
            (_, Some(text)) if self.is_compacted && matches!(ask, Asked::Tool) => {
                format!("[{} bytes, left out to save room; call again if you need it]", text.bytes)
            }
            (_, Some(text)) => texts.text(&text)?,
            (Answer::Delivered, None) if matches!(ask, Asked::Cancel) => wording::STOPPED.to_owned(),
            (_, None) => wording::without_text(answer).to_owned(),
        };
        let text = match self.repeated {
            Some(times) => format!("{text}\n\n{}", wording::repeated(times)),
            None => text,
        };
        let text = match &self.cites_as {
            Some(path) if matches!(ask, Asked::Tool | Asked::Hire(_)) => {
                format!("[{}]\n{text}", AskKey { contract: path.clone(), ask: id })
            }
            Some(_) | None => text,
        };
        if matches!(answer, Answer::Text(_)) {
            // The message that answers a question was heard just before. It is shown only as the answer.
            self.next.pop();
            self.data.as_mut().and_then(|data| data.next.pop());
        }
        self.answered_as_data(&ask, call_of(origin), answer, texts)?;
        match (ask, origin) {
            // The result of the approved call shows the approval.
            (Asked::Question, _) if *answer == Answer::Approved => {}
            (Asked::Check, _) if *answer == Answer::Passed => {}
            (Asked::Model, _) => {}
            (_, Origin::Call(call)) if self.unanswered.contains(&call) => {
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost);
                self.add_result(call, text, if failed { ToolOutcome::Failed } else { ToolOutcome::Done });
            }
            (Asked::Message | Asked::Cancel | Asked::Draw, _) => {}
            (Asked::Tool | Asked::Hire(_) | Asked::Check | Asked::Question, _) => self.add_words(text),
        }
        Ok(())
    }

    fn answered_as_data(
        &mut self,
        ask: &Asked,
        call: Option<CallRef>,
        answer: &Answer,
        texts: &dyn Texts,
    ) -> Result<(), TextError> {
        let Some(data) = &mut self.data else { return Ok(()) };
        let id = call.and_then(|call| self.calls.get(&call)).map(|(id, _)| id.clone());
        let text = |of: Option<TextRef>| of.map(|of| texts.text(&of)).transpose().map(Option::unwrap_or_default);
        let heard = match (ask, id) {
            (Asked::Hire(brief), call) => {
                let Answer::Report(report) = answer else { return Ok(()) };
                let text = text(answer.text().filter(|text| *text != brief.task))?;
                let (hire, agent) = (brief.path.clone(), brief.agent.clone());
                Heard::Report(HeardReport { call, hire, agent, outcome: report.outcome, text })
            }
            (Asked::Tool | Asked::Question, Some(call)) if *answer != Answer::Approved => {
                let failed = matches!(answer, Answer::Failed(_) | Answer::Lost | Answer::Aborted);
                Heard::Result { call, text: text(answer.text())?, failed }
            }
            (
                Asked::Model
                | Asked::Tool
                | Asked::Check
                | Asked::Question
                | Asked::Message
                | Asked::Cancel
                | Asked::Draw,
                _,
            ) => return Ok(()),
        };
        data.next.push((call, heard));
        Ok(())
    }

    fn replied(&mut self, id: AskId, said: &Said, texts: &dyn Texts) -> Result<(), TextError> {
        let reply = match texts.reply(&said.reply) {
            Err(TextError::Invalid { .. }) => Arc::new(placeholder(id, said, texts)?),
            reply => reply?,
        };
        let calls = (0..).zip(&reply.calls).map(|(index, call)| (CallRef { reply: id, index }, call));
        self.unanswered = calls.clone().map(|(at, _)| at).collect();
        self.calls.extend(calls.map(|(at, call)| (at, (call.id.clone(), call.name.clone()))));
        if let Some(data) = &mut self.data {
            data.heard.push(Heard::Reply(Arc::clone(&reply)));
        }
        self.reply = Some(Arc::clone(&reply));
        self.messages.push(Message::Assistant(reply));
        // A token limit may have lowered the request's limit after it was stored.
        let tokens = if said.size.tokens == 0 { self.max_tokens } else { said.size.tokens.min(self.max_tokens) };
        self.cut_at = Some(tokens);
        Ok(())
    }

    /// Asks for the rest of the newest reply, if it was cut and is continued.
    fn ask_for_rest(&mut self) {
        let cut_at = self.cut_at.take();
        if self.parts.are_continued() {
            self.has_news |= !self.next.is_empty();
            if let Some(tokens) = cut_at {
                self.add_words(wording::continue_reply(tokens));
            }
        } else if std::mem::take(&mut self.has_news) && self.next.is_empty() {
            self.add_words(wording::NEWS_WHILE_CUT.to_owned());
        }
    }

    /// Returns a report as its hirer is shown it. A report that arrives after its call was answered repeats its task.
    fn report(
        &self,
        brief: &Brief,
        origin: Origin,
        report: &Report,
        text: &TextRef,
        texts: &dyn Texts,
    ) -> Result<String, TextError> {
        let later = match origin {
            Origin::Call(call) => !self.unanswered.contains(&call),
            Origin::Outside => true,
            // The task is the reply that the agent has just given.
            Origin::Cascade | Origin::Course => false,
        };
        let task = later.then(|| texts.text(&brief.task)).transpose()?;
        // A hire that ended before it wrote anything reports its task as its text.
        let text = if *text == brief.task { wording::SAID_NOTHING.to_owned() } else { texts.text(text)? };
        Ok(wording::report(brief, report, label(&Hire::of(brief), texts)?.as_deref(), task.as_deref(), &text))
    }

    fn heard(&mut self, from: &Sender, stimulus: &Stimulus, texts: &dyn Texts) -> Result<(), TextError> {
        let text = match stimulus {
            Stimulus::Message(text) | Stimulus::Question(text) => texts.text(text)?,
            Stimulus::TopUp { .. }
            | Stimulus::Draw { .. }
            | Stimulus::RefuseDraw { .. }
            | Stimulus::Hire(_)
            | Stimulus::DropHire { .. }
            | Stimulus::WrapUp
            | Stimulus::OutOfTokens { .. }
            | Stimulus::Cancel => return Ok(()),
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

fn label(hire: &Hire, texts: &dyn Texts) -> Result<Option<String>, TextError> {
    hire.label.as_ref().map(|label| texts.text(label)).transpose()
}

/// Returns what is shown for a stored reply that can't be read: its words, which are stored separately, and as many calls
/// as it had, so that their results can follow.
fn placeholder(id: AskId, said: &Said, texts: &dyn Texts) -> Result<Reply, TextError> {
    let words = said.words.map(|words| texts.text(&words)).transpose()?.unwrap_or_default();
    let call = |index: u32| RawCall {
        id: format!("unreadable-{:?}-{}-{index}", said.reply.hash, id.0),
        name: wording::UNREADABLE_CALL.to_owned(),
        arguments: Ok(json!({})),
    };
    let calls: Vec<RawCall> = (0..said.calls.min(CALLS_MAX)).map(call).collect();
    let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
    let words = Some(format!("{words}{}", wording::UNREADABLE));
    Ok(Reply { wire: Wire::Inside, raw: Value::Null, words, calls, stop, part: None })
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
    if brief.context == Context::Fresh {
        words.push_str(&wording::members_above(&members_above(brief.hiring.as_ref(), brief.lineage.upward())));
    }
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
