//! The report of a contract: the line that the evidence has in common, the other lines, the searches, and what is missing.

use std::collections::BTreeSet;

use guildhall_kernel::Outcome;

use crate::LABEL;
use crate::kind::Kind;
use crate::places::{Chain, PLACES_MAX, Place, find_chain, own_places, reported_places};
use crate::results::Line;
use crate::state::{Search, State};
use crate::words::TROUBLE;

/// How many bytes of a report without places are quoted.
const QUOTED_BYTES_MAX: usize = 600;
/// The most searches that a report lists.
const SEARCHES_MAX: usize = 16;

const SEARCHED: &str = "searched: ";
const MISSING: &str = "missing: ";

/// A report. If it is too long, it can be written with fewer places.
pub(crate) struct Report {
    head: Vec<String>,
    pub(crate) places: Vec<String>,
    tail: Vec<String>,
}

impl Report {
    pub(crate) fn of(state: &State) -> Report {
        let has_reports = !state.reports.is_empty();
        let mut places = if has_reports { reported_places(state) } else { Vec::new() };
        let chain = find_chain(state, &places);
        if places.is_empty() {
            places = own_places(state);
        }
        let mut head = vec![LABEL.to_owned()];
        match chain {
            Some(chain) => {
                head.extend(chain_text(&chain));
                // The end of the chain comes first, then the rest of the chain, then all other places.
                let step = |place: &Place| chain.lines.iter().rev().position(|line| *line == place.line);
                places.sort_by_key(|place| step(place).unwrap_or(chain.lines.len()));
            }
            None if places.is_empty() => head.push(nothing(state).to_owned()),
            None if has_reports && state.is_about_trouble() => {
                head.push("No identifier is shared by two kinds of evidence. The lines that match best:".to_owned());
            }
            None => head.push("Lines that match the searches, best first:".to_owned()),
        }
        places.truncate(PLACES_MAX);
        let places = places.iter().enumerate().map(|(at, place)| place_text(at + 1, place)).collect();
        Report { head, places, tail: tail(state) }
    }

    /// Writes the report with this many of its places.
    pub(crate) fn text(&self, count: usize) -> String {
        let left_out = self.places.len() - count;
        let more = (left_out > 0).then(|| format!("({left_out} more lines do not fit into this report)"));
        let lines = self.head.iter().chain(&self.places[..count]).chain(&more).chain(&self.tail);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the text for a report without a line.
fn nothing(state: &State) -> &'static str {
    let is_complete = |search: &Search| search.found.is_ok() && !search.is_cut;
    match (state.reports.is_empty(), state.searches.is_empty()) {
        (false, _) => "The reports of the hires name no line of a file.",
        (true, true) => "Nothing was searched, so nothing was found.",
        (true, false) if state.searches.iter().all(is_complete) => "Nothing matches: no search found a line.",
        (true, false) => "No search found a line, but not every search finished.",
    }
}

/// Returns the lines about the chain and its end.
fn chain_text(chain: &Chain) -> Vec<String> {
    let address = |line: &Line| format!("{}:{}", line.path, line.number);
    let links = std::iter::once(String::new()).chain(chain.links.iter().map(|link| format!(" —{link}→ ")));
    let step = |(link, line): (String, &Line)| format!("{link}{} ({})", address(line), line.kind().name());
    let steps: String = links.zip(&chain.lines).map(step).collect();
    let end = chain.lines.last().map(address).unwrap_or_default();
    vec![format!("The evidence leads to {end}."), format!("chain: {steps}"), "places:".to_owned()]
}

fn place_text(number: usize, place: &Place) -> String {
    let Line { path, number: line, text } = &place.line;
    let by: Vec<&str> = place.by.iter().map(String::as_str).collect();
    let by = (!by.is_empty()).then(|| format!("by {}", by.join(", ")));
    let shares = (!place.shares.is_empty()).then(|| format!("shares {}", place.shares.join(", ")));
    let more = (place.more > 0).then(|| format!("{} more like it", place.more));
    let notes = [by, shares, more].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let notes = if notes.is_empty() { notes } else { format!("\n   {notes}") };
    format!("{number}. {path}:{line}: {text}{notes}")
}

fn tail(state: &State) -> Vec<String> {
    let mut tail = Vec::new();
    if let Some([first, .., last]) = state.around.as_deref() {
        tail.push(format!("{}, lines {} to {}:", first.path, first.number, last.number));
        tail.extend(state.around.iter().flatten().map(|line| format!("   {} | {}", line.number, line.text)));
    }
    for report in &state.reports {
        let how = if report.outcome == Outcome::Done { "" } else { " without finishing" };
        let text = report.text.trim();
        if !text.starts_with(LABEL) || !how.is_empty() {
            let quoted = &text[..text.floor_char_boundary(QUOTED_BYTES_MAX)];
            let quoted = quoted.lines().map(|line| format!("   {line}")).collect::<Vec<_>>().join("\n");
            tail.push(format!("{} reports{how}:\n{quoted}", report.agent));
        }
    }
    tail.extend(searched(state).map(|searched| format!("{SEARCHED}{searched}")));
    let reports = state.reports.iter().flat_map(|report| report.text.lines());
    tail.extend(reports.filter(|line| line.starts_with(MISSING)).map(str::to_owned));
    tail.extend(state.refused.iter().map(|refused| format!("{MISSING}{refused}")));
    tail.extend(state.outstanding().map(|(hire, agent)| format!("{MISSING}the report of {agent} ({hire})")));
    if state.members > 0 && state.hired.is_empty() && state.order.kinds.is_none() {
        let why = if state.is_related() { "" } else { ": no line has more than half of the search terms" };
        tail.push(format!("Nobody was hired{why}."));
    }
    tail
}

/// Lists the searches of this contract and of its hires.
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
    let files = Kind::ALL.into_iter().find(|kind| kind.glob() == search.glob).map_or("files", Kind::name);
    let found = match &search.found {
        Ok(0) => "no line".to_owned(),
        Ok(1) => "1 line".to_owned(),
        Ok(count) if search.is_cut => format!("more than {count} lines"),
        Ok(count) => format!("{count} lines"),
        Err(why) => format!("could not be searched: {why}"),
    };
    let trouble = "`error`, `fail` and similar words".to_owned();
    let what = if search.pattern == TROUBLE { trouble } else { format!("`{}`", search.pattern) };
    format!("{what} in all {files} of the project ({found})")
}
