//! Faults of a provider, over both protocols: a request that costs nothing is repeated for free, a request that may have been billed
//! is reserved and made again, and any other fault ends the contract with the reason.

use guildhall_model_server::Entry;
use serde_json::{Value, json};

use crate::crew::{always, answer, assert_has, by, calls, first, hires, shown, staffed};
use crate::house::{Ended, House, KEY, Known, MODEL, Running, WIRES, Wire, msat, reads, says, wait_for};

/// The price of all output tokens that a request allows.
const WORDS_MSAT_MAX: u64 = 5 * 8192;

/// Runs a task whose first request gets this fault, and the second an answer.
fn once(wire: Wire, fault: &Value) -> (House, Ended) {
    let house = House::new(wire, &json!([{"repeat": 1, "then": fault}, {"then": says("On Tuesday.")}]));
    let ended = house.run(&[]);
    (house, ended)
}

/// The price of an answer without a fault.
fn price_of_an_answer(wire: Wire) -> u64 {
    let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
    msat(&house.run(&[]).expect(0).json()["bill"]["charged"])
}

/// The times of the requests, in microseconds.
fn times(house: &House) -> Vec<u64> {
    let time = |entry: &Entry| if let Entry::Request { at_us, .. } = entry { Some(*at_us) } else { None };
    house.peer.log().iter().filter_map(time).collect()
}

#[test]
fn a_request_that_cost_nothing_is_repeated_for_free() {
    for wire in WIRES {
        let price = price_of_an_answer(wire);
        for fault in [json!({"wrong": {"rate_limit": {"retry_after": 1}}}), json!({"wrong": {"overloaded": {}}})] {
            let (house, ended) = once(wire, &fault);
            let result = ended.expect(0).json();
            assert_eq!(result["answer"], "On Tuesday.", "{wire:?} {fault}");
            let bill = &result["bill"];
            assert_eq!((msat(&bill["charged"]), msat(&bill["reserved"])), (price, 0), "{wire:?} {fault}");
            let times = times(&house);
            assert_eq!(times.len(), 2, "{wire:?} {fault}");
            let asked_to_wait = fault["wrong"]["rate_limit"].is_object();
            assert!(
                !asked_to_wait || times[1] - times[0] >= 1_000_000,
                "{wire:?}: the second request came too early, {times:?}"
            );
        }
    }
}

#[test]
fn stopping_a_waiting_call_costs_nothing_and_stopping_a_running_call_reserves_its_hold() {
    let busy = |seconds: u64| json!({"wrong": {"rate_limit": {"retry_after": seconds}}});
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": busy(90)}]));
        let running = house.start(&[]);
        let id = running.session();
        running.told("waits 90 s");
        house.guildhall(&["stop", &id]).expect(0);
        let result = running.end().expect(1).json();
        assert_eq!((&result["outcome"], msat(&result["bill"]["charged"])), (&json!("cancelled"), 0), "{wire:?}");

        let house = House::new(wire, &json!([{"repeat": 1, "then": busy(1)}, {"then": "stall"}]));
        let running = house.start(&[]);
        let id = running.session();
        wait_for("the second request", || (house.requests().len() == 2).then_some(()));
        house.guildhall(&["stop", &id]).expect(0);
        let result = running.end().expect(1).json();
        assert_eq!(result["outcome"], "cancelled", "{wire:?}");
        assert!(msat(&result["bill"]["charged"]) >= WORDS_MSAT_MAX, "{wire:?}: the provider may bill the request");
    }
}

