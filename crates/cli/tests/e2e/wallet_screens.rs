//! What people and scripts see of the money of a wallet, against a real LNbits server.

use guildhall_lnbits_peer::Fault;
use serde_json::{Value, json};

use crate::bank::{Bank, Route, nothing};
use crate::crew::{ada_with_a_fee, one_hire};
use crate::house::{House, Running, Wire, says, wait_for};
use crate::terminal::Terminal;
use crate::wallet_failures::{FOR_EVER, PAY, Refund};

/// The rules of a provider that answers everything.
fn answers() -> Value {
    json!([{"then": says("On Tuesday.")}])
}

/// The JSON lines of an output.
fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn fund_prints_a_json_line_with_the_invoice_at_once_and_another_when_the_waiting_has_ended() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    bank.connect();
    let waiting = bank.start(&["fund", "300sat", "--output", "json"]);
    let first = wait_for("the first line", || {
        let shown = waiting.stdout_so_far();
        shown.split_once('\n').map(|(line, _)| serde_json::from_str::<Value>(line).unwrap())
    });
    let keys: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["session", "invoice", "payment", "amount_msat", "expires"]);
    bank.pay(first["invoice"].as_str().unwrap());
    let shown = lines(&waiting.end().expect(0).stdout);
    let session = &first["session"];
    assert_eq!(shown, [first.clone(), json!({"session": session, "paid": true, "free_msat": 300_000})]);

    let more = ["fund", "20sat", "--session", session.as_str().unwrap(), "--output", "json"];
    let waiting = bank.start(&more);
    waiting.showed("waiting for the payment");
    waiting.interrupt();
    let shown = lines(&waiting.end().expect(130).stdout);
    assert_eq!(shown[1], json!({"session": session, "paid": false, "free_msat": 300_000}));
    let shown = bank.guildhall(&[&more[..], &["--no-wait"]].concat()).expect(0);
    assert_eq!(lines(&shown.stdout).len(), 1, "{shown:?}");
    assert!(!shown.stderr.contains("waiting"), "{shown:?}");
}

#[test]
fn an_invoice_that_is_not_paid_is_listed_until_its_payment_is_credited() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    bank.connect();
    let made = bank.guildhall(&["fund", "300sat", "--no-wait", "--output", "json"]).expect(0).json();
    let id = made["session"].as_str().unwrap();
    let listed =
        json!([{"session": id, "payment": made["payment"], "amount_msat": 300_000, "expires": made["expires"]}]);
    for args in [&["show", id][..], &["wallet"], &["close", id]] {
        let shown = bank.guildhall(args).expect(0);
        assert!(shown.stdout.contains("300 sat, not paid yet, expires at 20"), "{args:?}: {}", shown.stdout);
        let told = format!("{}{}", shown.stdout, shown.stderr);
        assert!(args[0] != "show" || told.contains("was paid, run: guildhall close"), "{args:?}: {told}");
        assert_eq!(bank.guildhall(&[args, &["--output", "json"]].concat()).json()["unpaid_invoices"], listed);
    }
    bank.pay(made["invoice"].as_str().unwrap());
    assert!(bank.guildhall(&["close", id]).expect(0).stdout.contains("has 300 sat"));
    for args in [&["show", id][..], &["wallet"], &["close", id]] {
        assert!(!bank.guildhall(args).expect(0).stdout.contains("not paid"), "{args:?}");
    }
}

#[test]
fn money_that_is_held_for_a_payment_under_way_is_named_with_the_command_that_lists_it() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    refund.fail(PAY, Fault::DelayReply(FOR_EVER));
    let running = refund.start();
    refund.until_sent(1);
    running.kill();
    for command in ["show", "close"] {
        let shown = bank.guildhall(&[command, &refund.id]).expect(0).stdout;
        let held = format!("payment {} is under way and holds 102 sat", refund.hash);
        assert!(shown.contains(&held) && shown.contains("guildhall payments"), "{shown}");
        let shown = bank.guildhall(&[command, &refund.id, "--output", "json"]).json();
        assert_eq!(shown["held_msat"], 102_000);
    }
    let mut without = bank.command(&["payments"]);
    without.env_remove("LNBITS_INVOICE_KEY").env_remove("LNBITS_ADMIN_KEY");
    let listed = Running::start(without, "").end().expect(6).stdout;
    assert!(listed.contains("unknown after 1 request: "), "{listed}");
    let second = bank.guildhall(&["close", &refund.id, "--to", &bank.invoice(10)]).expect(6);
    second.says("is still under way").says("run `guildhall payments`");
    refund.assert_paid_once(1);
    assert!(!bank.guildhall(&["show", &refund.id]).expect(0).stdout.contains("under way"));
}

