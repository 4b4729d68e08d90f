//! One agent at work in memory: the real loop, the real prompts, and a scripted model.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use guildhall_agent::{
    AgentRuntime, Arrival, Attempt, Engine, Hired, History, Message, Model, ModelError, Part, Profile, Prompt, RawCall,
    Redactor, Reply, Reported, STATUS_BYTES_MAX, Status, Stop, Task, Text, TextError, Texts, Tool, ToolContext,
    ToolResult, ToolSpec, ToolTerms, Usage, Watch, Wire, run, task_key,
};
use guildhall_kernel::{
    AgentName, Answer, Ask, AskId, AskKey, Brief, Cause, CloseWhen, Context, Contract, Cost, Effect, Fact, Grant,
    Heads, Input, Limit, Lineage, Millis, Msat, Outcome, Path, Powers, Report, Standing, Tariff, TextKind, TextRef,
    Wording,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A model that replies from a list, and records its prompts.
#[derive(Default)]
struct Scripted {
    replies: Mutex<VecDeque<Attempt>>,
    shown: Mutex<Vec<Prompt>>,
}

impl Model for Scripted {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.shown.lock().unwrap().push(prompt.clone());
        let attempt = self.replies.lock().unwrap().pop_front().expect("a reply for each request");
        Box::pin(async { attempt })
    }
}

fn says(words: &str) -> Attempt {
    replies(Some(words), Vec::new())
}

fn calls(calls: &[(&str, &str, Value)]) -> Attempt {
    let call = |(id, name, arguments): &(&str, &str, Value)| RawCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: Ok(arguments.clone()),
    };
    replies(None, calls.iter().map(call).collect())
}

fn replies(words: Option<&str>, calls: Vec<RawCall>) -> Attempt {
    let stop = if calls.is_empty() { Stop::End } else { Stop::Calls };
    let words = words.map(str::to_owned);
    let reply = Reply { wire: Wire::Inside, raw: json!({"words": words}), words, calls, stop, part: None };
    Attempt { outcome: Ok(reply), usage: Reported::Whole(Usage { input: 100, output: 10, ..Usage::default() }) }
}

fn fails(why: ModelError) -> Attempt {
    Attempt { outcome: Err(why), usage: Reported::Nothing }
}

struct Echo;

impl Tool for Echo {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "echo".to_owned(),
            description: "Says it again.".to_owned(),
            schema: json!({"type": "object"}),
        }
    }

    fn terms(&self) -> ToolTerms {
        ToolTerms { price: Msat::ZERO, effect: Effect::Pure, needs: vec![].into() }
    }

    fn call<'a>(&'a self, _: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult> {
        let times = arguments["times"].as_u64().map_or(1, |times| usize::try_from(times).unwrap());
        Box::pin(async move { ToolResult::done(arguments["say"].as_str().unwrap_or("nothing").repeat(times)) })
    }
}

/// An engine without a disk, a clock or a crash.
struct Memory {
    runtime: AgentRuntime,
    facts: Vec<Fact>,
    texts: Kept,
    to_do: VecDeque<(AskId, Ask, Status)>,
    begun: Vec<AskId>,
    /// How many facts are durable, and how often the loop waited for the disk.
    durable: usize,
    waits: usize,
}

#[derive(Default)]
struct Kept(BTreeMap<TextRef, String>);

impl Texts for Kept {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        self.0.get(of).cloned().ok_or(TextError::Missing(*of))
    }
}

impl Memory {
    async fn take_next(&mut self) -> Result<Input, Infallible> {
        let (ask, what, status) = self.to_do.pop_front().expect("the contract has an open ask");
        let key = AskKey { contract: Path::root(1), ask };
        let Arrival { input, texts } = match &what {
            Ask::Model(request) => {
                let history = History { before: &[], root_task: None, facts: &self.facts, texts: &self.texts };
                self.runtime.ask(key, request, history, &status, &|_| {}, &|| Millis(0)).await.unwrap()
            }
            Ask::Tool(call) => {
                let around =
                    ToolContext { facts: &self.facts, board: &[], waits: &BTreeMap::new(), texts: &self.texts };
                self.runtime.call(&key, call, &self.texts.text(&call.arguments).unwrap(), around).await
            }
            Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {
                panic!("not in these tests")
            }
        };
        self.texts.0.extend(texts.into_iter().map(|Text { of, says }| (of, says)));
        Ok(input)
    }
}

