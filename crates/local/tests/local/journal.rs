//! Tests of the journal's promises. Each test uses a real database in its own directory.

mod append;
mod crash;
mod damage;
mod follow;
mod formats;
mod inbox;
mod lease;
mod log;
mod read_only;
mod served;
mod subscribe;
mod treasury;

use std::path::Path as FilePath;

use guildhall_kernel::{Cause, Fact, Millis, Path, Sender, Stimulus, TextKind, TextRef};
use guildhall_local::{Batch, Journal, Lease, NewSession, SessionId, UnixMs, hash_text};
use rusqlite::Connection;

/// The session that most tests write to.
fn id() -> SessionId {
    "quiet-heron".parse().unwrap()
}

fn new(id: SessionId) -> NewSession {
    NewSession { id, created_at: UnixMs(1_000), project: "/home/ada/ship".into(), label: "Fix the build".into() }
}

/// Creates a journal with one session and takes its lease.
async fn begin(dir: &FilePath) -> (Journal, Lease) {
    let journal = Journal::open(dir).unwrap();
    journal.create(new(id())).await.unwrap();
    let lease = journal.lease(&id(), UnixMs(2_000)).await.unwrap();
    (journal, lease)
}

/// Opens an existing journal and takes the lease of its session.
async fn resume(dir: &FilePath) -> (Journal, Lease) {
    let journal = Journal::open(dir).unwrap();
    let lease = journal.lease(&id(), UnixMs(3_000)).await.unwrap();
    (journal, lease)
}

/// A fact that is identified by a number.
fn fact(n: u32) -> Fact {
    Fact::Compacted { upto: n, bytes: 7 }
}

fn batch(contract: &Path, facts: Vec<Fact>) -> Batch {
    Batch {
        contract: contract.clone(),
        at: Millis(5),
        cause: Cause::Tick,
        facts,
        texts: vec![],
        done: None,
        account: vec![],
        treasury: None,
    }
}

/// A text with its reference, as it is passed to the journal.
fn text(words: &str) -> (TextRef, Vec<u8>) {
    let bytes = u32::try_from(words.len()).unwrap();
    (TextRef { hash: hash_text(words.as_bytes()), bytes, kind: TextKind::Message }, words.into())
}

/// A fact that names a text.
fn heard(words: &str) -> Fact {
    Fact::Heard { from: Sender::Owner { command: 1 }, stimulus: Stimulus::Message(text(words).0) }
}

/// Opens the database directly, as other tools would.
fn raw(dir: &FilePath) -> Connection {
    Connection::open(dir.join("journal.db")).unwrap()
}

/// Runs SQL that the triggers forbid, and restores the triggers.
fn tamper(dir: &FilePath, sql: &str) {
    let db = raw(dir);
    let mut triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let triggers = triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let triggers: Vec<(String, String)> = triggers.map(Result::unwrap).collect();
    assert_eq!(triggers.len(), 7);
    let run = |sql: &str| db.execute_batch(sql).unwrap();
    run("PRAGMA foreign_keys = OFF; BEGIN");
    for (name, _) in &triggers {
        run(&format!("DROP TRIGGER {name}"));
    }
    run(sql);
    for (_, sql) in &triggers {
        run(sql);
    }
    run("COMMIT");
}
