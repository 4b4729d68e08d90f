//! A model server on this machine that nobody set up: found, announced, used by consent, and otherwise left alone.

use std::process::Command;

use guildhall_model_server::{Entry, Peer};
use serde_json::{Value, json};

use crate::house::{Ended, House, Known, Running, Wire, reads, says};
use crate::terminal::Terminal;

/// What a model server says that has two models, one of which only compares texts.
fn script() -> Value {
    json!({"models": ["nomic-embed-text", "qwen3:8b"], "rules": [
        {"when": {"has_tool_result": true}, "then": says("On Tuesday.")},
        {"then": reads(&["notes.txt"])},
    ]})
}

/// A house with a model server, whose port is all that the config has.
fn house(script: Value) -> House {
    let house = House::scripted(Wire::OpenAi, Known::ByVariables, script);
    house.write_config(&config(&[house.peer.address().port()]));
    house
}

/// A config that has servers looked for on these ports, with time enough for a busy machine.
fn config(ports: &[u16]) -> String {
    format!("# mine\n[local_server]\nports = {ports:?} # mine, too\nwait_ms_max = 30000\n")
}

/// The program for somebody who has no key.
fn keyless(house: &House, args: &[&str]) -> Command {
    let mut command = house.command(args);
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    command
}

/// Runs it where nobody can be asked.
fn piped(house: &House, args: &[&str]) -> Ended {
    Running::start(keyless(house, args), "").end()
}

/// Runs it in a terminal, and answers the questions that it must ask.
fn answered(house: &House, args: &[&str], answers: &[(&str, &str)]) -> Ended {
    let terminal = Terminal::open();
    let running = Running::start_in(&terminal, keyless(house, args));
    for (question, answer) in answers {
        running.told(question);
        terminal.type_in(answer);
    }
    running.end()
}

/// What a person is asked.
const USE_SERVER: &str = "Use local/qwen3:8b there";
const REHEARSE: &str = "rehearsal instead?";

/// What a script is told that has no model.
const NO_MODEL: &str = "no model is set up. Set ANTHROPIC_API_KEY";

/// What the config has now beyond what it had.
fn added(house: &House, before: &str) -> String {
    house.read_config().strip_prefix(before).expect("what was there is there").to_owned()
}

/// The paths that a server was asked for.
fn asked(peer: &Peer) -> Vec<String> {
    let path = |entry| if let Entry::Request { path, .. } = entry { Some(path) } else { None };
    peer.log().into_iter().filter_map(path).collect()
}

const RUN: [&str; 2] = ["run", "When is the meeting?"];
const REHEARSAL: &str = "rehearsal: no language model";
const LIST: &str = "/v1/models";
const TURN: &str = "/v1/chat/completions";

#[test]
fn a_server_that_is_found_and_agreed_to_is_used_and_remembered() {
    let house = house(script());
    let (before, address) = (house.read_config(), house.peer.address());
    let ended = answered(&house, &RUN, &[(USE_SERVER, "y\n")]).expect(0);
    let found =
        format!("a model server answers at {address}: qwen3:8b. Prompts and the contents of files would go to it");
    let ended = ended.says(&found).says("local/qwen3:8b, at most");
    assert!(ended.stdout == "On Tuesday.\n" && !ended.stderr.contains("real money"), "{ended:?}");
    let answer = format!("\n[[local_server.answers]]\naddress = \"{address}\"\nagreed = true\n");
    assert_eq!(added(&house, &before), answer);
    assert_eq!(asked(&house.peer), [LIST, TURN, TURN]);
    // From now on nobody is asked, in a terminal or not, and the model has a name.
    let ended = piped(&house, &RUN).expect(0).says(&format!("the model server at {address} is used, as agreed"));
    assert_eq!(ended.stdout, "On Tuesday.\n");
    let ended = piped(&house, &[&RUN[..], &["--model", "local/qwen3:8b", "--output", "json"]].concat()).expect(0);
    assert_eq!(ended.json()["bill"]["model"], "local/qwen3:8b");
    let session = ended.json()["session"].as_str().unwrap().to_owned();
    let ended = piped(&house, &["run", "--continue", &session, "And now?", "--output", "json"]).expect(0);
    assert_eq!(ended.json()["bill"]["model"], "local/qwen3:8b");
    assert_eq!(added(&house, &before), answer);
}

