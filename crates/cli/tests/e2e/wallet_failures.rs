//! Failures between the hall and its wallet's server, against real LNbits servers: kills, lost and false replies, payments that
//! hang, forged messages, bad invoices. After each, every payment was made at most once, and the books agree with the wallet.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guildhall_lnbits_peer::{Fault, Times};
use serde_json::{Value, json};

use crate::bank::{Bank, Route, nothing};
use crate::house::{Running, wait_for};

/// The part of a request to pay that no other request has.
pub(crate) const PAY: &str = "\"out\":true";

/// Longer than any test.
pub(crate) const FOR_EVER: Duration = Duration::from_hours(1);

/// An invoice for the test network.
const TESTNET: &str = "lntb20m1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygshp58yjmdan79s6qqdhdzgynm4zwqd5d7xmw5f\
    k98klysy043l2ahrqspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqfpp3x9et2e20v6pu37c5d9vax37wxq72un989qrsgqdj545axuxt\
    nfemtpwkc45hx9d2ft7x04mt8q7y6t0k2dge9e7h8kpy9p34ytyslj3yu569aalz2xdk8xkd7ltxqld94u8h2esmsmacgpghe9k8";

/// A session with 1000 sat, and an invoice of the person for 100 sat.
pub(crate) struct Refund {
    pub(crate) bank: Bank,
    pub(crate) id: String,
    pub(crate) invoice: String,
    /// What LNbits says about the invoice.
    row: Value,
    pub(crate) hash: String,
    /// What the person had.
    before: i64,
}

impl Refund {
    pub(crate) fn new(route: Route) -> Option<Refund> {
        let bank = Bank::new(&nothing(), route)?;
        let id = bank.funded(1000);
        let row = bank.invoice_row(100, 600);
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        Some(Refund { id, invoice: text("bolt11"), hash: text("payment_hash"), before: bank.person_has(), row, bank })
    }

    pub(crate) fn fail(&self, part: &str, fault: Fault) {
        self.bank.proxy().fail(part, fault, Times::Once);
    }

    pub(crate) fn start(&self) -> Running {
        self.bank.start(&["close", &self.id, "--to", &self.invoice])
    }

    /// Waits until this many requests to pay have reached the proxy.
    pub(crate) fn until_sent(&self, times: usize) {
        wait_for("the request to pay", || (self.bank.proxy().count(PAY) >= times).then_some(()));
    }

    /// What the person got since the beginning.
    pub(crate) fn received(&self) -> i64 {
        self.bank.person_has() - self.before
    }

    pub(crate) fn lookup(&self) -> String {
        format!("GET /api/v1/payments/{} ", self.hash)
    }

    /// The payment, as it is listed.
    pub(crate) fn listed(&self) -> Value {
        let payments = self.bank.payments();
        payments.into_iter().find(|payment| payment["payment"] == json!(self.hash)).expect("the payment is stored")
    }

    /// Checks that the payment is listed as unknown, that its money is held, and that the session has no other payment meanwhile.
    #[track_caller]
    pub(crate) fn assert_held(&self) {
        let listed = self.bank.guildhall(&["payments"]).expect(6);
        assert!(listed.stdout.contains(&format!("{}  ", self.hash)), "{}", listed.stdout);
        assert!(listed.stdout.contains("102 sat stay held"), "{}", listed.stdout);
        assert_eq!(self.bank.balance(&format!("payment {}", &self.hash[..8])), 102_000);
        assert_eq!(self.bank.free_msat(&self.id), 898_000);
        let second = self.bank.invoice(10);
        self.bank.guildhall(&["close", &self.id, "--to", &second]).expect(6).says("still under way");
    }

    /// Checks that the payment was made once, after this many requests, and that the books agree.
    #[track_caller]
    pub(crate) fn assert_paid_once(&self, attempts: u64) {
        self.bank.settled();
        let payment = self.listed();
        assert_eq!((&payment["state"], &payment["attempts"]), (&json!("paid"), &json!(attempts)), "{payment}");
        assert_eq!(self.received(), 100_000);
        assert_eq!(self.bank.free_msat(&self.id), 900_000);
        self.bank.assert_sound();
    }

