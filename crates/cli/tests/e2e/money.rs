//! The cost of work: budgets, limits, consent, prices, and exact numbers in the JSON result.

use std::fs;
use std::io::Write;

use serde_json::json;

use crate::chat::CHAT;
use crate::crew::{assert_has, hires, staffed};
use crate::house::{House, KEY, Known, MODEL, Running, WIRES, Wire, msat, reads, says, wait_for};
use crate::token_limit::never_stops;

#[test]
fn an_exhausted_budget_gives_a_report_and_exit_code_3() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        let args = ["run", "When is the meeting?", "--yes", "--budget", "60sat"];
        let ended = house.guildhall(&args).expect(3).says("guildhall run --continue ");
        assert_eq!(ended.stdout, "This far: Tuesday.\n", "{wire:?}");
        let result = house.run(&["--budget", "60sat"]).expect(3).json();
        assert_eq!((&result["outcome"], &result["exit_code"]), (&json!({"exhausted": "purse"}), &json!(3)));
        assert_eq!(msat(&result["bill"]["granted"]), 60_000);
    }
}

#[test]
fn a_budget_below_the_minimum_is_refused_with_the_minimum_and_without_a_request() {
    let house = House::new(Wire::OpenAi, &never_stops());
    let ended = house.run(&["--budget", "1sat"]).expect(4).says("too small").says("Nothing was spent");
    assert!(ended.stderr.contains("at least"), "{}", ended.stderr);
    assert_eq!(house.requests().len(), 0);
    let listed = house.guildhall(&["ls", "--output", "json"]).json();
    assert_eq!(listed, json!([]), "a refused run creates no session");
}

#[test]
fn turns_time_and_tokens_run_out_with_a_report_and_exit_code_3() {
    for wire in WIRES {
        let house = House::new(wire, &never_stops());
        for (limit, how) in [
            (["--max-turns", "2"], json!({"exhausted": "turns"})),
            (["--max-tokens-total", "9000"], json!({"exhausted": "asked"})),
        ] {
            let result = house.run(&limit).expect(3).json();
            assert_eq!((&result["outcome"], &result["answer"]), (&how, &json!("This far: Tuesday.")), "{limit:?}");
        }
    }
    let slow = json!({"reply": {"text": "Reading.", "calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}],
        "pace": {"headers_ms": 300}}});
    let house = House::new(
        Wire::Anthropic,
        &json!([{"when": {"last_user": "last reply"}, "then": says("This far: Tuesday.")}, {"then": slow}]),
    );
    let result = house.run(&["--timeout", "5s"]).expect(3).json();
    let far = json!("This far: Tuesday.");
    assert_eq!((&result["outcome"], &result["answer"]), (&json!({"exhausted": "deadline"}), &far));
}

#[test]
fn a_provider_gets_no_more_requests_after_an_overrun_unless_that_is_allowed() {
    let dear = json!({"reply": {"calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}],
        "usage": {"input": 100, "output": 200_000}}});
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([{"when": {"has_tool_result": false}, "then": dear}, {"then": says("On Tuesday.")}]),
        );
        let result = house.run(&[]).expect(5).json();
        assert_eq!((&result["outcome"], house.peer.executions()), (&json!("failed"), 1), "{wire:?}: {result:#}");
        let (failure, id) = (result["failure"].as_str().unwrap(), result["session"].as_str().unwrap());
        assert_has(
            failure,
            &["more than the ", " held for a call: no more calls are sent to it; to continue, use `--allow-overrun`"],
        );

        // This applies to the whole session, in another process, too.
        let go_on = ["run", "--continue", id, "And?", "--output", "json"];
        let again = house.guildhall(&go_on).expect(5).json();
        assert_eq!((house.peer.executions(), msat(&again["bill"]["charged"])), (1, 0), "{wire:?}: no request was made");
        let allowed = house.guildhall(&[&go_on[..], &["--allow-overrun"]].concat()).expect(0).json();
        assert_eq!(allowed["answer"], "On Tuesday.", "{wire:?}");

        let result = house.run(&["--allow-overrun"]).expect(0).json();
        assert_eq!(result["answer"], "On Tuesday.", "{wire:?}");
    }
}

/// A conversation whose first reply is an overrun, killed while it waits for a message.
fn killed_after_an_overrun(flags: &[&str]) -> (House, String) {
    let dear = json!({"reply": {"text": "On Tuesday.", "usage": {"input": 100, "output": 200_000}}});
    let house =
        House::new(Wire::Anthropic, &json!([{"when": {"nth": 1}, "then": dear}, {"then": says("In the hall.")}]));
    let (talking, mut stdin) = Running::start_open(house.command(&[&CHAT[..], flags].concat()));
    stdin.write_all(b"When is the meeting?\n").unwrap();
    talking.printed("On Tuesday.");
    let id = talking.session();
    talking.kill();
    (house, id)
}

