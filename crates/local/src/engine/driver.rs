//! The driver of one contract: it stores the contract's facts and texts, performs its asks, and handles its messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_agent::{Arrival, Engine, Message, RunError, Status, Text, Texts};
use guildhall_kernel::{
    Addressee, Answer, Ask, AskId, AskKey, Brief, Cause, Check, Context, Contract, Cost, Effect, Fact, Input, Matter,
    Millis, Msat, Path, PayeeName, Sender, Stimulus, TextRef, TreasuryFact,
};
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::before::{messages_before, root_task};
use super::board::call_to_board;
use super::delivery::{self, Acknowledge, Delivery, DriverMessage, fail, send, send_answer};
use super::leaf::Leaf;
use super::money::{MoneySource, account_fact};
use super::text_cache::{TextCache, is_needed};
use super::time::{Activity, SessionTime};
use super::{AgentEnv, EngineError, Replays, SessionEngine};
use crate::clock::unix_now;
use crate::journal::{AddedStep, Batch, Queued, TreasuryBatch, texts_named};

/// The engine, as one contract sees it.
pub(super) struct ContractDriver {
    pub(super) engine: SessionEngine,
    path: Path,
    /// Whether the session's account has this root at work, so that its end is stored there, too.
    pub(super) is_in_account: bool,
    pub(super) env: AgentEnv,
    /// The provider that is paid for the contract's model.
    pub(super) provider: Option<Arc<str>>,
    pub(super) sender: delivery::Sender,
    receiver: mpsc::UnboundedReceiver<Box<DriverMessage>>,
    context: Context,
    past: Past,
    /// The messages before the contract's brief, or the error that prevents reading them. Only a request to the model
    /// needs them.
    pub(super) before: Result<Arc<[Message]>, EngineError>,
    /// The task of the root contract, if the agent is shown it in addition to its own task.
    pub(super) root_task: Option<Arc<str>>,
    /// Shared with running calls, which see the facts as of their start. A new fact copies the list once if calls run.
    pub(super) facts: Arc<Vec<Fact>>,
    pub(super) texts: TextCache,
    /// Texts that queued facts name. Some of them may not be in the cache.
    named: Vec<TextRef>,
    /// Texts that no stored fact names yet.
    new_texts: Vec<Text>,
    /// Who gets an acknowledgement for the current step.
    acknowledge: Acknowledge,
    /// Steps whose facts are queued but not known to be durable.
    queued: Vec<Queued<AddedStep>>,
    /// Who gets an acknowledgement when the queued steps are durable.
    acknowledge_later: Vec<Acknowledge>,
    /// The lock that a step needs: from reading an input until the facts of the step are queued.
    step: Option<OwnedMutexGuard<()>>,
    /// Asks up to this one were stored by an earlier process, so that their calls may have been sent.
    earlier_ask_max: Option<AskId>,
    /// The calls among them that were not sent: they were waiting for a permit.
    pub(super) in_line: BTreeSet<AskId>,
    /// The step of each ask.
    asked_in: BTreeMap<AskId, StepEnd>,
    pub(super) started: BTreeSet<AskId>,
    pub(super) leaves: BTreeMap<AskId, Leaf>,
    /// Set when calls that wait for a permit must not be sent any more.
    pub(super) no_new_calls: Arc<AtomicBool>,
    /// All tasks of this driver. They end with the driver.
    pub(super) tasks: JoinSet<()>,
}

/// The end of a step: the time, and the number of facts of the contract.
#[derive(Clone, Copy)]
struct StepEnd {
    at: Millis,
    facts: usize,
}

/// Whether a contract may already have stored facts when its driver starts.
#[derive(Clone, Copy)]
pub(super) enum Past {
    /// An earlier process may have run the contract.
    MayBeStored,
    /// The contract was hired just now and has no stored facts.
    None,
}

/// Returns the id of the ask that a fact makes.
fn asked(fact: &Fact) -> Option<AskId> {
    if let Fact::Asked { id, .. } = fact { Some(*id) } else { None }
}

