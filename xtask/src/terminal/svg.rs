//! Draws the lines of a session as an SVG that plays by itself. Without animation (reduced motion, a program that prints it) it
//! shows the end of the session.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::screen::{COLUMNS, Cell, ROWS, Style, Weight};
use super::timeline::Line;

const CELL_WIDTH: u32 = 8;
const ROW_HEIGHT: u32 = 18;
const MARGIN: u32 = 16;

/// How long the end of the session is shown before it plays again.
const END_MS: u64 = 8_000;

const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d9d2c3}
.b{font-weight:700;fill:#f4ecd8}.d{fill:#958c7b}.i{font-style:italic}.u{text-decoration:underline}
.c0{fill:#6b6457}.c1{fill:#e5786d}.c2{fill:#8fbf6a}.c3{fill:#e0b050}.c4{fill:#7fa7d9}.c5{fill:#c58fc9}.c6{fill:#6fb9b3}.c7{fill:#d9d2c3}
@media(prefers-reduced-motion:reduce){*{animation:none!important}}
";

const TITLE: &str = "Guildhall in a terminal: ten agents on four levels search for the fault of a small service";

/// Draws the lines.
pub(crate) fn draw(lines: &[Line]) -> String {
    let (width, height) = (u32::from(COLUMNS) * CELL_WIDTH + 2 * MARGIN, u32::from(ROWS) * ROW_HEIGHT + 2 * MARGIN);
    let end = lines.iter().map(|line| line.to_ms.unwrap_or(line.from_ms)).max().unwrap_or(0) + END_MS;
    let last = lines.iter().map(|line| line.row).max().unwrap_or(0);
    let (left, top) = (0, MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{TITLE}</title>\n<style>\n{STYLE}{moments}{scrolls}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#191611\"/>\n\
         <svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{window}\">\n<g class=\"s\">\n{texts}</g>\n</svg>\n</svg>\n",
        moments = moments(lines, end),
        scrolls = scrolls(lines, last, end),
        window = u32::from(ROWS) * ROW_HEIGHT,
        texts = lines.iter().map(text).collect::<String>(),
    )
}

/// The texts of a picture that `draw` made, without those that another one replaced.
pub(crate) fn lasting_texts(picture: &str) -> impl Iterator<Item = String> {
    let class =
        |line: &str| line.strip_prefix("<text ")?.split("class=\"").nth(1)?.split('"').next().map(str::to_owned);
    let lasting = move |line: &&str| class(line).is_some_and(|class| !class.contains('-'));
    picture.lines().filter(lasting).map(|line| {
        let mut shown = String::new();
        for part in line.split('<') {
            shown.push_str(part.split_once('>').map_or("", |(_, text)| text));
        }
        ["&lt;<", "&gt;>", "&quot;\"", "&amp;&"].iter().fold(shown, |shown, pair| {
            let (escape, c) = pair.split_at(pair.len() - 1);
            shown.replace(escape, c)
        })
    })
}

/// When each line appears and disappears.
fn moments(lines: &[Line], end: u64) -> String {
    let spans: BTreeSet<(u64, Option<u64>)> = lines.iter().map(|line| (line.from_ms, line.to_ms)).collect();
    let mut css = String::new();
    for (from, to) in spans {
        let name = class(from, to);
        let seconds = seconds(end);
        let (first, then) = (percent(from, end), to.map(|to| format!("{}{{opacity:0}}", percent(to, end))));
        // What is not part of the end is hidden without animation.
        let still = if to.is_some() { "opacity:0;" } else { "" };
        let then = then.unwrap_or_default();
        let _ = writeln!(
            css,
            ".{name}{{{still}animation:{name} {seconds} step-end infinite}}\n@keyframes {name}{{0%{{opacity:0}}{first}{{opacity:1}}{then}}}"
        );
    }
    css
}

/// Moves the rows up whenever a new one needs a place.
fn scrolls(lines: &[Line], last: usize, end: u64) -> String {
    let up = |row: usize| u32::try_from((row + 1).saturating_sub(usize::from(ROWS))).unwrap_or(u32::MAX) * ROW_HEIGHT;
    let (mut lowest, mut steps) = (0, String::from("0%{transform:translateY(0)}"));
    for line in lines.iter().filter(|line| up(line.row) > 0) {
        if line.row > lowest {
            lowest = line.row;
            let _ = write!(steps, "{}{{transform:translateY(-{}px)}}", percent(line.from_ms, end), up(lowest));
        }
    }
    format!(
        ".s{{transform:translateY(-{}px);animation:s {} step-end infinite}}\n@keyframes s{{{steps}}}\n",
        up(last),
        seconds(end)
    )
}

/// One row of text. Each part of one style has its own place and width, so that columns line up in every font.
fn text(line: &Line) -> String {
    let y = u32::try_from(line.row).unwrap_or(u32::MAX).saturating_mul(ROW_HEIGHT) + 13;
    let mut parts = String::new();
    let mut column = 0;
    for part in line.cells.chunk_by(|(_, one), (_, other)| one == other) {
        let words: String = part.iter().map(|(c, _)| *c).collect();
        let blank = words.len() - words.trim_start().len();
        let x = MARGIN + u32::try_from(column + blank).unwrap_or(u32::MAX) * CELL_WIDTH;
        column += part.len();
        if words.trim().is_empty() {
            continue;
        }
        let count = u32::try_from(words.trim().chars().count()).unwrap_or(u32::MAX);
        let (style, words) = (class_of(part), escaped(words.trim()));
        // The blanks around it are only read when somebody copies the text.
        let before = " ".repeat(blank);
        let _ = write!(parts, "{before}<tspan x=\"{x}\" textLength=\"{}\"{style}>{words}</tspan>", count * CELL_WIDTH);
        if part.last().is_some_and(|(c, _)| *c == ' ') {
            parts.push(' ');
        }
    }
    format!("<text y=\"{y}\" class=\"{}\" xml:space=\"preserve\">{parts}</text>\n", class(line.from_ms, line.to_ms))
}

fn class_of(part: &[Cell]) -> String {
    let Style { weight, italic, underlined, colour } = part.first().map(|(_, style)| *style).unwrap_or_default();
    let weight = match weight {
        Weight::Usual => None,
        Weight::Bold => Some("b"),
        Weight::Dim => Some("d"),
    };
    let flags = [weight, italic.then_some("i"), underlined.then_some("u")];
    let mut names: Vec<String> = flags.into_iter().flatten().map(str::to_owned).collect();
    names.extend(colour.map(|colour| format!("c{colour}")));
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

fn class(from: u64, to: Option<u64>) -> String {
    to.map_or_else(|| format!("t{from}"), |to| format!("t{from}-{to}"))
}

fn percent(at: u64, end: u64) -> String {
    let millionths = u128::from(at) * 1_000_000 / u128::from(end.max(1));
    format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}s", ms / 1000, ms % 1000)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{draw, lasting_texts};
    use crate::terminal::screen::{ROWS, Style};
    use crate::terminal::timeline::Line;

    fn line(row: usize, text: &str, from_ms: u64, to_ms: Option<u64>) -> Line {
        Line { row, cells: text.chars().map(|c| (c, Style::default())).collect(), from_ms, to_ms }
    }

    #[test]
    fn texts_are_read_back_as_they_were_shown() {
        let shown = "  ada: \"a < b\" && c > d…";
        assert_eq!(lasting_texts(&draw(&[line(0, shown, 0, None)])).collect::<Vec<_>>(), [shown]);
    }

    #[test]
    fn without_animation_the_end_of_the_session_is_shown() {
        let rows = usize::from(ROWS);
        let lines: Vec<Line> = (0..rows + 2).map(|row| line(row, "x", 100, None)).collect();
        let picture = draw(&lines);
        assert!(picture.contains(".s{transform:translateY(-36px);"), "{picture}");
        let replaced = draw(&[line(0, "status", 0, Some(500)), line(0, "answer", 500, None)]);
        assert!(replaced.contains(".t0-500{opacity:0;") && replaced.contains(".t500{animation:"), "{replaced}");
    }
}
