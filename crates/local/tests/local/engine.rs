//! The engine on one machine, with the real loop, a journal on disk and real time. Only the model is scripted.

mod calls;
mod errors;
mod late;
mod limits;
mod providers;
mod setup;
mod tree;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guildhall_agent::{
    AgentRuntime, Attempt, Hired, Model, Profile, Prompt, RawCall, Redactor, Reply, Reported, Stop, Task, Text, Tool,
    ToolResult, ToolSpec, ToolTerms, Usage, Watch, Wire, task_key,
};
use guildhall_kernel::{
    AgentName, Answer, AskKey, Brief, CloseWhen, Context, Effect, Fact, Grant, Heads, Lineage, Msat, Outcome, Path,
    Powers, Report, Standing, Stimulus, Stored, Tariff, TextKind,
};
use guildhall_laws::Checker;
use guildhall_local::{
    AgentEnv, CallLimiter, FindEnv, Journal, NewSession, Order, Overruns, Replays, SessionEngine, SessionId, unix_now,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How long a test waits for an event that must happen.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The provider that is paid for the model.
const PROVIDER: &str = "test-provider";

/// Why a brief can't be set up.
const NOT_SET_UP: &str = "this session has no agent named helper";

/// How many model calls run at the same time.
const MODEL_CALLS_MAX: usize = 8;

/// How many tool calls run at the same time.
const TOOL_CALLS_MAX: usize = 4;

/// A model that replies from a list and records each request. At the end of the list it never replies.
#[derive(Default)]
struct Scripted {
    replies: Mutex<VecDeque<Attempt>>,
    asked: Mutex<Vec<AskKey>>,
    stuck: Notify,
}

impl Model for Scripted {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.asked.lock().unwrap().push(prompt.key.clone());
        let attempt = self.replies.lock().unwrap().pop_front();
        Box::pin(async move {
            if let Some(attempt) = attempt {
                return attempt;
            }
            self.stuck.notify_one();
            std::future::pending().await
        })
    }
}

fn replies(words: Option<&str>, calls: Vec<RawCall>) -> Attempt {
    let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
    let words = words.map(str::to_owned);
    let reply = Reply { wire: Wire::Inside, raw: json!({"words": words}), words, calls, stop, part: None };
    Attempt { outcome: Ok(reply), usage: Reported::Whole(Usage { input: 100, output: 10, ..Usage::default() }) }
}

fn says(words: &str) -> Attempt {
    replies(Some(words), Vec::new())
}

fn calls(name: &str) -> Attempt {
    let call = RawCall { id: format!("call-{name}"), name: name.to_owned(), arguments: Ok(json!({})) };
    replies(None, vec![call])
}

/// A tool that counts its calls. `effect` says whether a call may be repeated after a crash.
struct Counting {
    effect: Effect,
    calls: Arc<Mutex<u32>>,
}

impl Tool for Counting {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "count".to_owned(), description: "Counts.".to_owned(), schema: json!({"type": "object"}) }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: Msat::ZERO, effect: self.effect, needs: vec![].into() }
    }

    fn call<'a>(&'a self, _: &'a AskKey, _: &'a Value) -> Task<'a, ToolResult> {
        let count = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls
        };
        Box::pin(async move {
            // The first call never ends, as if the process had died during the call.
            if count == 1 { std::future::pending().await } else { ToolResult::done(count.to_string()) }
        })
    }
}

/// Waits until a condition is true, but not for ever.
async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let checking = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT_MAX, checking).await.expect("the condition becomes true in time");
}

/// Waits until this many calls are recorded as waiting for a permit.
async fn until_in_line(dir: &FilePath, calls: usize) {
    let db = Connection::open(dir.join("journal.db")).unwrap();
    let recorded = || db.query_row("SELECT count(*) FROM in_line", [], |row| row.get::<_, u32>(0)).unwrap() as usize;
    until(async || recorded() >= calls).await;
}

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn redactor() -> Redactor {
    Redactor::new(Arc::new(|text: &str| text.into()))
}

fn brief() -> (Arc<Brief>, Vec<Text>) {
    let task = redactor().text(TextKind::Task, "Count to three.");
    let brief = Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: AgentName::parse("counter").unwrap(),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        terms: Arc::from([]),
        adds: Arc::from([]),
        grant: Grant { money: sat(1000), heads: Heads(0), depth: 0, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: Tariff { input: Msat::ZERO, output: sat(100_000), max_tokens: 100 },
        turns_max: 10,
        context: Context::Fresh,
        opening_bytes: 100,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    };
    (Arc::new(brief), vec![task])
}

