//! The worker: it performs the errands of the treasury. One process at a time has the lease; the workers of the others wait for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use guildhall_kernel::{
    Errand, Invoice, InvoiceError, Msat, PayeeName, PaymentHash, Policy, SessionKind, TextRef, Treasurer, Treasury,
    TreasuryFact, UnixMs, WalletReply,
};
use guildhall_lightning::{Answer, Lnbits};
use guildhall_local::{JournalError, SessionId, TreasuryBatch, TreasuryCursor, TreasuryLease, unix_now};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::refund::is_ours;
use super::{WalletError, WalletSettings, stored_invoice};
use crate::hall::{Hall, HallError};

/// How often the lease is tried while another process holds it, and how often facts of other processes are read.
const POLL: Duration = Duration::from_millis(500);

/// The pause after an error of the wallet's server.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// A process without a paying key gives up the lease for this long, so that one with the key can take it.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(1);

/// How long a warning is not repeated.
const WARN_AGAIN: Duration = Duration::from_mins(10);

/// How long the end of a command waits for payments that can be made now.
const FINISH_MAX: Duration = Duration::from_secs(20);

/// How long an invoice of a payee is valid.
const PAYEE_VALID: Duration = Duration::from_hours(1);

const PAYEE_MEMO: &str = "Guildhall fees";

/// The task that asks the wallet. Dropping it stops the task, as a crash would.
pub(crate) struct TreasuryWorker {
    task: JoinHandle<()>,
    /// Notified when there is nothing to ask at the moment.
    idle: Arc<Notify>,
}

impl TreasuryWorker {
    pub(crate) fn start(hall: &Hall) -> TreasuryWorker {
        TreasuryWorker::with(hall, None)
    }

    /// Starts a worker for somebody who waits until an invoice is paid.
    pub(crate) fn start_for_invoice(hall: &Hall, invoice: PaymentHash) -> TreasuryWorker {
        TreasuryWorker::with(hall, Some(invoice))
    }

    fn with(hall: &Hall, awaited: Option<PaymentHash>) -> TreasuryWorker {
        let idle = Arc::new(Notify::new());
        let task = tokio::spawn(work(hall.clone(), awaited, Arc::clone(&idle)));
        TreasuryWorker { task, idle }
    }

    /// Starts a worker if a session has the money of a wallet.
    pub(crate) async fn start_for(hall: &Hall, session: &SessionId) -> Result<Option<TreasuryWorker>, HallError> {
        if hall.wallet_settings().is_kept.load(Ordering::Acquire) {
            return Ok(None);
        }
        let account = hall.journal().folded_account(session).await?;
        Ok((*account.kind() != SessionKind::Play).then(|| TreasuryWorker::start(hall)))
    }

    /// Waits until there is nothing to ask at the moment, but not for long: another process continues.
    pub(crate) async fn finish(self) {
        let idle = async {
            // The first notification can be older than the newest facts. The second comes after they were read.
            self.idle.notified().await;
            self.idle.notified().await;
        };
        // After the time, everything is stored that is needed to continue later.
        let _ = tokio::time::timeout(FINISH_MAX, idle).await;
    }
}

