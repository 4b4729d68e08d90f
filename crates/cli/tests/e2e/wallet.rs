//! The typed commands for a wallet, against real LNbits servers, and kills while money moves.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::bank::{Bank, Route, nothing};
use crate::crew::{ada_with_a_fee, always, delegates, enlist, one_hire, rule, slowly};
use crate::house::{Running, says, wait_for};
use crate::killed::rounds;

#[test]
fn a_person_funds_a_session_works_and_gets_the_rest_back() {
    let Some(bank) = Bank::new(&one_hire(), Route::Within) else { return };
    ada_with_a_fee(&bank.house, "notes.txt");

    bank.guildhall(&["fund", "100sat"]).expect(6).says("no wallet is connected");
    let connected = bank.guildhall(&["wallet", "connect", &bank.server.url()]).expect(0);
    assert!(connected.stdout.contains("payouts   off"), "{}", connected.stdout);
    bank.guildhall(&["wallet", "payouts", "on"]).expect(0);

    // Ctrl-C leaves the invoice payable.
    let waiting = Running::start(bank.command(&["fund", "2000sat"]), "");
    waiting.showed("waiting for the payment; press Ctrl-C to stop waiting");
    waiting.interrupt();
    let left = waiting.end();
    assert_eq!(left.code(), 130, "{}", left.stderr);
    let invoice = left.stdout.lines().find(|line| line.starts_with("lnbc")).unwrap().to_owned();
    let id = left.stdout.split_whitespace().nth(1).unwrap().trim_end_matches(',').to_owned();
    bank.pay(&invoice);
    let more = Running::start(bank.command(&["fund", "500sat", "--session", &id]), "");
    more.printed("lnbc");
    bank.pay(&{
        let shown = more.stdout_so_far();
        shown.lines().find(|line| line.starts_with("lnbc")).unwrap().to_owned()
    });
    more.end().expect(0).says("has 2500 sat");

    let run = ["run", "When?", "--session", &id, "--budget", "1500sat", "--team", "crew", "--yes"];
    let ended = bank.guildhall(&run).expect(0);
    assert!(ended.stdout.contains("On Tuesday, says ada."), "{}", ended.stdout);
    let ended = ended.says("pays with the money of the wallet");
    assert!(!ended.stderr.contains(&bank.treasury.admin_key), "no key is printed");
    // The fee is paid during the run: 110 sat, of which 108 can be paid with a fee limit of 2 sat.
    assert_eq!(bank.others.balance_msat(&bank.ada), 108_000);
    // A fee that was earned while payouts were off is paid when they are allowed.
    bank.guildhall(&["wallet", "payouts", "off"]).expect(0);
    let again = ["run", "And when?", "--session", &id, "--budget", "700sat", "--team", "crew", "--yes"];
    bank.guildhall(&again).expect(0);
    assert_eq!(bank.others.balance_msat(&bank.ada), 108_000);
    bank.guildhall(&["wallet", "payouts", "on"]).expect(0);
    assert_eq!(bank.others.balance_msat(&bank.ada), 218_000);

    bank.guildhall(&["run", "x", "--session", &id, "--budget", "5000sat", "--yes"]).expect(4).says("only");
    let quote = bank.quote(&id);
    let (sats, before) = (quote["payable_msat"].as_u64().unwrap() / 1000, bank.person_has());
    let invoice = bank.invoice(sats);
    let closed = bank.guildhall(&["close", &id, "--to", &invoice]).expect(0);
    bank.guildhall(&["close", &id, "--to", &invoice]).expect(6).says("exists already");
    assert!(closed.stdout.contains("paid, fee 0 sat"), "{}", closed.stdout);
    assert_eq!(bank.person_has() - before, i64::try_from(sats * 1000).unwrap());
    bank.guildhall(&["close", &id, "--to", &bank.invoice(sats)]).expect(6).says("make an invoice for at most");
    bank.assert_sound();
    let journal = std::fs::read(bank.house.journal()).unwrap();
    let key = bank.treasury.admin_key.as_bytes();
    assert!(!journal.windows(key.len()).any(|bytes| bytes == key), "no key is stored");
}

#[test]
fn a_specialist_of_the_workshop_is_paid_before_the_root_reports() {
    let foreman = "You plan the work of a small workshop";
    let specialist = "You answer questions about wood";
    let hire = delegates("carpenter", "Which wood is missing?", 400);
    let rules = json!([
        rule(foreman, json!({"nth_of_agent": 1}), hire),
        rule(foreman, json!({}), slowly(says("Two legs are missing."), 20_000)),
        rule(specialist, json!({}), says("notes/bench.txt:2: two legs are missing")),
    ]);
    let Some(bank) = Bank::new(&rules, Route::Within) else { return };
    let config = bank.house.read_config().replace("[payees.ada]", "[payees.carpenter]");
    bank.house.write_config(&config);
    let id = bank.funded(2000);
    bank.guildhall(&["wallet", "payouts", "on"]).expect(0);
    let team = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workshop");
    let run = [
        "run",
        "What is missing?",
        "--session",
        &id,
        "--budget",
        "1500sat",
        "--team",
        team,
        "--project",
        team,
        "--yes",
    ];
    let mut running = Running::start(bank.command(&run), "");
    wait_for("the payment", || (bank.others.balance_msat(&bank.ada) == 118_000).then_some(()));
    assert!(!running.has_ended(), "the carpenter is paid while the work goes on");
    running.end().expect(0);
    bank.assert_sound();
}

