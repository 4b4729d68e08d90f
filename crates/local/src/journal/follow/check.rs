//! The thread that checks what other processes have stored: one check for all who wait, however many they are. SQLite tells in one
//! number whether anything was written. The thread sleeps while nobody waits.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};

use super::followers::Shared;
use crate::journal::JournalError;
use crate::journal::event::Cursor;
use crate::journal::readers::Readers;
use crate::journal::schema::{self, Reading};

/// The pause between two checks.
const INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Checker {
    shared: Arc<Shared>,
    file: PathBuf,
    reading: Reading,
    reads: Arc<AtomicU64>,
}

/// A connection, and the number that SQLite changes when another connection has written.
struct Seen {
    db: Connection,
    version: i64,
}

enum Turn {
    /// Others may have written while nobody checked.
    First,
    Next,
    End,
}

impl Checker {
    pub(super) fn new(shared: Arc<Shared>, readers: &Readers) -> Checker {
        Checker { shared, file: readers.file().to_owned(), reading: readers.reading(), reads: readers.counter() }
    }

    pub(super) fn run(self) {
        let mut seen = None;
        loop {
            match self.pause() {
                Turn::First => seen = None,
                Turn::Next => {}
                Turn::End => return,
            }
            match self.check(seen.take()) {
                Ok(checked) => seen = Some(checked),
                // Those who wait read the database themselves, and get the error.
                Err(_) => self.shared.all().iter().for_each(|session| session.check_failed()),
            }
        }
    }

    /// Waits until the next check is due.
    fn pause(&self) -> Turn {
        let open = self.shared.open();
        let turn = if open.is_empty() { Turn::First } else { Turn::Next };
        let wait = self.shared.changed.wait_while(open, |open| open.is_empty() && !open.is_closed);
        let open = wait.unwrap_or_else(PoisonError::into_inner);
        let wait = self.shared.changed.wait_timeout_while(open, INTERVAL, |open| !open.is_closed);
        let (open, _) = wait.unwrap_or_else(PoisonError::into_inner);
        if open.is_closed { Turn::End } else { turn }
    }

    /// Reads the numbers of all sessions that are waited for, if anything was written since the last check.
    fn check(&self, seen: Option<Seen>) -> Result<Seen, JournalError> {
        let (db, before) = match seen {
            Some(Seen { db, version }) => (db, Some(version)),
            None => (schema::open_reader(&self.file, self.reading)?, None),
        };
        // Read before the list of sessions: a session that is added later is read after this by the one who waits for it.
        let version = db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if before != Some(version) {
            self.read_heads(&db)?;
        }
        Ok(Seen { db, version })
    }

    fn read_heads(&self, db: &Connection) -> Result<(), JournalError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        // The number of open commands is not used. With it, the check fails as soon as the inbox can't be read, and not when the
        // next order is lost.
        let mut find = db.prepare_cached(
            "SELECT facts, account, commands, (SELECT count(*) FROM inbox WHERE session = ?1 AND done = 0)
             FROM session_head WHERE session = ?1",
        )?;
        let number = |row: &Row<'_>, column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        let read = |row: &Row<'_>| Ok((Cursor { facts: number(row, 0)?, account: number(row, 1)? }, number(row, 2)?));
        for session in self.shared.all() {
            if let Some((end, commands)) = find.query_row([session.id.as_str()], read).optional()? {
                session.stored(end, commands);
            }
        }
        Ok(())
    }
}
