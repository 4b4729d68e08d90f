//! Invoices that the wallet makes.

use std::time::{Duration, SystemTime};

use guildhall_kernel::{Msat, Network, Row, RowStatus};
use guildhall_lightning::{LightningError, Lnbits, MEMO_BYTES_MAX};
use guildhall_lnbits_peer::{Fault, Proxy, Times};

use crate::{client, found, id, invoice, key, new_wallet, sat, url, world};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn an_invoice_has_what_was_asked_for_and_is_paid_once() {
    let Some(world) = world() else { return };
    for peer in [&world.a, &world.b] {
        let wallet = peer.wallet(0);
        let payee = Lnbits::new(url(&peer.url()), key(&wallet.invoice_key), None).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let made = payee.invoice(sat(250), "für \"Prüfung\" 🙂", HOUR).await.unwrap();
        assert_eq!((made.money, made.network), (Some(sat(250)), Network::Bitcoin));
        let valid = u128::from(made.expires.0) - now;
        assert!((3_590_000..3_610_000).contains(&valid), "{valid} ms");

        let row = found(payee.look_up(made.payment).await);
        let expected = Row {
            payment: made.payment,
            wallet: id(&wallet),
            is_outgoing: false,
            money: sat(250),
            fee: sat(0),
            status: RowStatus::Pending,
            preimage: row.preimage,
            at: row.at,
        };
        assert_eq!(row, expected);
        assert!(u128::from(row.at.0).abs_diff(now) < 60_000, "{row:?} at {now}");

        // A wallet of the same server pays.
        let (_, sender) = new_wallet(peer, 1_000);
        found(sender.pay(&made.text).await);
        let row = found(payee.look_up(made.payment).await);
        assert_eq!(row.status, RowStatus::Success);
        assert_eq!(row.preimage.map(|(_, of)| of), Some(made.payment));
        assert_eq!(payee.balance().await, Ok(sat(250)));
    }
}

#[tokio::test]
async fn what_lnbits_would_round_or_misread_is_refused_before_the_request() {
    let Some(world) = world() else { return };
    let wallet = world.a.wallet(0);
    let proxy = Proxy::start(world.a.address());
    let client = client(&proxy.url(), &wallet);
    for msat in [0, 1, 500, 1_900, 2_100_000_000_000_000_000 - 1] {
        let money = Msat::new(msat).unwrap();
        assert_eq!(client.invoice(money, "", HOUR).await, Err(LightningError::NotWholeSats { money }));
    }
    let long = "ü".repeat(MEMO_BYTES_MAX / 2 + 1);
    assert!(matches!(client.invoice(sat(1), &long, HOUR).await, Err(LightningError::LongMemo { .. })));
    for expiry in [Duration::ZERO, Duration::from_millis(900), HOUR * 25] {
        assert_eq!(client.invoice(sat(1), "", expiry).await, Err(LightningError::Expiry));
    }
    assert_eq!(proxy.count(""), 0);
    let too_much = client.invoice(sat(2_100_000_000_000_000), "", HOUR).await.unwrap_err();
    assert!(too_much.to_string().contains("too high"), "{too_much}");
    let longest = "ü".repeat(MEMO_BYTES_MAX / 2);
    client.invoice(sat(1), &longest, HOUR * 24).await.unwrap();
}

#[tokio::test]
async fn an_invoice_for_another_amount_or_payment_is_refused() {
    let Some(world) = world() else { return };
    let (wallet, honest) = new_wallet(&world.a, 0);
    let proxy = Proxy::start(world.a.address());
    let client = client(&proxy.url(), &wallet);
    let (_, other) = world.a.request(
        "POST",
        "/api/v1/payments",
        &wallet.invoice_key,
        Some(&serde_json::json!({ "out": false, "amount": 10 })),
    );
    let lie = |row: &serde_json::Value| Fault::Reply { status: 201, body: row.to_string() };
    proxy.fail("POST", lie(&other), Times::Once);
    assert_eq!(client.invoice(sat(11), "", HOUR).await, Err(LightningError::OtherAmount { asked: sat(11) }));
    let mut changed = other.clone();
    changed["bolt11"] = invoice(&honest, 10).await.text.into();
    proxy.fail("POST", lie(&changed), Times::Once);
    assert!(matches!(client.invoice(sat(10), "", HOUR).await, Err(LightningError::NotLnbits { .. })));
    changed["bolt11"] = "lnbc1".into();
    proxy.fail("POST", lie(&changed), Times::Once);
    assert!(matches!(client.invoice(sat(10), "", HOUR).await, Err(LightningError::Invoice(_))));
    proxy.fail("POST", lie(&other), Times::Once);
    client.invoice(sat(10), "", HOUR).await.unwrap();
}
