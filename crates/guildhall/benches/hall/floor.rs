//! Floors: lower bounds for the cost of the same work without any guarantees: the same rows in the same number of commits with the
//! same pragmas, and the same number of waiting tasks.

use std::path::Path as FilePath;
use std::time::{Duration, Instant};

use guildhall::local::Journal;
use rusqlite::{Connection, OpenFlags, params};
use tokio::task::JoinSet;

use crate::gauge::resident;

/// A fact as it is stored in the database.
struct FactRow {
    session: String,
    seq: i64,
    v: i64,
    contract: String,
    at: i64,
    cause: String,
    body: String,
    hash: Vec<u8>,
}

/// The stored rows of a run.
pub(crate) struct Rows {
    facts: Vec<FactRow>,
    texts: Vec<(Vec<u8>, Vec<u8>, String)>,
}

impl Rows {
    /// Reads all rows of a closed journal.
    pub(crate) fn read(dir: &FilePath) -> Rows {
        let db = Connection::open_with_flags(dir.join("journal.db"), OpenFlags::SQLITE_OPEN_READ_ONLY);
        let db = db.expect("the journal is there");
        let sql = "SELECT session, seq, v, contract, at, cause, body, hash FROM fact ORDER BY seq";
        let mut facts = db.prepare(sql).expect("facts have these columns");
        let facts = facts.query_map([], |row| {
            Ok(FactRow {
                session: row.get(0)?,
                seq: row.get(1)?,
                v: row.get(2)?,
                contract: row.get(3)?,
                at: row.get(4)?,
                cause: row.get(5)?,
                body: row.get(6)?,
                hash: row.get(7)?,
            })
        });
        let facts = facts.and_then(Iterator::collect).expect("facts can be read");
        let mut texts = db.prepare("SELECT hash, bytes, kind FROM text").expect("texts have these columns");
        let texts = texts.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        Rows { facts, texts: texts.and_then(Iterator::collect).expect("texts can be read") }
    }

    /// The size of all facts and texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let facts: usize = self.facts.iter().map(|fact| fact.body.len() + fact.cause.len()).sum();
        facts + self.texts.iter().map(|(_, bytes, _)| bytes.len()).sum::<usize>()
    }
}

/// A database like a journal's, without its journal.
pub(crate) struct Bare(Connection);

impl Bare {
    /// Creates a database in this directory, with the tables of a journal.
    pub(crate) async fn open(dir: &FilePath, rows: &Rows) -> Bare {
        Journal::open(dir).expect("a journal opens").close().await;
        let db = Connection::open(dir.join("journal.db")).expect("the journal is there");
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON; PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0;",
        )
        .expect("the pragmas are the journal's");
        let session = rows.facts.first().map_or("none", |fact| fact.session.as_str());
        let sql = "INSERT INTO session (id, created_at, project, label) VALUES (?1, 0, '', '')";
        db.execute(sql, [session]).expect("a session begins");
        Bare(db)
    }

    /// Stores these facts in this many commits. The texts are in the first commit.
    pub(crate) fn write(&mut self, rows: &Rows, facts: std::ops::Range<usize>, commits: u64) -> Duration {
        let facts = &rows.facts[facts];
        let texts = if facts.first().is_some_and(|fact| fact.seq == 1) { rows.texts.as_slice() } else { &[] };
        let commits = usize::try_from(commits).unwrap_or(usize::MAX).clamp(1, facts.len().max(1));
        let began = Instant::now();
        let (per_commit, texts_per_commit) = (facts.len().div_ceil(commits), texts.len().div_ceil(commits));
        let mut texts = texts.chunks(texts_per_commit.max(1));
        for facts in facts.chunks(per_commit.max(1)) {
            self.commit(facts, texts.next().unwrap_or_default());
        }
        began.elapsed()
    }

    fn commit(&mut self, facts: &[FactRow], texts: &[(Vec<u8>, Vec<u8>, String)]) {
        let tx = self.0.transaction().expect("there is no other writer");
        for (hash, bytes, kind) in texts {
            let sql = "INSERT INTO text (hash, bytes, kind) VALUES (?1, ?2, ?3)";
            let mut insert = tx.prepare_cached(sql).expect("texts have these columns");
            insert.execute(params![hash, bytes, kind]).expect("a text is stored");
        }
        for FactRow { session, seq, v, contract, at, cause, body, hash } in facts {
            let sql = "INSERT INTO fact (session, seq, v, contract, at, cause, body, hash)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            let mut insert = tx.prepare_cached(sql).expect("facts have these columns");
            insert.execute(params![session, seq, v, contract, at, cause, body, hash]).expect("a fact is stored");
        }
        tx.commit().expect("the commit succeeds");
    }
}

/// Starts this many tasks that wait. Returns the time for starting them, and the memory of each.
pub(crate) async fn tasks(count: usize) -> (Duration, Option<f64>) {
    let (before, began) = (resident(), Instant::now());
    let (here, mut all_here) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let here = here.clone();
        tasks.spawn(async move {
            here.send(()).expect("the receiver counts");
            std::future::pending::<()>().await;
        });
    }
    for _ in 0..count {
        all_here.recv().await.expect("every task starts");
    }
    let took = began.elapsed();
    #[allow(clippy::cast_precision_loss, reason = "a figure to read")]
    let each = before.zip(resident()).map(|(before, after)| (after - before).max(0.0) / count as f64);
    (took, each)
}
