//! The checker's state of one contract and of the tree. No brief is copied, no text is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use guildhall_kernel::{
    Addressee, AskId, Brief, CallRef, Check, CloseWhen, Matter, Nudge, Origin, Outcome, Path, Report, Said, Stimulus,
    TextRef,
};

use crate::calls::Calls;
use crate::parts::{Parts, Spending};
use crate::purse::{Account, wide};

/// Every contract of a session.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) contracts: Vec<Contract>,
    // Never iterated over, because its order is random: violations are in the order of the facts.
    index: HashMap<Path, usize>,
}

impl Tree {
    pub(crate) fn find(&self, path: &Path) -> Option<usize> {
        self.index.get(path).copied()
    }

    pub(crate) fn add(&mut self, contract: Contract) -> usize {
        let at = self.contracts.len();
        self.index.insert(contract.brief.path.clone(), at);
        self.contracts.push(contract);
        at
    }

    /// Adds a contract's own spending to its line of the bill and to the sums of all contracts above it.
    pub(crate) fn spend(&mut self, by: usize, spent: Spending) {
        self.contracts[by].own += spent;
        self.contracts[by].all += spent;
        let mut above = self.contracts[by].hirer;
        while let Some(edge) = above {
            self.contracts[edge.hirer].all += spent;
            above = self.contracts[edge.hirer].hirer;
        }
    }
}

/// The state of one contract after its facts so far.
pub(crate) struct Contract {
    pub(crate) brief: Arc<Brief>,
    /// The hirer and the hirer's ask; `None` for a root.
    pub(crate) hirer: Option<Edge>,
    /// The number of its facts.
    pub(crate) facts: u32,
    pub(crate) money: Account,
    pub(crate) heads: Account,
    /// Its own spending: without its hires, with its fee.
    pub(crate) own: Spending,
    /// The spending of the contract and all contracts below it, whether they have reported or not.
    pub(crate) all: Spending,
    /// The part of the severance that is still held.
    pub(crate) severance: i128,
    /// Its asks in order: the first is number 1.
    pub(crate) asks: Vec<Asked>,
    /// The number of open asks.
    pub(crate) open: usize,
    /// The asks that hired, by ordinal.
    pub(crate) hires: Vec<AskId>,
    /// The hires that are open.
    pub(crate) live: BTreeSet<AskId>,
    /// The reports that no request has included yet, in order of arrival.
    pub(crate) owed: Vec<AskId>,
    /// The minimum size of the next request in tokens: the size that was last shown or reported, and the texts that
    /// came since.
    pub(crate) shown: u64,
    /// The newest request.
    pub(crate) request: Option<Requested>,
    /// Its last request, which the severance paid for.
    pub(crate) last: Option<AskId>,
    /// The number of its requests, without the last request.
    pub(crate) requests: u32,
    /// The number of its replies.
    pub(crate) replies: u32,
    /// The newest reply.
    pub(crate) said: Option<Said>,
    /// The newest text for a reader.
    pub(crate) words: Option<TextRef>,
    /// The calls of the newest reply.
    pub(crate) calls: Calls,
    /// The checks that were answered since the newest reply.
    pub(crate) round: Vec<(Check, Verdict)>,
    /// The numbers of the owner's commands that it has heard.
    pub(crate) commands: BTreeSet<u64>,
    /// The strongest ending that it has heard.
    pub(crate) ending: Ending,
    pub(crate) nudged: Vec<Nudge>,
    pub(crate) compacted: u32,
    pub(crate) phase: Phase,
    /// Whether an account that does not add up was reported; it is reported once.
    pub(crate) noted: bool,
}