/// One process's view of a hall on disk.
struct Hall<M> {
    model: Arc<M>,
    engine: SessionEngine,
    journal: Journal,
    limiter: Arc<CallLimiter>,
    tools: Arc<CallLimiter>,
}

/// Opens the session in this directory. Creates the session if there is none.
async fn open<M: Model + 'static>(
    dir: &FilePath,
    model: &Arc<M>,
    tool: impl Tool + 'static,
    replays: Replays,
) -> Hall<M> {
    open_on(Journal::open(dir).unwrap(), model, tool, replays).await
}

/// Opens the session on this journal.
async fn open_on<M: Model + 'static>(
    journal: Journal,
    model: &Arc<M>,
    tool: impl Tool + 'static,
    replays: Replays,
) -> Hall<M> {
    let overruns = Overruns::Stop(Arc::new(|_| Some(PROVIDER.to_owned())));
    open_with(journal, model, tool, replays, overruns).await
}

/// The session of these tests.
fn id() -> SessionId {
    "session".parse().unwrap()
}

/// Opens the session on this journal, with this rule for providers that bill too much.
async fn open_with<M: Model + 'static>(
    journal: Journal,
    model: &Arc<M>,
    tool: impl Tool + 'static,
    replays: Replays,
    overruns: Overruns,
) -> Hall<M> {
    open_for(journal, model, tool, replays, overruns, |_| true).await
}

/// Opens the session on this journal, in which only some briefs can be set up.
async fn open_for<M: Model + 'static>(
    journal: Journal,
    model: &Arc<M>,
    tool: impl Tool + 'static,
    replays: Replays,
    overruns: Overruns,
    can_set_up: impl Fn(&Brief) -> bool + Send + Sync + 'static,
) -> Hall<M> {
    let now = unix_now();
    if journal.sessions().await.unwrap().is_empty() {
        let new = NewSession { id: id(), created_at: now, project: "/project".into(), label: "test".into() };
        journal.create(new).await.unwrap();
    }
    let lease = journal.lease(&id(), now).await.unwrap();
    let tools = BTreeMap::from([(tool.spec().name, Arc::new(tool) as Arc<dyn Tool>)]);
    let profile = Profile::new("You count.", tools, None, Hired::ByOwner);
    let runtime = Arc::new(AgentRuntime {
        profile: Arc::new(profile),
        model: Arc::clone(model) as Arc<dyn Model>,
        window: 100_000,
        price: Arc::new(|usage| sat(usage.output)),
        redactor: redactor(),
        counts: Arc::default(),
    });
    let (limiter, tools) = (Arc::new(CallLimiter::new(MODEL_CALLS_MAX)), Arc::new(CallLimiter::new(TOOL_CALLS_MAX)));
    let env = AgentEnv {
        runtime,
        limiter: Arc::clone(&limiter),
        tools: Arc::clone(&tools),
        replays,
        watch: Arc::new(|_, _, _| {}),
        exists: Arc::new(|_| false),
    };
    let failing = AgentEnv::failing(NOT_SET_UP, &redactor());
    let find_env: FindEnv = Arc::new(move |brief| if can_set_up(brief) { env.clone() } else { failing.clone() });
    let engine = SessionEngine::open(journal.clone(), lease, find_env, overruns, None).await.unwrap();
    Hall { model: Arc::clone(model), engine, journal, limiter, tools }
}

impl<M> Hall<M> {
    async fn facts(&self) -> Vec<Stored> {
        self.journal.facts(&id(), 1).await.unwrap()
    }

    /// Ends the process: running calls are lost, stored facts remain.
    async fn close(self) {
        drop(self.engine);
        self.journal.close().await;
    }

    async fn text(&self, report: &Report) -> String {
        String::from_utf8(self.journal.text(report.text.text().hash).await.unwrap().unwrap()).unwrap()
    }
}

impl Hall<Scripted> {
    /// Opens the session with a model that replies from a list.
    async fn open(dir: &FilePath, script: Vec<Attempt>, tool: impl Tool + 'static, replays: Replays) -> Hall<Scripted> {
        let model = Arc::new(Scripted { replies: Mutex::new(script.into()), ..Scripted::default() });
        open(dir, &model, tool, replays).await
    }

    async fn run(&self) -> Report {
        let (brief, texts) = brief();
        self.engine.run(brief, texts).await.unwrap()
    }

    /// Runs until the model is stuck, then ends the process: running calls are lost, stored facts remain.
    async fn crash_during_a_call(self) {
        tokio::select! {
            _ = self.run() => panic!("the model should have been stuck"),
            () = self.model.stuck.notified() => {}
        }
        self.close().await;
    }
}

