//! Ranks lines by how well they match the question, and finds the line that different kinds of evidence have in common.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::kind::Kind;
use crate::order;
use crate::results::Line;
use crate::state::{State, is_import};
use crate::words::{Term, mentions_trouble, names};

/// The most places of one report.
pub(crate) const PLACES_MAX: usize = 12;
/// The most settings that are searched for.
const SETTINGS_MAX: usize = 3;
/// The number of matches that is assumed for a search that was cut off.
const CUT_OFF_MATCHES: u64 = 1000;

/// Words before the name in a definition.
const DEFINING: &str = "class const def enum fn func function interface let mod static struct trait type var";

/// A line and its score.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) line: Line,
    /// The hires that reported the line.
    pub(crate) by: BTreeSet<String>,
    /// The search terms that are in the line.
    pub(crate) shares: Vec<String>,
    /// How many similar lines the same file has.
    pub(crate) more: usize,
    score: u64,
}

/// Returns the places that the contract found itself, best first.
pub(crate) fn own_places(state: &State) -> Vec<Place> {
    let kinds = state.order.kinds.as_ref().filter(|kinds| !kinds.is_empty());
    let is_wanted = |line: &&Line| kinds.is_none_or(|kinds| kinds.contains(&line.kind()));
    let mut lines: Vec<&Line> = state.lines.iter().collect();
    if lines.iter().any(is_wanted) {
        lines.retain(is_wanted);
    }
    let mut places = ranked(state, lines);
    if places.iter().any(|place| place.score > 0) {
        places.retain(|place| place.score > 0);
    }
    places
}

/// Returns the places in the reports, and the lines that the contract found for settings in the reports. Lines that several
/// reports contain have a higher score. The kinds of evidence alternate, each with its best line first.
pub(crate) fn reported_places(state: &State) -> Vec<Place> {
    let mut places = ranked(state, state.order.quoted.iter().collect());
    for report in &state.reports {
        let mut rest = report.text.lines().peekable();
        let mut worth = PLACES_MAX as u64 + 1;
        while let Some(text) = rest.next() {
            let Some(line) = order::places(text).pop() else { continue };
            let finders = rest.peek().and_then(|note| note.strip_prefix("   by ")?.split("; ").next());
            let finders = finders.map_or(vec![report.agent.as_str()], |by| by.split(", ").collect());
            let place = find_or_add(state, &mut places, &line);
            place.by.extend(finders.into_iter().map(str::to_owned));
            place.score += worth;
            worth = worth.saturating_sub(1).max(1);
        }
    }
    let settings = settings(state, &places);
    for line in state.lines.iter().filter(|line| settings.iter().any(|name| name.is_in(&line.text))) {
        find_or_add(state, &mut places, line).score += 1;
    }
    places.sort_by_key(|place| Reverse(place.score));
    let mut turns: Vec<(usize, Place)> = Vec::new();
    for place in places {
        let before = turns.iter().filter(|(_, other)| other.line.kind() == place.line.kind()).count();
        turns.push((before, place));
    }
    turns.sort_by_key(|(before, _)| *before);
    turns.into_iter().map(|(_, place)| place).collect()
}

/// Returns the names of settings in the reports whose value is a clue. The names lead from the configuration to the code that reads
/// the settings.
pub(crate) fn settings(state: &State, places: &[Place]) -> Vec<Term> {
    let clues = state.clues();
    let is_set =
        |place: &&Place| place.line.kind() == Kind::Config && clues.iter().any(|clue| clue.is_in(&place.line.text));
    let names = places.iter().filter(is_set).flat_map(|place| names(&place.line.text)).map(Term::Name);
    names.filter(|name| !clues.contains(name)).take(SETTINGS_MAX).collect()
}

/// Returns the place of a line. Adds the place if it is new.
fn find_or_add<'a>(state: &State, places: &'a mut Vec<Place>, line: &Line) -> &'a mut Place {
    let is_known = |place: &Place| (&place.line.path, place.line.number) == (&line.path, line.number);
    let at = places.iter().position(is_known).unwrap_or_else(|| {
        places.push(Place { score: 0, ..Scores::new(state, &[]).place(line) });
        places.len() - 1
    });
    &mut places[at]
}

fn ranked(state: &State, lines: Vec<&Line>) -> Vec<Place> {
    let scores = Scores::new(state, &lines);
    // Log lines with the same message differ only in digits.
    let shape = |line: &Line| -> String { line.text.chars().filter(|letter| !letter.is_ascii_digit()).collect() };
    let mut places: Vec<Place> = Vec::new();
    for line in lines {
        let is_like = |place: &&mut Place| place.line.path == line.path && shape(&place.line) == shape(line);
        match places.iter_mut().find(is_like) {
            Some(place) => place.more += 1,
            None => places.push(scores.place(line)),
        }
    }
    places.sort_by_key(|place| Reverse(place.score));
    places
}

/// Scores lines by the search terms.
struct Scores<'a> {
    state: &'a State,
    clues: Vec<Term>,
    neighbours: Vec<Term>,
}

