//! The database: how it is opened, and its tables. This program can open every format that was ever released. It does not
//! touch a database with a newer format.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{DATABASE, JournalError, Limits, heads, marker};
use crate::private::{create_private_dir, private_file};

/// The format that this version of the program writes.
pub const SCHEMA: i64 = 5;

/// The first format that has heads.
const HEADS_SINCE: i64 = 3;

/// SQLite up to 3.51.2 can lose commits when several connections write and checkpoint.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// The application id that marks a database as a journal of Guildhall: "GLDH".
const APPLICATION: i64 = 0x474c_4448;

/// How long a process waits while another process writes.
const BUSY_MS_MAX: u64 = 10_000;

/// The SQL that converts each format to the next. A released step must never change.
const STEPS: [&str; 5] = [
    include_str!("format_1.sql"),
    include_str!("format_2.sql"),
    include_str!("format_3.sql"),
    include_str!("format_4.sql"),
    include_str!("format_5.sql"),
];

/// How many pages the log has when it is written back to the database. Every commit changes the same heads and indexes, so fewer
/// write-backs write fewer pages.
const LOG_PAGES: u32 = 4_000;

/// How many prepared statements a connection caches: more than the program has.
const STATEMENTS_MAX: usize = 64;

/// The lock for opening or closing a journal. Both take several steps, so only one process at a time may do them.
pub(crate) struct OpenLock {
    // Only held open: closing the file releases the lock.
    _lock: File,
}

impl OpenLock {
    /// Waits for the lock.
    pub(crate) fn take(dir: &Path) -> Result<OpenLock, JournalError> {
        let file = dir.join("opening.lock");
        let taken = private_file().append(true).open(&file).and_then(|lock| lock.lock().map(|()| lock));
        Ok(OpenLock { _lock: taken.map_err(JournalError::file(&file, "locked"))? })
    }
}

/// Returns an error if the linked SQLite can lose commits.
pub(crate) fn check_version() -> Result<(), JournalError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(JournalError::UnsafeSqlite { linked: rusqlite::version().into() });
    }
    Ok(())
}

/// Creates the directory and opens the one connection that writes.
pub(crate) fn open(dir: &Path, limits: Limits) -> Result<Connection, JournalError> {
    make_dir(dir)?;
    let file = dir.join(DATABASE);
    let _lock = OpenLock::take(dir)?;
    // Read the marker before the database: the database then has at least as many commits as the marker records.
    let recorded = marker::commits(dir)?;
    make_file(&file)?;
    let connect = || -> Result<Connection, JournalError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&file, flags)?;
        cache_statements(&db)?;
        db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
        // A refused database stays unchanged: closing it must not write the log back or remove it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        refuse_foreign(&db, &file)?;
        refuse_missing_commits(&db, dir, recorded)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        db.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA foreign_keys = ON;
             PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;",
        )?;
        db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        migrate(&mut db, &file)?;
        let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            let why = format!("the file system can't do write-ahead logging (got {mode})");
            let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(1), Some(why));
            return Err(JournalError::from(source));
        }
        if let Some(pages) = limits.pages_max {
            db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        }
        Ok(db)
    };
    connect().map_err(|error| error.in_database(&file))
}

/// How a reading connection opens the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Other processes may write at the same time.
    Shared,
    /// The database can't change: SQLite takes no locks and reads no log.
    Immutable,
}

/// Opens a connection that can only read.
pub(crate) fn open_reader(file: &Path, reading: Reading) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = match reading {
        Reading::Shared => Connection::open_with_flags(file, flags)?,
        Reading::Immutable => Connection::open_with_flags(immutable(file), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    cache_statements(&db)?;
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    db.execute_batch("PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    Ok(db)
}

/// Returns the URI of a database that can't change.
fn immutable(file: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            other => uri.extend(['%', hex(other >> 4), hex(other & 15)]),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).expect("four bits are one digit")
}

/// Caches prepared statements with their query plans. Without `QPSG`, SQLite could make a new plan when bound values change,
/// but our queries always have the same best plan.
fn cache_statements(db: &Connection) -> Result<(), rusqlite::Error> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

fn number(db: &Connection, pragma: &str) -> Result<i64, rusqlite::Error> {
    db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
}

/// Returns an error for a database of another program or of a newer version of this program. An empty file is accepted: a
/// power cut while the database is created can leave one.
pub(crate) fn refuse_foreign(db: &Connection, file: &Path) -> Result<(), JournalError> {
    let found = number(db, "user_version")?;
    let application = number(db, "application_id")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || tables > 0 || found != 0) {
        return Err(JournalError::Foreign { file: file.to_owned() });
    }
    if found > SCHEMA {
        return Err(JournalError::Newer { file: file.to_owned(), found });
    }
    Ok(())
}

