//! Following a session: its events as they become durable. All who follow a session share its newest events. One who is behind
//! reads pages from the database from its own place, so nobody misses an event, gets one twice, or delays the writer.

mod check;
mod followers;
mod memory;

use std::collections::VecDeque;
use std::sync::Arc;

use guildhall_kernel::{SessionId, Stored};
use rusqlite::Connection;
use tokio::sync::watch;

pub(crate) use self::followers::{Announcer, Followers, Following};
use self::memory::{Look, Missing};
use super::event::{Cursor, Event};
use super::event_pages::{self, Page, Place};
use super::{Journal, JournalError};

/// How many events are read in one query.
const PAGE: u32 = 512;

impl Journal {
    /// Returns the events of a session after this place, and then each new event when it becomes durable. The first call of
    /// [`Events::next`] returns an error if there is no such place.
    pub fn follow(&self, session: &SessionId, after: Cursor) -> Events {
        Events::new(self, session, Place::After(after))
    }

    /// Returns a session's facts, starting with this number, and then each new fact when it becomes durable.
    pub fn subscribe(&self, session: &SessionId, from: u64) -> Subscription {
        Subscription(Events::new(self, session, Place::Fact(from.max(1))))
    }

    /// Returns at most `limit` events of a session after this place. Returns an error if there is no such place.
    pub async fn events(&self, session: &SessionId, after: Cursor, limit: u32) -> Result<Vec<Event>, JournalError> {
        Ok(self.event_page(session, Place::After(after), limit).await?.events)
    }

    /// Returns the id of the newest event of a session.
    pub async fn end(&self, session: &SessionId) -> Result<Cursor, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| event_pages::end(db, &session)).await
    }

    async fn event_page(&self, session: &SessionId, place: Place, limit: u32) -> Result<Page, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| event_pages::starting_at(db, &session, place, limit)).await
    }
}

/// A session's events after a given place, followed by each new event when it becomes durable. Events of other processes are
/// found within a tenth of a second.
#[derive(Debug)]
pub struct Events {
    journal: Journal,
    following: Following,
    changes: watch::Receiver<()>,
    place: Place,
    page: VecDeque<Arc<Event>>,
}

impl Events {
    fn new(journal: &Journal, session: &SessionId, place: Place) -> Events {
        let following = journal.followers().add(session);
        let changes = following.session.changes();
        Events { journal: journal.clone(), following, changes, place, page: VecDeque::new() }
    }

    /// Returns the next event, and waits for it if necessary. Cancelling the wait loses no events.
    pub async fn next(&mut self) -> Result<Arc<Event>, JournalError> {
        loop {
            // Marked as seen before the read: an event that becomes durable during the read then ends the wait immediately.
            self.changes.mark_unchanged();
            if let Some(event) = self.try_next().await? {
                return Ok(event);
            }
            self.changes.changed().await.expect("the sender is dropped after all who follow");
        }
    }

    /// Returns the next event, or `None` if no further event is known to be stored.
    pub async fn try_next(&mut self) -> Result<Option<Arc<Event>>, JournalError> {
        if self.page.is_empty() {
            self.page = self.read().await?;
        }
        let event = self.page.pop_front();
        if let Some(event) = &event {
            self.place = Place::After(event.id);
        }
        Ok(event)
    }

    /// Returns whether more events were read together with the last returned event. If so, that event is not the newest.
    pub fn has_more(&self) -> bool {
        !self.page.is_empty()
    }

    /// Reads the next events: from memory if they are there, otherwise from the database.
    async fn read(&self) -> Result<VecDeque<Arc<Event>>, JournalError> {
        let session = &self.following.session;
        loop {
            let look = session.memory().look(self.place);
            match look {
                Look::Events(events) => return Ok(events),
                Look::NoMore => return Ok(VecDeque::new()),
                Look::Earlier => {
                    let page = self.journal.event_page(&session.id, self.place, PAGE).await?;
                    return Ok(page.events.into_iter().map(Arc::new).collect());
                }
                Look::Lacking | Look::Beyond => self.fill().await?,
                Look::Unknown => return Err(self.unknown_event()),
            }
        }
    }

    /// Reads the events that memory lacks, unless another follower has read them meanwhile.
    async fn fill(&self) -> Result<(), JournalError> {
        let session = &self.following.session;
        let _reading = session.reading.lock().await;
        let is_beyond = match session.memory().look(self.place) {
            Look::Lacking => false,
            Look::Beyond => true,
            Look::Events(_) | Look::NoMore | Look::Earlier | Look::Unknown => return Ok(()),
        };
        let (id, missing) = (session.id.clone(), session.memory().begin_read());
        if missing == Missing::Newest {
            self.journal.followers().start_checks(self.journal.readers())?;
        }
        let read = move |db: &Connection| match missing {
            Missing::Newest => event_pages::newest(db, &id, PAGE),
            Missing::After(last) => event_pages::starting_at(db, &id, Place::After(last), PAGE),
        };
        let page = self.journal.readers().read(read).await?;
        let added = session.memory().add_read(page);
        if added == 0 && is_beyond { Err(self.unknown_event()) } else { Ok(()) }
    }

    fn unknown_event(&self) -> JournalError {
        let id = match self.place {
            Place::After(id) => id,
            Place::Fact(seq) => Cursor { facts: seq, account: 0 },
        };
        JournalError::UnknownEvent { session: self.following.session.id.clone(), id }
    }
}

/// A session's facts from a given number on, followed by each new fact when it becomes durable. It leaves out the facts of the
/// account.
#[derive(Debug)]
pub struct Subscription(Events);

impl Subscription {
    /// Returns the next fact, and waits for it if necessary. Cancelling the wait loses no facts.
    pub async fn next(&mut self) -> Result<Arc<Stored>, JournalError> {
        loop {
            if let Some(stored) = self.0.next().await?.fact() {
                return Ok(Arc::clone(stored));
            }
        }
    }

    /// Returns the next fact, or `None` if no further fact is known to be stored.
    pub async fn try_next(&mut self) -> Result<Option<Arc<Stored>>, JournalError> {
        while let Some(event) = self.0.try_next().await? {
            if let Some(stored) = event.fact() {
                return Ok(Some(Arc::clone(stored)));
            }
        }
        Ok(None)
    }

    /// Returns whether more facts were read together with the last returned fact. If so, that fact is not the newest.
    pub fn has_more(&self) -> bool {
        self.0.page.iter().any(|event| event.fact().is_some())
    }
}
