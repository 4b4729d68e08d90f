//! A hall: where work is asked for, done and taken up again.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_agent::{Redact, RunError, Scribe, Seat, Text, task_key};
use guildhall_kernel::{
    AgentName, Brief, Context, Fact, Grant, Heads, Lineage, Millis, Msat, Path, PowerSet, Powers, Refusal, Session,
    SessionError, SessionFact, Standing, Stay, TextKind,
};
use guildhall_local::{
    Journal, JournalError, NewSession, Office, OfficeError, Place, Places, Replays, SessionId, UnixMs,
};
use guildhall_models::{NoPrice, PriceBook, Provider, Seller};
use guildhall_tools::{Project, ProjectError, READ, Redactor, read_only};
use tokio::sync::Semaphore;

use crate::session::Ended;

/// How many calls to one provider run at once.
const LANE_WIDTH: usize = 8;

/// What a model can be shown where its maker does not say.
const WINDOW_TOKENS: u64 = 128_000;

/// Why work could not be done. What was done until then is kept.
#[derive(Debug, thiserror::Error)]
pub enum HallError {
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The engine failed while contracts were at work.
    #[error("{0}")]
    Office(OfficeError),
    /// What is stored breaks a law.
    #[error("{0}")]
    Damaged(String),
    /// The work was not taken on, and nothing was spent.
    #[error("{0}")]
    Refused(Refusal),
    /// The session's account does not allow it.
    #[error(transparent)]
    Account(#[from] SessionError),
    /// Nobody knows what the model costs.
    #[error(transparent)]
    NoPrice(#[from] NoPrice),
    /// The project can't be opened.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The session has nothing that could be taken up.
    #[error("{0} has no contract to take up: begin one with its task")]
    NothingToResume(SessionId),
}

impl From<OfficeError> for HallError {
    fn from(why: OfficeError) -> HallError {
        HallError::Office(why)
    }
}

impl From<RunError<OfficeError>> for HallError {
    fn from(why: RunError<OfficeError>) -> HallError {
        match why {
            RunError::Engine(why) => HallError::Office(why),
            RunError::Refused(why) => HallError::Refused(why),
            RunError::Corrupt { .. } => HallError::Damaged(why.to_string()),
        }
    }
}

/// Who does the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// Who it is and by which rules it works.
    pub instructions: String,
}

/// What is to be done, and with how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The task.
    pub task: String,
    /// The money for it.
    pub budget: Msat,
    /// How many replies it may take.
    pub turns_max: u32,
    /// How long it may take.
    pub time_max: Option<Millis>,
}

/// A hall on this machine.
pub struct Hall {
    journal: Journal,
    project: PathBuf,
    provider: Arc<Provider>,
    seller: Seller,
    prices: Arc<PriceBook>,
    replays: Replays,
    redact: Redact,
}

