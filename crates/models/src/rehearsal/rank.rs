//! Which of the lines that were seen bear most on the question, and which names on them are worth following.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::Asked;
use super::place::Place;
use super::scene::{Line, Scene};
use super::source::Source;
use super::words::{Kind, Name, asked_words, is_grave, is_import, names, quotes, stems};

/// How many names a place says it was found by.
const SHARES_MAX: usize = 5;
/// From how many of the best lines names are taken.
const BEST_LINES: usize = 8;
/// How many lines are looked at for what to tell others.
const TELLING_LINES: usize = 24;
/// How many names a line has at most that says something of each.
const BESIDE_MAX: usize = 4;
/// How far around a good line its neighbours count, in lines.
const NEAR_LINES: u64 = 3;

/// How much more words say than names, if a question has only words.
const WORDS_FIRST: u64 = 8;
/// What it is worth at most that a path has words of the question.
const PATH_MAX: u64 = 6;

/// A line with what it is worth.
#[derive(Debug)]
pub(super) struct Ranked<'a> {
    pub(super) line: &'a Line,
    pub(super) source: Source,
    pub(super) score: u64,
    is_grave: bool,
    /// Whether it was recorded and tells of the trouble that is asked about.
    pub(super) is_witness: bool,
    /// Whether it has what the question itself says: its names and quotes if it has any, else its words.
    is_asked: bool,
    /// What the rarest name is worth that it was found by and that the brief does not have. 0: it has none.
    pub(super) hop: u64,
    names: Vec<Name>,
    shares: Vec<String>,
}

impl Ranked<'_> {
    pub(super) fn place(&self) -> Place {
        Place::new(&self.line.path, self.line.number, &self.line.text, self.shares.clone())
    }
}

/// A line and what stands in it.
struct Noted<'a> {
    line: &'a Line,
    source: Source,
    names: Vec<Name>,
    stems: BTreeSet<String>,
}

/// What a scene wants to know.
struct Wanted {
    words: Asked,
    quotes: Vec<String>,
    /// What the question names.
    asked: BTreeSet<String>,
    /// What the brief names, the question included.
    named: BTreeSet<String>,
    part: BTreeSet<String>,
    /// The files that have words of the question.
    spoken: BTreeSet<String>,
}

impl Wanted {
    fn of(scene: &Scene) -> Wanted {
        let task = &scene.task;
        let asked: BTreeSet<String> = names(&task.question).into_iter().map(|name| name.key).collect();
        let named = asked.iter().cloned().chain(task.names.iter().map(|name| name.key.clone())).collect();
        let words = Asked::of(scene);
        Wanted {
            asked,
            named,
            spoken: words.spoken(scene),
            words,
            quotes: quotes(&task.question),
            part: asked_words(&task.part).into_iter().collect(),
        }
    }

    /// Whether names say more than words: the question has some, or is about trouble that was seen to have some.
    fn is_named(&self) -> bool {
        !self.asked.is_empty() || (self.words.is_trouble && !self.named.is_empty())
    }
}

/// The lines that bear on the question, the best first. Of lines of a file that say the same, and
/// of a log's that differ in figures only, the first stands for all.
pub(super) fn rank(scene: &Scene) -> Vec<Ranked<'_>> {
    let wanted = Wanted::of(scene);
    let noted = noted(scene);
    let often = Often::of(&noted, &wanted);
    let mut ranked: Vec<Ranked<'_>> =
        noted.into_iter().filter_map(|noted| scored(noted, &wanted, &often, scene)).collect();
    ranked.sort_by(|a, b| {
        let place = |ranked: &Ranked<'_>| (ranked.line.path.clone(), ranked.line.number);
        b.score.cmp(&a.score).then_with(|| place(a).cmp(&place(b)))
    });
    ranked
}

fn noted(scene: &Scene) -> Vec<Noted<'_>> {
    let mut seen = BTreeSet::new();
    let mut noted = Vec::new();
    for line in &scene.lines {
        let Some(source) = Source::of(&line.path) else { continue };
        let is_kept = |found: &char| source != Source::Logs || !found.is_numeric();
        let plain: String = line.text.trim().chars().filter(is_kept).collect();
        if seen.insert((&line.path, plain)) {
            noted.push(Noted { line, source, names: names(&line.text), stems: stems(&line.text) });
        }
    }
    noted
}

