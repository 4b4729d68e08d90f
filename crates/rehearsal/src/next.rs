//! What a contract does next: answer its hires, look at files, hire, or wait. Nothing of that is left to do: it reports.

use guildhall_agent::{PromptData, Team, Worker};
use guildhall_kernel::Turn;
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::order::Order;
use crate::places::{places_of, reported, settings};
use crate::state::State;
use crate::words::{TROUBLE, Term};

/// How many agents are hired.
const HIRES_MAX: usize = 4;
/// How many calls one reply makes.
const CALLS_MAX: usize = 8;
/// How many replies of one contract look at files.
const LOOKS_MAX: usize = 4;
/// How many lines are read before and after the best one.
const AROUND: u64 = 3;

/// The agent without a file that is hired where somebody must be and there is no other.
const AD_HOC: &str = "searcher";

/// The answer to a question of a hire.
const NO_ANSWER: &str = "Your hirer is a program without a language model and can't answer: use your judgement.";

/// A call to be made.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// The calls of the next reply. None: it is time to report.
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
    let team = data.team.as_ref().filter(|_| can_hire && !state.has_tried);
    let Some(team) = team.filter(|team| team.others().next().is_some() || state.must_hire) else { return look(state) };
    let can_survey = state.order.kinds.is_none() && tools.contains(&"search");
    let survey = if can_survey && state.looks == 0 { searches(state, &state.terms) } else { Vec::new() };
    if !survey.is_empty() {
        return survey;
    }
    if !can_survey || state.is_related() || state.must_hire { hires(team, state) } else { Vec::new() }
}

/// Looks up the settings that the reports name, if the question is a person's.
fn confirm(state: &State) -> Vec<Call> {
    if state.order.kinds.is_some() || state.looks >= LOOKS_MAX {
        return Vec::new();
    }
    let wanted = settings(state, &reported(state));
    wanted.iter().filter_map(|name| search(state, &name.pattern(), "")).collect()
}

/// Searches that were not made yet, for terms in the files of the order. Trouble is searched for in the logs.
fn searches(state: &State, terms: &[Term]) -> Vec<Call> {
    let kinds: Vec<Kind> = state.order.kinds.clone().unwrap_or_default();
    let globs: Vec<String> = match kinds.as_slice() {
        [] => vec![String::new()],
        kinds if kinds.len() == Kind::ALL.len() => vec![String::new()],
        kinds => kinds.iter().map(|kind| kind.glob()).collect(),
    };
    let reads_logs = kinds.is_empty() || kinds.contains(&Kind::Logs);
    let trouble = (reads_logs && state.is_about_trouble()).then(|| search(state, TROUBLE, &Kind::Logs.glob()));
    let of = |term: &Term| globs.iter().filter_map(|glob| search(state, &term.pattern(), glob)).collect::<Vec<_>>();
    trouble.flatten().into_iter().chain(terms.iter().flat_map(of)).collect()
}

/// A search, unless it was made before.
fn search(state: &State, pattern: &str, glob: &str) -> Option<Call> {
    let all = json!({"pattern": pattern});
    let arguments = if glob.is_empty() { all } else { json!({"pattern": pattern, "glob": glob}) };
    (!state.was_searched(pattern, glob)).then_some(Call { tool: "search", arguments })
}

/// A look of one's own: for the clues, or for the words of the question if there are none or they bring nothing; then for what
/// stands beside the clues, and around the best line.
fn look(state: &State) -> Vec<Call> {
    if state.looks >= LOOKS_MAX {
        return Vec::new();
    }
    let clues = state.clues();
    let mut wanted = Vec::new();
    if clues.is_empty() || state.looks > 0 && state.lines.is_empty() {
        wanted.extend(state.terms.iter().cloned());
    }
    wanted.extend(state.followed(&state.lines.iter().collect::<Vec<_>>(), &clues));
    wanted.extend(clues);
    let mut calls = searches(state, &wanted);
    if state.around.is_none()
        && let Some(best) = places_of(state).first()
    {
        let (offset, limit) = (best.line.number.saturating_sub(AROUND).max(1), 2 * AROUND + 1);
        let arguments = json!({"path": best.line.path, "offset": offset, "limit": limit});
        calls.insert(0, Call { tool: "read_file", arguments });
    }
    calls
}

/// Hires those of the team that read what is asked for, each with its own kinds of evidence; everybody if nobody does.
fn hires(team: &Team, state: &State) -> Vec<Call> {
    let asked = state.order.kinds.clone().filter(|kinds| !kinds.is_empty()).unwrap_or(Kind::ALL.to_vec());
    let reads = |worker: &Worker| -> Vec<Kind> {
        let says = format!("{} {} {}", worker.name, worker.description, worker.specialties.join(" "));
        Kind::read_by(&says).into_iter().filter(|kind| asked.contains(kind)).collect()
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
