//! Every acknowledged fact is stored: complete, in order, once.

use std::sync::Arc;

use guildhall_kernel::{Cause, FORMAT, Millis, Msat, Path, SessionFact, Stored, TextKind, TextRef};
use guildhall_local::{Batch, Journal, JournalError, SessionBatch, SessionRow, TEXT_BYTES_MAX, UnixMs, hash_text};
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, heard, id, new, raw, resume, text};

#[tokio::test]
async fn facts_are_read_as_they_were_stored_even_after_a_restart() {
    let dir = tempdir().unwrap();
    let root = Path::root(1);
    let (journal, lease) = begin(dir.path()).await;
    let texts = vec![text("hello")];
    let first = Batch { texts, cause: Cause::Opening, ..batch(&root, vec![fact(1), heard("hello")]) };
    let appended = journal.append(&lease, first).await.unwrap();
    assert_eq!(appended.seqs, 1..3);
    // A text that is already stored may be passed again, but need not be.
    let again = Batch { texts: vec![text("hello")], ..batch(&root.hire(1), vec![heard("hello")]) };
    assert_eq!(journal.append(&lease, again).await.unwrap().seqs, 3..4);
    let again = batch(&root.hire(1), vec![heard("hello")]);
    assert_eq!(journal.append(&lease, again).await.unwrap().seqs, 4..5);
    let head = journal.head(&id()).await.unwrap();
    drop(lease);
    journal.close().await;

    let (journal, _lease) = resume(dir.path()).await;
    let stored = |seq, contract: &Path, cause: Cause, fact| {
        let contract = contract.clone();
        Stored { v: FORMAT, seq, contract, at: Millis(5), cause, fact }
    };
    let all = [
        stored(1, &root, Cause::Opening, fact(1)),
        stored(2, &root, Cause::Opening, heard("hello")),
        stored(3, &root.hire(1), Cause::Tick, heard("hello")),
        stored(4, &root.hire(1), Cause::Tick, heard("hello")),
    ];
    assert_eq!(journal.facts(&id(), 0).await.unwrap(), all);
    assert_eq!(journal.facts(&id(), 4).await.unwrap(), all[3..]);
    assert_eq!(journal.facts(&id(), 5).await.unwrap(), []);
    assert_eq!(journal.contract_facts(&id(), &root).await.unwrap(), all[..2]);
    assert_eq!(journal.text(hash_text(b"hello")).await.unwrap().as_deref(), Some(&b"hello"[..]));
    assert_eq!(journal.text(hash_text(b"never stored")).await.unwrap(), None);
    assert_eq!(journal.head(&id()).await.unwrap(), head);
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
}

#[tokio::test]
async fn a_batch_is_stored_completely_or_not_at_all() {
    let dir = tempdir().unwrap();
    let root = Path::root(1);
    let (journal, lease) = begin(dir.path()).await;
    let head = journal.head(&id()).await.unwrap();

    let missing = Batch { texts: vec![text("here")], ..batch(&root, vec![fact(1), heard("here"), heard("not here")]) };
    let refused = journal.append(&lease, missing).await.unwrap_err();
    assert!(matches!(refused, JournalError::TextMissing { hash } if hash == hash_text(b"not here")), "{refused}");

    let (named, _) = text("this");
    let other = Batch { texts: vec![(named, b"that".to_vec())], ..batch(&root, vec![fact(1)]) };
    let refused = journal.append(&lease, other).await.unwrap_err();
    assert!(matches!(refused, JournalError::TextMismatch { .. }), "{refused}");
    let longer = TextRef { bytes: 5, ..named };
    let other = Batch { texts: vec![(longer, b"this".to_vec())], ..batch(&root, vec![fact(1)]) };
    let refused = journal.append(&lease, other).await.unwrap_err();
    assert!(matches!(refused, JournalError::TextMismatch { .. }), "{refused}");
    let endless = Batch { texts: vec![(named, vec![0; TEXT_BYTES_MAX + 1])], ..batch(&root, vec![]) };
    let refused = journal.append(&lease, endless).await.unwrap_err();
    assert!(matches!(refused, JournalError::TextTooLong { .. }), "{refused}");

    assert_eq!(journal.head(&id()).await.unwrap(), head);
    assert_eq!(journal.text(hash_text(b"here")).await.unwrap(), None);
    // A refusal affects only one request: the next request is stored.
    assert_eq!(journal.append(&lease, batch(&root, vec![fact(1)])).await.unwrap().seqs, 1..2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_contracts_share_a_commit_and_a_refusal_affects_only_its_own_job() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let lease = Arc::new(lease);
    let before = journal.counts();
    let mut tasks = tokio::task::JoinSet::new();
    for contract in 1..=64 {
        let (journal, lease) = (journal.clone(), Arc::clone(&lease));
        tasks.spawn(async move {
            let path = Path::root(contract);
            for n in 1..=20 {
                let appended = journal.append(&lease, batch(&path, vec![fact(n), fact(n)])).await.unwrap();
                assert_eq!(appended.seqs.end - appended.seqs.start, 2);
                let refused =
                    journal.append(&lease, batch(&path, vec![fact(n), heard("this text is not stored")])).await;
                assert!(matches!(refused, Err(JournalError::TextMissing { .. })));
            }
        });
    }
    tasks.join_all().await;
    let after = journal.counts();
    let (jobs, commits) = (after.jobs - before.jobs, after.commits - before.commits);
    assert_eq!(jobs, 64 * 20 * 2);
    assert!(commits < jobs / 4, "{commits} commits for {jobs} jobs");
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 64 * 20 * 2);
    let facts = journal.contract_facts(&id(), &Path::root(7)).await.unwrap();
    let order: Vec<_> = facts.into_iter().map(|stored| stored.fact).collect();
    assert_eq!(order, (1..=20).flat_map(|n| [fact(n), fact(n)]).collect::<Vec<_>>());
    assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
}