/// In how many lines, and in which kinds of evidence, each name and stem occurs, and which stand beside what the brief names.
#[derive(Default)]
struct Often {
    times: BTreeMap<String, u64>,
    sources: BTreeMap<String, BTreeSet<Source>>,
    backed: BTreeMap<String, BTreeSet<String>>,
}

impl Often {
    fn of(noted: &[Noted<'_>], wanted: &Wanted) -> Often {
        let mut often = Often::default();
        for line in noted {
            let keys = line.names.iter().map(|name| &name.key).chain(&line.stems);
            for key in keys.collect::<BTreeSet<_>>() {
                *often.times.entry(key.clone()).or_insert(0) += 1;
                often.sources.entry(key.clone()).or_default().insert(line.source);
            }
            let is_named = line.names.iter().any(|name| wanted.named.contains(&name.key));
            if is_named && line.names.len() <= BESIDE_MAX {
                for name in &line.names {
                    often.backed.entry(name.key.clone()).or_default().insert(line.line.path.clone());
                }
            }
        }
        often
    }

    /// What a find is worth that occurs so often: the rarer, the more.
    fn rarity(&self, key: &str) -> u64 {
        let times = self.times.get(key).copied().unwrap_or(1).max(1);
        12 / (1 + u64::from(times.ilog2()))
    }

    /// What it is worth that a name is found in several kinds of evidence, and in another file beside what the brief names.
    fn reach(&self, key: &str, path: &str) -> u64 {
        let sources = self.sources.get(key).map_or(1, |sources| sources.len() as u64);
        let is_backed = self.backed.get(key).is_some_and(|paths| paths.iter().any(|backing| backing != path));
        sources * if is_backed { 2 } else { 1 }
    }
}

fn scored<'a>(noted: Noted<'a>, wanted: &Wanted, often: &Often, scene: &Scene) -> Option<Ranked<'a>> {
    let Noted { line, source, names, stems } = noted;
    let mut shares = Vec::new();
    let (mut score, mut hop) = (0, 0);
    for name in &names {
        let (is_named, is_followed) = (wanted.named.contains(&name.key), is_searched(scene, name));
        if is_named || is_followed {
            let times = if is_named { 2 } else { 1 };
            score += often.rarity(&name.key) * times * name.weight() * (1 + often.reach(&name.key, &line.path)) / 8;
            shares.push(name.spelled.clone());
            if !is_named {
                hop = hop.max(often.rarity(&name.key));
            }
        }
    }
    let said = wanted.words.said(&stems);
    // Beside names, words say little; a question that has nothing else is about them.
    score += if wanted.is_named() { said.div_ceil(4) } else { WORDS_FIRST * said };
    let quoted = wanted.quotes.iter().filter(|quote| line.text.contains(quote.as_str())).count() as u64;
    score += 24 * quoted;
    let is_asked = if wanted.asked.is_empty() && wanted.quotes.is_empty() {
        said > 0
    } else {
        quoted > 0 || names.iter().any(|name| wanted.asked.contains(&name.key))
    };
    let is_grave = is_grave(&stems);
    let is_spoken = said > 0 || wanted.spoken.contains(&line.path);
    let is_witness = wanted.words.is_trouble && is_grave && source == Source::Logs && is_spoken;
    if score == 0 && !is_witness {
        return None;
    }
    shares.extend(wanted.words.spelled_in(&line.text));
    shares.truncate(SHARES_MAX);
    score += if is_grave && wanted.words.is_trouble { 8 } else { 0 };
    score += if names.iter().any(|name| name.kind == Kind::Number) { 2 } else { 0 };
    let path = super::words::stems(&line.path);
    score += wanted.words.said(&path).min(PATH_MAX);
    score += if wanted.part.iter().any(|word| path.contains(word)) { 4 } else { 0 };
    if is_import(&line.text) {
        score /= 3;
    }
    Some(Ranked { line, source, score, is_grave, is_witness, is_asked, hop, names, shares })
}

/// Whether a name was searched for already.
pub(super) fn is_searched(scene: &Scene, name: &Name) -> bool {
    let pattern = name.pattern();
    scene.patterns.iter().any(|searched| searched.contains(&pattern))
}

