//! Where a contract stands, read anew from the data of each prompt: what is asked, what was searched and found, who was hired
//! and what they reported. Nothing is remembered between two asks.

use std::collections::BTreeMap;

use guildhall_agent::{Heard, HeardReport, PromptData, RawCall, Reply};
use guildhall_kernel::{Nudge, Path};

use crate::kind::Kind;
use crate::order::Order;
use crate::results::{Line, read_lines, read_search};
use crate::words::{Term, names, numbers, tells_of_trouble, terms, without_time};

/// How many lines are kept.
const LINES_MAX: usize = 2000;
/// How many clues are followed.
const CLUES_MAX: usize = 4;
/// How many identifiers next to the clues are followed.
const FOLLOWED_MAX: usize = 6;

/// A search that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) pattern: String,
    pub(crate) glob: String,
    /// How many lines it returned, or why it returned none.
    pub(crate) found: Result<usize, String>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) order: Order,
    /// What the question asks for.
    pub(crate) terms: Vec<Term>,
    pub(crate) searches: Vec<Search>,
    pub(crate) lines: Vec<Line>,
    /// The lines around the best one, if they were read.
    pub(crate) around: Option<Vec<Line>>,
    /// How many replies looked at files.
    pub(crate) looks: usize,
    /// Everybody who was hired.
    pub(crate) hired: Vec<(Path, String)>,
    pub(crate) reports: Vec<HeardReport>,
    /// What was refused, each with the reason.
    pub(crate) refused: Vec<String>,
    /// Whether it tried to hire.
    pub(crate) has_tried: bool,
    /// The hires that wait for an answer.
    pub(crate) asking: Vec<Path>,
    /// Whether the runtime demands a hire.
    pub(crate) must_hire: bool,
    /// Whether the newest reply waited for hires.
    pub(crate) has_waited: bool,
    /// How many agents it could hire.
    pub(crate) members: usize,
    /// How many replies there were.
    pub(crate) replies: usize,
}

impl State {
    pub(crate) fn read(data: &PromptData) -> State {
        let mut state = State::asked(&data.task);
        let mut calls: BTreeMap<&str, &RawCall> = BTreeMap::new();
        for heard in &data.heard {
            match heard {
                Heard::Reply(reply) => {
                    calls.extend(reply.calls.iter().map(|call| (call.id.as_str(), call)));
                    state.replied(reply);
                }
                Heard::Result { call, text, failed } => {
                    if let Some(call) = calls.get(call.as_str()) {
                        state.result(call, text, *failed);
                    }
                }
                Heard::Hired { hire, agent, .. } => state.hired.push((hire.clone(), agent.to_string())),
                Heard::Refused { call, why } => {
                    let call = call.as_deref().and_then(|call| calls.get(call));
                    let what = call.map(|call| hired_agent(call).unwrap_or(call.name.clone()));
                    state.refused.push(format!("{}, refused: {why}", what.unwrap_or("a hire".to_owned())));
                }
                Heard::Report(report) => state.reports.push(report.clone()),
                Heard::Question { from, .. } => state.asking.push(from.clone()),
                // The newest words of the owner are the question.
                Heard::Owner(words) => state = State { replies: state.replies, ..State::asked(words) },
                Heard::Nudged(nudge) => state.must_hire |= *nudge == Nudge::Required,
                Heard::Message { .. } => {}
            }
        }
        state.members = data.team.as_ref().map_or(0, |team| team.others().count());
        state
    }

    fn asked(task: &str) -> State {
        let order = Order::read(task);
        State { terms: terms(&order.question), lines: order.quoted.clone(), order, ..State::default() }
    }

    fn replied(&mut self, reply: &Reply) {
        let calls = |names: &[&str]| reply.calls.iter().any(|call| names.contains(&call.name.as_str()));
        self.looks += usize::from(calls(&["search", "read_file"]));
        self.has_waited = calls(&["wait_for_agents"]);
        self.has_tried |= reply.calls.iter().any(|call| hired_agent(call).is_some());
        self.asking.clear();
        self.replies += 1;
    }

    fn result(&mut self, call: &RawCall, text: &str, failed: bool) {
        let argument = |name: &str| argument(call, name).unwrap_or_default();
        match call.name.as_str() {
            "search" => {
                let (pattern, glob) = (argument("pattern"), argument("glob"));
                let (lines, is_cut) = read_search(text);
                let why = || text.lines().next().unwrap_or_default().to_owned();
                let count = (!failed).then_some(lines.len()).ok_or_else(why);
                self.searches.push(Search { pattern, glob, found: count, is_cut });
                for line in lines {
                    if self.lines.len() < LINES_MAX && !self.lines.contains(&line) {
                        self.lines.push(line);
                    }
                }
            }
            "read_file" => self.around = Some(read_lines(&argument("path"), text)),
            _ => {}
        }
    }

