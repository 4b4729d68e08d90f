//! The description of work (task, agent, model, limits), and how the work starts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use guildhall_agent::checks::{Check, Schema, described};
use guildhall_agent::{Task, Text, task_key};
use guildhall_kernel::{
    self as kernel, AgentName, Answer, Ask, Brief, CloseWhen, Context, FRAME_TOKENS, Fact, Grant, Heads, Lineage,
    Millis, Msat, Path, Request, Session, SessionError, SessionFact, SessionKind, Standing, Stored, TextKind, Turn,
};
use guildhall_local::{Journal, MoneySource, NewSession, RequestKey, SessionId, texts_named, unix_now};
use serde_json::Value;

use crate::agents::{Agent, entry_of, under, with};
use crate::built_in::{assistant, task_list_agent};
use crate::hall::{Hall, HallError};
use crate::name::fresh_id;
use crate::running::Running;
use crate::session::Ended;
use crate::setup::{Setup, Staffing, newest_root};
use crate::tasks::Tasks;
use crate::transcript::OpenTranscripts;

/// The default number of replies that an agent may give.
pub const TURNS_MAX: u32 = 50;

/// The default number of hires in the whole tree.
pub const HEADS_MAX: u32 = 1000;

/// The default number of levels of hires.
pub const DEPTH_MAX: u8 = 16;

/// The longest label of a session, in characters.
const LABEL_CHARS_MAX: usize = 60;

/// Work that is described and not yet started. [`Hall::run`] returns it.
///
/// Awaiting an undertaking starts the work and waits for its end. [`Undertaking::start`] starts the work and returns a
/// [`Running`], through which it can be watched.
///
/// ```
/// use guildhall::{Hall, Msat, Outcome, Reply, REHEARSAL_PRICE, model_fn};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// let clerk = model_fn(|_| async { Reply::words("On Tuesday.") });
/// let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).build()?;
/// let ended = hall.run("When is the meeting?").budget(Msat::from_sat(100)?).turns_max(3).await?;
/// assert_eq!((ended.report.outcome, ended.text.as_str()), (Outcome::Done, "On Tuesday."));
/// assert!(ended.report.spent > Msat::ZERO && ended.report.spent < ended.granted);
/// # Ok(())
/// # }
/// ```
#[must_use = "the work starts when the undertaking is awaited or started"]
pub struct Undertaking {
    hall: Hall,
    task: String,
    entry: Entry,
    heads_max: u32,
    depth_max: u8,
    budget: Option<Msat>,
    money: MoneySource,
    model: Option<String>,
    turns_max: Option<u32>,
    time_max: Option<Duration>,
    tokens_max: Option<u64>,
    allow_overrun: bool,
    id: Option<SessionId>,
    after: Option<SessionId>,
    within: Option<SessionId>,
    earlier: Earlier,
    stay: CloseWhen,
    output: Option<Value>,
    key: Option<RequestKey>,
}

impl Undertaking {
    pub(crate) fn new(hall: Hall, task: String) -> Undertaking {
        Undertaking {
            hall,
            task,
            entry: Entry::Default,
            heads_max: HEADS_MAX,
            depth_max: DEPTH_MAX,
            budget: None,
            money: MoneySource::New,
            model: None,
            turns_max: None,
            time_max: None,
            tokens_max: None,
            allow_overrun: false,
            id: None,
            after: None,
            within: None,
            earlier: Earlier::Shown,
            stay: CloseWhen::FinalText,
            output: None,
            key: None,
        }
    }

    pub(crate) fn of_tasks(hall: Hall, tasks: Tasks) -> Undertaking {
        let rate = hall.models().rate().usd_per_btc;
        let default_budget =
            |agent: &AgentName| hall.roster().get(agent).and_then(|file| Agent::of_file(file, rate).budget.default);
        let tasks = tasks.with_budgets(default_budget);
        let task = tasks.to_string();
        Undertaking { entry: Entry::Tasks(tasks), ..Undertaking::new(hall, task) }
    }

    /// Sets the first agent. It need not be on the roster.
    pub fn agent(mut self, agent: Agent) -> Undertaking {
        self.entry = Entry::Given(Box::new(agent));
        self
    }

    /// Sets the first agent, by its name on the roster. The default is the only agent of the roster that no other agent hires.
    /// Without a roster, it is an assistant with all tools of the hall.
    pub fn entry(mut self, name: AgentName) -> Undertaking {
        self.entry = Entry::Named(name);
        self
    }

    /// Sets the number of hires in the whole tree.
    pub fn heads_max(mut self, heads: u32) -> Undertaking {
        self.heads_max = heads;
        self
    }

