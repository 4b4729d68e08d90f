//! What the writer knows about the stored data without reading it again: heads, leases and the hashes of texts. Another process
//! may write between two transactions of this one. SQLite tells whether any other connection has, and then the writer forgets
//! everything that it knows.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use guildhall_kernel::{Hash, Session, SessionFact, SessionId};
use rusqlite::Connection;

use super::heads::{HallHead, NOTHING, SessionHead, xor};
use super::treasury::KnownTreasury;
use super::{JournalError, walk};
use crate::lease::{self, Token};

/// How many texts and how many sessions are known at most.
const TEXTS_MAX: usize = 100_000;
const SESSIONS_MAX: usize = 1_000;

/// The part of the stored data that the writer knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// A number that SQLite changes when another connection has written.
    version: Option<i64>,
    hall: Option<KnownHall>,
    heads: BTreeMap<SessionId, KnownHead>,
    /// The epoch of each lease.
    leases: BTreeMap<SessionId, u64>,
    /// The accounts of sessions.
    accounts: BTreeMap<SessionId, Session>,
    pub(super) treasury: Option<KnownTreasury>,
    /// The texts that are stored unchanged.
    texts: HashSet<Hash>,
}

#[derive(Clone, Copy, Debug)]
struct KnownHall {
    head: HallHead,
    /// How the stored hash differs from the right one. It stays wrong after a commit: a commit must not hide damage.
    damage: Hash,
}

#[derive(Debug)]
struct KnownHead {
    head: SessionHead,
    /// The hash of the stored head, or none for a new session.
    stored: Option<Hash>,
    /// Whether the head was changed in the current transaction.
    changed: bool,
}

impl Known {
    /// Forgets everything if another connection has written. Call this at the beginning of a transaction.
    pub(crate) fn refresh(&mut self, db: &Connection) -> Result<(), rusqlite::Error> {
        let version = db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let too_many = self.heads.len().max(self.leases.len()) > SESSIONS_MAX || self.texts.len() > TEXTS_MAX;
        if self.version != Some(version) || too_many {
            let treasury = self.treasury.take().map(KnownTreasury::old);
            *self = Known { version: Some(version), treasury, ..Known::default() };
        }
        Ok(())
    }

    /// Adds the head of a new session.
    pub(crate) fn add_head(&mut self, session: &SessionId, head: SessionHead) {
        self.heads.insert(session.clone(), KnownHead { head, stored: None, changed: true });
    }

    /// Stores the changed heads and the head of the hall. Returns the number of this commit, if anything changed.
    pub(crate) fn store_heads(&mut self, db: &Connection) -> Result<Option<u64>, rusqlite::Error> {
        let treasury = self.treasury.as_mut().map_or(Ok(None), |treasury| treasury.store(db))?;
        let mut changed = self.heads.iter_mut().filter(|(_, known)| known.changed).peekable();
        if changed.peek().is_none() && treasury.is_none() {
            return Ok(None);
        }
        let KnownHall { mut head, damage } = match self.hall {
            Some(known) => known,
            None => KnownHall::read(db)?,
        };
        for (session, known) in changed {
            let after = known.head.store(db, session)?;
            head.sessions = head.sessions.wrapping_add(u64::from(known.stored.is_none()));
            head.heads = xor(xor(head.heads, known.stored.unwrap_or(NOTHING)), after);
            *known = KnownHead { head: known.head.clone(), stored: Some(after), changed: false };
        }
        head.heads = xor(head.heads, treasury.unwrap_or(NOTHING));
        // The addition wraps, because a damaged row may contain any number.
        head.commits = head.commits.wrapping_add(1);
        head.store(db, xor(head.hash(), damage))?;
        self.hall = Some(KnownHall { head, damage });
        Ok(Some(head.commits))
    }
}

