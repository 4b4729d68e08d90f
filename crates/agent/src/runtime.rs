//! The runtime of an agent: its profile and its model. It turns a leaf ask into an answer: it shows a request
//! to the model and reads the reply, or it calls a tool.

mod prompt;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Brief, Call, Compaction, Cost, Cut, Fact, ImplausibleUsage, Input, Millis, Msat,
    OwnSize, Path, Request, TextKind, TextRef, Tokens, ToolCall, ToolName, Turn, Unreadable, Verdict, WaitsFor,
};
use serde_json::Value;

use crate::checks::{self, Check};
use crate::hiring::{self, DelegationTool, FinalText, HeldBack, Post, Reader, is_asked_back, is_done};
use crate::history::{History, squeezed};
use crate::meter::{Implausible, Meter, estimate};
use crate::model::{
    Attempt, Billing, Delta, Message, Model, ModelError, Prompt, RawCall, Reply, Reported, Stop, Usage, Watch,
};
use crate::profile::Profile;
use crate::status::Status;
use crate::text::{Redactor, Text, TextError, Texts};
use crate::tool::{LookUp, RESULT_BYTES_MAX, ToolOutcome, ToolResult};
use crate::transcript::{size, unfinished};
use crate::wording;
use prompt::ReplyLimit;

/// The part of a model's window, in percent, above which older results are left out.
const WINDOW_PERCENT_MAX: u64 = 70;

/// How often a prompt that is too long is halved. The real window may be much smaller than the configured one.
const SQUEEZES_MAX: usize = 4;

/// After how many lost replies in a row the contract ends. Each may have cost its hold.
const LOSSES_MAX: usize = 3;

/// Everything that an agent works with.
#[derive(Clone)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AgentRuntime {
    /// The agent's instructions, tools and team.
    pub profile: Arc<Profile>,
    pub model: Arc<dyn Model>,
    /// The model's window, in tokens.
    pub window: u64,
    pub price: Price,
    pub redactor: Redactor,
    /// Whether the session counts the texts that the model writes by their tokens.
    pub counts: Arc<TokenCounts>,
}

/// Whether the tokens that a model's provider reports can be used to predict the size of later requests. All contracts of a session
/// with the same model share it.
#[derive(Debug, Default)]
pub struct TokenCounts(AtomicBool);

impl TokenCounts {
    /// Notes that a request had more input than it held: from now on, texts count by their bytes.
    pub fn distrust(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn are_too_low(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What is needed to read a reply.
#[derive(Clone, Copy)]
struct ReadContext<'a> {
    brief: Option<&'a Brief>,
    /// The words before, if the reply continues a reply that was cut.
    before: Option<&'a str>,
    limit: ReplyLimit,
    now: Millis,
}

/// What the usage report of a reply says.
struct Billed {
    /// The usage, if it can be right.
    usage: Option<Usage>,
    /// The counts that can't be right, if they have a price.
    implausible: Option<ImplausibleUsage>,
    cost: Cost,
}

/// Returns the cost of usage.
pub type Price = Arc<dyn Fn(&Usage) -> Msat + Send + Sync>;

/// Returns the session's time.
pub type Clock<'a> = &'a (dyn Fn() -> Millis + Send + Sync);

/// What a tool may read besides its arguments.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The facts of the contract that calls it.
    pub facts: &'a [Fact],
    /// The posts of all hires of its hirer, in order, including the call's own post.
    pub board: &'a [Post],
    /// What the hires of the contract wait for, if they do no work themselves.
    pub waits: &'a BTreeMap<Path, WaitsFor>,
    /// The store of the texts.
    pub texts: &'a dyn Texts,
}

/// An input for a contract, with the texts that its facts will name.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Arrival {
    pub input: Input,
    /// The texts, to be stored before the facts.
    pub texts: Vec<Text>,
}

impl AgentRuntime {
    /// Returns a meter for a request to the model.
    pub fn meter(&self, request: &Request) -> Meter {
        match self.model.billing() {
            Billing::Billed => Meter::default(),
            Billing::Nominal => Meter::nominal(Arc::clone(&self.price), request),
        }
    }

