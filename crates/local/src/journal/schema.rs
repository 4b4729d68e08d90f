//! The database: how it is opened, and its tables. Only a journal of this program's own form is opened. Any other is refused, and
//! nothing in it is changed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use guildhall_kernel::{ACCOUNT_FORMAT, FORMAT, TREASURY_FORMAT};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::JournalForm;
use super::unwritable::{LOG, beside};
use super::{DATABASE, JournalError, Limits, heads, marker};
use crate::private::{create_private_dir, open_lock, private_file};

/// The format of the tables. A change gets the next number, and only this format is read.
const TABLES_FORMAT: i64 = 6;

/// No form has this number or a higher one.
const FORM_MAX: i64 = 100;

/// The number in the head of the database: the format of the tables, and the form of each kind of fact.
const VERSION: i64 =
    ((TABLES_FORMAT * FORM_MAX + FORMAT as i64) * FORM_MAX + ACCOUNT_FORMAT as i64) * FORM_MAX + TREASURY_FORMAT as i64;

/// SQLite up to 3.51.2 can lose commits when several connections write and checkpoint.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// The application id that marks a database as a journal of Guildhall: "GLDH".
const APPLICATION: i64 = 0x474c_4448;

/// How long a process waits while another process writes.
const BUSY_MS_MAX: u64 = 10_000;

/// The tables of this format.
const TABLES: &str = include_str!("schema.sql");

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
        let taken = open_lock(&file).and_then(|lock| lock.lock().map(|()| lock));
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
    refuse_other_form(&file)?;
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
        create_tables(&mut db)?;
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

/// Refuses a journal of another form before a connection creates files beside it. A journal with a log is checked after its
/// connection is open.
fn refuse_other_form(file: &Path) -> Result<(), JournalError> {
    // SQLite would wait for the other end of a pipe.
    if file.metadata().is_ok_and(|about| !about.is_file()) {
        let why = std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
        return Err(JournalError::file(file, "opened")(why));
    }
    if !file.exists() || beside(file, LOG).metadata().is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    let refused = open_reader(file, Reading::Immutable).and_then(|db| refuse_foreign(&db, file));
    match refused {
        // Another process may write at this moment. The next connection takes the locks and checks again.
        Err(JournalError::Sqlite { .. } | JournalError::Damaged { .. } | JournalError::Busy) => Ok(()),
        refused => refused,
    }
}

/// Returns an error for a database of another program, and for a journal of another form. An empty file is accepted: a power
/// cut while the database is created can leave one.
pub(crate) fn refuse_foreign(db: &Connection, file: &Path) -> Result<(), JournalError> {
    let found = number(db, "user_version")?;
    let application = number(db, "application_id")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || tables > 0 || found != 0) {
        return Err(JournalError::Foreign { file: file.to_owned() });
    }
    if application == 0 {
        return Ok(());
    }
    let both = forms(found).into_iter().zip(forms(VERSION));
    match both.into_iter().find(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(((form, found), (_, wanted))) => {
            Err(JournalError::OtherForm { file: file.to_owned(), form, found, wanted })
        }
    }
}

/// Returns the forms that a number in the head of a database stands for.
fn forms(version: i64) -> [(JournalForm, i64); 4] {
    // Formats up to 5 were stored without the forms of the facts.
    let whole = if version < FORM_MAX { version * FORM_MAX.pow(3) } else { version };
    let at = |place| whole / FORM_MAX.pow(place);
    [
        (JournalForm::Tables, at(3)),
        (JournalForm::Facts, at(2) % FORM_MAX),
        (JournalForm::Account, at(1) % FORM_MAX),
        (JournalForm::Treasury, at(0) % FORM_MAX),
    ]
}

/// Returns whether the database has no tables yet.
pub(crate) fn is_empty(db: &Connection) -> Result<bool, JournalError> {
    Ok(number(db, "application_id")? == 0)
}

/// Returns the tables, indexes and triggers that are missing or differ from this program's definitions. Additional ones are
/// ignored.
pub(crate) fn wrong_definitions(db: &Connection) -> Result<Vec<String>, JournalError> {
    let reference = Connection::open_in_memory()?;
    reference.execute_batch(TABLES)?;
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
    let found = if is_empty(db)? { 0 } else { heads::commits(db)? };
    if found >= recorded {
        return Ok(());
    }
    Err(JournalError::LogMissing { file: dir.join(DATABASE), marker: marker::path(dir), recorded, found })
}

/// Creates the tables of a new journal, unless another process has created them. The write-ahead log is off meanwhile, so that the
/// format is in the database itself.
fn create_tables(db: &mut Connection) -> Result<(), JournalError> {
    if !is_empty(db)? {
        return Ok(());
    }
    db.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))?;
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(TABLES)?;
    heads::create_hall_head(&tx)?;
    tx.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
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
