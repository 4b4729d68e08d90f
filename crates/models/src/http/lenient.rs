//! Repairs JSON in which a server has written lone surrogates, which some servers write for a split emoji. A lone surrogate
//! becomes U+FFFD.

/// The length of `\ud800` in bytes.
const UNICODE_ESCAPE_BYTES: usize = 6;

/// Replaces every lone surrogate.
pub(crate) fn without_lone_surrogates(text: &str) -> String {
    let mut repaired = String::new();
    let mut rest = text;
    while let Some((before, (letter, bytes))) = rest.find('\\').and_then(|at| Some((at, escape(&rest[at..])?))) {
        let (copied, after) = rest.split_at(before + bytes);
        if letter == char::REPLACEMENT_CHARACTER && bytes == UNICODE_ESCAPE_BYTES {
            repaired.push_str(&copied[..before]);
            repaired.push_str("\\ufffd");
        } else {
            repaired.push_str(copied);
        }
        rest = after;
    }
    repaired + rest
}

/// Decodes the escape sequence at the start of a text. Returns the character and the length of the sequence; `None` if the end of
/// the sequence is missing. A lone surrogate, or a `\u` without four digits, becomes U+FFFD.
pub(crate) fn escape(text: &str) -> Option<(char, usize)> {
    let plain = |letter| Some((letter, 2));
    match text[1..].chars().next()? {
        'n' => plain('\n'),
        't' => plain('\t'),
        'r' => plain('\r'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'u' => {
            let Some(high) = code_unit(text.get(2..UNICODE_ESCAPE_BYTES)?) else {
                return plain(char::REPLACEMENT_CHARACTER);
            };
            if !(0xd800..0xdc00).contains(&high) {
                let letter = char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
                return Some((letter, UNICODE_ESCAPE_BYTES));
            }
            let rest = &text[UNICODE_ESCAPE_BYTES..];
            if rest.len() < UNICODE_ESCAPE_BYTES && (rest.starts_with("\\u") || "\\u".starts_with(rest)) {
                return None;
            }
            let low = rest.strip_prefix("\\u").and_then(|digits| code_unit(digits.get(..4)?));
            let low = low.filter(|low| (0xdc00..0xe000).contains(low));
            let pair = low.and_then(|low| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
            let lone = (char::REPLACEMENT_CHARACTER, UNICODE_ESCAPE_BYTES);
            Some(pair.map_or(lone, |letter| (letter, 2 * UNICODE_ESCAPE_BYTES)))
        }
        other => Some((other, 1 + other.len_utf8())),
    }
}

fn code_unit(digits: &str) -> Option<u32> {
    // `from_str_radix` also accepts a sign.
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}
