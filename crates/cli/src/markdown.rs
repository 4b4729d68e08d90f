//! Markdown for a terminal: headings, lists, code, links and emphasis. A line break stays a line break, as in chats.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};

use crate::print::tame_lines;
use crate::screen::{width, wrap_with};

const HEADING: Style = Style::new().bold().underline();
const STRONG: Style = Style::new().bold();
const EMPHASIS: Style = Style::new().italic();
const CODE: Style = AnsiColor::Cyan.on_default();
const LINK: Style = Style::new().underline();

const OPTIONS: Options = Options::ENABLE_STRIKETHROUGH.union(Options::ENABLE_TABLES).union(Options::ENABLE_TASKLISTS);

/// Renders a text in rows of this width. The text must not contain invisible characters. Rows of code are not wrapped.
pub(crate) fn render(text: &str, columns: usize) -> String {
    let mut page = Page { columns, ..Page::default() };
    for event in Parser::new_ext(text, OPTIONS) {
        page.take(event);
    }
    page.end_block();
    page.done.trim_end().to_owned()
}

/// Returns the byte at which the last block of a text begins. While a text arrives, only its last block can still grow.
pub(crate) fn last_block(text: &str) -> usize {
    let (mut last, mut depth) = (0, 0_usize);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        if depth == 0 {
            last = range.start;
        }
        if matches!(event, Event::Start(_)) {
            depth += 1;
        } else if matches!(event, Event::End(_)) {
            depth -= 1;
        }
    }
    last
}

/// Returns a text without its Markdown marks, without wrapping.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&render(&tame_lines(text), usize::from(u16::MAX))).to_string()
}

/// The rendered rows and the state of the renderer.
#[derive(Default)]
struct Page {
    columns: usize,
    done: String,
    /// The current paragraph.
    open: String,
    styles: Vec<Style>,
    /// For each open list, the number of its next item, if the list is numbered.
    lists: Vec<Option<u64>>,
    /// The bullet or number at the start of the next row.
    marker: Option<String>,
    quotes: usize,
    is_code: bool,
    link: Option<String>,
    /// The table that is being read.
    table: Option<Table>,
}

