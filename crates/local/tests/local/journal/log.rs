//! A missing log is detected, and nothing else is reported as a missing log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::Path;
use guildhall_local::{Journal, JournalError};
use tempfile::{TempDir, tempdir};

use crate::journal::crash::start;
use crate::journal::{batch, begin, fact, id, new, resume};

const LOG: &str = "journal.db-wal";
const MARKER: &str = "journal.db-marker";

/// Returns a directory whose process was killed while it wrote: all acknowledged facts are in the log.
async fn killed() -> TempDir {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(9), vec![fact(1)])).await.unwrap();
    drop(lease);
    journal.close().await;
    assert!(!dir.path().join(MARKER).exists(), "everything is in the database");
    let mut child = start("crash::child_that_appends", dir.path());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line.starts_with("ack ")).take(20).count(), 20);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(dir.path().join(MARKER).exists());
    dir
}

/// Copies the files as they would be if the process ended at this moment.
fn copy(from: &FilePath) -> TempDir {
    let to = tempdir().unwrap();
    // Copy the marker first: the commits that it counts must be in the other files.
    for name in [MARKER, "journal.db", LOG] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.path().join(name)).unwrap();
        }
    }
    to
}

fn cut(file: PathBuf, by: u64) {
    let length = file.metadata().unwrap().len();
    File::options().write(true).open(file).unwrap().set_len(length.saturating_sub(by)).unwrap();
}

#[tokio::test]
async fn a_killed_process_causes_no_false_alarm() {
    let dir = killed().await;
    for _ in 0..2 {
        let (journal, lease) = resume(dir.path()).await;
        assert!(journal.unwritable().is_none());
        assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
        journal.append(&lease, batch(&Path::root(9), vec![fact(2)])).await.unwrap();
        drop(lease);
        journal.close().await;
        assert!(!dir.path().join(MARKER).exists(), "the last process removes the marker");
    }
}

#[tokio::test]
async fn a_deleted_or_cut_log_is_detected_and_nothing_more_is_stored() {
    let dir = killed().await;
    let damage: [&dyn Fn(&FilePath); 5] = [
        &|dir| fs::remove_file(dir.join(LOG)).unwrap(),
        &|dir| cut(dir.join(LOG), u64::MAX),
        &|dir| cut(dir.join(LOG), 40_000),
        &|dir| {
            // One flipped bit in the log: SQLite reads only the commits before it, without an error.
            let mut bytes = fs::read(dir.join(LOG)).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
            fs::write(dir.join(LOG), bytes).unwrap();
        },
        &|dir| {
            fs::remove_file(dir.join(LOG)).unwrap();
            fs::remove_file(dir.join("journal.db")).unwrap();
            fs::write(dir.join("journal.db"), "").unwrap();
        },
    ];
    for (n, damage) in damage.iter().enumerate() {
        let copy = copy(dir.path());
        damage(copy.path());
        let left = fs::read(copy.path().join(LOG)).unwrap_or_default();
        for _ in 0..2 {
            let journal = Journal::open(copy.path()).unwrap();
            let why = journal.unwritable().unwrap().clone();
            assert!(matches!(why, JournalError::LogMissing { .. }), "{n}: {why}");
            assert!(why.to_string().contains("journal.db-marker"), "{why}");
            let refused = journal.create(new("later".parse().unwrap())).await.unwrap_err();
            assert!(matches!(refused, JournalError::LogMissing { .. }), "{n}: {refused}");
            // The remaining data can be read.
            let sessions = journal.sessions().await.unwrap();
            assert_eq!(sessions.len(), usize::from(n != 4));
            journal.close().await;
            assert_eq!(fs::read(copy.path().join(LOG)).unwrap_or_default(), left, "{n}: the log is not changed");
        }
        // When the log is put back, everything works again.
        fs::copy(dir.path().join("journal.db"), copy.path().join("journal.db")).unwrap();
        fs::copy(dir.path().join(LOG), copy.path().join(LOG)).unwrap();
        let journal = Journal::open(copy.path()).unwrap();
        assert!(journal.unwritable().is_none(), "{n}");
        assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn deleting_the_marker_continues_without_the_lost_commits() {
    let dir = killed().await;
    fs::remove_file(dir.path().join(LOG)).unwrap();
    assert!(Journal::open(dir.path()).unwrap().unwritable().is_some());
    fs::remove_file(dir.path().join(MARKER)).unwrap();
    let (journal, lease) = resume(dir.path()).await;
    journal.append(&lease, batch(&Path::root(9), vec![fact(2)])).await.unwrap();
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_process_that_ends_at_any_moment_causes_no_false_alarm() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    // A copy of the open directory is what a crash at this moment would leave.
    for n in 0..30 {
        let copy = copy(dir.path());
        let left = Journal::open(copy.path()).unwrap();
        assert!(left.unwritable().is_none(), "{n}: {:?}", left.unwritable());
        assert_eq!(left.facts(&id(), 1).await.unwrap().len(), n);
        left.close().await;
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    }
    // A crash between the last checkpoint and the removal of the marker: all commits are in the database.
    let marker = fs::read(dir.path().join(MARKER)).unwrap();
    drop(lease);
    journal.close().await;
    assert_eq!(fs::read(dir.path().join(LOG)).unwrap_or_default(), b"", "all is in the database");
    fs::write(dir.path().join(MARKER), marker).unwrap();
    let (journal, lease) = resume(dir.path()).await;
    assert!(journal.unwritable().is_none());
    drop(lease);
    journal.close().await;
    assert!(!dir.path().join(MARKER).exists());
    // A marker without a valid number is ignored.
    for noise in [&b""[..], b"commits", &[0xff; 300]] {
        fs::write(dir.path().join(MARKER), noise).unwrap();
        assert!(Journal::open(dir.path()).unwrap().unwritable().is_none());
    }
}

#[tokio::test]
async fn the_marker_stays_while_any_process_writes() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    other.create(new("second".parse().unwrap())).await.unwrap();
    let reading = Journal::open(dir.path()).unwrap();
    assert_eq!(reading.sessions().await.unwrap().len(), 2);
    other.close().await;
    assert!(dir.path().join(MARKER).exists(), "the first process still writes");
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    let copy = copy(dir.path());
    fs::remove_file(copy.path().join(LOG)).unwrap();
    assert!(Journal::open(copy.path()).unwrap().unwritable().is_some(), "the marker covers its commits");
    drop(lease);
    journal.close().await;
    drop(reading);
    let last = Journal::open(dir.path()).unwrap();
    assert!(last.unwritable().is_none());
    last.close().await;
    assert!(!dir.path().join(MARKER).exists());
}

#[tokio::test]
async fn a_process_that_only_reads_leaves_no_marker() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.sessions().await.unwrap(), []);
    assert!(!dir.path().join(MARKER).exists());
    journal.close().await;
    assert!(!dir.path().join(MARKER).exists());
}
