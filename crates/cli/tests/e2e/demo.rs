//! The demo: it works without a key and a config, changes no files of the user, and survives SIGKILL.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use toml::Table;

use crate::house::{Ended, House, Running, Wire, says};
use crate::terminal::{Terminal, seen};

/// A house whose provider must get no request.
fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("This reply is not used.")}]))
}

/// Runs a demo whose temporary files are in the project.
fn demo(house: &House, args: &[&str]) -> Ended {
    let mut command: Command = house.command(args);
    command.env("TMPDIR", house.project());
    Running::start(command, "").end()
}

/// The names of the files in a directory.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A value that the tests need to know about the example. It is stored beside the example.
fn known(key: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/payment.toml");
    let known: Table = fs::read_to_string(file).unwrap().parse().unwrap();
    known[key].as_str().unwrap().to_owned()
}

#[test]
fn the_demo_finds_the_fault_and_leaves_nothing_behind() {
    let house = house();
    // A broken config of the user does not affect the demo.
    house.write_config("modle = ");
    let before = (names(house.home()), names(house.project()));
    let ended = demo(&house, &["demo"]).expect(0).says("rehearsal: no language model").says("every balance adds up");
    assert!(ended.stdout.contains(&known("fault")), "{}", ended.stdout);
    assert!(!ended.stderr.contains("is saved"), "the demo removes its session: {}", ended.stderr);
    assert_eq!((names(house.home()), names(house.project())), before);
    assert_eq!(house.requests().len(), 0, "the provider got a request");
}

#[test]
fn a_demo_that_is_killed_half_way_gives_the_same_answer_and_the_same_bill() {
    let house = house();
    let before = (names(house.home()), names(house.project()));
    let ended = demo(&house, &["demo", "crash"])
        .expect(0)
        .says("SIGKILL")
        .says("guildhall resume")
        .says("continues, rehearsal (free)");
    assert!(ended.stdout.contains("the same answer and the same bill"), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("rehearsal: no language model\n"), "{}", ended.stdout);
    assert!(!ended.stderr.contains("is saved"), "the demo removes its session: {}", ended.stderr);
    let line = |start: &str| ended.stdout.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let (whole, resumed) = (line("bill, not interrupted"), line("bill, killed and resumed"));
    assert!(whole.is_some() && whole == resumed, "{}", ended.stdout);
    assert_eq!((names(house.home()), names(house.project())), before);
    assert_eq!(house.requests().len(), 0, "the provider got a request");
}

#[test]
fn in_a_narrow_terminal_hire_lines_differ_and_a_dead_status_line_is_glued_to_nothing() {
    let house = house();
    let terminal = Terminal::sized(80, 40);
    let mut command = house.command(&["demo", "crash"]);
    command.env("TMPDIR", house.project());
    let ended = Running::start_in(&terminal, command).end().expect(0);
    let seen = seen(&ended.stderr, 80);
    let (first_run, rest) = seen.split_once("2. the same work").unwrap();
    // The end of each line, without the name and the money. The tasks of the two readers are equal.
    let ends =
        first_run.lines().filter_map(|line| line.split_once(" sat: ").filter(|(who, _)| who.contains(" hired ")));
    let ends: Vec<&str> = ends.filter(|(who, _)| !who.contains("-reader ")).map(|(_, task)| task).collect();
    assert_eq!(ends.len(), 7, "{seen}");
    for (at, end) in ends.iter().enumerate() {
        let begins: String = end.chars().take(8).collect();
        let same = ends[..at].iter().filter(|other| other.starts_with(&begins)).count();
        assert_eq!(same, 0, "{end:?} in {ends:#?}");
    }
    let killed = rest.lines().find(|line| line.contains("was killed with SIGKILL")).unwrap();
    assert!(killed.starts_with("process "), "{killed}");
    // Whatever remains of a status line has a row of its own.
    for line in seen.lines().filter(|line| line.contains(" · ")) {
        let ends = [" of 500 sat", " of 500 sat, rehearsal (free)"];
        assert!(ends.iter().any(|end| line.ends_with(end)), "{line}");
    }
}
