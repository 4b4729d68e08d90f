//! The conversation as a contract's last request shows it: the whole of it, or what fits.

use guildhall_kernel::{Fact, Request};

use super::{opening, size, transcript};
use crate::model::{Message, Part};
use crate::text::{TextError, Texts};
use crate::wording;

/// What a last request shows.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LastPrompt {
    pub(crate) messages: Vec<Message>,
    /// Whether the agent's instructions precede the messages.
    pub(crate) instructed: bool,
}

/// A token of our own sentences has at least this many bytes: plain English has about four.
const BYTES_PER_TOKEN: usize = 3;

/// Returns what an agent is shown for its last reply: the whole transcript, or, if the request is cut, what fits into its tokens:
/// our own sentences, and else one byte for each token, because any text has at most that many. Half of that room is for the task,
/// half of what the task leaves is for the instructions, which are shown whole or not at all, and the rest is for the newest
/// texts. What precedes the brief is left out. The second of the `instructions` precede the messages if the first don't.
pub(crate) fn last_prompt(
    facts: &[Fact],
    texts: &dyn Texts,
    request: &Request,
    [instructions, without]: [&str; 2],
) -> Result<LastPrompt, TextError> {
    let mut messages = transcript(facts, texts)?;
    let demand = |left_out| wording::last_reply(request.max_tokens, left_out);
    let needed = size(&messages).saturating_add((instructions.len() + demand(0).len() / BYTES_PER_TOKEN + 1) as u64);
    // A last request has no tools, so the whole may fit although an ordinary request would not.
    if !request.cut || needed <= request.tokens {
        let last = Part::Words(demand(0));
        match messages.last_mut() {
            Some(Message::User(parts)) => parts.push(last),
            Some(Message::Assistant(_)) | None => messages.push(Message::User(vec![last])),
        }
        return Ok(LastPrompt { messages, instructed: true });
    }
    let brief = facts.iter().find_map(Fact::opened).map(|brief| opening(brief, texts)).transpose()?.unwrap_or_default();
    let ours = demand(usize::MAX).len() + wording::CUT_HEADING.len() + wording::TASK_CUT.len() + without.len();
    let room = usize::try_from(request.tokens).unwrap_or(usize::MAX).saturating_sub(ours / BYTES_PER_TOKEN + 1);
    let shown = brief.floor_char_boundary(room / 2);
    let room = room - shown;
    let instructed = instructions.len() <= room / 2;
    let room = room - if instructed { instructions.len() } else { 0 };
    let found = messages.iter().rev().flat_map(texts_of).filter(|words| *words != brief);
    let (newest, left_out) = newest(found, room);
    let newest = format!("{}\n{newest}", wording::CUT_HEADING);
    let task = format!("{}{}", &brief[..shown], if shown < brief.len() { wording::TASK_CUT } else { "" });
    let parts = [task, newest, demand(left_out)].map(Part::Words);
    Ok(LastPrompt { messages: vec![Message::User(parts.to_vec())], instructed })
}

/// Joins the newest texts that fit into so many bytes, of the oldest of them the beginning. Returns them, and how many reports
/// are not among them in whole. The newest text comes first in `found`.
fn newest<'a>(found: impl Iterator<Item = &'a str>, mut room: usize) -> (String, usize) {
    const BETWEEN: &str = "\n\n";
    let (mut newest, mut left_out) = (Vec::new(), 0);
    for words in found {
        let fits = words.floor_char_boundary(room);
        if fits < words.len() && wording::is_report(words) {
            left_out += 1;
        }
        newest.extend(Some(&words[..fits]).filter(|shown| !shown.is_empty()));
        room = if fits < words.len() { 0 } else { room.saturating_sub(fits + BETWEEN.len()) };
    }
    newest.reverse();
    (newest.join(BETWEEN), left_out)
}

fn texts_of(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(reply) => reply.words.as_deref().into_iter().collect(),
        Message::User(parts) => parts.iter().rev().map(Part::text).collect(),
    }
}