#[test]
fn a_provider_gets_no_more_requests_after_an_overrun_and_a_kill() {
    let (house, id) = killed_after_an_overrun(&[]);
    let resume =
        |flags: &[&str]| Running::start(house.command(&[&["resume", &id], flags].concat()), "And where?\n").end();
    resume(&[]).expect(5).says("held for a call: no more calls are sent to it");
    assert_eq!(house.peer.executions(), 1, "no more requests");
}

#[test]
fn a_resume_can_allow_an_overrun_and_keeps_an_earlier_permission() {
    for (started, resumed) in [(&[][..], &["--allow-overrun"][..]), (&["--allow-overrun"], &[])] {
        let (house, id) = killed_after_an_overrun(started);
        let args = [&["resume", &id], resumed].concat();
        let ended = Running::start(house.command(&args), "And where?\n").end().expect(0);
        assert_eq!(ended.stdout, "In the hall.\n", "{started:?} {resumed:?}");
    }
}

#[test]
fn the_first_paid_run_needs_consent_once() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
        let run = ["run", "When?"];
        house.guildhall(&run).expect(4).says("--yes").says("Nothing was spent");
        assert_eq!(house.requests().len(), 0, "{wire:?}: no request was made");
        assert_eq!(house.guildhall(&["ls", "--output", "json"]).json(), json!([]));
        house.guildhall(&["run", "When?", "--yes"]).expect(0);
        assert_eq!(house.guildhall(&run).expect(0).stdout, "On Tuesday.\n", "{wire:?}: it is remembered");
    }
}

#[test]
fn a_server_on_this_machine_without_a_key_needs_no_consent() {
    let house = House::scripted(Wire::OpenAi, Known::ByVariables, json!({"rules": [{"then": says("On Tuesday.")}]}));
    let mut command = house.command(&["run", "When?"]);
    command.env_remove("OPENAI_API_KEY");
    let ended = Running::start(command, "").end().expect(0);
    assert_eq!(ended.stdout, "On Tuesday.\n");
}

#[test]
fn the_budget_is_printed_before_the_first_call() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("On Tuesday.")}]));
        // The budget is printed before the question for consent.
        house
            .guildhall(&["run", "When?"])
            .expect(4)
            .says("at most $1.00 (1000 sat), paid by you to ")
            .says(", at $100000.00 per bitcoin");
        house.guildhall(&["run", "When?", "--budget", "70sat"]).expect(4).says("at most $0.070 (70 sat), ");
        house.guildhall(&["run", "When?", "--budget", "$0.02"]).expect(4).says("at most $0.020 (20 sat), ");
        house
            .guildhall(&["run", "When?", "--budget", "2100000000000000sat"])
            .expect(4)
            .says("at most $2100000000000.00 (");
        house
            .guildhall(&["run", "When?", "--budget", "2100000000000001sat"])
            .expect(2)
            .says("at most 2100000000000000 ");
        house.guildhall(&["run", "When?", "--budget", "99999999999usd"]).expect(2).says("is too much");
        assert_eq!(house.requests().len(), 0, "{wire:?}");
    }
}

#[test]
fn all_models_that_may_be_paid_are_named_before_the_first_call() {
    for (wire, provider) in [(Wire::Anthropic, "anthropic"), (Wire::OpenAi, "openai")] {
        let house = House::new(wire, &json!([]));
        house.write_config(&format!("{}[prices.deep-model]\ninput = 2\noutput = 9\n", house.read_config()));
        let crew = [("lead", hires(&["ada"])), ("ada", "model: deep-model".to_owned())];
        let house = staffed(house, &crew.each_ref().map(|(name, front)| (*name, front.as_str())));
        let run = ["run", "When?", "--team", "crew", "--budget", "900sat"];
        let both = format!("{provider}/deep-model, {provider}/{MODEL}");
        let ended = house.guildhall(&run).expect(4);
        ended.says(&format!("{both}, at most $0.90 (900 sat), ")).says(&format!("paid to {both})"));
        // A lead that costs nothing can have hires that cost money.
        let house = staffed(house, &[("lead", &format!("model: rehearsal\n{}", hires(&["ada"])))]);
        let both = format!("{provider}/deep-model, rehearsal");
        let ended = house.guildhall(&run).expect(4);
        ended.says(&format!("{both}, at most $0.90 (900 sat), ")).says(&format!("paid to {both})"));
        assert_eq!(house.requests().len(), 0, "{wire:?}");
    }
}

