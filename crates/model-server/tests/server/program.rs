//! The command line: its options, its files, and how the program stops.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use guildhall_model_server::{Entry, Peer};
use serde_json::json;

use crate::client::{Connection, Wire};
use crate::program;

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

fn launch(name: &str) -> (Child, PathBuf, String) {
    let script = file(&format!("{name}.json"), r#"{"rules": [{"then": {"reply": {"text": "x"}}}]}"#);
    let log = file(&format!("{name}.jsonl"), "");
    let mut child = Command::new(program())
        .args(["--port", "0", "--script"])
        .arg(script)
        .arg("--log")
        .arg(&log)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let address = first.trim_end().strip_prefix("listening on ").unwrap().to_string();
    (child, log, address)
}

#[test]
fn the_program_reads_a_script_writes_a_log_and_stops_when_stdin_ends() {
    let (mut child, log, address) = launch("stdin");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let mut connection = Connection::open(address.parse().unwrap());
    connection.send("POST", Wire::OpenAi.path(), &[], &Wire::OpenAi.request("").to_string());
    assert_eq!(connection.receive().status, 200);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let lines = fs::read_to_string(log).unwrap();
    let entries: Vec<Entry> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.iter().map(Entry::request).collect::<Vec<_>>(), [Some(1); 3]);
}

#[test]
fn the_program_stops_on_sigterm() {
    let (mut child, _, _) = launch("sigterm");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn invalid_options_and_scripts_are_reported() {
    let check = |args: &[&str], message: &str| {
        let output = Command::new(program()).args(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(message), "{stderr}");
    };
    let script = |name, text| file(name, text).to_str().unwrap().to_string();
    let run = |name, text| script(name, text).leak() as &str;
    check(&["--port", "0"], "--script is missing");
    check(&["--port", "x", "--script", "-"], "x is not a port number");
    check(&["--port", "0", "--script", "nowhere.json"], "nowhere.json: No such file");
    check(&["--port", "0", "--script", run("typo.json", r#"{"rulez": []}"#)], "unknown field `rulez`");
    let no_agent = r#"{"rules": [{"when": {"nth_of_agent": 1}, "then": "close"}]}"#;
    check(
        &["--port", "0", "--script", run("no_agent.json", no_agent)],
        "rule 0 of the script (the first rule is 0): `nth_of_agent` needs `agent`",
    );
    let header = r#"{"rules": [{"then": {"redirect": {"to": "a\nb"}}}]}"#;
    check(
        &["--port", "0", "--script", run("header.json", header)],
        "the value of a header must be printable ASCII on one line",
    );
    let part = r#"{"usage": {"fraction": [1, 0]}, "rules": []}"#;
    check(&["--port", "0", "--script", run("part.json", part)], "the denominator of `fraction` must be at least 1");
}

#[test]
fn a_test_of_another_crate_finds_the_program() {
    let peer = Peer::start(&json!({"rules": [{"then": {"reply": {"text": "x"}}}]}));
    let got = crate::client::ask(&peer, Wire::Anthropic, "");
    assert_eq!((got.status, peer.executions()), (200, 1));
}
