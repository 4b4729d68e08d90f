//! Removes secrets from text before it is stored in the journal: known values, and text whose form can only be a secret.
//! Ordinary text must not be changed, because a resumed agent is shown the stored text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use guildhall_agent::SECRET_BYTES_MIN;
use regex_automata::Input;
use regex_automata::meta::Regex;

/// A form of secret: its name, its regular expression, a further condition, and the part of the match that is the secret.
type Form = (&'static str, &'static str, fn(&str) -> bool, Part);

/// The part of a match that is the secret.
#[derive(Clone, Copy)]
enum Part {
    All,
    /// This many bytes at the end. The part before them is a name, with the quotes of the surrounding format.
    Last(usize),
}

use Part::{All, Last};

/// The name in the mark that replaces a known secret.
const KNOWN: &str = "secret";

/// How many hexadecimal digits the key of a wallet has.
const WALLET_KEY_BYTES: usize = 32;

/// The shortest text that has the form of a secret, in bytes. Most strings of a reply are shorter and are not scanned.
const FORM_BYTES_MIN: usize = 20;

/// The forms that can only be secrets. Each has a bounded look-ahead, so that a text is scanned once.
const FORMS: &[Form] = &[
    ("private key", PRIVATE_KEY, always, All),
    ("Anthropic key", r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{20,}", always, All),
    ("API key", r"(?-u:\b)sk-(?:proj|svcacct|admin|or-v1|lf)-[A-Za-z0-9_-]{20,}", is_random, All),
    ("API key", r"(?-u:\b)sk-[A-Za-z0-9]{32,}", is_random, All),
    ("API key", r"(?-u:\b)(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|hf_[A-Za-z0-9]{30,})", is_random, All),
    ("GitHub token", r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})", always, All),
    ("GitLab token", r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", is_random, All),
    ("npm token", r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)", is_random, All),
    ("AWS key", r"(?-u:\b)(?:AKIA|ASIA)[A-Z2-7]{16}(?-u:\b)", always, All),
    ("Google key", r"(?-u:\b)AIza[A-Za-z0-9_-]{35}", always, All),
    ("Slack token", r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{20,}", is_random, All),
    ("Stripe key", r"(?-u:\b)[rs]k_(?:live|test)_[A-Za-z0-9]{20,}", always, All),
    ("token", r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", always, All),
    ("bearer token", r"(?i-u:\bbearer) {1,4}[A-Za-z0-9._~+/-]{20,}={0,2}", is_random, All),
    (
        "wallet key",
        r#"(?i-u:\bx-api-key)["']?[:=] {0,4}["']?(?-u:[0-9a-fA-F]{32})(?-u:\b)"#,
        always,
        Last(WALLET_KEY_BYTES),
    ),
    ("wallet key", r"[?&](?:api-key|usr|wal)=(?-u:[0-9a-f]{32})(?-u:\b)", always, All),
    ("wallet key", r"(?-u:\b)nostr\+walletconnect:(?://)?[0-9a-f]{64}\?[A-Za-z0-9=&%:/._~+-]*", always, All),
    ("Nostr key", r"(?-u:\b)nsec1[02-9ac-hj-np-z]{58}(?-u:\b)", always, All),
];

/// A private key: the block with its headers, also on one line with `\n` written out, or with the line numbers that our tools
/// put before each line. It extends to its end line, or to where base64 stops. The first line alone is not a key.
const PRIVATE_KEY: &str = concat!(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    r"(?:(?:[ \t\r\n0-9]|\\[nr]|[-:] ){0,16}[A-Za-z-]{3,16}: [ -\[\]-~]{1,80}){0,4}",
    r"(?:[ \t\r\n0-9]|\\[nr]|[-:] ){0,24}",
    r"[A-Za-z0-9+/]{16,}(?:[0-9][-:] |[A-Za-z0-9+/= \t\r\n\\]){24,}",
    r"(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
);

/// The compiled forms. Compiling them takes a millisecond, so it is done once, when a text is stored.
static COMPILED: LazyLock<Regex> = LazyLock::new(|| {
    let forms: Vec<&str> = FORMS.iter().map(|(_, form, ..)| *form).collect();
    Regex::new_many(&forms).expect("the forms are regular expressions")
});

static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let marks: BTreeSet<String> = FORMS.iter().map(|(kind, ..)| *kind).chain([KNOWN]).map(mark).collect();
    AhoCorasick::new(marks).expect("a few short texts fit into memory")
});

fn always(_found: &str) -> bool {
    true
}

/// Whether the text looks random: words and identifiers contain few digits.
fn is_random(found: &str) -> bool {
    found.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// Removes secrets from text. Build it once and use it for everything that is stored.
///
/// It looks at one text at a time, so a text must be redacted before it is cut into pieces. Redacting twice is the same as
/// redacting once: the marks that replace secrets are skipped.
///
/// ```
/// use guildhall_tools::SecretPatterns;
///
/// let redactor = SecretPatterns::new(vec!["correct horse battery".to_owned()]);
/// assert_eq!(redactor.redact("the word is correct horse battery!"), "the word is [redacted: secret]!");
/// ```
#[derive(Clone)]
pub struct SecretPatterns {
    values: AhoCorasick,
}

impl fmt::Debug for SecretPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl SecretPatterns {
    /// Removes these values, as they are and as they are written in JSON and in URLs, and all text that has the form of a
    /// secret. Values of fewer than [`SECRET_BYTES_MIN`] bytes are not removed.
    pub fn new(secrets: Vec<String>) -> SecretPatterns {
        let mut values: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.trim();
            if secret.len() < SECRET_BYTES_MIN {
                continue;
            }
            let json = serde_json::Value::from(secret).to_string();
            values.extend([secret.to_owned(), json[1..json.len() - 1].to_owned(), in_url(secret)]);
        }
        values.sort();
        values.dedup();
        SecretPatterns { values: AhoCorasick::new(values).expect("the secrets of one hall fit into memory") }
    }

    /// Returns the text without its secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.len() < SECRET_BYTES_MIN {
            return Cow::Borrowed(text);
        }
        let marks: Vec<Range<usize>> = MARKS.find_iter(text).map(|mark| mark.range()).collect();
        let mut found = Vec::new();
        for piece in gaps(0..text.len(), &marks) {
            let values = self.values(text, piece.clone());
            for rest in gaps(piece, &values) {
                find_forms(text, rest, &mut found);
            }
            found.extend(values.into_iter().map(|range| (range, KNOWN)));
        }
        found.sort_unstable_by_key(|(range, _)| range.start);
        replaced(text, &found)
    }

    /// Returns the positions of known values in a part of a text. Overlapping values are merged, so that no part of a value
    /// remains.
    fn values(&self, text: &str, within: Range<usize>) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for next in self.values.find_overlapping_iter(&text[within.clone()]) {
            let mut next = next.start() + within.start..next.end() + within.start;
            while let Some(last) = found.pop_if(|last| last.end > next.start) {
                next = last.start.min(next.start)..last.end.max(next.end);
            }
            found.push(next);
        }
        found
    }
}

