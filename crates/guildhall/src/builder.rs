//! The builder of a hall: its project, its journal, its models, tools and agents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_agent::roster::Roster;
use guildhall_agent::{Model, Redact, Redactor, Tool};
#[cfg(feature = "lightning")]
use guildhall_kernel::PayeeName;
use guildhall_kernel::{AgentName, ToolName};
#[cfg(feature = "lightning")]
use guildhall_lightning::WalletKey;
use guildhall_local::{CallLimiter, Journal, JournalError, Replays, Watcher};
use guildhall_models::Price;
use guildhall_tools::{Project, ProjectError, SecretPatterns};

use crate::hall::{Hall, HallError, Inner};
use crate::models::Models;
use crate::setup::FeeTerms;
#[cfg(feature = "lightning")]
use crate::treasury::{Payee, TreasuryLimits, WalletSettings};

/// The default number of tool calls that run at the same time in a hall.
pub const TOOLS_AT_ONCE: usize = 16;

/// The default directory of the journal, inside the project.
const DATA: &str = ".guildhall/hall";

/// The `.gitignore` that hides the journal from git and from the tools.
const IGNORE_ALL: &str = "*\n";

/// A function that receives warnings: problems that do not end the work.
pub type WarnFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Builds a hall. [`Hall::builder`] returns a builder.
///
/// ```
/// use guildhall::{Hall, Price, Reply, model_fn};
///
/// # let project = tempfile::tempdir()?;
/// # let project = project.path();
/// let hall = Hall::builder()
///     .project(project)
///     .model("parrot", model_fn(|prompt| async move { Reply::words(prompt.opening.system()) }), Price::FREE)
///     .build()?;
/// assert!(project.join(".guildhall/hall/journal.db").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct HallBuilder {
    data: Option<PathBuf>,
    project: PathBuf,
    models: Models,
    tools: Vec<Arc<dyn Tool>>,
    tools_at_once: usize,
    allow_overrun: bool,
    secrets: Vec<String>,
    watch: Watcher,
    warn: WarnFn,
    roster: Roster,
    transcripts: Option<PathBuf>,
    fees: BTreeMap<AgentName, FeeTerms>,
    #[cfg(feature = "lightning")]
    wallet: WalletSettings,
}

impl HallBuilder {
    pub(crate) fn new() -> HallBuilder {
        HallBuilder {
            data: None,
            project: PathBuf::from("."),
            models: Models::default(),
            tools: Vec::new(),
            tools_at_once: TOOLS_AT_ONCE,
            allow_overrun: false,
            secrets: Vec::new(),
            watch: Arc::new(|_, _, _| {}),
            warn: Arc::new(|_| {}),
            roster: Roster::default(),
            transcripts: None,
            fees: BTreeMap::new(),
            #[cfg(feature = "lightning")]
            wallet: WalletSettings::default(),
        }
    }

