//! How files are looked at: search for what the brief names, read around the best lines, follow each new name one hop.

use serde_json::{Map, Value, json};

use super::asked::{Asked, is_about_project, speaks_of};
use super::rank::{Ranked, is_searched, rank, to_follow};
use super::scene::Scene;
use super::source::Source;
use super::words::{Name, asked_words, escaped, grave_pattern, is_about_trouble, names, quotes, stems, words_pattern};

/// The longest pattern that is searched for, in bytes.
const PATTERN_BYTES_MAX: usize = 900;
/// How many plain words of a question are looked for one by one, and in pairs.
const PAIRED_MAX: usize = 6;
/// How many names are followed at a time.
const FOLLOWED_MAX: usize = 5;
/// How many places are read around in one reply.
const READ_MAX: usize = 3;
const BEFORE_LINES: u64 = 6;
const AROUND_LINES: u64 = 13;
/// After how many looks names are followed no further.
const LOOKS_MAX: usize = 2;
/// How deep a project is listed.
const LISTED_DEPTH: u64 = 4;

/// A call to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// What to look at next. Nothing: all was looked at that will be.
pub(super) fn look(scene: &Scene) -> Vec<Wish> {
    if !scene.tools.contains("search") {
        return look_without_search(scene);
    }
    match scene.patterns.len() {
        0 => first(scene),
        _ if scene.looks <= LOOKS_MAX + usize::from(!scene.cut.is_empty()) => further(scene),
        _ => Vec::new(),
    }
}

/// What a hirer looks at before it hires: which files there are, what matches the question, and, if it is about trouble, what
/// went wrong. What matches too often is looked at word by word, so that those that are everywhere do not hide the others.
pub(super) fn survey(scene: &Scene) -> Vec<Wish> {
    let has = |tool: &str| scene.tools.contains(tool);
    if has("list_files") && scene.looks == 0 {
        return vec![list()];
    }
    if !has("search") {
        return Vec::new();
    }
    if let Some(first) = scene.patterns.first() {
        return match pattern_of_question(scene) {
            _ if scene.cut.contains(first) => narrowed(scene),
            Some(pattern) if !scene.searched_all && !is_about_project(scene) => vec![search(&pattern, &[], None)],
            Some(_) | None => Vec::new(),
        };
    }
    let directory = focus(scene);
    let logs = [Source::Logs];
    let mut wishes: Vec<Wish> =
        pattern_of_question(scene).map(|pattern| search(&pattern, &[], directory.as_deref())).into_iter().collect();
    if !wishes.is_empty() && is_about_trouble(&scene.task.question) {
        wishes.push(search(&grave_pattern(), &logs, directory.as_deref()));
    }
    wishes
}

/// What is looked for once all reports are in: everything else that has the names by which the evidence meets.
pub(super) fn confirm(scene: &Scene, names: &[Name]) -> Vec<Wish> {
    let new: Vec<Name> = names.iter().filter(|name| !is_searched(scene, name)).cloned().collect();
    if !scene.tools.contains("search") || new.is_empty() {
        return Vec::new();
    }
    let pattern = pattern_of_names(&new);
    pattern.map(|pattern| search(&pattern, &[], focus(scene).as_deref())).into_iter().collect()
}

/// The directory that the question is about: the topmost that it names, if there is one such, it has evidence of several kinds,
/// and what was seen of it speaks of the question.
pub(super) fn focus(scene: &Scene) -> Option<String> {
    if scene.task.directory.is_some() {
        return scene.task.directory.clone();
    }
    let listing = scene.listing.as_ref()?;
    let words = asked_words(&scene.task.question);
    let is_meant = |folder: &&String| {
        let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let said = stems(name);
        words.iter().any(|word| said.contains(word))
    };
    let is_varied = |folder: &&String| {
        let files = listing.paths.iter().filter(|path| path.starts_with(folder.as_str()) && !path.ends_with('/'));
        files.filter_map(|path| Source::of(path)).collect::<std::collections::BTreeSet<_>>().len() >= 3
    };
    let folders = listing.paths.iter().filter(|path| path.ends_with('/'));
    let mut meant: Vec<&String> = folders.filter(is_meant).filter(is_varied).collect();
    let depth = |folder: &str| folder.matches('/').count();
    meant.sort_by_key(|folder| depth(folder));
    let is_single = meant.get(1).is_none_or(|second| depth(second) > depth(meant[0]));
    let topmost =
        meant.first().filter(|folder| is_single && (scene.patterns.is_empty() || speaks_of(scene, folder)))?;
    Some(topmost.trim_end_matches('/').to_owned())
}

