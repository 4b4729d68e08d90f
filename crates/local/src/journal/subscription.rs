//! Subscriptions: facts as they become durable. All subscriptions of a session share the newest facts that this process has
//! stored. A subscription that is behind, or watches a session of another process, reads the database from its own position.
//! It therefore misses no fact and gets no fact twice, however slow it is.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_kernel::{Hash, SessionId, Stored, TextRef};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Journal, JournalError};

/// How many facts are read in one query.
const PAGE: u32 = 512;

/// How many facts of a session stay in memory for its subscriptions.
const NEWEST_MAX: usize = 1024;

/// How many bytes of texts of a session stay in memory for its subscriptions.
const NEWEST_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How often a subscriber checks for facts of another process.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The newest facts of the sessions that have subscriptions in this process.
#[derive(Debug, Default)]
pub(crate) struct NewestFacts(Mutex<BTreeMap<SessionId, Newest>>);

#[derive(Debug, Default)]
struct Newest {
    /// Without a gap.
    facts: VecDeque<Arc<Stored>>,
    /// The number of the last fact. Subscriptions wait for its change.
    last: watch::Sender<u64>,
    texts: NewestTexts,
}

/// The texts that were stored with the newest facts.
#[derive(Debug, Default)]
struct NewestTexts {
    by_hash: HashMap<Hash, Vec<u8>>,
    /// In the order in which they are removed.
    order: VecDeque<Hash>,
    bytes: usize,
}

impl NewestTexts {
    /// Adds a text, and removes the oldest texts if there are too many bytes. Many facts name the same text.
    fn add(&mut self, hash: Hash, text: &[u8]) {
        if self.by_hash.contains_key(&hash) {
            return;
        }
        self.bytes += text.len();
        self.order.push_back(hash);
        self.by_hash.insert(hash, text.to_vec());
        while self.bytes > NEWEST_TEXT_BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.by_hash.remove(&oldest).map_or(0, |text| text.len());
        }
    }
}

/// What memory has for a subscription.
enum InMemory {
    /// The next facts.
    Facts(VecDeque<Arc<Stored>>),
    /// This process has stored no fact that the subscription has not returned.
    NoMore,
    /// The next fact is in the database, if it is stored.
    Unknown,
}

impl NewestFacts {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Newest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, session: &SessionId) -> watch::Receiver<u64> {
        let mut sessions = self.sessions();
        sessions.retain(|_, newest| newest.last.receiver_count() > 0);
        sessions.entry(session.clone()).or_default().last.subscribe()
    }

    /// Gives facts that are durable, and their texts, to the subscriptions of their session.
    pub(crate) fn publish(
        &self,
        session: &SessionId,
        facts: impl Iterator<Item = Stored>,
        texts: &[(TextRef, Vec<u8>)],
    ) {
        let mut sessions = self.sessions();
        let Some(newest) = sessions.get_mut(session) else { return };
        for (of, text) in texts {
            newest.texts.add(of.hash, text);
        }
        for fact in facts {
            if newest.facts.back().is_some_and(|last| last.seq + 1 != fact.seq) {
                newest.facts.clear();
            }
            newest.last.send_replace(fact.seq);
            newest.facts.push_back(Arc::new(fact));
        }
        let too_many = newest.facts.len().saturating_sub(NEWEST_MAX);
        newest.facts.drain(..too_many);
    }

    /// Returns a text that was stored a short time ago for a session that has subscriptions.
    pub(crate) fn text(&self, hash: Hash) -> Option<Vec<u8>> {
        self.sessions().values().find_map(|newest| newest.texts.by_hash.get(&hash).cloned())
    }

    /// Returns the facts in memory that start with this number.
    fn starting_with(&self, session: &SessionId, next: u64) -> InMemory {
        let sessions = self.sessions();
        let Some(facts) = sessions.get(session).map(|newest| &newest.facts) else { return InMemory::Unknown };
        let Some(first) = facts.front().map(|first| first.seq) else { return InMemory::Unknown };
        match next.checked_sub(first).and_then(|skipped| usize::try_from(skipped).ok()) {
            Some(skipped) if skipped < facts.len() => InMemory::Facts(facts.range(skipped..).cloned().collect()),
            Some(skipped) if skipped == facts.len() => InMemory::NoMore,
            Some(_) | None => InMemory::Unknown,
        }
    }
}

