//! Where the evidence meets: places that independent reports, or kinds of evidence, reach through the same name or number.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::asked::Asked;
use super::place::Place;
use super::source::Source;
use super::words::{Kind, Name, is_grave, is_import, names, stems};

/// How many places are compared with each other.
pub(super) const PLACES_MAX: usize = 72;
/// How many names a line has at most that says something of each.
const BESIDE_MAX: usize = 4;
/// How many places come out of it.
pub(super) const CHOSEN_MAX: usize = 12;
/// How much more words say than names, if a question has only words.
const WORDS_FIRST: u64 = 8;
/// How many of the best places are tried as the one where all meets.
const TRIED_MAX: usize = 12;

/// Places, put together.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    /// The best places: the one where the evidence meets first, then those on the way to it, then what else says most.
    pub(super) places: Vec<Place>,
    /// How one place leads to the next, ending where the evidence meets. Empty: nothing meets.
    pub(super) chain: Vec<Link>,
    /// The way to another place, by another name, that has nearly as much for it.
    pub(super) rival: Vec<Link>,
    /// Whether any place is a recorded line that tells of the trouble that is asked about.
    pub(super) has_witness: bool,
}

/// What all began with.
#[derive(Debug)]
pub(super) struct Known {
    /// The words of the question.
    pub(super) words: Asked,
    /// The files that are known to have some of them.
    pub(super) spoken: BTreeSet<String>,
    /// The names of the question.
    pub(super) asked: BTreeSet<String>,
    /// All names, the question's included: that several found them is no coincidence.
    pub(super) handed: BTreeSet<String>,
}

/// A step of the chain: a place, and what leads on from it. The last leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) place: Place,
    pub(super) through: Option<String>,
}

/// Takes what several found of the same place as one.
pub(super) fn together(found: impl IntoIterator<Item = Place>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut known: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for place in found {
        match known.get(&(place.path.clone(), place.line)) {
            Some(at) => {
                let before = &mut places[*at];
                before.rank = before.rank.min(place.rank);
                before.by.extend(place.by);
                let new = place.shares.into_iter().filter(|share| !before.shares.contains(share)).collect::<Vec<_>>();
                before.shares.extend(new);
            }
            None if places.len() < PLACES_MAX => {
                known.insert((place.path.clone(), place.line), places.len());
                places.push(place);
            }
            None => {}
        }
    }
    places
}

/// Compares all places and finds where they meet. What was handed to everybody is no independent find.
pub(super) fn meet(places: &[Place], known: &Known) -> Meeting {
    let table = Table::of(places, known);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|at| (Reverse(table.standing(*at, places)), *at));
    let tried = order.iter().copied().filter(|at| table.is_telling(*at)).take(TRIED_MAX);
    let mut ways: Vec<(u64, Way)> =
        tried.filter_map(|end| table.way_to(end).map(|way| (table.value(end, &way), way))).collect();
    let has_witness = table.witnesses().next().is_some();
    ways.retain(|(_, way)| table.is_on_topic(way) && (!has_witness || table.is_witnessed(way)));
    ways.sort_by_key(|(value, _)| Reverse(*value));
    let best = ways.first().map(|(_, way)| way.steps.clone()).unwrap_or_default();
    let chain = table.links(&best, places);
    let rivals = ways.iter().skip(1).filter(|(value, _)| value * 3 >= ways[0].0 * 2);
    let mut rivals = rivals.map(|(_, way)| table.links(&way.steps, places));
    let rival = rivals.find(|rival| is_other(rival, &chain)).unwrap_or_default();
    let chosen = table.varied(&best, &order, places);
    Meeting { places: chosen.into_iter().map(|at| places[at].clone()).collect(), chain, rival, has_witness }
}

/// Whether one way leads to its end by another name than the other.
fn is_other(one: &[Link], other: &[Link]) -> bool {
    let last = |links: &[Link]| links.iter().rev().find_map(|link| link.through.clone());
    last(one) != last(other)
}

/// A way from where something was seen to where it meets the rest.
struct Way {
    steps: Vec<usize>,
    value: u64,
}

struct Row {
    source: Source,
    path: String,
    /// Whether it tells of trouble, and the question is about some.
    is_grave: bool,
    /// Whether its file has words of the question.
    is_spoken: bool,
    /// What its words of the question are worth.
    said: u64,
    is_import: bool,
    names: BTreeMap<String, Name>,
    /// Those of them that have a word of the question.
    worded: BTreeSet<String>,
    by: BTreeSet<String>,
    /// What it shares with others of other kinds.
    worth: u64,
}

impl Row {
    fn has(&self, name: &Name) -> bool {
        self.names.contains_key(&name.key)
    }
}

/// What each place names, and who else names it.
struct Table {
    rows: Vec<Row>,
    /// The names that somebody came upon and followed: what else two lines share may be chance.
    followed: BTreeSet<String>,
    /// The names that the question is about.
    asked: BTreeSet<String>,
    /// Whether it is about trouble.
    is_trouble: bool,
    /// The most that the words of a place are worth.
    said_max: u64,
    /// Which places have a name beside one that was handed to everybody.
    backing: BTreeMap<String, BTreeSet<usize>>,
}