impl Engine for Memory {
    type Error = Infallible;

    fn now(&self) -> Millis {
        Millis(0)
    }

    async fn stored(&mut self) -> Result<Vec<Fact>, Infallible> {
        Ok(self.facts.clone())
    }

    async fn record(&mut self, _: Cause, _: Millis, facts: Vec<Fact>) -> Result<(), Infallible> {
        self.facts.extend(facts);
        Ok(())
    }

    async fn durable(&mut self) -> Result<(), Infallible> {
        self.durable = self.facts.len();
        self.waits += 1;
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        assert_eq!(self.durable, self.facts.len(), "no ask is performed before its fact is durable");
        if !self.begun.contains(&id) {
            self.to_do.push_back((id, ask.clone(), Status::of(contract, id, self.now())));
        }
        self.begun.push(id);
    }

    async fn ready(&mut self) -> Result<Option<Input>, Infallible> {
        if self.to_do.is_empty() { Ok(None) } else { self.take_next().await.map(Some) }
    }

    async fn next(&mut self, _: &Contract) -> Result<Input, Infallible> {
        self.take_next().await
    }
}

/// Runs one agent on a task. Returns its report, the prompts of its model, and the engine.
fn work(money: u64, replies: Vec<Attempt>) -> (Report, Vec<Prompt>, Memory) {
    let model = Arc::new(Scripted { replies: Mutex::new(replies.into()), ..Scripted::default() });
    let redactor = Redactor::new(Arc::new(|text: &str| text.into()));
    let task = redactor.text(TextKind::Task, "Say hello.");
    let tools = BTreeMap::from([("echo".to_owned(), Arc::new(Echo) as Arc<dyn Tool>)]);
    let profile = Profile::new("You are an echo.", tools, None, Hired::ByOwner);
    let runtime = AgentRuntime {
        profile: Arc::new(profile),
        model: Arc::clone(&model) as Arc<dyn Model>,
        window: 1000,
        price: Arc::new(|usage| Msat::from_sat(usage.output).unwrap()),
        redactor,
        counts: Arc::default(),
    };
    let brief = Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: AgentName::parse("echo").unwrap(),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        terms: Arc::from([]),
        adds: Arc::from([]),
        grant: Grant { money: Msat::from_sat(money).unwrap(), heads: Heads(0), depth: 0, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: Msat::from_sat(20).unwrap(),
        tariff: Tariff { input: Msat::ZERO, output: Msat::from_sat(100_000).unwrap(), max_tokens: 100 },
        turns_max: 10,
        context: Context::Fresh,
        opening_bytes: runtime.opening_bytes(),
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: None,
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    };
    let texts = Kept(BTreeMap::from([(task.of, task.says)]));
    let (to_do, begun) = (VecDeque::new(), Vec::new());
    let mut engine = Memory { runtime, facts: Vec::new(), texts, to_do, begun, durable: 0, waits: 0 };
    let report = futures_lite(run(&mut engine, Arc::new(brief))).expect("the engine can't fail");
    let shown = model.shown.lock().unwrap().clone();
    (report, shown, engine)
}

