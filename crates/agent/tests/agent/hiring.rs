//! Hiring: the tools of an agent, the reading of its calls, and the verdict on its final text.

mod data;
mod json_turn;
mod last;
mod read;
mod shown;
mod tools;
mod usage;
mod verdict;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use guildhall_agent::roster::{DelegationMode, Dialect};
use guildhall_agent::{
    AgentRuntime, Attempt, Hired, History, Listing, Model, Profile, Prompt, RawCall, Redactor, Reply, Reported, Status,
    Stop, Task, Team, Text, TextError, Texts, Tool, Usage, Watch, Wire, Worker, task_key,
};
use guildhall_kernel::{
    AgentName, AskId, AskKey, Brief, CloseWhen, Context as BriefContext, Fact, Grant, Heads, Hiring, Input, Lineage,
    Millis, Msat, Path, Powers, Request, Standing, Tariff, TextKind, TextRef, Turn,
};
use serde_json::{Value, json};

/// The time in these tests.
const NOW: Millis = Millis(5000);

/// The task of the agent `boss`.
const TASK: &str = "Plan a cheap trip to Italy.";

/// A model that always gives the same reply.
struct Constant(Reply);

impl Model for Constant {
    fn ask<'a>(&'a self, _: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        let attempt = Attempt { outcome: Ok(self.0.clone()), usage: Reported::Whole(Usage::default()) };
        Box::pin(async { attempt })
    }
}

/// Stored texts. A text that is not stored is empty.
struct TextCache(BTreeMap<TextRef, String>);

impl Texts for TextCache {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        Ok(self.0.get(of).cloned().unwrap_or_default())
    }
}

fn redactor() -> Redactor {
    Redactor::new(Arc::new(|text: &str| text.into()))
}

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

fn text(kind: TextKind, says: &str) -> Text {
    redactor().text(kind, says)
}

fn worker(name: &str, description: &str, specialties: &[&str]) -> Worker {
    Worker {
        model_slot: 0,
        name: agent(name),
        description: description.to_owned(),
        specialties: specialties.iter().map(|specialty| (*specialty).to_owned()).collect(),
        budget_default: None,
        budget_max: None,
        fee: sat(1),
        payee: None,
        severance: sat(20),
        tariff: Tariff { input: Msat::ZERO, output: sat(100_000), max_tokens: 100 },
        turns_max: 7,
        opening_bytes: 1000,
        opening: None,
        powers: Powers::default(),
        hiring: None,
        adds: Vec::new(),
        background: false,
    }
}

/// A team of two.
fn team(dialect: Dialect, mode: DelegationMode) -> Team {
    let workers = vec![
        Arc::new(worker("Flight Agent", "Finds flights.", &["air travel", "airports"])),
        Arc::new(worker("food-agent", "Selects\n restaurants.", &[])),
    ];
    Team {
        models: Vec::new(),
        dialect,
        mode,
        checks_of: BTreeMap::new(),
        listing: Listing::Open,
        workers,
        ad_hoc: None,
        own: Arc::new(worker("boss", "", &[])),
        standing: Standing::Listed,
        checks: Vec::new(),
    }
}

fn offered() -> Team {
    team(Dialect::DelegateTask, DelegationMode::Offered)
}

/// A team that allows ad-hoc specialists.
fn with_ad_hoc(team: Team) -> Team {
    Team { ad_hoc: Some(Arc::new(Worker { turns_max: 3, ..worker("specialist", "", &[]) })), ..team }
}

fn runtime(team: Option<Team>, hired: Hired, reply: Reply) -> AgentRuntime {
    runtime_with(BTreeMap::new(), team, hired, reply)
}

fn runtime_with(
    tools: BTreeMap<String, Arc<dyn Tool>>,
    team: Option<Team>,
    hired: Hired,
    reply: Reply,
) -> AgentRuntime {
    AgentRuntime {
        profile: Arc::new(Profile::new("", tools, team.map(Arc::new), hired)),
        model: Arc::new(Constant(reply)),
        window: 100_000,
        price: Arc::new(|_| Msat::ZERO),
        redactor: redactor(),
        counts: Arc::default(),
    }
}

fn brief() -> Brief {
    let task = text(TextKind::Task, TASK);
    Brief {
        money_max: None,
        same_model: false,
        model_slot: 0,
        path: Path::root(1),
        agent: agent("boss"),
        standing: Standing::Listed,
        label: None,
        task: task.of,
        task_key: task_key(&task.says),
        terms: Arc::from([]),
        adds: Arc::from([]),
        grant: Grant { money: sat(1000), heads: Heads(9), depth: 3, deadline: None, margin: None },
        fee: Msat::ZERO,
        payee: None,
        severance: sat(20),
        tariff: Tariff { input: Msat::ZERO, output: sat(100_000), max_tokens: 100 },
        turns_max: 10,
        context: BriefContext::Fresh,
        opening_bytes: 1000,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: Some(Hiring { team: Arc::from([]), ad_hoc: false, recursive: false }),
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    }
}

fn said(words: Option<&str>, calls: &[(&str, Value)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| RawCall {
        id: at.to_string(),
        name: (*name).to_owned(),
        arguments: Ok(arguments.clone()),
    };
    let calls = calls.iter().enumerate().map(call).collect();
    Reply { wire: Wire::Inside, raw: json!({}), words: words.map(str::to_owned), calls, stop: Stop::End, part: None }
}

/// Asks the runtime's model after these facts. Returns the reply as the kernel gets it, and the texts.
fn ask(runtime: &AgentRuntime, facts: &[Fact], turn: Turn) -> (guildhall_kernel::Reply, Vec<Text>) {
    let task = text(TextKind::Task, TASK);
    let texts = TextCache(BTreeMap::from([(task.of, task.says)]));
    let upto = u32::try_from(facts.len()).unwrap();
    let request = Request { upto, hears: Vec::new(), tokens: 1000, max_tokens: 100, turn, cut: false };
    let key = AskKey { contract: Path::root(1), ask: AskId(1) };
    let history = History { before: &[], root_task: None, facts, texts: &texts };
    let status = Status { money: sat(900), turns: 9, hiring: None, time: None, may_draw: false };
    let mut asked = Box::pin(runtime.ask(key, &request, history, &status, &|_| {}, &|| NOW));
    let Poll::Ready(arrival) = asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the model replies immediately")
    };
    let arrival = arrival.unwrap();
    let Input::Reply { reply, .. } = arrival.input else { panic!("{:?}", arrival.input) };
    (*reply, arrival.texts)
}