impl ContractDriver {
    pub(super) fn new(
        engine: SessionEngine,
        brief: &Brief,
        earlier: Past,
        env: AgentEnv,
        (sender, receiver): (delivery::Sender, mpsc::UnboundedReceiver<Box<DriverMessage>>),
        texts: Vec<Text>,
    ) -> ContractDriver {
        let mut driver = ContractDriver {
            provider: engine.inner.providers.of(brief).map(Arc::from),
            engine,
            path: brief.path.clone(),
            is_in_account: false,
            env,
            sender,
            receiver,
            context: brief.context.clone(),
            past: earlier,
            before: Ok(Arc::from([])),
            root_task: None,
            facts: Arc::default(),
            texts: TextCache::default(),
            named: Vec::new(),
            new_texts: Vec::new(),
            acknowledge: Acknowledge::NotNeeded,
            queued: Vec::new(),
            acknowledge_later: Vec::new(),
            step: None,
            earlier_ask_max: None,
            in_line: BTreeSet::new(),
            asked_in: BTreeMap::new(),
            started: BTreeSet::new(),
            leaves: BTreeMap::new(),
            no_new_calls: Arc::default(),
            tasks: JoinSet::new(),
        };
        driver.add_texts(texts);
        driver
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn add_texts(&mut self, texts: Vec<Text>) {
        for text in texts {
            if is_needed(&text.of) {
                self.texts.insert(text.of.hash, Ok(text.says.as_str().into()));
            }
            self.new_texts.push(text);
        }
    }

    /// Returns what the contract had left after the step that made this ask. A process that repeats the request after a crash
    /// then sends the same text. The contract has to be restored only after a crash.
    pub(super) fn status(&self, contract: &Contract, id: AskId) -> Status {
        let step = self.asked_in.get(&id).copied();
        let StepEnd { at, facts } = step.unwrap_or_else(|| StepEnd { at: self.now(), facts: self.facts.len() });
        if facts == self.facts.len() {
            return Status::of(contract, id, at);
        }
        match Contract::restore(self.facts[..facts].iter().cloned()) {
            Ok(then) => Status::of(&then, id, at),
            // Can't happen: the contract was restored from these facts and later ones.
            Err(_) => Status::of(contract, id, at),
        }
    }

    /// Returns the fact of the treasury for the fee that a closing report earns.
    fn earned(&self, facts: &[Fact]) -> Option<TreasuryBatch> {
        let report = facts.iter().find_map(|fact| if let Fact::Closed(report) = fact { Some(report) } else { None })?;
        let opened = self.facts.iter().chain(facts).find_map(Fact::opened)?;
        let payee = opened.payee.as_ref().filter(|_| report.fee > Msat::ZERO)?;
        let (session, contract) = (self.engine.inner.lease.session().clone(), self.path.clone());
        let earned = TreasuryFact::Earned { payee: PayeeName::clone(payee), session, contract, money: report.fee };
        Some(TreasuryBatch { at: unix_now(), facts: vec![earned], texts: Vec::new() })
    }

    /// Applies queued facts to the boards and the open asks, which all contracts share. The driver holds the step lock, so
    /// the order is that of the journal.
    fn apply_shared(&self, facts: &[Fact]) {
        let (mut boards, mut open_asks) = (self.engine.boards(), self.engine.open_asks());
        for fact in facts {
            boards.apply(&self.path, fact);
            open_asks.apply(&self.path, fact);
            self.engine.inner.gate.apply(&self.path, fact);
            if let Some(tokens) = &self.engine.inner.tokens {
                tokens.apply(&self.path, fact);
            }
            if let Some((id, arguments)) = call_to_board(fact) {
                // A post that can't be read is left out, so that the session can continue.
                boards.record_call(&self.path, id, &self.texts.text(&arguments).unwrap_or_default());
            }
        }
    }

    /// Keeps tokens for the last request of the root, if tokens are limited.
    fn keep_tokens(&self, contract: &Contract) {
        if let Some(tokens) = self.engine.inner.tokens.as_ref().filter(|tokens| *tokens.root() == self.path) {
            tokens.keep_for(contract);
        }
    }

    pub(super) fn key(&self, ask: AskId) -> AskKey {
        AskKey { contract: self.path.clone(), ask }
    }

    /// Performs a check on the text of the last reply.
    fn check(&self, id: AskId, check: Check) {
        let said = |fact: &Fact| {
            if let Fact::Answered { answer: Answer::Said(said), .. } = fact { said.words } else { None }
        };
        let words = self.facts.iter().rev().find_map(said).map(|words| self.texts.text(&words)).transpose();
        match words.and_then(|words| Ok((words.unwrap_or_default(), self.texts.text(&check.what)?))) {
            Ok((words, what)) => {
                let (key, runtime) = (self.key(id), &self.env.runtime);
                send(&self.sender, runtime.check(&key, &what, &words, &self.facts, &*self.env.exists));
            }
            Err(why) => fail(&self.sender, EngineError::Text { contract: self.path.clone(), why }),
        }
    }

    /// Runs the hire's contract in a task of its own. Messages from the hirer are put into the hire's queue first.
    fn hire(&mut self, contract: &Contract, id: AskId, brief: &Arc<Brief>) {
        let words = std::iter::once(&brief.task).chain(brief.terms.iter()).chain(brief.adds.iter()).copied();
        let named = words.chain(brief.checks.iter().map(|check| check.what));
        let earlier = if self.may_have_left(id) { Past::MayBeStored } else { Past::None };
        let driver = self.engine.driver(brief, self.texts_of(named), earlier);
        if let Past::MayBeStored = earlier {
            for (id, ask) in contract.outstanding_after(id) {
                if let Ask::Tell { to, what } = ask
                    && *to == brief.path
                    && self.started.insert(id)
                {
                    self.tell(id, to, what);
                }
            }
        }
        let (engine, brief, sender) = (self.engine.clone(), Arc::clone(brief), self.sender.clone());
        self.tasks.spawn(async move {
            match Box::pin(engine.work(driver, Arc::clone(&brief))).await {
                Ok((report, texts)) => {
                    let cost = Cost::Known(report.spent);
                    let input = Input::Answer { id, answer: Answer::Report(Box::new(report)), cost };
                    send(&sender, Arrival { input, texts });
                }
                Err(why) => fail(&sender, failure(&brief.path, why)),
            }
        });
    }

    /// Sends a stimulus to another contract. The ask is answered when that contract has handled the stimulus.
    fn tell(&self, id: AskId, to: &Path, what: &Stimulus) {
        let acknowledge = Acknowledge::Contract { sender: self.sender.clone(), ask: id };
        if !self.deliver(id, to, what, acknowledge) {
            send_answer(&self.sender, id, Answer::Gone);
        }
    }

    fn deliver(&self, id: AskId, to: &Path, what: &Stimulus, acknowledge: Acknowledge) -> bool {
        let texts = match what {
            Stimulus::Message(text) | Stimulus::Question(text) => self.texts_of([*text]),
            Stimulus::TopUp { .. }
            | Stimulus::Draw { .. }
            | Stimulus::RefuseDraw { .. }
            | Stimulus::Hire(_)
            | Stimulus::DropHire { .. }
            | Stimulus::WrapUp
            | Stimulus::OutOfTokens { .. }
            | Stimulus::Cancel => Vec::new(),
        };
        let input = Input::Stimulus { from: Sender::Contract(self.key(id)), what: what.clone() };
        self.engine.send(to, Delivery { arrival: Arrival { input, texts }, acknowledge })
    }

    /// Whether the contract has already received this input: it is sent again after a crash that lost the
    /// acknowledgement.
    pub(super) fn has_received(&self, input: &Input) -> bool {
        let Input::Stimulus { from: again, .. } = input else { return false };
        self.facts.iter().any(|fact| matches!(fact, Fact::Heard { from, .. } if from == again))
    }

    pub(super) fn time(&self) -> Arc<SessionTime> {
        Arc::clone(&self.engine.inner.time)
    }

    /// Waits for a message until a moment.
    async fn message_before(&mut self, moment: Option<Millis>) -> Option<Box<DriverMessage>> {
        let time = self.time();
        loop {
            tokio::select! {
                biased;
                message = self.receiver.recv() => return Some(message.expect("the driver has a sender of its own queue")),
                Some(ended) = self.tasks.join_next() => propagate_panic(ended),
                () = time.wait_until(moment) => return None,
            }
        }
    }

    /// Waits until no other driver is taking a step.
    async fn step_lock(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.engine.inner.step).lock_owned().await
    }

