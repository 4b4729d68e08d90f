//! What stops work and payments, against real LNbits servers: fees, keys, limits, a journal that can't be written, an old backup.
//! Nothing is lost, and nothing is paid twice. Also several processes at once.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use guildhall_lnbits_peer::{Fault, Times};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::bank::{Bank, Route};
use crate::crew::slowly;
use crate::house::{Ended, Running, msat, says, wait_for};
use crate::people::shell_with_a_disk;
use crate::wallet_failures::{FOR_EVER, PAY, Refund};

/// The rules of a provider that answers everything.
fn answers() -> Value {
    json!([{"then": says("On Tuesday.")}])
}

/// The arguments for work with the money of a session.
fn work(id: &str) -> [&str; 7] {
    ["run", "When?", "--session", id, "--budget", "300sat", "--yes"]
}

#[test]
fn a_refund_of_everything_is_refused_because_of_its_fee_and_the_quoted_amount_is_paid() {
    for route in [Route::Within, Route::Between] {
        let Some(refund) = Refund::new(route) else { return };
        let bank = &refund.bank;
        let everything = bank.invoice(1000);
        bank.guildhall(&["close", &refund.id, "--to", &everything])
            .expect(6)
            .says("make an invoice for at most 990sat");
        assert_eq!(bank.quote(&refund.id)["payable_msat"], 990_000);
        bank.guildhall(&["close", &refund.id, "--to", &bank.invoice(990)]).expect(0);
        assert_eq!((refund.received(), bank.free_msat(&refund.id)), (990_000, 10_000));
        bank.assert_sound();
    }
}

#[test]
fn a_wallet_that_has_too_little_for_the_fee_refuses_and_the_session_keeps_its_money() {
    let Some(refund) = Refund::new(Route::Between) else { return };
    // Somebody took money out of the wallet. What is left covers the amount, and not what LNbits reserves for the fee.
    let stranger = refund.bank.server.wallet(0);
    let body = json!({"out": false, "amount": 899, "memo": "taken"});
    let (_, taken) = refund.bank.server.request("POST", "/api/v1/payments", &stranger.invoice_key, Some(&body));
    refund.fail(PAY, Fault::DelayRequest(Duration::from_secs(1)));
    let running = refund.start();
    refund.until_sent(1);
    let body = json!({"out": true, "bolt11": taken["bolt11"]});
    let (status, paid) =
        refund.bank.server.request("POST", "/api/v1/payments", &refund.bank.treasury.admin_key, Some(&body));
    assert_eq!(status, 201, "{paid}");
    running.end().expect(6).says("You must reserve at least");
    refund.bank.server.mint(&refund.bank.treasury, 899);
    assert_eq!(refund.received(), 0);
    refund.assert_failed();
}

#[test]
fn of_two_refunds_at_once_one_is_paid_and_the_other_is_told() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    // Both ask for nearly everything.
    let (first, second) = (bank.invoice(900), bank.invoice(900));
    bank.proxy().fail(PAY, Fault::DelayRequest(Duration::from_secs(2)), Times::Always);
    let both = [first, second].map(|invoice| bank.start(&["close", &refund.id, "--to", &invoice]));
    let mut ended = both.map(Running::end);
    ended.sort_by_key(Ended::code);
    let [paid, told] = ended;
    paid.expect(0);
    let told = told.expect(6);
    assert!(told.stderr.contains("still under way") || told.stderr.contains("make an invoice"), "{}", told.stderr);
    assert_eq!((refund.received(), bank.free_msat(&refund.id)), (900_000, 100_000));
    assert_eq!(bank.settled().len(), 1);
    bank.assert_sound();
}

#[test]
fn a_full_disk_stops_a_refund_before_anything_is_paid() {
    let Some(way) = shell_with_a_disk() else { return };
    let Some(refund) = Refund::new(Route::Within) else { return };
    // All in one shell, because the disk disappears with the shell.
    let script = r#"
        home="$GUILDHALL_HOME"
        mkdir "$home/disk" && mount -t tmpfs -o size=8m none "$home/disk" || exit 99
        cp -r "$home"/journal.db* "$home/config.toml" "$home/disk/"
        export GUILDHALL_HOME="$home/disk"
        "$0" ls > /dev/null
        head -c 10m /dev/zero > "$GUILDHALL_HOME/filler" 2> /dev/null
        "$0" "$@"; echo "full: $?"
        rm "$GUILDHALL_HOME/filler"
        "$0" "$@"; echo "room: $?"
        rm "$home"/journal.db* && cp "$GUILDHALL_HOME"/journal.db* "$home/"
    "#;
    let own = [way, &["sh", "-c", script]].concat();
    let args = ["close", &refund.id, "--to", &refund.invoice];
    let mut command = refund.bank.house.command_under("unshare", &own, &args);
    command.env("LNBITS_INVOICE_KEY", &refund.bank.treasury.invoice_key);
    command.env("LNBITS_ADMIN_KEY", &refund.bank.treasury.admin_key);
    let ended = Running::start(command, "").end().expect(0).says("the disk is full");
    assert!(ended.stdout.contains("full: 75") && ended.stdout.contains("room: 0"), "{ended:?}");
    refund.assert_paid_once(1);
}

