//! Writes to the terminal: lines that stay, and below them a few rows that are redrawn ten times a second while agents work.
//! All output goes through this module, so no line is written into those rows. Without a terminal there are only the lines.

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

/// The size that is assumed for a terminal that does not report its own.
const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// Text is wrapped to at least this many columns. A narrower terminal wraps the rows itself.
const COLUMNS_MIN: usize = 10;

/// The newest part of an arriving reply that is kept for display, in bytes.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// How much output the person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The answer alone, or the reason why there is no answer.
    Quiet,
    /// A line per hire and per report, warnings, and the bill.
    #[default]
    Normal,
    /// Every ask and every answer.
    Verbose,
}

/// The status line below the line that a person is typing. It has a lock of its own: the line editor reads it while the screen
/// waits for the editor.
static BELOW: Mutex<String> = Mutex::new(String::new());

/// Makes the line editor redraw its rows: up and down again, after which it prints them.
const REDRAW: &str = "\u{1b}[A\n";

static SCREEN: Mutex<Screen> = Mutex::new(Screen::new());

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Screen {
    level: Level,
    /// The rows below the lines, as they are drawn now.
    rows: Vec<String>,
    /// The root's model call whose reply is arriving, and the part of the reply that is not printed for good.
    arriving: Option<AskKey>,
    words: String,
    /// Prints above the line that a person is typing.
    printer: Option<Box<dyn ExternalPrinter + Send>>,
    /// Set in a conversation: complete blocks of the root's reply are printed above that line while the rest arrives.
    stream: Option<Stream>,
}

/// The reply of the root that is printed block by block.
struct Stream {
    /// The newest model call whose ask was shown. No block of a later reply is printed before its ask.
    asked: Option<AskKey>,
    /// The part of its reply that was printed.
    printed: String,
}

impl Screen {
    const fn new() -> Screen {
        Screen {
            level: Level::Normal,
            rows: Vec::new(),
            arriving: None,
            words: String::new(),
            printer: None,
            stream: None,
        }
    }

    /// Removes the rows from the terminal.
    fn erase(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        write!(io::stderr(), "\r\u{1b}[{}A\u{1b}[J", self.rows.len()).ok();
        self.rows.clear();
    }

    /// Draws rows below the lines and leaves the cursor below them: if the process is killed, whatever is printed next begins on a
    /// row of its own.
    fn draw(&mut self, rows: Vec<String>) {
        if rows == self.rows {
            return;
        }
        self.erase();
        let mut stderr = anstream::stderr().lock();
        write!(stderr, "{}\r\n", rows.join("\r\n")).and_then(|()| stderr.flush()).ok();
        self.rows = rows;
    }

    /// Prints lines above the line that a person is typing. Returns whether there is such a line.
    fn print_above(&mut self, lines: &str) -> bool {
        let Some(printer) = &mut self.printer else { return false };
        printer.print(for_stderr(lines)).is_ok()
    }

    /// Prints the complete blocks of the reply that is arriving, once its ask was shown.
    fn print_blocks(&mut self) {
        let is_asked = |stream: &Stream| stream.asked.is_some() && stream.asked == self.arriving;
        if !self.stream.as_ref().is_some_and(is_asked) {
            return;
        }
        let blocks: String = self.words.drain(..markdown::last_block(&self.words)).collect();
        let columns = stderr_columns().unwrap_or(COLUMNS);
        if !blocks.trim().is_empty()
            && self.print_above(&format!("\n{}", markdown::render(&blocks, columns)))
            && let Some(Stream { printed, .. }) = &mut self.stream
        {
            printed.push_str(if printed.is_empty() { blocks.trim_start() } else { &blocks });
        }
    }

    /// Writes lines above the rows with the given function.
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

/// Returns lines as they are written to stderr: with a line end, and without colours where stderr shows none. They are one
/// text, so that they take one system call.
fn for_stderr(lines: &str) -> String {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => format!("{}\n", anstream::adapter::strip_str(lines)),
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => format!("{lines}\n"),
    }
}

/// Whether rows can be drawn: stderr is a terminal that can move its cursor.
pub(crate) fn can_draw() -> bool {
    io::stderr().is_terminal() && !is_dumb_terminal()
}

/// Sets how much is printed.
pub(crate) fn set_level(level: Level) {
    screen().level = level;
}

/// Returns how much is printed.
pub(crate) fn level() -> Level {
    screen().level
}

