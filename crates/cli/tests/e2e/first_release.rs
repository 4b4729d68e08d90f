//! A journal of the first release: fact form 1, database format 2, other texts in every refusal. Every later version must open,
//! show, continue and verify it.

use std::fs;

use serde_json::{Value, json};

use crate::crew::{always, answer, assert_has, enlist, facts, hires, worked};
use crate::house::{House, KEY, Known, MODEL, Wire, msat, says};

/// A session that ended after nineteen refusals of seventeen kinds.
const ENDED: &str = "glad-weaver-2407";

/// A session that was killed with `kill -9` while a hire waited for its model, after seventeen refusals.
const KILLED: &str = "cosy-mason-2029";

/// A session that ended after a broken reply.
const LOST_A_CALL: &str = "able-robin-9649";

/// A session that a panic stopped. Its first reply is stored as text that is not JSON.
const UNREADABLE: &str = "neat-otter-9977";

/// A session that was killed with `kill -9` while a hire waited for a model that is not its agent's own. It is in a journal of its own.
const ON_ANOTHER_MODEL: &str = "glad-heron-4309";

/// Copies a journal of the first release into a house whose provider has the name that the journal knows.
fn put_journal(house: &House, fixture: &str) {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    fs::copy(format!("{fixtures}/{fixture}"), house.journal()).unwrap();
    house.tamper(&format!("UPDATE session SET project = '{}'", house.project().display()));
}

/// A house with the journal of the first four sessions.
fn house(rules: &Value) -> House {
    let house = House::known(Wire::OpenAi, Known::AsReplaying, rules);
    put_journal(&house, "first-release.db");
    enlist(&house, &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", &hires(&["ada", "lead"]))]);
    house
}

#[test]
fn a_journal_of_the_first_release_is_listed_shown_and_verified() {
    let house = house(&json!([]));
    house.guildhall(&["verify"]).expect(0);
    let listed = house.guildhall(&["ls", "--output", "json"]).expect(0).json();
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|line| line["session"].as_str().unwrap()).collect();
    assert_eq!(ids, [UNREADABLE, LOST_A_CALL, KILLED, ENDED]);
    let shown = house.show(ENDED);
    assert_eq!((answer(&shown), msat(&shown["bill"]["charged"])), ("On Tuesday, says ada.", 13_519));
    assert_eq!(shown["bill"]["violations"], json!([]));
    let refused = facts(&house, ENDED, "refused");
    assert_eq!(refused.len(), 19);
    assert!(
        refused.iter().all(|(_, refused)| refused["bytes"].is_null()),
        "form 1 does not store the length of a reason"
    );
}

#[test]
fn a_transcript_of_the_first_release_says_that_the_opening_is_missing() {
    let house = house(&json!([]));
    let text = house.guildhall(&["transcript", ENDED]).expect(0).stdout;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_has(lines[0]["content"].as_str().unwrap(), &["are not stored", "older version"]);
    assert_eq!(lines[0]["tools"], Value::Null);
    let facts = house.show(ENDED)["facts"].as_array().unwrap().iter().filter(|fact| fact["contract"] == "1").count();
    assert_eq!(lines.len(), facts + 1);
    // The first reply of this session is not JSON. `show` has the same exit code.
    house.guildhall(&["show", UNREADABLE]).expect(7);
    house.guildhall(&["transcript", UNREADABLE]).expect(7).says("contract 1: the model reply").says("is not valid");
}

#[test]
fn a_killed_tree_of_the_first_release_continues_with_the_new_refusal_texts() {
    let rules = json!([always("ada", says("It is upstairs.")), always("lead", says("Upstairs, says ada."))]);
    let house = house(&rules);
    let result = house.guildhall(&["resume", KILLED, "--output", "json"]).expect(0).json();
    assert_eq!(answer(&result), "Upstairs, says ada.");
    assert_eq!(worked(&result), ["1 lead done", "1.1 ada done"]);
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_lost_call_of_the_first_release_is_reserved_and_can_be_corrected() {
    let house = house(&json!([]));
    let bill = house.show(LOST_A_CALL)["bill"].take();
    assert_eq!((msat(&bill["reserved"]), msat(&bill["charged"])), (44_698, 49_193));
    house.guildhall(&["correct", LOST_A_CALL, "1.1#1", "0"]).expect(0);
    let bill = house.show(LOST_A_CALL)["bill"].take();
    assert_eq!((msat(&bill["reserved"]), msat(&bill["charged"])), (0, 49_193 - 44_698));
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_session_of_the_first_release_with_an_unreadable_reply_is_shown_billed_and_stopped() {
    let house = house(&json!([{"then": says("Done.")}]));
    let shown = house.guildhall(&["show", UNREADABLE]).expect(7);
    assert_has(&shown.stdout, &["can't be read: contract 1: the model reply", "bill", "1 lead"]);
    house.guildhall(&["stop", UNREADABLE]).expect(0);
    house.guildhall(&["resume", UNREADABLE]).expect(1);
    let shown = house.show(UNREADABLE);
    assert_eq!(shown["state"], "cancelled", "{shown:#}");
    house.guildhall(&["verify", UNREADABLE]).expect(0);
}

#[test]
fn a_session_of_the_first_release_with_an_unreadable_reply_continues() {
    let house = house(&json!([{"then": says("On Tuesday.")}]));
    let result = house.guildhall(&["resume", UNREADABLE, "--output", "json"]).expect(0).json();
    assert_eq!(answer(&result), "On Tuesday.");
    let [request] = house.requests().try_into().unwrap();
    let [reply, result] = [1, 2].map(|at| request["messages"][at + 1].clone());
    assert_has(reply["content"].as_str().unwrap(), &["One moment.", "could not be read back"]);
    let call = &reply["tool_calls"][0];
    assert_eq!(call["function"], json!({"name": "unreadable", "arguments": "{}"}));
    assert_eq!(
        (&result["role"], &result["tool_call_id"]),
        (&json!("tool"), &call["id"]),
        "the result belongs to the call"
    );
    house.guildhall(&["verify", UNREADABLE]).expect(0);
}

#[test]
fn its_hire_on_another_model_continues_with_that_model() {
    let script = json!({"key": KEY, "models": [MODEL, "other-model"], "replay": true, "rules": [
        always("lead", says("On Tuesday, says ada.")),
        always("ada", says("On Tuesday.")),
    ]});
    let house = House::scripted(Wire::OpenAi, Known::AsReplaying, script);
    house.write_config(&format!("{}[prices.\"other-model\"]\ninput = 2\noutput = 9\n", house.read_config()));
    put_journal(&house, "first-release-other-model.db");
    let team = "delegation:\n  team: [ada, bob]\n  dialect: Agent";
    enlist(&house, &[("lead", team), ("ada", ""), ("bob", "model: other-model")]);
    let opened = facts(&house, ON_ANOTHER_MODEL, "opened");
    assert!(opened.iter().any(|(path, brief)| path == "1.1" && brief["chair"] == 1), "{opened:?}");
    let result = house.guildhall(&["resume", ON_ANOTHER_MODEL, "--output", "json"]).expect(0).json();
    assert_eq!((answer(&result), worked(&result).len()), ("On Tuesday, says ada.", 2));
    let models: Vec<Value> = house.requests().into_iter().map(|mut request| request["model"].take()).collect();
    assert_eq!(models, ["other-model", MODEL], "the hire is asked first, then its hirer");
    house.guildhall(&["verify"]).expect(0);
}
