//! Refused hires: the model gets the reason and what to do instead, the hire costs nothing, and the work continues.

use serde_json::{Value, json};

use crate::crew::{CREW, always, answer, assert_has, by, calls, delegates, first, hires, shown, staffed, worked};
use crate::house::{House, WIRES, Wire, msat, says};

/// Runs a lead that can hire `ada` and `bob` and makes this call. The answer contains the tool result.
fn run_call(wire: Wire, call: &Value) -> (House, Value) {
    let house = House::new(wire, &json!([first("lead", call.clone()), {"then": says("Told: {{tool_result}}")}]));
    let house = staffed(house, &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", "")]);
    let result = house.run(&CREW).expect(0).json();
    (house, result)
}

/// Checks that a call is refused for this reason.
#[track_caller]
fn check(wire: Wire, call: &Value, reason: &str) {
    let (house, result) = run_call(wire, call);
    assert_has(&shown(&house, "lead")[1], &["refused: ", reason]);
    assert_eq!(worked(&result), ["1 lead done"], "{wire:?}: {call}");
}

fn hire(specialty: &str, budget: &Value) -> Value {
    calls(&[("delegate_task", json!({"specialty": specialty, "task": "Look.", "budget": budget}))])
}

#[test]
fn an_agent_cant_hire_itself() {
    for wire in WIRES {
        check(wire, &delegates("lead", "Do it for me.", 500), "you can't hire yourself: do the work yourself");
    }
}

#[test]
fn a_refused_hire_is_told_to_the_person_in_words_about_the_agent() {
    for (named, told) in [
        ("lead", "lead tried to hire itself: refused"),
        ("zoe", "lead tried to hire zoe, which is not in its team: refused"),
    ] {
        let rules = json!([first("lead", delegates(named, "Look.", 500)), {"then": says("Done.")}]);
        let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
        house.guildhall(&["run", "Ask.", "--team", "crew", "--yes"]).expect(0).says(told);
    }
}

#[test]
fn a_hire_of_an_unknown_agent_is_refused_with_the_names_of_the_team() {
    for wire in WIRES {
        check(wire, &delegates("zoe", "Look.", 500), "zoe is not on your team: hire one of these: ada, bob");
    }
}

#[test]
fn an_invalid_budget_is_refused_with_the_reason() {
    check(Wire::Anthropic, &hire("ada", &json!(0)), "the amount is 0: give at least 1 sat");
    check(Wire::OpenAi, &hire("ada", &json!(-1)), "the amount is negative");
    check(Wire::Anthropic, &hire("ada", &json!("NaN")), "the amount is not a number");
    check(Wire::OpenAi, &hire("ada", &json!("plenty")), "the amount is not a number");
    check(Wire::Anthropic, &hire("ada", &json!([5])), "the amount is not a number");
    check(Wire::OpenAi, &hire("ada", &json!(1.5)), "the amount is not a whole number of sats");
    check(Wire::OpenAi, &hire("ada", &json!(1e300)), "exceeds 21 million bitcoin");
    for wire in WIRES {
        let nan = json!({"reply": {"calls": [{"name": "delegate_task",
            "raw": "{\"specialty\": \"ada\", \"task\": \"Look.\", \"budget\": NaN}"}]}});
        check(wire, &nan, "the arguments are not one JSON object with unique keys");
    }
}

#[test]
fn too_little_money_is_refused_with_the_amount_needed() {
    for wire in WIRES {
        check(wire, &hire("ada", &json!(1)), "not enough money: at least ");
        let (_, result) = run_call(wire, &hire("ada", &json!(1)));
        let (_, least) = answer(&result).split_once("at least ").unwrap();
        let least = least.split("sat is needed").next().unwrap();
        // The amount is right: it is enough if it is rounded up to a sat.
        let least: u64 = least.split('.').next().unwrap().parse().unwrap();
        let (_, result) = run_call(wire, &hire("ada", &json!(least + 1)));
        assert_eq!(worked(&result)[1..], ["1.1 ada done"], "{wire:?}");
        check(wire, &hire("ada", &json!(least - 1)), "sat is needed");
    }
}

#[test]
fn a_budget_as_a_string_or_a_float_is_accepted() {
    for budget in [json!("250"), json!("250sat"), json!(250.0)] {
        let (_, result) = run_call(Wire::Anthropic, &hire("ada", &budget));
        assert_eq!(msat(&result["bill"]["contracts"][1]["granted"]), 250_000, "{budget}");
    }
}

#[test]
fn a_hiring_cycle_is_refused_with_its_path() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("ada", delegates("bob", "Ask ada.", 2000)),
                first("bob", delegates("ada", "Ask bob.", 500)),
                {"then": says("Told: {{tool_result}}")},
            ]),
        );
        let house = staffed(house, &[("ada", &hires(&["bob"])), ("bob", &hires(&["ada"]))]);
        let args = [&CREW[..], &["--agent", "ada"]].concat();
        let result = house.run(&args).expect(0).json();
        assert_has(answer(&result), &["refused: ada -> bob -> ada would be a cycle"]);
        assert_eq!(worked(&result), ["1 ada done", "1.1 bob done"], "{wire:?}");
    }
}

