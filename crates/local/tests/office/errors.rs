//! When the journal can't go on, contracts stop with a word about why; what was acknowledged is there when they are taken up.

use guildhall_agent::RunError;
use guildhall_local::{JournalError, Limits, OfficeError};

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
    let full = hall.office.run(brief, texts).await.unwrap_err();
    let RunError::Engine(OfficeError::Journal(why)) = &full else { panic!("{full}") };
    assert!(matches!(**why, JournalError::DiskFull { .. }), "{why}");
    assert!(full.to_string().contains("guildhall resume"), "{full}");
    let before = hall.facts().await;
    let stored =
        |key: &AskKey| before.iter().any(|stored| matches!(stored.fact, Fact::Asked { id, .. } if id == key.ask));
    assert!(model.asked.lock().unwrap().iter().all(stored), "nothing was asked before it was stored");
    let Hall { office, journal, .. } = hall;
    drop(office);
    journal.close().await;

    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let (brief, texts) = long();
    let report = hall.office.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, hall.text(&report).await.as_str()), (Outcome::Done, "done"));
    let after = hall.facts().await;
    assert!(before.len() > 10 && after.starts_with(&before), "{} facts were stored", before.len());
    assert_lawful(&after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_breaks_a_law_is_named_and_nothing_is_done_on_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes).await.die_in_a_call().await;
    let db = Connection::open(dir.path().join("journal.db")).unwrap();
    let another = r#"UPDATE fact SET body = replace(body, '"id":1', '"id":7') WHERE seq = 2"#;
    db.execute_batch(&format!("DROP TRIGGER fact_is_final; {another}")).unwrap();
    drop(db);
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let before = hall.facts().await;
    let (brief, texts) = brief();
    let damaged = hall.office.run(brief, texts).await.unwrap_err();
    let RunError::Corrupt { contract, source } = &damaged else { panic!("{damaged}") };
    assert_eq!((contract, source.index, source.fact), (&Path::root(1), 1, "asked"));
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
    let gone = hall.office.run(brief, texts).await.unwrap_err();
    assert!(matches!(gone, RunError::Engine(OfficeError::TextGone(_))), "{gone}");
    assert_eq!(*hall.model.asked.lock().unwrap(), [], "nobody was asked anything");
}
