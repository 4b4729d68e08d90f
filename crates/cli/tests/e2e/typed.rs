//! What people type out of habit: a task without a command, short flags, and a command without its session.

use serde_json::{Value, json};

use crate::crew::{assert_has, assert_lacks, stalls};
use crate::house::{House, Running, Wire, says, wait_for};
use crate::terminal::Terminal;

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

fn requests(house: &House) -> Vec<String> {
    house.requests().iter().map(Value::to_string).collect()
}

#[test]
fn a_task_of_several_words_needs_no_command_also_behind_flags() {
    let house = house();
    for args in [
        &["When is it?", "--yes"][..],
        &["--yes", "When is it?"],
        &["-y", "-m", "test-model", "--budget=500sat", "When is it?"],
        &["-yp", "When is it?"],
    ] {
        assert_eq!(house.guildhall(args).expect(0).stdout, "On Tuesday.\n", "{args:?}");
    }
    let ended = Running::start(house.command(&["-y", "-p"]), "When is it?").end().expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\n");
    assert!(requests(&house).iter().all(|request| request.contains("When is it?")));
}

#[test]
fn one_word_that_is_no_command_is_an_error_with_the_nearest_command_and_costs_nothing() {
    let house = house();
    for args in [&["modls"][..], &["-y", "modls"], &["--yes", "-m", "test-model", "modls"], &["-y", "modls", "show"]] {
        let ended = house.guildhall(args).expect(2).says("unrecognized subcommand 'modls'").says("'models'");
        assert_has(&ended.stderr, &["a task of one word needs a command: guildhall run WORD"]);
    }
    house.guildhall(&["-y", "xyzzy"]).expect(2).says("unrecognized subcommand 'xyzzy'");
    let json = house.guildhall(&["modls", "--output", "json"]).expect(2).json();
    assert_has(json["failure"].as_str().unwrap(), &["'models'"]);
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn c_continues_the_newest_session_of_this_project() {
    let house = house();
    let other = house.project().join("other");
    std::fs::create_dir(&other).unwrap();
    house.guildhall(&["run", "-c", "And?", "-y"]).expect(2).says("no session has worked on ");
    house.guildhall(&["run", "The first task.", "-y"]).expect(0);
    house.guildhall(&["run", "The second task.", "-y"]).expect(0);
    house.guildhall(&["run", "A task elsewhere.", "-y", "--project", "other"]).expect(0);
    house.guildhall(&["run", "-c", "And where?", "-y"]).expect(0);
    house.guildhall(&["-cy", "--project", "other", "And there?"]).expect(0);
    let requests = requests(&house);
    assert_has(&requests[3], &["The second task.", "And where?"]);
    assert_lacks(&requests[3], &["The first task."]);
    assert_has(&requests[4], &["A task elsewhere.", "And there?"]);
    // The flag with a value is as before, and the two can't be combined.
    house.guildhall(&["run", "--continue", "last", "-y"]).expect(0);
    house.guildhall(&["run", "-c", "--continue", "last", "-y"]).expect(2).says("cannot be used with");
    let ended = Running::start(house.command(&["chat", "-c", "-y"]), "And when?\n").end().expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\n");
}

#[test]
fn resume_without_a_session_shows_a_list_in_a_terminal() {
    let house =
        House::new(Wire::Anthropic, &json!([{"when": {"nth": 1}, "then": stalls()}, {"then": says("On Tuesday.")}]));
    let chosen = |keys: &str| {
        let terminal = Terminal::open();
        let running = Running::start_in(&terminal, house.command(&["resume"]));
        running.told("Type its number or its id");
        terminal.type_in(keys);
        running.end()
    };
    house.guildhall(&["resume"]).expect(2).says("no session is named. Try: guildhall resume last");
    let terminal = Terminal::open();
    Running::start_in(&terminal, house.command(&["resume"])).end().expect(4).says("no session was interrupted");
    let running = house.start(&[]);
    wait_for("the call", || (!house.requests().is_empty()).then_some(()));
    let id = running.session();
    running.kill();
    chosen("\r").expect(4).says("no session was chosen").says(&format!(" 1  {id}"));
    chosen("7\r").expect(2);
    assert_eq!(chosen("1\r").expect(0).stdout, "On Tuesday.\n");
}