    /// Returns the texts that can be read. Code that needs one of the others gets its own error.
    pub(super) fn texts_of(&self, named: impl IntoIterator<Item = TextRef>) -> Vec<Text> {
        named.into_iter().filter_map(|of| self.texts.text(&of).ok().map(|says| Text { of, says })).collect()
    }

    /// Ends a step. Its acknowledgement is sent when the step is durable.
    fn end_step(&mut self) {
        self.step = None;
        match std::mem::replace(&mut self.acknowledge, Acknowledge::NotNeeded) {
            Acknowledge::NotNeeded => {}
            waiting @ (Acknowledge::Order { .. } | Acknowledge::Contract { .. } | Acknowledge::Waiting(_)) => {
                self.acknowledge_later.push(waiting);
            }
        }
    }

    /// Waits until the queued steps are durable.
    pub(super) async fn store_queued(&mut self) -> Result<(), EngineError> {
        for queued in std::mem::take(&mut self.queued) {
            queued.durable().await?;
        }
        Ok(())
    }

    /// Acknowledges that a step is durable.
    async fn send_acknowledgement(&self, acknowledge: Acknowledge) -> Result<(), EngineError> {
        match acknowledge {
            Acknowledge::NotNeeded => {}
            // No fact follows from the order, so no batch marked it as done.
            Acknowledge::Order { number, .. } => {
                let inner = &self.engine.inner;
                inner.journal.mark_done(&inner.lease, number).await?;
            }
            Acknowledge::Contract { sender, ask } => send_answer(&sender, ask, Answer::Delivered),
            // If nobody waits any more, nobody needs the acknowledgement.
            Acknowledge::Waiting(done) => drop(done.send(())),
        }
        Ok(())
    }

