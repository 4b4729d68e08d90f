//! Orders: what other terminals leave in the inbox for whoever runs the session. Each is carried out once. Money for a root that
//! has closed stays in the session.

use std::time::Duration;

use guildhall_agent::Text;
use guildhall_kernel::{Fact, Input, Millis, Path, Session, SessionFact, Stimulus, TextRef};
use serde::{Deserialize, Serialize};

use super::{EngineError, Inner, SessionEngine};
use crate::inbox::Command;
use crate::journal::{Journal, JournalError, SessionBatch};
use crate::lease::Lease;

/// How long to wait before an order is tried again whose contract has no driver yet.
const AGAIN: Duration = Duration::from_millis(50);

/// How long to wait before an inbox is read again that could not be read: twice as long each time.
const RETRY: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// How often an inbox is read at the beginning before that fails.
const READS_MAX: u32 = 5;

/// An order that another terminal leaves in the inbox for the process that runs the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Whom it is for.
    pub to: Path,
    /// What it says.
    pub what: Stimulus,
    /// The texts that it names.
    pub texts: Vec<(TextRef, String)>,
}

/// What becomes of an order that nobody has heard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unheard {
    /// Its contract is open and has no driver yet: it is told then.
    Early,
    /// Nobody will hear it any more.
    Concluded,
}

impl SessionEngine {
    /// Carries out the orders that other terminals leave in the inbox, until the journal fails for good. An inbox that can't be
    /// read for a while ends no session: `warn` is told of it once, and it is read again.
    pub async fn obey(&self, warn: &(dyn Fn(&JournalError) + Send + Sync)) -> EngineError {
        let (mut newest, mut failures) = (0, 0);
        let mut warned = false;
        loop {
            match self.obey_once(&mut newest).await {
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

    /// Carries out what comes next.
    async fn obey_once(&self, newest: &mut u64) -> Result<(), JournalError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let mut early = false;
        for command in journal.wait_after(lease.session(), *newest).await? {
            let unheard = if self.carry_out(&command) { Unheard::Concluded } else { self.conclude(&command).await? };
            match unheard {
                Unheard::Early => early = true,
                // What comes after one that is early is read again with it.
                Unheard::Concluded if early => {}
                Unheard::Concluded => *newest = command.number,
            }
        }
        if early {
            tokio::time::sleep(AGAIN).await;
        }
        Ok(())
    }

    /// Hands over what was left while nobody ran the session, before anything that the session does by itself.
    pub(super) async fn obey_first(&self) -> Result<(), JournalError> {
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
            self.carry_out(&command);
        }
        Ok(())
    }

    /// Deals with the orders that came when nobody could hear them any more. What is for a contract that is open stays in the
    /// inbox, and so does everything if the inbox can't be read now: whoever goes on with the session finds it there.
    pub async fn conclude_orders(&self) -> Result<(), EngineError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let concluded = async {
            for command in journal.take_after(lease.session(), 0).await? {
                self.conclude(&command).await?;
            }
            Ok(())
        };
        unless_final(concluded.await)
    }

    /// Deals with an order that reached a contract after that had closed, or leaves it in the inbox if that can't be done now.
    pub(super) async fn turn_away(&self, number: u64, input: &Input) -> Result<(), EngineError> {
        let what = if let Input::Stimulus { what, .. } = input { Some(what) } else { None };
        unless_final(self.keep_or_drop(number, what).await)
    }

    /// Deals with an order that nobody has heard, unless its contract is open.
    async fn conclude(&self, command: &Command) -> Result<Unheard, JournalError> {
        let Inner { journal, lease, .. } = &*self.inner;
        let order = Order::deserialize(&command.command).ok();
        if let Some(order) = &order
            && is_open(journal, lease, &order.to).await?
        {
            return Ok(Unheard::Early);
        }
        self.keep_or_drop(command.number, order.as_ref().map(|order| &order.what)).await?;
        Ok(Unheard::Concluded)
    }

    /// Deals with an order whose contract has closed.
    async fn keep_or_drop(&self, number: u64, what: Option<&Stimulus>) -> Result<(), JournalError> {
        let Inner { journal, lease, time, concluding, .. } = &*self.inner;
        // The driver of a contract that has closed and the reader of the inbox may deal with the same order.
        let _one = concluding.lock().await;
        keep_or_drop(journal, lease, time.now(), number, what).await
    }

