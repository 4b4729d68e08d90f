//! What a contract has to show its agent: what precedes its brief, and its own facts; and less of it if a model would not take it.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, Context, Fact};

use crate::model::{Message, Part};
use crate::text::{TextError, Texts};
use crate::transcript::{cut, size, transcript};
use crate::wording;

/// What is shorter than this is not cut, in bytes.
const PART_BYTES_MIN: usize = 1024;

/// What tells of a cut takes at most so much, in bytes; no less is cut.
const NOTE_BYTES_MAX: usize = 64;

/// The part of a cut text that is kept of its end.
const END_SHARE: usize = 3;

/// A contract's history, up to some moment.
#[derive(Clone, Copy)]
pub struct History<'a> {
    /// What was said before its brief: to a hirer that it is a fork of, or in an earlier root that it goes on after.
    pub before: &'a [Message],
    /// The task of the root, where a hire is shown that beside its own.
    pub root_task: Option<&'a str>,
    /// Its own facts.
    pub facts: &'a [Fact],
    /// Where texts are found.
    pub texts: &'a dyn Texts,
}

/// Returns the facts of a hirer that its fork goes on from: those that the request showed, and the reply that made the fork.
pub fn fork_prefix(facts: &[Fact], request: AskId, upto: u32) -> Vec<Fact> {
    let (shown, later) = facts.split_at((upto as usize).min(facts.len()));
    let is_of_request = |fact: &&Fact| {
        let id = fact.asked().map(|(id, _)| id).or(fact.said().map(|(id, _)| id));
        id == Some(request)
    };
    shown.iter().chain(later.iter().filter(is_of_request)).cloned().collect()
}

impl History<'_> {
    /// Returns all of it as a conversation.
    pub fn messages(&self) -> Result<Vec<Message>, TextError> {
        Ok(self.joined(transcript(self.facts, self.texts)?))
    }

    fn joined(&self, mut own: Vec<Message>) -> Vec<Message> {
        if let (Some(task), Some(Message::User(parts))) = (self.root_task, own.first_mut()) {
            parts.insert(1.min(parts.len()), Part::Words(wording::root_task(task)));
        }
        join(self.before, own, self.unanswered())
    }

    /// What stands for the result of a call that was not answered before the brief.
    fn unanswered(&self) -> fn(String) -> Part {
        match self.facts.first().and_then(Fact::opened).map(|brief| &brief.context) {
            Some(Context::Fork { .. }) => {
                |call| Part::Result { call, text: wording::OPEN_CALL.to_owned(), failed: false }
            }
            Some(Context::Fresh | Context::After { .. }) | None => {
                |call| Part::Result { call, text: wording::UNANSWERED.to_owned(), failed: true }
            }
        }
    }

    /// Leaves out what came after this many facts.
    pub(crate) fn upto(mut self, facts: u32) -> Self {
        self.facts = &self.facts[..(facts as usize).min(self.facts.len())];
        self
    }

    /// Returns it with the results before `upto` left out.
    pub(crate) fn compacted(&self, upto: u32) -> Result<Vec<Message>, TextError> {
        let mut facts = self.facts.to_vec();
        facts.push(Fact::Compacted { upto, bytes: 0 });
        Ok(self.joined(transcript(&facts, self.texts)?))
    }

    /// Up to which fact results must be left out to make a prompt shorter that was too long: up to the newest reply if that
    /// halves it, since nobody has read what came after; otherwise all. `None` if there is nothing to leave out.
    pub(crate) fn shorter(&self) -> Result<Option<u32>, TextError> {
        let full = size(&self.messages()?);
        let newest = self.facts.iter().rposition(|fact| fact.said().is_some());
        for (at, bytes_max) in [(newest, full / 2), (Some(self.facts.len()), full.saturating_sub(1))] {
            let upto = at.and_then(|at| u32::try_from(at).ok());
            if let Some(upto) = upto
                && size(&self.compacted(upto)?) <= bytes_max
            {
                return Ok(Some(upto));
            }
        }
        Ok(None)
    }

    /// Returns what is shown for a last reply: what precedes the brief is left out, and more if it does not fit.
    pub(crate) fn cut(&self, bytes: u64) -> Result<Vec<Message>, TextError> {
        cut(self.facts, self.texts, bytes)
    }
}

/// Lets a conversation follow another. Each call without a result gets one, and one side never speaks twice in a row.
fn join(before: &[Message], own: Vec<Message>, unanswered: fn(String) -> Part) -> Vec<Message> {
    let mut all = before.to_vec();
    let results: Vec<Part> = match all.last() {
        Some(Message::Assistant(reply)) => {
            let mut seen = BTreeSet::new();
            let ids = reply.calls.iter().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone()));
            ids.map(unanswered).collect()
        }
        Some(Message::User(_)) | None => Vec::new(),
    };
    if !results.is_empty() {
        all.push(Message::User(results));
    }
    for message in own {
        match (all.last_mut(), message) {
            (Some(Message::User(said)), Message::User(more)) => said.extend(more),
            (_, message) => all.push(message),
        }
    }
    all
}

/// Returns a conversation half as long, or nearly, if something can be cut. What the agent said itself stays whole.
pub(crate) fn squeezed(messages: &[Message]) -> Option<Vec<Message>> {
    let told: Vec<usize> = messages.iter().flat_map(Message::parts).map(|part| part.text().len()).collect();
    let all = usize::try_from(size(messages)).unwrap_or(usize::MAX);
    let own = all.saturating_sub(told.iter().sum());
    let room = (all / 2).saturating_sub(own);
    let fits = |most: usize| told.iter().map(|bytes| (*bytes).min(most)).sum::<usize>() <= room;
    let longest = told.iter().copied().max().unwrap_or(0);
    // The most that each may have so that all fit: a text that has less gives what it does not need to the others.
    let (mut most, mut too_much) = (PART_BYTES_MIN, longest.max(PART_BYTES_MIN));
    while most + 1 < too_much {
        let middle = most.midpoint(too_much);
        *(if fits(middle) { &mut most } else { &mut too_much }) = middle;
    }
    (longest > most + NOTE_BYTES_MAX).then(|| messages.iter().map(|message| within(message, most)).collect())
}

fn within(message: &Message, most: usize) -> Message {
    let Message::User(parts) = message else { return message.clone() };
    let short = |part: &Part| match part {
        Part::Words(words) => Part::Words(without_middle(words, most)),
        Part::Result { call, text, failed } => {
            Part::Result { call: call.clone(), text: without_middle(text, most), failed: *failed }
        }
    };
    Message::User(parts.iter().map(short).collect())
}

/// Leaves out the middle of a text: what ends it may be a mark, or what it comes to.
fn without_middle(text: &str, most: usize) -> String {
    if text.len() <= most + NOTE_BYTES_MAX {
        return text.to_owned();
    }
    let end = most / END_SHARE;
    let head = text.floor_char_boundary(most - end);
    let tail = text.ceil_char_boundary(text.len() - end);
    format!("{}\n[{} bytes left out to save room]\n{}", &text[..head], tail - head, &text[tail..])
}