#[test]
fn an_unknown_price_is_exit_2_naming_the_model_and_the_config() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"then": says("never")}]));
        let ended = house.run(&["--model", "house-blend-7b"]).expect(2).says("house-blend-7b").says("config");
        assert!(ended.stderr.contains("[prices.\"house-blend-7b\"]"), "{}", ended.stderr);
        assert_eq!(house.requests().len(), 0);
    }
}

#[test]
fn a_session_keeps_its_price_when_the_price_table_does_not_know_its_model_any_more() {
    for wire in WIRES {
        let house = House::new(wire, &json!([{"repeat": 1, "then": "stall"}, {"then": says("On Tuesday.")}]));
        let calm = House::new(wire, &json!([{"then": says("On Tuesday.")}])).run(&[]).expect(0).json();
        let running = house.start(&[]);
        let id = running.session();
        wait_for("the request", || (house.requests().len() == 1).then_some(()));
        running.kill();
        house.write_config(&format!("model = \"{MODEL}\"\n"));
        house.run(&[]).expect(2).says("no price is known for the model \"test-model\"");
        house.guildhall(&["ls"]).expect(0);
        let bill = house.guildhall(&["resume", &id, "--output", "json"]).expect(0).json()["bill"].take();
        let used = msat(&bill["charged"]) - msat(&bill["reserved"]);
        assert_eq!(used, msat(&calm["bill"]["charged"]), "{wire:?}: the price is the one that was stored, {bill:#}");
        house.guildhall(&["verify"]).expect(0);
    }
}

#[test]
fn a_missing_provider_is_exit_2_with_the_variable_to_set_and_a_missing_model_is_exit_2_with_what_to_type() {
    let house = House::new(Wire::Anthropic, &json!([]));
    house.write_config("[local_server]\nports = []\n");
    let mut command = house.command(&["run", "When?", "--yes", "--model", "sonnet"]);
    command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL");
    Running::start(command, "").end().expect(2).says("ANTHROPIC_API_KEY");
    let mut command = house.command(&["run", "When?", "--yes"]);
    command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL");
    let ended = Running::start(command, "").end().expect(2);
    let ended = ended.says("no model configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY").says("--model rehearsal");
    assert!(ended.stdout.is_empty() && house.requests().is_empty(), "no request without a provider: {ended:?}");
}

#[test]
fn the_json_result_is_complete_and_the_same_in_show() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([{"when": {"has_tool_result": false}, "then": reads(&["notes.txt"])}, {"then": says("On Tuesday.")}]),
        );
        let result = house.run(&[]).expect(0).json();
        let id = result["session"].as_str().unwrap();
        let shown = house.show(id);
        assert_eq!(shown["bill"], result["bill"], "{wire:?}");
        assert_eq!((&shown["answer"], &shown["state"]), (&result["answer"], &json!("done")));
        let bill = &result["bill"];
        assert_eq!((&bill["contracts"][0]["calls"], msat(&bill["granted"])), (&json!(2), 1_000_000));
        let tokens = &bill["contracts"][0]["tokens"];
        let (input, output) = (tokens["input"].as_u64().unwrap(), tokens["output"].as_u64().unwrap());
        assert_eq!(input + 5 * output, msat(&bill["charged"]), "{wire:?}: one per input token, five per output token");
        let left = msat(&bill["granted"]) - msat(&bill["charged"]);
        assert_eq!(shown["free"].as_u64().unwrap(), left, "{wire:?}: the change goes back to the session");
    }
}

#[test]
fn the_key_is_in_no_file_and_no_output_even_if_the_provider_repeats_it() {
    for wire in WIRES {
        let house = House::new(
            wire,
            &json!([
                {"when": {"has_tool_result": false}, "then": reads(&["leak.txt"])},
                {"then": says(&format!("Your key is {KEY}, isn't it?"))},
            ]),
        );
        fs::write(house.project().join("leak.txt"), format!("key={KEY}\n")).unwrap();
        // The test environment searches files and output for the key at the end of each program and house.
        let result = house.run(&[]).expect(0).json();
        assert!(result["answer"].as_str().unwrap().contains("redacted"), "{result}");
        house.guildhall(&["show", result["session"].as_str().unwrap(), "--facts"]).expect(0);
    }
    let refused = json!({"raw": {"status": 401, "body": format!("{{\"error\": {{\"message\": \"bad key {KEY}\"}}}}")}});
    let house = House::new(Wire::OpenAi, &json!([{"then": refused}]));
    house.run(&["--model", MODEL]).expect(5).says("bad key [key]");
}
