//! The engine on one machine: every contract has a driver, and every driver a queue of messages. Facts are durable before
//! anything follows from them, a permit is held only during a leaf call, and every task belongs to the driver that started it.

mod board;
mod delivery;
mod driver;
mod leaf;
mod orders;
mod overrun;
mod time;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall_agent::{AgentRuntime, Arrival, Delta, RunError, Text, TextError, run};
use guildhall_kernel::{AskKey, Brief, Input, Millis, Path, Report, Sender, SessionFact, Stimulus};
use tokio::sync::mpsc;

use crate::journal::{Journal, JournalError, SessionBatch};
use crate::lease::Lease;
use crate::limiter::CallLimiter;
use board::{Boards, call_to_board};
use delivery::{Delivery, DriverMessage, Receipt};
use driver::{ContractDriver, Past};
pub use orders::Order;
use overrun::{Billed, Providers};
pub use overrun::{Overruns, ProviderOf};
use time::SessionTime;

/// What went wrong with the engine. Nothing that was acknowledged is lost.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal failed; no effect leaves any more.
    #[error(transparent)]
    Journal(Arc<JournalError>),
    /// A contract below could not be run.
    #[error("{contract}: {why}")]
    Below {
        /// Which contract.
        contract: Path,
        /// Why.
        why: String,
    },
    /// A stored text that a contract needs can't be used.
    #[error("contract {contract} can't go on: {why}")]
    Text {
        /// Which contract.
        contract: Path,
        /// Which text, and what is wrong with it.
        why: TextError,
    },
}

impl From<JournalError> for EngineError {
    fn from(why: JournalError) -> EngineError {
        EngineError::Journal(Arc::new(why))
    }
}

/// What an agent works with in this hall.
#[derive(Clone)]
pub struct AgentEnv {
    /// Its instructions, model and tools.
    pub runtime: Arc<AgentRuntime>,
    /// How many calls to its provider may run at once.
    pub limiter: Arc<CallLimiter>,
    /// How many tool calls may run at once, of everybody in this hall. A call that waits for its turn has not been made.
    pub tools: Arc<CallLimiter>,
    /// Whether its provider answers the same key with the same reply, so that a call can be attached to after a crash.
    pub replays: Replays,
    /// Is told what arrives of its replies before they are whole.
    pub watch: Watcher,
    /// Tells whether the project has a file.
    pub exists: Exists,
}

/// Tells whether there is a file.
pub type Exists = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Is told what arrives of a reply, and of which ask. It is for people who watch; nothing depends on it.
pub type Watcher = Arc<dyn Fn(&AskKey, Delta<'_>) + Send + Sync>;

/// Whether a provider can be attached to by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replays {
    /// It can: a call that a crash interrupted is made again.
    Yes,
    /// It can't: such a call is settled as lost, and a new one is asked for.
    No,
}

/// Finds the environment in which the agent of a brief works. A stored brief may name an agent that no longer exists.
pub type FindEnv = Arc<dyn Fn(&Brief) -> Option<AgentEnv> + Send + Sync>;

/// How many of a session's facts are read at once.
const FACTS_AT_ONCE: u32 = 4096;

/// A running session.
#[derive(Clone)]
pub struct SessionEngine {
    inner: Arc<Inner>,
}

struct Inner {
    journal: Journal,
    lease: Lease,
    find_env: FindEnv,
    time: Arc<SessionTime>,
    /// Held from the moment at which a step's time is read until its facts have queued up, so that facts are stored in the
    /// order of their times. Nobody waits for the disk with it.
    step: Arc<tokio::sync::Mutex<()>>,
    drivers: Mutex<BTreeMap<Path, mpsc::UnboundedSender<DriverMessage>>>,
    /// What hires posted for each other.
    boards: Mutex<Boards>,
    /// Who is paid for models.
    providers: Providers,
    /// Held while an order is dealt with that nobody can hear any more.
    concluding: tokio::sync::Mutex<()>,
    /// Whether the work was dropped: no call leaves any more.
    stopped: AtomicBool,
}