    /// Asks the model. `history` ends with the ask. `status` is what the contract has left. `clock` gives the time from which
    /// calls that wait count their wait. A prompt that is too long can't have cost anything, so a shorter one is sent within
    /// the same ask: first without older results, then with the longest texts cut. If a text can't be read, the model is not
    /// asked.
    pub async fn ask(
        &self,
        key: AskKey,
        request: &Request,
        history: History<'_>,
        status: &Status,
        watch: Watch<'_>,
        clock: Clock<'_>,
    ) -> Result<Arrival, TextError> {
        let history = history.upto(request.upto);
        let meter = self.meter(request);
        meter.leave();
        let watch: Watch<'_> = &|delta| {
            meter.follow(delta);
            watch(delta);
        };
        let shown = watch;
        let held_back = HeldBack::of_reply_after(history.facts);
        let watch: Watch<'_> = &|delta| held_back.pass(delta, watch);
        let mut prompt = self.prompt(key.clone(), request, history, status)?;
        let (attempt, left_out) = self.send(&mut prompt, request, history, watch).await?;
        if is_too_long(&attempt) && request.turn == Turn::Next {
            let without_rest = self.without_rest(&key, request, &history, clock())?;
            if let Some(arrival) = without_rest {
                return Ok(arrival);
            }
        }
        let Attempt { outcome, usage: reported } = attempt;
        match outcome {
            Ok(reply) => {
                // From here on, the reply contains no secrets.
                let written = self.redactor.clean_reply(&key, reply);
                let brief = brief_of(history.facts);
                let limit = self.reply_limit(&prompt, brief);
                let request = &Request { max_tokens: limit.tokens(), ..request.clone() };
                let Billed { usage, implausible, cost } = self.billed(request, &prompt, &written, reported);
                let reply = sendable(written, limit);
                let before = match request.turn {
                    Turn::Next => words_so_far(&history, &reply)?,
                    Turn::Last => None,
                };
                let mut texts = Vec::new();
                let context = ReadContext { brief, before: before.as_deref(), limit, now: clock() };
                // A reply that proves that texts count for more counts by its bytes, too.
                if usage.is_some_and(|usage| request.is_exceeded_by(usage.into())) {
                    self.counts.distrust();
                }
                let mut read = self.read(&reply, usage, context, &mut texts);
                read.implausible = implausible;
                let is_whole_text = reply.calls.is_empty() && read.cut.is_none();
                // Who has nothing to add confirms the text, too.
                read.confirms = is_whole_text && is_asked_back(history.facts) && words_of(&reply).is_none_or(is_done);
                if read.confirms {
                    (read.words, read.output) = (None, None);
                } else {
                    held_back.release(shown);
                }
                if is_whole_text && !read.confirms && request.turn == Turn::Next {
                    read.verdict = self.judge(&reply, before.as_deref(), history, &mut texts)?;
                }
                let tokens = usage.map_or(request.tokens, |usage| usage.input);
                let full = tokens.saturating_mul(100) >= self.window.saturating_mul(WINDOW_PERCENT_MAX);
                let compact = full.then(|| self.compaction(history, request.upto)).transpose()?;
                read.verdict.compact = compact.or(left_out);
                Ok(Arrival { input: Input::Reply { id: key.ask, reply: Box::new(read), cost }, texts })
            }
            Err(why @ ModelError::Broken { .. }) => {
                Ok(self.lose(&key, &why, meter.cost_of_stopping(), losses(history.facts), watch))
            }
            Err(
                why @ (ModelError::Unavailable { .. }
                | ModelError::Refused { .. }
                | ModelError::NoModel { .. }
                | ModelError::TooLong { .. }),
            ) => {
                let cost = reported.whole().map_or(Msat::ZERO, |usage| (self.price)(&usage));
                Ok(self.fail(&key, &why.to_string(), Cost::Known(cost)))
            }
        }
    }

    /// Sends a prompt, and a shorter one if it is too long. Returns what was left out besides what is always left out.
    async fn send(
        &self,
        prompt: &mut Prompt,
        request: &Request,
        history: History<'_>,
        watch: Watch<'_>,
    ) -> Result<(Attempt, Option<Compaction>), TextError> {
        let mut attempt = self.model.ask(prompt, watch).await;
        let mut left_out = None;
        if is_too_long(&attempt)
            && request.turn == Turn::Next
            && let Some(upto) = history.shorter()?
        {
            prompt.messages = history.compacted(upto)?;
            attempt = self.model.ask(prompt, watch).await;
            left_out = Some(self.compaction(history, upto)?);
        }
        for _ in 0..SQUEEZES_MAX {
            if !is_too_long(&attempt) {
                break;
            }
            let Some(shorter) = squeezed(&prompt.messages) else { break };
            prompt.messages = shorter;
            attempt = self.model.ask(prompt, watch).await;
        }
        Ok((attempt, left_out))
    }

    /// Ends a reply that was cut and can't be continued, because the request for its rest is too long for the model's window: the text
    /// so far stays cut. The refused request has cost nothing.
    fn without_rest(
        &self,
        key: &AskKey,
        request: &Request,
        history: &History<'_>,
        now: Millis,
    ) -> Result<Option<Arrival>, TextError> {
        let Some(words) = unfinished(history.facts).and_then(|parts| parts.last()?.words) else { return Ok(None) };
        let before = history.texts.text(&words)?;
        let reply = Reply { raw: Value::Null, words: None, stop: Stop::Window, ..Reply::words("") };
        let limit = ReplyLimit::Continued(request.max_tokens);
        let context = ReadContext { brief: brief_of(history.facts), before: Some(&before), limit, now };
        let mut texts = Vec::new();
        let read = Box::new(self.read(&reply, None, context, &mut texts));
        Ok(Some(Arrival { input: Input::Reply { id: key.ask, reply: read, cost: Cost::Known(Msat::ZERO) }, texts }))
    }

    /// Reads the usage report of a reply. Numbers that can't be right count as not reported, also for the size of the next request.
    fn billed(&self, request: &Request, prompt: &Prompt, reply: &Reply, reported: Reported) -> Billed {
        let whole = reported.whole();
        let found = whole.map(|usage| self.implausible(&usage, prompt, reply)).unwrap_or_default();
        let implausible = found.priced(&self.price);
        let cost = match whole {
            Some(usage) if implausible.is_none() => Cost::Known((self.price)(&usage)),
            Some(_) | None => Cost::Estimated(estimate(&self.price, request, prompt, reply, reported)),
        };
        Billed { usage: whole.filter(|_| found.is_none()), implausible, cost }
    }

    /// Compares the usage of a reply with the bytes that were sent and received.
    fn implausible(&self, usage: &Usage, prompt: &Prompt, reply: &Reply) -> Implausible {
        let opening = self.sent_turn(prompt).map_or(prompt.opening.bytes(), |turn| turn.opening.system().len() as u64);
        Implausible::of(usage, prompt, opening, reply)
    }

    fn compaction(&self, history: History<'_>, upto: u32) -> Result<Compaction, TextError> {
        Ok(Compaction { upto, bytes: size(&history.compacted(upto)?).saturating_add(self.opening_bytes()) })
    }

    /// Answers a request whose reply was lost. The kernel asks again, but only a few times, since each reply may have cost
    /// something. The reason is not stored, so it goes to `watch`.
    fn lose(&self, key: &AskKey, why: &ModelError, cost: Cost, losses: usize, watch: Watch<'_>) -> Arrival {
        if losses + 1 >= LOSSES_MAX {
            let why = format!("{why}, {} times in a row; each may have been billed", losses + 1);
            return self.fail(key, &why, cost);
        }
        watch(Delta::Lost { why: &why.to_string() });
        Arrival { input: Input::Answer { id: key.ask, answer: Answer::Lost, cost }, texts: Vec::new() }
    }

    fn fail(&self, key: &AskKey, why: &str, cost: Cost) -> Arrival {
        self.arrival(key, Answer::Failed, (TextKind::Error, why), cost)
    }

    /// Makes an answer that is a text.
    fn arrival(&self, key: &AskKey, answer: fn(TextRef) -> Answer, text: (TextKind, &str), cost: Cost) -> Arrival {
        let text = self.redactor.text(text.0, text.1);
        Arrival { input: Input::Answer { id: key.ask, answer: answer(text.of), cost }, texts: vec![text] }
    }

    /// Reads the words and the calls of a reply without secrets.
    fn read(
        &self,
        reply: &Reply,
        usage: Option<Usage>,
        ReadContext { brief, before, limit, now }: ReadContext<'_>,
        texts: &mut Vec<Text>,
    ) -> guildhall_kernel::Reply {
        let bytes = size(&[Message::Assistant(Arc::new(reply.clone()))]);
        let size = OwnSize { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), tokens: self.counted(usage) };
        let stored = serde_json::to_string(reply).expect("a reply is JSON");
        let whole = add_text(texts, Text::of_clean(TextKind::Reply, stored));
        let words =
            noted_words(reply, before).map(|words| add_text(texts, self.redactor.text(TextKind::Words, &words)));
        // Only a contract with checks has structured output.
        let demanded = brief.is_some_and(|brief| !brief.checks.is_empty());
        let output = joined_words(reply, before).filter(|_| demanded).and_then(|words| checks::output(&words));
        let output = output.map(|output| add_text(texts, self.redactor.text(TextKind::Output, &output.to_string())));
        let mut ids = BTreeSet::new();
        let last = reply.calls.len().saturating_sub(1);
        let calls = reply.calls.iter().enumerate().map(|(at, call)| {
            if !ids.insert(&call.id) {
                Call::Invalid(Unreadable::DuplicateCallId)
            } else if at == last && reply.stop.is_cut() && call.arguments.is_err() {
                Call::Invalid(Unreadable::Cut)
            } else {
                self.read_call(call, brief, now, texts)
            }
        });
        guildhall_kernel::Reply {
            reply: whole,
            words,
            output,
            // The next status may have more tokens than the counted one, and JSON turns may change more.
            input_tokens: usage.map(|usage| usage.input.saturating_add(self.changing_bytes())),
            used: usage.map(Tokens::from),
            size,
            cut: self.cut(reply, usage, limit),
            confirms: false,
            implausible: None,
            calls: calls.collect(),
            verdict: Verdict::default(),
        }
    }

    /// Returns the output tokens by which a reply is counted in later requests; 0 if its bytes count.
    fn counted(&self, usage: Option<Usage>) -> u32 {
        let tokens = usage.filter(|_| !self.counts.are_too_low()).map_or(0, |usage| usage.output);
        u32::try_from(tokens).unwrap_or(0)
    }

    /// Returns why a reply is cut. Some servers report a full window like a reply that reached its limit. A report that is long
    /// enough counts like a full window: it is not continued.
    fn cut(&self, reply: &Reply, usage: Option<Usage>, limit: ReplyLimit) -> Option<Cut> {
        let fills_window = |usage: Usage| {
            usage.output < limit.tokens().into() && usage.input.saturating_add(usage.output) >= self.window
        };
        match reply.stop {
            _ if !reply.calls.is_empty() => None,
            Stop::Length if matches!(limit, ReplyLimit::Final(_)) => Some(Cut::Window),
            Stop::Length if usage.is_some_and(fills_window) => Some(Cut::Window),
            Stop::Length => Some(Cut::MaxTokens),
            Stop::Window => Some(Cut::Window),
            Stop::End | Stop::Calls | Stop::Refusal => None,
        }
    }

    fn read_call(&self, call: &RawCall, brief: Option<&Brief>, now: Millis, texts: &mut Vec<Text>) -> Call {
        let RawCall { name, arguments, .. } = call;
        let hiring = self.profile.delegation_tool(name);
        let tool = self.profile.tools().get(name).zip(ToolName::parse(name).ok());
        if hiring.is_none() && tool.is_none() {
            return Call::Invalid(Unreadable::UnknownTool);
        }
        let Ok(Value::Object(fields)) = arguments else { return Call::Invalid(Unreadable::Malformed) };
        if let Some((tool, brief)) = hiring.zip(brief) {
            let (team, redactor) = (self.profile.team().map(Arc::as_ref), &self.redactor);
            return Reader { team, brief, redactor, now, texts }.read(tool, name, fields);
        }
        let Some((tool, tool_name)) = tool else { return Call::Invalid(Unreadable::UnknownTool) };
        let terms = tool.terms();
        let arguments = Value::Object(fields.clone()).to_string();
        let arguments = add_text(texts, self.redactor.text(TextKind::Arguments, &arguments));
        let call = ToolCall {
            tool: tool_name,
            arguments,
            price: terms.price,
            effect: terms.effect,
            needs: terms.needs,
            for_hires: false,
        };
        Call::Tool { call, approval: None }
    }

    /// Judges a reply without a call.
    fn judge(
        &self,
        reply: &Reply,
        before: Option<&str>,
        history: History<'_>,
        texts: &mut Vec<Text>,
    ) -> Result<Verdict, TextError> {
        let facts = history.facts;
        let words = joined_words(reply, before);
        let (Some(words), Some(brief)) = (words, brief_of(facts)) else { return Ok(Verdict::default()) };
        let task = history.texts.text(&brief.task)?;
        let final_text = FinalText { words: &words, brief, task: &task, facts, tools: self.profile.opening().tools() };
        Ok(hiring::verdict(self.profile.team().map(Arc::as_ref), &final_text, &self.redactor, texts))
    }

    /// Performs a check on a contract's final words.
    pub fn check(
        &self,
        key: &AskKey,
        check: &str,
        words: &str,
        facts: &[Fact],
        exists: &dyn Fn(&str) -> bool,
    ) -> Arrival {
        let is_cited = |ask: &Ask| matches!(ask, Ask::Tool(_) | Ask::Hire { .. });
        let calls = facts.iter().filter_map(Fact::asked).filter(|(_, ask)| is_cited(ask));
        let receipts = calls.map(|(id, _)| AskKey { contract: key.contract.clone(), ask: id }.to_string()).collect();
        let result = match check.parse::<Check>() {
            Ok(check) => checks::perform(&check, &checks::Report { words, receipts: &receipts, exists }),
            Err(why) => Err(why.to_string()),
        };
        let cost = Cost::Known(Msat::ZERO);
        match result {
            Ok(()) => Arrival { input: Input::Answer { id: key.ask, answer: Answer::Passed, cost }, texts: Vec::new() },
            Err(why) => self.arrival(key, Answer::FailedCheck, (TextKind::Finding, &why), cost),
        }
    }

    /// Calls a tool.
    pub async fn call(&self, key: &AskKey, call: &ToolCall, arguments: &str, around: ToolContext<'_>) -> Arrival {
        let arguments: Value = match serde_json::from_str(arguments) {
            Ok(arguments) => arguments,
            Err(why) => return self.not_called(key, &why),
        };
        let name = call.tool.as_str();
        let result = match (self.profile.delegation_tool(name), self.profile.tools().get(name)) {
            (Some(DelegationTool::List), _) => ToolResult::done(hiring::list(key.ask, around)),
            (Some(DelegationTool::Board), _) => hiring::board(&arguments, around.board),
            (_, Some(tool)) => tool.call(key, &arguments).await,
            (_, None) => ToolResult::failed(format!("the tool {name} is no longer available")),
        };
        self.answer(key, &result)
    }

    /// Finds the outcome of a call that a crash interrupted. It is unknown if the tool is missing or the arguments can't be
    /// read.
    pub async fn look_up(&self, key: &AskKey, call: &ToolCall, arguments: &str) -> LookUp {
        match (self.profile.tools().get(call.tool.as_str()), serde_json::from_str::<Value>(arguments)) {
            (Some(tool), Ok(arguments)) => tool.look_up(key, &arguments).await,
            (None, _) | (Some(_), Err(_)) => LookUp::Unknown,
        }
    }

    /// Makes the answer to a call from its result.
    pub fn answer(&self, key: &AskKey, result: &ToolResult) -> Arrival {
        // Half a secret would not be recognized, so the cut comes last.
        let mut says = self.redactor.clean(&result.text).into_owned();
        if says.len() > RESULT_BYTES_MAX {
            let end = says.floor_char_boundary(RESULT_BYTES_MAX);
            says = format!("{}\n[{} more bytes: ask for less at a time]", &says[..end], says.len() - end);
        }
        let kind = match result.outcome {
            ToolOutcome::Done => TextKind::Result,
            ToolOutcome::Failed => TextKind::Error,
        };
        self.arrival(key, Answer::Result, (kind, &says), Cost::Known(result.cost))
    }

    /// Answers a call that can't be made because its stored arguments can't be read.
    pub fn not_called(&self, key: &AskKey, why: &dyn fmt::Display) -> Arrival {
        let why = wording::not_called(why);
        self.arrival(key, Answer::Result, (TextKind::Error, &why), Cost::Known(Msat::ZERO))
    }
}

