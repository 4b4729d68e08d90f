//! What a question is about: its words, each with what it says here, and whether the project speaks of them at all.

use std::collections::BTreeSet;

use super::scene::{Line, Scene};
use super::source::Source;
use super::words::{Kind, Name, asked_words, is_about_trouble, names, quotes, spelled, stems, words_pattern};

/// How many plain words of a question are weighed.
const WORDS_MAX: usize = 10;
/// In how many lines a word is taken to be that is in more than a search shows.
const OFTEN: u64 = 512;
/// How many times the halving of its lines makes a word more telling: the rarest is not alone what is asked.
const RARER_MAX: u32 = 4;
/// How many words a clause has at least that can be asked alone.
const CLAUSE_WORDS_MIN: usize = 3;
/// How many lines are one passage.
const PASSAGE_LINES: u64 = 3;

/// The words of a question, each with its weight: what few lines have says more than what many have.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    words: Vec<Word>,
    /// Whether it is about something that goes wrong.
    pub(super) is_trouble: bool,
}

#[derive(Clone, Debug)]
struct Word {
    stem: String,
    weight: u64,
    /// Whether it is in more lines than a search shows.
    is_common: bool,
}

impl Asked {
    /// Weighs the words by what the hirer says of them, or else by the lines that were seen.
    pub(super) fn of(scene: &Scene) -> Asked {
        let question = &scene.task.question;
        let stems = asked_words(question).into_iter().take(WORDS_MAX).collect();
        let words = if scene.task.words.is_empty() { seen(scene, stems) } else { told(&scene.task.words, stems) };
        Asked { words, is_trouble: is_about_trouble(question) }
    }

    /// What it is worth that a text has these stems: several of the words say more than each alone.
    pub(super) fn said(&self, stems: &BTreeSet<String>) -> u64 {
        let weights: Vec<u64> =
            self.words.iter().filter(|word| stems.contains(&word.stem)).map(|word| word.weight).collect();
        weights.iter().sum::<u64>() * weights.len() as u64
    }

    /// The files of which lines were seen that have words of the question.
    pub(super) fn spoken(&self, scene: &Scene) -> BTreeSet<String> {
        let has_words = |line: &&Line| self.said(&stems(&line.text)) > 0;
        scene.lines.iter().filter(has_words).map(|line| line.path.clone()).collect()
    }

    /// The words of the question that stand in a text, as they are spelled there.
    pub(super) fn spelled_in(&self, text: &str) -> Vec<String> {
        self.words.iter().filter_map(|word| spelled(text, &word.stem)).map(str::to_owned).collect()
    }

    /// The stems of the words worth searching for, the rarest first: those that are everywhere only if all are.
    pub(super) fn rare(&self) -> Vec<String> {
        let mut words: Vec<&Word> = self.words.iter().filter(|word| !word.is_common).collect();
        if words.is_empty() {
            words = self.words.iter().collect();
        }
        words.sort_by_key(|word| std::cmp::Reverse(word.weight));
        words.into_iter().map(|word| word.stem.clone()).collect()
    }
}

/// Weighs words by a list that has the rarest first. Those that are not on it are everywhere.
fn told(list: &[String], asked: Vec<String>) -> Vec<Word> {
    let list: Vec<BTreeSet<String>> = list.iter().map(|word| stems(word)).collect();
    let word = |stem: String| {
        let rank = list.iter().position(|told| told.contains(&stem));
        let weight = rank.map_or(1, |rank| 2 + 10 / (1 + rank as u64));
        Word { stem, weight, is_common: rank.is_none() }
    };
    asked.into_iter().map(word).collect()
}

/// Weighs words by the lines that have them, against the one that most lines have.
fn seen(scene: &Scene, asked: Vec<String>) -> Vec<Word> {
    let lines: Vec<BTreeSet<String>> = scene.lines.iter().map(|line| stems(&line.text)).collect();
    let is_common = |stem: &String| scene.cut.contains(&words_pattern(std::slice::from_ref(stem)));
    let times = |stem: &String| match lines.iter().filter(|line| line.contains(stem)).count() as u64 {
        _ if is_common(stem) => OFTEN,
        times => times,
    };
    let counts: Vec<u64> = asked.iter().map(times).collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let weight = |times: u64| 2 + 2 * u64::from((most / times.max(1)).max(1).ilog2().min(RARER_MAX));
    let words = asked.into_iter().zip(counts);
    words.map(|(stem, times)| Word { is_common: is_common(&stem), weight: weight(times), stem }).collect()
}

/// Whether what was seen speaks of what is asked.
pub(super) fn is_about_project(scene: &Scene) -> bool {
    speaks_of(scene, "")
}

/// Whether what was seen of a directory speaks of what is asked: it has a name or a quote of the question, or a passage of a few
/// lines has more than half of the words and numbers of a clause; half of them do in a file that is named after one.
pub(super) fn speaks_of(scene: &Scene, directory: &str) -> bool {
    let question = &scene.task.question;
    let (clauses, quoted) = (clauses(question), quotes(question));
    let named: Vec<Name> = names(question).into_iter().filter(|name| name.kind != Kind::Number).collect();
    let is_inside = |line: &&Line| Source::of(&line.path).is_some() && line.path.starts_with(directory);
    let mut lines: Vec<&Line> = scene.lines.iter().filter(is_inside).collect();
    lines.sort_by_key(|line| (&line.path, line.number));
    let said: Vec<BTreeSet<String>> =
        lines.iter().map(|line| stems(&line.text).into_iter().chain(numbers(&line.text)).collect()).collect();
    lines.iter().enumerate().any(|(at, line)| {
        let is_near = |other: &Line| other.path == line.path && other.number - line.number < PASSAGE_LINES;
        let length = lines[at..].iter().take_while(|other| is_near(other)).count();
        let passage = &said[at..at + length];
        let file = stems(line.path.rsplit('/').next().unwrap_or_default());
        clauses.iter().any(|asked| {
            let count = asked.iter().filter(|word| passage.iter().any(|said| said.contains(*word))).count();
            let is_named_after = asked.iter().any(|word| file.contains(word) && said[at].contains(word));
            count > 0 && 2 * count + usize::from(is_named_after) > asked.len()
        }) || quoted.iter().any(|quote| line.text.contains(quote.as_str()))
            || names(&line.text).iter().any(|name| named.iter().any(|asked| asked.key == name.key))
    })
}

/// The words and numbers of a question, and those of each of its clauses that has enough to be asked alone.
fn clauses(question: &str) -> Vec<Vec<String>> {
    let content = |text: &str| asked_words(text).into_iter().chain(numbers(text)).collect::<Vec<_>>();
    let parts = question.split([',', ';', '?', '!']).flat_map(|part| part.split(". ")).map(content);
    let parts = parts.filter(|part| part.len() >= CLAUSE_WORDS_MIN);
    std::iter::once(content(question)).chain(parts).collect()
}

fn numbers(text: &str) -> impl Iterator<Item = String> {
    names(text).into_iter().filter(|name| name.kind == Kind::Number).map(|name| name.key)
}
