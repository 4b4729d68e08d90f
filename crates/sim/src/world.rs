//! The simulator's engine: virtual time, permits, a store that can fail, effects that are derived from facts. It
//! follows the rules for every engine: facts are durable before effects leave, a permit is held only during a leaf
//! call, and after a crash the state is restored from the stored facts.

mod audit;
mod recovery;
mod replay;

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_kernel::{
    Addressee, Answer, Ask, AskKey, Brief, Cause, Contract, Cost, Fact, Input, Matter, Millis, Msat, Path, Report,
    Sender, Session, SessionFact, Stimulus, TextKind,
};
use guildhall_laws::Checker;

use crate::chance::Chance;
use crate::reach::Reach;
use crate::scenario::{Scenario, text};
use crate::script::{Script, happens};
use crate::store::Store;

/// The complete state of one schedule.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) chance: Chance,
    pub(crate) script: Script,
    pub(crate) reach: Reach,
    pub(crate) now: Millis,
    pub(crate) contracts: BTreeMap<Path, Contract>,
    pub(crate) store: Store,
    pub(crate) session: Session,
    pub(crate) violations: Vec<String>,
    /// All events in order, if the schedule will be replayed.
    pub(crate) log: Option<Vec<Logged>>,
    pub(crate) commands: Vec<Command>,
    checker: Checker,
    /// The asks that are not durable yet.
    fresh: Vec<AskKey>,
    /// The durable leaf asks that wait for a permit.
    leaves: Vec<AskKey>,
    /// The other durable asks that are not performed yet.
    other_asks: Vec<AskKey>,
    pending: Vec<PendingAnswer>,
    permits_used: usize,
    /// The ask that waits for each contract's report.
    hired: BTreeMap<Path, AskKey>,
    /// The facts of the session's account: the owner's money, requests and corrections.
    account_facts: Vec<SessionFact>,
    /// The performed leaf asks and their answers. They survive a crash, because providers and tools remember them.
    performed: BTreeMap<AskKey, Input>,
    /// The known answers, when a log is replayed.
    known: BTreeMap<AskKey, Input>,
}

/// One event of one contract.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) contract: Path,
    pub(crate) what: Event,
    pub(crate) now: Millis,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "almost every event is an input")]
pub(crate) enum Event {
    Opened(Arc<Brief>),
    Input(Input),
}

/// A command of the owner. Commands are stored in a durable inbox and delivered again after a crash.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) to: Path,
    pub(crate) what: Stimulus,
}

/// An answer that is on its way to its contract.
struct PendingAnswer {
    key: AskKey,
    /// Whether the ask holds a permit until the answer is delivered.
    permit: bool,
    /// The answer.
    response: Input,
}

impl World {
    pub(crate) fn new(scenario: Scenario, chance: Chance) -> World {
        let script = Script { style: scenario.style, faults: scenario.faults, texts: 100 };
        let mut world = World {
            script,
            chance,
            reach: Reach::default(),
            now: Millis(0),
            contracts: BTreeMap::new(),
            store: Store::default(),
            session: Session::default(),
            violations: Vec::new(),
            log: None,
            commands: Vec::new(),
            checker: Checker::new(),
            fresh: Vec::new(),
            leaves: Vec::new(),
            other_asks: Vec::new(),
            pending: Vec::new(),
            permits_used: 0,
            hired: BTreeMap::new(),
            account_facts: Vec::new(),
            performed: BTreeMap::new(),
            known: BTreeMap::new(),
            scenario,
        };
        world.fund();
        world
    }

    fn fund(&mut self) {
        for root in self.scenario.roots.clone() {
            let prices = text(5, 9, TextKind::Prices);
            let money = root.grant.money;
            self.add_to_account(SessionFact::Funded { money, root: None, payment: None });
            self.add_to_account(SessionFact::Requested { root: root.path.clone(), money, prices });
        }
    }

