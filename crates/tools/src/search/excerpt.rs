//! The part of a line that is shown: all of a short line, or the surroundings of the match in a long line. A line is read
//! piece by piece, and only the bytes that may be shown are stored.

use crate::text::shown;

/// How many bytes of a line are shown, and how many of them are before the end of the match in a long line.
const SHOWN_BYTES_MAX: usize = 400;
const BEFORE_BYTES: usize = 200;
/// How many more bytes are stored, so that no character is cut: the longest character minus one byte.
const CHAR_REST_BYTES_MAX: usize = 3;

/// The part of a line that is shown.
#[derive(Default)]
pub(super) struct Excerpt {
    /// The length of the line so far.
    bytes: u64,
    /// The start of the line.
    head: Vec<u8>,
    /// The last bytes that were read, until the match is found.
    newest: Vec<u8>,
    around: Option<Around>,
}

/// The bytes around a match that is not at the start.
struct Around {
    /// The position of the text in the line.
    at: u64,
    text: Vec<u8>,
}

impl Excerpt {
    /// Resets the excerpt for a new line.
    pub(super) fn clear(&mut self) {
        let Excerpt { bytes, head, newest, around } = self;
        head.clear();
        newest.clear();
        (*bytes, *around) = (0, None);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the next bytes of the line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        fill(&mut self.head, bytes);
        match &mut self.around {
            Some(around) => fill(&mut around.text, bytes),
            None => keep_last(&mut self.newest, bytes, BEFORE_BYTES),
        }
    }

    /// Marks the end of the match after the bytes so far.
    pub(super) fn mark_match_end(&mut self) {
        let text = std::mem::take(&mut self.newest);
        self.around = Some(Around { at: self.bytes - text.len() as u64, text });
    }

    /// Returns the text to show. A carriage return at the end of a short line belongs to the line break and is left out.
    pub(super) fn shown(&self) -> String {
        if self.bytes <= SHOWN_BYTES_MAX as u64 {
            return shown(self.head.strip_suffix(b"\r").unwrap_or(&self.head));
        }
        let (at, text) = self.around.as_ref().map_or((0, &self.head), |around| (around.at, &around.text));
        let begin = if at > 0 { character_begin(text) } else { 0 };
        let end = between_characters(text, SHOWN_BYTES_MAX);
        let before = if at > 0 { "…" } else { "" };
        let after = if at + (end as u64) < self.bytes { "…" } else { "" };
        format!("{before}{}{after} [part of a line of {} bytes]", shown(&text[begin..end]), self.bytes)
    }
}

/// Adds as many bytes as there is space for.
fn fill(part: &mut Vec<u8>, bytes: &[u8]) {
    let room = (SHOWN_BYTES_MAX + CHAR_REST_BYTES_MAX).saturating_sub(part.len());
    part.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Adds bytes and keeps only the last ones.
fn keep_last(kept: &mut Vec<u8>, bytes: &[u8], bytes_max: usize) {
    let bytes = &bytes[bytes.len().saturating_sub(bytes_max)..];
    let over = (kept.len() + bytes.len()).saturating_sub(bytes_max);
    kept.drain(..over);
    kept.extend_from_slice(bytes);
}

fn is_within_character(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Returns the position of the first complete character.
fn character_begin(text: &[u8]) -> usize {
    text.iter().take(CHAR_REST_BYTES_MAX).take_while(|byte| is_within_character(**byte)).count()
}

/// Returns the last position up to `at` that is between two characters.
fn between_characters(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    let places = at.saturating_sub(CHAR_REST_BYTES_MAX)..=at;
    places.rev().find(|place| text.get(*place).is_none_or(|byte| !is_within_character(*byte))).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    /// Checks what is shown of a line that is read in pieces, with a match that ends at this byte.
    fn check(line: &str, end: Option<usize>, expected: &str) {
        for piece in [1, 7, 10_000] {
            let mut excerpt = Excerpt::default();
            let (before, after) = line.as_bytes().split_at(end.unwrap_or(0));
            before.chunks(piece).for_each(|bytes| excerpt.push(bytes));
            if end.is_some() {
                excerpt.mark_match_end();
            }
            after.chunks(piece).for_each(|bytes| excerpt.push(bytes));
            assert_eq!(excerpt.shown(), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_short_line_is_shown_completely() {
        let line = "x".repeat(300) + "needle" + &"y".repeat(94);
        check(&line, Some(306), &line);
        check("", None, "");
        check("a\r", Some(1), "a");
    }

    #[test]
    fn a_long_line_is_shown_around_the_match() {
        let line = "x".repeat(1000) + "needle" + &"y".repeat(1000);
        let expected = format!("…{}needle{}… [part of a line of 2006 bytes]", "x".repeat(194), "y".repeat(200));
        check(&line, Some(1006), &expected);
        let expected = format!("…{}{} [part of a line of 2006 bytes]", "", "y".repeat(200));
        check(&line, Some(2006), &expected);
        let expected = format!("{}… [part of a line of 2006 bytes]", "x".repeat(400));
        check(&line, Some(3), &expected);
        check(&line, None, &expected);
    }

    #[test]
    fn no_character_is_cut() {
        let line = "é".repeat(500) + "n" + &"é".repeat(500);
        let expected = format!("…{}n{}… [part of a line of 2001 bytes]", "é".repeat(99), "é".repeat(100));
        check(&line, Some(1001), &expected);
        let line = "数".repeat(500);
        check(&line, None, &format!("{}… [part of a line of 1500 bytes]", "数".repeat(133)));
    }
}
