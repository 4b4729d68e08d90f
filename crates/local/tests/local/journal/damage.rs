//! A full disk, damaged files, changed rows: each gives a clear error, never a panic, and nothing is lost.

use std::fs;

use guildhall_kernel::{Millis, Msat, Path, SessionFact};
use guildhall_local::{
    Batch, Broken, Chain, HallBroken, Journal, JournalError, Limits, SessionBatch, UnixMs, hash_text,
};
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, heard, id, new, tamper, text};

#[tokio::test]
async fn a_full_disk_stops_the_journal_and_loses_nothing_acknowledged() {
    let dir = tempdir().unwrap();
    let journal = Journal::open_within(dir.path(), Limits { pages_max: Some(60) }).unwrap();
    journal.create(new(id())).await.unwrap();
    let lease = journal.lease(&id(), UnixMs(0)).await.unwrap();
    let mut acked = 0;
    let full = loop {
        let words = format!("{acked} {}", "x".repeat(2_000));
        let facts = vec![fact(acked), heard(&words)];
        let batch_with_text = Batch { texts: vec![text(&words)], ..batch(&Path::root(1), facts) };
        match journal.append(&lease, batch_with_text).await {
            Ok(_) => acked += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, JournalError::DiskFull { .. }), "{full}");
    assert!(full.to_string().contains("run `guildhall resume`"), "{full}");
    assert!(acked > 10, "{acked}");
    let later = journal.append(&lease, batch(&Path::root(1), vec![fact(0)])).await.unwrap_err();
    let JournalError::Stopped { why } = &later else { panic!("{later}") };
    assert!(matches!(**why, JournalError::DiskFull { .. }), "{later}");
    // Reading still works.
    let facts = journal.facts(&id(), 1).await.unwrap();
    assert_eq!(facts.len(), 2 * acked as usize);
    let head = journal.head(&id()).await.unwrap();
    drop(lease);
    journal.close().await;

    // Writing works again when there is space.
    let (journal, lease) = crate::journal::resume(dir.path()).await;
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
    journal.append(&lease, batch(&Path::root(1), vec![fact(0)])).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_a_journal_is_not_changed() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("journal.db");
    fs::write(&file, "this is a shopping list, and rather a long one at that ".repeat(200)).unwrap();
    let before = fs::read(&file).unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(&refused, JournalError::Damaged { file: named, .. } if *named == file), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::remove_file(&file).unwrap();
    crate::journal::raw(dir.path()).execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(refused, JournalError::Foreign { .. }), "{refused}");
}

#[tokio::test]
async fn overwritten_pages_are_reported_as_damage() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    for n in 0..200 {
        journal.append(&lease, batch(&Path::root(1), vec![fact(n); 10])).await.unwrap();
    }
    drop(lease);
    journal.close().await;
    let file = dir.path().join("journal.db");
    let mut bytes = fs::read(&file).unwrap();
    assert!(bytes.len() > 50 * 4096, "the log was written back: {}", bytes.len());
    let from = bytes.len() / 2;
    bytes[from..].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let damaged = journal.facts(&id(), 1).await.unwrap_err();
    assert!(matches!(&damaged, JournalError::Damaged { file: named, .. } if *named == file), "{damaged}");
}

