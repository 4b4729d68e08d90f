//! A builder for hand-made journals. It fills in the numbers, times and cursors.

use std::sync::Arc;

use guildhall_kernel::{
    Acceptance, AgentName, Answer, Ask, AskId, AskKey, Brief, CallRef, Cause, Check, CloseWhen, Context, Cost, Effect,
    FORMAT, Fact, Grant, Hash, Heads, Hiring, Hold, Inherit, Lineage, Link, Millis, Mode, Msat, Offer, Origin, Outcome,
    OwnSize, Path, Power, PowerSet, Powers, Refusal, Report, Request, Said, Sender, Standing, Stimulus, Stored, Tariff,
    TextKind, TextRef, ToolCall, ToolName, Turn, WRAP_UP_MARGIN_MAX, Wording,
};
use guildhall_laws::{Checker, Law, Violation};

pub(crate) fn path(text: &str) -> Path {
    text.parse().unwrap()
}

pub(crate) fn msat(amount: u64) -> Msat {
    Msat::new(amount).unwrap()
}

pub(crate) fn text(kind: TextKind, seed: u8) -> TextRef {
    TextRef { hash: Hash([seed; 32]), bytes: 10, kind }
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

pub(crate) fn powers(names: &[&str]) -> PowerSet {
    names.iter().map(|name| Power::parse(name).unwrap()).collect::<Vec<_>>().into()
}

pub(crate) fn check(price: u64) -> Check {
    Check { what: text(TextKind::Task, 200), price: msat(price) }
}

/// Input costs 3 msat a token, output 15.
pub(crate) const TARIFF: (u64, u64) = (3_000_000, 15_000_000);

/// The hold of an ordinary request: 1000 tokens in, 1000 out.
pub(crate) const REQUEST: u64 = 18_000;

pub(crate) fn root() -> Brief {
    Brief {
        model_slot: 0,
        path: path("1"),
        agent: agent("contractor"),
        standing: Standing::Listed,
        label: None,
        task: text(TextKind::Task, 1),
        task_key: Hash([1; 32]),
        terms: Arc::new([text(TextKind::Term, 10)]),
        adds: Arc::new([text(TextKind::Term, 11)]),
        grant: Grant {
            money: msat(10_000_000),
            heads: Heads(10),
            depth: 3,
            deadline: Some(Millis(10_000_000)),
            margin: Some(WRAP_UP_MARGIN_MAX),
        },
        money_max: None,
        fee: msat(0),
        payee: None,
        severance: msat(20_000),
        tariff: Tariff { input: msat(TARIFF.0), output: msat(TARIFF.1), max_tokens: 1000 },
        same_model: false,
        turns_max: 20,
        context: Context::Fresh,
        opening_bytes: 500,
        opening: None,
        lineage: Lineage::default(),
        powers: Powers { usable: powers(&["read"]), grantable: powers(&["read", "write"]) },
        hiring: Some(Hiring { team: Arc::new([agent("scout"), agent("writer")]), ad_hoc: false, recursive: false }),
        checks: Arc::new([]),
        close_when: CloseWhen::FinalText,
    }
}

/// A hire as it would be admitted: half of the money, three heads or none, and everything else within the grant.
pub(crate) fn hire(parent: &Brief, ordinal: u32, name: &str) -> Brief {
    let path = parent.path.hire(ordinal);
    let seed = u8::try_from(10 * path.level() + 100).unwrap() + u8::try_from(ordinal).unwrap();
    let link = Link { agent: parent.agent.clone(), standing: parent.standing, task_key: parent.task_key };
    Brief {
        path,
        agent: agent(name),
        task: text(TextKind::Task, seed),
        task_key: Hash([seed; 32]),
        terms: parent.terms.iter().chain(parent.adds.iter()).copied().collect(),
        adds: Arc::new([]),
        grant: Grant {
            money: msat(parent.grant.money.get() / 4),
            heads: Heads(parent.grant.heads.0 / 3),
            depth: parent.grant.depth - 1,
            deadline: parent.grant.deadline.map(|deadline| deadline.before(WRAP_UP_MARGIN_MAX)),
            margin: Some(WRAP_UP_MARGIN_MAX),
        },
        fee: msat(100),
        payee: None,
        lineage: parent.lineage.with(link),
        powers: Powers { usable: powers(&["write"]), grantable: powers(&["write"]) },
        ..parent.clone()
    }
}

/// The offer that becomes this brief.
pub(crate) fn offer(hire: &Brief, mode: Mode) -> Offer {
    let inherit = if let Context::Fork { .. } = hire.context { Inherit::Fork } else { Inherit::Fresh };
    Offer {
        agent: hire.agent.clone(),
        standing: hire.standing,
        label: None,
        task: hire.task,
        task_key: hire.task_key,
        inherit,
        mode,
        budget: None,
        share_max: hire.money_max,
        heads: None,
        depth: None,
        deadline: None,
        terms: Arc::new([]),
        adds: Arc::new([]),
        fee: hire.fee,
        payee: None,
        severance: hire.severance,
        model_slot: 0,
        tariff: hire.tariff,
        same_model: hire.same_model,
        turns_max: hire.turns_max,
        opening_bytes: hire.opening_bytes,
        opening: None,
        powers: hire.powers.clone(),
        hiring: hire.hiring.clone(),
        checks: Arc::new([]),
    }
}

/// The same hire with this grant, and without hires of its own.
pub(crate) fn granted(hire: &Brief, money: u64) -> Brief {
    let grant = Grant { money: msat(money), heads: Heads(0), ..hire.grant };
    Brief { grant, hiring: None, ..hire.clone() }
}

pub(crate) fn call(reply: u32, index: u32) -> Origin {
    Origin::Call(call_ref(reply, index))
}

pub(crate) fn call_ref(reply: u32, index: u32) -> CallRef {
    CallRef { reply: AskId(reply), index }
}

pub(crate) fn tool(price: u64) -> ToolCall {
    ToolCall {
        tool: ToolName::parse("grep").unwrap(),
        arguments: text(TextKind::Arguments, 30),
        price: msat(price),
        effect: Effect::Pure,
        needs: powers(&["read"]),
        for_hires: false,
    }
}

pub(crate) fn said(seed: u8, calls: u32) -> Answer {
    Answer::Said(Said {
        reply: text(TextKind::Reply, seed),
        words: Some(text(TextKind::Words, seed)),
        output: None,
        input_tokens: Some(400),
        used: None,
        size: OwnSize { bytes: 10, tokens: 0 },
        cut: None,
        implausible: None,
        confirms: false,
        calls,
        undone: None,
    })
}

/// A refusal, with the size of its text.
pub(crate) fn refused(why: Refusal, origin: Origin) -> Fact {
    Fact::Refused { why, origin, bytes: 10, agent: None, ordinal: None }
}

/// The refusal of a hire.
pub(crate) fn refused_hire(why: Refusal, origin: Origin, ordinal: Option<u32>) -> Fact {
    Fact::Refused { why, origin, bytes: 10, agent: Some(agent("scout")), ordinal }
}

pub(crate) fn known(cost: u64) -> Cost {
    Cost::Known(msat(cost))
}

pub(crate) fn owner(command: u64) -> Sender {
    Sender::Owner { command }
}

pub(crate) fn sender(contract: &str, ask: u32) -> Sender {
    Sender::Contract(AskKey { contract: path(contract), ask: AskId(ask) })
}

/// A report with these amounts and this final text.
pub(crate) fn report(outcome: Outcome, words: u8, granted: u64, spent: u64) -> Report {
    let acceptance = if outcome == Outcome::Done { Acceptance::Accepted } else { Acceptance::NotAccepted };
    Report {
        outcome,
        text: Wording::Final(text(TextKind::Words, words)),
        output: None,
        acceptance,
        undone: None,
        unheard: Vec::new(),
        spent: msat(spent),
        change: msat(granted - spent),
        fee: msat(0),
        reserved: msat(0),
        estimated: msat(0),
        heads: Heads(0),
        cut: false,
        tokens: 0,
    }
}

/// A journal, and the batch that is being written.
#[derive(Clone)]
pub(crate) struct Journal {
    pub(crate) stored: Vec<Stored>,
    contract: Path,
    cause: Cause,
    at: Millis,
}

impl Journal {
    pub(crate) fn new() -> Journal {
        Journal { stored: Vec::new(), contract: path("1"), cause: Cause::Tick, at: Millis(0) }
    }

    /// Begins a batch.
    pub(crate) fn step(&mut self, contract: &str, cause: Cause) -> &mut Journal {
        self.contract = path(contract);
        self.cause = cause;
        self.at = self.at.after(Millis(10));
        self
    }

    pub(crate) fn open(&mut self, brief: &Brief) -> &mut Journal {
        self.step(&brief.path.to_string(), Cause::Opening).fact(Fact::Opened(Arc::new(brief.clone())))
    }

    pub(crate) fn answer(&mut self, contract: &str, id: u32, answer: Answer, cost: Cost) -> &mut Journal {
        let id = AskId(id);
        self.step(contract, Cause::Answer(id)).fact(Fact::Answered { id, answer, cost })
    }

    pub(crate) fn hear(&mut self, contract: &str, from: Sender, stimulus: Stimulus) -> &mut Journal {
        self.step(contract, Cause::Stimulus(from.clone())).fact(Fact::Heard { from, stimulus })
    }

    pub(crate) fn fact(&mut self, fact: Fact) -> &mut Journal {
        let seq = u64::try_from(self.stored.len()).unwrap() + 1;
        let (contract, cause) = (self.contract.clone(), self.cause.clone());
        self.stored.push(Stored { v: FORMAT, seq, contract, at: self.at, cause, fact });
        self
    }

    pub(crate) fn ask(&mut self, ask: Ask, money: u64, heads: u32, origin: Origin) -> &mut Journal {
        let asked = self.mine().filter(|fact| matches!(fact, Fact::Asked { .. })).count();
        let id = AskId(u32::try_from(asked).unwrap() + 1);
        self.fact(Fact::Asked { id, ask, hold: Hold { money: msat(money), heads: Heads(heads) }, origin })
    }

    pub(crate) fn request(&mut self, hears: &[u32]) -> &mut Journal {
        self.request_as(hears, Turn::Next)
    }

    pub(crate) fn request_as(&mut self, hears: &[u32], turn: Turn) -> &mut Journal {
        let upto = u32::try_from(self.mine().count()).unwrap();
        let hears = hears.iter().copied().map(AskId).collect();
        let request = Request { upto, hears, tokens: 1000, max_tokens: 1000, turn, cut: false };
        self.ask(Ask::Model(request), REQUEST, 0, Origin::Course)
    }

    pub(crate) fn tool(&mut self, price: u64, origin: Origin) -> &mut Journal {
        self.ask(Ask::Tool(tool(price)), price, 0, origin)
    }

    pub(crate) fn hire(&mut self, brief: &Brief, mode: Mode, origin: Origin) -> &mut Journal {
        let Grant { money, heads, .. } = brief.grant;
        self.ask(Ask::Hire { brief: Arc::new(brief.clone()), mode }, money.get(), heads.0 + 1, origin)
    }

    pub(crate) fn tell(&mut self, to: &str, what: Stimulus) -> &mut Journal {
        self.ask(Ask::Tell { to: path(to), what }, 0, 0, Origin::Course)
    }

    /// A hire waits, as it would be offered.
    pub(crate) fn queue(&mut self, hire: &Brief, mode: Mode, origin: Origin) -> &mut Journal {
        let (ordinal, context) = (hire.path.ordinal(), hire.context.clone());
        self.fact(Fact::Queued { origin, ordinal, offer: Box::new(offer(hire, mode)), context })
    }

    pub(crate) fn draw(&mut self, least: u64) -> &mut Journal {
        self.ask(Ask::Draw { least: msat(least) }, 0, 0, Origin::Course)
    }

    /// Raises the hold of a hire for its draw, and sends the money.
    pub(crate) fn raise(&mut self, hire: (u32, &str), by: u64, draw: u32) -> &mut Journal {
        let (by, draw) = (msat(by), Some(AskId(draw)));
        self.fact(Fact::Raised { hire: AskId(hire.0), by, draw });
        self.tell(hire.1, Stimulus::TopUp { to: path(hire.1), money: by, draw })
    }

    pub(crate) fn answered(&mut self, id: u32, answer: Answer) -> &mut Journal {
        self.fact(Fact::Answered { id: AskId(id), answer, cost: known(0) })
    }

    pub(crate) fn close(&mut self, report: Report) -> &mut Journal {
        self.fact(Fact::Closed(Box::new(report)))
    }

    fn mine(&self) -> impl Iterator<Item = &Fact> {
        self.stored.iter().filter(|stored| stored.contract == self.contract).map(|stored| &stored.fact)
    }

    /// Changes the `nth` fact, counted from 1.
    pub(crate) fn with(mut self, nth: usize, change: impl FnOnce(&mut Stored)) -> Journal {
        change(&mut self.stored[nth - 1]);
        self
    }

    /// Removes the `nth` fact and renumbers the others.
    pub(crate) fn without(mut self, nth: usize) -> Journal {
        self.stored.remove(nth - 1);
        self.renumbered()
    }

    /// Stores the `nth` fact twice.
    pub(crate) fn repeated(mut self, nth: usize) -> Journal {
        self.stored.insert(nth, self.stored[nth - 1].clone());
        self.renumbered()
    }

    /// Keeps only the first `nth` facts; more facts can be added.
    pub(crate) fn until(mut self, nth: usize) -> Journal {
        self.stored.truncate(nth);
        let last = self.stored.last().unwrap();
        (self.contract, self.cause, self.at) = (last.contract.clone(), last.cause.clone(), last.at);
        self
    }

    fn renumbered(mut self) -> Journal {
        for (seq, stored) in (1..).zip(&mut self.stored) {
            stored.seq = seq;
        }
        self
    }

    /// Checks the journal, also between batches, and returns the violations of the first fact that breaks a law, or the
    /// violations at the end.
    pub(crate) fn found(&self) -> Vec<Violation> {
        let (checker, found) = self.followed();
        if found.is_empty() { checker.at_end() } else { found }
    }

    /// Checks the journal until the first fact that breaks a law.
    pub(crate) fn followed(&self) -> (Checker, Vec<Violation>) {
        let mut checker = Checker::new();
        for (nth, stored) in self.stored.iter().enumerate() {
            let mut found = checker.observe(stored);
            let batch = |stored: &Stored| (stored.contract.clone(), stored.cause.clone());
            if self.stored.get(nth + 1).is_none_or(|next| batch(next) != batch(stored)) {
                found.extend(checker.at_rest());
            }
            if !found.is_empty() {
                return (checker, found);
            }
        }
        (checker, Vec::new())
    }

    /// Asserts that the first violation is of this law, and that its text contains `what`.
    #[track_caller]
    pub(crate) fn breaks(&self, law: Law, what: &str) {
        let found = self.found();
        let hit = found.iter().any(|violation| violation.law == law && violation.what.contains(what));
        assert!(hit, "{law}: {what:?} was not found, but {found:#?}");
    }

    #[track_caller]
    pub(crate) fn is_lawful(&self) {
        assert_eq!(self.found(), []);
    }

    /// Asserts that a journal of unfinished work breaks no law.
    #[track_caller]
    pub(crate) fn is_lawful_so_far(&self) {
        assert_eq!(self.followed().1, []);
    }
}

/// Returns the hold of an ask, to change it.
pub(crate) fn hold_of(stored: &mut Stored) -> &mut Hold {
    let Fact::Asked { hold, .. } = &mut stored.fact else { panic!("fact {} is not an ask", stored.seq) };
    hold
}

/// Returns an ask, to change it.
pub(crate) fn ask_of(stored: &mut Stored) -> &mut Ask {
    let Fact::Asked { ask, .. } = &mut stored.fact else { panic!("fact {} is not an ask", stored.seq) };
    ask
}

/// Returns a request, to change it.
pub(crate) fn request_of(stored: &mut Stored) -> &mut Request {
    let Ask::Model(request) = ask_of(stored) else { panic!("the ask is not a request") };
    request
}

/// Returns the brief of an opening or a hire, to change it.
pub(crate) fn brief_of(stored: &mut Stored) -> &mut Brief {
    let (Fact::Opened(brief) | Fact::Asked { ask: Ask::Hire { brief, .. }, .. }) = &mut stored.fact else {
        panic!("fact {} has no brief", stored.seq)
    };
    Arc::make_mut(brief)
}

/// Returns a reply, to change it.
pub(crate) fn said_of(stored: &mut Stored) -> &mut Said {
    let (Answer::Said(said), _) = answer_of(stored) else { panic!("the answer is not a reply") };
    said
}

/// Returns a closing report, to change it.
pub(crate) fn report_of(stored: &mut Stored) -> &mut Report {
    let Fact::Closed(report) = &mut stored.fact else { panic!("fact {} is not a closing", stored.seq) };
    report
}

/// Returns an answer and its cost, to change them.
pub(crate) fn answer_of(stored: &mut Stored) -> (&mut Answer, &mut Cost) {
    let Fact::Answered { answer, cost, .. } = &mut stored.fact else { panic!("fact {} is not an answer", stored.seq) };
    (answer, cost)
}