/// Sets the printer that writes above the line that a person is typing.
pub(crate) fn set_printer(printer: Option<Box<dyn ExternalPrinter + Send>>) {
    screen().printer = printer;
}

/// From now on, prints each complete block of the root's replies above the line that a person is typing.
pub(crate) fn stream_replies() {
    screen().stream = Some(Stream { asked: None, printed: String::new() });
}

/// Draws the newest part of the root's reply, in at most half of the terminal's rows, and a status line below it.
pub(crate) fn draw(status: &dyn Fn(usize) -> String) {
    let (columns, height) = size(&io::stderr()).unwrap_or((COLUMNS, ROWS));
    // The last column stays free: some terminals start a new row as soon as that column is written.
    let columns = columns.saturating_sub(1).max(1);
    let mut screen = screen();
    let mut rows: Vec<String> = Vec::new();
    if !screen.words.trim().is_empty() && columns >= COLUMNS_MIN {
        let words = markdown::render(&screen.words, columns);
        // Each row ends its style: the next row may be the status line.
        rows.extend(words.lines().map(|row| format!("{}{}", cut_row(row, columns), anstyle::Reset)));
        rows.drain(..rows.len().saturating_sub(height / 2));
    }
    rows.push(cut_row(&status(columns), columns));
    screen.draw(rows);
}

/// Draws a status line alone: in a conversation without a terminal for its input, replies are printed as a whole.
pub(crate) fn draw_status(status: &dyn Fn(usize) -> String) {
    let columns = below_columns();
    screen().draw(vec![cut_row(&status(columns), columns)]);
}

/// Shows a status line below the line that a person is typing.
pub(crate) fn draw_below(status: String) {
    let mut below = BELOW.lock().unwrap_or_else(PoisonError::into_inner);
    if *below == status {
        return;
    }
    *below = status;
    drop(below);
    if let Some(printer) = &mut screen().printer {
        // If the terminal is gone, there is nothing to draw.
        printer.print(REDRAW.to_owned()).ok();
    }
}

/// Returns the status line below the line that a person is typing.
pub(crate) fn below() -> String {
    BELOW.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the width of that status line. The last column stays free.
pub(crate) fn below_columns() -> usize {
    stderr_columns().unwrap_or(COLUMNS).saturating_sub(1).max(1)
}

/// Removes what is below the line that was typed. The cursor is this many rows below the first row to remove.
pub(crate) fn clear_below(rows: usize) {
    let up = if rows > 0 { format!("\u{1b}[{rows}A") } else { String::new() };
    write!(io::stdout(), "{up}\r\u{1b}[J").and_then(|()| io::stdout().flush()).ok();
}

/// Removes the drawn rows.
pub(crate) fn clear() {
    let mut screen = screen();
    screen.words.clear();
    screen.erase();
}

/// Takes the next part of a reply. Only the newest part of a root's reply is kept.
pub(crate) fn stream(call: &AskKey, words: &str) {
    let mut screen = screen();
    if call.contract.level() > 0 || screen.level == Level::Quiet {
        return;
    }
    if screen.arriving.as_ref() != Some(call) {
        screen.words.clear();
        screen.arriving = Some(call.clone());
    }
    screen.words.push_str(&crate::print::tame_lines(words));
    screen.print_blocks();
    let over = screen.words.len().saturating_sub(WORDS_BYTES_MAX);
    let over = screen.words.ceil_char_boundary(over);
    screen.words.drain(..over);
}

/// Starts to receive a reply of a root, or receives it again after a failure.
pub(crate) fn begin_reply(call: &AskKey) {
    let mut screen = screen();
    screen.words.clear();
    screen.arriving = Some(call.clone());
    if let Some(Stream { asked, printed }) = &mut screen.stream
        && asked.as_ref() == Some(call)
    {
        printed.clear();
    }
}

/// Notes that the ask for a reply of a root was shown. From now on, blocks of the reply may be printed.
pub(crate) fn ask_shown(call: AskKey) {
    let mut screen = screen();
    if let Some(stream) = &mut screen.stream {
        *stream = Stream { asked: Some(call), printed: String::new() };
        screen.print_blocks();
    }
}

/// Ends a reply of a root: its complete text is now a fact. In a conversation, the next reply may already be arriving.
pub(crate) fn end_reply() {
    let mut screen = screen();
    if screen.stream.is_none() {
        screen.words.clear();
    }
}

/// Returns the part of the newest reply that was not printed while it arrived. The reply must have no control characters.
pub(crate) fn unprinted(reply: &str) -> &str {
    reply.strip_prefix(take_printed().as_str()).unwrap_or(reply)
}

/// Withdraws the newest reply. Returns whether a part of it was printed.
pub(crate) fn withdraw_reply() -> bool {
    !take_printed().is_empty()
}

fn take_printed() -> String {
    screen().stream.as_mut().map(|stream| std::mem::take(&mut stream.printed)).unwrap_or_default()
}

/// Prints a line for the person who watches. On a terminal it is wrapped at words.
pub(crate) fn say(line: &str) {
    let mut screen = screen();
    let columns = stderr_columns();
    let wrapped = |columns| line.split('\n').map(|line| wrap(line, columns)).collect::<Vec<_>>().join("\n");
    let line = columns.map_or_else(|| line.to_owned(), wrapped);
    if screen.print_above(&line) {
        return;
    }
    // If stderr is closed, the line is lost and the work continues.
    screen.write(&line, |line| io::stderr().write_all(for_stderr(line).as_bytes())).ok();
}

/// Shows the prompt.
pub(crate) fn prompt(sign: &str) {
    let mut stderr = anstream::stderr().lock();
    write!(stderr, "{sign}").and_then(|()| stderr.flush()).ok();
}

/// Removes the edited line and turns bracketed paste off.
pub(crate) fn end_editing() {
    write!(io::stderr(), "\u{1b}[?2004l\r\u{1b}[J").ok();
}

/// Writes lines of the result to stdout.
pub(crate) fn write_out(lines: &str) -> io::Result<()> {
    let mut screen = screen();
    if io::stdout().is_terminal() && screen.print_above(lines) {
        return Ok(());
    }
    let write = |lines: &str| {
        let mut stdout = anstream::stdout().lock();
        unless_closed(writeln!(stdout, "{lines}").and_then(|()| stdout.flush()))
    };
    screen.write(lines, write)
}

/// Writes a line of exactly these bytes to stdout, which is not a terminal.
pub(crate) fn write_out_bytes(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    unless_closed(stdout.write_all(&[line, b"\n"].concat()).and_then(|()| stdout.flush()))
}

/// `head` and `less` close the pipe when they have read enough. That is not an error.
fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Whether stdout shows colours: it is a terminal that can, and the person has not turned them off.
pub(crate) fn stdout_has_colours() -> bool {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => false,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => true,
    }
}