    /// Checks that the payment failed, that the session has its money again, and that the books agree.
    #[track_caller]
    pub(crate) fn assert_failed(&self) {
        assert_eq!(self.listed()["state"], "failed");
        assert_eq!(self.bank.free_msat(&self.id), 1_000_000);
        self.bank.assert_sound();
    }

    pub(crate) fn resolve(&self, how: &[&str], code: i32) {
        self.bank.guildhall(&[&["payments", "resolve", &self.hash], how].concat()).expect(code);
    }
}

#[test]
fn killed_before_the_request_arrives_then_paid_once_by_a_later_command() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayRequest(FOR_EVER));
    let running = refund.start();
    refund.until_sent(1);
    running.kill();
    assert_eq!(refund.received(), 0);
    refund.assert_paid_once(2);
}

#[test]
fn killed_before_the_reply_then_the_payment_is_found_and_not_repeated() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayReply(FOR_EVER));
    let running = refund.start();
    wait_for("the payment", || (refund.received() > 0).then_some(()));
    running.kill();
    // A person who is wrong can't take the money back.
    let wrong = refund.bank.guildhall(&["payments", "resolve", &refund.hash, "--failed"]).expect(6);
    wrong.says("shows payment").says("as paid");
    refund.assert_paid_once(1);
}

#[test]
fn killed_before_the_proof_is_stored_then_the_payment_is_found_and_not_repeated() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.bank.house.refuse("treasury_fact", "settled");
    let running = refund.start();
    wait_for("the payment", || (refund.received() > 0).then_some(()));
    running.showed("refused");
    running.kill();
    refund.bank.house.refuse_nothing();
    refund.assert_paid_once(1);
}

#[test]
fn a_request_that_arrives_after_its_process_was_killed_pays_nothing_more() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    refund.fail(PAY, Fault::DelayRequest(Duration::from_secs(3)));
    let running = refund.start();
    refund.until_sent(1);
    running.kill();
    refund.assert_paid_once(2);
    // The proxy lets the first request through after this time. Nothing shows that it came: the server must ignore it.
    sleep(Duration::from_secs(3));
    refund.assert_paid_once(2);
}

#[test]
fn a_pending_payment_that_succeeds_later_is_paid_once() {
    let Some(refund) = Refund::new(Route::Between) else { return };
    // LNbits waits 5 seconds for the other server, and then replies that the payment is pending.
    Bank::between().fail(&refund.invoice, Fault::DelayReply(Duration::from_secs(7)), Times::Once);
    let running = refund.start();
    wait_for("the payment", || (refund.received() > 0).then_some(()));
    assert_eq!(refund.listed()["state"], "unknown");
    running.end().expect(0);
    refund.assert_paid_once(1);
}

/// Makes the hall's server wait in vain for the other one. Returns when LNbits has said that the payment is pending.
fn hang(refund: &Refund, fault: Fault) {
    let between = Bank::between();
    between.fail(&refund.invoice, fault, Times::Once);
    between.fail(&refund.hash, Fault::Reply { status: 500, body: String::new() }, Times::Always);
    let running = refund.start();
    // After the pending reply, the payment is looked up. The second lookup shows that the first has ended nothing.
    refund.until_sent(1);
    let lookups = || refund.bank.proxy().count(&refund.lookup());
    let before = lookups();
    wait_for("two lookups", || (lookups() > before + 1).then_some(()));
    running.interrupt();
    running.end().expect(130).says("Its money stays held");
}

/// Lets the other server say that the payment failed, and LNbits hear it.
fn fail_at_the_other_server(refund: &Refund) {
    let between = Bank::between();
    between.heal_only(&refund.hash);
    let body = json!({"paid": false, "status": "failed"}).to_string();
    between.fail(&refund.hash, Fault::Reply { status: 200, body }, Times::Always);
    assert_eq!(look_at(refund)["status"], "failed");
}

