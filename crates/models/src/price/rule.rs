//! The rules of the price table that decide whether a name is one of a model's names, or a URL one of a provider's URLs.

use std::sync::OnceLock;

use regex_automata::meta::Regex;
use serde::Deserialize;

/// A rule about a text.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    And(Vec<Rule>),
    Or(Vec<Rule>),
    Not(Box<Rule>),
    Equals(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Regex(Pattern),
}

impl Rule {
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Rule::And(rules) => rules.iter().all(|rule| rule.matches(text)),
            Rule::Or(rules) => rules.iter().any(|rule| rule.matches(text)),
            Rule::Not(rule) => !rule.matches(text),
            Rule::Equals(whole) => text == whole,
            Rule::StartsWith(part) => text.starts_with(part),
            Rule::EndsWith(part) => text.ends_with(part),
            Rule::Contains(part) => text.contains(part),
            Rule::Regex(pattern) => pattern.matches(text),
        }
    }

    /// Compiles all patterns of the rule.
    #[cfg(test)]
    pub(super) fn compile(&self) {
        match self {
            Rule::And(rules) | Rule::Or(rules) => rules.iter().for_each(Rule::compile),
            Rule::Not(rule) => rule.compile(),
            Rule::Regex(pattern) => drop(pattern.compiled().clone()),
            Rule::Equals(_) | Rule::StartsWith(_) | Rule::EndsWith(_) | Rule::Contains(_) => {}
        }
    }
}

/// A regular expression that is compiled when a text begins as all its matches do.
#[derive(Deserialize)]
#[serde(from = "(String, String)")]
pub(super) struct Pattern {
    start: String,
    source: String,
    compiled: OnceLock<Regex>,
}

impl From<(String, String)> for Pattern {
    fn from((start, source): (String, String)) -> Pattern {
        Pattern { start, source, compiled: OnceLock::new() }
    }
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        text.starts_with(&self.start) && self.compiled().is_match(text)
    }

    fn compiled(&self) -> &Regex {
        let compile = || Regex::new(&self.source).expect("a test compiles every pattern of the table");
        self.compiled.get_or_init(compile)
    }
}
