//! When the journal fails, contracts stop with an error that says why. Everything acknowledged is there when they are
//! resumed.

use guildhall_agent::{RunError, TextError};
use guildhall_kernel::Cause;
use guildhall_local::{Batch, EngineError, JournalError, Limits};

use super::*;

/// The brief of a contract that may take many turns.
fn long() -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    (Arc::new(Brief { turns_max: 1000, ..Brief::clone(&brief) }), texts)
}

/// A reply of this many bytes with a call of the tool. Its text for a reader is short.
fn long_reply(bytes: usize) -> Attempt {
    let call = RawCall { id: "call".into(), name: "count".into(), arguments: Ok(json!({})) };
    let attempt = replies(Some("x"), vec![call]);
    let outcome = attempt.outcome.map(|reply| Reply { raw: json!({"words": "x".repeat(bytes)}), ..reply });
    Attempt { outcome, ..attempt }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_journal_stops_the_contract_and_it_continues_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_within(dir.path(), Limits { pages_max: Some(80) }).unwrap();
    let script = (0..50).map(|turn| long_reply(2000 + turn)).collect();
    let model = Arc::new(Scripted { replies: Mutex::new(script), ..Scripted::default() });
    let hall = open_on(journal, &model, counting(Effect::Pure).0, Replays::Yes).await;
    let (brief, texts) = long();
    let full = hall.engine.run(brief, texts).await.unwrap_err();
    let RunError::Engine(EngineError::Journal(why)) = &full else { panic!("{full}") };
    assert!(matches!(**why, JournalError::DiskFull { .. }), "{why}");
    assert!(full.to_string().contains("guildhall resume"), "{full}");
    let before = hall.facts().await;
    let stored =
        |key: &AskKey| before.iter().any(|stored| matches!(stored.fact, Fact::Asked { id, .. } if id == key.ask));
    assert!(model.asked.lock().unwrap().iter().all(stored), "every request was stored before it was sent");
    let Hall { engine, journal, .. } = hall;
    drop(engine);
    journal.close().await;

    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let (brief, texts) = long();
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, hall.text(&report).await.as_str()), (Outcome::Done, "done"));
    let after = hall.facts().await;
    assert!(before.len() > 10 && after.starts_with(&before), "{} facts were stored", before.len());
    assert_lawful(&after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_breaks_a_law_is_named_and_nothing_more_happens() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes)
        .await
        .crash_during_a_call()
        .await;
    // The hashes are right, but the facts are not: the same ask is stored twice.
    let journal = Journal::open(dir.path()).unwrap();
    let session = "session".parse().unwrap();
    let lease = journal.lease(&session, unix_now()).await.unwrap();
    let stored = journal.facts(&session, 1).await.unwrap();
    let Stored { contract, at, fact, .. } = stored[1].clone();
    let again = Batch {
        contract,
        at,
        cause: Cause::Tick,
        facts: vec![fact],
        texts: vec![],
        done: None,
        account: vec![],
        treasury: None,
    };
    journal.append(&lease, again).await.unwrap();
    drop(lease);
    journal.close().await;
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let before = hall.facts().await;
    let (brief, texts) = brief();
    let damaged = hall.engine.run(brief, texts).await.unwrap_err();
    let RunError::Corrupt { contract, source } = &damaged else { panic!("{damaged}") };
    assert_eq!((contract, source.index, source.fact), (&Path::root(1), stored.len(), "asked"));
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "no request was sent");
    assert_eq!(hall.facts().await, before, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_text_is_named_and_no_request_is_sent_without_it() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes)
        .await
        .crash_during_a_call()
        .await;
    let db = Connection::open(dir.path().join("journal.db")).unwrap();
    assert_eq!(db.execute("DELETE FROM text WHERE kind = 'result'", []).unwrap(), 1);
    drop(db);
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let (brief, texts) = brief();
    let gone = hall.engine.run(brief, texts).await.unwrap_err();
    let RunError::Engine(EngineError::Text { contract, why: TextError::Missing(text) }) = &gone else {
        panic!("{gone}")
    };
    assert_eq!((contract, text.kind), (&Path::root(1), TextKind::Result));
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "no request was sent");
}

/// Stops a session during its second model call, and deletes a tool result from the journal.
async fn crash_and_delete_a_result(dir: &FilePath, replays: Replays) {
    Hall::open(dir, vec![calls("count")], counting(Effect::Pure).0, replays).await.crash_during_a_call().await;
    let db = Connection::open(dir.join("journal.db")).unwrap();
    assert_eq!(db.execute("DELETE FROM text WHERE kind = 'result'", []).unwrap(), 1);
}

/// Resumes a session with a missing text. Returns its facts afterwards.
async fn resume_and_fail(dir: &FilePath, replays: Replays) -> Vec<Stored> {
    let hall = Hall::open(dir, vec![says("done")], counting(Effect::Pure).0, replays).await;
    let (brief, texts) = brief();
    let gone = hall.engine.run(brief, texts).await.unwrap_err();
    assert!(matches!(gone, RunError::Engine(EngineError::Text { .. })), "{gone}");
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "no request was sent");
    let facts = hall.facts().await;
    let Hall { engine, journal, .. } = hall;
    drop(engine);
    journal.close().await;
    facts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_can_t_be_written_is_never_charged_however_often_the_session_is_resumed() {
    for replays in [Replays::Yes, Replays::No] {
        let dir = tempfile::tempdir().unwrap();
        crash_and_delete_a_result(dir.path(), replays).await;
        // The interrupted call may have cost something if it can't be repeated with the same key.
        let first = resume_and_fail(dir.path(), replays).await;
        assert_eq!(resume_and_fail(dir.path(), replays).await, first, "{replays:?}");
        assert_eq!(resume_and_fail(dir.path(), replays).await, first, "{replays:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_with_a_missing_text_can_be_cancelled() {
    for replays in [Replays::Yes, Replays::No] {
        let dir = tempfile::tempdir().unwrap();
        crash_and_delete_a_result(dir.path(), replays).await;
        let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, replays).await;
        let order = Order::new(Path::root(1), Stimulus::Cancel);
        hall.journal.put(&id(), &order, unix_now()).await.unwrap();
        let report = hall.run().await;
        assert_eq!(report.outcome, Outcome::Cancelled, "{replays:?}");
        assert_eq!(*hall.model.asked.lock().unwrap(), [], "{replays:?}: no request was sent");
        assert_lawful(&hall.facts().await);
    }
}
