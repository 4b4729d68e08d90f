//! Teams for the tests: agent files in the project, the replies of each agent, and the prompts that each agent got.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::house::{House, says, wait_for};

/// The arguments for the team, with enough money for all agents.
pub(crate) const CREW: [&str; 4] = ["--team", "crew", "--budget", "5000sat"];

/// Writes agent files into the project. Each agent has a name and further lines of front matter.
pub(crate) fn enlist(house: &House, agents: &[(&str, &str)]) {
    let crew = house.project().join("crew");
    fs::create_dir_all(&crew).unwrap();
    for (name, front) in agents {
        let head = format!("name: {name}\ndescription: Knows all about {name}ry.\n{front}");
        fs::write(crew.join(format!("{name}.md")), format!("---\n{}\n---\n{}\n", head.trim_end(), instructions(name)))
            .unwrap();
    }
}

/// A house with a team.
pub(crate) fn staffed(house: House, agents: &[(&str, &str)]) -> House {
    enlist(&house, agents);
    house
}

/// The instructions of an agent. They identify its requests.
fn instructions(name: &str) -> String {
    format!("You are {name}.")
}

/// The front matter of an agent that hires this team.
pub(crate) fn hires(team: &[&str]) -> String {
    format!("delegation:\n  team: [{}]", team.join(", "))
}

/// A rule for the requests of one agent.
pub(crate) fn by(agent: &str, when: Value, then: Value) -> Value {
    rule(&instructions(agent), when, then)
}

/// A rule for the requests of the agent whose instructions contain this text.
#[allow(clippy::needless_pass_by_value, reason = "the tests write rules as temporary values")]
pub(crate) fn rule(instructions: &str, when: Value, then: Value) -> Value {
    let Value::Object(mut conditions) = when else { panic!("conditions are an object, not {when}") };
    conditions.insert("agent".into(), json!(instructions));
    json!({"when": conditions, "then": then})
}

/// The reply to the first request of an agent.
pub(crate) fn first(agent: &str, then: Value) -> Value {
    by(agent, json!({"nth_of_agent": 1}), then)
}

/// The reply to all other requests of an agent.
pub(crate) fn always(agent: &str, then: Value) -> Value {
    by(agent, json!({}), then)
}

/// A reply that makes these calls.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(name, arguments): &(&str, Value)| json!({"name": name, "arguments": arguments});
    json!({"reply": {"calls": calls.iter().map(call).collect::<Vec<_>>()}})
}

/// A reply that hires one agent with this budget.
pub(crate) fn delegates(specialty: &str, task: &str, budget: u64) -> Value {
    calls(&[("delegate_task", json!({"specialty": specialty, "task": task, "budget": budget}))])
}

/// A reply that hires one agent in the background.
pub(crate) fn delegates_in_background(specialty: &str, task: &str, budget: u64) -> Value {
    let arguments = json!({"specialty": specialty, "task": task, "budget": budget, "background": true});
    calls(&[("delegate_task", arguments)])
}

/// The same reply after this delay.
pub(crate) fn slowly(mut then: Value, ms: u64) -> Value {
    then["reply"]["pace"] = json!({"headers_ms": ms});
    then
}

/// A reply that starts and never ends.
pub(crate) fn stalls() -> Value {
    json!({"reply": {"text": "Well, let me see.", "pace": {"chunk_chars": 2}, "damage": {"stall": {"after": {"events": 3}}}}})
}

/// The requests of an agent, as texts.
pub(crate) fn shown(house: &House, agent: &str) -> Vec<String> {
    let requests = house.requests().into_iter().map(|request| request.to_string());
    requests.filter(|request| request.contains(&instructions(agent))).collect()
}

/// Waits until an agent has made this many requests.
pub(crate) fn until_asked(house: &House, agent: &str, times: usize) {
    wait_for(&format!("request {times} of {agent}"), || (shown(house, agent).len() >= times).then_some(()));
}

/// The contracts of the bill with their agents and outcomes: `1.1 ada done`.
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

/// Checks that a text contains each of these parts.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Checks that a text contains none of these parts.
#[track_caller]
pub(crate) fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in {text}");
    }
}

/// The directory of this repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The facts of one kind of a session, with their contracts.
pub(crate) fn facts(house: &House, id: &str, kind: &str) -> Vec<(String, Value)> {
    let shown = house.show(id)["facts"].take();
    let of_kind = |stored: &Value| {
        let fact: &Map<String, Value> = stored["fact"].as_object()?;
        Some((stored["contract"].as_str()?.to_owned(), fact.get(kind)?.clone()))
    };
    shown.as_array().unwrap().iter().filter_map(of_kind).collect()
}

/// A lead that checks the report of ada, and ada with a fee.
pub(crate) fn ada_with_a_fee(house: &House, file: &str) {
    let lead = format!("{}\n  accept: {{files: [{file}]}}", hires(&["ada"]));
    enlist(house, &[("lead", &lead), ("ada", "budget:\n  fee: 110sat")]);
}

/// A lead that hires ada, who answers.
pub(crate) fn one_hire() -> Value {
    json!([
        by("lead", json!({"has_tool_result": false}), delegates("ada", "When is it?", 500)),
        always("lead", says("On Tuesday, says ada.")),
        always("ada", says("It is on Tuesday.")),
    ])
}