#[test]
fn a_funded_session_without_work_says_how_to_begin_and_is_listed_with_its_first_task() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    let id = bank.funded(2000);
    let listed = |key: &str| bank.guildhall(&["ls", "--output", "json"]).json()[0][key].clone();
    assert_eq!((listed("money"), listed("free_msat")), (json!("wallet"), json!(2_000_000)));
    assert_eq!((listed("task"), listed("state")), (json!("funded session"), json!("no work yet")));
    let advice = format!("run `guildhall run --session {id} --budget AMOUNT");
    for args in [
        &["topup", &id, "10sat"][..],
        &["resume", &id],
        &["stop", &id],
        &["message", &id, "Hurry."],
        &["run", "--continue", &id, "--yes", "When?"],
    ] {
        bank.guildhall(args).expect(4).says("no work was started in session").says(&advice);
    }
    // Without a budget, the work gets what is free, at most one dollar.
    bank.guildhall(&["run", "When is\nthe meeting?", "--session", &id, "--yes"]).expect(0).says("at most 1000 sat");
    assert_eq!(listed("task"), "When is the meeting?");
    bank.guildhall(&["run", "And where?", "--session", &id, "--budget", "500sat", "--yes"]).expect(0);
    assert_eq!(listed("task"), "When is the meeting?");
    let text = bank.guildhall(&["ls"]).expect(0).stdout;
    assert!(text.contains("wallet  When is the meeting?") && !text.contains("funded session"), "{text}");
}

#[test]
fn every_screen_says_who_pays() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    let wallet = bank.funded(2000);
    let play = bank
        .guildhall(&["run", "When?", "--yes"])
        .expect(0)
        .says(", paid by you to openai, at ")
        .says(" (paid by you to openai) is");
    let play = play.stderr.split_once("\nsession ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let run = ["run", "When?", "--session", &wallet, "--budget", "300sat", "--yes"];
    bank.guildhall(&run).expect(0).says("pays with the money of the wallet").says(" (wallet) is");
    let shows = |args: &[&str], words: &str| {
        let ended = bank.guildhall(args).expect(0);
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(words), "{args:?}: {ended:?}");
    };
    shows(&["ls"], "  paid by you to openai  ");
    shows(&["ls"], "  wallet  ");
    shows(&["show", &play], "money    paid by you to openai, ");
    shows(&["show", &wallet], "money    wallet, ");
    shows(&["show", &format!("{play}/1")], ", paid by you to openai");
    shows(&["show", &format!("{wallet}/1")], ", wallet");
    shows(&["fund", "10sat", "--session", &wallet, "--no-wait"], "with the money of the wallet");
    shows(&["close", &wallet], "with the money of the wallet");
    shows(&["payments"], "money of the wallet");
    shows(&["close", &wallet, "--to", &bank.invoice(10)], "of the wallet's money");
    shows(&["payments"], "payments with the money of the wallet");
    shows(&["ledger"], "the money of the wallet");
    shows(&["ledger", &play], "the wallet does not pay for session");
    shows(&["wallet"], "wallet    ");
    let listed = bank.guildhall(&["ls", "--output", "json"]).json();
    let kinds: Vec<&Value> = listed.as_array().unwrap().iter().map(|session| &session["money"]).collect();
    assert!(kinds.contains(&&json!("play")) && kinds.contains(&&json!("wallet")), "{listed}");
}