    /// The hires that have not reported yet.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &(Path, String)> {
        self.hired.iter().filter(|(hire, _)| self.reports.iter().all(|report| report.hire != *hire))
    }

    pub(crate) fn is_about_trouble(&self) -> bool {
        tells_of_trouble(&self.order.question)
    }

    pub(crate) fn was_searched(&self, pattern: &str, glob: &str) -> bool {
        self.searches.iter().any(|search| search.pattern == pattern && search.glob == glob)
    }

    /// Whether the project has to do with the question: a line, with its path, has more than half of what is asked, or a name.
    pub(crate) fn is_related(&self) -> bool {
        let is_about = |line: &Line| {
            let is_named = self.terms.iter().any(|term| matches!(term, Term::Name(_)) && term.is_in(&line.text));
            let has = |term: &&Term| term.is_in(&line.text) || term.is_in(&line.path);
            is_named || 2 * self.terms.iter().filter(has).count() > self.terms.len()
        };
        self.lines.iter().any(|line| !self.is_no_evidence(line) && is_about(line))
    }

    /// Whether a line is no evidence: it is the question itself, or of the instructions of an agent.
    pub(crate) fn is_no_evidence(&self, line: &Line) -> bool {
        let is_instruction = line.path.split('/').any(|folder| folder == "agents") && line.kind() == Kind::Docs;
        let question = self.order.question.trim_end_matches(['?', '.', '!']).to_lowercase();
        is_instruction || question.contains(' ') && line.text.to_lowercase().contains(&question)
    }

    /// The identifiers and numbers to look for: the hirer's, or those that most lines of trouble in the logs have.
    pub(crate) fn clues(&self) -> Vec<Term> {
        if self.order.kinds.is_some() || !self.is_about_trouble() {
            return self.order.clues.clone();
        }
        let tells = |line: &&Line| line.kind() == Kind::Logs && tells_of_trouble(without_time(&line.text));
        let trouble: Vec<&str> = self.lines.iter().filter(tells).map(|line| without_time(&line.text)).collect();
        let asked = |text: &&&str| self.terms.iter().any(|term| !tells_of_trouble(term.text()) && term.is_in(text));
        let meant: Vec<&str> = trouble.iter().filter(asked).copied().collect();
        let lines = if meant.is_empty() { trouble } else { meant };
        let found = |text: &&str| -> Vec<Term> {
            let numbers = numbers(text).into_iter().map(Term::Number);
            names(text).into_iter().map(Term::Name).chain(numbers).collect()
        };
        most_frequent(lines.iter().map(found), lines.len().div_ceil(2), CLUES_MAX)
    }

    /// The identifiers that stand in code next to a clue.
    pub(crate) fn followed(&self, lines: &[&Line], clues: &[Term]) -> Vec<Term> {
        let is_clue = |term: &Term| clues.contains(term) || self.terms.contains(term);
        let has_clue = |text: &str| clues.iter().any(|clue| matches!(clue, Term::Name(_)) && clue.is_in(text));
        let beside = |line: &&&Line| line.kind() == Kind::Code && has_clue(&line.text) && !is_import(&line.text);
        let found = |line: &&Line| -> Vec<Term> {
            names(&line.text).into_iter().map(Term::Name).filter(|term| !is_clue(term)).collect()
        };
        most_frequent(lines.iter().filter(beside).map(found), 1, FOLLOWED_MAX)
    }
}

/// The terms that occur in at least so many of the lists, the most frequent first.
fn most_frequent(lists: impl Iterator<Item = Vec<Term>>, least: usize, most: usize) -> Vec<Term> {
    let mut counted: Vec<(usize, Term)> = Vec::new();
    for term in lists.flatten() {
        match counted.iter_mut().find(|(_, known)| *known == term) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, term)),
        }
    }
    counted.retain(|(count, _)| *count >= least);
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    counted.into_iter().take(most).map(|(_, term)| term).collect()
}

/// Whether a line only says what a file uses.
pub(crate) fn is_import(text: &str) -> bool {
    let text = text.trim_start();
    ["import ", "from ", "use ", "pub use ", "#include", "mod "].iter().any(|start| text.starts_with(start))
}

fn argument(call: &RawCall, name: &str) -> Option<String> {
    call.arguments.as_ref().ok()?.get(name)?.as_str().map(str::to_owned)
}

/// The agent that a call would have hired.
fn hired_agent(call: &RawCall) -> Option<String> {
    ["specialty", "target_agent", "subagent_type"].iter().find_map(|name| argument(call, name))
}