#[test]
fn a_request_that_may_be_billed_is_reserved_and_made_again() {
    let cut = |place: Value, how: &str| json!({"reply": {"text": "half of an answer", "pace": {"chunk_chars": 4}, "damage": {"cut": {"after": place, "how": how}}}});
    let error = json!({"error": {"events": 4, "kind": "overloaded_error", "message": "Overloaded"}});
    let html = json!({"status": 200, "headers": {"content-type": "text/html"}, "body": "<html>Hello</html>"});
    let faults = [
        json!("reset"),
        json!("close"),
        cut(json!({"events": 3}), "reset"),
        cut(json!("inside_delta"), "close"),
        cut(json!({"events": 3}), "end"),
        json!({"reply": {"text": "a part of it, and then", "pace": {"chunk_chars": 4}, "damage": error}}),
        json!({"raw": html}),
        json!({"raw": {"status": 502, "body": "<html>Bad gateway</html>"}}),
        json!({"gzip_bomb": {"mib": 256}}),
    ];
    for wire in WIRES {
        let price = price_of_an_answer(wire);
        for fault in &faults {
            let (house, ended) = once(wire, fault);
            let result = ended.expect(0).json();
            assert_eq!(result["answer"], "On Tuesday.", "{wire:?} {fault}");
            let (spent, lost) = (msat(&result["bill"]["charged"]), msat(&result["bill"]["reserved"]));
            assert_eq!(spent - lost, price, "{wire:?} {fault}: the rest is the price of an answer");
            assert!(lost >= WORDS_MSAT_MAX, "{wire:?} {fault}: the provider may bill the broken reply, {lost}");
            assert_eq!(house.requests().len(), 2, "{wire:?} {fault}");
        }
    }
}

#[test]
fn three_broken_replies_in_a_row_end_the_contract_with_the_reason() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": "reset"}]));
        let ended = house
            .run(&["--budget", "1000sat"])
            .expect(5)
            .says("the connection broke before an answer")
            .says("3 times in a row");
        let result = ended.json();
        assert_eq!((&result["outcome"], house.requests().len()), (&json!("failed"), 3), "{wire:?}");
        let (spent, lost) = (msat(&result["bill"]["charged"]), msat(&result["bill"]["reserved"]));
        assert_eq!(spent, lost, "{wire:?}: each request may have cost its hold");
        // A good reply in between resets the count.
        let now_and_then = json!([{"when": {"nth": 3}, "then": reads(&["notes.txt"])}, {"when": {"nth": 6}, "then": says("Tuesday.")}, {"then": "reset"}]);
        let house = House::new(wire, &now_and_then);
        house.run(&["--budget", "1000sat"]).expect(0);
    }
}

#[test]
fn a_provider_with_only_broken_replies_ends_the_contract_within_the_budget() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": "reset"}]));
        let ended = house.run(&["--budget", "35sat"]);
        let result = ended.json();
        assert_eq!((ended.code(), &result["outcome"]), (3, &json!({"exhausted": "purse"})), "{wire:?}: {ended:?}");
        assert!(ended.stderr.contains(" --budget AMOUNT"), "{wire:?}: no money is left");
        assert!(msat(&result["bill"]["charged"]) <= 35_000, "{wire:?}");
        assert!(
            house.requests().len() <= 4,
            "{wire:?}: each request may have cost its hold, {}",
            house.requests().len()
        );
    }
}

#[test]
fn a_fault_that_a_new_request_can_not_fix_is_reported_and_costs_nothing() {
    let cases = [
        (json!({"wrong": "spend_limit"}), "limit"),
        (json!({"wrong": "credit"}), "no money left"),
        (json!({"wrong": "key"}), "check the key"),
        (json!({"wrong": "model"}), "check the name of the model"),
        (json!({"redirect": {"to": "http://127.0.0.1:9/"}}), "redirects are not followed"),
    ];
    for wire in WIRES {
        for (fault, reason) in &cases {
            let (house, ended) = once(wire, fault);
            let ended = ended.expect(5).says(reason);
            let result = ended.json();
            assert_eq!(
                (&result["outcome"], msat(&result["bill"]["charged"])),
                (&json!("failed"), 0),
                "{wire:?} {fault}"
            );
            assert!(result["failure"].as_str().unwrap().contains(reason), "{result}");
            assert_eq!(house.requests().len(), 1, "{wire:?} {fault}: no second request");
        }
    }
}

#[test]
fn a_wrong_key_is_exit_5_with_the_reason_and_costs_nothing() {
    for wire in WIRES {
        let script = json!({"key": "another", "rules": [{"then": says("never")}]});
        let house = House::scripted(wire, Known::ByVariables, script);
        let ended = house.guildhall(&["run", "When?", "--yes"]).expect(5).says("check the key");
        assert_eq!(ended.stdout, "", "stdout is empty without an answer");
        assert!(ended.stderr.contains("0 sat"), "{}", ended.stderr);
        assert_eq!(house.peer.executions(), 0);
    }
}

