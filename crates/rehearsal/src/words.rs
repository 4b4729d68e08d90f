//! Words, identifiers and numbers: what a question asks for, and what two lines can have in common.

/// How many terms of one question are searched for.
const TERMS_MAX: usize = 6;
/// From this length on, a word also matches longer words that begin with it.
const PREFIX_BYTES_MIN: usize = 4;
/// How many identifiers and numbers of one line are read.
const NAMES_MAX: usize = 32;

/// Words that say nothing about what a question is about.
const COMMON: &[&str] = &[
    "a", "about", "after", "all", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but", "by", "can",
    "could", "defined", "did", "do", "does", "each", "every", "explain", "find", "for", "from", "get", "gets", "go",
    "goes", "going", "had", "happen", "happens", "has", "have", "how", "if", "in", "into", "is", "it", "its", "long",
    "look", "made", "make", "many", "may", "me", "might", "much", "must", "my", "no", "not", "now", "of", "often",
    "on", "one", "or", "our", "out", "please", "shall", "should", "show", "so", "some", "tell", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "up", "us", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your",
];

/// How the words begin with which people and programs say that something goes wrong.
const TROUBLE: &[&str] = &[
    "abort",
    "broke",
    "crash",
    "deni",
    "err",
    "exception",
    "exceed",
    "fail",
    "fatal",
    "incident",
    "outage",
    "panic",
    "refus",
    "reject",
    "slow",
    "timeout",
    "traceback",
    "unavailab",
    "unreach",
    "wrong",
];

/// What finds lines of logs that tell of trouble.
pub(crate) const TROUBLE_PATTERN: &str =
    "abort|crash|denied|error|exception|exceed|fail|fatal|panic|refused|reject|timeout|timed out|traceback|unavailab";

/// Something to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// A plain word, without its ending and in lower case.
    Word(String),
    /// An identifier or a quoted text, as it is spelled.
    Name(String),
    Number(String),
}

impl Term {
    /// The term as it is spelled.
    pub(crate) fn text(&self) -> &str {
        match self {
            Term::Word(text) | Term::Name(text) | Term::Number(text) => text,
        }
    }

    /// Reads a term that a rehearsal wrote.
    pub(crate) fn parse(text: &str) -> Term {
        let text = text.to_owned();
        if text.bytes().all(|byte| byte.is_ascii_digit()) { Term::Number(text) } else { Term::Name(text) }
    }

    /// Returns the regular expression that finds the term.
    pub(crate) fn pattern(&self) -> String {
        match self {
            Term::Word(stem) => stem.clone(),
            Term::Name(name) => escaped(name),
            Term::Number(number) => format!("\\b{number}\\b"),
        }
    }

    /// Whether a text has the term, as a word or an identifier of its own.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Term::Word(stem) => words(text).iter().any(|word| {
                word == stem || stem_of(word) == *stem || stem.len() >= PREFIX_BYTES_MIN && word.starts_with(stem)
            }),
            Term::Name(name) => text.contains(name.as_str()),
            Term::Number(number) => numbers(without_time(text)).contains(number),
        }
    }
}

/// Returns what a question asks for: its quotes, identifiers and numbers, then its plain words.
pub(crate) fn terms(question: &str) -> Vec<Term> {
    let names = quotes(question).into_iter().chain(names(question)).map(Term::Name);
    let exact: Vec<Term> = names.chain(numbers(question).into_iter().map(Term::Number)).collect();
    let is_part = |word: &str| exact.iter().any(|term| words(term.text()).iter().any(|part| part == word));
    let plain = words(question).into_iter().filter(|word| word.len() > 1 && !COMMON.contains(&word.as_str()));
    let plain = plain.filter(|word| !is_part(word) && !word.bytes().all(|byte| byte.is_ascii_digit()));
    let mut terms: Vec<Term> = Vec::new();
    for term in exact.iter().cloned().chain(plain.map(|word| Term::Word(stem_of(&word)))) {
        if !terms.contains(&term) && terms.len() < TERMS_MAX {
            terms.push(term);
        }
    }
    terms
}