#[test]
fn a_request_that_can_not_be_stored_does_not_leave() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.bank.house.refuse("treasury_fact", "sending");
    let running = refund.start();
    running.showed("refused");
    running.kill();
    assert_eq!((refund.bank.proxy().count(PAY), refund.received()), (0, 0));
    refund.bank.house.refuse_nothing();
    refund.assert_paid_once(1);
}

#[test]
fn a_received_payment_that_can_not_be_stored_is_credited_later() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    bank.house.refuse("treasury_fact", "received");
    let (waiting, _, invoice) = bank.start_funding(&["50sat", "--session", &refund.id]);
    bank.pay(&invoice);
    waiting.showed("refused");
    waiting.kill();
    assert_eq!(bank.free_msat(&refund.id), 1_000_000);
    bank.house.refuse_nothing();
    let (waiting, ..) = bank.start_funding(&["1sat", "--session", &refund.id]);
    wait_for("the payment", || (bank.free_msat(&refund.id) == 1_050_000).then_some(()));
    waiting.kill();
    bank.assert_sound();
}

#[test]
fn a_locked_journal_delays_a_payment_and_loses_nothing() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayReply(Duration::from_secs(1)));
    let running = refund.start();
    refund.until_sent(1);
    let db = Connection::open(refund.bank.house.journal()).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    wait_for("the payment", || (refund.received() > 0).then_some(()));
    // Longer than the reply takes, so that the process has something to store while the journal is locked.
    sleep(Duration::from_secs(2));
    db.execute_batch("ROLLBACK").unwrap();
    running.end().expect(0);
    refund.assert_paid_once(1);

    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let other = refund.bank.invoice(10);
    let ended = refund.bank.guildhall(&["close", &refund.id, "--to", &other]).expect(75);
    ended.says("another process is using the journal: nothing was stored");
    db.execute_batch("ROLLBACK").unwrap();
    refund.assert_paid_once(1);
}

/// Puts an old journal in the place of the newest one.
fn restore(bank: &Bank, backup: &Path) {
    for file in ["journal.db-wal", "journal.db-shm"] {
        // A closed journal has neither.
        fs::remove_file(bank.house.home().join(file)).ok();
    }
    fs::copy(backup, bank.house.journal()).unwrap();
}

#[test]
fn a_restored_backup_pays_nothing_twice_and_nothing_more_until_a_person_has_looked() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    let backup = bank.house.home().join("backup");
    // One file has everything after this.
    Connection::open(bank.house.journal()).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fs::copy(bank.house.journal(), &backup).unwrap();
    refund.start().end().expect(0);

    // The same invoice once more: the wallet's history shows that it was paid.
    restore(bank, &backup);
    refund.start().end().expect(0);
    assert_eq!(bank.proxy().count(PAY), 1);
    refund.assert_paid_once(0);

    // Another invoice: the wallet made a payment that this journal does not know, so nothing leaves.
    restore(bank, &backup);
    let other = bank.invoice(50);
    let running = bank.start(&["close", &refund.id, "--to", &other]);
    wait_for("the freeze", || {
        let shown = Running::start(bank.command(&["wallet", "--output", "json"]), "").end();
        (shown.json()["frozen"] == json!([refund.hash])).then(|| shown.expect(6))
    });
    running.interrupt();
    running.end().expect(130);
    bank.guildhall(&["payments"]).expect(6);
    assert_eq!((bank.proxy().count(PAY), refund.received()), (1, 100_000));
    bank.guildhall(&["close", &refund.id, "--to", &bank.invoice(10)]).expect(6).says("does not know");
    // Payments to payees are another matter.
    bank.guildhall(&["wallet", "payouts", "on"]).expect(6).says("would pay it a second time");
    bank.guildhall(&["wallet", "accept", &"0".repeat(64)]).expect(6).says("wait to be accepted");
    assert_eq!((bank.proxy().count(PAY), refund.received()), (1, 100_000));
    // The wallet made a payment that the backup does not know, so it has less than the backup owes.
    bank.guildhall(&["wallet", "accept", &refund.hash]).expect(6).says("less than this hall owes");
    assert_eq!(bank.settled()[0]["state"], "paid");
    // The books lack exactly what only the lost journal knew.
    assert_eq!(-bank.balance("wallet") - bank.server.balance_msat(&bank.treasury), 100_000);
    bank.guildhall(&["verify"]).expect(0);
}