#[test]
fn a_server_that_is_refused_is_never_asked_again() {
    let house = house(script());
    let (before, address) = (house.read_config(), house.peer.address());
    answered(&house, &RUN, &[(USE_SERVER, "\n"), (REHEARSE, "n\n")]).expect(2).says(NO_MODEL);
    assert_eq!(
        added(&house, &before),
        format!("\n[[local_server.answers]]\naddress = \"{address}\"\nagreed = false\n")
    );
    for args in [&RUN[..], &[&RUN[..], &["--yes"]].concat()] {
        let ended = piped(&house, args).expect(2).says(NO_MODEL);
        assert!(ended.stdout.is_empty(), "a script takes no rehearsal for an answer: {ended:?}");
    }
    assert_eq!(asked(&house.peer), [LIST]);
}

#[test]
fn a_no_ends_all_looking() {
    let house = house(script());
    let other = Peer::start(&script());
    house.write_config(&config(&[house.peer.address().port(), other.address().port()]));
    let ended = answered(&house, &RUN, &[(USE_SERVER, "n\n"), (REHEARSE, "n\n")]).expect(2);
    assert_eq!(ended.stderr.matches("Use local/").count(), 1, "{}", ended.stderr);
    piped(&house, &RUN).expect(2);
    assert_eq!((asked(&house.peer), asked(&other)), (vec![LIST.to_owned()], vec![LIST.to_owned()]), "and never again");
}

#[test]
fn where_nobody_can_be_asked_the_server_is_announced_and_not_used() {
    let house = house(script());
    let before = house.read_config();
    let address = format!("a model server answers at {}", house.peer.address());
    for args in [&RUN[..], &["run", "When?", "--output", "json"]] {
        piped(&house, args).expect(2).says(&address).says("--yes agrees").says(NO_MODEL);
    }
    let ended = Running::start(keyless(&house, &["chat"]), "When?\n").end();
    ended.expect(2).says(&address).says(NO_MODEL);
    assert_eq!((added(&house, &before).as_str(), asked(&house.peer)), ("", vec![LIST.to_owned(); 3]));
}

#[test]
fn yes_on_the_command_line_agrees() {
    let house = house(script());
    let before = house.read_config();
    let ended = Running::start(keyless(&house, &["chat", "--yes"]), "When?\n").end();
    let ended = ended.expect(0).says("a model server answers at");
    assert_eq!((ended.stdout.as_str(), added(&house, &before).contains("agreed = true")), ("On Tuesday.\n", true));
}

#[test]
fn a_yes_holds_for_its_address_and_another_asks_again() {
    let house = house(script());
    let other = Peer::start(&script());
    piped(&house, &[&RUN[..], &["--yes"]].concat()).expect(0);
    // The port that is agreed to has nobody behind it any more; the other one has.
    let config = house.read_config();
    let (port, gone) = (house.peer.address().port().to_string(), nobody().to_string());
    house.write_config(
        &config.replace(&port, &gone).replace("ports = [", &format!("ports = [{}, ", other.address().port())),
    );
    let ended = piped(&house, &RUN).expect(2).says("which you agreed to, is not used").says(NO_MODEL);
    ended.says(&format!("a model server answers at {}", other.address()));
    assert_eq!(asked(&other), [LIST]);
    piped(&house, &[&RUN[..], &["--model", "local/qwen3:8b", "--max-turns", "1"]].concat()).expect(5);
    assert_eq!(asked(&other), [LIST], "a name leads to the address that was agreed to");
}

#[test]
fn work_that_was_killed_goes_on_at_the_server_that_was_agreed_to() {
    let mut script = script();
    script["rules"].as_array_mut().unwrap().insert(0, json!({"then": "stall", "repeat": 1}));
    let house = house(script);
    let running = Running::start(keyless(&house, &[&RUN[..], &["--yes"]].concat()), "");
    let id = running.session();
    house.peer.wait_for("the first turn", |log| {
        log.iter().any(|entry| matches!(entry, Entry::Request { path, .. } if path == TURN))
    });
    running.kill();
    assert_eq!(piped(&house, &["resume", &id]).expect(0).stdout, "On Tuesday.\n");
}

#[test]
fn a_server_that_was_agreed_to_takes_no_model_from_a_provider() {
    let house = house(script());
    piped(&house, &[&RUN[..], &["--yes"]].concat()).expect(0);
    let ended = house.guildhall(&["run", "When?", "--model", "qwen3:8b"]).expect(2);
    ended.says("no price is known for the model \"qwen3:8b\" of openai");
}