/// Lets LNbits look at the payment, and returns what it says.
fn look_at(refund: &Refund) -> Value {
    let path = format!("/api/v1/payments/{}", refund.hash);
    refund.bank.server.request("GET", &path, &refund.bank.treasury.invoice_key, None).1
}

#[test]
fn a_pending_payment_that_fails_later_keeps_its_money_while_its_invoice_can_be_paid() {
    let Some(refund) = Refund::new(Route::Between) else { return };
    hang(&refund, Fault::DelayRequest(FOR_EVER));
    fail_at_the_other_server(&refund);
    // LNbits can turn a failed payment into a paid one. So only time, or a person, ends it.
    refund.assert_held();
    refund.resolve(&["--failed"], 0);
    assert_eq!(refund.received(), 0);
    refund.assert_failed();
}

#[test]
fn a_payment_that_is_pending_for_ever_keeps_its_money_until_a_person_says_that_it_failed() {
    let Some(refund) = Refund::new(Route::Between) else { return };
    hang(&refund, Fault::DelayRequest(FOR_EVER));
    refund.assert_held();
    assert_eq!(refund.bank.server.balance_msat(&refund.bank.treasury), 898_000, "LNbits keeps it, too");
    refund.resolve(&["--failed"], 0);
    refund.resolve(&["--failed"], 2);
    fail_at_the_other_server(&refund);
    refund.assert_failed();
}

#[test]
fn a_payment_that_is_pending_for_ever_keeps_its_money_until_a_person_proves_that_it_was_made() {
    let Some(refund) = Refund::new(Route::Between) else { return };
    hang(&refund, Fault::DelayReply(FOR_EVER));
    assert_eq!(refund.received(), 100_000);
    refund.assert_held();
    refund.resolve(&["--paid", &"00".repeat(32)], 2);
    refund.assert_held();
    refund.resolve(&["--paid", refund.row["preimage"].as_str().unwrap()], 0);
    Bank::between().heal_only(&refund.hash);
    assert_eq!(look_at(&refund)["paid"], true);
    refund.assert_paid_once(1);
}

#[test]
fn an_invoice_that_another_wallet_paid_is_not_booked_as_paid_by_the_hall() {
    for (route, words) in [(Route::Within, "Internal invoice already paid."), (Route::Between, "Payment already paid.")]
    {
        let Some(refund) = Refund::new(route) else { return };
        let stranger = refund.bank.server.wallet(1000);
        let body = json!({"out": true, "bolt11": refund.invoice});
        let (_, paid) = refund.bank.server.request("POST", "/api/v1/payments", &stranger.admin_key, Some(&body));
        assert_eq!(paid["status"], "success", "{paid}");
        let running = refund.start();
        running.showed(words);
        refund.until_sent(2);
        running.interrupt();
        running.end().expect(130);
        assert_eq!(refund.listed()["state"], "unknown");
        assert_eq!(refund.received(), 100_000, "from the other wallet");
        refund.resolve(&["--failed"], 0);
        refund.assert_failed();
    }
}

#[test]
fn a_reply_of_failed_for_a_paid_invoice_is_not_believed() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    // The first request pays, and its reply and the next lookup are lost. LNbits replies to the second request: failed.
    let unknown = || Fault::Reply { status: 404, body: json!({"detail": "Payment does not exist."}).to_string() };
    refund.fail(PAY, Fault::LoseReply);
    // The lookups before the payment is decided, before the first request, and twice before the second, which waits.
    for _ in 0..4 {
        refund.fail(&refund.lookup(), unknown());
    }
    let ended = refund.start().end().expect(0);
    ended.says("Internal invoice already paid.");
    refund.assert_paid_once(2);
}

