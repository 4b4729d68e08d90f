//! A journal that can't be written, and can be read all the same: its directory is on a medium that is read-only, belongs to
//! somebody else, or lacks commits. Nothing in it is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, access};
use tempfile::TempDir;

use super::readers::Readers;
use super::schema::{self, Reading};
use super::{DATABASE, JournalError, Limits, marker};

/// What SQLite keeps beside a database.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";
const ROLLBACK: &str = "-journal";

/// Says why a journal that is there can't be written, if it can't.
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

fn beside(database: &Path, end: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    path.into()
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

/// Finds a way to read the database of this directory. A log needs an index, which SQLite would have to make: without one, and
/// for a format that has to be brought to today's, a private copy is read, which is removed when the journal is closed.
pub(crate) fn readers(dir: &Path) -> Result<Readers, JournalError> {
    let database = dir.join(DATABASE);
    let [log, index, rollback] = [LOG, INDEX, ROLLBACK].map(|end| beside(&database, end));
    let reading = match (length(&log), index.exists(), length(&rollback)) {
        (_, true, 0) => Some(Reading::Shared),
        (0, false, 0) => Some(Reading::Immutable),
        (1.., false, 0) | (_, _, 1..) => None,
    };
    let readable = reading.map(|reading| Ok((reading, is_readable(&database, reading)?)));
    match readable.transpose().map_err(|error: JournalError| error.within(&database))? {
        Some((reading, true)) => Ok(Readers::new(database, reading)),
        Some((_, false)) | None => copied(&database),
    }
}

/// Whether a database can be read where it is. One that has an older format can't, nor one whose log SQLite can't open.
fn is_readable(database: &Path, reading: Reading) -> Result<bool, JournalError> {
    let opened = schema::open_reader(database, reading).and_then(|db| {
        schema::refuse_others(&db, database)?;
        schema::is_current(&db)
    });
    match opened {
        Err(JournalError::Sqlite { .. }) => Ok(false),
        opened => opened,
    }
}

/// Copies a database and what belongs to it to a directory that only this user can enter, and reads it there.
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
    // A copy of what can't be written can't be written either.
    for end in ["", LOG, ROLLBACK] {
        make_writable(&beside(&file, end))?;
    }
    drop(schema::open(copy.path(), Limits::default())?);
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

/// Says whether commits are missing that the marker says were stored.
pub(crate) fn refuse_loss(dir: &Path, readers: &Readers) -> Result<(), JournalError> {
    let recorded = marker::commits(dir)?;
    readers.now(|db| schema::refuse_loss(db, dir, recorded))
}
