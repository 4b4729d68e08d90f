//! The engine that runs on one machine. Every contract has a driver, and every driver has a queue of messages. Facts
//! are durable before the engine acts on them. A permit is held only during a model or tool call. Every task belongs to
//! the driver that started it.

mod before;
mod board;
mod delivery;
mod driver;
mod leaf;
mod money;
mod orders;
mod overrun;
mod stop;
mod text_cache;
mod time;
mod token_pool;
mod waiting_call;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_agent::{
    AgentRuntime, Arrival, Delta, Hired, ModelError, Profile, Redactor, Reply, RunError, Text, TextError, model_fn, run,
};
use guildhall_kernel::{
    AskKey, Brief, Input, Millis, Msat, OpenAsks, Path, Report, Sender, SessionFact, SessionId, SessionKind, Stimulus,
};
use tokio::sync::mpsc;

use crate::journal::{Journal, JournalError, RequestKey, SessionBatch};
use crate::lease::Lease;
use crate::limiter::CallLimiter;
use board::{Boards, call_to_board};
use delivery::{Acknowledge, Delivery, DriverMessage};
use driver::{ContractDriver, Past};
pub use money::MoneySource;
pub use orders::Order;
use overrun::{Billed, Providers};
pub use overrun::{Overruns, ProviderOf};
use stop::Gate;
pub use stop::{CallGate, Progress};
use time::SessionTime;
pub use token_pool::TokensMax;
use token_pool::{TOKEN_LIMIT, TokenPool};

/// An error of the engine. Everything that was acknowledged before the error is stored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal failed; nothing more is sent.
    #[error(transparent)]
    Journal(Arc<JournalError>),
    /// A contract could not be run.
    #[error("{contract}: {why}")]
    Contract {
        /// The contract.
        contract: Path,
        /// The reason.
        why: String,
    },
    /// A stored text that a contract needs can't be used.
    #[error("contract {contract} can't continue: {why}")]
    Text {
        /// The contract.
        contract: Path,
        /// The text and what is wrong with it.
        why: TextError,
    },
}

impl From<JournalError> for EngineError {
    fn from(why: JournalError) -> EngineError {
        EngineError::Journal(Arc::new(why))
    }
}

/// Everything that an agent uses in this hall.
#[derive(Clone)]
pub struct AgentEnv {
    /// The agent's instructions, model and tools.
    pub runtime: Arc<AgentRuntime>,
    /// Limits how many calls to the agent's provider run at the same time.
    pub limiter: Arc<CallLimiter>,
    /// Limits how many tool calls of all agents in this hall run at the same time. A call that waits for a permit has
    /// not been made yet.
    pub tools: Arc<CallLimiter>,
    /// Whether the provider returns the same reply for the same key, so that a call can be repeated after a crash.
    pub replays: Replays,
    /// Receives the parts of a reply as they arrive.
    pub watch: Watcher,
    /// Checks whether the project has a file.
    pub exists: Exists,
}

/// Checks whether the project has a file at a path.
pub type Exists = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Receives the parts of a reply as they arrive, with the session and the key of its ask. It is only for display; no
/// decision depends on it.
pub type Watcher = Arc<dyn Fn(&SessionId, &AskKey, Delta<'_>) + Send + Sync>;

/// Whether a provider returns the same reply for the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replays {
    /// The provider does: a call that a crash interrupted is made again.
    Yes,
    /// The provider does not: a call that a crash interrupted is settled as lost, and the contract makes a new request.
    No,
}

impl AgentEnv {
    /// An environment for a contract that can't be set up. It has no tools, and each request to its model fails with this
    /// reason and costs nothing. So the contract closes at once, and its hirer is told the reason as the report.
    pub fn failing(why: &str, redactor: &Redactor) -> AgentEnv {
        let why = why.to_owned();
        let model = model_fn(move |_| {
            let why = why.clone();
            async { Err::<Reply, _>(ModelError::NoModel { why }) }
        });
        let runtime = AgentRuntime {
            profile: Arc::new(Profile::new("", BTreeMap::new(), None, Hired::ByOwner)),
            model: Arc::new(model),
            window: u64::MAX,
            price: Arc::new(|_| Msat::ZERO),
            redactor: redactor.clone(),
            counts: Arc::default(),
        };
        AgentEnv {
            runtime: Arc::new(runtime),
            limiter: Arc::new(CallLimiter::new(1)),
            tools: Arc::new(CallLimiter::new(1)),
            replays: Replays::No,
            watch: Arc::new(|_, _, _| {}),
            exists: Arc::new(|_| false),
        }
    }
}

