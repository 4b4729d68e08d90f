//! Work: what is asked for, how it is begun or taken up, and how it is done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use guildhall_agent::{Text, task_key};
use guildhall_kernel::{
    Answer, Ask, Brief, Context, FRAME_TOKENS, Fact, Grant, Heads, Lineage, Millis, Msat, Path, PowerSet, Powers,
    Request, Session, SessionFact, Standing, Stay, Stored, TextKind, Turn,
};
use guildhall_local::{Journal, NewSession, Office, SessionId, Subscription, UnixMs, texts_named};
use tokio::task::JoinHandle;

use crate::hall::{Ending, Hall, HallError};
use crate::meter::Meter;
use crate::name::fresh_id;
use crate::session::Ended;
use crate::setup::{Agent, Seated, Setup, newest_root};

/// How many replies an agent may take, unless it is told otherwise.
pub const TURNS_MAX: u32 = 50;

/// The longest label of a session, in characters.
const LABEL_CHARS_MAX: usize = 60;

/// Work that was described and is not begun.
pub struct Undertaking {
    hall: Hall,
    task: String,
    agent: Agent,
    budget: Option<Msat>,
    model: Option<String>,
    turns_max: u32,
    time_max: Option<Duration>,
    tokens_max: Option<u64>,
    id: Option<SessionId>,
    after: Option<SessionId>,
}

impl Undertaking {
    pub(crate) fn new(hall: Hall, task: String) -> Undertaking {
        Undertaking {
            hall,
            task,
            agent: crate::built_in::assistant(),
            budget: None,
            model: None,
            turns_max: TURNS_MAX,
            time_max: None,
            tokens_max: None,
            id: None,
            after: None,
        }
    }