/// Names first: what plain words find is dear, and says little beside them. But a question that names nothing and is not
/// about trouble has only its words.
fn first(scene: &Scene) -> Vec<Wish> {
    let task = &scene.task;
    let asked = names(&task.question);
    let has_words_only = asked.is_empty() && !is_about_trouble(&task.question);
    let named: Vec<Name> = asked.into_iter().chain(task.names.iter().cloned()).collect();
    let pattern = if has_words_only { None } else { pattern_of_names(&named) };
    let pattern = pattern.or_else(|| pattern_of_question(scene));
    pattern.map(|pattern| search_own(scene, &pattern)).into_iter().collect()
}

fn search_own(scene: &Scene, pattern: &str) -> Wish {
    search(pattern, scene.task.sources.as_deref().unwrap_or_default(), focus(scene).as_deref())
}

fn further(scene: &Scene) -> Vec<Wish> {
    let ranked = rank(scene);
    if !scene.cut.is_empty() {
        let narrowed = narrowed(scene);
        if !narrowed.is_empty() {
            return narrowed;
        }
    }
    if ranked.is_empty() {
        let asked = pattern_of_question(scene).filter(|pattern| !scene.patterns.contains(pattern));
        return asked.map(|pattern| search_own(scene, &pattern)).into_iter().collect();
    }
    let mut wishes: Vec<Wish> = if scene.tools.contains("read_file") { around(scene, &ranked) } else { Vec::new() };
    // A name is followed everywhere: one that other kinds of evidence have too says more.
    let pattern = pattern_of_names(&to_follow(scene, &ranked, FOLLOWED_MAX));
    wishes.extend(pattern.map(|pattern| search(&pattern, &[], focus(scene).as_deref())));
    wishes
}

/// The searches that tell more where one for all words found too much: for lines that have two of them and, if nobody has
/// said yet which are rare, for each alone.
fn narrowed(scene: &Scene) -> Vec<Wish> {
    let words = asked_words(&scene.task.question).into_iter().take(PAIRED_MAX);
    let alone: Vec<String> = match scene.task.sources {
        None => words.map(|word| words_pattern(&[word])).collect(),
        Some(_) => Vec::new(),
    };
    let patterns = pattern_of_pairs(scene).into_iter().chain(alone);
    let new = patterns.filter(|pattern| !scene.patterns.contains(pattern));
    new.map(|pattern| search_own(scene, &pattern)).collect()
}