#[test]
fn a_wallet_below_what_is_owed_starts_no_work() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    let id = bank.funded(1000);
    let body = json!({"out": true, "bolt11": bank.invoice(50)});
    let (status, _) = bank.server.request("POST", "/api/v1/payments", &bank.treasury.admin_key, Some(&body));
    assert_eq!(status, 201);
    bank.guildhall(&work(&id)).expect(6).says("owes");
    assert_eq!((bank.house.requests().len(), bank.free_msat(&id)), (0, 1_000_000));
    bank.server.mint(&bank.treasury, 50);
    bank.guildhall(&work(&id)).expect(0);
    bank.assert_sound();
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_the_wallet_before_the_work() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    let id = bank.funded(1000);
    bank.proxy().fail("GET /api/v1/wallet", Fault::DelayReply(FOR_EVER), Times::Always);
    let running = bank.start(&work(&id));
    running.showed("has not replied yet");
    running.interrupt();
    running.end().expect(130).says("stopped before the work began");
    bank.proxy().heal();
    bank.guildhall(&work(&id)).expect(0);
    bank.assert_sound();
}

#[test]
fn an_exchange_rate_older_than_a_week_starts_no_work() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    let id = bank.funded(1000);
    let config = bank.house.read_config();
    bank.house.write_config(&config.replace("2099-01-01", "2026-01-01"));
    bank.guildhall(&work(&id)).expect(6).says("older than 7 days");
    assert_eq!((bank.house.requests().len(), bank.free_msat(&id)), (0, 1_000_000));
    // Money can still leave.
    bank.guildhall(&["close", &id, "--to", &bank.invoice(100)]).expect(0);
    bank.house.write_config(&config);
    bank.guildhall(&work(&id)).expect(0);
    bank.assert_sound();
}

#[test]
fn with_the_keys_of_another_wallet_payments_wait_and_no_invoice_is_made() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let (bank, other) = (&refund.bank, &refund.bank.person);
    let with_other = |args: &[&str]| Running::start(bank.command_with(other, args), "");
    with_other(&["close", &refund.id, "--to", &refund.invoice]).end().expect(6).says("belongs to wallet");
    assert_eq!(bank.payments(), Vec::<Value>::new(), "nothing was decided");
    assert_eq!(refund.bank.proxy().count(PAY), 0);
    // Money for such an invoice would be in the other wallet.
    let refused = with_other(&["fund", "20sat", "--session", &refund.id, "--no-wait"]).end().expect(6);
    assert!(!refused.stdout.contains("lnbc"), "{}", refused.stdout);
    with_other(&work(&refund.id)).end().expect(6).says("belongs to wallet");
    refund.start().end().expect(0);
    refund.assert_paid_once(1);
}

#[test]
fn without_the_admin_key_a_refund_is_refused_and_payments_wait() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    let without = |args: &[&str]| {
        let mut command = bank.command(args);
        command.env_remove("LNBITS_ADMIN_KEY");
        Running::start(command, "").end()
    };
    without(&["close", &refund.id, "--to", &refund.invoice]).expect(6).says("LNBITS_ADMIN_KEY");
    assert_eq!(bank.payments().len(), 0);
    // A payment that was decided while there was a key.
    bank.proxy().fail(PAY, Fault::LoseRequest, Times::Always);
    let running = refund.start();
    refund.until_sent(1);
    running.kill();
    bank.proxy().heal();
    without(&["payments"]).expect(6);
    assert_eq!((bank.proxy().count(PAY), refund.received()), (1, 0));
    refund.assert_paid_once(2);
}

#[test]
fn a_rate_limit_delays_a_payment() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let limited = || Fault::Reply { status: 429, body: json!({"error": "Rate limit exceeded"}).to_string() };
    refund.fail("GET /api/v1/payments/paginated", limited());
    refund.start().end().expect(6).says("allows no more requests now");
    assert_eq!(refund.bank.payments(), Vec::<Value>::new(), "nothing was decided");
    refund.fail(PAY, limited());
    refund.fail(&refund.lookup(), limited());
    refund.start().end().expect(0).says("allows no more requests now");
    refund.assert_paid_once(2);
}

