//! Finds final texts that promise a hire or a call that was not made, and reads the answer to the question about such a text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, Brief, CloseWhen, Context, Fact, Heads, Nudge, Report, Stimulus, Undone,
};

use super::choose::{mentions_name, words_of};
use super::{Listing, Team, members_above};
use crate::model::{Delta, ToolSpec, Watch};
use crate::wording::NotMade;

/// A text without a call that is shorter than this is no report of an agent with a team of its own until the agent says so.
const SHORT_TEXT_BYTES: usize = 400;

/// What an agent called and hired since it was last told something.
#[derive(Clone, Debug, Default)]
pub(super) struct CallsSoFar {
    /// The agents that it tried to hire, whether or not they were admitted.
    tried: BTreeSet<AgentName>,
    /// The hires that were admitted or wait for money.
    hired: BTreeSet<u32>,
    /// Whether a hire has reported, perhaps one that was admitted before.
    has_report: bool,
    has_called: bool,
    was_asked: bool,
}

impl CallsSoFar {
    pub(crate) fn of(facts: &[Fact]) -> CallsSoFar {
        let mut so_far = CallsSoFar::default();
        for fact in facts {
            so_far.note(fact);
        }
        so_far
    }

    /// Returns what an agent did since the newest words it was told: its task, or a message.
    fn since_told(facts: &[Fact]) -> CallsSoFar {
        // The answer to the agent's own question is no new task.
        let is_answer = |at: usize| matches!(facts.get(at + 1), Some(Fact::Answered { answer: Answer::Text(_), .. }));
        let told = (0..facts.len()).rfind(|at| is_message(&facts[*at]) && !is_answer(*at));
        CallsSoFar::of(&facts[told.unwrap_or(0)..])
    }

    pub(crate) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Asked { ask: Ask::Hire { brief, .. }, .. } => {
                self.hired.insert(brief.path.ordinal());
                self.tried.insert(brief.agent.clone());
            }
            Fact::Queued { ordinal, offer, .. } => {
                self.hired.insert(*ordinal);
                self.tried.insert(offer.agent.clone());
            }
            Fact::Refused { ordinal, agent, .. } => {
                if let Some(ordinal) = ordinal {
                    self.hired.remove(ordinal);
                }
                self.tried.extend(agent.clone());
            }
            Fact::Answered { answer: Answer::Said(said), .. } => self.has_called |= said.calls > 0,
            Fact::Answered { answer: Answer::Report(_), .. } => self.has_report = true,
            Fact::Nudged(Nudge::ConfirmReport) => self.was_asked = true,
            Fact::Opened(_)
            | Fact::Asked { .. }
            | Fact::Answered { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_)
            | Fact::Closed(_) => {}
        }
    }

    pub(crate) fn has_hired(&self) -> bool {
        self.has_report || !self.hired.is_empty()
    }

    /// Returns the first of these agents whose name has several words, which a text names, and which the agent did not try to
    /// hire.
    pub(crate) fn not_hired<'a>(
        &self,
        names: impl IntoIterator<Item = &'a AgentName>,
        text: &str,
    ) -> Option<&'a AgentName> {
        let text = words_of(text);
        let is_left_out = |name: &&AgentName| {
            let name_words = words_of(name.as_str());
            name_words.len() > 1 && mentions_name(&name_words, &text) && !self.tried.contains(*name)
        };
        names.into_iter().find(is_left_out)
    }
}

/// Follows what an agent called since it was last told something. The answer to its own question is no new task.
#[derive(Debug, Default)]
pub(crate) struct SinceTold {
    so_far: CallsSoFar,
    /// The same before the newest fact, if that is a message.
    before_message: Option<CallsSoFar>,
}

impl SinceTold {
    pub(crate) fn note(&mut self, fact: &Fact) {
        if is_message(fact) {
            self.before_message = Some(std::mem::take(&mut self.so_far));
            return;
        }
        let before = self.before_message.take();
        if let (Some(before), Fact::Answered { answer: Answer::Text(_), .. }) = (before, fact) {
            self.so_far = before;
        }
        self.so_far.note(fact);
    }

    /// Returns what the question about an agent's text is about.
    pub(crate) fn not_made<'a>(&self, brief: Option<&'a Brief>, words: &str) -> NotMade<'a> {
        let hiring = brief.filter(|brief| brief.grant.depth > 0).and_then(|brief| brief.hiring.as_ref());
        match (hiring, self.so_far.has_hired()) {
            (Some(_), false) => NotMade::AnyHire,
            (Some(hiring), true) => {
                let above = brief.into_iter().flat_map(|brief| brief.lineage.upward().map(|link| &link.agent));
                let not_offered: Vec<_> = above.chain(brief.map(|brief| &brief.agent)).collect();
                let names = hiring.team.iter().filter(|name| !not_offered.contains(name));
                self.so_far.not_hired(names, words).map_or(NotMade::Call, NotMade::Hire)
            }
            (None, _) => NotMade::Call,
        }
    }
}

