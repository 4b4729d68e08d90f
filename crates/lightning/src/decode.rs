//! Reads Lightning invoices (BOLT 11). An invoice comes from a person or from another server, so its length is limited, its
//! signature is checked, and an amount that can't be represented is an error and never "no amount".
//!
//! The library's strict type also demands a list of features. The invoices of LNbits' own test wallet have none, so this module
//! makes the checks itself. Whether an invoice can be paid is decided by the wallet that pays it.

use std::time::Duration;

use bitcoin::hashes::{Hash as _, sha256};
use guildhall_kernel::{Hash, Invoice, Msat, Network, PaymentHash, Preimage, TextRef, UnixMs};
use lightning_invoice::{Currency, DEFAULT_EXPIRY_TIME, RawBolt11Invoice, SignedRawBolt11Invoice, TaggedField};

/// The longest invoice, in bytes, without white space and prefix. Other Lightning programs have the same limit.
pub const INVOICE_BYTES_MAX: usize = lightning_invoice::MAX_LENGTH;

/// The prefix that wallets and QR codes put before an invoice.
const PREFIX: &str = "lightning:";

/// An invoice states its amount in trillionths of a bitcoin.
const PICO_PER_MSAT: u64 = 10;

/// The contents of an invoice that matter to the treasury.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedInvoice {
    /// The payment that the invoice asks for.
    pub payment: PaymentHash,
    /// The amount, if the invoice has one.
    pub money: Option<Msat>,
    /// The network.
    pub network: Network,
    /// When the invoice expires.
    pub expires: UnixMs,
    /// The invoice in its one stored form: in lower case, without prefix and white space.
    pub text: String,
}

impl DecodedInvoice {
    /// Returns the invoice as the kernel knows it. `text` refers to the stored [`DecodedInvoice::text`].
    pub fn with_text(&self, text: TextRef) -> Invoice {
        let DecodedInvoice { payment, money, network, expires, text: _ } = *self;
        Invoice { payment, money, network, expires, text }
    }
}

/// Why a text is not an invoice, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is empty.
    #[error("the invoice is empty: copy it again, it begins with \"ln\"")]
    Empty,
    /// The text is too long.
    #[error("the invoice has {bytes} bytes, and at most {INVOICE_BYTES_MAX} are allowed: copy it again")]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
    /// The text is not an invoice, or was changed.
    #[error("this is not a Lightning invoice ({why}): copy it again, completely")]
    NotAnInvoice {
        /// What is wrong with it.
        why: String,
    },
    /// The amount exceeds the supply of bitcoin.
    #[error("the amount of the invoice exceeds 21 million BTC: make another invoice")]
    BeyondSupply,
    /// The moment of expiry can't be represented.
    #[error("the invoice never expires: make one that expires within 24 hours")]
    NeverExpires,
}

/// Reads an invoice. Upper case, the prefix `lightning:` and white space around the invoice are accepted.
///
/// ```
/// assert!(guildhall_lightning::decode("lnbc1garbage").is_err());
/// ```
pub fn decode(invoice: &str) -> Result<DecodedInvoice, DecodeError> {
    let text = invoice.trim();
    let has_prefix = text.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
    let text = if has_prefix { text[PREFIX.len()..].trim_start() } else { text };
    if text.is_empty() {
        return Err(DecodeError::Empty);
    }
    if text.len() > INVOICE_BYTES_MAX {
        return Err(DecodeError::TooLong { bytes: text.len() });
    }
    let signed = text.parse::<SignedRawBolt11Invoice>();
    let signed = signed.map_err(|error| DecodeError::NotAnInvoice { why: error.to_string() })?;
    if !signed.check_signature() {
        return Err(DecodeError::NotAnInvoice { why: "its signature is wrong".to_owned() });
    }
    let raw = signed.raw_invoice();
    let decoded = DecodedInvoice {
        payment: payment(raw)?,
        money: amount(raw)?,
        network: match raw.currency() {
            Currency::Bitcoin => Network::Bitcoin,
            Currency::BitcoinTestnet => Network::Testnet,
            Currency::Signet => Network::Signet,
            Currency::Regtest => Network::Regtest,
            Currency::Simnet => Network::Simnet,
        },
        expires: expires(raw).ok_or(DecodeError::NeverExpires)?,
        text: text.to_ascii_lowercase(),
    };
    Ok(decoded)
}

/// Returns the payment that a preimage belongs to.
pub fn preimage_hash(preimage: Preimage) -> PaymentHash {
    PaymentHash(Hash(sha256::Hash::hash(&preimage.0.0).to_byte_array()))
}

/// Returns the payment hash. With two of them, another program could read the other one.
fn payment(invoice: &RawBolt11Invoice) -> Result<PaymentHash, DecodeError> {
    let hashes = invoice.known_tagged_fields().filter(|field| matches!(field, TaggedField::PaymentHash(_))).count();
    match invoice.payment_hash() {
        Some(hash) if hashes == 1 => Ok(PaymentHash(Hash(hash.0.to_byte_array()))),
        Some(_) | None => Err(DecodeError::NotAnInvoice { why: format!("it has {hashes} payment hashes") }),
    }
}

fn amount(invoice: &RawBolt11Invoice) -> Result<Option<Msat>, DecodeError> {
    match invoice.amount_pico_btc() {
        Some(pico) if pico % PICO_PER_MSAT != 0 => {
            Err(DecodeError::NotAnInvoice { why: "its amount is not a whole number of millisatoshis".to_owned() })
        }
        Some(pico) => Msat::new(pico / PICO_PER_MSAT).map(Some).map_err(|_| DecodeError::BeyondSupply),
        // The library also returns nothing for an amount that does not fit into its type.
        None if invoice.hrp.raw_amount.is_some() => Err(DecodeError::BeyondSupply),
        None => Ok(None),
    }
}

fn expires(invoice: &RawBolt11Invoice) -> Option<UnixMs> {
    let valid = invoice.expiry_time().map_or(Duration::from_secs(DEFAULT_EXPIRY_TIME), |expiry| *expiry.as_duration());
    let expires = invoice.data.timestamp.as_duration_since_epoch().checked_add(valid)?;
    u64::try_from(expires.as_millis()).ok().map(UnixMs)
}

#[cfg(test)]
mod tests;
