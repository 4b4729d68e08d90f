//! The client of an LNbits wallet. Each method makes one request, or the few that its documentation names, and never repeats one:
//! only the treasury decides what is sent again. No redirect is followed, so that a key never reaches another server.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use guildhall_kernel::{Msat, Network, PaymentHash, Row, UnixMs, WalletId, WalletReply};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::address::{WalletKey, WalletUrl};
use crate::decode::{DecodedInvoice, decode};
use crate::error::{KeyKind, LightningError};
use crate::reply::{self, HttpReply, Page, Unclear, WalletState};
use crate::tls;

/// How long a request may take, with its reply. LNbits itself waits 5 seconds for a slow payment, and longer while it is busy.
const REQUEST_WAIT: Duration = Duration::from_secs(30);

const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// The most bytes of a reply.
const REPLY_BYTES_MAX: usize = 1024 * 1024;

/// The rows of a page of the list. A row has about 1,600 bytes, and may have 10,000.
const PAGE_ROWS: usize = 100;

/// The most rows of a list.
const LIST_ROWS_MAX: usize = 100_000;

/// The longest description of an invoice, in bytes. The standard allows 639.
pub const MEMO_BYTES_MAX: usize = 500;

/// The longest time until an invoice expires.
const EXPIRY_MAX: Duration = Duration::from_hours(24);

/// The invoice that [`Lnbits::identify`] makes, and nobody sees.
const TEST_MEMO: &str = "Guildhall: connection test, do not pay";
const TEST_EXPIRY: Duration = Duration::from_mins(1);

const MSAT_PER_SAT: u64 = 1000;

/// A wallet on an LNbits server.
#[derive(Clone, Debug)]
pub struct Lnbits {
    url: WalletUrl,
    invoice_key: WalletKey,
    admin_key: Option<WalletKey>,
    http: Client,
    request_wait: Duration,
}

/// A wallet that was identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletIdentity {
    /// The wallet of both keys.
    pub wallet: WalletId,
    /// The network of its invoices.
    pub network: Network,
}

/// What a wallet replied, with the reason for people if the reply is unclear or a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The reply for the treasury.
    pub reply: WalletReply,
    /// What went wrong.
    pub trouble: Option<LightningError>,
}

impl From<Result<WalletReply, LightningError>> for Answer {
    fn from(result: Result<WalletReply, LightningError>) -> Answer {
        match result {
            Ok(reply) => Answer { reply, trouble: None },
            Err(trouble) => Answer { reply: WalletReply::Unclear, trouble: Some(trouble) },
        }
    }
}

impl Lnbits {
    /// Creates the client of a wallet. A wallet without an admin key can receive, and can't pay. The wallet of a payee needs only
    /// its invoice key.
    pub fn new(url: WalletUrl, invoice_key: WalletKey, admin_key: Option<WalletKey>) -> Result<Lnbits, LightningError> {
        let tls = tls::settings(url.scheme()).map_err(|error| LightningError::Tls { why: error.to_string() })?;
        let builder =
            Client::builder().redirect(Policy::none()).no_proxy().referer(false).connect_timeout(CONNECT_WAIT);
        // A connection is used once: a request on an old connection can be lost, and nothing may repeat a request by itself.
        let builder = builder.retry(reqwest::retry::never()).pool_max_idle_per_host(0).tls_backend_preconfigured(tls);
        let http = builder.build().map_err(|error| LightningError::Tls { why: root_cause(&error) })?;
        Ok(Lnbits { url, invoice_key, admin_key, http, request_wait: REQUEST_WAIT })
    }

    /// Sets how long a request may take.
    #[must_use]
    pub fn with_request_wait(self, request_wait: Duration) -> Lnbits {
        Lnbits { request_wait, ..self }
    }

    /// Returns the address of the server.
    pub fn url(&self) -> &WalletUrl {
        &self.url
    }

    /// Whether there is a key that can pay.
    pub fn has_admin_key(&self) -> bool {
        self.admin_key.is_some()
    }

    /// Finds the wallet of the keys, and proves that each is the right kind of key of the same wallet, and that the wallet shows
    /// its payments. It makes an invoice for 1 sat, which expires after a minute and nobody sees: LNbits shows the id and the
    /// network of a wallet to its invoice key in no other way.
    pub async fn identify(&self) -> Result<WalletIdentity, LightningError> {
        let admin = self.admin_wallet().await?;
        let one_sat = Msat::from_sat(1).expect("1 sat is below the supply");
        let (test, made) = self.issue(one_sat, TEST_MEMO, TEST_EXPIRY).await?;
        let wallet = made.wallet;
        if let Some(admin) = admin.filter(|admin| *admin != wallet) {
            return Err(LightningError::OtherWallet { invoice: wallet, admin });
        }
        let shown = self.look_up(test.payment).await;
        match (shown.reply, shown.trouble) {
            (WalletReply::Found(row), _) if row.wallet == wallet => {
                Ok(WalletIdentity { wallet, network: test.network })
            }
            (_, Some(trouble @ (LightningError::NoReply { .. } | LightningError::Unreachable { .. }))) => Err(trouble),
            (_, _) => Err(LightningError::HiddenPayments { wallet }),
        }
    }

