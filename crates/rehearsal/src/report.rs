//! What a contract reports: the line at which the evidence meets, the other lines, what was searched, and what is missing.

use std::collections::BTreeSet;

use guildhall_kernel::Outcome;

use crate::LABEL;
use crate::kind::Kind;
use crate::places::{Meeting, PLACES_MAX, Place, meeting, places_of, reported};
use crate::results::Line;
use crate::state::{Search, State};
use crate::words::TROUBLE_PATTERN;

/// How much of a report without places is quoted, in bytes.
const QUOTED_BYTES_MAX: usize = 600;
/// How many searches a report lists one by one.
const SEARCHES_MAX: usize = 16;

const SEARCHED: &str = "searched: ";
const MISSING: &str = "missing: ";

/// A report, which can be written with fewer places if it must be short.
pub(crate) struct Report {
    head: Vec<String>,
    places: Vec<String>,
    tail: Vec<String>,
}

impl Report {
    pub(crate) fn of(state: &State) -> Report {
        let has_reports = !state.reports.is_empty();
        let mut places = if has_reports { reported(state) } else { Vec::new() };
        let met = meeting(state, &places);
        if places.is_empty() {
            places = places_of(state);
        }
        let mut head = vec![LABEL.to_owned()];
        match met {
            Some(met) => {
                head.extend(said(&met));
                put_first(&mut places, &met);
            }
            None if places.is_empty() => head.push(nothing(state)),
            None if has_reports => {
                head.push("No identifier is shared by two kinds of evidence. The lines that match best:".to_owned());
            }
            None => head.push("Lines that match what was searched for, the best first:".to_owned()),
        }
        places.truncate(PLACES_MAX);
        let places = places.iter().enumerate().map(|(at, place)| shown(at + 1, place)).collect();
        Report { head, places, tail: tail(state) }
    }

    pub(crate) fn places_count(&self) -> usize {
        self.places.len()
    }

