//! What can go wrong with the journal, as a person is told it: what happened, what was kept, what to do next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_kernel::Hash;
use rusqlite::ErrorCode;
use rusqlite::ffi::{Error, SQLITE_FULL, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE};

use super::{SCHEMA, TEXT_BYTES_MAX};
use crate::id::SessionId;
use crate::inbox::COMMAND_BYTES_MAX;
use crate::lease::Holder;

/// Says why the journal did not do what it was asked. Unless it says otherwise, nothing of that was stored, and
/// everything acknowledged before is.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk is full, or the journal reached its limit.
    #[error(
        "the disk is full: what was to be stored last is not. Everything acknowledged before is kept. Free some space, then \
         type it again; a session that was at work goes on with `guildhall resume`"
    )]
    DiskFull {
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The system did not take a write, though the disk is not full.
    #[error(
        "the system refuses to write the journal ({source}), as it does where a quota or a limit on the size of files is \
         reached: what was to be stored last is not. Everything acknowledged before is kept. When more may be written, type \
         it again; a session that was at work goes on with `guildhall resume`"
    )]
    Unwritable {
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The system could not make facts durable. It is not tried again: after a failed sync nobody knows what the disk has.
    #[error(
        "the journal could not be made durable ({source}). Everything acknowledged before is kept; the last facts may be \
         stored or not. Check the disk, then see with `guildhall ls` what there is; a session that was at work goes on with \
         `guildhall resume`"
    )]
    NotDurable {
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The writer met an error earlier and stores nothing any more.
    #[error("the journal has stopped and stores nothing more in this process: {why}")]
    Stopped {
        /// The error that stopped it.
        why: Box<JournalError>,
    },
    /// The database is damaged, or is none.
    #[error(
        "the journal in {0} is damaged ({source}). Nothing was changed. Keep a copy of the directory; then go back to a backup, \
         see what `sqlite3 {0} .recover` can read, or begin anew in another directory with GUILDHALL_HOME", file.display()
    )]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// A database, but not a journal of ours.
    #[error("{} is a database of another program: nothing was changed. Choose another directory with GUILDHALL_HOME", file.display())]
    Foreign {
        /// Which file.
        file: PathBuf,
    },
    /// A later Guildhall wrote the journal.
    #[error(
        "the journal in {} has format {found}, and this guildhall reads formats up to {SCHEMA}: nothing was changed. Install \
         the newer guildhall that wrote it", file.display()
    )]
    Newer {
        /// Which file.
        file: PathBuf,
        /// Its format.
        found: i64,
    },
    /// An older format is to be brought to this one, and somebody else has the journal open.
    #[error(
        "the journal in {} was written by an older guildhall and must be brought to format {SCHEMA}, but another process has \
         it open: nothing was changed. End that process, then type this again", file.display()
    )]
    InUse {
        /// Which file.
        file: PathBuf,
    },
    /// The journal's directory, or a file in it, can't be written.
    #[error(
        "{} can't be written ({source}): nothing was stored. Sessions there can be listed, shown and verified. To work, make it \
         writable, or choose another directory with GUILDHALL_HOME", path.display()
    )]
    ReadOnly {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The newest commits were only in the log, and the log is gone.
    #[error(
        "the last {} commits of the journal are gone: they were in {}-wal, which was deleted, cut or replaced, or the home was copied while in use. Nothing was \
         changed, and nothing can be stored. Put that file back; or, if an older copy of the journal was put there on purpose, go \
         on without these commits by deleting {}", recorded.saturating_sub(*found), file.display(), marker.display()
    )]
    LogMissing {
        /// The database.
        file: PathBuf,
        /// The file that says how many commits there were.
        marker: PathBuf,
        /// How many there were.
        recorded: u64,
        /// How many there are.
        found: u64,
    },
    /// The linked SQLite has a bug that can lose facts.
    #[error("this guildhall was built with SQLite {linked}, which can lose facts: build it with 3.51.3 or later")]
    UnsafeSqlite {
        /// Its version.
        linked: String,
    },
    /// Another process kept the database for too long.
    #[error(
        "another process is using the journal: nothing was stored. Try again; run `guildhall ls` to see which sessions are running"
    )]
    Busy,
    /// SQLite could not do it.
    #[error("the journal could not be used: {source}")]
    Sqlite {
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// A file or directory could not be used.
    #[error("{} could not be {doing}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A stored row is not what the journal writes.
    #[error(
        "the journal of {session} is damaged at {place}: {why}. Nothing was changed. Check all of it with `guildhall verify {session}`"
    )]
    Corrupt {
        /// Whose.
        session: SessionId,
        /// Which row.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such session.
    #[error("there is no session {session}: list yours with `guildhall ls`")]
    UnknownSession {
        /// What was named.
        session: SessionId,
    },
    /// There is such a session already.
    #[error("session {session} already exists: choose another id, or run `guildhall resume {session}` to continue it")]
    SessionExists {
        /// What was named.
        session: SessionId,
    },
    /// Another process runs the session.
    #[error(
        "session {session} is run by process {} for {} s already: wait until it has ended, say something to it with \
         `guildhall message {session} \"…\"`, or end it with `guildhall stop {session}`", holder.pid, held_ms / 1000
    )]
    Held {
        /// Which session.
        session: SessionId,
        /// Who runs it.
        holder: Holder,
        /// For how long.
        held_ms: u64,
    },
    /// Somebody took the session over, though this process had not let go of it.
    #[error("session {session} was taken over by process {}: this process stores nothing more in it", holder.pid)]
    LeaseLost {
        /// Which session.
        session: SessionId,
        /// Who runs it now.
        holder: Holder,
    },
    /// A text is not the one it was handed over as.
    #[error(
        "a text of {found_bytes} bytes with hash {found} was handed over as one of {named_bytes} with hash {named}: nothing was stored"
    )]
    TextMismatch {
        /// The hash it was to have.
        named: Hash,
        /// The length it was to have.
        named_bytes: u32,
        /// The hash it has.
        found: Hash,
        /// Its length.
        found_bytes: usize,
    },
    /// A fact names a text that is not stored.
    #[error("a fact names the text {hash}, which is not stored: pass the text with the fact. Nothing was stored")]
    TextMissing {
        /// Its hash.
        hash: Hash,
    },
    /// A stored text is not the one that was stored under its hash.
    #[error(
        "the text {hash} is damaged: its bytes do not match this hash. Run `guildhall verify` to see which sessions use this text"
    )]
    TextDamaged {
        /// The hash under which it was stored.
        hash: Hash,
    },
    /// A text is over [`TEXT_BYTES_MAX`].
    #[error("a text of {bytes} bytes is too long to store: cut it to {TEXT_BYTES_MAX}")]
    TextTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A command is over [`COMMAND_BYTES_MAX`].
    #[error("the command is too long ({bytes} bytes): shorten it to at most {COMMAND_BYTES_MAX} bytes")]
    CommandTooLong {
        /// Its length.
        bytes: usize,
    },
    /// Something can't be written as JSON.
    #[error("this can't be stored as JSON: {why}")]
    NotJson {
        /// Why.
        why: String,
    },
}

