//! Sessions can't create money: budgets and top-ups out of a session's free money, in play money.

use std::sync::Arc;
use std::time::Duration;

use guildhall::kernel::{Path, Refusal, Session, SessionError, SessionFact, Stimulus};
use guildhall::local::{MoneySource, NewSession, Order, SessionBatch, SessionId, unix_now};
use guildhall::{
    Ended, Fact, Hall, HallError, Instruction, Msat, Outcome, Price, REHEARSAL_PRICE, Reply, Running, ToppedUp,
    model_fn,
};
use tokio::sync::Semaphore;

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn id() -> SessionId {
    "brave-otter".parse().unwrap()
}

/// A hall whose model waits for a permit before each reply.
struct World {
    _project: tempfile::TempDir,
    hall: Hall,
    replies: Arc<Semaphore>,
}

impl World {
    /// A hall with a session that has this much play money.
    async fn new(free: Msat, price: Price) -> World {
        let project = tempfile::tempdir().unwrap();
        let replies = Arc::new(Semaphore::new(0));
        let may_reply = Arc::clone(&replies);
        let clerk = model_fn(move |_| {
            let may_reply = Arc::clone(&may_reply);
            async move {
                may_reply.acquire().await.unwrap().forget();
                Reply::words("On Tuesday.")
            }
        });
        let hall = Hall::builder().project(project.path()).model("clerk", clerk, price).build().unwrap();
        let new = NewSession { id: id(), created_at: unix_now(), project: "/ship".into(), label: String::new() };
        hall.journal().create(new).await.unwrap();
        let funded = SessionFact::Funded { money: free, root: None, payment: None };
        let lease = hall.journal().lease(&id(), unix_now()).await.unwrap();
        let at = hall.journal().newest_time(&id()).await.unwrap();
        let batch = SessionBatch { at, facts: vec![funded], texts: Vec::new(), done: None };
        hall.journal().append_session(&lease, batch).await.unwrap();
        World { _project: project, hall, replies }
    }

    async fn account(&self) -> Vec<SessionFact> {
        self.hall.journal().account(&id()).await.unwrap()
    }

    async fn free(&self) -> Msat {
        Session::restore(self.account().await).unwrap().free()
    }

    /// Starts work that waits for its first reply.
    async fn start(&self, budget: Msat) -> Running {
        let mut running = self.hall.run("When?").within(id()).from_balance().budget(budget).start().await.unwrap();
        while !matches!(running.next().await.unwrap().unwrap().fact, Fact::Asked { .. }) {}
        running
    }

    async fn finish(&self, mut running: Running) -> Ended {
        self.replies.add_permits(1);
        let ended = running.wait().await.unwrap();
        assert!(ended.violations.is_empty(), "{:?}", ended.violations);
        ended
    }

    /// Leaves an order for the root without a check, as a program that lost a race would.
    async fn put(&self, money: Msat) -> u64 {
        let what = Stimulus::TopUp { to: Path::root(1), money, draw: None };
        let order = Order { source: MoneySource::Free, ..Order::new(Path::root(1), what) };
        self.hall.journal().put(&id(), &order, unix_now()).await.unwrap()
    }
}

