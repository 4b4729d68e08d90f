//! Every released format can be opened, a newer format is not changed, and an incomplete new journal is created again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::{Cause, Fact, Millis, Msat, Network, Path, SessionFact, TreasuryFact, WalletId};
use guildhall_local::{Batch, Head, Journal, JournalError, SCHEMA, SessionBatch, TreasuryBatch, UnixMs};
use tempfile::tempdir;

use crate::journal::crash::start;
use crate::journal::{batch, begin, fact, heard, id, raw, resume, text};

/// A journal of format 1. No current program can write this format.
fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1.db")
}

/// The head that was printed when the fixture was written.
const PRINTED: &str = "3:4fcf2779c8f9fe9a9d5881fc55324c45414271901b9b00fa8d40686f50164047:\
                       1:d1939555925824a69bd7e81278a806d5691120e4539a1c88704d0f5827b9ec02";

/// The head that was printed when the fixture of format 3 was written.
const PRINTED_BY_FORMAT_3: &str = "3:77e6797ad1e0d451d43cf13cabab9eebba55a91ab2b1f4d35deacb54b460fc74:\
                                   1:34813e3f51cf42070af3666af133b15cafb3a5373aefdb58752871f9028f3fa1";

/// Format 2 is format 1 with one more table.
const FORMAT_2: &str = concat!(include_str!("../../../src/journal/format_2.sql"), "PRAGMA user_version = 2;");

async fn fill(dir: &FilePath) -> Journal {
    let (journal, lease) = begin(dir).await;
    let opening = Batch {
        texts: vec![text("hello")],
        cause: Cause::Opening,
        ..batch(&Path::root(1), vec![heard("hello"), fact(1)])
    };
    journal.append(&lease, opening).await.unwrap();
    journal.append(&lease, batch(&Path::root(1).hire(2), vec![fact(2)])).await.unwrap();
    let funded = SessionFact::Funded { money: Msat::from_sat(7).unwrap(), root: None, payment: None };
    let funding = SessionBatch { at: Millis(1), facts: vec![funded], texts: vec![], done: None };
    journal.append_session(&lease, funding).await.unwrap();
    journal.put(&id(), &"stop", UnixMs(9)).await.unwrap();
    journal
}

#[tokio::test]
async fn older_formats_open_and_get_heads() {
    let expected: [Fact; 3] = [heard("hello"), fact(1), fact(2)];
    let head: Head = PRINTED.parse().unwrap();
    for step in ["", FORMAT_2] {
        let dir = tempdir().unwrap();
        fs::copy(fixture(), dir.path().join("journal.db")).unwrap();
        raw(dir.path()).execute_batch(step).unwrap();
        let (journal, lease) = resume(dir.path()).await;
        let facts = journal.facts(&id(), 1).await.unwrap();
        assert_eq!(facts.iter().map(|stored| stored.fact.clone()).collect::<Vec<_>>(), expected);
        assert!(facts.iter().all(|stored| stored.v == 1), "stored facts are not rewritten");
        assert_eq!(journal.account(&id()).await.unwrap().len(), 1);
        assert_eq!(journal.take_after(&id(), 0).await.unwrap()[0].command, "stop");
        assert_eq!(lease.holder().epoch, 2);
        // The hashes are unchanged, too: a head that was printed then is still valid.
        assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
        assert_eq!(journal.verify_hall().await.unwrap(), []);
        journal.append(&lease, batch(&Path::root(1), vec![fact(3)])).await.unwrap();
        assert_eq!(journal.put(&id(), &"continue", UnixMs(10)).await.unwrap(), 2);
        assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap().map(|head| head.facts), Ok(4));
        drop(lease);
        journal.close().await;
        // The new heads are checked like any others.
        crate::journal::tamper(dir.path(), "DELETE FROM fact WHERE seq = 4");
        let journal = Journal::open(dir.path()).unwrap();
        assert!(journal.verify_chain(&id(), None).await.unwrap().is_err());
    }
}

