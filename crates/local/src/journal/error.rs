//! The errors of the journal. Their messages are for people: what happened, which data is safe, what to do next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{Hash, Msat, SessionError, SessionId, TreasuryError};
use rusqlite::ErrorCode;
use rusqlite::ffi::{Error, SQLITE_FULL, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE};

use super::{Cursor, ServedError, TEXT_BYTES_MAX};
use crate::inbox::COMMAND_BYTES_MAX;
use crate::lease::Holder;

/// What has a numbered form in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalForm {
    /// The tables of the database.
    Tables,
    /// The facts of contracts.
    Facts,
    /// The facts of sessions' accounts.
    Account,
    /// The facts of the treasury.
    Treasury,
}

/// Shown before the number.
impl fmt::Display for JournalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JournalForm::Tables => "journal format",
            JournalForm::Facts => "facts of form",
            JournalForm::Account => "facts of accounts of form",
            JournalForm::Treasury => "facts of the treasury of form",
        })
    }
}

/// An error of the journal. Unless its message says otherwise, the failed request stored nothing, and everything acknowledged
/// before is stored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk is full, or the journal reached its limit.
    #[error(
        "the disk is full: the last data was not stored. Everything acknowledged before is kept. Free some space, then run the \
         command again; to continue an interrupted session, run `guildhall resume`"
    )]
    DiskFull {
        /// The error that SQLite returned.
        source: Arc<rusqlite::Error>,
    },
    /// The system refused a write, though the disk is not full.
    #[error(
        "the system refuses to write the journal ({source}); a quota or a limit on file sizes may be reached. The last data was \
         not stored. Everything acknowledged before is kept. Raise the limit, then run the command again; to continue an \
         interrupted session, run `guildhall resume`"
    )]
    Unwritable {
        /// The error that SQLite returned.
        source: Arc<rusqlite::Error>,
    },
    /// The system could not make facts durable. The write is not tried again: after a failed sync, the state of the disk is
    /// unknown.
    #[error(
        "the journal could not be made durable ({source}). Everything acknowledged before is kept; the last facts may or may not \
         be stored. Check the disk, then list your sessions with `guildhall ls`; to continue an interrupted session, run \
         `guildhall resume`"
    )]
    NotDurable {
        /// The error that SQLite returned.
        source: Arc<rusqlite::Error>,
    },
    /// The writer stopped at an earlier error and stores nothing more.
    #[error("the journal stores nothing more in this process because of an earlier error: {why}")]
    Stopped {
        /// The error that stopped the writer.
        why: Box<JournalError>,
    },
    /// The database is damaged, or the file is not a database.
    #[error(
        "the journal in {0} is damaged ({source}). Nothing was changed. Copy the directory before you try anything. Then restore a \
         backup, recover rows with `sqlite3 {0} .recover`, or start in another directory with GUILDHALL_HOME", file.display()
    )]
    Damaged {
        /// The database file.
        file: PathBuf,
        /// The error that SQLite returned.
        source: Arc<rusqlite::Error>,
    },
    /// The file is a database, but not a journal of Guildhall.
    #[error("{} is a database of another program. Nothing was changed. Choose another directory with GUILDHALL_HOME", file.display())]
    Foreign {
        /// The database file.
        file: PathBuf,
    },
    /// Another version of Guildhall wrote the journal.
    #[error(
        "{} has {form} {found}, but this guildhall reads only {form} {wanted}. Nothing was changed. Use the guildhall that wrote this \
         journal, or choose another directory with GUILDHALL_HOME", file.display()
    )]
    OtherForm {
        /// The database file.
        file: PathBuf,
        /// What has another form.
        form: JournalForm,
        /// The number of the form that the journal has.
        found: i64,
        /// The number of the form that this program reads.
        wanted: i64,
    },
    /// The journal's directory, or a file in it, can't be written.
    #[error(
        "{} can't be written ({source}): nothing was stored. Sessions in this directory can be listed, shown and verified. To run \
         sessions, make it writable, or choose another directory with GUILDHALL_HOME", path.display()
    )]
    ReadOnly {
        /// The path that can't be written.
        path: PathBuf,
        /// The error that the system returned.
        source: Arc<io::Error>,
    },
    /// The newest commits were only in the write-ahead log, and the log is gone.
    #[error(
        "the last {} commits of the journal are gone: they were in {}-wal, and this file was deleted, cut or replaced, or the home \
         was copied while in use. Nothing was changed, and nothing can be stored. Put the file back. Or, if you put an older copy of \
         the journal there on purpose, delete {} to continue without these commits",
        recorded.saturating_sub(*found), file.display(), marker.display()
    )]
    LogMissing {
        /// The database.
        file: PathBuf,
        /// The file that records how many commits there were.
        marker: PathBuf,
        /// How many commits the marker records.
        recorded: u64,
        /// How many commits the database has.
        found: u64,
    },
    /// The linked SQLite has a bug that can lose facts.
    #[error("this guildhall was built with SQLite {linked}, which can lose facts: build it with 3.51.3 or later")]
    UnsafeSqlite {
        /// The linked version.
        linked: String,
    },
    /// Another process used the database for too long.
    #[error(
        "another process is using the journal: nothing was stored. Try again; run `guildhall ls` to see which sessions are running"
    )]
    Busy,
    /// Another error of SQLite.
    #[error("the journal could not be used: {source}")]
    Sqlite {
        /// The error that SQLite returned.
        source: Arc<rusqlite::Error>,
    },
    /// A file or directory could not be used.
    #[error("{} could not be {doing}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the journal tried to do with it, as a participle: "opened", "written".
        doing: &'static str,
        /// The error that the system returned.
        source: Arc<io::Error>,
    },
    /// A stored row differs from what the journal wrote.
    #[error(
        "the journal of {session} is damaged at {place}: {why}. Nothing was changed. Check all of it with `guildhall verify {session}`"
    )]
    Corrupt {
        /// The damaged session.
        session: SessionId,
        /// The damaged row.
        place: String,
        /// What is wrong with the row.
        why: String,
    },
    /// The session does not exist.
    #[error("there is no session {session}: list your sessions with `guildhall ls`")]
    UnknownSession {
        /// The id that was given.
        session: SessionId,
    },
    /// A session with this id already exists.
    #[error("session {session} already exists: choose another id, or run `guildhall resume {session}` to continue it")]
    SessionExists {
        /// The id that was given.
        session: SessionId,
    },
    /// Another process runs the session.
    #[error(
        "session {session} has been running in process {} for {} s: wait until it ends, send it a message with \
         `guildhall message {session} \"…\"`, or stop it with `guildhall stop {session}`", holder.pid, held_ms / 1000
    )]
    Held {
        /// The session.
        session: SessionId,
        /// The process that runs the session.
        holder: Holder,
        /// For how long that process has held the lease.
        held_ms: u64,
    },
    /// Another process took the session over while this process was still running it.
    #[error("session {session} was taken over by process {}: this process stores nothing more in it", holder.pid)]
    LeaseLost {
        /// The session.
        session: SessionId,
        /// The process that runs the session now.
        holder: Holder,
    },
    /// A text does not match the reference that it was passed with.
    #[error(
        "a text of {found_bytes} bytes with hash {found} was passed as a text of {named_bytes} bytes with hash {named}: nothing was stored"
    )]
    TextMismatch {
        /// The hash in the reference.
        named: Hash,
        /// The length in the reference.
        named_bytes: u32,
        /// The hash of the text.
        found: Hash,
        /// The length of the text.
        found_bytes: usize,
    },
    /// A fact names a text that is not stored.
    #[error("a fact names the text {hash}, which is not stored: pass the text with the fact. Nothing was stored")]
    TextMissing {
        /// The text's hash.
        hash: Hash,
    },
    /// A stored text was changed after it was stored.
    #[error(
        "the text {hash} is damaged: its bytes do not match this hash. Run `guildhall verify` to see which sessions use this text"
    )]
    TextDamaged {
        /// The hash under which the text was stored.
        hash: Hash,
    },
    /// A text is longer than [`TEXT_BYTES_MAX`].
    #[error("a text of {bytes} bytes is too long to store: shorten it to at most {TEXT_BYTES_MAX} bytes")]
    TextTooLong {
        /// The text's length.
        bytes: usize,
    },
    /// A command is longer than [`COMMAND_BYTES_MAX`].
    #[error("the command is too long ({bytes} bytes): shorten it to at most {COMMAND_BYTES_MAX} bytes")]
    CommandTooLong {
        /// The command's length.
        bytes: usize,
    },
    /// A change of a served session was refused.
    #[error(transparent)]
    Served(#[from] ServedError),
    /// Facts of an account do not fit the account.
    #[error("session {session}: {source}. Nothing was stored")]
    Account {
        /// The session.
        session: SessionId,
        /// Why the facts do not fit.
        source: SessionError,
    },
    /// Facts of the treasury do not fit.
    #[error("{0}. Nothing was stored")]
    Treasury(#[from] TreasuryError),
    /// A session would have more money than the operator allows.
    #[error("session {session} would have {wanted}, but a session can have at most {most}. Nothing was stored")]
    SessionLimit {
        /// The session.
        session: SessionId,
        /// What it would have, with its invoices that can still be paid.
        wanted: Msat,
        /// The limit.
        most: Msat,
    },
    /// Another process asks the wallet.
    #[error("another process of this hall asks the wallet now: nothing was stored")]
    TreasuryNotLeased,
    /// The facts of the treasury are damaged.
    #[error(
        "the treasury of the journal is damaged: {why}. Nothing was changed. Check all of it with `guildhall verify`"
    )]
    TreasuryDamaged {
        /// What is wrong.
        why: String,
    },
    /// A session has no event with this id.
    #[error(
        "session {session} has no event {id}, so nothing can follow it. Nothing was changed. Read the events of the session from the \
         start, which is 0.0"
    )]
    UnknownEvent {
        /// The session.
        session: SessionId,
        /// The id.
        id: Cursor,
    },
    /// A value can't be written as JSON.
    #[error("a value can't be stored as JSON: {why}")]
    NotJson {
        /// What is wrong with the value.
        why: String,
    },
}

