//! The list of a wallet's payments.

use std::time::Duration;

use guildhall_kernel::{Row, RowStatus, UnixMs, WalletReply};
use guildhall_lightning::{Answer, LightningError};
use guildhall_lnbits_peer::{Fault, Proxy, Times};

use crate::{client, found, invoice, invoice_of_nobody, new_wallet, unclear, unclear_words, wait_until, world};

fn rows(answer: Answer) -> Vec<Row> {
    let Answer { reply: WalletReply::Listed(rows), .. } = answer else { panic!("no list but {answer:?}") };
    rows
}

#[tokio::test]
async fn the_list_has_incoming_outgoing_pending_and_failed_payments_since_a_moment() {
    let Some(world) = world() else { return };
    let (_, sender) = new_wallet(&world.b, 1000);
    let (_, payee) = new_wallet(&world.a, 0);
    assert_eq!(rows(payee.list(UnixMs(0)).await), []);
    let (pending, paid) = (invoice(&sender, 5).await, invoice(&payee, 100).await);
    unclear_words(sender.pay(&invoice_of_nobody(Some(10))).await);
    found(sender.pay(&paid.text).await);
    let listed = rows(sender.list(UnixMs(0)).await);
    let short: Vec<_> = listed.iter().map(|row| (row.is_outgoing, row.status, row.money.get() / 1000)).collect();
    let expected = [
        (false, RowStatus::Success, 1000),
        (false, RowStatus::Pending, 5),
        (true, RowStatus::Failed, 10),
        (true, RowStatus::Success, 100),
    ];
    assert_eq!(short, expected);
    assert_eq!((listed[1].payment, listed[3].payment), (pending.payment, paid.payment));
    assert_eq!(listed[3], found(sender.look_up(paid.payment).await));
    let later = UnixMs(listed[3].at.0 + 5_000);
    assert_eq!(rows(sender.list(later).await), []);
    assert_eq!(rows(sender.list(UnixMs(listed[0].at.0)).await), listed);
}

#[tokio::test]
async fn a_list_of_several_pages_is_complete_and_in_order() {
    let Some(world) = world() else { return };
    let wallet = world.a.wallet(0);
    let proxy = Proxy::start(world.a.address());
    let client = client(&proxy.url(), &wallet);
    let mut made = Vec::new();
    for number in 1..=205 {
        made.push(invoice(&client, number).await.payment);
    }
    let listed: Vec<_> = rows(client.list(UnixMs(0)).await).iter().map(|row| row.payment).collect();
    assert_eq!(listed, made);
    assert_eq!(proxy.count("GET /api/v1/payments/paginated"), 3);

    // A page that is missing, empty, repeated or cut makes the whole list unclear.
    let (_, first) = world.a.request(
        "GET",
        "/api/v1/payments/paginated?sortby=time&direction=asc&limit=100",
        &wallet.invoice_key,
        None,
    );
    let mut shifted = first.clone();
    shifted["data"].as_array_mut().unwrap().remove(0);
    let changes = [
        (Fault::Reply { status: 200, body: r#"{"data":[],"total":0}"#.to_owned() }, true),
        (Fault::Reply { status: 200, body: first.to_string() }, true),
        (Fault::Reply { status: 200, body: shifted.to_string() }, true),
        (Fault::Reply { status: 502, body: String::new() }, false),
        (Fault::LoseReply, false),
        (Fault::CutReply, false),
    ];
    for (fault, is_change) in changes {
        proxy.fail("offset=99", fault.clone(), Times::Once);
        let trouble = unclear(client.list(UnixMs(0)).await);
        assert_eq!(trouble == LightningError::ListChanged, is_change, "{fault:?}: {trouble}");
    }
    // The first page alone, with a smaller total, would hide all others.
    let mut short = first.clone();
    short["total"] = 99.into();
    proxy.fail("offset=0", Fault::Reply { status: 200, body: short.to_string() }, Times::Once);
    assert_eq!(unclear(client.list(UnixMs(0)).await), LightningError::ListChanged);
    // One row was removed and one was made between two pages: the total is right, and a row that nobody has read is missing.
    let path = "/api/v1/payments/paginated?sortby=time&direction=asc&limit=3&offset=100";
    let (_, mut second) = world.a.request("GET", path, &wallet.invoice_key, None);
    (short["total"], second["total"]) = (102.into(), 102.into());
    for (offset, page) in [("offset=0", &short), ("offset=99", &second)] {
        proxy.fail(offset, Fault::Reply { status: 200, body: page.to_string() }, Times::Once);
    }
    assert_eq!(unclear(client.list(UnixMs(0)).await), LightningError::ListChanged);
    let huge = format!("{{\"data\":[],\"total\":0,\"more\":\"{}\"}}", "x".repeat(1024 * 1024));
    proxy.fail("offset=0", Fault::Reply { status: 200, body: huge }, Times::Once);
    assert!(matches!(unclear(client.list(UnixMs(0)).await), LightningError::NotLnbits { .. }));
    assert_eq!(rows(client.list(UnixMs(0)).await).len(), 205);
}

#[tokio::test]
async fn a_payment_that_arrives_while_the_list_is_read_is_in_it() {
    let Some(world) = world() else { return };
    let wallet = world.a.wallet(0);
    let proxy = Proxy::start(world.a.address());
    let client = client(&proxy.url(), &wallet);
    for _ in 0..101 {
        invoice(&client, 1).await;
    }
    proxy.fail("offset=99", Fault::DelayRequest(Duration::from_secs(1)), Times::Once);
    let reading = tokio::spawn({
        let client = client.clone();
        async move { client.list(UnixMs(0)).await }
    });
    wait_until(async || proxy.count("offset=99") > 0).await;
    invoice(&client, 2).await;
    assert_eq!(rows(reading.await.unwrap()).len(), 102);
}
