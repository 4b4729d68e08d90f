//! The database: how it is opened and what is in it. Every format that was released opens for ever; one that is newer than
//! this program is left untouched.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{DATABASE, JournalError, Limits, heads, marker};

/// The format that this version writes.
pub const SCHEMA: i64 = 3;

/// The first format that has heads.
const HEADS_SINCE: i64 = 3;

/// SQLite up to 3.51.2 can lose commits when several connections write and checkpoint.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// Tells our databases from others: "GLDH".
const APPLICATION: i64 = 0x474c_4448;

/// How long one process waits for another that writes.
const BUSY_MS_MAX: u64 = 10_000;

/// What makes each format out of the one before. A released step never changes.
const STEPS: [&str; 3] = [include_str!("format_1.sql"), include_str!("format_2.sql"), include_str!("format_3.sql")];

/// How many statements a connection keeps prepared: more than there are.
const STATEMENTS_MAX: usize = 64;

/// A process's turn to open or close a journal: one at a time, since both are several steps.
pub(crate) struct Turn {
    // Held open, not used: closing it ends the turn.
    _lock: File,
}

impl Turn {
    /// Waits for the turn.
    pub(crate) fn take(dir: &Path) -> Result<Turn, JournalError> {
        let file = dir.join("opening.lock");
        let taken = private().append(true).open(&file).and_then(|lock| lock.lock().map(|()| lock));
        Ok(Turn { _lock: taken.map_err(JournalError::file(&file, "locked"))? })
    }
}

/// Refuses a SQLite that can lose commits.
pub(crate) fn check_version() -> Result<(), JournalError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN {
        return Err(JournalError::UnsafeSqlite { linked: rusqlite::version().into() });
    }
    Ok(())
}

/// Makes the directory and opens the one connection that writes.
pub(crate) fn open(dir: &Path, limits: Limits) -> Result<Connection, JournalError> {
    make_dir(dir)?;
    let file = dir.join(DATABASE);
    let _turn = Turn::take(dir)?;
    // Before the database is read: it has at least what the marker says by now.
    let recorded = marker::commits(dir)?;
    make_file(&file)?;
    let connect = || -> Result<Connection, JournalError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(&file, flags)?;
        keep_plans(&db)?;
        db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
        // What is refused is left as it is: closing must not write a log back, or remove it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        refuse_others(&db, &file)?;
        refuse_loss(&db, dir, recorded)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        db.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA foreign_keys = ON;
             PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF;",
        )?;
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
    connect().map_err(|error| error.within(&file))
}

/// How a database is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Beside others, who may write.
    Shared,
    /// As one that can't change: nothing is locked, and there is no log.
    Immutable,
}

/// Opens a connection that can only read.
pub(crate) fn open_reader(file: &Path, reading: Reading) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = match reading {
        Reading::Shared => Connection::open_with_flags(file, flags)?,
        Reading::Immutable => Connection::open_with_flags(immutable(file), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    keep_plans(&db)?;
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    db.execute_batch("PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF; PRAGMA query_only = ON;")?;
    Ok(db)
}

/// The URI of a database that can't change.
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

/// Keeps statements, and keeps them as they were prepared, whatever is bound to them: SQLite would otherwise plan one anew for each other
/// number, and there is only one way through our tables.
fn keep_plans(db: &Connection) -> Result<(), rusqlite::Error> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

fn number(db: &Connection, pragma: &str) -> Result<i64, rusqlite::Error> {
    db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
}

/// Leaves alone what another program, or a later version of this one, has written. An empty file is neither: a power cut
/// during the very first opening leaves one.
pub(crate) fn refuse_others(db: &Connection, file: &Path) -> Result<(), JournalError> {
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

/// Returns whether the database has today's format.
pub(crate) fn is_current(db: &Connection) -> Result<bool, JournalError> {
    Ok(number(db, "user_version")? == SCHEMA)
}

/// Returns which tables, indexes and triggers are not as this program defines them. Others may be there as well.
pub(crate) fn undefined(db: &Connection) -> Result<Vec<String>, JournalError> {
    let sound = Connection::open_in_memory()?;
    STEPS.iter().try_for_each(|step| sound.execute_batch(step))?;
    let found = definitions(db)?;
    Ok(definitions(&sound)?.into_iter().filter(|named| !found.contains(named)).map(|(name, _)| name).collect())
}

/// Every table, index and trigger with what defines it, whatever blanks SQLite puts there.
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

/// Refuses a database that lacks commits which the marker says were stored.
pub(crate) fn refuse_loss(db: &Connection, dir: &Path, recorded: u64) -> Result<(), JournalError> {
    let found = if number(db, "user_version")? < HEADS_SINCE { 0 } else { heads::commits(db)? };
    if found >= recorded {
        return Ok(());
    }
    Err(JournalError::LogMissing { file: dir.join(DATABASE), marker: marker::path(dir), recorded, found })
}

/// Brings the database to today's format in one transaction, while nobody else has it open: an older program would go on
/// writing rows without heads. The log is not used meanwhile, so that the new format is in the database itself.
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
        heads::found(&tx)?;
    }
    tx.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA};"))?;
    tx.commit()?;
    Ok(())
}

/// Makes a directory that only its owner can enter.
pub(crate) fn make_dir(dir: &Path) -> Result<(), JournalError> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(JournalError::file(dir, "made"))?;
    // A directory that a power cut takes would take the journal with it.
    #[cfg(unix)]
    for made in [Some(dir), dir.parent()].into_iter().flatten().filter(|made| made.is_dir()) {
        File::open(made).and_then(|made| made.sync_all()).map_err(JournalError::file(made, "made durable"))?;
    }
    Ok(())
}

/// Opens options that make files which only their owner can read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the file before SQLite does, which would let others read it; the log and the index take its mode over. One that is
/// there is not touched: closing it would end the locks that this process holds on it.
fn make_file(file: &Path) -> Result<(), JournalError> {
    match private().append(true).create_new(true).open(file) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(JournalError::file(file, "made")(error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes a file's contents be exactly these: whoever reads it sees all of the old or all of the new.
pub(crate) fn replace(file: &Path, contents: &[u8]) -> Result<(), JournalError> {
    let mut fresh = file.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = Path::new(&fresh);
    let write = |mut to: File| std::io::Write::write_all(&mut to, contents);
    let options = private().write(true).truncate(true).open(fresh);
    options.and_then(write).and_then(|()| fs::rename(fresh, file)).map_err(JournalError::file(file, "written"))
}
