//! Sessions with the money of a wallet, against real LNbits servers.

use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use guildhall::kernel::{FailedBecause, Millis, PayeeName, Payer, PaymentEnd, SessionKind};
use guildhall::lightning::{Lnbits, PlainHttp, WalletKey, WalletUrl};
use guildhall::local::unix_now;
use guildhall::providers::Rate;
use guildhall::roster::Source;
use guildhall::{
    AgentName, DatedRate, Entry, Funding, FundingEnd, Hall, HallBuilder, HallError, Models, Msat, Outcome, Payee,
    Payouts, Prompt, REHEARSAL_PRICE, Reply, Resolution, Roster, TreasuryLimits, WalletError, model_fn,
};
use guildhall_lnbits_peer::{Fault, Funding as PeerFunding, LnbitsPeer, PeerWallet, Proxy, Times};
use serde_json::{Value, json};
use tempfile::TempDir;

static SERVER: LazyLock<Option<LnbitsPeer>> =
    LazyLock::new(|| LnbitsPeer::can_run().then(|| LnbitsPeer::start(PeerFunding::Fake)));

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn key(text: &str) -> WalletKey {
    WalletKey::new(text).unwrap()
}

fn address(server: &LnbitsPeer) -> WalletUrl {
    WalletUrl::parse(&server.url(), PlainHttp::Loopback).unwrap()
}

/// A hall with a wallet, a person's wallet with 100,000 sat, and the wallet of the payee ada.
struct World {
    server: &'static LnbitsPeer,
    project: TempDir,
    _team: TempDir,
    roster: Roster,
    treasury: PeerWallet,
    person: PeerWallet,
    ada: PeerWallet,
}

impl World {
    /// `None` if this machine can't run LNbits. Then the reason was printed.
    fn new() -> Option<World> {
        let server = SERVER.as_ref()?;
        let (project, team) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(project.path().join("notes.md"), "On Tuesday.").unwrap();
        let files = [
            ("lead", "delegation:\n  team: [ada, bob]\n  accept: {files: [notes.md]}\n"),
            ("ada", "budget:\n  fee: 150sat\n"),
            ("bob", "budget:\n  fee: 150sat\n"),
        ];
        for (name, rest) in files {
            let text = format!("---\nname: {name}\ndescription: Does a part.\n{rest}---\nYou are {name}.\n");
            fs::write(team.path().join(format!("{name}.md")), text).unwrap();
        }
        let roster = Roster::load(&[Source::Named(team.path().to_owned())]);
        let (treasury, person, ada) = (server.wallet(0), server.wallet(100_000), server.wallet(0));
        Some(World { server, project, _team: team, roster, treasury, person, ada })
    }

    fn builder(&self) -> HallBuilder {
        let usd_per_btc = Rate::parse("100000").unwrap();
        let models = Models::new(DatedRate { usd_per_btc, date: "2099-01-01".to_owned() });
        Hall::builder()
            .project(self.project.path())
            .models(models)
            .model("clerk", model_fn(|prompt| async move { reply(&prompt) }), REHEARSAL_PRICE)
            .roster(self.roster.clone())
            .wallet_keys(key(&self.treasury.invoice_key), Some(key(&self.treasury.admin_key)))
    }

    fn hall(&self) -> Hall {
        self.paying_ada(self.builder(), &self.ada)
    }

    /// A hall that pays the fees of ada to a wallet.
    fn paying_ada(&self, builder: HallBuilder, wallet: &PeerWallet) -> Hall {
        let wallet = Lnbits::new(address(self.server), key(&wallet.invoice_key), None).unwrap();
        let (agent, name) = (AgentName::parse("ada").unwrap(), PayeeName::parse("ada").unwrap());
        builder.payee(agent, name, Payee { wallet: Some(wallet), fee_max: sat(120) }).build().unwrap()
    }

    /// The person pays an invoice.
    fn pay(&self, invoice: &str) {
        let body = json!({"out": true, "bolt11": invoice});
        let (status, reply) = self.server.request("POST", "/api/v1/payments", &self.person.admin_key, Some(&body));
        assert_eq!(status, 201, "{reply}");
    }

