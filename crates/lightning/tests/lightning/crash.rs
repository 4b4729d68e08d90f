//! A server of its own that is killed, and one whose settings forbid to pay.

use std::time::Duration;

use guildhall_kernel::{RowStatus, WalletReply};
use guildhall_lightning::LightningError;
use guildhall_lnbits_peer::{Fault, Funding, LnbitsPeer, Proxy, Times};
use serde_json::json;

use crate::{client, found, invoice, new_wallet, refusal, sat, unclear, wait_until, world};

#[tokio::test]
async fn a_server_that_was_killed_has_the_payments_that_it_made_and_no_others() {
    // The servers of all tests start first: two at a time are enough for a small machine.
    let Some(_) = world() else { return };
    let peer = LnbitsPeer::start(Funding::Fake);
    let (_, payee) = new_wallet(&peer, 0);
    let wallet = peer.wallet(100);
    let proxy = Proxy::start(peer.address());
    let sender = client(&proxy.url(), &wallet);
    let (paid, lost) = (invoice(&payee, 10).await, invoice(&payee, 20).await);

    proxy.fail("POST", Fault::LoseReply, Times::Once);
    unclear(sender.pay(&paid.text).await);
    proxy.fail("POST", Fault::DelayRequest(Duration::from_secs(1)), Times::Once);
    let sending = tokio::spawn({
        let (sender, text) = (sender.clone(), lost.text.clone());
        async move { sender.pay(&text).await }
    });
    wait_until(async || proxy.count(&lost.text) > 0).await;
    peer.kill();
    unclear(sending.await.unwrap());
    assert!(matches!(unclear(sender.look_up(paid.payment).await), LightningError::NoReply { .. }));

    peer.restart();
    assert_eq!(found(sender.look_up(paid.payment).await).status, RowStatus::Success);
    assert_eq!(sender.look_up(lost.payment).await.reply, WalletReply::NotFound);
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(90)), Ok(sat(10))));

    peer.set(&json!({ "lnbits_wallet_limit_daily_max_withdraw": 1 }));
    let words = refusal(sender.pay(&invoice(&payee, 5).await.text).await);
    assert_eq!(words, "Daily withdrawal limit of 1 sats reached.");
    assert_eq!(sender.balance().await, Ok(sat(90)));

    peer.freeze();
    let sender = sender.with_request_wait(Duration::from_millis(500));
    assert!(matches!(unclear(sender.look_up(paid.payment).await), LightningError::NoReply { .. }));
    peer.go_on();
}
