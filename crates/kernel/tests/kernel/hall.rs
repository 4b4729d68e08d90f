//! A small engine for the examples: it stores contracts by path, performs hires and delivers messages between
//! contracts. The test plays the models, tools, checks and persons.
//!
//! After every step, the contract must equal the contract that is restored from its stored facts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Brief, Contract, Cost, Fact, Heads, Input, Matter, Millis, Path, Reply, Report, Sender,
    Stimulus, TextKind,
};

use crate::say::{self, Do, REPLY_COST, known, path, words};

pub(crate) struct Hall {
    pub(crate) contracts: BTreeMap<Path, Contract>,
    pub(crate) journal: BTreeMap<Path, Vec<Fact>>,
    pub(crate) now: Millis,
    /// The number of facts at the end of each step of a contract.
    pub(crate) steps: BTreeMap<Path, Vec<usize>>,
    /// The number of facts of each contract that were drawn before.
    pub(crate) drawn: BTreeMap<Path, usize>,
    mail: VecDeque<DriverMessage>,
    delivery: Delivery,
    commands: u64,
}

/// When the messages between contracts are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Immediately.
    Prompt,
    /// When the test says so.
    Slow,
}

#[derive(Clone, Debug)]
enum DriverMessage {
    Open(Arc<Brief>),
    Tell {
        from: AskKey,
        to: Path,
        what: Stimulus,
    },
    /// A question or a draw, to the hirer.
    Question {
        from: AskKey,
        what: Stimulus,
    },
    Report {
        of: Path,
        report: Box<Report>,
    },
}

impl Hall {
    pub(crate) fn open(brief: Brief) -> Hall {
        let mut hall = Hall {
            contracts: BTreeMap::new(),
            journal: BTreeMap::new(),
            now: Millis(0),
            steps: BTreeMap::new(),
            drawn: BTreeMap::new(),
            mail: VecDeque::new(),
            delivery: Delivery::Prompt,
            commands: 0,
        };
        hall.begin(Arc::new(brief));
        hall
    }

    pub(crate) fn contract(&self, at: &str) -> &Contract {
        &self.contracts[&path(at)]
    }

    pub(crate) fn report(&self, at: &str) -> &Report {
        self.contract(at).report().expect("it has closed")
    }

    /// The agent replies with calls.
    pub(crate) fn says(&mut self, at: &str, calls: &[Do]) -> Vec<Fact> {
        self.replies(at, say::calling(calls))
    }

    /// The agent replies with a final text.
    pub(crate) fn final_text(&mut self, at: &str) -> Vec<Fact> {
        self.replies(at, words(&format!("final text of {at}")))
    }

    pub(crate) fn replies(&mut self, at: &str, reply: Reply) -> Vec<Fact> {
        self.replies_for(at, reply, known(REPLY_COST))
    }

    pub(crate) fn replies_for(&mut self, at: &str, reply: Reply, cost: Cost) -> Vec<Fact> {
        let id = self.find(at, |ask| matches!(ask, Ask::Model(_)));
        self.step(at, Input::Reply { id, reply: Box::new(reply), cost })
    }

    /// The model call is answered without a reply.
    pub(crate) fn model(&mut self, at: &str, answer: Answer, cost: Cost) -> Vec<Fact> {
        let id = self.find(at, |ask| matches!(ask, Ask::Model(_)));
        self.answer(at, id, answer, cost)
    }

    /// A tool returns a result.
    pub(crate) fn tool_ends(&mut self, at: &str, name: &str, cost: Cost) -> Vec<Fact> {
        self.tool(at, name, Answer::Result(say::text(TextKind::Result, name)), cost)
    }

    pub(crate) fn tool(&mut self, at: &str, name: &str, answer: Answer, cost: Cost) -> Vec<Fact> {
        let id = self.find(at, |ask| matches!(ask, Ask::Tool(call) if call.tool.as_str() == name));
        self.answer(at, id, answer, cost)
    }

    pub(crate) fn check(&mut self, at: &str, answer: Answer, cost: Cost) -> Vec<Fact> {
        let id = self.find(at, |ask| matches!(ask, Ask::Check(_)));
        self.answer(at, id, answer, cost)
    }

    /// The owner decides on a tool call.
    pub(crate) fn owner_decides(&mut self, at: &str, answer: Answer) -> Vec<Fact> {
        let id = self.find(at, |ask| matches!(ask, Ask::Question { matter: Matter::Approval(_), .. }));
        self.answer(at, id, answer, known(0))
    }

    pub(crate) fn answer(&mut self, at: &str, id: AskId, answer: Answer, cost: Cost) -> Vec<Fact> {
        self.step(at, Input::Answer { id, answer, cost })
    }

    /// The owner sends a stimulus to a contract.
    pub(crate) fn owner_sends(&mut self, at: &str, what: Stimulus) -> Vec<Fact> {
        self.commands += 1;
        self.step(at, Input::Stimulus { from: Sender::Owner { command: self.commands }, what })
    }

    /// Sets the time for all contracts.
    pub(crate) fn set_time(&mut self, now: u64) {
        self.now = Millis(now);
        for at in self.contracts.keys().cloned().collect::<Vec<_>>() {
            self.step_at(&at, Input::Tick);
        }
    }

    pub(crate) fn step(&mut self, at: &str, input: Input) -> Vec<Fact> {
        self.step_at(&path(at), input)
    }

    pub(crate) fn set_delivery(&mut self, delivery: Delivery) {
        self.delivery = delivery;
        self.deliver_if_prompt();
    }

