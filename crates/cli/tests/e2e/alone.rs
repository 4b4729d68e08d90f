//! The program connects only to the chosen provider: no telemetry, no check for updates, no other name lookups.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::house::{House, Running, WIRES, Wire, reads, says};

/// Whether strace can trace system calls here. If not, this prints a message, and the test ends.
#[allow(clippy::print_stderr, reason = "the output of the tests must show what was not tested")]
pub(crate) fn can_trace() -> bool {
    let tried = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        eprintln!("SKIPPED: strace is not installed, or is not allowed to trace here");
    }
    can
}

/// The addresses that the program connected or sent data to.
fn addresses(house: &House, args: &[&str], code: i32) -> Vec<String> {
    let trace = house.home().join("trace.txt");
    let file = trace.display().to_string();
    let strace = ["-f", "-qq", "-o", &file, "-e", "trace=connect,sendto,sendmsg,sendmmsg"];
    Running::start(house.command_under("strace", &strace, args), "").end().expect(code);
    let traced = fs::read_to_string(&trace).unwrap();
    fs::remove_file(&trace).unwrap();
    // A send over an open connection names no address.
    traced.lines().filter(|line| line.contains("sa_family")).map(str::to_owned).collect()
}

#[test]
fn a_run_connects_only_to_its_provider() {
    if !can_trace() {
        return;
    }
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"nth": 1}, "then": reads(&["notes.txt"])},
                {"when": {"nth": 2}, "then": "reset"},
                {"then": says("On Tuesday.")},
            ]),
        );
        let called = addresses(&house, &["run", "When?", "--yes"], 0);
        let address = house.peer.address();
        let port = format!("htons({})", address.port());
        let provider = |call: &String| {
            call.contains("connect(") && call.contains(&port) && call.contains(&format!("\"{}\"", address.ip()))
        };
        assert!(!called.is_empty() && called.iter().all(provider), "{wire:?}: only {address}, not {called:#?}");
    }
}

#[test]
fn commands_that_only_read_make_no_connection() {
    if !can_trace() {
        return;
    }
    let house = House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]));
    let id = house.run(&[]).expect(0).json()["session"].as_str().unwrap().to_owned();
    for args in [&["ls"][..], &["show", &id, "--facts"], &["models"], &["paths"], &["--version"]] {
        assert_eq!(addresses(&house, args, 0), Vec::<String>::new(), "{args:?}");
    }
    assert_eq!(addresses(&house, &["stop", &id], 4), Vec::<String>::new(), "stop");
}