    /// Adds a fact to the session's account. Returns whether the account accepts the fact.
    pub(crate) fn add_to_account(&mut self, fact: SessionFact) -> bool {
        let accepted = self.session.apply(&fact).is_ok();
        if accepted {
            self.reach.count(session_name(&fact));
            self.account_facts.push(fact);
        }
        accepted
    }

    /// Opens a contract, unless it is open already.
    pub(crate) fn open(&mut self, brief: &Arc<Brief>) {
        if self.contracts.contains_key(&brief.path) {
            return;
        }
        match Contract::open(Arc::clone(brief), self.now) {
            Ok((contract, facts)) => {
                self.contracts.insert(brief.path.clone(), contract);
                self.log_event(&brief.path, Event::Opened(Arc::clone(brief)));
                self.record(&brief.path, &Cause::Opening, facts);
            }
            Err(why) if brief.path.level() > 0 => self.violate(format!("an admitted brief was refused: {why}")),
            Err(_) => {}
        }
    }

    /// Passes an input to a contract and records the facts that follow.
    pub(crate) fn step(&mut self, path: &Path, input: Input) {
        if self.log.is_some() {
            self.log_event(path, Event::Input(input.clone()));
        }
        let cause = input.cause();
        if let Some(contract) = self.contracts.get_mut(path) {
            let facts = contract.step(input, self.now);
            self.record(path, &cause, facts);
        }
    }

    fn log_event(&mut self, contract: &Path, what: Event) {
        if let Some(log) = &mut self.log {
            log.push(Logged { contract: contract.clone(), what, now: self.now });
        }
    }

    fn record(&mut self, path: &Path, cause: &Cause, facts: Vec<Fact>) {
        let mut closed = None;
        for stored in self.store.append(path, self.now, cause, facts) {
            let broken = self.checker.observe(stored);
            self.violations.extend(broken.iter().map(ToString::to_string));
            self.reach.fact(&stored.fact);
            match &stored.fact {
                Fact::Asked { id, .. } => {
                    let key = AskKey { contract: path.clone(), ask: *id };
                    self.fresh.push(key);
                }
                Fact::Closed(report) => closed = Some(report.clone()),
                Fact::Opened(_)
                | Fact::Answered { .. }
                | Fact::Queued { .. }
                | Fact::Refused { .. }
                | Fact::Raised { .. }
                | Fact::Heard { .. }
                | Fact::Waiting { .. }
                | Fact::Woke { .. }
                | Fact::Nudged(_)
                | Fact::Compacted { .. }
                | Fact::Closing(_) => {}
            }
        }
        match (closed, self.hired.get(path)) {
            (Some(report), Some(key)) => self.send_answer(key.clone(), answer_report(key, &report)),
            (Some(report), None) => self.end_root(path, &report),
            (None, _) => {}
        }
    }

    fn end_root(&mut self, root: &Path, report: &Report) {
        let Report { spent, reserved, estimated, .. } = *report;
        let ended = SessionFact::Ended { root: root.clone(), spent, reserved, estimated };
        if root.level() == 0 {
            self.reach.count(session_name(&ended));
            if let Err(why) = self.session.apply(&ended) {
                self.violate(format!("the session's account refuses the end of root {root}: {why}"));
            }
        }
    }

    pub(crate) fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    /// Makes the facts durable. Only then the asks may be performed.
    pub(crate) fn sync(&mut self) {
        self.store.sync();
        for key in std::mem::take(&mut self.fresh) {
            self.enqueue(key);
        }
    }