    /// Reads a message and takes the lock for its step. Returns nothing if the message has no effect.
    async fn open(&mut self, message: Box<DriverMessage>) -> Result<Option<Input>, EngineError> {
        let Delivery { arrival, acknowledge } = match *message {
            DriverMessage::Delivery(delivery) => delivery,
            DriverMessage::Failed(why) => return Err(why),
            DriverMessage::Handled(done) => {
                self.acknowledge_later.push(Acknowledge::Waiting(done));
                return Ok(None);
            }
        };
        if let Acknowledge::Order { source, .. } = acknowledge
            && !self.can_be_paid(&arrival.input, source).await?
        {
            self.send_acknowledgement(acknowledge).await?;
            return Ok(None);
        }
        self.add_texts(arrival.texts);
        self.acknowledge = acknowledge;
        if let Input::Answer { id, .. } | Input::Reply { id, .. } = &arrival.input {
            self.leaves.remove(id);
        }
        self.step = Some(self.step_lock().await);
        Ok(Some(arrival.input))
    }

    /// Handles the messages that arrived after the contract had closed. No more messages can arrive.
    pub(super) async fn handle_late_messages(&mut self) -> Result<(), EngineError> {
        while let Ok(message) = self.receiver.try_recv() {
            match *message {
                DriverMessage::Delivery(Delivery { acknowledge: Acknowledge::Contract { sender, ask }, arrival }) => {
                    let answer = if self.has_received(&arrival.input) { Answer::Delivered } else { Answer::Gone };
                    send_answer(&sender, ask, answer);
                }
                DriverMessage::Delivery(Delivery { acknowledge: Acknowledge::Order { number, source }, arrival }) => {
                    self.engine.finish_late_order(number, &arrival.input, source).await?;
                }
                DriverMessage::Delivery(Delivery {
                    acknowledge: Acknowledge::NotNeeded | Acknowledge::Waiting(_),
                    ..
                })
                | DriverMessage::Handled(_) => {}
                DriverMessage::Failed(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Whether a call is lost: an earlier process may have made it, and it can't be repeated. A lost call costs its
    /// hold.
    fn is_lost(&self, id: AskId, ask: &Ask) -> bool {
        self.may_have_left(id)
            && match ask {
                Ask::Model(_) => !self.is_replayed(),
                Ask::Tool(call) => call.effect == Effect::Once,
                Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => false,
            }
    }

    /// Whether a request can be sent again: its provider gives the same reply to the same request. Under a token limit the request
    /// would not be the same: its `max_tokens` depends on what others use.
    pub(super) fn is_replayed(&self) -> bool {
        let is_limited = self.engine.inner.tokens.as_ref().is_some_and(|tokens| tokens.counts(&self.path));
        self.env.replays == Replays::Yes && !is_limited
    }

    /// Whether an earlier process may have made this call.
    pub(super) fn may_have_left(&self, id: AskId) -> bool {
        self.earlier_ask_max.is_some_and(|max| id <= max) && !self.in_line.contains(&id)
    }
}

/// Returns the error that the hirer's driver gets for a hire that could not be run. An error of the engine is passed on
/// unchanged; another error gets the path of the contract.
fn failure(contract: &Path, why: RunError<EngineError>) -> EngineError {
    match why {
        RunError::Engine(why) => why,
        RunError::Corrupt { source, .. } => {
            let why = format!("its stored facts are damaged: {source}");
            EngineError::Contract { contract: contract.clone(), why }
        }
        RunError::Refused(why) => EngineError::Contract { contract: contract.clone(), why: why.to_string() },
    }
}

/// Passes on the panic of a task: the task will never answer, so that its contract would wait for ever.
fn propagate_panic(ended: Result<(), JoinError>) {
    if let Some(panic) = ended.err().and_then(|ended| ended.try_into_panic().ok()) {
        std::panic::resume_unwind(panic)
    }
}

impl Drop for ContractDriver {
    /// A driver that is dropped before its contract has closed ends the work of the session. Its stopped calls release
    /// their permits, and calls that wait for a permit must not be sent.
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
        for step in stored.chunk_by(|one, next| (&one.cause, one.at) == (&next.cause, next.at)) {
            facts.extend(step.iter().map(|stored| stored.fact.clone()));
            let end = StepEnd { at: step[0].at, facts: facts.len() };
            self.asked_in.extend(step.iter().filter_map(|stored| asked(&stored.fact)).map(|id| (id, end)));
        }
        self.earlier_ask_max = self.asked_in.keys().max().copied();
        self.texts.load(&self.engine, facts.iter().flat_map(texts_named)).await?;
        self.facts = Arc::new(facts.clone());
        self.before = messages_before(&self.engine, &self.path, &self.context).await.map(Arc::from);
        if self.path.level() > 0 && self.env.runtime.model.has_json_turns() {
            self.root_task = root_task(&self.engine, &self.path).await?;
        }
        if facts.is_empty() {
            self.step = Some(self.step_lock().await);
        }
        Ok(facts)
    }

    async fn record(&mut self, cause: Cause, at: Millis, facts: Vec<Fact>) -> Result<(), EngineError> {
        let inner = &self.engine.inner;
        let texts =
            std::mem::take(&mut self.new_texts).into_iter().map(|text| (text.of, text.says.into_bytes())).collect();
        let (done, source) = match self.acknowledge {
            Acknowledge::Order { number, source } => {
                self.acknowledge = Acknowledge::NotNeeded;
                (Some(number), source)
            }
            Acknowledge::NotNeeded | Acknowledge::Contract { .. } | Acknowledge::Waiting(_) => (None, MoneySource::New),
        };
        let of_account = |fact: &Fact| account_fact(fact, &self.path, &inner.kind, source);
        let account = facts.iter().filter(|_| self.is_in_account).filter_map(of_account);
        let (account, treasury) = (account.collect(), self.earned(&facts));
        let batch =
            Batch { contract: self.path.clone(), at, cause, facts: facts.clone(), texts, done, account, treasury };
        let queued = inner.journal.queue(&inner.lease, batch).await;
        self.apply_shared(&facts);
        self.end_step();
        let (queued, named) = queued?;
        self.queued.push(queued);
        self.named.extend(named);
        let end = StepEnd { at, facts: self.facts.len() + facts.len() };
        self.asked_in.extend(facts.iter().filter_map(asked).map(|id| (id, end)));
        Arc::make_mut(&mut self.facts).extend(facts);
        Ok(())
    }

    async fn durable(&mut self) -> Result<(), EngineError> {
        self.end_step();
        self.store_queued().await?;
        self.texts.load(&self.engine, std::mem::take(&mut self.named)).await?;
        for acknowledge in std::mem::take(&mut self.acknowledge_later) {
            self.send_acknowledgement(acknowledge).await?;
        }
        Ok(())
    }

    fn perform(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        self.keep_tokens(contract);
        if contract.is_cancelled() {
            self.abort(id, ask);
        }
        if self.started.insert(id) {
            self.begin(contract, id, ask);
        }
        if contract.is_closing() {
            self.limit_time(id, ask);
        }
    }

    async fn next(&mut self, contract: &Contract) -> Result<Input, EngineError> {
        self.keep_tokens(contract);
        let wake = contract.wake_at();
        loop {
            if !self.acknowledge_later.is_empty() {
                self.durable().await?;
            }
            let waits = self.engine.open_asks().waits_for_person(&self.path);
            let waiting = waits.then(|| self.time().count(Activity::WaitingForPerson));
            let message = self.message_before(wake).await;
            drop(waiting);
            let Some(message) = message else {
                self.step = Some(self.step_lock().await);
                return Ok(Input::Tick);
            };
            if let Some(input) = self.open(message).await? {
                return Ok(input);
            }
        }
    }

    async fn ready(&mut self) -> Result<Option<Input>, EngineError> {
        self.end_step();
        while let Ok(message) = self.receiver.try_recv() {
            let input = self.open(message).await?;
            if input.is_some() {
                return Ok(input);
            }
        }
        Ok(None)
    }
}

impl ContractDriver {
    /// Starts to perform an ask.
    fn begin(&mut self, contract: &Contract, id: AskId, ask: &Ask) {
        if self.is_lost(id, ask) {
            return send(&self.sender, self.lost(id, ask));
        }
        match ask {
            Ask::Model(request) => self.ask_model(contract, id, request),
            Ask::Tool(call) => self.call_tool(contract, id, call),
            Ask::Hire { brief, .. } => self.hire(contract, id, brief),
            Ask::Tell { to, what } => self.tell(id, to, what),
            Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words), .. } => {
                if let Some(hirer) = self.path.hirer() {
                    self.deliver(id, &hirer, &Stimulus::Question(*words), Acknowledge::NotNeeded);
                }
            }
            Ask::Draw { least } => {
                if let Some(hirer) = self.path.hirer() {
                    self.deliver(id, &hirer, &Stimulus::Draw { least: *least }, Acknowledge::NotNeeded);
                }
            }
            // The program that shows the session asks the owner. A question without a reply ends at its time limit.
            Ask::Question { .. } => {}
            Ask::Check(check) => self.check(id, *check),
        }
    }
}