impl KnownHall {
    fn read(db: &Connection) -> Result<KnownHall, rusqlite::Error> {
        let (head, stored) = HallHead::read(db)?.unwrap_or((HallHead::NEW, HallHead::NEW.hash()));
        Ok(KnownHall { head, damage: xor(head.hash(), stored) })
    }
}

/// A job's access to a transaction. A job must refuse before it changes anything: there is no way to undo one job alone.
pub(crate) struct Change<'a> {
    pub(crate) db: &'a Connection,
    pub(super) known: &'a mut Known,
}

impl Change<'_> {
    /// Returns an error if the head of a session is missing or damaged.
    pub(crate) fn require_head(&mut self, session: &SessionId) -> Result<(), JournalError> {
        if !self.known.heads.contains_key(session) {
            let head = SessionHead::read(self.db, session).map_err(|fault| fault.of(session))?;
            let stored = Some(head.hash(session));
            self.known.heads.insert(session.clone(), KnownHead { head, stored, changed: false });
        }
        Ok(())
    }

    /// Returns the head of an existing session, for changes.
    pub(crate) fn head(&mut self, session: &SessionId) -> Result<&mut SessionHead, JournalError> {
        self.require_head(session)?;
        let known = self.known.heads.get_mut(session).expect("the head was read above");
        known.changed = true;
        Ok(&mut known.head)
    }

    /// Applies facts to a session's account, or says why they do not fit. Nothing is written.
    pub(crate) fn fit_account(&mut self, session: &SessionId, facts: &[SessionFact]) -> Result<(), JournalError> {
        if facts.is_empty() {
            return Ok(());
        }
        let mut account = match self.known.accounts.remove(session) {
            Some(account) => account,
            None => walk::folded_account(self.db, session)?,
        };
        for fact in facts {
            // If a fact is refused, the account is read again when it is needed.
            account.apply(fact).map_err(|source| JournalError::Account { session: session.clone(), source })?;
        }
        self.known.accounts.insert(session.clone(), account);
        Ok(())
    }

    /// Returns a session's account.
    pub(crate) fn account(&mut self, session: &SessionId) -> Result<&Session, JournalError> {
        match self.known.accounts.entry(session.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(walk::folded_account(self.db, session)?)),
        }
    }

    /// Adds the head of a new session.
    pub(crate) fn begin(&mut self, session: &SessionId, about: Hash) {
        self.known.add_head(session, SessionHead::new(session, about));
        self.known.accounts.insert(session.clone(), Session::default());
    }

    /// Returns an error if this process has lost the lease.
    pub(crate) fn check_lease(&mut self, token: &Token) -> Result<(), JournalError> {
        if self.known.leases.get(&token.session) != Some(&token.epoch) {
            lease::check(self.db, token)?;
            self.know_lease(token.session.clone(), token.epoch);
        }
        Ok(())
    }

    /// Records that a session's lease has this epoch.
    pub(crate) fn know_lease(&mut self, session: SessionId, epoch: u64) {
        self.known.leases.insert(session, epoch);
    }

    /// Whether a text is known to be stored unchanged.
    pub(crate) fn knows_text(&self, text: Hash) -> bool {
        self.known.texts.contains(&text)
    }

    /// Records that a text is stored unchanged.
    pub(crate) fn know_text(&mut self, text: Hash) {
        self.known.texts.insert(text);
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::SessionId;
    use rusqlite::Connection;

    use super::{Known, SESSIONS_MAX};

    #[test]
    fn the_number_of_leases_in_memory_is_limited() {
        let db = Connection::open_in_memory().unwrap();
        let mut known = Known::default();
        known.refresh(&db).unwrap();
        for (count, left) in [(SESSIONS_MAX, SESSIONS_MAX), (SESSIONS_MAX + 1, 0)] {
            let ids = (0..count).map(|n| (format!("brave-otter-{n}").parse::<SessionId>().unwrap(), 1));
            known.leases.extend(ids);
            known.refresh(&db).unwrap();
            assert_eq!(known.leases.len(), left);
        }
    }
}
