//! A model server on this machine that is not set up: it is found, announced, used after consent, and otherwise not used.

use std::process::Command;

use guildhall_model_server::{Entry, Peer};
use serde_json::{Value, json};

use crate::house::{Ended, House, Known, Running, Wire, reads, says};
use crate::terminal::Terminal;

/// A model server with two models, one of which is only for embeddings.
fn script() -> Value {
    json!({"models": ["nomic-embed-text", "qwen3:8b"], "rules": [
        {"when": {"has_tool_result": true}, "then": says("On Tuesday.")},
        {"then": reads(&["notes.txt"])},
    ]})
}

/// A house with a model server. The config has only its port.
fn house(script: Value) -> House {
    let house = House::scripted(Wire::OpenAi, Known::ByVariables, script);
    house.write_config(&config(&[house.peer.address().port()]));
    house
}

/// A config that searches for servers on these ports, with a timeout that is long enough for a busy machine.
fn config(ports: &[u16]) -> String {
    format!("# mine\n[local_server]\nports = {ports:?} # mine, too\nwait_ms_max = 30000\n")
}

/// The program without a key.
fn keyless(house: &House, args: &[&str]) -> Command {
    let mut command = house.command(args);
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    command
}

/// Runs the program without a terminal, so that it can't ask the user.
fn piped(house: &House, args: &[&str]) -> Ended {
    Running::start(keyless(house, args), "").end()
}

/// Runs the program in a terminal, and answers its questions.
fn answered(house: &House, args: &[&str], answers: &[(&str, &str)]) -> Ended {
    let terminal = Terminal::open();
    let running = Running::start_in(&terminal, keyless(house, args));
    for (question, answer) in answers {
        running.told(question);
        terminal.type_in(answer);
    }
    running.end()
}

/// The questions to the user.
const USE_SERVER: &str = "Use local/qwen3:8b there";
const REHEARSE: &str = "rehearsal instead?";

/// The error of a script without a model.
const NO_MODEL: &str = "no model configured. Set ANTHROPIC_API_KEY";

/// The text that was added to the config.
fn added(house: &House, before: &str) -> String {
    house.read_config().strip_prefix(before).expect("the existing text is unchanged").to_owned()
}

/// The paths of the requests to a server.
fn asked(peer: &Peer) -> Vec<String> {
    let path = |entry| if let Entry::Request { path, .. } = entry { Some(path) } else { None };
    peer.log().into_iter().filter_map(path).collect()
}

const RUN: [&str; 2] = ["run", "When is the meeting?"];
const REHEARSAL: &str = "rehearsal: no language model";
const LIST: &str = "/v1/models";
const TURN: &str = "/v1/chat/completions";

#[test]
fn a_server_that_the_user_agrees_to_is_used_and_remembered() {
    let house = house(script());
    let (before, address) = (house.read_config(), house.peer.address());
    let ended = answered(&house, &RUN, &[(USE_SERVER, "y\n")]).expect(0);
    let found =
        format!("found a model server at {address}: qwen3:8b. It would receive prompts and the contents of files");
    let ended = ended.says(&found).says("local/qwen3:8b, at most");
    assert!(ended.stdout == "On Tuesday.\n" && !ended.stderr.contains("real money"), "{ended:?}");
    let answer = format!("\n[[local_server.answers]]\naddress = \"{address}\"\nagreed = true\n");
    assert_eq!(added(&house, &before), answer);
    assert_eq!(asked(&house.peer), [LIST, TURN, TURN]);
    // From now on there is no question, in a terminal or not, and the model has a name.
    let ended = piped(&house, &RUN).expect(0).says(&format!("using the model server at {address}, as you agreed"));
    assert_eq!(ended.stdout, "On Tuesday.\n");
    let ended = piped(&house, &[&RUN[..], &["--model", "local/qwen3:8b", "--output", "json"]].concat()).expect(0);
    assert_eq!(ended.json()["bill"]["model"], "local/qwen3:8b");
    let session = ended.json()["session"].as_str().unwrap().to_owned();
    let ended = piped(&house, &["run", "--continue", &session, "And now?", "--output", "json"]).expect(0);
    assert_eq!(ended.json()["bill"]["model"], "local/qwen3:8b");
    assert_eq!(added(&house, &before), answer);
}

#[test]
fn a_refused_server_gets_no_more_requests() {
    let house = house(script());
    let (before, address) = (house.read_config(), house.peer.address());
    answered(&house, &RUN, &[(USE_SERVER, "\n"), (REHEARSE, "n\n")]).expect(2).says(NO_MODEL);
    assert_eq!(
        added(&house, &before),
        format!("\n[[local_server.answers]]\naddress = \"{address}\"\nagreed = false\n")
    );
    for args in [&RUN[..], &[&RUN[..], &["--yes"]].concat()] {
        let ended = piped(&house, args).expect(2).says(NO_MODEL);
        assert!(ended.stdout.is_empty(), "a script gets no answer from a rehearsal: {ended:?}");
    }
    assert_eq!(asked(&house.peer), [LIST]);
}

