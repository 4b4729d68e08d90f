//! A provider whose usage reports can't be right is charged by size, and people are told once. A report that can be right is
//! believed.

use guildhall_model_server::Entry;
use serde_json::{Value, json};

use crate::crew::{CREW, always, by, delegates, enlist, first, hires, until_asked};
use crate::house::{Ended, House, KEY, Known, MODEL, Running, WIRES, Wire, msat, reads, says};

fn provider(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic",
        Wire::OpenAi => "openai",
    }
}

/// A house whose provider reports this usage in every reply.
fn reporting(wire: Wire, usage: &Value, rules: &Value) -> House {
    House::scripted(wire, Known::ByVariables, json!({"key": KEY, "models": [MODEL], "usage": usage, "rules": rules}))
}

/// Rules for a lead that reads a file, hires ada, and reports.
fn team() -> Value {
    let report = "It is on Tuesday. ".repeat(40);
    json!([
        first("lead", reads(&["notes.txt", "agenda.txt"])),
        by("lead", json!({"nth_of_agent": 2}), delegates("ada", "When is the meeting?", 700)),
        first("ada", reads(&["notes.txt"])),
        always("ada", says(&report)),
        always("lead", says("On Tuesday, says ada.")),
    ])
}

/// What an honest provider bills for all executed turns, in millisatoshis.
fn true_bill(house: &House) -> u64 {
    let tokens = |entry| if let Entry::Answer { tokens, .. } = entry { tokens } else { None };
    house.peer.log().into_iter().filter_map(tokens).map(|tokens| tokens.input + 5 * tokens.output).sum()
}

/// The lines that name the provider, in the order in which they were printed.
fn told(ended: &Ended) -> Vec<&str> {
    let lines = ended.stderr.lines().chain(ended.stdout.lines());
    lines.map(str::trim).filter(|line| line.contains("charged by size")).collect()
}

#[test]
fn usage_that_can_t_be_right_is_charged_by_size_within_the_budget_and_told_once() {
    for wire in WIRES {
        for fraction in [[0, 1], [1, 16]] {
            let house = reporting(wire, &json!({"fraction": fraction}), &team());
            enlist(&house, &[("lead", &hires(&["ada"])), ("ada", "")]);
            let task = ["run", "When is the meeting?", "--yes", "--team", "crew", "--budget", "2000sat"];
            let ended = house.guildhall(&task).expect(0);
            let who = provider(wire);
            let [run, bill] = told(&ended)[..] else { panic!("{wire:?} {fraction:?}: {ended:?}") };
            assert!(run.starts_with(&format!("warning: {who} reports ")) && run.ends_with(bill), "{run}\n{bill}");
            assert!(fraction[0] > 0 || bill.starts_with(&format!("{who} reports 0 tokens for ")), "{bill}");
            assert!(bill.ends_with(" KB: charged by size"), "{bill}");
            let shown = house.guildhall(&["show", "last"]).expect(0);
            assert_eq!(told(&shown), [bill], "the bill says so later, too");

            let shown = house.show("last");
            let bill = &shown["bill"];
            let (charged, truly) = (msat(&bill["charged"]), true_bill(&house));
            assert!((truly..=2_000_000).contains(&charged), "{wire:?} {fraction:?}: {charged}, not {truly}");
            assert_eq!((&bill["estimated"], msat(&bill["reserved"])), (&bill["charged"], 0), "{bill:#}");
            assert_eq!(bill["usage_warnings"].as_array().unwrap().len(), 1, "{bill:#}");
            assert_eq!(bill["usage_warnings"][0]["provider"], who);
            assert_eq!((&bill["tokens"]["input"], &bill["tokens"]["output"]), (&json!(0), &json!(0)), "{bill:#}");
            house.guildhall(&["verify"]).expect(0);
        }
    }
}

#[test]
fn a_budget_holds_against_a_provider_that_reports_nothing_but_zero() {
    for wire in WIRES {
        let rules = json!([{"then": reads(&["notes.txt"])}]);
        let house = reporting(wire, &json!({"fraction": [0, 1]}), &rules);
        let result = house.run(&["--budget", "60sat", "--max-turns", "1000"]).expect(3).json();
        let charged = msat(&result["bill"]["charged"]);
        assert!((true_bill(&house)..=60_000).contains(&charged), "{wire:?}: {charged}, not {}", true_bill(&house));
        assert_eq!(msat(&result["bill"]["overrun"]), 0);
    }
}

