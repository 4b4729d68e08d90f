//! Bodies of LNbits 1.6.2 as it sent them, and what they mean.

use guildhall_kernel::{Hash, Msat, PaymentHash, Preimage, Row, RowStatus, UnixMs, WalletId, WalletReply};

use super::{HttpReply, Unclear, WalletState, issued, looked_up, page, paid, wallet};

const HASH: &str = "5223910b2f8edc671d8723fd5f79e70bee3a2892b15e1ff52280731249c9b034";

/// A payment inside the server, in the reply to the request to pay.
const ROW: &str = r#"{"checking_id":"internal_5223910b2f8edc671d8723fd5f79e70bee3a2892b15e1ff52280731249c9b034",
"payment_hash":"5223910b2f8edc671d8723fd5f79e70bee3a2892b15e1ff52280731249c9b034",
"wallet_id":"2325d55235154782bd47b0f95e0ceb29","amount":-250000,"fee":0,"bolt11":"lnbc2500n1",
"payment_request":"lnbc2500n1","fiat_provider":null,"status":"success","memo":"x",
"expiry":"2026-11-16T18:04:46","webhook":null,"webhook_status":null,
"preimage":"05e450d5c27779f232504b5b87375261180fae777009921402e8e744d7352a4e","tag":null,"extension":null,
"time":"2026-11-16T18:03:47.253775+00:00","created_at":"2026-11-16T18:03:47.253777+00:00",
"updated_at":"2026-11-16T18:03:47.253778+00:00","labels":[],"extra":{},"external_id":null}"#;

fn http(status: u16, body: &str) -> HttpReply {
    HttpReply { status, body: body.as_bytes().to_vec() }
}

fn hash(text: &str) -> Hash {
    Hash::try_from(text.to_owned()).unwrap()
}

fn asked() -> PaymentHash {
    PaymentHash(hash(HASH))
}

fn row() -> Row {
    let preimage = Preimage(hash("05e450d5c27779f232504b5b87375261180fae777009921402e8e744d7352a4e"));
    Row {
        payment: asked(),
        wallet: WalletId::parse("2325d55235154782bd47b0f95e0ceb29").unwrap(),
        is_outgoing: true,
        money: Msat::from_sat(250).unwrap(),
        fee: Msat::ZERO,
        status: RowStatus::Success,
        preimage: Some((preimage, asked())),
        at: UnixMs(1_794_852_227_253),
    }
}