#[test]
fn rows_that_do_not_prove_a_payment_are_not_believed() {
    let lies: [fn(&Refund) -> Value; 6] = [
        |_| json!({"status": "failed"}),
        |_| json!({"status": "pending"}),
        // The row of the payee.
        |_| json!({"amount": 100_000}),
        |refund| json!({"wallet_id": refund.bank.person.id}),
        |_| json!({"amount": -99_000}),
        |_| json!({"preimage": "00".repeat(32)}),
    ];
    for lie in lies {
        let Some(refund) = Refund::new(Route::Within) else { return };
        let mut row = refund.row.clone();
        row["status"] = json!("success");
        row["wallet_id"] = json!(refund.bank.treasury.id);
        row["amount"] = json!(-100_000);
        let lie = lie(&refund);
        row.as_object_mut().unwrap().extend(lie.as_object().unwrap().clone());
        // The server does not get the request.
        refund.fail(PAY, Fault::Reply { status: 201, body: row.to_string() });
        refund.start().end().expect(0);
        refund.assert_paid_once(2);
    }
}

/// Whether a process listens for connections.
fn listens(pid: u32) -> bool {
    let sockets = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let sockets = sockets.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let sockets: Vec<String> = sockets.filter_map(|link| link.to_str().map(str::to_owned)).collect();
    ["tcp", "tcp6"].iter().any(|table| {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap();
        table.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_of_process = |inode: &&str| sockets.contains(&format!("socket:[{inode}]"));
            fields.get(3) == Some(&"0A") && fields.get(9).is_some_and(is_of_process)
        })
    })
}

#[test]
fn no_webhook_is_registered_and_nothing_listens_for_one() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    bank.connect();
    let (waiting, id, invoice) = bank.start_funding(&["300sat"]);
    let lookups = || bank.proxy().count("GET /api/v1/payments/");
    let before = lookups();
    wait_for("a lookup", || (lookups() > before).then_some(()));
    assert!(!listens(waiting.pid()));
    assert!(bank.proxy().count("\"out\":false") > 0);
    assert_eq!(bank.proxy().count("webhook"), 0);
    let rows = bank.server.request("GET", "/api/v1/payments/paginated", &bank.treasury.invoice_key, None).1;
    let rows = rows["data"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["bolt11"] == json!(invoice)), "{rows:?}");
    assert!(rows.iter().all(|row| row["webhook"].is_null()), "{rows:?}");
    // The hall finds the payment by itself.
    bank.pay(&invoice);
    waiting.end().expect(0);
    assert_eq!(bank.free_msat(&id), 300_000);
    bank.assert_sound();
}

#[test]
fn a_forged_websocket_message_changes_nothing() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    bank.connect();
    let (waiting, id, invoice) = bank.start_funding(&["300sat"]);
    let decode = json!({ "data": invoice });
    let (_, decoded) = bank.server.request("POST", "/api/v1/payments/decode", "", Some(&decode));
    let hash = decoded["payment_hash"].as_str().unwrap();
    let forged = "%7B%22pending%22%3Afalse%2C%22status%22%3A%22success%22%7D";
    for channel in [hash, &bank.treasury.invoice_key, &bank.treasury.admin_key] {
        let path = format!("/api/v1/ws/{channel}?data={forged}");
        assert_eq!(bank.server.request("POST", &path, "", None).0, 200);
    }
    let lookups = || bank.proxy().count(&format!("GET /api/v1/payments/{hash} "));
    let before = lookups();
    wait_for("two lookups", || (lookups() > before + 1).then_some(()));
    assert_eq!(bank.proxy().count("/api/v1/ws"), 0, "nothing listens");
    assert_eq!(bank.free_msat(&id), 0);
    waiting.interrupt();
    waiting.end().expect(130);
    bank.assert_sound();
}

