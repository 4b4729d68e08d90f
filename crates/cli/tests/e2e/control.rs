//! Work that is ended early, from this terminal or another, and continued.

use std::fs;

use serde_json::{Value, json};

use crate::crew::{CREW, always, answer, assert_has, by, delegates, first, hires, shown, staffed, worked};
use crate::house::{House, KEY, Known, Running, WIRES, Wire, msat, reads, says, wait_for};

/// A first turn that reads a file, a second turn that never ends, and a last reply on request.
fn stalls_in_the_middle() -> Value {
    let stalled = json!({"reply": {"text": "On Tuesday.", "pace": {"chunk_chars": 2}, "damage": {"stall": {"after": {"events": 3}}}}});
    json!([
        {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
        {"when": {"last_user": "who said so"}, "then": says("The notes did.")},
        {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
        {"when": {"tool_result": "Tuesday"}, "repeat": 1, "then": stalled},
        {"then": says("On Tuesday.")},
    ])
}

/// The same, but the second turn is slow and needs a third turn.
fn is_slow_in_the_middle() -> Value {
    let slow = json!({"reply": {"text": "It is on Tuesday, I think, but let me look.", "calls":
        [{"name": "list_files", "arguments": {}}], "pace": {"first_ms": 400}}});
    json!([
        {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
        {"when": {"last_user": "who said so"}, "then": says("The notes did.")},
        {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
        {"then": slow},
    ])
}

/// Waits until the second request has started.
fn until_it_stalls(house: &House) {
    wait_for("the second request", || (house.peer.executions() >= 2).then_some(()));
}

#[test]
fn ctrl_c_once_gives_a_last_report_and_a_command_to_continue() {
    for wire in WIRES {
        let house = House::new(wire, &is_slow_in_the_middle());
        let running = Running::start(house.command(&["run", "When is the meeting?", "--yes"]), "");
        let id = running.session();
        until_it_stalls(&house);
        running.interrupt();
        let ended = running.end().expect(130).says(&format!("guildhall run --continue {id}"));
        assert_eq!(ended.stdout, "This far: Tuesday.\n", "{wire:?}");
        let before = house.show(&id);
        assert_eq!(before["state"], "stopped early: told to wrap up");

        let args = ["run", "--continue", &id, "And who said so?", "--output", "json"];
        let result = house.guildhall(&args).expect(0).json();
        assert_eq!((&result["answer"], &result["session"]), (&json!("The notes did."), &json!(id)), "{wire:?}");
        assert_eq!(msat(&result["bill"]["granted"]), before["free"].as_u64().unwrap(), "only the money that was left");
    }
}

#[test]
fn a_continued_session_sees_the_earlier_conversation() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"last_user": "who said so"}, "then": says("The notes did.")},
                {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
                {"then": says("On Tuesday.")},
            ]),
        );
        let id = house.run(&[]).expect(0).json()["session"].as_str().unwrap().to_owned();
        house.guildhall(&["run", "--continue", &id, "And who said so?"]).expect(0);
        let request = house.requests().pop().unwrap()["messages"].to_string();
        for said in ["When is the meeting?", "the meeting is on Tuesday", "On Tuesday.", "And who said so?"] {
            assert!(request.contains(said), "{wire:?}: {said:?} is not in {request}");
        }
    }
}

#[test]
fn ctrl_c_twice_stops_immediately_and_resume_finishes() {
    for wire in WIRES {
        for known in [Known::ByVariables, Known::AsReplaying] {
            let house = House::known(wire, known, &stalls_in_the_middle());
            let running = house.start(&[]);
            let id = running.session();
            until_it_stalls(&house);
            running.interrupt();
            running.told("Ctrl-C again");
            running.interrupt();
            let ended = running.end().expect(130).says(&format!("guildhall resume {id}"));
            let result = ended.json();
            let so_far = (&result["outcome"], &result["answer"], &result["exit_code"]);
            assert_eq!(so_far, (&Value::Null, &Value::Null, &json!(130)), "{wire:?}: there is no result yet");
            assert_has(result["failure"].as_str().unwrap(), &[&format!("guildhall resume {id}")]);
            assert_eq!(house.show(&id)["state"], "interrupted: resume", "{wire:?}: nothing closed");
            let result = house.guildhall(&["resume", &id, "--output", "json"]).json();
            let answer = result["answer"].as_str().unwrap();
            assert!(["This far: Tuesday.", "On Tuesday."].contains(&answer), "{wire:?} {known:?}: {result}");
        }
    }
}

#[test]
fn resume_after_sigterm_gives_the_answer() {
    for wire in WIRES {
        let house = House::new(wire, &stalls_in_the_middle());
        let running = house.start(&[]);
        let id = running.session();
        until_it_stalls(&house);
        running.terminate();
        running.end().expect(130).says(&format!("guildhall resume {id}"));
        let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
        assert_eq!((&result["answer"], &result["outcome"]), (&json!("On Tuesday."), &json!("done")), "{wire:?}");
        assert!(msat(&result["bill"]["reserved"]) > 0, "{wire:?}: the call that was open is charged");
    }
}