/// Whether a text tells of something that goes wrong.
pub(crate) fn tells_of_trouble(text: &str) -> bool {
    words(text).iter().any(|word| TROUBLE.iter().any(|start| word.starts_with(start)))
}

/// The words of a text in lower case, those within identifiers included.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            let begins = !before.is_alphanumeric() || before.is_lowercase() && letter.is_uppercase();
            match words.last_mut() {
                Some(word) if !begins => word.extend(letter.to_lowercase()),
                Some(_) | None => words.push(letter.to_lowercase().collect()),
            }
        }
        before = letter;
    }
    words
}

/// A word without its ending, so that "failing" finds "failed".
fn stem_of(word: &str) -> String {
    let cut = |ending: &str, least: usize| word.strip_suffix(ending).filter(|stem| stem.len() >= least);
    let plural = || cut("s", 3).filter(|stem| !stem.ends_with('s'));
    cut("ing", 4).or_else(|| cut("ed", 4)).or_else(plural).unwrap_or(word).to_owned()
}

/// The identifiers of a text, each once: words that are joined by an underscore or by a capital.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let name = name.trim_matches('_');
        let is_camel = name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        let is_name = name.contains('_') || is_camel;
        if is_name && names.len() < NAMES_MAX && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The numbers of a text with two digits or more, each once.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    let mut numbers: Vec<String> = Vec::new();
    for number in text.split(|letter: char| !letter.is_alphanumeric()) {
        let is_number = (2..=18).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && numbers.len() < NAMES_MAX && !numbers.iter().any(|known| known == number) {
            numbers.push(number.to_owned());
        }
    }
    numbers
}

/// What a question has between backticks or double quotes.
fn quotes(text: &str) -> Vec<String> {
    let between = |mark: char| text.split(mark).skip(1).step_by(2).map(str::trim).map(str::to_owned);
    between('`').chain(between('"')).filter(|quote| (2..=80).contains(&quote.len())).collect()
}

/// A line without the date and the time at its beginning.
pub(crate) fn without_time(line: &str) -> &str {
    let mut rest = line.trim_start();
    while let Some((field, after)) = rest.split_once(' ') {
        let is_dated = field.contains(|c: char| c.is_ascii_digit()) && field.contains(['-', ':', '/']);
        let is_time = is_dated && field.chars().all(|c| c.is_ascii_digit() || "-:.,/+TZ[]".contains(c));
        if !is_time && field.contains(char::is_alphanumeric) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// Puts a backslash before everything that means something in a regular expression.
fn escaped(text: &str) -> String {
    let special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

#[cfg(test)]
mod tests {
    use super::{Term, names, numbers, terms, without_time, words};

    fn word(text: &str) -> Term {
        Term::Word(text.to_owned())
    }

    #[test]
    fn a_question_is_its_names_and_its_telling_words() {
        assert_eq!(terms("Why is the payment API failing?"), [word("payment"), word("api"), word("fail")]);
        let name = Term::Name("max_size".to_owned());
        assert_eq!(terms("Where is `max_size` defined?"), [name.clone()]);
        assert_eq!(terms("max_size of uploads?"), [name, word("upload")]);
    }

    #[test]
    fn words_within_identifiers_are_words() {
        assert_eq!(words("maxSize of API_KEY"), ["max", "size", "of", "api", "key"]);
        assert!(word("fail").is_in("login_failed") && !word("rain").is_in("constraint"));
        assert_eq!(names("self.deadline_ms = settings[\"acquire\"]; AbTimeout"), ["deadline_ms", "AbTimeout"]);
        assert_eq!(numbers("after 30 ms, v2, 7 of 6380"), ["30", "6380"]);
    }

    #[test]
    fn the_time_of_a_log_line_is_no_number_of_it() {
        assert_eq!(without_time("2026-04-13 14:00:40,423 ERROR no 30"), "ERROR no 30");
        assert_eq!(without_time("2026-05-02T08:00:09Z error"), "error");
        assert_eq!(without_time("[12:01] late"), "late");
        assert_eq!(without_time("- 2026-03-30 changed"), "changed");
        for line in ["T is no time", "30 ms"] {
            assert_eq!(without_time(line), line);
        }
    }
}