#[test]
fn an_invoice_that_is_paid_after_it_has_expired_is_credited() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    let id = bank.funded(500);
    // The hall's invoices are valid for an hour. This one is not.
    let body = json!({"out": false, "unit": "sat", "amount": 40, "memo": "short", "expiry": 13});
    let (_, row) = bank.server.request("POST", "/api/v1/payments", &bank.treasury.invoice_key, Some(&body));
    let reply = Fault::Reply { status: 201, body: row.to_string() };
    bank.proxy().fail(&format!("Guildhall session {id}"), reply, Times::Once);
    let made = bank.guildhall(&["fund", "40sat", "--session", &id, "--no-wait", "--output", "json"]).expect(0).json();
    assert_eq!(made["invoice"], row["bolt11"]);
    let expires = UNIX_EPOCH + Duration::from_millis(made["expires"].as_u64().unwrap());
    wait_for("the end of the invoice", || (SystemTime::now() > expires).then_some(()));
    bank.pay(made["invoice"].as_str().unwrap());
    // Any command that uses the wallet credits it.
    let (waiting, ..) = bank.start_funding(&["1sat", "--session", &id]);
    wait_for("the late payment", || (bank.free_msat(&id) == 540_000).then_some(()));
    waiting.interrupt();
    waiting.end().expect(130);
    bank.assert_sound();
}

#[test]
fn an_invoice_of_the_wallet_for_another_amount_is_not_shown() {
    let Some(bank) = Bank::new(&nothing(), Route::Within) else { return };
    let id = bank.funded(500);
    let body = json!({"out": false, "unit": "sat", "amount": 41, "memo": "more", "expiry": 600});
    let (_, row) = bank.server.request("POST", "/api/v1/payments", &bank.treasury.invoice_key, Some(&body));
    let reply = Fault::Reply { status: 201, body: row.to_string() };
    bank.proxy().fail(&format!("Guildhall session {id}"), reply, Times::Once);
    let refused = bank.guildhall(&["fund", "40sat", "--session", &id]).expect(6).says("another amount");
    assert!(!refused.stdout.contains("lnbc"), "{}", refused.stdout);
    bank.assert_sound();
}

#[test]
fn invoices_that_can_not_be_paid_are_refused_and_nothing_moves() {
    let Some(refund) = Refund::new(Route::Within) else { return };
    let bank = &refund.bank;
    let made = bank.guildhall(&["fund", "10sat", "--session", &refund.id, "--no-wait", "--output", "json"]).json();
    // LNbits makes an invoice without an amount of this.
    let body = json!({"out": false, "amount": 0.5, "memo": "refund", "expiry": 600});
    let (_, half) = bank.others.request("POST", "/api/v1/payments", &bank.person.invoice_key, Some(&body));
    let text = |row: &Value| row["bolt11"].as_str().unwrap().to_owned();
    // Made with the keys of the hall's wallet, and not by `fund`.
    let body = json!({"out": false, "amount": 100, "memo": "mine", "expiry": 600});
    let (_, mine) = bank.server.request("POST", "/api/v1/payments", &bank.treasury.invoice_key, Some(&body));
    for (invoice, reason) in [
        (made["invoice"].as_str().unwrap().to_owned(), "made by the wallet of this hall"),
        (text(&mine), "made by the wallet of this hall"),
        (text(&half), "no amount"),
        (TESTNET.to_owned(), "network"),
        (text(&bank.invoice_row(100, 1)), "expired"),
        (text(&bank.invoice_row(100, 60 * 60 * 25)), "more than a day"),
    ] {
        bank.guildhall(&["close", &refund.id, "--to", &invoice]).expect(2).says(reason);
    }
    let large = bank.invoice(2000);
    bank.guildhall(&["close", &refund.id, "--to", &large]).expect(6).says("make an invoice for at most");
    let typed = format!("{}x", refund.invoice);
    bank.guildhall(&["close", &refund.id, "--to", &typed]).expect(2).says("not a Lightning invoice");
    assert_eq!((bank.proxy().count(PAY), bank.payments().len()), (0, 0));
    assert_eq!(bank.free_msat(&refund.id), 1_000_000);
    bank.assert_sound();
}
