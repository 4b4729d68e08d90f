//! The worker: it performs the errands of the treasury. One process at a time has the lease; the workers of the others wait for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall_kernel::{
    Errand, Invoice, InvoiceError, Msat, PayeeName, Policy, SessionKind, TextRef, Treasurer, Treasury, TreasuryFact,
    UnixMs, WalletReply,
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

/// The pauses of a process that lacks a key: the first, and the longest.
const WITHOUT_KEY_MIN: Duration = Duration::from_millis(500);
const WITHOUT_KEY_MAX: Duration = Duration::from_secs(8);

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
        let idle = Arc::new(Notify::new());
        let task = tokio::spawn(work(hall.clone(), Arc::clone(&idle)));
        TreasuryWorker { task, idle }
    }

    /// Starts a worker if a session has the money of a wallet.
    pub(crate) async fn start_for(hall: &Hall, session: &SessionId) -> Result<Option<TreasuryWorker>, HallError> {
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
async fn work(hall: Hall, idle: Arc<Notify>) {
    let mut warnings = Warnings::new(&hall);
    let mut rounds_without_key = 0;
    loop {
        let pause = match Office::open(&hall).await {
            Ok(Some(mut office)) => match office.ask(&idle, &mut warnings).await {
                // The stored facts differ from what this worker knows: read them again.
                Stopped::Failed(HallError::Journal(JournalError::Treasury(_) | JournalError::Account { .. })) => {
                    Duration::ZERO
                }
                Stopped::Failed(why) => {
                    warnings.unreachable(&why);
                    AFTER_ERROR
                }
                Stopped::LacksKey => {
                    rounds_without_key += 1;
                    WITHOUT_KEY_MIN.saturating_mul(1 << rounds_without_key.min(8)).min(WITHOUT_KEY_MAX)
                }
            },
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

/// Why a worker gives the lease up.
enum Stopped {
    Failed(HallError),
    /// Something waits for a key that this process does not have. Another process may have it.
    LacksKey,
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
            "the wallet can't be asked now ({why}). Payments wait, nothing is lost, and it is tried again"
        ));
    }
}

/// The lease, the wallet and the treasurer.
struct Office {
    hall: Hall,
    lease: TreasuryLease,
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
        Ok(Some(Office { hall: hall.clone(), lease, wallet, treasurer, cursor }))
    }

    /// Performs errands until something fails, or another process must go on.
    async fn ask(&mut self, idle: &Notify, warnings: &mut Warnings) -> Stopped {
        loop {
            match self.perform_next(warnings).await {
                Ok(true) => {}
                Ok(false) => {
                    idle.notify_one();
                    if self.treasurer.lacks_key() {
                        return Stopped::LacksKey;
                    }
                    tokio::time::sleep(POLL).await;
                }
                Err(why) => return Stopped::Failed(why),
            }
        }
    }

    /// Performs the next errand, and stores what follows. Returns whether there was one.
    async fn perform_next(&mut self, warnings: &mut Warnings) -> Result<bool, HallError> {
        self.read_new_facts().await?;
        let errands = self.treasurer.errands(unix_now());
        let Some(errand) = errands.first() else { return Ok(false) };
        // A reply says nothing about the time after it was asked for: the machine can sleep before it is read.
        let asked = unix_now();
        let (reply, text) = self.perform(errand, warnings).await?;
        let (facts, at) = (self.treasurer.hear(errand, &reply, asked), unix_now());
        self.store(facts, text, at).await?;
        Ok(true)
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
        self.hall.journal().append_treasury(Some(&self.lease), batch).await?;
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
                            "payee {payee} can't be paid now: {why}. The fees wait, and it is tried again"
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
