//! Invoices that the library makes, one that LNbits made, and texts that are no invoices.

use std::time::Duration;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::secp256k1::{Secp256k1, SecretKey};
use guildhall_kernel::{Hash, Msat, Network, PaymentHash, Preimage, UnixMs};
use lightning_invoice::{Currency, InvoiceBuilder, PaymentSecret, RawBolt11Invoice, Sha256, TaggedField};

use super::{DecodeError, DecodedInvoice, INVOICE_BYTES_MAX, decode, preimage_hash};

/// An invoice of LNbits' fake wallet for 250 sat. It has no features.
const OF_LNBITS: &str = "lnbc2500n1p40k3vzdqz0qxqzpusp5shn3jv4rkq8634fkqw76stqvgh3dg7jczzud3ke45vaj7csa5k2qpp52g3ez\
    ze03mwxw8v8y0747708p0hr52yjk90plafzspe3yjwfkq6qacm0x7fe7zuq27c82tgeezkkvgtlylvmmu3dzk4eeg59ytc5p0lx348mcehzz3g\
    qlf6c4vuxh86y2lwvjflm52r7hhl4rnxpy8qadpcpw0uyzc";

const MADE_AT: Duration = Duration::from_secs(1_794_852_226);

fn payment() -> sha256::Hash {
    sha256::Hash::hash(&[7; 32])
}

/// An invoice before it is signed, with what a test wants to be different.
fn raw(currency: Currency, msat: Option<u64>, expiry: u64) -> RawBolt11Invoice {
    let builder = InvoiceBuilder::new(currency).description(String::new()).payment_hash(payment());
    let builder = builder.duration_since_epoch(MADE_AT).min_final_cltv_expiry_delta(144);
    let builder = builder.payment_secret(PaymentSecret([3; 32])).expiry_time(Duration::from_secs(expiry));
    let builder = match msat {
        Some(msat) => builder.amount_milli_satoshis(msat),
        None => builder,
    };
    builder.build_raw().unwrap()
}

fn sign(raw: RawBolt11Invoice) -> String {
    let key = SecretKey::from_slice(&[9; 32]).unwrap();
    let signed = raw.sign(|hash| Ok::<_, ()>(Secp256k1::new().sign_ecdsa_recoverable(hash, &key)));
    signed.unwrap().to_string()
}

fn decoded(currency: Currency, msat: Option<u64>) -> DecodedInvoice {
    decode(&sign(raw(currency, msat, 600))).unwrap()
}

#[test]
fn an_invoice_of_lnbits_is_read() {
    let payment = "5223910b2f8edc671d8723fd5f79e70bee3a2892b15e1ff52280731249c9b034".to_owned();
    let expected = DecodedInvoice {
        payment: PaymentHash(Hash::try_from(payment).unwrap()),
        money: Some(Msat::from_sat(250).unwrap()),
        network: Network::Bitcoin,
        expires: UnixMs(1_794_852_286_000),
        text: OF_LNBITS.to_owned(),
    };
    assert_eq!(decode(OF_LNBITS), Ok(expected.clone()));
    let others = [
        format!(" \n{OF_LNBITS}\t"),
        OF_LNBITS.to_uppercase(),
        format!("lightning:{OF_LNBITS}"),
        format!("LIGHTNING:{}", OF_LNBITS.to_uppercase()),
    ];
    for other in others {
        assert_eq!(decode(&other), Ok(expected.clone()), "{other}");
    }
}

#[test]
fn amounts_and_networks_are_read() {
    let networks = [
        (Currency::Bitcoin, Network::Bitcoin),
        (Currency::BitcoinTestnet, Network::Testnet),
        (Currency::Signet, Network::Signet),
        (Currency::Regtest, Network::Regtest),
        (Currency::Simnet, Network::Simnet),
    ];
    for (currency, network) in networks {
        assert_eq!(decoded(currency, Some(1)).network, network);
    }
    for msat in [1, 999, 1_000, 1_234, 2_100_000_000] {
        assert_eq!(decoded(Currency::Regtest, Some(msat)).money, Some(Msat::new(msat).unwrap()));
    }
    assert_eq!(decoded(Currency::Bitcoin, None).money, None);
    assert_eq!(decoded(Currency::Bitcoin, None).payment, PaymentHash(Hash(payment().to_byte_array())));
}