impl JournalError {
    /// Returns whether the writer must stop after this error: the system failed, as opposed to a request that was refused.
    pub(crate) fn stops_writer(&self) -> bool {
        match self {
            JournalError::DiskFull { .. }
            | JournalError::Unwritable { .. }
            | JournalError::NotDurable { .. }
            | JournalError::Stopped { .. }
            | JournalError::Damaged { .. }
            | JournalError::Sqlite { .. }
            | JournalError::Foreign { .. }
            | JournalError::OtherForm { .. }
            | JournalError::UnsafeSqlite { .. } => true,
            JournalError::Busy
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
            | JournalError::Account { .. }
            | JournalError::Treasury(_)
            | JournalError::SessionLimit { .. }
            | JournalError::Served(_)
            | JournalError::TreasuryNotLeased
            | JournalError::TreasuryDamaged { .. }
            | JournalError::UnknownEvent { .. }
            | JournalError::NotJson { .. } => false,
        }
    }

    /// Names the database in an error about its contents.
    pub(crate) fn in_database(self, database: &Path) -> JournalError {
        let file = database.to_owned();
        if let JournalError::Damaged { source, .. } = self {
            JournalError::Damaged { file, source }
        } else if let JournalError::OtherForm { form, found, wanted, .. } = self {
            JournalError::OtherForm { file, form, found, wanted }
        } else {
            self
        }
    }

    /// Converts an error of one of the journal's own files. A full disk and a quota get their own variants.
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
