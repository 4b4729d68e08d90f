//! What a prompt says, read anew each time: the brief, the tools, what was seen, whom was hired and what they reported.
//! Nothing else is known, and nothing that is read here is taken for an instruction but the brief.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_agent::{HeardReport, Message, Part, Prompt, RawCall, Reply, heard_reports};
use serde_json::Value;

use super::source::Source;
use super::team::{Member, team};
use super::words::{LINE_BYTES_MAX, Name, cut, names, repeats};

/// How many bytes of results are read in all.
const READ_BYTES_MAX: usize = 1024 * 1024;
/// How many lines are kept.
const LINES_MAX: usize = 2000;
/// How many entries of a listing are kept.
const LISTED_MAX: usize = 2000;
/// How many earlier searches are remembered.
const PATTERNS_MAX: usize = 24;
/// How much of one is.
const PATTERN_BYTES_MAX: usize = 1024;
/// How much of a question is read.
const QUESTION_BYTES_MAX: usize = 4 * 1024;

/// Lines of a task that a rehearsal writes for those it hires.
pub(super) const QUESTION: &str = "Question: ";
pub(super) const EVIDENCE: &str = "Evidence source: ";
pub(super) const PART: &str = "Part: ";
pub(super) const NAMES: &str = "Identifiers so far: ";
pub(super) const WORDS: &str = "Words to look for: ";
pub(super) const DIRECTORY: &str = "Directory: ";

/// Where the terms begin that follow a task.
const TERMS: &str = "\n\nThese terms hold for you and for everybody you hire:";
/// How the runtime says that a reply is the last.
const LAST: &str = "This is your last reply";
/// How it says, beside what else is left, that no turn will follow.
const ONE_TURN: &str = " 1 turn left";
/// How it begins what it has cut out of earlier messages for that.
const CUT: &str = "The newest of what was said and found so far";
/// How it begins what it shows in place of a result that was left out.
const LEFT_OUT: char = '[';
/// How the tools say that they show a part of a line.
const CUT_LINES: [&str; 2] = [" [part of a line of ", " [line cut: "];
/// How the runtime says that somebody must be hired.
const REQUIRED: &str = "must hire at least one";
/// How the runtime begins what it says after a report that did not do.
const NUDGES: [&str; 4] =
    ["You must hire at least", "Your reply names a member", "Your report did not", "Your reply was empty"];

/// A line that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) path: String,
    pub(super) number: u64,
    pub(super) text: String,
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) question: String,
    /// The evidence to look at. `None`: the task does not come from a rehearsal.
    pub(super) sources: Option<Vec<Source>>,
    /// What the hirer says of the one it hires.
    pub(super) part: String,
    pub(super) names: Vec<Name>,
    /// The words of the question that say most, the rarest first, as the hirer found them to be. Empty: nobody has looked.
    pub(super) words: Vec<String>,
    pub(super) directory: Option<String>,
}

impl Task {
    /// Whether such evidence is asked for.
    pub(super) fn reads(&self, source: Source) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.is_empty() || sources.contains(&source))
    }
}

/// What a listing showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) paths: Vec<String>,
    /// Whether all was shown, to the bottom of every directory that it shows.
    pub(super) is_whole: bool,
}

/// All that a prompt says.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) task: Task,
    pub(super) tools: BTreeSet<String>,
    pub(super) team: Vec<Member>,
    pub(super) lines: Vec<Line>,
    pub(super) listing: Option<Listing>,
    /// The patterns that were searched for.
    pub(super) patterns: Vec<String>,
    /// Those of which a search found more than it showed.
    pub(super) cut: BTreeSet<String>,
    /// Whether something was searched for everywhere.
    pub(super) searched_all: bool,
    /// The places that were read around: path and first line.
    pub(super) read: Vec<(String, u64)>,
    /// How many replies looked at files.
    pub(super) looks: usize,
    pub(super) hired: Vec<String>,
    /// How many patterns were searched for before somebody was hired.
    surveys: usize,
    /// The names that all who were hired were told to look for: that they found them is no coincidence.
    pub(super) handed: BTreeSet<String>,
    pub(super) reports: Vec<HeardReport>,
    /// Who was not hired, and why.
    pub(super) refusals: Vec<(String, String)>,
    pub(super) is_last: bool,
    pub(super) must_hire: bool,
}

impl Scene {
    /// Whether something was searched for after somebody was hired.
    pub(super) fn was_confirmed(&self) -> bool {
        !self.hired.is_empty() && self.patterns.len() > self.surveys
    }
}

