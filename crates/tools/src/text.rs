//! Makes text from files and names safe to display: characters that move the cursor, or hide or reverse the text beside them,
//! are shown as escapes. Nothing is dropped.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Returns a line of a file for display. Bytes that are not valid UTF-8 become `\xNN`.
pub(crate) fn shown(bytes: &[u8]) -> String {
    escaped(bytes, Backslash::Plain)
}

/// Returns a path or a name for display on one line. [`unescape_name`] reverses it.
pub(crate) fn shown_name(name: impl AsRef<OsStr>) -> String {
    escaped(name.as_ref().as_bytes(), Backslash::Doubled).replace('\t', "\\x09")
}

/// Reverses [`shown_name`]. Returns `None` if the text can't come from there.
pub(crate) fn unescape_name(name: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('\\') {
            bytes.push(b'\\');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('x') {
            bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
            rest = &after[2..];
        } else {
            let (code, after) = rest.strip_prefix("u{")?.split_once('}')?;
            let found = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            bytes.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
            rest = after;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(OsString::from_vec(bytes))
}

/// Cuts a text to at most this many bytes, between characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[derive(Clone, Copy, PartialEq)]
enum Backslash {
    Plain,
    Doubled,
}

fn escaped(bytes: &[u8], backslash: Backslash) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for found in chunk.valid().chars() {
            match found {
                '\\' if backslash == Backslash::Doubled => text.push_str("\\\\"),
                found if !is_misleading(found) => text.push(found),
                found if found.is_ascii() => escape_byte(&mut text, found as u8),
                found => write!(text, "\\u{{{:x}}}", found as u32).expect("writing to a string never fails"),
            }
        }
        for byte in chunk.invalid() {
            escape_byte(&mut text, *byte);
        }
    }
    text
}

fn escape_byte(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("writing to a string never fails");
}

/// Whether a character is invisible or changes the text around it: controls, bidirectional overrides, line and paragraph
/// separators, zero-width spaces, and the tag characters that can spell hidden text. Joiners are kept: some scripts need
/// them.
fn is_misleading(found: char) -> bool {
    found.is_control() && found != '\t'
        || matches!(found,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{cut, shown, shown_name, unescape_name};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn misleading_characters_are_shown_as_escapes() {
        assert_eq!(shown(b"\x1b[31mred\0\x07\r"), "\\x1b[31mred\\x00\\x07\\x0d");
        assert_eq!(
            shown("a\u{202e}b\u{2066}c\u{feff}\u{e0041}".as_bytes()),
            "a\\u{202e}b\\u{2066}c\\u{feff}\\u{e0041}"
        );
        assert_eq!(shown("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(shown(b"caf\xe9"), "caf\\xe9");
    }

    #[test]
    fn ordinary_text_is_not_changed() {
        let ordinary = "fn main() {\tprintln!(\"\\n größe 数 👩‍🚀 می‌خواهم\") }";
        assert_eq!(shown(ordinary.as_bytes()), ordinary);
    }

    #[test]
    fn a_shown_name_is_one_line_and_can_be_converted_back() {
        for name in [
            &b"plain.txt"[..],
            b"a\nb",
            b"tab\there",
            b"back\\slash",
            b"\\x41",
            b"\xff\xfe",
            "\u{202e}gpj.exe".as_bytes(),
        ] {
            let shown = shown_name(OsStr::from_bytes(name));
            assert!(!shown.contains(char::is_control), "{shown}");
            assert_eq!(unescape_name(&shown).as_deref(), Some(OsStr::from_bytes(name)), "{shown}");
        }
        for odd in ["\\", "\\q", "\\x", "\\x4", "\\xzz", "\\xé", "\\u{}", "\\u{110000}", "\\u{41"] {
            assert_eq!(unescape_name(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 9), "aé");
    }
}