#[tokio::test]
async fn a_changed_row_is_reported() {
    let changes = [
        ("UPDATE fact SET body = replace(body, '3', '4') WHERE seq = 3", Broken::Fact { seq: 3 }),
        ("UPDATE fact SET body = CAST(x'ff' AS TEXT) WHERE seq = 3", Broken::Fact { seq: 3 }),
        ("UPDATE fact SET at = 6 WHERE seq = 2", Broken::Fact { seq: 2 }),
        ("UPDATE fact SET contract = '1.1' WHERE seq = 1", Broken::Fact { seq: 1 }),
        ("UPDATE fact SET cause = '\"opening\"' WHERE seq = 4", Broken::Fact { seq: 4 }),
        ("UPDATE fact SET v = v - 1 WHERE seq = 4", Broken::Fact { seq: 4 }),
        ("UPDATE fact SET hash = zeroblob(32) WHERE seq = 5", Broken::Fact { seq: 5 }),
        ("DELETE FROM fact WHERE seq = 3", Broken::Fact { seq: 3 }),
        ("UPDATE fact SET seq = seq + 10 WHERE seq = 5", Broken::Fact { seq: 5 }),
        ("UPDATE session_fact SET body = replace(body, '7000', '9000')", Broken::Account { n: 1 }),
        ("UPDATE session_fact SET after = 3", Broken::Account { n: 1 }),
        ("UPDATE text SET bytes = x'00'", Broken::Text { hash: hash_text(b"hello") }),
        ("DELETE FROM text", Broken::Text { hash: hash_text(b"hello") }),
        ("DELETE FROM fact WHERE seq = 6", Broken::Facts { recorded: 6, found: 5 }),
        ("DELETE FROM fact", Broken::Facts { recorded: 6, found: 0 }),
        ("DELETE FROM session_fact", Broken::Accounts { recorded: 1, found: 0 }),
        ("UPDATE session_fact SET v = v - 1", Broken::Account { n: 1 }),
        ("UPDATE session SET label = 'Break the build'", Broken::About),
        ("UPDATE session SET project = '/tmp'", Broken::About),
        ("UPDATE session SET created_at = 7", Broken::About),
        ("DELETE FROM inbox", Broken::Inbox),
        ("UPDATE inbox SET done = 1", Broken::Inbox),
        ("UPDATE inbox SET command = '\"stop\"'", Broken::Inbox),
        ("INSERT INTO inbox (session, number, command, at) VALUES ('quiet-heron', 2, '1', 1)", Broken::Inbox),
        ("UPDATE lease SET epoch = 0", Broken::Lease),
        ("INSERT INTO in_line (session, contract, ask) VALUES ('quiet-heron', '1', 1)", Broken::InLine),
        ("UPDATE session_head SET facts = 5", Broken::Head),
        ("DELETE FROM session_head", Broken::Head),
    ];
    for (sql, broken) in changes {
        let dir = tempdir().unwrap();
        let (journal, lease) = begin(dir.path()).await;
        let facts = (1..=5).map(fact).chain([heard("hello")]).collect();
        let funded = SessionFact::Funded { money: Msat::from_sat(7).unwrap(), root: None, payment: None };
        journal.append(&lease, Batch { texts: vec![text("hello")], ..batch(&Path::root(1), facts) }).await.unwrap();
        let funding = SessionBatch { at: Millis(1), facts: vec![funded], texts: vec![], done: None };
        journal.append_session(&lease, funding).await.unwrap();
        journal.put(&id(), &"say hello", UnixMs(9)).await.unwrap();
        let head = journal.head(&id()).await.unwrap();
        assert_eq!(journal.verify_chain(&id(), None).await.unwrap(), Ok(head));
        tamper(dir.path(), sql);
        assert_eq!(journal.verify_chain(&id(), None).await.unwrap(), Err(broken.clone()), "{sql}");
        // A damaged session is neither shown nor continued. Texts are checked only when they are read.
        drop(lease);
        if !matches!(broken, Broken::Text { .. }) {
            assert_damaged(&journal.contents(&id()).await.unwrap_err(), sql);
            assert_damaged(&journal.lease(&id(), UnixMs(9)).await.unwrap_err(), sql);
        }
    }
}

/// Checks that an error names the session and the place, and says what to type.
#[track_caller]
fn assert_damaged(error: &JournalError, sql: &str) {
    assert!(matches!(error, JournalError::Corrupt { .. }), "{sql}: {error}");
    let message = error.to_string();
    assert!(
        message.contains("quiet-heron is damaged at ") && message.contains("guildhall verify quiet-heron"),
        "{message}"
    );
}

#[tokio::test]
async fn missing_facts_at_the_end_are_detected() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), (1..=5).map(fact).collect())).await.unwrap();
    let bill = journal.head(&id()).await.unwrap().to_string();
    journal.append(&lease, batch(&Path::root(1), (6..=9).map(fact).collect())).await.unwrap();
    let printed = Some(bill.parse().unwrap());
    let later = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(later.map(|head| head.facts), Ok(9), "the head on an older bill is still valid");

    tamper(dir.path(), "DELETE FROM fact WHERE seq > 3");
    let cut = journal.verify_chain(&id(), None).await.unwrap();
    assert_eq!(cut, Err(Broken::Facts { recorded: 9, found: 3 }));
    // A later append does not hide the damage.
    journal.append(&lease, batch(&Path::root(1), vec![fact(7), fact(7)])).await.unwrap();
    let cut = journal.verify_chain(&id(), None).await.unwrap();
    assert_eq!(cut, Err(Broken::Fact { seq: 4 }));
}

#[tokio::test]
async fn only_a_printed_head_detects_recomputed_hashes() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), (1..=5).map(fact).collect())).await.unwrap();
    let printed = Some(journal.head(&id()).await.unwrap());
    drop(lease);
    // A journal in which the last two facts were never stored: all its hashes are right.
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), (1..=3).map(fact).collect())).await.unwrap();
    assert_eq!(journal.verify_chain(&id(), None).await.unwrap().map(|head| head.facts), Ok(3));
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    let cut = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(cut, Err(Broken::Cut { of: Chain::Facts, printed: 5, found: 3 }));

    // New facts in place of the deleted ones are detected, too.
    journal.append(&lease, batch(&Path::root(1), vec![fact(7), fact(7)])).await.unwrap();
    let another = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(another, Err(Broken::OtherJournal { of: Chain::Facts, seq: 5 }));
}

