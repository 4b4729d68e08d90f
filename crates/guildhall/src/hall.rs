//! A hall: where work is asked for, done, watched and taken up again.

use std::collections::BTreeMap;
use std::path::{Component, Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use guildhall_agent::checks::SchemaError;
use guildhall_agent::roster::Roster;
use guildhall_agent::{Redactor, RunError, Tool};
use guildhall_kernel::{AgentName, AskKey, Brief, Msat, NameError, Path, Refusal, SessionError, Stimulus};
use guildhall_local::{
    CallLimiter, EngineError, Exists, FindEnv, Journal, JournalError, Overruns, SessionEngine, SessionId, UnixMs,
    Watcher,
};
use guildhall_models::NoPrice;
use guildhall_tools::{Project, ProjectError, read_only};

use crate::agent_table::{AgentTable, TableInputs};
use crate::agents::Agent;
use crate::builder::{HallBuilder, WarnFn};
use crate::faults::Faults;
use crate::guide;
use crate::models::{Models, ModelsError, Paid};
use crate::running::Running;
use crate::session::{Unreadable, View};
use crate::setup::{SETUP_FORM, Setup, Staffing, staffings};
use crate::tasks::Tasks;
use crate::undertaking::Undertaking;

/// Why work could not be done. What was done until then is kept.
#[derive(Debug, thiserror::Error)]
pub enum HallError {
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The engine failed while contracts were at work.
    #[error("{0}")]
    SessionEngine(EngineError),
    /// What is stored breaks a law.
    #[error("{0}")]
    Damaged(String),
    /// What a session was set up with can't be read: it can be shown, billed and ended, but nobody can go on.
    #[error("can't read the stored settings of this work: {why}")]
    NoSetup {
        /// What is wrong with it.
        why: String,
    },
    /// The session was begun by a later version of this program.
    #[error(
        "it was begun by a newer guildhall (form {found}, and this one reads up to {SETUP_FORM}): use that one. Nothing was changed"
    )]
    Newer {
        /// The form of what it was set up with.
        found: u32,
    },
    /// The work was not taken on, and nothing was spent.
    #[error("{0}")]
    Refused(Refusal),
    /// The session's account does not allow it.
    #[error(transparent)]
    Account(#[from] SessionError),
    /// The model can't be had.
    #[error(transparent)]
    Models(#[from] ModelsError),
    /// The project can't be opened.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The session has nothing that could be taken up.
    #[error("{0} has no work to take up: its request was never stored")]
    NothingToResume(SessionId),
    /// The session's last work has ended.
    #[error("{0} has ended")]
    HasEnded(SessionId),
    /// Another process went on in the session first.
    #[error("another process went on in {0} meanwhile: nothing was spent")]
    WentOn(SessionId),
    /// The session's last work has not ended.
    #[error("{0} has not ended")]
    NotEnded(SessionId),
    /// The session was a list of tasks, so nobody has it who could go on.
    #[error("{0} was a list of tasks, so that it has to be said who goes on")]
    WasList(SessionId),
    /// A list has more tasks than may be hired.
    #[error("{tasks} tasks take as many hires, and {heads} are allowed: nothing was spent")]
    TooFewHeads {
        /// How many tasks.
        tasks: usize,
        /// How many hires are allowed.
        heads: u32,
    },
    /// Nobody of that path is at work.
    #[error("{contract} of {session} is not at work")]
    NobodyThere {
        /// The session.
        session: SessionId,
        /// Who was meant.
        contract: Path,
    },
    /// Only what is reserved can be corrected.
    #[error(
        "nothing is reserved for call {ask} of {session}: only a call that was lost, stopped or failed can be corrected"
    )]
    NotReserved {
        /// The session.
        session: SessionId,
        /// The call.
        ask: AskKey,
    },
    /// A correction releases money and takes none.
    #[error(
        "{billed} is more than the {reserved} reserved for {ask}: a correction can only release money. Nothing was changed"
    )]
    BilledBeyondReserve {
        /// The call.
        ask: AskKey,
        /// What was said to have been billed.
        billed: Msat,
        /// What is reserved.
        reserved: Msat,
    },
    /// With that, a session would hold more than all money there is.
    #[error(
        "{session} can't be given {asked} more: with what it has, that is more than all money there is, 21 million bitcoin. \
         Nothing was changed"
    )]
    TooMuchMoney {
        /// The session.
        session: SessionId,
        /// What it was to be given.
        asked: Msat,
    },
    /// Whoever was to be hired is none whom the hirer may hire.
    #[error("{hirer} is not allowed to hire {agent}: choose one of {known}")]
    MayNotHire {
        /// The contract.
        hirer: Path,
        /// Who was meant.
        agent: AgentName,
        /// Whom it may hire.
        known: String,
    },
    /// There is no such agent.
    #[error("there is no agent {name}: choose one of {known}")]
    NoAgent {
        /// Who was asked for.
        name: String,
        /// Who there is.
        known: String,
    },
    /// The form of the output can't be checked.
    #[error("the schema of the output: {}", listed(.0))]
    Schema(Vec<SchemaError>),
    /// Several of the roster could take the work on.
    #[error("several agents in the roster can do this work: choose one of {known}")]
    NoEntry {
        /// Who there is.
        known: String,
    },
    /// A tool has a name that is none.
    #[error("{name:?} can't be the name of a tool: {why}")]
    ToolName {
        /// Its name.
        name: String,
        /// Why not.
        why: NameError,
    },
    /// An agent names a tool that there is not.
    #[error("the agent {agent} wants the tool {tool:?}, which this hall does not have: it has {known}")]
    NoTool {
        /// Which agent.
        agent: String,
        /// What it wants.
        tool: String,
        /// What there is.
        known: String,
    },
}

