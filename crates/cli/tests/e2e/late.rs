//! Orders that come too late, especially top-ups, and an inbox that can't be read for a while.

use std::io::Write;

use serde_json::json;

use crate::chat::CHAT;
use crate::crew::{assert_has, assert_lacks, delegates_in_background, first, hires, staffed, stalls, until_asked};
use crate::house::{House, Running, WIRES, Wire, msat, says, wait_for};

/// A conversation that waits for a message, and its session.
fn waiting_for_words(house: &House) -> (Running, std::process::ChildStdin, String) {
    let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
    stdin.write_all(b"When is the meeting?\n").unwrap();
    talking.printed("On Tuesday.");
    let id = talking.session();
    until_stored(house, &id);
    (talking, stdin, id)
}

/// Waits until the root's newest answer is stored. Words are printed before that, and a process that is paused while it
/// writes blocks all others.
fn until_stored(house: &House, id: &str) {
    wait_for("the stored answer", || {
        house.root_facts(id).last().is_some_and(|fact| fact.starts_with(r#"{"answered""#)).then_some(())
    });
}

/// Sends a stop and then a top-up of 500 sat to a paused process. It reads both orders together, so the root has closed
/// when the money arrives. Returns the process of the top-up.
fn leave_both(house: &House, talking: &Running, id: &str) -> Running {
    talking.pause();
    house.guildhall(&["stop", id]).expect(0);
    let paying = Running::start(house.command(&["topup", id, "500sat"]), "");
    wait_for("both orders", || (house.rows("inbox") == 2).then_some(()));
    paying
}

/// Checks that the session has all its money: the unused part of the grant, and the money that came too late.
fn assert_kept(house: &House, id: &str) {
    let shown = house.show(id);
    let left = 5_000_000 - msat(&shown["bill"]["charged"]) + 500_000;
    assert_eq!((shown["free"].as_u64(), shown["late"].as_u64()), (Some(left), Some(500_000)), "{shown:#}");
    let shown = house.guildhall(&["show", id]).expect(0).stdout;
    assert_has(
        &shown,
        &["contract 1 has closed: 500 sat", "stay in the session", &format!("guildhall run --continue {id}")],
    );
    house.guildhall(&["verify", id]).expect(0);
    let continued = house.guildhall(&["run", "--continue", id, "And where?", "--output", "json"]).expect(0).json();
    assert_eq!(msat(&continued["bill"]["granted"]), left, "the money can be used");
    house.guildhall(&["verify", id]).expect(0);
}

#[test]
fn a_top_up_for_a_root_that_closes_first_stays_in_the_session_with_a_message() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
        let (talking, _stdin, id) = waiting_for_words(&house);
        let paying = leave_both(&house, &talking, &id);
        talking.go_on();
        let advice = format!("To use them, run: guildhall run --continue {id}");
        paying.end().expect(0).says("contract 1 has closed: 500 sat").says(&advice);
        talking.end().expect(1).says("contract 1 has closed: 500 sat").says(&advice);
        assert_kept(&house, &id);
    }
}

#[test]
fn money_that_came_too_late_is_credited_once_after_a_kill() {
    let house = House::new(Wire::OpenAi, &json!([{"then": says("On Tuesday.")}]));
    let (talking, _stdin, id) = waiting_for_words(&house);
    let paying = leave_both(&house, &talking, &id);
    talking.kill();
    paying.end().expect(0).says("no process runs");
    house.guildhall(&["resume", &id]).expect(1).says("contract 1 has closed: 500 sat");
    house.guildhall(&["resume", &id]).expect(4).says("has ended");
    assert_kept(&house, &id);
}

#[test]
fn a_top_up_for_a_hire_that_closes_names_the_contract_that_has_the_money() {
    let house = House::new(
        Wire::Anthropic,
        &json!([
            first("lead", delegates_in_background("ada", "Look.", 500)),
            {"when": {"agent": "You are lead."}, "then": says("She looks.")},
            first("ada", stalls()),
        ]),
    );
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    let (talking, mut stdin) = Running::start_open(house.command(&[&CHAT[..], &["--team", "crew"]].concat()));
    stdin.write_all(b"When is the meeting?\n").unwrap();
    let id = talking.session();
    until_asked(&house, "ada", 1);
    talking.printed("She looks.");
    until_stored(&house, &id);
    // Both orders are read together: the hire closes with the first and can't take the money of the second.
    talking.pause();
    house.guildhall(&["stop", &format!("{id}/1.1")]).expect(0);
    let paying = Running::start(house.command(&["topup", &format!("{id}/1.1"), "700sat"]), "");
    wait_for("both orders", || (house.rows("inbox") == 2).then_some(()));
    talking.go_on();
    let paid = paying.end().expect(0);
    // The hire may or may not receive the money before it closes. In both cases the message names the place of the money.
    let messages = ["1.1 of ", "has 700 sat", "takes no more money: 700 sat"];
    assert!(messages[1..].iter().any(|message| paid.stderr.contains(message)), "{}", paid.stderr);
    drop(stdin);
    let result = talking.end();
    assert_lacks(&result.stderr, &["panicked"]);
    let shown = house.show(&id);
    assert_eq!(msat(&shown["bill"]["granted"]), 5_700_000, "{shown:#}");
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn an_inbox_that_can_t_be_read_for_a_while_does_not_end_the_session() {
    let house = House::new(
        Wire::Anthropic,
        &json!([{"then": {"reply": {"text": "On Tuesday.", "pace": {"chunk_chars": 2},
        "damage": {"stall": {"after": {"events": 3}}}}}}]),
    );
    let mut running = house.start(&[]);
    let id = running.session();
    wait_for("the first request", || (!house.requests().is_empty()).then_some(()));
    let inbox = house.definitions("inbox");
    house.tamper("DROP TABLE inbox");
    running.told("orders from other terminals can't be read at the moment");
    assert!(!running.has_ended());
    house.tamper(&inbox);
    house.guildhall(&["stop", &id]).expect(0);
    let ended = running.end().expect(1);
    assert_eq!(ended.json()["outcome"], "cancelled", "the order was read");
    assert_eq!(ended.stderr.matches("can't be read at the moment").count(), 1, "{}", ended.stderr);
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn an_order_does_not_read_the_facts_of_other_contracts() {
    let house = House::new(
        Wire::OpenAi,
        &json!([
            first("lead", delegates_in_background("ada", "Look.", 500)),
            {"when": {"agent": "You are lead."}, "then": says("She looks.")},
            first("ada", stalls()),
        ]),
    );
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    let running = house.start(&["--team", "crew", "--budget", "5000sat"]);
    let id = running.session();
    until_asked(&house, "ada", 1);
    running.kill();
    // A fact of the hire that can't be read. An order to the lead does not need this fact.
    house.tamper(
        "UPDATE fact SET body = 'nothing' WHERE contract = '1.1' AND seq = (SELECT min(seq) FROM fact WHERE contract = '1.1')",
    );
    house.guildhall(&["show", &id]).expect(1);
    house.guildhall(&["message", &id, "Enough."]).expect(0).says("no process runs");
    house.guildhall(&["topup", &id, "100sat"]).expect(0).says("no process runs");
    house.guildhall(&["message", &format!("{id}/1.7"), "Enough."]).expect(4).says("is not at work");
    assert_eq!(house.rows("inbox"), 2);
}
