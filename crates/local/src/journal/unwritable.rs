//! Reading a journal that can't be written: its directory is on a read-only disk, belongs to another user, or lacks commits.
//! Nothing in the directory is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, access};
use tempfile::TempDir;

use super::readers::Readers;
use super::schema::{self, Reading};
use super::{DATABASE, JournalError, Limits, marker};

/// The endings of the files that SQLite creates beside a database.
pub(super) const LOG: &str = "-wal";
const INDEX: &str = "-shm";
const ROLLBACK: &str = "-journal";

/// Returns why an existing journal can't be written, if it can't.
pub(crate) fn why(dir: &Path) -> Option<JournalError> {
    let database = dir.join(DATABASE);
    if !database.exists() {
        return None;
    }
    let beside = [LOG, INDEX].map(|end| beside(&database, end));
    let needed = [dir.to_owned(), database].into_iter().chain(beside.into_iter().filter(|file| file.exists()));
    needed.into_iter().find_map(|path| {
        let source = Arc::new(access(&path, Access::WRITE_OK).err()?.into());
        Some(JournalError::ReadOnly { path, source })
    })
}

pub(super) fn beside(database: &Path, end: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    path.into()
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

/// Finds a way to read the database in this directory. To read a log, SQLite needs an index file, which it can't create here.
/// Without an index, or if the tables have to be created, a private copy is read. The copy is removed when the journal is
/// closed.
pub(crate) fn readers(dir: &Path) -> Result<Readers, JournalError> {
    let database = dir.join(DATABASE);
    let [log, index, rollback] = [LOG, INDEX, ROLLBACK].map(|end| beside(&database, end));
    let reading = match (length(&log), index.exists(), length(&rollback)) {
        (_, true, 0) => Some(Reading::Shared),
        (0, false, 0) => Some(Reading::Immutable),
        (1.., false, 0) | (_, _, 1..) => None,
    };
    let readable = reading.map(|reading| Ok((reading, is_readable(&database, reading)?)));
    match readable.transpose().map_err(|error: JournalError| error.in_database(&database))? {
        Some((reading, true)) => Ok(Readers::new(database, reading)),
        Some((_, false)) | None => copied(&database),
    }
}

/// Returns whether a database can be read in place. It can't if it has no tables, or if SQLite can't open its log.
fn is_readable(database: &Path, reading: Reading) -> Result<bool, JournalError> {
    let opened = schema::open_reader(database, reading).and_then(|db| {
        schema::refuse_foreign(&db, database)?;
        schema::is_empty(&db).map(|empty| !empty)
    });
    match opened {
        Err(JournalError::Sqlite { .. }) => Ok(false),
        opened => opened,
    }
}

/// Copies a database and its log to a directory that only this user can enter, and reads the copy.
fn copied(database: &Path) -> Result<Readers, JournalError> {
    let copy = TempDir::new().map_err(JournalError::file(database, "copied to be read"))?;
    let file = copy.path().join(DATABASE);
    fs::copy(database, &file).map_err(JournalError::file(database, "copied to be read"))?;
    for end in [LOG, ROLLBACK] {
        let from = beside(database, end);
        if from.exists() {
            fs::copy(&from, beside(&file, end)).map_err(JournalError::file(&from, "copied to be read"))?;
        }
    }
    // The copies inherit the read-only mode of their originals.
    for end in ["", LOG, ROLLBACK] {
        make_writable(&beside(&file, end))?;
    }
    drop(schema::open(copy.path(), Limits::default()).map_err(|error| error.in_database(database))?);
    Ok(Readers::new(file, Reading::Shared).of_copy(copy))
}

fn make_writable(file: &Path) -> Result<(), JournalError> {
    if !file.exists() {
        return Ok(());
    }
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(file, permissions).map_err(JournalError::file(file, "made writable"))
}

/// Returns an error if commits are missing that the marker records.
pub(crate) fn refuse_missing_commits(dir: &Path, readers: &Readers) -> Result<(), JournalError> {
    let recorded = marker::commits(dir)?;
    readers.now(|db| schema::refuse_missing_commits(db, dir, recorded))
}
