//! Only one process at a time runs a session. A second process gets an error that says which process runs it.

use std::io::{BufRead, BufReader, Read};

use guildhall_kernel::Path;
use guildhall_local::{Journal, JournalError, UnixMs};
use tempfile::tempdir;

use crate::journal::crash::{child_dir, print_line, start};
use crate::journal::{batch, begin, fact, id, raw, resume};

/// Not a test, but the other process: takes the lease and holds it until the process is killed or its input ends.
#[tokio::test]
async fn child_that_holds() {
    let Some(dir) = child_dir() else { return };
    let (_journal, lease) = resume(&dir).await;
    print_line(&format!("holds {}", lease.holder().epoch));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[tokio::test]
async fn a_session_is_run_by_one_process_and_is_free_again_when_that_process_is_killed() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    assert_eq!(lease.holder().epoch, 1);
    drop(lease);

    let mut child = start("lease::child_that_holds", dir.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.find(|line| line.starts_with("holds")).as_deref(), Some("holds 2"));

    let held = journal.lease(&id(), UnixMs(15_000)).await.unwrap_err();
    let message = held.to_string();
    let JournalError::Held { holder, held_ms, .. } = held else { panic!("{message}") };
    assert_eq!((holder.pid, holder.since, held_ms), (child.id(), UnixMs(3_000), 12_000));
    for part in [&format!("process {} for 12 s", child.id()), "guildhall stop quiet-heron"] {
        assert!(message.contains(part), "{message}");
    }

    child.kill().unwrap();
    child.wait().unwrap();
    let lease = journal.lease(&id(), UnixMs(20_000)).await.unwrap();
    assert_eq!((lease.holder().epoch, lease.holder().pid), (3, std::process::id()));
}

#[tokio::test]
async fn two_handles_of_one_process_do_not_share_a_session_either() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    assert!(matches!(other.lease(&id(), UnixMs(0)).await, Err(JournalError::Held { .. })));
    assert!(matches!(journal.lease(&id(), UnixMs(0)).await, Err(JournalError::Held { .. })));
    drop(lease);
    assert!(other.lease(&id(), UnixMs(0)).await.is_ok());
}

#[tokio::test]
async fn a_process_that_lost_the_lease_stores_nothing_more() {
    let dir = tempdir().unwrap();
    let (journal, stale) = begin(dir.path()).await;
    // The lock file is deleted, and another process takes the lease.
    std::fs::remove_file(dir.path().join("sessions/quiet-heron/lock")).unwrap();
    let (other, lease) = resume(dir.path()).await;
    let refused = journal.append(&stale, batch(&Path::root(1), vec![fact(1)])).await.unwrap_err();
    assert!(matches!(refused, JournalError::LeaseLost { .. }), "{refused}");
    assert!(matches!(journal.mark_done(&stale, 1).await, Err(JournalError::LeaseLost { .. })));
    other.append(&lease, batch(&Path::root(1), vec![fact(2)])).await.unwrap();
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_append_waits_while_another_process_uses_the_database() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let other = raw(dir.path());
    other.execute_batch("BEGIN IMMEDIATE; UPDATE session SET label = 'other'").unwrap();
    let append = journal.append(&lease, batch(&Path::root(1), vec![fact(1)]));
    let commit = async {
        tokio::task::yield_now().await;
        other.execute_batch("COMMIT").unwrap();
    };
    let (appended, ()) = tokio::join!(append, commit);
    assert_eq!(appended.unwrap().seqs, 1..2);
}