/// Reads a prompt.
pub(super) fn scene(prompt: &Prompt) -> Scene {
    let messages = current(&prompt.messages);
    let mut scene = Scene {
        task: messages.first().map(task).unwrap_or_default(),
        tools: prompt.tools.iter().map(|tool| tool.name.clone()).collect(),
        team: team(&prompt.tools),
        ..Scene::default()
    };
    let mut reader = Reader { calls: BTreeMap::new(), seen: BTreeSet::new(), left: READ_BYTES_MAX };
    for message in messages {
        match message {
            Message::Assistant(reply) => reader.reply(reply, &mut scene),
            Message::User(parts) => parts.iter().for_each(|part| reader.part(part, &mut scene)),
        }
    }
    let newest = messages.last().map(said).unwrap_or_default();
    scene.is_last = prompt.tools.is_empty()
        || newest.iter().any(|words| words.starts_with(LAST))
        || prompt.status.as_ref().is_some_and(|status| status.contains(ONE_TURN));
    scene.must_hire = newest.iter().any(|words| words.contains(REQUIRED));
    scene
}

/// The messages from the newest question on: what follows a report is a new one, unless the runtime says it.
fn current(messages: &[Message]) -> &[Message] {
    let is_question = |message: &Message| {
        let words = said(message);
        let is_nudge = |words: &&str| NUDGES.iter().any(|nudge| words.starts_with(nudge)) || words.starts_with(LAST);
        // What a check found stands beside the runtime's word that the report is to be mended.
        !words.iter().any(is_nudge)
            && words.iter().any(|words| !words.contains("<sub-agent-") && !words.trim().is_empty())
    };
    let is_report = |message: &Message| matches!(message, Message::Assistant(reply) if reply.calls.is_empty());
    let newest = (1..messages.len()).rev().find(|at| is_report(&messages[at - 1]) && is_question(&messages[*at]));
    &messages[newest.unwrap_or(0)..]
}

fn said(message: &Message) -> Vec<&str> {
    let Message::User(parts) = message else { return Vec::new() };
    let words = |part: &'_ Part| matches!(part, Part::Words(_));
    parts.iter().filter(|part| words(part)).map(part_text).collect()
}

fn part_text(part: &Part) -> &str {
    match part {
        Part::Words(text) | Part::Result { text, .. } => text,
    }
}

/// Reads the brief: a task as a rehearsal writes it, or a person's words.
fn task(message: &Message) -> Task {
    read_task(said(message).first().copied().unwrap_or_default())
}

fn read_task(words: &str) -> Task {
    let whole = words.split(TERMS).next().unwrap_or_default();
    let line = |label: &str| whole.lines().find_map(|line| line.strip_prefix(label)).map(str::trim);
    let Some(sources) = line(EVIDENCE) else {
        return Task { question: cut(whole.trim(), QUESTION_BYTES_MAX).to_owned(), ..Task::default() };
    };
    let question = whole.strip_prefix(QUESTION).unwrap_or(whole);
    let question = question.split(&format!("\n{EVIDENCE}")).next().unwrap_or_default();
    Task {
        question: cut(question.trim(), QUESTION_BYTES_MAX).to_owned(),
        sources: Some(sources.split(',').filter_map(Source::parse).collect()),
        part: line(PART).unwrap_or_default().to_owned(),
        names: line(NAMES).map(names).unwrap_or_default(),
        words: line(WORDS).map(|words| words.split(", ").map(str::to_owned).collect()).unwrap_or_default(),
        directory: line(DIRECTORY).map(str::to_owned),
    }
}

/// Goes through the messages in order.
struct Reader {
    /// The calls that were made, by their ids.
    calls: BTreeMap<String, RawCall>,
    seen: BTreeSet<(String, u64)>,
    /// How many bytes are still read.
    left: usize,
}

impl Reader {
    fn reply(&mut self, reply: &Reply, scene: &mut Scene) {
        let mut looked = false;
        for call in &reply.calls {
            let argument = |name: &str| argument(call, name).unwrap_or_default();
            match call.name.as_str() {
                "search" if scene.patterns.len() < PATTERNS_MAX => {
                    scene.searched_all |= argument("path").is_empty() && argument("glob").is_empty();
                    scene.patterns.push(cut(&argument("pattern"), PATTERN_BYTES_MAX).to_owned());
                }
                "read_file" => {
                    let offset = call.arguments.as_ref().ok().and_then(|arguments| arguments["offset"].as_u64());
                    scene.read.push((argument("path"), offset.unwrap_or(1)));
                }
                "delegate_task" => {
                    scene.surveys = if scene.hired.is_empty() { scene.patterns.len() } else { scene.surveys };
                    scene.hired.push(argument("specialty"));
                    scene.handed.extend(read_task(&argument("task")).names.into_iter().map(|name| name.key));
                }
                _ => {}
            }
            looked |= ["search", "read_file", "list_files"].contains(&call.name.as_str());
            self.calls.insert(call.id.clone(), call.clone());
        }
        scene.looks += usize::from(looked);
    }