/// Returns whether the database has the current format.
pub(crate) fn is_current(db: &Connection) -> Result<bool, JournalError> {
    Ok(number(db, "user_version")? == SCHEMA)
}

/// Returns the tables, indexes and triggers that are missing or differ from this program's definitions. Additional ones are
/// ignored.
pub(crate) fn wrong_definitions(db: &Connection) -> Result<Vec<String>, JournalError> {
    let reference = Connection::open_in_memory()?;
    STEPS.iter().try_for_each(|step| reference.execute_batch(step))?;
    let found = definitions(db)?;
    Ok(definitions(&reference)?.into_iter().filter(|named| !found.contains(named)).map(|(name, _)| name).collect())
}

/// Returns every table, index and trigger with its definition, without white space.
fn definitions(db: &Connection) -> Result<BTreeSet<(String, Vec<u8>)>, JournalError> {
    let mut all = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut rows = all.query([])?;
    let mut definitions = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let bytes = |column| row.get_ref(column).ok()?.as_bytes().ok();
        let (Some(name), Some(sql)) = (bytes(0), bytes(1)) else { continue };
        let sql = sql.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        definitions.insert((String::from_utf8_lossy(name).into_owned(), sql));
    }
    Ok(definitions)
}

/// Returns an error if the database has fewer commits than the marker records.
pub(crate) fn refuse_missing_commits(db: &Connection, dir: &Path, recorded: u64) -> Result<(), JournalError> {
    let found = if number(db, "user_version")? < HEADS_SINCE { 0 } else { heads::commits(db)? };
    if found >= recorded {
        return Ok(());
    }
    Err(JournalError::LogMissing { file: dir.join(DATABASE), marker: marker::path(dir), recorded, found })
}

/// Converts the database to the current format in one transaction, while no other process has it open: an older program would
/// continue to write rows without heads. The write-ahead log is off meanwhile, so that the new format is in the database
/// itself.
fn migrate(db: &mut Connection, file: &Path) -> Result<(), JournalError> {
    if is_current(db)? {
        return Ok(());
    }
    let alone = db.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    match alone.map_err(JournalError::from) {
        Ok(mode) if mode == "delete" => {}
        Ok(_) | Err(JournalError::Busy) => return Err(JournalError::InUse { file: file.to_owned() }),
        Err(error) => return Err(error),
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = number(&tx, "user_version")?;
    let steps = STEPS.iter().skip(usize::try_from(found).unwrap_or_default());
    steps.into_iter().try_for_each(|step| tx.execute_batch(step))?;
    if found < HEADS_SINCE {
        heads::create_heads(&tx)?;
    }
    tx.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA};"))?;
    tx.commit()?;
    Ok(())
}

/// Creates a directory that only its owner can enter.
pub(crate) fn make_dir(dir: &Path) -> Result<(), JournalError> {
    if dir.is_dir() {
        return Ok(());
    }
    create_private_dir(dir).map_err(JournalError::file(dir, "made"))?;
    // Without this sync, a power cut could remove the new directory and the journal in it.
    #[cfg(unix)]
    for made in [Some(dir), dir.parent()].into_iter().flatten().filter(|made| made.is_dir()) {
        File::open(made).and_then(|made| made.sync_all()).map_err(JournalError::file(made, "made durable"))?;
    }
    Ok(())
}

/// Creates the database file, because SQLite would let other users read it. The log and its index get the same mode. An
/// existing file is not opened: closing it would release the locks that this process holds on it.
fn make_file(file: &Path) -> Result<(), JournalError> {
    match private_file().append(true).create_new(true).open(file) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(JournalError::file(file, "made")(error)),
        Ok(_) | Err(_) => Ok(()),
    }
}
