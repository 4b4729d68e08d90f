//! A log that goes missing is found, and nothing else is taken for it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::Path;
use guildhall_local::{Journal, JournalError};
use tempfile::{TempDir, tempdir};

use crate::crash::start;
use crate::{batch, begin, fact, go_on, id, new};

const LOG: &str = "journal.db-wal";
const MARKER: &str = "journal.db-marker";

/// What the directory is after a process was killed in the middle of its work: all that was acknowledged is in the log.
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

/// Copies what a process leaves behind that ends at this moment.
fn copy(from: &FilePath) -> TempDir {
    let to = tempdir().unwrap();
    // The marker first: what it says must be in the others.
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
async fn a_process_that_is_killed_leaves_nothing_that_looks_like_a_loss() {
    let dir = killed().await;
    for _ in 0..2 {
        let (journal, lease) = go_on(dir.path()).await;
        assert!(journal.unwritable().is_none());
        assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
        journal.append(&lease, batch(&Path::root(9), vec![fact(2)])).await.unwrap();
        drop(lease);
        journal.close().await;
        assert!(!dir.path().join(MARKER).exists(), "removed with the last process");
    }
}

#[tokio::test]
async fn a_log_that_was_deleted_or_cut_is_found_and_nothing_is_stored_on_what_is_left() {
    let dir = killed().await;
    let damage: [&dyn Fn(&FilePath); 5] = [
        &|dir| fs::remove_file(dir.join(LOG)).unwrap(),
        &|dir| cut(dir.join(LOG), u64::MAX),
        &|dir| cut(dir.join(LOG), 40_000),
        &|dir| {
            // One flipped bit in the log: SQLite takes what comes before for all there is.
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
            // What is left can be looked at.
            let sessions = journal.sessions().await.unwrap();
            assert_eq!(sessions.len(), usize::from(n != 4));
            journal.close().await;
            assert_eq!(fs::read(copy.path().join(LOG)).unwrap_or_default(), left, "{n}: the log is left as it is");
        }
        // A log that comes back is as good as ever.
        fs::copy(dir.path().join("journal.db"), copy.path().join("journal.db")).unwrap();
        fs::copy(dir.path().join(LOG), copy.path().join(LOG)).unwrap();
        let journal = Journal::open(copy.path()).unwrap();
        assert!(journal.unwritable().is_none(), "{n}");
        assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn whoever_deletes_the_marker_goes_on_without_what_is_lost() {
    let dir = killed().await;
    fs::remove_file(dir.path().join(LOG)).unwrap();
    assert!(Journal::open(dir.path()).unwrap().unwritable().is_some());
    fs::remove_file(dir.path().join(MARKER)).unwrap();
    let (journal, lease) = go_on(dir.path()).await;
    journal.append(&lease, batch(&Path::root(9), vec![fact(2)])).await.unwrap();
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 2);
}

#[tokio::test]
async fn no_moment_at_which_a_process_ends_looks_like_a_loss() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    // Copied while it is open, the directory is what a crash at this moment leaves.
    for n in 0..30 {
        let copy = copy(dir.path());
        let left = Journal::open(copy.path()).unwrap();
        assert!(left.unwritable().is_none(), "{n}: {:?}", left.unwritable());
        assert_eq!(left.facts(&id(), 1).await.unwrap().len(), n);
        left.close().await;
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    }
    // Between the last checkpoint and the removal of the marker: all is in the database, and the marker says so.
    let marker = fs::read(dir.path().join(MARKER)).unwrap();
    drop(lease);
    journal.close().await;
    assert_eq!(fs::read(dir.path().join(LOG)).unwrap_or_default(), b"", "all is in the database");
    fs::write(dir.path().join(MARKER), marker).unwrap();
    let (journal, lease) = go_on(dir.path()).await;
    assert!(journal.unwritable().is_none());
    drop(lease);
    journal.close().await;
    assert!(!dir.path().join(MARKER).exists());
    // A marker that nobody can read says nothing.
    for noise in [&b""[..], b"commits", &[0xff; 300]] {
        fs::write(dir.path().join(MARKER), noise).unwrap();
        assert!(Journal::open(dir.path()).unwrap().unwritable().is_none());
    }
}

#[tokio::test]
async fn the_marker_stays_as_long_as_anybody_writes() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    other.create(new("second".parse().unwrap())).await.unwrap();
    let reading = Journal::open(dir.path()).unwrap();
    assert_eq!(reading.sessions().await.unwrap().len(), 2);
    other.close().await;
    assert!(dir.path().join(MARKER).exists(), "the first still writes");
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    let copy = copy(dir.path());
    fs::remove_file(copy.path().join(LOG)).unwrap();
    assert!(Journal::open(copy.path()).unwrap().unwritable().is_some(), "its commits are covered");
    drop(lease);
    journal.close().await;
    drop(reading);
    let last = Journal::open(dir.path()).unwrap();
    assert!(last.unwritable().is_none());
    last.close().await;
    assert!(!dir.path().join(MARKER).exists());
}

#[tokio::test]
async fn whoever_only_looks_leaves_no_marker() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.sessions().await.unwrap(), []);
    assert!(!dir.path().join(MARKER).exists());
    journal.close().await;
    assert!(!dir.path().join(MARKER).exists());
}
