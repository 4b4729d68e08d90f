//! The size of a conversation, for holds and for the limit of a model's window.

use crate::model::{Message, Part, RawCall, Reply};

/// Returns the size of a conversation in bytes. It has at most as many tokens.
pub(crate) fn size(messages: &[Message]) -> u64 {
    let part = |part: &Part| match part {
        Part::Words(words) => words.len(),
        Part::Result { call, text, .. } => call.len() + text.len(),
    };
    let bytes = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(part).sum::<usize>(),
        Message::Assistant(reply) => match &reply.part {
            Some(part) => part.len(),
            None if reply.raw.is_null() => {
                let ids = reply.calls.iter().map(|call| call.id.len());
                words_and_calls(reply) + ids.sum::<usize>()
            }
            None => reply.raw.to_string().len(),
        },
    };
    messages.iter().map(|message| bytes(message) as u64).sum()
}

/// Returns the size of the texts of a conversation alone, without anything that a protocol adds, and without thinking, which a
/// provider may leave out of its count.
pub(crate) fn text_size(messages: &[Message]) -> u64 {
    let bytes = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(|part| part.text().len() as u64).sum(),
        Message::Assistant(reply) => written_size(reply),
    };
    messages.iter().map(bytes).sum()
}

/// Returns the size of what a model wrote for others in this reply: its words and its calls, or its part of a JSON turn.
pub(crate) fn written_size(reply: &Reply) -> u64 {
    reply.part.as_ref().map_or_else(|| words_and_calls(reply), String::len) as u64
}

fn words_and_calls(reply: &Reply) -> usize {
    let arguments = |call: &RawCall| call.arguments.as_ref().map_or_else(String::len, |value| value.to_string().len());
    let calls = reply.calls.iter().map(|call| call.name.len() + arguments(call));
    reply.words.as_ref().map_or(0, String::len) + calls.sum::<usize>()
}