    /// An invoice of the person.
    fn invoice(&self, sats: u64) -> String {
        self.invoice_row(sats, 600)["bolt11"].as_str().unwrap().to_owned()
    }

    /// An invoice of the person that expires after some seconds, with everything that LNbits says about it.
    fn invoice_row(&self, sats: u64, expiry: u64) -> Value {
        let body = json!({"out": false, "amount": sats, "memo": "refund", "expiry": expiry});
        self.server.request("POST", "/api/v1/payments", &self.person.invoice_key, Some(&body)).1
    }

    /// A hall that is connected, with a session that has this much.
    async fn funded(&self, sats: u64) -> (Hall, Funding) {
        let hall = self.hall();
        hall.connect_wallet(address(self.server)).await.unwrap();
        let funding = hall.fund(None, sat(sats)).await.unwrap();
        self.pay(&funding.invoice);
        assert_eq!(hall.wait_for_funding(&funding).await.unwrap(), FundingEnd::Paid { free: sat(sats) });
        (hall, funding)
    }
}

/// The lead hires both specialists, and reports when they have reported.
fn reply(prompt: &Prompt) -> Reply {
    let hire = |name: &str| json!({"specialty": name, "task": "When is the meeting?", "budget": 300});
    if !prompt.opening.system().starts_with("You are lead") {
        return Reply::words("On Tuesday.");
    }
    match prompt.last_result() {
        None => Reply::call("delegate_task", hire("ada")).and_call("delegate_task", hire("bob")),
        Some(_) => Reply::words("On Tuesday, they say."),
    }
}

/// Waits until a journal is closed: then its log is empty.
async fn until_closed(data: &Path) {
    let closed = async {
        while fs::metadata(data.join("journal.db-wal")).is_ok_and(|log| log.len() > 0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), closed).await.expect("the journal is closed in time");
}