impl Hall {
    /// Opens a hall: its journal in one directory, the project it works on in another, and the model that works. `secrets` are
    /// kept out of the journal, whoever says them.
    pub fn open(
        data: &FilePath,
        project: &FilePath,
        provider: Provider,
        prices: PriceBook,
        secrets: Vec<String>,
    ) -> Result<Hall, HallError> {
        let wire = match &provider {
            Provider::Anthropic(_) => guildhall_agent::Wire::Anthropic,
            Provider::OpenAi(_) => guildhall_agent::Wire::OpenAi,
        };
        let seller = Seller::of(wire, provider.endpoint());
        let redactor = Redactor::new(secrets);
        // A provider without the session's id in its requests can't know them again.
        let replays = if provider.endpoint().session.is_some() { Replays::Yes } else { Replays::No };
        Ok(Hall {
            journal: Journal::open(data)?,
            project: project.to_owned(),
            provider: Arc::new(provider),
            seller,
            prices: Arc::new(prices),
            replays,
            redact: Arc::new(move |text: &str| std::borrow::Cow::Owned(redactor.redact(text).into_owned())),
        })
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Takes work on in a new session and does it.
    pub async fn run(&self, id: SessionId, agent: &Agent, work: &Work) -> Result<Ended, HallError> {
        let seat = self.seat(agent)?;
        let scribe = seat.scribe.clone();
        let (brief, task) = self.brief(agent, work, &seat, &scribe)?;
        brief.check().map_err(HallError::Refused)?;
        let label = task.says.chars().take(60).collect();
        let new = NewSession {
            id: id.clone(),
            created_at: UnixMs::now(),
            project: self.project.display().to_string(),
            label,
        };
        self.journal.create(new).await?;
        let office = self.office(&id, seat).await?;
        let prices = scribe.text(TextKind::Prices, &format!("{:?}", self.prices.price(&self.seller, self.model())?));
        let funded = SessionFact::Funded { money: work.budget, root: None };
        let requested = SessionFact::Requested { root: brief.path.clone(), money: work.budget, prices: prices.of };
        office.account(vec![funded, requested], vec![prices]).await?;
        self.finish(&office, &id, Arc::new(brief), vec![task]).await
    }

    /// Takes up what was interrupted, from what is stored.
    pub async fn resume(&self, id: &SessionId, agent: &Agent) -> Result<Ended, HallError> {
        let root = self.journal.contract_facts(id, &Path::root(1)).await?;
        let opened =
            root.first().and_then(|stored| if let Fact::Opened(brief) = &stored.fact { Some(brief) } else { None });
        let brief = Arc::clone(opened.ok_or_else(|| HallError::NothingToResume(id.clone()))?);
        let office = self.office(id, self.seat(agent)?).await?;
        self.finish(&office, id, brief, Vec::new()).await
    }

    async fn office(&self, id: &SessionId, seat: Seat) -> Result<Office, HallError> {
        let lease = self.journal.lease(id, UnixMs::now()).await?;
        let (seat, lane) = (Arc::new(seat), Arc::new(Semaphore::new(LANE_WIDTH)));
        let place = Place { seat, lane, replays: self.replays };
        let places: Places = Arc::new(move |_| place.clone());
        Ok(Office::open(self.journal.clone(), lease, places).await?)
    }

    /// Runs the root, obeying orders from other terminals meanwhile, and closes the account.
    async fn finish(
        &self,
        office: &Office,
        id: &SessionId,
        brief: Arc<Brief>,
        texts: Vec<Text>,
    ) -> Result<Ended, HallError> {
        let report = tokio::select! {
            report = office.run(Arc::clone(&brief), texts) => report?,
            why = office.obey() => return Err(why.into()),
        };
        let account =
            Session::restore(self.journal.account(id).await?).map_err(|why| HallError::Damaged(why.to_string()))?;
        let ended = SessionFact::Ended { root: brief.path.clone(), spent: report.spent };
        // A session that was closed before the process ended is closed once.
        if account.clone().apply(&ended).is_ok() {
            office.account(vec![ended], Vec::new()).await?;
        }
        Ended::read(&self.journal, id, report).await
    }

    fn model(&self) -> &str {
        &self.provider.endpoint().model
    }

    fn seat(&self, agent: &Agent) -> Result<Seat, HallError> {
        let project = Project::open(&self.project)?;
        let tools = read_only(&project).into_iter().map(|tool| (tool.spec().name, tool)).collect::<BTreeMap<_, _>>();
        let (prices, seller, model) = (Arc::clone(&self.prices), self.seller.clone(), self.model().to_owned());
        // Asked once here, so that a model without a price is refused before the first call.
        prices.price(&seller, &model)?;
        Ok(Seat {
            system: agent.instructions.clone(),
            model: Arc::clone(&self.provider) as Arc<dyn guildhall_agent::Model>,
            window: WINDOW_TOKENS,
            price: Arc::new(move |usage| prices.cost(&seller, &model, usage).unwrap_or(Msat::SUPPLY)),
            tools,
            scribe: Scribe::new(Arc::clone(&self.redact)),
        })
    }

    fn brief(&self, agent: &Agent, work: &Work, seat: &Seat, scribe: &Scribe) -> Result<(Brief, Text), HallError> {
        let task = scribe.text(TextKind::Task, &work.task);
        let tariff = self.prices.tariff(&self.seller, self.model())?;
        let read: PowerSet = vec![guildhall_kernel::Power::parse(READ).expect("a power's name")].into();
        let brief = Brief {
            path: Path::root(1),
            agent: agent.name.clone(),
            standing: Standing::Listed,
            task: task.of,
            task_key: task_key(&task.says),
            terms: Arc::from([]),
            adds: Arc::from([]),
            grant: Grant { money: work.budget, heads: Heads(0), depth: 0, deadline: work.time_max },
            fee: Msat::ZERO,
            severance: tariff.last_min(),
            tariff,
            turns_max: work.turns_max,
            context: Context::Fresh,
            opening_bytes: seat.opening_bytes() + u64::from(task.of.bytes),
            lineage: Lineage::default(),
            powers: Powers { usable: read.clone(), grantable: read },
            hiring: None,
            checks: Arc::from([]),
            stay: Stay::Once,
        };
        Ok((brief, task))
    }
}
