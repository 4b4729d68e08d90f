//! Orders that arrive too late, and an inbox that can't be read for a while.

use std::sync::atomic::{AtomicUsize, Ordering};

use guildhall_kernel::{Session, SessionFact};
use guildhall_local::JournalError;

use super::*;

/// An order that adds money to the root.
fn top_up(money: Msat) -> Order {
    Order::new(Path::root(1), Stimulus::TopUp { to: Path::root(1), money, draw: None })
}

/// Funds the session and requests the root of the tests, with the grant of its brief.
async fn request(hall: &Hall<Scripted>) {
    let (brief, texts) = brief();
    let (root, money) = (Path::root(1), brief.grant.money);
    let requested = SessionFact::Requested { root, money, prices: brief.task };
    hall.engine
        .account(vec![SessionFact::Funded { money, root: None, payment: None }, requested], texts)
        .await
        .unwrap();
}

/// Returns the session's free money without the change of its only root, which is stored when the root closes.
async fn late_money(journal: &Journal) -> Msat {
    let account = Session::restore(journal.account(&id()).await.unwrap()).unwrap();
    assert!(account.has_ended(&Path::root(1)), "the root ends in the account with its last fact");
    Msat::new(account.free().get() - (brief().0.grant.money.get() - account.spent().get())).unwrap()
}

async fn assert_inbox_is_empty(journal: &Journal) {
    assert_eq!(journal.take_after(&id(), 0).await.unwrap(), [], "no order is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_a_closed_root_is_added_to_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    request(&hall).await;
    hall.run().await;
    let other = Journal::open(dir.path()).unwrap();
    other.put(&id(), &top_up(sat(500)), unix_now()).await.unwrap();
    let added = until(async || late_money(&other).await != Msat::ZERO);
    tokio::select! {
        why = hall.engine.process_orders(&|why| panic!("{why}")) => panic!("{why}"),
        () = added => {}
    }
    assert_eq!(late_money(&other).await, sat(500));
    assert_inbox_is_empty(&other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_waits_for_a_root_that_has_closed_is_added_when_the_root_runs_again() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    request(&hall).await;
    hall.run().await;
    hall.journal.put(&id(), &top_up(sat(500)), unix_now()).await.unwrap();
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    assert_eq!(late_money(&hall.journal).await, sat(500));
    assert_inbox_is_empty(&hall.journal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_a_root_that_closes_first_is_added_once_however_often_it_is_delivered() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    request(&hall).await;
    hall.run().await;
    // This is the state after a root closed just before its process was killed: the order is in the inbox, and is delivered
    // before anything else.
    let number = hall.journal.put(&id(), &top_up(sat(500)), unix_now()).await.unwrap();
    for _ in 0..3 {
        let again = async {
            let what = Stimulus::TopUp { to: Path::root(1), money: sat(500), draw: None };
            hall.engine.tell(&Path::root(1), number, what, Vec::new());
            hall.engine.finish_orders().await.unwrap();
        };
        let (report, ()) = tokio::join!(biased; hall.run(), again);
        assert_eq!(report.outcome, Outcome::Done);
    }
    assert_eq!(late_money(&hall.journal).await, sat(500));
    assert_inbox_is_empty(&hall.journal).await;
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_a_killed_process_left_in_the_inbox_is_added_while_no_process_runs_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    request(&hall).await;
    hall.run().await;
    hall.journal.put(&id(), &top_up(sat(500)), unix_now()).await.unwrap();
    hall.close().await;
    let journal = Journal::open(dir.path()).unwrap();
    let lease = journal.lease(&id(), unix_now()).await.unwrap();
    for _ in 0..2 {
        journal.keep_late_money(&lease).await.unwrap();
    }
    assert_eq!(late_money(&journal).await, sat(500));
    assert_inbox_is_empty(&journal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_top_up_above_the_largest_sum_is_dropped_and_damages_no_account() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    request(&hall).await;
    hall.run().await;
    hall.journal.put(&id(), &top_up(Msat::SUPPLY), unix_now()).await.unwrap();
    hall.engine.finish_orders().await.unwrap();
    assert_eq!(late_money(&hall.journal).await, Msat::ZERO);
    assert_inbox_is_empty(&hall.journal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_can_t_be_read_for_a_while_causes_one_warning_and_ends_no_session() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let (other, warnings) = (Journal::open(dir.path()).unwrap(), AtomicUsize::new(0));
    let db = Connection::open(dir.path().join("journal.db")).unwrap();
    let order = Order::new(Path::root(1), Stimulus::Cancel);
    let fault = async {
        hall.model.stuck.notified().await;
        db.execute_batch("ALTER TABLE inbox RENAME TO away").unwrap();
        until(async || warnings.load(Ordering::Relaxed) > 0).await;
        db.execute_batch("ALTER TABLE away RENAME TO inbox").unwrap();
        other.put(&id(), &order, unix_now()).await.unwrap();
        std::future::pending::<()>().await;
    };
    let warn = |why: &JournalError| {
        assert!(why.to_string().contains("no such table"), "{why}");
        warnings.fetch_add(1, Ordering::Relaxed);
    };
    let report = tokio::select! {
        report = hall.run() => report,
        why = hall.engine.process_orders(&warn) => panic!("{why}"),
        () = fault => unreachable!("this future never ends"),
    };
    assert_eq!(report.outcome, Outcome::Cancelled, "the order was received");
    assert_eq!(warnings.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_has_stopped_for_good_ends_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let other = Journal::open(dir.path()).unwrap();
    let order = Order::new(Path::root(7), Stimulus::Cancel);
    other.put(&id(), &order, unix_now()).await.unwrap();
    // Marking the order as done fails, which stops the writer.
    let broken = "CREATE TRIGGER broken BEFORE UPDATE ON inbox BEGIN SELECT RAISE(ABORT, 'broken'); END;";
    Connection::open(dir.path().join("journal.db")).unwrap().execute_batch(broken).unwrap();
    let why = hall.engine.process_orders(&|_| {}).await;
    assert!(why.to_string().contains("stores nothing more"), "{why}");
}