#[track_caller]
fn wallet_error(result: Result<impl Sized, HallError>) -> WalletError {
    match result {
        Err(HallError::Wallet(why)) => why,
        Err(why) => panic!("{why}"),
        Ok(_) => panic!("the wallet refused nothing"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_funded_session_works_pays_its_specialist_and_refunds_the_rest() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(2000).await;
    hall.set_payouts(Payouts::On).await.unwrap();
    let ended = hall.run("When is the meeting?").within(funding.session.clone()).budget(sat(1500)).await.unwrap();
    assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, "On Tuesday, they say."));
    assert!(ended.violations.is_empty(), "{:?}", ended.violations);

    // The fee is capped at 120 sat. Of that, 117 sat can be paid with a fee limit of 2 sat, in whole sats.
    let paid = hall.payments().await.unwrap();
    assert_eq!(paid.len(), 1, "bob is not a payee: {paid:?}");
    assert_eq!((&paid[0].from, paid[0].money), (&Payer::Payee(PayeeName::parse("ada").unwrap()), sat(118)));
    assert!(matches!(paid[0].end, Some(PaymentEnd::Settled { fee: Msat::ZERO, .. })), "{paid:?}");
    assert_eq!(world.server.balance_msat(&world.ada), 118_000);

    let quote = hall.refund_quote(&funding.session).await.unwrap();
    assert!(quote.free > sat(500) && quote.payable < quote.free, "{quote:?}");
    let before = world.server.balance_msat(&world.person);
    let refund = hall.refund(&funding.session, &world.invoice(quote.payable.get() / 1000)).await.unwrap();
    let view = hall.wait_for_payment(refund.payment, Duration::from_secs(30)).await.unwrap();
    assert!(matches!(view.end, Some(PaymentEnd::Settled { .. })), "{view:?}");
    let received = world.server.balance_msat(&world.person) - before;
    assert_eq!(u64::try_from(received).unwrap(), quote.payable.get());

    let ledger = hall.ledger().await.unwrap();
    assert_eq!(ledger.balances.values().sum::<i128>(), 0);
    assert_eq!(ledger.in_wallet(), i128::from(world.server.balance_msat(&world.treasury)), "to the msat");
    let session = ledger.balances[&Entry::Session(funding.session.clone())];
    assert_eq!(session, i128::from(hall.journal().folded_account(&funding.session).await.unwrap().free().get()));
    let findings = hall.verify(None, None).await.unwrap();
    assert!(findings.is_sound(), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_alone_funds_no_wallet_session() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(1000).await;
    let session = funding.session.clone();
    let refused = hall.run("When?").within(session.clone()).budget(sat(1001)).await;
    assert!(matches!(refused, Err(HallError::Account(_) | HallError::Journal(_))), "{refused:?}");
    let account = hall.journal().folded_account(&session).await.unwrap();
    assert_eq!((account.free(), account.at_work()), (sat(1000), Msat::ZERO));
    assert!(matches!(account.kind(), SessionKind::Wallet(_)));
    let ended = hall.run("When?").within(session.clone()).budget(sat(900)).await.unwrap();
    let more = hall.run("And where?").after(session.clone()).budget(sat(2000)).await;
    assert!(more.is_err(), "a continued session has no more than its money: {more:?}");
    assert_eq!(ended.session, session);
}

#[tokio::test(flavor = "multi_thread")]
async fn cloned_repo_pays_nobody() {
    let Some(world) = World::new() else { return };
    // The same agents with fees, and no payee in the operator's settings.
    let hall = world.builder().build().unwrap();
    hall.connect_wallet(address(world.server)).await.unwrap();
    hall.set_payouts(Payouts::On).await.unwrap();
    let funding = hall.fund(None, sat(2000)).await.unwrap();
    world.pay(&funding.invoice);
    hall.wait_for_funding(&funding).await.unwrap();
    let ended = hall.run("When?").within(funding.session.clone()).budget(sat(1500)).await.unwrap();
    assert_eq!(ended.report.outcome, Outcome::Done);
    assert_eq!(hall.payments().await.unwrap(), []);
    assert_eq!(hall.treasury().await.unwrap().payees().count(), 0, "nothing was earned");
    assert!(hall.verify(None, None).await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_invoice_is_credited_though_its_root_has_closed() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(1500).await;
    let more = hall.fund(Some(&funding.session), sat(300)).await.unwrap();
    hall.run("When?").within(funding.session.clone()).budget(sat(1500)).await.unwrap();
    let free = hall.journal().folded_account(&funding.session).await.unwrap().free();
    world.pay(&more.invoice);
    let FundingEnd::Paid { free: after } = hall.wait_for_funding(&more).await.unwrap() else { panic!("paid") };
    assert_eq!(after.get(), free.get() + 300_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_backup_freezes_payouts() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(2000).await;
    let data = world.project.path().join(".guildhall/hall");
    let backup = tempfile::tempdir().unwrap();
    drop(hall);
    until_closed(&data).await;
    fs::copy(data.join("journal.db"), backup.path().join("journal.db")).unwrap();
    let hall = world.hall();
    let refund = hall.refund(&funding.session, &world.invoice(500)).await.unwrap();
    let view = hall.wait_for_payment(refund.payment, Duration::from_secs(30)).await.unwrap();
    assert!(view.end.is_some(), "{view:?}");
    drop(hall);
    until_closed(&data).await;
    fs::copy(backup.path().join("journal.db"), data.join("journal.db")).unwrap();
    let hall = world.hall();
    let again = hall.refund(&funding.session, &world.invoice(500)).await.unwrap();
    let view = hall.wait_for_payment(again.payment, Duration::from_secs(5)).await.unwrap();
    assert_eq!((view.end, view.attempts), (None, 0), "nothing leaves");
    assert_eq!(hall.wallet().await.unwrap().frozen.len(), 1);
    hall.set_payouts(Payouts::On).await.unwrap();
    assert_eq!(hall.wallet().await.unwrap().frozen.len(), 1, "payees are another matter");
    let unknown = hall.accept_payments(&[again.payment]).await.unwrap_err().to_string();
    assert!(unknown.contains("wait to be accepted"), "{unknown}");
    hall.accept_payments(&[refund.payment]).await.unwrap();
    let view = hall.wait_for_payment(again.payment, Duration::from_secs(30)).await.unwrap();
    assert!(matches!(view.end, Some(PaymentEnd::Settled { .. })), "a person has accepted it: {view:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payee_with_the_wallet_of_the_hall_is_not_paid_and_the_reason_is_said_once() {
    let Some(world) = World::new() else { return };
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&warnings);
    let builder = world.builder().warn(Arc::new(move |line| heard.lock().unwrap().push(line.to_owned())));
    let hall = world.paying_ada(builder, &world.treasury);
    hall.connect_wallet(address(world.server)).await.unwrap();
    let funding = hall.fund(None, sat(2000)).await.unwrap();
    world.pay(&funding.invoice);
    hall.wait_for_funding(&funding).await.unwrap();
    hall.set_payouts(Payouts::On).await.unwrap();
    hall.run("When is the meeting?").within(funding.session.clone()).budget(sat(1500)).await.unwrap();
    hall.settle_payments(Duration::from_secs(5)).await.unwrap();
    assert_eq!(hall.payments().await.unwrap(), [], "no money is held for a payment that can't be made");
    let owed: Vec<Msat> = hall.treasury().await.unwrap().payees().map(|(_, account)| account.owed).collect();
    assert_eq!(owed, [sat(120)]);
    let warnings = warnings.lock().unwrap();
    let said = warnings.iter().filter(|line| line.contains("made by the wallet of this hall")).count();
    // Two processes in turn: the run, and the command after it.
    assert!((1..=2).contains(&said), "{warnings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_the_admin_key_leaves_payments_to_a_process_that_has_it() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(1000).await;
    let open = hall.fund(Some(&funding.session), sat(100)).await.unwrap();
    let refund = hall.refund(&funding.session, &world.invoice(200)).await.unwrap();
    let keyless = world.builder().wallet_keys(key(&world.treasury.invoice_key), None).build().unwrap();
    // It waits for an invoice, and so asks the wallet for as long as the test runs.
    let waiting = tokio::spawn(async move { keyless.wait_for_funding(&open).await });
    tokio::time::timeout(Duration::from_secs(30), async {
        while hall.journal().treasury_holder().await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the process without the key asks the wallet");
    let view = hall.wait_for_payment(refund.payment, Duration::from_secs(30)).await.unwrap();
    assert!(matches!(view.end, Some(PaymentEnd::Settled { .. })), "{view:?}");
    waiting.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_that_are_made_at_the_same_time_stay_within_the_limit() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(1000).await;
    let session = Some(&funding.session);
    let (one, two) = tokio::join!(hall.fund(session, sat(6000)), hall.fund(session, sat(6000)));
    assert!(one.is_ok() != two.is_ok(), "{one:?}, {two:?}");
    let refused = wallet_error(one.and(two));
    assert!(
        matches!(refused, WalletError::SessionLimit { wanted, most, .. } if (wanted, most) == (sat(13_000), sat(10_000))),
        "{refused}"
    );
    let alone = wallet_error(hall.fund(None, sat(10_001)).await);
    assert!(matches!(alone, WalletError::SessionLimit { .. }), "{alone}");
}

/// Loses all requests to pay, and returns how the payment ended some time after its invoice had expired. `row` makes the reply to
/// each lookup from the person's invoice; without it, LNbits replies.
async fn ended_after_its_invoice(world: &World, row: Option<fn(&World, Value) -> Value>) {
    let (hall, funding) = world.funded(1000).await;
    drop(hall);
    let proxy = Proxy::start(world.server.address());
    let failed_after = Millis(500);
    let hall = world.builder().treasury_limits(TreasuryLimits { failed_after, ..TreasuryLimits::default() });
    let hall = hall.build().unwrap();
    hall.connect_wallet(WalletUrl::parse(&proxy.url(), PlainHttp::Loopback).unwrap()).await.unwrap();
    let invoice = world.invoice_row(100, 14);
    proxy.fail("\"out\":true", Fault::LoseRequest, Times::Always);
    let refund = hall.refund(&funding.session, invoice["bolt11"].as_str().unwrap()).await.unwrap();
    let held = hall.wait_for_payment(refund.payment, Duration::from_secs(2)).await.unwrap();
    assert!(held.end.is_none() && held.attempts > 0, "{held:?}");
    if let Some(row) = row {
        let body = json!({"paid": false, "status": "failed", "details": row(world, invoice)}).to_string();
        let part = format!("GET /api/v1/payments/{} ", refund.payment);
        proxy.fail(&part, Fault::Reply { status: 200, body }, Times::Always);
    }
    let view = loop {
        let view = hall.wait_for_payment(refund.payment, Duration::from_secs(3)).await.unwrap();
        let has_expired = unix_now() > view.expires.after(failed_after);
        assert!(view.end.is_none() || has_expired, "the invoice could still be paid");
        if has_expired {
            break hall.wait_for_payment(refund.payment, Duration::from_secs(20)).await.unwrap();
        }
    };
    assert_eq!(view.end, Some(PaymentEnd::Failed(FailedBecause::Expired)));
    assert_eq!(hall.refund_quote(&funding.session).await.unwrap().free, sat(1000));
    let ledger = hall.ledger().await.unwrap();
    assert_eq!(ledger.in_wallet(), i128::from(world.server.balance_msat(&world.treasury)), "to the msat");
    assert!(hall.verify(None, None).await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_the_wallet_does_not_have_fails_some_time_after_its_invoice() {
    let Some(world) = World::new() else { return };
    ended_after_its_invoice(&world, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_the_wallet_calls_failed_fails_some_time_after_its_invoice() {
    let Some(world) = World::new() else { return };
    let failed = |world: &World, mut row: Value| {
        row["status"] = json!("failed");
        row["wallet_id"] = json!(world.treasury.id);
        row["amount"] = json!(-100_000);
        row
    };
    ended_after_its_invoice(&world, Some(failed)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_invoices_amounts_and_keys_are_refused_with_the_reason_and_nothing_moves() {
    let Some(world) = World::new() else { return };
    let (hall, funding) = world.funded(1000).await;
    let session = &funding.session;
    let (own, used) = (hall.fund(Some(session), sat(10)).await.unwrap().invoice, world.invoice(1));
    hall.refund(session, &used).await.unwrap();
    let reasons = [
        (own, "made by the wallet of this hall"),
        (world.invoice(2000), "make an invoice for at most"),
        ("lnbc1garbage".to_owned(), "not a Lightning invoice"),
        (String::new(), "empty"),
    ];
    for (invoice, reason) in reasons {
        let why = wallet_error(hall.refund(session, &invoice).await).to_string();
        assert!(why.contains(reason), "{invoice}: {why}");
    }
    let again = hall.refund(session, &used).await;
    assert!(again.is_err(), "an invoice is used once");
    let limit = wallet_error(hall.fund(Some(session), sat(9_500)).await);
    assert!(matches!(limit, WalletError::SessionLimit { .. }), "{limit}");
    for amount in [Msat::ZERO, Msat::new(500).unwrap(), Msat::new(1_500).unwrap()] {
        assert!(hall.fund(Some(session), amount).await.is_err(), "{amount}");
    }
    assert!(Resolution::paid("12").is_err());

    let keys = [(&world.treasury.admin_key, None), (&world.person.invoice_key, Some(&world.treasury.admin_key))];
    for (invoice_key, admin_key) in keys {
        let other = world.builder().wallet_keys(key(invoice_key), admin_key.map(|text| key(text))).build().unwrap();
        let why = wallet_error(other.connect_wallet(address(world.server)).await);
        assert!(matches!(why, WalletError::Server(_)), "{why}");
    }
    let stranger = world.builder().wallet_keys(key(&world.person.invoice_key), None).build().unwrap();
    assert!(stranger.connect_wallet(address(world.server)).await.is_err(), "a hall keeps its wallet");
}
