//! Reads what servers send as JSON and nearly is: lone surrogates, which some write for a split emoji, become `\ufffd`.

use serde_json::Value;

const REPLACEMENT: &str = "\\ufffd";

/// Reads a value, mending lone surrogates if that is what is wrong with it.
pub(crate) fn value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match mend(text) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// Replaces lone surrogate escapes; `None` if there are none.
fn mend(text: &str) -> Option<String> {
    let mut mended = String::new();
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
            mended.push_str(&text[copied..escape]);
            mended.push_str(REPLACEMENT);
            copied = escape + length;
        }
        at = escape + length;
    }
    (copied > 0).then(|| mended + &text[copied..])
}

fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::value;

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_kept() {
        assert_eq!(value(r#"{"a":"\ud83d"}"#).unwrap(), json!({"a": "\u{fffd}"}));
        assert_eq!(value(r#"["\ude00x\ud83d\ude00\ud83d"]"#).unwrap(), json!(["\u{fffd}x😀\u{fffd}"]));
        assert_eq!(value(r#"["\\ud83d", "\ud800\\"]"#).unwrap(), json!(["\\ud83d", "\u{fffd}\\"]));
    }

    #[test]
    fn what_is_wrong_otherwise_stays_wrong() {
        for text in [r#"{"a":"\ud83d"#, "{", r#"["\u12"]"#, r#"["\ü"]"#, "[\"\\", &"[".repeat(10_000)] {
            assert!(value(text).is_err(), "{text:.20}");
        }
    }
}
