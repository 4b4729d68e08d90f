//! The wallet of the keys, and keys that are wrong.

use guildhall_kernel::{Hash, Network, PaymentHash, UnixMs, WalletReply};
use guildhall_lightning::{KeyKind, LightningError, Lnbits, PlainHttp, WalletIdentity, WalletUrl};
use guildhall_lnbits_peer::{Fault, Proxy, Times};

use crate::{client, found, id, invoice, key, new_wallet, refusal, sat, unclear, url, world};

#[tokio::test]
async fn a_wallet_is_identified_by_its_keys() {
    let Some(world) = world() else { return };
    for peer in [&world.a, &world.b] {
        let (wallet, both) = new_wallet(peer, 0);
        let only_invoice = Lnbits::new(url(&peer.url()), key(&wallet.invoice_key), None).unwrap();
        let expected = WalletIdentity { wallet: id(&wallet), network: Network::Bitcoin };
        assert_eq!(both.identify().await, Ok(expected.clone()));
        assert_eq!(only_invoice.identify().await, Ok(expected));
        assert_eq!(both.balance().await, Ok(sat(0)));
        peer.mint(&wallet, 77);
        assert_eq!(both.balance().await, Ok(sat(77)));
    }
}

#[tokio::test]
async fn identify_says_which_key_is_wrong_and_how() {
    let Some(world) = world() else { return };
    let (wallet, _) = new_wallet(&world.a, 0);
    let (other, _) = new_wallet(&world.a, 0);
    let identify = async |invoice_key: &str, admin_key: Option<&str>| {
        let client = Lnbits::new(url(&world.a.url()), key(invoice_key), admin_key.map(key)).unwrap();
        client.identify().await.unwrap_err()
    };
    let (inkey, adminkey) = (wallet.invoice_key.as_str(), wallet.admin_key.as_str());
    let unknown = "00000000000000000000000000000000";
    assert_eq!(identify(unknown, None).await, LightningError::WrongKey { key: KeyKind::Invoice });
    assert_eq!(identify(inkey, Some(unknown)).await, LightningError::WrongKey { key: KeyKind::Admin });
    assert_eq!(identify(adminkey, None).await, LightningError::AdminKeyAsInvoiceKey);
    assert_eq!(identify(adminkey, Some(adminkey)).await, LightningError::AdminKeyAsInvoiceKey);
    assert_eq!(identify(inkey, Some(inkey)).await, LightningError::InvoiceKeyAsAdminKey);
    assert_eq!(identify(inkey, Some(&other.invoice_key)).await, LightningError::InvoiceKeyAsAdminKey);
    let of_two = LightningError::OtherWallet { invoice: id(&wallet), admin: id(&other) };
    assert_eq!(identify(inkey, Some(&other.admin_key)).await, of_two);
}

#[tokio::test]
async fn the_keys_of_another_wallet_are_noticed_without_a_new_invoice() {
    let Some(world) = world() else { return };
    let (wallet, other) = (world.a.wallet(0), world.a.wallet(10));
    let proxy = Proxy::start(world.a.address());
    let with = |invoice_key: &str, admin_key: &str| {
        Lnbits::new(url(&proxy.url()), key(invoice_key), Some(key(admin_key))).unwrap()
    };
    let right = with(&wallet.invoice_key, &wallet.admin_key);
    right.identify().await.unwrap();
    assert_eq!(right.confirm(&id(&wallet)).await, Ok(()));
    let swapped = |key| LightningError::NotThisWallet { key, found: id(&other), expected: id(&wallet) };
    let all_swapped = with(&other.invoice_key, &other.admin_key);
    assert_eq!(all_swapped.confirm(&id(&wallet)).await, Err(swapped(KeyKind::Invoice)));
    let admin_swapped = with(&wallet.invoice_key, &other.admin_key);
    assert_eq!(admin_swapped.confirm(&id(&wallet)).await, Err(swapped(KeyKind::Admin)));
    let reversed = with(&wallet.admin_key, &wallet.invoice_key);
    assert_eq!(reversed.confirm(&id(&wallet)).await, Err(LightningError::AdminKeyAsInvoiceKey));
    assert_eq!(proxy.count("POST"), 1);
    // A wallet without any payment gets the invoice that identifies it.
    let new = world.a.wallet(0);
    assert_eq!(with(&new.invoice_key, &new.admin_key).confirm(&id(&new)).await, Ok(()));
    assert_eq!(proxy.count("POST"), 2);
}