fn is_too_long(attempt: &Attempt) -> bool {
    attempt.usage == Reported::Nothing && matches!(attempt.outcome, Err(ModelError::TooLong { .. }))
}

/// Counts how many requests in a row were lost before the current one.
fn losses(facts: &[Fact]) -> usize {
    let requests = facts.iter().filter_map(Fact::asked).filter(|(_, ask)| matches!(ask, Ask::Model(_)));
    let requests: BTreeSet<AskId> = requests.map(|(id, _)| id).collect();
    let newest = facts.iter().rev().filter_map(Fact::answered).filter(|(id, _)| requests.contains(id));
    newest.take_while(|(_, answer)| **answer == Answer::Lost).count()
}

fn brief_of(facts: &[Fact]) -> Option<&Brief> {
    facts.iter().find_map(Fact::opened)
}

/// Returns the words of a reply behind the parts before it, with a note if the provider ended the reply.
fn noted_words(reply: &Reply, before: Option<&str>) -> Option<String> {
    let ended = match reply.stop {
        Stop::Refusal => wording::ENDED_BY_PROVIDER,
        Stop::Length | Stop::Window | Stop::End | Stop::Calls => "",
    };
    joined_words(reply, before).map(|words| format!("{words}{ended}"))
}

/// Returns the words of a reply behind the parts before it, byte by byte.
fn joined_words<'a>(reply: &'a Reply, before: Option<&str>) -> Option<Cow<'a, str>> {
    match before {
        None => words_of(reply).map(Cow::Borrowed),
        Some(before) => Some(format!("{before}{}", reply.words.as_deref().unwrap_or_default()).into()),
    }
}

