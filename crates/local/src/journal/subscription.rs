//! Facts as they become durable. A subscriber reads the database from its own place on and is only told when there is more,
//! so there is no gap and no repetition, whatever it missed and however slow it is.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use guildhall_kernel::Stored;
use tokio::sync::watch;

use super::{Journal, JournalError};
use crate::id::SessionId;

/// How many facts are read at once.
const PAGE: u32 = 512;

/// How often a subscriber looks for facts of another process.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Tells subscribers of this process how far each session is durable.
#[derive(Debug, Default)]
pub(crate) struct Heads(Mutex<BTreeMap<SessionId, watch::Sender<u64>>>);

impl Heads {
    pub(crate) fn watch(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.retain(|_, head| head.receiver_count() > 0);
        heads.entry(session.clone()).or_default().subscribe()
    }

    pub(crate) fn publish(&self, session: &SessionId, seq: u64) {
        let heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = heads.get(session) {
            head.send_replace(seq);
        }
    }
}

/// A session's facts from some place on, then each further one as soon as it is durable.
#[derive(Debug)]
pub struct Subscription {
    journal: Journal,
    session: SessionId,
    next: u64,
    page: VecDeque<Stored>,
    head: watch::Receiver<u64>,
}

impl Subscription {
    pub(crate) fn new(journal: Journal, session: SessionId, from: u64) -> Subscription {
        let head = journal.heads().watch(&session);
        Subscription { journal, session, next: from.max(1), page: VecDeque::new(), head }
    }

    /// Returns the next fact, and waits for it if necessary. Cancelling the wait loses no facts.
    pub async fn next(&mut self) -> Result<Stored, JournalError> {
        loop {
            if let Some(fact) = self.page.pop_front() {
                self.next = fact.seq + 1;
                return Ok(fact);
            }
            // Seen before the read: what becomes durable during it ends the wait below at once.
            self.head.borrow_and_update();
            self.page = self.journal.page(&self.session, self.next, PAGE).await?.into();
            if self.page.is_empty() {
                // Facts of this process are announced; those of another are found by looking. A closed channel can't be:
                // the subscription holds the journal that holds its other end.
                let _ = tokio::time::timeout(LOOK_AGAIN, self.head.changed()).await;
            }
        }
    }

    /// Returns whether more facts were found with the last one: then it is not the newest.
    pub fn has_more(&self) -> bool {
        !self.page.is_empty()
    }

    /// Returns the next fact if there is one already.
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
