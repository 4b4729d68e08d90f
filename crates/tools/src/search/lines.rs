//! Searches a file line by line. Only the bytes that may be shown are stored, so a long line takes more time than a short one
//! but no more memory. The search can stop in the middle of a line.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use crate::search::excerpt::Excerpt;
use crate::search::pattern::{MatchState, OutOfTime, Pattern};
use crate::watch::Watch;

/// How many bytes are read at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// Why a file was not searched to its end.
pub(super) enum Stop {
    /// The time was up.
    OutOfTime,
    /// The result is full.
    Enough,
    /// The file can't be read.
    Unreadable,
}

impl From<Enough> for Stop {
    fn from(_: Enough) -> Stop {
        Stop::Enough
    }
}

impl From<OutOfTime> for Stop {
    fn from(_: OutOfTime) -> Stop {
        Stop::OutOfTime
    }
}

/// The result is full.
pub(super) struct Enough;

/// Something found in a file, in the order of the file.
pub(super) enum Finding<'a> {
    /// A line that matches.
    Match(&'a Line),
    /// A line before or after a matching line.
    Context(&'a Line),
    /// Lines were skipped between two groups of lines.
    Gap,
    /// A line that may match: the pattern must be matched against the whole line, and the line is too long for that.
    TooLong(&'a Line),
}

/// Receives the findings.
pub(super) type Take<'a> = &'a mut dyn FnMut(Finding<'_>) -> Result<(), Enough>;

/// A line, as far as it was read.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) excerpt: Excerpt,
    state: MatchState,
    /// The bytes of the line, as long as it can be matched as a whole.
    whole: Vec<u8>,
}

/// Searches a file up to its end or its first NUL byte, after which it is not text.
pub(super) fn search(
    file: impl Read,
    pattern: &mut Pattern,
    context: usize,
    watch: &Watch,
    take: Take<'_>,
) -> Result<(), Stop> {
    let mut reader = BufReader::with_capacity(PIECE_BYTES, file);
    let mut search = Search { line: Line::new(1, pattern), context: Context::new(context), pattern, watch, take };
    loop {
        let read = match reader.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) if watch.is_over() => return Err(Stop::OutOfTime),
            Err(_) => return Err(Stop::Unreadable),
        };
        let text = if read.contains(&0) { read.split(|byte| *byte == 0).next().unwrap_or_default() } else { read };
        for part in text.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    search.read(end)?;
                    search.end_line()?;
                }
                None => search.read(part)?,
            }
        }
        if read.is_empty() || text.len() < read.len() {
            return if search.line.excerpt.bytes() > 0 { search.end_line() } else { Ok(()) };
        }
        let used = read.len();
        reader.consume(used);
    }
}

struct Search<'a> {
    line: Line,
    context: Context,
    pattern: &'a mut Pattern,
    watch: &'a Watch,
    take: Take<'a>,
}

impl Search<'_> {
    /// Reads the next bytes of the line.
    fn read(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let line = &mut self.line;
        if line.whole.len() + bytes.len() <= self.pattern.whole_line_bytes_max() {
            line.whole.extend_from_slice(bytes);
        }
        let (state, read) = self.pattern.read(line.state, bytes, self.watch)?;
        let (before, after) = bytes.split_at(read);
        line.excerpt.push(before);
        line.set_state(state);
        line.excerpt.push(after);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Stop> {
        let line = &mut self.line;
        line.set_state(self.pattern.end_line(line.state));
        let is_whole = line.whole.len() as u64 == line.excerpt.bytes();
        if line.state == MatchState::NeedsWholeLine && is_whole {
            line.match_whole(self.pattern, self.watch)?;
        }
        match line.state {
            MatchState::Match => self.context.around(&mut self.line, &mut *self.take)?,
            MatchState::NoMatch | MatchState::Undecided(_) => self.context.beside(&mut self.line, &mut *self.take)?,
            MatchState::NeedsWholeLine => {
                (self.take)(Finding::TooLong(line))?;
                self.context.beside(&mut self.line, &mut *self.take)?;
            }
        }
        self.line.begin_next(self.pattern);
        Ok(())
    }
}

impl Line {
    fn new(number: u64, pattern: &mut Pattern) -> Line {
        Line { number, excerpt: Excerpt::default(), state: pattern.begin_line(), whole: Vec::new() }
    }

    fn begin_next(&mut self, pattern: &mut Pattern) {
        let Line { number, excerpt, state, whole } = self;
        excerpt.clear();
        whole.clear();
        (*number, *state) = (*number + 1, pattern.begin_line());
    }

    /// Records the state after the bytes so far.
    fn set_state(&mut self, state: MatchState) {
        if state == MatchState::Match && self.state != MatchState::Match {
            self.excerpt.mark_match_end();
        }
        self.state = state;
    }

    /// Matches the whole line in one call.
    fn match_whole(&mut self, pattern: &Pattern, watch: &Watch) -> Result<(), OutOfTime> {
        let end = pattern.match_whole_line(&self.whole, watch)?;
        self.state = if end.is_some() { MatchState::Match } else { MatchState::NoMatch };
        if let Some(end) = end {
            let (before, after) = self.whole.split_at(end);
            self.excerpt.clear();
            self.excerpt.push(before);
            self.excerpt.mark_match_end();
            self.excerpt.push(after);
        }
        Ok(())
    }

    /// Returns the line and leaves an empty one.
    fn take(&mut self) -> Line {
        let Line { number, state, .. } = *self;
        let excerpt = std::mem::take(&mut self.excerpt);
        Line { number, excerpt, state, whole: Vec::new() }
    }
}

/// The lines around the matches.
struct Context {
    /// How many lines are shown before and after each match.
    lines: usize,
    /// The last lines that were not shown.
    before: VecDeque<Line>,
    /// How many of the following lines are shown.
    after: usize,
    /// The number of the last line that was shown.
    last_shown: Option<u64>,
}

impl Context {
    fn new(lines: usize) -> Context {
        Context { lines, before: VecDeque::with_capacity(lines), after: 0, last_shown: None }
    }

    /// Shows a matching line, after the lines before it.
    fn around(&mut self, line: &mut Line, take: Take<'_>) -> Result<(), Enough> {
        let first = self.before.front().map_or(line.number, |before| before.number);
        if self.lines > 0 && self.last_shown.is_some_and(|last| last + 1 < first) {
            take(Finding::Gap)?;
        }
        for before in self.before.drain(..) {
            take(Finding::Context(&before))?;
        }
        take(Finding::Match(line))?;
        (self.after, self.last_shown) = (self.lines, Some(line.number));
        Ok(())
    }

    /// Shows a line after a match, or stores it in case a match follows.
    fn beside(&mut self, line: &mut Line, take: Take<'_>) -> Result<(), Enough> {
        if self.after > 0 {
            take(Finding::Context(line))?;
            (self.after, self.last_shown) = (self.after - 1, Some(line.number));
        } else if self.lines > 0 {
            if self.before.len() == self.lines {
                self.before.pop_front();
            }
            self.before.push_back(line.take());
        }
        Ok(())
    }
}
