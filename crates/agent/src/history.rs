//! What a contract shows its agent: what precedes its brief, and its own facts. A prompt that is too long for the model is cut.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, Context, Fact};

use crate::model::{Message, Part};
use crate::text::{TextError, Texts};
use crate::transcript::{size, transcript};
use crate::wording;

/// The shortest text that is cut, in bytes.
const PART_BYTES_MIN: usize = 1024;

/// The longest note that says what was cut, in bytes. A cut that saves less is not made.
const NOTE_BYTES_MAX: usize = 64;

/// A third of a cut text is its end.
const END_SHARE: usize = 3;

/// A contract's history, up to some moment.
#[derive(Clone, Copy)]
pub struct History<'a> {
    /// The messages before the contract's brief: those of its hirer if the contract is a fork, those of an earlier root if the
    /// contract continues that root.
    pub before: &'a [Message],
    /// The task of the root, if a hire is shown it besides its own task.
    pub root_task: Option<&'a str>,
    /// The contract's own facts.
    pub facts: &'a [Fact],
    /// The store of the texts.
    pub texts: &'a dyn Texts,
}

/// Returns the facts of a hirer that its fork continues from: those that the request showed, and the reply that made the fork.
pub fn fork_prefix(facts: &[Fact], request: AskId, upto: u32) -> Vec<Fact> {
    let (shown, later) = facts.split_at((upto as usize).min(facts.len()));
    let is_of_request = |fact: &&Fact| {
        let id = fact.asked().map(|(id, _)| id).or(fact.said().map(|(id, _)| id));
        id == Some(request)
    };
    shown.iter().chain(later.iter().filter(is_of_request)).cloned().collect()
}

impl History<'_> {
    /// Returns the history as a conversation.
    pub fn messages(&self) -> Result<Vec<Message>, TextError> {
        Ok(self.joined(transcript(self.facts, self.texts)?))
    }

    /// Puts the contract's own messages after those before its brief. Each call without a result gets one, and one side never
    /// speaks twice in a row.
    fn joined(&self, mut own: Vec<Message>) -> Vec<Message> {
        if let (Some(task), Some(Message::User(parts))) = (self.root_task, own.first_mut()) {
            parts.insert(1.min(parts.len()), Part::Words(wording::root_task(task)));
        }
        let (text, failed) = match self.facts.first().and_then(Fact::opened).map(|brief| &brief.context) {
            Some(Context::Fork { .. }) => (wording::OPEN_CALL, false),
            Some(Context::Fresh | Context::After { .. }) | None => (wording::UNANSWERED, true),
        };
        let mut all = self.before.to_vec();
        if let Some(Message::Assistant(reply)) = all.last() {
            let mut seen = BTreeSet::new();
            let ids = reply.calls.iter().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone()));
            let results: Vec<_> = ids.map(|call| Part::Result { call, text: text.to_owned(), failed }).collect();
            all.extend((!results.is_empty()).then_some(Message::User(results)));
        }
        for message in own {
            match (all.last_mut(), message) {
                (Some(Message::User(before)), Message::User(more)) => before.extend(more),
                (_, message) => all.push(message),
            }
        }
        all
    }

    /// Leaves out the facts after the first `facts`.
    pub(crate) fn upto(mut self, facts: u32) -> Self {
        self.facts = &self.facts[..(facts as usize).min(self.facts.len())];
        self
    }

    /// Returns the conversation with the results before `upto` left out.
    pub(crate) fn compacted(&self, upto: u32) -> Result<Vec<Message>, TextError> {
        let mut facts = self.facts.to_vec();
        facts.push(Fact::Compacted { upto, bytes: 0 });
        Ok(self.joined(transcript(&facts, self.texts)?))
    }

    /// Returns the fact up to which results must be left out so that a prompt that was too long becomes shorter: the newest
    /// reply if that halves the prompt, since the model has not read the later results; otherwise the last fact. `None` if
    /// there is nothing to leave out.
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
}

/// Returns a conversation that is about half as long, if something can be cut. The agent's own replies are not cut.
pub(crate) fn squeezed(messages: &[Message]) -> Option<Vec<Message>> {
    let lengths: Vec<usize> = messages.iter().flat_map(Message::parts).map(|part| part.text().len()).collect();
    let all = usize::try_from(size(messages)).unwrap_or(usize::MAX);
    let own = all.saturating_sub(lengths.iter().sum());
    let room = (all / 2).saturating_sub(own);
    let fits = |most: usize| lengths.iter().map(|bytes| (*bytes).min(most)).sum::<usize>() <= room;
    let longest = lengths.iter().copied().max().unwrap_or(0);
    // Finds the largest length to which all texts can be cut so that they fit together. Shorter texts stay whole.
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

/// Leaves out the middle of a text: its end may be a mark or a conclusion.
fn without_middle(text: &str, most: usize) -> String {
    if text.len() <= most + NOTE_BYTES_MAX {
        return text.to_owned();
    }
    let end = most / END_SHARE;
    let head = text.floor_char_boundary(most - end);
    let tail = text.ceil_char_boundary(text.len() - end);
    format!("{}\n[{} bytes left out to save room]\n{}", &text[..head], tail - head, &text[tail..])
}
