//! What lines have in common: identifiers, numbers and paths, which mean the same wherever they stand, and the stems of plain
//! words, which only hint at it. A name is the same in every convention: `max-size`, `maxSize` and `MAX_SIZE` are one.

use std::collections::BTreeSet;

/// How much of a line is read, in bytes.
pub(super) const LINE_BYTES_MAX: usize = 400;
/// How many names of one text are taken.
const NAMES_MAX: usize = 24;
/// The longest name.
const NAME_BYTES_MAX: usize = 100;
/// The most subwords that a name has.
const PARTS_MAX: usize = 8;
/// From how many words on a question is known again.
const REPEATED_WORDS: usize = 4;

/// Words that say nothing about what a question is about.
const IDLE: &[&str] = &[
    "the", "and", "are", "but", "can", "did", "do", "does", "for", "from", "had", "has", "have", "how", "into", "its",
    "not", "now", "our", "out", "should", "that", "their", "them", "then", "there", "these", "they", "this", "was",
    "were", "what", "when", "where", "which", "while", "could", "might", "must", "shall", "who", "whom", "why", "will",
    "with", "would", "you", "your", "please", "find", "tell", "show", "explain", "about", "all", "any", "some", "is",
    "in", "at", "on", "of", "to", "a", "an", "it", "be", "by", "or", "if", "as", "we", "us", "me", "my", "so", "up",
    "no", "each", "every", "it's", "one", "get", "gets", "made", "make", "long", "many", "much", "often", "after",
    "before",
];

/// Stems of words with which something goes wrong.
const GRAVE: &[&str] = &[
    "error",
    "err",
    "fail",
    "timeout",
    "exception",
    "fatal",
    "panic",
    "refus",
    "deni",
    "deny",
    "critical",
    "abort",
    "crash",
    "reject",
    "exceed",
    "expir",
    "unavailabl",
    "invalid",
    "traceback",
    "declin",
];

/// Words, beside the grave ones, of somebody who asks about trouble.
const TROUBLE: &[&str] = &[
    "why", "wrong", "broken", "breaks", "broke", "slow", "problem", "issue", "incident", "outage", "cause", "down",
    "bug",
];

/// Articles that speak of no single thing.
const GENERAL: &[&str] = &["a", "an", "any", "each", "every"];
/// How many words before a noun its article stands.
const ARTICLE_WORDS: usize = 2;

/// Something that one line names and another may name too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// The same for all spellings.
    pub(super) key: String,
    /// As it stands in the text.
    pub(super) spelled: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Identifier,
    /// One that is made up for a single occasion, such as the id of a request.
    Occasion,
    Number,
    Path,
}

impl Name {
    /// How much it means that two places share it.
    pub(super) fn weight(&self) -> u64 {
        match self.kind {
            Kind::Identifier => 3 + (self.key.split('_').count() as u64).min(3),
            Kind::Path => 4,
            Kind::Occasion => 2,
            Kind::Number if is_status(&self.key) || self.key.len() == 2 => 2,
            Kind::Number => 3,
        }
    }

    /// The regular expression that finds it in every spelling.
    pub(super) fn pattern(&self) -> String {
        match self.kind {
            Kind::Identifier | Kind::Occasion => {
                let parts: Vec<String> = self.key.split('_').map(escaped).collect();
                format!("(?i:{})", parts.join("[-_. ]?"))
            }
            Kind::Number => format!("(?:^|[^0-9.]){}(?:[^0-9]|$)", escaped(&self.key)),
            Kind::Path => escaped(&self.spelled),
        }
    }
}

/// Whether a number is likely to be the status of an HTTP reply, which half of all files mention.
fn is_status(number: &str) -> bool {
    number.len() == 3 && number.starts_with(['1', '2', '3', '4', '5'])
}

/// Puts a backslash before what means something in a regular expression.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for found in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(found) {
            pattern.push('\\');
        }
        pattern.push(found);
    }
    pattern
}

/// The names in a text, in order, each once, as many as are taken.
pub(super) fn names(text: &str) -> Vec<Name> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for chunk in chunks(text) {
        for name in named(chunk) {
            if found.len() < NAMES_MAX && seen.insert(name.key.clone()) {
                found.push(name);
            }
        }
    }
    found
}

