//! Shares of money and hires: a tree grows as far as both allow, and a refused hire gives the reason.

use serde_json::{Value, json};

use crate::crew::{always, answer, assert_has, assert_lacks, by, calls, facts, first, hires, shown, staffed, worked};
use crate::house::{House, Running, WIRES, Wire, msat, says};

const RECURSIVE: &str = "delegation:\n  team: [worker]\n  recursive: true";

fn run(house: &House, task: &str, more: &[&str]) -> Value {
    let args = [&["run", task, "--yes", "--output", "json", "--team", "crew"], more].concat();
    Running::start(house.command(&args), "").end().expect(0).json()
}

#[test]
fn ten_times_ten_leaves_answer_with_130_hires_at_any_number_of_parallel_calls() {
    for (wire, at_once) in [(Wire::Anthropic, "1"), (Wire::OpenAi, "5"), (Wire::Anthropic, "100")] {
        let house = staffed(House::new(wire, &json!([{"then": {"tree": {}}}])), &[("worker", RECURSIVE)]);
        let flags = ["--budget", "100000sat", "--max-hires", "130", "--max-concurrency", at_once];
        let result = run(&house, "TREE depth=2 fanout=10", &flags);
        assert_eq!(answer(&result), "done d=2 n=100 err=0", "{at_once} in parallel");
        assert_eq!(worked(&result).len(), 111, "{at_once} in parallel");
    }
}

#[test]
fn ten_times_ten_leaves_answer_at_the_default_limits() {
    let house = staffed(House::new(Wire::OpenAi, &json!([{"then": {"tree": {}}}])), &[("worker", RECURSIVE)]);
    let result = run(&house, "TREE depth=2 fanout=10", &["--budget", "100000sat"]);
    assert_eq!(answer(&result), "done d=2 n=100 err=0");
}

#[test]
fn a_chain_of_fifteen_hires_goes_down_at_the_default_limits() {
    for wire in WIRES {
        let house = staffed(House::new(wire, &json!([{"then": {"tree": {}}}])), &[("worker", RECURSIVE)]);
        let result = run(&house, "TREE depth=15 fanout=1", &["--budget", "20000sat"]);
        assert_eq!(answer(&result), "done d=15 n=1 err=0", "{wire:?}");
        assert_eq!(worked(&result).len(), 16, "{wire:?}");
    }
}

/// Ten hires of one reply, without a budget.
fn ten() -> Value {
    json!({"reply": {"calls": [{"name": "delegate_task", "times": 10, "arguments":
        {"specialty": "ada", "task": "Look {{i}}."}}]}})
}

#[test]
fn of_ten_hires_that_don_t_fit_at_once_the_last_wait_and_all_are_made() {
    let rules = json!([first("lead", ten()), always("lead", says("All.")), always("ada", says("Tuesday."))]);
    for wire in WIRES {
        let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        // The price of Sonnet at a hundred thousand dollars per bitcoin: three and fifteen millisatoshis per token.
        let config = house.read_config().replace("input = 1\n", "input = 3\n").replace("output = 5\n", "output = 15\n");
        house.write_config(&config);
        let result = run(&house, "Look everywhere.", &["--budget", "250sat"]);
        assert_eq!(worked(&result).len() - 1, 10, "{wire:?}");
        assert!(worked(&result).iter().all(|line| line.ends_with(" done")), "{:?}", worked(&result));
        let waited = facts(&house, result["session"].as_str().unwrap(), "queued").len();
        assert!((1..10).contains(&waited), "{wire:?}: {waited} have waited");
        let prompt = shown(&house, "lead").swap_remove(1);
        assert_eq!(prompt.matches("<sub-agent-complete").count(), 10, "{wire:?}");
        assert_lacks(&prompt, &["refused"]);
    }
}

#[test]
fn a_budget_above_the_money_left_is_cut_and_the_result_names_the_grant() {
    let rules = json!([
        first("lead", calls(&[("delegate_task", json!({"specialty": "ada", "task": "Look.", "budget": 900_000}))])),
        always("lead", says("All.")),
        always("ada", says("Tuesday.")),
    ]);
    for wire in WIRES {
        let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = run(&house, "Look.", &["--budget", "1000sat"]);
        let granted = msat(&result["bill"]["contracts"][1]["granted"]);
        assert!((950_000..1_000_000).contains(&granted), "{wire:?}: {granted}");
        let prompt = shown(&house, "lead").swap_remove(1);
        assert_has(&prompt, &[&format!("{}.{}", granted / 1000, granted % 1000).trim_end_matches('0')[..4], "granted"]);
    }
}

#[test]
fn a_hirer_must_answer_a_question_before_it_waits_for_the_hire() {
    let background = json!({"specialty": "ada", "task": "Look.", "budget": 500, "background": true});
    let rules = json!([
        first("lead", calls(&[("delegate_task", background)])),
        by(
            "lead",
            json!({"tool_result": "waits for your answer"}),
            calls(&[("message_agent", json!({"id": "1.1", "text": "The newest."}))])
        ),
        by("lead", json!({"tool_result": "elivered"}), calls(&[("wait_for_agents", json!({}))])),
        by("lead", json!({"last_user": "Which log?"}), calls(&[("wait_for_agents", json!({}))])),
        by("lead", json!({"tool_result": "hires has reported"}), says("All.")),
        by("lead", json!({"last_user": "<sub-agent-complete"}), says("All.")),
        by("ada", json!({"nth_of_agent": 1}), calls(&[("ask_hirer", json!({"question": "Which log?"}))])),
        always("ada", says("Tuesday.")),
        always("lead", says("I wait.")),
    ]);
    for wire in WIRES {
        let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = run(&house, "Look.", &["--budget", "5000sat"]);
        let prompts = shown(&house, "lead").join("\n");
        assert_has(&prompts, &["1.1 has asked you a question and waits for your answer"]);
        assert_eq!(worked(&result)[1], "1.1 ada done", "{wire:?}: {result:#}");
    }
}
