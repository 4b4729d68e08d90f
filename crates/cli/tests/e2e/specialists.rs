//! Ad-hoc specialists with the names of listed agents: the name of a specialist never finds an agent, and the name of an agent never
//! finds a specialist.

use serde_json::{Value, json};

use crate::crew::{CREW, always, answer, assert_has, by, calls, delegates, first, hires, rule, staffed, worked};
use crate::house::{House, WIRES, Wire, says};

/// The instructions of an ad-hoc specialist.
fn specialist(name: &str) -> String {
    format!("You are a specialist in this field: {name}.")
}

/// A rule for the requests of an ad-hoc specialist that has hired nobody yet.
fn at_first(name: &str, then: Value) -> Value {
    rule(&specialist(name), json!({"has_tool_result": false}), then)
}

/// A rule for the other requests of an ad-hoc specialist.
fn then(name: &str, then: Value) -> Value {
    rule(&specialist(name), json!({}), then)
}

/// A crew with an investigator that may hire ad-hoc specialists. The team of the keeper makes `researcher` and `reviewer` names of
/// listed agents, too.
fn crew(wire: Wire, more: &str, rules: &Value) -> House {
    let investigator = format!("{}\n  ad_hoc: true{more}", hires(&["keeper"]));
    let keeper = hires(&["researcher", "reviewer"]);
    let agents = [("investigator", investigator.as_str()), ("keeper", &keeper), ("researcher", ""), ("reviewer", "")];
    staffed(House::new(wire, rules), &agents)
}

/// Runs the crew, and checks its contracts and the parts of its answer.
fn check(wire: Wire, more: &str, rules: &Value, contracts: &[&str], says: &[&str]) {
    let house = crew(wire, more, rules);
    let result = house.run(&CREW).expect(0).json();
    assert_has(answer(&result), says);
    assert_eq!(worked(&result), contracts, "{wire:?}");
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn an_ad_hoc_specialist_with_a_listed_name_hires_an_ad_hoc_specialist_with_a_listed_name() {
    for wire in WIRES {
        let rules = json!([
            first("investigator", delegates("researcher", "Find the leak.", 3000)),
            always("investigator", says("Heard: {{tool_result}}")),
            at_first("researcher", delegates("reviewer", "Check it.", 900)),
            then("researcher", says("Reviewed: {{tool_result}}")),
            then("reviewer", says("It leaks.")),
        ]);
        let contracts = ["1 investigator done", "1.1 researcher done", "1.1.1 reviewer done"];
        check(wire, "", &rules, &contracts, &["Reviewed:", "It leaks."]);
    }
}

#[test]
fn a_listed_agent_below_an_ad_hoc_specialist_hires_the_listed_agent_of_the_name_of_the_specialist() {
    for wire in WIRES {
        let rules = json!([
            first("investigator", delegates("reviewer", "Find the leak.", 3000)),
            always("investigator", says("Heard: {{tool_result}}")),
            at_first("reviewer", delegates("keeper", "Look it up.", 1500)),
            then("reviewer", says("Kept: {{tool_result}}")),
            by("keeper", json!({"has_tool_result": false}), delegates("reviewer", "Judge it.", 700)),
            always("keeper", says("Judged: {{tool_result}}")),
            always("reviewer", says("It leaks.")),
        ]);
        let contracts = ["1 investigator done", "1.1 reviewer done", "1.1.1 keeper done", "1.1.1.1 reviewer done"];
        check(wire, "", &rules, &contracts, &["Kept:", "Judged:", "It leaks."]);
    }
}

#[test]
fn the_fork_of_an_ad_hoc_specialist_with_a_listed_name_works_as_its_hirer() {
    let hire = |arguments: Value| calls(&[("Agent", arguments)]);
    let is_copy = || json!({"last_user": "You are a copy"});
    for wire in WIRES {
        let rules = json!([
            first("investigator", hire(json!({"subagent_type": "researcher", "prompt": "Find the leak."}))),
            always("investigator", says("Heard: {{tool_result}}")),
            at_first("researcher", hire(json!({"prompt": "Check the roof."}))),
            rule(
                &specialist("researcher"),
                is_copy(),
                hire(json!({"subagent_type": "reviewer", "prompt": "Check it."}))
            ),
            then("researcher", says("Reviewed: {{tool_result}}")),
            then("reviewer", says("It leaks.")),
        ]);
        let contracts =
            ["1 investigator done", "1.1 researcher done", "1.1.1 researcher done", "1.1.1.1 reviewer done"];
        check(wire, "\n  dialect: Agent", &rules, &contracts, &["Reviewed:", "It leaks."]);
    }
}