/// The stems of all words in a text, those within identifiers too.
pub(super) fn stems(text: &str) -> BTreeSet<String> {
    subwords(text).map(|word| stem(&word)).collect()
}

/// The stems of the words that a question is about, in order, each once.
pub(super) fn asked_words(question: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in subwords(question) {
        let stem = stem(&word);
        let idle = IDLE.contains(&word.as_str()) || word.chars().count() < 3 || word.chars().all(char::is_numeric);
        if !idle && !words.contains(&stem) {
            words.push(stem);
        }
    }
    words
}

/// The first word of a text that has this stem, as it stands there.
pub(super) fn spelled<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    spelled_words(text).find(|word| stem(word) == wanted)
}

/// Whether a text says a question over again, and so nothing about it.
pub(super) fn repeats(text: &str, question: &str) -> bool {
    let (said, asked): (Vec<String>, Vec<String>) = (subwords(text).collect(), subwords(question).collect());
    asked.len() >= REPEATED_WORDS && said.windows(asked.len()).any(|run| run == asked)
}

/// What stands in quotes, as it may stand in a file.
pub(super) fn quotes(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for mark in ['"', '`', '\''] {
        for part in text.split(mark).skip(1).step_by(2) {
            let is_apostrophe = mark == '\'' && !part.contains(' ');
            if (4..=80).contains(&part.len()) && !part.contains(char::is_control) && !is_apostrophe {
                found.push(part.to_owned());
            }
        }
    }
    found
}

/// Whether a line only says what a file uses.
pub(super) fn is_import(text: &str) -> bool {
    // Examples in comments use things as well.
    let text = text.trim_start().trim_start_matches(['/', '!', '*']).trim_start();
    ["import ", "from ", "use ", "pub use ", "#include", "require", "mod "].iter().any(|start| text.starts_with(start))
}

/// Whether something goes wrong in a line.
pub(super) fn is_grave(stems: &BTreeSet<String>) -> bool {
    GRAVE.iter().any(|grave| stems.contains(*grave))
}

/// Whether a question is about something that goes wrong, and not about how things are. With an article such as "a" or "any", a
/// grave word speaks of whatever trouble there may be, and not of some that was seen.
pub(super) fn is_about_trouble(question: &str) -> bool {
    let words: Vec<String> = subwords(question).collect();
    let is_general = |at: usize| {
        let before = &words[at.saturating_sub(ARTICLE_WORDS)..at];
        before.iter().any(|word| GENERAL.contains(&word.as_str()))
    };
    words
        .iter()
        .enumerate()
        .any(|(at, word)| TROUBLE.contains(&word.as_str()) || (GRAVE.contains(&stem(word).as_str()) && !is_general(at)))
}

/// The regular expression for lines in which something goes wrong.
pub(super) fn grave_pattern() -> String {
    format!("(?i:{})", GRAVE.join("|"))
}

/// The regular expression that finds words with these stems, within identifiers too.
pub(super) fn words_pattern(stems: &[String]) -> String {
    let form = |stem: &str| match stem.strip_suffix('y') {
        Some(rest) if rest.chars().count() >= 3 => format!("{}(?:y|ie)", escaped(rest)),
        Some(_) | None => escaped(stem),
    };
    let plain: Vec<String> = stems.iter().map(|stem| form(stem)).collect();
    let capital: Vec<String> = stems.iter().map(|stem| form(&capitalised(stem))).collect();
    let (plain, capital) = (plain.join("|"), capital.join("|"));
    format!(
        "(?i:(?:^|[^a-z])(?:{plain})(?:e?s|e|e?d|ing|ures?|er(?:s|ed|ing)?)?(?:[^a-z]|$))|[a-z](?:{capital})|(?:{capital})[a-z]{{0,4}}[A-Z]"
    )
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A word without its ending: near enough to find other forms of it, and never longer than the word.
fn stem(word: &str) -> String {
    let shorter = |word: &str, ending: &str| {
        word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3).map(str::to_owned)
    };
    let mut word = word.to_lowercase();
    if let Some(rest) = shorter(&word, "ies") {
        return rest + "y";
    }
    if !word.ends_with("ss") {
        word = shorter(&word, "s").unwrap_or(word);
    }
    word = ["ing", "ed"].iter().find_map(|ending| shorter(&word, ending)).unwrap_or(word);
    for ending in ["ure", "er", "e"] {
        if let Some(rest) = shorter(&word, ending) {
            return rest;
        }
    }
    word
}

