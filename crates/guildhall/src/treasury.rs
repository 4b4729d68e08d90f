//! The money of a wallet: connecting the wallet, funding sessions, refunds, and payments to payees. The kernel decides, the journal
//! stores, and the worker asks the wallet.

mod books;
mod fund;
mod refund;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guildhall_kernel::{
    Invoice, InvoiceError, Millis, Msat, PayeeName, PaymentHash, Policy, Quantity, SessionKind, TextKind, Treasury,
    TreasuryFact, UnixMs, WalletId,
};
use guildhall_lightning::{DecodeError, DecodedInvoice, LightningError, Lnbits, WalletKey, WalletUrl};
use guildhall_local::{Holder, SessionId, TreasuryBatch, TreasuryCursor, hash_text, unix_now};

pub use self::books::{Entry, Ledger, PostedAt, Posting};
pub(crate) use self::fund::Receiver;
pub use self::fund::{Funding, FundingEnd};
pub use self::refund::{PaymentView, Refund, RefundQuote, Resolution};
pub(crate) use self::worker::TreasuryWorker;
use crate::hall::{Hall, HallError};

/// The pause between two looks at the stored facts.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// After this long, a person is told that the wallet server has not replied.
const SLOW: Duration = Duration::from_secs(3);

/// The most that a session can have, if the operator sets nothing else.
const SESSION_MAX_SAT: u64 = 10_000;

/// How old the exchange rate may be when new work starts.
pub(crate) const RATE_DAYS_MAX: u64 = 7;

/// Why the wallet, or a payment, could not be used.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// No wallet is connected.
    #[error("no wallet is connected: run `guildhall wallet connect URL`")]
    NotConnected,
    /// There is no key for the wallet.
    #[error("there is no key for the wallet: set LNBITS_INVOICE_KEY, and LNBITS_ADMIN_KEY to pay")]
    NoKey,
    /// Only the admin key can pay.
    #[error("there is no key that can pay: set LNBITS_ADMIN_KEY. Nothing was paid")]
    NoAdminKey,
    /// The wallet's server could not be used.
    #[error(transparent)]
    Server(#[from] LightningError),
    /// The text is not an invoice.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The invoice can't be used.
    #[error("{0}. Nothing was paid")]
    Invoice(#[from] InvoiceError),
    /// The session has play money.
    #[error(
        "session {0} has play money, which can't be paid in or out: start a funded session with `guildhall fund AMOUNT`"
    )]
    PlaySession(SessionId),
    /// The session would have more than the limit.
    #[error("session {session} would have {wanted}, but a session can have at most {most}: ask for less")]
    SessionLimit {
        /// The session.
        session: SessionId,
        /// What it would have.
        wanted: Msat,
        /// The limit.
        most: Msat,
    },
    /// The wallet has less than the hall owes.
    #[error(
        "the wallet has {balance}, but this hall owes {owed} to sessions and payees: add money to the wallet. No work was started"
    )]
    Insolvent {
        /// What the wallet has.
        balance: Msat,
        /// What the hall owes.
        owed: Msat,
    },
    /// The exchange rate is too old.
    #[error(
        "the exchange rate is of {date}, older than {RATE_DAYS_MAX} days: set `rate` in the config. No work was started"
    )]
    OldRate {
        /// The date of the rate.
        date: String,
    },
    /// The wallet made a payment that this hall does not know.
    #[error(
        "nothing is paid now, because the wallet made a payment that this hall does not know: run `guildhall wallet` to see it. \
         Nothing was stored"
    )]
    Frozen,
    /// There is a payment to this invoice.
    #[error("payment {0} to this invoice exists already: to see it and to continue it, run `guildhall payments`")]
    Exists(PaymentHash),
    /// There is no such payment under way.
    #[error("there is no payment {0} under way: see `guildhall payments`")]
    NoPayment(String),
    /// The wallet shows that the payment was made.
    #[error(
        "the wallet shows payment {0} as paid, so it has not failed: run `guildhall payments`. Nothing was changed"
    )]
    WasPaid(String),
    /// The preimage does not belong to the payment.
    #[error("this preimage does not belong to the payment: its SHA-256 is not the payment hash. Nothing was changed")]
    WrongPreimage,
    /// Another process asks the wallet.
    #[error("{} of this hall asks the wallet now: wait until it ends, or end it, then run the command again", process(.0.as_ref()))]
    Busy(Option<Holder>),
}