#[test]
fn a_hire_below_the_last_level_is_refused() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", delegates("ada", "Ask bob.", 2000)),
                first("ada", delegates("bob", "Look.", 500)),
                {"then": says("Told: {{tool_result}}")},
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", &hires(&["bob"])), ("bob", "")]);
        let result = house.run(&[&CREW[..], &["--max-depth", "1"]].concat()).expect(0).json();
        assert_has(answer(&result), &["refused: no more levels of hires are allowed here", "do the work yourself"]);
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada done"], "{wire:?}");
        let result = house.run(&[&CREW[..], &["--max-depth", "0"]].concat()).json();
        assert_eq!(worked(&result), ["1 lead done"], "{wire:?}");
    }
}

#[test]
fn more_hires_than_there_are_heads_are_refused() {
    for wire in WIRES {
        let two =
            ["ada", "bob"].map(|who| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": 500})));
        let house = House::new(wire, &json!([first("lead", calls(&two)), {"then": says("Told: {{tool_result}}")}]));
        let house = staffed(house, &[("lead", &hires(&["ada", "bob"])), ("ada", ""), ("bob", "")]);
        let result = house.run(&[&CREW[..], &["--max-hires", "1"]].concat()).expect(0).json();
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada done"], "{wire:?}");
        assert_has(
            &shown(&house, "lead")[1],
            &["refused: not enough hires left (1 needed, 0 left): hire fewer agents, or wait for a report"],
        );
    }
}

#[test]
fn a_task_that_an_agent_above_already_has_is_refused() {
    let house = House::new(
        Wire::Anthropic,
        &json!([
            by("ada", json!({"last_user": "the roof"}), delegates("ada", "Look at  the Roof.", 500)),
            first("ada", delegates("ada", "Look at the roof.", 2000)),
            always("ada", says("Told: {{tool_result}}")),
        ]),
    );
    let house = staffed(house, &[("ada", "delegation:\n  team: [ada]\n  recursive: true")]);
    let result = house.run(&CREW).expect(0).json();
    assert_has(answer(&result), &["refused: ada, above you in this tree, already has this exact task"]);
    assert_eq!(worked(&result), ["1 ada done", "1.1 ada done"]);
}

#[test]
fn invalid_calls_are_refused_and_the_others_are_executed() {
    let mixed = calls(&[
        ("delegate_task", json!({"specialty": "ada"})),
        ("delegate_task", json!({"specialty": "ada", "task": "  "})),
        ("delegate_task", json!({"specialty": "ada", "task": "Look.", "budget": 400})),
        ("stop_agent", json!({"id": "1.9"})),
        ("message_agent", json!({"id": "1.9", "text": "Hello"})),
        ("wait_for_agents", json!({"ids": ["1.9"]})),
    ]);
    for wire in WIRES {
        let (house, result) = run_call(wire, &mixed);
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada done"], "{wire:?}");
        assert_has(
            &shown(&house, "lead")[1],
            &[
                "`task` is missing: correct it and call again. A right call: delegate_task",
                "the task, message or question is empty",
                "1.9 is not one of your active hires",
            ],
        );
    }
}
