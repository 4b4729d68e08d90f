//! The lease: only one process at a time runs a session. A file lock of the operating system decides which one, because the
//! system releases the lock whenever the process ends. A row in the journal says which process holds the lease. The epoch in
//! that row refuses writes from a process that lost the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::clock::boot_id;
use crate::journal::known::Change;
use crate::journal::{Broken, Fault, Journal, JournalError, heads, require_session, schema, verify};
use crate::private::{open_lock, open_regular};
use guildhall_kernel::{SessionId, UnixMs};

/// How often a lock is tried, and the pause between tries. Another process may hold it for a moment to check it, and so may a
/// process that the program is just starting: until it runs its own program, it has copies of the open files.
const TRIES_MAX: u32 = 30;
const TRY_PAUSE: Duration = Duration::from_millis(10);

/// The process that runs a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The boot of the machine that the process belongs to.
    pub boot: String,
    /// When the process took the lease.
    pub since: UnixMs,
    /// How often the session's lease has been taken, this time included.
    pub epoch: u64,
}

/// The right to add facts to a session. The right ends when the lease is dropped or the process exits.
#[derive(Debug)]
pub struct Lease {
    token: Token,
    holder: Holder,
    // Only held open: closing the file releases the session.
    _lock: File,
}

/// The part of a lease that the writer checks for each job.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
}

impl Lease {
    /// Returns the session.
    pub fn session(&self) -> &SessionId {
        &self.token.session
    }

    /// Returns the holder: this process.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    pub(crate) fn token(&self) -> Token {
        self.token.clone()
    }
}

impl Journal {
    /// Takes the lease of a session for this process. If another process holds it, the error says which. A damaged session
    /// can't be leased, so that no new facts are added to it.
    pub async fn lease(&self, session: &SessionId, now: UnixMs) -> Result<Lease, JournalError> {
        let writer = self.writer()?;
        let id = session.clone();
        self.readers().read(move |db| require_session(db, &id)).await?;
        let dir = self.dir().join("sessions").join(session.as_str());
        schema::make_dir(&dir)?;
        let file = dir.join("lock");
        let lock = open_lock(&file).map_err(JournalError::file(&file, "opened"))?;
        if !self::lock(&lock).await.map_err(JournalError::file(&file, "locked"))? {
            return Err(self.held(session, now).await);
        }
        let id = session.clone();
        self.readers().read(move |db| check_session(db, &id)).await?;
        let (id, pid, boot) = (session.clone(), process::id(), boot_id());
        let work = move |change: &mut Change<'_>| {
            change.require_head(&id)?;
            let mut take = change.db.prepare_cached(
                "INSERT INTO lease (session, epoch, pid, boot, since) VALUES (?1, 1, ?2, ?3, ?4)
                 ON CONFLICT (session) DO UPDATE SET epoch = epoch + 1, pid = ?2, boot = ?3, since = ?4
                 RETURNING epoch",
            )?;
            let row = (id.as_str(), pid, &boot, now.0.cast_signed());
            let epoch = take.query_row(row, |row| row.get::<_, i64>(0))?.cast_unsigned();
            let holder = Holder { pid, boot, since: now, epoch };
            change.head(&id)?.lease = heads::lease(&id, &holder);
            change.know_lease(id, epoch);
            Ok(holder)
        };
        let holder = writer.run(0, work, |_| {}).await?;
        Ok(Lease { token: Token { session: session.clone(), epoch: holder.epoch }, holder, _lock: lock })
    }

    /// Returns the process that last took the lease, whether it is still running or not.
    pub async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| holder(db, &session)).await
    }

    /// Returns the process that runs the session now, if there is one.
    pub async fn running(&self, session: &SessionId) -> Result<Option<Holder>, JournalError> {
        let file = self.dir().join("sessions").join(session.as_str()).join("lock");
        if is_locked(&file)? { self.holder(session).await } else { Ok(None) }
    }

    /// Returns an error if a process is running the session.
    pub async fn require_not_running(&self, session: &SessionId, now: UnixMs) -> Result<(), JournalError> {
        match self.running(session).await? {
            None => Ok(()),
            Some(_) => Err(self.held(session, now).await),
        }
    }

    async fn held(&self, session: &SessionId, now: UnixMs) -> JournalError {
        match self.holder(session).await {
            Ok(Some(holder)) => {
                let held_ms = now.0.saturating_sub(holder.since.0);
                JournalError::Held { session: session.clone(), holder, held_ms }
            }
            // The process holds the lock but has not written its row yet.
            Ok(None) => JournalError::Busy,
            Err(error) => error,
        }
    }
}

/// Whether a process has locked a file.
pub(crate) fn is_locked(file: &Path) -> Result<bool, JournalError> {
    let lock = match open_regular(file, OpenOptions::new().read(true)) {
        Ok(lock) => lock,
        // No process has ever locked it.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(JournalError::file(file, "opened")(error)),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(JournalError::file(file, "locked")(error)),
    }
}

/// Tries to lock a file, and returns whether this process has the lock. A process that only checks the lock holds it for a moment.
pub(crate) async fn lock(file: &File) -> io::Result<bool> {
    for left in (0..TRIES_MAX).rev() {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if left > 0 => tokio::time::sleep(TRY_PAUSE).await,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Returns an error if anything in the session differs from what was stored.
fn check_session(db: &Connection, session: &SessionId) -> Result<(), JournalError> {
    verify::check_session(db, session, &mut |_| Ok(())).map(|_| ()).map_err(|fault| fault.of(session))
}

/// Returns the process that last took the lease, from the lease's row.
pub(crate) fn holder(db: &Connection, session: &SessionId) -> Result<Option<Holder>, JournalError> {
    let mut find = db.prepare_cached("SELECT pid, boot, since, epoch FROM lease WHERE session = ?1")?;
    let read = |row: &rusqlite::Row<'_>| {
        let read = || {
            let (since, epoch) =
                (row.get::<_, i64>(2).ok()?.cast_unsigned(), row.get::<_, i64>(3).ok()?.cast_unsigned());
            Some(Holder { pid: row.get(0).ok()?, boot: row.get(1).ok()?, since: UnixMs(since), epoch })
        };
        Ok(read())
    };
    match find.query_row([session.as_str()], read).optional()? {
        None => Ok(None),
        Some(Some(holder)) => Ok(Some(holder)),
        Some(None) => Err(Fault::Broken(Broken::Lease).of(session)),
    }
}

/// Returns an error if the lease was lost to another process.
pub(crate) fn check(db: &Connection, token: &Token) -> Result<(), JournalError> {
    let session = token.session.clone();
    match holder(db, &session)? {
        Some(holder) if holder.epoch == token.epoch => Ok(()),
        Some(holder) => Err(JournalError::LeaseLost { session, holder }),
        None => Err(JournalError::UnknownSession { session }),
    }
}