#[tokio::test]
async fn a_wallet_that_hides_its_payments_is_not_identified() {
    let Some(world) = world() else { return };
    let wallet = world.a.wallet(0);
    let proxy = Proxy::start(world.a.address());
    let client = client(&proxy.url(), &wallet);
    // LNbits replies so if the wallet is shared by another one.
    let hidden = Fault::Reply { status: 200, body: r#"{"paid":false,"preimage":null}"#.to_owned() };
    proxy.fail("GET /api/v1/payments/", hidden, Times::Once);
    assert_eq!(client.identify().await, Err(LightningError::HiddenPayments { wallet: id(&wallet) }));
    proxy.fail("GET /api/v1/payments/", Fault::LoseReply, Times::Once);
    assert!(matches!(client.identify().await, Err(LightningError::NoReply { .. })));
    assert_eq!(client.identify().await.unwrap().wallet, id(&wallet));
}

#[tokio::test]
async fn a_key_that_can_not_pay_is_refused_and_pays_nothing() {
    let Some(world) = world() else { return };
    let (wallet, _) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 10).await;
    let with = |admin_key: &str| Lnbits::new(url(&world.a.url()), key(&wallet.invoice_key), Some(key(admin_key)));
    let invoice_key = with(&wallet.invoice_key).unwrap();
    assert_eq!(refusal(invoice_key.pay(&asked.text).await), "Invoice (or Admin) key required.");
    let unknown = with("00000000000000000000000000000000").unwrap();
    assert_eq!(refusal(unknown.pay(&asked.text).await), "Wallet not found.");
    let none = Lnbits::new(url(&world.a.url()), key(&wallet.invoice_key), None).unwrap();
    let answer = none.pay(&asked.text).await;
    assert_eq!((answer.reply, answer.trouble), (WalletReply::Refused, Some(LightningError::NoAdminKey)));
    assert_eq!(world.a.balance_msat(&wallet), 100_000);
}

#[tokio::test]
async fn a_key_that_was_replaced_makes_every_lookup_unclear() {
    let Some(world) = world() else { return };
    let (wallet, client) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let (paid, never) = (invoice(&payee, 10).await, invoice(&payee, 10).await);
    found(client.pay(&paid.text).await);
    assert_eq!(client.look_up(never.payment).await.reply, WalletReply::NotFound);
    world.a.replace_keys(&wallet);
    // LNbits shows a paid payment without details, and says of a payment that nobody has what it always says.
    assert!(matches!(unclear(client.look_up(paid.payment).await), LightningError::NotLnbits { .. }));
    let nobodys = PaymentHash(Hash([1; 32]));
    assert_eq!(unclear(client.look_up(nobodys).await), LightningError::WrongKey { key: KeyKind::Invoice });
    assert_eq!(unclear(client.list(UnixMs(0)).await), LightningError::WrongKey { key: KeyKind::Invoice });
    assert_eq!(client.balance().await, Err(LightningError::WrongKey { key: KeyKind::Invoice }));
}

#[tokio::test]
async fn an_address_without_lnbits_is_an_error() {
    let Some(world) = world() else { return };
    let (wallet, _) = new_wallet(&world.a, 0);
    let below = format!("{}/nothing/here/", world.a.url());
    let client = Lnbits::new(url(&below), key(&wallet.invoice_key), None).unwrap();
    let error = client.identify().await.unwrap_err();
    assert!(matches!(error, LightningError::Server { status: 404, .. }), "{error}");
    let closed = WalletUrl::parse("http://127.0.0.1:1", PlainHttp::Loopback).unwrap();
    let client = Lnbits::new(closed, key(&wallet.invoice_key), None).unwrap();
    let error = client.identify().await.unwrap_err();
    assert!(matches!(error, LightningError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn no_text_shows_a_key() {
    let Some(world) = world() else { return };
    let (wallet, client) = new_wallet(&world.a, 0);
    let error = client.pay("lnbc1").await;
    let closed =
        Lnbits::new(url("http://127.0.0.1:1"), key(&wallet.invoice_key), Some(key(&wallet.admin_key))).unwrap();
    let unreachable = closed.identify().await.unwrap_err();
    let text = format!("{client:?} {error:?} {closed:?} {unreachable:?} {unreachable}");
    assert!(!text.contains(&wallet.invoice_key) && !text.contains(&wallet.admin_key), "{text}");
}
