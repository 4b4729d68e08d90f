//! Runs the parts of the benchmark as processes: the fake model, the floor, and the benchmark with a program that gives a wrong
//! answer.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

fn bench(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall-bench"));
    command.args(args);
    command
}

struct Fake {
    child: Child,
    output: BufReader<ChildStdout>,
    port: String,
}

impl Fake {
    fn start(args: &[&str]) -> Fake {
        let mut command = bench(&["fake"]);
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut fake = Fake { child, output, port: String::new() };
        fake.port = fake.line();
        fake
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Runs the floor and returns its output.
    fn floor(&self, task: &str, more: &[&str]) -> Output {
        let url = format!("http://127.0.0.1:{}/v1", self.port);
        bench(&["floor", "--url", &url, "--task", task, "--at-once", "5"]).args(more).output().unwrap()
    }

    fn seen(mut self) -> Value {
        drop(self.child.stdin.take());
        let seen = self.line();
        self.child.wait().unwrap();
        serde_json::from_str(&seen).unwrap()
    }
}

#[test]
fn the_floor_makes_all_requests_of_a_tree_in_the_given_size() {
    let fake = Fake::start(&["--latency-ms", "5"]);
    let output = fake.floor("TREE depth=2 fanout=3", &["--request-bytes", "5000"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done d=2 n=9 err=0\n", "{output:?}");
    let seen = fake.seen();
    assert_eq!((&seen["requests"], &seen["leaf_bytes"]), (&Value::from(17), &Value::from(5000)), "{seen}");
    let open = seen["open_max"].as_u64().unwrap();
    assert!((2..=5).contains(&open), "the calls run in parallel, at most five at once: {seen}");
}

#[test]
fn a_request_that_is_not_streamed_gets_one_json_object() {
    let fake = Fake::start(&["--hires", "ada"]);
    let body = r#"{"messages":[{"role":"user","content":"TREE depth=1 fanout=2"}]}"#;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", fake.port)).unwrap();
    write!(stream, "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (_, reply) = response.split_once("\r\n\r\n").unwrap();
    let reply: Value = serde_json::from_str(reply).unwrap();
    let calls = reply["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    let arguments = r#"{"specialty":"ada","task":"TREE depth=0 fanout=2"}"#;
    assert_eq!(calls.iter().map(|call| &call["function"]["arguments"]).collect::<Vec<_>>(), [arguments; 2]);
    assert_eq!(fake.seen()["requests"], 1);
}

#[test]
fn agents_that_never_get_an_answer_are_announced_when_all_wait() {
    let mut fake = Fake::start(&["--stall", "3"]);
    let url = format!("http://127.0.0.1:{}/v1", fake.port);
    let mut floor = bench(&["floor", "--url", &url, "--task", "TREE depth=1 fanout=3", "--at-once", "3"]);
    let mut floor = floor.stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(fake.line(), "waiting");
    assert_eq!(floor.try_wait().unwrap(), None, "the floor still waits");
    floor.kill().unwrap();
    floor.wait().unwrap();
    assert_eq!(fake.seen()["requests"], 4);
}

#[test]
fn a_program_is_measured_with_its_output() {
    let output = bench(&["measure", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"]);
    let ended: Value = serde_json::from_slice(&{ output }.output().unwrap().stdout).unwrap();
    assert_eq!((&ended["success"], &ended["stdout"]), (&Value::from(true), &Value::from("done\n")));
    assert!(ended["cpu_us"].as_u64().unwrap() > 1000 && ended["peak_kib"].as_u64().unwrap() > 100, "{ended}");
}

/// Runs the benchmark with a program in place of guildhall that prints this, and returns its error output.
fn fails(name: &str, says: &str, args: &[&str]) -> String {
    let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&program, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench(args).arg("--guildhall").arg(&program).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_wrong_answer_or_a_missing_request_ends_the_benchmark() {
    let wrong = fails("wrong", r#"{"answer": "done d=1 n=0 err=1"}"#, &["--small"]);
    let expect = "guildhall, 2 agents: the answer is `done d=1 n=0 err=1` instead of `done d=1 n=1 err=0`";
    assert!(wrong.contains(expect), "{wrong}");
    let silent = fails("silent", r#"{"answer": "done d=1 n=1 err=0"}"#, &["--small"]);
    assert!(silent.contains("guildhall, 2 agents: 0 requests instead of 3"), "{silent}");
}

#[test]
fn bad_arguments_are_refused_before_anything_is_measured() {
    let refused = |args: &[&str], expect: &str| {
        let output = bench(args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && stderr.contains(expect), "{args:?}: {stderr}");
    };
    refused(&[], "no binary to measure: run `cargo xtask bench -- wire`");
    refused(&["--guildhall", "no/such/file"], "no/such/file: No such file");
    refused(&["trees"], "invalid value 'trees'");
    refused(&["--runs", "0"], "0 is not in 1..");
    refused(&["--write", "--small"], "cannot be used with");
    refused(&["--write", "tree"], "cannot be used with");
    // Tests run in the directory of the crate, which has no docs.
    refused(&["--write"], "docs/benchmarks.md: No such file");
}
