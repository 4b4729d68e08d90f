//! The inbox: commands for a session that any process can leave. They stay there until the process that runs the session has
//! executed them. If no process runs the session, they wait until it is resumed.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde_json::Value;

use crate::journal::heads::{self, SessionHead};
use crate::journal::known::Change;
use crate::journal::walk::{self, RawCommand};
use crate::journal::{Journal, JournalError, require_session};
use crate::lease::Lease;
use guildhall_kernel::{SessionId, UnixMs};

/// The longest command, in bytes.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// A command that has not been executed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command's number in the session's inbox, counted from 1.
    pub number: u64,
    /// When the command was added.
    pub at: UnixMs,
    /// The command. The journal does not interpret it.
    pub command: Value,
}

impl Journal {
    /// Adds a command for the process that runs the session, now or after the next resume. Returns the command's number.
    pub async fn put(&self, session: &SessionId, command: &impl Serialize, now: UnixMs) -> Result<u64, JournalError> {
        let command = serde_json::to_string(command).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
        if command.len() > COMMAND_BYTES_MAX {
            return Err(JournalError::CommandTooLong { bytes: command.len() });
        }
        let (session, bytes) = (session.clone(), command.len());
        let (announcer, of) = (self.followers().announcer(), session.clone());
        let work = move |change: &mut Change<'_>| {
            require_session(change.db, &session)?;
            let mut insert =
                change.db.prepare_cached("INSERT INTO inbox (session, number, command, at) VALUES (?1, ?2, ?3, ?4)")?;
            let head = change.head(&session)?;
            head.commands += 1;
            let (number, at) = (head.commands.cast_signed(), now.0.cast_signed());
            head.commands_open =
                heads::xor(head.commands_open, heads::command(&session, number, at, command.as_bytes()));
            let number = head.commands;
            insert.execute((session.as_str(), number.cast_signed(), command, at))?;
            Ok(number)
        };
        self.writer()?.run(bytes, work, move |number| announcer.command(&of, *number)).await
    }

    /// Returns the commands with a higher number than this that have not been executed.
    pub async fn take_after(&self, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| require_session(db, &session).and_then(|()| waiting(db, &session, number))).await
    }

    /// Waits until there are commands with a higher number than this, from any process, and returns them.
    pub async fn wait_after(&self, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
        let following = self.followers().add(session);
        self.followers().start_checks(self.readers())?;
        let mut newest = following.commands();
        loop {
            // Marked as seen before the read: a command that is added during the read then ends the wait immediately.
            newest.mark_unchanged();
            let commands = self.take_after(session, number).await?;
            if !commands.is_empty() {
                return Ok(commands);
            }
            newest.changed().await.expect("the sender is dropped after all who wait");
        }
    }

    /// Marks a command as executed if no fact follows from it. If facts follow from it, mark it in their batch.
    pub async fn mark_done(&self, lease: &Lease, number: u64) -> Result<(), JournalError> {
        let token = lease.token();
        let work = move |change: &mut Change<'_>| {
            change.check_lease(&token)?;
            change.require_head(&token.session)?;
            mark(change, &token.session, Some(number))
        };
        self.writer()?.run(0, work, |()| {}).await
    }
}

/// Marks a command as executed, if a number is given.
pub(crate) fn mark(change: &mut Change<'_>, session: &SessionId, number: Option<u64>) -> Result<(), JournalError> {
    let Some(number) = number.map(u64::cast_signed) else { return Ok(()) };
    let sql = "UPDATE inbox SET done = 1 WHERE session = ?1 AND number = ?2 AND done = 0 RETURNING at, command";
    let mut mark = change.db.prepare_cached(sql)?;
    let marked = mark.query_row((session.as_str(), number), |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    if let Some((at, command)) = marked.optional()? {
        let head = change.head(session)?;
        let row = heads::command(session, number, at, command.as_bytes());
        head.commands_open = heads::xor(head.commands_open, row);
    }
    Ok(())
}

fn waiting(db: &Connection, session: &SessionId, number: u64) -> Result<Vec<Command>, JournalError> {
    let open = SessionHead::read(db, session).and_then(|head| walk::open_commands(db, session, &head));
    let mut commands = Vec::new();
    for RawCommand { number: this, at, command } in open.map_err(|fault| fault.of(session))? {
        let this = this.cast_unsigned();
        if this <= number {
            continue;
        }
        let command = serde_json::from_slice(&command).map_err(|why| JournalError::Corrupt {
            session: session.clone(),
            place: format!("command {this} of the inbox"),
            why: why.to_string(),
        })?;
        commands.push(Command { number: this, at: UnixMs(at.cast_unsigned()), command });
    }
    Ok(commands)
}
