//! Reads what the file tools of `crates/tools` return.

use crate::kind::Kind;

/// How much of a line is kept, in bytes.
const LINE_BYTES_MAX: usize = 240;
/// How many lines of one result are read.
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
        let text = text.split(" [line cut: ").next().unwrap_or_default();
        let text = text[..text.floor_char_boundary(LINE_BYTES_MAX)].trim().replace('\t', " ");
        Line { path: path.to_owned(), number, text }
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.path)
    }

    /// Reads `path:line: text`, as reports write it.
    pub(crate) fn parse(text: &str) -> Option<Line> {
        let (path, rest) = text.split_once(':')?;
        let (number, text) = rest.split_once(": ")?;
        let is_path = !path.is_empty() && !path.contains(char::is_whitespace);
        Some(Line::new(path, number.parse().ok().filter(|_| is_path)?, text))
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) lines: Vec<Line>,
    /// Whether there are more matches than the result shows.
    pub(crate) is_cut: bool,
}

/// Reads the result of `search`: the path of a file, then its lines as `number: text`, then a blank line; notes in brackets at
/// the end.
pub(crate) fn read_search(text: &str) -> Found {
    let mut found = Found::default();
    let mut path = None;
    for line in text.lines() {
        let numbered = line.split_once(": ").and_then(|(number, text)| Some((number.parse().ok()?, text)));
        match (path, numbered) {
            _ if line.is_empty() => path = None,
            (Some(path), Some((number, text))) if found.lines.len() < LINES_MAX => {
                found.lines.push(Line::new(path, number, text));
            }
            (Some(_), Some(_)) => found.is_cut = true,
            _ if line.starts_with('(') => {
                found.is_cut |= line.starts_with("(cut off") || line.starts_with("(stopped");
            }
            (None, _) => path = Some(line),
            (Some(_), None) => {}
        }
    }
    found
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

/// Reads the directories in the result of `list_files`, without the slash at their end.
pub(crate) fn read_directories(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix('/')).take(LINES_MAX).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Found, Line, read_lines, read_search};

    fn line(path: &str, number: u64, text: &str) -> Line {
        Line { path: path.to_owned(), number, text: text.to_owned() }
    }

    #[test]
    fn what_a_search_shows_is_read_line_by_line() {
        let text = "a/b.rs\n7: let x: u8 = 1;\n\n(odd) name\n9: \ty [part of a line of 900 bytes]\n(2 matches in 2 of 9 files)";
        let lines = vec![line("a/b.rs", 7, "let x: u8 = 1;")];
        assert_eq!(read_search(text).lines[..1], lines);
        assert_eq!(read_search("(no match in 3 files)"), Found::default());
        let cut = Found { lines: vec![line("a", 1, "x")], is_cut: true };
        assert_eq!(read_search("a\n1: x\n(cut off after 200 matches in 1 of 1 files; narrow it)"), cut);
        assert_eq!(read_lines("a", "3\tx = 1\n(lines 3 to 3 of 9)"), [line("a", 3, "x = 1")]);
    }

    #[test]
    fn a_line_of_a_report_is_read_back() {
        assert_eq!(Line::parse("a/b.py:32: x: 1"), Some(line("a/b.py", 32, "x: 1")));
        for not in ["a/b.py:32", "no place: 3: x", "a:b: c", ":3: x"] {
            assert_eq!(Line::parse(not), None);
        }
    }
}