/// Returns the words before a reply that continues a reply that was cut. A JSON turn is read as a whole, so its words are not
/// joined.
fn words_so_far(history: &History<'_>, reply: &Reply) -> Result<Option<String>, TextError> {
    let words = unfinished(history.facts).and_then(|parts| parts.last()?.words);
    let is_json = reply.part.is_some() || json_so_far(history)?.is_some();
    words.filter(|_| !is_json && reply.calls.is_empty()).map(|words| history.texts.text(&words)).transpose()
}

/// Returns what the model has written so far of a JSON turn that was cut.
fn json_so_far(history: &History<'_>) -> Result<Option<String>, TextError> {
    let Some(parts) = unfinished(history.facts) else { return Ok(None) };
    let mut text = String::new();
    for said in parts {
        let Some(part) = &history.texts.reply(&said.reply)?.part else { return Ok(None) };
        text.push_str(part);
    }
    Ok(Some(text))
}

/// Returns a reply as later requests may send it. Half of a provider's own form is not valid, for example thinking without its
/// signature, so a reply that was cut is sent as text. Half of a JSON turn that is not continued is sent as a whole one.
fn sendable(reply: Reply, limit: ReplyLimit) -> Reply {
    if !reply.stop.is_cut() || !reply.calls.is_empty() {
        return reply;
    }
    let part = match limit {
        ReplyLimit::Continued(_) => reply.part,
        ReplyLimit::Final(_) => None,
    };
    Reply { raw: Value::Null, part, ..reply }
}

fn words_of(reply: &Reply) -> Option<&str> {
    reply.words.as_deref().filter(|words| !words.trim().is_empty())
}

pub(crate) fn add_text(texts: &mut Vec<Text>, text: Text) -> TextRef {
    let of = text.of;
    texts.push(text);
    of
}
