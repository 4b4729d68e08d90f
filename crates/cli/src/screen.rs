//! The terminal: lines that stay, and below them a few rows that are drawn anew ten times a second while work is under way. All
//! output passes here, so that no line is written into those rows. Without a terminal there are only the lines.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};
use guildhall::kernel::AskKey;
use rustix::termios::tcgetwinsize;
use rustyline::ExternalPrinter;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::markdown;
use crate::world::is_dumb_terminal;

/// The size of a terminal that does not tell its own.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// The narrowest row that text is broken for, in columns. A narrower terminal breaks rows itself.
const COLUMNS_MIN: usize = 10;

/// How much of a reply is kept to be shown while it arrives, in bytes.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// How much a person wants to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The answer, and why there is none.
    Quiet,
    /// A line per hire and per report, what goes wrong, and the bill.
    #[default]
    Normal,
    /// Everything that is asked and answered.
    Verbose,
}

static SCREEN: Mutex<Screen> = Mutex::new(Screen::new());

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Screen {
    level: Level,
    /// The rows below the lines, as they are drawn now.
    rows: Vec<String>,
    /// What the root's model has said so far in the call that is under way.
    words: String,
    /// Writes above the line that a person is typing.
    printer: Option<Box<dyn ExternalPrinter + Send>>,
}

impl Screen {
    const fn new() -> Screen {
        Screen { level: Level::Normal, rows: Vec::new(), words: String::new(), printer: None }
    }

    /// Takes the rows off the terminal.
    fn erase(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let up = match self.rows.len() {
            1 => String::new(),
            rows => format!("\u{1b}[{}A", rows - 1),
        };
        write!(io::stderr(), "\r{up}\u{1b}[J").ok();
        self.rows.clear();
    }

    /// Draws rows below the lines; the cursor stays at their end.
    fn draw(&mut self, rows: Vec<String>) {
        if rows == self.rows {
            return;
        }
        self.erase();
        let mut stderr = anstream::stderr().lock();
        write!(stderr, "{}", rows.join("\r\n")).and_then(|()| stderr.flush()).ok();
        self.rows = rows;
    }

    /// Writes whole lines above the rows, wherever they go.
    fn write(&mut self, lines: &str, to: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
        let rows = self.rows.clone();
        self.erase();
        let written = to(lines);
        if !rows.is_empty() {
            self.draw(rows);
        }
        written
    }
}

/// Whether rows can be drawn: a person sees stderr, and the terminal can move its cursor.
pub(crate) fn can_draw() -> bool {
    io::stderr().is_terminal() && !is_dumb_terminal()
}

/// Sets how much is told.
pub(crate) fn set_level(level: Level) {
    screen().level = level;
}

/// How much is told.
pub(crate) fn level() -> Level {
    screen().level
}

/// Lets lines be written above the one that a person is typing, or no longer.
pub(crate) fn set_printer(printer: Option<Box<dyn ExternalPrinter + Send>>) {
    screen().printer = printer;
}

/// Draws the newest words of the root and a status line, which is cut to the width. Only what fits half of the terminal is
/// shown of the words: the newest part.
pub(crate) fn draw(status: &dyn Fn(usize) -> String) {
    let (columns, height) = size(&io::stderr()).unwrap_or((COLUMNS, ROWS));
    // The last column stays free: some terminals begin a row as soon as it is written.
    let columns = columns.saturating_sub(1).max(1);
    let mut screen = screen();
    let mut rows: Vec<String> = Vec::new();
    if !screen.words.trim().is_empty() && columns >= COLUMNS_MIN {
        let words = markdown::render(&screen.words, columns);
        // A style that goes on in the next row ends here: that row may be the status line.
        rows.extend(words.lines().map(|row| format!("{}{}", cut_row(row, columns), anstyle::Reset)));
        rows.drain(..rows.len().saturating_sub(height / 2));
    }
    rows.push(cut_row(&status(columns), columns));
    screen.draw(rows);
}

/// Takes the drawn rows away.
pub(crate) fn clear() {
    let mut screen = screen();
    screen.words.clear();
    screen.erase();
}

/// Takes in what the model of a root says while it says it. Only what is drawn is kept.
pub(crate) fn stream(call: &AskKey, words: &str) {
    let mut screen = screen();
    if call.contract.level() > 0 || screen.level == Level::Quiet {
        return;
    }
    screen.words.push_str(&crate::print::tame_lines(words));
    let mut over = screen.words.len().saturating_sub(WORDS_BYTES_MAX);
    while !screen.words.is_char_boundary(over) {
        over += 1;
    }
    screen.words.drain(..over);
}