impl<'a> Scores<'a> {
    fn new(state: &'a State, lines: &[&Line]) -> Scores<'a> {
        let clues = state.clues();
        Scores { state, neighbours: state.neighbours(lines, &clues), clues }
    }

    fn place(&self, line: &Line) -> Place {
        let has = |term: &&Term| term.is_in(&line.text);
        let clues: Vec<&Term> = self.clues.iter().filter(has).collect();
        // Of the lines with an identifier next to a clue, the line that defines the identifier is the best.
        let neighbours: Vec<&Term> = self.neighbours.iter().filter(has).collect();
        let is_set = neighbours.iter().any(|term| defines(&line.text, term.text()));
        let asked: Vec<&Term> = self.state.terms.iter().filter(has).collect();
        let worth = |term: &&Term| match term {
            Term::Name(name) => 8 + if defines(&line.text, name) { 4 } else { 0 },
            Term::Number(_) | Term::Word(_) => 4,
        };
        // Several words of the question in one line count more than each alone, rare words more than frequent ones, clues more still.
        let words = asked.iter().map(|term| self.weight(term) + worth(term)).sum::<u64>() * asked.len() as u64;
        let words = if self.clues.is_empty() { words } else { asked.len() as u64 };
        let trouble = self.state.is_about_trouble() && line.kind() == Kind::Logs && mentions_trouble(&line.text);
        let beside = if is_set { 48 } else { neighbours.len() as u64 };
        let score = 4 * clues.iter().map(worth).sum::<u64>() + beside + words + if trouble { 16 } else { 0 };
        let score = if is_import(&line.text) { score / 4 } else { score };
        let score = if self.state.is_not_evidence(line) { 0 } else { score };
        let shares = clues.into_iter().chain(neighbours).chain(asked).map(|term| term.text().to_owned()).collect();
        Place { line: line.clone(), by: BTreeSet::new(), shares, more: 0, score }
    }

    fn weight(&self, term: &Term) -> u64 {
        let pattern = term.pattern();
        let searches = self.state.searches.iter().filter(|search| search.pattern == pattern);
        let count = |found: &Result<usize, String>| found.as_ref().map_or(0, |count| *count as u64);
        let count: u64 =
            searches.map(|search| if search.is_cut { CUT_OFF_MATCHES } else { count(&search.found) }).sum();
        1 + 32 / (1 + count)
    }
}

/// Whether a line defines a name: the name comes after a defining word, or before a value.
fn defines(text: &str, name: &str) -> bool {
    let Some((before, after)) = text.split_once(name) else { return false };
    let word = before.trim_end().rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let after = after.trim_start_matches(['"', '\'']).trim_start();
    !word.is_empty() && DEFINING.split(' ').any(|defining| defining == word)
        || after.starts_with('=') && !after.starts_with("==")
        || after.starts_with(": ")
}

/// Lines of different kinds of evidence, from the first observation to the code, and what each line has in common with the next.
pub(crate) struct Chain {
    pub(crate) lines: Vec<Line>,
    pub(crate) links: Vec<String>,
}

/// Finds the identifier that most kinds of evidence have in common, and the chain to the line of code that contains it. Clues do not
/// count, because every hire searches for them.
pub(crate) fn find_chain(state: &State, places: &[Place]) -> Option<Chain> {
    let clues = state.clues();
    let is_evidence = |place: &&Place| place.score > 0 && !is_import(&place.line.text);
    let evidence: Vec<(&Place, Vec<String>)> =
        places.iter().filter(is_evidence).map(|place| (place, names(&place.line.text))).collect();
    let mut shared: Vec<(Vec<&Place>, &String)> = Vec::new();
    for name in evidence.iter().flat_map(|(_, names)| names) {
        let is_new = shared.iter().all(|(_, known)| *known != name);
        if is_new && !clues.iter().any(|clue| clue.text() == name) {
            let having = evidence.iter().filter(|(_, names)| names.contains(name)).map(|(place, _)| *place);
            shared.push((having.collect(), name));
        }
    }
    let kinds = |having: &[&Place]| having.iter().map(|place| place.line.kind()).collect::<BTreeSet<_>>().len();
    shared.retain(|(having, _)| kinds(having) > 1);
    shared.sort_by_key(|(having, _)| Reverse((kinds(having), having.iter().map(|place| place.score).max())));
    let (having, name) = shared.into_iter().next()?;
    let best = |kind: Kind| having.iter().copied().find(|place| place.line.kind() == kind);
    let end = Kind::ALL.into_iter().find_map(best)?;
    let config = best(Kind::Config).filter(|config| config.line != end.line);
    let is_seen = |place: &&Place| {
        place.line.kind() == Kind::Logs && link(&place.line, &config.unwrap_or(end).line, &clues).is_some()
    };
    // Logs are the first line of a chain about trouble; otherwise the documentation is.
    let seen = places.iter().filter(|_| state.is_about_trouble()).find(is_seen);
    let first = seen.or_else(|| [Kind::Docs, Kind::Logs, Kind::Tests].into_iter().find_map(best));
    let first = first.filter(|first| first.line != end.line);
    let steps: Vec<Line> = first.into_iter().chain(config).chain([end]).map(|place| place.line.clone()).collect();
    let shared_name = |pair: &[Line]| link(&pair[0], &pair[1], &clues).unwrap_or_else(|| name.clone());
    let links = steps.windows(2).map(shared_name).collect();
    Some(Chain { lines: steps, links })
}

/// Returns what two lines have in common: an identifier, or a clue.
fn link(one: &Line, other: &Line, clues: &[Term]) -> Option<String> {
    let other_names = names(&other.text);
    let shared = names(&one.text).into_iter().find(|name| other_names.contains(name));
    let is_shared = |clue: &&Term| clue.is_in(&one.text) && clue.is_in(&other.text);
    shared.or_else(|| clues.iter().find(is_shared).map(|clue| clue.text().to_owned()))
}