/// Reads around the best lines that were not read around yet.
fn around(scene: &Scene, ranked: &[Ranked<'_>]) -> Vec<Wish> {
    let mut begun: Vec<(String, u64)> = scene.read.clone();
    let mut wishes = Vec::new();
    for best in ranked.iter().filter(|line| scene.task.reads(line.source)).take(2 * READ_MAX) {
        let (path, line) = (&best.line.path, best.line.number);
        let is_known = begun.iter().any(|(read, from)| read == path && (*from..from + AROUND_LINES).contains(&line));
        if !is_known && wishes.len() < READ_MAX {
            let from = line.saturating_sub(BEFORE_LINES).max(1);
            begun.push((path.clone(), from));
            let arguments = json!({ "path": path, "offset": from, "limit": AROUND_LINES });
            wishes.push(Wish { tool: "read_file", arguments });
        }
    }
    wishes
}

/// Without a search, the files whose paths sound like the question are read.
fn look_without_search(scene: &Scene) -> Vec<Wish> {
    let has = |tool: &str| scene.tools.contains(tool);
    if has("list_files") && scene.looks == 0 {
        return vec![list()];
    }
    if !has("read_file") || !scene.read.is_empty() {
        return Vec::new();
    }
    let words = asked_words(&scene.task.question);
    let alike = |path: &String| {
        let said = stems(path);
        words.iter().filter(|word| said.contains(*word)).count()
    };
    let sources = scene.task.sources.clone().unwrap_or_default();
    let fits = |path: &&String| Source::of(path).is_some_and(|of| sources.is_empty() || sources.contains(&of));
    let listed = scene.listing.iter().flat_map(|listing| &listing.paths).filter(|path| !path.ends_with('/'));
    let mut paths: Vec<&String> = listed.filter(fits).collect();
    paths.sort_by_key(|path| std::cmp::Reverse(alike(path)));
    let read = |path: &&String| Wish { tool: "read_file", arguments: json!({ "path": path, "limit": 200 }) };
    paths.iter().take(READ_MAX).map(read).collect()
}

fn list() -> Wish {
    Wish { tool: "list_files", arguments: json!({ "depth": LISTED_DEPTH }) }
}

fn search(pattern: &str, sources: &[Source], directory: Option<&str>) -> Wish {
    let mut arguments = Map::new();
    arguments.insert("pattern".to_owned(), pattern.into());
    if let [source] = sources {
        arguments.insert("glob".to_owned(), source.glob().into());
    }
    if let Some(directory) = directory {
        arguments.insert("path".to_owned(), directory.into());
    }
    Wish { tool: "search", arguments: Value::Object(arguments) }
}

/// The pattern for what a question says: its words, its names, what it quotes. `None`: it says nothing.
fn pattern_of_question(scene: &Scene) -> Option<String> {
    let question = &scene.task.question;
    let mut pieces: Vec<String> = quotes(question).iter().map(|quote| escaped(quote)).collect();
    pieces.extend(names(question).iter().map(Name::pattern));
    let mut words = Asked::of(scene).rare();
    let rest = joined(&pieces, PATTERN_BYTES_MAX / 2);
    loop {
        let plain = if words.is_empty() { String::new() } else { words_pattern(&words) };
        let pattern =
            [rest.as_str(), &plain].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("|");
        if pattern.len() <= PATTERN_BYTES_MAX {
            return (!pattern.is_empty()).then_some(pattern);
        }
        words.pop();
    }
}

/// The pattern for lines that have two words of the question, where single ones find too much.
fn pattern_of_pairs(scene: &Scene) -> Option<String> {
    let words: Vec<String> =
        asked_words(&scene.task.question).iter().take(PAIRED_MAX).map(|word| escaped(word)).collect();
    let others = |one: &String| {
        let others: Vec<&str> = words.iter().filter(|word| *word != one).map(String::as_str).collect();
        format!("{one}.*(?:{})", others.join("|"))
    };
    let pairs: Vec<String> = words.iter().map(others).collect();
    let pattern = format!("(?i:{})", pairs.join("|"));
    (words.len() > 1 && pattern.len() <= PATTERN_BYTES_MAX).then_some(pattern)
}

fn pattern_of_names(names: &[Name]) -> Option<String> {
    let pieces: Vec<String> = names.iter().map(Name::pattern).collect();
    let pattern = joined(&pieces, PATTERN_BYTES_MAX);
    (!pattern.is_empty()).then_some(pattern)
}

/// As many of the pieces as there is room for.
fn joined(pieces: &[String], bytes_max: usize) -> String {
    let mut pattern = String::new();
    for piece in pieces {
        if pattern.len() + piece.len() < bytes_max {
            if !pattern.is_empty() {
                pattern.push('|');
            }
            pattern.push_str(piece);
        }
    }
    pattern
}
