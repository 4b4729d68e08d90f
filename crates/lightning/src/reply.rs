//! What a reply of LNbits means: pure functions from status and body. An HTTP status alone proves nothing, because any proxy can
//! send one. Every reply that is not understood completely is an error, which the treasury treats as "unclear".

use guildhall_kernel::{Hash, Msat, PaymentHash, Preimage, Row, RowStatus, UnixMs, WalletId, WalletReply};
use serde::Deserialize;
use serde_json::Value;

use crate::decode::preimage_hash;
use crate::time;

/// The most characters of a server's message that are kept.
const DETAIL_CHARS_MAX: usize = 200;

/// A complete reply.
#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why a reply proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    /// The server does not know the key.
    WrongKey,
    TooManyRequests,
    /// An error in LNbits' form, with its words.
    Server(String),
    /// Something else.
    NotLnbits(String),
}

/// The state of a wallet.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct WalletState {
    pub(crate) name: String,
    /// In millisatoshis.
    pub(crate) balance: i64,
    /// LNbits shows the id only to the admin key.
    pub(crate) id: Option<WalletId>,
}

/// A page of the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The rows with their ids.
    pub(crate) rows: Vec<(String, Row)>,
    /// How many rows all pages have.
    pub(crate) total: usize,
}

/// A new invoice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Issued {
    pub(crate) row: Row,
    pub(crate) bolt11: String,
}

