//! `stop` ends every session, also one that no process runs and one that can't be resumed. It never calls a model.

use std::fs;

use serde_json::json;

use crate::crew::{CREW, delegates_in_background, first, hires, staffed, stalls, until_asked};
use crate::house::{House, Known, Running, WIRES, Wire, msat, reads, says};

/// A session that was killed while its lead waited and its hire called the model.
fn killed(wire: Wire, known: Known) -> (House, String) {
    let rules = json!([
        first("lead", delegates_in_background("ada", "Look.", 500)),
        {"when": {"agent": "You are lead."}, "then": says("She looks.")},
        first("ada", reads(&["notes.txt"])),
        {"then": stalls()},
    ]);
    let house = staffed(House::known(wire, known, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let running = house.start(&CREW);
    let id = running.session();
    until_asked(&house, "ada", 2);
    running.kill();
    (house, id)
}

/// Stops a session from this directory, and checks that it has ended, without a request, with all its money.
fn check_stop(house: &House, id: &str, mut stop: std::process::Command) {
    let before = house.requests().len();
    stop.env("HOME", house.home());
    Running::start(stop, "").end().expect(0).says(&format!("session {id} has ended"));
    assert_eq!(house.requests().len(), before, "no model was called");
    let shown = house.show(id);
    let left = msat(&shown["bill"]["granted"]) - msat(&shown["bill"]["charged"]);
    assert_eq!((&shown["state"], shown["free"].as_u64()), (&json!("cancelled"), Some(left)), "{shown:#}");
    house.guildhall(&["verify", id]).expect(0);
    house.guildhall(&["stop", id]).expect(4).says("has ended");
    house.guildhall(&["resume", id]).expect(4).says("has ended");
}

#[test]
fn stop_ends_a_session_that_no_process_runs() {
    for wire in WIRES {
        for known in [Known::ByVariables, Known::AsReplaying] {
            let (house, id) = killed(wire, known);
            check_stop(&house, &id, house.command(&["stop", &id]));
        }
    }
}

#[test]
fn stop_calls_no_model_for_the_orders_that_came_before_it() {
    let (house, id) = killed(Wire::OpenAi, Known::ByVariables);
    house.guildhall(&["message", &id, "Hurry."]).expect(0);
    house.guildhall(&["message", &format!("{id}/1.1"), "Hurry."]).expect(0);
    house.guildhall(&["stop", "--wrap-up", &id]).expect(0);
    house.guildhall(&["topup", &id, "100sat"]).expect(0);
    check_stop(&house, &id, house.command(&["stop", &id]));
}

#[test]
fn stop_ends_a_session_whose_model_is_not_set_up_any_more() {
    for wire in WIRES {
        let (house, id) = killed(wire, Known::AsReplaying);
        house.write_config("");
        house.guildhall(&["resume", &id]).expect(2);
        check_stop(&house, &id, house.command(&["stop", &id]));
    }
}

#[test]
fn stop_ends_a_session_whose_project_is_gone() {
    let (house, id) = killed(Wire::Anthropic, Known::ByVariables);
    let elsewhere = tempfile::tempdir().unwrap();
    let at = |args: &[&str]| {
        let mut command = house.command(args);
        command.current_dir(elsewhere.path());
        command
    };
    let moved = elsewhere.path().join("moved");
    fs::rename(house.project(), &moved).unwrap();
    Running::start(at(&["resume", &id]), "").end().expect(2).says("no longer exists");
    let stop = at(&["stop", &id]);
    Running::start(stop, "").end().expect(0).says(&format!("session {id} has ended"));
    fs::rename(&moved, house.project()).unwrap();
    assert_eq!(house.show(&id)["state"], "cancelled");
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn stop_ends_a_conversation_that_no_process_runs() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    let (talking, mut stdin) = Running::start_open(house.command(&["chat", "--yes", "--budget", "500sat"]));
    std::io::Write::write_all(&mut stdin, b"When is the meeting?\n").unwrap();
    let id = talking.session();
    talking.printed("On Tuesday.");
    crate::house::wait_for("the stored reply", || {
        house.root_facts(&id).last().is_some_and(|fact| fact.starts_with(r#"{"answered""#)).then_some(())
    });
    talking.kill();
    house.guildhall(&["stop", &id]).expect(0).says(&format!("session {id} has ended"));
    assert_eq!((house.requests().len(), &house.show(&id)["state"]), (1, &json!("cancelled")));
    house.guildhall(&["verify", &id]).expect(0);
}