/// The alignment of the columns, and the cells of each row.
struct Table {
    sides: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns the rows with aligned columns. If a row would be too wide, the columns are not aligned.
    fn aligned(self, columns: usize) -> Vec<String> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let cell_width = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| width(cell));
        let widths: Vec<usize> =
            (0..count).map(|at| self.rows.iter().map(|row| cell_width(row, at)).max().unwrap_or_default()).collect();
        let fits = widths.iter().sum::<usize>() + 2 * count.saturating_sub(1) <= columns;
        let row = |row: &Vec<String>| {
            let cell = |(at, cell): (usize, &String)| {
                let blank = if fits { " ".repeat(widths[at] - width(cell)) } else { String::new() };
                match self.sides.get(at) {
                    Some(Alignment::Right) => format!("{blank}{cell}"),
                    Some(Alignment::None | Alignment::Left | Alignment::Center) | None => format!("{cell}{blank}"),
                }
            };
            row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(row).collect()
    }
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.open.push_str(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(CODE);
                self.open.push_str(&text);
                self.pop();
            }
            Event::SoftBreak | Event::HardBreak => self.open.push('\n'),
            Event::Rule => {
                self.end_block();
                self.open.push_str(&"─".repeat(self.columns.min(40)));
                self.end_block();
            }
            Event::TaskListMarker(done) => self.open.push_str(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => {
                // Writing to a string can't fail.
                write!(self.open, "[{name}]").ok();
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.gap();
                self.push(HEADING);
            }
            Tag::Strong => self.push(STRONG),
            Tag::Emphasis => self.push(EMPHASIS),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(format!("{}\n{dest_url}", self.open.len()));
                self.push(LINK);
            }
            Tag::List(first) => {
                self.end_block();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::BlockQuote(_) => {
                self.gap();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.gap();
                self.is_code = true;
                self.push(CODE);
            }
            Tag::Paragraph if self.lists.is_empty() => self.gap(),
            Tag::Table(sides) => {
                self.gap();
                self.table = Some(Table { sides, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Paragraph
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::TableCell
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::CodeBlock => {
                self.open.truncate(self.open.trim_end_matches('\n').len());
                self.pop();
                self.end_block();
                self.is_code = false;
            }
            TagEnd::Strong | TagEnd::Emphasis => self.pop(),
            TagEnd::Link | TagEnd::Image => {
                self.pop();
                self.end_link();
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.open);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell.trim().to_owned());
                }
            }
            TagEnd::Table => {
                for row in self.table.take().map(|table| table.aligned(self.columns)).unwrap_or_default() {
                    self.open.push_str(&row);
                    self.end_block();
                }
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::TableRow
            | TagEnd::TableHead
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn item(&mut self) {
        self.end_block();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        };
        self.marker = Some(marker);
    }

    /// Adds the URL of a link, unless its text contains the URL.
    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        let Some((from, url)) = link.split_once('\n') else { return };
        let shown = from.parse().ok().and_then(|from: usize| self.open.get(from..)).unwrap_or_default();
        if !shown.contains(url) && !url.is_empty() {
            write!(self.open, " ({url})").ok();
        }
    }

    fn push(&mut self, style: Style) {
        write!(self.open, "{style}").ok();
        self.styles.push(style);
    }

    /// Ends the newest style. A reset ends all styles, so the outer styles are started again.
    fn pop(&mut self) {
        self.styles.pop();
        self.open.push_str(&anstyle::Reset.to_string());
        for style in &self.styles {
            write!(self.open, "{style}").ok();
        }
    }

    /// Adds an empty row between two blocks.
    fn gap(&mut self) {
        self.end_block();
        if !self.done.is_empty() && self.marker.is_none() && !self.done.ends_with("\n\n") {
            self.done.push('\n');
        }
    }

    /// Writes the current paragraph in rows.
    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.open);
        if anstream::adapter::strip_str(&text).to_string().trim().is_empty() {
            return;
        }
        let depth = self.lists.len();
        let marker = self.marker.take();
        let indent = "  ".repeat(depth.saturating_sub(1).min(8));
        let quote = "│ ".repeat(self.quotes.min(4));
        let hanging =
            " ".repeat(marker.as_ref().map_or(if depth > 0 { 2 } else { 0 }, |marker| marker.chars().count()));
        let mut first = format!("{quote}{indent}{}", marker.unwrap_or_else(|| hanging.clone()));
        let then = format!("{quote}{indent}{hanging}");
        for line in text.split('\n') {
            if self.is_code {
                write!(self.done, "{first}  {line}").ok();
            } else {
                self.done.push_str(&wrap_with(line, self.columns, &first, &then));
            }
            self.done.push('\n');
            first.clone_from(&then);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{last_block, render};

    fn shown(text: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&render(text, columns)).to_string()
    }

    #[test]
    fn a_page_is_rendered_for_its_width() {
        let text = "# Result\n\nThe **day** is *Tuesday*,\nsee `notes.txt` and [the plan](https://x.y/z).\n\n- one thing that is long\n  - below\n1. first\n2. second\n\n> said\n\n```sh\nmake  all\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        insta::assert_snapshot!(shown(text, 24), @r"
        Result

        The day is Tuesday,
        see notes.txt and the
        plan (https://x.y/z).

        • one thing that is long
          • below

        1. first
        2. second

        │ said

          make  all

        a  b
        1  2
        ");
        assert!(render(text, 24).contains("\u{1b}[1mday\u{1b}[0m"), "{:?}", render(text, 24));
    }

    #[test]
    fn the_columns_of_a_table_are_aligned_if_they_fit() {
        let table = "| name | price |\n|---|---:|\n| a **long** name | 5 |\n| b | 1250 |\n";
        assert_eq!(shown(table, 24), "name         price\na long name      5\nb             1250");
        assert_eq!(shown(table, 16), "name  price\na long name  5\nb  1250");
    }

    #[test]
    fn every_block_but_the_last_is_complete() {
        for (complete, growing) in [
            ("", ""),
            ("", "one line\nand more"),
            ("one\n\n", "two"),
            ("# Title\n", "text"),
            ("text\n\n", "- a\n- b\n\n- c"),
            ("text\n\n", "```\na\n\nb"),
            ("```\na\n\nb\n```\n", "c"),
            ("---\n", "c"),
        ] {
            assert_eq!(last_block(&format!("{complete}{growing}")), complete.len(), "{complete}{growing}");
        }
    }

    #[test]
    fn plain_lines_stay_as_they_are() {
        for text in ["one\ntwo", "a * b * c", "1 < 2 & 3", "snake_case_name"] {
            assert_eq!(shown(text, 80), text);
        }
        assert_eq!(render("", 80), "");
    }
}
