//! The part of strict YAML that front matter needs: texts, lists and maps, each with its line. A scalar stays the text that
//! was written, so `1.10` is a text, not a number. Anchors are refused, so that a short file can't expand into a huge value.
#![expect(clippy::wildcard_enum_match_arm, reason = "the parser may add events")]

use granit_parser::{Event, Options, Parser, ScalarStyle, StrInput};
use serde_json::Value;

use super::problem::Flaw;

const DEPTH_MAX: usize = 16;

/// A value, and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: u32,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// A text without quotes.
    Plain(String),
    /// A text in quotes, or a block of text.
    Quoted(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: u32,
    pub(super) value: Node,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Front {
    pub(super) entries: Vec<Entry>,
    /// The lines on which a comment without a blank, such as `#12`, ends a value.
    pub(super) cuts: Vec<u32>,
}

/// Why a text is not YAML that is supported here, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotYaml {
    Anchor(u32),
    Syntax(u32, String),
}

impl From<NotYaml> for Flaw {
    fn from(error: NotYaml) -> Flaw {
        match error {
            NotYaml::Anchor(line) => Flaw::error(line, "anchors are not supported here: write the value out"),
            NotYaml::Syntax(line, why) => Flaw::error(line, format!("the front matter can't be read: {why}")),
        }
    }
}

/// Reads a map. `line` is the line of the file on which the text begins.
pub(super) fn read(text: &str, line: u32) -> Result<Front, NotYaml> {
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    options.disallow_directives = true;
    let mut reader = Reader { parser: Parser::new_from_str_with_options(text, options), line, cuts: Vec::new() };
    let root = reader.document()?;
    let cuts = reader.cuts;
    match root.map(|root| (root.line, root.content)) {
        None => Ok(Front { entries: Vec::new(), cuts }),
        Some((_, Content::Map(entries))) => Ok(Front { entries, cuts }),
        Some((line, Content::Plain(_) | Content::Quoted(_) | Content::List(_))) => {
            Err(syntax(line, "this line is not of the form `key: value`"))
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// The line of the file on which the text begins.
    line: u32,
    cuts: Vec<u32>,
}

impl<'a> Reader<'a> {
    fn at(&self, line: usize) -> u32 {
        u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX).saturating_add(self.line)
    }

    /// Returns the next event that is not a comment, and its line.
    fn event(&mut self) -> Result<Option<(Event<'a>, u32)>, NotYaml> {
        while let Some(next) = self.parser.next() {
            let (event, span) = next.map_err(|error| NotYaml::Syntax(self.at(error.marker().line()), error.info()))?;
            let line = self.at(span.start.line());
            match event {
                Event::Comment(says, _) if says.starts_with(|first: char| !first.is_whitespace() && first != '#') => {
                    self.cuts.push(line);
                }
                Event::Comment(..) => {}
                event => return Ok(Some((event, line))),
            }
        }
        Ok(None)
    }

    fn document(&mut self) -> Result<Option<Node>, NotYaml> {
        let mut root = None;
        while let Some((event, line)) = self.event()? {
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => return Err(syntax(line, "there is more than one document")),
                event => root = Some(self.node(event, line)?),
            }
        }
        Ok(root)
    }

    /// Reads the node that begins with an event. The parser limits the nesting, so the recursion is limited, too.
    fn node(&mut self, event: Event<'a>, line: u32) -> Result<Node, NotYaml> {
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(_, anchor, tag)
            | Event::MappingStart(_, anchor, tag) => (*anchor, tag.is_some()),
            _ => (0, false),
        };
        if anchor != 0 {
            return Err(NotYaml::Anchor(line));
        }
        if tag {
            return Err(syntax(line, "tags are not supported here"));
        }
        let content = match event {
            Event::Scalar(says, ScalarStyle::Plain, ..) => Content::Plain(says.into_owned()),
            Event::Scalar(says, ..) => Content::Quoted(says.into_owned()),
            Event::SequenceStart(..) => Content::List(self.list()?),
            Event::MappingStart(..) => Content::Map(self.map()?),
            _ => return Err(syntax(line, "this is not `key: value` or `- item`")),
        };
        Ok(Node { line, content })
    }

    fn list(&mut self) -> Result<Vec<Node>, NotYaml> {
        let mut items = Vec::new();
        while let Some((event, line)) = self.event()? {
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            items.push(self.node(event, line)?);
        }
        Ok(items)
    }

    fn map(&mut self) -> Result<Vec<Entry>, NotYaml> {
        let mut entries = Vec::new();
        while let Some((event, line)) = self.event()? {
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let (Content::Plain(key) | Content::Quoted(key)) = self.node(event, line)?.content else {
                return Err(syntax(line, "a key must be a text"));
            };
            let Some((event, value_line)) = self.event()? else { break };
            entries.push(Entry { key, line, value: self.node(event, value_line)? });
        }
        Ok(entries)
    }
}

fn syntax(line: u32, why: &str) -> NotYaml {
    NotYaml::Syntax(line, why.to_owned())
}

impl Node {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Plain(says) | Content::Quoted(says) => Some(says),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.content, Content::Plain(says) if matches!(says.as_str(), "" | "~" | "null"))
    }

    /// Returns the value as JSON. A text without quotes becomes a number, a boolean or null if it looks like one.
    pub(super) fn json(&self) -> Value {
        match &self.content {
            Content::Plain(says) => match says.as_str() {
                "" | "~" => Value::Null,
                says => match serde_json::from_str(says) {
                    Ok(value @ (Value::Null | Value::Bool(_) | Value::Number(_))) => value,
                    Ok(_) | Err(_) => Value::String(says.to_owned()),
                },
            },
            Content::Quoted(says) => Value::String(says.clone()),
            Content::List(items) => items.iter().map(Node::json).collect(),
            Content::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect(),
        }
    }
}
