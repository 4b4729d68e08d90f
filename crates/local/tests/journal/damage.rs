//! A disk that is full, files that are damaged, rows that were changed: said plainly, never a panic, nothing lost.

use std::fs;

use guildhall_kernel::{Millis, Msat, Path, SessionFact};
use guildhall_local::{Batch, Broken, Journal, JournalError, Limits, SessionBatch, UnixMs, hash_text};
use tempfile::tempdir;

use crate::{batch, begin, fact, heard, id, new, tamper, text};

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
        let spoken = Batch { texts: vec![text(&words)], ..batch(&Path::root(1), facts) };
        match journal.append(&lease, spoken).await {
            Ok(_) => acked += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, JournalError::DiskFull { .. }), "{full}");
    assert!(full.to_string().contains("goes on with `guildhall resume`"), "{full}");
    assert!(acked > 10, "{acked}");
    let later = journal.append(&lease, batch(&Path::root(1), vec![fact(0)])).await.unwrap_err();
    let JournalError::Stopped { why } = &later else { panic!("{later}") };
    assert!(matches!(**why, JournalError::DiskFull { .. }), "{later}");
    // Reading goes on.
    let facts = journal.facts(&id(), 1).await.unwrap();
    assert_eq!(facts.len(), 2 * acked as usize);
    let head = journal.head(&id()).await.unwrap();
    drop(lease);
    journal.close().await;

    // With room again, so does writing.
    let (journal, lease) = crate::go_on(dir.path()).await;
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
    journal.append(&lease, batch(&Path::root(1), vec![fact(0)])).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_left_as_it_is() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("journal.db");
    fs::write(&file, "this is a shopping list, and rather a long one at that ".repeat(200)).unwrap();
    let before = fs::read(&file).unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(&refused, JournalError::Damaged { file: named, .. } if *named == file), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::remove_file(&file).unwrap();
    crate::raw(dir.path()).execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(refused, JournalError::Foreign { .. }), "{refused}");
}

#[tokio::test]
async fn pages_full_of_noise_are_named_as_damage() {
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
async fn a_changed_row_is_named() {
    let changes = [
        ("UPDATE fact SET body = replace(body, '3', '4') WHERE seq = 3", Broken::Fact { seq: 3 }),
        ("UPDATE fact SET body = CAST(x'ff' AS TEXT) WHERE seq = 3", Broken::Fact { seq: 3 }),
        ("UPDATE fact SET at = 6 WHERE seq = 2", Broken::Fact { seq: 2 }),
        ("UPDATE fact SET contract = '1.1' WHERE seq = 1", Broken::Fact { seq: 1 }),
        ("UPDATE fact SET cause = '\"opening\"' WHERE seq = 4", Broken::Fact { seq: 4 }),
        ("UPDATE fact SET v = 2 WHERE seq = 4", Broken::Fact { seq: 4 }),
        ("UPDATE fact SET hash = zeroblob(32) WHERE seq = 5", Broken::Fact { seq: 5 }),
        ("DELETE FROM fact WHERE seq = 3", Broken::Fact { seq: 4 }),
        ("UPDATE fact SET seq = seq + 10 WHERE seq = 5", Broken::Fact { seq: 6 }),
        ("UPDATE session_fact SET body = replace(body, '7000', '9000')", Broken::Account { n: 1 }),
        ("UPDATE session_fact SET after = 3", Broken::Account { n: 1 }),
        ("UPDATE text SET bytes = x'00'", Broken::Text { hash: hash_text(b"hello") }),
        ("DELETE FROM text", Broken::Text { hash: hash_text(b"hello") }),
        ("DELETE FROM fact WHERE seq = 6", Broken::Cut { printed: 6, found: 5 }),
    ];
    for (sql, broken) in changes {
        let dir = tempdir().unwrap();
        let (journal, lease) = begin(dir.path()).await;
        let facts = (1..=5).map(fact).chain([heard("hello")]).collect();
        let funded = SessionFact::Funded { money: Msat::from_sat(7).unwrap(), root: None };
        journal.append(&lease, Batch { texts: vec![text("hello")], ..batch(&Path::root(1), facts) }).await.unwrap();
        let funding = SessionBatch { at: Millis(1), facts: vec![funded], texts: vec![], done: None };
        journal.append_session(&lease, funding).await.unwrap();
        let head = journal.head(&id()).await.unwrap();
        assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
        tamper(dir.path(), sql);
        assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Err(broken), "{sql}");
    }
}

#[tokio::test]
async fn a_tail_that_was_cut_off_is_found_by_the_printed_head() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), (1..=5).map(fact).collect())).await.unwrap();
    let bill = journal.head(&id()).await.unwrap().to_string();
    journal.append(&lease, batch(&Path::root(1), (6..=9).map(fact).collect())).await.unwrap();
    let printed = Some(bill.parse().unwrap());
    let later = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(later.map(|head| head.facts), Ok(9), "an older bill is still true");

    tamper(dir.path(), "DELETE FROM fact WHERE seq > 3");
    let left = journal.verify_chain(&id(), None).await.unwrap();
    assert_eq!(left.map(|head| head.facts), Ok(3), "what is left is a sound chain");
    let cut = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(cut, Err(Broken::Cut { printed: 5, found: 3 }));

    // Whoever writes it on differently is found as well.
    journal.append(&lease, batch(&Path::root(1), vec![fact(7), fact(7)])).await.unwrap();
    let another = journal.verify_chain(&id(), printed).await.unwrap();
    assert_eq!(another, Err(Broken::Another { seq: 5 }));
}

#[tokio::test]
async fn a_fact_that_cannot_be_read_is_named() {
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