impl Table {
    fn of(places: &[Place], known: &Known) -> Table {
        let handed = &known.handed;
        let followed = places.iter().flat_map(|place| &place.shares).flat_map(|share| names(share));
        let followed = followed.map(|name| name.key).filter(|key| !handed.contains(key)).collect();
        let rows = places.iter().map(|place| {
            let names: BTreeMap<String, Name> =
                place.names().into_iter().map(|name| (name.key.clone(), name)).collect();
            let has_word = |key: &&String| known.words.said(&stems(key)) > 0;
            let worded = names.keys().filter(has_word).cloned().collect();
            let said = stems(&place.text);
            Row {
                source: place.source(),
                path: place.path.clone(),
                is_grave: known.words.is_trouble && is_grave(&said),
                is_spoken: known.words.said(&said) > 0 || known.spoken.contains(&place.path),
                said: known.words.said(&said),
                is_import: is_import(&place.text),
                names,
                worded,
                by: place.by.clone(),
                worth: 0,
            }
        });
        let rows: Vec<Row> = rows.collect();
        let mut table = Table {
            said_max: rows.iter().map(|row| row.said).max().unwrap_or(0),
            rows,
            followed,
            asked: known.asked.clone(),
            is_trouble: known.words.is_trouble,
            backing: BTreeMap::new(),
        };
        for (at, row) in table.rows.iter().enumerate() {
            let is_handed = |key: &String| handed.contains(key);
            if !row.is_import && row.names.len() <= BESIDE_MAX && row.names.keys().any(is_handed) {
                for key in row.names.keys().filter(|key| !is_handed(key)) {
                    table.backing.entry(key.clone()).or_default().insert(at);
                }
            }
        }
        let worths: Vec<u64> = (0..places.len()).map(|at| table.worth(at)).collect();
        for (row, worth) in table.rows.iter_mut().zip(worths) {
            row.worth = worth;
        }
        table
    }

    /// What speaks for a place by itself.
    fn standing(&self, at: usize, places: &[Place]) -> u64 {
        self.rows[at].worth + places[at].standing() + WORDS_FIRST * self.said(at)
    }

    /// What the words of a place are worth, where the question has nothing else to go by.
    fn said(&self, at: usize) -> u64 {
        if self.has_words_only() { self.rows[at].said } else { 0 }
    }

    fn has_words_only(&self) -> bool {
        self.asked.is_empty() && !self.is_trouble
    }

    /// Whether a way has to do with what is asked: if there are only words to go by, it comes by a place that has nearly as
    /// much of them as any.
    fn is_on_topic(&self, way: &Way) -> bool {
        !self.has_words_only() || way.steps.iter().any(|step| 2 * self.rows[*step].said > self.said_max)
    }

    /// Whether a place can be on the way to where all meets. If there are only words to go by, it has some of them: what
    /// other lines share is chance.
    fn is_telling(&self, at: usize) -> bool {
        let row = &self.rows[at];
        row.worth > 0 && !row.is_import && (row.said > 0 || !self.has_words_only())
    }

    /// The recorded lines that tell of the trouble, from files that speak of what is asked.
    fn witnesses(&self) -> impl Iterator<Item = usize> {
        let is_witness = |row: &Row| row.is_grave && row.is_spoken && row.source == Source::Logs;
        (0..self.rows.len()).filter(move |at| is_witness(&self.rows[*at]))
    }

    /// Whether a recorded line that tells of trouble is on a way, or names what a place on it names.
    fn is_witnessed(&self, way: &Way) -> bool {
        self.witnesses().any(|at| way.steps.iter().any(|step| *step == at || self.shared(at, *step).is_some()))
    }

    /// What a name says at a place: more if somebody came upon it, and if it stands elsewhere beside what all began with;
    /// most if the question is about it.
    fn weight(&self, at: usize, name: &Name) -> u64 {
        if self.asked.contains(&name.key) && name.kind == Kind::Identifier {
            return name.weight() * 3;
        }
        let is_backed = self.backing.get(&name.key).is_some_and(|places| places.iter().any(|place| *place != at));
        name.weight() * (1 + u64::from(self.followed.contains(&name.key)) + u64::from(is_backed))
    }

