//! Following a session: facts and facts of the account in one order, from any place, however many follow.

use std::sync::Arc;
use std::time::Duration;

use guildhall_kernel::{Millis, Msat, Path, SessionFact};
use guildhall_local::{
    Batch, Cursor, Event, EventKind, Events, Journal, JournalError, Lease, SessionBatch, UnixMs, unix_now,
};
use tempfile::tempdir;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::journal::treasury::{fund, pay, sat};
use crate::journal::{batch, begin, fact, id};

/// Longer than any event needs, even if another process stores it.
const WAIT_MAX: Duration = Duration::from_secs(1);

fn funded() -> SessionFact {
    SessionFact::Funded { money: Msat::from_sat(1).unwrap(), root: None, payment: None }
}

/// Stores facts of the account.
async fn pay_in(journal: &Journal, lease: &Lease, count: usize) {
    let facts = vec![funded(); count];
    journal.append_session(lease, SessionBatch { at: Millis(5), facts, texts: vec![], done: None }).await.unwrap();
}

async fn store(journal: &Journal, lease: &Lease, count: usize) {
    journal.append(lease, batch(&Path::root(1), vec![fact(1); count])).await.unwrap();
}

/// Stores events of every kind.
async fn store_mixed(journal: &Journal, lease: &Lease) {
    pay_in(journal, lease, 2).await;
    store(journal, lease, 2).await;
    let both = Batch { account: vec![funded()], ..batch(&Path::root(1), vec![fact(2)]) };
    journal.append(lease, both).await.unwrap();
    pay_in(journal, lease, 1).await;
}

const MIXED: [&str; 7] =
    ["0.1 account", "0.2 account", "1.2 fact", "2.2 fact", "2.3 account", "3.3 fact", "3.4 account"];

fn describe(event: &Event) -> String {
    let kind = match &event.kind {
        EventKind::Fact(stored) => {
            assert_eq!(stored.seq, event.id.facts);
            "fact"
        }
        EventKind::Account(fact) => {
            assert_eq!((fact.after, fact.n), (event.id.facts, event.id.account));
            "account"
        }
    };
    format!("{} {kind}", event.id)
}

/// Returns the events that are stored after this place, as a new follower gets them.
async fn rest(journal: &Journal, after: Cursor) -> Vec<String> {
    let (mut events, mut found) = (journal.follow(&id(), after), Vec::new());
    while let Some(event) = events.try_next().await.unwrap() {
        found.push(describe(&event));
    }
    found
}

async fn next(events: &mut Events) -> Arc<Event> {
    timeout(WAIT_MAX, events.next()).await.expect("the event comes in time").unwrap()
}

async fn next_ones(events: &mut Events, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(describe(&*next(events).await));
    }
    found
}

#[tokio::test]
async fn facts_and_facts_of_the_account_have_one_order_live_and_stored() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let mut live = journal.follow(&id(), Cursor::START);
    assert!(live.try_next().await.unwrap().is_none());
    let before = unix_now();
    store_mixed(&journal, &lease).await;
    for expected in MIXED {
        let event = next(&mut live).await;
        let durable_at = event.durable_at.expect("this process stored the event, and announced it");
        assert_eq!((describe(&event), (before..=unix_now()).contains(&durable_at)), (expected.to_owned(), true));
    }
    for limit in 1..=8 {
        let (mut found, mut after) = (Vec::new(), Cursor::START);
        loop {
            let page = journal.events(&id(), after, limit).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.id;
            found.extend(page.iter().map(describe));
        }
        assert_eq!(found, MIXED, "pages of {limit}");
    }
    assert_eq!(journal.end(&id()).await.unwrap().to_string(), "3.4");
}

