//! The client against real LNbits servers. Server A has fake money. Server B is funded by a wallet of A, over a proxy, so
//! payments from B to A leave their server.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod crash;
mod external;
mod faults;
mod internal;
mod invoices;
mod keys;
mod list;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::secp256k1::{Secp256k1, SecretKey};
use guildhall_kernel::{Msat, Row, WalletId, WalletReply};
use guildhall_lightning::{Answer, DecodedInvoice, LightningError, Lnbits, PlainHttp, WalletKey, WalletUrl};
use guildhall_lnbits_peer::{Funding, LnbitsPeer, PeerWallet, Proxy};
use lightning_invoice::{Currency, InvoiceBuilder, PaymentSecret};
use tokio::time::sleep;

/// The servers that all tests share. They end with the test program.
struct World {
    a: LnbitsPeer,
    b: LnbitsPeer,
    /// The proxy between B and A.
    between: Proxy,
}

static WORLD: LazyLock<Option<World>> = LazyLock::new(|| {
    LnbitsPeer::can_run().then(|| {
        let a = LnbitsPeer::start(Funding::Fake);
        let between = Proxy::start(a.address());
        let funding = Funding::Lnbits { url: between.url(), admin_key: a.wallet(1_000_000).admin_key };
        World { b: LnbitsPeer::start(funding), a, between }
    })
});

/// Returns the servers, or nothing if this machine can't run them. Then the reason was printed.
fn world() -> Option<&'static World> {
    WORLD.as_ref()
}

fn key(text: &str) -> WalletKey {
    WalletKey::new(text).unwrap()
}

fn url(text: &str) -> WalletUrl {
    WalletUrl::parse(text, PlainHttp::Loopback).unwrap()
}

/// The client of a wallet with both keys.
fn client(server: &str, wallet: &PeerWallet) -> Lnbits {
    Lnbits::new(url(server), key(&wallet.invoice_key), Some(key(&wallet.admin_key))).unwrap()
}

/// A new wallet on a server, and its client.
fn new_wallet(peer: &LnbitsPeer, sats: u64) -> (PeerWallet, Lnbits) {
    let wallet = peer.wallet(sats);
    let client = client(&peer.url(), &wallet);
    (wallet, client)
}

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn id(wallet: &PeerWallet) -> WalletId {
    WalletId::parse(&wallet.id).unwrap()
}

/// Waits until a condition is met.
///
/// # Panics
/// When it is not met within half a minute.
async fn wait_until(mut is_met: impl AsyncFnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_met().await {
        assert!(Instant::now() < until, "what the test waits for does not happen");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn invoice(of: &Lnbits, sats: u64) -> DecodedInvoice {
    of.invoice(sat(sats), "test", Duration::from_mins(10)).await.unwrap()
}

/// A mainnet invoice that no wallet here knows, each time another one.
fn invoice_of_nobody(sats: Option<u64>) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let builder = InvoiceBuilder::new(Currency::Bitcoin).description("for tests".to_owned()).duration_since_epoch(now);
    let builder = builder.payment_hash(sha256::Hash::hash(&number.to_le_bytes())).min_final_cltv_expiry_delta(144);
    let builder = builder.payment_secret(PaymentSecret([3; 32]));
    let builder = match sats {
        Some(sats) => builder.amount_milli_satoshis(sats * 1000),
        None => builder,
    };
    let key = SecretKey::from_slice(&[9; 32]).unwrap();
    builder.build_signed(|hash| Secp256k1::new().sign_ecdsa_recoverable(hash, &key)).unwrap().to_string()
}

fn found(answer: Answer) -> Row {
    let Answer { reply: WalletReply::Found(row), .. } = answer else { panic!("no row but {answer:?}") };
    row
}

/// The words of the server with which it refused.
fn refusal(answer: Answer) -> String {
    match (answer.reply, answer.trouble) {
        (WalletReply::Refused, Some(LightningError::Server { detail, .. })) => detail,
        other => panic!("no refusal but {other:?}"),
    }
}

/// Why a reply is unclear.
fn unclear(answer: Answer) -> LightningError {
    match (answer.reply, answer.trouble) {
        (WalletReply::Unclear, Some(trouble)) => trouble,
        other => panic!("clear: {other:?}"),
    }
}

/// The words of the server in a reply that is unclear.
fn unclear_words(answer: Answer) -> String {
    let trouble = unclear(answer);
    let LightningError::Server { detail, .. } = trouble else { panic!("no words but {trouble}") };
    detail
}
