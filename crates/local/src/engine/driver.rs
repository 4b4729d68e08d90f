//! The driver of one contract: it keeps the contract's facts and texts, performs what is asked, and reads its messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_agent::{Arrival, Engine, History, Message, RunError, Status, Text, TextError, Texts, fork_prefix};
use guildhall_kernel::{
    Addressee, Answer, Ask, AskId, AskKey, Brief, Cause, Check, Context, Contract, Cost, Effect, Fact, Hash, Input,
    Matter, Millis, Path, Sender, SessionFact, Stimulus, Stored, TextRef,
};
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::board::call_to_board;
use super::delivery::{Delivery, DriverMessage, Receipt, fail, send, send_answer};
use super::leaf::Leaf;
use super::time::{SessionTime, Why};
use super::{AgentEnv, EngineError, Replays, SessionEngine};
use crate::journal::{Appended, Batch, JournalError, Queued, texts_named};

/// The engine, as one contract sees it.
pub(super) struct ContractDriver {
    pub(super) engine: SessionEngine,
    path: Path,
    pub(super) env: AgentEnv,
    /// Who is paid for its model.
    pub(super) provider: Option<Arc<str>>,
    pub(super) post: mpsc::UnboundedSender<DriverMessage>,
    mail: mpsc::UnboundedReceiver<DriverMessage>,
    context: Context,
    past: Past,
    /// What was said before the contract's brief, or why that can't be told. Only a request to the model needs it.
    pub(super) before: Result<Arc<[Message]>, EngineError>,
    /// The task of the root, if the contract's agent is shown that beside its own.
    pub(super) root_task: Option<Arc<str>>,
    /// Shared with the calls under way, which see them as they were: a fact that comes meanwhile copies them, once.
    pub(super) facts: Arc<Vec<Fact>>,
    pub(super) texts: TextCache,
    /// How many of the facts have all their texts on the shelf.
    shelved: usize,
    /// Texts that no stored fact names yet.
    fresh: Vec<Text>,
    /// Who waits for the step that is being taken.
    receipt: Receipt,
    /// Steps whose facts have their place and are not known to be durable.
    queued: Vec<Queued<Appended>>,
    /// Who waits for steps that were taken.
    receipts: Vec<Receipt>,
    /// The turn to take a step: from what happened until its facts have queued up.
    step: Option<OwnedMutexGuard<()>>,
    /// Asks up to this one were stored by an earlier process: they may have left with it.
    left: Option<AskId>,
    /// Those among them that have not: they stood in line for a permit.
    pub(super) in_line: BTreeSet<AskId>,
    /// When each ask was made.
    asked_at: BTreeMap<AskId, Millis>,
    pub(super) begun: BTreeSet<AskId>,
    owed: Owed,
    pub(super) leaves: BTreeMap<AskId, Leaf>,
    /// Whether calls that wait for a permit may not leave any more.
    pub(super) barred: Arc<AtomicBool>,
    /// Everything that was started here. It ends with the driver.
    pub(super) tasks: JoinSet<()>,
}

/// Whether a contract may have facts before its driver starts.
#[derive(Clone, Copy)]
pub(super) enum Past {
    /// An earlier process may have run it.
    MayBeStored,
    /// It was asked for just now, so there is nothing to read.
    None,
}

/// The money that a person has added by what a root has heard.
fn put_in(fact: &Fact, root: &Path) -> Option<SessionFact> {
    let Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::TopUp { money, .. } } = fact else { return None };
    Some(SessionFact::Funded { money: *money, root: Some(root.clone()) })
}

/// The ask that a fact makes.
fn asked(fact: &Fact) -> Option<AskId> {
    if let Fact::Asked { id, .. } = fact { Some(*id) } else { None }
}

/// What the world owes a contract, as far as time goes by it: a fold of its facts.
#[derive(Default)]
struct Owed {
    asks: usize,
    questions_to_owner: BTreeSet<AskId>,
}