#[test]
fn an_expired_invoice_is_read_with_its_time() {
    assert_eq!(decoded(Currency::Bitcoin, None).expires, UnixMs(1_794_852_826_000));
    let hour = decode(&sign(raw(Currency::Bitcoin, None, 3600))).unwrap();
    assert_eq!(hour.expires, UnixMs(1_794_855_826_000));
    let never = sign(raw(Currency::Bitcoin, None, u64::MAX));
    assert_eq!(decode(&never), Err(DecodeError::NeverExpires));
}

#[test]
fn an_amount_that_can_not_be_is_an_error_and_not_an_invoice_without_amount() {
    for (number, prefix) in
        [(21_000_001, None), (u64::MAX, None), (99_999_999_999, Some(lightning_invoice::SiPrefix::Milli))]
    {
        let mut raw = raw(Currency::Bitcoin, None, 600);
        (raw.hrp.raw_amount, raw.hrp.si_prefix) = (Some(number), prefix);
        let refused = decode(&sign(raw)).unwrap_err();
        assert!(matches!(refused, DecodeError::BeyondSupply | DecodeError::NotAnInvoice { .. }), "{number}: {refused}");
    }
    let mut raw = raw(Currency::Bitcoin, None, 600);
    (raw.hrp.raw_amount, raw.hrp.si_prefix) = (Some(15), Some(lightning_invoice::SiPrefix::Pico));
    assert!(matches!(decode(&sign(raw)), Err(DecodeError::NotAnInvoice { .. })), "1.5 msat");
}

#[test]
fn an_invoice_has_exactly_one_payment_hash() {
    let mut two = raw(Currency::Bitcoin, None, 600);
    let other = Sha256(sha256::Hash::hash(&[5]));
    two.data.tagged_fields.push(TaggedField::PaymentHash(other).into());
    let mut none = raw(Currency::Bitcoin, None, 600);
    let is_hash = |field: &lightning_invoice::RawTaggedField| {
        matches!(field, lightning_invoice::RawTaggedField::KnownSemantics(TaggedField::PaymentHash(_)))
    };
    none.data.tagged_fields.retain(|field| !is_hash(field));
    for raw in [two, none] {
        assert!(matches!(decode(&sign(raw)), Err(DecodeError::NotAnInvoice { .. })));
    }
}

#[test]
fn other_texts_are_refused() {
    assert_eq!(decode(" lightning: "), Err(DecodeError::Empty));
    assert_eq!(decode(""), Err(DecodeError::Empty));
    let bytes = INVOICE_BYTES_MAX + 1;
    assert_eq!(decode(&"l".repeat(bytes)), Err(DecodeError::TooLong { bytes }));
    let changed = OF_LNBITS.replace("2500n", "2501n");
    let mixed = OF_LNBITS.replace("lnbc", "LNBC");
    let half = &OF_LNBITS[..OF_LNBITS.len() / 2];
    let twice = OF_LNBITS.repeat(2);
    let address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
    let texts = ["lnbc", "ln", "lightning", "ligh\u{fe0f}tning:x", "lnurl1dp68gurn8ghj7", "someone@example.org", "\0"];
    for text in texts.into_iter().chain([changed.as_str(), &mixed, half, &twice, address]) {
        assert!(matches!(decode(text), Err(DecodeError::NotAnInvoice { .. })), "{text}");
    }
}

#[test]
fn a_payment_is_the_hash_of_its_preimage() {
    assert_eq!(preimage_hash(Preimage(Hash([7; 32]))), PaymentHash(Hash(payment().to_byte_array())));
}