    /// Sets who works. Without it, an assistant does that reads files.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Undertaking {
        self.agent = agent;
        self
    }

    /// Sets what it may cost. Without it, nothing can be begun, but what is left of a session can be used.
    #[must_use]
    pub fn budget(mut self, budget: Msat) -> Undertaking {
        self.budget = Some(budget);
        self
    }

    /// Sets the model. Without it, the hall's default is used.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Undertaking {
        self.model = Some(model.into());
        self
    }

    /// Sets how many replies it may take.
    #[must_use]
    pub fn turns_max(mut self, turns: u32) -> Undertaking {
        self.turns_max = turns;
        self
    }

    /// Sets how long it may take.
    #[must_use]
    pub fn time_max(mut self, time: Duration) -> Undertaking {
        self.time_max = Some(time);
        self
    }

    /// Sets after how many tokens, input and output together, it is to wrap up.
    #[must_use]
    pub fn tokens_max(mut self, tokens: u64) -> Undertaking {
        self.tokens_max = Some(tokens);
        self
    }

    /// Sets the session's id. Without it, one is made up.
    #[must_use]
    pub fn id(mut self, id: SessionId) -> Undertaking {
        self.id = Some(id);
        self
    }

    /// Goes on in a session whose last work has ended: the agent knows what was said, and uses what is left.
    #[must_use]
    pub fn after(mut self, id: SessionId) -> Undertaking {
        self.after = Some(id);
        self
    }

    /// Takes the work on, or says why not; begins it in the background.
    pub async fn start(self) -> Result<Running, HallError> {
        let name = self.hall.models().find(self.model.as_deref())?;
        let locked = self.hall.models().lock(&name, SystemTime::now())?;
        let seated = Seated { agent: self.agent.clone(), model: name.to_string(), locked };
        match self.after.clone() {
            None => self.begin(seated).await,
            Some(id) => self.go_on(id, seated).await,
        }
    }

    /// Begins a session.
    async fn begin(self, seated: Seated) -> Result<Running, HallError> {
        let id = self.id.clone().unwrap_or_else(fresh_id);
        let granted = self.budget.unwrap_or(Msat::ZERO);
        let funded = Some(granted);
        let asked = Asked { root: Path::root(1), granted, funded, context: Context::Fresh, since: Millis(0) };
        // Everything that can be refused is refused before anything is stored.
        let (setup, task) = self.setup(&id, seated, &asked)?;
        let project = self.hall.project().display().to_string();
        let words = self.task.split_whitespace().collect::<Vec<_>>().join(" ");
        let label = self.hall.scribe().text(TextKind::Task, &words).says.chars().take(LABEL_CHARS_MAX).collect();
        let new = NewSession { id: id.clone(), created_at: UnixMs::now(), project, label };
        self.hall.journal().create(new).await?;
        self.request(id, setup, task, asked).await
    }

    /// Goes on in a session.
    async fn go_on(self, id: SessionId, seated: Seated) -> Result<Running, HallError> {
        let journal = self.hall.journal();
        let account = account(journal, &id).await?;
        let before = newest_root(journal, &id).await?.path;
        let facts = journal.contract_facts(&id, &before).await?;
        let Some(Stored { fact: Fact::Closed(_), at, .. }) = facts.last() else { return Err(HallError::NotEnded(id)) };
        let granted = self.budget.unwrap_or(account.free());
        let more = granted.get().checked_sub(account.free().get()).filter(|more| *more > 0);
        let asked = Asked {
            root: account.next_root(),
            granted,
            funded: more.map(|more| Msat::capped(u128::from(more))),
            context: Context::After { root: before, tokens: tokens_shown(&facts) },
            since: *at,
        };
        let (setup, task) = self.setup(&id, seated, &asked)?;
        self.request(id, setup, task, asked).await
    }

    /// Stores the request and begins.
    async fn request(self, id: SessionId, setup: Setup, task: Text, asked: Asked) -> Result<Running, HallError> {
        let office = self.hall.office(&id, &setup.seated).await?;
        let stored = setup.text(self.hall.scribe());
        let funded = asked.funded.map(|money| SessionFact::Funded { money, root: None });
        let requested = SessionFact::Requested { root: asked.root, money: asked.granted, prices: stored.of };
        office.account(funded.into_iter().chain([requested]).collect(), vec![stored, task.clone()]).await?;
        Running::spawn(self.hall, id, setup, office, vec![task]).await
    }

    /// Fixes what the work is done with.
    fn setup(&self, id: &SessionId, seated: Seated, asked: &Asked) -> Result<(Setup, Text), HallError> {
        let (place, tariff) = self.hall.place(id, &seated)?;
        let task = self.hall.scribe().text(TextKind::Task, &self.task);
        let needs = place.seat.tools.values().map(|tool| Vec::from(tool.terms().needs));
        let powers = PowerSet::from(needs.flatten().collect::<Vec<_>>());
        let time = self.time_max.map(|time| Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        let brief = Brief {
            path: asked.root.clone(),
            agent: self.agent.name.clone(),
            standing: Standing::Listed,
            task: task.of,
            task_key: task_key(&task.says),
            terms: Arc::from([]),
            adds: Arc::from([]),
            grant: Grant {
                money: asked.granted,
                heads: Heads(0),
                depth: 0,
                deadline: time.map(|time| asked.since.after(time)),
            },
            fee: Msat::ZERO,
            severance: tariff.last_min(),
            tariff,
            turns_max: self.turns_max,
            context: asked.context.clone(),
            opening_bytes: place.seat.opening_bytes() + u64::from(task.of.bytes),
            lineage: Lineage::default(),
            powers: Powers { usable: powers.clone(), grantable: powers },
            hiring: None,
            checks: Arc::from([]),
            stay: Stay::Once,
        };
        brief.check().map_err(HallError::Refused)?;
        Ok((Setup { seated, tokens_max: self.tokens_max, brief: Arc::new(brief) }, task))
    }
}

/// What is asked of a session's account.
#[derive(Clone)]
struct Asked {
    root: Path,
    granted: Msat,
    funded: Option<Msat>,
    context: Context,
    /// The session's time.
    since: Millis,
}