/// Names a process.
fn process(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |holder| format!("process {}", holder.pid))
}

/// A payee: who gets the fees of an agent.
#[derive(Clone, Debug)]
pub struct Payee {
    /// The payee's wallet, with its invoice key alone. Without it, the payee's fees wait.
    pub wallet: Option<Lnbits>,
    /// The largest fee for one report.
    pub fee_max: Msat,
}

/// Whether payees are paid the fees that they have earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payouts {
    /// Payees are paid.
    On,
    /// Fees wait.
    Off,
}

/// The limits of the treasury.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreasuryLimits {
    /// The most that a session can have.
    pub session_max: Msat,
    /// A payee is paid when it is owed this much.
    pub payout_min: Msat,
    /// The largest payment to a payee.
    pub payment_max: Msat,
    /// The largest sum of payments to payees in 24 hours.
    pub daily_max: Msat,
    /// How long after its invoice expired a payment that the wallet does not have counts as failed.
    pub failed_after: Millis,
}

impl Default for TreasuryLimits {
    fn default() -> TreasuryLimits {
        let Policy { payout_min, payment_max, daily_max, failed_after, .. } = Policy::default();
        let session_max = Msat::from_sat(SESSION_MAX_SAT).expect("the limit is below the supply");
        TreasuryLimits { session_max, payout_min, payment_max, daily_max, failed_after }
    }
}

/// The wallet's keys, the payees and the limits of a hall.
#[derive(Clone, Debug, Default)]
pub(crate) struct WalletSettings {
    pub(crate) invoice_key: Option<WalletKey>,
    pub(crate) admin_key: Option<WalletKey>,
    pub(crate) payees: BTreeMap<PayeeName, Payee>,
    pub(crate) limits: TreasuryLimits,
    /// Whether a task of this process asks the wallet for everything that is due. Then work needs no such task of its own. All halls
    /// of one journal share this.
    pub(crate) is_kept: Arc<AtomicBool>,
}

/// A task that asks the wallet for everything that is due. Dropping it stops the task; everything that is needed to continue is
/// stored.
pub struct BookKeeping {
    _worker: TreasuryWorker,
    is_kept: Arc<AtomicBool>,
}

impl Drop for BookKeeping {
    fn drop(&mut self) {
        self.is_kept.store(false, Ordering::Release);
    }
}

/// The hall's wallet, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletView {
    /// Its id.
    pub wallet: WalletId,
    /// The address of its server.
    pub url: String,
    /// The money in it, if the server replies.
    pub balance: Option<Msat>,
    /// What the hall owes to sessions.
    pub owed_to_sessions: Msat,
    /// What the hall owes to payees.
    pub owed_to_payees: Msat,
    /// Whether payees are paid.
    pub payouts_allowed: bool,
    /// The payments that this hall does not know. If there are any, nothing is paid.
    pub frozen: Vec<String>,
    /// Why the server does not reply.
    pub trouble: Option<String>,
}

impl WalletView {
    /// Returns how much less the wallet has than the hall owes, as far as it is known.
    pub fn lacks(&self) -> Msat {
        let owed = self.owed_to_sessions.plus(self.owed_to_payees).unwrap_or(Msat::SUPPLY);
        self.balance.and_then(|balance| owed.minus(balance)).unwrap_or(Msat::ZERO)
    }
}

impl Hall {
    /// Connects this hall to a wallet. The keys decide which wallet it is. A hall keeps its first wallet; its address can change.
    pub async fn connect_wallet(&self, url: WalletUrl) -> Result<WalletView, HallError> {
        let client = self.client_at(url.clone())?;
        let identity = self.warn_if_slow(client.identify()).await.map_err(WalletError::from)?;
        let url = self.redactor().text(TextKind::Url, url.as_str());
        let fact = TreasuryFact::Connected { wallet: identity.wallet, network: identity.network, url: url.of };
        let texts = vec![(url.of, url.says.into_bytes())];
        let batch = TreasuryBatch { at: unix_now(), facts: vec![fact], texts };
        self.journal().append_treasury(None, batch).await?;
        self.wallet().await
    }

    /// Allows or stops payments to payees.
    pub async fn set_payouts(&self, payouts: Payouts) -> Result<(), HallError> {
        let allowed = payouts == Payouts::On;
        self.decide(vec![TreasuryFact::Payouts { allowed }]).await
    }

