//! The command line: where it listens, what it reads and writes, how it stops.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use guildhall_model_server::{Entry, Reply, Rule, Script, Then};

use crate::client::{Connection, Wire};
use crate::program;

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

fn launch(name: &str) -> (Child, PathBuf, String) {
    let script = Script::new([Rule::new(Then::Reply(Reply::text("x")))]);
    let script = file(&format!("{name}.json"), &serde_json::to_string(&script).unwrap());
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
fn it_serves_a_file_writes_a_log_and_stops_with_its_stdin() {
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
fn it_stops_at_sigterm() {
    let (mut child, _, _) = launch("sigterm");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_can_not_be_run_is_named() {
    let check = |args: &[&str], complaint: &str| {
        let output = Command::new(program()).args(args).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(complaint), "{told}");
    };
    let script = |name, text| file(name, text).to_str().unwrap().to_string();
    let run = |name, text| script(name, text).leak() as &str;
    check(&["--port", "0"], "--script is missing");
    check(&["--port", "x", "--script", "-"], "x is no port");
    check(&["--port", "0", "--script", "nowhere.json"], "nowhere.json: No such file");
    check(&["--port", "0", "--script", run("typo.json", r#"{"rulez": []}"#)], "unknown field `rulez`");
    let lonely = r#"{"rules": [{"when": {"nth_of_agent": 1}, "then": "close"}]}"#;
    check(
        &["--port", "0", "--script", run("lonely.json", lonely)],
        "rule 0 of the script: `nth_of_agent` needs `agent`",
    );
    let header = r#"{"rules": [{"then": {"redirect": {"to": "a\nb"}}}]}"#;
    check(&["--port", "0", "--script", run("header.json", header)], "a header can't have this value");
}

#[test]
fn a_test_of_another_crate_finds_the_program() {
    let peer = guildhall_model_server::Peer::start(&Script::new([Rule::new(Then::Reply(Reply::text("x")))]));
    let got = crate::client::ask(&peer, Wire::Anthropic, "");
    assert_eq!((got.status, peer.executions()), (200, 1));
}
