//! Records which calls are waiting for a permit. A process that resumes the session then knows that these calls were
//! not sent and can't have cost anything. If a crash loses such a record, the call is treated as possibly sent, which
//! is safe.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, AskKey, Path, SessionId};
use rusqlite::Connection;

use crate::journal::known::Change;
use crate::journal::{Journal, JournalError, heads, require_session};
use crate::lease::Lease;

const WAITS: &str = "INSERT INTO in_line (session, contract, ask) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";

impl Journal {
    /// Records that a call is waiting for a permit. Returns when the record is queued, because nothing depends on it.
    pub(crate) async fn record_waiting_call(&self, lease: &Lease, call: &AskKey) {
        if let Ok(writer) = self.writer() {
            drop(writer.queue(0, change(lease, call, WAITS), |()| {}).await);
        }
    }

    /// Records that calls were not sent, and returns when the records are durable.
    pub(crate) async fn record_unsent(
        &self,
        lease: &Lease,
        calls: impl IntoIterator<Item = AskKey>,
    ) -> Result<(), JournalError> {
        let mut queued = Vec::new();
        for call in calls {
            queued.push(self.writer()?.queue(0, change(lease, &call, WAITS), |()| {}).await);
        }
        for queued in queued {
            queued.durable().await?;
        }
        Ok(())
    }

    /// Records that a call is about to be sent. The caller may send the call when this function has returned.
    pub(crate) async fn record_sending(&self, lease: &Lease, call: &AskKey) -> Result<(), JournalError> {
        let sql = "DELETE FROM in_line WHERE session = ?1 AND contract = ?2 AND ask = ?3";
        self.writer()?.run(0, change(lease, call, sql), |()| {}).await
    }

    /// Returns the calls of a contract that were waiting for a permit when the last process stopped.
    pub(crate) async fn in_line(&self, session: &SessionId, contract: &Path) -> Result<BTreeSet<AskId>, JournalError> {
        let (session, contract) = (session.clone(), contract.to_string());
        let work = move |db: &Connection| {
            require_session(db, &session)?;
            let mut find = db.prepare_cached("SELECT ask FROM in_line WHERE session = ?1 AND contract = ?2")?;
            let asks = find.query_map((session.as_str(), contract), |row| row.get(0).map(AskId))?;
            Ok(asks.collect::<Result<_, _>>()?)
        };
        self.readers().read(work).await
    }
}

/// Adds or deletes a row and updates the session's head. Adding an existing row or deleting a missing one changes
/// nothing.
fn change(
    lease: &Lease,
    call: &AskKey,
    sql: &'static str,
) -> impl FnOnce(&mut Change<'_>) -> Result<(), JournalError> + Send + 'static {
    let (token, contract, ask) = (lease.token(), call.contract.to_string(), call.ask.0);
    move |change| {
        change.check_lease(&token)?;
        change.require_head(&token.session)?;
        let changed = change.db.prepare_cached(sql)?.execute((token.session.as_str(), &contract, ask))?;
        if changed > 0 {
            let head = change.head(&token.session)?;
            let row = heads::in_line(&token.session, contract.as_bytes(), i64::from(ask));
            head.in_line = heads::xor(head.in_line, row);
        }
        Ok(())
    }
}
