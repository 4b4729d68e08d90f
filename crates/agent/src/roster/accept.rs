//! What the reports of an agent's hires must pass: the key `delegation.accept`. A check that can't be performed as it is
//! written is an error, since without it a report would be accepted, and paid, that was meant to be refused.

use super::fields::Fields;
use super::problem::ProblemKind;
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
pub(super) fn accept(node: &Node, flaws: &mut Vec<(u32, ProblemKind)>) -> Accept {
    let Is::Map(entries) = &node.is else {
        let wanted = "a map of schema, sum, receipts, files or command";
        flaws.push((node.line, ProblemKind::BadValue { key: KEY.to_owned(), wanted }));
        return Accept::default();
    };
    let mut fields = Fields::new("delegation.accept.", entries, flaws);
    let schema = fields.entry("schema").and_then(|entry| schema(&entry.value, fields.flaws));
    let sum = fields.entry("sum").and_then(|entry| sum(&entry.value, fields.flaws));
    if let Some(entry) = entries.iter().find(|entry| entry.key == "command" && !entry.value.is_nothing()) {
        fields.flaws.push((entry.line, ProblemKind::NeedsSandbox(format!("{KEY}.command"))));
    }
    let (receipts, files) = (fields.flag("receipts").unwrap_or_default(), fields.texts("files"));
    let accept = Accept { schema, sum, receipts, files, command: fields.text("command") };
    fields.finish();
    accept
}

fn schema(node: &Node, flaws: &mut Vec<(u32, ProblemKind)>) -> Option<Schema> {
    flaws.extend(doubled(node).into_iter().map(|(key, line)| {
        (line, ProblemKind::BadCheck { key: format!("{KEY}.schema"), why: format!("the key {key} is there twice") })
    }));
    let read = Schema::new(node.json());
    read.map_err(|errors| {
        flaws.extend(errors.into_iter().map(|SchemaError { at, why }| {
            let line = line_of(node, &at);
            let key = [KEY, "schema"].into_iter().chain(at.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
            (line, ProblemKind::BadCheck { key, why })
        }));
    })
    .ok()
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

fn sum(node: &Node, flaws: &mut Vec<(u32, ProblemKind)>) -> Option<Sum> {
    let mut bad = |line, key: &str, why: String| {
        flaws.push((line, ProblemKind::BadCheck { key: format!("{KEY}.sum{key}"), why }));
    };
    let Is::Map(entries) = &node.is else {
        bad(node.line, "", "it must be a map of `of` and `max`".to_owned());
        return None;
    };
    for entry in entries.iter().filter(|entry| entry.key != "of" && entry.key != "max") {
        bad(entry.line, &format!(".{}", entry.key), "it is unknown: write `of` and `max`".to_owned());
    }
    let text = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
    let (Some(of), Some(max)) = (text("of"), text("max")) else {
        bad(node.line, "", "it needs both `of` and `max`".to_owned());
        return None;
    };
    let amount =
        Hundredths::parse(max.text().unwrap_or_default()).map_err(|why| bad(max.line, ".max", why.to_string()));
    let amount = amount.ok()?;
    Sum::new(of.text().unwrap_or_default(), amount).map_err(|why| bad(of.line, ".of", why.to_string())).ok()
}