    /// Accepts payments of the wallet that this hall does not know. While there are any that no person has accepted, nothing is
    /// paid.
    ///
    /// If such a payment was a refund or a fee of this hall, and the journal is an older copy, the hall still owes that money, and
    /// pays it again when it is asked to.
    pub async fn accept_payments(&self, payments: &[PaymentHash]) -> Result<(), HallError> {
        let payments: BTreeSet<PaymentHash> = payments.iter().copied().collect();
        self.decide(payments.into_iter().map(|payment| TreasuryFact::Accepted { payment }).collect()).await
    }

    /// Stores what a person decided.
    async fn decide(&self, facts: Vec<TreasuryFact>) -> Result<(), HallError> {
        self.journal().append_treasury(None, TreasuryBatch { at: unix_now(), facts, texts: Vec::new() }).await?;
        Ok(())
    }

    /// Returns the other process that asks the wallet now, if there is one. Payments wait for that process.
    pub async fn other_wallet_process(&self) -> Result<Option<Holder>, HallError> {
        let holder = self.journal().treasury_holder().await?;
        Ok(holder.filter(|holder| holder.pid != std::process::id()))
    }

    /// Returns the wallet.
    pub async fn wallet(&self) -> Result<WalletView, HallError> {
        let treasury = self.treasury().await?;
        let wallet = treasury.wallet().ok_or(WalletError::NotConnected)?.clone();
        let (balance, trouble) = match self.balance().await {
            Ok(balance) => (Some(balance), None),
            Err(why) => (None, Some(why.to_string())),
        };
        Ok(WalletView {
            wallet: wallet.id,
            url: self.wallet_url(&treasury).await?.to_string(),
            balance,
            owed_to_sessions: self.owed_to_sessions().await?,
            owed_to_payees: treasury.owed_to_payees(),
            payouts_allowed: treasury.payouts_allowed(),
            frozen: treasury.frozen().map(|payment| payment.to_string()).collect(),
            trouble,
        })
    }

    /// Asks the wallet from now on for everything that is due: invoices that may be paid, and payments to make. This ends when the
    /// returned value is dropped. `None` if no wallet is connected, or there is no key for it.
    pub async fn keep_books(&self) -> Result<Option<BookKeeping>, HallError> {
        let is_connected = self.treasury().await?.wallet().is_some() && self.wallet_settings().invoice_key.is_some();
        Ok(is_connected.then(|| {
            let is_kept = Arc::clone(&self.wallet_settings().is_kept);
            is_kept.store(true, Ordering::Release);
            BookKeeping { _worker: TreasuryWorker::start(self), is_kept }
        }))
    }

    /// Returns the state of the treasury. Only the facts that are new since the last call are read.
    pub async fn treasury(&self) -> Result<Arc<Treasury>, HallError> {
        let mut followed = self.followed_treasury().lock().await;
        followed.read(self).await?;
        Ok(Arc::clone(&followed.treasury))
    }

    /// Makes sure that new work can start in a session with the money of a wallet.
    pub(crate) async fn check_wallet(&self, kind: &SessionKind) -> Result<(), HallError> {
        let SessionKind::Wallet(_) = kind else { return Ok(()) };
        let rate = self.models().rate();
        if days_since(&rate.date, unix_now()).is_none_or(|days| days > RATE_DAYS_MAX) {
            return Err(WalletError::OldRate { date: rate.date.clone() }.into());
        }
        let balance = self.balance().await?;
        let owed = self.owed_to_sessions().await?.plus(self.treasury().await?.owed_to_payees());
        match owed {
            Some(owed) if balance >= owed => Ok(()),
            owed => Err(WalletError::Insolvent { balance, owed: owed.unwrap_or(Msat::SUPPLY) }.into()),
        }
    }

    async fn balance(&self) -> Result<Msat, HallError> {
        let client = self.client().await?;
        Ok(self.warn_if_slow(client.balance()).await.map_err(WalletError::from)?)
    }

    /// Returns the money of all sessions with the money of a wallet, as far as it is not spent.
    async fn owed_to_sessions(&self) -> Result<Msat, HallError> {
        let sum = self.journal().snapshot(|snapshot| {
            let mut owed = Msat::ZERO;
            for row in snapshot.sessions()? {
                let account = snapshot.account(&row.id)?;
                if let SessionKind::Wallet(_) = account.kind() {
                    owed = owed.plus(account.unspent()).unwrap_or(Msat::SUPPLY);
                }
            }
            Ok(owed)
        });
        Ok(sum.await?)
    }