/// Finds the environment for the agent of a brief. Every brief has one, so that no hire can end the session: a brief that can't
/// be set up, for example because its agent no longer exists, has [`AgentEnv::failing`].
pub type FindEnv = Arc<dyn Fn(&Brief) -> AgentEnv + Send + Sync>;

/// How many facts of a session are read in one query.
const FACTS_PER_PAGE: u32 = 4096;

/// A running session.
#[derive(Clone)]
pub struct SessionEngine {
    inner: Arc<Inner>,
}

struct Inner {
    journal: Journal,
    lease: Lease,
    /// The kind of money that the session has.
    kind: SessionKind,
    find_env: FindEnv,
    time: Arc<SessionTime>,
    /// Held from reading the time of a step until the facts of the step are queued, so that facts are stored in the
    /// order of their times. It is never held while waiting for the disk.
    step: Arc<tokio::sync::Mutex<()>>,
    drivers: Mutex<BTreeMap<Path, delivery::Sender>>,
    /// The messages that hires of one hirer posted for each other.
    boards: Mutex<Boards>,
    open_asks: Mutex<OpenAsks>,
    /// Which providers are paid for models, and which of them overran.
    providers: Providers,
    undercounted: Vec<Arc<Brief>>,
    /// Held while an order is finished whose contract can't receive it any more.
    finishing: tokio::sync::Mutex<()>,
    /// Set when the session's work was dropped: no more calls are sent.
    stopped: AtomicBool,
    /// The tokens that the contracts may use, if they are limited.
    tokens: Option<Arc<TokenPool>>,
    /// Decides whether calls may be sent.
    gate: Arc<Gate>,
    /// The lock that a step needs, after an orderly stop: no driver takes another step.
    frozen: Mutex<Option<tokio::sync::OwnedMutexGuard<()>>>,
}

impl SessionEngine {
    /// Opens the engine of a session whose lease this process holds. Session time continues from the last stored fact.
    pub async fn open(
        journal: Journal,
        lease: Lease,
        find_env: FindEnv,
        overruns: Overruns,
        tokens_max: Option<TokensMax>,
    ) -> Result<SessionEngine, EngineError> {
        let kind = journal.folded_account(lease.session()).await?.kind().clone();
        let (mut left_at, mut boards, mut billed) = (Millis(0), Boards::default(), Billed::default());
        let mut open_asks = OpenAsks::default();
        let tokens = tokens_max.map(|max| Arc::new(TokenPool::new(max)));
        let mut from = 1;
        loop {
            let page = journal.page(lease.session(), from, FACTS_PER_PAGE).await?;
            let Some(last) = page.last() else { break };
            (left_at, from) = (last.at, last.seq + 1);
            for stored in &page {
                boards.apply(&stored.contract, &stored.fact);
                open_asks.apply(&stored.contract, &stored.fact);
                billed.apply(stored);
                if let Some(tokens) = &tokens {
                    tokens.apply_stored(&stored.contract, &stored.fact);
                }
                if let Some((id, arguments)) = call_to_board(&stored.fact) {
                    // A post that can't be read is left out, so that the session can continue.
                    let arguments = match journal.text(arguments.hash).await {
                        Ok(arguments) => arguments.unwrap_or_default(),
                        Err(JournalError::TextDamaged { .. }) => Vec::new(),
                        Err(why) => return Err(why.into()),
                    };
                    boards.record_call(&stored.contract, id, &String::from_utf8_lossy(&arguments));
                }
            }
        }
        let undercounted = std::mem::take(&mut billed.undercounted);
        Ok(SessionEngine {
            inner: Arc::new(Inner {
                time: Arc::new(SessionTime::new(left_at)),
                providers: Providers::new(overruns, billed),
                undercounted,
                boards: Mutex::new(boards),
                open_asks: Mutex::new(open_asks),
                step: Arc::default(),
                drivers: Mutex::default(),
                finishing: tokio::sync::Mutex::default(),
                stopped: AtomicBool::new(false),
                tokens,
                gate: Arc::default(),
                frozen: Mutex::default(),
                journal,
                lease,
                kind,
                find_env,
            }),
        })
    }

    /// Returns the briefs of the contracts, also of earlier roots, that had reported more input for a request than it held when this
    /// engine was opened. The texts of their models count by their bytes for the rest of the session: see
    /// [`TokenCounts::distrust`](guildhall_agent::TokenCounts::distrust).
    pub fn undercounted(&self) -> &[Arc<Brief>] {
        &self.inner.undercounted
    }

