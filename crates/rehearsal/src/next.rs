//! The next calls of a contract: it answers questions of its hires, searches files, hires, or waits. Without a call it reports.

use guildhall_agent::{PromptData, Team, Worker};
use guildhall_kernel::Turn;
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::order::Order;
use crate::places::{own_places, reported_places, settings};
use crate::state::State;
use crate::words::{TROUBLE, Term};

/// The most agents that one contract hires.
const HIRES_MAX: usize = 4;
/// The most calls of one reply.
const CALLS_MAX: usize = 8;
/// The most replies of one contract that search or read files.
const LOOKS_MAX: usize = 4;
/// How many lines before and after the best line are read.
const AROUND: u64 = 3;

/// The name of the agent without an agent file, which is hired if the contract must hire and has no team.
const AD_HOC: &str = "searcher";

/// The answer to a question of a hire.
const NO_ANSWER: &str = "Your hirer is a program without a language model and can't answer: use your judgement.";

pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// Returns the calls of the next reply. Without calls, the reply is the report.
pub(crate) fn next(data: &PromptData, tools: &[&str], state: &State) -> Vec<Call> {
    if data.turn == Turn::Last || data.status.turns <= 1 {
        return Vec::new();
    }
    let answer = |id| Call { tool: "message_agent", arguments: json!({"id": id, "text": NO_ANSWER}) };
    let mut calls: Vec<Call> = state.asking.iter().map(|asking| answer(asking.to_string())).collect();
    calls.extend(work(data, tools, state));
    calls.retain(|call| tools.contains(&call.tool));
    calls.truncate(CALLS_MAX);
    calls
}

fn work(data: &PromptData, tools: &[&str], state: &State) -> Vec<Call> {
    if !state.hired.is_empty() {
        let must_wait = state.outstanding().next().is_some() && !state.has_waited;
        return if must_wait { vec![Call { tool: "wait_for_agents", arguments: json!({}) }] } else { confirm(state) };
    }
    let can_hire = data.status.hiring.is_some_and(|left| left.heads.0 > 0 && left.depth > 0);
    let team = data.team.as_ref().filter(|_| can_hire && !state.has_tried_to_hire);
    let Some(team) = team.filter(|team| team.others().next().is_some() || state.must_hire) else { return look(state) };
    let can_survey = state.order.kinds.is_none() && tools.contains(&"search");
    let survey = if can_survey && state.looks == 0 { searches(state, &state.terms) } else { Vec::new() };
    if !survey.is_empty() {
        return survey;
    }
    if !can_survey || state.is_related() || state.must_hire { hires(team, state) } else { Vec::new() }
}

/// Searches for the settings in the reports, if the question is from a person.
fn confirm(state: &State) -> Vec<Call> {
    if state.order.kinds.is_some() || state.looks >= LOOKS_MAX {
        return Vec::new();
    }
    let wanted = settings(state, &reported_places(state));
    wanted.iter().filter_map(|name| search(state, &name.pattern(), "")).collect()
}

/// Returns new searches for terms in the files of the order. For a question about trouble, they include a search in the logs.
fn searches(state: &State, terms: &[Term]) -> Vec<Call> {
    let kinds: Vec<Kind> = state.order.kinds.clone().unwrap_or_default();
    let reads_all = kinds.is_empty() || kinds.len() == Kind::ALL.len();
    let globs = if reads_all { vec![String::new()] } else { kinds.iter().map(|kind| kind.glob()).collect() };
    let reads_logs = kinds.is_empty() || kinds.contains(&Kind::Logs);
    let trouble = (reads_logs && state.is_about_trouble()).then(|| search(state, TROUBLE, &Kind::Logs.glob()));
    let of = |term: &Term| globs.iter().filter_map(|glob| search(state, &term.pattern(), glob)).collect::<Vec<_>>();
    trouble.flatten().into_iter().chain(terms.iter().flat_map(of)).collect()
}

/// Returns a search, unless it was made before.
fn search(state: &State, pattern: &str, glob: &str) -> Option<Call> {
    let in_all_files = json!({"pattern": pattern});
    let arguments = if glob.is_empty() { in_all_files } else { json!({"pattern": pattern, "glob": glob}) };
    (!state.was_searched(pattern, glob)).then_some(Call { tool: "search", arguments })
}

/// Returns the contract's own searches: for the clues, or for the words of the question if there are no clues or they find
/// nothing; then for the identifiers next to the clues. Also reads the lines around the best line.
fn look(state: &State) -> Vec<Call> {
    if state.looks >= LOOKS_MAX {
        return Vec::new();
    }
    let clues = state.clues();
    let mut wanted = Vec::new();
    if clues.is_empty() || state.looks > 0 && state.lines.is_empty() {
        wanted.extend(state.terms.iter().cloned());
    }
    wanted.extend(state.neighbours(&state.lines.iter().collect::<Vec<_>>(), &clues));
    wanted.extend(clues);
    let mut calls = searches(state, &wanted);
    if state.around.is_none()
        && let Some(best) = own_places(state).first()
    {
        let (offset, limit) = (best.line.number.saturating_sub(AROUND).max(1), 2 * AROUND + 1);
        let arguments = json!({"path": best.line.path, "offset": offset, "limit": limit});
        calls.insert(0, Call { tool: "read_file", arguments });
    }
    calls
}

/// Hires the team members that read the kinds of evidence in the order, each for its own kinds. If no member does, hires all.
fn hires(team: &Team, state: &State) -> Vec<Call> {
    let asked = state.order.kinds.clone().filter(|kinds| !kinds.is_empty()).unwrap_or(Kind::ALL.to_vec());
    let reads = |worker: &Worker| -> Vec<Kind> {
        let description = format!("{} {} {}", worker.name, worker.description, worker.specialties.join(" "));
        Kind::read_by(&description).into_iter().filter(|kind| asked.contains(kind)).collect()
    };
    let fitting = team.others().map(|worker| (worker.name.as_str(), reads(worker)));
    let mut chosen: Vec<(&str, Vec<Kind>)> = fitting.filter(|(_, kinds)| !kinds.is_empty()).collect();
    if chosen.is_empty() {
        chosen = team.others().map(|worker| (worker.name.as_str(), asked.clone())).collect();
    }
    if chosen.is_empty() && team.ad_hoc.is_some() {
        chosen.push((AD_HOC, asked));
    }
    let hire = |(agent, kinds): (&str, Vec<Kind>)| {
        let (question, clues) = (state.order.question.clone(), state.clues());
        let order = Order { question, clues, kinds: Some(kinds), quoted: Vec::new() };
        let (tool, arguments) = team.hire(agent, &order.write());
        Call { tool, arguments }
    };
    chosen.into_iter().take(HIRES_MAX).map(hire).collect()
}
