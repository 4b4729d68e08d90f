//! Conversations: the agent knows the earlier messages, hires work while the person talks, and no message is lost.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::crew::stalls;
use crate::house::{Ended, House, Known, Running, WIRES, Wire, says};

/// The arguments of a conversation, with consent.
pub(crate) const CHAT: [&str; 4] = ["chat", "--yes", "--budget", "5000sat"];

/// A provider with one reply to the first, one to the second, and one to every later request.
fn talker(wire: Wire) -> House {
    let rules = json!([
        {"when": {"nth": 1}, "then": says("On Tuesday.")},
        {"when": {"nth": 2}, "then": says("In the hall.")},
        {"then": says("That is all.")},
    ]);
    House::new(wire, &rules)
}

/// A house with a lead that can hire ada.
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
fn the_second_request_contains_the_first_message() {
    for wire in WIRES {
        let house = talker(wire);
        let ended = chat(&house, "When is the meeting?\n\nAnd where?\n").expect(0).says("every balance adds up");
        assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\n", "{wire:?}");
        let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
        assert_eq!(requests.len(), 2, "{wire:?}: ending an idle conversation costs nothing");
        for known in ["When is the meeting?", "On Tuesday.", "And where?"] {
            assert!(requests[1].contains(known), "{wire:?}: {known} is not in {}", requests[1]);
        }
        let id = session(&house);
        assert_eq!(house.show(&id)["state"], "done");
        house.guildhall(&["verify", &id]).expect(0);
    }
}

#[test]
fn without_a_message_no_session_is_started() {
    let house = talker(Wire::Anthropic);
    for lines in ["", "\n \n", "/end\nWhen?\n"] {
        chat(&house, lines).expect(0).says("no message was sent");
    }
    assert_eq!(house.requests().len(), 0);
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).json(), json!([]));
}

#[test]
fn slash_end_ends_the_conversation_and_later_lines_are_not_sent() {
    let house = talker(Wire::OpenAi);
    let ended = chat(&house, "When is the meeting?\n/end\nAnd where?\n").expect(0);
    assert_eq!((ended.stdout.as_str(), house.requests().len()), ("On Tuesday.\n", 1));
}

#[test]
fn a_line_that_is_too_long_is_a_warning_and_the_conversation_continues() {
    let house = talker(Wire::Anthropic);
    let long = "word ".repeat(20 * 1024);
    let ended = chat(&house, &format!("When is the meeting?\n{long}\nAnd where?\n")).expect(0).says("too long");
    assert_eq!(ended.stdout, "On Tuesday.\nIn the hall.\n");
}

#[test]
fn a_killed_conversation_continues_after_resume() {
    for wire in WIRES {
        let house = talker(wire);
        let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
        stdin.write_all(b"When is the meeting?\n").unwrap();
        talking.printed("On Tuesday.");
        let id = talking.session();
        talking.kill();
        // A message that was sent while no process ran the session is read first.
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
fn ctrl_c_in_an_idle_conversation_ends_it_and_costs_nothing() {
    let house = talker(Wire::Anthropic);
    let (talking, mut stdin) = Running::start_open(house.command(&CHAT));
    stdin.write_all(b"When is the meeting?\n").unwrap();
    talking.printed("On Tuesday.");
    talking.interrupt();
    let ended = talking.end().expect(0);
    assert_eq!((ended.stdout.as_str(), house.requests().len()), ("On Tuesday.\n", 1));
}

#[test]
fn a_background_hire_works_while_the_conversation_continues() {
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
    let ended = ended.expect(0).says("1 hire has not reported yet").says("1.1 ada done");
    assert_eq!(ended.stdout, "She has begun.\nThe roof is first.\nTwelve chairs.\n");
    let requests: Vec<String> = house.requests().iter().map(Value::to_string).collect();
    let prompt = requests.iter().filter(|request| request.contains("You are lead.")).nth(3).unwrap();
    assert!(prompt.contains("I counted 12.") && prompt.contains("The roof is first."), "{prompt}");
    house.guildhall(&["verify", &session(&house)]).expect(0);
}

#[test]
fn a_conversation_whose_hires_hold_all_money_says_so_and_replies_after_a_top_up() {
    let hire = json!({"reply": {"calls": [{"name": "delegate_task",
        "arguments": {"specialty": "ada", "task": "Count.", "background": true}}]}});
    let lead = |text: &str, says: &Value| json!({"when": {"agent": "You are lead.", "last_user": text}, "then": says});
    let rules = json!([
        nth("lead", 1, &hire),
        lead("The last one?", &says("Here it is.")),
        {"when": {"agent": "You are lead."}, "then": says("All right.")},
        {"then": stalls()},
    ]);
    let house = team(&rules);
    let args = ["chat", "--yes", "--team", "crew", "--budget", "110sat"];
    let lines = format!("Count in the background.\n{}The last one?\n", "And?\n".repeat(12));
    let running = Running::start(house.command(&args), &lines);
    let advice = running.told("too little money is free for a reply: 1 hire holds the rest.");
    assert!(advice.contains("To add money, run: guildhall topup "), "{advice}");
    house.guildhall(&["topup", "last", "100sat"]).expect(0);
    running.printed("Here it is.");
    running.kill();
}

#[test]
fn a_text_that_names_a_member_is_shown_at_once_and_stands_whatever_follows() {
    let text = "My team has one member, Ada.";
    for (second, expect) in
        [("DONE", format!("{text}\nThat is all.\n")), ("Ada counts.", format!("{text}\nAda counts.\nThat is all.\n"))]
    {
        let rules = json!([
            nth("lead", 1, &says(text)),
            {"when": {"agent": "You are lead.", "last_user": "answer only DONE"}, "then": says(second)},
            {"then": says("That is all.")},
        ]);
        let house = team(&rules);
        let lines = "Who is on your team?\nThank you.\n";
        let command = house.command(&["chat", "--yes", "--budget", "5000sat", "--team", "crew", "--agent", "lead"]);
        let ended = Running::start(command, lines).end().expect(0);
        assert_eq!(ended.stdout, expect);
        assert_eq!(house.requests().len(), 3, "a person who says thank you costs no question");
    }
}
