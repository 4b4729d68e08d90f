//! Work: what is asked for, how it is begun or taken up, and how it is done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use guildhall_agent::{Text, task_key};
use guildhall_kernel::{
    AgentName, Answer, Ask, Brief, Context, Contract, FRAME_TOKENS, Fact, Floor, Grant, Heads, Lineage, Millis, Msat,
    Path, Request, Session, SessionFact, Standing, Stay, Stored, TextKind, Turn,
};
use guildhall_local::{Journal, NewSession, Office, SessionId, Subscription, UnixMs, texts_named};
use tokio::task::JoinHandle;

use crate::agents::{Agent, under, with};
use crate::built_in::assistant;
use crate::hall::{Ending, Hall, HallError, Telling};
use crate::meter::Meter;
use crate::name::fresh_id;
use crate::session::Ended;
use crate::setup::{Setup, Staffing, newest_root};

/// How many replies an agent may take, unless it is told otherwise.
pub const TURNS_MAX: u32 = 50;

/// How many may be hired in all, unless it is told otherwise.
pub const HEADS_MAX: u32 = 100;

/// How many levels of hires there may be, unless it is told otherwise.
pub const DEPTH_MAX: u8 = 8;

/// How often to look whether the inbox was heard, and how many times.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 100;

/// The longest label of a session, in characters.
const LABEL_CHARS_MAX: usize = 60;