#[test]
fn an_agent_of_the_project_earns_nothing_although_it_has_the_name_of_a_payee() {
    let Some(bank) = Bank::new(&one_hire(), Route::Within) else { return };
    ada_with_a_fee(&bank.house, "notes.txt");
    // As in a repository that somebody cloned: the agents are found without --team.
    let agents = bank.house.project().join(".guildhall/agents");
    fs::create_dir_all(agents.parent().unwrap()).unwrap();
    fs::rename(bank.house.project().join("crew"), &agents).unwrap();
    let id = bank.funded(2000);
    bank.guildhall(&["wallet", "payouts", "on"]).expect(0);
    let run = ["run", "When?", "--session", &id, "--budget", "1500sat", "--agent", "lead", "--yes"];
    let ended = bank.guildhall(&run).expect(0);
    assert!(ended.stdout.contains("On Tuesday, says ada."), "{}", ended.stdout);
    assert_eq!((bank.payments(), bank.balance("payee ada")), (vec![], 0));
    assert_eq!(bank.others.balance_msat(&bank.ada), 0);
    bank.assert_sound();
}

#[test]
fn a_top_up_moves_free_money_of_the_session_and_makes_none() {
    let rules = json!([always("lead", slowly(says("Done."), 6000))]);
    let Some(bank) = Bank::new(&rules, Route::Within) else { return };
    enlist(&bank.house, &[("lead", "")]);
    let id = bank.funded(2000);
    let running = bank.start(&["run", "Wait.", "--session", &id, "--budget", "1500sat", "--team", "crew", "--yes"]);
    wait_for("the first request", || (!bank.house.requests().is_empty()).then_some(()));
    bank.guildhall(&["topup", &id, "501sat"]).expect(4).says("only 500sat is left");
    bank.guildhall(&["topup", &id, "200sat"]).expect(0).says("has 200 sat");
    assert_eq!(bank.free_msat(&id), 300_000);
    let ended = running.end().expect(0);
    assert!(ended.stderr.contains("of 1700 sat"), "{}", ended.stderr);
    bank.assert_sound();
}

#[test]
fn wrong_keys_and_amounts_are_refused_with_the_reason() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    let mut swapped = bank.command(&["wallet", "connect", &bank.server.url()]);
    swapped.env("LNBITS_INVOICE_KEY", &bank.treasury.admin_key);
    Running::start(swapped, "").end().expect(6).says("admin key");
    let mut alone = bank.command(&["wallet"]);
    alone.env_remove("LNBITS_INVOICE_KEY");
    Running::start(alone, "").end().expect(2).says("set both");
    bank.guildhall(&["wallet", "connect", "http://192.0.2.1"]).expect(2).says("http");
    bank.guildhall(&["wallet", "connect", &bank.server.url()]).expect(0);
    for (amount, code, reason) in [
        ("0sat", 2, "0"),
        ("500msat", 2, "whole number of sats"),
        ("0.5sat", 2, "whole number"),
        ("10001sat", 2, "at most 10000 sat"),
        ("2100000000000001sat", 2, "21 million"),
    ] {
        bank.guildhall(&["fund", amount]).expect(code).says(reason);
    }
    // The amount is below the limit, and the session is the reason.
    let made = bank.guildhall(&["fund", "6000sat", "--no-wait", "--output", "json"]).expect(0).json();
    let id = made["session"].as_str().unwrap();
    bank.guildhall(&["fund", "6000sat", "--session", id]).expect(6).says("at most");
    let play = bank.house.run(&[]).json();
    let play = play["session"].as_str().unwrap();
    bank.guildhall(&["close", play]).expect(2).says("play money");
    bank.guildhall(&["fund", "100sat", "--session", play]).expect(2).says("play money");
}

/// Kills `close` at different moments, and lets later commands end what it began.
fn kill_while_paying(route: Route) {
    let Some(bank) = Bank::new(&nothing(), route) else { return };
    let id = bank.funded(5000);
    let all = rounds(2);
    for kill in 0..all {
        let before = bank.person_has();
        let invoice = bank.invoice(20);
        let running = Running::start(bank.command(&["close", &id, "--to", &invoice]), "");
        // The whole payment takes about a second.
        sleep(Duration::from_millis((kill * 1500 / all) as u64));
        running.kill();
        let payments = bank.settled();
        let received = bank.person_has() - before;
        let paid = payments.iter().filter(|payment| payment["state"] == "paid").count();
        assert!(received == 0 || received == 20_000, "paid at most once: {received}");
        assert!(received == 0 || paid > 0, "{payments:?}");
        bank.assert_sound();
    }
    let paid = bank.settled().iter().filter(|payment| payment["state"] == "paid").count();
    assert!(paid > 0, "every kill came before the payment");
}

#[test]
fn a_payment_within_one_server_survives_kills_and_is_made_at_most_once() {
    kill_while_paying(Route::Within);
}

#[test]
fn a_payment_between_servers_survives_kills_and_is_made_at_most_once() {
    kill_while_paying(Route::Between);
}