#[test]
fn keys_that_were_replaced_while_a_payment_is_unknown_leave_it_unknown() {
    let Some(mut refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayReply(FOR_EVER));
    let running = refund.start();
    wait_for("the payment", || (refund.received() > 0).then_some(()));
    running.kill();
    let treasury = refund.bank.server.replace_keys(&refund.bank.treasury);
    let listed = refund.bank.guildhall(&["payments"]).expect(6).says("does not know the invoice key");
    assert!(listed.stdout.contains("stay held"), "{}", listed.stdout);
    refund.bank.treasury = treasury;
    refund.assert_paid_once(1);
}

#[test]
fn a_key_that_was_replaced_before_the_request_arrives_pays_nothing() {
    let Some(mut refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayRequest(Duration::from_secs(1)));
    let running = refund.start();
    refund.until_sent(1);
    let treasury = refund.bank.server.replace_keys(&refund.bank.treasury);
    running.end().expect(6).says("Wallet not found.");
    refund.bank.treasury = treasury;
    assert_eq!(refund.received(), 0);
    refund.assert_failed();
    let again = refund.bank.invoice(100);
    refund.bank.guildhall(&["close", &refund.id, "--to", &again]).expect(0);
    refund.bank.assert_sound();
}

#[test]
fn several_processes_fund_run_and_close_one_session_at_once() {
    let Some(bank) = Bank::new(&json!([{"then": slowly(says("On Tuesday."), 2000)}]), Route::Within) else { return };
    let id = bank.funded(2000);
    let before = bank.person_has();
    let funding = [300, 400].map(|sats| bank.start_funding(&[&format!("{sats}sat"), "--session", &id]));
    let refunds = [200, 250].map(|sats| bank.start(&["close", &id, "--to", &bank.invoice(sats)]));
    let runs = [bank.start(&work(&id)), bank.start(&work(&id))];
    for (_, _, invoice) in &funding {
        bank.pay(invoice);
    }
    for (waiting, ..) in funding {
        waiting.end().expect(0);
    }
    // The second of a kind may be told that the first is at work.
    let ended = refunds.map(Running::end);
    let told = |ended: &Ended| ended.code() == 6 && ended.stderr.contains("still under way");
    assert!(ended.iter().all(|ended| ended.code() == 0 || told(ended)), "{ended:?}");
    let ended = runs.map(Running::end);
    let told = |ended: &Ended| [4, 75].contains(&ended.code());
    assert!(ended.iter().all(|ended| ended.code() == 0 || told(ended)), "{ended:?}");
    assert!(ended.iter().any(|ended| ended.code() == 0), "{ended:?}");

    let paid: Vec<Value> = bank.settled();
    let sum: i64 = paid.iter().map(|payment| payment["amount_msat"].as_i64().unwrap()).sum();
    assert!(!paid.is_empty() && paid.iter().all(|payment| payment["state"] == "paid"), "{paid:?}");
    assert_eq!(bank.person_has() - before, sum - 700_000);
    let spent = bank.balance("house");
    assert!(spent > 0, "the work cost something");
    assert_eq!(i64::try_from(bank.free_msat(&id)).unwrap(), 2_700_000 - sum - spent);
    bank.assert_sound();
}

#[test]
fn a_payment_that_nobody_waited_for_is_credited_before_work_needs_it() {
    let Some(bank) = Bank::new(&answers(), Route::Within) else { return };
    bank.connect();
    let made = bank.guildhall(&["fund", "500sat", "--no-wait", "--output", "json"]).expect(0).json();
    bank.pay(made["invoice"].as_str().unwrap());
    // Without a budget, the work gets all that the session has.
    let id = made["session"].as_str().unwrap();
    bank.guildhall(&["run", "When?", "--session", id, "--yes"]).expect(0).says("at most 500 sat");
    let more = bank.guildhall(&["fund", "200sat", "--session", id, "--no-wait", "--output", "json"]).expect(0).json();
    let free = bank.free_msat(id);
    bank.pay(more["invoice"].as_str().unwrap());
    let continued = bank.guildhall(&["run", "And where?", "--continue", id, "--yes", "--output", "json"]).expect(0);
    // The person was asked about the sum that the work got.
    let granted = free + 200_000;
    assert_eq!(msat(&continued.json()["bill"]["granted"]), granted, "{continued:?}");
    continued.says(&format!("at most {}.{:03} sat", granted / 1000, granted % 1000));
    bank.assert_sound();
}
