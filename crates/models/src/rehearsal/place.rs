//! A place: a line of a file that bears on the question. Reports are made of places, and are read again by whoever hired.

use std::collections::BTreeSet;
use std::fmt;

use super::source::Source;
use super::words::{Name, cut, names};

/// How much of a line a report shows, in bytes.
const TEXT_BYTES_MAX: usize = 160;
/// Down to which rank a place's standing in its report counts.
const STANDING_RANKS: usize = 12;
/// How many places are read from one report.
const PLACES_READ_MAX: usize = 64;

/// A line that bears on the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: u64,
    pub(super) text: String,
    /// Whose reports reached it. Empty in a report of one's own finds.
    pub(super) by: BTreeSet<String>,
    /// What it was found by, as it is spelled in the line.
    pub(super) shares: Vec<String>,
    /// At which place of a report it was read, from 0.
    pub(super) rank: usize,
}

impl Place {
    pub(super) fn new(path: &str, line: u64, text: &str, shares: Vec<String>) -> Place {
        let text = cut(text.trim(), TEXT_BYTES_MAX).replace('\t', " ");
        Place { path: path.to_owned(), line, text, by: BTreeSet::new(), shares, rank: 0 }
    }

    /// What the line names.
    pub(super) fn names(&self) -> Vec<Name> {
        names(&self.text)
    }

    pub(super) fn source(&self) -> Source {
        Source::of(&self.path).unwrap_or(Source::Docs)
    }

    /// What its rank in its report is worth.
    pub(super) fn standing(&self) -> u64 {
        2 * (STANDING_RANKS.saturating_sub(self.rank)) as u64
    }

    /// `PATH:LINE`.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }

    /// Reads `PATH:LINE: TEXT`.
    fn parse(text: &str) -> Option<Place> {
        let mut from = 0;
        while let Some(colon) = text[from..].find(':').map(|at| at + from) {
            let rest = &text[colon + 1..];
            let digits = rest.find(|found: char| !found.is_ascii_digit()).unwrap_or(rest.len());
            if let (Some(says), Ok(line)) = (rest[digits..].strip_prefix(": "), rest[..digits].parse())
                && colon > 0
            {
                return Some(Place::new(&text[..colon], line, says, Vec::new()));
            }
            from = colon + 1;
        }
        None
    }

    /// Reads the line below a place: `by A, B; shares X, Y`.
    fn annotate(&mut self, note: &str) {
        let list = |text: &str| text.split(", ").map(str::to_owned).collect::<Vec<_>>();
        for part in note.trim().split("; ") {
            if let Some(agents) = part.strip_prefix("by ") {
                self.by.extend(list(agents));
            } else if let Some(shared) = part.strip_prefix("shares ") {
                self.shares = list(shared);
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.address(), self.text)?;
        let by = self.by.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let by = if by.is_empty() { by } else { format!("by {by}") };
        let shares = if self.shares.is_empty() { String::new() } else { format!("shares {}", self.shares.join(", ")) };
        let notes: Vec<String> = [by, shares].into_iter().filter(|note| !note.is_empty()).collect();
        if notes.is_empty() { Ok(()) } else { write!(f, "\n   {}", notes.join("; ")) }
    }
}

/// The places in a report, in its order.
pub(super) fn read_places(report: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for line in report.lines() {
        if let Some(note) = line.strip_prefix("   ") {
            if let Some(place) = places.last_mut() {
                place.annotate(note);
            }
        } else if let Some((number, rest)) = line.split_once(". ")
            && number.parse::<u32>().is_ok()
            && places.len() < PLACES_READ_MAX
        {
            let rank = places.len();
            places.extend(Place::parse(rest).map(|place| Place { rank, ..place }));
        }
    }
    places
}

/// The evidence that a report says is missing.
pub(super) fn read_missing(report: &str) -> Vec<String> {
    report.lines().filter_map(|line| line.strip_prefix("missing: ")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Place, read_places};

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let mut place = Place::new("a b:c/d.log", 7, "  12:30: x: max_size = 9\t!", vec!["max_size".to_owned()]);
        assert_eq!(read_places(&format!("1. {place}")), [place.clone()]);
        place.by.extend(["one".to_owned(), "two".to_owned()]);
        assert_eq!(read_places(&format!("said:\n12. {place}\nmore")), [place]);
        assert_eq!(read_places("1. nothing\n   by me\n2. :7: x\nx. a:1: b"), []);
    }
}
