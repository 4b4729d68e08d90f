//! How a hall is put together: what it works on, where it keeps its journal, and with whom.

use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_agent::roster::Roster;
use guildhall_agent::{Model, Redact, Redactor, Tool};
use guildhall_kernel::ToolName;
use guildhall_local::{CallLimiter, Journal, JournalError, Replays, Watcher};
use guildhall_models::Price;
use guildhall_tools::{Project, ProjectError, SecretPatterns};

use crate::hall::{Hall, HallError, Inner};
use crate::models::Models;

/// How many tool calls run at once in a hall, unless it is told otherwise.
pub const TOOLS_AT_ONCE: usize = 16;

/// Where a hall keeps its journal in its project, unless it is told otherwise.
const DATA: &str = ".guildhall/hall";

/// Keeps the journal out of what git and the tools see.
const IGNORE_ALL: &str = "*\n";

/// Is told what goes wrong and ends no work.
pub type WarnFn = Arc<dyn Fn(&str) + Send + Sync>;

/// Puts a hall together. [`Hall::builder`] begins one.
///
/// ```
/// use guildhall::{Hall, Price, Reply, model_fn};
///
/// # let project = tempfile::tempdir()?;
/// # let project = project.path();
/// let hall = Hall::builder()
///     .project(project)
///     .model("parrot", model_fn(|prompt| async move { Reply::words(prompt.system) }), Price::FREE)
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
            watch: Arc::new(|_, _| {}),
            warn: Arc::new(|_| {}),
            roster: Roster::default(),
        }
    }

    /// Sets the directory of the journal. Without it, that is `.guildhall/hall` in the project, where git does not see it.
    #[must_use]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> HallBuilder {
        self.data = Some(directory.into());
        self
    }

    /// Sets the directory that agents work on. Without it, that is the current one.
    #[must_use]
    pub fn project(mut self, directory: impl Into<PathBuf>) -> HallBuilder {
        self.project = directory.into();
        self
    }

    /// Sets the models and replaces those set before: providers, short names, prices and the exchange rate.
    #[must_use]
    pub fn models(mut self, models: Models) -> HallBuilder {
        self.models = models;
        self
    }

    /// Adds a model that runs within this process, with its price per million tokens. The first is used where none is named.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, model: impl Model + 'static, price: Price) -> HallBuilder {
        let name = name.into();
        self.models = self.models.with_model(&name, model, price, Replays::No).or_default(name);
        self
    }

    /// Adds a tool to those that read the project's files. One of the same name takes the place of the one before.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> HallBuilder {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets how many tool calls run at once, of all agents together: at least one. Those beyond wait for their turn, and models
    /// are asked meanwhile. Without it, that is [`TOOLS_AT_ONCE`]. A tool that has work done in the same hall counts until that
    /// is done.
    #[must_use]
    pub fn tools_at_once(mut self, calls: usize) -> HallBuilder {
        self.tools_at_once = calls;
        self
    }

    /// Allows calls to providers that may bill more than the amount held for the call. This applies to all work of this hall,
    /// including resumed work that was started without [`Undertaking::allow_overrun`](crate::Undertaking::allow_overrun).
    #[must_use]
    pub fn allow_overrun(mut self) -> HallBuilder {
        self.allow_overrun = true;
        self
    }

    /// Sets who can be hired. Work for which nobody is named goes to the one of them whom nobody else hires.
    #[must_use]
    pub fn roster(mut self, roster: Roster) -> HallBuilder {
        self.roster = roster;
        self
    }

    /// Keeps these texts out of the journal, whoever says them.
    #[must_use]
    pub fn secrets(mut self, secrets: impl IntoIterator<Item = String>) -> HallBuilder {
        self.secrets.extend(secrets);
        self
    }

    /// Tells this what arrives of replies before they are whole, for people who watch.
    #[must_use]
    pub fn watch(mut self, watch: Watcher) -> HallBuilder {
        self.watch = watch;
        self
    }

    /// Tells this what goes wrong in work under way and does not end it, one line each, for people who watch.
    #[must_use]
    pub fn warn(mut self, warn: WarnFn) -> HallBuilder {
        self.warn = warn;
        self
    }

    /// Opens the hall.
    pub fn build(self) -> Result<Hall, HallError> {
        let HallBuilder { data, project, models, tools, tools_at_once, allow_overrun, secrets, watch, warn, roster } =
            self;
        for tool in &tools {
            let name = tool.spec().name;
            ToolName::parse(&name).map_err(|why| HallError::ToolName { name, why })?;
        }
        // A session remembers its project by a name that is good everywhere.
        let project = std::path::absolute(&project).map_err(|source| ProjectError::Open { path: project, source })?;
        let secrets = SecretPatterns::new(secrets);
        let redact: Redact = Arc::new(move |text: &str| std::borrow::Cow::Owned(secrets.redact(text).into_owned()));
        let (data, usual) = match data {
            Some(data) => (data, false),
            None => (usual_data(&project)?, true),
        };
        let journal = Journal::open(&data)?;
        if usual && journal.unwritable().is_none() {
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
        }))
    }
}

/// The usual place of the journal. A project that is not there is not made.
fn usual_data(project: &FilePath) -> Result<PathBuf, HallError> {
    Project::open(project)?;
    Ok(project.join(DATA))
}

/// Keeps the journal out of what git and our own tools show of the project.
fn ignore_all(data: &FilePath) -> Result<(), HallError> {
    let path = data.join(".gitignore");
    if path.exists() {
        return Ok(());
    }
    fs::write(&path, IGNORE_ALL)
        .map_err(|source| JournalError::File { path, doing: "written", source: Arc::new(source) }.into())
}
