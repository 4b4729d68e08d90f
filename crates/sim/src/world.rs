//! The simulator's engine: virtual time, permits, a store that can fail, effects that are derived from facts. It follows
//! the rules that every engine must: facts are durable before effects leave, a permit is held only during a leaf call,
//! and after a crash the world is rebuilt from what is stored.

mod audit;
mod recovery;
mod retrace;

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
use crate::script::{Script, strikes};
use crate::store::Store;

/// Everything there is in one schedule.
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
    /// What happened, in order, if it is to be run again.
    pub(crate) log: Option<Vec<Logged>>,
    pub(crate) commands: Vec<Command>,
    checker: Checker,
    /// Asked, and not yet durable.
    fresh: Vec<AskKey>,
    /// Durable leaf asks that want a permit.
    leaves: Vec<AskKey>,
    /// Other durable asks to be performed.
    errands: Vec<AskKey>,
    flights: Vec<Flight>,
    permits_used: usize,
    /// The asks that wait for a contract's report.
    hired: BTreeMap<Path, AskKey>,
    /// What the owner has put in.
    put_in: Vec<SessionFact>,
    /// What left for the world, and what it answers. It outlives a crash: the world does not forget.
    performed: BTreeMap<AskKey, Input>,
    /// What the world is known to answer, where a log is run again.
    known: BTreeMap<AskKey, Input>,
}

/// One thing that happened to one contract.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) contract: Path,
    pub(crate) what: Event,
    pub(crate) now: Millis,
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Opened(Arc<Brief>),
    Input(Input),
}

/// Something the owner did. It is kept in a durable inbox, and delivered again after a crash.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) to: Path,
    pub(crate) what: Stimulus,
}

/// An effect under way.
struct Flight {
    key: AskKey,
    /// Whether it holds a permit until it lands.
    permit: bool,
    /// What it brings when it lands.
    brings: Input,
}

