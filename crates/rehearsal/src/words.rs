//! Words, identifiers and numbers: the search terms of a question, and what two lines can have in common.

use std::collections::BTreeSet;

/// The most terms of one question that are searched for.
const TERMS_MAX: usize = 6;
/// From this length on, a word also matches longer words that begin with it.
const PREFIX_BYTES_MIN: usize = 4;
/// The most identifiers and numbers of one line that are read.
const NAMES_MAX: usize = 32;

/// Words that are not about the subject of a question.
const COMMON: &str = "a about after all an and any are as at be been before but by can could defined did do does each every \
    explain find for from get gets go goes going had happen happens has have how if in into is it its long look \
    made make many may me might much must my no not now of often on one or our out please shall should show so \
    some tell that the their them then there these they this to up us was we were what when where which while \
    who whom why will with would you your";

/// Beginnings of words for failures, as a pattern for searches.
pub(crate) const TROUBLE: &str = "abort|broke|crash|deni|error|exceed|exception|fail|fatal|incident|outage|panic|refus|\
    reject|slow|timeout|timed out|traceback|unavailab|unreach|wrong";

/// A search term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// A plain word in lower case, without its ending.
    Word(String),
    /// An identifier or a quoted text, unchanged.
    Name(String),
    Number(String),
}

impl Term {
    /// Returns the text of the term.
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

    /// Whether a text contains the term.
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

/// Returns the search terms of a question: its quotes, identifiers and numbers, then its plain words.
pub(crate) fn terms(question: &str) -> Vec<Term> {
    let names = quotes(question).into_iter().chain(names(question)).map(Term::Name);
    let exact: Vec<Term> = names.chain(numbers(question).into_iter().map(Term::Number)).collect();
    let is_part = |word: &str| exact.iter().any(|term| words(term.text()).iter().any(|part| part == word));
    let plain =
        words(question).into_iter().filter(|word| word.len() > 1 && !COMMON.split(' ').any(|common| common == word));
    let plain = plain.filter(|word| !is_part(word) && !word.bytes().all(|byte| byte.is_ascii_digit()));
    let mut terms: Vec<Term> = Vec::new();
    for term in exact.iter().cloned().chain(plain.map(|word| Term::Word(stem_of(&word)))) {
        if !terms.contains(&term) && terms.len() < TERMS_MAX {
            terms.push(term);
        }
    }
    terms
}

/// Whether a text is about a failure.
pub(crate) fn mentions_trouble(text: &str) -> bool {
    words(text).iter().any(|word| TROUBLE.split('|').any(|start| word.starts_with(start)))
}

/// Returns the words of a text in lower case, including the words inside identifiers.
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

/// Removes the ending of a word, so that "failing" finds "failed", "stopped" finds "stop", and "retries" finds "retry".
fn stem_of(word: &str) -> String {
    let cut = |ending: &str, least: usize| word.strip_suffix(ending).filter(|stem| stem.len() >= least);
    let es_plural = || cut("es", 3).filter(|stem| ["ss", "x", "ch", "sh"].iter().any(|end| stem.ends_with(end)));
    let plural = || cut("ies", 3).or_else(es_plural).or_else(|| cut("s", 3).filter(|stem| !stem.ends_with('s')));
    let verb = cut("ing", 4).or_else(|| cut("ed", 4));
    let doubled = |stem: &&str| ["bb", "dd", "gg", "mm", "nn", "pp", "rr", "tt"].iter().any(|two| stem.ends_with(two));
    verb.filter(doubled).map(|stem| &stem[..stem.len() - 1]).or(verb).or_else(plural).unwrap_or(word).to_owned()
}

/// Returns the identifiers of a text, without repetition: words that are joined by an underscore or a capital letter.
pub(crate) fn names(text: &str) -> Vec<String> {
    let is_name = |name: &&str| {
        let mut pairs = name.chars().zip(name.chars().skip(1));
        name.contains('_') || pairs.any(|(one, next)| one.is_lowercase() && next.is_uppercase())
    };
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    distinct(parts.map(|name| name.trim_matches('_')).filter(is_name))
}

/// Returns the numbers of a text with at least two digits, without repetition.
pub(crate) fn numbers(text: &str) -> Vec<String> {
    let is_number =
        |number: &&str| (2..=18).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    distinct(text.split(|letter: char| !letter.is_alphanumeric()).filter(is_number))
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    all.filter(|one| known.insert(*one)).take(NAMES_MAX).map(str::to_owned).collect()
}

/// Returns the texts between backticks or double quotes.
fn quotes(text: &str) -> Vec<String> {
    let between = |mark: char| text.split(mark).skip(1).step_by(2).map(str::trim).map(str::to_owned);
    between('`').chain(between('"')).filter(|quote| (2..=80).contains(&quote.len())).collect()
}

/// Removes the date and the time at the beginning of a line.
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

/// Escapes the special characters of regular expressions.
fn escaped(text: &str) -> String {
    let special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}
