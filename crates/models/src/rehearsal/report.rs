//! What a rehearsal reports: in plain lines that a person reads and that the next rehearsal up the tree reads as well.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::LABEL;
use super::asked::{Asked, is_about_project};
use super::hiring::absent;
use super::merge::{CHOSEN_MAX, Known, Link, Meeting, PLACES_MAX, meet, together};
use super::place::{Place, read_missing, read_places};
use super::rank::{Ranked, rank};
use super::scene::Scene;
use super::source::words;
use super::words::{Kind, Name, cut, names, stems};

/// How many things are said to be missing.
const MISSING_MAX: usize = 12;

/// What it is worth that a place has a name of the question, beside its words.
const ASKED_NAME: u64 = 100;

const UNKNOWN: &str = "unknown: why it is so; a rehearsal compares lines and understands none of them.";

/// A report, before it is cut to what may be said.
#[derive(Debug)]
pub(super) struct Report {
    heading: String,
    chain: Vec<Link>,
    /// The way to another place that has nearly as much for it.
    rival: Vec<Link>,
    places: Vec<Place>,
    missing: Vec<String>,
}

impl Report {
    /// Reports what a scene has come to.
    pub(super) fn of(scene: &Scene) -> Report {
        if scene.reports.is_empty() { own(scene) } else { merged(scene) }
    }

    /// A report of places that were not compared.
    fn list(heading: String, places: Vec<Place>, missing: Vec<String>) -> Report {
        Report { heading, chain: Vec::new(), rival: Vec::new(), places, missing }
    }

    /// Writes it with so many places at most.
    pub(super) fn text(&self, places_max: usize) -> String {
        let mut text = format!("{LABEL}\n{}\n", self.heading);
        let mut line = |line: &str| writeln!(text, "{line}").expect("a string takes all that is written");
        if !self.chain.is_empty() {
            line(&format!("chain: {}", chain(&self.chain)));
        }
        if !self.rival.is_empty() {
            line(&format!("rival: {}", chain(&self.rival)));
        }
        let places = &self.places[..self.places.len().min(places_max)];
        if !places.is_empty() {
            line("places:");
        }
        for (at, place) in places.iter().enumerate() {
            line(&format!("{}. {place}", at + 1));
        }
        for missing in &self.missing {
            line(&format!("missing: {missing}"));
        }
        if !self.places.is_empty() {
            line(UNKNOWN);
        }
        text.truncate(text.trim_end().len());
        text
    }

    pub(super) fn places_count(&self) -> usize {
        self.places.len()
    }
}

fn chain(links: &[Link]) -> String {
    let mut text = String::new();
    for Link { place, through } in links {
        let arrow = through.as_ref().map(|name| format!(" —{name}→ ")).unwrap_or_default();
        write!(text, "{} ({}){arrow}", place.address(), place.source().word())
            .expect("a string takes all that is written");
    }
    text
}

/// What one found oneself.
fn own(scene: &Scene) -> Report {
    let sources = scene.task.sources.as_deref().unwrap_or_default();
    let is_asked_for = |line: &&Ranked<'_>| scene.task.reads(line.source);
    let places: Vec<Place> = rank(scene).iter().filter(is_asked_for).map(Ranked::place).take(CHOSEN_MAX).collect();
    let missing = missing(scene);
    let is_asked_alone = scene.task.sources.is_none();
    if places.is_empty() || (is_asked_alone && !is_about_project(scene)) {
        return Report::list(nothing(scene), Vec::new(), missing);
    }
    if is_asked_alone {
        return met(scene, &together(places), missing);
    }
    let (count, sources) = (places.len(), words(sources));
    let heading = format!("evidence in {sources}: {count} {}.", if count == 1 { "place" } else { "places" });
    Report::list(heading, places, missing)
}

fn nothing(scene: &Scene) -> String {
    let nobody = if scene.team.is_empty() || !scene.hired.is_empty() { "" } else { " Nobody was hired." };
    match &scene.task.sources {
        _ if scene.tools.is_empty() && scene.lines.is_empty() => {
            "no evidence: there was nothing to look with, and nothing was found before.".to_owned()
        }
        Some(sources) if scene.looks == 0 => {
            format!("did not look in {}: there was too little left to do it with.", words(sources))
        }
        Some(sources) => format!("no evidence in {}: nothing there bears on the question.", words(sources)),
        None if scene.looks == 0 && scene.is_last => {
            "did not look: there was too little left to do it with.".to_owned()
        }
        None => format!("no evidence: nothing in the project matches the question.{nobody}"),
    }
}

/// What others found, put together with what confirms it.
fn merged(scene: &Scene) -> Report {
    let places = all_places(scene);
    let missing = missing(scene);
    if places.is_empty() {
        let heading = "no evidence: no report names a place that bears on the question.".to_owned();
        return Report::list(heading, places, missing);
    }
    met(scene, &places, missing)
}