#[test]
fn an_order_from_another_terminal_is_executed() {
    for (wire, order, code, outcome) in [
        (Wire::Anthropic, vec!["stop"], 1, json!("cancelled")),
        (Wire::OpenAi, vec!["stop"], 1, json!("cancelled")),
        (Wire::OpenAi, vec!["stop", "--wrap-up"], 130, json!({"exhausted": "asked"})),
        (Wire::Anthropic, vec!["stop", "--wrap-up"], 130, json!({"exhausted": "asked"})),
    ] {
        let rules = if order.len() == 1 { stalls_in_the_middle() } else { is_slow_in_the_middle() };
        let house = House::new(wire, &rules);
        let running = house.start(&[]);
        let (id, pid) = (running.session(), running.pid());
        until_it_stalls(&house);
        let order = [order.as_slice(), &[id.as_str()]].concat();
        house.guildhall(&order).expect(0).says(&format!("stopping {id} (pid {pid})"));
        let ended = running.end().expect(code).says(&format!("guildhall run --continue {id}"));
        assert_eq!(ended.json()["outcome"], outcome, "{wire:?} {order:?}");
        house.guildhall(&order).expect(4).says("has ended");
    }
}

#[test]
fn an_order_to_a_session_that_no_process_runs_waits_for_the_resume() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
                {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
                {"then": "stall"},
            ]),
        );
        let running = house.start(&[]);
        let id = running.session();
        wait_for("the second request", || (house.requests().len() == 2).then_some(()));
        running.kill();
        let ordered = house.guildhall(&["stop", "--wrap-up", &id]).expect(0);
        ordered.says(&format!("guildhall resume {id}")).says(&format!("guildhall stop {id}"));
        let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(130).json();
        assert_eq!((answer(&result), &result["outcome"]), ("This far: Tuesday.", &json!({"exhausted": "asked"})));
    }
}

#[test]
fn more_money_than_there_is_is_refused_and_changes_nothing() {
    let house = House::new(Wire::OpenAi, &stalls_in_the_middle());
    let running = house.start(&["--budget", "500sat"]);
    let id = running.session();
    until_it_stalls(&house);
    let before = house.rows("inbox");
    let refused = |amount: &str| {
        house.guildhall(&["topup", &id, amount]).expect(4).says("more than there can be").says("Nothing was changed")
    };
    refused("2100000000000000sat");
    refused("2099999999999501sat");
    assert_eq!(house.rows("inbox"), before, "no order was stored");
    running.kill();
    // A top-up that waits for the resume counts, too.
    house.guildhall(&["topup", &id, "2099999999999400sat"]).expect(0);
    refused("101sat");
    house.guildhall(&["topup", &id, "100sat"]).expect(0);
    let bill = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json()["bill"].take();
    assert_eq!(msat(&bill["granted"]), 2_100_000_000_000_000_000);
    house.guildhall(&["verify", &id]).expect(0);
}

#[test]
fn two_processes_do_not_run_the_same_session() {
    let house = House::new(Wire::Anthropic, &stalls_in_the_middle());
    let running = house.start(&[]);
    let (id, pid) = (running.session(), running.pid());
    until_it_stalls(&house);
    house.guildhall(&["resume", &id]).expect(75).says(&format!("process {pid}"));
    for again in [&["run", "--continue", &id, "More?"][..], &["chat", "--continue", &id]] {
        let ended = house.guildhall(again).expect(75).says(&format!("process {pid}"));
        assert_has(&ended.stderr, &["wait", &format!("guildhall message {id}"), &format!("guildhall stop {id}")]);
        assert_eq!(ended.stderr.lines().count(), 1, "and nothing else: {}", ended.stderr);
    }
    assert_eq!(house.show(&id)["state"], format!("at work in process {pid}"));
    assert_eq!(house.requests().len(), 2, "the second process made no request");
    running.kill();
    house.guildhall(&["run", "--continue", &id, "More?"]).expect(4).says(&format!("guildhall resume {id}"));
    let result = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
    assert_eq!(result["answer"], "On Tuesday.");
    house.guildhall(&["resume", &id]).expect(4).says("has ended");
}

