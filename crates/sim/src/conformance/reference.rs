//! The reference engine: the real agent loop, in memory and in virtual time, one event after the other. Other engines
//! are compared with it, so it is as simple as possible: no permits, no crashes, no concurrency.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use guildhall_agent::{
    AgentRuntime, Arrival, BOARD, Engine, History, Message, Post, Status, Text, TextError, Texts, ToolContext, due,
    fork_prefix, run,
};
use guildhall_kernel::{
    self as kernel, Addressee, Answer, Ask, AskId, AskKey, Brief, Cause, Contract, Cost, FORMAT, Fact, Hash, Input,
    Matter, Millis, Msat, OpenAsks, Path, Report, Sender, Stimulus, Stored, TextRef,
};

use super::script::Script;
use super::scripted_world::ScriptedWorld;

type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs a script to its end. Returns the stored facts.
pub fn reference(script: &Script, world: &Arc<ScriptedWorld>) -> Vec<Stored> {
    let hall = Hall { world: Arc::clone(world), state: Arc::default() };
    let inbox = Arc::clone(&hall.state);
    world.connect(Arc::new(move |to, command, what, texts| {
        let input = Input::Stimulus { from: Sender::Owner { command }, what };
        lock(&inbox).post(to, Delivery { arrival: Arrival { input, texts }, sender_ask: None });
        true
    }));
    hall.state().store_texts(&script.texts);
    hall.state().hired.push((Arc::clone(&script.brief), None));
    hall.run(script.name);
    std::mem::take(&mut hall.state().facts)
}

#[derive(Clone)]
struct Hall {
    world: Arc<ScriptedWorld>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Millis,
    facts: Vec<Stored>,
    texts: TextCache,
    mail: BTreeMap<Path, VecDeque<Delivery>>,
    /// When each waiting contract needs a tick.
    wakes: BTreeMap<Path, Millis>,
    /// The contracts that were hired and are not open yet, with the hirer's ask.
    hired: Vec<(Arc<Brief>, Option<AskKey>)>,
    leaves: Vec<Leaf>,
    /// The number of events so far, to notice when nothing happens.
    events: u64,
}

struct Delivery {
    arrival: Arrival,
    /// The ask that is answered after this delivery was processed.
    sender_ask: Option<AskKey>,
}

struct Leaf {
    key: AskKey,
    deadline: Option<Millis>,
    work: Running<Arrival>,
}

#[derive(Clone, Default)]
struct TextCache(BTreeMap<Hash, String>);

impl Texts for TextCache {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        self.0.get(&of.hash).cloned().ok_or(TextError::Missing(*of))
    }
}

/// Why a text can always be read: this engine stores all texts in memory.
const STORED: &str = "every text that a fact names is stored";

impl State {
    fn store_texts(&mut self, texts: &[Text]) {
        self.texts.0.extend(texts.iter().map(|text| (text.of.hash, text.says.clone())));
    }

    fn post(&mut self, to: &Path, delivery: Delivery) {
        self.events += 1;
        self.mail.entry(to.clone()).or_default().push_back(delivery);
    }

    fn answer(&mut self, key: &AskKey, answer: Answer, cost: Cost) {
        let input = Input::Answer { id: key.ask, answer, cost };
        self.post(&key.contract, Delivery { arrival: Arrival { input, texts: Vec::new() }, sender_ask: None });
    }

    /// Returns the next time at which a contract or a call needs attention.
    fn next_moment(&self) -> Option<Millis> {
        self.wakes.values().copied().chain(self.leaves.iter().filter_map(|leaf| leaf.deadline)).min()
    }
}

impl Hall {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Runs all contracts until they have closed.
    fn run(&self, name: &str) {
        let mut drivers: Vec<Running<()>> = Vec::new();
        loop {
            let before = self.state().events;
            let hired = std::mem::take(&mut self.state().hired);
            drivers.extend(hired.into_iter().map(|(brief, hirer)| self.clone().work(brief, hirer)));
            drivers.retain_mut(|driver| poll(driver).is_none());
            self.poll_leaves();
            if drivers.is_empty() {
                return;
            }
            if self.state().events == before {
                self.pass_time(name);
            }
        }
    }

    fn pass_time(&self, name: &str) {
        let mut state = self.state();
        let moment = state.next_moment().filter(|moment| *moment > state.now);
        state.now = moment.unwrap_or_else(|| panic!("{name}: no contract can continue"));
    }

    /// Runs one contract, and sends its report to its hirer.
    fn work(self, brief: Arc<Brief>, hirer: Option<AskKey>) -> Running<()> {
        Box::pin(async move {
            let mut driver = ContractDriver::new(self.clone(), &brief);
            let Ok(report) = run(&mut driver, brief).await else { panic!("an admitted brief can be worked on") };
            let mut state = self.state();
            for delivery in state.mail.remove(&driver.path).unwrap_or_default() {
                if let Some(sender_ask) = delivery.sender_ask {
                    state.answer(&sender_ask, Answer::Gone, Cost::Known(Msat::ZERO));
                }
            }
            if let Some(hirer) = hirer {
                let Report { spent, .. } = report;
                state.answer(&hirer, Answer::Report(Box::new(report)), Cost::Known(spent));
            }
            state.events += 1;
        })
    }

