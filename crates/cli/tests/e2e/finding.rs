//! Sessions on the command line: the beginning of an id, `last`, a contract; and the output of `show` for each.

use serde_json::json;

use crate::crew::{CREW, always, assert_has, assert_lacks, delegates, first, hires, staffed};
use crate::house::{House, Wire, says};

fn house() -> House {
    let rules = json!([
        first("lead", delegates("ada", "Look.\nTwice.", 900)),
        always("lead", says("On Tuesday.")),
        always("ada", says("Tuesday, I found.")),
    ]);
    staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")])
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id_and_by_last() {
    let house = house();
    house.guildhall(&["show", "last"]).expect(2).says("there is no session yet").says("guildhall run");
    let id = house.run(&CREW).expect(0).json()["session"].as_str().unwrap().to_owned();
    for name in [&id[..id.len() - 1], "last", &id[..1]] {
        assert_has(&house.guildhall(&["show", name]).expect(0).stdout, &[&id, "On Tuesday."]);
        house.guildhall(&["verify", name]).expect(0);
        house.guildhall(&["stop", name]).expect(4).says(&format!("{id} has ended"));
        house.guildhall(&["message", &format!("{name}/1.1"), "Hello."]).expect(4);
        house.guildhall(&["resume", name]).expect(4).says("has ended");
        house.guildhall(&["hire", name, "ada", "Look."]).expect(4).says("has ended");
        house.guildhall(&["correct", name, "1#1", "0"]).expect(4).says("nothing is reserved");
    }
    let newer = house.run(&["--continue", "last"]).expect(0).json()["session"].as_str().unwrap().to_owned();
    assert_eq!(newer, id, "a continued session keeps its id");
    house.guildhall(&["show", "zzz"]).expect(2).says("there is no session zzz");
    house.guildhall(&["show", "--", "--facts"]).expect(2).says("is not a session id");
    house.guildhall(&["show", "last/7.7"]).expect(2).says("there is no contract 7.7").says("1 lead, 1.1 ada");
}

#[test]
fn a_beginning_that_several_sessions_share_is_an_error() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    // There are more sessions than letters, so two ids begin with the same letter.
    let ids: Vec<String> = (0..27)
        .map(|_| house.run(&["--model", "rehearsal"]).expect(0).json()["session"].as_str().unwrap().to_owned())
        .collect();
    let shared = ids.iter().find(|id| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1).unwrap();
    house.guildhall(&["show", &shared[..1]]).expect(2).says(" sessions begin with ").says("type more of the id");
    let last = house.guildhall(&["show", "last", "--output", "json"]).expect(0).json();
    assert_eq!(last["session"], *ids.last().unwrap());
}

#[test]
fn a_contract_is_shown_with_its_whole_task_its_report_and_its_cost() {
    let house = house();
    let task = format!("When is the meeting? {}", "And why? ".repeat(40));
    let run = ["run", &task, "--yes", "--team", "crew", "--budget", "5000sat", "-q"];
    house.guildhall(&run).expect(0);
    let shown = house.guildhall(&["show", "last"]).expect(0);
    assert_has(&shown.stdout, &[task.trim(), "On Tuesday.", "1.1       ada"]);
    assert_eq!(shown.stderr, "", "all output is on stdout");
    let shown = house.guildhall(&["show", "last/1.1"]).expect(0);
    assert_has(
        &shown.stdout,
        &["/1.1 ada  done", "granted  900 sat", "Look.\nTwice.", "Tuesday, I found.", "of 900 sat"],
    );
    assert_lacks(&shown.stdout, &["On Tuesday.", "lead"]);
    let facts = house.guildhall(&["show", "last/1.1", "--facts"]).expect(0).stdout;
    assert_has(&facts, &["1.1 ada hired with 900 sat", "1.1 ada asks the model", "1.1 ada done: used "]);
    assert_lacks(&facts, &["1 lead"]);
    let json = house.guildhall(&["show", "last/1.1", "--facts", "--output", "json"]).expect(0).json();
    assert_eq!(
        (&json["contract"], &json["agent"], &json["answer"]),
        (&json!("1.1"), &json!("ada"), &json!("Tuesday, I found."))
    );
    assert!(json["facts"].as_array().unwrap().iter().all(|fact| fact["contract"] == "1.1"), "{json}");
    assert_eq!(house.guildhall(&["show", "last", "--output", "json"]).expect(0).json()["task"], task.trim());
}

/// The candidates of a shell after these words.
fn offered(house: &House, words: &[&str]) -> Vec<String> {
    let mut command = house.command(&[&["--", "guildhall"], words].concat());
    let index = words.len().to_string();
    command.envs([("GUILDHALL_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", &index), ("_CLAP_COMPLETE_COMP_TYPE", "9")]);
    command.env("_CLAP_IFS", "\n");
    crate::house::Running::start(command, "").end().expect(0).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_is_offered_commands_sessions_contracts_and_agents() {
    let house = house();
    assert_eq!(offered(&house, &["show", "l"]), Vec::<String>::new(), "there is no session");
    let id = house.run(&CREW).expect(0).json()["session"].as_str().unwrap().to_owned();
    assert_eq!(offered(&house, &["sho"]), ["show"]);
    assert_eq!(offered(&house, &["show", &id[..id.len() - 2]]), std::slice::from_ref(&id));
    assert_eq!(offered(&house, &["message", "last/1."]), ["last/1.1"]);
    assert_eq!(offered(&house, &["run", "--team", "crew", "--agent", "le"]), ["lead"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = house.guildhall(&["completions", shell]).expect(0).stdout;
        assert_has(&script, &["GUILDHALL_COMPLETE", "guildhall"]);
    }
    house.guildhall(&["completions", "sh"]).expect(2).says("bash");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let house = house();
    assert_has(&house.guildhall(&["man"]).expect(0).stdout, &[".TH guildhall 1", "guildhall\\-run"]);
    house.guildhall(&["man", "pages"]).expect(0);
    let page = std::fs::read_to_string(house.project().join("pages/guildhall-run.1")).unwrap();
    assert_has(&page, &["\\-\\-budget", "\\-\\-quiet"]);
}