    fn enqueue(&mut self, key: AskKey) {
        match self.ask(&key) {
            Some(Ask::Model(_) | Ask::Tool(_) | Ask::Check(_)) => self.leaves.push(key),
            Some(Ask::Hire { .. } | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. }) => {
                self.other_asks.push(key);
            }
            None => {}
        }
    }

    fn ask(&self, key: &AskKey) -> Option<&Ask> {
        self.contracts.get(&key.contract)?.ask(key.ask)
    }

    /// Returns which kinds of work there are: leaf calls, other asks, answers to deliver, a sync.
    pub(crate) fn to_do(&self) -> [bool; 4] {
        let permit = self.permits_used < self.scenario.permits;
        [
            !self.leaves.is_empty() && permit,
            !self.other_asks.is_empty(),
            !self.pending.is_empty(),
            !self.store.is_synced(),
        ]
    }

    /// Returns whether a leaf call waits for a permit and all permits are in use.
    pub(crate) fn waits_for_permit(&self) -> bool {
        !self.leaves.is_empty() && self.permits_used >= self.scenario.permits
    }

    /// Makes one leaf call, with a permit.
    pub(crate) fn call(&mut self) {
        if let Some(key) = self.chance.take(&mut self.leaves) {
            self.perform_leaf(key);
        }
    }

    fn perform_leaf(&mut self, key: AskKey) {
        let Some(contract) = self.contracts.get(&key.contract) else { return };
        if contract.ask(key.ask).is_none() {
            return;
        }
        if contract.is_cancelled() {
            let answer = Answer::Aborted;
            return self.send_answer(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
        }
        let response = match (self.performed.get(&key).cloned(), self.known.get(&key)) {
            (Some(before), _) => {
                self.check_repeated(&key);
                before
            }
            (None, Some(known)) => known.clone(),
            (None, None) => self.script.answer(&mut self.chance, contract, key.ask, self.now),
        };
        self.performed.insert(key.clone(), response.clone());
        self.permits_used += 1;
        self.pending.push(PendingAnswer { key, permit: true, response });
    }

    fn send_answer(&mut self, key: AskKey, response: Input) {
        self.pending.push(PendingAnswer { key, permit: false, response });
    }

    /// Delivers one answer to its contract, perhaps twice, or late.
    pub(crate) fn deliver_answer(&mut self) {
        let Some(PendingAnswer { key, permit, mut response }) = self.chance.take(&mut self.pending) else { return };
        self.permits_used -= usize::from(permit);
        if permit && happens(&mut self.chance, self.scenario.faults.lost) {
            self.reach.count("fault lost");
            let late = std::mem::replace(&mut response, lost(&key));
            self.reach.count("fault late");
            self.send_answer(key.clone(), late);
        } else if permit && self.contracts[&key.contract].is_cancelled() && self.chance.one_in(2) {
            let cost = self.chance.pick(&[Cost::Known(Msat::ZERO), Cost::Unknown]);
            response = Input::Answer { id: key.ask, answer: Answer::Aborted, cost };
        } else if happens(&mut self.chance, self.scenario.faults.doubled) {
            self.reach.count("fault doubled answer");
            self.step(&key.contract, response.clone());
        }
        self.step(&key.contract, response);
    }

    /// Performs one ask that needs no permit: opens a hire, delivers a stimulus, or asks a question.
    pub(crate) fn perform_other(&mut self) {
        if let Some(key) = self.chance.take(&mut self.other_asks) {
            self.perform_other_ask(key);
        }
    }

    fn perform_other_ask(&mut self, key: AskKey) {
        match self.ask(&key).cloned() {
            None => {}
            Some(Ask::Hire { brief, .. }) => self.hire(&key, &brief),
            Some(Ask::Tell { to, what }) => self.tell(key, &to, &what),
            Some(Ask::Question { to: Addressee::Hirer, matter: Matter::Text(words), .. }) => {
                let hirer = key.contract.hirer().expect("only a hire asks its hirer");
                self.deliver(&hirer, &Sender::Contract(key), &Stimulus::Question(words));
            }
            Some(Ask::Draw { least }) => {
                let hirer = key.contract.hirer().expect("only a hire draws");
                self.deliver(&hirer, &Sender::Contract(key), &Stimulus::Draw { least });
            }
            Some(Ask::Question { matter, .. }) => self.ask_owner(&key, &matter),
            Some(Ask::Model(_) | Ask::Tool(_) | Ask::Check(_)) => unreachable!("leaf calls need a permit"),
        }
    }

    fn hire(&mut self, key: &AskKey, brief: &Arc<Brief>) {
        self.hired.insert(brief.path.clone(), key.clone());
        match self.contracts.get(&brief.path).map(Contract::report) {
            None => self.open(brief),
            Some(None) => {}
            Some(Some(report)) => self.send_answer(key.clone(), answer_report(key, &report.clone())),
        }
    }

    fn tell(&mut self, key: AskKey, to: &Path, what: &Stimulus) {
        let answer = match self.contracts.get(to).map(Contract::report) {
            // The receiver has not been opened yet: try again later.
            None => return self.other_asks.push(key),
            Some(None) => Answer::Delivered,
            Some(Some(_)) => Answer::Gone,
        };
        self.deliver(to, &Sender::Contract(key.clone()), what);
        self.send_answer(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
    }

    /// Delivers a stimulus at least once.
    fn deliver(&mut self, to: &Path, from: &Sender, what: &Stimulus) {
        if happens(&mut self.chance, self.scenario.faults.doubled) {
            self.reach.count("fault doubled stimulus");
            self.step(to, Input::Stimulus { from: from.clone(), what: what.clone() });
        }
        self.step(to, Input::Stimulus { from: from.clone(), what: what.clone() });
    }

    /// The owner answers, or does not.
    fn ask_owner(&mut self, key: &AskKey, matter: &Matter) {
        let answer = match (matter, self.chance.below(3)) {
            (_, 2) => return,
            (Matter::Approval(_), 0) => Answer::Approved,
            (Matter::Text(_), 0) => Answer::Text(text(6, 9, TextKind::Message)),
            (Matter::Approval(_), _) => Answer::Denied,
            (Matter::Text(_), _) => Answer::NoReply,
        };
        self.send_answer(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
    }

    /// Puts an owner's command into the inbox and delivers it.
    pub(crate) fn command(&mut self, to: Path, what: Stimulus) {
        self.commands.push(Command { to, what });
        self.deliver_command(self.commands.len() - 1);
    }

    pub(crate) fn deliver_command(&mut self, number: usize) {
        let Command { to, what } = self.commands[number].clone();
        self.deliver(&to, &Sender::Owner { command: number as u64 }, &what);
    }

    /// Advances the time to `until`; time never goes back.
    pub(crate) fn pass_time(&mut self, until: Millis) {
        self.now = self.now.max(until);
        let due = |contract: &Contract| contract.wake_at().is_some_and(|wake| wake <= self.now);
        let late: Vec<Path> = self.contracts.iter().filter(|(_, c)| due(c)).map(|(path, _)| path.clone()).collect();
        for path in late {
            self.step(&path, Input::Tick);
        }
    }

    /// Returns the next time at which a contract needs a tick.
    pub(crate) fn wake_at(&self) -> Option<Millis> {
        self.contracts.values().filter_map(Contract::wake_at).min()
    }
}

fn session_name(fact: &SessionFact) -> &'static str {
    match fact {
        SessionFact::Opened { .. } => "session opened",
        SessionFact::Funded { .. } => "session funded",
        SessionFact::Granted { .. } => "session granted",
        SessionFact::Withdrawing { .. } => "session withdrawing",
        SessionFact::Withdrawn { .. } => "session withdrawn",
        SessionFact::Returned { .. } => "session returned",
        SessionFact::Requested { .. } => "session requested",
        SessionFact::Corrected { .. } => "session corrected",
        SessionFact::Ended { .. } => "session ended",
    }
}

fn lost(key: &AskKey) -> Input {
    Input::Answer { id: key.ask, answer: Answer::Lost, cost: Cost::Unknown }
}

fn answer_report(key: &AskKey, report: &Report) -> Input {
    Input::Answer { id: key.ask, answer: Answer::Report(Box::new(report.clone())), cost: Cost::Known(report.spent) }
}
