//! When the journal can't go on, contracts stop with a word about why; what was acknowledged is there when they are taken up.

use guildhall_agent::{RunError, TextError};
use guildhall_kernel::Cause;
use guildhall_local::{Batch, EngineError, JournalError, Limits};

use super::*;

/// The brief of a contract that may take many turns.
fn long() -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    (Arc::new(Brief { turns_max: 1000, ..Brief::clone(&brief) }), texts)
}

/// A reply with this many bytes in it that calls the tool.
fn wordy(bytes: usize) -> Attempt {
    let call = RawCall { id: "call".into(), name: "count".into(), arguments: Ok(json!({})) };
    replies(Some(&"x".repeat(bytes)), vec![call])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_journal_stops_the_contract_and_with_room_it_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let journal = Journal::open_within(dir.path(), Limits { pages_max: Some(80) }).unwrap();
    let script = (0..50).map(|turn| wordy(2000 + turn)).collect();
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
    assert!(model.asked.lock().unwrap().iter().all(stored), "nothing was asked before it was stored");
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
async fn a_fact_that_breaks_a_law_is_named_and_nothing_is_done_on_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes).await.die_in_a_call().await;
    // The hashes are right, and what they cover is not: the same is asked twice.
    let journal = Journal::open(dir.path()).unwrap();
    let session = "session".parse().unwrap();
    let lease = journal.lease(&session, UnixMs::now()).await.unwrap();
    let stored = journal.facts(&session, 1).await.unwrap();
    let Stored { contract, at, fact, .. } = stored[1].clone();
    let again =
        Batch { contract, at, cause: Cause::Tick, facts: vec![fact], texts: vec![], done: None, account: vec![] };
    journal.append(&lease, again).await.unwrap();
    drop(lease);
    journal.close().await;
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let before = hall.facts().await;
    let (brief, texts) = brief();
    let damaged = hall.engine.run(brief, texts).await.unwrap_err();
    let RunError::Corrupt { contract, source } = &damaged else { panic!("{damaged}") };
    assert_eq!((contract, source.index, source.fact), (&Path::root(1), stored.len(), "asked"));
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "nobody was asked anything");
    assert_eq!(hall.facts().await, before, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_gone_is_named_and_nobody_is_asked_without_it() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes).await.die_in_a_call().await;
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
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "nobody was asked anything");
}

/// Lets a session die in its second model call, and takes a result out of what it stored.
async fn with_a_result_gone(dir: &FilePath, replays: Replays) {
    Hall::open(dir, vec![calls("count")], counting(Effect::Pure).0, replays).await.die_in_a_call().await;
    let db = Connection::open(dir.join("journal.db")).unwrap();
    assert_eq!(db.execute("DELETE FROM text WHERE kind = 'result'", []).unwrap(), 1);
}

/// Takes a session up whose text is gone. Returns its facts afterwards.
async fn fails_again(dir: &FilePath, replays: Replays) -> Vec<Stored> {
    let hall = Hall::open(dir, vec![says("done")], counting(Effect::Pure).0, replays).await;
    let (brief, texts) = brief();
    let gone = hall.engine.run(brief, texts).await.unwrap_err();
    assert!(matches!(gone, RunError::Engine(EngineError::Text { .. })), "{gone}");
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "nobody was asked anything");
    let facts = hall.facts().await;
    let Hall { engine, journal, .. } = hall;
    drop(engine);
    journal.close().await;
    facts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_can_t_be_written_is_never_charged_however_often_it_is_tried() {
    for replays in [Replays::Yes, Replays::No] {
        let dir = tempfile::tempdir().unwrap();
        with_a_result_gone(dir.path(), replays).await;
        // The call that the crash interrupted may have cost something, if it can't be attached to.
        let first = fails_again(dir.path(), replays).await;
        assert_eq!(fails_again(dir.path(), replays).await, first, "{replays:?}");
        assert_eq!(fails_again(dir.path(), replays).await, first, "{replays:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_is_cancelled_without_the_text_that_is_gone() {
    for replays in [Replays::Yes, Replays::No] {
        let dir = tempfile::tempdir().unwrap();
        with_a_result_gone(dir.path(), replays).await;
        let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, replays).await;
        let order = Order { to: Path::root(1), what: Stimulus::Cancel, texts: Vec::new() };
        hall.journal.put(&"session".parse().unwrap(), &order, UnixMs::now()).await.unwrap();
        let report = hall.run().await;
        assert_eq!(report.outcome, Outcome::Cancelled, "{replays:?}");
        assert_eq!(*hall.model.asked.lock().unwrap(), [], "{replays:?}: nobody was asked anything");
        assert_lawful(&hall.facts().await);
    }
}