    /// Sets the number of levels of hires.
    pub fn depth_max(mut self, depth: u8) -> Undertaking {
        self.depth_max = depth;
        self
    }

    /// Sets the spending limit. Without a budget, a new session can only use models that cost nothing, and a
    /// continued session uses the money that it has left.
    pub fn budget(mut self, budget: Msat) -> Undertaking {
        self.budget = Some(budget);
        self
    }

    /// Takes the budget from the session's free money. Nothing is created: a budget above the free money is refused, before
    /// anything is stored. Without a budget, the work gets all free money.
    pub fn from_balance(mut self) -> Undertaking {
        self.money = MoneySource::Free;
        self
    }

    /// Sets the model for all agents. Without it, each agent uses the model of its file or the hall's default.
    pub fn model(mut self, model: impl Into<String>) -> Undertaking {
        self.model = Some(model.into());
        self
    }

    /// Sets how many replies the first agent may give.
    pub fn turns_max(mut self, turns: u32) -> Undertaking {
        self.turns_max = Some(turns);
        self
    }

    /// Sets how long the work can take.
    pub fn time_max(mut self, time: Duration) -> Undertaking {
        self.time_max = Some(time);
        self
    }

    /// Sets the token limit, input and output together. A request is sent only if all the tokens that it can use are free. When they
    /// are used up, the agents make their last reports.
    pub fn tokens_max(mut self, tokens: u64) -> Undertaking {
        self.tokens_max = Some(tokens);
        self
    }

    /// Continues to call a provider that billed more than was held for a call. A contract pays only what was held, so the rest
    /// is paid in addition to the budget. The permission is stored with the work and also applies after a resume. Without it,
    /// the session makes no more calls to such a provider.
    pub fn allow_overrun(mut self) -> Undertaking {
        self.allow_overrun = true;
        self
    }

    /// Sets the session's id. Without it, the session gets a random id.
    pub fn id(mut self, id: SessionId) -> Undertaking {
        self.id = Some(id);
        self
    }

    /// Continues a session whose newest work has ended. The agent sees the earlier conversation and uses the money that is left.
    pub fn after(mut self, id: SessionId) -> Undertaking {
        self.after = Some(id);
        self
    }

    /// Hides the earlier conversation of a continued session from the agent. With [`Undertaking::after`], the work then has the
    /// agents and the money of the session, and starts anew.
    pub fn forgetting(mut self) -> Undertaking {
        self.earlier = Earlier::Hidden;
        self
    }

    /// Works in an existing session, with the money that it has: a session that was funded by a payment, or one whose work has
    /// ended. The agent does not see earlier work of the session.
    pub fn within(mut self, id: SessionId) -> Undertaking {
        self.within = Some(id);
        self
    }

    /// Makes the work a conversation. The task is its first message, a final text does not end it, and [`Running::say`]
    /// sends the next message.
    pub fn open(mut self) -> Undertaking {
        self.stay = CloseWhen::Asked;
        self
    }

    /// Asks for an output that programs can read: a JSON object or list that follows this schema. The agent receives the schema,
    /// its report is checked, and the agent has one chance to correct the report. [`Ended::output`] reads the output.
    pub fn output(mut self, schema: Value) -> Undertaking {
        self.output = Some(schema);
        self
    }

    /// Makes the request under a key: a second request under the same key in the same session is refused with
    /// [`ServedError::KeyUsed`](guildhall_local::ServedError::KeyUsed), also after a crash. Its result is the path of the root.
    pub fn key(mut self, key: RequestKey) -> Undertaking {
        self.key = Some(key);
        self
    }

    pub(crate) fn hall(&self) -> &Hall {
        &self.hall
    }

    /// Returns the id of the session in which the work will be. A new session gets its id here, and exists only after
    /// [`Undertaking::start`] has stored it.
    pub fn with_session(mut self) -> (SessionId, Undertaking) {
        if let Some(id) = self.after.clone().or_else(|| self.within.clone()) {
            return (id, self);
        }
        let id = self.id.clone().unwrap_or_else(fresh_id);
        self.id = Some(id.clone());
        (id, self)
    }

    /// Starts the work in the background, or returns why the work was refused.
    pub async fn start(self) -> Result<Running, HallError> {
        let staffing = self.staffing().await?;
        match (self.after.clone(), self.within.clone()) {
            (Some(id), _) => self.continue_session(id, staffing).await,
            (None, Some(id)) => self.start_within(id, staffing).await,
            (None, None) => self.start_session(staffing).await,
        }
    }