    /// A name counts once for each other kind of evidence and each other report that has it. What a place is worth is what
    /// its best names count, the less the more it names: a line that names everything says little about each.
    fn worth(&self, at: usize) -> u64 {
        let own = &self.rows[at];
        let mut counts: Vec<u64> =
            own.names.values().map(|name| self.weight(at, name) * self.elsewhere(at, name)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let best = counts.first().copied().unwrap_or(0) + counts.get(1).copied().unwrap_or(0) / 2;
        let agreed = 4 * (own.by.len() as u64).saturating_sub(1) * u64::from(best > 0);
        let worth = best * 3 / (2 + own.names.len() as u64) + agreed;
        if own.is_import { worth / 3 } else { worth }
    }

    /// How far apart a name is found from a place that has it.
    fn elsewhere(&self, at: usize, name: &Name) -> u64 {
        let own = &self.rows[at];
        let (mut sources, mut reports, mut grave) = (BTreeSet::new(), BTreeSet::new(), 0);
        for (_, other) in self.rows.iter().enumerate().filter(|(other, row)| *other != at && row.has(name)) {
            if other.path != own.path {
                sources.extend((other.source != own.source).then_some(other.source));
                reports.extend(other.by.difference(&own.by));
            }
            grave |= u64::from(other.is_grave);
        }
        let sources = sources.len() as u64;
        2 * sources * sources + (reports.len() as u64).min(4) + grave
    }

    /// What two places share that says most. If there are only words to go by, it has one of them.
    fn shared(&self, a: usize, b: usize) -> Option<(u64, &Name)> {
        let is_asked = |name: &&Name| !self.has_words_only() || self.rows[a].worded.contains(&name.key);
        let both = self.rows[a].names.values().filter(is_asked).filter(|name| self.rows[b].has(name));
        both.map(|name| (self.weight(a, name), name))
            .max_by(|(x, first), (y, second)| x.cmp(y).then(second.key.cmp(&first.key)))
    }

    /// The best way to a place: over one of another kind from one of a third, or else straight.
    fn way_to(&self, end: usize) -> Option<Way> {
        let mut best: Option<Way> = None;
        let mut offer = |way: Way| {
            if best.as_ref().is_none_or(|best| way.value > best.value) {
                best = Some(way);
            }
        };
        for middle in 0..self.rows.len() {
            if self.rows[middle].path == self.rows[end].path || !self.is_telling(middle) {
                continue;
            }
            let Some((near, last)) = self.shared(middle, end) else { continue };
            offer(Way { steps: vec![middle, end], value: near + self.beginning(middle) });
            for start in (0..self.rows.len()).filter(|start| self.is_third(*start, middle, end)) {
                let Some((far, first)) = self.shared(start, middle) else { continue };
                let two_clues = if first.key == last.key || self.has_words_only() { 0 } else { 16 };
                let told = if self.rows[middle].source == Source::Config { 3 } else { 0 };
                let value = near + far + two_clues + told + self.beginning(start) + 8;
                offer(Way { steps: vec![start, middle, end], value });
            }
        }
        best
    }

    fn is_third(&self, start: usize, middle: usize, end: usize) -> bool {
        let source = |at: usize| self.rows[at].source;
        let are_three =
            source(start) != source(middle) && source(start) != source(end) && source(middle) != source(end);
        are_three && self.is_telling(start)
    }

    /// A way had better begin with what was seen to go wrong, if that is asked, or with what says most of what is.
    fn beginning(&self, at: usize) -> u64 {
        let row = &self.rows[at];
        let seen = match row.source {
            _ if !self.is_trouble => self.said(at),
            Source::Logs => 6,
            Source::Tests => 2,
            Source::Docs | Source::Config | Source::Code => 0,
        };
        seen + if row.is_grave { 3 } else { 0 }
    }

    /// What speaks for a place as the one where all meets. What people write to be run comes before what they write about it.
    /// A question that names something is about that.
    fn value(&self, end: usize, way: &Way) -> u64 {
        let percent = match self.rows[end].source {
            Source::Code => 100,
            Source::Config => 80,
            Source::Tests | Source::Docs => 55,
            Source::Logs => 45,
        };
        let is_asked = self.asked.is_empty() || self.rows[end].names.keys().any(|key| self.asked.contains(key));
        (self.rows[end].worth + 2 * (way.value + self.said(end))) * percent / if is_asked { 100 } else { 300 }
    }

    fn links(&self, way: &[usize], places: &[Place]) -> Vec<Link> {
        let through = |at: usize| {
            let next = way.get(at + 1)?;
            self.shared(way[at], *next).map(|(_, name)| name.spelled.clone())
        };
        let link = |(at, step): (usize, &usize)| Link { place: places[*step].clone(), through: through(at) };
        way.iter().enumerate().map(link).collect()
    }

    /// The way, from its end, and then the places that say most beside those before them: one that only repeats what
    /// others share says the less the more of them there are.
    fn varied(&self, way: &[usize], order: &[usize], places: &[Place]) -> Vec<usize> {
        let shared: Vec<BTreeSet<&String>> = (0..places.len())
            .map(|at| self.rows[at].names.keys().filter(|key| self.shares(at, key)).collect())
            .collect();
        let mut chosen: Vec<usize> = way.iter().rev().copied().collect();
        while chosen.len() < places.len().min(CHOSEN_MAX) {
            let news = |at: usize| {
                let repeated = chosen.iter().filter(|before| shared[**before].is_superset(&shared[at])).count() as u64;
                8 * (1 + self.standing(at, places)) / (1 + repeated)
            };
            let rest = order.iter().copied().filter(|at| !chosen.contains(at));
            let Some(best) = rest.max_by_key(|at| (news(*at), Reverse(*at))) else { break };
            chosen.push(best);
        }
        chosen
    }

    /// Whether a place has a name in common with another one.
    fn shares(&self, at: usize, key: &str) -> bool {
        self.followed.contains(key)
            || self.rows.iter().enumerate().any(|(other, row)| other != at && row.names.contains_key(key))
    }
}