/// Returns a hire that a fact admits, with the heads that are held for it.
fn hire_asked(fact: &Fact) -> Option<(AskId, Heads)> {
    let Fact::Asked { id, ask: Ask::Hire { .. }, hold, .. } = fact else { return None };
    Some((*id, hold.heads))
}

/// Returns a report that a fact brings.
fn report(fact: &Fact) -> Option<(AskId, &Report)> {
    let Fact::Answered { id, answer: Answer::Report(report), .. } = fact else { return None };
    Some((*id, report))
}

/// Whether a fact is a message from the owner or the hirer.
fn is_message(fact: &Fact) -> bool {
    matches!(fact, Fact::Heard { stimulus: Stimulus::Message(_), .. })
}

/// A reply without a call, and what preceded it.
pub(crate) struct FinalText<'a> {
    pub(crate) words: &'a str,
    pub(crate) task: &'a str,
    pub(crate) brief: &'a Brief,
    pub(crate) facts: &'a [Fact],
    pub(crate) tools: &'a [ToolSpec],
}

impl FinalText<'_> {
    /// Returns what the text leaves undone: a call that is written as text, or a hire. After a hire, and for an agent that can't
    /// hire, less counts.
    pub(super) fn undone(&self, team: Option<&Team>) -> Option<Undone> {
        let so_far = CallsSoFar::since_told(self.facts);
        let team = team.filter(|_| self.may_hire());
        if writes_a_call(self.words, self.tools) {
            return Some(if team.is_some() { Undone::PromisedHire } else { Undone::Unclear });
        }
        // While hires are at work, a text is not the report.
        let team = team.filter(|_| !self.has_open_hire())?;
        let above = members_above(self.brief.hiring.as_ref(), self.brief.lineage.upward());
        let names = || team.others().map(|worker| &worker.name).filter(|name| !above.contains(name));
        if so_far.has_hired() {
            let may_be_asked = !so_far.was_asked || is_asked_back(self.facts);
            let is_named = may_be_asked && so_far.not_hired(names(), self.words).is_some();
            return is_named.then_some(Undone::PromisedHire);
        }
        if so_far.not_hired(names(), self.words).is_some() {
            return Some(Undone::PromisedHire);
        }
        // A fork was hired for a part of its agent's own work.
        let is_fork = matches!(self.brief.context, Context::Fork { .. });
        let has_own_team = team.listing == Listing::ByName && !is_fork && names().next().is_some();
        let is_short = self.words.len() < SHORT_TEXT_BYTES && self.brief.close_when == CloseWhen::FinalText;
        if has_own_team && is_short && !so_far.has_called {
            return Some(Undone::NoHire);
        }
        self.names_by_one_word(names(), &so_far).then_some(Undone::Unclear)
    }

    /// Whether the text names a member by a name of one word. Such a name may be an ordinary word, so it does not count if the
    /// task contains it, too.
    fn names_by_one_word<'a>(&self, names: impl Iterator<Item = &'a AgentName>, so_far: &CallsSoFar) -> bool {
        let (text, task) = (words_of(self.words), words_of(self.task));
        names.filter(|name| !so_far.tried.contains(*name)).any(|name| {
            let name = words_of(name.as_str());
            name.len() == 1 && mentions_name(&name, &text) && !mentions_name(&name, &task)
        })
    }

    /// Whether the contract has a level and a head left for a hire.
    fn may_hire(&self) -> bool {
        self.brief.hiring.is_some() && self.brief.grant.depth > 0 && self.has_head_left()
    }

    fn has_head_left(&self) -> bool {
        let mut used: BTreeMap<AskId, u64> = BTreeMap::new();
        let hires = self.facts.iter().filter_map(hire_asked);
        used.extend(hires.map(|(id, heads)| (id, heads.0.into())));
        used.extend(self.facts.iter().filter_map(report).map(|(id, report)| (id, u64::from(report.heads.0) + 1)));
        used.values().sum::<u64>() < self.brief.grant.heads.0.into()
    }

    /// Whether a hire works or waits for money.
    fn has_open_hire(&self) -> bool {
        let begun = self.facts.iter().filter_map(hire_asked).count();
        let ended = self.facts.iter().filter_map(report).count();
        begun > ended || self.has_waiting_hire()
    }

    fn has_waiting_hire(&self) -> bool {
        let mut waiting = BTreeSet::new();
        for fact in self.facts {
            if let Fact::Queued { ordinal, .. } = fact {
                waiting.insert(*ordinal);
            } else if let Fact::Asked { ask: Ask::Hire { brief, .. }, .. } = fact {
                waiting.remove(&brief.path.ordinal());
            } else if let Fact::Refused { ordinal: Some(ordinal), .. } = fact {
                waiting.remove(ordinal);
            }
        }
        !waiting.is_empty()
    }
}