/// The names on the best lines, and next to them, that nobody has searched for yet: those first that are on good lines
/// and nowhere else. Once names were followed, the lines count to which they led.
pub(super) fn to_follow(scene: &Scene, ranked: &[Ranked<'_>], count: usize) -> Vec<Name> {
    let own = || ranked.iter().filter(|line| scene.task.reads(line.source));
    let led_to: Vec<(u64, &Ranked<'_>)> = own().filter(|line| line.hop > 0).map(|line| (line.hop, line)).collect();
    let best = if led_to.is_empty() { own().take(BEST_LINES).map(|line| (line.score, line)).collect() } else { led_to };
    let mut worth: BTreeMap<Name, u64> = BTreeMap::new();
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for line in scene.lines.iter().filter(|line| Source::of(&line.path).is_some()) {
        let near = best.iter().filter_map(|(worth, good)| nearness(*worth, good, line)).max().unwrap_or(0);
        for name in names(&line.text) {
            *times.entry(name.key.clone()).or_insert(0) += 1;
            if near > 0 && matches!(name.kind, Kind::Identifier | Kind::Path) && !is_searched(scene, &name) {
                let spelled = Name { spelled: name.key.clone(), ..name };
                *worth.entry(spelled).or_insert(0) += near;
            }
        }
    }
    let value = |name: &Name, worth: u64| worth * name.weight() / times.get(&name.key).copied().unwrap_or(1).max(1);
    best_of(worth.into_iter().map(|(name, worth)| (value(&name, worth), name)).collect(), count)
}

/// What a line is worth for being a good one, or next to it.
fn nearness(worth: u64, good: &Ranked<'_>, line: &Line) -> Option<u64> {
    match good.line.number.abs_diff(line.number) {
        _ if good.line.path != line.path => None,
        0 => Some(worth),
        apart if apart <= NEAR_LINES => Some(worth / 4),
        _ => None,
    }
}

/// The names that some lines have and others lack: what to tell those who are hired. If the question is about trouble, the
/// lines are those in which something goes wrong, first those that have words of it; otherwise those that have most of them. If
/// it names something itself, only lines count that have that.
pub(super) fn instruction(scene: &Scene, ranked: &[Ranked<'_>], count: usize) -> Vec<Name> {
    let question = &scene.task.question;
    let is_named = !names(question).is_empty() || !quotes(question).is_empty();
    let best = ranked.first().map_or(0, |line| line.score);
    let tests: &[&dyn Fn(&Ranked<'_>) -> bool] = if Asked::of(scene).is_trouble {
        &[&|line| line.is_witness && line.is_asked, &|line| line.is_witness, &|line| line.is_grave, &|_| true]
    } else {
        &[&|line| line.is_asked && 2 * line.score >= best]
    };
    let says = |line: &&Ranked<'_>| !is_named || (line.is_asked && line.names.len() <= BESIDE_MAX);
    let candidates: Vec<&Ranked<'_>> = ranked.iter().filter(says).collect();
    let passing = tests.iter().map(|test| {
        let passing = candidates.iter().copied().filter(|line| test(line));
        passing.take(TELLING_LINES).collect::<Vec<&Ranked<'_>>>()
    });
    let chosen = passing.into_iter().find(|lines| !lines.is_empty()).unwrap_or_default();
    let chosen_from: BTreeSet<(&str, u64)> =
        chosen.iter().map(|line| (line.line.path.as_str(), line.line.number)).collect();
    let mut counts: BTreeMap<&str, (u64, u64, &Name)> = BTreeMap::new();
    for line in ranked {
        let is_chosen = chosen_from.contains(&(line.line.path.as_str(), line.line.number));
        for name in &line.names {
            let (within, all, _) = counts.entry(&name.key).or_insert((0, 0, name));
            *within += u64::from(is_chosen);
            *all += 1;
        }
    }
    let value = |within: u64, all: u64, name: &Name| match name.kind {
        Kind::Occasion => 0,
        Kind::Identifier | Kind::Number | Kind::Path => 16 * within / all + within.min(8) + 2 * name.weight(),
    };
    let valued = counts.into_values().filter(|(within, ..)| *within > 0);
    let valued = valued.map(|(within, all, name)| (value(within, all, name), name.clone()));
    best_of(valued.filter(|(value, _)| *value > 0).collect(), count)
}

fn best_of(mut valued: Vec<(u64, Name)>, count: usize) -> Vec<Name> {
    valued.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.cmp(second)));
    valued.into_iter().take(count).map(|(_, name)| name).collect()
}