/// Runs a future that never waits for anything outside.
fn futures_lite<T>(future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

fn text_of(report: &Report, engine: &Memory) -> String {
    engine.texts.text(&report.text.text()).unwrap()
}

fn drawn(prompt: &Prompt) -> String {
    let part = |part: &Part| match part {
        Part::Words(words) => format!("user: {words}"),
        Part::Result { call, text, failed } => {
            format!("{} of {call}: {text}", if *failed { "failure" } else { "result" })
        }
    };
    let message = |message: &Message| match message {
        Message::User(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Message::Assistant(reply) => {
            let calls: Vec<String> = reply.calls.iter().map(|call| format!(" [{} {}]", call.id, call.name)).collect();
            format!("agent: {}{}", reply.words.as_deref().unwrap_or(""), calls.concat())
        }
    };
    prompt.messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_task_is_solved_through_several_tool_turns() {
    let (report, shown, engine) = work(
        1000,
        vec![
            calls(&[("a", "echo", json!({"say": "one"})), ("b", "echo", json!({"say": "two"}))]),
            calls(&[("c", "echo", json!({"say": "three"}))]),
            says("one two three"),
        ],
    );
    assert_eq!((report.outcome, report.spent), (Outcome::Done, Msat::from_sat(30).unwrap()));
    assert_eq!(text_of(&report, &engine), "one two three");
    assert_snapshot!(drawn(&shown[2]), @r"
    user: Say hello.
    agent:  [a echo] [b echo]
    result of a: one
    result of b: two
    agent:  [c echo]
    result of c: three
    ");
}

/// Runs an agent with one reply of `count` calls, whose results are ready at the same time, and one reply with words. Returns
/// how often the engine was shown an ask, and how often the loop waited for the disk.
fn many_at_once(count: usize) -> (usize, usize) {
    let ids: Vec<String> = (0..count).map(|n| format!("call-{n}")).collect();
    let all: Vec<_> = ids.iter().map(|id| (id.as_str(), "echo", json!({"say": id}))).collect();
    let (report, shown, engine) = work(1000, vec![calls(&all), says("heard them all")]);
    assert_eq!((report.outcome, shown.len()), (Outcome::Done, 2));
    (engine.begun.len(), engine.waits)
}

#[test]
fn each_ask_is_shown_to_the_engine_once_however_many_are_open() {
    assert_eq!(many_at_once(10).0, 1 + 10 + 1);
    assert_eq!(many_at_once(200).0, 1 + 200 + 1);
}

#[test]
fn inputs_that_are_ready_share_one_wait_for_the_disk() {
    // One wait each for the opening, the reply with its calls, all results, and the last words.
    assert_eq!(many_at_once(10).1, 4);
    assert_eq!(many_at_once(200).1, 4);
    // Very many inputs take more than one wait, so that other contracts can store their facts in between.
    assert_eq!(many_at_once(1000).1, 4 + 3);
}

#[test]
fn each_prompt_begins_with_the_prompt_before() {
    let turn = |n: u32| calls(&[(&format!("call-{n}"), "echo", json!({"say": n.to_string()}))]);
    let (_, shown, _) = work(1000, (0..5).map(turn).chain([says("done")]).collect());
    for (before, after) in shown.iter().zip(&shown[1..]) {
        assert!(Arc::ptr_eq(&before.opening, &after.opening), "a provider writes an opening once");
        assert_eq!(before.messages[..], after.messages[..before.messages.len()]);
    }
}

#[test]
fn calls_that_can_t_be_read_are_refused_with_what_to_do() {
    let broken = RawCall { id: "a".to_owned(), name: "echo".to_owned(), arguments: Err("{\"say\": ".to_owned()) };
    let unknown = RawCall { id: "b".to_owned(), name: "rm".to_owned(), arguments: Ok(json!({})) };
    let twice = RawCall { id: "b".to_owned(), name: "echo".to_owned(), arguments: Ok(json!({})) };
    let (report, shown, _) = work(1000, vec![replies(None, vec![broken, unknown, twice]), says("sorry")]);
    assert_eq!(report.outcome, Outcome::Done);
    assert_snapshot!(drawn(&shown[1]), @"
    user: Say hello.
    agent:  [a echo] [b rm] [b echo]
    failure of a: refused: the arguments are not one JSON object with unique keys: correct them and call again.
    failure of b: refused: there is no tool with that name: use one of your tools.
    failure of b: refused: another call in this reply has the same id: give each call its own id.
    ");
}

#[test]
fn a_reply_that_broke_off_is_asked_for_again_and_charged_at_its_hold() {
    let broken = ModelError::Broken { provider: "test".to_owned(), why: "the connection was reset".to_owned() };
    // The usage reported so far is not final: output is counted at the end.
    let broken =
        Attempt { usage: Reported::Whole(Usage { input: 100, output: 1, ..Usage::default() }), ..fails(broken) };
    let (report, _, engine) = work(1000, vec![broken, says("there")]);
    assert_eq!(text_of(&report, &engine), "there");
    assert_eq!(report.spent, Msat::from_sat(10 + 10).unwrap());
    assert_eq!((report.reserved, report.estimated), (Msat::from_sat(10).unwrap(), Msat::ZERO));
}

#[test]
fn a_reply_without_usage_is_estimated_and_a_second_one_with_usage_is_not() {
    let uncounted = Attempt { usage: Reported::Nothing, ..calls(&[("call-1", "echo", json!({"say": "hi"}))]) };
    let (report, _, engine) = work(1000, vec![uncounted, says("there")]);
    let cost = |fact: &Fact| {
        if let Fact::Answered { answer: Answer::Said(_), cost, .. } = fact { Some(*cost) } else { None }
    };
    let costs = engine.facts.iter().filter_map(cost);
    // Each byte of the reply {"words":null} counts as one token, which costs one sat.
    let (bytes, counted) = (Msat::from_sat(14).unwrap(), Msat::from_sat(10).unwrap());
    assert_eq!(costs.collect::<Vec<_>>(), [Cost::Estimated(bytes), Cost::Known(counted)]);
    assert_eq!((report.estimated, report.reserved), (counted, Msat::ZERO), "at most the hold");
}

#[test]
fn three_lost_replies_in_a_row_end_the_contract_with_the_reason() {
    let lost = || fails(ModelError::Broken { provider: "test".to_owned(), why: "HTTP 502: Bad gateway".to_owned() });
    let (report, _, engine) = work(1000, vec![lost(), lost(), lost()]);
    assert_eq!((report.outcome, report.reserved), (Outcome::Failed, Msat::from_sat(30).unwrap()));
    assert_eq!(
        text_of(&report, &engine),
        "did not get a complete reply from test: HTTP 502: Bad gateway, 3 times in a row; each may have been billed"
    );
}

#[test]
fn a_model_that_refuses_ends_the_contract_with_the_reason() {
    let refused = ModelError::Refused { provider: "test".to_owned(), why: "wrong key".to_owned() };
    let (report, _, engine) = work(1000, vec![fails(refused)]);
    assert_eq!((report.outcome, report.spent), (Outcome::Failed, Msat::ZERO));
    assert!(matches!(report.text, Wording::Assembled(_)));
    assert_eq!(text_of(&report, &engine), "test refused: wrong key");
}

#[test]
fn a_purse_that_runs_dry_pays_for_one_last_report_without_tools() {
    let turn = |n: u32| calls(&[(&format!("call-{n}"), "echo", json!({"say": n.to_string()}))]);
    let (report, shown, engine) = work(45, vec![turn(1), turn(2), says("this far")]);
    assert_eq!(report.outcome, Outcome::Exhausted(Limit::Purse));
    assert_eq!(text_of(&report, &engine), "this far");
    let last = shown.last().unwrap();
    assert_eq!(last.opening.tools(), []);
    assert!(
        drawn(last).ends_with("Report what you found, in full sentences, and say what is missing. Write at most 100 tokens, about 75 words."),
        "{}",
        drawn(last)
    );
}

#[test]
fn older_results_are_left_out_before_the_window_is_full_and_stay_in_the_journal() {
    let long = "x".repeat(400);
    let full = |n: u32, input| {
        let mut attempt = calls(&[(&format!("call-{n}"), "echo", json!({"say": "x", "times": 400}))]);
        attempt.usage = Reported::Whole(Usage { input, output: 1, ..Usage::default() });
        attempt
    };
    let (_, shown, engine) = work(1000, vec![full(1, 100), full(2, 800), says("done")]);
    let last = drawn(shown.last().unwrap());
    assert!(last.contains("result of call-1: [400 bytes, left out to save room; call again if you need it]"), "{last}");
    assert!(last.contains(&format!("result of call-2: {long}")), "{last}");
    assert!(engine.facts.iter().any(|fact| matches!(fact, Fact::Compacted { .. })));
    assert_eq!(engine.texts.0.values().filter(|text| **text == long).count(), 1, "the text is stored once");
}

fn too_long() -> Attempt {
    fails(ModelError::TooLong { provider: "test".to_owned(), why: "400 tokens at most".to_owned() })
}

fn echoes(n: u32, bytes: usize) -> Attempt {
    calls(&[(&format!("call-{n}"), "echo", json!({"say": n.to_string(), "times": bytes}))])
}

#[test]
fn a_prompt_that_is_too_long_is_sent_again_without_older_results() {
    let replies = vec![echoes(1, 900), echoes(2, 100), too_long(), echoes(3, 10), says("done")];
    let (report, shown, engine) = work(1000, replies);
    assert_eq!((report.outcome, report.spent), (Outcome::Done, Msat::from_sat(40).unwrap()));
    assert_eq!(shown[2].key, shown[3].key, "both prompts belong to the same ask");
    let left_out = "result of call-1: [900 bytes, left out to save room; call again if you need it]";
    let newest = format!("result of call-2: {}", "2".repeat(100));
    assert!(!drawn(&shown[2]).contains(left_out));
    for prompt in &shown[3..] {
        let drawn = drawn(prompt);
        assert!(drawn.contains(left_out) && drawn.contains(&newest), "{drawn}");
    }
    assert_eq!(engine.facts.iter().filter(|fact| matches!(fact, Fact::Compacted { .. })).count(), 1);
}

#[test]
fn newest_results_are_left_out_too_if_nothing_else_makes_a_prompt_short_enough() {
    let (report, shown, _) = work(1000, vec![echoes(1, 900), too_long(), says("done")]);
    assert_eq!(report.outcome, Outcome::Done);
    assert!(
        drawn(&shown[2]).ends_with("result of call-1: [900 bytes, left out to save room; call again if you need it]")
    );
}

#[test]
fn a_prompt_that_stays_too_long_ends_the_contract_at_no_cost() {
    let (report, shown, engine) = work(1000, vec![echoes(1, 900), too_long(), too_long()]);
    assert_eq!((report.outcome, report.spent), (Outcome::Failed, Msat::from_sat(10).unwrap()));
    assert_eq!(shown.len(), 3);
    let (report, shown, _) = work(1000, vec![too_long()]);
    assert_eq!((report.outcome, shown.len()), (Outcome::Failed, 1), "there is nothing to leave out");
    assert!(!engine.facts.iter().any(|fact| matches!(fact, Fact::Compacted { .. })));
}

#[test]
fn each_request_has_a_status_except_the_last() {
    let (_, shown, _) = work(60, vec![echoes(1, 1), echoes(2, 1), says("done")]);
    let said: Vec<&str> = shown.iter().map(|prompt| prompt.status.as_deref().unwrap_or("none")).collect();
    assert_eq!(
        said,
        [
            "[status: you have 40 sat; 10 turns left, this one included]",
            "[status: you have 30 sat; 9 turns left, this one included]",
            "[status: you have 20 sat; 8 turns left, this one included]",
        ]
    );
    let (_, shown, _) = work(45, vec![echoes(1, 1), echoes(2, 1), says("this far")]);
    assert_eq!(shown.last().unwrap().status, None);
}

#[test]
fn a_report_of_far_too_few_tokens_lowers_no_later_hold() {
    // Each reply reports 100 tokens. The second and the third request have more than 3000 bytes.
    let (_, _, engine) = work(100_000, vec![echoes(1, 3000), echoes(2, 3000), says("done")]);
    let said = |fact: &Fact| {
        if let Fact::Answered { answer: Answer::Said(said), .. } = fact { Some(said.input_tokens) } else { None }
    };
    let counted: Vec<Option<u64>> = engine.facts.iter().filter_map(said).collect();
    assert_eq!(counted, [Some(100 + STATUS_BYTES_MAX), None, None]);
    let asked =
        |fact: &Fact| if let Fact::Asked { ask: Ask::Model(request), .. } = fact { Some(request.tokens) } else { None };
    let tokens: Vec<u64> = engine.facts.iter().filter_map(asked).collect();
    assert!(tokens.is_sorted() && tokens[2] > 3000, "{tokens:?}");
}

#[test]
fn the_hold_of_a_request_covers_the_longest_status() {
    let (_, shown, engine) = work(1000, vec![echoes(1, 1), echoes(2, 1), says("done")]);
    let asked =
        |fact: &Fact| if let Fact::Asked { ask: Ask::Model(request), .. } = fact { Some(request.tokens) } else { None };
    let tokens: Vec<u64> = engine.facts.iter().filter_map(asked).collect();
    assert_eq!((tokens[0], shown.len()), (engine.runtime.opening_bytes(), tokens.len()));
    assert!(tokens[0] >= engine.runtime.profile.opening().system().len() as u64 + STATUS_BYTES_MAX, "{tokens:?}");
    let said = |fact: &Fact| {
        if let Fact::Answered { answer: Answer::Said(said), .. } = fact { said.input_tokens } else { None }
    };
    let counted: Vec<u64> = engine.facts.iter().filter_map(said).collect();
    assert_eq!(counted, [100 + STATUS_BYTES_MAX; 3], "the reported tokens, and room for the longest status");
}