/// Returns the width of stderr, if stderr is a terminal.
pub(crate) fn stderr_columns() -> Option<usize> {
    size(&io::stderr()).map(|(columns, _)| columns)
}

/// Returns the width of stdout, if stdout is a terminal.
pub(crate) fn stdout_columns() -> Option<usize> {
    size(&io::stdout()).map(|(columns, _)| columns)
}

fn size(of: &(impl IsTerminal + rustix::fd::AsFd)) -> Option<(usize, usize)> {
    if !of.is_terminal() {
        return None;
    }
    let reported = tcgetwinsize(of).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    Some(reported.map_or((COLUMNS, ROWS), |size| (usize::from(size.ws_col), usize::from(size.ws_row))))
}

/// Returns how many columns a text takes on a terminal. Colours take none.
pub(crate) fn width(text: &str) -> usize {
    display_width(text)
}

/// Wraps a line at words. All rows after the first are indented by two more columns.
pub(crate) fn wrap(line: &str, columns: usize) -> String {
    let text = line.trim_start_matches(' ');
    let indent = " ".repeat((line.len() - text.len()).min(columns / 3));
    wrap_with(text, columns, &indent, &format!("{indent}  "))
}

/// Wraps a text at words. `first` is put before the first row, `then` before each other row.
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

/// Cuts a row to this many columns. A row that is cut loses its colours.
fn cut_row(row: &str, columns: usize) -> String {
    if width(row) <= columns {
        return row.to_owned();
    }
    cut(&anstream::adapter::strip_str(row).to_string(), columns)
}

/// Cuts a text without colours to this many columns.
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
        assert!(wrap(&long, 20).lines().all(|row| width(row) <= 20), "a word longer than a row is split");
    }

    #[test]
    fn a_text_is_cut_by_what_it_shows() {
        assert_eq!(
            (cut("abcdef", 4), cut("abcd", 4), cut("日本語", 5)),
            ("abc…".into(), "abcd".into(), "日本…".into())
        );
    }
}