#[tokio::test]
async fn a_deleted_session_is_detected() {
    let dir = tempdir().unwrap();
    let (journal, _lease) = begin(dir.path()).await;
    for id in ["second", "third"] {
        journal.create(new(id.parse().unwrap())).await.unwrap();
    }
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    tamper(dir.path(), "DELETE FROM session WHERE id = 'second'");
    let stray = HallBroken::Stray { session: "second".into(), table: "session_head" };
    assert_eq!(journal.verify_hall().await.unwrap(), [stray]);
    tamper(dir.path(), "DELETE FROM session_head WHERE session = 'second'");
    let deleted = [HallBroken::Sessions { recorded: 3, found: 2 }];
    assert_eq!(journal.verify_hall().await.unwrap(), deleted);
    assert_eq!(journal.check_listing().await.unwrap(), deleted);
    // Neither a later commit nor a new session hides the damage.
    journal.create(new("fourth".parse().unwrap())).await.unwrap();
    assert_eq!(journal.verify_hall().await.unwrap(), [HallBroken::Sessions { recorded: 4, found: 3 }]);
    let row = "INSERT INTO session VALUES ('fifth', 1, '/', '')";
    tamper(dir.path(), row);
    let listed = journal.check_listing().await.unwrap();
    assert!(listed.contains(&HallBroken::Unknown { session: "fifth".into() }), "{listed:?}");
}

#[tokio::test]
async fn a_dropped_definition_is_reported() {
    let dir = tempdir().unwrap();
    let (journal, _lease) = begin(dir.path()).await;
    // Tables that other programs add are ignored.
    crate::journal::raw(dir.path()).execute_batch("CREATE TABLE notes (text TEXT); ANALYZE").unwrap();
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    let dropped = "DROP TRIGGER fact_stays; DROP INDEX inbox_open";
    crate::journal::raw(dir.path()).execute_batch(dropped).unwrap();
    let named = ["fact_stays", "inbox_open"].map(|name| HallBroken::Definition { name: name.into() });
    assert_eq!(journal.verify_hall().await.unwrap(), named);
}

#[tokio::test]
async fn a_later_commit_does_not_hide_damage_of_the_hall_s_head() {
    for (sql, broken) in [
        ("UPDATE hall_head SET commits = commits - 1", HallBroken::Head),
        ("UPDATE hall_head SET sessions = 7", HallBroken::Head),
        ("UPDATE hall_head SET heads = zeroblob(32)", HallBroken::Head),
        ("UPDATE hall_head SET hash = zeroblob(32)", HallBroken::Head),
        ("UPDATE hall_head SET commits = 9223372036854775807", HallBroken::Head),
        ("DELETE FROM hall_head", HallBroken::HeadMissing),
    ] {
        let dir = tempdir().unwrap();
        let (journal, lease) = begin(dir.path()).await;
        tamper(dir.path(), sql);
        assert_eq!(journal.verify_hall().await.unwrap(), [broken], "{sql}");
        // The session can continue, and the damage is still reported.
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
        journal.create(new("second".parse().unwrap())).await.unwrap();
        assert_eq!(journal.verify_hall().await.unwrap().len(), 1, "{sql}");
    }
}

#[tokio::test]
async fn a_changed_text_is_reported_when_it_is_read() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let batch_with_text = Batch { texts: vec![text("hello")], ..batch(&Path::root(1), vec![heard("hello")]) };
    journal.append(&lease, batch_with_text).await.unwrap();
    tamper(dir.path(), "UPDATE text SET bytes = CAST('jello' AS BLOB)");
    let hash = hash_text(b"hello");
    let damaged = journal.text(hash).await.unwrap_err();
    assert!(matches!(damaged, JournalError::TextDamaged { hash: named } if named == hash), "{damaged}");
    assert!(damaged.to_string().contains(&hash.to_string()), "{damaged}");
    assert_eq!(journal.contents(&id()).await.unwrap().facts.len(), 1, "the rest can be read");
    // Storing the same text again replaces the damaged one.
    let again = Batch { texts: vec![text("hello")], ..batch(&Path::root(1), vec![heard("hello")]) };
    journal.append(&lease, again).await.unwrap();
    assert_eq!(journal.text(hash).await.unwrap().as_deref(), Some(&b"hello"[..]));
    assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_fact_that_cannot_be_read_is_reported() {
    for sql in [
        "UPDATE fact SET body = '{\"compacted\":{}}' WHERE seq = 2",
        "UPDATE fact SET body = '' WHERE seq = 2",
        "UPDATE fact SET body = CAST(x'ff' AS TEXT) WHERE seq = 2",
        "UPDATE fact SET contract = '1..1' WHERE seq = 2",
        "UPDATE fact SET v = 99 WHERE seq = 2",
        "DELETE FROM fact WHERE seq = 2",
    ] {
        let dir = tempdir().unwrap();
        let (journal, lease) = begin(dir.path()).await;
        journal.append(&lease, batch(&Path::root(1), (1..=3).map(fact).collect())).await.unwrap();
        tamper(dir.path(), sql);
        let error = journal.facts(&id(), 1).await.unwrap_err();
        assert!(matches!(&error, JournalError::Corrupt { place, .. } if place == "fact 2"), "{sql}: {error}");
    }
}