#[tokio::test]
async fn a_reader_that_continues_after_any_id_gets_the_rest() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let mut live = journal.follow(&id(), Cursor::START);
    assert!(live.try_next().await.unwrap().is_none());
    store_mixed(&journal, &lease).await;
    let other = Journal::open(dir.path()).unwrap();
    for reading in [&journal, &other] {
        assert_eq!(rest(reading, Cursor::START).await, MIXED);
        for (index, event) in MIXED.iter().enumerate() {
            let id = event.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(rest(reading, id).await, MIXED[index + 1..], "after {id}");
        }
    }
}

#[tokio::test]
async fn an_id_that_no_event_has_is_refused() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    store_mixed(&journal, &lease).await;
    let known = |facts, account| {
        let cursor = Cursor { facts, account };
        cursor == Cursor::START || MIXED.iter().any(|event| event.starts_with(&format!("{cursor} ")))
    };
    for (facts, account) in (0..6).flat_map(|facts| (0..6).map(move |account| (facts, account))) {
        let after = Cursor { facts, account };
        let outcomes = [
            journal.events(&id(), after, 9).await.map(|_| ()),
            journal.follow(&id(), after).try_next().await.map(|_| ()),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(()) => assert!(known(facts, account), "{after}"),
                Err(JournalError::UnknownEvent { id, .. }) => assert!(!known(facts, account) && id == after, "{after}"),
                Err(other) => panic!("{other}"),
            }
        }
    }
    let nobody = "no-session".parse().unwrap();
    let refused = journal.follow(&nobody, Cursor::START).next().await;
    assert!(matches!(refused, Err(JournalError::UnknownSession { .. })));
}

#[tokio::test]
async fn a_reader_gets_the_events_of_another_process() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    let mut events = other.follow(&id(), Cursor::START);
    assert!(events.try_next().await.unwrap().is_none());
    store_mixed(&journal, &lease).await;
    assert_eq!(next_ones(&mut events, 7).await, MIXED);
    store(&journal, &lease, 1).await;
    let event = next(&mut events).await;
    assert_eq!((event.id.to_string(), event.durable_at), ("4.4".to_owned(), None));
}

#[tokio::test]
async fn events_of_two_processes_that_write_one_session_arrive_in_order() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    drop(fund(&journal, &lease, 1_000).await);
    let other = Journal::open(dir.path()).unwrap();
    let treasury = other.lease_treasury(UnixMs(6)).await.unwrap().expect("the lease is free");
    let start = journal.end(&id()).await.unwrap();
    let mut both = [journal.follow(&id(), start), other.follow(&id(), start)];
    for events in &mut both {
        assert!(events.try_next().await.unwrap().is_none());
    }
    let mut expected = Vec::new();
    for round in 1..=20 {
        store(&journal, &lease, 1).await;
        // The other process stores facts of the treasury and a fact of the session's account.
        pay(&other, &treasury, u8::try_from(100 + round).unwrap()).await;
        store(&journal, &lease, 1).await;
        let (facts, account) = (2 * round, start.account + round);
        let ids = [(facts - 1, account - 1, "fact"), (facts - 1, account, "account"), (facts, account, "fact")];
        expected.extend(ids.map(|(facts, account, kind)| format!("{facts}.{account} {kind}")));
    }
    for events in &mut both {
        assert_eq!(next_ones(events, expected.len()).await, expected);
    }
}

#[tokio::test]
async fn facts_of_the_account_that_belong_to_a_payment_arrive() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let mut events = journal.follow(&id(), Cursor::START);
    assert!(events.try_next().await.unwrap().is_none());
    fund(&journal, &lease, 100).await;
    let (opened, paid) = (next(&mut events).await, next(&mut events).await);
    assert_eq!((describe(&opened), describe(&paid)), ("0.1 account".to_owned(), "0.2 account".to_owned()));
    assert!(paid.durable_at.is_some(), "it was announced, and not found by a check");
    let EventKind::Account(paid) = &paid.kind else { panic!("{paid:?}") };
    assert!(matches!(paid.fact, SessionFact::Funded { money, .. } if money == sat(100)), "{paid:?}");
}