impl JournalError {
    /// Returns whether the writer must stop on it: the world failed, as opposed to a request that was refused.
    pub(crate) fn stops(&self) -> bool {
        match self {
            JournalError::DiskFull { .. }
            | JournalError::Unwritable { .. }
            | JournalError::NotDurable { .. }
            | JournalError::Stopped { .. }
            | JournalError::Damaged { .. }
            | JournalError::Sqlite { .. }
            | JournalError::Foreign { .. }
            | JournalError::Newer { .. }
            | JournalError::UnsafeSqlite { .. } => true,
            JournalError::Busy
            | JournalError::InUse { .. }
            | JournalError::ReadOnly { .. }
            | JournalError::LogMissing { .. }
            | JournalError::TextDamaged { .. }
            | JournalError::File { .. }
            | JournalError::Corrupt { .. }
            | JournalError::UnknownSession { .. }
            | JournalError::SessionExists { .. }
            | JournalError::Held { .. }
            | JournalError::LeaseLost { .. }
            | JournalError::TextMismatch { .. }
            | JournalError::TextMissing { .. }
            | JournalError::TextTooLong { .. }
            | JournalError::CommandTooLong { .. }
            | JournalError::NotJson { .. } => false,
        }
    }

    /// Names the database that is damaged.
    pub(crate) fn within(self, database: &Path) -> JournalError {
        if let JournalError::Damaged { source, .. } = self {
            JournalError::Damaged { file: database.to_owned(), source }
        } else {
            self
        }
    }

    /// Tells a disk that takes no more from other errors of a file that belongs to the journal itself.
    pub(crate) fn own_file(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> JournalError {
        let other = JournalError::file(path, doing);
        move |error| {
            let full = error.kind() == io::ErrorKind::StorageFull;
            let limited = matches!(error.kind(), io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge);
            let source = |code| Arc::new(rusqlite::Error::SqliteFailure(Error::new(code), Some(error.to_string())));
            match (full, limited) {
                (true, _) => JournalError::DiskFull { source: source(SQLITE_FULL) },
                (false, true) => JournalError::Unwritable { source: source(SQLITE_IOERR_WRITE) },
                (false, false) => other(error),
            }
        }
    }

    pub(crate) fn file(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> JournalError {
        let path = path.to_owned();
        move |source| JournalError::File { path, doing, source: Arc::new(source) }
    }
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> JournalError {
        let file = PathBuf::from(super::DATABASE);
        let code = error.sqlite_error_code();
        let growth = [SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE];
        let refused = error.sqlite_error().is_some_and(|why| growth.contains(&why.extended_code));
        let source = Arc::new(error);
        match code {
            Some(_) if refused => JournalError::Unwritable { source },
            Some(ErrorCode::DiskFull) => JournalError::DiskFull { source },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => JournalError::Damaged { file, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => JournalError::Busy,
            _ => JournalError::Sqlite { source },
        }
    }
}