    /// Proves that the keys belong to the wallet that was identified before, without making anything. A process calls this before
    /// it looks a payment up: another wallet of the same server would say that the payment does not exist.
    pub async fn confirm(&self, expected: &WalletId) -> Result<(), LightningError> {
        let admin = self.admin_wallet().await?;
        let page = self.page(UnixMs(0), 0, 1).await?;
        let found = match page.rows.into_iter().next() {
            Some((_, row)) => row.wallet,
            // The invoice of the first identification is gone.
            None => self.identify().await?.wallet,
        };
        for (key, found) in [(KeyKind::Invoice, Some(found)), (KeyKind::Admin, admin)] {
            if let Some(found) = found.filter(|found| found != expected) {
                return Err(LightningError::NotThisWallet { key, found, expected: expected.clone() });
            }
        }
        Ok(())
    }

    /// Returns the money in the wallet. A wallet that is overdrawn has none.
    pub async fn balance(&self) -> Result<Msat, LightningError> {
        let balance = self.wallet(&self.invoice_key, KeyKind::Invoice).await?.balance;
        Ok(Msat::capped(u128::try_from(balance).unwrap_or(0)))
    }

    /// Makes an invoice. The amount is a whole number of sats: LNbits would round it without a word.
    pub async fn invoice(&self, money: Msat, memo: &str, expiry: Duration) -> Result<DecodedInvoice, LightningError> {
        self.issue(money, memo, expiry).await.map(|(invoice, _)| invoice)
    }

    /// Looks a payment up. If the wallet has no such payment, a second request proves that the server still knows our key: LNbits
    /// gives the same answer to a key that it does not know.
    pub async fn look_up(&self, payment: PaymentHash) -> Answer {
        self.try_look_up(payment).await.into()
    }

    /// Returns all payments of the wallet since a moment, failed ones included. It reads page by page, and is unclear if the list
    /// changed meanwhile in a way that can hide a row.
    pub async fn list(&self, since: UnixMs) -> Answer {
        self.try_list(since).await.into()
    }

    /// Asks the wallet to pay an invoice, with one request. A text that is not an invoice is refused without a request.
    pub async fn pay(&self, invoice: &str) -> Answer {
        let refused = |trouble| Answer { reply: WalletReply::Refused, trouble: Some(trouble) };
        let Some(key) = &self.admin_key else { return refused(LightningError::NoAdminKey) };
        let invoice = match decode(invoice) {
            Ok(invoice) => invoice,
            Err(error) => return refused(error.into()),
        };
        let body = json!({ "out": true, "bolt11": invoice.text });
        let reply = match self.post("payments", key, &body).await {
            Ok(reply) => reply,
            Err(trouble) => return Answer { reply: WalletReply::Unclear, trouble: Some(trouble) },
        };
        match reply::paid(invoice.payment, &reply) {
            Ok(WalletReply::Refused) => {
                let detail = self.redact(&reply::detail(&reply).unwrap_or_default());
                refused(LightningError::Server { url: self.url.to_string(), status: reply.status, detail })
            }
            result => result.map_err(|unclear| self.explain(unclear, reply.status, KeyKind::Admin)).into(),
        }
    }

    /// Proves that each key is the right kind of key, and returns the wallet of the admin key.
    async fn admin_wallet(&self) -> Result<Option<WalletId>, LightningError> {
        if self.wallet(&self.invoice_key, KeyKind::Invoice).await?.id.is_some() {
            return Err(LightningError::AdminKeyAsInvoiceKey);
        }
        let Some(key) = &self.admin_key else { return Ok(None) };
        let id = self.wallet(key, KeyKind::Admin).await?.id;
        id.map(Some).ok_or(LightningError::InvoiceKeyAsAdminKey)
    }

    async fn wallet(&self, key: &WalletKey, kind: KeyKind) -> Result<WalletState, LightningError> {
        let reply = self.get("wallet", &[], key).await?;
        reply::wallet(&reply).map_err(|unclear| self.explain(unclear, reply.status, kind))
    }

    async fn issue(&self, money: Msat, memo: &str, expiry: Duration) -> Result<(DecodedInvoice, Row), LightningError> {
        if money == Msat::ZERO || !money.get().is_multiple_of(MSAT_PER_SAT) {
            return Err(LightningError::NotWholeSats { money });
        }
        if memo.len() > MEMO_BYTES_MAX {
            return Err(LightningError::LongMemo { bytes: memo.len(), max: MEMO_BYTES_MAX });
        }
        if expiry < Duration::from_secs(1) || expiry > EXPIRY_MAX {
            return Err(LightningError::Expiry);
        }
        let sats = money.get() / MSAT_PER_SAT;
        // Without `out` and `unit`, LNbits would read this as a request to pay, or in another currency.
        let body = json!({ "out": false, "unit": "sat", "amount": sats, "memo": memo, "expiry": expiry.as_secs() });
        let reply = self.post("payments", &self.invoice_key, &body).await?;
        let explain = |unclear| self.explain(unclear, reply.status, KeyKind::Invoice);
        let issued = reply::issued(&reply).map_err(explain)?;
        let invoice = decode(&issued.bolt11)?;
        if invoice.money != Some(money) || issued.row.money != money {
            return Err(LightningError::OtherAmount { asked: money });
        }
        if invoice.payment != issued.row.payment || issued.row.is_outgoing {
            let why = "an invoice that contradicts its row".to_owned();
            return Err(explain(Unclear::NotLnbits(why)));
        }
        Ok((invoice, issued.row))
    }

