//! The state of a contract, read again from the data of each prompt: the question, the searches and their results, the hires and
//! their reports. Nothing is remembered between two asks.

use std::collections::BTreeMap;

use guildhall_agent::{Heard, HeardReport, PromptData, RawCall, Reply};
use guildhall_kernel::{Nudge, Path};

use crate::kind::Kind;
use crate::order::Order;
use crate::results::{Line, read_lines, read_search};
use crate::words::{Term, mentions_trouble, names, numbers, terms, without_time};

/// The most lines that are kept.
const LINES_MAX: usize = 2000;
/// The most clues that are searched for.
const CLUES_MAX: usize = 4;
/// The most identifiers next to clues that are searched for.
const NEIGHBOURS_MAX: usize = 6;

/// A search that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) pattern: String,
    pub(crate) glob: String,
    /// How many lines the search returned, or why it failed.
    pub(crate) found: Result<usize, String>,
    /// Whether the search found more lines than it returned.
    pub(crate) is_cut: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) order: Order,
    /// The search terms of the question.
    pub(crate) terms: Vec<Term>,
    pub(crate) searches: Vec<Search>,
    pub(crate) lines: Vec<Line>,
    /// The lines around the best line, if they were read.
    pub(crate) around: Option<Vec<Line>>,
    /// How many replies searched or read files.
    pub(crate) looks: usize,
    pub(crate) hired: Vec<(Path, String)>,
    pub(crate) reports: Vec<HeardReport>,
    /// The refused calls, each with the reason.
    pub(crate) refused: Vec<String>,
    pub(crate) has_tried_to_hire: bool,
    /// The hires that wait for an answer to their question.
    pub(crate) asking: Vec<Path>,
    /// Whether the runtime requires a hire.
    pub(crate) must_hire: bool,
    /// Whether the newest reply waited for hires.
    pub(crate) has_waited: bool,
    /// The size of the contract's team.
    pub(crate) members: usize,
    /// How many replies the contract has made.
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
                Heard::Refused { call, hire, why } => {
                    state.hired.retain(|(hired, _)| Some(hired) != hire.as_ref());
                    let call = call.as_deref().and_then(|call| calls.get(call));
                    let what = call.map(|call| hired_agent(call).unwrap_or(call.name.clone()));
                    state.refused.push(format!("{}, refused: {why}", what.unwrap_or("a hire".to_owned())));
                }
                Heard::Report(report) => state.reports.push(report.clone()),
                Heard::Question { from, .. } => state.asking.push(from.clone()),
                // The newest message of the owner is the question.
                Heard::Owner(text) => state = State { replies: state.replies, ..State::asked(text) },
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
        self.has_tried_to_hire |= reply.calls.iter().any(|call| hired_agent(call).is_some());
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
        mentions_trouble(&self.order.question)
    }

    pub(crate) fn was_searched(&self, pattern: &str, glob: &str) -> bool {
        self.searches.iter().any(|search| search.pattern == pattern && search.glob == glob)
    }

    /// Whether the project is related to the question: a line with its path has more than half of the search terms, or a name.
    pub(crate) fn is_related(&self) -> bool {
        let is_about = |line: &Line| {
            let is_named = self.terms.iter().any(|term| matches!(term, Term::Name(_)) && term.is_in(&line.text));
            let has = |term: &&Term| term.is_in(&line.text) || term.is_in(&line.path);
            is_named || 2 * self.terms.iter().filter(has).count() > self.terms.len()
        };
        self.lines.iter().any(|line| !self.is_not_evidence(line) && is_about(line))
    }

    /// Whether a line is not evidence: it repeats the question, or is part of an agent's instructions.
    pub(crate) fn is_not_evidence(&self, line: &Line) -> bool {
        let is_instruction = line.path.split('/').any(|folder| folder == "agents") && line.kind() == Kind::Docs;
        let question = self.order.question.trim_end_matches(['?', '.', '!']).to_lowercase();
        is_instruction || question.contains(' ') && line.text.to_lowercase().contains(&question)
    }

    /// Returns the identifiers and numbers to search for: those of the hirer, or those in most log lines about trouble.
    pub(crate) fn clues(&self) -> Vec<Term> {
        if self.order.kinds.is_some() || !self.is_about_trouble() {
            return self.order.clues.clone();
        }
        let is_trouble = |line: &&Line| line.kind() == Kind::Logs && mentions_trouble(without_time(&line.text));
        let trouble: Vec<&str> = self.lines.iter().filter(is_trouble).map(|line| without_time(&line.text)).collect();
        let asked = |text: &&&str| self.terms.iter().any(|term| !mentions_trouble(term.text()) && term.is_in(text));
        let meant: Vec<&str> = trouble.iter().filter(asked).copied().collect();
        let lines = if meant.is_empty() { trouble } else { meant };
        let found = |text: &&str| -> Vec<Term> {
            let numbers = numbers(text).into_iter().map(Term::Number);
            names(text).into_iter().map(Term::Name).chain(numbers).collect()
        };
        most_frequent(lines.iter().map(found), lines.len().div_ceil(2), CLUES_MAX)
    }

    /// Returns the identifiers that are next to a clue in code.
    pub(crate) fn neighbours(&self, lines: &[&Line], clues: &[Term]) -> Vec<Term> {
        let is_clue = |term: &Term| clues.contains(term) || self.terms.contains(term);
        let has_clue = |text: &str| clues.iter().any(|clue| matches!(clue, Term::Name(_)) && clue.is_in(text));
        let beside = |line: &&&Line| line.kind() == Kind::Code && has_clue(&line.text) && !is_import(&line.text);
        let found = |line: &&Line| -> Vec<Term> {
            names(&line.text).into_iter().map(Term::Name).filter(|term| !is_clue(term)).collect()
        };
        most_frequent(lines.iter().filter(beside).map(found), 1, NEIGHBOURS_MAX)
    }
}

/// Returns up to `most` terms that occur in at least `least` lists, the most frequent first.
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

/// Whether a line is an import.
pub(crate) fn is_import(text: &str) -> bool {
    let text = text.trim_start();
    ["import ", "from ", "use ", "pub use ", "#include", "mod "].iter().any(|start| text.starts_with(start))
}

fn argument(call: &RawCall, name: &str) -> Option<String> {
    call.arguments.as_ref().ok()?.get(name)?.as_str().map(str::to_owned)
}

/// Returns the agent that a call hires.
fn hired_agent(call: &RawCall) -> Option<String> {
    ["specialty", "target_agent", "subagent_type"].iter().find_map(|name| argument(call, name))
}