#[test]
fn the_next_request_is_held_by_size() {
    for wire in WIRES {
        let holds = |usage: Value| {
            let rules = json!([{"repeat": 1, "then": reads(&["notes.txt"])}, {"then": says("On Tuesday.")}]);
            let house = reporting(wire, &usage, &rules);
            house.run(&["--budget", "500sat"]).expect(0);
            let shown = house.show("last");
            let facts = shown["facts"].as_array().unwrap().iter();
            let tokens: Vec<u64> =
                facts.filter_map(|stored| stored["fact"]["asked"]["ask"]["model"]["tokens"].as_u64()).collect();
            assert_eq!(tokens.len(), 2, "{wire:?} {usage}");
            tokens[1]
        };
        let [absent, zero, counted] = [json!("absent"), json!({"fraction": [0, 1]}), json!("counted")].map(holds);
        assert!(zero == absent && counted < zero / 2, "{wire:?}: {counted}, {zero}, {absent}");
    }
}

#[test]
fn half_of_the_usage_can_be_right_and_is_believed_and_missing_usage_is_not_told() {
    for wire in WIRES {
        let rules = json!([{"repeat": 1, "then": reads(&["notes.txt"])}, {"then": says("On Tuesday.")}]);
        let house = reporting(wire, &json!({"fraction": [1, 2]}), &rules);
        let ended = house.guildhall(&["run", "When?", "--yes", "--budget", "500sat"]).expect(0);
        assert_eq!(told(&ended), [""; 0]);
        let bill = house.show("last")["bill"].take();
        assert_eq!((msat(&bill["estimated"]), &bill["usage_warnings"]), (0, &json!([])), "{wire:?}: {bill:#}");
        assert!(msat(&bill["used"]) < true_bill(&house), "{wire:?}: it can't be known");

        let house = reporting(wire, &json!("absent"), &rules);
        let ended = house.guildhall(&["run", "When?", "--yes", "--budget", "500sat"]).expect(0);
        assert_eq!(told(&ended), [""; 0]);
        assert!(msat(&house.show("last")["bill"]["estimated"]) >= true_bill(&house));
    }
}

#[test]
fn a_nominal_price_is_charged_by_size_too() {
    for wire in WIRES {
        let rules = json!([{"then": says("On Tuesday.")}]);
        let script = json!({"usage": {"fraction": [0, 1]}, "rules": rules});
        let house = House::scripted(wire, Known::ByVariables, script);
        let mut command = house.command(&["run", "When is the meeting?", "--yes"]);
        command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
        let ended = Running::start(command, "").end().expect(0);
        assert_eq!(told(&ended).len(), 2, "{wire:?}: {ended:?}");
        let bill = house.show("last")["bill"].take();
        assert_eq!((&bill["nominal"], &bill["estimated"]), (&json!(true), &bill["charged"]), "{bill:#}");
        assert!(msat(&bill["charged"]) > 1000, "{bill:#}");
    }
}

#[test]
fn a_price_of_zero_has_nothing_to_charge_or_to_tell() {
    let house = reporting(Wire::OpenAi, &json!({"fraction": [0, 1]}), &json!([{"then": says("On Tuesday.")}]));
    house.write_config(&house.read_config().replace("input = 1", "input = 0").replace("output = 5", "output = 0"));
    let ended = house.guildhall(&["run", "When?", "--yes"]).expect(0);
    assert_eq!(told(&ended), [""; 0]);
    assert_eq!(msat(&house.show("last")["bill"]["charged"]), 0);
}