/// Work that was described and is not begun.
pub struct Undertaking {
    hall: Hall,
    task: String,
    entry: Entry,
    heads_max: u32,
    depth_max: u8,
    budget: Option<Msat>,
    model: Option<String>,
    turns_max: Option<u32>,
    time_max: Option<Duration>,
    tokens_max: Option<u64>,
    id: Option<SessionId>,
    after: Option<SessionId>,
    stay: Stay,
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
            model: None,
            turns_max: None,
            time_max: None,
            tokens_max: None,
            id: None,
            after: None,
            stay: Stay::Once,
        }
    }

    /// Sets who takes the work on. It need not be on the roster.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Undertaking {
        self.entry = Entry::Given(Box::new(agent));
        self
    }

    /// Sets who of the roster takes the work on. Without either, an assistant does that reads files.
    #[must_use]
    pub fn entry(mut self, name: AgentName) -> Undertaking {
        self.entry = Entry::Named(name);
        self
    }

    /// Sets how many may be hired in all.
    #[must_use]
    pub fn heads_max(mut self, heads: u32) -> Undertaking {
        self.heads_max = heads;
        self
    }

    /// Sets how many levels of hires there may be.
    #[must_use]
    pub fn depth_max(mut self, depth: u8) -> Undertaking {
        self.depth_max = depth;
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
        self.turns_max = Some(turns);
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

    /// Makes it a conversation: the task is the first thing said in it, a final text does not end it, and
    /// [`Running::say`] goes on.
    #[must_use]
    pub fn open(mut self) -> Undertaking {
        self.stay = Stay::Open;
        self
    }

    /// Takes the work on, or says why not; begins it in the background.
    pub async fn start(self) -> Result<Running, HallError> {
        let staffing = self.staffing().await?;
        match self.after.clone() {
            None => self.begin(staffing).await,
            Some(id) => self.go_on(id, staffing).await,
        }
    }

    /// Returns who can come to work with which models, before anything is begun. A session that goes on keeps its people,
    /// unless others are named.
    pub async fn staffing(&self) -> Result<Staffing, HallError> {
        if let (Some(id), Entry::Default) = (&self.after, &self.entry) {
            let before = newest_root(self.hall.journal(), id).await?.setup.staffing;
            let wanted = self.model.clone().unwrap_or_else(|| before.model().to_owned());
            return self.hall.staff(before.agents, Some(&wanted));
        }
        self.hall.staff(self.agents()?, self.model.as_deref())
    }

    /// Begins a session.
    async fn begin(self, staffing: Staffing) -> Result<Running, HallError> {
        let id = self.id.clone().unwrap_or_else(fresh_id);
        let granted = self.budget.unwrap_or(Msat::ZERO);
        let funded = Some(granted);
        let asked = Asked { root: Path::root(1), granted, funded, context: Context::Fresh, since: Millis(0) };
        // Everything that can be refused is refused before anything is stored.
        let (setup, texts) = self.setup(&id, staffing, &asked)?;
        let project = self.hall.project().display().to_string();
        let words = self.task.split_whitespace().collect::<Vec<_>>().join(" ");
        let label = self.hall.scribe().text(TextKind::Task, &words).says.chars().take(LABEL_CHARS_MAX).collect();
        let new = NewSession { id: id.clone(), created_at: UnixMs::now(), project, label };
        self.hall.journal().create(new).await?;
        self.request(id, setup, texts, asked).await
    }

    /// Goes on in a session.
    async fn go_on(self, id: SessionId, staffing: Staffing) -> Result<Running, HallError> {
        let journal = self.hall.journal();
        self.settle(&id).await?;
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
        let (setup, texts) = self.setup(&id, staffing, &asked)?;
        self.request(id, setup, texts, asked).await
    }

    /// Gives a session the change of a root whose process ended just before it could.
    async fn settle(&self, id: &SessionId) -> Result<(), HallError> {
        let root = newest_root(self.hall.journal(), id).await?.path;
        let closed = self.hall.journal().contract_facts(id, &root).await?;
        let closed = matches!(closed.last(), Some(Stored { fact: Fact::Closed(_), .. }));
        if closed && !account(self.hall.journal(), id).await?.has_ended(&root) {
            self.hall.resume(id).await?.wait().await?;
        }
        Ok(())
    }

    /// Stores the request and begins.
    async fn request(self, id: SessionId, setup: Setup, texts: Vec<Text>, asked: Asked) -> Result<Running, HallError> {
        let office = self.hall.office(&id, &setup.staffing).await?;
        // Only whoever has the session may ask for more of it: another process may have gone on in it meanwhile.
        if account(self.hall.journal(), &id).await?.next_root() != asked.root {
            return Err(HallError::WentOn(id));
        }
        let stored = setup.text(self.hall.scribe());
        let funded = asked.funded.map(|money| SessionFact::Funded { money, root: None });
        let requested = SessionFact::Requested { root: asked.root, money: asked.granted, prices: stored.of };
        office
            .account(
                funded.into_iter().chain([requested]).collect(),
                std::iter::once(stored).chain(texts.iter().cloned()).collect(),
            )
            .await?;
        Running::spawn(self.hall, id, setup, office, texts).await
    }

    /// Fixes what the work is done with.
    fn setup(&self, id: &SessionId, staffing: Staffing, asked: &Asked) -> Result<(Setup, Vec<Text>), HallError> {
        let crew = self.hall.crew(id, &staffing)?;
        let hand = crew.first_hand();
        let task = self.hall.scribe().text(TextKind::Task, &self.task);
        let time = self.time_max.map(|time| Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        let (heads, depth) = if hand.hiring.is_some() { (self.heads_max, self.depth_max) } else { (0, 0) };
        let brief = Brief {
            path: asked.root.clone(),
            agent: hand.name.clone(),
            standing: Standing::Listed,
            task: task.of,
            task_key: task_key(&task.says),
            terms: Arc::from([]),
            adds: hand.adds.iter().map(|term| term.of).collect(),
            grant: Grant {
                money: asked.granted,
                heads: Heads(heads),
                depth,
                deadline: time.map(|time| asked.since.after(time)),
            },
            fee: Msat::ZERO,
            severance: hand.severance,
            tariff: hand.tariff,
            turns_max: self.turns_max.unwrap_or(hand.turns_max),
            context: asked.context.clone(),
            opening_bytes: crew.first().seat.opening_bytes() + u64::from(task.of.bytes),
            lineage: Lineage::default(),
            powers: hand.powers.clone(),
            hiring: hand.hiring.clone(),
            checks: Arc::from([]),
            stay: self.stay,
        };
        brief.check().map_err(HallError::Refused)?;
        let texts = std::iter::once(task).chain(hand.adds.iter().cloned()).collect();
        Ok((Setup { staffing, tokens_max: self.tokens_max, brief: Arc::new(brief) }, texts))
    }

    /// Who can come to work, the one who takes the work on first.
    fn agents(&self) -> Result<Vec<Agent>, HallError> {
        let (roster, rate) = (self.hall.roster(), self.hall.models().rate().usd_per_btc);
        match &self.entry {
            Entry::Default => Ok(vec![assistant()]),
            Entry::Named(name) if roster.get(name).is_some() => Ok(under(roster, name, rate)),
            Entry::Named(name) => {
                let known = roster.agents().map(|agent| agent.name.to_string()).collect::<Vec<_>>().join(", ");
                Err(HallError::NoAgent { name: name.to_string(), known })
            }
            Entry::Given(agent) => Ok(with(roster, Agent::clone(agent), rate)),
        }
    }
}

/// Who takes the work on.
enum Entry {
    Default,
    Named(AgentName),
    Given(Box<Agent>),
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
    root: Arc<Brief>,
    models: BTreeSet<String>,
    first: u64,
    work: JoinHandle<Result<Ended, HallError>>,
}

impl Running {
    pub(crate) async fn resume(hall: &Hall, id: &SessionId) -> Result<Running, HallError> {
        let root = newest_root(hall.journal(), id).await?;
        if account(hall.journal(), id).await?.has_ended(&root.path) {
            return Err(HallError::HasEnded(id.clone()));
        }
        let brief = &root.setup.brief;
        let mut texts = Vec::new();
        for of in std::iter::once(brief.task).chain(brief.adds.iter().copied()) {
            let says = hall.journal().text(of.hash).await?.unwrap_or_default();
            texts.push(Text { of, says: String::from_utf8_lossy(&says).into_owned() });
        }
        let office = hall.office(id, &root.setup.staffing).await?;
        Running::spawn(hall.clone(), id.clone(), root.setup, office, texts).await
    }

    async fn spawn(
        hall: Hall,
        id: SessionId,
        setup: Setup,
        office: Office,
        texts: Vec<Text>,
    ) -> Result<Running, HallError> {
        let first = hall.journal().head(&id).await?.facts + 1;
        let root = Arc::clone(&setup.brief);
        let models = setup.staffing.seated.values().cloned().collect();
        let work = tokio::spawn(work(hall.clone(), id.clone(), setup, office, texts));
        Ok(Running { hall, id, root, models, first, work })
    }

    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the facts from here on, each as soon as it is durable.
    pub fn facts(&self) -> Subscription {
        self.hall.journal().subscribe(&self.id, self.first)
    }

    /// Returns the models of all who can come to work in it, as `PROVIDER/NAME`.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(String::as_str)
    }

    /// Returns what the root was hired for.
    pub fn root(&self) -> &Brief {
        &self.root
    }

    /// Says something to the root. It is stored before this returns, and heard as the command of this number.
    pub async fn say(&self, words: &str) -> Result<u64, HallError> {
        let told = self.hall.order(&self.id, &self.root.path, Telling::Words(words.to_owned())).await?;
        Ok(told.number)
    }

    /// Returns who is to speak next, by what is stored. What lies in the inbox is given time to be heard first: until then,
    /// an agent that seems to wait for words only has not got them yet.
    pub async fn floor(&self) -> Result<Floor, HallError> {
        for _ in 0..LOOKS_MAX {
            // The inbox comes first: what is heard between the two looks is seen by the second.
            let left = self.hall.journal().take_after(&self.id, 0).await?;
            let floor = self.floor_now().await?;
            if left.is_empty() || !matches!(floor, Floor::Owner { .. }) {
                return Ok(floor);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.floor_now().await
    }

    async fn floor_now(&self) -> Result<Floor, HallError> {
        let stored = self.hall.journal().contract_facts(&self.id, &self.root.path).await?;
        if stored.is_empty() {
            return Ok(Floor::Agent);
        }
        let root = Contract::restore(stored.into_iter().map(|stored| stored.fact));
        root.map(|root| root.floor()).map_err(|why| HallError::Damaged(why.to_string()))
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
