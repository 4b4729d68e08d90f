//! Providers that accept fewer calls than they are sent, and providers that bill more than was held.

use std::sync::atomic::{AtomicUsize, Ordering};

use guildhall_agent::{Delta, WaitReason};
use guildhall_kernel::Cost;

use super::*;

/// A reply that reports more tokens than were allowed: the hold covers a hundred.
fn overruns(words: &str, calls: Vec<RawCall>) -> Attempt {
    Attempt {
        usage: Reported::Whole(Usage { input: 100, output: 5000, ..Usage::default() }),
        ..replies(Some(words), calls)
    }
}

fn call() -> Vec<RawCall> {
    vec![RawCall { id: "call".into(), name: "count".into(), arguments: Ok(json!({})) }]
}

/// A model whose provider rejects the first request for this reason.
struct Rejected(WaitReason);

impl Model for Rejected {
    fn ask<'a>(&'a self, _: &'a Prompt, watch: Watch<'a>) -> Task<'a, Attempt> {
        Box::pin(async move {
            watch(Delta::Asking);
            watch(Delta::Waiting { seconds: 1, why: self.0, message: "HTTP 4xx" });
            watch(Delta::Asking);
            says("done")
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_halves_the_limiter_and_an_outage_does_not() {
    for (why, width) in [
        (WaitReason::RateLimited, MODEL_CALLS_MAX / 2),
        (WaitReason::Unavailable, MODEL_CALLS_MAX),
        (WaitReason::Unreachable, MODEL_CALLS_MAX),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let hall = open(dir.path(), &Arc::new(Rejected(why)), counting(Effect::Pure).0, Replays::No).await;
        let (brief, texts) = brief();
        assert_eq!(hall.engine.run(brief, texts).await.unwrap().outcome, Outcome::Done);
        assert_eq!(hall.limiter.width(), width, "{why:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_widen_the_limiter_again() {
    let dir = tempfile::tempdir().unwrap();
    let script = std::iter::repeat_with(|| calls("count")).take(8).chain([says("done")]).collect();
    let hall = Hall::open(dir.path(), script, counting(Effect::Pure).0, Replays::No).await;
    hall.limiter.try_enter(&id()).unwrap().rate_limited();
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    assert_eq!(hall.limiter.width(), MODEL_CALLS_MAX / 2 + 1);
}

/// Returns the text of the answer that refused a call, and its cost.
async fn refusal<M>(hall: &Hall<M>) -> (String, Cost) {
    let facts = hall.facts().await;
    let refused = |stored: &Stored| {
        if let Fact::Answered { answer: Answer::Failed(text), cost, .. } = &stored.fact {
            Some((*text, *cost))
        } else {
            None
        }
    };
    let (text, cost) = facts.iter().find_map(refused).expect("a call was refused");
    (String::from_utf8(hall.journal.text(text.hash).await.unwrap().unwrap()).unwrap(), cost)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_requests_are_sent_to_a_provider_that_bills_more_than_was_held() {
    let dir = tempfile::tempdir().unwrap();
    let script = vec![overruns("Let me look.", call()), says("never asked for")];
    let hall = Hall::open(dir.path(), script, counting(Effect::Pure).0, Replays::No).await;
    let report = hall.run().await;
    assert_eq!((report.outcome, report.spent), (Outcome::Failed, sat(10)), "the hold of the first call, and no more");
    assert_eq!(hall.model.asked.lock().unwrap().len(), 1);
    let message = "test-provider billed 4990sat more than the 10sat held for a call: no more calls are sent to it; \
                to continue, use `--allow-overrun`";
    assert_eq!(refusal(&hall).await, (message.to_owned(), Cost::Known(Msat::ZERO)));
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_overran_stays_stopped_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let stuck = Counting { effect: Effect::Pure, calls: Arc::default() };
    let calls_made = Arc::clone(&stuck.calls);
    let hall = Hall::open(dir.path(), vec![overruns("Let me look.", call())], stuck, Replays::No).await;
    let tool_was_called = until(async || *calls_made.lock().unwrap() == 1);
    tokio::select! {
        report = hall.run() => panic!("the tool does not end: {report:?}"),
        () = tool_was_called => {}
    }
    hall.close().await;
    let hall = Hall::open(dir.path(), vec![says("never asked for")], counting(Effect::Pure).0, Replays::No).await;
    assert_eq!(hall.run().await.outcome, Outcome::Failed);
    assert_eq!(*hall.model.asked.lock().unwrap(), []);
    assert!(refusal(&hall).await.0.contains("4990sat more than the 10sat held"));
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_overrun_does_not_stop_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let script = vec![overruns("Let me look.", call()), says("done")];
    let model = Arc::new(Scripted { replies: Mutex::new(script.into()), ..Scripted::default() });
    let (journal, tool) = (Journal::open(dir.path()).unwrap(), counting(Effect::Pure).0);
    let hall = open_with(journal, &model, tool, Replays::No, Overruns::Allow).await;
    let report = hall.run().await;
    assert_eq!((report.outcome, report.spent), (Outcome::Done, sat(20)), "both holds, and no more");
}

/// A model with two calls. The first overruns after `go` is notified, while the second runs. The second replies afterwards.
#[derive(Default)]
struct TwoCalls {
    asked: AtomicUsize,
    go: Notify,
    overrun_is_stored: Notify,
}

impl Model for TwoCalls {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let first = prompt.key.contract == Path::root(1);
        Box::pin(async move {
            if first {
                self.go.notified().await;
                overruns("Done, at a high price.", Vec::new())
            } else {
                self.go.notify_one();
                self.overrun_is_stored.notified().await;
                says("done")
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_runs_when_its_provider_overruns_may_finish() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Arc::new(TwoCalls::default()));
    let hall = open(dir.path(), &model, counting(Effect::Pure).0, Replays::No).await;
    let (one, texts) = brief();
    let other = Arc::new(Brief { path: Path::root(2), ..Brief::clone(&one) });
    let first = async {
        let report = hall.engine.run(one, texts.clone()).await.unwrap();
        model.overrun_is_stored.notify_one();
        report
    };
    let (first, second) = tokio::join!(first, hall.engine.run(other, texts.clone()));
    assert_eq!((first.outcome, second.unwrap().outcome), (Outcome::Done, Outcome::Done));
    assert_eq!(model.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_permit_when_its_provider_overruns_is_refused_and_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // The second call waits for the permit of the first.
    let (go, asked) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let model = Arc::new(GatedModel { go: Arc::clone(&go), asked: Arc::clone(&asked) });
    let hall = open(dir.path(), &model, counting(Effect::Pure).0, Replays::No).await;
    let mut rest: Vec<_> = std::iter::from_fn(|| hall.limiter.try_enter(&id())).collect();
    drop(rest.pop());
    let (one, texts) = brief();
    let other = Arc::new(Brief { path: Path::root(2), ..Brief::clone(&one) });
    let let_go = async {
        until_in_line(dir.path(), 1).await;
        go.notify_one();
    };
    let (first, second, ()) =
        tokio::join!(hall.engine.run(one, texts.clone()), hall.engine.run(other, texts.clone()), let_go);
    let outcomes = [first.unwrap(), second.unwrap()].map(|report| (report.outcome, report.spent));
    assert!(
        outcomes.contains(&(Outcome::Done, sat(10))) && outcomes.contains(&(Outcome::Failed, Msat::ZERO)),
        "{outcomes:?}"
    );
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    drop(rest);
}

/// A model whose first call ends when `go` is notified. All calls cost more than their holds.
struct GatedModel {
    go: Arc<Notify>,
    asked: Arc<AtomicUsize>,
}

impl Model for GatedModel {
    fn ask<'a>(&'a self, _: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let first = self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move {
            if first {
                self.go.notified().await;
            }
            overruns("Done, at a high price.", Vec::new())
        })
    }
}
