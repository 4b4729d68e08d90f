//! A hall: the place where work is started, watched and resumed.

mod engine;

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use guildhall_agent::checks::SchemaError;
use guildhall_agent::roster::Roster;
use guildhall_agent::{Redactor, RunError, Tool};
#[cfg(not(feature = "lightning"))]
use guildhall_kernel::SessionKind;
#[cfg(feature = "lightning")]
use guildhall_kernel::TextRef;
use guildhall_kernel::{AgentName, AskKey, Msat, NameError, Path, Refusal, SessionError, Stimulus};
use guildhall_local::{CallLimiter, EngineError, Journal, JournalError, SessionId, Watcher};
use guildhall_models::NoPrice;
use guildhall_tools::{Project, ProjectError};

use crate::agents::Agent;
use crate::builder::{HallBuilder, WarnFn};
use crate::guide;
use crate::models::{Models, ModelsError};
use crate::running::Running;
use crate::session::{Unreadable, View};
use crate::setup::{FeeTerms, SETUP_FORM, Staffing, newest_root};
#[cfg(feature = "lightning")]
use crate::stored::stored_text;
use crate::tasks::Tasks;
use crate::transcript::TranscriptError;
#[cfg(feature = "lightning")]
use crate::treasury::{FollowedTreasury, WalletError, WalletSettings};
use crate::undertaking::Undertaking;
use crate::usage_warnings::UsageWarnings;

