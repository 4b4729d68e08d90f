//! What the checker remembers of one contract and of the tree: no brief is copied, no text is held.

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
    // Only looked up, never gone through: the order of findings is that of the facts.
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

    /// Adds what a contract spent itself to its own line and to the sums of everybody above it.
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

/// One contract, as its facts so far make it.
pub(crate) struct Contract {
    pub(crate) brief: Arc<Brief>,
    /// Who hired it, and by which ask; nobody for a root.
    pub(crate) hirer: Option<Edge>,
    /// How many facts it has.
    pub(crate) facts: u32,
    pub(crate) money: Account,
    pub(crate) heads: Account,
    /// What it spent itself: without its hires, with its fee.
    pub(crate) own: Spending,
    /// What it and everybody below it spent themselves, whether they have reported or not.
    pub(crate) all: Spending,
    /// What of the severance is still held.
    pub(crate) severance: i128,
    /// Its asks in order: the first is number 1.
    pub(crate) asks: Vec<Asked>,
    /// How many asks are open.
    pub(crate) open: usize,
    /// The asks that hired, by ordinal.
    pub(crate) hires: Vec<AskId>,
    /// Those of them that are open.
    pub(crate) live: BTreeSet<AskId>,
    /// Reports that arrived and that no request has included, in order of arrival.
    pub(crate) owed: Vec<AskId>,
    /// The fewest tokens that the next request can have: what was last shown or reported, and the texts that came since.
    pub(crate) shown: u64,
    /// The newest request.
    pub(crate) request: Option<Requested>,
    /// Its last request, which the severance paid for.
    pub(crate) last: Option<AskId>,
    /// How many requests it made, the last one apart.
    pub(crate) requests: u32,
    /// How many replies it got.
    pub(crate) replies: u32,
    /// The newest reply.
    pub(crate) said: Option<Said>,
    /// The newest words for a reader.
    pub(crate) words: Option<TextRef>,
    /// The calls of the newest reply.
    pub(crate) calls: Calls,
    /// The checks answered since the newest reply.
    pub(crate) round: Vec<(Check, Verdict)>,
    /// The owner's commands that it has heard.
    pub(crate) commands: BTreeSet<u64>,
    /// The strongest wish to end that it has heard.
    pub(crate) wish: Wish,
    pub(crate) nudged: Vec<Nudge>,
    pub(crate) compacted: u32,
    pub(crate) phase: Phase,
    /// Whether an unsound account was noted: once is enough.
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
            wish: Wish::GoOn,
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

    /// Returns what was charged for its answered asks, hires' reports included.
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

    /// Returns whether it is a conversation in which it is the person's turn.
    pub(crate) fn idles(&self) -> bool {
        self.brief.close_when == CloseWhen::Asked && matches!(self.phase, Phase::Working) && self.open == 0
    }

    /// Returns whether the next turn waits for the report of a hire.
    pub(crate) fn blocks(&self, hire: AskId) -> bool {
        matches!(self.ask(hire), Some(Asked { kind: Kind::Hire(Hired { blocks: true, .. }), .. }))
    }

    /// Returns whether a hire has asked this contract something, and was sent no message since.
    pub(crate) fn is_asked_by(&self, hire: AskId) -> bool {
        matches!(self.ask(hire), Some(Asked { kind: Kind::Hire(Hired { has_asked: true, .. }), .. }))
    }

    /// Lets a hire go on in the background. Returns the call that it would have answered.
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

/// Where a hire hangs: its hirer, and the hirer's ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) hirer: usize,
    pub(crate) ask: AskId,
}

/// The newest request, as a fork must name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested {
    pub(crate) ask: AskId,
    pub(crate) upto: u32,
    pub(crate) tokens: u64,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    NotPassed,
}

/// What a contract was told about ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    GoOn,
    WrapUp,
    Cancel,
}

/// How far a contract is.
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

/// What was asked, as far as later facts refer to it.
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
            Kind::Tell { .. } => "a tell",
        }
    }
}

/// The hirer's side of an edge.
pub(crate) struct Hired {
    pub(crate) brief: Arc<Brief>,
    /// The hire's contract, once it has opened.
    pub(crate) child: Option<usize>,
    /// The top-ups that were told and not yet heard.
    pub(crate) on_the_way: i128,
    /// What it was told about ending.
    pub(crate) told: Wish,
    /// Whether its hirer's next turn waits for its report.
    pub(crate) blocks: bool,
    /// Whether it has asked its hirer something, and was sent no message since.
    pub(crate) has_asked: bool,
}

/// Whether the one who was told has heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    NotYet,
    Once,
}
