//! The inbox: commands for a session from any process, kept until whoever runs the session has carried them out. Without
//! such a process they wait for the resume.

use std::time::Duration;

use rusqlite::Connection;
use serde::Serialize;
use serde_json::Value;

use crate::clock::UnixMs;
use crate::id::SessionId;
use crate::journal::{Journal, JournalError, known};
use crate::lease::{self, Lease};

/// The longest command, in bytes.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// How often the inbox is looked into.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A command that waits to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its number in the session's inbox, counted from 1.
    pub number: u64,
    /// When it was put there.
    pub at: UnixMs,
    /// What is to be done. The journal does not read it.
    pub command: Value,
}

impl Journal {
    /// Leaves a command for whoever runs the session, now or after the next resume, and returns its number.
    pub async fn put(&self, session: &SessionId, command: &impl Serialize, now: UnixMs) -> Result<u64, JournalError> {
        let command = serde_json::to_string(command).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
        if command.len() > COMMAND_BYTES_MAX {
            return Err(JournalError::CommandTooLong { bytes: command.len() });
        }
        let (session, bytes) = (session.clone(), command.len());
        let work = move |db: &Connection| {
            known(db, &session)?;
            let mut insert = db.prepare_cached(
                "INSERT INTO inbox (session, number, command, at)
                 VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM inbox WHERE session = ?1), ?2, ?3)
                 RETURNING number",
            )?;
            let row = (session.as_str(), command, now.0.cast_signed());
            Ok(insert.query_row(row, |row| row.get::<_, i64>(0))?.cast_unsigned())
        };
        self.writer().run(bytes, work, |_| {}).await
    }

    /// Returns the commands after this number that nobody has carried out.
    pub async fn take_after(&self, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| known(db, &session).and_then(|()| waiting(db, &session, number))).await
    }

    /// Waits until there are such commands, from whatever process, and returns them.
    pub async fn wait_after(&self, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
        loop {
            let commands = self.take_after(session, number).await?;
            if !commands.is_empty() {
                return Ok(commands);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Marks a command as carried out, where no fact follows from it. Where one does, mark it with that batch.
    pub async fn mark_done(&self, lease: &Lease, number: u64) -> Result<(), JournalError> {
        let token = lease.token();
        let work = move |db: &Connection| {
            lease::check(db, &token)?;
            mark(db, &token.session, Some(number))
        };
        self.writer().run(0, work, |()| {}).await
    }
}

/// Marks a command as carried out, if there is one to mark.
pub(crate) fn mark(db: &Connection, session: &SessionId, number: Option<u64>) -> Result<(), JournalError> {
    if let Some(number) = number {
        let mut mark = db.prepare_cached("UPDATE inbox SET done = 1 WHERE session = ?1 AND number = ?2")?;
        mark.execute((session.as_str(), number.cast_signed()))?;
    }
    Ok(())
}

fn waiting(db: &Connection, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
    let mut waiting = db.prepare_cached(
        "SELECT number, at, command FROM inbox WHERE session = ?1 AND number > ?2 AND done = 0 ORDER BY number",
    )?;
    let mut rows = waiting.query((session.as_str(), i64::try_from(number).unwrap_or(i64::MAX)))?;
    let mut commands = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, at) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned());
        let command = serde_json::from_str(&row.get::<_, String>(2)?).map_err(|why| JournalError::Corrupt {
            session: session.clone(),
            place: format!("command {number} of the inbox"),
            why: why.to_string(),
        })?;
        commands.push(Command { number, at: UnixMs(at), command });
    }
    Ok(commands)
}