impl World {
    pub(crate) fn new(scenario: Scenario, chance: Chance) -> World {
        let script = Script { temper: scenario.temper, faults: scenario.faults, texts: 100 };
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
            errands: Vec::new(),
            flights: Vec::new(),
            permits_used: 0,
            hired: BTreeMap::new(),
            put_in: Vec::new(),
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
            self.put_in(SessionFact::Funded { money, root: None });
            self.put_in(SessionFact::Requested { root: root.path.clone(), money, prices });
        }
    }

    /// The owner puts money in. Returns whether there is an account for it.
    pub(crate) fn put_in(&mut self, fact: SessionFact) -> bool {
        let taken = self.session.apply(&fact).is_ok();
        if taken {
            self.reach.count(session_name(&fact));
            self.put_in.push(fact);
        }
        taken
    }

    /// Opens a contract unless it is there already.
    pub(crate) fn open(&mut self, brief: &Arc<Brief>) {
        if self.contracts.contains_key(&brief.path) {
            return;
        }
        match Contract::open(Arc::clone(brief), self.now) {
            Ok((contract, facts)) => {
                self.contracts.insert(brief.path.clone(), contract);
                self.keep(&brief.path, Event::Opened(Arc::clone(brief)));
                self.record(&brief.path, &Cause::Opening, facts);
            }
            Err(why) if brief.path.level() > 0 => self.violate(format!("an admitted brief was refused: {why}")),
            Err(_) => {}
        }
    }

    /// Hands an input to a contract and records what follows.
    pub(crate) fn step(&mut self, path: &Path, input: Input) {
        if self.log.is_some() {
            self.keep(path, Event::Input(input.clone()));
        }
        let cause = input.cause();
        if let Some(contract) = self.contracts.get_mut(path) {
            let facts = contract.step(input, self.now);
            self.record(path, &cause, facts);
        }
    }

    fn keep(&mut self, contract: &Path, what: Event) {
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
            (Some(report), Some(key)) => self.fly(key.clone(), answer_report(key, &report)),
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
                self.violate(format!("the session's account does not take the end of {root}: {why}"));
            }
        }
    }

    pub(crate) fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    /// Makes what happened durable. Only then may what was asked leave.
    pub(crate) fn sync(&mut self) {
        self.store.sync();
        for key in std::mem::take(&mut self.fresh) {
            self.enqueue(key);
        }
    }

    fn enqueue(&mut self, key: AskKey) {
        match self.ask(&key) {
            Some(Ask::Model(_) | Ask::Tool(_) | Ask::Check(_)) => self.leaves.push(key),
            Some(Ask::Hire { .. } | Ask::Question { .. } | Ask::Tell { .. }) => self.errands.push(key),
            None => {}
        }
    }

    fn ask(&self, key: &AskKey) -> Option<&Ask> {
        self.contracts.get(&key.contract)?.ask(key.ask)
    }

    /// How much there is to do of each kind: leaf calls, errands, landings, syncs.
    pub(crate) fn to_do(&self) -> [bool; 4] {
        let permit = self.permits_used < self.scenario.permits;
        [!self.leaves.is_empty() && permit, !self.errands.is_empty(), !self.flights.is_empty(), !self.store.is_synced()]
    }

    /// Whether a leaf call waits for a permit that nobody will give back.
    pub(crate) fn is_starved(&self) -> bool {
        !self.leaves.is_empty() && self.permits_used >= self.scenario.permits
    }

    /// Lets one leaf call leave for the world, on a permit.
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
            return self.fly(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
        }
        let brings = match (self.performed.get(&key).cloned(), self.known.get(&key)) {
            (Some(before), _) => {
                self.check_repeated(&key);
                before
            }
            (None, Some(known)) => known.clone(),
            (None, None) => self.script.answer(&mut self.chance, contract, key.ask, self.now),
        };
        self.performed.insert(key.clone(), brings.clone());
        self.permits_used += 1;
        self.flights.push(Flight { key, permit: true, brings });
    }

    fn fly(&mut self, key: AskKey, brings: Input) {
        self.flights.push(Flight { key, permit: false, brings });
    }

    /// Lets one effect land: its answer reaches the contract, perhaps twice, or late.
    pub(crate) fn land(&mut self) {
        let Some(Flight { key, permit, mut brings }) = self.chance.take(&mut self.flights) else { return };
        self.permits_used -= usize::from(permit);
        if permit && strikes(&mut self.chance, self.scenario.faults.lost) {
            self.reach.count("fault lost");
            let late = std::mem::replace(&mut brings, lost(&key));
            self.reach.count("fault late");
            self.fly(key.clone(), late);
        } else if permit && self.contracts[&key.contract].is_cancelled() && self.chance.one_in(2) {
            let cost = self.chance.pick(&[Cost::Known(Msat::ZERO), Cost::Unknown]);
            brings = Input::Answer { id: key.ask, answer: Answer::Aborted, cost };
        } else if strikes(&mut self.chance, self.scenario.faults.doubled) {
            self.reach.count("fault doubled answer");
            self.step(&key.contract, brings.clone());
        }
        self.step(&key.contract, brings);
    }

    /// Performs one ask that needs no permit: a hire is opened, a stimulus delivered, a question put.
    pub(crate) fn run_errand(&mut self) {
        if let Some(key) = self.chance.take(&mut self.errands) {
            self.perform_errand(key);
        }
    }

    fn perform_errand(&mut self, key: AskKey) {
        match self.ask(&key).cloned() {
            None => {}
            Some(Ask::Hire { brief, .. }) => self.hire(&key, &brief),
            Some(Ask::Tell { to, what }) => self.tell(key, &to, &what),
            Some(Ask::Question { to: Addressee::Hirer, matter: Matter::Words(words), .. }) => {
                let hirer = key.contract.hirer().expect("only a hire asks its hirer");
                self.deliver(&hirer, &Sender::Contract(key), &Stimulus::Question(words));
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
            Some(Some(report)) => self.fly(key.clone(), answer_report(key, &report.clone())),
        }
    }

    fn tell(&mut self, key: AskKey, to: &Path, what: &Stimulus) {
        let answer = match self.contracts.get(to).map(Contract::report) {
            // Its hire has not been performed yet: later.
            None => return self.errands.push(key),
            Some(None) => Answer::Delivered,
            Some(Some(_)) => Answer::Gone,
        };
        self.deliver(to, &Sender::Contract(key.clone()), what);
        self.fly(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
    }

    /// Delivers a stimulus at least once.
    fn deliver(&mut self, to: &Path, from: &Sender, what: &Stimulus) {
        if strikes(&mut self.chance, self.scenario.faults.doubled) {
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
            (Matter::Words(_), 0) => Answer::Words(text(6, 9, TextKind::Message)),
            (Matter::Approval(_), _) => Answer::Denied,
            (Matter::Words(_), _) => Answer::NoReply,
        };
        self.fly(key.clone(), Input::Answer { id: key.ask, answer, cost: Cost::Known(Msat::ZERO) });
    }

    /// Puts a command of the owner's into the inbox and delivers it.
    pub(crate) fn command(&mut self, to: Path, what: Stimulus) {
        self.commands.push(Command { to, what });
        self.deliver_command(self.commands.len() - 1);
    }

    pub(crate) fn deliver_command(&mut self, number: usize) {
        let Command { to, what } = self.commands[number].clone();
        self.deliver(&to, &Sender::Owner { command: number as u64 }, &what);
    }

    /// Lets time pass up to a moment; it never goes back.
    pub(crate) fn pass_time(&mut self, until: Millis) {
        self.now = self.now.max(until);
        let due = |contract: &Contract| contract.wake_at().is_some_and(|wake| wake <= self.now);
        let late: Vec<Path> = self.contracts.iter().filter(|(_, c)| due(c)).map(|(path, _)| path.clone()).collect();
        for path in late {
            self.step(&path, Input::Tick);
        }
    }

    /// When time alone will next change something.
    pub(crate) fn wake_at(&self) -> Option<Millis> {
        self.contracts.values().filter_map(Contract::wake_at).min()
    }
}

fn session_name(fact: &SessionFact) -> &'static str {
    match fact {
        SessionFact::Funded { .. } => "session funded",
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
