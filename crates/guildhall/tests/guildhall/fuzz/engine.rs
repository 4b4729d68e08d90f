//! An engine without a disk and a clock, for one contract with a scripted model. It stores in memory what a journal would store.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use guildhall_agent::roster::{DelegationMode, Dialect};
use guildhall_agent::{
    AgentRuntime, Arrival, Attempt, Engine, Hired, History, Model, Profile, Prompt, Redact, Redactor, Reply, Reported,
    Status, Task, Team, Text, TextError, Texts, Tool, ToolContext, Usage, Watch, Worker, run, task_key, tool_fn,
};
use guildhall_kernel::{
    AgentName, Ask, AskId, AskKey, Brief, Cause, CloseWhen, Context as HiringSoFar, Contract, Effect, Fact, Grant,
    Heads, Hiring, Input, Lineage, Millis, Msat, Path, Powers, Request, Standing, Tariff, TextKind, TextRef,
};
use guildhall_tools::SecretPatterns;
use serde_json::{Value, json};

use crate::fuzz::replies::{KNOWN, Replies};

/// A model that replies from a list, then with a final text, and records its prompts.
#[derive(Default)]
pub(crate) struct Scripted {
    replies: Mutex<VecDeque<Attempt>>,
    pub(crate) shown: Mutex<Vec<Prompt>>,
}

impl Model for Scripted {
    fn ask<'a>(&'a self, prompt: &'a Prompt, _: Watch<'a>) -> Task<'a, Attempt> {
        self.shown.lock().unwrap().push(prompt.clone());
        let last = || Attempt { outcome: Ok(Reply::words("That is all.")), usage: Reported::Whole(Usage::default()) };
        let attempt = self.replies.lock().unwrap().pop_front().unwrap_or_else(last);
        Box::pin(async { attempt })
    }
}

/// The texts, by their references in facts.
#[derive(Clone, Default)]
pub(crate) struct Kept(pub(crate) BTreeMap<TextRef, String>);

impl Texts for Kept {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        self.0.get(of).cloned().ok_or(TextError::Missing(*of))
    }
}

/// A request as it was made.
pub(crate) struct Asked {
    pub(crate) key: AskKey,
    pub(crate) request: Request,
    pub(crate) status: Status,
    pub(crate) prompt: Prompt,
}

/// One contract in memory.
pub(crate) struct Memory {
    pub(crate) runtime: AgentRuntime,
    pub(crate) model: Arc<Scripted>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) texts: Kept,
    pub(crate) asked: Vec<Asked>,
    to_do: VecDeque<(AskId, Ask, Status)>,
}

impl Memory {
    /// The same contract in another process.
    pub(crate) fn with_facts(&self, facts: Vec<Fact>) -> Memory {
        let model = Arc::new(Scripted::default());
        let runtime = AgentRuntime { model: Arc::clone(&model) as Arc<dyn Model>, ..self.runtime.clone() };
        Memory { runtime, model, facts, texts: self.texts.clone(), asked: Vec::new(), to_do: VecDeque::new() }
    }
}

/// No time passes.
pub(crate) fn clock() -> Millis {
    Millis(0)
}

impl Engine for Memory {
    type Error = Infallible;

    fn now(&self) -> Millis {
        clock()
    }

    async fn stored(&mut self) -> Result<Vec<Fact>, Infallible> {
        Ok(self.facts.clone())
    }

    async fn record(&mut self, _: Cause, _: Millis, facts: Vec<Fact>) -> Result<(), Infallible> {
        self.facts.extend(facts);
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        self.to_do.push_back((id, ask.clone(), Status::of(contract, id, self.now())));
    }

    async fn next(&mut self, _: &Contract) -> Result<Input, Infallible> {
        let (ask, what, status) = self.to_do.pop_front().expect("the contract waits for an answer");
        let key = AskKey { contract: Path::root(1), ask };
        let Arrival { input, texts } = match what {
            Ask::Model(request) => {
                let history = History { before: &[], root_task: None, facts: &self.facts, texts: &self.texts };
                let arrival = self.runtime.ask(key.clone(), &request, history, &status, &|_| {}, &clock).await;
                let prompt = self.model.shown.lock().unwrap().pop().unwrap();
                self.asked.push(Asked { key, request, status, prompt });
                arrival.unwrap()
            }
            Ask::Tool(call) => {
                let arguments = self.texts.text(&call.arguments).unwrap();
                self.runtime
                    .call(
                        &key,
                        &call,
                        &arguments,
                        ToolContext { facts: &self.facts, board: &[], waits: &BTreeMap::new(), texts: &self.texts },
                    )
                    .await
            }
            Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {
                panic!("nobody can be hired")
            }
        };
        self.texts.0.extend(texts.into_iter().map(|Text { of, says }| (of, says)));
        Ok(input)
    }
}

