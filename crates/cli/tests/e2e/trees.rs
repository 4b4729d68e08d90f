//! Wide, deep and large trees, within the budget and with any number of parallel calls; and orders to a tree at work.

use guildhall_model_server::Entry;
use serde_json::{Value, json};

use crate::crew::{
    CREW, always, answer, assert_has, by, calls, delegates, first, hires, shown, slowly, staffed, stalls, worked,
};
use crate::house::{House, Running, WIRES, Wire, msat, reads, says, wait_for};

/// The front matter of an agent that hires itself.
const RECURSIVE: &str = "delegation:\n  team: [worker]\n  recursive: true";

/// The highest number of hires.
const ALL_HEADS: &str = "4294967295";

/// Runs a task with a team.
fn run(house: &House, task: &str, more: &[&str]) -> Value {
    let args = [&["run", task, "--yes", "--output", "json", "--team", "crew"], more].concat();
    Running::start(house.command(&args), "").end().expect(0).json()
}

#[test]
fn a_tree_of_1111_agents_finishes_and_keeps_all_laws() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": {"tree": {}}}]));
        let house = staffed(house, &[("worker", RECURSIVE)]);
        // Each hirer keeps a share of its hires for itself, so the limit must be higher than the number of hires.
        let flags = ["--budget", "3000000sat", "--max-hires", "2000", "--max-depth", "3"];
        let result = run(&house, "TREE depth=3 fanout=10", &flags);
        assert_eq!(answer(&result), "done d=3 n=1000 err=0", "{wire:?}");
        let worked = worked(&result);
        assert_eq!(worked.len(), 1111, "{wire:?}");
        assert!(worked.iter().all(|line| line.ends_with(" worker done")), "{wire:?}: {worked:?}");
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_hundred_parallel_hires_never_exceed_the_budget() {
    // The budgets together are more than there is. Without budgets, the hires share the money.
    for (budget, wire) in [(Some(60), Wire::Anthropic), (None, Wire::OpenAi)] {
        let mut arguments = json!({"specialty": "ada", "task": "Look {{i}}."});
        if let Some(budget) = budget {
            arguments["budget"] = json!(budget);
        }
        let hundred = json!({"reply": {"calls": [{"name": "delegate_task", "arguments": arguments, "times": 100}]}});
        let house = House::new(
            wire,
            &json!([
                first("lead", hundred),
                always("lead", says("All have reported.")),
                by("ada", json!({"has_tool_result": false}), reads(&["notes.txt"])),
                always("ada", says("Tuesday.")),
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
        let result = run(&house, "Look everywhere.", &["--budget", "3000sat"]);
        let lines = result["bill"]["contracts"].as_array().unwrap();
        assert!(msat(&result["bill"]["charged"]) <= 3_000_000);
        let prompt = shown(&house, "lead").swap_remove(1);
        let (reports, refusals) = (prompt.matches("<sub-agent-complete").count(), prompt.matches("refused: ").count());
        assert_eq!((reports, reports + refusals), (lines.len() - 1, 100), "{wire:?}: each call is answered");
        assert_eq!(reports, 100, "{wire:?}");
        // The grants of hires at work together never exceed the budget, however often the same money is granted.
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_chain_of_32_hires_finishes_with_one_call_at_a_time() {
    let task = |level: u64| format!("Now go to level {level}.");
    let level = |level: u64| {
        let who = if level < 31 { "worker" } else { "last" };
        let arguments = json!({"specialty": who, "task": task(level + 1), "budget": 100 * (32 - level)});
        let when = json!({"last_user": task(level), "has_tool_result": false});
        by("worker", when, calls(&[("delegate_task", arguments)]))
    };
    for wire in WIRES {
        let mut rules: Vec<Value> = (0..32).map(level).collect();
        rules.push(by("last", json!({"last_user": task(32)}), says("The bottom is dry.")));
        rules.push(by("worker", json!({"tool_result": "bottom is dry"}), says("Below me: the bottom is dry.")));
        let front = RECURSIVE.replace("[worker]", "[worker, last]");
        let house = staffed(House::new(wire, &json!(rules)), &[("worker", &front), ("last", "")]);
        let flags = ["--budget", "4000sat", "--max-depth", "32", "--max-concurrency", "1", "--max-hires", ALL_HEADS];
        let result = run(&house, &task(0), &flags);
        assert_eq!(answer(&result), "Below me: the bottom is dry.", "{wire:?}");
        let worked = worked(&result);
        assert_eq!((worked.len(), worked.iter().filter(|line| line.ends_with(" done")).count()), (33, 33));
        assert_eq!(worked[32], format!("1{} last done", ".1".repeat(32)), "{wire:?}: {worked:?}");
    }
}

#[test]
fn a_thousand_hires_make_no_more_requests_after_a_stop() {
    let thousand = json!({"reply": {"calls": [{"name": "delegate_task", "times": 1000, "arguments":
        {"specialty": "ada", "task": "Look {{i}}.", "budget": 50}}], "usage": {"input": 900, "output": 8000}}});
    let house = House::new(Wire::Anthropic, &json!([first("lead", thousand), always("ada", stalls())]));
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    let args = [&["--team", "crew", "--budget", "60000sat"][..], &["--max-hires", "1000", "--max-concurrency", "1000"]];
    let running = house.start(&args.concat());
    let id = running.session();
    wait_for("all at work", || (house.peer.executions() > 1000).then_some(()));
    house.guildhall(&["stop", &id]).expect(0);
    let result = running.end().expect(1).json();
    let worked = worked(&result);
    assert_eq!(worked.iter().filter(|line| line.ends_with(" ada cancelled")).count(), 1000);
    assert_eq!((worked.len(), house.peer.executions()), (1001, 1001), "no more requests");
}

/// The highest number of parallel calls of a lead and this many hires with slow replies.
fn most_at_once(team: u32, reply_ms: u64, flags: &[&str]) -> u32 {
    let all = json!({"reply": {"calls": [{"name": "delegate_task", "times": team, "arguments":
        {"specialty": "ada", "task": "Look {{i}}.", "budget": 50}}]}});
    let house = House::new(
        Wire::OpenAi,
        &json!([first("lead", all), always("lead", says("All.")), always("ada", slowly(says("Here."), reply_ms))]),
    );
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    house.run(&[&CREW[..], flags].concat()).expect(0);
    let (mut open, mut most) = (0_u32, 0);
    for entry in house.peer.log() {
        match entry {
            Entry::Request { .. } => open += 1,
            Entry::End { .. } => open = open.saturating_sub(1),
            Entry::Answer { .. } | Entry::Mark { .. } => {}
        }
        most = most.max(open);
    }
    most
}

#[test]
fn the_number_of_parallel_calls_stays_within_the_limit() {
    assert_eq!(most_at_once(12, 30, &["--max-concurrency", "3"]), 3);
}

#[test]
fn thirty_two_calls_run_in_parallel_by_default() {
    assert_eq!(most_at_once(40, 1000, &[]), 32);
}

#[test]
fn a_thousand_hires_on_sixteen_levels_are_the_default_limits() {
    let house = House::new(Wire::OpenAi, &json!([]));
    let help = house.guildhall(&["run", "--help"]).expect(0).stdout;
    let default_of = |option: &str| {
        let (_, rest) = help.split_once(option).unwrap_or_else(|| panic!("{option} is not in {help}"));
        let (_, rest) = rest.split_once("[default: ").unwrap();
        rest.split_once(']').unwrap().0.to_owned()
    };
    let options = ["--max-hires <N>", "--max-depth <N>", "--max-concurrency <N>"];
    assert_eq!(options.map(default_of), ["1000", "16", "32"]);
}

#[test]
fn a_tree_at_work_can_be_shown_messaged_topped_up_and_stopped_in_part() {
    let two = ["ada", "bob"].map(|who| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": 500})));
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", calls(&two)),
                always("lead", says("Heard: {{tool_result}}")),
                by("ada", json!({"last_user": "Enough, ada."}), says("Tuesday, then.")),
                always("ada", slowly(reads(&["notes.txt"]), 300)),
                always("bob", stalls()),
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada", "bob"])), ("ada", "maxTurns: 900"), ("bob", "")]);
        let running = house.start(&CREW);
        let id = running.session();
        wait_for("both at work", || (house.peer.executions() >= 3).then_some(()));

        let seen = house.show(&id);
        assert_has(seen["state"].as_str().unwrap(), &["at work in process"]);
        assert_eq!(worked(&seen), ["1 lead not ended", "1.1 ada not ended", "1.2 bob not ended"], "{wire:?}");
        let listed = house.guildhall(&["ls"]).expect(0);
        assert_has(&listed.stdout, &[&id, "at work in process"]);
        house.guildhall(&["verify", &id]).expect(0);
        house.guildhall(&["topup", &format!("{id}/1.1"), "700sat"]).expect(0).says("1.1 of ").says("has 700 sat");
        let seen = house.guildhall(&["show", &format!("{id}/1.1")]).expect(0).stdout;
        assert_has(&seen, &["granted  1200 sat", "700 sat of it were added after it began"]);
        let seen = house.guildhall(&["show", &format!("{id}/1.1"), "--output", "json"]).expect(0).json();
        assert_eq!((&seen["granted_msat"], &seen["added_msat"]), (&json!(1_200_000), &json!(700_000)), "{wire:?}");
        house.guildhall(&["stop", &format!("{id}/1.2")]).expect(0).says(&format!("stopping {id}/1.2 (pid "));
        house.guildhall(&["message", &format!("{id}/1.1"), "Enough, ada."]).expect(0).says("delivered to ");
        house.guildhall(&["stop", &format!("{id}/1.9")]).expect(4);

        let result = running.end().expect(0).json();
        assert_eq!(worked(&result), ["1 lead done", "1.1 ada done", "1.2 bob cancelled"], "{wire:?}");
        let granted = |line: usize| msat(&result["bill"]["contracts"][line]["granted"]);
        assert_eq!((granted(0), granted(1), granted(2)), (5_700_000, 1_200_000, 500_000), "{wire:?}");
        let prompt = shown(&house, "lead").pop().unwrap();
        assert_has(&prompt, &["Tuesday, then.", "<sub-agent-cancelled"]);
        assert_has(&shown(&house, "ada").pop().unwrap(), &["Enough, ada."]);
        house.guildhall(&["verify", &id]).expect(0);
    }
}

#[test]
fn stopping_a_tree_stops_all_its_agents() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", calls(&[("delegate_task", json!({"specialty": "ada", "task": "Ask.", "budget": 2000}))])),
                first("ada", calls(&[("delegate_task", json!({"specialty": "bob", "task": "Look.", "budget": 500}))])),
                always("bob", stalls()),
            ]),
        );
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", &hires(&["bob"])), ("bob", "")]);
        let running = house.start(&CREW);
        let id = running.session();
        wait_for("bob at work", || (house.peer.executions() >= 3).then_some(()));
        house.guildhall(&["stop", &id]).expect(0);
        let result = running.end().expect(1).json();
        assert_eq!(worked(&result), ["1 lead cancelled", "1.1 ada cancelled", "1.1.1 bob cancelled"], "{wire:?}");
        assert_eq!(house.peer.executions(), 3, "{wire:?}: no more requests");
    }
}