impl Owed {
    fn note(&mut self, fact: &Fact) {
        if let Fact::Asked { id, ask, .. } = fact {
            self.asks += 1;
            if matches!(ask, Ask::Question { to: Addressee::Owner, .. }) {
                self.questions_to_owner.insert(*id);
            }
        }
        if let Fact::Answered { id, .. } = fact {
            // What is stored is checked against the laws only after this.
            self.asks = self.asks.saturating_sub(1);
            self.questions_to_owner.remove(id);
        }
    }

    /// Whether a person is awaited: for an answer, or because a root that stays open is owed nothing.
    fn awaits_person(&self) -> bool {
        self.asks == 0 || !self.questions_to_owner.is_empty()
    }
}

/// A cache of texts: all that a contract's facts name. Clones share them. One that can't be read is an error for whoever needs it,
/// and for nobody else: a contract can be ended without it.
#[derive(Clone, Default)]
pub(super) struct TextCache(Arc<BTreeMap<Hash, Result<Arc<str>, TextError>>>);

impl TextCache {
    fn insert(&mut self, hash: Hash, text: Result<Arc<str>, TextError>) {
        Arc::make_mut(&mut self.0).insert(hash, text);
    }

    /// Loads what these facts name and is not in the cache.
    async fn load(&mut self, engine: &SessionEngine, facts: &[Fact]) -> Result<(), EngineError> {
        for of in facts.iter().flat_map(texts_named) {
            if self.0.contains_key(&of.hash) {
                continue;
            }
            let text = match engine.inner.journal.text(of.hash).await {
                Ok(Some(says)) => Ok(String::from_utf8_lossy(&says).into()),
                Ok(None) => Err(TextError::Missing(of)),
                Err(why @ JournalError::TextDamaged { .. }) => Err(TextError::Damaged { of, why: why.to_string() }),
                // The journal can't be read now, which says nothing about the text.
                Err(why) => return Err(why.into()),
            };
            self.insert(of.hash, text);
        }
        Ok(())
    }
}

/// What was said before a contract's brief: a fork goes on from its hirer's request, a later root from an earlier one's end.
async fn before(engine: &SessionEngine, path: &Path, context: &Context) -> Result<Vec<Message>, EngineError> {
    let whose = match (context, path.hirer()) {
        (Context::Fresh, _) | (Context::Fork { .. }, None) => return Ok(Vec::new()),
        (Context::Fork { .. }, Some(hirer)) => hirer,
        (Context::After { root, .. }, _) => root.clone(),
    };
    let inner = &engine.inner;
    let stored = inner.journal.contract_facts(inner.lease.session(), &whose).await?;
    let facts: Vec<Fact> = stored.into_iter().map(|stored| stored.fact).collect();
    let facts = match context {
        Context::Fork { request, upto, .. } => fork_prefix(&facts, *request, *upto),
        Context::Fresh | Context::After { .. } => facts,
    };
    let mut texts = TextCache::default();
    texts.load(engine, &facts).await?;
    let above = match facts.first() {
        Some(Fact::Opened(brief)) => Box::pin(before(engine, &whose, &brief.context)).await?,
        _ => Vec::new(),
    };
    let messages = History { before: &above, root_task: None, facts: &facts, texts: &texts }.messages();
    messages.map_err(|why| EngineError::Text { contract: whose, why })
}

impl ContractDriver {
    /// Reads the task of the root for a hire whose model is shown it. A task that can't be read is left out: the hire has its own.
    async fn read_root_task(&self) -> Result<Option<Arc<str>>, EngineError> {
        let inner = &self.engine.inner;
        if self.path.level() == 0 || !self.env.runtime.model.has_json_turns() {
            return Ok(None);
        }
        let first = inner.journal.first_fact(inner.lease.session(), &self.path.top()).await?;
        let Some(Stored { fact: Fact::Opened(brief), .. }) = first else { return Ok(None) };
        let mut texts = TextCache::default();
        texts.load(&self.engine, &[Fact::Opened(Arc::clone(&brief))]).await?;
        Ok(texts.text(&brief.task).ok().map(Arc::from))
    }
}