/// The reply to a lookup whose details are this row.
fn lookup(paid: bool, row: &str) -> HttpReply {
    http(200, &format!(r#"{{"paid":{paid},"status":"success","preimage":null,"details":{row}}}"#))
}

fn found(reply: &HttpReply) -> Row {
    match looked_up(asked(), reply) {
        Ok(WalletReply::Found(row)) => row,
        other => panic!("no row but {other:?}"),
    }
}

#[test]
fn a_row_is_read_with_the_hash_of_its_preimage() {
    assert_eq!(paid(asked(), &http(201, ROW)), Ok(WalletReply::Found(row())));
    assert_eq!(found(&lookup(true, ROW)), row());
}

#[test]
fn incoming_pending_and_failed_rows_are_read() {
    let incoming = ROW.replace(r#""amount":-250000"#, r#""amount":250000"#);
    assert_eq!(found(&lookup(true, &incoming)), Row { is_outgoing: false, ..row() });
    let pending = ROW.replace("\"success\"", "\"pending\"").replace(r#""fee":0"#, r#""fee":-2500"#);
    let pending = pending.replace(r#""05e450d5c27779f232504b5b87375261180fae777009921402e8e744d7352a4e""#, "null");
    let fee = Msat::new(2500).unwrap();
    assert_eq!(found(&lookup(false, &pending)), Row { status: RowStatus::Pending, preimage: None, fee, ..row() });
    let failed = ROW.replace("\"success\"", "\"failed\"").replace(r#""fee":0"#, r#""fee":2500"#);
    assert_eq!(found(&lookup(false, &failed)), Row { status: RowStatus::Failed, fee, ..row() });
}

#[test]
fn a_preimage_that_is_none_proves_nothing_and_a_false_one_has_another_hash() {
    for none in ["", "not hex", "05e4"] {
        let body = ROW.replace("05e450d5c27779f232504b5b87375261180fae777009921402e8e744d7352a4e", none);
        assert_eq!(found(&lookup(true, &body)), Row { preimage: None, ..row() });
    }
    let body = ROW.replace("05e450d5", "05e450d6");
    let (_, of) = found(&lookup(true, &body)).preimage.unwrap();
    assert_ne!(of, asked());
}

#[test]
fn a_row_that_is_not_complete_is_unclear() {
    let changes = [
        (r#""amount":-250000"#, r#""amount":-250000.0"#),
        (r#""amount":-250000"#, r#""amount":"-250000""#),
        (r#""amount":-250000"#, r#""amount":null"#),
        (r#""amount":-250000"#, r#""amount":-2100000000000000001"#),
        (r#""amount":-250000"#, r#""amount":-250000,"amount":250000"#),
        (r#""fee":0"#, r#""fee":0.5"#),
        (r#""fee":0,"#, ""),
        (r#""status":"success""#, r#""status":"paid""#),
        (r#""status":"success","#, ""),
        (r#""payment_hash":"52"#, r#""payment_hash":"53"#),
        (r#""payment_hash":"52"#, r#""payment_hash":"5"#),
        (r#""wallet_id":"2325d55235154782bd47b0f95e0ceb29""#, r#""wallet_id":"""#),
        (r#""wallet_id":"2325d55235154782bd47b0f95e0ceb29""#, r#""wallet_id":"../x""#),
        (r#""time":"2026-11-16T18:03:47.253775+00:00""#, r#""time":"2026-11-16T18:03:47""#),
    ];
    for (from, to) in changes {
        assert!(ROW.contains(from), "{from}");
        let body = ROW.replace(from, to);
        for unclear in [looked_up(asked(), &lookup(true, &body)), paid(asked(), &http(201, &body))] {
            assert!(matches!(unclear, Err(Unclear::NotLnbits(_))), "{to}: {unclear:?}");
        }
    }
    for end in [0, 1, 300, ROW.len() - 1] {
        assert!(paid(asked(), &http(201, &ROW[..end])).is_err(), "{end} bytes");
    }
    assert!(paid(asked(), &http(201, &format!("{ROW}{ROW}"))).is_err());
    assert!(paid(asked(), &http(200, ROW)).is_err());
}

#[test]
fn a_lookup_without_details_or_with_a_contradiction_is_unclear() {
    let replies = [
        http(200, r#"{"paid":true,"preimage":"05e450d5c27779f232504b5b87375261180fae777009921402e8e744d7352a4e"}"#),
        http(200, r#"{"paid":false,"status":"failed"}"#),
        http(200, r#"{"paid":false,"preimage":null}"#),
        http(200, "<html>Welcome</html>"),
        http(200, ""),
        http(200, "null"),
        http(307, ""),
        lookup(false, ROW),
        lookup(true, &ROW.replace("\"success\"", "\"failed\"")),
    ];
    for reply in replies {
        assert!(looked_up(asked(), &reply).is_err(), "{reply:?}");
    }
}

#[test]
fn only_lnbits_own_words_say_that_a_payment_does_not_exist() {
    let not_found = http(404, r#"{"detail":"Payment does not exist."}"#);
    assert_eq!(looked_up(asked(), &not_found), Ok(WalletReply::NotFound));
    let wrong_key = http(404, r#"{"detail":"Wallet not found."}"#);
    assert_eq!(looked_up(asked(), &wrong_key), Err(Unclear::WrongKey));
    for body in ["", "404 Not Found", r#"{"detail":"Not Found"}"#, r#"{"error":"Payment does not exist."}"#, "[]"] {
        assert!(looked_up(asked(), &http(404, body)).is_err(), "{body}");
    }
    for status in [200, 400, 410, 502, 520] {
        let body = r#"{"detail":"Payment does not exist."}"#;
        assert!(looked_up(asked(), &http(status, body)).is_err(), "{status}");
    }
}

#[test]
fn a_refusal_before_the_payment_is_a_refusal() {
    let refusals = [
        (403, r#"{"detail":"Invoice (or Admin) key required."}"#),
        (404, r#"{"detail":"Wallet not found."}"#),
        (401, r#"{"detail":"No Api Key provided."}"#),
        (520, r#"{"detail":"Insufficient balance.","status":"failed"}"#),
        (520, r#"{"detail":"You must reserve at least (2  sat) to cover potential routing fees.","status":"failed"}"#),
        (520, r#"{"detail":"Bolt11 decoding failed.","status":"failed"}"#),
        (520, r#"{"detail":"Amountless invoices not supported.","status":"failed"}"#),
        (
            520,
            r#"{"detail":"Invoice amount 20000000 sats is too high. Max allowed: 10000000 sats.","status":"failed"}"#,
        ),
        (400, r#"{"detail":"Daily withdrawal limit of 1 sats reached."}"#),
        (400, r#"{"detail":[{"loc":["body","bolt11"],"msg":"str type expected","type":"type_error.str"}]}"#),
    ];
    for (status, body) in refusals {
        assert_eq!(paid(asked(), &http(status, body)), Ok(WalletReply::Refused), "{body}");
    }
}

#[test]
fn every_other_error_is_unclear() {
    let errors = [
        (520, r#"{"detail":"Internal invoice already paid.","status":"failed"}"#),
        (520, r#"{"detail":"Payment already paid.","status":"success"}"#),
        (520, r#"{"detail":"Payment is still pending.","status":"pending"}"#),
        (520, r#"{"detail":"Payment failed: Payment failed: Insufficient balance..","status":"failed"}"#),
        (520, r#"{"detail":"Payment is failed node, retrying is not possible.","status":"failed"}"#),
        (520, r#"{"detail":"Failed payment was already paid on the fundingsource.","status":"success"}"#),
        (520, r#"{"detail":"Insufficient balance.","status":"pending"}"#),
        (520, r#"{"detail":"Insufficient balance."}"#),
        (520, r#"{"status":"failed"}"#),
        (400, r#"{"detail":"Payment already exists"}"#),
        (400, r#"{"detail":"Expecting value: line 1 column 1 (char 0)"}"#),
        (400, "Bad Request"),
        (403, "<html>Forbidden</html>"),
        (403, r#"{"detail":"Blocked by the firewall"}"#),
        (404, r#"{"detail":"Not Found"}"#),
        (404, r#"{"detail":"Payment does not exist."}"#),
        (429, r#"{"error":"Rate limit exceeded: 200 per 1 minute"}"#),
        (500, r#"{"detail":"Unexpected error! ID: 8hF"}"#),
        (502, r#"{"detail":"Insufficient balance.","status":"failed"}"#),
        (200, r#"{"detail":"Insufficient balance.","status":"failed"}"#),
        (301, ""),
        (201, r#"{"detail":"Insufficient balance.","status":"failed"}"#),
    ];
    for (status, body) in errors {
        let reply = paid(asked(), &http(status, body));
        assert!(reply.is_err(), "{status} {body}: {reply:?}");
    }
}

#[test]
fn a_wallet_shows_its_id_only_to_the_admin_key() {
    let state = |id| Ok(WalletState { name: "LNbits wallet".to_owned(), balance: 10_000_000, id });
    assert_eq!(wallet(&http(200, r#"{"name":"LNbits wallet","balance":10000000}"#)), state(None));
    let body = r#"{"name":"LNbits wallet","balance":10000000,"id":"2325d55235154782bd47b0f95e0ceb29"}"#;
    assert_eq!(wallet(&http(200, body)), state(Some(row().wallet)));
    assert_eq!(wallet(&http(404, r#"{"detail":"Wallet not found."}"#)), Err(Unclear::WrongKey));
    assert_eq!(wallet(&http(429, "")), Err(Unclear::TooManyRequests));
    let words = wallet(&http(500, "{\"detail\":\"a\\u001b[31mb\"}"));
    assert_eq!(words, Err(Unclear::Server("a[31mb".to_owned())));
}

#[test]
fn a_page_is_read_completely_or_not_at_all() {
    let body = |row: &str| format!(r#"{{"data":[{ROW},{row}],"total":7}}"#);
    let read = page(&http(200, &body(ROW))).unwrap();
    assert_eq!((read.total, read.rows.len(), &read.rows[0].1), (7, 2, &row()));
    assert!(page(&http(200, &body(&ROW.replace("success", "odd")))).is_err());
    assert!(page(&http(200, "[]")).is_err());
    assert!(page(&http(200, r#"{"data":[]}"#)).is_err());
    assert_eq!(page(&http(200, r#"{"data":[],"total":0}"#)).unwrap().rows, []);
}

#[test]
fn a_new_invoice_is_a_row_with_its_text() {
    let made = issued(&http(201, ROW)).unwrap();
    assert_eq!((made.row, made.bolt11.as_str()), (row(), "lnbc2500n1"));
    assert_eq!(issued(&http(404, r#"{"detail":"Wallet not found."}"#)), Err(Unclear::WrongKey));
}
