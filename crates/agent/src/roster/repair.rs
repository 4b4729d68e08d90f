//! Reads front matter that strict YAML refuses, as its author meant it: key by key. A value that is not YAML is taken as text.
//! People write `description: Use when: x`, and other programs accept it.

use super::fields::is_known;
use super::yaml::{Content, Entry, Front, Node, NotYaml, read};

/// How many levels of nested maps are repaired.
pub(super) const REPAIR_DEPTH_MAX: u32 = 4;

/// Front matter, and the keys whose values were taken as text, each with its line.
type Repaired = (Front, Vec<(String, u32)>);

/// Reads front matter, and repairs at most `depth` levels of nested maps.
pub(super) fn read_leniently(text: &str, line: u32, depth: u32) -> Result<Repaired, NotYaml> {
    match read(text, line) {
        Ok(front) => Ok((front, Vec::new())),
        Err(anchor @ NotYaml::Anchor(_)) => Err(anchor),
        Err(refused) => repair(text, line, refused, depth),
    }
}

/// A key with all the lines that belong to it.
struct Chunk<'a> {
    key: &'a str,
    line: u32,
    /// The text after the colon.
    first: &'a str,
    more: Vec<&'a str>,
}

fn repair(text: &str, line: u32, refused: NotYaml, depth: u32) -> Result<Repaired, NotYaml> {
    let mut front = Front::default();
    let mut repaired = Vec::new();
    for chunk in chunks(text, line, refused)? {
        match read(&chunk.yaml(), chunk.line) {
            // YAML must find this key and no other.
            Ok(read) if matches!(&read.entries[..], [one] if one.key == chunk.key) => {
                front.entries.extend(read.entries);
                front.cuts.extend(read.cuts);
            }
            Err(anchor @ NotYaml::Anchor(_)) => return Err(anchor),
            Ok(_) | Err(_) => {
                let (entry, keys) = chunk.as_meant(depth)?;
                front.entries.push(entry);
                repaired.extend(keys);
            }
        }
    }
    Ok((front, repaired))
}

/// Divides front matter at its keys. A description continues until a known key, since examples of conversations look like
/// keys.
fn chunks(text: &str, line: u32, refused: NotYaml) -> Result<Vec<Chunk<'_>>, NotYaml> {
    let mut chunks: Vec<Chunk<'_>> = Vec::new();
    for (number, written) in (line..).zip(text.lines()) {
        let describes = chunks.last().is_some_and(|chunk| chunk.key == "description");
        match (key_of(written), chunks.last_mut()) {
            (Some((key, first)), _) if is_known(key) || !describes => {
                chunks.push(Chunk { key, line: number, first, more: Vec::new() });
            }
            (_, Some(chunk)) => chunk.more.push(written),
            (_, None) if written.trim().is_empty() || written.starts_with('#') => {}
            (_, None) => return Err(refused),
        }
    }
    Ok(chunks)
}

/// Returns the key at the start of a line, and the text after its colon. A known key needs no blank after the colon.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let apart = rest.is_empty() || rest.starts_with([' ', '\t']) || is_known(key);
    (is_key && apart).then(|| (key, rest.trim()))
}

impl Chunk<'_> {
    /// Returns the chunk as YAML, with blanks in place of tabs at the start of its lines.
    fn yaml(&self) -> String {
        let mut yaml = format!("{}: {}", self.key, self.first);
        for line in &self.more {
            let rest = line.trim_start_matches(['\t', ' ']);
            let blanks = &line[..line.len() - rest.len()];
            yaml.push('\n');
            yaml.push_str(&blanks.replace('\t', "  "));
            yaml.push_str(rest);
        }
        yaml
    }

    /// Returns the value as its author meant it: a map in which only some values are not YAML, or a text.
    fn as_meant(&self, depth: u32) -> Result<(Entry, Vec<(String, u32)>), NotYaml> {
        if depth > 0 && self.first.is_empty() && self.key != "description" {
            let line = self.line.saturating_add(1);
            match read_leniently(&dedented(&self.yaml()), line, depth - 1) {
                Ok((Front { entries, .. }, keys)) if !entries.is_empty() => {
                    let value = Node { line, content: Content::Map(entries) };
                    let keys = keys.into_iter().map(|(key, line)| (format!("{}.{key}", self.key), line));
                    return Ok((Entry { key: self.key.to_owned(), line: self.line, value }, keys.collect()));
                }
                Err(anchor @ NotYaml::Anchor(_)) => return Err(anchor),
                // The value is read as text. A warning names its key.
                Ok(_) | Err(_) => {}
            }
        }
        Ok((self.as_written(), vec![(self.key.to_owned(), self.line)]))
    }

    /// Returns the value as text: line by line, without the quotes around it or the mark of a block before it.
    fn as_written(&self) -> Entry {
        let block = self.first.len() <= 3 && self.first.starts_with(['|', '>']);
        let first = if block { "" } else { self.first };
        let lines = std::iter::once(first).chain(self.more.iter().map(|line| line.trim()));
        let says = lines.collect::<Vec<_>>().join("\n");
        let says = unquoted(says.trim()).to_owned();
        Entry {
            key: self.key.to_owned(),
            line: self.line,
            value: Node { line: self.line, content: Content::Plain(says) },
        }
    }
}

/// Returns the lines after the first, without the indentation that they share.
fn dedented(yaml: &str) -> String {
    let lines = || yaml.lines().skip(1);
    let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = lines().filter(|line| !line.trim().is_empty()).map(blanks).min().unwrap_or(0);
    lines().map(|line| line.get(least..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn unquoted(text: &str) -> &str {
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}