    /// Returns the agents that the work can use, with their models, before anything starts. A continued session keeps its
    /// agents, unless another agent is named.
    pub async fn staffing(&self) -> Result<Staffing, HallError> {
        let staffing = self.agents_and_models().await?;
        let Some(id) = self.after.as_ref().or(self.within.as_ref()) else { return Ok(staffing) };
        let fees = match self.hall.journal().folded_account(id).await?.kind() {
            SessionKind::Play => None,
            SessionKind::Wallet(_) => Some(self.hall.fees()),
        };
        Ok(Staffing { fees, ..staffing })
    }

    async fn agents_and_models(&self) -> Result<Staffing, HallError> {
        if let (Some(id), Entry::Default) = (&self.after, &self.entry) {
            let before = newest_root(self.hall.journal(), id).await?.setup.staffing;
            if before.is_list() {
                return Err(HallError::WasTaskList(id.clone()));
            }
            let wanted = self.model.clone().unwrap_or_else(|| before.model().to_owned());
            return self.hall.staff(before.agents, Some(&wanted), None);
        }
        let agents = self.agents()?;
        let task_list = match &self.entry {
            Entry::Tasks(_) => agents.first().map(|agent| agent.name.clone()),
            Entry::Default | Entry::Named(_) | Entry::Given(_) => None,
        };
        self.hall.staff(agents, self.model.as_deref(), task_list.as_ref())
    }

    /// Starts a session.
    async fn start_session(self, staffing: Staffing) -> Result<Running, HallError> {
        let id = self.id.clone().unwrap_or_else(fresh_id);
        let granted = self.budget.unwrap_or(Msat::ZERO);
        let funded = match self.money {
            MoneySource::New => Some(granted),
            MoneySource::Free => None,
        };
        self.require_free(granted, Msat::ZERO)?;
        let asked = Asked { root: Path::root(1), granted, funded, context: Context::Fresh, since: Millis(0) };
        // Refuse first: nothing is stored for work that is refused.
        let described = self.describe(&id, staffing, &asked)?;
        let transcripts = self.hall.open_transcripts(&id).await?;
        let project = self.hall.project().display().to_string();
        let task = match &self.entry {
            Entry::Tasks(tasks) => tasks.label(),
            Entry::Default | Entry::Named(_) | Entry::Given(_) => self.task.clone(),
        };
        let label = label(&self.hall.redactor().text(TextKind::Task, &task).says);
        let new = NewSession { id: id.clone(), created_at: unix_now(), project, label };
        self.hall.journal().create(new).await?;
        self.request(id, described, asked, transcripts).await
    }

    /// Continues a session.
    async fn continue_session(self, id: SessionId, staffing: Staffing) -> Result<Running, HallError> {
        let journal = self.hall.journal();
        self.hall.settle(&id).await?;
        self.hall.credit(&id).await?;
        let account = account(journal, &id).await?;
        let before = newest_root(journal, &id).await?.path;
        let facts = journal.contract_facts(&id, &before).await?;
        let Some(Stored { fact: Fact::Closed(_), at, .. }) = facts.last() else {
            journal.require_not_running(&id, unix_now()).await?;
            return Err(HallError::NotEnded(id));
        };
        let granted = self.budget.unwrap_or(account.free());
        self.require_free(granted, account.free())?;
        let more = granted.get().checked_sub(account.free().get()).filter(|more| *more > 0);
        let may_create = *account.kind() == SessionKind::Play && self.money == MoneySource::New;
        let asked = Asked {
            root: account.next_root(),
            granted,
            funded: more.filter(|_| may_create).map(|more| Msat::capped(u128::from(more))),
            context: match self.earlier {
                Earlier::Shown => Context::After { root: before, tokens: tokens_shown(&facts) },
                Earlier::Hidden => Context::Fresh,
            },
            since: *at,
        };
        let described = self.describe(&id, staffing, &asked)?;
        let transcripts = self.hall.open_transcripts(&id).await?;
        self.request(id, described, asked, transcripts).await
    }

    /// Starts work in an existing session, with its money.
    async fn start_within(self, id: SessionId, staffing: Staffing) -> Result<Running, HallError> {
        let journal = self.hall.journal();
        if account(journal, &id).await?.next_root() != Path::root(1) {
            self.hall.settle(&id).await?;
        }
        self.hall.credit(&id).await?;
        let account = account(journal, &id).await?;
        let newest = account.next_root().ordinal() - 1;
        if newest > 0 && account.is_at_work(&Path::root(newest)) {
            journal.require_not_running(&id, unix_now()).await?;
            return Err(HallError::NotEnded(id));
        }
        let since = journal.newest_time(&id).await?;
        let (root, granted) = (account.next_root(), self.budget.unwrap_or(account.free()));
        self.require_free(granted, account.free())?;
        let asked = Asked { root, granted, funded: None, context: Context::Fresh, since };
        let described = self.describe(&id, staffing, &asked)?;
        let transcripts = self.hall.open_transcripts(&id).await?;
        self.request(id, described, asked, transcripts).await
    }