/// Forgets what a root's model has said: its reply is whole, or is asked for anew.
pub(crate) fn forget_words() {
    screen().words.clear();
}

/// Says a line to the person who watches. A terminal gets it broken at words.
pub(crate) fn say(line: &str) {
    let mut screen = screen();
    let columns = stderr_columns();
    let wrapped = |columns| line.split('\n').map(|line| wrap(line, columns)).collect::<Vec<_>>().join("\n");
    let line = columns.map_or_else(|| line.to_owned(), wrapped);
    if let Some(printer) = &mut screen.printer {
        let shown = match AutoStream::choice(&io::stderr()) {
            ColorChoice::Never => anstream::adapter::strip_str(&line).to_string(),
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => line.clone(),
        };
        if printer.print(format!("{shown}\n")).is_ok() {
            return;
        }
    }
    // A person who has gone away misses the line; the work goes on.
    screen.write(&line, |line| writeln!(anstream::stderr().lock(), "{line}")).ok();
}

/// Shows that something can be typed.
pub(crate) fn prompt(sign: &str) {
    let mut stderr = anstream::stderr().lock();
    write!(stderr, "{sign}").and_then(|()| stderr.flush()).ok();
}

/// Takes away the line that was edited, and ends the mode in which pastes are marked.
pub(crate) fn end_editing() {
    write!(io::stderr(), "\u{1b}[?2004l\r\u{1b}[J").ok();
}

/// Writes lines of the result to stdout.
pub(crate) fn write_out(lines: &str) -> io::Result<()> {
    let mut screen = screen();
    if let Some(printer) = &mut screen.printer
        && io::stdout().is_terminal()
        && printer.print(format!("{lines}\n")).is_ok()
    {
        return Ok(());
    }
    let write = |lines: &str| {
        let mut stdout = anstream::stdout().lock();
        match writeln!(stdout, "{lines}").and_then(|()| stdout.flush()) {
            // `head` and `less` close the pipe when they have seen enough; that is no failure of the work.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    };
    screen.write(lines, write)
}

/// The width of the terminal that stderr is, if it is one.
pub(crate) fn stderr_columns() -> Option<usize> {
    size(&io::stderr()).map(|(columns, _)| columns)
}

/// The width of the terminal that stdout is, if it is one.
pub(crate) fn stdout_columns() -> Option<usize> {
    size(&io::stdout()).map(|(columns, _)| columns)
}

fn size(of: &(impl IsTerminal + rustix::fd::AsFd)) -> Option<(usize, usize)> {
    if !of.is_terminal() {
        return None;
    }
    let told = tcgetwinsize(of).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    Some(told.map_or((COLUMNS, ROWS), |size| (usize::from(size.ws_col), usize::from(size.ws_row))))
}

/// How many columns a text takes, without its colours.
pub(crate) fn width(text: &str) -> usize {
    display_width(text)
}

/// Breaks a line at words. Further rows are indented by two columns more than the first.
pub(crate) fn wrap(line: &str, columns: usize) -> String {
    let text = line.trim_start_matches(' ');
    let indent = " ".repeat((line.len() - text.len()).min(columns / 3));
    wrap_with(text, columns, &indent, &format!("{indent}  "))
}

/// Breaks a text at words, with what each row begins with.
pub(crate) fn wrap_with(text: &str, columns: usize, first: &str, then: &str) -> String {
    let columns = columns.max(COLUMNS_MIN);
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(then)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options)
}

/// Cuts a row to so many columns. One that is cut loses its colours.
fn cut_row(row: &str, columns: usize) -> String {
    if width(row) <= columns {
        return row.to_owned();
    }
    cut(&anstream::adapter::strip_str(row).to_string(), columns)
}

/// Cuts a text without colours to so many columns.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if width(&cut) + width(c.encode_utf8(&mut [0; 4])) + 1 > columns {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::{cut, width, wrap};

    #[test]
    fn lines_break_at_words_and_keep_their_indent() {
        assert_eq!(wrap("  1.1 ada hired with 20 sat", 16), "  1.1 ada hired\n    with 20 sat");
        assert_eq!(wrap("\u{1b}[1mbold words\u{1b}[0m here", 12), "\u{1b}[1mbold words\u{1b}[0m\n  here");
        assert_eq!(wrap("short", 3), "short");
        let long = "x".repeat(50);
        assert!(wrap(&long, 20).lines().all(|row| width(row) <= 20), "a word that fits no row is broken");
    }

    #[test]
    fn a_text_is_cut_by_what_it_shows() {
        assert_eq!(
            (cut("abcdef", 4), cut("abcd", 4), cut("日本語", 5)),
            ("abc…".into(), "abcd".into(), "日本…".into())
        );
    }
}
