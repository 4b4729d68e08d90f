//! Replies that are lost, late or false between the client and its server.

use std::time::{Duration, Instant};

use guildhall_kernel::{RowStatus, WalletReply};
use guildhall_lightning::LightningError;
use guildhall_lnbits_peer::{Fault, PeerWallet, Proxy, Times};

use crate::{client, found, invoice, new_wallet, sat, unclear, unclear_words, world};

/// A sender behind a proxy, and a payee.
struct Payment {
    proxy: Proxy,
    sender: guildhall_lightning::Lnbits,
    wallet: PeerWallet,
    payee: guildhall_lightning::Lnbits,
}

fn payment() -> Option<Payment> {
    let world = world()?;
    let wallet = world.a.wallet(100);
    let proxy = Proxy::start(world.a.address());
    let (_, payee) = new_wallet(&world.a, 0);
    Some(Payment { sender: client(&proxy.url(), &wallet), proxy, wallet, payee })
}

#[tokio::test]
async fn a_lost_request_is_unclear_and_pays_nothing() {
    let Some(Payment { proxy, sender, payee, .. }) = payment() else { return };
    let asked = invoice(&payee, 10).await;
    proxy.fail("POST", Fault::LoseRequest, Times::Once);
    assert!(matches!(unclear(sender.pay(&asked.text).await), LightningError::NoReply { .. }));
    assert_eq!(proxy.count("POST"), 1, "the client repeats nothing by itself");
    assert_eq!(sender.look_up(asked.payment).await.reply, WalletReply::NotFound);
    assert_eq!(sender.balance().await, Ok(sat(100)));
}

#[tokio::test]
async fn a_lost_or_cut_reply_is_unclear_although_the_payment_was_made() {
    let Some(Payment { proxy, sender, payee, .. }) = payment() else { return };
    for (fault, left) in [(Fault::LoseReply, 90), (Fault::CutReply, 80)] {
        let asked = invoice(&payee, 10).await;
        proxy.fail("POST", fault, Times::Once);
        assert!(matches!(unclear(sender.pay(&asked.text).await), LightningError::NoReply { .. }));
        assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Success);
        assert_eq!(sender.balance().await, Ok(sat(left)));
    }
    assert_eq!(proxy.count("POST"), 2);
}

#[tokio::test]
async fn a_late_reply_is_unclear_after_the_limit() {
    let Some(Payment { proxy, sender, payee, .. }) = payment() else { return };
    let asked = invoice(&payee, 10).await;
    let sender = sender.with_request_wait(Duration::from_secs(1));
    proxy.fail("POST", Fault::DelayReply(Duration::from_secs(20)), Times::Once);
    let start = Instant::now();
    assert!(matches!(unclear(sender.pay(&asked.text).await), LightningError::NoReply { .. }));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Success);
}

#[tokio::test]
async fn a_request_that_arrives_twice_pays_once() {
    let Some(Payment { proxy, sender, payee, .. }) = payment() else { return };
    let asked = invoice(&payee, 60).await;
    proxy.fail("POST", Fault::Double, Times::Once);
    assert_eq!(unclear_words(sender.pay(&asked.text).await), "Internal invoice already paid.");
    assert_eq!(sender.balance().await, Ok(sat(40)));
}

#[tokio::test]
async fn a_false_reply_to_a_request_to_pay_is_unclear() {
    let Some(Payment { proxy, sender, payee, wallet }) = payment() else { return };
    let asked = invoice(&payee, 1).await;
    let redirect = (307, String::new());
    let echo = (500, format!("{{\"detail\":\"key {} failed\"}}", wallet.admin_key));
    let replies = [
        (200, "{}".to_owned()),
        (201, "{}".to_owned()),
        (201, "{\"payment_hash\":".to_owned()),
        (404, "<html>nginx</html>".to_owned()),
        (404, r#"{"detail":"Payment does not exist."}"#.to_owned()),
        (400, r#"{"detail":"Payment already exists"}"#.to_owned()),
        (429, r#"{"error":"Rate limit exceeded"}"#.to_owned()),
        (502, "Bad Gateway".to_owned()),
        (520, r#"{"detail":"Payment failed: no route","status":"failed"}"#.to_owned()),
        redirect,
        echo,
    ];
    for (status, body) in replies {
        proxy.fail("POST", Fault::FalseReply { status, body: body.clone() }, Times::Once);
        let trouble = unclear(sender.pay(&asked.text).await).to_string();
        assert!(!trouble.contains(&wallet.admin_key), "{trouble}");
    }
    assert_eq!(sender.balance().await, Ok(sat(99)));
}

#[tokio::test]
async fn a_false_reply_to_a_lookup_is_unclear() {
    let Some(Payment { proxy, sender, payee, wallet }) = payment() else { return };
    let (asked, other) = (invoice(&payee, 10).await, invoice(&payee, 10).await);
    found(sender.pay(&asked.text).await);
    for (status, body) in [
        (404, "404 page not found"),
        (404, r#"{"detail":"Not Found"}"#),
        (404, r#"{"detail":"Wallet not found."}"#),
        (200, r#"{"paid":true,"preimage":"00"}"#),
        (503, r#"{"detail":"Payment does not exist."}"#),
        (429, ""),
    ] {
        proxy.fail("GET", Fault::Reply { status, body: body.to_owned() }, Times::Once);
        unclear(sender.look_up(asked.payment).await);
    }
    // The row of another payment.
    let path = format!("/api/v1/payments/{}", asked.payment);
    let (_, row) = world().unwrap().a.request("GET", &path, &wallet.invoice_key, None);
    assert_eq!(row["paid"], true);
    proxy.fail("GET", Fault::Reply { status: 200, body: row.to_string() }, Times::Once);
    unclear(sender.look_up(other.payment).await);

    // A program that says of everything that it does not exist does not know our key.
    let body = r#"{"detail":"Payment does not exist."}"#.to_owned();
    proxy.fail("GET", Fault::Reply { status: 404, body }, Times::Always);
    unclear(sender.look_up(other.payment).await);
    proxy.heal();
    assert_eq!(sender.look_up(other.payment).await.reply, WalletReply::NotFound);
}

#[tokio::test]
async fn no_key_follows_a_redirect() {
    let Some(Payment { proxy, sender, payee, .. }) = payment() else { return };
    let asked = invoice(&payee, 10).await;
    let elsewhere = Proxy::start(world().unwrap().a.address());
    for path in ["wallet", "payments"] {
        proxy.fail(path, Fault::Redirect(format!("{}/api/v1/{path}", elsewhere.url())), Times::Always);
    }
    assert!(matches!(sender.balance().await, Err(LightningError::NotLnbits { status: 307, .. })));
    unclear(sender.look_up(asked.payment).await);
    unclear(sender.pay(&asked.text).await);
    assert_eq!((proxy.count(""), elsewhere.count("")), (3, 0));
    proxy.heal();
    assert_eq!(sender.balance().await, Ok(sat(100)));
}
