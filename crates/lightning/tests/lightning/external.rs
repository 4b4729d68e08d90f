//! Payments from server B to server A, which leave their server and can stay pending.

use std::time::Duration;

use guildhall_kernel::{Row, RowStatus, WalletReply};
use guildhall_lnbits_peer::{Fault, Times};

use crate::{found, id, invoice, invoice_of_nobody, new_wallet, refusal, sat, unclear_words, wait_until, world};

#[tokio::test]
async fn a_payment_to_another_server_is_proved_by_its_row() {
    let Some(world) = world() else { return };
    let (wallet, sender) = new_wallet(&world.b, 2000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 600).await;
    assert_eq!(sender.look_up(asked.payment).await.reply, WalletReply::NotFound);
    let row = found(sender.pay(&asked.text).await);
    let expected = Row {
        payment: asked.payment,
        wallet: id(&wallet),
        is_outgoing: true,
        money: sat(600),
        fee: sat(0),
        status: RowStatus::Success,
        preimage: row.preimage,
        at: row.at,
    };
    assert_eq!(row, expected);
    assert_eq!(row.preimage.map(|(_, of)| of), Some(asked.payment));
    assert_eq!(found(sender.look_up(asked.payment).await), row);
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(1400)), Ok(sat(600))));
    assert_eq!(unclear_words(sender.pay(&asked.text).await), "Payment already paid.");
    let (_, other) = new_wallet(&world.b, 1000);
    assert_eq!(unclear_words(other.pay(&asked.text).await), "Payment already paid.");
    assert_eq!(other.look_up(asked.payment).await.reply, WalletReply::NotFound);
    assert_eq!((other.balance().await, sender.balance().await), (Ok(sat(1000)), Ok(sat(1400))));
}

#[tokio::test]
async fn a_payment_without_money_for_its_fee_is_refused() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let words = refusal(sender.pay(&invoice(&payee, 100).await.text).await);
    assert_eq!(words, "You must reserve at least (2  sat) to cover potential routing fees.");
    assert_eq!(refusal(sender.pay(&invoice(&payee, 101).await.text).await), "Insufficient balance.");
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(100)), Ok(sat(0))));
}

#[tokio::test]
async fn a_repeated_request_can_be_refused_although_the_first_one_paid() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 600).await;
    assert_eq!(found(sender.pay(&asked.text).await).status, RowStatus::Success);
    // So the treasury believes a refusal only of the first request.
    assert_eq!(refusal(sender.pay(&asked.text).await), "Insufficient balance.");
    assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Success);
}

#[tokio::test]
async fn a_slow_payment_is_pending_and_then_paid() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 300).await;
    world.between.fail(&asked.text, Fault::DelayRequest(Duration::from_secs(8)), Times::Once);
    let row = found(sender.pay(&asked.text).await);
    assert_eq!((row.status, row.is_outgoing, row.preimage), (RowStatus::Pending, true, None));
    assert_eq!(row.fee, sat(3), "what is reserved counts as the fee");
    assert_eq!(unclear_words(sender.pay(&asked.text).await), "Payment is still pending.");
    assert_eq!(sender.balance().await, Ok(sat(697)));
    wait_until(async || found(sender.look_up(asked.payment).await).status != RowStatus::Pending).await;
    let row = found(sender.look_up(asked.payment).await);
    assert_eq!((row.status, row.fee), (RowStatus::Success, sat(0)));
    assert_eq!(row.preimage.map(|(_, of)| of), Some(asked.payment));
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(700)), Ok(sat(300))));
    assert_eq!(world.between.count(&asked.text), 1);
}

#[tokio::test]
async fn a_payment_whose_request_was_lost_stays_pending() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 300).await;
    world.between.fail(&asked.text, Fault::LoseRequest, Times::Once);
    assert_eq!(found(sender.pay(&asked.text).await).status, RowStatus::Pending);
    assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Pending);
    assert_eq!(unclear_words(sender.pay(&asked.text).await), "Payment is still pending.");
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(697)), Ok(sat(0))));
}

#[tokio::test]
async fn a_payment_whose_reply_was_lost_between_the_servers_is_found_paid() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 300).await;
    world.between.fail(&asked.text, Fault::LoseReply, Times::Once);
    assert_eq!(found(sender.pay(&asked.text).await).status, RowStatus::Pending);
    let row = found(sender.look_up(asked.payment).await);
    assert_eq!((row.status, row.preimage.map(|(_, of)| of)), (RowStatus::Success, Some(asked.payment)));
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(700)), Ok(sat(300))));
}

#[tokio::test]
async fn a_payment_that_failed_is_unclear_and_then_a_failed_row() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let nobodys = invoice_of_nobody(Some(10));
    let asked = guildhall_lightning::decode(&nobodys).unwrap();
    let words = unclear_words(sender.pay(&nobodys).await);
    assert!(words.starts_with("Payment failed: "), "{words}");
    assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Failed);
    let words = unclear_words(sender.pay(&nobodys).await);
    assert_eq!(words, "Payment is failed node, retrying is not possible.");
    // While B can't ask A, it returns its old row as if it were new.
    world.between.fail(&asked.payment.to_string(), Fault::LoseRequest, Times::Once);
    let row = found(sender.pay(&nobodys).await);
    assert_eq!((row.status, row.is_outgoing), (RowStatus::Failed, true));
    assert_eq!(sender.balance().await, Ok(sat(1000)));
}