/// Whether the agent was asked about its text, and has said and called nothing since.
pub(crate) fn is_asked_back(facts: &[Fact]) -> bool {
    let says =
        |fact: &&Fact| fact.said().is_some_and(|(_, said)| said.words.is_some() || said.calls > 0 || said.confirms);
    let since = facts.iter().rev().take_while(|fact| !says(fact));
    since.into_iter().any(|fact| *fact == Fact::Nudged(Nudge::ConfirmReport))
}

/// Whether a reply is only the word DONE, in any case, perhaps with punctuation, quotes, a fence or a JSON object around it.
pub(crate) fn is_done(words: &str) -> bool {
    let words = words.trim();
    let fenced = words.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let words = match fenced.and_then(|fenced| fenced.split_once('\n')) {
        // The first line of a fence may name a language.
        Some((_, inside)) => inside.trim(),
        None => words,
    };
    let is_word = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("done");
    match serde_json::from_str(words) {
        Ok(serde_json::Value::Object(fields)) => {
            let mut fields = fields.values();
            fields.next().and_then(serde_json::Value::as_str).is_some_and(is_word) && fields.next().is_none()
        }
        Ok(_) | Err(_) => is_word(words),
    }
}

/// Holds back the words of a reply while they may become the word DONE, which nobody is shown.
#[derive(Default)]
pub(crate) struct HeldBack {
    /// The words so far, while they are held back.
    words: Mutex<Option<String>>,
}

impl HeldBack {
    /// Holds back the beginning of a reply to the question about a report. The words of other replies are passed on at once.
    pub(crate) fn of_reply_after(facts: &[Fact]) -> HeldBack {
        HeldBack { words: Mutex::new(is_asked_back(facts).then(String::new)) }
    }

    /// Passes on a piece of the reply, and what was held back before it.
    pub(crate) fn pass(&self, delta: Delta<'_>, watch: Watch<'_>) {
        let Delta::Words(words) = delta else {
            if delta == Delta::Asking {
                self.restart();
            }
            return watch(delta);
        };
        if let Some(all) = self.hold(words) {
            watch(Delta::Words(&all));
        }
    }

    /// Passes on what is still held back, because the reply is not the word DONE.
    pub(crate) fn release(&self, watch: Watch<'_>) {
        let held = self.lock().take();
        if let Some(held) = held.filter(|held| !held.is_empty()) {
            watch(Delta::Words(&held));
        }
    }

    /// Adds words. Returns what can be passed on.
    fn hold(&self, words: &str) -> Option<String> {
        let mut held = self.lock();
        let Some(before) = held.as_mut() else { return Some(words.to_owned()) };
        before.push_str(words);
        if may_become_done(before) { None } else { held.take() }
    }

    /// The request is sent again, so its reply begins anew.
    fn restart(&self) {
        if let Some(before) = self.lock().as_mut() {
            before.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a text may yet become a reply that is only the word DONE, as its letters arrive.
fn may_become_done(words: &str) -> bool {
    let letters = words.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase());
    let letters: String = letters.take(WRAPPED_CHARS_MAX + 1).collect();
    let begins = "done".starts_with(letters.as_str());
    let is_wrapped = words.trim_start().starts_with(['{', '`']) && letters.len() <= WRAPPED_CHARS_MAX;
    words.len() <= DONE_BYTES_MAX && (begins || is_wrapped)
}

/// The longest reply that may be only the word DONE.
const DONE_BYTES_MAX: usize = 80;

/// The letters of the longest reply of which DONE is only a part: a field's name, or a language.
const WRAPPED_CHARS_MAX: usize = 24;

/// Whether a text writes a call of a tool instead of making it: the tool's name as a whole word, followed by arguments.
fn writes_a_call(words: &str, tools: &[ToolSpec]) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let calls = |tool: &ToolSpec| {
        words.match_indices(tool.name.as_str()).any(|(at, name)| {
            let after = &words[at + name.len()..];
            !words[..at].ends_with(is_letter) && !after.starts_with(is_letter) && begins_with_arguments(after)
        })
    };
    tools.iter().any(calls)
}

/// Whether the text after a tool's name looks like arguments: `{…}`, `(pattern="x")`, or the next field of a JSON object. A name
/// followed by empty parentheses does not count, since people write function names like that.
fn begins_with_arguments(after: &str) -> bool {
    if let Some((inside, _)) = after.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        return inside.contains(['=', ':', '"', '{']);
    }
    let rest = after.trim_start_matches(|mark: char| mark.is_whitespace() || "\"`':,".contains(mark));
    let is_field = ["arguments\"", "parameters\"", "input\""].iter().any(|field| rest.starts_with(field));
    rest.starts_with('{') || is_field && after.starts_with('"')
}
