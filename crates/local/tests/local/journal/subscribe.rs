//! Subscriptions: a subscriber gets every fact once, in order, from any starting point.

use std::sync::Arc;

use guildhall_kernel::Path;
use guildhall_local::Journal;
use tempfile::tempdir;

use crate::journal::{batch, begin, fact, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_get_every_fact_exactly_once() {
    const CONTRACTS: u32 = 16;
    const STEPS: u32 = 50;
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let lease = Arc::new(lease);
    let total = u64::from(CONTRACTS * STEPS * 2);
    let mut writers = tokio::task::JoinSet::new();
    let mut readers = tokio::task::JoinSet::new();
    for contract in 1..=CONTRACTS {
        let (writing, lease) = (journal.clone(), Arc::clone(&lease));
        writers.spawn(async move {
            for n in 0..STEPS {
                writing.append(&lease, batch(&Path::root(contract), vec![fact(n), fact(n)])).await.unwrap();
            }
        });
        // Each subscriber starts at another fact while others write. One in four uses another handle, as another process
        // would.
        let from = u64::from(contract) * 20;
        let reading = if contract % 4 == 0 { Journal::open(dir.path()).unwrap() } else { journal.clone() };
        readers.spawn(async move {
            let mut facts = reading.subscribe(&id(), from);
            let mut seqs = Vec::new();
            while seqs.last() != Some(&total) {
                seqs.push(facts.next().await.unwrap().seq);
            }
            assert_eq!(seqs, (from..=total).collect::<Vec<_>>());
            assert_eq!(facts.try_next().await.unwrap(), None);
        });
    }
    writers.join_all().await;
    readers.join_all().await;
}

#[tokio::test]
async fn a_subscriber_that_stops_waiting_misses_no_fact() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let mut facts = journal.subscribe(&id(), 1);
    assert_eq!(facts.try_next().await.unwrap(), None);
    let wait_max = std::time::Duration::from_millis(5);
    assert!(tokio::time::timeout(wait_max, facts.next()).await.is_err());
    journal.append(&lease, batch(&Path::root(1), vec![fact(1), fact(2)])).await.unwrap();
    assert_eq!(facts.next().await.unwrap().fact, fact(1));
    assert_eq!(facts.try_next().await.unwrap().unwrap().fact, fact(2));
}
