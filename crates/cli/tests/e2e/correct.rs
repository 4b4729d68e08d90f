//! Reserved money: it counts against the budget, is never called used, and is free again after a person corrects it.

use serde_json::{Value, json};

use crate::crew::{CREW, always, assert_has, assert_lacks, by, delegates, first, hires, staffed};
use crate::house::{House, WIRES, Wire, msat, says};

/// A run with a hire whose first reply breaks off.
fn lost(wire: Wire) -> (House, Value) {
    let cut = json!({"reply": {"text": "It is on", "damage": {"cut": {"after": {"bytes": 200}, "how": "reset"}}}});
    let rules = json!([
        first("lead", delegates("ada", "Look.", 500)),
        first("ada", cut),
        always("ada", says("It is on Tuesday.")),
        always("lead", says("On Tuesday.")),
    ]);
    let house = staffed(House::new(wire, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let result = house.run(&CREW).expect(0).json();
    (house, result)
}

fn id(result: &Value) -> &str {
    result["session"].as_str().unwrap()
}

#[test]
fn a_lost_call_is_reserved_and_never_called_used() {
    for wire in WIRES {
        let (house, result) = lost(wire);
        let bill = &result["bill"];
        let (used, reserved) = (msat(&bill["used"]), msat(&bill["reserved"]));
        assert!(reserved > 10_000 && used < reserved, "{wire:?}: {bill:#}");
        assert_eq!(used + reserved, msat(&bill["charged"]), "{wire:?}");
        let ada = &bill["contracts"][1];
        assert_eq!(msat(&ada["own"]["reserved"]), reserved, "{wire:?}");
        assert_eq!(msat(&bill["contracts"][0]["all"]["reserved"]), reserved, "{wire:?}: the root includes its hire");
        assert_eq!((&ada["reserved"][0]["ask"], msat(&ada["reserved"][0]["reserved"])), (&json!("1.1#1"), reserved));
        let shown = house.guildhall(&["show", id(&result)]).expect(0).stdout;
        assert_has(&shown, &["reserved ", "1.1#1", &format!("guildhall correct {} 1.1#1 AMOUNT", id(&result))]);
        assert_lacks(&shown, &["spent", "nothing is lost"]);
        let listed = house.guildhall(&["ls", "--output", "json"]).json();
        assert_eq!((&listed[0]["used_msat"], &listed[0]["reserved_msat"]), (&json!(used), &json!(reserved)));
    }
}

#[test]
fn tokens_and_money_add_up_over_the_tree_in_text_and_json() {
    for wire in WIRES {
        let (house, result) = lost(wire);
        let line = |at: usize| &result["bill"]["contracts"][at];
        for kind in ["input", "cached", "output"] {
            let tokens = |at: usize, of: &str| line(at)[of][kind].as_u64().unwrap();
            assert_eq!(tokens(0, "all_tokens"), tokens(0, "tokens") + tokens(1, "tokens"), "{wire:?} {kind}");
            assert_eq!(result["bill"]["tokens"][kind], json!(tokens(0, "all_tokens")), "{wire:?} {kind}");
        }
        for part in ["used", "estimated", "reserved", "charged"] {
            let money = |at: usize, of: &str| msat(&line(at)[of][part]);
            assert_eq!(money(0, "all"), money(0, "own") + money(1, "own"), "{wire:?} {part}");
        }
        assert_has(&house.guildhall(&["show", id(&result)]).stdout, &["with its hires: used ", "tokens"]);
    }
}

#[test]
fn a_correction_frees_the_difference_once_and_can_t_be_more_than_was_reserved() {
    for wire in WIRES {
        let (house, result) = lost(wire);
        let (id, reserved) = (id(&result).to_owned(), msat(&result["bill"]["reserved"]));
        let free = |house: &House| house.show(&id)["free"].as_u64().unwrap();
        let before = free(&house);
        let correct = |ask: &str, amount: &str| house.guildhall(&["correct", &id, ask, amount]);
        correct("1.1#1", &format!("{}msat", reserved + 1)).expect(4).says("more than the").says("Nothing was changed");
        correct("1.1#2", "0").expect(4).says("nothing is reserved for call 1.1#2");
        correct("1.9#1", "0").expect(4).says("nothing is reserved for call 1.9#1");
        correct("1.1", "0").expect(2).says("such as 1.2#7");
        correct("1.1#1", "plenty").expect(2);
        assert_eq!(free(&house), before, "{wire:?}");
        let said = correct("1.1#1", "3000msat").expect(0);
        assert_has(&said.stdout, &["are free again", &format!("guildhall run --continue {id}")]);
        assert_eq!(free(&house), before + reserved - 3000, "{wire:?}");
        correct("1.1#1", "3000msat").expect(0);
        assert_eq!(free(&house), before + reserved - 3000, "{wire:?}: repeating a correction changes nothing");
        correct("1.1#1", "0").expect(4).says("1.1#1 was corrected before");
        let bill = house.show(&id)["bill"].take();
        assert_eq!(msat(&bill["reserved"]), 0, "{wire:?}");
        assert_eq!(msat(&bill["used"]), msat(&result["bill"]["used"]) + 3000, "{wire:?}");
        assert_eq!(msat(&bill["credited"]), reserved - 3000, "{wire:?}");
        house.guildhall(&["verify", &id]).expect(0);
        let again = house.guildhall(&["run", "And where?", "--continue", &id, "--yes", "--output", "json"]).expect(0);
        assert_eq!(msat(&again.json()["bill"]["granted"]), before + reserved - 3000, "{wire:?}: the money can be used");
    }
}

#[test]
fn a_session_at_work_is_not_corrected() {
    let rules = json!([{"then": crate::crew::stalls()}]);
    let house = House::new(Wire::OpenAi, &rules);
    let running = house.start(&[]);
    let id = running.session();
    house.guildhall(&["correct", &id, "1#1", "0"]).expect(75);
    running.kill();
}

#[test]
fn without_a_budget_a_run_can_cost_a_dollar() {
    let house = House::new(Wire::Anthropic, &json!([{"then": says("Tuesday.")}]));
    let result = house.guildhall(&["run", "When?", "--yes", "--output", "json"]).expect(0).says("$1.00").json();
    let granted = msat(&result["bill"]["granted"]);
    assert_eq!(granted, 1_000_000, "at a hundred thousand dollars per bitcoin");
}

#[test]
fn all_reserved_calls_are_corrected_with_one_command_or_none_of_them() {
    let cut = json!({"reply": {"text": "It is on", "damage": {"cut": {"after": {"bytes": 200}, "how": "reset"}}}});
    let rules = json!([
        first("lead", cut.clone()),
        by("lead", json!({"nth_of_agent": 2}), delegates("ada", "Look.", 500)),
        first("ada", cut),
        always("ada", says("It is on Tuesday.")),
        always("lead", says("On Tuesday.")),
    ]);
    let house = staffed(House::new(Wire::Anthropic, &rules), &[("lead", &hires(&["ada"])), ("ada", "")]);
    let result = house.run(&CREW).expect(0).json();
    let id = id(&result).to_owned();
    let (used, reserved) = (msat(&result["bill"]["used"]), msat(&result["bill"]["reserved"]));
    let calls: Vec<Value> = house.show(&id)["reserved"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 2, "{calls:?}");
    let least = calls.iter().map(|call| call["msat"].as_u64().unwrap()).min().unwrap();
    let all = |amount: &str| house.guildhall(&["correct", &id, "--all", amount]);
    all(&format!("{}msat", least + 1)).expect(4).says("is reserved for 1 call").says("Nothing was changed");
    assert_eq!(house.show(&id)["reserved"].as_array().unwrap().len(), 2);
    house.guildhall(&["correct", &id, "1.1#1", "0", "--all", "0"]).expect(2);
    house.guildhall(&["correct", &id]).expect(2);
    let said = all("3000msat").expect(0).stdout;
    for call in &calls {
        assert_has(&said, &[&format!("call {}: cost 3 sat", call["ask"].as_str().unwrap())]);
    }
    assert_has(&said, &["2 calls of session ", "are free again", &format!("guildhall run --continue {id}")]);
    let bill = house.show(&id)["bill"].take();
    assert_eq!((msat(&bill["reserved"]), msat(&bill["used"])), (0, used + 6000));
    assert_eq!(msat(&bill["credited"]), reserved - 6000);
    all("0").expect(0).says("has no reserved calls: nothing was changed");
    house.guildhall(&["verify", &id]).expect(0);
}
