//! Stored data stays readable: secrets are removed from values and not from JSON as text, impossible numbers are added safely, and
//! a session with a missing or damaged text can still be shown, billed and ended.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::crew::{CREW, assert_has, assert_lacks, calls, delegates, first, hires, staffed};
use crate::house::{House, Running, WIRES, Wire, msat, reads, says, wait_for};
use crate::work::results;

/// A key in the form of a wallet key. It is computed, so that this file contains no key.
fn wallet_key() -> String {
    "0a1b2c3d4e5f6789".repeat(2)
}

/// A key with a known prefix, short enough to be a name.
fn api_key() -> String {
    format!("sk-ant-{}", "a1B2c3D4e5".repeat(4))
}

/// Checks that a text is in no file of a directory.
#[track_caller]
fn assert_nowhere(dir: &Path, text: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nowhere(&path, text);
        } else {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "{text} is in {}", path.display());
        }
    }
}

/// A reply with a call whose arguments contain a wallet key, then `then`, then the answer.
fn calls_with_a_key(then: &Value) -> Value {
    let arguments = json!({"path": "notes.txt", "X-Api-Key": wallet_key(), "headers": {"api_key": "short-but-secret"}});
    json!([
        {"when": {"nth": 1}, "then": calls(&[("read_file", arguments)])},
        {"when": {"nth": 2}, "then": then},
        {"then": says("On Tuesday.")},
    ])
}

