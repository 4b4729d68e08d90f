//! The lines that bear on a question, the best first, and the line at which the evidence meets.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::kind::Kind;
use crate::order;
use crate::results::Line;
use crate::state::{State, is_import};
use crate::words::{Term, names, tells_of_trouble};

/// How many places one report names.
pub(crate) const PLACES_MAX: usize = 12;
/// How many settings of reports are looked up.
const SETTINGS_MAX: usize = 3;
/// How many matches are assumed for a search that was cut off.
const OFTEN: u64 = 1000;

/// Words after which a name is defined.
const DEFINING: &str = "class const def enum fn func function interface let mod static struct trait type var";

/// A line with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) line: Line,
    /// The hires that reported it.
    pub(crate) by: BTreeSet<String>,
    /// What it has of what is looked for.
    pub(crate) shares: Vec<String>,
    /// How many lines like it the same file has.
    pub(crate) more: usize,
    score: u64,
}

/// What a contract found itself, the best first.
pub(crate) fn places_of(state: &State) -> Vec<Place> {
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

/// What the hires reported, and what the contract found of the settings in their reports. Lines that several reports have come
/// first; then the best of each kind of evidence in turn.
pub(crate) fn reported(state: &State) -> Vec<Place> {
    let mut places = ranked(state, state.order.quoted.iter().collect());
    for report in &state.reports {
        let mut rest = report.text.lines().peekable();
        let mut worth = PLACES_MAX as u64 + 1;
        while let Some(text) = rest.next() {
            let Some(line) = order::places(text).pop() else { continue };
            let finders = rest.peek().and_then(|note| note.strip_prefix("   by ")?.split("; ").next());
            let finders = finders.map_or(vec![report.agent.as_str()], |by| by.split(", ").collect());
            let place = known(state, &mut places, &line);
            place.by.extend(finders.into_iter().map(str::to_owned));
            place.score += worth;
            worth = worth.saturating_sub(1).max(1);
        }
    }
    let settings = settings(state, &places);
    for line in state.lines.iter().filter(|line| settings.iter().any(|name| name.is_in(&line.text))) {
        known(state, &mut places, line).score += 1;
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

/// The settings in reports that are set to a clue: their names lead from the configuration to the code that reads them.
pub(crate) fn settings(state: &State, places: &[Place]) -> Vec<Term> {
    let clues = state.clues();
    let is_set =
        |place: &&Place| place.line.kind() == Kind::Config && clues.iter().any(|clue| clue.is_in(&place.line.text));
    let names = places.iter().filter(is_set).flat_map(|place| names(&place.line.text)).map(Term::Name);
    names.filter(|name| !clues.contains(name)).take(SETTINGS_MAX).collect()
}

/// The place of a line, which is added if it is new.
fn known<'a>(state: &State, places: &'a mut Vec<Place>, line: &Line) -> &'a mut Place {
    let is_known = |place: &Place| (&place.line.path, place.line.number) == (&line.path, line.number);
    let at = places.iter().position(is_known).unwrap_or_else(|| {
        places.push(Place { score: 0, ..Scores::new(state, &[]).place(line) });
        places.len() - 1
    });
    &mut places[at]
}

fn ranked(state: &State, lines: Vec<&Line>) -> Vec<Place> {
    let scores = Scores::new(state, &lines);
    // Two lines of a log that say the same differ in their digits.
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

/// What is looked for.
struct Scores<'a> {
    state: &'a State,
    clues: Vec<Term>,
    followed: Vec<Term>,
}

impl<'a> Scores<'a> {
    fn new(state: &'a State, lines: &[&Line]) -> Scores<'a> {
        let clues = state.clues();
        Scores { state, followed: state.followed(lines, &clues), clues }
    }

    fn place(&self, line: &Line) -> Place {
        let has = |term: &&Term| term.is_in(&line.text);
        let clues: Vec<&Term> = self.clues.iter().filter(has).collect();
        // Of what stands beside a clue, the line that says what it is says most.
        let followed: Vec<&Term> = self.followed.iter().filter(has).collect();
        let is_set = followed.iter().any(|term| defines(&line.text, term.text()));
        let asked: Vec<&Term> = self.state.terms.iter().filter(has).collect();
        let worth = |term: &&Term| match term {
            Term::Name(name) => 8 + if defines(&line.text, name) { 4 } else { 0 },
            Term::Number(_) | Term::Word(_) => 4,
        };
        // Several words of the question say more than each alone, and rare ones more than frequent ones; clues say more.
        let words = asked.iter().map(|term| self.weight(term) + worth(term)).sum::<u64>() * asked.len() as u64;
        let words = if self.clues.is_empty() { words } else { asked.len() as u64 };
        let trouble = self.state.is_about_trouble() && line.kind() == Kind::Logs && tells_of_trouble(&line.text);
        let beside = if is_set { 48 } else { followed.len() as u64 };
        let score = 4 * clues.iter().map(worth).sum::<u64>() + beside + words + if trouble { 16 } else { 0 };
        let score = if is_import(&line.text) { score / 4 } else { score };
        let score = if self.state.is_no_evidence(line) { 0 } else { score };
        let shares = clues.into_iter().chain(followed).chain(asked).map(|term| term.text().to_owned()).collect();
        Place { line: line.clone(), by: BTreeSet::new(), shares, more: 0, score }
    }

    fn weight(&self, term: &Term) -> u64 {
        let pattern = term.pattern();
        let searches = self.state.searches.iter().filter(|search| search.pattern == pattern);
        let count = |found: &Result<usize, String>| found.as_ref().map_or(0, |count| *count as u64);
        let count: u64 = searches.map(|search| if search.is_cut { OFTEN } else { count(&search.found) }).sum();
        1 + 32 / (1 + count)
    }
}

/// Whether a line defines a name: after a word that says so, or with a value behind it.
fn defines(text: &str, name: &str) -> bool {
    let Some((before, after)) = text.split_once(name) else { return false };
    let word = before.trim_end().rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let after = after.trim_start_matches(['"', '\'']).trim_start();
    !word.is_empty() && DEFINING.split(' ').any(|defining| defining == word)
        || after.starts_with('=') && !after.starts_with("==")
        || after.starts_with(": ")
}

/// Where the evidence meets: the way there, from what was seen to what was written, and what each step shares with the next.
pub(crate) struct Meeting {
    pub(crate) way: Vec<Line>,
    pub(crate) shared: Vec<String>,
}

/// Finds the identifier that most kinds of evidence have in common, and the line of code that has it. Clues do not count: every
/// hire was told to look for them.
pub(crate) fn meeting(state: &State, places: &[Place]) -> Option<Meeting> {
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
    // Logs tell what happened; to a question about how things are, the documentation comes first.
    let seen = places.iter().filter(|_| state.is_about_trouble()).find(is_seen);
    let first = seen.or_else(|| [Kind::Docs, Kind::Logs, Kind::Tests].into_iter().find_map(best));
    let first = first.filter(|first| first.line != end.line);
    let way: Vec<Line> = first.into_iter().chain(config).chain([end]).map(|place| place.line.clone()).collect();
    let step = |pair: &[Line]| link(&pair[0], &pair[1], &clues).unwrap_or_else(|| name.clone());
    let shared = way.windows(2).map(step).collect();
    Some(Meeting { way, shared })
}

/// What two lines have in common: an identifier, or a number that is a clue.
fn link(one: &Line, other: &Line, clues: &[Term]) -> Option<String> {
    let other_names = names(&other.text);
    let shared = names(&one.text).into_iter().find(|name| other_names.contains(name));
    let is_shared = |clue: &&Term| clue.is_in(&one.text) && clue.is_in(&other.text);
    shared.or_else(|| clues.iter().find(is_shared).map(|clue| clue.text().to_owned()))
}
