//! Tool calls: how many run at the same time, and how they continue after a crash.

use std::sync::atomic::{AtomicUsize, Ordering};

use guildhall_agent::LookUp;
use guildhall_kernel::{Cost, TextRef};
use tokio::sync::Semaphore;

use super::*;

/// More calls in one reply than can run at the same time.
const MORE_CALLS: usize = 3 * TOOL_CALLS_MAX;

/// So many calls that some would start while others are being stopped, if the engine allowed it.
const MOST_CALLS: usize = 64 * TOOL_CALLS_MAX;

/// A reply with this many calls of one tool. Their arguments differ: equal calls would be refused.
fn calls_times(name: &str, times: usize) -> Attempt {
    let call = |n| RawCall { id: format!("call-{n}"), name: name.to_owned(), arguments: Ok(json!({"n": n})) };
    replies(None, (0..times).map(call).collect())
}

/// A tool that counts how many of its calls run at the same time. One call ends for each permit that is added to `gate`.
#[derive(Clone)]
struct GatedTool {
    effect: Effect,
    made: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl GatedTool {
    fn new(effect: Effect) -> GatedTool {
        let (made, running, most) = (Arc::default(), Arc::default(), Arc::default());
        GatedTool { effect, made, running, most, gate: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until this many calls were made.
    async fn until_made(&self, calls: usize) {
        until(async || self.made.load(Ordering::Relaxed) >= calls).await;
    }
}

impl Tool for GatedTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "wait".to_owned(), description: "Waits.".to_owned(), schema: json!({"type": "object"}) }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: sat(1), effect: self.effect, needs: vec![].into() }
    }

    fn call<'a>(&'a self, _: &'a AskKey, _: &'a Value) -> Task<'a, ToolResult> {
        Box::pin(async move {
            self.made.fetch_add(1, Ordering::Relaxed);
            let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(running, Ordering::Relaxed);
            self.gate.acquire().await.unwrap().forget();
            self.running.fetch_sub(1, Ordering::Relaxed);
            ToolResult { cost: sat(1), ..ToolResult::done("waited") }
        })
    }
}

/// Returns the answers to tool calls, with the cost of each.
fn answers(facts: &[Stored]) -> Vec<(Answer, Cost)> {
    let answered = |stored: &Stored| {
        let Fact::Answered { answer, cost, .. } = &stored.fact else { return None };
        (!matches!(answer, Answer::Said(_))).then(|| (answer.clone(), *cost))
    };
    facts.iter().filter_map(answered).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_of_one_reply_never_exceed_the_limit_of_running_calls() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), GatedTool::new(Effect::Pure));
    let script = vec![calls_times("wait", MORE_CALLS), says("done")];
    let hall = Hall::open(dir.path(), script, tool.clone(), Replays::No).await;
    let open_the_gate = async {
        tool.until_made(TOOL_CALLS_MAX).await;
        tool.gate.add_permits(MORE_CALLS);
    };
    let (report, ()) = tokio::join!(hall.run(), open_the_gate);
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!((tool.made.load(Ordering::Relaxed), tool.most.load(Ordering::Relaxed)), (MORE_CALLS, TOOL_CALLS_MAX));
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_waits_for_its_permit_holds_no_permit_for_model_calls() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), GatedTool::new(Effect::Pure));
    let hall = Hall::open(dir.path(), vec![calls_times("wait", MORE_CALLS)], tool.clone(), Replays::No).await;
    let look = async {
        tool.until_made(TOOL_CALLS_MAX).await;
        let permits: Vec<_> = std::iter::from_fn(|| hall.limiter.try_enter(&id())).collect();
        permits.len()
    };
    let free = tokio::select! {
        report = hall.run() => panic!("the gate stays closed: {report:?}"),
        free = look => free,
    };
    assert_eq!(free, MODEL_CALLS_MAX);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_is_cancelled_before_it_starts_costs_nothing() {
    // For a repeatable call nothing is recorded, so no write delays it between getting its permit and starting.
    let (dir, tool) = (tempfile::tempdir().unwrap(), GatedTool::new(Effect::Pure));
    let hall = Hall::open(dir.path(), vec![calls_times("wait", MOST_CALLS)], tool.clone(), Replays::No).await;
    let cancel = async {
        tool.until_made(TOOL_CALLS_MAX).await;
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::Cancel, Vec::new()));
    };
    let (report, ()) = tokio::join!(hall.run(), cancel);
    assert_eq!((report.outcome, tool.made.load(Ordering::Relaxed)), (Outcome::Cancelled, TOOL_CALLS_MAX));
    let facts = hall.facts().await;
    let of_cost = |wanted: Cost| answers(&facts).iter().filter(|(_, cost)| *cost == wanted).count();
    assert_eq!(
        (of_cost(Cost::Unknown), of_cost(Cost::Known(Msat::ZERO))),
        (TOOL_CALLS_MAX, MOST_CALLS - TOOL_CALLS_MAX)
    );
    assert_lawful(&facts);
}