/// The arguments of the model's own call in a later request, as an object.
fn arguments_shown(wire: Wire, request: &Value) -> Value {
    let said = |message: &&Value| message["role"] == "assistant";
    let message = request["messages"].as_array().unwrap().iter().find(said).unwrap();
    match wire {
        Wire::Anthropic => {
            let blocks = message["content"].as_array().unwrap();
            blocks.iter().find(|block| block["type"] == "tool_use").unwrap()["input"].clone()
        }
        Wire::OpenAi => {
            let text = message["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
            serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
        }
    }
}

#[test]
fn a_call_with_a_key_in_its_arguments_is_stored_without_the_key_and_the_work_continues() {
    let clean =
        json!({"path": "notes.txt", "X-Api-Key": "[redacted: secret]", "headers": {"api_key": "[redacted: secret]"}});
    for wire in WIRES {
        let house = House::new(wire, &calls_with_a_key(&says("On Tuesday.")));
        let result = house.run(&[]).expect(0).json();
        assert_eq!(result["answer"], "On Tuesday.", "{wire:?}");
        assert_eq!(arguments_shown(wire, &house.requests()[1]), clean, "{wire:?}");
        let id = result["session"].as_str().unwrap();
        let facts = house.guildhall(&["show", id, "--facts"]).expect(0).stdout;
        assert!(facts.contains("reads notes.txt"), "{facts}");
        assert!(house.show(id)["facts"].to_string().contains("read_file"), "{wire:?}");
        assert_eq!(house.show(id)["unreadable"], json!([]), "{wire:?}");
        house.guildhall(&["verify"]).expect(0);
        assert_nowhere(house.home(), &wallet_key());
        assert_nowhere(house.home(), "short-but-secret");
    }
}

#[test]
fn a_session_with_a_key_in_a_call_is_resumed_after_a_kill() {
    for wire in WIRES {
        let house = House::new(wire, &calls_with_a_key(&json!("stall")));
        let id = killed_in_its_second_request(&house);
        let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
        assert_eq!(result["answer"], "On Tuesday.", "{wire:?}");
        let [_, before, after] = house.requests().try_into().unwrap();
        assert_eq!(arguments_shown(wire, &after), arguments_shown(wire, &before), "{wire:?}: the same arguments");
        assert_eq!(results(&after), results(&before), "{wire:?}");
        assert_nowhere(house.home(), &wallet_key());
    }
}

/// Starts a task, and kills it while its second request waits for a reply.
fn killed_in_its_second_request(house: &House) -> String {
    let running: Running = house.start(&[]);
    let id = running.session();
    wait_for("the second request", || (house.requests().len() == 2).then_some(()));
    running.kill();
    id
}

#[test]
fn a_key_in_place_of_a_name_or_an_id_is_in_no_fact() {
    let key = api_key();
    let hire = |specialty: &str| json!({"specialty": specialty, "task": format!("Use {specialty}."), "budget": 500});
    for wire in WIRES {
        let reply = json!({"reply": {"calls": [
            {"name": "delegate_task", "arguments": hire(&key)},
            {"name": "delegate_task", "arguments": hire("ada"), "id": key.as_str()},
            {"name": key.as_str(), "arguments": {key.as_str(): 1}},
            {"name": "stop_agent", "arguments": {"id": key.as_str()}},
        ]}});
        let house = House::new(wire, &json!([first("lead", reply), {"then": says("Done.")}]));
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = house.run(&CREW).expect(0).json();
        let id = result["session"].as_str().unwrap();
        assert_lacks(&house.show(id).to_string(), &[&key]);
        assert_nowhere(house.home(), &key);
        let last = house.requests().pop().unwrap();
        assert_eq!(results(&last).len(), 4, "{wire:?}: each call is answered, {last:#}");
        assert_lacks(&last["messages"].to_string(), &[&key]);
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn impossible_token_counts_do_not_break_ls_and_verify() {
    let usage = json!({"input": "10000000000000000000", "output": "10000000000000000000"});
    for wire in WIRES {
        let mut reads = reads(&["notes.txt"]);
        reads["reply"]["usage"] = usage.clone();
        let mut says = says("On Tuesday.");
        says["reply"]["usage"] = usage.clone();
        let house = House::new(wire, &json!([{"when": {"nth": 1}, "then": reads}, {"then": says}]));
        let ended = house.run(&["--allow-overrun"]);
        let id = ended.json()["session"].as_str().unwrap().to_owned();
        assert!(house.requests().len() > 1, "{wire:?}: more than one reply claims the tokens");
        house.guildhall(&["ls"]).expect(0);
        house.guildhall(&["verify"]).expect(0);
        let shown = house.show(&id);
        assert!(msat(&shown["bill"]["charged"]) <= msat(&shown["bill"]["granted"]), "{wire:?}");
        house.guildhall(&["show", &id]).expect(0);
    }
}

/// Deletes the first reply of a killed session, or changes it.
const DAMAGE: [(&str, &str); 2] = [
    ("DELETE FROM text WHERE kind = 'reply'", "is not stored"),
    ("DROP TRIGGER IF EXISTS text_is_final; UPDATE text SET bytes = x'7b7d' WHERE kind = 'reply'", "can't be read"),
];

#[test]
fn a_session_with_a_missing_reply_is_shown_names_the_text_and_can_be_ended() {
    for (wire, (damage, why)) in WIRES.into_iter().zip(DAMAGE) {
        let rules = json!([
            {"when": {"nth": 1}, "then": reads(&["notes.txt"])},
            {"when": {"nth": 2}, "then": "stall"},
            {"then": says("On Tuesday.")},
        ]);
        let house = House::new(wire, &rules);
        let id = killed_in_its_second_request(&house);
        house.tamper(damage);

        let shown = house.guildhall(&["show", &id, "--facts"]).expect(7);
        assert_has(&shown.stdout, &["can't be read: contract 1: the model reply", why, "bill", "1 general-contractor"]);
        assert_eq!(house.show(&id)["unreadable"].as_array().unwrap().len(), 1, "{wire:?}");

        let before = house.requests().len();
        let gone = house.guildhall(&["resume", &id]).expect(1);
        assert_has(&gone.stderr, &["contract 1 can't continue: the model reply", why, &format!("guildhall stop {id}")]);
        let charged = msat(&house.show(&id)["bill"]["charged"]);
        house.guildhall(&["resume", &id]).expect(1);
        assert_eq!(msat(&house.show(&id)["bill"]["charged"]), charged, "{wire:?}: no request, no cost");
        assert_eq!(house.requests().len(), before, "{wire:?}");

        house.guildhall(&["stop", &id]).expect(0).says("has ended");
        let shown = house.show(&id);
        let left = msat(&shown["bill"]["granted"]) - msat(&shown["bill"]["charged"]);
        assert_eq!((&shown["state"], shown["free"].as_u64()), (&json!("cancelled"), Some(left)), "{wire:?}");
        assert_eq!(msat(&shown["bill"]["charged"]), charged, "{wire:?}: the end costs nothing");
        assert_eq!(house.requests().len(), before, "{wire:?}");
    }
}

#[test]
fn a_session_whose_settings_can_t_be_read_is_shown_billed_and_ended() {
    for wire in WIRES {
        let rules = json!([
            first("lead", delegates("ada", "Look.", 500)),
            {"then": "stall"},
        ]);
        let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        let running = house.start(&CREW);
        let id = running.session();
        wait_for("the hire's request", || (house.requests().len() == 2).then_some(()));
        running.kill();
        house.tamper("DROP TRIGGER IF EXISTS text_is_final; UPDATE text SET bytes = x'7b7d' WHERE kind = 'prices'");

        let resumed = house.guildhall(&["resume", &id]).expect(1);
        assert_has(&resumed.stderr, &["can't read the stored settings of this work", "guildhall stop"]);
        house.guildhall(&["stop", &id]).expect(0).says("has ended");
        let shown = house.show(&id);
        let left = msat(&shown["bill"]["granted"]) - msat(&shown["bill"]["charged"]);
        assert_eq!((&shown["state"], shown["free"].as_u64()), (&json!("cancelled"), Some(left)), "{wire:?}: {shown:#}");
        assert!(msat(&shown["bill"]["reserved"]) > 0, "{wire:?}: the hire's call may have been billed");
        assert_eq!(house.requests().len(), 2, "{wire:?}: no more requests");
        house.guildhall(&["stop", &id]).expect(4).says("has ended");
    }
}
