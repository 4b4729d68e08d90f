//! Heads: one row per session that records its state, and one row for the hall that covers all sessions. Every commit that
//! changes a session updates both rows. A row that is deleted, changed or added in any other way is therefore detected. Head
//! rows don't protect against a person who computes new hashes; the head that is printed on a bill does.

use guildhall_kernel::{Hash, SessionId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::chain::{Broken, Chain, Fault, HallBroken, Head, link};
use super::{JournalError, treasury};
use crate::lease::Holder;

/// The texts that the hash of each kind of row starts with. They are part of the stored form and must never change.
const ABOUT: &str = "guildhall journal 3: a session";
const COMMAND: &str = "guildhall journal 3: a command that waits";
const IN_LINE: &str = "guildhall journal 3: a call in line";
const LEASE: &str = "guildhall journal 3: the lease of a session";
const SESSION_HEAD: &str = "guildhall journal 3: head of a session";
const HALL_HEAD: &str = "guildhall journal 3: head of the hall";

/// The hash of an empty set, and of a missing row.
pub(crate) const NOTHING: Hash = Hash([0; 32]);

/// Adds a row's hash to the hash of a set, or removes it. A set changes with every commit, so updating its hash must not
/// require reading the whole set.
pub(crate) fn xor(set: Hash, item: Hash) -> Hash {
    let mut mixed = set.0;
    mixed.iter_mut().zip(item.0).for_each(|(byte, other)| *byte ^= other);
    Hash(mixed)
}

fn item(kind: &str, session: &SessionId, parts: &[&[u8]]) -> Hash {
    link(Hash(blake3::derive_key(kind, session.as_str().as_bytes())), parts)
}

/// Returns the hash of a session's own row.
pub(crate) fn about(session: &SessionId, created_at: i64, project: &[u8], label: &[u8]) -> Hash {
    item(ABOUT, session, &[&created_at.to_le_bytes(), project, label])
}

/// Returns the hash of a command that is not executed yet.
pub(crate) fn command(session: &SessionId, number: i64, at: i64, command: &[u8]) -> Hash {
    item(COMMAND, session, &[&number.to_le_bytes(), &at.to_le_bytes(), command])
}

/// Returns the hash of a call that waits for a permit.
pub(crate) fn in_line(session: &SessionId, contract: &[u8], ask: i64) -> Hash {
    item(IN_LINE, session, &[contract, &ask.to_le_bytes()])
}

/// Returns the hash of a session's lease.
pub(crate) fn lease(session: &SessionId, holder: &Holder) -> Hash {
    let Holder { pid, boot, since, epoch } = holder;
    item(LEASE, session, &[&epoch.to_le_bytes(), &pid.to_le_bytes(), boot.as_bytes(), &since.0.to_le_bytes()])
}

/// The state of a session, as recorded in its head row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionHead {
    /// The hash of the session's own row: when it began, its project and its label.
    pub(crate) about: Hash,
    /// The number and the hash of the last fact.
    pub(crate) facts: u64,
    pub(crate) facts_hash: Hash,
    /// The number and the hash of the account's last fact.
    pub(crate) account: u64,
    pub(crate) account_hash: Hash,
    /// The number of the newest command, executed or not.
    pub(crate) commands: u64,
    /// The hash of the set of commands that are not executed yet.
    pub(crate) commands_open: Hash,
    /// The hash of the set of calls that wait for a permit.
    pub(crate) in_line: Hash,
    /// The hash of the lease.
    pub(crate) lease: Hash,
}

impl SessionHead {
    /// Returns the head of a new, empty session.
    pub(crate) fn new(session: &SessionId, about: Hash) -> SessionHead {
        SessionHead {
            about,
            facts: 0,
            facts_hash: Chain::Facts.genesis(session),
            account: 0,
            account_hash: Chain::Account.genesis(session),
            commands: 0,
            commands_open: NOTHING,
            in_line: NOTHING,
            lease: NOTHING,
        }
    }

    /// Returns the part of the head that people see.
    pub(crate) fn printed(&self) -> Head {
        Head { facts: self.facts, hash: self.facts_hash, account: self.account, account_hash: self.account_hash }
    }

    pub(super) fn hash(&self, session: &SessionId) -> Hash {
        let SessionHead { about, facts, facts_hash, account, account_hash, commands, commands_open, in_line, lease } =
            self;
        let (facts, account, commands) = (facts.to_le_bytes(), account.to_le_bytes(), commands.to_le_bytes());
        let hashes = [about, facts_hash, account_hash, commands_open, in_line, lease].map(|hash| &hash.0[..]);
        item(SESSION_HEAD, session, &[&[&facts[..], &account, &commands], &hashes[..]].concat())
    }

    /// Reads a session's head. A missing or changed head is an error.
    pub(crate) fn read(db: &Connection, session: &SessionId) -> Result<SessionHead, Fault> {
        let mut find = db.prepare_cached(
            "SELECT about, facts, facts_hash, account, account_hash, commands, commands_open, in_line, lease, hash
             FROM session_head WHERE session = ?1",
        )?;
        let read = |row: &Row<'_>| Ok(SessionHead::of(row).filter(|(head, hash)| head.hash(session) == *hash));
        let found = find.query_row([session.as_str()], read).optional()?;
        found.flatten().map(|(head, _)| head).ok_or(Fault::Broken(Broken::Head))
    }