#[test]
fn a_resume_does_not_tell_it_again_and_the_bill_does() {
    for wire in WIRES {
        let rules = json!([
            first("lead", delegates("ada", "When is the meeting?", 700)),
            {"repeat": 1, "when": {"agent": "You are ada."}, "then": {"reply": {"text": "x", "pace": {"headers_ms": 600_000}}}},
            always("ada", says("On Tuesday.")),
            always("lead", says("On Tuesday, says ada.")),
        ]);
        let house = reporting(wire, &json!({"fraction": [0, 1]}), &rules);
        enlist(&house, &[("lead", &hires(&["ada"])), ("ada", "")]);
        let running = house.start(&CREW);
        let id = running.session();
        until_asked(&house, "ada", 1);
        running.showed("charged by size\n");
        assert_eq!(told(&running.kill()).len(), 1, "the first process told it");
        let ended = house.guildhall(&["resume", &id]).expect(0);
        let [bill] = told(&ended)[..] else { panic!("{wire:?}: {ended:?}") };
        assert!(bill.starts_with(provider(wire)), "only the bill says it again: {bill}");
        // Later work of the session is told nothing new either.
        let ended = house.guildhall(&["run", "--continue", &id, "And where?", "--yes"]).expect(0);
        let [bill] = told(&ended)[..] else { panic!("{wire:?}: {ended:?}") };
        assert!(bill.starts_with(provider(wire)), "only the bill says it again: {bill}");
    }
}

#[test]
fn absurd_and_falling_numbers_beside_a_zero_are_charged_and_break_nothing() {
    for wire in WIRES {
        for usage in [
            json!({"input": "10000000000000000000", "output": 0}),
            json!({"input": 0, "output": "10000000000000000000"}),
            json!({"input": 0, "output": 0, "earlier": [{"input": 3, "output": 2}, {"input": 1, "output": 1}]}),
            json!({"input": 0, "output": 0, "cache_read": 5}),
        ] {
            let house = reporting(wire, &usage, &json!([{"then": says("On Tuesday.")}]));
            let ended = house.run(&["--budget", "100sat", "--allow-overrun"]);
            let bill = &ended.json()["bill"];
            let charged = msat(&bill["charged"]);
            assert!((true_bill(&house)..=100_000).contains(&charged), "{wire:?} {usage}: {bill:#}");
            assert_eq!(&bill["estimated"], &bill["charged"], "{wire:?} {usage}: {bill:#}");
            assert_eq!(bill["usage_warnings"].as_array().unwrap().len(), 1, "{wire:?} {usage}: {bill:#}");
            for command in [&["ls"][..], &["verify"], &["show", "last"]] {
                house.guildhall(command).expect(0);
            }
        }
    }
}

#[test]
fn input_above_what_was_held_is_told_once_and_texts_count_by_their_bytes_from_then_on() {
    for wire in WIRES {
        // A text of 3,000 bytes that the provider counts as 20 tokens, and a request that it counts as more than was held.
        let mut long = reads(&["notes.txt"]);
        long["reply"]["text"] = json!("Tuesday. ".repeat(330));
        let mut above = long.clone();
        long["reply"]["usage"] = json!({"input": 1_000, "output": 190});
        above["reply"]["usage"] = json!({"input": 90_000, "output": 190});
        let at = |nth: u64, then: &Value| json!({"when": {"nth": nth}, "then": then});
        let rules = json!([at(1, &long), at(2, &above), at(3, &long), at(4, &above), {"then": says("On Tuesday.")}]);
        let house = House::new(wire, &rules);
        let ended = house.guildhall(&["run", "When?", "--yes", "--budget", "5000sat", "--allow-overrun"]).expect(0);
        let words = "input tokens for a request that held ";
        let told = |text: &str| text.lines().filter(|line| line.contains(words)).map(str::to_owned).collect::<Vec<_>>();
        let lines = told(&ended.stderr);
        assert_eq!(lines.len(), 2, "once in the run, once in the bill: {}", ended.stderr);
        assert!(
            lines[0].starts_with("warning: ") && lines[0].ends_with("its texts are now held at one token per byte")
        );
        let id = house.show("last")["session"].as_str().unwrap().to_owned();
        let held: Vec<u64> = (house.root_facts(&id).iter())
            .filter_map(|fact| serde_json::from_str::<Value>(fact).ok()?["asked"]["ask"]["model"]["tokens"].as_u64())
            .collect();
        let grown = |at: usize| held[at] - [1_000, 90_000][(at - 1) % 2];
        assert!(grown(1) < 1_500 && grown(3) > 3_000, "{wire:?}: {held:?}");
        house.guildhall(&["verify"]).expect(0);
    }
}