#[test]
fn the_ledger_of_a_session_has_its_own_balances_and_dates_and_no_payment_that_has_ended() {
    let Some(bank) = Bank::new(&one_hire(), Route::Within) else { return };
    ada_with_a_fee(&bank.house, "notes.txt");
    bank.guildhall(&["ledger"]).expect(0).says("no wallet is connected").says("guildhall wallet connect URL");
    bank.connect();
    bank.guildhall(&["ledger"]).expect(0).says("no money of the wallet has moved yet").says("guildhall fund AMOUNT");

    let (other, id) = (bank.funded(700), bank.funded(2000));
    let run = ["run", "When?", "--session", &id, "--budget", "1500sat", "--team", "crew", "--yes"];
    bank.guildhall(&run).expect(0);
    bank.guildhall(&["close", &id, "--to", &bank.invoice(100)]).expect(0);
    let text = bank.guildhall(&["ledger", &id]).expect(0).stdout;
    assert!(!text.contains(&other) && !text.contains("\n         0 sat"), "{text}");
    let (postings, balances) = text.split_once("\n\n").unwrap();
    for line in postings.lines() {
        let date = line.trim_start().trim_start_matches("after ").get(..16).unwrap();
        assert!(date.starts_with("20") && date.get(10..11) == Some(" ") && date.get(13..14) == Some(":"), "{line}");
    }
    let at = |what: &str| postings.lines().position(|line| line.ends_with(what)).unwrap_or_else(|| panic!("{what}"));
    assert!(at("invoice paid") < at("work done") && at("work done") < at("payment decided"), "{postings}");
    assert!(postings.contains("house -> payee ada: fee earned") && postings.contains("after 20"), "{postings}");
    assert!(!balances.contains("payment") && balances.contains("110 sat  earned by payee ada"), "{balances}");

    let own = bank.guildhall(&["ledger", &id, "--output", "json"]).expect(0).json();
    let msat = |account: &str| {
        let balances = own["balances"].as_array().unwrap();
        balances.iter().find(|balance| balance["account"] == account).map_or(0, |found| found["msat"].as_i64().unwrap())
    };
    assert_eq!(u64::try_from(msat(&format!("session {id}"))).unwrap(), bank.free_msat(&id));
    assert_eq!((msat("wallet"), msat("payee ada"), msat(&format!("session {other}"))), (-1_900_000, 110_000, 0));
    assert_eq!(own["balances"].as_array().unwrap().len(), 4, "wallet, session, payee and house: {own}");
    let all: i64 = own["balances"].as_array().unwrap().iter().map(|balance| balance["msat"].as_i64().unwrap()).sum();
    assert_eq!(all, 0, "{own}");
    let checked = bank.guildhall(&["verify"]).expect(0).stdout;
    assert!(checked.contains("the money of the wallet: 2 invoices, 1 payment;"), "{checked}");
    let one = bank.guildhall(&["verify", &id]).expect(0).stdout;
    assert!(!one.contains("money of the wallet"), "one session does not prove the rest: {one}");
}

#[test]
fn the_ledger_of_a_session_with_play_money_names_its_bill() {
    let house = House::new(Wire::OpenAi, &answers());
    house.guildhall(&["ledger"]).expect(0).says("no wallet is connected");
    let id = house.run(&[]).expect(0).json()["session"].as_str().unwrap().to_owned();
    house.guildhall(&["ledger", &id]).expect(0).says("the wallet does not pay").says(&format!("guildhall show {id}"));
    assert!(!house.guildhall(&["verify"]).expect(0).stdout.contains("wallet"));
    house.guildhall(&["fund", "10sat"]).expect(6).says("no wallet is connected");
    house.guildhall(&["wallet"]).expect(6).says("no wallet is connected");
    house.guildhall(&["wallet", "payouts", "on"]).expect(6).says("no wallet is connected");
}

#[test]
fn a_terminal_with_colours_gets_a_qr_code_in_black_on_white_and_others_get_none() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    bank.connect();
    let shown = |variables: &[(&str, &str)]| {
        let mut command = bank.command(&["fund", "300sat", "--no-wait"]);
        command.envs(variables.iter().copied());
        Running::start_wholly_in(&Terminal::sized(160, 50), command).end().expect(0).stderr
    };
    let coloured = shown(&[("TERM", "xterm-256color")]);
    assert!(coloured.contains("\u{1b}[38;5;16m\u{1b}[48;5;231m") && coloured.contains('█'), "{coloured}");
    assert!(coloured.contains("within 60 minutes") && coloured.contains("lnbc"), "{coloured}");
    for plain in [&[("TERM", "xterm"), ("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        let shown = shown(plain);
        assert!(!shown.contains(['█', '▀', '▄']) && shown.contains("lnbc"), "{plain:?}: {shown}");
    }
    let piped = bank.guildhall(&["fund", "300sat", "--no-wait"]).expect(0).stdout;
    assert!(!piped.contains(['█', '▀', '▄']) && piped.contains("lnbc"), "{piped}");
}

#[test]
fn close_with_keys_that_can_pay_nothing_ends_at_once_and_decides_nothing() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    let mut command = bank.command(&["close", &refund.id, "--to", &refund.invoice]);
    command.env("LNBITS_INVOICE_KEY", "0".repeat(32)).env("LNBITS_ADMIN_KEY", "1".repeat(32));
    Running::start(command, "").end().expect(6).says("does not know the");
    assert_eq!((bank.payments().len(), bank.free_msat(&refund.id)), (0, 1_000_000));
    refund.start().end().expect(0);
    refund.assert_paid_once(1);
}