    /// Returns the messages before a brief: a fork continues from its hirer's request.
    fn before(&self, brief: &Brief) -> Vec<Message> {
        let (kernel::Context::Fork { request, upto, .. }, Some(hirer)) = (&brief.context, brief.path.hirer()) else {
            return Vec::new();
        };
        let facts = fork_prefix(&self.facts_of(&hirer).collect::<Vec<_>>(), *request, *upto);
        let Some(Fact::Opened(above)) = facts.first() else { panic!("{hirer} has opened") };
        let (before, texts) = (self.before(above), self.state().texts.clone());
        History { before: &before, root_task: None, facts: &facts, texts: &texts }.messages().expect(STORED)
    }

    fn facts_of(&self, contract: &Path) -> impl Iterator<Item = Fact> {
        let facts = self.state().facts.clone();
        let contract = contract.clone();
        facts.into_iter().filter(move |stored| stored.contract == contract).map(|stored| stored.fact)
    }

    /// Returns the posts so far of all hires of a contract's hirer.
    fn board(&self, reader: &Path) -> Vec<Post> {
        let state = self.state();
        let mut agents = BTreeMap::new();
        let mut posts = Vec::new();
        for stored in state.facts.iter().filter(|stored| stored.contract.hirer() == reader.hirer()) {
            if let Fact::Opened(brief) = &stored.fact {
                agents.insert(&stored.contract, &brief.agent);
            }
            if let Fact::Asked { ask: Ask::Tool(call), .. } = &stored.fact
                && call.tool.as_str() == BOARD
            {
                let arguments = state.texts.text(&call.arguments).expect(STORED);
                posts.extend(Post::of(&stored.contract, agents[&stored.contract], &arguments));
            }
        }
        posts
    }