/// The words of a text in lower case, identifiers taken apart.
fn subwords(text: &str) -> impl Iterator<Item = String> {
    spelled_words(text).map(str::to_lowercase)
}

/// The words of a text as they stand there, identifiers taken apart.
fn spelled_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|found: char| !found.is_alphanumeric()).filter(|part| !part.is_empty()).flat_map(humps)
}

/// The parts of a word in camel case.
fn humps(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let is = |at: Option<usize>, test: fn(char) -> bool| {
        at.and_then(|at| chars.get(at)).is_some_and(|(_, found)| test(*found))
    };
    let begins = |at: usize| {
        let before = at.checked_sub(1);
        is(Some(at), char::is_uppercase) && (!is(before, char::is_uppercase) || is(Some(at + 1), char::is_lowercase))
    };
    let mut ends: Vec<usize> = (1..chars.len()).filter(|at| begins(*at)).map(|at| chars[at].0).collect();
    ends.push(word.len());
    let begin = std::iter::once(0).chain(ends.iter().copied());
    begin.zip(&ends).map(|(begin, end)| &word[begin..*end]).collect()
}

/// The longest runs of what names are made of. A joiner counts only between two such characters.
fn chunks(text: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let is_word = |at: usize| chars.get(at).is_some_and(|(_, found)| found.is_alphanumeric() || *found == '_');
    let mut found = Vec::new();
    let mut begin = None;
    for at in 0..=chars.len() {
        let joins = chars.get(at).is_some_and(|(_, found)| "-./:,".contains(*found))
            && at.checked_sub(1).is_some_and(is_word)
            && is_word(at + 1);
        let is_part = is_word(at) || joins;
        match begin {
            None if is_part => begin = Some(at),
            Some(from) if !is_part => {
                let end = chars.get(at).map_or(text.len(), |(byte, _)| *byte);
                found.push(&text[chars[from].0..end]);
                begin = None;
            }
            None | Some(_) => {}
        }
    }
    found
}

fn named(chunk: &str) -> Vec<Name> {
    if chunk.len() > NAME_BYTES_MAX || is_time(chunk) {
        return Vec::new();
    }
    if let Some(number) = number(chunk) {
        return vec![Name { key: number, spelled: chunk.to_owned(), kind: Kind::Number }];
    }
    if chunk.contains([':', ',']) {
        return chunk.split([':', ',']).flat_map(named).collect();
    }
    if chunk.contains('/') {
        let has_file = chunk.rsplit('/').next().is_some_and(|name| name.contains('.'));
        let path = Name { key: chunk.to_lowercase(), spelled: chunk.to_owned(), kind: Kind::Path };
        return if has_file { vec![path] } else { chunk.split('/').flat_map(named).collect() };
    }
    let parts: Vec<Name> = chunk.split('.').filter_map(identifier).collect();
    if chunk.contains('.') || !parts.is_empty() {
        return parts;
    }
    Vec::new()
}

/// An identifier: one that is made of several words, since single ones are plain words as well.
fn identifier(chunk: &str) -> Option<Name> {
    let chunk = chunk.trim_matches('_');
    let parts: Vec<String> = chunk
        .split(['_', '-'])
        .filter(|part| !part.is_empty())
        .flat_map(humps)
        .map(str::to_lowercase)
        .take(PARTS_MAX)
        .collect();
    let has_letters = chunk.chars().filter(|found| found.is_alphabetic()).count() >= 3;
    if parts.len() < 2 || !has_letters || chunk.chars().count() < 5 {
        return None;
    }
    let mixed = |part: &String| part.chars().any(char::is_alphabetic) && part.chars().any(char::is_numeric);
    let numbered = |part: &String| part.len() >= 3 && part.chars().all(char::is_numeric);
    let kind = if parts.iter().any(|part| mixed(part) || numbered(part)) { Kind::Occasion } else { Kind::Identifier };
    Some(Name { key: parts.join("_"), spelled: chunk.to_owned(), kind })
}

