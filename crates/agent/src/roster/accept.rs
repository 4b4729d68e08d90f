//! What the reports of an agent's hires must pass: the key `delegation.accept`. A check that can't be performed as it is
//! written is an error, since without it a report would be accepted, and paid, that was meant to be refused.

use super::fields::Fields;
use super::problem::Flaw;
use super::yaml::{Entry, Is, Node};
use crate::checks::{Hundredths, Schema, SchemaError, Sum};

/// What the report of a hire must pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accept {
    /// A schema for its structured output.
    pub schema: Option<Schema>,
    /// A cap on what numbers in its structured output add up to.
    pub sum: Option<Sum>,
    /// Whether it must cite the calls that it relies on.
    pub receipts: bool,
    /// Files that must be there.
    pub files: Vec<String>,
    /// A command that must succeed. Nothing can run it yet.
    pub command: Option<String>,
}

const KEY: &str = "delegation.accept";

/// Reads `accept`.
pub(super) fn accept(node: &Node, flaws: &mut Vec<Flaw>) -> Accept {
    let Is::Map(entries) = &node.is else {
        flaws.push(Flaw::bad_value(node.line, KEY, "a map of schema, sum, receipts, files or command"));
        return Accept::default();
    };
    let mut fields = Fields::new("delegation.accept.", entries, flaws);
    let schema = fields.entry("schema").and_then(|entry| schema(&entry.value, fields.flaws));
    let sum = fields.entry("sum").and_then(|entry| sum(&entry.value, fields.flaws));
    if let Some(entry) = entries.iter().find(|entry| entry.key == "command" && !entry.value.is_nothing()) {
        let message = format!("{KEY}.command needs the sandbox, which is not there yet: it is not checked");
        fields.flaws.push(Flaw::warning(entry.line, message));
    }
    let (receipts, files) = (fields.flag("receipts"), fields.texts("files"));
    let accept = Accept { schema, sum, receipts, files, command: fields.text("command") };
    fields.finish();
    accept
}

fn schema(node: &Node, flaws: &mut Vec<Flaw>) -> Option<Schema> {
    let twice = |(key, line)| Flaw::error(line, format!("{KEY}.schema: the key {key} is there twice"));
    flaws.extend(doubled(node).into_iter().map(twice));
    let wrong = |SchemaError { at, why }: SchemaError| {
        let key = [KEY, "schema"].into_iter().chain(at.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        Flaw::error(line_of(node, &at), format!("{key}: {why}"))
    };
    Schema::new(node.json()).map_err(|errors| flaws.extend(errors.into_iter().map(wrong))).ok()
}

/// The keys that are there twice within one map. The front matter's nesting is limited, and with it the recursion.
fn doubled(node: &Node) -> Vec<(&str, u32)> {
    match &node.is {
        Is::Plain(_) | Is::Quoted(_) => Vec::new(),
        Is::List(nodes) => nodes.iter().flat_map(doubled).collect(),
        Is::Map(entries) => {
            let is_second = |(at, entry): &(usize, &Entry)| entries[..*at].iter().any(|before| before.key == entry.key);
            let second =
                entries.iter().enumerate().filter(is_second).map(|(_, entry)| (entry.key.as_str(), entry.line));
            second.chain(entries.iter().flat_map(|entry| doubled(&entry.value))).collect()
        }
    }
}

/// The line on which the last of the keys that lead somewhere is.
fn line_of(node: &Node, keys: &[String]) -> u32 {
    let mut here = (node.line, node);
    for key in keys {
        let Is::Map(entries) = &here.1.is else { break };
        // Of two entries with one key, JSON has the last.
        let Some(entry) = entries.iter().rfind(|entry| entry.key == *key) else { break };
        here = (entry.line, &entry.value);
    }
    here.0
}

fn sum(node: &Node, flaws: &mut Vec<Flaw>) -> Option<Sum> {
    let mut bad = |line, key: &str, why: &str| flaws.push(Flaw::error(line, format!("{KEY}.sum{key}: {why}")));
    let Is::Map(entries) = &node.is else {
        bad(node.line, "", "it must be a map of `of` and `max`");
        return None;
    };
    for entry in entries.iter().filter(|entry| entry.key != "of" && entry.key != "max") {
        bad(entry.line, &format!(".{}", entry.key), "it is unknown: write `of` and `max`");
    }
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let (Some(of), Some(max)) = (value("of"), value("max")) else {
        bad(node.line, "", "it needs both `of` and `max`");
        return None;
    };
    let amount = Hundredths::parse(max.text().unwrap_or_default());
    let amount = amount.map_err(|why| bad(max.line, ".max", &why.to_string())).ok()?;
    Sum::new(of.text().unwrap_or_default(), amount).map_err(|why| bad(of.line, ".of", &why.to_string())).ok()
}
