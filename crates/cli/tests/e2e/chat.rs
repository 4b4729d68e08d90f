//! Conversations: what was said before is known, hires live on while one talks, and nothing that was said is lost.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::house::{Ended, House, Known, Running, WIRES, Wire, says};

/// The arguments of a conversation that was agreed to.
pub(crate) const CHAT: [&str; 4] = ["chat", "--yes", "--budget", "5000sat"];

/// What the provider says to the first, the second and every later request.
fn talker(wire: Wire) -> House {
    let rules = json!([
        {"when": {"nth": 1}, "then": says("On Tuesday.")},
        {"when": {"nth": 2}, "then": says("In the hall.")},
        {"then": says("That is all.")},
    ]);
    House::new(wire, &rules)
}

/// A house with a lead who may hire Ada.
pub(crate) fn team(rules: &Value) -> House {
    let house = House::known(Wire::Anthropic, Known::ByVariables, rules);
    let crew = house.project().join("crew");
    fs::create_dir(&crew).unwrap();
    let write = |name: &str, front: &str| {
        let text = format!("---\nname: {name}\ndescription: Counts.\n{front}---\nYou are {name}.\n");
        fs::write(crew.join(format!("{name}.md")), text).unwrap();
    };
    write("lead", "delegation:\n  team: [ada]\n");
    write("ada", "");
    house
}

/// A rule for the nth request of an agent.
pub(crate) fn nth(agent: &str, nth: u64, then: &Value) -> Value {
    json!({"when": {"agent": format!("You are {agent}."), "nth_of_agent": nth}, "then": then})
}

/// Talks through a pipe, to the end.
fn chat(house: &House, lines: &str) -> Ended {
    Running::start(house.command(&CHAT), lines).end()
}

/// The id of the only session.
fn session(house: &House) -> String {
    house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_second_request_knows_the_first() {
    for wire in WIRES {
        let house = talker(wire);
        let ended = chat(&house, "When is the meeting?\n\nAnd where?\n").expect(0).says("every balance adds up");
        assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\n", "{wire:?}");
        let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
        assert_eq!(requests.len(), 2, "{wire:?}: what ends at rest costs nothing more");
        for known in ["When is the meeting?", "On Tuesday.", "And where?"] {
            assert!(requests[1].contains(known), "{wire:?}: {known} is not in {}", requests[1]);
        }
        let id = session(&house);
        assert_eq!(house.show(&id)["state"], "done");
        house.guildhall(&["verify", &id]).expect(0);
    }
}

#[test]
fn nothing_said_is_nothing_begun() {
    let house = talker(Wire::Anthropic);
    for lines in ["", "\n \n", "/end\nWhen?\n"] {
        chat(&house, lines).expect(0).says("no message was sent");
    }
    assert_eq!(house.requests().len(), 0);
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).json(), json!([]));
}

#[test]
fn end_ends_it_and_what_follows_is_not_said() {
    let house = talker(Wire::OpenAi);
    let ended = chat(&house, "When is the meeting?\n/end\nAnd where?\n").expect(0);
    assert_eq!((ended.stdout.as_str(), house.requests().len()), ("On Tuesday.\n", 1));
}

#[test]
fn words_that_are_too_long_are_told_and_the_conversation_goes_on() {
    let house = talker(Wire::Anthropic);
    let long = "word ".repeat(20 * 1024);
    let ended = chat(&house, &format!("When is the meeting?\n{long}\nAnd where?\n")).expect(0).says("too long");
    assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\n");
}

#[test]
fn a_conversation_that_was_killed_goes_on_as_one() {
    for wire in WIRES {
        let house = talker(wire);
        let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
        stdin.write_all(b"When is the meeting?\n").unwrap();
        talking.printed("On Tuesday.");
        let id = talking.session();
        talking.kill();
        // What is said while nobody runs it is heard first.
        house.guildhall(&["message", &id, "It matters where."]).expect(0);
        let resumed = Running::start(house.command(&["resume", &id]), "And who comes?\n").end().expect(0);
        assert_eq!(resumed.stdout, "In the hall.\nThat is all.\n", "{wire:?}");
        let last = house.requests()[2].to_string();
        for known in ["When is the meeting?", "On Tuesday.", "It matters where.", "In the hall.", "And who comes?"] {
            assert!(last.contains(known), "{wire:?}: {known} is not in {last}");
        }
        house.guildhall(&["verify", &id]).expect(0);
    }
}

#[test]
fn ctrl_c_while_nobody_speaks_is_the_end_and_costs_nothing() {
    let house = talker(Wire::Anthropic);
    let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
    stdin.write_all(b"When is the meeting?\n").unwrap();
    talking.printed("On Tuesday.");
    talking.interrupt();
    let ended = talking.end().expect(0);
    assert_eq!((ended.stdout.as_str(), house.requests().len()), ("On Tuesday.\n", 1));
}

#[test]
fn a_background_hire_lives_on_while_the_conversation_continues() {
    let hire = json!({"specialty": "ada", "task": "Count the chairs.", "budget": 1000, "background": true});
    let house = team(&json!([
        nth("lead", 1, &json!({"reply": {"calls": [{"name": "delegate_task", "arguments": hire}]}})),
        nth("lead", 2, &says("She has begun.")),
        nth("lead", 3, &says("The roof is first.")),
        nth("lead", 4, &says("Twelve chairs.")),
        nth("ada", 1, &json!({"reply": {"text": "I counted 12.", "pace": {"headers_ms": 4000}}})),
    ]));
    let args = [&CHAT[..], &["--team", "crew"]].concat();
    let ended = Running::start(house.command(&args), "Count the chairs.\nWhat is on the agenda?\n").end();
    let ended = ended.expect(0).says("1 still at work").says("1.1 ada done");
    assert_eq!(ended.stdout, "She has begun.\nThe roof is first.\nTwelve chairs.\n");
    let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
    let heard = requests.iter().filter(|request| request.contains("You are lead.")).nth(3).unwrap();
    assert!(heard.contains("I counted 12.") && heard.contains("The roof is first."), "{heard}");
    house.guildhall(&["verify", &session(&house)]).expect(0);
}
