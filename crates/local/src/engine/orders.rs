//! Orders: stimuli that other terminals leave in the inbox for the process that runs the session. Each order is
//! delivered once. Money for a root that has closed is added to the session's account.

use std::time::Duration;

use guildhall_agent::Text;
use guildhall_kernel::{Fact, Input, Millis, Msat, Path, Stimulus, TextRef};
use serde::{Deserialize, Serialize};

use super::money::MoneySource;
use super::{EngineError, Inner, SessionEngine};
use crate::inbox::Command;
use crate::journal::{Journal, JournalError, SessionBatch};
use crate::lease::Lease;

/// How long to wait before an order is tried again when its contract has no driver yet.
const NO_DRIVER_RETRY: Duration = Duration::from_millis(50);

/// How long to wait before reading the inbox again after a failed read. The time doubles with each failure.
const READ_RETRY: Duration = Duration::from_millis(100);
const READ_RETRY_MAX: Duration = Duration::from_secs(10);

/// How often reading the inbox is tried when a run starts.
const READS_MAX: u32 = 5;

/// An order that another terminal leaves in the inbox for the process that runs the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The contract that receives the order.
    pub to: Path,
    /// The stimulus.
    pub what: Stimulus,
    /// The texts that the stimulus names.
    pub texts: Vec<(TextRef, String)>,
    /// Where the money of a top-up comes from.
    pub source: MoneySource,
}

impl Order {
    /// An order without texts. The money of a top-up is new.
    pub fn new(to: Path, what: Stimulus) -> Order {
        Order { to, what, texts: Vec::new(), source: MoneySource::New }
    }
}

/// The state of an order that no contract received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undelivered {
    /// The contract is open but has no driver yet. The order is delivered later.
    TooEarly,
    /// No contract can receive the order any more.
    Finished,
}

impl SessionEngine {
    /// Delivers the orders that other terminals leave in the inbox, until the journal fails permanently. If the inbox
    /// can't be read for a while, `warn` is called once, and the inbox is read again later.
    pub async fn process_orders(&self, warn: &(dyn Fn(&JournalError) + Send + Sync)) -> EngineError {
        let (mut newest, mut failures) = (0, 0);
        let mut warned = false;
        loop {
            match self.process_new_orders(&mut newest).await {
                Ok(()) => failures = 0,
                Err(why) if is_final(&why) => return why.into(),
                Err(why) => {
                    if !warned {
                        warn(&why);
                    }
                    warned = true;
                    tokio::time::sleep(pause(failures)).await;
                    failures += 1;
                }
            }
        }
    }

    /// Delivers the orders that are new in the inbox.
    async fn process_new_orders(&self, newest: &mut u64) -> Result<(), JournalError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let mut too_early: Vec<Path> = Vec::new();
        for command in journal.wait_after(lease.session(), *newest).await? {
            let to = Order::deserialize(&command.command).map(|order| order.to).ok();
            // A contract hears its orders in their order: the driver may appear between two of them.
            if to.as_ref().is_some_and(|to| too_early.contains(to)) {
                continue;
            }
            let undelivered =
                if self.deliver_order(&command) { Undelivered::Finished } else { self.finish_order(&command).await? };
            match undelivered {
                Undelivered::TooEarly => too_early.extend(to),
                // Orders after one that is too early are read again together with it.
                Undelivered::Finished if !too_early.is_empty() => {}
                Undelivered::Finished => *newest = command.number,
            }
        }
        if !too_early.is_empty() {
            tokio::time::sleep(NO_DRIVER_RETRY).await;
        }
        Ok(())
    }

    /// Delivers the orders that were left before this process ran the session, before the session does anything else.
    pub(super) async fn process_earlier_orders(&self) -> Result<(), JournalError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let mut failures = 0;
        let left = loop {
            match journal.take_after(lease.session(), 0).await {
                Ok(left) => break left,
                Err(why) if is_final(&why) || failures + 1 == READS_MAX => return Err(why),
                Err(_) => tokio::time::sleep(pause(failures)).await,
            }
            failures += 1;
        };
        for command in left {
            self.deliver_order(&command);
        }
        Ok(())
    }

    /// Finishes the orders that no contract can receive any more. Orders for open contracts stay in the inbox. If the
    /// inbox can't be read now, all orders stay: the process that resumes the session finds them there.
    pub async fn finish_orders(&self) -> Result<(), EngineError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let concluded = async {
            for command in journal.take_after(lease.session(), 0).await? {
                self.finish_order(&command).await?;
            }
            Ok(())
        };
        unless_final(concluded.await)
    }

    /// Finishes an order that reached its contract after the contract had closed. If that fails for now, the order
    /// stays in the inbox.
    pub(super) async fn finish_late_order(
        &self,
        number: u64,
        input: &Input,
        source: MoneySource,
    ) -> Result<(), EngineError> {
        let money = if let Input::Stimulus { what, .. } = input { late_money(what, source) } else { None };
        unless_final(self.finish_undelivered(number, money).await)
    }

    /// Finishes an order that no contract received, unless its contract is open.
    async fn finish_order(&self, command: &Command) -> Result<Undelivered, JournalError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let order = Order::deserialize(&command.command).ok();
        if let Some(order) = &order
            && is_open(journal, lease, &order.to).await?
        {
            return Ok(Undelivered::TooEarly);
        }
        let money = order.and_then(|order| late_money(&order.what, order.source));
        self.finish_undelivered(command.number, money).await?;
        Ok(Undelivered::Finished)
    }

    /// Finishes an order whose contract has closed.
    async fn finish_undelivered(&self, number: u64, money: Option<LateMoney>) -> Result<(), JournalError> {
        let Inner { journal, lease, time, finishing, .. } = &*self.inner;
        // The driver of a closed contract and the reader of the inbox may handle the same order at the same time.
        let _guard = finishing.lock().await;
        finish_undelivered(journal, lease, time.now(), number, money).await
    }

    /// Sends an order to its contract. An order that is sent twice takes effect once. Returns whether the contract has
    /// a driver.
    fn deliver_order(&self, command: &Command) -> bool {
        let order = Order::deserialize(&command.command);
        order.is_ok_and(|Order { to, what, texts, source }| {
            let texts = texts.into_iter().map(|(of, says)| Text { of, says }).collect();
            self.tell_from(source, &to, command.number, what, texts)
        })
    }
}

