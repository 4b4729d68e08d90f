//! A terminal of fixed size that remembers every row, also those that have scrolled out. It knows the few commands that the
//! program prints, and refuses all others, so that a picture is right or is not made.

use std::str;

pub(crate) const COLUMNS: u16 = 110;
pub(crate) const ROWS: u16 = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Weight {
    #[default]
    Usual,
    Bold,
    Dim,
}

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) weight: Weight,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
    /// One of the eight colours of every terminal, or the usual one.
    pub(crate) colour: Option<u8>,
}

/// A character and how it looks.
pub(crate) type Cell = (char, Style);

#[derive(Clone, Debug)]
pub(crate) struct Screen {
    /// All rows from the first one on.
    rows: Vec<Vec<Cell>>,
    row: usize,
    column: usize,
    style: Style,
    /// The first bytes of a character or command whose rest has not arrived.
    pending: Vec<u8>,
}

impl Screen {
    pub(crate) fn new() -> Screen {
        Screen { rows: vec![Vec::new()], row: 0, column: 0, style: Style::default(), pending: Vec::new() }
    }

    /// The rows, without blanks at their ends.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.rows.iter().map(|row| {
            let blank = row.iter().rev().take_while(|(c, style)| *c == ' ' && !style.underlined).count();
            &row[..row.len() - blank]
        })
    }

    /// Shows an output.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let whole = match str::from_utf8(&pending) {
            Ok(text) => text.len(),
            Err(why) if why.error_len().is_none() => why.valid_up_to(),
            Err(why) => return Err(format!("the program printed text that is not UTF-8: {why}")),
        };
        let mut rest = str::from_utf8(&pending[..whole]).map_err(|e| e.to_string())?;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            if c == '\x1b' {
                let Some((numbers, letter, after)) = command(after)? else { break };
                self.run(numbers, letter)?;
                rest = after;
            } else {
                self.print(c);
                rest = after;
            }
        }
        self.pending = [rest.as_bytes(), &pending[whole..]].concat();
        Ok(())
    }

    fn print(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            c if c.is_control() => {}
            c => {
                if self.column == usize::from(COLUMNS) {
                    (self.row, self.column) = (self.row + 1, 0);
                }
                self.make_row();
                let row = &mut self.rows[self.row];
                row.resize(row.len().max(self.column + 1), (' ', Style::default()));
                row[self.column] = (c, self.style);
                self.column += 1;
            }
        }
        self.make_row();
    }

    fn make_row(&mut self) {
        self.rows.resize(self.rows.len().max(self.row + 1), Vec::new());
    }

    fn run(&mut self, numbers: &str, letter: char) -> Result<(), String> {
        let count = || numbers.parse::<usize>().unwrap_or(1);
        let unknown = || format!("the picture of the terminal does not know the command ESC[{numbers}{letter}");
        match (letter, numbers) {
            ('m', _) => {
                for number in numbers.split(';') {
                    self.style = styled(self.style, number).ok_or_else(unknown)?;
                }
            }
            ('A', _) => {
                let top = self.rows.len().saturating_sub(usize::from(ROWS));
                self.row = self.row.saturating_sub(count()).max(top);
            }
            ('C', _) => self.column = (self.column + count()).min(usize::from(COLUMNS) - 1),
            ('D', _) => self.column = self.column.saturating_sub(count()),
            ('K', "" | "0") => self.rows[self.row].truncate(self.column),
            ('J', "" | "0") => {
                self.rows[self.row].truncate(self.column);
                for row in &mut self.rows[self.row + 1..] {
                    row.clear();
                }
            }
            // The cursor, which is not drawn.
            ('h' | 'l', "?25") => {}
            (_, _) => return Err(unknown()),
        }
        Ok(())
    }
}

/// Reads a command after its ESC: its numbers and its letter, and the text after it. Nothing if its end has not arrived.
fn command(text: &str) -> Result<Option<(&str, char, &str)>, String> {
    let Some(body) = text.strip_prefix('[') else {
        let is_start = text.is_empty();
        return if is_start { Ok(None) } else { Err("the program printed a command that is not ESC[".to_owned()) };
    };
    let Some(end) = body.find(|c: char| c.is_ascii_alphabetic()) else { return Ok(None) };
    let letter = char::from(body.as_bytes()[end]);
    Ok(Some((&body[..end], letter, &body[end + 1..])))
}

/// The style after a number of the command `m`.
fn styled(style: Style, number: &str) -> Option<Style> {
    let number: u8 = if number.is_empty() { 0 } else { number.parse().ok()? };
    match number {
        0 => Some(Style::default()),
        1 => Some(Style { weight: Weight::Bold, ..style }),
        2 => Some(Style { weight: Weight::Dim, ..style }),
        3 => Some(Style { italic: true, ..style }),
        4 => Some(Style { underlined: true, ..style }),
        22 => Some(Style { weight: Weight::Usual, ..style }),
        30..=37 => Some(Style { colour: Some(number - 30), ..style }),
        39 => Some(Style { colour: None, ..style }),
        90..=97 => Some(Style { colour: Some(number - 90), ..style }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Screen, Style, Weight};

    #[track_caller]
    fn check(outputs: &[&[u8]], expect: &[&str]) {
        let mut screen = Screen::new();
        for output in outputs {
            screen.write(output).expect("all of it is known");
        }
        let shown: Vec<String> = screen.rows().map(|row| row.iter().map(|(c, _)| *c).collect()).collect();
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_status_line_is_replaced() {
        check(&[b"one\r\n0.1 s, 2 agents", b"\r\x1b[J0.2 s\r\ntwo"], &["one", "0.2 s", "two"]);
    }

    #[test]
    fn rows_above_are_drawn_again() {
        check(&[b"a\r\nb\r\nc", b"\r\x1b[2A\x1b[Jd\r\ne"], &["d", "e", ""]);
    }

    #[test]
    fn characters_and_commands_that_arrive_in_parts_are_put_together() {
        check(&[b"\xe2\x80", b"\xa6 \x1b", b"[3", b"2mdone\x1b[0m"], &["\u{2026} done"]);
    }

    #[test]
    fn a_row_that_is_full_goes_on_in_the_next_one() {
        let long = "x".repeat(usize::from(COLUMNS) + 2);
        check(&[long.as_bytes()], &[&long[2..], "xx"]);
    }

    #[test]
    fn styles_are_kept_with_each_character() {
        let mut screen = Screen::new();
        screen.write(b"\x1b[1;32ma\x1b[0mb").expect("both are known");
        let green = Style { weight: Weight::Bold, colour: Some(2), ..Style::default() };
        assert_eq!(screen.rows().collect::<Vec<_>>(), [[('a', green), ('b', Style::default())]]);
    }

    #[test]
    fn a_command_that_the_picture_does_not_know_is_an_error() {
        for unknown in ["\x1b[5S", "\x1b[48;5;3m", "\x1b]0;title"] {
            assert!(Screen::new().write(unknown.as_bytes()).is_err(), "{unknown:?}");
        }
    }
}
