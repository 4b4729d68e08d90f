//! What an agent says itself, sentence by sentence: without code, quotations and headings, which are not its own words.

/// The most tokens of a sentence. What goes on longer is taken for several.
const TOKENS_MAX: usize = 200;

/// The longest quotation: a mark without its counterpart opens none.
const QUOTE_BYTES_MAX: usize = 4096;

/// The longest quoted span that may be a name, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// A sentence in small letters. Dashes and the like divide words; commas, colons and brackets are tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) tokens: Vec<String>,
    pub(super) is_question: bool,
    /// Whether a list may follow.
    pub(super) opens_list: bool,
    /// Whether it begins an item of a list.
    pub(super) is_item: bool,
}

/// Divides text. `is_name` tells which quoted spans are names: those stay.
pub(super) fn sentences(text: &str, is_name: &dyn Fn(&str) -> bool) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if line.starts_with(['>', '#']) => {}
            (None, None) => divide(line, is_name, &mut found),
        }
    }
    found
}

fn divide(line: &str, is_name: &dyn Fn(&str) -> bool, found: &mut Vec<Sentence>) {
    let (is_item, line) = item(line);
    let line = unquoted(line, is_name);
    let mut rest = line.as_str();
    let mut first = true;
    while !rest.is_empty() {
        let end = end_of_sentence(rest);
        let (sentence, after) = rest.split_at(end);
        rest = after;
        let closed = sentence.trim_end();
        let (is_question, opens_list) = (closed.ends_with('?'), closed.ends_with(':'));
        for chunk in tokens(sentence).chunks(TOKENS_MAX) {
            let tokens = chunk.to_vec();
            found.push(Sentence { tokens, is_question, opens_list, is_item: is_item && first });
            first = false;
        }
    }
}

/// Takes the bullet or number off a line.
fn item(line: &str) -> (bool, &str) {
    let numbered = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let bullets = ["- ", "* ", "+ ", "• "].into_iter().find_map(|bullet| line.strip_prefix(bullet));
    let number =
        (numbered.len() < line.len()).then(|| numbered.strip_prefix(". ").or_else(|| numbered.strip_prefix(") ")));
    match bullets.or(number.flatten()) {
        Some(rest) => (true, rest),
        None => (false, line),
    }
}

/// Where the first sentence ends: after a mark that is followed by a blank or by nothing.
fn end_of_sentence(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let apart = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(letter, '.' | '!' | '?' | '…' | ';' | '。' | '！' | '？') && apart {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

/// Leaves out what is between quotation marks or backticks, unless it is a name.
fn unquoted(line: &str, is_name: &dyn Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        if let Some((end, length)) = closing(letter, before, after) {
            let span = &after[..end];
            let name = span.len() <= NAME_BYTES_MAX && is_name(span);
            kept.push_str(if name { span } else { " , " });
            rest = &after[end + length..];
            before = '"';
        } else {
            kept.push(letter);
            rest = after;
            before = letter;
        }
    }
    kept
}

/// Where the quotation that a letter opens ends, and how long its mark is.
fn closing(letter: char, before: char, after: &str) -> Option<(usize, usize)> {
    let marks: &[char] = match letter {
        '"' => &['"'],
        '`' => &['`'],
        '“' | '„' => &['”', '“'],
        '«' => &['»'],
        '「' => &['」'],
        '\'' | '‘' if !before.is_alphanumeric() => &['\'', '’'],
        _ => return None,
    };
    // An apostrophe looks like a single mark, but a letter follows it.
    let is_mark = |(at, mark): &(usize, char)| {
        let next = after[at + mark.len_utf8()..].chars().next();
        marks.contains(mark) && (!marks.contains(&'\'') || next.is_none_or(|next| !next.is_alphanumeric()))
    };
    let mut within = after.char_indices().take_while(|(at, _)| *at < QUOTE_BYTES_MAX);
    within.find(is_mark).map(|(at, mark)| (at, mark.len_utf8()))
}

/// Divides into tokens. `FlightAgent` is two words.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let letter = if letter == '’' { '\'' } else { letter };
        let hump = before.is_lowercase() && letter.is_uppercase();
        let within = letter.is_alphanumeric() || (letter == '\'' && before.is_alphanumeric());
        if (hump || !within) && !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match letter {
            ',' | ':' | '(' | ')' | '[' | ']' | '—' | '–' | '/' | '=' => tokens.push(",".to_owned()),
            '&' => tokens.push("and".to_owned()),
            letter if within => word.extend(letter.to_lowercase()),
            _ => {}
        }
        before = letter;
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}
