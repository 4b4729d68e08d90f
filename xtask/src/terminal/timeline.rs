//! Which line stood in which row, from when to when: at reading speed, with long pauses shortened.

use super::screen::{Cell, Screen};

/// What stands in a row for a shorter time than this is left out: nobody could read it.
const FLASH_MS: u64 = 100;

/// The shortest and the longest time between two lines of the picture.
const BETWEEN_MS_MIN: u64 = 110;
const BETWEEN_MS_MAX: u64 = 700;

/// What stood in a row of the terminal. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The row, counted from the first row of the session.
    pub(crate) row: usize,
    pub(crate) cells: Vec<Cell>,
    pub(crate) from_ms: u64,
    /// When it was replaced, if it was.
    pub(crate) to_ms: Option<u64>,
}

/// Returns the lines of a recording, in the order in which they appear.
pub(crate) fn lines(mut screen: Screen, output: &[(u64, Vec<u8>)]) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    note(&screen, 0, &mut lines);
    for (at, bytes) in output {
        screen.write(bytes)?;
        note(&screen, *at, &mut lines);
    }
    lines.retain(|line| line.to_ms.is_none_or(|to| to - line.from_ms >= FLASH_MS));
    lines.sort_by_key(|line| (line.from_ms, line.row));
    retime(&mut lines);
    Ok(lines)
}

/// Ends the lines that have changed, and begins the new ones.
fn note(screen: &Screen, at: u64, lines: &mut Vec<Line>) {
    for (row, cells) in screen.rows().enumerate() {
        let shown = lines.iter_mut().rev().find(|line| line.row == row && line.to_ms.is_none());
        if shown.as_ref().map_or(cells.is_empty(), |line| line.cells == cells) {
            continue;
        }
        if let Some(line) = shown {
            line.to_ms = Some(at);
        }
        if !cells.is_empty() {
            lines.push(Line { row, cells: cells.to_vec(), from_ms: at, to_ms: None });
        }
    }
}

/// Gives the lines times at which they can be read. A line ends when its successor begins.
fn retime(lines: &mut [Line]) {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for line in lines.iter_mut() {
        let now = times.last().map_or(0, |(before, now)| {
            now + line.from_ms.saturating_sub(*before).clamp(BETWEEN_MS_MIN, BETWEEN_MS_MAX)
        });
        times.push((line.from_ms, now));
        line.from_ms = now;
    }
    let last = times.last().map_or(0, |(_, now)| *now);
    for line in lines.iter_mut() {
        let new = |to: u64| times.iter().find(|(before, _)| *before >= to).map_or(last, |(_, now)| *now);
        line.to_ms = line.to_ms.map(|to| new(to).max(line.from_ms + FLASH_MS));
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, lines};
    use crate::terminal::screen::Screen;

    fn drawn(output: &[(u64, &str)]) -> Vec<(usize, String, u64, Option<u64>)> {
        let output: Vec<_> = output.iter().map(|(at, text)| (*at, text.as_bytes().to_vec())).collect();
        let text = |line: &Line| line.cells.iter().map(|(c, _)| *c).collect();
        let lines = lines(Screen::new(), &output).expect("all of it is known");
        lines.iter().map(|line| (line.row, text(line), line.from_ms, line.to_ms)).collect()
    }

    #[test]
    fn a_line_stands_until_another_takes_its_row() {
        let shown = drawn(&[(0, "working"), (300, "\r\x1b[Jdone\r\n"), (500, "bye")]);
        let expect = [
            (0, "working".to_owned(), 0, Some(300)),
            (0, "done".to_owned(), 300, None),
            (1, "bye".to_owned(), 500, None),
        ];
        assert_eq!(shown, expect);
    }

    #[test]
    fn what_nobody_could_read_is_left_out() {
        let shown = drawn(&[(0, "a\r\n"), (20, "half"), (30, "\r\x1b[Jwhole")]);
        assert_eq!(shown.iter().map(|(_, text, _, _)| text.as_str()).collect::<Vec<_>>(), ["a", "whole"]);
    }

    #[test]
    fn lines_that_come_at_once_follow_each_other_and_long_pauses_are_shortened() {
        let times: Vec<u64> = drawn(&[(0, "a\r\nb\r\n"), (9000, "c")]).iter().map(|line| line.2).collect();
        assert_eq!(times, [0, 110, 810]);
    }
}
