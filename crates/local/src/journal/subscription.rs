//! Subscriptions: facts as they become durable. A subscriber reads the database from its own position and is only notified
//! that there are more facts. It therefore misses no fact and gets no fact twice, however slow it is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use guildhall_kernel::Stored;
use tokio::sync::watch;

use super::{Journal, JournalError};
use crate::id::SessionId;

/// How many facts are read in one query.
const PAGE: u32 = 512;

/// How often a subscriber checks for facts of another process.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Notifies subscribers in this process about the last durable fact of each session.
#[derive(Debug, Default)]
pub(crate) struct DurableCounts(Mutex<BTreeMap<SessionId, watch::Sender<u64>>>);

impl DurableCounts {
    pub(crate) fn watch(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.retain(|_, count| count.receiver_count() > 0);
        counts.entry(session.clone()).or_default().subscribe()
    }

    pub(crate) fn publish(&self, session: &SessionId, seq: u64) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get(session) {
            count.send_replace(seq);
        }
    }
}

/// A session's facts from a given number on, followed by each new fact when it becomes durable.
#[derive(Debug)]
pub struct Subscription {
    journal: Journal,
    session: SessionId,
    next: u64,
    page: VecDeque<Stored>,
    durable: watch::Receiver<u64>,
}

impl Subscription {
    pub(crate) fn new(journal: Journal, session: SessionId, from: u64) -> Subscription {
        let durable = journal.durable().watch(&session);
        Subscription { journal, session, next: from.max(1), page: VecDeque::new(), durable }
    }

    /// Returns the next fact, and waits for it if necessary. Cancelling the wait loses no facts.
    pub async fn next(&mut self) -> Result<Stored, JournalError> {
        loop {
            if let Some(fact) = self.page.pop_front() {
                self.next = fact.seq + 1;
                return Ok(fact);
            }
            // Marked as seen before the read: a fact that becomes durable during the read then ends the wait below
            // immediately.
            self.durable.borrow_and_update();
            self.page = self.journal.page(&self.session, self.next, PAGE).await?.into();
            if self.page.is_empty() {
                // Facts of this process trigger a notification; facts of other processes are found by polling. The channel
                // can't be closed, because the subscription holds the journal, which holds the sender.
                let _ = tokio::time::timeout(POLL_INTERVAL, self.durable.changed()).await;
            }
        }
    }

    /// Returns whether more facts were read together with the last returned fact. If so, that fact is not the newest.
    pub fn has_more(&self) -> bool {
        !self.page.is_empty()
    }

    /// Returns the next fact, or `None` if it is not stored yet.
    pub async fn try_next(&mut self) -> Result<Option<Stored>, JournalError> {
        if self.page.is_empty() {
            self.page = self.journal.page(&self.session, self.next, PAGE).await?.into();
        }
        let fact = self.page.pop_front();
        if let Some(fact) = &fact {
            self.next = fact.seq + 1;
        }
        Ok(fact)
    }
}
