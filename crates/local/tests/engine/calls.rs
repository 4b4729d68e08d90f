//! Tool calls: how many run at once, and what becomes of them after a crash.

use std::sync::atomic::{AtomicUsize, Ordering};

use guildhall_agent::LookUp;
use guildhall_kernel::{Cost, TextRef};
use tokio::sync::Semaphore;

use super::*;

/// More calls of one reply than run at once.
const MANY: usize = 3 * TOOLS;

/// So many that some would leave while others are stopped, if they could.
const CROWD: usize = 64 * TOOLS;

/// A reply that makes this many calls of one tool.
fn calls_times(name: &str, times: usize) -> Attempt {
    let call = |n| RawCall { id: format!("call-{n}"), name: name.to_owned(), arguments: Ok(json!({})) };
    replies(None, (0..times).map(call).collect())
}

/// A tool that counts how many of its calls run at once. They end as permits are added.
#[derive(Clone)]
struct Gated {
    effect: Effect,
    made: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl Gated {
    fn new(effect: Effect) -> Gated {
        let (made, running, most) = (Arc::default(), Arc::default(), Arc::default());
        Gated { effect, made, running, most, gate: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until so many calls were made.
    async fn until_made(&self, calls: usize) {
        until(async || self.made.load(Ordering::Relaxed) >= calls).await;
    }
}

impl Tool for Gated {
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

/// The answers to tool calls, with what each was charged.
fn answers(facts: &[Stored]) -> Vec<(Answer, Cost)> {
    let answered = |stored: &Stored| {
        let Fact::Answered { answer, cost, .. } = &stored.fact else { return None };
        (!matches!(answer, Answer::Said(_))).then(|| (answer.clone(), *cost))
    };
    facts.iter().filter_map(answered).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_tool_calls_of_a_reply_run_at_once_than_there_are_permits() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), Gated::new(Effect::Pure));
    let script = vec![calls_times("wait", MANY), says("done")];
    let hall = Hall::open(dir.path(), script, tool.clone(), Replays::No).await;
    let open_the_gate = async {
        tool.until_made(TOOLS).await;
        tool.gate.add_permits(MANY);
    };
    let (report, ()) = tokio::join!(hall.run(), open_the_gate);
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!((tool.made.load(Ordering::Relaxed), tool.most.load(Ordering::Relaxed)), (MANY, TOOLS));
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_waits_for_its_permit_holds_none_of_the_models() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), Gated::new(Effect::Pure));
    let hall = Hall::open(dir.path(), vec![calls_times("wait", MANY)], tool.clone(), Replays::No).await;
    let look = async {
        tool.until_made(TOOLS).await;
        let permits: Vec<_> = std::iter::from_fn(|| hall.limiter.try_enter()).collect();
        permits.len()
    };
    let free = tokio::select! {
        report = hall.run() => panic!("nobody opens the gate: {report:?}"),
        free = look => free,
    };
    assert_eq!(free, LANE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_is_cancelled_before_its_turn_costs_nothing() {
    // Of a call that may be made again nothing is noted, so that nothing keeps it once it has a permit.
    let (dir, tool) = (tempfile::tempdir().unwrap(), Gated::new(Effect::Pure));
    let hall = Hall::open(dir.path(), vec![calls_times("wait", CROWD)], tool.clone(), Replays::No).await;
    let cancel = async {
        tool.until_made(TOOLS).await;
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::Cancel, Vec::new()));
    };
    let (report, ()) = tokio::join!(hall.run(), cancel);
    assert_eq!((report.outcome, tool.made.load(Ordering::Relaxed)), (Outcome::Cancelled, TOOLS));
    let facts = hall.facts().await;
    let of_cost = |wanted: Cost| answers(&facts).iter().filter(|(_, cost)| *cost == wanted).count();
    assert_eq!((of_cost(Cost::Unknown), of_cost(Cost::Known(Msat::ZERO))), (TOOLS, CROWD - TOOLS));
    assert_lawful(&facts);
}

/// Opens a hall, waits until a tool was called so many times, and kills it.
async fn die_in_tools(dir: &FilePath, tool: &Gated, calls: usize) {
    let first = Hall::open(dir, vec![calls_times("wait", calls)], tool.clone(), Replays::No).await;
    // Those that wait are known to: a crash before that makes nothing but more calls count as lost.
    let noted = async {
        tool.until_made(TOOLS).await;
        until_in_line(dir, calls - TOOLS).await;
    };
    tokio::select! {
        report = first.run() => panic!("nobody opens the gate: {report:?}"),
        () = noted => {}
    }
    first.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_may_run_once_and_waited_for_its_turn_at_a_crash_is_made_after_it() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), Gated::new(Effect::Once));
    die_in_tools(dir.path(), &tool, MANY).await;
    tool.gate.add_permits(MANY);
    let hall = Hall::open(dir.path(), vec![says("done")], tool.clone(), Replays::No).await;
    assert_eq!(hall.run().await.outcome, Outcome::Done);
    assert_eq!(tool.made.load(Ordering::Relaxed), MANY, "each was made once");
    let facts = hall.facts().await;
    let lost = answers(&facts).iter().filter(|(answer, _)| *answer == Answer::Lost).count();
    assert_eq!(lost, TOOLS, "those that had been made when it crashed");
    assert_lawful(&facts);
}

/// A tool whose calls are looked up after a crash, with this outcome.
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

/// What came of a call that a crash interrupted.
struct After {
    answer: Answer,
    cost: Cost,
    /// The text of the answer.
    text: Option<String>,
    calls: usize,
    looked_up: Vec<String>,
}

/// What happens before the call is looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HiringSoFar {
    Nothing,
    /// Another process waits for a permit to look it up, and crashes, too.
    AnotherCrash,
}

/// Crashes in a call of a reconcilable tool, and goes on.
async fn crash_in_a_call(found: LookUp, before: HiringSoFar) -> After {
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
    if before == HiringSoFar::AnotherCrash {
        let second = Hall::open(dir.path(), vec![], tool(), Replays::No).await;
        let _all: Vec<_> = std::iter::from_fn(|| second.tools.try_enter()).collect();
        let many_writes = async {
            // What the call might note of itself meanwhile is stored by then: all is stored in the order in which it came.
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
async fn a_call_that_is_found_to_have_happened_is_answered_by_what_was_found_and_not_made_again() {
    let found = ToolResult { cost: sat(3), ..ToolResult::done("paid, receipt 7") };
    let after = crash_in_a_call(LookUp::Happened(found), HiringSoFar::Nothing).await;
    assert_eq!((after.text.as_deref(), after.cost), (Some("paid, receipt 7"), Cost::Known(sat(3))));
    assert_eq!((after.calls, after.looked_up.as_slice()), (1, &["1#2 {}".to_owned()][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_known_not_to_have_happened_is_made() {
    let after = crash_in_a_call(LookUp::DidNotHappen, HiringSoFar::Nothing).await;
    assert_eq!((after.text.as_deref(), after.cost), (Some("paid"), Cost::Known(sat(2))));
    assert_eq!((after.calls, after.looked_up.len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_which_nobody_knows_is_lost_at_its_hold_and_not_made_again() {
    let after = crash_in_a_call(LookUp::Unknown, HiringSoFar::Nothing).await;
    assert_eq!((after.answer, after.cost), (Answer::Lost, Cost::Unknown));
    assert_eq!((after.calls, after.looked_up.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_to_be_looked_up_counts_as_made_after_another_crash() {
    let after = crash_in_a_call(LookUp::Unknown, HiringSoFar::AnotherCrash).await;
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