/// Opens a hall, waits until a tool was called this many times, and stops the process.
async fn crash_during_tool_calls(dir: &FilePath, tool: &GatedTool, calls: usize) {
    let first = Hall::open(dir, vec![calls_times("wait", calls)], tool.clone(), Replays::No).await;
    // Wait until the waiting calls are recorded. After an earlier crash, more calls would count as lost.
    let all_recorded = async {
        tool.until_made(TOOL_CALLS_MAX).await;
        until_in_line(dir, calls - TOOL_CALLS_MAX).await;
    };
    tokio::select! {
        report = first.run() => panic!("the gate stays closed: {report:?}"),
        () = all_recorded => {}
    }
    first.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_once_tool_call_that_was_waiting_at_a_crash_is_made_afterwards() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), GatedTool::new(Effect::Once));
    crash_during_tool_calls(dir.path(), &tool, MORE_CALLS).await;
    tool.gate.add_permits(MORE_CALLS);
    let hall = Hall::open(dir.path(), vec![says("done")], tool.clone(), Replays::No).await;
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    assert_eq!(tool.made.load(Ordering::Relaxed), MORE_CALLS, "each call was made once");
    let facts = hall.facts().await;
    let lost = answers(&facts).iter().filter(|(answer, _)| *answer == Answer::Lost).count();
    assert_eq!(lost, TOOL_CALLS_MAX, "the calls that were running at the crash");
    assert_lawful(&facts);
}

/// A tool whose calls are looked up after a crash. The look-up returns `found`.
struct Reconcilable {
    calls: Arc<AtomicUsize>,
    looked_up: Arc<Mutex<Vec<String>>>,
    found: LookUp,
}

impl Tool for Reconcilable {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "pay".to_owned(), description: "Pays.".to_owned(), schema: json!({"type": "object"}) }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: sat(5), effect: Effect::Reconcilable, needs: vec![].into() }
    }

    fn call<'a>(&'a self, _: &'a AskKey, _: &'a Value) -> Task<'a, ToolResult> {
        let count = self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            // The first call never ends, as if the process had died in it.
            if count == 0 {
                std::future::pending().await
            } else {
                ToolResult { cost: sat(2), ..ToolResult::done("paid") }
            }
        })
    }

    fn look_up<'a>(&'a self, key: &'a AskKey, arguments: &'a Value) -> Task<'a, LookUp> {
        self.looked_up.lock().unwrap().push(format!("{key} {arguments}"));
        Box::pin(async { self.found.clone() })
    }
}

/// The result of a call that a crash interrupted.
struct After {
    answer: Answer,
    cost: Cost,
    /// The text of the answer.
    text: Option<String>,
    calls: usize,
    looked_up: Vec<String>,
}

/// What happens between the crash and the look-up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeforeLookUp {
    Nothing,
    /// Another process waits for a permit to look the call up, and crashes, too.
    AnotherCrash,
}

