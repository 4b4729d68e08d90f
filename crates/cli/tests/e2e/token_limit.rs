//! The limit of tokens: it holds at any fan-out and across a crash, and the first agent still reports.

use std::fs;

use guildhall_model_server::Entry;
use serde_json::{Value, json};

use crate::crew::{always, assert_lacks, by, first, hires, slowly, staffed, stalls, until_asked};
use crate::house::{House, Running, WIRES, Wire, reads, says, wait_for};

/// A model that never stops by itself, but reports when its reply is the last one.
pub(crate) fn never_stops() -> Value {
    json!([
        {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
        {"then": {"reply": {"text": "Reading again.", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]}}},
    ])
}

/// All tokens that the provider has counted.
fn counted(house: &House) -> u64 {
    let tokens = |entry| if let Entry::Answer { tokens, .. } = entry { tokens } else { None };
    house.peer.log().into_iter().filter_map(tokens).map(|tokens| tokens.input + tokens.output).sum()
}

/// A lead that hires thirty agents in one reply. Each reports 400 tokens, in one call.
fn thirty(wire: Wire, before: &[Value], report: Value) -> House {
    let hire = json!({"reply": {"calls": [{"name": "delegate_task", "times": 30, "arguments":
        {"specialty": "ada", "task": "Look {{i}}."}}]}});
    let rules = [first("lead", hire), always("lead", says("All of it: Tuesday.")), always("ada", report)];
    staffed(House::new(wire, &json!([before, &rules].concat())), &[("lead", &hires(&["ada"])), ("ada", "")])
}

const TEAM: [&str; 8] =
    ["run", "Look everywhere.", "--yes", "--output", "json", "--team", "crew", "--max-tokens-total"];

#[test]
fn thirty_parallel_hires_never_use_more_than_the_limit_and_their_hirer_reports() {
    for wire in WIRES {
        for (limit, code) in [("20000", 3), ("50000", 3), ("120000", 0)] {
            let house = thirty(wire, &[], says(&"Tuesday it is. ".repeat(107)));
            let result = house.guildhall(&[&TEAM[..], &[limit, "--budget", "20000sat"]].concat()).expect(code).json();
            let (used, limit) = (counted(&house), limit.parse().unwrap());
            assert!((limit / 4..=limit).contains(&used), "{wire:?}: {used} of {limit}");
            assert_eq!(result["answer"], "All of it: Tuesday.", "{wire:?}: {result:#}");
            house.guildhall(&["verify"]).expect(0);
        }
    }
}

#[test]
fn hires_that_wait_for_money_under_a_token_limit_never_use_more_than_the_limit_and_their_hirer_reports() {
    for wire in WIRES {
        for limit in ["20000", "50000", "120000"] {
            let house = thirty(wire, &[], says(&"Tuesday it is. ".repeat(107)));
            let result = house.guildhall(&[&TEAM[..], &[limit, "--budget", "400sat"]].concat()).json();
            let (used, limit) = (counted(&house), limit.parse().unwrap());
            assert!((limit / 8..=limit).contains(&used), "{wire:?}: {used} of {limit}");
            assert_eq!(result["answer"], "All of it: Tuesday.", "{wire:?}: {result:#}");
            let queued = house
                .root_facts(result["session"].as_str().unwrap())
                .iter()
                .filter(|fact| fact.contains("queued"))
                .count();
            assert!(queued > 9, "{wire:?}: {queued} hires had to wait for money");
            house.guildhall(&["verify"]).expect(0);
        }
    }
}

#[test]
fn requests_that_never_stop_end_within_the_limit_with_a_report() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        let result = house.run(&["--max-tokens-total", "20000"]).expect(3).json();
        assert_eq!(result["answer"], "This far: Tuesday.", "{wire:?}: {result:#}");
        let used = counted(&house);
        assert!((10_000..=20_000).contains(&used), "{wire:?}: {used}");
    }
}

