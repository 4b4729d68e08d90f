//! Every format that was released opens for ever, a newer one is left alone, and a half-born one is begun anew.

use std::fs;
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::{Cause, Millis, Msat, Path, SessionFact};
use guildhall_local::{Batch, Journal, JournalError, SCHEMA, SessionBatch, UnixMs};
use tempfile::tempdir;

use crate::{batch, begin, fact, go_on, heard, id, raw, text};

/// What format 1 was written with. To write it anew, which is right only before a release:
/// `FIXTURE=write cargo test -p guildhall-local --test journal formats`.
fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1.db")
}

async fn fill(dir: &FilePath) -> (Journal, guildhall_local::Head) {
    let (journal, lease) = begin(dir).await;
    let opening = Batch {
        texts: vec![text("hello")],
        cause: Cause::Opening,
        ..batch(&Path::root(1), vec![heard("hello"), fact(1)])
    };
    journal.append(&lease, opening).await.unwrap();
    journal.append(&lease, batch(&Path::root(1).hire(2), vec![fact(2)])).await.unwrap();
    let funded = SessionFact::Funded { money: Msat::from_sat(7).unwrap(), root: None };
    let funding = SessionBatch { at: Millis(1), facts: vec![funded], texts: vec![], done: None };
    journal.append_session(&lease, funding).await.unwrap();
    journal.put(&id(), &"stop", UnixMs(9)).await.unwrap();
    let head = journal.head(&id()).await.unwrap();
    (journal, head)
}

#[tokio::test]
async fn format_1_opens() {
    let today = tempdir().unwrap();
    let (written, head) = fill(today.path()).await;
    let facts = written.facts(&id(), 1).await.unwrap();
    written.close().await;
    if std::env::var("FIXTURE").as_deref() == Ok("write") {
        fs::create_dir_all(fixture().parent().unwrap()).unwrap();
        // Nothing of the machine that wrote it.
        raw(today.path()).execute_batch("UPDATE lease SET pid = 7, boot = 'fixture'").unwrap();
        fs::copy(today.path().join("journal.db"), fixture()).unwrap();
    }

    let dir = tempdir().unwrap();
    fs::copy(fixture(), dir.path().join("journal.db")).unwrap();
    let (journal, lease) = go_on(dir.path()).await;
    assert_eq!(journal.facts(&id(), 1).await.unwrap(), facts);
    assert_eq!(journal.account(&id()).await.unwrap().len(), 1);
    assert_eq!(journal.take_after(&id(), 0).await.unwrap()[0].command, "stop");
    assert_eq!(lease.holder().epoch, 2);
    // The chain too is what it was: a bill from then is true today.
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
    journal.append(&lease, batch(&Path::root(1), vec![fact(3)])).await.unwrap();
}

#[tokio::test]
async fn a_newer_format_is_refused_and_left_alone() {
    let dir = tempdir().unwrap();
    let (journal, _) = fill(dir.path()).await;
    journal.close().await;
    raw(dir.path()).execute_batch("PRAGMA user_version = 7").unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(refused, JournalError::Newer { found: 7, .. }), "{refused}");
    assert!(refused.to_string().contains("Install the newer guildhall"), "{refused}");
    raw(dir.path()).execute_batch(&format!("PRAGMA user_version = {SCHEMA}")).unwrap();
    assert_eq!(Journal::open(dir.path()).unwrap().facts(&id(), 1).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_half_born_journal_is_begun_anew() {
    for statements in ["", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t"] {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("journal.db"), "").unwrap();
        raw(dir.path()).execute_batch(statements).unwrap();
        let (journal, lease) = begin(dir.path()).await;
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_begin_a_journal_at_once_do_not_hinder_each_other() {
    for _ in 0..20 {
        let dir = tempdir().unwrap();
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let dir = dir.path().to_owned();
            opening.spawn_blocking(move || Journal::open(&dir).unwrap());
        }
        let journals = opening.join_all().await;
        assert_eq!(journals[0].sessions().await.unwrap(), []);
    }
}
