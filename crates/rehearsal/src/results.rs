//! Reads the results of the file tools of `crates/tools`.

use crate::kind::Kind;

/// The most bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 240;
/// The most lines of one result that are read.
const LINES_MAX: usize = 400;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) number: u64,
    pub(crate) text: String,
}

impl Line {
    fn new(path: &str, number: u64, text: &str) -> Line {
        let text = text.split(" [part of a line of ").next().unwrap_or_default();
        let text = text[..text.floor_char_boundary(LINE_BYTES_MAX)].trim().replace('\t', " ");
        Line { path: path.to_owned(), number, text }
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.path)
    }

    /// Reads `path:line: text`, the form of lines in reports.
    pub(crate) fn parse(text: &str) -> Option<Line> {
        text.match_indices(':').find_map(|(at, _)| {
            let (number, rest) = text[at + 1..].split_once(": ")?;
            Some(Line::new(&text[..at], number.parse().ok().filter(|_| at > 0)?, rest))
        })
    }
}

/// Reads the result of `search`: the path of a file, then its lines as `number: text`, then a blank line; notes in brackets at
/// the end. Returns the lines, and whether there are more matches than the result shows.
pub(crate) fn read_search(text: &str) -> (Vec<Line>, bool) {
    let (mut lines, mut is_cut, mut path) = (Vec::new(), false, None);
    for line in text.lines() {
        let numbered = line.split_once(": ").and_then(|(number, text)| Some((number.parse().ok()?, text)));
        match (path, numbered) {
            _ if line.is_empty() => path = None,
            (Some(path), Some((number, text))) if lines.len() < LINES_MAX => lines.push(Line::new(path, number, text)),
            (Some(_), Some(_)) => is_cut = true,
            _ if line.starts_with('(') => is_cut |= line.starts_with("(cut off") || line.starts_with("(stopped"),
            (None, _) => path = Some(line),
            (Some(_), None) => {}
        }
    }
    (lines, is_cut)
}

/// Reads the result of `read_file`: lines as `number`, a tab and the text.
pub(crate) fn read_lines(path: &str, text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let (number, text) = line.split_once('\t')?;
        let text = text[..text.floor_char_boundary(LINE_BYTES_MAX)].to_owned();
        Some(Line { path: path.to_owned(), number: number.parse().ok()?, text })
    };
    text.lines().filter_map(line).take(LINES_MAX).collect()
}
