//! A conversation that a model would not take, made shorter: the longest of what the agent was told is cut in the middle.

use crate::model::{Message, Part};
use crate::transcript::size;

/// What is shorter than this is not cut, in bytes.
const PART_BYTES_MIN: usize = 1024;

/// What tells of a cut takes at most so much, in bytes; no less is cut.
const NOTE_BYTES_MAX: usize = 64;

/// The part of a cut text that is kept of its end.
const END_SHARE: usize = 3;

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
        Part::Words(words) => Part::Words(cut(words, most)),
        Part::Result { call, text, failed } => {
            Part::Result { call: call.clone(), text: cut(text, most), failed: *failed }
        }
    };
    Message::User(parts.iter().map(short).collect())
}

/// Leaves out the middle of a text: what ends it may be a mark, or what it comes to.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most + NOTE_BYTES_MAX {
        return text.to_owned();
    }
    let end = most / END_SHARE;
    let head = text.floor_char_boundary(most - end);
    let tail = text.ceil_char_boundary(text.len() - end);
    format!("{}\n[{} bytes left out to save room]\n{}", &text[..head], tail - head, &text[tail..])
}