/// Why work could not be done. Everything stored before the error stays stored.
#[derive(Debug, thiserror::Error)]
pub enum HallError {
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The engine failed while contracts were at work.
    #[error("{0}")]
    SessionEngine(EngineError),
    /// The stored facts break a law.
    #[error("{0}")]
    Damaged(String),
    /// The settings of a session can't be read. The session can be shown, billed and ended, but not continued.
    #[error("can't read the stored settings of this work: {why}")]
    NoSetup {
        /// What is wrong with the settings.
        why: String,
    },
    /// The session was started by another version of this program. It can't be continued, but it can be ended.
    #[error(
        "session {session} has settings of form {found}, but this guildhall reads only form {SETUP_FORM}: use the guildhall that \
         started the session. Nothing was changed"
    )]
    OtherForm {
        /// The session.
        session: SessionId,
        /// The form of the stored settings.
        found: u32,
    },
    /// The work was refused before it started, and nothing was spent.
    #[error("{0}")]
    Refused(Refusal),
    /// The session's account does not allow the change.
    #[error(transparent)]
    Account(#[from] SessionError),
    /// The session has the money of a wallet, and this program was built without one.
    #[cfg(not(feature = "lightning"))]
    #[error("the session has the money of a wallet, and this program was built without the feature `lightning`")]
    NoWallet,
    /// The wallet can't be used.
    #[cfg(feature = "lightning")]
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The model can't be used.
    #[error(transparent)]
    Models(#[from] ModelsError),
    /// The project can't be opened.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The session has no request that could be resumed.
    #[error("session {0} has nothing to resume: the program ended before the task was stored")]
    NothingToResume(SessionId),
    /// The session was funded and has no request yet.
    #[error("no work was started in session {0}, which has been funded")]
    NoWorkYet(SessionId),
    /// The session's newest work has ended.
    #[error("session {0} has ended")]
    HasEnded(SessionId),
    /// Another process continued the session first.
    #[error("another process continued session {0} in the meantime. Nothing was spent here")]
    ContinuedElsewhere(SessionId),
    /// The session's newest work has not ended.
    #[error("session {0} has not ended")]
    NotEnded(SessionId),
    /// The work stopped because of a fault in this program.
    #[error("the work of session {0} stopped because of a fault in this program. Everything that was stored is kept")]
    Crashed(SessionId),
    /// The program is stopping.
    #[error("this program is stopping, so no work starts. Everything that was stored is kept. Try again later")]
    Stopping,
    /// The session worked on a list of tasks, so no single agent can continue it.
    #[error("session {0} worked on a list of tasks: choose an agent to continue it")]
    WasTaskList(SessionId),
    /// A list has more tasks than hires are allowed.
    #[error(
        "the list has {tasks} tasks and needs one hire for each, but only {heads} hires are allowed. Nothing was spent"
    )]
    TooFewHeads {
        /// The number of tasks.
        tasks: usize,
        /// The number of hires that are allowed.
        heads: u32,
    },
    /// The contract does not exist or has ended.
    #[error("contract {contract} of session {session} is not at work: it has ended, or it does not exist")]
    NotAtWork {
        /// The session.
        session: SessionId,
        /// The contract.
        contract: Path,
    },
    /// Only reserved calls can be corrected.
    #[error(
        "nothing is reserved for call {ask} of {session}: only a call that was lost, stopped or failed can be corrected"
    )]
    NotReserved {
        /// The session.
        session: SessionId,
        /// The call.
        ask: AskKey,
    },
    /// A correction can release money, but can't charge more.
    #[error(
        "{billed} is more than the {reserved} reserved for {ask}: a correction can only release money. Nothing was changed"
    )]
    BilledBeyondReserve {
        /// The call.
        ask: AskKey,
        /// The amount that the person says was billed.
        billed: Msat,
        /// The amount that is reserved.
        reserved: Msat,
    },
    /// The session would hold more money than there is.
    #[error(
        "can't add {asked} to session {session}: its money would exceed 21 million bitcoin, more than there can be. \
         Nothing was changed"
    )]
    TooMuchMoney {
        /// The session.
        session: SessionId,
        /// The amount to add.
        asked: Msat,
    },
    /// The session has no such contract.
    #[error("there is no contract {contract} in session {session}{}", among(.known))]
    NoContract {
        /// The session.
        session: SessionId,
        /// The contract.
        contract: Path,
        /// The contracts that exist, or the first of them.
        known: String,
    },
    /// Transcripts can't be written while the work runs, so the work did not start.
    #[error("{0}. The work did not start, and nothing was spent")]
    TranscriptsNotStarted(TranscriptError),
    /// The transcripts of a session can't be written.
    #[error("{why}{}", written_so_far(*.written, *.all))]
    TranscriptsNotWritten {
        /// Why the next transcript can't be written.
        why: TranscriptError,
        /// How many transcripts were written before. Their files are complete.
        written: usize,
        /// How many transcripts there are.
        all: usize,
    },
    /// The hirer is not allowed to hire this agent.
    #[error("contract {hirer} is not allowed to hire {agent}: it can hire {known}")]
    NotInTeam {
        /// The contract of the hirer.
        hirer: Path,
        /// The agent to hire.
        agent: AgentName,
        /// The agents that the hirer is allowed to hire.
        known: String,
    },
    /// The roster has no agent of this name.
    #[error("unknown agent {name:?}: choose one of {known}")]
    NoAgent {
        /// The unknown name.
        name: String,
        /// The names of the roster.
        known: String,
    },
    /// The JSON schema of the output can't be used.
    #[error("can't use the JSON schema of the output: {}", listed(.0))]
    Schema(Vec<SchemaError>),
    /// Several agents of the roster could be the first agent.
    #[error("several agents in the roster can do this work: choose one of {known}")]
    NoEntry {
        /// The names of the roster.
        known: String,
    },
    /// The name of a tool is not valid.
    #[error("{name:?} can't be the name of a tool: {why}")]
    ToolName {
        /// The name.
        name: String,
        /// What is wrong with the name.
        why: NameError,
    },
    /// An agent names a tool that does not exist.
    #[error("agent {agent} names the tool {tool:?}, which does not exist here: the tools are {known}")]
    NoTool {
        /// The agent.
        agent: String,
        /// The unknown tool.
        tool: String,
        /// The names of the tools that exist.
        known: String,
    },
}

