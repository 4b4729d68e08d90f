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
    let told: Vec<usize> = messages.iter().flat_map(parts).map(|part| text(part).len()).collect();
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

fn parts(message: &Message) -> &[Part] {
    match message {
        Message::User(parts) => parts,
        Message::Assistant(_) => &[],
    }
}

fn text(part: &Part) -> &str {
    match part {
        Part::Words(words) => words,
        Part::Result { text, .. } => text,
    }
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

#[cfg(test)]
mod tests {
    use super::{cut, squeezed};
    use crate::model::{Message, Part, Reply};
    use crate::transcript::size;

    fn result(text: String) -> Part {
        Part::Result { call: "a".to_owned(), text, failed: false }
    }

    #[test]
    fn the_longest_are_cut_in_the_middle_and_the_rest_is_kept() {
        let brief = Part::Words("Look.".to_owned());
        let (long, longer) = (format!("<a>{}</a>", "x".repeat(24_000)), format!("<b>{}</b>", "ä".repeat(30_000)));
        let own = Message::Assistant(Reply::words("I look.").into());
        let told = vec![result(long), result("Short.".to_owned()), Part::Words(longer)];
        let full = [Message::User(vec![brief.clone()]), own.clone(), Message::User(told)];
        let half = squeezed(&full).unwrap();
        assert!(size(&half) <= size(&full) / 2 + 200, "{} of {}", size(&half), size(&full));
        assert_eq!((&half[0], &half[1]), (&Message::User(vec![brief]), &own));
        let Message::User(parts) = &half[2] else { panic!("{half:?}") };
        assert_eq!(parts[1], result("Short.".to_owned()));
        for (part, (begins, ends)) in [&parts[0], &parts[2]].into_iter().zip([("<a>x", "x</a>"), ("<b>ä", "ä</b>")]) {
            let text = super::text(part);
            assert!(text.starts_with(begins) && text.ends_with(ends) && text.contains("left out"), "{text}");
        }
    }

    #[test]
    fn what_is_short_already_can_t_be_cut() {
        let told = |bytes: usize| [Message::User(vec![Part::Words("x".repeat(bytes)); 9])];
        assert_eq!(squeezed(&told(1000)), None);
        assert_eq!(squeezed(&[]), None);
        let mut messages = told(5000).to_vec();
        let mut times = 0;
        while let Some(shorter) = squeezed(&messages) {
            assert!(size(&shorter) < size(&messages));
            (messages, times) = (shorter, times + 1);
        }
        assert!(times > 0 && times < 5, "{times}");
    }

    #[test]
    fn a_text_is_cut_between_its_letters() {
        for most in 1..40 {
            let text = "äöüß".repeat(40);
            assert!(cut(&text, most).contains("bytes left out"), "{most}");
        }
    }
}