#[test]
fn nothing_is_sent_if_the_limit_is_below_one_request() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        let args = ["run", "When is the meeting?", "--yes", "--max-tokens-total", "300"];
        let ended = house.guildhall(&args).expect(3).says("out of tokens (limit 300)");
        assert_eq!((house.requests().len(), ended.stdout.as_str()), (0, ""), "{wire:?}: {}", ended.stderr);
        let bill = &house.show("last")["bill"];
        assert_eq!((&bill["charged"], &bill["reserved"]), (&bill["fees"], &bill["fees"]), "{bill:#}");
    }
}

#[test]
fn a_token_limit_holds_across_a_kill_and_calls_that_waited_for_tokens_cost_nothing() {
    // The requests of the first process that fit into the limit at once. They get no answer.
    const AT_ONCE: usize = 2;
    let stalled = json!({"from": 1, "to": AT_ONCE});
    let report = says(&"Tuesday it is. ".repeat(107));
    let house = thirty(Wire::Anthropic, &[by("ada", json!({"nth_of_agent": stalled}), stalls())], report);
    let args = [&TEAM[..], &["50000", "--budget", "20000sat"]].concat();
    let running = Running::start(house.command(&args), "");
    until_asked(&house, "ada", AT_ONCE);
    wait_for("the records of the calls that wait", || (house.waiting_calls() == 30 - AT_ONCE).then_some(()));
    running.kill();
    let result = house.guildhall(&["resume", "last", "--output", "json"]).expect(3).json();
    assert_eq!(result["answer"], "All of it: Tuesday.", "{result:#}");
    let used = counted(&house);
    assert!(used <= 50_000, "{used}");
    let contracts = result["bill"]["contracts"].as_array().unwrap();
    let lost: usize = contracts.iter().map(|line| line["reserved"].as_array().unwrap().len()).sum();
    assert_eq!(lost, AT_ONCE, "the other calls waited for tokens");
    house.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_token_limit_is_named_only_if_it_ended_the_work() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        let args = ["run", "When is the meeting?", "--yes", "--max-tokens-total", "9000"];
        let ended = house.guildhall(&args).expect(3).says("wraps up: out of tokens (limit 9000)");
        let ended = ended.says(" used; findings so far");
        assert_lacks(&ended.stderr, &["told to wrap up", "at your request"]);
        let id = house.guildhall(&["ls", "--output", "json"]).json()[0]["session"].as_str().unwrap().to_owned();
        assert_eq!(house.show(&id)["state"], "out of tokens (limit 9000)", "{wire:?}");
        let shown = house.guildhall(&["show", &id, "--facts"]).expect(0);
        assert_lacks(&format!("{}{}", shown.stdout, shown.stderr), &["told to wrap up"]);
    }
    // Here a person asks for the last report, so the limit is not the reason.
    let house = House::new(
        Wire::Anthropic,
        &json!([{"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")}, {"then": slowly(reads(&["notes.txt"]), 400)}]),
    );
    let running = house.start(&["--max-tokens-total", "900000"]);
    let id = running.session();
    wait_for("the first request", || (!house.requests().is_empty()).then_some(()));
    house.guildhall(&["stop", "--wrap-up", &id]).expect(0);
    running.end().expect(130).says("stopped at your request; findings so far");
}

#[test]
fn a_first_agent_that_ends_for_another_reason_reports_within_the_limit() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        fs::write(house.project().join("notes.txt"), "The meeting is on Tuesday.\n".repeat(1200)).unwrap();
        let args = ["--max-turns", "1", "--max-tokens-total", "30000", "--budget", "20000sat"];
        let result = house.run(&args).expect(3).json();
        assert_eq!(
            (&result["answer"], &result["outcome"]),
            (&json!("This far: Tuesday."), &json!({"exhausted": "turns"}))
        );
        let (used, last) = (counted(&house), house.requests().pop().unwrap().to_string());
        assert!(used <= 30_000, "{wire:?}: {used}");
        assert!(last.contains("the rest had to be cut") && last.contains("on Tuesday"), "{last}");
    }
}