    /// Refuses a budget above the free money, if nothing may be created.
    fn require_free(&self, granted: Msat, free: Msat) -> Result<(), HallError> {
        match self.money {
            MoneySource::Free if granted > free => Err(SessionError::Overdrawn { asked: granted, free }.into()),
            MoneySource::Free | MoneySource::New => Ok(()),
        }
    }

    /// Stores the request and starts the work.
    async fn request(
        self,
        id: SessionId,
        described: Described,
        asked: Asked,
        transcripts: Option<OpenTranscripts>,
    ) -> Result<Running, HallError> {
        let Described { setup, texts, opening } = described;
        self.hall.check_wallet(account(self.hall.journal(), &id).await?.kind()).await?;
        let (engine, faults) = self.hall.engine(&id, &setup).await?;
        // Before this process got the lease of the session, another process may have continued it.
        if account(self.hall.journal(), &id).await?.next_root() != asked.root {
            return Err(HallError::ContinuedElsewhere(id));
        }
        // This is done before the request is stored: after an error, the command can be repeated.
        let transcripts = match transcripts {
            Some(transcripts) => Some(transcripts.catch_up(&self.hall, &id, &asked.root).await?),
            None => None,
        };
        let stored = setup.text(self.hall.redactor());
        let funded = asked.funded.map(|money| SessionFact::Funded { money, root: None, payment: None });
        let under_key = self.key.map(|key| (key, asked.root.to_string()));
        let requested = SessionFact::Requested { root: asked.root, money: asked.granted, prices: stored.of };
        let texts_to_store = std::iter::once(stored).chain(texts.iter().cloned()).chain([opening]).collect();
        engine.account_once(funded.into_iter().chain([requested]).collect(), texts_to_store, under_key).await?;
        Running::spawn(self.hall, id, setup, (engine, faults), texts, transcripts).await
    }