    /// Sets the directory of the journal. The default is `.guildhall/hall` in the project, which git ignores.
    #[must_use]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> HallBuilder {
        self.data = Some(directory.into());
        self
    }

    /// Sets the directory that agents work on. The default is the current directory.
    #[must_use]
    pub fn project(mut self, directory: impl Into<PathBuf>) -> HallBuilder {
        self.project = directory.into();
        self
    }

    /// Sets the models: providers, short names, prices and the exchange rate. Models that were set before are replaced.
    #[must_use]
    pub fn models(mut self, models: Models) -> HallBuilder {
        self.models = models;
        self
    }

    /// Adds a model that runs inside this process, with its price per million tokens. The first model that is added is the
    /// default.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, model: impl Model + 'static, price: Price) -> HallBuilder {
        let name = name.into();
        self.models = self.models.with_model(&name, model, price, Replays::No).or_default(name);
        self
    }

    /// Adds a tool. It replaces an earlier tool of the same name.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> HallBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets how many tool calls of all agents run at the same time: at least one. Further tool calls wait, and model calls
    /// continue meanwhile. The default is [`TOOLS_AT_ONCE`]. A tool call that starts work in the same hall counts until that
    /// work ends.
    #[must_use]
    pub fn tools_at_once(mut self, calls: usize) -> HallBuilder {
        self.tools_at_once = calls;
        self
    }

    /// Continues to call a provider that billed more than the amount held for a call. This applies to all work of this hall,
    /// including resumed work that was started without [`Undertaking::allow_overrun`](crate::Undertaking::allow_overrun).
    #[must_use]
    pub fn allow_overrun(mut self) -> HallBuilder {
        self.allow_overrun = true;
        self
    }

    /// Sets the agents that can be hired. Work that names no agent goes to the only agent of the roster that no other agent
    /// hires.
    #[must_use]
    pub fn roster(mut self, roster: Roster) -> HallBuilder {
        self.roster = roster;
        self
    }

    /// Keeps these texts out of the journal, in messages of people, models and tools alike.
    #[must_use]
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = String>) -> HallBuilder {
        self.secrets.extend(secrets);
        self
    }

    /// Sets a function that receives parts of replies as they arrive, with their session and call, to show them to a person.
    #[must_use]
    pub fn watch(mut self, watch: Watcher) -> HallBuilder {
        self.watch = watch;
        self
    }

    /// Sets a function that receives warnings while work runs, one line each, to show them to a person.
    #[must_use]
    pub fn warn(mut self, warn: WarnFn) -> HallBuilder {
        self.warn = warn;
        self
    }

    /// Writes transcripts while work runs: a directory below this one for each session, and in it a file for each contract. By
    /// default, nothing is written: [`Hall::transcript`] reads transcripts from the journal. Work does not start if the files can't
    /// be written or other files are in their places. If they can't be written later, the work continues, and
    /// [`Ended::transcript_failure`](crate::Ended::transcript_failure) says why.
    #[must_use]
    pub fn transcripts(mut self, directory: impl Into<PathBuf>) -> HallBuilder {
        self.transcripts = Some(directory.into());
        self
    }

    /// Sets the keys of the wallet. Without the admin key, the wallet can receive, and payments wait.
    #[cfg(feature = "lightning")]
    #[must_use]
    pub fn wallet_keys(mut self, invoice_key: WalletKey, admin_key: Option<WalletKey>) -> HallBuilder {
        (self.wallet.invoice_key, self.wallet.admin_key) = (Some(invoice_key), admin_key);
        self
    }

    /// Sets who gets the fees of an agent, in sessions with the money of a wallet. Without a payee, the agent gets none.
    #[cfg(feature = "lightning")]
    #[must_use]
    pub fn payee(mut self, agent: AgentName, name: PayeeName, payee: Payee) -> HallBuilder {
        self.fees.insert(agent, FeeTerms { payee: name.clone(), max: payee.fee_max });
        self.wallet.payees.insert(name, payee);
        self
    }

    /// Lets an agent earn nothing in sessions with the money of a wallet, although it has the name of a payee.
    #[must_use]
    pub fn without_fee(mut self, agent: &AgentName) -> HallBuilder {
        self.fees.remove(agent);
        self
    }

    /// Sets the limits of the treasury.
    #[cfg(feature = "lightning")]
    #[must_use]
    pub fn treasury_limits(mut self, limits: TreasuryLimits) -> HallBuilder {
        self.wallet.limits = limits;
        self
    }

    /// Opens the hall.
    pub fn build(self) -> Result<Hall, HallError> {
        let HallBuilder {
            data,
            project,
            models,
            tools,
            tools_at_once,
            allow_overrun,
            secrets,
            watch,
            warn,
            roster,
            transcripts,
            fees,
            #[cfg(feature = "lightning")]
            wallet,
        } = self;
        for tool in &tools {
            let name = tool.spec().name;
            ToolName::parse(&name).map_err(|why| HallError::ToolName { name, why })?;
        }
        // A session stores the absolute path, so that it can be resumed from any directory.
        let project = std::path::absolute(&project).map_err(|source| ProjectError::Open { path: project, source })?;
        let secrets = SecretPatterns::new(secrets);
        let redact: Redact = Arc::new(move |text: &str| std::borrow::Cow::Owned(secrets.redact(text).into_owned()));
        let (data, is_default) = match data {
            Some(data) => (data, false),
            None => (default_data(&project)?, true),
        };
        let journal = Journal::open(&data)?;
        if is_default && journal.unwritable().is_none() {
            ignore_all(&data)?;
        }
        let tool_limiter = Arc::new(CallLimiter::new(tools_at_once));
        let redactor = Redactor::new(redact);
        Ok(Hall::new(Inner {
            journal,
            project,
            models,
            tools,
            tool_limiter,
            allow_overrun,
            redactor,
            watch,
            warn,
            roster,
            transcripts,
            fees,
            #[cfg(feature = "lightning")]
            wallet,
            #[cfg(feature = "lightning")]
            treasury: Arc::default(),
        }))
    }
}

/// The default directory of the journal. The project itself must exist.
fn default_data(project: &FilePath) -> Result<PathBuf, HallError> {
    Project::open(project)?;
    Ok(project.join(DATA))
}

/// Hides the journal from git and from our own tools.
fn ignore_all(data: &FilePath) -> Result<(), HallError> {
    let path = data.join(".gitignore");
    if path.exists() {
        return Ok(());
    }
    fs::write(&path, IGNORE_ALL)
        .map_err(|source| JournalError::File { path, doing: "written", source: Arc::new(source) }.into())
}
