//! Calls end at the contract's deadline, when the contract is cancelled, and when they panic.

use guildhall_kernel::{Limit, Millis, Wording};
use guildhall_local::Permit;

use super::*;

/// The brief of a contract with this deadline.
fn due(deadline: Millis) -> (Arc<Brief>, Vec<Text>) {
    let (brief, texts) = brief();
    let grant = brief.grant.due(Some(deadline), Millis(0));
    (Arc::new(Brief { grant, ..Brief::clone(&brief) }), texts)
}

/// Takes every permit, so that no call gets one.
fn all_permits(limiter: &Arc<CallLimiter>) -> Vec<Permit> {
    std::iter::from_fn(|| limiter.try_enter(&id())).collect()
}

/// Returns the answers of calls that were lost or aborted, with the cost of each.
fn stopped(facts: &[Stored]) -> Vec<(Answer, Msat)> {
    let mut holds = BTreeMap::new();
    let mut stopped = Vec::new();
    for stored in facts {
        if let Fact::Asked { id, hold, .. } = &stored.fact {
            holds.insert(*id, hold.money);
        }
        if let Fact::Answered { id, answer: answer @ (Answer::Lost | Answer::Aborted), cost } = &stored.fact {
            stopped.push((answer.clone(), cost.within(holds[id])));
        }
    }
    stopped
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_at_the_deadline_is_stopped_costs_its_hold_and_the_contract_reports() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let (brief, texts) = due(Millis(150_000));
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!(report.outcome, Outcome::Exhausted(Limit::Deadline));
    assert!(matches!(report.text, Wording::Assembled(_)), "the model did not reply");
    let facts = hall.facts().await;
    assert_eq!(
        stopped(&facts),
        [(Answer::Lost, sat(10)), (Answer::Lost, sat(10))],
        "the call was stopped in time for a last request, which ran until the deadline: both cost their holds"
    );
    let at = |kind: &str| facts.iter().find(|stored| stored.fact.kind() == kind).unwrap().at;
    assert_eq!((at("closing"), at("answered"), at("closed")), (Millis(120_000), Millis(135_000), Millis(150_000)));
    assert_eq!(hall.model.asked.lock().unwrap().len(), 2);
    assert_lawful(&facts);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_runs_at_the_deadline_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let stuck = Counting { effect: Effect::Once, calls: Arc::default() };
    let hall = Hall::open(dir.path(), vec![calls("count")], stuck, Replays::No).await;
    let (brief, texts) = due(Millis(150_000));
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, report.spent), (Outcome::Exhausted(Limit::Deadline), sat(20)));
    assert_eq!(stopped(&hall.facts().await), [(Answer::Lost, Msat::ZERO), (Answer::Lost, sat(10))]);
    assert_lawful(&hall.facts().await);
}

#[tokio::test(start_paused = true)]
async fn most_of_a_short_deadline_is_left_for_work() {
    let dir = tempfile::tempdir().unwrap();
    let stuck = Counting { effect: Effect::Once, calls: Arc::default() };
    let hall = Hall::open(dir.path(), vec![says("this far")], stuck, Replays::No).await;
    let (brief, texts) = due(Millis(20_000));
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, report.spent), (Outcome::Done, sat(10)));
    assert_eq!(hall.text(&report).await, "this far");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_got_its_permit_costs_nothing_when_it_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let _all = all_permits(&hall.limiter);
    let (brief, texts) = due(Millis(150_000));
    let report = hall.engine.run(brief, texts).await.unwrap();
    assert_eq!((report.outcome, report.spent), (Outcome::Exhausted(Limit::Deadline), Msat::ZERO));
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_never_got_its_permit_costs_nothing_when_it_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let _all = all_permits(&hall.limiter);
    let cancel = async {
        hall.journal.subscribe(&id(), 2).next().await.unwrap();
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::Cancel, Vec::new()));
    };
    let (report, ()) = tokio::join!(hall.run(), cancel);
    assert_eq!((report.outcome, report.spent), (Outcome::Cancelled, Msat::ZERO));
    assert_eq!(stopped(&hall.facts().await), [(Answer::Aborted, Msat::ZERO)]);
}

/// A model that panics.
struct PanickingModel;

impl Model for PanickingModel {
    fn ask<'a>(&'a self, _: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async { panic!("a bug in the model") })
    }
}

#[tokio::test(flavor = "multi_thread")]
#[should_panic(expected = "a bug in the model")]
async fn a_panic_in_a_call_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let hall = open(dir.path(), &Arc::new(PanickingModel), counting(Effect::Pure).0, Replays::No).await;
    let (brief, texts) = brief();
    let _report = hall.engine.run(brief, texts).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_reply_does_not_delay_a_wrap_up() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let (brief, texts) = brief();
    let last_request_is_made = async {
        hall.model.stuck.notified().await;
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::WrapUp, Vec::new()));
        hall.model.stuck.notified().await;
    };
    tokio::select! {
        _ = hall.engine.run(brief, texts) => panic!("the model never replies"),
        () = last_request_is_made => {}
    }
    let facts = hall.facts().await;
    let answered = facts.iter().find(|stored| stored.fact.kind() == "answered").unwrap();
    assert!(matches!(answered.fact, Fact::Answered { answer: Answer::Lost, .. }), "{:?}", answered.fact);
    assert_eq!(hall.model.asked.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_last_request_without_a_reply_ends_after_two_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let wrap_up = async {
        hall.model.stuck.notified().await;
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::WrapUp, Vec::new()));
    };
    let (report, ()) = tokio::join!(hall.run(), wrap_up);
    assert_eq!(report.outcome, Outcome::Exhausted(Limit::Asked));
    assert!(matches!(report.text, Wording::Assembled(_)), "the model did not reply");
    let facts = hall.facts().await;
    let of_kind = |kind: &str| facts.iter().rfind(|stored| stored.fact.kind() == kind).unwrap().at;
    assert_eq!(of_kind("closed").0 - of_kind("asked").0, 120_000);
    assert_eq!(stopped(&facts), [(Answer::Lost, sat(10)), (Answer::Lost, sat(10))]);
    assert_lawful(&facts);
}