#[test]
fn parallel_runs_in_one_home_do_not_affect_each_other() {
    let house = House::new(
        Wire::OpenAi,
        &json!([
            {"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])},
            {"then": {"reply": {"text": "On Tuesday.", "pace": {"first_ms": 50}}}},
        ]),
    );
    let running: Vec<Running> = (0..4).map(|_| house.start(&[])).collect();
    let mut bills: Vec<u64> = Vec::new();
    for running in running {
        let result = running.end().expect(0).json();
        assert_eq!(result["answer"], "On Tuesday.");
        bills.push(msat(&result["bill"]["charged"]));
    }
    assert!(bills.iter().all(|bill| bill.abs_diff(bills[0]) < 5), "the same work costs the same: {bills:?}");
    assert_eq!(house.guildhall(&["ls", "--output", "json"]).json().as_array().unwrap().len(), 4);
}

#[test]
fn a_session_that_ran_out_of_money_continues_with_new_money() {
    let house = House::new(
        Wire::Anthropic,
        &json!([
            {"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")},
            {"when": {"last_user": "Continue where you stopped"}, "then": says("On Tuesday.")},
            {"then": reads(&["notes.txt"])},
        ]),
    );
    let result = house.run(&["--budget", "60sat"]).expect(3).json();
    let id = result["session"].as_str().unwrap();
    let args = ["run", "--continue", id, "--budget", "200sat", "--output", "json"];
    let again = house.guildhall(&args).expect(0).json();
    assert_eq!((&again["answer"], msat(&again["bill"]["granted"])), (&json!("On Tuesday."), 200_000));
    let free = house.show(id)["free"].as_u64().unwrap();
    assert_eq!(free, 200_000 - msat(&again["bill"]["charged"]), "no money is created or lost");
}

#[test]
fn a_session_continues_with_its_own_agents_model_and_project_from_any_directory() {
    for wire in WIRES {
        let rules = json!([
            by("lead", json!({"last_user": "who said so", "has_tool_result": false}), delegates("ada", "Who?", 900)),
            by("lead", json!({"has_tool_result": true}), says("Ada found: {{tool_result}}")),
            always("lead", says("On Tuesday.")),
            first("ada", reads(&["notes.txt"])),
            always("ada", says("The notes say so.")),
        ]);
        let house = House::scripted(wire, Known::ByVariables, json!({"key": KEY, "rules": rules}));
        house.write_config(&format!("{}[prices.deep-model]\ninput = 2\noutput = 9\n", house.read_config()));
        let house = staffed(house, &[("lead", &hires(&["ada"])), ("ada", "")]);
        let before = house.run(&[&CREW[..], &["--model", "deep-model"]].concat()).expect(0).json();
        let id = before["session"].as_str().unwrap();

        // The files of the team are gone, and the current directory is another one.
        fs::remove_dir_all(house.project().join("crew")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let mut command = house.command(&["run", "--continue", id, "And who said so?", "--output", "json"]);
        command.current_dir(elsewhere.path());
        let result = Running::start(command, "").end().expect(0).json();
        assert_has(answer(&result), &["Ada found: ", "The notes say so."]);
        assert_eq!(worked(&result), ["2 lead done", "2.1 ada done"], "{wire:?}");
        assert_has(&shown(&house, "ada")[1], &["the meeting is on Tuesday"]);
        let models: Vec<Value> = house.requests().into_iter().map(|mut request| request["model"].take()).collect();
        assert_eq!(models, vec![json!("deep-model"); 6], "{wire:?}");
    }
}

#[test]
fn a_root_closes_and_is_settled_in_one_commit_or_not_at_all() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([{"when": {"last_user": "who said so"}, "then": says("The notes did.")}, {"then": says("On Tuesday.")}]),
        );
        // The settlement of the root can't be stored.
        house.run(&[]).expect(0);
        house.refuse("session_fact", "\"ended\"");
        let running = house.start(&[]);
        let id = running.session();
        running.end().expect(1).says("refused");
        house.refuse_nothing();
        assert!(
            !house.root_facts(&id).iter().any(|fact| fact.contains("\"closed\"")),
            "{wire:?}: the root has not closed, either"
        );
        assert_eq!(house.show(&id)["free"], 0, "{wire:?}: all money is granted to the root");
        let resumed = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json();
        assert_eq!(answer(&resumed), "On Tuesday.", "{wire:?}");
        let left = house.show(&id)["free"].as_u64().unwrap();
        assert!(left > 0, "{wire:?}: the change is free");
        let args = ["run", "--continue", &id, "And who said so?", "--output", "json"];
        let result = house.guildhall(&args).expect(0).json();
        assert_eq!((answer(&result), msat(&result["bill"]["granted"])), ("The notes did.", left), "{wire:?}");
        house.guildhall(&["verify", &id]).expect(0);
    }
}

#[test]
fn a_resume_names_a_missing_key_and_a_missing_project() {
    let house = House::new(Wire::Anthropic, &stalls_in_the_middle());
    let elsewhere = tempfile::tempdir().unwrap();
    let running = house.start(&["--project", elsewhere.path().to_str().unwrap()]);
    let id = running.session();
    wait_for("the first request", || (!house.requests().is_empty()).then_some(()));
    running.kill();
    let mut command = house.command(&["resume", &id]);
    command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL");
    Running::start(command, "").end().expect(2).says("ANTHROPIC_API_KEY");
    elsewhere.close().unwrap();
    house.guildhall(&["resume", &id]).expect(2).says("no longer exists");
    house.guildhall(&["show", &id]).expect(0);
}
