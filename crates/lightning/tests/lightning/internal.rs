//! Payments inside one server: what LNbits replies, and what the client makes of it.

use std::time::Duration;

use guildhall_kernel::{Hash, PaymentHash, Row, RowStatus, WalletReply};
use guildhall_lightning::LightningError;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::{found, id, invoice, invoice_of_nobody, new_wallet, refusal, sat, unclear_words, world};

#[tokio::test]
async fn a_payment_is_proved_by_its_row() {
    let Some(world) = world() else { return };
    let (wallet, sender) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 60).await;
    assert_eq!(sender.look_up(asked.payment).await.reply, WalletReply::NotFound);
    let row = found(sender.pay(&asked.text).await);
    let expected = Row {
        payment: asked.payment,
        wallet: id(&wallet),
        is_outgoing: true,
        money: sat(60),
        fee: sat(0),
        status: RowStatus::Success,
        preimage: row.preimage,
        at: row.at,
    };
    assert_eq!(row, expected);
    assert_eq!(row.preimage.map(|(_, of)| of), Some(asked.payment));
    assert_eq!(found(sender.look_up(asked.payment).await), row);
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(40)), Ok(sat(60))));
}

#[tokio::test]
async fn an_invoice_in_upper_case_with_a_prefix_is_paid() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 60).await;
    let row = found(sender.pay(&format!(" LIGHTNING:{}\n", asked.text.to_uppercase())).await);
    assert_eq!((row.payment, row.status), (asked.payment, RowStatus::Success));
}

#[tokio::test]
async fn a_payment_that_can_not_be_made_is_refused() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    assert_eq!(refusal(sender.pay(&invoice(&payee, 101).await.text).await), "Insufficient balance.");
    assert_eq!(refusal(sender.pay(&invoice_of_nobody(None)).await), "Amountless invoices not supported.");
    let too_high = refusal(sender.pay(&invoice_of_nobody(Some(20_000_000))).await);
    assert_eq!(too_high, "Invoice amount 20000000 sats is too high. Max allowed: 10000000 sats.");
    let garbage = sender.pay("lnbc1garbage").await;
    assert_eq!(garbage.reply, WalletReply::Refused);
    assert!(matches!(garbage.trouble, Some(LightningError::Invoice(_))));
    assert_eq!(sender.balance().await, Ok(sat(100)));
}

#[tokio::test]
async fn an_invoice_that_was_paid_is_unclear_for_its_payer_and_for_others() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.a, 100);
    let (_, other) = new_wallet(&world.a, 100);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 60).await;
    found(sender.pay(&asked.text).await);
    assert_eq!(unclear_words(sender.pay(&asked.text).await), "Internal invoice already paid.");
    assert_eq!(unclear_words(other.pay(&asked.text).await), "Internal invoice already paid.");
    assert_eq!(found(sender.look_up(asked.payment).await).status, RowStatus::Success);
    assert_eq!(other.look_up(asked.payment).await.reply, WalletReply::NotFound);
    assert_eq!((sender.balance().await, other.balance().await), (Ok(sat(40)), Ok(sat(100))));
    assert_eq!(payee.balance().await, Ok(sat(60)));
}

#[tokio::test]
async fn twelve_requests_at_once_pay_once() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.a, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    let asked = invoice(&payee, 60).await;
    let mut requests = JoinSet::new();
    for _ in 0..12 {
        let (sender, text) = (sender.clone(), asked.text.clone());
        requests.spawn(async move { sender.pay(&text).await });
    }
    let mut paid = 0;
    while let Some(answer) = requests.join_next().await {
        let reply = answer.unwrap().reply;
        match &reply {
            WalletReply::Found(row) if row.is_outgoing && row.status == RowStatus::Success => paid += 1,
            WalletReply::Found(_) | WalletReply::Unclear => {}
            WalletReply::Listed(_) | WalletReply::NotFound | WalletReply::Refused | WalletReply::Invoice(_) => {
                panic!("{reply:?}")
            }
        }
    }
    assert_eq!(paid, 1);
    assert_eq!((sender.balance().await, payee.balance().await), (Ok(sat(940)), Ok(sat(60))));
}

#[tokio::test]
async fn an_expired_invoice_is_paid_unless_its_server_has_noticed() {
    let Some(world) = world() else { return };
    let (wallet, sender) = new_wallet(&world.a, 100);
    let (payees, payee) = new_wallet(&world.a, 0);
    let second = Duration::from_secs(1);
    let (unnoticed, noticed) =
        (payee.invoice(sat(10), "", second).await.unwrap(), payee.invoice(sat(20), "", second).await.unwrap());
    sleep(Duration::from_secs(3)).await;
    let row = found(sender.pay(&unnoticed.text).await);
    assert_eq!((row.status, row.wallet), (RowStatus::Success, id(&wallet)));
    // A lookup makes the server notice. Then it shows the payee's row to the sender.
    assert_eq!(found(payee.look_up(noticed.payment).await).status, RowStatus::Failed);
    let row = found(sender.pay(&noticed.text).await);
    assert_eq!((row.status, row.is_outgoing, row.wallet), (RowStatus::Failed, false, id(&payees)));
    assert_eq!(sender.look_up(noticed.payment).await.reply, WalletReply::NotFound);
    assert_eq!(sender.balance().await, Ok(sat(90)));
}

#[tokio::test]
async fn a_payment_to_oneself_is_shown_as_outgoing() {
    let Some(world) = world() else { return };
    let (_, wallet) = new_wallet(&world.a, 100);
    let asked = invoice(&wallet, 10).await;
    found(wallet.pay(&asked.text).await);
    assert!(found(wallet.look_up(asked.payment).await).is_outgoing);
    assert_eq!(wallet.balance().await, Ok(sat(100)));
}

#[tokio::test]
async fn a_payment_that_nobody_has_is_not_found() {
    let Some(world) = world() else { return };
    let (_, wallet) = new_wallet(&world.a, 0);
    assert_eq!(wallet.look_up(PaymentHash(Hash([1; 32]))).await.reply, WalletReply::NotFound);
}
