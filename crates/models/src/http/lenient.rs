//! Reads what servers send as JSON and nearly is: lone surrogates, which some write for a split emoji, become `\ufffd`.

use serde_json::Value;

const REPLACEMENT: &str = "\\ufffd";

/// Reads a value, and repairs lone surrogates if they are what is wrong with it.
pub(crate) fn value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match repaired(text) {
        Some(repaired) => serde_json::from_str(&repaired),
        None => Err(error),
    })
}

/// Replaces lone surrogate escapes; `None` if there are none.
fn repaired(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        let (kind, length) = match unit(&text[escape..]) {
            Some(first @ 0xd800..0xdc00) => match unit(&text[escape + 6..]) {
                Some(0xdc00..0xe000) => (None, 12),
                _ => (Some(first), 6),
            },
            Some(lone @ 0xdc00..0xe000) => (Some(lone), 6),
            Some(_) => (None, 6),
            // Another escape: its second character, whatever it is, is not the start of one.
            None => (None, 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8)),
        };
        if kind.is_some() {
            repaired.push_str(&text[copied..escape]);
            repaired.push_str(REPLACEMENT);
            copied = escape + length;
        }
        at = escape + length;
    }
    (copied > 0).then(|| repaired + &text[copied..])
}

fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}
