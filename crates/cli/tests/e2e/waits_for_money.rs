//! Hires that wait for money, as people and models see them: they have an id from the start, can be stopped and awaited, hear no
//! message, and a top-up for one goes to its hirer.

use serde_json::{Value, json};

use crate::crew::{always, assert_has, by, calls, facts, first, hires, shown, slowly, staffed, worked};
use crate::house::{House, Running, WIRES, Wire, says, wait_for};

/// Ten hires of one reply, of which only some fit at once.
fn ten(background: bool) -> Value {
    json!({"reply": {"calls": [{"name": "delegate_task", "times": 10, "arguments":
        {"specialty": "ada", "task": "Look {{i}}.", "background": background}}]}})
}

fn house(wire: Wire, rules: &Value) -> House {
    let house = staffed(House::new(wire, rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let config = house.read_config().replace("input = 1\n", "input = 3\n").replace("output = 5\n", "output = 15\n");
    house.write_config(&config);
    house
}

const RUN: [&str; 9] = ["run", "Look everywhere.", "--yes", "--output", "json", "--team", "crew", "--budget", "250sat"];

/// The newest hire that waits for money.
fn newest_waiting(house: &House, id: &str) -> u64 {
    wait_for("a hire that waits", || facts(house, id, "queued").last().and_then(|(_, fact)| fact["ordinal"].as_u64()))
}

#[test]
fn a_person_sees_a_waiting_hire_and_can_stop_it_and_is_told_where_money_for_it_goes() {
    for wire in WIRES {
        let rules = json!([
            first("lead", ten(false)),
            always("lead", says("All.")),
            by("ada", json!({"nth_of_agent": 1}), slowly(says("Tuesday."), 3_000)),
            always("ada", says("Tuesday.")),
        ]);
        let house = house(wire, &rules);
        let running = Running::start(house.command(&RUN), "");
        let id = running.session();
        running.told(" ada waits for money: ");
        let ordinal = newest_waiting(&house, &id);
        let hire = format!("{id}/1.{ordinal}");
        house.guildhall(&["message", &hire, "Hurry."]).expect(4).says("waits for money and has not started");
        let told = "waits for money and has not started: its hirer, contract 1, has 1 sat";
        house.guildhall(&["topup", &hire, "1sat"]).expect(0).says(told);
        house.guildhall(&["stop", &hire]).expect(0);
        let result = running.end().expect(0).json();
        let done = worked(&result).iter().filter(|line| line.ends_with("ada done")).count();
        assert_eq!(done, 9, "{wire:?}: {result:#}");
        assert!(worked(&result).iter().all(|line| !line.starts_with(&format!("1.{ordinal} "))), "its id leaves a gap");
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_model_can_list_await_and_stop_a_waiting_hire_and_sends_it_no_message() {
    for wire in WIRES {
        let rules = json!([
            first("lead", ten(true)),
            by(
                "lead",
                json!({"nth_of_agent": 2}),
                calls(&[
                    ("list_agents", json!({})),
                    ("message_agent", json!({"id": "1.10", "text": "Hurry."})),
                    ("stop_agent", json!({"id": "1.10"})),
                    ("wait_for_agents", json!({"ids": ["1.9"]})),
                ])
            ),
            always("lead", says("All.")),
            by("ada", json!({"nth_of_agent": 1}), slowly(says("Tuesday."), 1_000)),
            always("ada", says("Tuesday.")),
        ]);
        let house = house(wire, &rules);
        let result = Running::start(house.command(&RUN), "").end().expect(0).json();
        let prompts = shown(&house, "lead");
        assert_has(&prompts[1], &["waits for money as 1.10 and begins when other work returns enough"]);
        let after = prompts[2..].join("\n");
        assert_has(
            &after,
            &["1.10 ada: waits for money; task: ", "1.10 waits for money and has not started", "stopped before it"],
        );
        let done = worked(&result).iter().filter(|line| line.ends_with("ada done")).count();
        assert_eq!(done, 9, "{wire:?}: {result:#}");
        house.guildhall(&["verify"]).expect(0);
    }
}