#[test]
fn flags_keys_and_the_config_win_and_nobody_is_looked_for() {
    let house = house(script());
    piped(&house, &["run", "When?", "--model", "rehearsal"]).expect(0).says(REHEARSAL);
    piped(&house, &["run", "When?", "--model", "local/qwen3:8b"]).expect(2).says("once you have agreed");
    let local = house.read_config();
    house.write_config(&format!("model = \"rehearsal\"\n{local}"));
    piped(&house, &["run", "When?"]).expect(0).says(REHEARSAL);
    house.write_config(&local);
    for (name, value) in [
        ("ANTHROPIC_API_KEY", "sk-1"),
        ("OPENAI_API_KEY", "sk-1"),
        ("OLLAMA_HOST", "127.0.0.1:9"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
    ] {
        let mut command = keyless(&house, &["run", "When?"]);
        command.env(name, value);
        let ended = Running::start(command, "").end();
        assert!(!ended.stderr.contains("model server"), "{name}: {ended:?}");
    }
    for args in [&["ls"][..], &["models"], &["paths"], &["agents"], &["demo"]] {
        piped(&house, args).expect(0);
    }
    assert_eq!(asked(&house.peer), Vec::<String>::new());
}

#[test]
fn whoever_answers_something_else_is_no_model_server() {
    let raw = |body: &str| json!({"raw": {"status": 200, "body": body}});
    let huge = format!("{{\"data\": [{{\"id\": \"{}\"}}]}}", "x".repeat(2 << 20));
    let odd = json!({"data": [{"id": "a\u{1b}[31mb"}, {"id": "c\nd"}, {"id": ""}, {"id": 7}, 7]}).to_string();
    for then in [
        raw("<html>It works!</html>"),
        raw("{\"data\": {}}"),
        raw("{\"data\": [{\"id\": \"text-embedding-3\"}]}"),
        raw(&huge),
        raw(&odd),
        json!({"raw": {"status": 404, "body": "{\"data\": [{\"id\": \"x\"}]}"}}),
        json!({"redirect": {"to": "http://127.0.0.1:9/v1/models"}}),
        json!({"gzip_bomb": {"mib": 64}}),
        json!("reset"),
        json!("close"),
    ] {
        let house = house(json!({"rules": [{"when": {"endpoint": "models"}, "then": then}]}));
        let ended = piped(&house, &[&RUN[..], &["--yes"]].concat()).expect(2).says(NO_MODEL);
        assert!(
            !ended.stderr.contains("a model server answers") && !ended.stderr.contains('\u{1b}'),
            "{then}: {ended:?}"
        );
    }
}

#[test]
fn a_server_that_never_answers_and_a_port_without_one_hold_nobody_up() {
    let stall = house(json!({"rules": [{"when": {"endpoint": "models"}, "then": "stall"}]}));
    let silent = stall.peer.address().port();
    stall.write_config(&format!("[local_server]\nports = [{silent}, {}]\n", nobody()));
    let ended = piped(&stall, &[&RUN[..], &["--yes"]].concat()).expect(2).says(NO_MODEL);
    assert!(!ended.stderr.contains("a model server answers"), "{ended:?}");
    assert_eq!(asked(&stall.peer), [LIST]);
}

#[test]
fn the_window_is_what_the_server_says() {
    let list = json!({"data": [{"id": "qwen3:8b", "max_model_len": 100}]}).to_string();
    let script = json!({"rules": [
        {"when": {"endpoint": "models"}, "then": {"raw": {"status": 200, "body": list}}},
        {"when": {"has_tool_result": true}, "then": says("On Tuesday.")},
        {"then": reads(&["notes.txt"])},
    ]});
    let house = house(script);
    // A window that one request fills: older results are left out of the next.
    piped(&house, &[&RUN[..], &["--yes", "-v"]].concat()).expect(0).says("leaves older results out");
    let roomy = self::house(self::script());
    let ended = piped(&roomy, &[&RUN[..], &["--yes", "-v"]].concat()).expect(0);
    assert!(!ended.stderr.contains("leaves older results out"), "{ended:?}");
}

#[test]
fn a_person_without_a_model_is_offered_the_rehearsal() {
    let house = house(script());
    house.write_config("[local_server]\nports = []\n");
    for args in [&RUN[..], &["run", "When?", "--yes"]] {
        let terminal = Terminal::open();
        let running = Running::start_in(&terminal, keyless(&house, args));
        running.told(REHEARSE);
        terminal.type_in("y\n");
        running.told("shown from its facts");
        terminal.type_in(" ");
        let ended = running.end().expect(0).says("No model is set up: there is no key").says(REHEARSAL);
        assert!(ended.stdout.starts_with(REHEARSAL), "{ended:?}");
    }
    answered(&house, &RUN, &[(REHEARSE, "\n")]).expect(2).says(NO_MODEL).says("guildhall demo");
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).expect(0).json().as_array().unwrap().len(), 2);
    assert_eq!(asked(&house.peer), Vec::<String>::new());
}

/// A port where nobody listens.
fn nobody() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
