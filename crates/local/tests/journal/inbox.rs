//! Commands from other processes wait until they are carried out, and are carried out once.

use guildhall_kernel::Path;
use guildhall_local::{Batch, COMMAND_BYTES_MAX, Command, Journal, JournalError, UnixMs};
use serde_json::json;
use tempfile::tempdir;

use crate::{batch, begin, fact, go_on, id};

#[tokio::test]
async fn a_command_waits_for_the_resume_and_is_carried_out_once() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(lease);
    journal.close().await;

    let elsewhere = Journal::open(dir.path()).unwrap();
    assert_eq!(elsewhere.put(&id(), &json!({"stop": "wrap_up"}), UnixMs(10)).await.unwrap(), 1);
    assert_eq!(elsewhere.put(&id(), &json!({"say": "hello"}), UnixMs(11)).await.unwrap(), 2);
    let long = elsewhere.put(&id(), &"x".repeat(COMMAND_BYTES_MAX), UnixMs(12)).await.unwrap_err();
    assert!(matches!(long, JournalError::CommandTooLong { .. }), "{long}");
    let nobody = elsewhere.put(&"nobody".parse().unwrap(), &json!(1), UnixMs(12)).await.unwrap_err();
    assert!(matches!(nobody, JournalError::UnknownSession { .. }), "{nobody}");

    let (journal, lease) = go_on(dir.path()).await;
    let say = Command { number: 2, at: UnixMs(11), command: json!({"say": "hello"}) };
    let stop = Command { number: 1, at: UnixMs(10), command: json!({"stop": "wrap_up"}) };
    assert_eq!(journal.take_after(&id(), 0).await.unwrap(), [stop, say.clone()]);
    assert_eq!(journal.take_after(&id(), 1).await.unwrap(), std::slice::from_ref(&say));
    journal.mark_done(&lease, 1).await.unwrap();
    assert_eq!(journal.wait_after(&id(), 0).await.unwrap(), [say]);
    let heard = Batch { done: Some(2), ..batch(&Path::root(1), vec![fact(1)]) };
    journal.append(&lease, heard).await.unwrap();
    assert_eq!(journal.take_after(&id(), 0).await.unwrap(), []);
}

#[tokio::test]
async fn a_batch_that_is_refused_leaves_its_command_waiting() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.put(&id(), &json!(1), UnixMs(0)).await.unwrap();
    let refused = Batch { done: Some(1), ..batch(&Path::root(1), vec![crate::heard("nobody stored this")]) };
    assert!(journal.append(&lease, refused).await.is_err());
    assert_eq!(journal.take_after(&id(), 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn whoever_waits_hears_a_command_from_elsewhere() {
    let dir = tempdir().unwrap();
    let (journal, _lease) = begin(dir.path()).await;
    let elsewhere = Journal::open(dir.path()).unwrap();
    let session = id();
    let (heard, put) = tokio::join!(journal.wait_after(&session, 0), elsewhere.put(&session, &"stop", UnixMs(1)));
    assert_eq!(put.unwrap(), 1);
    assert_eq!(heard.unwrap()[0].command, "stop");
}
