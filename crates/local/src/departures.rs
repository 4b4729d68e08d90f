//! Which calls stand in line for a permit, so that a process that takes the session up knows them not to have left: they
//! can't have cost anything. A mark that a crash takes does no harm, since without one a call may have left.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, AskKey, Path};
use rusqlite::Connection;

use crate::id::SessionId;
use crate::journal::heads::{self, Change};
use crate::journal::{Journal, JournalError, known};
use crate::lease::{self, Lease};

impl Journal {
    /// Notes that a call stands in line. Returns as soon as the note has its place, since nothing depends on it.
    pub(crate) async fn note_in_line(&self, lease: &Lease, call: &AskKey) {
        let sql = "INSERT INTO in_line (session, contract, ask) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        if let Ok(writer) = self.writer() {
            drop(writer.queue(0, change(lease, call, sql), |()| {}).await);
        }
    }

    /// Notes that a call leaves. It may do so once this has returned.
    pub(crate) async fn note_leaving(&self, lease: &Lease, call: &AskKey) -> Result<(), JournalError> {
        let sql = "DELETE FROM in_line WHERE session = ?1 AND contract = ?2 AND ask = ?3";
        self.writer()?.run(0, change(lease, call, sql), |()| {}).await
    }

    /// Returns a contract's calls that were in line when it was left.
    pub(crate) async fn in_line(&self, session: &SessionId, contract: &Path) -> Result<BTreeSet<AskId>, JournalError> {
        let (session, contract) = (session.clone(), contract.to_string());
        let work = move |db: &Connection| {
            known(db, &session)?;
            let mut find = db.prepare_cached("SELECT ask FROM in_line WHERE session = ?1 AND contract = ?2")?;
            let asks = find.query_map((session.as_str(), contract), |row| row.get(0).map(AskId))?;
            Ok(asks.collect::<Result<_, _>>()?)
        };
        self.readers().read(work).await
    }
}

/// Adds a row or deletes it, and the head with it: what was not there, or was there already, changes nothing.
fn change(
    lease: &Lease,
    call: &AskKey,
    sql: &'static str,
) -> impl FnOnce(&mut Change<'_>) -> Result<(), JournalError> + Send + 'static {
    let (token, contract, ask) = (lease.token(), call.contract.to_string(), call.ask.0);
    move |change| {
        lease::check(change.db, &token)?;
        let changed = change.db.prepare_cached(sql)?.execute((token.session.as_str(), &contract, ask))?;
        if changed > 0 {
            let head = change.head(&token.session)?;
            let row = heads::in_line(&token.session, contract.as_bytes(), i64::from(ask));
            head.in_line = heads::xor(head.in_line, row);
        }
        Ok(())
    }
}