impl Journal {
    /// Adds top-ups in the inbox for closed roots to the session's account. This is for a session that no process runs:
    /// [`SessionEngine::process_orders`] does the same while the session runs.
    pub async fn keep_late_money(&self, lease: &Lease) -> Result<(), JournalError> {
        for command in self.take_after(lease.session(), 0).await? {
            let Ok(Order { to, what, source, .. }) = Order::deserialize(&command.command) else { continue };
            let Some(money) = late_money(&what, source) else { continue };
            if let Some(newest) = self.newest_fact(lease.session(), &to).await?
                && matches!(newest.fact, Fact::Closed(_))
            {
                finish_undelivered(self, lease, newest.at, command.number, Some(money)).await?;
            }
        }
        Ok(())
    }
}

/// Finishes an order that no contract can receive any more: a top-up goes to the session's account, another order is
/// dropped. The order is marked as done in the same commit, so that no crash repeats it. An order that can't be read is
/// marked as done, too: otherwise it would be read for ever.
async fn finish_undelivered(
    journal: &Journal,
    lease: &Lease,
    at: Millis,
    number: u64,
    money: Option<LateMoney>,
) -> Result<(), JournalError> {
    let waiting = journal.take_after(lease.session(), number.saturating_sub(1)).await?;
    if waiting.first().is_none_or(|first| first.number != number) {
        return Ok(());
    }
    if let Some((money, source)) = money
        && let mut account = journal.folded_account(lease.session()).await?
        && let Some(funded) = source.late(account.kind(), money)
    {
        // A top-up that exceeds the largest possible sum was never paid.
        if account.apply(&funded).is_ok() {
            let batch = SessionBatch { at, facts: vec![funded], texts: Vec::new(), done: Some(number) };
            return journal.append_session(lease, batch).await.map(|_| ());
        }
    }
    journal.mark_done(lease, number).await
}

/// The money of a top-up that no contract can receive any more, and where it comes from.
type LateMoney = (Msat, MoneySource);

fn late_money(what: &Stimulus, source: MoneySource) -> Option<LateMoney> {
    match what {
        Stimulus::TopUp { money, .. } => Some((*money, source)),
        Stimulus::Message(_)
        | Stimulus::Question(_)
        | Stimulus::Draw { .. }
        | Stimulus::RefuseDraw { .. }
        | Stimulus::Hire(_)
        | Stimulus::DropHire { .. }
        | Stimulus::WrapUp
        | Stimulus::OutOfTokens { .. }
        | Stimulus::Cancel => None,
    }
}

/// Whether a contract has not closed. A root that was requested opens soon.
async fn is_open(journal: &Journal, lease: &Lease, contract: &Path) -> Result<bool, JournalError> {
    match journal.newest_fact(lease.session(), contract).await? {
        Some(newest) => Ok(!matches!(newest.fact, Fact::Closed(_))),
        None => Ok(journal.folded_account(lease.session()).await?.is_at_work(contract)),
    }
}

/// Returns only an error after which the session can't continue.
fn unless_final(outcome: Result<(), JournalError>) -> Result<(), EngineError> {
    match outcome {
        Err(why) if is_final(&why) => Err(why.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn pause(failures: u32) -> Duration {
    READ_RETRY.saturating_mul(2_u32.saturating_pow(failures)).min(READ_RETRY_MAX)
}

/// Whether the journal can't be used any more, so that trying again is useless. After a failed write, the next write
/// returns `Stopped`.
fn is_final(why: &JournalError) -> bool {
    match why {
        JournalError::DiskFull { .. }
        | JournalError::Unwritable { .. }
        | JournalError::NotDurable { .. }
        | JournalError::Stopped { .. }
        | JournalError::Damaged { .. }
        | JournalError::Foreign { .. }
        | JournalError::OtherForm { .. }
        | JournalError::ReadOnly { .. }
        | JournalError::LogMissing { .. }
        | JournalError::UnsafeSqlite { .. }
        | JournalError::UnknownSession { .. }
        | JournalError::LeaseLost { .. } => true,
        JournalError::Busy
        | JournalError::TextDamaged { .. }
        | JournalError::Sqlite { .. }
        | JournalError::File { .. }
        | JournalError::Corrupt { .. }
        | JournalError::SessionExists { .. }
        | JournalError::Held { .. }
        | JournalError::TextMismatch { .. }
        | JournalError::TextMissing { .. }
        | JournalError::TextTooLong { .. }
        | JournalError::CommandTooLong { .. }
        | JournalError::Account { .. }
        | JournalError::Treasury(_)
        | JournalError::SessionLimit { .. }
        | JournalError::Served(_)
        | JournalError::TreasuryNotLeased
        | JournalError::TreasuryDamaged { .. }
        | JournalError::UnknownEvent { .. }
        | JournalError::NotJson { .. } => false,
    }
}