    /// Writes the report with so many of its places.
    pub(crate) fn text(&self, count: usize) -> String {
        let left_out = self.places.len() - count;
        let more = (left_out > 0).then(|| format!("({left_out} more lines are left out for lack of room)"));
        let lines = self.head.iter().chain(&self.places[..count]).chain(&more).chain(&self.tail);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// What is said when there is no line to show.
fn nothing(state: &State) -> String {
    let searches = state.searches.iter().filter(|search| search.found.is_ok()).count();
    if state.reports.iter().any(|report| !report.text.is_empty()) {
        "The reports name no line.".to_owned()
    } else if searches > 0 {
        "Nothing matches: no search found a line.".to_owned()
    } else {
        "Nothing was searched, so nothing was found.".to_owned()
    }
}

/// The lines that tell where the evidence meets, and the way there.
fn said(met: &Meeting) -> Vec<String> {
    let address = |line: &Line| format!("{}:{}", line.path, line.number);
    let mut chain = String::new();
    for (at, line) in met.way.iter().enumerate() {
        let link = at.checked_sub(1).map(|before| format!(" —{}→ ", met.shared[before])).unwrap_or_default();
        chain.push_str(&format!("{link}{} ({})", address(line), line.kind().word()));
    }
    let end = met.way.last().map(address).unwrap_or_default();
    vec![format!("The evidence meets at {end}."), format!("chain: {chain}"), "places:".to_owned()]
}

/// Puts the way to where the evidence meets before all other places, its end first.
fn put_first(places: &mut [Place], met: &Meeting) {
    let step = |place: &Place| met.way.iter().rev().position(|line| *line == place.line);
    places.sort_by_key(|place| step(place).unwrap_or(met.way.len()));
    for place in places.iter_mut().filter(|place| place.line.text.contains(&met.name)) {
        if !place.shares.contains(&met.name) {
            place.shares.insert(0, met.name.clone());
        }
    }
}

fn shown(number: usize, place: &Place) -> String {
    let Line { path, number: line, text } = &place.line;
    let mut notes = Vec::new();
    if !place.by.is_empty() {
        notes.push(format!("by {}", place.by.iter().map(String::as_str).collect::<Vec<_>>().join(", ")));
    }
    if !place.shares.is_empty() {
        notes.push(format!("shares {}", place.shares.join(", ")));
    }
    if place.more > 0 {
        notes.push(format!("{} more like it", place.more));
    }
    let notes = if notes.is_empty() { String::new() } else { format!("\n   {}", notes.join("; ")) };
    format!("{number}. {path}:{line}: {text}{notes}")
}

fn tail(state: &State) -> Vec<String> {
    let mut tail = Vec::new();
    if let Some([first, .., last]) = state.around.as_deref() {
        tail.push(format!("{}, lines {} to {}:", first.path, first.number, last.number));
        tail.extend(state.around.iter().flatten().map(|line| format!("   {} | {}", line.number, line.text)));
    }
    for report in &state.reports {
        let how = match report.outcome {
            Outcome::Done => "",
            Outcome::Exhausted(_) => " (ended early)",
            Outcome::Failed => " (failed)",
            Outcome::Cancelled => " (cancelled)",
        };
        let says = report.text.trim();
        if !says.starts_with(LABEL) || !how.is_empty() {
            let quoted = &says[..says.floor_char_boundary(QUOTED_BYTES_MAX)];
            let quoted = quoted.lines().map(|line| format!("   {line}")).collect::<Vec<_>>().join("\n");
            tail.push(format!("{} reports{how}:\n{quoted}", report.agent));
        }
    }
    tail.extend(searched(state).map(|searched| format!("{SEARCHED}{searched}")));
    let reports = state.reports.iter().flat_map(|report| report.text.lines());
    tail.extend(reports.filter(|line| line.starts_with(MISSING)).map(str::to_owned));
    tail.extend(state.refused.iter().map(|(agent, why)| format!("{MISSING}{agent} was not hired ({why})")));
    tail.extend(state.outstanding().map(|(hire, agent)| format!("{MISSING}the report of {agent} ({hire})")));
    if state.has_team && state.hired.is_empty() && state.order.kinds.is_none() {
        let why = if state.is_related() { "" } else { ": no line has more than half of what is asked" };
        tail.push(format!("Nobody was hired{why}."));
    }
    tail
}

/// What this contract and its hires searched for, and where.
fn searched(state: &State) -> Option<String> {
    let own = state.searches.iter().map(search);
    let lines = state.reports.iter().flat_map(|report| report.text.lines());
    let theirs = lines.filter_map(|line| line.strip_prefix(SEARCHED)).flat_map(|line| line.split("; "));
    let mut known = BTreeSet::new();
    let mut all: Vec<String> = own.chain(theirs.map(str::to_owned)).collect();
    all.retain(|search| known.insert(search.clone()));
    let more = all.len().saturating_sub(SEARCHES_MAX);
    all.truncate(SEARCHES_MAX);
    all.extend((more > 0).then(|| format!("and {more} more searches")));
    (!all.is_empty()).then(|| all.join("; "))
}

fn search(search: &Search) -> String {
    let files = Kind::ALL.into_iter().find(|kind| kind.glob() == search.glob).map_or("files", Kind::word);
    let place = if search.path.is_empty() { "the project".to_owned() } else { search.path.clone() };
    let found = match &search.found {
        Ok(0) => "no line".to_owned(),
        Ok(1) => "1 line".to_owned(),
        Ok(count) if search.is_cut => format!("more than {count} lines"),
        Ok(count) => format!("{count} lines"),
        Err(why) => format!("could not be searched: {why}"),
    };
    let what = if search.pattern == TROUBLE_PATTERN {
        "`error`, `fail` and other words of trouble"
    } else {
        &format!("`{}`", search.pattern)
    };
    format!("{what} in all {files} of {place} ({found})")
}