#[test]
fn orders_for_hires_that_are_not_resumed_yet_wait_for_them() {
    let two = [("ada", 2000), ("bob", 500)]
        .map(|(who, budget)| ("delegate_task", json!({"specialty": who, "task": "Look.", "budget": budget})));
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                first("lead", calls(&two)),
                always("lead", says("Heard: {{tool_result}}")),
                first("ada", delegates("eve", "Look closely.", 800)),
                always("ada", says("Eve says: {{tool_result}}")),
                by("eve", json!({"last_user": "Enough, eve."}), says("Tuesday, then.")),
                always("eve", slowly(reads(&["notes.txt"]), 300)),
                always("bob", stalls()),
            ]),
        );
        let house = staffed(
            house,
            &[("lead", &hires(&["ada", "bob"])), ("ada", &hires(&["eve"])), ("bob", ""), ("eve", "maxTurns: 900")],
        );
        let running = house.start(&CREW);
        let id = running.session();
        wait_for("all agents at work", || (house.peer.executions() >= 4).then_some(()));
        running.kill();
        for order in [
            &["message", &format!("{id}/1.1.1"), "Enough, eve."][..],
            &["stop", &format!("{id}/1.2")],
            &["topup", &format!("{id}/1.1"), "700sat"],
        ] {
            house.guildhall(order).expect(0).says("no process runs");
        }
        let seen = house.guildhall(&["show", &format!("{id}/1.1")]).expect(0).stdout;
        assert_has(
            &seen,
            &["granted  2000 sat", &format!("top-up   700 sat: it takes effect when you run: guildhall resume {id}")],
        );
        let seen = house.guildhall(&["show", &format!("{id}/1.1"), "--output", "json"]).expect(0).json();
        assert_eq!((&seen["added_msat"], &seen["waiting_topups_msat"]), (&json!(0), &json!(700_000)), "{wire:?}");
        let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
        assert_has(answer(&result), &["Tuesday, then."]);
        let contracts = ["1 lead done", "1.1 ada done", "1.1.1 eve done", "1.2 bob cancelled"];
        assert_eq!(worked(&result), contracts, "{wire:?}");
        assert_eq!(msat(&result["bill"]["contracts"][1]["granted"]), 2_700_000, "{wire:?}");
    }
}

#[test]
fn wrapping_up_a_tree_lets_all_agents_report() {
    let house = House::new(
        Wire::Anthropic,
        &json!([
            by("lead", json!({"last_user": "last reply"}), says("This far: a roof.")),
            by("ada", json!({"last_user": "last reply"}), says("The roof, so far.")),
            first("lead", calls(&[("delegate_task", json!({"specialty": "ada", "task": "Look.", "budget": 2000}))])),
            always("ada", slowly(reads(&["agenda.txt"]), 200)),
        ]),
    );
    let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "maxTurns: 900")]);
    let running = house.start(&CREW);
    let id = running.session();
    wait_for("ada at work", || (house.peer.executions() >= 2).then_some(()));
    house.guildhall(&["stop", &id, "--wrap-up"]).expect(0);
    let result = running.end().expect(130).json();
    assert_eq!(worked(&result), ["1 lead exhausted asked", "1.1 ada exhausted asked"]);
    assert_eq!(answer(&result), "This far: a roof.");
    assert_has(&shown(&house, "lead").pop().unwrap(), &["<sub-agent-exhausted", "The roof, so far."]);
}
