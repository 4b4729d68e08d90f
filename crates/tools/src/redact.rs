//! Takes secrets out of text on its way into the journal: the values that are known, and what can be nothing else by its
//! form. It must not touch ordinary text: what is stored is what a resumed agent is shown.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use guildhall_agent::SECRET_BYTES_MIN;
use regex_automata::meta::Regex;

/// What a form of secret is called, what it looks like, and what else must hold.
type Form = (&'static str, &'static str, fn(&str) -> bool);

/// The forms that can be nothing else. All are bounded in what they look ahead, so
/// that a text is gone through once.
const FORMS: &[Form] = &[
    ("private key", PRIVATE_KEY, always),
    ("Anthropic key", r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{20,}", always),
    ("API key", r"(?-u:\b)sk-(?:proj|svcacct|admin|or-v1|lf)-[A-Za-z0-9_-]{20,}", is_random),
    ("API key", r"(?-u:\b)sk-[A-Za-z0-9]{32,}", is_random),
    ("API key", r"(?-u:\b)(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|hf_[A-Za-z0-9]{30,})", is_random),
    ("GitHub token", r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})", always),
    ("GitLab token", r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", is_random),
    ("npm token", r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)", is_random),
    ("AWS key", r"(?-u:\b)(?:AKIA|ASIA)[A-Z2-7]{16}(?-u:\b)", always),
    ("Google key", r"(?-u:\b)AIza[A-Za-z0-9_-]{35}", always),
    ("Slack token", r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{20,}", is_random),
    ("Stripe key", r"(?-u:\b)[rs]k_(?:live|test)_[A-Za-z0-9]{20,}", always),
    ("token", r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", always),
    ("bearer token", r"(?i-u:\bbearer) {1,4}[A-Za-z0-9._~+/-]{20,}={0,2}", is_random),
    ("wallet key", r#"(?i-u:\bx-api-key)["']?[:=] {0,4}["']?(?-u:[0-9a-fA-F]{32})(?-u:\b)"#, always),
    ("wallet key", r"[?&](?:api-key|usr|wal)=(?-u:[0-9a-f]{32})(?-u:\b)", always),
    ("wallet key", r"(?-u:\b)nostr\+walletconnect:(?://)?[0-9a-f]{64}\?[A-Za-z0-9=&%:/._~+-]*", always),
    ("Nostr key", r"(?-u:\b)nsec1[02-9ac-hj-np-z]{58}(?-u:\b)", always),
];

/// The block with its headers, in one line with `\n` written out, or with the line numbers of our own tools before each line;
/// to its end, or to where base64 stops. The mere mention of the first line is no key.
const PRIVATE_KEY: &str = concat!(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    r"(?:(?:[ \t\r\n0-9]|\\[nr]|[-:] ){0,16}[A-Za-z-]{3,16}: [ -\[\]-~]{1,80}){0,4}",
    r"(?:[ \t\r\n0-9]|\\[nr]|[-:] ){0,24}",
    r"[A-Za-z0-9+/]{16,}(?:[0-9][-:] |[A-Za-z0-9+/= \t\r\n\\]){24,}",
    r"(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
);

fn always(_found: &str) -> bool {
    true
}

/// Whether it can have been drawn at random: words and identifiers have few digits.
fn is_random(found: &str) -> bool {
    found.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// Takes secrets out of text. Built once, used for everything that is stored.
///
/// It sees one text at a time: whoever cuts a text into pieces redacts it first.
///
/// ```
/// use guildhall_tools::Redactor;
///
/// let redactor = Redactor::new(vec!["correct horse battery".to_owned()]);
/// assert_eq!(redactor.redact("the word is correct horse battery!"), "the word is [redacted: secret]!");
/// ```
#[derive(Clone)]
pub struct Redactor {
    values: AhoCorasick,
    forms: Regex,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes these values out, as they are and as they are written in JSON and in addresses, and all that has the form of a
    /// secret. Values of less than [`SECRET_BYTES_MIN`] bytes are left where they are.
    pub fn new(secrets: Vec<String>) -> Redactor {
        let mut values: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.trim();
            if secret.len() < SECRET_BYTES_MIN {
                continue;
            }
            let json = serde_json::Value::from(secret).to_string();
            values.extend([secret.to_owned(), json[1..json.len() - 1].to_owned(), in_address(secret)]);
        }
        values.sort();
        values.dedup();
        let forms: Vec<&str> = FORMS.iter().map(|(_, form, _)| *form).collect();
        Redactor {
            values: AhoCorasick::new(values).expect("the secrets of one hall fit into memory"),
            forms: Regex::new_many(&forms).expect("the forms are regular expressions"),
        }
    }

    /// The text without its secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.without_values(text) {
            Cow::Borrowed(text) => self.without_forms(text),
            Cow::Owned(text) => Cow::Owned(self.without_forms(&text).into_owned()),
        }
    }

    fn without_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Values may overlap; what is left of the second must not stay behind.
        let mut found: Vec<Range<usize>> = Vec::new();
        for next in self.values.find_overlapping_iter(text) {
            let mut next = next.range();
            while let Some(last) = found.pop_if(|last| last.end > next.start) {
                next = last.start.min(next.start)..last.end.max(next.end);
            }
            found.push(next);
        }
        replaced(text, found.into_iter().map(|range| (range, "secret")))
    }

    fn without_forms<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.forms.find_iter(text).filter_map(|found| {
            let (kind, _, holds) = FORMS[found.pattern().as_usize()];
            holds(&text[found.range()]).then_some((found.range(), kind))
        });
        replaced(text, found)
    }
}

fn replaced(text: &str, found: impl Iterator<Item = (Range<usize>, &'static str)>) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut kept = 0;
    for (range, kind) in found {
        clean.push_str(&text[kept..range.start]);
        clean.push_str("[redacted: ");
        clean.push_str(kind);
        clean.push(']');
        kept = range.end;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// A value as it stands in an address: all but letters, digits and `-._~` as `%NN`.
fn in_address(value: &str) -> String {
    let byte = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    value.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests;