impl Drop for TreasuryWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks the wallet until the task is stopped.
async fn work(hall: Hall, awaited: Option<PaymentHash>, idle: Arc<Notify>) {
    let mut warnings = Warnings::new(&hall);
    loop {
        let pause = match Office::open(&hall).await {
            Ok(Some(mut office)) => {
                if let Some(invoice) = awaited {
                    office.treasurer.watch_closely(invoice);
                }
                let why = office.ask_until_it_fails(&idle, &mut warnings).await;
                if matches!(why, HallError::Journal(JournalError::Treasury(_) | JournalError::Account { .. })) {
                    // The stored facts differ from what this worker knows: read them again.
                    Duration::ZERO
                } else {
                    warnings.unreachable(&why);
                    AFTER_ERROR
                }
            }
            Ok(None) => {
                idle.notify_one();
                POLL
            }
            Err(why) => {
                warnings.unreachable(&why);
                idle.notify_one();
                AFTER_ERROR
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Prints each warning once, and again only after a while.
struct Warnings {
    hall: Hall,
    printed: BTreeMap<String, Instant>,
}

impl Warnings {
    fn new(hall: &Hall) -> Warnings {
        Warnings { hall: hall.clone(), printed: BTreeMap::new() }
    }

    fn say(&mut self, line: String) {
        self.printed.retain(|_, at| at.elapsed() < WARN_AGAIN);
        if !self.printed.contains_key(&line) {
            self.hall.warn(&line);
            self.printed.insert(line, Instant::now());
        }
    }

    fn unreachable(&mut self, why: &dyn std::fmt::Display) {
        self.say(format!(
            "the wallet can't be asked now ({why}). Payments wait, nothing is lost, and the wallet is asked again"
        ));
    }
}

/// What a step of the worker did.
enum Performed {
    One,
    Nothing,
}

/// The lease, the wallet and the treasurer.
struct Office {
    hall: Hall,
    /// Absent for a moment if this process lacks a key, so that another process can go on.
    lease: Option<TreasuryLease>,
    wallet: Lnbits,
    treasurer: Treasurer,
    cursor: TreasuryCursor,
}

impl Office {
    /// Takes the lease. `None` if another process holds the lease, or no wallet is connected.
    async fn open(hall: &Hall) -> Result<Option<Office>, HallError> {
        let Some(lease) = hall.journal().lease_treasury(unix_now()).await? else { return Ok(None) };
        let (facts, cursor) = hall.journal().treasury_after(TreasuryCursor::default()).await?;
        let facts = facts.into_iter().map(|stored| (stored.fact, stored.at));
        let treasury = Treasury::restore(facts).map_err(|why| HallError::Damaged(why.to_string()))?;
        if treasury.wallet().is_none() {
            return Ok(None);
        }
        let wallet = hall.client().await?;
        let treasurer = Treasurer::new(treasury, policy(hall.wallet_settings()));
        Ok(Some(Office { hall: hall.clone(), lease: Some(lease), wallet, treasurer, cursor }))
    }

    /// Performs errands until something fails.
    async fn ask_until_it_fails(&mut self, idle: &Notify, warnings: &mut Warnings) -> HallError {
        loop {
            let rested = match self.perform_next(warnings).await {
                Ok(Performed::One) => Ok(()),
                Ok(Performed::Nothing) => {
                    idle.notify_one();
                    self.rest(idle).await
                }
                Err(why) => Err(why),
            };
            if let Err(why) = rested {
                return why;
            }
        }
    }

    /// Waits until there may be something to do. If this process lacks a key, another process can take the lease meanwhile.
    async fn rest(&mut self, idle: &Notify) -> Result<(), HallError> {
        if !self.treasurer.lacks_key() {
            tokio::time::sleep(POLL).await;
            return Ok(());
        }
        self.lease = None;
        tokio::time::sleep(LEFT_TO_OTHERS).await;
        while self.lease.is_none() {
            self.lease = self.hall.journal().lease_treasury(unix_now()).await?;
            if self.lease.is_none() {
                idle.notify_one();
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    /// Performs the next errand, if there is one, and stores what follows.
    async fn perform_next(&mut self, warnings: &mut Warnings) -> Result<Performed, HallError> {
        self.read_new_facts().await?;
        let errands = self.treasurer.errands(unix_now());
        let Some(errand) = errands.first() else { return Ok(Performed::Nothing) };
        // A reply says nothing about the time after it was asked for: the machine can sleep before it is read.
        let asked = unix_now();
        let (reply, text) = self.perform(errand, warnings).await?;
        let (facts, at) = (self.treasurer.hear(errand, &reply, asked), unix_now());
        self.store(facts, text, at).await?;
        Ok(Performed::One)
    }

    async fn store(
        &self,
        facts: Vec<TreasuryFact>,
        text: Option<(TextRef, Vec<u8>)>,
        at: UnixMs,
    ) -> Result<(), HallError> {
        if facts.is_empty() {
            return Ok(());
        }
        let batch = TreasuryBatch { at, facts, texts: text.into_iter().collect() };
        self.hall.journal().append_treasury(self.lease.as_ref(), batch).await?;
        Ok(())
    }

    /// Reads the facts that this process and others have stored.
    async fn read_new_facts(&mut self) -> Result<(), HallError> {
        let (facts, cursor) = self.hall.journal().treasury_after(self.cursor).await?;
        for stored in facts {
            let applied = self.treasurer.apply(&stored.fact, stored.at);
            applied.map_err(|why| HallError::Damaged(why.to_string()))?;
        }
        self.cursor = cursor;
        Ok(())
    }

    /// Performs an errand. The text is the invoice of a payee.
    async fn perform(
        &self,
        errand: &Errand,
        warnings: &mut Warnings,
    ) -> Result<(WalletReply, Option<(TextRef, Vec<u8>)>), HallError> {
        let Answer { reply, trouble } = match errand {
            Errand::List { since } => self.wallet.list(*since).await,
            Errand::LookUp { payment } => self.wallet.look_up(*payment).await,
            Errand::Send { invoice, .. } => self.wallet.pay(&self.hall.stored_words(*invoice).await?).await,
            Errand::AskPayee { payee, money } => {
                return Ok(match self.ask_payee(payee, *money).await {
                    Ok((invoice, text)) => (WalletReply::Invoice(invoice), Some(text)),
                    Err(why) => {
                        warnings.say(format!(
                            "payee {payee} can't be paid now: {why}. The fees wait, and the payee is asked again"
                        ));
                        (WalletReply::Unclear, None)
                    }
                });
            }
        };
        match (trouble, errand) {
            (None, _) => {}
            (Some(trouble), Errand::List { .. }) => return Err(WalletError::from(trouble).into()),
            (Some(trouble), Errand::Send { payment, .. }) => warnings.say(format!("payment {payment}: {trouble}")),
            (Some(trouble), Errand::LookUp { .. } | Errand::AskPayee { .. }) => warnings.unreachable(&trouble),
        }
        Ok((reply, None))
    }

    /// Asks a payee for an invoice. An invoice that can't be paid is an error.
    async fn ask_payee(&self, payee: &PayeeName, money: Msat) -> Result<(Invoice, (TextRef, Vec<u8>)), WalletError> {
        let wallet = self.hall.wallet_settings().payees.get(payee).and_then(|payee| payee.wallet.as_ref());
        let decoded = wallet.ok_or(WalletError::NoKey)?.invoice(money, PAYEE_MEMO, PAYEE_VALID).await?;
        if is_ours(&self.wallet, decoded.payment).await {
            return Err(InvoiceError::Ours.into());
        }
        let (invoice, text) = stored_invoice(&decoded);
        self.treasurer.payout(payee, money, &invoice, unix_now())?;
        Ok((invoice, text))
    }
}

fn policy(settings: &WalletSettings) -> Policy {
    let limits = &settings.limits;
    let can_be_asked = settings.payees.iter().filter(|(_, payee)| payee.wallet.is_some());
    Policy {
        payout_min: limits.payout_min,
        payment_max: limits.payment_max,
        daily_max: limits.daily_max,
        failed_after: limits.failed_after,
        can_pay: settings.admin_key.is_some(),
        payees: can_be_asked.map(|(name, _)| name.clone()).collect(),
    }
}