fn listed(errors: &[SchemaError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn among(known: &str) -> String {
    if known.is_empty() { ": its work has not begun".to_owned() } else { format!(": its contracts are {known}") }
}

fn written_so_far(written: usize, all: usize) -> String {
    match written {
        0 => ". Nothing was written".to_owned(),
        1 => format!(". 1 of {all} transcripts was written, and it is complete"),
        _ => format!(". {written} of {all} transcripts were written, and those are complete"),
    }
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
            EngineError::Contract { .. } | EngineError::Text { .. } => HallError::SessionEngine(why),
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

/// How to end a session before its work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With one last report, which is paid for.
    WrapUp,
    /// Immediately, without a report from the model.
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

/// An instruction from a person to a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A message, which the agent reads in its next turn.
    Message(String),
    /// More money. In a session with play money, this creates the money; otherwise it is moved, as with `Grant`.
    Money(Msat),
    /// More of the session's free money.
    Grant(Msat),
    /// The stop.
    End(Ending),
}

/// A hall on this machine. A clone is another handle to the same hall.
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

#[derive(Clone)]
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
    pub(crate) transcripts: Option<PathBuf>,
    /// Who is paid the fees of which agents, in sessions with the money of a wallet.
    pub(crate) fees: BTreeMap<AgentName, FeeTerms>,
    #[cfg(feature = "lightning")]
    pub(crate) wallet: WalletSettings,
    /// What is known of the treasury. Halls of one journal share it.
    #[cfg(feature = "lightning")]
    pub(crate) treasury: Arc<tokio::sync::Mutex<FollowedTreasury>>,
}

impl Hall {
    /// Returns a builder for a hall.
    pub fn builder() -> HallBuilder {
        HallBuilder::new()
    }

    pub(crate) fn new(inner: Inner) -> Hall {
        Hall { inner: Arc::new(inner) }
    }

    /// Returns a hall with another project and another roster on the same journal. Both halls share everything else: the models
    /// and tools with their limits, the wallet, and the functions that receive parts of replies and warnings. An agent that has
    /// the name of a payee's agent earns the same fee.
    ///
    /// ```
    /// use guildhall::{Hall, Price, Reply, Roster, model_fn};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (ship, harbour) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// # let (ship, harbour) = (ship.path(), harbour.path());
    /// let clerk = model_fn(|_| async { Reply::words("In the hall.") });
    /// let hall = Hall::builder().project(ship).model("clerk", clerk, Price::FREE).build()?;
    /// let team = hall.team(harbour, Roster::default())?;
    /// let ended = team.run("Where is the meeting?").await?;
    /// assert_eq!(hall.session(&ended.session).await?.row.project, harbour.display().to_string());
    /// # Ok(())
    /// # }
    /// ```
    pub fn team(&self, project: impl AsRef<FilePath>, roster: Roster) -> Result<Hall, HallError> {
        let project = project.as_ref();
        let absolute = std::path::absolute(project);
        let project = absolute.map_err(|source| ProjectError::Open { path: project.to_owned(), source })?;
        // A project that is missing is an error here, and not when the first work of the team starts.
        Project::open(&project)?;
        Ok(Hall::new(Inner { project, roster, ..Inner::clone(&self.inner) }))
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

    /// Returns the agents that can be hired.
    pub fn roster(&self) -> &Roster {
        &self.inner.roster
    }

    /// Returns the same hall, in which these agents earn no fees in sessions with the money of a wallet.
    #[must_use]
    pub fn without_fees(&self, agents: &[AgentName]) -> Hall {
        let mut inner = Inner::clone(&self.inner);
        inner.fees.retain(|agent, _| !agents.contains(agent));
        Hall::new(inner)
    }

    pub(crate) fn warn(&self, line: &str) {
        (self.inner.warn)(line);
    }

    pub(crate) fn warner(&self) -> WarnFn {
        Arc::clone(&self.inner.warn)
    }

    /// The directory in which each running session gets a directory of transcripts.
    pub(crate) fn transcripts(&self) -> Option<&FilePath> {
        self.inner.transcripts.as_deref()
    }

    /// Who is paid the fees of which agents, in sessions with the money of a wallet.
    pub(crate) fn fees(&self) -> BTreeMap<AgentName, FeeTerms> {
        self.inner.fees.clone()
    }

    #[cfg(feature = "lightning")]
    pub(crate) fn wallet_settings(&self) -> &WalletSettings {
        &self.inner.wallet
    }

    #[cfg(feature = "lightning")]
    pub(crate) fn followed_treasury(&self) -> &tokio::sync::Mutex<FollowedTreasury> {
        &self.inner.treasury
    }

    /// This build has no wallet, so no work starts in a session with the money of one.
    #[cfg(not(feature = "lightning"))]
    #[expect(clippy::unused_async, reason = "with a wallet, this asks its server")]
    pub(crate) async fn check_wallet(&self, kind: &SessionKind) -> Result<(), HallError> {
        if *kind == SessionKind::Play { Ok(()) } else { Err(HallError::NoWallet) }
    }

    /// This build has no wallet, so it credits nothing.
    #[cfg(not(feature = "lightning"))]
    #[expect(clippy::unused_async, reason = "with a wallet, this asks its server")]
    pub(crate) async fn credit(&self, _session: &SessionId) -> Result<(), HallError> {
        Ok(())
    }

    /// Returns a stored text.
    #[cfg(feature = "lightning")]
    pub(crate) async fn stored_words(&self, of: TextRef) -> Result<String, HallError> {
        stored_text(self.journal(), of).await.map_err(|why| HallError::Damaged(why.to_string()))
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    /// Describes work to do. [`Undertaking::start`] starts it.
    pub fn run(&self, task: impl Into<String>) -> Undertaking {
        Undertaking::new(self.clone(), task.into())
    }

    /// Describes a list of tasks to do. [`Undertaking::start`] starts it.
    pub fn run_tasks(&self, tasks: Tasks) -> Undertaking {
        Undertaking::of_tasks(self.clone(), tasks)
    }

    /// Resumes interrupted work from the stored facts.
    pub async fn resume(&self, id: &SessionId) -> Result<Running, HallError> {
        Running::resume(self, id).await
    }

    /// Returns all sessions, the newest first. A session that can't be read does not hide the others.
    pub async fn sessions(&self) -> Result<Vec<Result<View, Unreadable>>, HallError> {
        let mut views = Vec::new();
        for row in self.journal().sessions().await? {
            let view = View::read(self.journal(), &row.id).await;
            views.push(view.map_err(|why| Unreadable { row, why }));
        }
        Ok(views)
    }

    /// Returns one session. A session that was changed after it was stored is an error.
    pub async fn session(&self, id: &SessionId) -> Result<View, HallError> {
        View::read(self.journal(), id).await
    }

    /// Returns the agents of a session's newest request, with their models.
    pub async fn staffing_of(&self, id: &SessionId) -> Result<Staffing, HallError> {
        Ok(newest_root(self.journal(), id).await?.setup.staffing)
    }

    /// Returns the warnings about providers whose usage reports can't be right, before the first fact of a session.
    pub async fn usage_warnings(&self, id: &SessionId) -> Result<UsageWarnings, HallError> {
        UsageWarnings::of(self.journal(), id).await
    }

    /// Fixes the model and the price of each agent. The model that the caller asked for is used for all agents. Without it, each
    /// agent uses the model of its own file, if that model is available. The agent of a task list has no model.
    pub(crate) fn staff(
        &self,
        agents: Vec<Agent>,
        wanted: Option<&str>,
        task_list: Option<&AgentName>,
    ) -> Result<Staffing, HallError> {
        let (mut model_of_agent, mut locked, now) = (BTreeMap::new(), BTreeMap::new(), SystemTime::now());
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
            model_of_agent.insert(agent.name.clone(), name.to_string());
        }
        let rate = self.models().rate().clone();
        Ok(Staffing { agents, model_of_agent, rate, locked, guide: guide::find(self.project()), fees: None })
    }
}
