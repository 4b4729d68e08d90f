//! Sessions with real money over HTTP, against real LNbits servers: paid from another wallet, refunded to a person.

use serde_json::{Value, json};

use crate::bank::{Bank, Route};
use crate::crew::{ada_with_a_fee, always, one_hire, rule, slowly};
use crate::house::{says, wait_for};
use crate::serve::offer;
use crate::serving::{Server, Session};

/// A server whose offer takes the money of the bank's wallet.
fn start(bank: &Bank, address: &str) -> Server {
    Server::start_command(&bank.house, bank.command(&["serve", "--addr", address]))
}

fn bank_with_offer(rules: &Value, route: Route) -> Option<Bank> {
    let bank = Bank::new(rules, route)?;
    ada_with_a_fee(&bank.house, "notes.txt");
    offer(&bank.house, "money = \"wallet\"\n");
    bank.connect();
    bank.guildhall(&["wallet", "payouts", "on"]).expect(0);
    Some(bank)
}

/// Makes a session, and returns it with its Lightning invoice.
fn unpaid(server: &Server, sats: u64) -> (Session, String) {
    let session = server.unpaid("crew", sats);
    assert_eq!(session.made["money"], "real", "{}", session.made);
    let invoice = session.made["invoice"]["payment_request"].as_str().unwrap().to_owned();
    (session, invoice)
}

fn ready(session: &Session) -> Value {
    wait_for("the money", || Some(session.state()).filter(|state| state["state"] == "ready"))
}

#[test]
fn real_money_comes_in_works_and_goes_back_over_http() {
    for route in [Route::Within, Route::Between] {
        let Some(bank) = bank_with_offer(&one_hire(), route) else { return };
        let server = start(&bank, "127.0.0.1:0");
        let (session, invoice) = unpaid(&server, 2000);
        let events = session.events(None);
        assert_eq!(session.state()["state"], "unpaid");
        session.post("requests", &json!({"task": "When?"})).expect_problem(402, "balance_too_low");
        session.post("settle", &json!({"invoice": "1"})).expect_problem(409, "real_money");
        bank.pay(&invoice);
        let state = ready(&session);
        assert_eq!((&state["free_msat"], &state["invoices"]), (&json!(2_000_000), &json!([])));
        let opened = events.wait("the opening", |event| event.data["fact"].get("opened") == Some(&json!({})));
        assert_eq!(opened.id.as_deref(), Some("0.1"), "which wallet it is stays secret");

        let more = session.client.post_once(&session.path("fund"), "more", &json!({"amount_sats": 300})).expect(201);
        let again = session.client.post_once(&session.path("fund"), "more", &json!({"amount_sats": 300})).expect(201);
        assert_eq!(more, again);
        bank.pay(more["payment_request"].as_str().unwrap());
        wait_for("more money", || (session.state()["free_msat"] == 2_300_000).then_some(()));

        session.ask("When?", Some(1500));
        let state = session.ended();
        let spent = state["spent_msat"].as_u64().unwrap();
        assert!(spent >= 110_000 && state["free_msat"] == 2_300_000 - spent, "{state}");
        wait_for("the fee", || (bank.others.balance_msat(&bank.ada) == 108_000).then_some(()));

        let (payable, before) = (state["payable_msat"].as_u64().unwrap() / 1000, bank.person_has());
        let refund = json!({"invoice": bank.invoice(payable)});
        session.post("refund", &json!({})).expect_problem(422, "invoice");
        session.post("refund", &json!({"invoice": "lnbc1x"})).expect_problem(422, "invoice");
        session.post("refund", &json!({"invoice": bank.invoice(payable + 1000)})).expect(422);
        let first = session.client.post_once(&session.path("refund"), "back", &refund).expect(202);
        let second = session.client.post_once(&session.path("refund"), "back", &refund).expect(202);
        assert_eq!(first["payment"], second["payment"]);
        session.post("refund", &refund).expect_problem(409, "known_invoice");
        wait_for("the refund", || (bank.person_has() == before + i64::try_from(payable).unwrap() * 1000).then_some(()));
        wait_for("the end of the payment", || {
            let state = session.state();
            let out = 2_300_000 - spent - state["free_msat"].as_u64().unwrap();
            (state["withdrawn_msat"] == out && out > 0).then_some(())
        });
        let ledger = session.get("ledger").expect(200);
        let sum: i64 =
            ledger["balances"].as_array().unwrap().iter().map(|line| line["balance_msat"].as_i64().unwrap()).sum();
        assert_eq!((sum, &ledger["violations"]), (0, &json!([])), "{ledger}");
        let shown = format!("{ledger}{}{:?}", session.state(), events.so_far());
        for secret in [&bank.treasury.admin_key, &bank.treasury.invoice_key, &bank.treasury.id] {
            assert!(!shown.contains(secret.as_str()), "{secret}: {shown}");
        }
        server.stop().expect(0);
        bank.assert_sound();
    }
}

#[test]
fn a_payment_that_comes_while_the_server_is_down_is_credited() {
    let Some(bank) = bank_with_offer(&one_hire(), Route::Within) else { return };
    let server = start(&bank, "127.0.0.1:0");
    let address = server.address().to_string();
    let (session, invoice) = unpaid(&server, 500);
    server.kill();
    bank.pay(&invoice);
    let server = start(&bank, &address);
    assert_eq!(ready(&session)["free_msat"], 500_000);
    server.stop().expect(0);
    bank.assert_sound();
}

#[test]
fn work_with_real_money_is_topped_up_and_stopped_over_http() {
    let rules = json!([
        rule("You are lead.", json!({"nth_of_agent": 1}), slowly(says("Later."), 600_000)),
        always("lead", says("On Tuesday.")),
    ]);
    let Some(bank) = bank_with_offer(&rules, Route::Within) else { return };
    let server = start(&bank, "127.0.0.1:0");
    let (session, invoice) = unpaid(&server, 1000);
    bank.pay(&invoice);
    ready(&session);
    let events = session.events(None);
    session.ask("When?", Some(400));
    events.wait("the request", |event| event.data["fact"].get("asked").is_some());
    session.post("topup", &json!({"amount_sats": 601})).expect_problem(402, "balance_too_low");
    session.post("refund", &json!({"invoice": bank.invoice(100)})).expect_problem(409, "busy");
    session.post("topup", &json!({"amount_sats": 100})).expect(202);
    events.wait("the grant", |event| event.data["fact"].get("granted").is_some());
    assert_eq!(session.state()["free_msat"], 500_000);
    session.post("stop", &json!({})).expect(202);
    let state = session.ended();
    assert_eq!(state["requests"][0]["state"], "cancelled", "{state}");
    let reserved = session.get("ledger").expect(200)["bill"][0]["reserved_msat"].as_u64().unwrap();
    assert_eq!(state["free_msat"].as_u64().unwrap() + reserved, 1_000_000, "{state}");
    server.stop().expect(0);
    bank.assert_sound();
}