/// The places of all reports, and those that one's own search has confirmed since.
fn all_places(scene: &Scene) -> Vec<Place> {
    let share = PLACES_MAX / (scene.reports.len() + 1);
    let reported = scene.reports.iter().flat_map(|report| {
        let mut places = read_places(&report.text);
        places.truncate(share.max(1));
        for place in &mut places {
            if place.by.is_empty() {
                place.by.insert(report.agent.clone());
            }
        }
        places
    });
    let confirmed: Vec<Place> = if scene.hired.is_empty() || scene.task.sources.is_some() {
        Vec::new()
    } else {
        let followed = rank(scene).into_iter().filter(|line| line.hop > 0 || line.is_witness);
        followed.take(share).enumerate().map(|(rank, line)| Place { rank, ..line.place() }).collect()
    };
    together(reported.chain(confirmed))
}

/// The names that everybody was told, those of the question included.
fn known(scene: &Scene) -> Known {
    let asked: BTreeSet<String> = names(&scene.task.question).into_iter().map(|name| name.key).collect();
    let told = scene.task.names.iter().map(|name| name.key.clone());
    let handed = scene.handed.iter().cloned().chain(told).chain(asked.iter().cloned()).collect();
    let words = Asked::of(scene);
    Known { spoken: words.spoken(scene), words, asked, handed }
}

/// The names by which what was reported meets.
pub(super) fn meeting_names(scene: &Scene) -> Vec<Name> {
    let Meeting { chain, rival, .. } = meet(&all_places(scene), &known(scene));
    let links = chain.iter().chain(&rival);
    links.filter_map(|link| link.through.as_deref()).flat_map(names).filter(|name| name.kind != Kind::Number).collect()
}

/// What all places come to. For a question about trouble, a chain needs a witness: without a recorded line that tells of it,
/// that things are named alike explains nothing.
fn met(scene: &Scene, found: &[Place], missing: Vec<String>) -> Report {
    let known = known(scene);
    let Meeting { places, chain, rival, has_witness } = meet(found, &known);
    let is_told = has_witness || !known.words.is_trouble;
    let heading = match chain.last() {
        _ if !is_told && scene.task.sources.is_none() => return unwitnessed(found, &known, missing),
        Some(Link { place, .. }) if is_told => format!("The evidence meets at {}.", place.address()),
        Some(Link { place, .. }) => {
            format!("What was read meets at {}; none of it tells of the trouble itself.", place.address())
        }
        None => format!(
            "no evidence that meets: no two of these places share a name that bears on the question.{}",
            most(&places, &known)
        ),
    };
    Report { heading, chain, rival, places, missing }
}

/// Where most words of a question are that is not about trouble.
fn most(places: &[Place], known: &Known) -> String {
    let best = places.first().filter(|place| !known.words.is_trouble && known.words.said(&stems(&place.text)) > 0);
    best.map(|place| format!(" The words of the question say most at {}.", place.address())).unwrap_or_default()
}

/// Where the words of a question about trouble occur that nothing tells of.
fn unwitnessed(found: &[Place], known: &Known, missing: Vec<String>) -> Report {
    let is_asked = |place: &Place| place.names().iter().any(|name| known.asked.contains(&name.key));
    let said = |place: &Place| known.words.said(&stems(&place.text)) + if is_asked(place) { ASKED_NAME } else { 0 };
    let mut places: Vec<Place> = found.iter().filter(|place| said(place) > 0).cloned().collect();
    places.sort_by_key(|place| Reverse(said(place)));
    places.truncate(CHOSEN_MAX);
    let occur = if places.is_empty() { "" } else { " The words of the question occur in these places." };
    let heading = format!("no evidence of the trouble: no line of a log or of recorded output tells of it.{occur}");
    Report::list(heading, places, missing)
}

/// What is missing: whom nobody could hire, who did not finish, what others say is missing.
fn missing(scene: &Scene) -> Vec<String> {
    let mut missing: Vec<String> = absent(scene);
    missing.extend(scene.refusals.iter().map(|(agent, why)| format!("{agent} was not hired ({why})")));
    for report in &scene.reports {
        if report.ending != "complete" {
            missing.push(format!("{} did not finish ({})", report.agent, report.ending));
        } else if read_places(&report.text).is_empty() {
            missing.push(format!("{} found nothing", report.agent));
        }
        missing.extend(read_missing(&report.text));
    }
    let mut told: Vec<String> = Vec::new();
    for what in missing {
        let what = cut(&what, 240).to_owned();
        if !told.contains(&what) && told.len() < MISSING_MAX {
            told.push(what);
        }
    }
    told
}
