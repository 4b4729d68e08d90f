//! Commands from other processes wait until they are executed, and are executed once.

use guildhall_kernel::Path;
use guildhall_local::{Batch, COMMAND_BYTES_MAX, Command, Journal, JournalError, UnixMs};
use serde_json::json;
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, id, resume};

#[tokio::test]
async fn a_command_waits_for_the_resume_and_is_executed_once() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(lease);
    journal.close().await;

    let other = Journal::open(dir.path()).unwrap();
    assert_eq!(other.put(&id(), &json!({"stop": "wrap_up"}), UnixMs(10)).await.unwrap(), 1);
    assert_eq!(other.put(&id(), &json!({"say": "hello"}), UnixMs(11)).await.unwrap(), 2);
    let long = other.put(&id(), &"x".repeat(COMMAND_BYTES_MAX), UnixMs(12)).await.unwrap_err();
    assert!(matches!(long, JournalError::CommandTooLong { .. }), "{long}");
    let unknown = other.put(&"unknown-session".parse().unwrap(), &json!(1), UnixMs(12)).await.unwrap_err();
    assert!(matches!(unknown, JournalError::UnknownSession { .. }), "{unknown}");

    let (journal, lease) = resume(dir.path()).await;
    let say = Command { number: 2, at: UnixMs(11), command: json!({"say": "hello"}) };
    let stop = Command { number: 1, at: UnixMs(10), command: json!({"stop": "wrap_up"}) };
    assert_eq!(journal.take_after(&id(), 0).await.unwrap(), [stop, say.clone()]);
    assert_eq!(journal.take_after(&id(), 1).await.unwrap(), std::slice::from_ref(&say));
    journal.mark_done(&lease, 1).await.unwrap();
    assert_eq!(journal.wait_after(&id(), 0).await.unwrap(), [say]);
    let executed = Batch { done: Some(2), ..batch(&Path::root(1), vec![fact(1)]) };
    journal.append(&lease, executed).await.unwrap();
    assert_eq!(journal.take_after(&id(), 0).await.unwrap(), []);
}

#[tokio::test]
async fn a_refused_batch_leaves_its_command_in_the_inbox() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.put(&id(), &json!(1), UnixMs(0)).await.unwrap();
    let refused =
        Batch { done: Some(1), ..batch(&Path::root(1), vec![crate::journal::heard("this text is not stored")]) };
    assert!(journal.append(&lease, refused).await.is_err());
    assert_eq!(journal.take_after(&id(), 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_waiting_process_gets_a_command_from_another_process() {
    let dir = tempdir().unwrap();
    let (journal, _lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    let session = id();
    let (received, put) = tokio::join!(journal.wait_after(&session, 0), other.put(&session, &"stop", UnixMs(1)));
    assert_eq!(put.unwrap(), 1);
    assert_eq!(received.unwrap()[0].command, "stop");
}