#[test]
fn a_provider_that_refuses_requests_is_not_called_unreachable() {
    for wire in WIRES {
        let busy = json!({"wrong": {"rate_limit": {"retry_after": 999_999_999_999_u64}}});
        let house = House::new(wire, &json!([{"then": busy}]));
        let ended = house.run(&[]).expect(5).says("does not accept requests now (HTTP 429");
        let ended = ended.says("tried once. What to do: try again in 999999999999 s");
        assert!(!ended.stderr.contains("can't be reached"), "{wire:?}: {}", ended.stderr);
    }
}

#[test]
fn a_very_short_key_is_not_redacted_from_the_messages_of_a_server() {
    let body = json!({"error": {"message": "max_tokens exceeds the maximum of x"}}).to_string();
    let refused = json!({"raw": {"status": 422, "body": body}});
    let house = House::scripted(Wire::OpenAi, Known::ByVariables, json!({"key": "x", "rules": [{"then": refused}]}));
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env("OPENAI_API_KEY", "x");
    Running::start(command, "").end().expect(5).says("max_tokens exceeds the maximum of x");
}

#[test]
fn a_model_that_the_provider_does_not_have_is_exit_5() {
    for wire in WIRES {
        let script = json!({"key": KEY, "models": ["another"], "rules": [{"then": says("never")}]});
        let house = House::scripted(wire, Known::ByVariables, script);
        let result = house.run(&[]).expect(5).says("check the name of the model").json();
        assert_eq!(msat(&result["bill"]["charged"]), 0);
        assert!(result["failure"].as_str().unwrap().contains(MODEL), "{result}");
    }
}

#[test]
fn a_provider_that_stops_sending_does_not_delay_the_deadline() {
    let half = json!({"reply": {"text": "It is on Tuesday.", "pace": {"chunk_chars": 4}, "damage": {"stall": {"after": {"events": 3}}}}});
    for (wire, fault) in [(Wire::Anthropic, json!("stall")), (Wire::OpenAi, half)] {
        let house = House::new(wire, &json!([{"repeat": 1, "then": fault}, {"then": says("Nothing was found.")}]));
        let result = house.run(&["--timeout", "1s"]).expect(3).json();
        assert_eq!(result["outcome"], json!({"exhausted": "deadline"}), "{wire:?}");
    }
}

#[test]
fn reports_that_do_not_fit_the_window_together_are_shortened() {
    let long = |who: &str| format!("{who} found this: {} and that is all of {who}.", "so much ".repeat(4000));
    let hire = |who: &str| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": 2000}));
    let too_long = |nth: u64| by("lead", json!({"nth_of_agent": nth}), json!({"wrong": "context_too_long"}));
    let rules = json!([
        first("lead", calls(&[hire("ada"), hire("bob")])),
        too_long(2),
        too_long(3),
        always("lead", says("Both looked.")),
        always("ada", says(&long("ada"))),
        always("bob", says(&long("bob"))),
    ]);
    for wire in WIRES {
        let team = [("lead", hires(&["ada", "bob"])), ("ada", String::new()), ("bob", String::new())];
        let team = team.each_ref().map(|(name, front)| (*name, front.as_str()));
        let house = staffed(House::new(wire, &rules), &team);
        let result = house.run(&["--team", "crew", "--budget", "20000sat"]).expect(0).json();
        assert_eq!(answer(&result), "Both looked.", "{wire:?}");
        let asked = shown(&house, "lead");
        let sizes: Vec<usize> = asked.iter().map(String::len).collect();
        assert!(sizes.len() == 4 && sizes[2] < sizes[1] && sizes[3] < sizes[2], "{wire:?}: {sizes:?}");
        let whole = ["ada found this: ", "and that is all of ada.", "bob found this: ", "and that is all of bob."];
        assert_has(&asked[3], &[&whole[..], &["bytes left out to save room"]].concat());
    }
}

#[test]
fn an_answer_that_the_provider_ended_says_so() {
    for wire in WIRES {
        let mut then = says("The causes are: first, the");
        then["reply"]["stop"] = json!("refusal");
        let house = House::new(wire, &json!([{"then": then}]));
        let result = house.run(&[]).expect(0).json();
        assert_has(answer(&result), &["The causes are: first, the\n", "[the model's provider ended the reply here"]);
    }
}