/// The most tokens that showing a finished root again can take: what its newest whole request took, and the bytes that were
/// added since.
fn tokens_shown(facts: &[Stored]) -> u64 {
    let mut last = BTreeSet::new();
    let mut tokens = 0;
    for stored in facts {
        if let Fact::Asked { id, ask: Ask::Model(Request { turn: Turn::Last, .. }), .. } = &stored.fact {
            last.insert(*id);
        }
        tokens += texts_named(&stored.fact).iter().map(|text| u64::from(text.bytes) + FRAME_TOKENS).sum::<u64>();
        if let Fact::Answered { id, answer: Answer::Said(said), .. } = &stored.fact
            && let Some(input) = said.input_tokens.filter(|_| !last.contains(id))
        {
            tokens = input + u64::from(said.reply.bytes) + FRAME_TOKENS;
        }
    }
    tokens
}

async fn account(journal: &Journal, id: &SessionId) -> Result<Session, HallError> {
    Session::restore(journal.account(id).await?).map_err(|why| HallError::Damaged(why.to_string()))
}

/// Work that is under way. Dropping it stops it where it is; [`Hall::resume`] goes on.
pub struct Running {
    hall: Hall,
    id: SessionId,
    first: u64,
    work: JoinHandle<Result<Ended, HallError>>,
}

impl Running {
    pub(crate) async fn resume(hall: &Hall, id: &SessionId) -> Result<Running, HallError> {
        let root = newest_root(hall.journal(), id).await?;
        if account(hall.journal(), id).await?.has_ended(&root.path) {
            return Err(HallError::HasEnded(id.clone()));
        }
        let task = root.setup.brief.task;
        let says = hall.journal().text(task.hash).await?.unwrap_or_default();
        let task = Text { of: task, says: String::from_utf8_lossy(&says).into_owned() };
        let office = hall.office(id, &root.setup.seated).await?;
        Running::spawn(hall.clone(), id.clone(), root.setup, office, vec![task]).await
    }

    async fn spawn(
        hall: Hall,
        id: SessionId,
        setup: Setup,
        office: Office,
        texts: Vec<Text>,
    ) -> Result<Running, HallError> {
        let first = hall.journal().head(&id).await?.facts + 1;
        let work = tokio::spawn(work(hall.clone(), id.clone(), setup, office, texts));
        Ok(Running { hall, id, first, work })
    }

    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the facts from here on, each as soon as it is durable.
    pub fn facts(&self) -> Subscription {
        self.hall.journal().subscribe(&self.id, self.first)
    }

    /// Tells the work to end before it is done.
    pub async fn end(&self, how: Ending) -> Result<(), HallError> {
        match self.hall.end(&self.id, how).await {
            // It ended by itself meanwhile.
            Ok(_) | Err(HallError::HasEnded(_)) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Waits until the work has ended.
    pub async fn wait(&mut self) -> Result<Ended, HallError> {
        match (&mut self.work).await {
            Ok(ended) => ended,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(HallError::NotEnded(self.id.clone())),
            },
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Runs the root, obeying orders from other terminals meanwhile, and closes the account.
async fn work(hall: Hall, id: SessionId, setup: Setup, office: Office, texts: Vec<Text>) -> Result<Ended, HallError> {
    let brief = Arc::clone(&setup.brief);
    let root = brief.path.clone();
    let meter = Meter::new(&hall, &id, &office, &root, setup.tokens_max);
    let report = tokio::select! {
        report = office.run(brief, texts) => report?,
        why = office.obey() => return Err(why.into()),
        why = meter.watch() => return Err(why),
    };
    if !account(hall.journal(), &id).await?.has_ended(&root) {
        // A root whose process ended between the two is settled once.
        office.account(vec![SessionFact::Ended { root: root.clone(), spent: report.spent }], Vec::new()).await?;
    }
    Ended::read(hall.journal(), &id, &root, setup, report).await
}
