//! The conversation as a contract's last request shows it: the whole of it, or its newest texts.

use guildhall_kernel::Fact;

use super::{opening, size, transcript};
use crate::model::{Message, Part};
use crate::text::{TextError, Texts};
use crate::wording;

/// Returns the messages for an agent's last reply: the whole transcript, or, if `room` is given, the brief and as many of the
/// newest texts as fit into that many bytes. What precedes the brief is left out.
pub(crate) fn last_messages(
    facts: &[Fact],
    texts: &dyn Texts,
    room: Option<u64>,
    max_tokens: u32,
) -> Result<Vec<Message>, TextError> {
    let mut messages = transcript(facts, texts)?;
    let last = wording::last_reply(max_tokens, 0);
    let needed = size(&messages) + last.len() as u64;
    let Some(bytes) = room.filter(|room| *room < needed) else {
        let last = Part::Words(last);
        match messages.last_mut() {
            Some(Message::User(parts)) => parts.push(last),
            Some(Message::Assistant(_)) | None => messages.push(Message::User(vec![last])),
        }
        return Ok(messages);
    };
    let brief = facts.iter().find_map(Fact::opened).map(|brief| opening(brief, texts)).transpose()?.unwrap_or_default();
    let fixed = wording::last_reply(max_tokens, usize::MAX).len() + wording::CUT_HEADING.len() + brief.len();
    let mut left = bytes.saturating_sub(fixed as u64);
    let mut newest: Vec<&str> = Vec::new();
    let mut shown = messages.iter().rev().flat_map(texts_of).filter(|words| *words != brief);
    for words in shown.by_ref() {
        let fits = words.floor_char_boundary(usize::try_from(left).unwrap_or(usize::MAX));
        newest.push(&words[..fits]);
        left -= fits as u64;
        if left == 0 {
            break;
        }
    }
    let left_out = shown.filter(|words| wording::is_report(words)).count();
    newest.reverse();
    let newest = format!("{}\n{}", wording::CUT_HEADING, newest.join("\n\n"));
    let last = Part::Words(wording::last_reply(max_tokens, left_out));
    Ok(vec![Message::User(vec![Part::Words(brief), Part::Words(newest), last])])
}

fn texts_of(message: &Message) -> Vec<&str> {
    match message {
        Message::Assistant(reply) => reply.words.as_deref().into_iter().collect(),
        Message::User(parts) => parts.iter().rev().map(Part::text).collect(),
    }
}