impl SessionEngine {
    /// Opens the engine of a session that this process holds the lease of, at the time at which the session was left.
    pub async fn open(
        journal: Journal,
        lease: Lease,
        find_env: FindEnv,
        overruns: Overruns,
    ) -> Result<SessionEngine, EngineError> {
        let (mut left, mut boards, mut billed) = (Millis(0), Boards::default(), Billed::default());
        let mut from = 1;
        loop {
            let page = journal.page(lease.session(), from, FACTS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            (left, from) = (last.at, last.seq + 1);
            for stored in &page {
                boards.note(&stored.contract, &stored.fact);
                billed.note(stored);
                if let Some((id, arguments)) = call_to_board(&stored.fact) {
                    // What can't be read was not posted: a session goes on without it.
                    let arguments = match journal.text(arguments.hash).await {
                        Ok(arguments) => arguments.unwrap_or_default(),
                        Err(JournalError::TextDamaged { .. }) => Vec::new(),
                        Err(why) => return Err(why.into()),
                    };
                    boards.visit(&stored.contract, id, &String::from_utf8_lossy(&arguments));
                }
            }
        }
        Ok(SessionEngine {
            inner: Arc::new(Inner {
                time: Arc::new(SessionTime::from(left)),
                providers: Providers::new(overruns, billed),
                boards: Mutex::new(boards),
                step: Arc::default(),
                drivers: Mutex::default(),
                concluding: tokio::sync::Mutex::default(),
                stopped: AtomicBool::new(false),
                journal,
                lease,
                find_env,
            }),
        })
    }

    /// Records what happened to the session's account.
    pub async fn account(&self, facts: Vec<SessionFact>, texts: Vec<Text>) -> Result<(), EngineError> {
        let texts = texts.into_iter().map(|text| (text.of, text.says.into_bytes())).collect();
        let batch = SessionBatch { at: self.inner.time.now(), facts, texts, done: None };
        self.inner.journal.append_session(&self.inner.lease, batch).await?;
        Ok(())
    }

    /// Runs a contract to its report: from its brief, or from wherever it was left. `texts` are those that the brief names.
    pub async fn run(&self, brief: Arc<Brief>, texts: Vec<Text>) -> Result<Report, RunError<EngineError>> {
        let driver = self.driver(&brief, texts, Past::MayBeStored).map_err(RunError::Engine)?;
        self.obey_first().await.map_err(|why| RunError::Engine(why.into()))?;
        self.work(driver, brief).await.map(|(report, _)| report)
    }

    /// Runs a contract and removes its driver. Returns the report with its texts.
    async fn work(
        &self,
        mut driver: ContractDriver,
        brief: Arc<Brief>,
    ) -> Result<(Report, Vec<Text>), RunError<EngineError>> {
        let report = run(&mut driver, brief).await;
        self.drivers().remove(driver.path());
        let report = report?;
        driver.turn_away().await.map_err(RunError::Engine)?;
        let texts = driver.texts_of(std::iter::once(report.text.text()).chain(report.output));
        Ok((report, texts))
    }

    /// Tells a contract something, as its owner. Returns whether there was one to tell.
    pub fn tell(&self, to: &Path, command: u64, what: Stimulus, texts: Vec<Text>) -> bool {
        let input = Input::Stimulus { from: Sender::Owner { command }, what };
        let arrival = Arrival { input, texts };
        self.send(to, Delivery { arrival, receipt: Receipt::Order(command) })
    }

    /// Makes the driver of a contract.
    fn driver(&self, brief: &Brief, texts: Vec<Text>, earlier: Past) -> Result<ContractDriver, EngineError> {
        let unknown = || EngineError::Below {
            contract: brief.path.clone(),
            why: format!("the session was set up without the agent {} or its model", brief.agent),
        };
        let env = (self.inner.find_env)(brief).ok_or_else(unknown)?;
        let (post, mail) = mpsc::unbounded_channel();
        self.drivers().insert(brief.path.clone(), post.clone());
        Ok(ContractDriver::new(self.clone(), brief, earlier, env, (post, mail), texts))
    }

    fn send(&self, to: &Path, letter: Delivery) -> bool {
        self.drivers().get(to).is_some_and(|post| post.send(DriverMessage::Delivery(letter)).is_ok())
    }

    fn boards(&self) -> std::sync::MutexGuard<'_, Boards> {
        // A panic while they were held left them whole: a post comes before the count of those that were seen.
        self.inner.boards.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drivers(&self) -> std::sync::MutexGuard<'_, BTreeMap<Path, mpsc::UnboundedSender<DriverMessage>>> {
        // A panic while the list was held left it whole: each change is one insert or remove.
        self.inner.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
