//! What a person sees of fees: before the work who earns how much, during the work who has earned it, and in the bill the sum. And
//! whether a screen is about play money or about the money of a wallet.

use serde_json::json;

use crate::bank::{Bank, Route, nothing};
use crate::crew::{ada_with_a_fee, assert_has, assert_lacks, enlist, hires, one_hire};
use crate::house::{House, MODEL, Wire, msat};

const WORKSHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workshop");
const QUESTION: &str = "What is missing before the bench is finished?";

#[test]
fn fees_in_play_money_are_quoted_shown_and_billed() {
    let house = House::new(Wire::OpenAi, &one_hire());
    ada_with_a_fee(&house, "notes.txt");
    let run = ["run", "When?", "--team", "crew", "--budget", "1500sat", "--yes"];
    let ended = house.guildhall(&run).expect(0);
    assert_has(
        &ended.stderr,
        &[
            "at most $1.50 (1500 sat), paid by you to openai, at $",
            "fee for each accepted report, counted against the budget: ada 110 sat\n",
            " sat (fee 110 sat), ",
            "bill, paid by you to openai, at $",
            "  of it fees 110 sat ($0.11): ada 110 sat; models and tools ",
        ],
    );
    assert_lacks(&ended.stderr, &["wallet", "payee", "no fee for"]);
    let bill = house.guildhall(&[&run[..], &["--output", "json"]].concat()).expect(0).json()["bill"].clone();
    assert_eq!((&bill["money"], msat(&bill["fees"])), (&json!("play"), 110_000));
    let earned =
        json!([{"agent": "ada", "payee": null, "reports": 1, "fees": {"msat": 110_000, "usd": bill["fees"]["usd"]}}]);
    assert_eq!(bill["earned"], earned);
    assert_eq!(msat(&bill["contracts"][1]["fee"]), 110_000);
}

#[test]
fn a_fee_that_is_not_earned_is_shown_and_not_billed() {
    let house = House::new(Wire::OpenAi, &one_hire());
    ada_with_a_fee(&house, "missing.txt");
    let run = ["run", "When?", "--team", "crew", "--budget", "1500sat", "--yes"];
    let ended = house.guildhall(&run);
    assert_has(&ended.stderr, &["but its report is not accepted: used ", " sat (its fee of 110 sat is not earned), "]);
    assert_lacks(&ended.stderr, &["of it fees"]);
}

#[test]
fn work_without_fees_says_nothing_about_them() {
    let house = House::new(Wire::OpenAi, &one_hire());
    enlist(&house, &[("lead", &hires(&["ada"])), ("ada", "")]);
    let run = ["run", "When?", "--team", "crew", "--budget", "1500sat", "--yes"];
    assert_lacks(&house.guildhall(&run).expect(0).stderr, &["fee"]);
}

#[test]
fn fees_from_a_wallet_are_quoted_shown_and_billed_with_their_payees() {
    let Some(bank) = Bank::new(&one_hire(), Route::Within) else { return };
    ada_with_a_fee(&bank.house, "notes.txt");
    let id = bank.funded(2000);
    let run = ["run", "When?", "--session", &id, "--budget", "900sat", "--team", "crew", "--yes"];
    let ended = bank.guildhall(&run).expect(0);
    assert_has(
        &ended.stderr,
        &[
            &format!("openai/{MODEL}, at most 900 sat ($0.90), wallet, at $"),
            "fee for each accepted report, from the wallet: ada 110 sat to payee ada\n",
            " sat (fee 110 sat to ada), ",
            "bill, wallet, at $",
            "  of it fees 110 sat ($0.11): ada 110 sat; models and tools ",
        ],
    );
    assert_lacks(&ended.stderr, &["play money"]);
    let bill = bank.guildhall(&[&run[..], &["--output", "json"]].concat()).expect(0).json()["bill"].clone();
    assert_eq!((&bill["money"], &bill["earned"][0]["payee"]), (&json!("wallet"), &json!("ada")));
    assert_eq!(bank.balance("payee ada"), 220_000, "the fees of both runs are as the bills say");
    bank.assert_sound();
}

#[test]
fn a_rehearsal_says_before_it_starts_what_it_charges_to_the_wallet() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    let config = bank.house.read_config().replace("[payees.ada]", "[payees.carpenter]");
    bank.house.write_config(&config);
    let id = bank.funded(2000);
    let run = ["run", QUESTION, "--session", &id, "--budget", "1500sat", "--model", "rehearsal"];
    let place = ["--team", WORKSHOP, "--project", WORKSHOP];
    let ended = bank.guildhall(&[&run[..], &place, &["--quiet"]].concat()).expect(0);
    let charge = "The rehearsal charges the session: 0.25 sat per 1000 bytes read, 1 sat per 1000 bytes written";
    assert_has(&ended.stderr, &[charge]);
    let bill = bank.guildhall(&["show", &id, "--output", "json"]).expect(0).json()["bill"].clone();
    assert_eq!(bank.free_msat(&id), 2_000_000 - msat(&bill["charged"]), "the rehearsal was charged");
    // Only one of the three specialists is a payee.
    let again = ["run", QUESTION, "--session", &id, "--budget", "600sat", "--model", "rehearsal"];
    bank.guildhall(&[&again[..], &place].concat())
        .says("fee for each accepted report, from the wallet: carpenter 120 sat to payee carpenter\n")
        .says("no fee for painter, inspector: a fee needs a payee in your config");
    bank.assert_sound();
}
