//! The fields of one map of an agent file, taken one by one. Each field that is left over gives a warning.

use super::problem::Flaw;
use super::tools::items;
use super::yaml::{Content, Entry, Node};

/// The keys that Guildhall reads.
const OURS: &str = "background budget color delegation description disallowedTools maxTurns max_turns memory model name \
    specialties tools";

/// The keys that only other programs read.
const OTHERS: &str = "allowed-tools argument-hint autoCompactWindow disable display_name effort hidden hooks initialPrompt \
    isolation kind license mcpServers metadata mode observeSubagents observer observerMessage omitClaudeMd permission \
    permissionMode skills steps temperature timeout_mins top_p version";

/// Whether Guildhall or another program reads a key.
pub(super) fn is_known(key: &str) -> bool {
    OURS.split(' ').chain(OTHERS.split(' ')).any(|known| known == key)
}

pub(super) struct Fields<'a, 'f> {
    /// The text before each key in messages.
    within: &'a str,
    entries: Vec<&'a Entry>,
    pub(super) flaws: &'f mut Vec<Flaw>,
}

impl<'a, 'f> Fields<'a, 'f> {
    pub(super) fn new(within: &'a str, entries: &'a [Entry], flaws: &'f mut Vec<Flaw>) -> Fields<'a, 'f> {
        let mut once: Vec<&Entry> = Vec::new();
        for entry in entries {
            if once.iter().any(|before| before.key == entry.key) {
                let message = format!("the key {within}{} appears twice; the first one is used", entry.key);
                flaws.push(Flaw::warning(entry.line, message));
            } else {
                once.push(entry);
            }
        }
        Fields { within, entries: once, flaws }
    }

    /// Takes an entry, unless its value is empty.
    pub(super) fn entry(&mut self, key: &str) -> Option<&'a Entry> {
        self.take(key).filter(|entry| !entry.value.is_nothing())
    }

    /// Takes an entry, even if its value is empty.
    pub(super) fn take(&mut self, key: &str) -> Option<&'a Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.read(key, "a text", |node| node.text().map(|text| text.trim().to_owned()))
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.read(key, "true or false", flag).unwrap_or_default()
    }

    pub(super) fn count(&mut self, key: &str) -> Option<u32> {
        let count = |node: &Node| node.text()?.trim().parse().ok().filter(|count| *count > 0);
        self.read(key, "a whole number above zero", count)
    }

    pub(super) fn one_of<T: Copy>(&mut self, key: &str, of: &[(&str, T)], wanted: &str) -> Option<T> {
        self.read(key, wanted, |node| of.iter().find(|(name, _)| node.text() == Some(name)).map(|(_, one)| *one))
    }

    /// Takes a list of texts. A single text is a list of one.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let text = |node: &Node| node.text().map(|text| text.trim().to_owned());
        let texts = |node: &Node| match &node.content {
            Content::List(nodes) => nodes.iter().map(text).collect(),
            Content::Plain(_) | Content::Quoted(_) | Content::Map(_) => text(node).map(|text| vec![text]),
        };
        self.read(key, "a list of texts", texts).unwrap_or_default()
    }

    /// Takes a list of words, or a text with commas between the words.
    pub(super) fn words(&mut self, key: &str) -> Vec<String> {
        self.entry(key).map(|entry| items(&entry.value)).into_iter().flatten().map(|(word, _)| word).collect()
    }

    fn read<T>(&mut self, key: &str, wanted: &str, read: impl Fn(&Node) -> Option<T>) -> Option<T> {
        let node = &self.entry(key)?.value;
        let value = read(node);
        if value.is_none() {
            self.flaws.push(Flaw::bad_value(node.line, &format!("{}{key}", self.within), wanted));
        }
        value
    }

    /// Warns about each entry that was not taken.
    pub(super) fn finish(self) {
        for entry in self.entries {
            let key = format!("{}{}", self.within, entry.key);
            self.flaws.push(if is_known(&key) {
                Flaw::unsupported(entry.line, &key, format!("the key {key} has no effect here"))
            } else {
                Flaw::warning(entry.line, format!("the key {key} is unknown and has no effect"))
            });
        }
    }
}

/// Reads true or false, in all the words that versions of YAML allow.
pub(super) fn flag(node: &Node) -> Option<bool> {
    match node.text()?.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