    /// Returns the client of the hall's wallet, and proves that the keys are those of that wallet: another wallet would take the
    /// money of sessions, show another balance, and seem to know no payment.
    pub(crate) async fn client(&self) -> Result<Lnbits, HallError> {
        let treasury = self.treasury().await?;
        let connected = treasury.wallet().ok_or(WalletError::NotConnected)?;
        let client = self.client_at(self.wallet_url(&treasury).await?)?;
        self.warn_if_slow(client.confirm(&connected.id)).await.map_err(WalletError::from)?;
        Ok(client)
    }

    /// Waits for the wallet server, and says so if that takes long.
    async fn warn_if_slow<T>(&self, asked: impl Future<Output = T>) -> T {
        let mut asked = std::pin::pin!(asked);
        if let Ok(replied) = tokio::time::timeout(SLOW, &mut asked).await {
            return replied;
        }
        self.warn("the wallet server has not replied yet: still waiting for it");
        asked.await
    }

    fn client_at(&self, url: WalletUrl) -> Result<Lnbits, HallError> {
        let settings = self.wallet_settings();
        let key = settings.invoice_key.clone().ok_or(WalletError::NoKey)?;
        Ok(Lnbits::new(url, key, settings.admin_key.clone()).map_err(WalletError::from)?)
    }

    async fn wallet_url(&self, treasury: &Treasury) -> Result<WalletUrl, HallError> {
        let wallet = treasury.wallet().ok_or(WalletError::NotConnected)?;
        let text = self.stored_words(wallet.url).await?;
        // The address was checked when the wallet was connected.
        let plain = guildhall_lightning::PlainHttp::Anywhere;
        WalletUrl::parse(&text, plain).map_err(|why| HallError::Damaged(why.to_string()))
    }
}

/// The state of the treasury, with the place of the newest fact in it. Only the facts after that place are read again.
#[derive(Default)]
pub(crate) struct FollowedTreasury {
    treasury: Arc<Treasury>,
    cursor: TreasuryCursor,
}

impl FollowedTreasury {
    /// Reads the new facts. A fact that does not fit leaves the state as it was.
    async fn read(&mut self, hall: &Hall) -> Result<(), HallError> {
        let (facts, cursor) = hall.journal().treasury_after(self.cursor).await?;
        if !facts.is_empty() {
            // A caller may still use the state before.
            let mut treasury = Arc::clone(&self.treasury);
            let state = Arc::make_mut(&mut treasury);
            for stored in facts {
                let applied = state.apply(&stored.fact, stored.at);
                applied.map_err(|why| HallError::Damaged(format!("fact {} of the treasury: {why}", stored.n)))?;
            }
            self.treasury = treasury;
        }
        self.cursor = cursor;
        Ok(())
    }
}

/// Returns an invoice as the kernel knows it, with the text to store.
fn stored_invoice(invoice: &DecodedInvoice) -> (Invoice, (guildhall_kernel::TextRef, Vec<u8>)) {
    let bytes = invoice.text.as_bytes().to_vec();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let of = guildhall_kernel::TextRef { hash: hash_text(&bytes), bytes: length, kind: TextKind::Invoice };
    (invoice.with_text(of), (of, bytes))
}

/// Returns how many days ago a date like `2026-11-15` was. `None` if it is not a date.
fn days_since(date: &str, now: UnixMs) -> Option<u64> {
    let mut parts = date.splitn(3, '-').map(|part| part.trim().parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    // The days since 1970 in the Gregorian calendar, counted from March so that a leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    let today = i64::try_from(now.0 / 86_400_000).ok()?;
    u64::try_from(today - days).ok().or(Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_a_date() {
        let now = UnixMs(1_794_830_400_000); // 2026-11-16
        assert_eq!(days_since("1970-01-01", UnixMs(86_400_000)), Some(1));
        assert_eq!(days_since("2026-11-16", now), Some(0));
        assert_eq!(days_since("2026-11-09", now), Some(7));
        assert_eq!(days_since("2026-02-28", now), Some(261));
        assert_eq!(days_since("2024-02-29", now), Some(991));
        assert_eq!(days_since("2030-01-01", now), Some(0), "a date in the future is not old");
        for wrong in ["", "today", "2026-13-01", "2026-11", "2026-11-32"] {
            assert_eq!(days_since(wrong, now), None, "{wrong}");
        }
    }
}