/// A session's facts from a given number on, followed by each new fact when it becomes durable.
#[derive(Debug)]
pub struct Subscription {
    journal: Journal,
    session: SessionId,
    next: u64,
    page: VecDeque<Arc<Stored>>,
    last: watch::Receiver<u64>,
    /// When the database is read again, even if memory has no new fact.
    poll_at: Instant,
}

impl Subscription {
    pub(crate) fn new(journal: Journal, session: SessionId, from: u64) -> Subscription {
        let last = journal.newest().watch(&session);
        Subscription { journal, session, next: from.max(1), page: VecDeque::new(), last, poll_at: Instant::now() }
    }

    /// Returns the next fact, and waits for it if necessary. Cancelling the wait loses no facts.
    pub async fn next(&mut self) -> Result<Arc<Stored>, JournalError> {
        loop {
            if let Some(fact) = self.take() {
                return Ok(fact);
            }
            // Marked as seen before the read: a fact that becomes durable during the read then ends the wait below
            // immediately.
            self.last.borrow_and_update();
            self.read().await?;
            if self.page.is_empty() {
                // Facts of this process trigger a notification; facts of other processes are found by polling. The channel
                // can't be closed, because the subscription holds the journal, which holds the sender.
                let _ = tokio::time::timeout_at(self.poll_at, self.last.changed()).await;
            }
        }
    }

    /// Returns whether more facts were read together with the last returned fact. If so, that fact is not the newest.
    pub fn has_more(&self) -> bool {
        !self.page.is_empty()
    }

    /// Returns the next fact, or `None` if it is not stored yet.
    pub async fn try_next(&mut self) -> Result<Option<Arc<Stored>>, JournalError> {
        if self.page.is_empty() {
            self.read().await?;
        }
        Ok(self.take())
    }

    /// Reads the next facts: from memory if they are there, otherwise from the database.
    async fn read(&mut self) -> Result<(), JournalError> {
        match self.journal.newest().starting_with(&self.session, self.next) {
            InMemory::Facts(facts) => {
                self.page = facts;
                return Ok(());
            }
            InMemory::NoMore if Instant::now() < self.poll_at => return Ok(()),
            InMemory::NoMore | InMemory::Unknown => {}
        }
        let page = self.journal.page(&self.session, self.next, PAGE).await?;
        self.page = page.into_iter().map(Arc::new).collect();
        self.poll_at = Instant::now() + POLL_INTERVAL;
        Ok(())
    }

    fn take(&mut self) -> Option<Arc<Stored>> {
        let fact = self.page.pop_front()?;
        self.next = fact.seq + 1;
        Some(fact)
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::Hash;

    use super::{NEWEST_TEXT_BYTES_MAX, NewestTexts};

    #[test]
    fn the_newest_texts_stay_within_their_limit_and_a_repeated_text_takes_no_room() {
        let (mut texts, half) = (NewestTexts::default(), vec![7; NEWEST_TEXT_BYTES_MAX / 2]);
        for number in [1, 1, 1, 2] {
            texts.add(Hash([number; 32]), &half);
        }
        assert_eq!((texts.order.len(), texts.bytes), (2, NEWEST_TEXT_BYTES_MAX));
        texts.add(Hash([3; 32]), b"x");
        let kept = |number| texts.by_hash.contains_key(&Hash([number; 32]));
        assert_eq!((kept(1), kept(2), kept(3), texts.bytes), (false, true, true, half.len() + 1));
    }
}