    /// Polls the leaf calls without holding the lock, because a call may send a command of the owner.
    fn poll_leaves(&self) {
        let leaves = std::mem::take(&mut self.state().leaves);
        for mut leaf in leaves {
            let arrival = poll(&mut leaf.work);
            let mut state = self.state();
            match arrival {
                Some(arrival) => state.post(&leaf.key.contract, Delivery { arrival, sender_ask: None }),
                None if leaf.deadline.is_some_and(|deadline| deadline <= state.now) => {
                    state.answer(&leaf.key, Answer::Lost, Cost::Unknown);
                }
                None => state.leaves.push(leaf),
            }
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A panic ends the script, so the state is not used again.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn poll<T>(future: &mut Running<T>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// The engine of one contract.
struct ContractDriver {
    hall: Hall,
    runtime: Arc<AgentRuntime>,
    path: Path,
    /// The messages before the contract's brief.
    before: Arc<[Message]>,
    facts: Vec<Fact>,
    begun: BTreeSet<AskId>,
    sender_ask: Option<AskKey>,
}

impl ContractDriver {
    fn new(hall: Hall, brief: &Brief) -> ContractDriver {
        let (runtime, before) = (Arc::new(hall.world.runtime(brief)), hall.before(brief).into());
        let path = brief.path.clone();
        ContractDriver { hall, runtime, path, before, facts: Vec::new(), begun: BTreeSet::new(), sender_ask: None }
    }

    /// Answers the ask that sent the newest delivery.
    fn confirm_delivery(&mut self) {
        if let Some(sender_ask) = self.sender_ask.take() {
            self.hall.state().answer(&sender_ask, Answer::Delivered, Cost::Known(Msat::ZERO));
        }
    }

    fn call(&self, contract: &Contract, key: AskKey, ask: Ask) {
        let (runtime, before, facts) = (Arc::clone(&self.runtime), Arc::clone(&self.before), self.facts.clone());
        let (board, clock) = (self.hall.board(&self.path), self.hall.clone());
        let mut state = self.hall.state();
        let (texts, deadline) = (state.texts.clone(), due(contract, key.ask));
        let mut open_asks = OpenAsks::default();
        state.facts.iter().for_each(|stored| open_asks.apply(&stored.contract, &stored.fact));
        let waits = open_asks.of_hires(&self.path);
        if deadline.is_some_and(|deadline| deadline <= state.now) {
            return state.answer(&key, Answer::Lost, Cost::Known(Msat::ZERO));
        }
        let (asked, status) = (key.clone(), Status::of(contract, key.ask, state.now));
        let work = Box::pin(async move {
            match ask {
                Ask::Model(request) => {
                    let history = History { before: &before, root_task: None, facts: &facts, texts: &texts };
                    runtime.ask(asked, &request, history, &status, &|_| {}, &|| clock.state().now).await.expect(STORED)
                }
                Ask::Tool(call) => {
                    let around = ToolContext { facts: &facts, board: &board, waits: &waits, texts: &texts };
                    runtime.call(&asked, &call, &texts.text(&call.arguments).expect(STORED), around).await
                }
                Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {
                    unreachable!("only leaf calls are made")
                }
            }
        });
        state.leaves.push(Leaf { key, deadline, work });
        state.events += 1;
    }

    /// Stops the leaf call of a contract that was cancelled.
    fn abort(&mut self, key: &AskKey, ask: &Ask) {
        let mut state = self.hall.state();
        let count = state.leaves.len();
        state.leaves.retain(|leaf| leaf.key != *key);
        if state.leaves.len() < count {
            state.answer(key, Answer::Aborted, Cost::Unknown);
        } else if matches!(ask, Ask::Model(_) | Ask::Tool(_)) && self.begun.insert(key.ask) {
            state.answer(key, Answer::Aborted, Cost::Known(Msat::ZERO));
        }
    }

    /// Performs a check on the newest text. There are no files.
    fn check(&self, key: &AskKey, what: &TextRef) {
        let said = |fact: &Fact| {
            if let Fact::Answered { answer: Answer::Said(said), .. } = fact { said.words } else { None }
        };
        let words = self.facts.iter().rev().find_map(said).expect("only a final text is checked");
        let mut state = self.hall.state();
        let (what, words) = (state.texts.text(what).expect(STORED), state.texts.text(&words).expect(STORED));
        let arrival = self.runtime.check(key, &what, &words, &self.facts, &|_| false);
        state.post(&self.path, Delivery { arrival, sender_ask: None });
    }

    /// Sends a question to the hirer, which answers with a message.
    fn question(&self, key: AskKey, words: TextRef) {
        let hirer = self.path.hirer().expect("a root asks its owner");
        let input = Input::Stimulus { from: Sender::Contract(key), what: Stimulus::Question(words) };
        let delivery = Delivery { arrival: Arrival { input, texts: Vec::new() }, sender_ask: None };
        self.hall.state().post(&hirer, delivery);
    }

    fn draw(&self, key: AskKey, least: Msat) {
        let hirer = self.path.hirer().expect("only a hire draws");
        let input = Input::Stimulus { from: Sender::Contract(key), what: Stimulus::Draw { least } };
        let delivery = Delivery { arrival: Arrival { input, texts: Vec::new() }, sender_ask: None };
        self.hall.state().post(&hirer, delivery);
    }

    fn tell(&self, key: AskKey, to: &Path, what: &Stimulus) {
        let input = Input::Stimulus { from: Sender::Contract(key.clone()), what: what.clone() };
        let mut state = self.hall.state();
        let closed = state.facts.iter().any(|stored| stored.contract == *to && matches!(stored.fact, Fact::Closed(_)));
        if closed {
            return state.answer(&key, Answer::Gone, Cost::Known(Msat::ZERO));
        }
        state.post(to, Delivery { arrival: Arrival { input, texts: Vec::new() }, sender_ask: Some(key) });
    }
}

impl Engine for ContractDriver {
    type Error = Infallible;

    fn now(&self) -> Millis {
        self.hall.state().now
    }

    async fn stored(&mut self) -> Result<Vec<Fact>, Infallible> {
        Ok(Vec::new())
    }

    async fn record(&mut self, cause: Cause, at: Millis, facts: Vec<Fact>) -> Result<(), Infallible> {
        for fact in &facts {
            let mut state = self.hall.state();
            let (seq, contract) = (state.facts.len() as u64 + 1, self.path.clone());
            let stored = Stored { v: FORMAT, seq, contract, at, cause: cause.clone(), fact: fact.clone() };
            state.facts.push(stored.clone());
            state.events += 1;
            drop(state);
            self.hall.world.observe(&stored);
        }
        self.facts.extend(facts);
        self.confirm_delivery();
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        let key = AskKey { contract: self.path.clone(), ask: id };
        if contract.is_cancelled() {
            self.abort(&key, ask);
        }
        if !self.begun.insert(id) {
            return;
        }
        match ask {
            Ask::Model(_) | Ask::Tool(_) => self.call(contract, key, ask.clone()),
            Ask::Hire { brief, .. } => self.hall.state().hired.push((Arc::clone(brief), Some(key))),
            Ask::Tell { to, what } => self.tell(key, to, what),
            Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words), .. } => self.question(key, *words),
            Ask::Draw { least } => self.draw(key, *least),
            Ask::Check(check) => self.check(&key, &check.what),
            Ask::Question { .. } => unreachable!("no script asks the owner"),
        }
    }

    async fn next(&mut self, contract: &Contract) -> Result<Input, Infallible> {
        self.confirm_delivery();
        let wake = contract.wake_at();
        let delivery = poll_fn(|_| {
            let mut state = self.hall.state();
            state.wakes.remove(&self.path);
            if let Some(delivery) = state.mail.get_mut(&self.path).and_then(VecDeque::pop_front) {
                return Poll::Ready(Some(delivery));
            }
            match wake {
                Some(wake) if wake <= state.now => return Poll::Ready(None),
                Some(wake) => state.wakes.insert(self.path.clone(), wake),
                None => None,
            };
            Poll::Pending
        });
        let Some(Delivery { arrival, sender_ask }) = delivery.await else { return Ok(Input::Tick) };
        self.sender_ask = sender_ask;
        self.hall.state().store_texts(&arrival.texts);
        Ok(arrival.input)
    }
}
