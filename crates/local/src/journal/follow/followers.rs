//! The sessions that are followed or whose inbox is awaited in this process. All who wait for the same session share one entry.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use guildhall_kernel::{Hash, SessionId, Stored, TextRef};
use tokio::sync::watch;

use super::check::Checker;
use super::memory::Memory;
use crate::clock::unix_now;
use crate::journal::JournalError;
use crate::journal::event::{AccountFact, Cursor, Event, EventKind};
use crate::journal::readers::Readers;

/// All who wait for events or commands. Dropping it ends the thread that checks what other processes have stored.
#[derive(Debug)]
pub(crate) struct Followers {
    shared: Arc<Shared>,
    /// Started when it is needed for the first time.
    checker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    open: Mutex<Open>,
    /// Notified when the first session is followed, and when the journal is closed.
    pub(super) changed: Condvar,
}

#[derive(Debug)]
pub(super) struct Open {
    sessions: BTreeMap<SessionId, Entry>,
    pub(super) is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    users: usize,
    session: Arc<Followed>,
}

/// What all who follow a session share.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) id: SessionId,
    memory: Mutex<Memory>,
    /// Tells followers to look again.
    changes: watch::Sender<()>,
    /// The number of the newest command in the inbox. Those who wait for commands wait for its change.
    commands: watch::Sender<u64>,
    /// Held while events that memory lacks are read, so that they are read once.
    pub(super) reading: tokio::sync::Mutex<()>,
}

impl Followers {
    pub(crate) fn new() -> Followers {
        let open = Open { sessions: BTreeMap::new(), is_closed: false };
        let shared = Shared { open: Mutex::new(open), changed: Condvar::new() };
        Followers { shared: Arc::new(shared), checker: Mutex::new(None) }
    }

    /// Adds one who waits for events or commands of a session, until the returned value is dropped. The caller must read the
    /// database after this: what is stored later is announced.
    pub(crate) fn add(&self, session: &SessionId) -> Following {
        let mut open = self.shared.open();
        if open.sessions.is_empty() {
            self.shared.changed.notify_all();
        }
        let new = || Entry { users: 0, session: Arc::new(Followed::new(session)) };
        let entry = open.sessions.entry(session.clone()).or_insert_with(new);
        entry.users += 1;
        Following { shared: Arc::clone(&self.shared), session: Arc::clone(&entry.session) }
    }

    /// Starts the thread that checks what other processes have stored, unless it runs.
    pub(crate) fn start_checks(&self, readers: &Readers) -> Result<(), JournalError> {
        let mut checker = self.checker.lock().unwrap_or_else(PoisonError::into_inner);
        if checker.is_none() {
            let thread = Checker::new(Arc::clone(&self.shared), readers);
            let spawned = thread::Builder::new().name("journal-check".into()).spawn(move || thread.run());
            *checker = Some(spawned.map_err(JournalError::file(readers.file(), "given a thread"))?);
        }
        Ok(())
    }

    /// Returns a handle for the writer's thread.
    pub(crate) fn announcer(&self) -> Announcer {
        Announcer(Arc::clone(&self.shared))
    }

    /// Returns a text that was stored a short time ago for a session that is followed.
    pub(crate) fn text(&self, hash: Hash) -> Option<Vec<u8>> {
        self.shared.open().sessions.values().find_map(|entry| entry.session.memory().text(hash).cloned())
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.shared.open().is_closed = true;
        self.shared.changed.notify_all();
        let checker = self.checker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(checker) = checker {
            let ended = checker.join();
            assert!(ended.is_ok() || thread::panicking(), "the thread that checks the journal does not panic");
        }
    }
}

impl Shared {
    pub(super) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, session: &SessionId) -> Option<Arc<Followed>> {
        self.open().sessions.get(session).map(|entry| Arc::clone(&entry.session))
    }

    pub(super) fn all(&self) -> Vec<Arc<Followed>> {
        self.open().sessions.values().map(|entry| Arc::clone(&entry.session)).collect()
    }
}

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

impl Followed {
    fn new(id: &SessionId) -> Followed {
        Followed {
            id: id.clone(),
            memory: Mutex::new(Memory::new()),
            changes: watch::Sender::new(()),
            commands: watch::Sender::new(0),
            reading: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        // A panic while the lock was held leaves the memory valid: events are only added at its end and removed at its start.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Records what the database has, and tells those who wait if it is more than they know.
    pub(super) fn stored(&self, end: Cursor, commands: u64) {
        let is_new = self.memory().stored(end);
        if is_new {
            self.changes.send_replace(());
        }
        self.put(commands);
    }

    fn put(&self, number: u64) {
        self.commands.send_if_modified(|newest| {
            let is_new = number > *newest;
            *newest = number.max(*newest);
            is_new
        });
    }

    /// Makes everyone read the database, because it could not be checked.
    pub(super) fn check_failed(&self) {
        self.memory().check_failed();
        self.changes.send_replace(());
        self.commands.send_modify(|_| {});
    }
}

/// One who waits for events or commands of a session.
#[derive(Debug)]
pub(crate) struct Following {
    shared: Arc<Shared>,
    pub(super) session: Arc<Followed>,
}

impl Following {
    /// Returns the number of the newest command, which changes when there is a new one.
    pub(crate) fn commands(&self) -> watch::Receiver<u64> {
        self.session.commands.subscribe()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut open = self.shared.open();
        let Some(entry) = open.sessions.get_mut(&self.session.id) else { return };
        entry.users -= 1;
        if entry.users == 0 {
            open.sessions.remove(&self.session.id);
        }
    }
}

/// Tells those who wait what this process has stored.
#[derive(Clone, Debug)]
pub(crate) struct Announcer(Arc<Shared>);

impl Announcer {
    /// Announces durable facts, with their texts. `account` is how many facts the account had when they were stored.
    pub(crate) fn facts(
        &self,
        session: &SessionId,
        account: u64,
        facts: impl Iterator<Item = Stored>,
        texts: &[(TextRef, Vec<u8>)],
    ) {
        let event = |stored: Stored| {
            let id = Cursor { facts: stored.seq, account };
            (id, EventKind::Fact(stored.into()))
        };
        self.events(session, facts.map(event), texts);
    }

    /// Announces durable facts of an account, with their texts.
    pub(crate) fn account(
        &self,
        session: &SessionId,
        facts: impl Iterator<Item = AccountFact>,
        texts: &[(TextRef, Vec<u8>)],
    ) {
        self.events(session, facts.map(|fact| (fact.id(), EventKind::Account(fact))), texts);
    }

    fn events(
        &self,
        session: &SessionId,
        events: impl Iterator<Item = (Cursor, EventKind)>,
        texts: &[(TextRef, Vec<u8>)],
    ) {
        let Some(followed) = self.0.find(session) else { return };
        let now = Some(unix_now());
        let events: Vec<_> = events.map(|(id, kind)| Arc::new(Event::new(id, kind, now))).collect();
        let mut memory = followed.memory();
        for (of, text) in texts {
            memory.add_text(of.hash, text);
        }
        memory.add_own(events);
        drop(memory);
        followed.changes.send_replace(());
    }

    /// Announces a durable command in the inbox.
    pub(crate) fn command(&self, session: &SessionId, number: u64) {
        if let Some(followed) = self.0.find(session) {
            followed.put(number);
        }
    }
}
