//! Hires that wait for money, as people and models see them: they have an id from the start, can be stopped and awaited, hear no
//! message, and a top-up for one goes to its hirer.

use std::io::Write;

use serde_json::{Value, json};

use crate::crew::{always, assert_has, by, calls, facts, first, hires, shown, slowly, staffed, stalls, worked};
use crate::house::{House, Running, WIRES, Wire, reads, says, wait_for};

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

const RUN: [&str; 9] = ["run", "Look everywhere.", "--yes", "--output", "json", "--team", "crew", "--budget", "330sat"];

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
        for (what, words) in [(&hire, "waits for money and has not started"), (&id, "waiting for money: 1.")] {
            assert_has(&house.guildhall(&["show", what]).expect(0).stdout, &[words]);
        }
        assert!(house.show(&id)["waits_for_money"].as_array().unwrap().contains(&json!(format!("1.{ordinal}"))));
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

/// A conversation whose hires wait for money: bob works for a long time, ada needs more than she has, and the third hire has not
/// begun.
fn waiting_conversation(wire: Wire) -> House {
    let hire = |specialty: &str| {
        json!({"name": "delegate_task", "arguments":
        {"specialty": specialty, "task": "Look.", "background": true}})
    };
    let mut spends = reads(&["notes.txt"]);
    spends["reply"]["usage"] = json!({"input": 1_000, "output": 4_000});
    let rules = json!([
        first("lead", json!({"reply": {"calls": [hire("bob"), hire("ada"), hire("ada")]}})),
        always("lead", says("They look.")),
        always("bob", stalls()),
        always("ada", spends),
    ]);
    staffed(House::new(wire, &rules), &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", "")])
}

/// The amount that `/cost` says is granted to hires at work, in millisatoshis.
fn granted(cost: &str) -> u64 {
    let (_, granted) = cost.rsplit_once("; ").unwrap();
    let (sats, _) = granted.split_once(" sat ").unwrap();
    let (whole, rest) = sats.split_once('.').unwrap_or((sats, "0"));
    whole.parse::<u64>().unwrap() * 1000 + format!("{rest:0<3}").parse::<u64>().unwrap()
}

#[test]
fn in_a_conversation_a_draw_is_told_and_agents_lists_who_waits_and_cost_counts_what_was_raised() {
    for wire in WIRES {
        let house = waiting_conversation(wire);
        let args = ["chat", "--yes", "--team", "crew", "--budget", "330sat"];
        let (running, mut stdin) = Running::start_open(house.command(&args));
        stdin.write_all(b"Look everywhere.\n").unwrap();
        let id = running.session();
        running.printed("They look.");
        assert_has(&running.told("1.2 ada waits for money: needs "), &["sat more from its hirer"]);
        // The draws before the last one are met at once.
        let waits = |fact: &String| fact.starts_with(r#"{"heard""#) && fact.contains("draw");
        wait_for("a draw that waits", || house.root_facts(&id).last().is_some_and(waits).then_some(()));
        stdin.write_all(b"/agents\n/cost\n").unwrap();
        running.showed("\n1 lead\n1.1 bob\n1.2 ada waits for money\n1.3 ada waits for money\n");
        let before = granted(&running.told("of 330 sat so far"));
        house.guildhall(&["topup", &format!("{id}/1.1"), "50sat"]).expect(0);
        stdin.write_all(b"/cost\n").unwrap();
        let after = granted(&running.told("of 380 sat so far"));
        let draws = facts(&house, &id, "asked").iter().filter(|(_, fact)| !fact["ask"]["draw"].is_null()).count();
        let told = running.kill().stderr.matches("ada waits for money: needs ").count();
        assert_eq!((after, told), (before + 50_000, draws), "{wire:?}");
    }
}