fn listed(errors: &[SchemaError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<NoPrice> for HallError {
    fn from(why: NoPrice) -> HallError {
        HallError::Models(why.into())
    }
}

impl From<EngineError> for HallError {
    fn from(why: EngineError) -> HallError {
        match why {
            EngineError::Journal(why) => HallError::Journal(JournalError::clone(&why)),
            EngineError::Below { .. } | EngineError::Text { .. } => HallError::SessionEngine(why),
        }
    }
}

impl From<RunError<EngineError>> for HallError {
    fn from(why: RunError<EngineError>) -> HallError {
        match why {
            RunError::Engine(why) => why.into(),
            RunError::Refused(why) => HallError::Refused(why),
            RunError::Corrupt { .. } => HallError::Damaged(why.to_string()),
        }
    }
}

/// How a session is to end before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With one last report, which is paid for.
    WrapUp,
    /// At once, without another word.
    Cancel,
}

impl Ending {
    pub(crate) fn stimulus(self) -> Stimulus {
        match self {
            Ending::WrapUp => Stimulus::WrapUp,
            Ending::Cancel => Stimulus::Cancel,
        }
    }
}

/// Something that a person tells a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Words, which its agent is shown in its next turn.
    Words(String),
    /// More money.
    Money(Msat),
    /// That it is to end.
    End(Ending),
}

/// A hall on this machine. Clones are the same hall.
///
/// ```
/// use guildhall::{Hall, Price, Reply, model_fn};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// let clerk = model_fn(|_| async { Reply::words("In the hall.") });
/// let hall = Hall::builder().project(project.path()).model("clerk", clerk, Price::FREE).build()?;
/// let first = hall.run("When is the meeting?").await?;
/// let next = hall.run("And where?").after(first.session).await?;
/// assert_eq!(next.text, "In the hall.");
/// assert_eq!(hall.sessions().await?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hall {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) journal: Journal,
    pub(crate) project: PathBuf,
    pub(crate) models: Models,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) tool_limiter: Arc<CallLimiter>,
    pub(crate) allow_overrun: bool,
    pub(crate) redactor: Redactor,
    pub(crate) watch: Watcher,
    pub(crate) warn: WarnFn,
    pub(crate) roster: Roster,
}

impl Hall {
    /// Begins to put a hall together.
    pub fn builder() -> HallBuilder {
        HallBuilder::new()
    }

