//! The fields of one map of an agent file, taken one by one. What is left over is unknown, and says so.

use super::keys::is_known;
use super::problem::ProblemKind;
use super::tools::items;
use super::yaml::{Entry, Is, Node};

/// A map that is being read.
pub(super) struct Fields<'a, 'f> {
    /// What precedes its keys in messages.
    within: &'static str,
    entries: Vec<&'a Entry>,
    pub(super) flaws: &'f mut Vec<(u32, ProblemKind)>,
}

impl<'a, 'f> Fields<'a, 'f> {
    pub(super) fn new(
        within: &'static str,
        entries: &'a [Entry],
        flaws: &'f mut Vec<(u32, ProblemKind)>,
    ) -> Fields<'a, 'f> {
        let mut once: Vec<&Entry> = Vec::new();
        for entry in entries {
            if once.iter().any(|before| before.key == entry.key) {
                flaws.push((entry.line, ProblemKind::DoubledKey(format!("{within}{}", entry.key))));
            } else {
                once.push(entry);
            }
        }
        Fields { within, entries: once, flaws }
    }

    /// Takes an entry, unless its value is nothing.
    pub(super) fn entry(&mut self, key: &str) -> Option<&'a Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at)).filter(|entry| !entry.value.is_nothing())
    }

    pub(super) fn take(&mut self, key: &str) -> Option<&'a Node> {
        // An empty amount or list is told by who reads it.
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(&self.entries.remove(at).value)
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let node = &self.entry(key)?.value;
        let text = node.text().map(|text| text.trim().to_owned());
        self.or_bad(key, node.line, text, "a text")
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let node = &self.entry(key)?.value;
        self.or_bad(key, node.line, flag(node), "true or false")
    }

    pub(super) fn count(&mut self, key: &str) -> Option<u32> {
        let node = &self.entry(key)?.value;
        let count = node.text().and_then(|text| text.trim().parse().ok()).filter(|count| *count > 0);
        self.or_bad(key, node.line, count, "a whole number above zero")
    }

    pub(super) fn one_of<T: Copy>(&mut self, key: &str, of: &[(&str, T)], wanted: &'static str) -> Option<T> {
        let node = &self.entry(key)?.value;
        let one = of.iter().find(|(name, _)| node.text() == Some(name)).map(|(_, one)| *one);
        self.or_bad(key, node.line, one, wanted)
    }

    /// Takes a list of texts; one text alone is a list of one.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let node = &entry.value;
        let texts = match &node.is {
            Is::Plain(text) | Is::Quoted(text) => Some(vec![text.trim().to_owned()]),
            Is::List(nodes) => nodes.iter().map(|node| node.text().map(|text| text.trim().to_owned())).collect(),
            Is::Map(_) => None,
        };
        self.or_bad(key, node.line, texts, "a list of texts").unwrap_or_default()
    }

    /// Takes a list of words; a text with commas is one, too.
    pub(super) fn words(&mut self, key: &str) -> Vec<String> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        items(&entry.value).into_iter().map(|(word, _)| word).collect()
    }

    fn or_bad<T>(&mut self, key: &str, line: u32, value: Option<T>, wanted: &'static str) -> Option<T> {
        if value.is_none() {
            self.flaws.push((line, ProblemKind::BadValue { key: format!("{}{key}", self.within), wanted }));
        }
        value
    }

    /// Tells of what nobody took.
    pub(super) fn finish(self) {
        for entry in self.entries {
            let key = format!("{}{}", self.within, entry.key);
            let flaw = if is_known(&key) { ProblemKind::IdleKey(key) } else { ProblemKind::UnknownKey(key) };
            self.flaws.push((entry.line, flaw));
        }
    }
}

/// Reads yes or no, in the words that YAML has had for them.
pub(super) fn flag(node: &Node) -> Option<bool> {
    match node.text()?.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