    /// Stores facts of the session's account.
    pub async fn account(&self, facts: Vec<SessionFact>, texts: Vec<Text>) -> Result<(), EngineError> {
        self.account_once(facts, texts, None).await
    }

    /// Stores facts of the session's account under a key, with the result of the request, unless the key was used before.
    pub async fn account_once(
        &self,
        facts: Vec<SessionFact>,
        texts: Vec<Text>,
        under_key: Option<(RequestKey, String)>,
    ) -> Result<(), EngineError> {
        let texts = texts.into_iter().map(|text| (text.of, text.says.into_bytes())).collect();
        let batch = SessionBatch { at: self.inner.time.now(), facts, texts, done: None };
        self.inner.journal.append_session_once(&self.inner.lease, batch, under_key).await?;
        Ok(())
    }

    /// Runs a contract until it reports. The contract starts from its brief, or continues from its stored facts.
    /// `texts` are the texts that the brief names.
    pub async fn run(&self, brief: Arc<Brief>, texts: Vec<Text>) -> Result<Report, RunError<EngineError>> {
        let Inner { journal, lease, .. } = &*self.inner;
        let account = journal.folded_account(lease.session()).await.map_err(|why| RunError::Engine(why.into()))?;
        let mut driver = self.driver(&brief, texts, Past::MayBeStored);
        driver.is_in_account = account.is_at_work(&brief.path);
        self.process_earlier_orders().await.map_err(|why| RunError::Engine(why.into()))?;
        self.work(driver, brief).await.map(|(report, _)| report)
    }

    /// Runs a contract and removes its driver. Returns the report and its texts.
    async fn work(
        &self,
        mut driver: ContractDriver,
        brief: Arc<Brief>,
    ) -> Result<(Report, Vec<Text>), RunError<EngineError>> {
        let report = run(&mut driver, brief).await;
        self.drivers().remove(driver.path());
        let report = report?;
        driver.handle_late_messages().await.map_err(RunError::Engine)?;
        let texts = driver.texts_of(std::iter::once(report.text.text()).chain(report.output));
        Ok((report, texts))
    }

    /// Sends a stimulus from the owner to a contract. The money of a top-up is new. Returns whether the contract has a driver to
    /// receive the stimulus.
    pub fn tell(&self, to: &Path, command: u64, what: Stimulus, texts: Vec<Text>) -> bool {
        self.tell_from(MoneySource::New, to, command, what, texts)
    }

    /// Asks a root to wrap up because its tokens are used. A crash before the root has heard this loses nothing: the process that
    /// resumes the session finds the same.
    fn say_out_of_tokens(&self, root: &Path, left: u64) {
        let input = Input::Stimulus { from: TOKEN_LIMIT, what: Stimulus::OutOfTokens { left } };
        self.send(
            root,
            Delivery { arrival: Arrival { input, texts: Vec::new() }, acknowledge: Acknowledge::NotNeeded },
        );
    }

    fn tell_from(&self, source: MoneySource, to: &Path, command: u64, what: Stimulus, texts: Vec<Text>) -> bool {
        let input = Input::Stimulus { from: Sender::Owner { command }, what };
        let arrival = Arrival { input, texts };
        self.send(to, Delivery { arrival, acknowledge: Acknowledge::Order { number: command, source } })
    }

    /// Creates the driver of a contract.
    fn driver(&self, brief: &Brief, texts: Vec<Text>, earlier: Past) -> ContractDriver {
        let env = (self.inner.find_env)(brief);
        let (sender, receiver) = mpsc::unbounded_channel();
        self.drivers().insert(brief.path.clone(), sender.clone());
        ContractDriver::new(self.clone(), brief, earlier, env, (sender, receiver), texts)
    }

    fn send(&self, to: &Path, delivery: Delivery) -> bool {
        self.drivers().get(to).is_some_and(|sender| sender.send(Box::new(DriverMessage::Delivery(delivery))).is_ok())
    }

    fn boards(&self) -> std::sync::MutexGuard<'_, Boards> {
        // A panic while the lock was held leaves the boards valid: a post is added before the count of seen posts.
        self.inner.boards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_asks(&self) -> std::sync::MutexGuard<'_, OpenAsks> {
        self.inner.open_asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drivers(&self) -> std::sync::MutexGuard<'_, BTreeMap<Path, delivery::Sender>> {
        // A panic while the lock was held leaves the map valid: each change is one insert or remove.
        self.inner.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