impl Texts for TextCache {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        match self.0.get(&of.hash) {
            Some(Ok(says)) => Ok(says.as_ref().to_owned()),
            Some(Err(why)) => Err(why.clone()),
            None => Err(TextError::Missing(*of)),
        }
    }
}

impl ContractDriver {
    pub(super) fn new(
        engine: SessionEngine,
        brief: &Brief,
        earlier: Past,
        env: AgentEnv,
        (post, mail): (mpsc::UnboundedSender<DriverMessage>, mpsc::UnboundedReceiver<DriverMessage>),
        texts: Vec<Text>,
    ) -> ContractDriver {
        let mut driver = ContractDriver {
            provider: engine.inner.providers.of(brief).map(Arc::from),
            engine,
            path: brief.path.clone(),
            env,
            post,
            mail,
            context: brief.context.clone(),
            past: earlier,
            before: Ok(Arc::from([])),
            root_task: None,
            facts: Arc::default(),
            texts: TextCache::default(),
            shelved: 0,
            fresh: Vec::new(),
            receipt: Receipt::Nobody,
            queued: Vec::new(),
            receipts: Vec::new(),
            step: None,
            left: None,
            in_line: BTreeSet::new(),
            asked_at: BTreeMap::new(),
            begun: BTreeSet::new(),
            owed: Owed::default(),
            leaves: BTreeMap::new(),
            barred: Arc::default(),
            tasks: JoinSet::new(),
        };
        driver.keep(texts);
        driver
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn keep(&mut self, texts: Vec<Text>) {
        for text in texts {
            self.texts.insert(text.of.hash, Ok(text.says.as_str().into()));
            self.fresh.push(text);
        }
    }

    /// What the contract had left when it asked: a process that takes the ask up says the same to its provider. A request is the
    /// last fact of its step, so that the contract is restored as it was then only once, after a crash.
    pub(super) fn status(&self, contract: &Contract, id: AskId) -> Status {
        let at = self.asked_at.get(&id).copied().unwrap_or_else(|| self.now());
        let upto = self.facts.iter().rposition(|fact| asked(fact) == Some(id)).map_or(0, |env| env + 1);
        if upto == self.facts.len() {
            return Status::of(contract, id, at);
        }
        match Contract::restore(self.facts[..upto].iter().cloned()) {
            Ok(then) => Status::of(&then, id, at),
            // It was restored from more of the same facts, so it can be from fewer.
            Err(_) => Status::of(contract, id, at),
        }
    }

    /// Notes what is posted by facts that have their place, as long as this driver has the turn: in the order of the journal.
    fn note_posts(&self, facts: &[Fact]) {
        let mut boards = self.engine.boards();
        for fact in facts {
            boards.note(&self.path, fact);
            if let Some((id, arguments)) = call_to_board(fact) {
                // What can't be read was not posted: a session goes on without it, and whoever shows it says what can't be read.
                boards.visit(&self.path, id, &self.texts.text(&arguments).unwrap_or_default());
            }
        }
    }

    pub(super) fn key(&self, ask: AskId) -> AskKey {
        AskKey { contract: self.path.clone(), ask }
    }

    /// Performs a check on the final words.
    fn check(&self, id: AskId, check: Check) {
        let said = |fact: &Fact| {
            if let Fact::Answered { answer: Answer::Said(said), .. } = fact { said.words } else { None }
        };
        let words = self.facts.iter().rev().find_map(said).map(|words| self.texts.text(&words)).transpose();
        match words.and_then(|words| Ok((words.unwrap_or_default(), self.texts.text(&check.what)?))) {
            Ok((words, what)) => {
                let (key, runtime) = (self.key(id), &self.env.runtime);
                send(&self.post, runtime.check(&key, &what, &words, &self.facts, &*self.env.exists));
            }
            Err(why) => fail(&self.post, EngineError::Text { contract: self.path.clone(), why }),
        }
    }

    /// Starts the same loop on the hire's brief, as a task of its own. What its hirer has to tell it is in its mail by then.
    fn hire(&mut self, contract: &Contract, id: AskId, brief: &Arc<Brief>) {
        let words = std::iter::once(&brief.task).chain(brief.terms.iter()).chain(brief.adds.iter()).copied();
        let named = words.chain(brief.checks.iter().map(|check| check.what));
        let earlier = if self.may_have_left(id) { Past::MayBeStored } else { Past::None };
        let driver = match self.engine.driver(brief, self.texts_of(named), earlier) {
            Ok(driver) => driver,
            Err(why) => return fail(&self.post, why),
        };
        if let Past::MayBeStored = earlier {
            for (id, ask) in contract.outstanding_after(id) {
                if let Ask::Tell { to, what } = ask
                    && *to == brief.path
                    && self.begun.insert(id)
                {
                    self.tell(id, to, what);
                }
            }
        }
        let (engine, brief, post) = (self.engine.clone(), Arc::clone(brief), self.post.clone());
        self.tasks.spawn(async move {
            match Box::pin(engine.work(driver, Arc::clone(&brief))).await {
                Ok((report, texts)) => {
                    let cost = Cost::Known(report.spent);
                    let input = Input::Answer { id, answer: Answer::Report(Box::new(report)), cost };
                    send(&post, Arrival { input, texts });
                }
                Err(why) => fail(&post, failure(&brief.path, why)),
            }
        });
    }

    /// Tells another contract something. It answers when it has dealt with it.
    fn tell(&self, id: AskId, to: &Path, what: &Stimulus) {
        let receipt = Receipt::Teller { post: self.post.clone(), ask: id };
        if !self.deliver(id, to, what, receipt) {
            send_answer(&self.post, id, Answer::Gone);
        }
    }

    fn deliver(&self, id: AskId, to: &Path, what: &Stimulus, receipt: Receipt) -> bool {
        let texts = match what {
            Stimulus::Message(text) | Stimulus::Question(text) => self.texts_of([*text]),
            Stimulus::TopUp { .. } | Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel => Vec::new(),
        };
        let input = Input::Stimulus { from: Sender::Contract(self.key(id)), what: what.clone() };
        self.engine.send(to, Delivery { arrival: Arrival { input, texts }, receipt })
    }

    /// Whether this is told again, after a crash that lost the receipt.
    fn has_heard(&self, input: &Input) -> bool {
        let Input::Stimulus { from: again, .. } = input else { return false };
        self.facts.iter().any(|fact| matches!(fact, Fact::Heard { from, .. } if from == again))
    }

    pub(super) fn time(&self) -> Arc<SessionTime> {
        Arc::clone(&self.engine.inner.time)
    }

    /// Waits for mail until a moment.
    async fn mail_before(&mut self, moment: Option<Millis>) -> Option<DriverMessage> {
        let time = self.time();
        loop {
            tokio::select! {
                biased;
                mail = self.mail.recv() => return Some(mail.expect("the driver keeps a sender to itself")),
                Some(ended) = self.tasks.join_next() => notice(ended),
                () = time.reach(moment) => return None,
            }
        }
    }

    /// Waits until no other driver is in the middle of a step.
    async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.engine.inner.step).lock_owned().await
    }

    /// Returns those of these texts that can be read. Whoever needs another finds out that it can't.
    pub(super) fn texts_of(&self, named: impl IntoIterator<Item = TextRef>) -> Vec<Text> {
        named.into_iter().filter_map(|of| self.texts.text(&of).ok().map(|says| Text { of, says })).collect()
    }

    /// Ends a step: whoever waits for it is told when it is durable.
    fn end_step(&mut self) {
        self.step = None;
        match std::mem::replace(&mut self.receipt, Receipt::Nobody) {
            Receipt::Nobody => {}
            waits @ (Receipt::Order(_) | Receipt::Teller { .. }) => self.receipts.push(waits),
        }
    }

    /// Tells somebody that the step it waited for has been taken.
    async fn tell_receipt(&self, receipt: Receipt) -> Result<(), EngineError> {
        match receipt {
            Receipt::Nobody => {}
            // It changed nothing, so no fact carried it out: it is done all the same.
            Receipt::Order(order) => {
                let inner = &self.engine.inner;
                inner.journal.mark_done(&inner.lease, order).await?;
            }
            Receipt::Teller { post, ask } => send_answer(&post, ask, Answer::Delivered),
        }
        Ok(())
    }

    /// Opens a letter and takes the turn for its step.
    async fn open(&mut self, mail: DriverMessage) -> Result<Input, EngineError> {
        let Delivery { arrival, receipt } = match mail {
            DriverMessage::Delivery(letter) => letter,
            DriverMessage::Failed(why) => return Err(why),
        };
        self.keep(arrival.texts);
        self.receipt = receipt;
        if let Input::Answer { id, .. } | Input::Reply { id, .. } = &arrival.input {
            self.leaves.remove(id);
        }
        self.step = Some(self.turn().await);
        Ok(arrival.input)
    }

    /// Deals with the letters that came after the contract had closed. No more can come.
    pub(super) async fn turn_away(&mut self) -> Result<(), EngineError> {
        while let Ok(mail) = self.mail.try_recv() {
            match mail {
                DriverMessage::Delivery(Delivery { receipt: Receipt::Teller { post, ask }, arrival }) => {
                    let answer = if self.has_heard(&arrival.input) { Answer::Delivered } else { Answer::Gone };
                    send_answer(&post, ask, answer);
                }
                DriverMessage::Delivery(Delivery { receipt: Receipt::Order(order), arrival }) => {
                    self.engine.turn_away(order, &arrival.input).await?;
                }
                DriverMessage::Delivery(Delivery { receipt: Receipt::Nobody, .. }) => {}
                DriverMessage::Failed(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// What may have happened before a crash and can't be attached to or done again is lost, at its hold.
    fn is_lost(&self, id: AskId, ask: &Ask) -> bool {
        self.may_have_left(id)
            && match ask {
                Ask::Model(_) => self.env.replays == Replays::No,
                Ask::Tool(call) => call.effect == Effect::Once,
                Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Tell { .. } => false,
            }
    }

    /// Whether an earlier process may have made this call.
    pub(super) fn may_have_left(&self, id: AskId) -> bool {
        self.left.is_some_and(|left| id <= left) && !self.in_line.contains(&id)
    }
}

/// What a hirer is told of a hire that could not be run: an error of the engine as it is, anything else with whose it was.
fn failure(contract: &Path, why: RunError<EngineError>) -> EngineError {
    let (contract, said) = (contract.clone(), why.to_string());
    match why {
        RunError::Engine(why) => why,
        RunError::Corrupt { source, .. } => EngineError::Below { contract, why: format!("{said}: {source}") },
        RunError::Refused(_) => EngineError::Below { contract, why: said },
    }
}

/// What panicked will never answer, and is our bug: nobody may wait for it.
fn notice(ended: Result<(), JoinError>) {
    if let Some(panic) = ended.err().and_then(|ended| ended.try_into_panic().ok()) {
        std::panic::resume_unwind(panic)
    }
}

impl Drop for ContractDriver {
    /// A driver that is dropped before its contract has closed goes with its session: the calls that are stopped by it return their
    /// permits, and none that waits for one may leave instead.
    fn drop(&mut self) {
        if !matches!(self.facts.last(), Some(Fact::Closed(_))) {
            self.engine.inner.stopped.store(true, Ordering::Release);
        }
    }
}

impl Engine for ContractDriver {
    type Error = EngineError;

    fn now(&self) -> Millis {
        self.engine.inner.time.now()
    }

    async fn stored(&mut self) -> Result<Vec<Fact>, EngineError> {
        let inner = &self.engine.inner;
        let (session, mut stored) = (inner.lease.session(), Vec::new());
        if let Past::MayBeStored = self.past {
            stored = inner.journal.contract_facts(session, &self.path).await?;
            self.in_line = inner.journal.in_line(session, &self.path).await?;
        }
        let mut facts = Vec::new();
        for Stored { at, fact, .. } in stored {
            self.asked_at.extend(asked(&fact).map(|id| (id, at)));
            facts.push(fact);
        }
        self.left = self.asked_at.keys().max().copied();
        self.texts.load(&self.engine, &facts).await?;
        for fact in &facts {
            self.owed.note(fact);
        }
        self.facts = Arc::new(facts.clone());
        self.before = before(&self.engine, &self.path, &self.context).await.map(Arc::from);
        self.root_task = self.read_root_task().await?;
        if facts.is_empty() {
            self.step = Some(self.turn().await);
        }
        Ok(facts)
    }

    async fn record(&mut self, cause: Cause, at: Millis, facts: Vec<Fact>) -> Result<(), EngineError> {
        let inner = &self.engine.inner;
        let texts = std::mem::take(&mut self.fresh).into_iter().map(|text| (text.of, text.says.into_bytes())).collect();
        let done = match self.receipt {
            Receipt::Order(order) => {
                self.receipt = Receipt::Nobody;
                Some(order)
            }
            Receipt::Nobody | Receipt::Teller { .. } => None,
        };
        let account = facts.iter().filter_map(|fact| put_in(fact, &self.path)).collect();
        let batch = Batch { contract: self.path.clone(), at, cause, facts: facts.clone(), texts, done, account };
        let queued = inner.journal.queue(&inner.lease, batch).await;
        self.note_posts(&facts);
        self.end_step();
        self.queued.push(queued?);
        self.asked_at.extend(facts.iter().filter_map(asked).map(|id| (id, at)));
        for fact in &facts {
            self.owed.note(fact);
        }
        Arc::make_mut(&mut self.facts).extend(facts);
        Ok(())
    }

    async fn durable(&mut self) -> Result<(), EngineError> {
        self.end_step();
        for queued in std::mem::take(&mut self.queued) {
            queued.durable().await?;
        }
        self.texts.load(&self.engine, &self.facts[self.shelved..]).await?;
        self.shelved = self.facts.len();
        for receipt in std::mem::take(&mut self.receipts) {
            self.tell_receipt(receipt).await?;
        }
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        if contract.is_cancelled() {
            self.abort(id, ask);
        }
        if self.begun.insert(id) {
            self.begin(contract, id, ask);
        }
        if contract.is_closing() {
            self.hasten(id, ask);
        }
    }

    async fn next(&mut self, wake: Option<Millis>) -> Result<Input, EngineError> {
        let awaiting = self.owed.awaits_person().then(|| self.time().count(Why::PersonAwaited));
        let mail = self.mail_before(wake).await;
        drop(awaiting);
        let Some(mail) = mail else {
            self.step = Some(self.turn().await);
            return Ok(Input::Tick);
        };
        self.open(mail).await
    }

    async fn ready(&mut self) -> Result<Option<Input>, EngineError> {
        self.end_step();
        match self.mail.try_recv() {
            Ok(mail) => self.open(mail).await.map(Some),
            Err(_) => Ok(None),
        }
    }
}

impl ContractDriver {
    /// Begins to perform an ask.
    fn begin(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        if self.is_lost(id, ask) {
            return send(&self.post, self.lost(id, ask));
        }
        match ask {
            Ask::Model(request) => self.ask_model(contract, id, request),
            Ask::Tool(call) => self.call_tool(contract, id, call),
            Ask::Hire { brief, .. } => self.hire(contract, id, brief),
            Ask::Tell { to, what } => self.tell(id, to, what),
            Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words), .. } => {
                if let Some(hirer) = self.path.hirer() {
                    self.deliver(id, &hirer, &Stimulus::Question(*words), Receipt::Nobody);
                }
            }
            // Whoever watches shows it to the owner; no reply in time is one.
            Ask::Question { .. } => {}
            Ask::Check(check) => self.check(id, *check),
        }
    }
}