/// A number of two digits or more, without its unit.
fn number(chunk: &str) -> Option<String> {
    let end = chunk.find(|found: char| !found.is_ascii_digit() && found != '_' && found != '.').unwrap_or(chunk.len());
    let (digits, unit) = chunk.split_at(end);
    let is_unit = unit.len() <= 3 && unit.chars().all(|found| found.is_ascii_alphabetic());
    let plain: String = digits.chars().filter(|found| *found != '_').collect();
    let plain = plain.trim_end_matches('.');
    let is_number = plain.starts_with(|found: char| found.is_ascii_digit()) && plain.matches('.').count() <= 1;
    let says = plain.chars().filter(char::is_ascii_digit).count() >= 2 && plain.len() <= 12;
    (is_unit && is_number && says).then(|| plain.to_owned())
}

/// Whether it is a date or a time, which lines share by chance.
fn is_time(chunk: &str) -> bool {
    let digits = chunk.chars().filter(char::is_ascii_digit).count();
    let joiners = chunk.chars().filter(|found| "-:./,".contains(*found)).count();
    let others = chunk.len() - digits - joiners;
    digits >= 2 && joiners >= 1 && others <= 2 && (chunk.contains(':') || joiners >= 2) && digits > others
}

/// Cuts to at most so many bytes, between characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::{asked_words, escaped, is_about_trouble, names, quotes, repeats, spelled, stems};

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = names(text).into_iter().map(|name| name.key).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_name_is_the_same_in_every_convention() {
        for spelled in ["max_open_files", "max-open-files", "maxOpenFiles", "MAX_OPEN_FILES", "MaxOpenFiles"] {
            check(spelled, &["max_open_files"]);
        }
        check("self.max_size = cfg.get(\"HTTPServer\")", &["max_size", "http_server"]);
        check("see src/io/pool.rs:41", &["src/io/pool.rs", "41"]);
    }

    #[test]
    fn numbers_lose_their_units_and_times_are_none() {
        check("waited 250ms, 1_500 of 90s, 7 left", &["250", "1500", "90"]);
        check("2026-03-01T10:22:31.118Z 10:22:31,118 10:22 2026-03-01 10.0.0.1 1.2.3", &[]);
        check("wait(250,max_size)", &["250", "max_size"]);
    }

    #[test]
    fn a_question_is_about_its_own_words_in_any_form() {
        assert_eq!(asked_words("Why is the upload API failing?"), ["upload", "api", "fail"]);
        assert!(stems("uploads failed: UploadFailure").is_superset(&["upload".to_owned(), "fail".to_owned()].into()));
        assert!(!stems("single processing").contains("sing"));
        assert!(
            is_about_trouble("Why is it late?")
                && is_about_trouble("It failed.")
                && is_about_trouble("What is the error?")
                && !is_about_trouble("What limits it?")
                && !is_about_trouble("Who hears of a fatal error?")
        );
    }

    #[test]
    fn words_are_found_again_in_other_forms_and_shown_as_they_stand() {
        for (text, asked, expected) in [
            ("it Retries twice", "retry", "Retries"),
            ("maxUploadBytes", "uploading", "Upload"),
            ("is remembered", "remember", "remembered"),
            ("Füße: größter", "größter", "größter"),
        ] {
            assert_eq!(spelled(text, &asked_words(asked)[0]), Some(expected), "{text}");
        }
        assert_eq!(spelled("a tally", "tall"), None);
    }

    #[test]
    fn a_line_that_has_the_whole_question_repeats_it() {
        assert!(repeats("ask(\"Who turns the big wheel?\")", "Who turns the big wheel?"));
        assert!(!repeats("the big wheel is turned", "Who turns the big wheel?"));
    }

    #[test]
    fn what_is_quoted_is_taken_as_it_stands() {
        assert_eq!(quotes("it says \"no such host\" and don't"), ["no such host"]);
        assert_eq!(escaped("a.b(c)"), "a\\.b\\(c\\)");
    }
}
