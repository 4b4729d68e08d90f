//! Text on stdin: it is added to the task, is the task, or is a clear error. It is never dropped.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::crew::{assert_has, assert_lacks};
use crate::house::{House, Running, Wire, says, wait_for};
use crate::terminal::Terminal;

const REVIEW: [&str; 3] = ["run", "Review this.", "--yes"];

fn house() -> House {
    House::new(Wire::Anthropic, &json!([{"then": says("On Tuesday.")}]))
}

/// The newest request, as text.
fn request(house: &House) -> String {
    house.requests().last().expect("a request").to_string()
}

#[test]
fn a_pipe_is_added_to_the_task_under_a_line_that_says_so() {
    let house = house();
    let ended = Running::start(house.command(&REVIEW), "\n  - old\n  + new\n\n").end().expect(0);
    assert_has(&ended.stderr, &["15 bytes from stdin are added to the task"]);
    assert_has(&request(&house), &[r"Review this.\n\nThe text from stdin:\n\n  - old\n  + new"]);
    // With `--continue`, too, and from a file.
    let mut command = house.command(&["run", "--continue", "last", "And this?", "--yes"]);
    command.stdin(File::open(house.project().join("notes.txt")).unwrap());
    assert!(command.output().unwrap().status.success());
    assert_has(&request(&house), &[r"And this?\n\nThe text from stdin:\n\nthe meeting is on Tuesday"]);
}

#[test]
fn a_stdin_without_text_adds_nothing() {
    let house = house();
    for (what, stdin) in [("null", Stdio::null()), ("empty", File::open("/dev/null").unwrap().into())] {
        let ended = house.command(&REVIEW).stdin(stdin).output().unwrap();
        assert!(ended.status.success(), "{what}: {ended:?}");
    }
    Running::start(house.command(&REVIEW), "").end().expect(0);
    Running::start(house.command(&REVIEW), " \n\n").end().expect(0);
    for request in house.requests() {
        assert_lacks(&request.to_string(), &["stdin"]);
    }
}

#[test]
fn a_text_alone_is_the_task_of_a_continued_session() {
    let house = house();
    house.guildhall(&["run", "When?", "--yes"]).expect(0);
    Running::start(house.command(&["run", "--yes", "--continue", "last"]), "And where?\n").end().expect(0);
    assert_has(&request(&house), &["And where?"]);
    assert_lacks(&request(&house), &["Continue where you stopped"]);
    Running::start(house.command(&["run", "--yes", "--continue", "last"]), "").end().expect(0);
    assert_has(&request(&house), &["Continue where you stopped"]);
}

#[test]
fn too_much_text_is_an_error_with_both_sizes() {
    let house = house();
    let more = |args: &[&str], bytes: usize| Running::start(house.command(args), &"x".repeat(bytes)).end().expect(2);
    let alone = more(&REVIEW, 100_000);
    assert_has(&alone.stderr, &["the text on stdin has 100000 bytes", "65536", "put it into a file"]);
    let together = more(&REVIEW, 65_530);
    assert_has(&together.stderr, &["the task has 12 bytes", "the text on stdin has 65530", "at most 65536"]);
    let json = more(&[&REVIEW[..], &["--output", "json"]].concat(), 100_000).json();
    assert_has(json["failure"].as_str().unwrap(), &["has 100000 bytes"]);
    // A text without an end is not read for ever.
    let endless = house.command(&REVIEW).stdin(File::open("/dev/zero").unwrap()).output().unwrap();
    assert!(endless.status.success(), "a device is not a text: {endless:?}");
    let mut endless = house.command_under("sh", &["-c", "yes | \"$0\" \"$@\""], &REVIEW);
    let endless = endless.output().unwrap();
    assert_has(&String::from_utf8_lossy(&endless.stderr), &["the text on stdin has more than "]);
    assert_eq!((endless.status.code(), house.requests().len()), (Some(2), 1));
}

#[test]
fn data_that_is_no_text_is_an_error_that_names_the_first_bad_byte() {
    let house = house();
    let file = house.project().join("data");
    for (data, why) in [(&b"ab\0c"[..], "byte 3 is zero"), (b"abc\xff\xfe", "byte 4 is not UTF-8")] {
        fs::write(&file, data).unwrap();
        let mut command = house.command(&REVIEW);
        let ended = command.stdin(File::open(&file).unwrap()).output().unwrap();
        assert_eq!(ended.status.code(), Some(2));
        assert_has(&String::from_utf8_lossy(&ended.stderr), &["stdin is not text", why]);
    }
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn a_stdin_that_stays_open_is_named_and_ends_in_an_error_that_costs_nothing() {
    let house = house();
    let start = Instant::now();
    let args = [&REVIEW[..], &["--timeout", "3s", "--output", "json"]].concat();
    let (running, open) = Running::start_open(house.command(&args));
    running.told("waiting for the end of stdin, which is added to the task");
    assert!(start.elapsed() >= Duration::from_secs(1));
    let ended = running.end().expect(2);
    assert_has(ended.json()["failure"].as_str().unwrap(), &["nothing came for 3 s", "</dev/null", "Nothing was spent"]);
    drop(open);
    // A text that comes late is used.
    let (running, mut open) = Running::start_open(house.command(&REVIEW));
    running.told("waiting for the end of stdin");
    std::io::Write::write_all(&mut open, b"late").unwrap();
    drop(open);
    running.end().expect(0);
    assert_has(&request(&house), &["late"]);
}

#[test]
fn ctrl_c_ends_the_wait_for_stdin() {
    let house = house();
    let (running, open) = Running::start_open(house.command(&REVIEW));
    running.told("waiting for the end of stdin");
    running.interrupt();
    running.end().expect(130);
    drop(open);
    assert_eq!(house.requests().len(), 0);
}

#[test]
fn with_a_text_on_stdin_the_question_is_asked_at_the_terminal_itself() {
    for (answer, code, asked) in [("y\r", 0, 1), ("n\r", 4, 0)] {
        let house = house();
        let terminal = Terminal::open();
        // `setsid --ctty` makes this terminal the one of the program.
        let script = ["--ctty", "--wait", "sh", "-c", "cat notes.txt | \"$0\" \"$@\""];
        let running = Running::start_in(&terminal, house.command_under("setsid", &script, &["run", "Review this."]));
        running.told("spends real money");
        terminal.type_in(answer);
        let ended = running.end();
        assert_eq!((ended.code(), house.requests().len()), (code, asked), "{ended:?}");
        if asked > 0 {
            wait_for("the request", || request(&house).contains("The text from stdin").then_some(()));
        }
    }
}

#[test]
fn chat_reads_its_messages_from_stdin_and_adds_nothing() {
    let house = house();
    let ended = Running::start(house.command(&["chat", "--yes"]), "When?\n").end().expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\n");
    assert_lacks(&request(&house), &["from stdin"]);
}