    fn part(&mut self, part: &Part, scene: &mut Scene) {
        let text = cut(part_text(part), self.left);
        self.left -= text.len();
        let reports = heard_reports(text);
        let call = match part {
            Part::Words(_) => None,
            Part::Result { call, .. } => self.calls.remove(call),
        };
        let Some(call) = call else {
            if text.starts_with(CUT) {
                self.keep(found(text), scene);
            }
            return scene.reports.extend(reports);
        };
        let failed = matches!(part, Part::Result { failed: true, .. });
        match call.name.as_str() {
            "search" => {
                if text.lines().any(|line| line.starts_with("(cut off after")) {
                    scene.cut.extend(argument(&call, "pattern"));
                }
                self.keep(found(text), scene);
            }
            "read_file" => self.keep(shown(&argument(&call, "path").unwrap_or_default(), text), scene),
            "list_files" if !failed && !text.starts_with(LEFT_OUT) => scene.listing = Some(listing(text)),
            "delegate_task" if reports.is_empty() && (failed || text.starts_with("refused:")) => {
                let who = argument(&call, "specialty").unwrap_or_default();
                scene.refusals.push((who, first_line(text).to_owned()));
            }
            _ => scene.reports.extend(reports),
        }
    }

    fn keep(&mut self, lines: Vec<Line>, scene: &mut Scene) {
        for line in lines {
            let is_new = scene.lines.len() < LINES_MAX && !repeats(&line.text, &scene.task.question);
            if is_new && self.seen.insert((line.path.clone(), line.number)) {
                scene.lines.push(line);
            }
        }
    }
}

fn argument(call: &RawCall, name: &str) -> Option<String> {
    call.arguments.as_ref().ok().and_then(|arguments| arguments.get(name)).and_then(Value::as_str).map(str::to_owned)
}

fn first_line(text: &str) -> &str {
    cut(text.lines().next().unwrap_or_default(), 200)
}

/// The lines of a search: a path, and below it `NUMBER: TEXT`.
fn found(text: &str) -> Vec<Line> {
    let mut path = "";
    let mut lines = Vec::new();
    for line in text.lines() {
        let numbered =
            line.split_once(": ").or_else(|| line.split_once("- ")).or(line.strip_suffix(':').map(|n| (n, "")));
        match numbered.and_then(|(number, says)| Some((number.parse().ok()?, says))) {
            Some((number, says)) => lines.push(seen(path, number, says)),
            None => path = line,
        }
    }
    lines
}

/// The lines of a file: `NUMBER`, a tab, the text.
fn shown(path: &str, text: &str) -> Vec<Line> {
    let numbered = text.lines().filter_map(|line| line.split_once('\t'));
    numbered.filter_map(|(number, says)| Some(seen(path, number.parse().ok()?, says))).collect()
}

/// A line, without what a tool says about having cut it.
fn seen(path: &str, number: u64, says: &str) -> Line {
    let says =
        CUT_LINES.iter().find_map(|mark| says.rsplit_once(mark)).map_or(says, |(part, _)| part.trim_matches('…'));
    Line { path: path.to_owned(), number, text: cut(says, LINE_BYTES_MAX).to_owned() }
}

fn listing(text: &str) -> Listing {
    let is_note = |line: &&str| line.starts_with('(');
    let paths: Vec<String> = text.lines().filter(|line| !is_note(line)).take(LISTED_MAX).map(str::to_owned).collect();
    let is_empty = |folder: &String| folder.ends_with('/') && !paths.iter().any(|path| inside(path, folder));
    let is_whole = paths.len() < LISTED_MAX && !text.lines().any(|line| is_note(&line)) && !paths.iter().any(is_empty);
    Listing { paths, is_whole }
}

fn inside(path: &str, folder: &str) -> bool {
    path.len() > folder.len() && path.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::{found, listing, shown};

    #[test]
    fn what_tools_return_is_read_line_by_line() {
        let lines = found("a/b.rs\n3: let x: u8 = 1;\n4- x\n--\n\nc.md\n9: y\n(2 matches in 2 of 3 files)");
        let lines: Vec<_> = lines.iter().map(|line| (line.path.as_str(), line.number, line.text.as_str())).collect();
        assert_eq!(lines, [("a/b.rs", 3, "let x: u8 = 1;"), ("a/b.rs", 4, "x"), ("c.md", 9, "y")]);
        assert_eq!(found("a\n1: …max_size… [part of a line of 999 bytes]")[0].text, "max_size");
        assert_eq!(shown("f", "1\ta\n2\t\n(lines 1 to 2 of 9)").len(), 2);
        assert!(listing("a/\na/b").is_whole && !listing("a/\nb").is_whole && !listing("a\n(and 3 more)").is_whole);
    }
}