    /// Delivers the oldest undelivered message.
    pub(crate) fn deliver_next(&mut self) {
        let mail = self.mail.pop_front().expect("a message is waiting");
        self.deliver(mail);
    }

    /// Returns the first open ask of this kind.
    pub(crate) fn find(&self, at: &str, kind: impl Fn(&Ask) -> bool) -> AskId {
        let mut found = self.contract(at).outstanding().filter(|(_, ask)| kind(ask)).map(|(id, _)| id);
        found.next().unwrap_or_else(|| panic!("{at} has no open ask of this kind"))
    }

    /// Returns whether the contract has an open model call.
    pub(crate) fn waits_for_model(&self, at: &str) -> bool {
        self.contract(at).outstanding().any(|(_, ask)| matches!(ask, Ask::Model(_)))
    }

    fn begin(&mut self, brief: Arc<Brief>) {
        let at = brief.path.clone();
        let (contract, facts) = Contract::open(brief, self.now).expect("the briefs of the tests break no law");
        self.contracts.insert(at.clone(), contract);
        self.absorb(&at, facts);
    }

    fn step_at(&mut self, at: &Path, input: Input) -> Vec<Fact> {
        let facts = self.apply(at, input);
        self.deliver_if_prompt();
        facts
    }

    fn apply(&mut self, at: &Path, input: Input) -> Vec<Fact> {
        let contract = self.contracts.get_mut(at).expect("the tests name contracts that exist");
        let facts = contract.step(input, self.now);
        self.absorb(at, facts.clone());
        facts
    }

    /// Stores facts, then queues the messages that follow from them.
    fn absorb(&mut self, at: &Path, facts: Vec<Fact>) {
        for fact in &facts {
            self.mail.extend(mail(at, fact));
        }
        let journal = self.journal.entry(at.clone()).or_default();
        journal.extend(facts);
        self.steps.entry(at.clone()).or_default().push(journal.len());
        let stored = serde_json::to_string(journal).expect("facts can be stored");
        let read: Vec<Fact> = serde_json::from_str(&stored).expect("stored facts can be read");
        assert_eq!(
            Contract::restore(read).as_ref(),
            Ok(&self.contracts[at]),
            "{at} equals the contract restored from its facts"
        );
    }

    fn deliver_if_prompt(&mut self) {
        while self.delivery == Delivery::Prompt
            && let Some(mail) = self.mail.pop_front()
        {
            self.deliver(mail);
        }
        if self.mail.is_empty() {
            self.assert_holds_are_grants();
        }
    }

    fn deliver(&mut self, mail: DriverMessage) {
        match mail {
            DriverMessage::Open(brief) => self.begin(brief),
            DriverMessage::Question { from, what } => {
                // A root asks its owner, who is not a contract.
                if let Some(hirer) = from.contract.hirer() {
                    self.apply(&hirer, Input::Stimulus { from: Sender::Contract(from), what });
                }
            }
            DriverMessage::Tell { from, to, what } => {
                let (at, id) = (from.contract.clone(), from.ask);
                let answer = if self.contracts[&to].report().is_some() { Answer::Gone } else { Answer::Delivered };
                self.apply(&to, Input::Stimulus { from: Sender::Contract(from), what });
                self.apply(&at, Input::Answer { id, answer, cost: known(0) });
            }
            DriverMessage::Report { of, report } => {
                let hirer = of.hirer().expect("only a hire has a report to deliver");
                let this = |ask: &Ask| matches!(ask, Ask::Hire { brief, .. } if brief.path == of);
                let id = self.find(&hirer.to_string(), this);
                let cost = Cost::Known(report.spent);
                self.apply(&hirer, Input::Answer { id, answer: Answer::Report(report), cost });
            }
        }
    }

    /// Law 3: the hold for a hire equals the hire's grant.
    fn assert_holds_are_grants(&self) {
        for contract in self.contracts.values() {
            for (id, ask) in contract.outstanding() {
                if let Ask::Hire { brief, .. } = ask {
                    let (hire, hold) =
                        (&self.contracts[&brief.path], contract.hold(id).expect("an open ask has a hold"));
                    assert_eq!(hold.money, hire.purse().granted(), "the hold for {} is its grant", brief.path);
                    assert_eq!(
                        hold.heads,
                        Heads(hire.heads().granted().0 + 1),
                        "the held heads are the granted heads and one"
                    );
                }
            }
        }
    }
}

/// Returns the message to another contract that follows from a fact.
fn mail(at: &Path, fact: &Fact) -> Option<DriverMessage> {
    match fact {
        Fact::Asked { id, ask, .. } => {
            let from = AskKey { contract: at.clone(), ask: *id };
            match ask {
                Ask::Hire { brief, .. } => Some(DriverMessage::Open(Arc::clone(brief))),
                Ask::Tell { to, what } => Some(DriverMessage::Tell { from, to: to.clone(), what: what.clone() }),
                Ask::Question { matter: Matter::Text(text), .. } => {
                    Some(DriverMessage::Question { from, what: Stimulus::Question(*text) })
                }
                Ask::Draw { least } => Some(DriverMessage::Question { from, what: Stimulus::Draw { least: *least } }),
                Ask::Question { matter: Matter::Approval(_), .. } | Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) => {
                    None
                }
            }
        }
        Fact::Closed(report) => at.hirer().map(|_| DriverMessage::Report { of: at.clone(), report: report.clone() }),
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
        | Fact::Closing(_) => None,
    }
}