async fn until(happened: impl AsyncFn() -> bool) {
    let wait = async {
        while !happened().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.expect("it happens in time");
}

fn created(account: &[SessionFact]) -> Msat {
    let funded = account.iter().map(|fact| if let SessionFact::Funded { money, .. } = fact { money.get() } else { 0 });
    Msat::new(funded.sum()).unwrap()
}

fn overdrawn(result: Result<impl Sized, HallError>) -> (Msat, Msat) {
    match result.map(drop) {
        Err(HallError::Account(SessionError::Overdrawn { asked, free })) => (asked, free),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_budget_above_the_balance_is_refused_and_nothing_is_stored() {
    let world = World::new(sat(500), REHEARSAL_PRICE).await;
    let work = |world: &World| world.hall.run("When?").from_balance().budget(sat(501));
    assert_eq!(overdrawn(work(&world).within(id()).start().await), (sat(501), sat(500)));
    assert_eq!(world.account().await.len(), 1);
    let ended = world.finish(world.start(sat(100)).await).await;
    let left = Msat::new(500_000 - ended.report.spent.get()).unwrap();
    let before = world.account().await;
    for refused in [work(&world).within(id()), work(&world).after(id())] {
        assert_eq!(overdrawn(refused.start().await), (sat(501), left));
    }
    assert_eq!(world.account().await, before);
    assert_eq!(overdrawn(work(&world).start().await), (sat(501), Msat::ZERO));
    assert_eq!(world.hall.sessions().await.unwrap().len(), 1, "no session was created");
}

#[tokio::test]
async fn without_a_budget_the_work_gets_the_free_balance_and_nothing_is_created() {
    let world = World::new(sat(500), REHEARSAL_PRICE).await;
    world.replies.add_permits(2);
    let first = world.hall.run("When?").within(id()).from_balance().await.unwrap();
    assert_eq!((first.granted, first.report.outcome), (sat(500), Outcome::Done));
    let second = world.hall.run("And where?").after(id()).from_balance().await.unwrap();
    assert_eq!(second.granted, first.report.change);
    assert_eq!(created(&world.account().await), sat(500));
    assert_eq!(world.free().await, second.report.change);
}

#[tokio::test]
async fn without_money_only_a_model_that_costs_nothing_works() {
    let world = World::new(Msat::ZERO, REHEARSAL_PRICE).await;
    let refused = world.hall.run("When?").within(id()).from_balance().start().await.map(drop).unwrap_err();
    let HallError::Refused(Refusal::Money { asked, free, minimum }) = refused else { panic!("{refused}") };
    assert_eq!((asked, free), (Msat::ZERO, Msat::ZERO));
    assert!(minimum > Msat::ZERO, "the refusal says how much is needed");
    assert_eq!(world.account().await.len(), 1);
    let world = World::new(Msat::ZERO, Price::FREE).await;
    world.replies.add_permits(1);
    assert_eq!(world.hall.run("When?").within(id()).from_balance().await.unwrap().report.outcome, Outcome::Done);
}

#[tokio::test]
async fn a_session_has_one_work_at_a_time_even_if_it_costs_nothing() {
    let world = World::new(Msat::ZERO, Price::FREE).await;
    drop(world.start(Msat::ZERO).await);
    // The work that was dropped is not under way any more once its lease is free.
    until(async || world.hall.journal().running(&id()).await.unwrap().is_none()).await;
    let second = world.hall.run("And where?").within(id()).from_balance().start().await.map(drop);
    assert!(matches!(second, Err(HallError::NotEnded(_))), "{second:?}");
}

#[tokio::test]
async fn a_top_up_moves_free_money_to_the_root() {
    let world = World::new(sat(500), REHEARSAL_PRICE).await;
    let running = world.start(sat(100)).await;
    let topped = world.hall.grant_more(&id(), &Path::root(1), sat(300)).await.unwrap();
    assert_eq!((topped, world.free().await), (ToppedUp::Given, sat(100)));
    let more = world.hall.instruct(&id(), &Path::root(1), Instruction::Grant(sat(101))).await;
    assert_eq!(overdrawn(more), (sat(101), sat(100)));
    let ended = world.finish(running).await;
    assert_eq!((ended.granted, ended.late), (sat(400), Msat::ZERO));
    assert_eq!(created(&world.account().await), sat(500));
    assert!(world.account().await.contains(&SessionFact::Granted { root: Path::root(1), money: sat(300) }));
    let view = world.hall.session(&id()).await.unwrap();
    assert_eq!((view.violations, view.row.label.as_str()), (Vec::new(), "When?"), "the label is the first task");
}

#[tokio::test]
async fn a_top_up_whose_money_is_gone_has_no_effect_and_the_work_continues() {
    let world = World::new(sat(500), REHEARSAL_PRICE).await;
    let running = world.start(sat(100)).await;
    let numbers = [world.put(sat(300)).await, world.put(sat(300)).await, world.put(sat(50)).await];
    until(async || world.hall.journal().take_after(&id(), 0).await.unwrap().is_empty()).await;
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(world.free().await, sat(50), "the second top-up did not fit");
    let ended = world.finish(running).await;
    assert_eq!((ended.granted, ended.report.outcome), (sat(450), Outcome::Done));
    assert_eq!(created(&world.account().await), sat(500));
}

#[tokio::test]
async fn free_money_for_a_root_that_has_closed_stays_free() {
    let world = World::new(sat(500), REHEARSAL_PRICE).await;
    let ended = world.finish(world.start(sat(100)).await).await;
    let left = Msat::new(500_000 - ended.report.spent.get()).unwrap();
    world.put(sat(300)).await;
    world.hall.settle(&id()).await.unwrap();
    assert_eq!(world.hall.journal().take_after(&id(), 0).await.unwrap(), []);
    assert_eq!((world.free().await, created(&world.account().await)), (left, sat(500)));
}