    /// Hands an order to whom it is for. Heard twice, it is heard once. Returns whether there was somebody.
    fn carry_out(&self, command: &Command) -> bool {
        let order = Order::deserialize(&command.command);
        order.is_ok_and(|Order { to, what, texts }| {
            let texts = texts.into_iter().map(|(of, says)| Text { of, says }).collect();
            self.tell(&to, command.number, what, texts)
        })
    }
}

impl Journal {
    /// Keeps the money in the session that lies in its inbox for roots that have closed. For whoever finds the session at rest:
    /// [`SessionEngine::obey`] does so while it is run.
    pub async fn keep_late_money(&self, lease: &Lease) -> Result<(), JournalError> {
        for command in self.take_after(lease.session(), 0).await? {
            let Ok(Order { to, what: what @ Stimulus::TopUp { .. }, .. }) = Order::deserialize(&command.command) else {
                continue;
            };
            if let Some(newest) = self.newest_fact(lease.session(), &to).await?
                && matches!(newest.fact, Fact::Closed(_))
            {
                keep_or_drop(self, lease, newest.at, command.number, Some(&what)).await?;
            }
        }
        Ok(())
    }
}

/// Deals with an order that nobody can hear any more: money stays in the session, anything else is done. The order is marked
/// with it, so that no crash repeats it. One that can't be read is done, too: it must not come again for ever.
async fn keep_or_drop(
    journal: &Journal,
    lease: &Lease,
    at: Millis,
    number: u64,
    what: Option<&Stimulus>,
) -> Result<(), JournalError> {
    let waiting = journal.take_after(lease.session(), number.saturating_sub(1)).await?;
    if waiting.first().is_none_or(|first| first.number != number) {
        return Ok(());
    }
    if let Some(Stimulus::TopUp { money, .. }) = what {
        let funded = SessionFact::Funded { money: *money, root: None };
        let account = Session::restore(journal.account(lease.session()).await?);
        let mut account = account.map_err(|why| JournalError::Corrupt {
            session: lease.session().clone(),
            place: "the account".to_owned(),
            why: why.to_string(),
        })?;
        // Money beyond all that there is was never put in.
        if account.apply(&funded).is_ok() {
            let batch = SessionBatch { at, facts: vec![funded], texts: Vec::new(), done: Some(number) };
            return journal.append_session(lease, batch).await.map(|_| ());
        }
    }
    journal.mark_done(lease, number).await
}

/// Whether a contract has begun and has not closed.
async fn is_open(journal: &Journal, lease: &Lease, contract: &Path) -> Result<bool, JournalError> {
    let newest = journal.newest_fact(lease.session(), contract).await?;
    Ok(newest.is_some_and(|stored| !matches!(stored.fact, Fact::Closed(_))))
}

/// Passes on only what the session can't go on after.
fn unless_final(outcome: Result<(), JournalError>) -> Result<(), EngineError> {
    match outcome {
        Err(why) if is_final(&why) => Err(why.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn pause(failures: u32) -> Duration {
    RETRY.saturating_mul(2_u32.saturating_pow(failures)).min(RETRY_MAX)
}

/// Whether the journal is of no use any more, so that there is nothing to wait for. A write that failed is told by the next one,
/// which finds the writer stopped.
fn is_final(why: &JournalError) -> bool {
    match why {
        JournalError::DiskFull { .. }
        | JournalError::Unwritable { .. }
        | JournalError::NotDurable { .. }
        | JournalError::Stopped { .. }
        | JournalError::Damaged { .. }
        | JournalError::Foreign { .. }
        | JournalError::Newer { .. }
        | JournalError::ReadOnly { .. }
        | JournalError::LogMissing { .. }
        | JournalError::UnsafeSqlite { .. }
        | JournalError::UnknownSession { .. }
        | JournalError::LeaseLost { .. } => true,
        JournalError::Busy
        | JournalError::InUse { .. }
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
        | JournalError::NotJson { .. } => false,
    }
}