    fn of(row: &Row<'_>) -> Option<(SessionHead, Hash)> {
        let head = SessionHead {
            about: hash(row, 0)?,
            facts: number(row, 1)?,
            facts_hash: hash(row, 2)?,
            account: number(row, 3)?,
            account_hash: hash(row, 4)?,
            commands: number(row, 5)?,
            commands_open: hash(row, 6)?,
            in_line: hash(row, 7)?,
            lease: hash(row, 8)?,
        };
        Some((head, hash(row, 9)?))
    }

    /// Stores the head and returns its hash.
    pub(super) fn store(&self, db: &Connection, session: &SessionId) -> Result<Hash, rusqlite::Error> {
        let mut store = db.prepare_cached(
            "INSERT INTO session_head (session, about, facts, facts_hash, account, account_hash, commands, commands_open,
                                       in_line, lease, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (session) DO UPDATE SET about = ?2, facts = ?3, facts_hash = ?4, account = ?5, account_hash = ?6,
                                                 commands = ?7, commands_open = ?8, in_line = ?9, lease = ?10, hash = ?11",
        )?;
        let hash = self.hash(session);
        store.execute((
            session.as_str(),
            self.about.0,
            self.facts.cast_signed(),
            self.facts_hash.0,
            self.account.cast_signed(),
            self.account_hash.0,
            self.commands.cast_signed(),
            self.commands_open.0,
            self.in_line.0,
            self.lease.0,
            hash.0,
        ))?;
        Ok(hash)
    }
}

fn hash(row: &Row<'_>, column: usize) -> Option<Hash> {
    row.get(column).ok().map(Hash)
}

fn number(row: &Row<'_>, column: usize) -> Option<u64> {
    row.get::<_, i64>(column).ok().map(i64::cast_unsigned)
}

/// The state of the hall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HallHead {
    /// How many commits there have been.
    pub(crate) commits: u64,
    /// How many sessions there are.
    pub(crate) sessions: u64,
    /// The hash of the set of all session heads and the head of the treasury.
    pub(crate) heads: Hash,
}

impl HallHead {
    pub(super) const NEW: HallHead = HallHead { commits: 0, sessions: 0, heads: NOTHING };

    pub(super) fn hash(&self) -> Hash {
        let key = Hash(blake3::derive_key(HALL_HEAD, &[]));
        link(key, &[&self.commits.to_le_bytes(), &self.sessions.to_le_bytes(), &self.heads.0])
    }

    /// Reads the hall's head and its stored hash.
    pub(super) fn read(db: &Connection) -> Result<Option<(HallHead, Hash)>, rusqlite::Error> {
        let mut find = db.prepare_cached("SELECT commits, sessions, heads, hash FROM hall_head WHERE one = 1")?;
        let read = |row: &Row<'_>| {
            let head = || Some(HallHead { commits: number(row, 0)?, sessions: number(row, 1)?, heads: hash(row, 2)? });
            Ok(head().zip(hash(row, 3)))
        };
        Ok(find.query_row([], read).optional()?.flatten())
    }

    pub(super) fn store(&self, db: &Connection, hash: Hash) -> Result<(), rusqlite::Error> {
        let mut store = db.prepare_cached(
            "INSERT INTO hall_head (one, commits, sessions, heads, hash) VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (one) DO UPDATE SET commits = ?1, sessions = ?2, heads = ?3, hash = ?4",
        )?;
        store.execute((self.commits.cast_signed(), self.sessions.cast_signed(), self.heads.0, hash.0)).map(|_| ())
    }
}

/// Returns the number of the newest commit.
pub(crate) fn commits(db: &Connection) -> Result<u64, rusqlite::Error> {
    Ok(HallHead::read(db)?.map_or(0, |(head, _)| head.commits))
}

/// Creates the head of a hall without sessions.
pub(crate) fn create_hall_head(db: &Connection) -> Result<(), rusqlite::Error> {
    HallHead::NEW.store(db, HallHead::NEW.hash())
}

/// Compares the hall's head with the heads of the existing sessions.
pub(crate) fn check_hall(db: &Connection) -> Result<Vec<HallBroken>, JournalError> {
    let mut broken = Vec::new();
    let (mut sessions, mut heads) = (0, treasury::stored_head(db)?);
    let mut all = db.prepare_cached("SELECT hash FROM session_head")?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        sessions += 1;
        heads = xor(heads, hash(row, 0).unwrap_or(NOTHING));
    }
    match HallHead::read(db)? {
        None => broken.push(HallBroken::HeadMissing),
        Some((head, stored)) if head.hash() != stored => broken.push(HallBroken::Head),
        Some((head, _)) if head.sessions != sessions => {
            broken.push(HallBroken::Sessions { recorded: head.sessions, found: sessions });
        }
        Some((head, _)) if head.heads != heads => broken.push(HallBroken::SessionHeads),
        Some(_) => {}
    }
    Ok(broken)
}