#[tokio::test]
async fn format_3_opens_with_the_same_heads_and_gets_a_treasury() {
    let dir = tempdir().unwrap();
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-3.db");
    fs::copy(fixture, dir.path().join("journal.db")).unwrap();
    let (journal, lease) = resume(dir.path()).await;
    let head: Head = PRINTED_BY_FORMAT_3.parse().unwrap();
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    assert_eq!(journal.treasury().await.unwrap(), []);
    let funded = SessionFact::Funded { money: Msat::from_sat(7).unwrap(), root: None, payment: None };
    let funding = SessionBatch { at: Millis(1), facts: vec![funded], texts: vec![], done: None };
    journal.append_session(&lease, funding).await.unwrap();
    let (url, bytes) = text("http://127.0.0.1");
    let wallet = WalletId::parse("w1").unwrap();
    let facts = vec![TreasuryFact::Connected { wallet, network: Network::Bitcoin, url }];
    journal.append_treasury(None, TreasuryBatch { at: UnixMs(1), facts, texts: vec![(url, bytes)] }).await.unwrap();
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    assert_eq!(journal.folded_account(&id()).await.unwrap().free(), Msat::from_sat(14).unwrap());
}

#[tokio::test]
async fn a_damaged_session_of_an_older_format_does_not_block_other_sessions() {
    let dir = tempdir().unwrap();
    fs::copy(fixture(), dir.path().join("journal.db")).unwrap();
    raw(dir.path())
        .execute_batch(
            "INSERT INTO session VALUES ('loud-crow', 1, '/', 'x'), ('odd-owl', 2, '/', 'x'), ('LOUD', 1, '/', 'x');
             INSERT INTO session_fact (session, n, after, at, body, hash) VALUES ('loud-crow', 1, 0, 0, '{}', x'00');
             INSERT INTO fact VALUES ('odd-owl', -1, 1, '1', 0, '1', '1', zeroblob(32));",
        )
        .unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(journal.contents(&id()).await.unwrap().facts.len(), 3);
    let listed: Vec<String> = journal.sessions().await.unwrap().into_iter().map(|row| row.id.to_string()).collect();
    assert_eq!(listed, ["quiet-heron", "odd-owl", "loud-crow"]);
    for damaged in ["loud-crow", "odd-owl"] {
        let damaged = journal.contents(&damaged.parse().unwrap()).await.unwrap_err();
        assert!(matches!(damaged, JournalError::Corrupt { .. }), "{damaged}");
    }
    assert_eq!(journal.verify_hall().await.unwrap().len(), 3, "all three are reported");
}

#[tokio::test]
async fn a_journal_that_another_process_has_open_is_not_converted() {
    let dir = tempdir().unwrap();
    fs::copy(fixture(), dir.path().join("journal.db")).unwrap();
    // The older program has the journal open: it would continue to write rows without heads.
    let other = raw(dir.path());
    other.execute_batch("PRAGMA journal_mode = WAL; SELECT * FROM fact").unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(refused, JournalError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("End that process"), "{refused}");
    let version = other.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(version, 1, "nothing was changed");
    drop(other);
    assert_eq!(Journal::open(dir.path()).unwrap().facts(&id(), 1).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_newer_format_is_refused_and_not_changed() {
    let dir = tempdir().unwrap();
    fill(dir.path()).await.close().await;
    raw(dir.path()).execute_batch("PRAGMA user_version = 7").unwrap();
    let refused = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(refused, JournalError::Newer { found: 7, .. }), "{refused}");
    assert!(refused.to_string().contains("Install the newer guildhall"), "{refused}");
    raw(dir.path()).execute_batch(&format!("PRAGMA user_version = {SCHEMA}")).unwrap();
    assert_eq!(Journal::open(dir.path()).unwrap().facts(&id(), 1).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_refused_journal_keeps_its_log() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(lease);
    journal.close().await;
    let mut child = start("crash::child_that_appends", dir.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("ack ")));
    child.kill().unwrap();
    child.wait().unwrap();
    // The newer program was killed. This program must not write its log back.
    let log = dir.path().join("journal.db-wal");
    let newer = raw(dir.path());
    newer.execute_batch("PRAGMA user_version = 7").unwrap();
    std::mem::forget(newer);
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty());
    assert!(matches!(Journal::open(dir.path()).unwrap_err(), JournalError::Newer { .. }));
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[tokio::test]
async fn an_incomplete_new_journal_is_created_again() {
    for statements in ["", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t"] {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("journal.db"), "").unwrap();
        raw(dir.path()).execute_batch(statements).unwrap();
        let (journal, lease) = begin(dir.path()).await;
        journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_can_create_a_journal_at_the_same_time() {
    for _ in 0..20 {
        let dir = tempdir().unwrap();
        let mut opening = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let dir = dir.path().to_owned();
            opening.spawn_blocking(move || Journal::open(&dir).unwrap());
        }
        let journals = opening.join_all().await;
        assert_eq!(journals[0].sessions().await.unwrap(), []);
    }
}
