//! The lease: one process runs a session at a time. An operating system's lock on a file decides, since it ends with the
//! process however that ends; a row in the journal says who holds it, and its epoch keeps out a process that lost the file.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::process;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::clock::{UnixMs, boot_id};
use crate::id::SessionId;
use crate::journal::heads::{self, Change};
use crate::journal::{Broken, Fault, Journal, JournalError, known, schema, verify};

/// How often, and after which pauses, a lock is tried that somebody may be looking at.
const LOOKS_MAX: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// Who runs a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Which boot of the machine it belongs to.
    pub boot: String,
    /// Since when.
    pub since: UnixMs,
    /// How many have run the session up to this one.
    pub epoch: u64,
}

/// The right to add facts to a session. The right ends when the lease is dropped or the process exits.
#[derive(Debug)]
pub struct Lease {
    token: Token,
    holder: Holder,
    // Held open, not used: closing it gives the session free.
    _lock: File,
}

/// What the writer checks a job by.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) session: SessionId,
    epoch: u64,
}

impl Lease {
    /// Returns the session.
    pub fn session(&self) -> &SessionId {
        &self.token.session
    }

    /// Returns who holds it: this process.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    pub(crate) fn token(&self) -> Token {
        self.token.clone()
    }
}

impl Journal {
    /// Takes a session for this process, or says who has it. A session of which anything is not what was stored can't be
    /// taken: nobody builds on it.
    pub async fn lease(&self, session: &SessionId, now: UnixMs) -> Result<Lease, JournalError> {
        let writer = self.writer()?;
        let id = session.clone();
        self.readers().read(move |db| known(db, &id)).await?;
        let dir = self.dir().join("sessions").join(session.as_str());
        schema::make_dir(&dir)?;
        let file = dir.join("lock");
        let lock = schema::private().append(true).open(&file).map_err(JournalError::file(&file, "opened"))?;
        // Somebody who only looks whether it is held holds it for a moment.
        for left in (0..LOOKS_MAX).rev() {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if left > 0 => tokio::time::sleep(LOOK).await,
                Err(TryLockError::WouldBlock) => return Err(self.held(session, now).await),
                Err(TryLockError::Error(error)) => return Err(JournalError::file(&file, "locked")(error)),
            }
        }
        let id = session.clone();
        self.readers().read(move |db| check_whole(db, &id)).await?;
        let (id, pid, boot) = (session.clone(), process::id(), boot_id());
        let work = move |change: &mut Change<'_>| {
            let mut take = change.db.prepare_cached(
                "INSERT INTO lease (session, epoch, pid, boot, since) VALUES (?1, 1, ?2, ?3, ?4)
                 ON CONFLICT (session) DO UPDATE SET epoch = epoch + 1, pid = ?2, boot = ?3, since = ?4
                 RETURNING epoch",
            )?;
            let row = (id.as_str(), pid, &boot, now.0.cast_signed());
            let epoch = take.query_row(row, |row| row.get::<_, i64>(0))?.cast_unsigned();
            let holder = Holder { pid, boot, since: now, epoch };
            change.head(&id)?.lease = heads::lease(&id, &holder);
            Ok(holder)
        };
        let holder = writer.run(0, work, |_| {}).await?;
        if let Some(transcripts) = self.bell() {
            transcripts.ring(session.clone());
        }
        Ok(Lease { token: Token { session: session.clone(), epoch: holder.epoch }, holder, _lock: lock })
    }

    /// Returns who took the session last, whether they run it still or not.
    pub async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| holder(db, &session)).await
    }

    /// Returns who runs the session at this moment, if anybody does.
    pub async fn running(&self, session: &SessionId) -> Result<Option<Holder>, JournalError> {
        let file = self.dir().join("sessions").join(session.as_str()).join("lock");
        let lock = match File::open(&file) {
            Ok(lock) => lock,
            // Nobody has run it yet.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(JournalError::file(&file, "opened")(error)),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => self.holder(session).await,
            Err(TryLockError::Error(error)) => Err(JournalError::file(&file, "locked")(error)),
        }
    }

    /// Makes sure that nobody runs the session at this moment, or says who does.
    pub async fn at_rest(&self, session: &SessionId, now: UnixMs) -> Result<(), JournalError> {
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
            // It has the lock, and has not said so yet.
            Ok(None) => JournalError::Busy,
            Err(error) => error,
        }
    }
}

/// Refuses a session of which anything is not what was stored.
fn check_whole(db: &Connection, session: &SessionId) -> Result<(), JournalError> {
    verify::whole(db, session, &mut |_| Ok(())).map(|_| ()).map_err(|fault| fault.of(session))
}

/// Returns who took a session last, as its row says.
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

/// Refuses whoever has lost the session.
pub(crate) fn check(db: &Connection, token: &Token) -> Result<(), JournalError> {
    let session = token.session.clone();
    match holder(db, &session)? {
        Some(holder) if holder.epoch == token.epoch => Ok(()),
        Some(holder) => Err(JournalError::LeaseLost { session, holder }),
        None => Err(JournalError::UnknownSession { session }),
    }
}
