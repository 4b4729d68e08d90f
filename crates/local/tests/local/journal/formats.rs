//! A journal of another form is refused and not changed, and an incomplete new journal is created again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::{Cause, Path};
use guildhall_local::{Batch, Journal, JournalError};
use tempfile::tempdir;

use crate::journal::crash::start;
use crate::journal::{batch, begin, fact, id, raw};

/// A journal that is closed, with a fact.
async fn closed(dir: &FilePath) {
    let (journal, lease) = begin(dir).await;
    let opening = Batch { cause: Cause::Opening, ..batch(&Path::root(1), vec![fact(1)]) };
    journal.append(&lease, opening).await.unwrap();
    drop(lease);
    journal.close().await;
}

/// Writes the number of the journal's forms, as a program with these forms would.
pub(super) fn set_version(dir: &FilePath, version: i64) {
    let db = raw(dir);
    db.execute_batch(&format!(
        "PRAGMA journal_mode = DELETE; PRAGMA user_version = {version}; PRAGMA journal_mode = WAL"
    ))
    .unwrap();
}

/// Returns every file of the directory with its contents.
fn files(dir: &FilePath) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[tokio::test]
async fn a_journal_of_another_form_is_refused_with_one_line_and_not_changed() {
    let dir = tempdir().unwrap();
    closed(dir.path()).await;
    let own = raw(dir.path()).query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let tables = own / 1_000_000;
    let others = [
        (5, format!("has journal format 5, but this guildhall reads only journal format {tables}")),
        (
            own + 1_000_000,
            format!("has journal format {}, but this guildhall reads only journal format {tables}", tables + 1),
        ),
        (own - 10_000, "has facts of form 3, but this guildhall reads only facts of form 4".to_owned()),
        (own + 10_000, "has facts of form 5, but this guildhall reads only facts of form 4".to_owned()),
        (
            own - 100,
            "has facts of accounts of form 4, but this guildhall reads only facts of accounts of form 5".to_owned(),
        ),
        (own + 100_000_000, format!("has journal format {}, but", tables + 100)),
        (-1, "has journal format -1, but".to_owned()),
        (own + 1, "has facts of the treasury of form 2, but".to_owned()),
    ];
    for (version, what) in others {
        set_version(dir.path(), version);
        let before = files(dir.path());
        let refused = Journal::open(dir.path()).unwrap_err();
        assert!(matches!(refused, JournalError::OtherForm { .. }), "{refused}");
        let said = refused.to_string();
        assert!(said.starts_with(&format!("{} {what}", dir.path().join("journal.db").display())), "{said}");
        assert!(said.contains("Nothing was changed") && !said.contains('\n'), "{said}");
        assert!(files(dir.path()) == before, "version {version}: every file is as it was, and there is no other");
    }
    set_version(dir.path(), own);
    assert_eq!(Journal::open(dir.path()).unwrap().facts(&id(), 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_journal_keeps_its_log() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(lease);
    journal.close().await;
    let mut child = start("crash::child_that_appends", dir.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("ack ")));
    child.kill().unwrap();
    child.wait().unwrap();
    // The other program was killed. This program must not write its log back.
    let other = raw(dir.path());
    other.execute_batch("PRAGMA user_version = 5").unwrap();
    std::mem::forget(other);
    let before = ["journal.db", "journal.db-wal"].map(|file| fs::read(dir.path().join(file)).unwrap());
    assert!(!before[1].is_empty());
    assert!(matches!(Journal::open(dir.path()).unwrap_err(), JournalError::OtherForm { .. }));
    assert!(["journal.db", "journal.db-wal"].map(|file| fs::read(dir.path().join(file)).unwrap()) == before);
}

#[tokio::test]
async fn an_incomplete_new_journal_is_created_again() {
    for statements in ["", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t"] {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("journal.db"), "").unwrap();
        raw(dir.path()).execute_batch(statements).unwrap();
        let (journal, lease) = begin(dir.path()).await;
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_can_create_a_journal_at_the_same_time() {
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