#[test]
fn a_no_ends_the_search() {
    let house = house(script());
    let other = Peer::start(&script());
    house.write_config(&config(&[house.peer.address().port(), other.address().port()]));
    let ended = answered(&house, &RUN, &[(USE_SERVER, "n\n"), (REHEARSE, "n\n")]).expect(2);
    assert_eq!(ended.stderr.matches("Use local/").count(), 1, "{}", ended.stderr);
    piped(&house, &RUN).expect(2);
    assert_eq!((asked(&house.peer), asked(&other)), (vec![LIST.to_owned()], vec![LIST.to_owned()]), "no more requests");
}

#[test]
fn without_a_terminal_the_server_is_announced_and_not_used() {
    let house = house(script());
    let before = house.read_config();
    let address = format!("found a model server at {}", house.peer.address());
    for args in [&RUN[..], &["run", "When?", "--output", "json"]] {
        piped(&house, args).expect(2).says(&address).says("or add --yes").says(NO_MODEL);
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
    let ended = ended.expect(0).says("found a model server at");
    assert_eq!((ended.stdout.as_str(), added(&house, &before).contains("agreed = true")), ("On Tuesday.\n", true));
}

#[test]
fn a_yes_is_for_one_address_and_another_server_is_asked_about() {
    let house = house(script());
    let other = Peer::start(&script());
    piped(&house, &[&RUN[..], &["--yes"]].concat()).expect(0);
    // No server listens on the port that the user agreed to; another server listens on the other port.
    let config = house.read_config();
    let (port, gone) = (house.peer.address().port().to_string(), closed_port().to_string());
    house.write_config(
        &config.replace(&port, &gone).replace("ports = [", &format!("ports = [{}, ", other.address().port())),
    );
    let ended = piped(&house, &RUN).expect(2).says(", which you agreed to: ").says(NO_MODEL);
    ended.says(&format!("found a model server at {}", other.address()));
    assert_eq!(asked(&other), [LIST]);
    piped(&house, &[&RUN[..], &["--model", "local/qwen3:8b", "--max-turns", "1"]].concat()).expect(5);
    assert_eq!(asked(&other), [LIST], "the name means the address that the user agreed to");
}

#[test]
fn killed_work_continues_at_the_server_that_the_user_agreed_to() {
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
fn a_found_server_is_not_used_for_a_model_name_without_a_provider() {
    let house = house(script());
    piped(&house, &[&RUN[..], &["--yes"]].concat()).expect(0);
    let ended = house.guildhall(&["run", "When?", "--model", "qwen3:8b"]).expect(2);
    ended.says("no price is known for the model \"qwen3:8b\" of openai");
}

#[test]
fn flags_keys_and_the_config_have_priority_and_no_server_is_searched() {
    let house = house(script());
    piped(&house, &["run", "When?", "--model", "rehearsal"]).expect(0).says(REHEARSAL);
    piped(&house, &["run", "When?", "--model", "local/qwen3:8b"]).expect(2).says("only after you agree");
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
fn other_answers_do_not_count_as_a_model_server() {
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
            !ended.stderr.contains("found a model server") && !ended.stderr.contains('\u{1b}'),
            "{then}: {ended:?}"
        );
    }
}

#[test]
fn a_silent_server_and_a_closed_port_cause_no_delay() {
    let stall = house(json!({"rules": [{"when": {"endpoint": "models"}, "then": "stall"}]}));
    let silent = stall.peer.address().port();
    stall.write_config(&format!("[local_server]\nports = [{silent}, {}]\n", closed_port()));
    let ended = piped(&stall, &[&RUN[..], &["--yes"]].concat()).expect(2).says(NO_MODEL);
    assert!(!ended.stderr.contains("found a model server"), "{ended:?}");
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
    // One request fills this window, so older results are left out of the next request.
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
        running.told("replay of the stored facts");
        terminal.type_in(" ");
        let ended = running
            .end()
            .expect(0)
            .says("No model configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama.")
            .says(REHEARSAL);
        assert!(ended.stdout.starts_with(REHEARSAL), "{ended:?}");
    }
    answered(&house, &RUN, &[(REHEARSE, "\n")]).expect(2).says(NO_MODEL).says("guildhall demo");
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).expect(0).json().as_array().unwrap().len(), 2);
    assert_eq!(asked(&house.peer), Vec::<String>::new());
}

/// A port on which no program listens.
fn closed_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
