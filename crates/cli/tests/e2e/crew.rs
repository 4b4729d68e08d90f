//! Teams for the tests: agents as files in the project, what they say and call, and what each of them was shown.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::house::{House, wait_for};

/// The arguments that name the team, with money for all of it.
pub(crate) const CREW: [&str; 4] = ["--team", "crew", "--budget", "5000sat"];

/// Writes agents into the project: each with its name and what its front matter says besides.
pub(crate) fn enlist(house: &House, agents: &[(&str, &str)]) {
    let crew = house.project().join("crew");
    fs::create_dir_all(&crew).unwrap();
    for (name, front) in agents {
        let head = format!("name: {name}\ndescription: Knows all about {name}ry.\n{front}");
        fs::write(crew.join(format!("{name}.md")), format!("---\n{}\n---\n{}\n", head.trim_end(), is(name))).unwrap();
    }
}

/// A house with a team at work.
pub(crate) fn staffed(house: House, agents: &[(&str, &str)]) -> House {
    enlist(&house, agents);
    house
}

/// What an agent's instructions say, and those of no other.
fn is(name: &str) -> String {
    format!("You are {name}.")
}

/// Front matter of one who hires.
pub(crate) fn hires(team: &[&str]) -> String {
    format!("delegation:\n  team: [{}]", team.join(", "))
}

/// A rule for the requests of one agent.
pub(crate) fn by(agent: &str, when: Value, then: Value) -> Value {
    rule(&is(agent), when, then)
}

/// A rule for the requests of the agent whose instructions have these words.
#[allow(clippy::needless_pass_by_value, reason = "rules are written as values made on the spot")]
pub(crate) fn rule(instructions: &str, when: Value, then: Value) -> Value {
    let Value::Object(mut conditions) = when else { panic!("conditions are an object, not {when}") };
    conditions.insert("agent".into(), json!(instructions));
    json!({"when": conditions, "then": then})
}

/// What an agent does first.
pub(crate) fn first(agent: &str, then: Value) -> Value {
    by(agent, json!({"nth_of_agent": 1}), then)
}

/// What an agent does in every other case.
pub(crate) fn always(agent: &str, then: Value) -> Value {
    by(agent, json!({}), then)
}

/// A reply that makes these calls.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| json!({"name": name, "arguments": arguments});
    json!({"reply": {"calls": calls.iter().map(call).collect::<Vec<_>>()}})
}

/// A reply that hires one with this budget.
pub(crate) fn delegates(specialty: &str, task: &str, budget: u64) -> Value {
    calls(&[("delegate_task", json!({"specialty": specialty, "task": task, "budget": budget}))])
}

/// A reply that hires one in the background.
pub(crate) fn delegates_in_background(specialty: &str, task: &str, budget: u64) -> Value {
    let arguments = json!({"specialty": specialty, "task": task, "budget": budget, "background": true});
    calls(&[("delegate_task", arguments)])
}

/// The same reply, but it takes so long.
pub(crate) fn slowly(mut then: Value, ms: u64) -> Value {
    then["reply"]["pace"] = json!({"headers_ms": ms});
    then
}

/// A reply that begins and never ends.
pub(crate) fn stalls() -> Value {
    json!({"reply": {"text": "Well, let me see.", "pace": {"chunk_chars": 2}, "damage": {"stall": {"after": {"events": 3}}}}})
}

/// What an agent was shown, one text per request.
pub(crate) fn shown(house: &House, agent: &str) -> Vec<String> {
    let requests = house.requests().into_iter().map(|request| request.to_string());
    requests.filter(|request| request.contains(&is(agent))).collect()
}

/// Waits until an agent was asked so many times.
pub(crate) fn until_asked(house: &House, agent: &str, times: usize) {
    wait_for(&format!("request {times} of {agent}"), || (shown(house, agent).len() >= times).then_some(()));
}

/// Who worked and how it ended, as the bill has it: `1.1 ada done`.
#[track_caller]
pub(crate) fn worked(result: &Value) -> Vec<String> {
    let lines = result["bill"]["contracts"].as_array().unwrap_or_else(|| panic!("no bill: {result:#}"));
    let words = |outcome: &Value| match outcome {
        Value::String(outcome) => outcome.clone(),
        Value::Object(outcome) => outcome.iter().map(limited).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => "not ended".to_owned(),
    };
    let line = |line: &Value| {
        let (contract, agent) = (line["contract"].as_str().unwrap(), line["agent"].as_str().unwrap());
        format!("{contract} {agent} {}", words(&line["outcome"]))
    };
    lines.iter().map(line).collect()
}

fn limited((outcome, limit): (&String, &Value)) -> String {
    format!("{outcome} {}", limit.as_str().unwrap_or_default())
}

/// The answer of a run.
#[track_caller]
pub(crate) fn answer(result: &Value) -> &str {
    result["answer"].as_str().unwrap_or_else(|| panic!("no answer: {result:#}"))
}

/// Checks that a text has each of these.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Checks that a text has none of these.
#[track_caller]
pub(crate) fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in {text}");
    }
}

/// The directory that this repository is in.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The facts of a session of one kind, with their contract.
pub(crate) fn facts(house: &House, id: &str, kind: &str) -> Vec<(String, Value)> {
    let shown = house.show(id)["facts"].take();
    let of_kind = |stored: &Value| {
        let fact: &Map<String, Value> = stored["fact"].as_object()?;
        Some((stored["contract"].as_str()?.to_owned(), fact.get(kind)?.clone()))
    };
    shown.as_array().unwrap().iter().filter_map(of_kind).collect()
}
