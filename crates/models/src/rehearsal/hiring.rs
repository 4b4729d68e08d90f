//! Whom to hire: those whose descriptions speak of evidence that there is, or of what the question is about.

use serde_json::json;

use super::asked::Asked;
use super::look::{Wish, focus};
use super::rank::{instruction, rank};
use super::scene::{DIRECTORY, EVIDENCE, NAMES, PART, QUESTION, Scene, WORDS};
use super::source::{Source, words};
use super::team::{HIRE, Member};
use super::words::{asked_words, cut, spelled, stems};

/// How many are hired in one reply.
const HIRES_MAX: usize = 8;
/// How many names a task hands on.
const NAMES_MAX: usize = 8;
/// How many words.
const WORDS_MAX: usize = 6;
const PART_BYTES_MAX: usize = 240;

const CLOSING: &str = "Report each place that bears on it as `path:line: text`.";

/// The hires to be made, each with its own part of the evidence.
pub(super) fn hires(scene: &Scene) -> Vec<Wish> {
    let mut chosen: Vec<(&Member, Vec<Source>)> = scene.team.iter().filter_map(|member| part(scene, member)).collect();
    if chosen.is_empty() {
        let all = scene.team.iter().filter(|member| !is_absent(scene, member));
        chosen = all.map(|member| (member, scene.task.sources.clone().unwrap_or_default())).collect();
    }
    let names = handed_on(scene);
    let directory = focus(scene);
    let hire = |(member, sources): (&Member, Vec<Source>)| Wish {
        tool: HIRE,
        arguments: json!({
            "specialty": member.name,
            "task": task(scene, member, &sources, &names, directory.as_deref()),
        }),
    };
    chosen.into_iter().take(HIRES_MAX).map(hire).collect()
}

/// The kinds of evidence that somebody could read and that there are no files of.
pub(super) fn absent(scene: &Scene) -> Vec<String> {
    let is_read = |source: &Source| scene.team.iter().any(|member| sources_of(member).contains(source));
    let absent = Source::ALL.into_iter().filter(|source| !is_present(scene, *source)).filter(is_read);
    absent.map(|source| format!("{}: there are none in the project", source.word())).collect()
}

/// What a member is to look at. `None`: nothing of theirs is asked for.
fn part<'a>(scene: &Scene, member: &'a Member) -> Option<(&'a Member, Vec<Source>)> {
    let reads = sources_of(member);
    let wanted = scene.task.sources.clone().unwrap_or_default();
    let is_wanted = |source: &Source| (wanted.is_empty() || wanted.contains(source)) && is_present(scene, *source);
    let asked: Vec<Source> = reads.iter().copied().filter(is_wanted).collect();
    if !asked.is_empty() {
        return Some((member, asked));
    }
    let said = stems(&format!("{} {}", member.name, member.about));
    let is_about = asked_words(&scene.task.question).iter().any(|word| said.contains(word));
    (reads.is_empty() && is_about).then_some((member, wanted))
}

fn sources_of(member: &Member) -> Vec<Source> {
    Source::named_in(&format!("{} {}", member.name, member.about))
}

fn is_absent(scene: &Scene, member: &Member) -> bool {
    let reads = sources_of(member);
    !reads.is_empty() && !reads.iter().any(|source| is_present(scene, *source))
}

/// Whether there may be such files: only a listing of all files says that there are none.
fn is_present(scene: &Scene, source: Source) -> bool {
    let Some(listing) = scene.listing.as_ref().filter(|listing| listing.is_whole) else { return true };
    let files = listing.paths.iter().filter(|path| !path.ends_with('/'));
    files.filter_map(|path| Source::of(path)).any(|of| of == source)
}

/// The names to start from: those of the task, or what was seen to go wrong.
fn handed_on(scene: &Scene) -> Vec<String> {
    let given = scene.task.names.iter().map(|name| name.spelled.clone());
    let seen = instruction(scene, &rank(scene), NAMES_MAX).into_iter().map(|name| name.spelled);
    let mut names: Vec<String> = Vec::new();
    for name in given.chain(seen) {
        if !names.contains(&name) && names.len() < NAMES_MAX {
            names.push(name);
        }
    }
    names
}

/// The words to look for, the rarest first. None, unless there was a look, or somebody has said which they are.
fn handed_words(scene: &Scene) -> Vec<String> {
    if scene.lines.is_empty() {
        return scene.task.words.clone();
    }
    let rare = Asked::of(scene).rare();
    rare.iter().filter_map(|word| spelled(&scene.task.question, word)).take(WORDS_MAX).map(str::to_owned).collect()
}

fn task(scene: &Scene, member: &Member, sources: &[Source], names: &[String], directory: Option<&str>) -> String {
    let about: String = member.about.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("{QUESTION}{}", scene.task.question), format!("{EVIDENCE}{}", words(sources))];
    if !about.is_empty() {
        lines.push(format!("{PART}{}", cut(&about, PART_BYTES_MAX)));
    }
    if !names.is_empty() {
        lines.push(format!("{NAMES}{}", names.join(", ")));
    }
    let words = handed_words(scene);
    if !words.is_empty() {
        lines.push(format!("{WORDS}{}", words.join(", ")));
    }
    lines.extend(directory.map(|directory| format!("{DIRECTORY}{directory}")));
    lines.push(CLOSING.to_owned());
    lines.join("\n")
}