    pub(crate) fn new(inner: Inner) -> Hall {
        Hall { inner: Arc::new(inner) }
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// Returns the models.
    pub fn models(&self) -> &Models {
        &self.inner.models
    }

    /// Returns the project's directory.
    pub fn project(&self) -> &FilePath {
        &self.inner.project
    }

    /// Returns who can be hired.
    pub fn roster(&self) -> &Roster {
        &self.inner.roster
    }

    pub(crate) fn warn(&self, line: &str) {
        (self.inner.warn)(line);
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    /// Describes work to do; [`Undertaking::start`] begins it.
    pub fn run(&self, task: impl Into<String>) -> Undertaking {
        Undertaking::new(self.clone(), task.into())
    }

    /// Describes a list of tasks to work off; [`Undertaking::start`] begins it.
    pub fn run_tasks(&self, tasks: Tasks) -> Undertaking {
        Undertaking::of_tasks(self.clone(), tasks)
    }

    /// Takes up what was interrupted, from what is stored.
    pub async fn resume(&self, id: &SessionId) -> Result<Running, HallError> {
        Running::resume(self, id).await
    }

    /// Returns all sessions, the newest first. One that can't be read keeps nobody from the others.
    pub async fn sessions(&self) -> Result<Vec<Result<View, Unreadable>>, HallError> {
        let mut views = Vec::new();
        for row in self.journal().sessions().await? {
            let view = View::read(self.journal(), &row.id).await;
            views.push(view.map_err(|why| Unreadable { row, why }));
        }
        Ok(views)
    }

    /// Returns one session. One of which anything is not what was stored is an error.
    pub async fn session(&self, id: &SessionId) -> Result<View, HallError> {
        View::read(self.journal(), id).await
    }

    /// Opens the engine of a session, for all agents that can come to work in it. The faults of the root's provider
    /// are recorded from then on.
    pub(crate) async fn engine(&self, id: &SessionId, setup: &Setup) -> Result<(SessionEngine, Faults), HallError> {
        let table = self.table(id, &setup.staffing)?;
        let lease = self.journal().lease(id, UnixMs::now()).await?;
        let faults = Faults::default();
        let recorded = faults.clone();
        let find_env: FindEnv = Arc::new(move |brief| table.env(brief).map(|env| recorded.record(env, brief)));
        let overruns = self.overruns(id, setup).await?;
        Ok((SessionEngine::open(self.journal().clone(), lease, find_env, overruns).await?, faults))
    }

    /// Whether a provider that bills too much is asked on, whatever was said when the work began.
    pub(crate) fn allows_overrun(&self) -> bool {
        self.inner.allow_overrun
    }

    /// What becomes of a provider that bills too much. A model that nobody is paid for can't: what it counts is no bill.
    async fn overruns(&self, id: &SessionId, setup: &Setup) -> Result<Overruns, HallError> {
        if self.allows_overrun() || setup.allow_overrun {
            return Ok(Overruns::Allow);
        }
        let mut staffings = staffings(self.journal(), id).await?;
        staffings.insert(setup.brief.path.clone(), setup.staffing.clone());
        let models = self.models().clone();
        let provider_of = move |brief: &Brief| {
            let model = staffings.get(&brief.path.top())?.model_of(brief)?;
            // A provider that is not set up any more can't be asked either.
            let name = models.find(Some(model)).ok()?;
            (models.paid(&name) == Paid::Provider).then_some(name.source)
        };
        Ok(Overruns::Stop(Arc::new(provider_of)))
    }

    /// Builds the table of all agents that can come to work.
    pub(crate) fn table(&self, id: &SessionId, staffing: &Staffing) -> Result<AgentTable, HallError> {
        let project = Project::open(&self.inner.project)?;
        let tools = read_only(&project).into_iter().chain(self.inner.tools.iter().cloned());
        let tools = tools.map(|tool| (tool.spec().name, tool)).collect();
        let root = self.inner.project.clone();
        let exists: Exists = Arc::new(move |path| is_beneath(path) && root.join(path).is_file());
        AgentTable::build(&TableInputs {
            models: self.models(),
            session: id,
            staffing,
            tools: &tools,
            tool_limiter: &self.inner.tool_limiter,
            redactor: self.redactor(),
            watch: &self.inner.watch,
            exists: &exists,
        })
    }

    /// Fixes who works with which model at which prices. A model that was asked for by whoever began the work counts for
    /// everybody; otherwise each agent's own does, where it can be had. The agent of a task list has none.
    pub(crate) fn staff(
        &self,
        agents: Vec<Agent>,
        wanted: Option<&str>,
        task_list: Option<&AgentName>,
    ) -> Result<Staffing, HallError> {
        let (mut seated, mut locked, now) = (BTreeMap::new(), BTreeMap::new(), SystemTime::now());
        let first = agents.first().and_then(|agent| agent.model.as_deref());
        let main = match (wanted, first) {
            (None, Some(own)) => match (self.models().find_own(own, now), self.models().find(None)) {
                (Ok(own), _) => own,
                (Err(_), Ok(usual)) => usual,
                (Err(why), Err(_)) => return Err(why.into()),
            },
            (wanted, _) => self.models().find(wanted)?,
        };
        for agent in agents.iter().filter(|agent| Some(&agent.name) != task_list) {
            let own = agent.model.as_deref().filter(|_| wanted.is_none());
            let own = own.and_then(|model| self.models().find_own(model, now).ok());
            let name = own.unwrap_or_else(|| main.clone());
            let price = self.models().lock(&name, now)?;
            locked.entry(name.to_string()).or_insert(price);
            seated.insert(agent.name.clone(), name.to_string());
        }
        let rate = self.models().rate().clone();
        Ok(Staffing { agents, seated, rate, locked, guide: guide::find(self.project()) })
    }
}

/// Whether a path leads nowhere but down.
fn is_beneath(path: &str) -> bool {
    FilePath::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