/// Adds the matches that have the form of a secret in a part of a text. The text after a match is searched as a separate part, as
/// it will be after the match is replaced.
fn find_forms(text: &str, mut within: Range<usize>, found: &mut Vec<(Range<usize>, &'static str)>) {
    if within.len() < FORM_BYTES_MIN {
        return;
    }
    let mut from = within.start;
    while let Some(next) = COMPILED.find(Input::new(&text[within.clone()]).range(from - within.start..)) {
        let (kind, _, holds, part) = FORMS[next.pattern().as_usize()];
        let Range { start, end } = next.start() + within.start..next.end() + within.start;
        from = end;
        if holds(&text[start..end]) {
            let start = match part {
                All => start,
                Last(bytes) => end - bytes,
            };
            found.push((start..end, kind));
            within.start = end;
        }
    }
}

/// Returns the gaps between ranges, which are in order.
fn gaps(within: Range<usize>, taken: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = std::iter::once(within.start).chain(taken.iter().map(|range| range.end));
    let ends = taken.iter().map(|range| range.start).chain([within.end]);
    starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect()
}

/// Returns the mark that replaces a secret.
fn mark(kind: &str) -> String {
    format!("[redacted: {kind}]")
}

fn replaced<'a>(text: &'a str, found: &[(Range<usize>, &'static str)]) -> Cow<'a, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    let mut kept = 0;
    for (range, kind) in found {
        clean.push_str(&text[kept..range.start]);
        clean.push_str(&mark(kind));
        kept = range.end;
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// Returns a value as it is written in a URL: every character except letters, digits and `-._~` becomes `%NN`.
fn in_url(value: &str) -> String {
    let byte = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    value.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests;