#[tokio::test]
async fn a_reader_that_is_far_behind_gets_every_event_and_delays_nobody() {
    const BEFORE: usize = 4_000;
    const LATER: usize = 2_000;
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    let mut slow = journal.follow(&id(), Cursor::START);
    assert!(slow.try_next().await.unwrap().is_none());
    for part in [BEFORE, LATER] {
        for _ in 0..part / 100 {
            pay_in(&journal, &lease, 50).await;
            store(&journal, &lease, 50).await;
        }
        // Everything is stored while the reader has taken one event only.
        assert_eq!(describe(&*next(&mut slow).await), if part == BEFORE { "0.1 account" } else { "0.2 account" });
    }
    let mut last = Cursor { facts: 0, account: 2 };
    for index in 2..(BEFORE + LATER) as u64 {
        last = next(&mut slow).await.id;
        let (earlier, nth) = (index / 100 * 50, index % 100 + 1);
        assert_eq!((last.facts, last.account), (earlier + nth.saturating_sub(50), earlier + nth.min(50)));
    }
    assert_eq!(last, journal.end(&id()).await.unwrap());
    assert!(slow.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn five_hundred_idle_readers_cause_no_reads_and_share_one_read_of_what_another_process_stored() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    store_mixed(&journal, &lease).await;
    let other = Journal::open(dir.path()).unwrap();
    let mut waiting = JoinSet::new();
    let all_wait = Arc::new(tokio::sync::Semaphore::new(0));
    for _ in 0..500 {
        let (mut events, all_wait) = (other.follow(&id(), Cursor::START), Arc::clone(&all_wait));
        waiting.spawn(async move {
            assert_eq!(next_ones(&mut events, 7).await, MIXED);
            all_wait.add_permits(1);
            events.next().await.unwrap()
        });
    }
    let _all = all_wait.acquire_many(500).await.unwrap();
    // The thread that checks the database reads once when it begins. There is no event to wait for: nothing must happen.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = other.counts().reads;
    assert!(before < 10, "the first reader reads for all: {before}");
    tokio::time::sleep(WAIT_MAX).await;
    assert_eq!(other.counts().reads, before);
    store(&journal, &lease, 1).await;
    let events = timeout(WAIT_MAX, waiting.join_all()).await.expect("the event comes in time");
    assert!(events.iter().all(|event| Arc::ptr_eq(event, &events[0])), "all share one event");
    assert!(other.counts().reads <= before + 3, "{} reads", other.counts().reads - before);
}

#[tokio::test]
async fn a_command_of_another_process_is_noticed_and_waiting_for_it_causes_no_reads() {
    let dir = tempdir().unwrap();
    let (journal, _lease) = begin(dir.path()).await;
    let other = Journal::open(dir.path()).unwrap();
    let waiting = tokio::spawn({
        let journal = journal.clone();
        async move { journal.wait_after(&id(), 0).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = journal.counts().reads;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(journal.counts().reads, before);
    other.put(&id(), &"stop", UnixMs(1)).await.unwrap();
    let commands = timeout(WAIT_MAX, waiting).await.expect("the command comes in time").unwrap().unwrap();
    assert_eq!(commands[0].command, "stop");
    let session = id();
    let (waited, put) = tokio::join!(timeout(WAIT_MAX, journal.wait_after(&session, 1)), async {
        tokio::task::yield_now().await;
        journal.put(&id(), &"again", UnixMs(2)).await
    });
    assert_eq!((put.unwrap(), waited.unwrap().unwrap()[0].number), (2, 2));
}

#[tokio::test]
async fn a_journal_can_be_closed_while_its_check_waits() {
    let dir = tempdir().unwrap();
    let (journal, lease) = begin(dir.path()).await;
    store_mixed(&journal, &lease).await;
    let mut events = journal.follow(&id(), Cursor::START);
    assert_eq!(next_ones(&mut events, 7).await, MIXED);
    drop((events, lease));
    timeout(WAIT_MAX, journal.close()).await.expect("closing waits for nothing");
}