    /// Fixes the settings of the work.
    fn describe(&self, id: &SessionId, staffing: Staffing, asked: &Asked) -> Result<Described, HallError> {
        let table = self.hall.table(id, &staffing)?.require_all()?;
        let worker = table.first_worker();
        let task = self.hall.redactor().text(TextKind::Task, &self.task);
        let time = self.time_max.map(|time| Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        let checks = self.checks()?;
        let demands: Vec<Text> =
            checks.iter().map(|check| self.hall.redactor().text(TextKind::Term, &check.to_text())).collect();
        let (heads, depth) = if worker.hiring.is_some() { (self.heads_max, self.depth_max) } else { (0, 0) };
        let opening = table.first_opening();
        let grant = Grant { money: asked.granted, heads: Heads(heads), depth, deadline: None, margin: None };
        let brief = Brief {
            path: asked.root.clone(),
            agent: worker.name.clone(),
            standing: Standing::Listed,
            label: None,
            task: task.of,
            task_key: task_key(&task.says),
            terms: Arc::from([]),
            adds: worker.adds.iter().map(|term| term.of).collect(),
            grant: grant.due(time.map(|time| asked.since.after(time)), asked.since),
            fee: Msat::ZERO,
            payee: None,
            severance: worker.severance,
            money_max: None,
            same_model: false,
            model_slot: 0,
            tariff: worker.tariff,
            turns_max: self.turns_max.unwrap_or(worker.turns_max),
            context: asked.context.clone(),
            opening_bytes: table.first().runtime.opening_bytes()
                + u64::from(task.of.bytes)
                + described(&checks).len() as u64,
            opening: Some(Arc::new(opening.of)),
            lineage: Lineage::default(),
            powers: worker.powers.clone(),
            hiring: worker.hiring.clone(),
            checks: demands.iter().map(|what| kernel::Check { what: what.of, price: Msat::ZERO }).collect(),
            close_when: self.stay,
        };
        brief.check().map_err(HallError::Refused)?;
        let texts = std::iter::once(task).chain(worker.adds.iter().cloned()).chain(demands).collect();
        let (tokens_max, allow_overrun) = (self.tokens_max, self.allow_overrun);
        let setup = Setup { staffing, tokens_max, allow_overrun, brief: Arc::new(brief) };
        Ok(Described { setup, texts, opening })
    }

    /// The checks that the report must pass.
    fn checks(&self) -> Result<Vec<Check>, HallError> {
        let schema = self.output.clone().map(Schema::new).transpose().map_err(HallError::Schema)?;
        Ok(schema.into_iter().map(Check::Schema).collect())
    }

    /// All agents that the work can use. The first agent comes first.
    fn agents(&self) -> Result<Vec<Agent>, HallError> {
        let (roster, rate) = (self.hall.roster(), self.hall.models().rate().usd_per_btc);
        match &self.entry {
            Entry::Default if roster.agents().next().is_none() => Ok(vec![assistant()]),
            Entry::Default => match entry_of(roster) {
                Some(name) => Ok(under(roster, &name, rate)),
                None => Err(HallError::NoEntry { known: self.names() }),
            },
            Entry::Named(name) => {
                self.known(name)?;
                Ok(under(roster, name, rate))
            }
            Entry::Given(agent) => Ok(with(roster, Agent::clone(agent), rate)),
            Entry::Tasks(tasks) => {
                self.can_hire_for(tasks)?;
                Ok(with(roster, task_list_agent(tasks, roster), rate))
            }
        }
    }

    /// Makes sure that all agents of a list can be hired.
    fn can_hire_for(&self, tasks: &Tasks) -> Result<(), HallError> {
        tasks.specs().iter().try_for_each(|task| self.known(&task.agent))?;
        let (tasks, heads) = (tasks.specs().len(), self.heads_max);
        if u32::try_from(tasks).is_ok_and(|tasks| tasks <= heads) {
            Ok(())
        } else {
            Err(HallError::TooFewHeads { tasks, heads })
        }
    }

    /// Makes sure that the roster has an agent of this name.
    fn known(&self, name: &AgentName) -> Result<(), HallError> {
        match self.hall.roster().get(name) {
            Some(_) => Ok(()),
            None => Err(HallError::NoAgent { name: name.to_string(), known: self.names() }),
        }
    }

    /// The names of all agents on the roster.
    fn names(&self) -> String {
        self.hall.roster().agents().map(|agent| agent.name.to_string()).collect::<Vec<_>>().join(", ")
    }
}

impl IntoFuture for Undertaking {
    type Output = Result<Ended, HallError>;
    type IntoFuture = Task<'static, Result<Ended, HallError>>;

    /// Starts the work and waits until it has ended.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.start().await?.wait().await })
    }
}

/// The first agent.
enum Entry {
    Default,
    Named(AgentName),
    Given(Box<Agent>),
    Tasks(Tasks),
}

/// Whether the agent of a continued session is shown the earlier conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Earlier {
    Shown,
    Hidden,
}

/// Work that is described and not refused.
struct Described {
    setup: Setup,
    /// The texts that the brief of the root names, except for its opening.
    texts: Vec<Text>,
    opening: Text,
}

/// A request for money from a session's account.
#[derive(Clone)]
struct Asked {
    root: Path,
    granted: Msat,
    funded: Option<Msat>,
    context: Context,
    /// The session time at which the work starts.
    since: Millis,
}

/// The most tokens that the transcript of a finished root can take in a prompt: the tokens of its newest complete request, plus
/// the bytes that were added after that request.
fn tokens_shown(facts: &[Stored]) -> u64 {
    let mut last = BTreeSet::new();
    let mut tokens: u64 = 0;
    for stored in facts {
        if let Fact::Asked { id, ask: Ask::Model(Request { turn: Turn::Last, .. }), .. } = &stored.fact {
            last.insert(*id);
        }
        // The conversation does not contain openings.
        let shown = texts_named(&stored.fact).into_iter().filter(|text| text.kind != TextKind::Opening);
        let added = shown.map(|text| u64::from(text.bytes) + FRAME_TOKENS).sum();
        tokens = tokens.saturating_add(added);
        if let Fact::Answered { id, answer: Answer::Said(said), .. } = &stored.fact
            && let Some(input) = said.input_tokens.filter(|_| !last.contains(id))
        {
            tokens = input.saturating_add(u64::from(said.reply.bytes) + FRAME_TOKENS);
        }
    }
    tokens
}

pub(crate) async fn account(journal: &Journal, id: &SessionId) -> Result<Session, HallError> {
    Session::restore(journal.account(id).await?).map_err(|why| HallError::Damaged(why.to_string()))
}

/// The text of a task that lists of sessions show.
pub(crate) fn label(task: &str) -> String {
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
    match task.char_indices().nth(LABEL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &task[..end]),
        None => task,
    }
}