    async fn try_look_up(&self, payment: PaymentHash) -> Result<WalletReply, LightningError> {
        let reply = self.get(&format!("payments/{payment}"), &[], &self.invoice_key).await?;
        let explain = |unclear| self.explain(unclear, reply.status, KeyKind::Invoice);
        let found = reply::looked_up(payment, &reply).map_err(explain)?;
        if found == WalletReply::NotFound {
            self.wallet(&self.invoice_key, KeyKind::Invoice).await?;
        }
        Ok(found)
    }

    async fn try_list(&self, since: UnixMs) -> Result<WalletReply, LightningError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut ids = BTreeSet::new();
        let mut last = None;
        while rows.len() < LIST_ROWS_MAX {
            // The oldest rows come first, so new rows change no page. Each page begins with the last row of the page before: if
            // another row is there, rows were removed, and one that nobody has read may have moved to an earlier page.
            let page = self.page(since, rows.len().saturating_sub(1), PAGE_ROWS).await?;
            let mut new = page.rows.into_iter();
            if last.is_some() && new.next().map(|(id, _)| id) != last {
                return Err(LightningError::ListChanged);
            }
            let before = rows.len();
            for (id, row) in new {
                if !ids.insert(id.clone()) {
                    return Err(LightningError::ListChanged);
                }
                last = Some(id);
                rows.push(row);
            }
            if rows.len() == page.total {
                return Ok(WalletReply::Listed(rows));
            }
            if rows.len() == before || rows.len() > page.total {
                return Err(LightningError::ListChanged);
            }
        }
        Err(LightningError::LongList { max: LIST_ROWS_MAX })
    }

    async fn page(&self, since: UnixMs, offset: usize, limit: usize) -> Result<Page, LightningError> {
        let (since, offset, limit) = ((since.0 / 1000).to_string(), offset.to_string(), limit.to_string());
        let order = [("sortby", "time"), ("direction", "asc")];
        let part = [("limit", limit.as_str()), ("offset", &offset), ("time[ge]", &since)];
        let reply = self.get("payments/paginated", &[order.as_slice(), &part].concat(), &self.invoice_key).await?;
        reply::page(&reply).map_err(|unclear| self.explain(unclear, reply.status, KeyKind::Invoice))
    }

    async fn get(&self, method: &str, query: &[(&str, &str)], key: &WalletKey) -> Result<HttpReply, LightningError> {
        let mut url = self.url.method(method);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.send(self.http.get(url), key).await
    }

    async fn post(&self, method: &str, key: &WalletKey, body: &Value) -> Result<HttpReply, LightningError> {
        let request = self.http.post(self.url.method(method)).header(CONTENT_TYPE, "application/json");
        self.send(request.body(body.to_string()), key).await
    }

    async fn send(&self, request: RequestBuilder, key: &WalletKey) -> Result<HttpReply, LightningError> {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", key.header());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let response = request.headers(headers).timeout(self.request_wait).send().await;
        let mut response = response.map_err(|error| self.broken(&error))?;
        let status = response.status().as_u16();
        Ok(HttpReply { status, body: self.body(&mut response).await? })
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, LightningError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(&error))? {
            if body.len() + chunk.len() > REPLY_BYTES_MAX {
                let why = format!("more than {REPLY_BYTES_MAX} bytes");
                return Err(self.explain(Unclear::NotLnbits(why), response.status().as_u16(), KeyKind::Invoice));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn broken(&self, error: &reqwest::Error) -> LightningError {
        let url = self.url.to_string();
        if error.is_connect() {
            LightningError::Unreachable { url, why: root_cause(error) }
        } else if error.is_timeout() {
            LightningError::NoReply { url, why: format!("no complete reply within {:?}", self.request_wait) }
        } else {
            LightningError::NoReply { url, why: root_cause(error) }
        }
    }

    fn explain(&self, unclear: Unclear, status: u16, key: KeyKind) -> LightningError {
        let url = self.url.to_string();
        match unclear {
            Unclear::WrongKey => LightningError::WrongKey { key },
            Unclear::TooManyRequests => LightningError::TooManyRequests { url },
            Unclear::Server(detail) => LightningError::Server { url, status, detail: self.redact(&detail) },
            Unclear::NotLnbits(why) => LightningError::NotLnbits { url, status, why: self.redact(&why) },
        }
    }

    fn redact(&self, text: &str) -> String {
        let text = self.invoice_key.redact(text);
        match &self.admin_key {
            Some(key) => key.redact(&text),
            None => text,
        }
    }
}

/// Returns the innermost cause of an error: the outer causes repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