#[tokio::test]
async fn the_account_has_a_chain_of_its_own() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let (prices, bytes) = text("a price table");
    let prices = TextRef { kind: TextKind::Prices, ..prices };
    let money = Msat::from_sat(100).unwrap();
    let facts = vec![
        SessionFact::Funded { money, root: None, payment: None },
        SessionFact::Requested { root: Path::root(1), money, prices },
    ];
    let unpriced = SessionBatch { at: Millis(1), facts: facts.clone(), texts: vec![], done: None };
    let refused = journal.append_session(&lease, unpriced.clone()).await.unwrap_err();
    assert!(matches!(refused, JournalError::TextMissing { .. }), "{refused}");
    let complete = SessionBatch { texts: vec![(prices, bytes)], ..unpriced };
    assert_eq!(journal.append_session(&lease, complete).await.unwrap().seqs, 1..3);
    assert_eq!(journal.account(&id()).await.unwrap(), facts);
    let head = journal.head(&id()).await.unwrap();
    assert_eq!((head.facts, head.account), (0, 2));
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
}

#[tokio::test]
async fn sessions_are_listed_newest_first_and_created_once() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    let refused = journal.create(new(id())).await.unwrap_err();
    assert!(matches!(refused, JournalError::SessionExists { .. }), "{refused}");
    let newest = guildhall_local::NewSession { created_at: UnixMs(9_000), ..new("later".parse().unwrap()) };
    journal.create(newest).await.unwrap();
    let listed = |id, created_at, facts| SessionRow {
        id,
        created_at: UnixMs(created_at),
        project: "/home/ada/ship".into(),
        label: "Fix the build".into(),
        facts,
    };
    let all = [listed("later".parse().unwrap(), 9_000, 0), listed(id(), 1_000, 1)];
    assert_eq!(journal.sessions().await.unwrap(), all);
    let unknown = "unknown-session".parse().unwrap();
    let refused = journal.facts(&unknown, 1).await.unwrap_err();
    assert!(matches!(refused, JournalError::UnknownSession { .. }), "{refused}");
    assert!(matches!(journal.lease(&unknown, UnixMs(0)).await, Err(JournalError::UnknownSession { .. })));
}

#[tokio::test]
async fn triggers_prevent_accidental_changes_of_facts() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    for sql in ["UPDATE fact SET at = 0", "DELETE FROM fact"] {
        let refused = raw(dir.path()).execute_batch(sql).unwrap_err().to_string();
        assert!(refused.contains("a fact "), "{refused}");
    }
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_facts_are_there_after_a_restart() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    for hundred in 0..200 {
        let facts = (0..500).map(|n| fact(hundred * 500 + n)).collect();
        journal.append(&lease, batch(&Path::root(hundred + 1), facts)).await.unwrap();
    }
    let head = journal.head(&id()).await.unwrap();
    drop(lease);
    journal.close().await;
    let journal = Journal::open(dir.path()).unwrap();
    let facts = journal.facts(&id(), 1).await.unwrap();
    assert_eq!(facts.len(), 100_000);
    assert!(facts.iter().zip(0..).all(|(stored, n)| stored.fact == fact(n)));
    assert_eq!(journal.verify_chain(&id(), Some(head)).await.unwrap(), Ok(head));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_stored_files() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempdir().unwrap();
    let dir = parent.path().join("deep").join("hall");
    let (journal, lease) = begin(&dir).await;
    journal.append(&lease, batch(&Path::root(1), vec![fact(1)])).await.unwrap();
    // Another open handle prevents the removal of the log and its index.
    let reading = Journal::open(&dir).unwrap();
    reading.sessions().await.unwrap();
    drop(lease);
    journal.close().await;
    let mut open = vec![parent.path().join("deep")];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        if path.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
        seen += 1;
    }
    assert!(seen >= 8, "four directories, the database, its log and index, and the lock: {seen}");
}

#[tokio::test]
async fn the_newest_fact_of_a_contract_ignores_other_contracts() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let (root, hire) = (Path::root(1), Path::root(1).hire(1));
    journal.append(&lease, batch(&root, vec![fact(1), fact(2)])).await.unwrap();
    journal.append(&lease, batch(&hire, vec![fact(3)])).await.unwrap();
    let newest = async |path: &Path| journal.newest_fact(&id(), path).await.unwrap().map(|stored| stored.fact);
    assert_eq!((newest(&root).await, newest(&hire).await), (Some(fact(2)), Some(fact(3))));
    assert_eq!(newest(&hire.hire(1)).await, None);
}