fn counting(effect: Effect) -> (Counting, Arc<Mutex<u32>>) {
    let calls = Arc::new(Mutex::new(1));
    (Counting { effect, calls: Arc::clone(&calls) }, calls)
}

fn assert_lawful(facts: &[Stored]) {
    let mut checker = Checker::new();
    let broken: Vec<_> = facts.iter().flat_map(|stored| checker.observe(stored)).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert!(checker.at_end().is_empty(), "{:?}", checker.at_end());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_uses_tools_and_reports_and_the_facts_break_no_law() {
    let dir = tempfile::tempdir().unwrap();
    let script = vec![calls("count"), calls("count"), says("two, three")];
    let hall = Hall::open(dir.path(), script, counting(Effect::Pure).0, Replays::No).await;
    let report = hall.run().await;
    assert_eq!((report.outcome, report.spent), (Outcome::Done, sat(30)));
    assert_eq!(hall.text(&report).await, "two, three");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_the_same_key_is_sent_again_and_the_bill_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::Yes)
        .await
        .crash_during_a_call()
        .await;
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::Yes).await;
    let report = hall.run().await;
    assert_eq!((report.outcome, report.spent), (Outcome::Done, sat(20)));
    let asked = hall.model.asked.lock().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(asked, ["1#3"], "the open ask, with its own key");
    assert_lawful(&hall.facts().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_can_t_be_repeated_by_key_is_lost_at_its_hold_and_requested_again() {
    let dir = tempfile::tempdir().unwrap();
    Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await.crash_during_a_call().await;
    let hall = Hall::open(dir.path(), vec![says("done")], counting(Effect::Pure).0, Replays::No).await;
    let report = hall.run().await;
    assert_eq!((report.outcome, report.spent), (Outcome::Done, sat(10 + 10)), "the lost attempt's hold, and the reply");
    let facts = hall.facts().await;
    let lost = facts.iter().filter(|stored| matches!(stored.fact, Fact::Answered { answer: Answer::Lost, .. }));
    assert_eq!(lost.count(), 1, "one call is marked as lost");
    assert_lawful(&facts);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_may_run_once_is_not_run_again_after_a_crash() {
    for (effect, runs) in [(Effect::Once, 1), (Effect::Pure, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let calls_made = Arc::new(Mutex::new(0));
        let tool = || Counting { effect, calls: Arc::clone(&calls_made) };
        let first = Hall::open(dir.path(), vec![calls("count")], tool(), Replays::No).await;
        let died = until(async || *calls_made.lock().unwrap() == 1);
        tokio::select! {
            _ = first.run() => panic!("the tool should not have ended"),
            () = died => {}
        }
        first.close().await;
        let hall = Hall::open(dir.path(), vec![says("done")], tool(), Replays::No).await;
        assert_eq!(hall.run().await.outcome, Outcome::Done);
        assert_eq!(*calls_made.lock().unwrap(), runs, "{effect:?}");
        assert_lawful(&hall.facts().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_from_another_terminal_cancels_and_is_executed_once() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![], counting(Effect::Pure).0, Replays::No).await;
    let other = Journal::open(dir.path()).unwrap();
    let order = Order::new(Path::root(1), Stimulus::Cancel);
    let cancel = async {
        hall.model.stuck.notified().await;
        other.put(&id(), &order, unix_now()).await.unwrap();
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = hall.run() => report,
        why = hall.engine.process_orders(&|why| panic!("{why}")) => panic!("{why}"),
        () = cancel => unreachable!("this future never ends"),
    };
    assert_eq!((report.outcome, report.spent), (Outcome::Cancelled, sat(10)), "the aborted call costs its hold");
    assert_lawful(&hall.facts().await);
    let left = other.take_after(&id(), 0).await.unwrap();
    assert_eq!(left, [], "no order is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_a_wrap_up_immediately() {
    let dir = tempfile::tempdir().unwrap();
    let hall = Hall::open(dir.path(), vec![calls("count")], counting(Effect::Pure).0, Replays::No).await;
    let wrap_up = async {
        hall.model.stuck.notified().await;
        assert!(hall.engine.tell(&Path::root(1), 1, Stimulus::WrapUp, Vec::new()));
        assert!(hall.engine.tell(&Path::root(1), 2, Stimulus::Cancel, Vec::new()));
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = hall.run() => report,
        () = wrap_up => unreachable!("this future never ends"),
    };
    assert_eq!(report.outcome, Outcome::Cancelled, "the cancel ends the wrap-up");
    assert_lawful(&hall.facts().await);
}
