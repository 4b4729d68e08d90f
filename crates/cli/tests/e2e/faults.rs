//! What a provider does wrong, over both protocols: what cost nothing is asked again for nothing, what may have cost is
//! charged as lost and asked anew, and what can't be mended ends the contract with the reason.

use guildhall_model_server::Entry;
use serde_json::{Value, json};

use crate::crew::{always, answer, assert_has, by, calls, first, hires, shown, staffed};
use crate::house::{Ended, House, KEY, Known, MODEL, Running, WIRES, Wire, msat, reads, says, wait_for};

/// What all the words cost that a request allows.
const WORDS_MSAT_MAX: u64 = 5 * 8192;

/// Runs a task whose first request meets this fault, and the second an answer.
fn once(wire: Wire, fault: &Value) -> (House, Ended) {
    let house = House::new(wire, &json!([{"repeat": 1, "then": fault}, {"then": says("On Tuesday.")}]));
    let ended = house.run(&[]);
    (house, ended)
}

/// The money that an answer costs which nothing went wrong with.
fn price_of_an_answer(wire: Wire) -> u64 {
    let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
    msat(&house.run(&[]).expect(0).json()["bill"]["charged"])
}

/// The times at which requests came, in microseconds.
fn times(house: &House) -> Vec<u64> {
    let time = |entry: &Entry| if let Entry::Request { at_us, .. } = entry { Some(*at_us) } else { None };
    house.peer.log().iter().filter_map(time).collect()
}

#[test]
fn what_cost_nothing_is_asked_again_at_no_cost() {
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
            assert!(!asked_to_wait || times[1] - times[0] >= 1_000_000, "{wire:?}: it came back early, {times:?}");
        }
    }
}

#[test]
fn a_call_that_waits_to_be_made_again_costs_nothing_when_it_is_stopped_and_one_under_way_its_hold() {
    let busy = |seconds: u64| json!({"wrong": {"rate_limit": {"retry_after": seconds}}});
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": busy(90)}]));
        let running = house.start(&[]);
        let id = running.session();
        running.told("waiting 90 s");
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
        assert!(msat(&result["bill"]["charged"]) >= WORDS_MSAT_MAX, "{wire:?}: whoever was asked may send a bill");
    }
}

#[test]
fn what_may_have_cost_is_charged_as_lost_and_asked_anew() {
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
            assert_eq!(spent - lost, price, "{wire:?} {fault}: the rest is what an answer costs");
            assert!(lost >= WORDS_MSAT_MAX, "{wire:?} {fault}: whoever broke off may send a bill, {lost}");
            assert_eq!(house.requests().len(), 2, "{wire:?} {fault}");
        }
    }
}

#[test]
fn a_provider_that_breaks_off_three_times_in_a_row_is_asked_no_more_and_it_is_said_why() {
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
        assert_eq!(spent, lost, "{wire:?}: each may have cost its hold");
        // One that goes on in between is asked again.
        let now_and_then = json!([{"when": {"nth": 3}, "then": reads(&["notes.txt"])}, {"when": {"nth": 6}, "then": says("Tuesday.")}, {"then": "reset"}]);
        let house = House::new(wire, &now_and_then);
        house.run(&["--budget", "1000sat"]).expect(0);
    }
}

#[test]
fn a_provider_that_only_breaks_off_ends_the_contract_within_the_budget() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": "reset"}]));
        let ended = house.run(&["--budget", "35sat"]);
        let result = ended.json();
        assert_eq!((ended.code(), &result["outcome"]), (3, &json!({"exhausted": "purse"})), "{wire:?}: {ended:?}");
        assert!(ended.stderr.contains(" --budget AMOUNT"), "{wire:?}: nothing is left to go on with");
        assert!(msat(&result["bill"]["charged"]) <= 35_000, "{wire:?}");
        assert!(house.requests().len() <= 4, "{wire:?}: each may have cost its hold, {}", house.requests().len());
    }
}

#[test]
fn what_nobody_can_mend_by_asking_again_is_told_and_costs_nothing() {
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
            assert_eq!(house.requests().len(), 1, "{wire:?} {fault}: it is not asked again");
        }
    }
}

#[test]
fn a_wrong_key_is_exit_5_with_the_reason_and_costs_nothing() {
    for wire in WIRES {
        let script = json!({"key": "another", "rules": [{"then": says("never")}]});
        let house = House::scripted(wire, Known::ByVariables, script);
        let ended = house.guildhall(&["run", "When?", "--yes"]).expect(5).says("check the key");
        assert_eq!(ended.stdout, "", "no answer is no answer");
        assert!(ended.stderr.contains("0 sat"), "{}", ended.stderr);
        assert_eq!(house.peer.executions(), 0);
    }
}

#[test]
fn a_provider_that_turns_us_away_was_reached() {
    for wire in WIRES {
        let busy = json!({"wrong": {"rate_limit": {"retry_after": 999_999_999_999_u64}}});
        let house = House::new(wire, &json!([{"then": busy}]));
        let ended = house.run(&[]).expect(5).says("turns requests away for now (HTTP 429");
        let ended = ended.says("asked once. What to do: come back in 999999999999 s");
        assert!(!ended.stderr.contains("can't be reached"), "{wire:?}: {}", ended.stderr);
    }
}

#[test]
fn a_made_up_key_does_not_garble_what_a_server_says() {
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
fn a_provider_that_falls_silent_does_not_keep_a_task_beyond_its_time() {
    let half = json!({"reply": {"text": "It is on Tuesday.", "pace": {"chunk_chars": 4}, "damage": {"stall": {"after": {"events": 3}}}}});
    for (wire, fault) in [(Wire::Anthropic, json!("stall")), (Wire::OpenAi, half)] {
        let house = House::new(wire, &json!([{"repeat": 1, "then": fault}, {"then": says("Nothing was found.")}]));
        let result = house.run(&["--timeout", "1s"]).expect(3).json();
        assert_eq!(result["outcome"], json!({"exhausted": "deadline"}), "{wire:?}");
    }
}

#[test]
fn reports_that_do_not_fit_the_window_together_are_cut_and_heard() {
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
fn an_answer_that_was_cut_off_says_so() {
    for wire in WIRES {
        for (stop, words) in
            [("max_tokens", "[cut off here: "), ("refusal", "[the model's provider ended the reply here")]
        {
            let mut then = says("The causes are: first, the");
            then["reply"]["stop"] = json!(stop);
            let house = House::new(wire, &json!([{"then": then}]));
            let result = house.run(&[]).expect(0).json();
            assert_has(answer(&result), &["The causes are: first, the\n", words]);
        }
    }
}