#[derive(Deserialize)]
struct RawRow {
    checking_id: String,
    payment_hash: PaymentHash,
    wallet_id: WalletId,
    /// In millisatoshis; negative if the wallet pays.
    amount: i64,
    /// In millisatoshis. LNbits stores fees as negative numbers.
    fee: i64,
    status: RawStatus,
    preimage: Option<String>,
    time: String,
    bolt11: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawStatus {
    Pending,
    Success,
    Failed,
}

#[derive(Deserialize)]
struct RawLookup {
    paid: bool,
    /// Absent if the key is not the key of the payment's wallet.
    details: Option<RawRow>,
}

#[derive(Deserialize)]
struct RawPage {
    data: Vec<RawRow>,
    total: usize,
}

#[derive(Deserialize)]
struct RawError {
    /// A text, or a list of the fields of the request that are wrong.
    detail: Value,
    /// Only errors of payments have it.
    status: Option<RawStatus>,
}

impl RawRow {
    fn row(&self) -> Result<Row, Unclear> {
        let odd = |what: &str| Unclear::NotLnbits(format!("a payment with an impossible {what}"));
        let preimage = self.preimage.as_ref().and_then(|text| Hash::try_from(text.to_ascii_lowercase()).ok());
        Ok(Row {
            payment: self.payment_hash,
            wallet: self.wallet_id.clone(),
            is_outgoing: self.amount < 0,
            money: Msat::new(self.amount.unsigned_abs()).map_err(|_| odd("amount"))?,
            fee: Msat::new(self.fee.unsigned_abs()).map_err(|_| odd("fee"))?,
            status: match self.status {
                RawStatus::Pending => RowStatus::Pending,
                RawStatus::Success => RowStatus::Success,
                RawStatus::Failed => RowStatus::Failed,
            },
            preimage: preimage.map(|hash| (Preimage(hash), preimage_hash(Preimage(hash)))),
            at: time::read(&self.time).map(UnixMs).ok_or_else(|| odd("time"))?,
        })
    }
}

/// Reads the state of a wallet.
pub(crate) fn wallet(reply: &HttpReply) -> Result<WalletState, Unclear> {
    read(reply, 200)
}

/// Reads a new invoice.
pub(crate) fn issued(reply: &HttpReply) -> Result<Issued, Unclear> {
    let raw: RawRow = read(reply, 201)?;
    Ok(Issued { row: raw.row()?, bolt11: raw.bolt11 })
}

/// Reads the reply to a lookup.
pub(crate) fn looked_up(asked: PaymentHash, reply: &HttpReply) -> Result<WalletReply, Unclear> {
    if reply.status == 404 && detail(reply).as_deref() == Some("Payment does not exist.") {
        return Ok(WalletReply::NotFound);
    }
    let raw: RawLookup = read(reply, 200)?;
    // Without details, the payment exists, but the server does not know our key, or the payment belongs to another wallet.
    let details = raw.details.ok_or_else(|| Unclear::NotLnbits("a payment without its details".to_owned()))?;
    if raw.paid != (details.status == RawStatus::Success) {
        return Err(Unclear::NotLnbits("a payment that contradicts its details".to_owned()));
    }
    same_payment(asked, details.row()?).map(WalletReply::Found)
}

/// Reads the reply to a request to pay.
pub(crate) fn paid(asked: PaymentHash, reply: &HttpReply) -> Result<WalletReply, Unclear> {
    if is_refusal(reply) {
        return Ok(WalletReply::Refused);
    }
    let raw: RawRow = read(reply, 201)?;
    same_payment(asked, raw.row()?).map(WalletReply::Found)
}

/// Reads a page of the list.
pub(crate) fn page(reply: &HttpReply) -> Result<Page, Unclear> {
    let raw: RawPage = read(reply, 200)?;
    let rows: Result<Vec<_>, _> = raw.data.into_iter().map(|raw| Ok((raw.checking_id.clone(), raw.row()?))).collect();
    Ok(Page { rows: rows?, total: raw.total })
}

/// The message of an error in LNbits' form, short and without control characters.
pub(crate) fn detail(reply: &HttpReply) -> Option<String> {
    let error: RawError = serde_json::from_slice(&reply.body).ok()?;
    match error.detail {
        Value::String(text) => Some(text.chars().filter(|c| !c.is_control()).take(DETAIL_CHARS_MAX).collect()),
        Value::Array(_) => Some("a field of the request is not allowed".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn same_payment(asked: PaymentHash, row: Row) -> Result<Row, Unclear> {
    let other = || Unclear::NotLnbits("another payment than the one that was asked for".to_owned());
    if row.payment == asked { Ok(row) } else { Err(other()) }
}

/// Reads a reply that must have this status, or says why it proves nothing.
fn read<'a, T: Deserialize<'a>>(reply: &'a HttpReply, status: u16) -> Result<T, Unclear> {
    if reply.status == status {
        return serde_json::from_slice(&reply.body).map_err(|error| Unclear::NotLnbits(format!("its body: {error}")));
    }
    Err(match (reply.status, detail(reply)) {
        (429, _) => Unclear::TooManyRequests,
        (404, Some(text)) if text == "Wallet not found." => Unclear::WrongKey,
        (401, Some(_)) => Unclear::WrongKey,
        (_, Some(text)) => Unclear::Server(text),
        (_, None) => Unclear::NotLnbits("an unknown form".to_owned()),
    })
}

/// Whether LNbits refused to pay for a reason that it checks before it pays anything. The texts are those of LNbits 1.6. Other
/// errors can also arise after the money has left: LNbits turns many of its own errors into status 400.
fn is_refusal(reply: &HttpReply) -> bool {
    let Ok(error) = serde_json::from_slice::<RawError>(&reply.body) else { return false };
    let Some(text) = error.detail.as_str() else { return reply.status == 400 && error.detail.is_array() };
    match reply.status {
        400 => {
            let is_limit = text.starts_with("Daily withdrawal limit of ");
            is_limit || ["It is not allowed to spend funds from this server.", "Missing BOLT11 invoice"].contains(&text)
        }
        401 => text == "No Api Key provided.",
        403 => ["Invoice (or Admin) key required.", "User not allowed."].contains(&text),
        404 => text == "Wallet not found.",
        520 => {
            let is_checked_first =
                REFUSALS.contains(&text) || REFUSAL_STARTS.iter().any(|start| text.starts_with(start));
            error.status == Some(RawStatus::Failed) && is_checked_first
        }
        _ => false,
    }
}

const REFUSALS: [&str; 6] = [
    "Insufficient balance.",
    "Bolt11 decoding failed.",
    "Amountless invoices not supported.",
    "Only incoming payments allowed.",
    "Wallet does not have permission to pay invoices.",
    "Invalid invoice. Bolt11 changed.",
];

const REFUSAL_STARTS: [&str; 3] = ["You must reserve at least (", "Invoice amount ", "The time limit of "];

#[cfg(test)]
mod tests;