static REDACTOR: LazyLock<SecretPatterns> = LazyLock::new(|| SecretPatterns::new(KNOWN.map(str::to_owned).to_vec()));

pub(crate) fn redactor() -> Redactor {
    let redact: Redact = Arc::new(|text: &str| REDACTOR.redact(text));
    Redactor::new(redact)
}

/// Runs a contract with these replies until it ends.
pub(crate) fn work(mut replies: Replies) -> Memory {
    let attempts = replies.attempts();
    let task = replies.said();
    let brings: Vec<String> = (0..4).map(|_| replies.said()).collect();
    let at = Mutex::new(0_usize);
    let echo = move |arguments: Value| {
        let mut at = at.lock().unwrap();
        *at += 1;
        // A secret that is recognised only by the name of its field is found in JSON, and not in prose.
        let text = if (*at).is_multiple_of(2) { arguments.to_string() } else { brings[*at % brings.len()].clone() };
        async move { text }
    };
    let echo = tool_fn("echo", "Says it again.", json!({"type": "object"}), echo).effect(Effect::Pure);
    let model = Arc::new(Scripted { replies: Mutex::new(attempts.into()), ..Scripted::default() });
    let tools = BTreeMap::from([("echo".to_owned(), Arc::new(echo) as Arc<dyn Tool>)]);
    let profile = Profile::new("You are an echo.", tools, Some(Arc::new(team(replies.coin()))), Hired::ByOwner);
    let runtime = AgentRuntime {
        profile: Arc::new(profile),
        model: Arc::clone(&model) as Arc<dyn Model>,
        window: if replies.coin() { 1000 } else { 1_000_000 },
        price: Arc::new(|usage| Msat::capped(u128::from(usage.output))),
        redactor: redactor(),
        counts: Arc::default(),
    };
    let task = runtime.redactor.text(TextKind::Task, &task);
    let brief = brief(&task, &runtime);
    let texts = Kept(BTreeMap::from([(task.of, task.says)]));
    let mut engine = Memory { runtime, model, facts: Vec::new(), texts, asked: Vec::new(), to_do: VecDeque::new() };
    block_on(run(&mut engine, Arc::new(brief))).expect("the engine can't fail");
    engine
}

/// A team that can't be hired, because the grant has no heads.
fn team(ad_hoc: bool) -> Team {
    let worker = |name: &str| {
        Arc::new(Worker {
            model_slot: 0,
            name: AgentName::parse(name).unwrap(),
            description: "Helps.".to_owned(),
            specialties: Vec::new(),
            budget_default: None,
            budget_max: None,
            fee: Msat::ZERO,
            payee: None,
            severance: Msat::from_sat(20).unwrap(),
            tariff: tariff(),
            turns_max: 7,
            opening_bytes: 1000,
            opening: None,
            powers: Powers::default(),
            hiring: None,
            adds: Vec::new(),
            background: false,
        })
    };
    Team {
        models: Vec::new(),
        dialect: Dialect::DelegateTask,
        mode: DelegationMode::Offered,
        checks_of: BTreeMap::new(),
        listing: guildhall_agent::Listing::Open,
        workers: vec![worker("ada")],
        ad_hoc: ad_hoc.then(|| worker("specialist")),
        own: worker("echo"),
        standing: Standing::Listed,
        checks: Vec::new(),
    }
}

fn tariff() -> Tariff {
    Tariff { input: Msat::ZERO, output: Msat::from_sat(100_000).unwrap(), max_tokens: 100 }
}

fn brief(task: &Text, runtime: &AgentRuntime) -> Brief {
    let ada = AgentName::parse("ada").unwrap();
    Brief {
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
        grant: Grant {
            money: Msat::from_sat(100_000).unwrap(),
            heads: Heads(0),
            depth: 1,
            deadline: None,
            margin: None,
        },
        fee: Msat::ZERO,
        payee: None,
        severance: Msat::from_sat(20).unwrap(),
        tariff: tariff(),
        turns_max: 10,
        context: HiringSoFar::Fresh,
        opening_bytes: runtime.opening_bytes(),
        opening: None,
        lineage: Lineage::default(),
        powers: Powers::default(),
        hiring: Some(Hiring { team: Arc::from([ada]), ad_hoc: true, recursive: false }),
        checks: Arc::from([]),
        close_when: CloseWhen::FinalText,
    }
}

/// Polls a future that never waits.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}