impl Contract {
    pub(crate) fn new(brief: Arc<Brief>, hirer: Option<Edge>) -> Contract {
        let mut money = Account::new(wide(brief.grant.money));
        money.hold(wide(brief.fee) + wide(brief.severance));
        Contract {
            money,
            heads: Account::new(i128::from(brief.grant.heads.0)),
            severance: wide(brief.severance),
            shown: brief.opening_bytes.saturating_add(brief.context.tokens()),
            brief,
            hirer,
            facts: 0,
            own: Spending::default(),
            all: Spending::default(),
            asks: Vec::new(),
            open: 0,
            hires: Vec::new(),
            live: BTreeSet::new(),
            owed: Vec::new(),
            request: None,
            last: None,
            requests: 0,
            replies: 0,
            said: None,
            words: None,
            calls: Calls::default(),
            round: Vec::new(),
            commands: BTreeSet::new(),
            ending: Ending::Nothing,
            nudged: Vec::new(),
            compacted: 0,
            phase: Phase::Working,
            noted: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.brief.path
    }

    pub(crate) fn ask(&self, id: AskId) -> Option<&Asked> {
        self.asks.get(place(id)?)
    }

    pub(crate) fn ask_mut(&mut self, id: AskId) -> Option<&mut Asked> {
        self.asks.get_mut(place(id)?)
    }

    /// Returns the charges for its answered asks, hires included.
    pub(crate) fn paid(&self) -> Parts {
        let mut all = Parts::default();
        for asked in &self.asks {
            match asked.state {
                State::Open { .. } => {}
                State::Settled { paid, .. } => all += paid,
            }
        }
        all
    }

    pub(crate) fn is_open(&self, id: AskId) -> bool {
        self.ask(id).is_some_and(Asked::is_open)
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Returns whether the contract is a conversation that waits for its owner.
    pub(crate) fn is_idle(&self) -> bool {
        self.brief.close_when == CloseWhen::Asked && matches!(self.phase, Phase::Working) && self.open == 0
    }

    /// Returns whether the next request waits for the report of this hire.
    pub(crate) fn blocks(&self, hire: AskId) -> bool {
        matches!(self.ask(hire), Some(Asked { kind: Kind::Hire(Hired { blocks: true, .. }), .. }))
    }

    /// Returns whether this hire has asked this contract a question and has had no message since.
    pub(crate) fn is_asked_by(&self, hire: AskId) -> bool {
        matches!(self.ask(hire), Some(Asked { kind: Kind::Hire(Hired { has_asked: true, .. }), .. }))
    }

    /// Lets a hire continue in the background. Returns the call that waited for it.
    pub(crate) fn unblock(&mut self, hire: AskId) -> Option<CallRef> {
        let asked = self.ask_mut(hire)?;
        if let Kind::Hire(hired) = &mut asked.kind {
            hired.blocks = false;
        }
        match asked.origin {
            Origin::Call(call) => Some(call),
            Origin::Course | Origin::Cascade | Origin::Promise | Origin::Outside => None,
        }
    }

    /// Returns the open ask of the live hire with this path.
    pub(crate) fn live_hire(&self, path: &Path) -> Option<AskId> {
        if path.level() != self.path().level() + 1 {
            return None;
        }
        let id = *self.hires.get(place(AskId(path.ordinal()))?)?;
        let Kind::Hire(hired) = &self.ask(id)?.kind else { return None };
        (hired.brief.path == *path && self.live.contains(&id)).then_some(id)
    }
}

fn place(id: AskId) -> Option<usize> {
    usize::try_from(id.0).ok()?.checked_sub(1)
}

/// The link from a hire to its hirer: the hirer, and the hirer's ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) hirer: usize,
    pub(crate) ask: AskId,
}

/// The newest request. A fork must refer to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested {
    pub(crate) ask: AskId,
    pub(crate) upto: u32,
    pub(crate) tokens: u64,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    NotPassed,
}

/// How a contract was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Nothing,
    WrapUp,
    Cancel,
}

/// The phase of a contract.
pub(crate) enum Phase {
    Working,
    Closing(Outcome),
    Closed(Box<Report>),
}

/// One ask.
pub(crate) struct Asked {
    pub(crate) kind: Kind,
    pub(crate) origin: Origin,
    pub(crate) state: State,
}

impl Asked {
    pub(crate) fn is_open(&self) -> bool {
        match self.state {
            State::Open { .. } => true,
            State::Settled { .. } => false,
        }
    }
}

/// Whether an ask is settled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    Open { money: i128, heads: i128 },
    Settled { paid: Parts, heads: i128 },
}

/// The kind of an ask, with the data that later facts refer to.
pub(crate) enum Kind {
    Model { hears: Vec<AskId> },
    Tool,
    Hire(Hired),
    Check(Check),
    Question { to: Addressee, matter: Matter, heard: Heard },
    Tell { to: Path, what: Stimulus, heard: Heard },
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Model { .. } => "a request",
            Kind::Tool => "a tool call",
            Kind::Hire(_) => "a hire",
            Kind::Check(_) => "a check",
            Kind::Question { .. } => "a question",
            Kind::Tell { .. } => "a stimulus",
        }
    }
}

/// The hirer's data about a hire.
pub(crate) struct Hired {
    pub(crate) brief: Arc<Brief>,
    /// The hire's contract, once it has opened.
    pub(crate) child: Option<usize>,
    /// The sum of the top-ups that were sent and not yet heard.
    pub(crate) on_the_way: i128,
    /// The ending that was sent to the hire.
    pub(crate) ending_sent: Ending,
    /// Whether the hirer's next request waits for the report.
    pub(crate) blocks: bool,
    /// Whether the hire has asked its hirer a question and has had no message since.
    pub(crate) has_asked: bool,
}

/// Whether the receiver has heard the stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    NotYet,
    Once,
}