/// Crashes during a call of a reconcilable tool, and resumes.
async fn crash_in_a_call(found: LookUp, before: BeforeLookUp) -> After {
    let dir = tempfile::tempdir().unwrap();
    let (made, looked_up) = (Arc::new(AtomicUsize::new(0)), Arc::<Mutex<Vec<String>>>::default());
    let tool = || Reconcilable { calls: Arc::clone(&made), looked_up: Arc::clone(&looked_up), found: found.clone() };
    let first = Hall::open(dir.path(), vec![calls("pay")], tool(), Replays::No).await;
    let died = until(async || made.load(Ordering::Relaxed) == 1);
    tokio::select! {
        report = first.run() => panic!("the tool should not have ended: {report:?}"),
        () = died => {}
    }
    first.close().await;
    if before == BeforeLookUp::AnotherCrash {
        let second = Hall::open(dir.path(), vec![], tool(), Replays::No).await;
        let _all: Vec<_> = std::iter::from_fn(|| second.tools.try_enter(&id())).collect();
        let many_writes = async {
            // Jobs are stored in order. When these writes are stored, a record about the waiting call would be stored, too.
            for _ in 0..50 {
                second.engine.account(Vec::new(), Vec::new()).await.unwrap();
            }
        };
        tokio::select! {
            report = second.run() => panic!("the call gets no permit: {report:?}"),
            () = many_writes => {}
        }
        second.close().await;
    }
    let hall = Hall::open(dir.path(), vec![says("done")], tool(), Replays::No).await;
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    let facts = hall.facts().await;
    assert_lawful(&facts);
    let (answer, cost) = answers(&facts).remove(0);
    let text = match answer.text() {
        Some(TextRef { hash, .. }) => Some(String::from_utf8(hall.journal.text(hash).await.unwrap().unwrap()).unwrap()),
        None => None,
    };
    let looked_up = looked_up.lock().unwrap().clone();
    After { answer, cost, text, calls: made.load(Ordering::Relaxed), looked_up }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_happened_is_answered_with_the_found_result_and_not_repeated() {
    let found = ToolResult { cost: sat(3), ..ToolResult::done("paid, receipt 7") };
    let after = crash_in_a_call(LookUp::Happened(found), BeforeLookUp::Nothing).await;
    assert_eq!((after.text.as_deref(), after.cost), (Some("paid, receipt 7"), Cost::Known(sat(3))));
    assert_eq!((after.calls, after.looked_up.as_slice()), (1, &["1#2 {}".to_owned()][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_did_not_happen_is_made() {
    let after = crash_in_a_call(LookUp::DidNotHappen, BeforeLookUp::Nothing).await;
    assert_eq!((after.text.as_deref(), after.cost), (Some("paid"), Cost::Known(sat(2))));
    assert_eq!((after.calls, after.looked_up.len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_an_unknown_outcome_is_lost_at_its_hold_and_not_repeated() {
    let after = crash_in_a_call(LookUp::Unknown, BeforeLookUp::Nothing).await;
    assert_eq!((after.answer, after.cost), (Answer::Lost, Cost::Unknown));
    assert_eq!((after.calls, after.looked_up.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_to_be_looked_up_counts_as_made_after_another_crash() {
    let after = crash_in_a_call(LookUp::Unknown, BeforeLookUp::AnotherCrash).await;
    assert_eq!((after.answer, after.calls, after.looked_up.len()), (Answer::Lost, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_looked_up_only_after_a_crash() {
    let (dir, looked_up) = (tempfile::tempdir().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let tool = Reconcilable {
        calls: Arc::new(AtomicUsize::new(1)),
        looked_up: Arc::clone(&looked_up),
        found: LookUp::Unknown,
    };
    let hall = Hall::open(dir.path(), vec![calls("pay"), says("done")], tool, Replays::No).await;
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    assert_eq!(*looked_up.lock().unwrap(), [] as [String; 0]);
}
