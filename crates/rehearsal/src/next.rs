//! What a contract does next: answer its hires, look at files, hire, or wait. Nothing of that is left to do: it reports.

use guildhall_agent::{Member, PromptData, TeamData};
use guildhall_kernel::Turn;
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::order::Order;
use crate::places::{places_of, reported, settings};
use crate::state::State;
use crate::words::{TROUBLE_PATTERN, Term};

/// How many agents are hired.
const HIRES_MAX: usize = 4;
/// How many calls one reply makes.
const CALLS_MAX: usize = 8;
/// How many replies of one contract look at files.
const LOOKS_MAX: usize = 4;
/// How many lines are read before and after the best one.
const AROUND: u64 = 3;
/// How many levels of directories are listed.
const DEPTH: u8 = 3;

/// The agent without a file that is hired where somebody must be and there is no other.
const AD_HOC: &str = "searcher";

/// What a hire is told that asks its hirer something.
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
    let team = data.team.as_ref().filter(|_| can_hire && state.refused.is_empty());
    let Some(team) = team.filter(|team| !team.members.is_empty() || state.must_hire) else { return look(state) };
    let is_handed_down = state.order.kinds.is_some();
    let survey = if is_handed_down || !tools.contains(&"search") { Vec::new() } else { survey(state) };
    if !survey.is_empty() {
        return survey;
    }
    let is_worth_it = is_handed_down || !tools.contains(&"search") || state.is_related();
    if is_worth_it || state.must_hire { hires(team, state) } else { Vec::new() }
}

/// Looks up the settings that the reports name, if the question is a person's.
fn confirm(state: &State) -> Vec<Call> {
    if state.order.kinds.is_some() || state.looks >= LOOKS_MAX {
        return Vec::new();
    }
    let wanted = settings(state, &reported(state));
    let missing =
        wanted.iter().map(Term::pattern).filter(|pattern| !state.searches.iter().any(|s| s.pattern == *pattern));
    missing.map(|pattern| search(&pattern, state.directory().unwrap_or_default(), "")).collect()
}

/// A first look at the whole project, and a second one in the directory that the question names.
fn survey(state: &State) -> Vec<Call> {
    if !state.is_listed() && state.looks == 0 {
        let listing = Call { tool: "list_files", arguments: json!({"depth": DEPTH}) };
        return std::iter::once(listing).chain(searches(state, "", &state.terms)).collect();
    }
    let directory = state.directory().filter(|_| state.looks < LOOKS_MAX);
    directory.map(|directory| searches(state, directory, &state.terms)).unwrap_or_default()
}

/// Searches that were not made yet, for terms in the files of the order. Trouble is searched for in the logs.
fn searches(state: &State, directory: &str, terms: &[Term]) -> Vec<Call> {
    let kinds: Vec<Kind> = state.order.kinds.clone().unwrap_or_default();
    let globs: Vec<String> = match kinds.as_slice() {
        [] => vec![String::new()],
        kinds if kinds.len() == Kind::ALL.len() => vec![String::new()],
        kinds => kinds.iter().map(|kind| kind.glob()).collect(),
    };
    let wanted = terms.iter().map(Term::pattern).filter(|pattern| !state.was_searched(pattern, directory));
    let mut calls: Vec<Call> =
        wanted.flat_map(|pattern| globs.iter().map(move |glob| search(&pattern, directory, glob))).collect();
    let reads_logs = kinds.is_empty() || kinds.contains(&Kind::Logs);
    if reads_logs && state.is_about_trouble() && !state.was_searched(TROUBLE_PATTERN, directory) {
        calls.insert(0, search(TROUBLE_PATTERN, directory, &Kind::Logs.glob()));
    }
    calls
}

fn search(pattern: &str, directory: &str, glob: &str) -> Call {
    let mut arguments = json!({"pattern": pattern});
    for (name, value) in [("path", directory), ("glob", glob)] {
        if !value.is_empty() {
            arguments[name] = json!(value);
        }
    }
    Call { tool: "search", arguments }
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
    wanted.extend(state.followed(&state.scoped(), &clues));
    wanted.extend(clues);
    let mut calls = searches(state, state.directory().unwrap_or_default(), &wanted);
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
fn hires(team: &TeamData, state: &State) -> Vec<Call> {
    let asked = state.order.kinds.clone().filter(|kinds| !kinds.is_empty()).unwrap_or(Kind::ALL.to_vec());
    let reads = |member: &Member| -> Vec<Kind> {
        let says = format!("{} {} {}", member.name, member.description, member.specialties.join(" "));
        Kind::read_by(&says).into_iter().filter(|kind| asked.contains(kind)).collect()
    };
    let fitting = team.members.iter().map(|member| (member.name.as_str(), reads(member)));
    let mut chosen: Vec<(&str, Vec<Kind>)> = fitting.filter(|(_, kinds)| !kinds.is_empty()).collect();
    if chosen.is_empty() {
        chosen = team.members.iter().map(|member| (member.name.as_str(), asked.clone())).collect();
    }
    if chosen.is_empty() && team.allows_ad_hoc {
        chosen.push((AD_HOC, asked));
    }
    let hire = |(agent, kinds): (&str, Vec<Kind>)| {
        let order = Order {
            question: state.order.question.clone(),
            clues: state.clues(),
            directory: state.directory().map(str::to_owned),
            kinds: Some(kinds),
            quoted: Vec::new(),
        };
        let (tool, arguments) = team.hire(agent, &order.write());
        Call { tool, arguments }
    };
    chosen.into_iter().take(HIRES_MAX).map(hire).collect()
}
