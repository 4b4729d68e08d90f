//! The checker's state of one contract and of the tree. No brief is copied, no text is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use guildhall_kernel::{
    Addressee, AskId, Brief, CallRef, Check, CloseWhen, Matter, Msat, Nudge, Origin, Outcome, Path, Report, Said,
    Stimulus, TextRef, Undone,
};

use crate::calls::Calls;
use crate::draft::Draft;
use crate::parts::{Parts, Spending};
use crate::purse::{Account, wide};
use crate::repeats::Repeats;
use crate::row::{Row, Slot, note};
use crate::shares::Experience;

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
    /// The number of open requests, tool calls, checks and questions.
    pub(crate) own_work: usize,
    /// The number of those that hold money.
    pub(crate) own_work_paid: usize,
    /// The hires by ordinal.
    pub(crate) row: Row,
    /// The hires that are open.
    pub(crate) live: BTreeSet<AskId>,
    /// What the contract has learned from the reports of its hires.
    pub(crate) experience: Experience,
    /// Its own open draw.
    pub(crate) draw: Option<OwnDraw>,
    /// The sum of the money that its hirer sent as answers to draws.
    pub(crate) drawn: i128,
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
    /// The number of its replies; a reply and its continuations count once.
    pub(crate) replies: u32,
    /// The newest reply.
    pub(crate) said: Option<Said>,
    /// The newest text for a reader.
    pub(crate) draft: Draft,
    /// The calls of the newest reply.
    pub(crate) calls: Calls,
    /// The checks that were answered since the newest reply.
    pub(crate) round: Vec<(Check, Verdict)>,
    /// The most tokens that its last request may use, if tokens are limited.
    pub(crate) last_tokens_max: Option<u64>,
    /// The numbers of the owner's commands that it has heard.
    pub(crate) commands: BTreeSet<u64>,
    /// The strongest ending that it has heard.
    pub(crate) ending: Ending,
    pub(crate) repeats: Repeats,
    pub(crate) nudged: Vec<Nudge>,
    /// The text about which the agent was asked whether it is its report, until the agent says or calls something else.
    pub(crate) to_confirm: Option<TextRef>,
    /// What a report with the newest text says is undone.
    pub(crate) undone: Option<Undone>,
    /// The structured output of the newest text.
    pub(crate) output: Option<TextRef>,
    /// Whether the agent was given a nudge since its newest reply.
    pub(crate) is_nudged: bool,
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
            own_work: 0,
            own_work_paid: 0,
            row: Row::default(),
            live: BTreeSet::new(),
            experience: Experience::default(),
            draw: None,
            drawn: 0,
            owed: Vec::new(),
            request: None,
            last: None,
            requests: 0,
            replies: 0,
            said: None,
            draft: Draft::default(),
            calls: Calls::default(),
            round: Vec::new(),
            last_tokens_max: None,
            commands: BTreeSet::new(),
            ending: Ending::Nothing,
            repeats: Repeats::default(),
            nudged: Vec::new(),
            to_confirm: None,
            undone: None,
            output: None,
            is_nudged: false,
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

    /// Adds an ask that was just made.
    pub(crate) fn add_ask(&mut self, asked: Asked) {
        let (work, paid) = asked.work();
        self.own_work += work;
        self.own_work_paid += paid;
        self.open += 1;
        self.asks.push(asked);
    }

    /// Settles an ask that was open.
    pub(crate) fn settle_ask(&mut self, id: AskId, state: State) {
        let Some(asked) = self.ask_mut(id) else { return };
        let (work, paid) = asked.work();
        asked.state = state;
        self.own_work -= work;
        self.own_work_paid -= paid;
        self.open -= 1;
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
        let working = matches!(self.phase, Phase::Working);
        self.brief.close_when == CloseWhen::Asked && working && self.open == 0 && self.row.waiting.is_empty()
    }

    /// Returns the data about the hire that this ask made.
    pub(crate) fn hired(&self, id: AskId) -> Option<&Hired> {
        self.ask(id).and_then(|asked| asked.kind.hired())
    }

    pub(crate) fn hired_mut(&mut self, id: AskId) -> Option<&mut Hired> {
        match &mut self.ask_mut(id)?.kind {
            Kind::Hire(hired) => Some(hired),
            Kind::Model { .. }
            | Kind::Tool
            | Kind::Check(_)
            | Kind::Question { .. }
            | Kind::Draw { .. }
            | Kind::Tell { .. } => None,
        }
    }

    /// Returns whether the hire with this ordinal has asked this contract a question and has had no message since.
    pub(crate) fn is_asked_by(&self, ordinal: u32) -> bool {
        let hired = self.row.ask(ordinal).and_then(|id| self.hired(id));
        hired.is_some_and(|hired| hired.has_asked)
    }

    /// Returns whether the hire with this ordinal lives or waits for money.
    pub(crate) fn expects(&self, ordinal: u32) -> bool {
        let lives = self.row.ask(ordinal).is_some_and(|id| self.live.contains(&id));
        lives || self.row.waiting.contains(&ordinal)
    }

    /// Updates the sets of the hires that wait, after a hire changed.
    pub(crate) fn refresh(&mut self, ordinal: u32) {
        let id = self.row.ask(ordinal).filter(|id| self.live.contains(id));
        let hired = id.and_then(|id| self.hired(id));
        // A hire that was told to end draws no more, and its change will come.
        let ends = hired.is_some_and(|hired| hired.ending_sent != Ending::Nothing);
        let draws = !ends && hired.is_some_and(|hired| hired.draw.is_some());
        let moves = ends || hired.is_some_and(|hired| hired.draw.is_none() && !hired.has_asked);
        let blocks = self.row.blocking.contains(&ordinal);
        note(&mut self.row.drawers, ordinal, draws);
        note(&mut self.row.moving, ordinal, moves);
        note(&mut self.row.moving_blocking, ordinal, moves && blocks);
    }

    /// Lets a hire continue in the background, or ends its wait. Returns the call that waited for the hire.
    pub(crate) fn unblock(&mut self, ordinal: u32) -> Option<CallRef> {
        self.row.blocking.remove(&ordinal);
        self.refresh(ordinal);
        let origin = match self.row.slot(ordinal)? {
            Slot::Admitted(id) => self.ask(*id)?.origin,
            Slot::Waiting(waiting) => waiting.origin,
            Slot::Refused => return None,
        };
        match origin {
            Origin::Call(call) => Some(call),
            Origin::Course | Origin::Cascade | Origin::Outside => None,
        }
    }

    /// Returns the open ask of the live hire with this path.
    pub(crate) fn live_hire(&self, path: &Path) -> Option<AskId> {
        if path.level() != self.path().level() + 1 {
            return None;
        }
        let id = self.row.ask(path.ordinal())?;
        (self.hired(id)?.brief.path == *path && self.live.contains(&id)).then_some(id)
    }

    /// Returns the ordinal of the hire with this path, if the hire waits for money.
    pub(crate) fn waiting_hire(&self, path: &Path) -> Option<u32> {
        let below = path.hirer().as_ref() == Some(self.path());
        (below && self.row.waiting.contains(&path.ordinal())).then(|| path.ordinal())
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

    /// Returns how much an open ask counts as own work, and as own work that holds money.
    fn work(&self) -> (usize, usize) {
        match self.state {
            State::Open { money, .. } if self.kind.is_own_work() => (1, usize::from(money > 0)),
            State::Open { .. } | State::Settled { .. } => (0, 0),
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
    Draw { least: Msat, heard: Heard },
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
            Kind::Draw { .. } => "a draw",
            Kind::Tell { .. } => "a stimulus",
        }
    }

    /// Returns the data about the hire, if the ask made one.
    pub(crate) fn hired(&self) -> Option<&Hired> {
        if let Kind::Hire(hired) = self { Some(hired) } else { None }
    }

    /// Returns whether the contract's own work continues with the answer, whatever its hires do.
    pub(crate) fn is_own_work(&self) -> bool {
        match self {
            Kind::Model { .. } | Kind::Tool | Kind::Check(_) | Kind::Question { .. } => true,
            Kind::Hire(_) | Kind::Draw { .. } | Kind::Tell { .. } => false,
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
    /// Whether the hire has asked its hirer a question and has had no message since.
    pub(crate) has_asked: bool,
    /// The hire's draw that has no answer yet.
    pub(crate) draw: Option<OpenDraw>,
    /// The newest draw that was heard.
    pub(crate) draw_newest: Option<AskId>,
    /// The sum of the raises that answered draws.
    pub(crate) drawn: i128,
}

impl Hired {
    pub(crate) fn new(brief: Arc<Brief>) -> Hired {
        Hired {
            brief,
            child: None,
            on_the_way: 0,
            ending_sent: Ending::Nothing,
            has_asked: false,
            draw: None,
            draw_newest: None,
            drawn: 0,
        }
    }
}

/// An open draw of the contract itself.
#[derive(Clone, Copy)]
pub(crate) struct OwnDraw {
    pub(crate) ask: AskId,
    /// Whether the contract had no hires when it drew: then it drew for its own turn.
    pub(crate) alone: bool,
}

/// A draw that its receiver has heard and not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenDraw {
    pub(crate) ask: AskId,
    /// The amount that was asked for.
    pub(crate) least: i128,
    /// The part of it that is still missing. Top-ups of a person paid the rest.
    pub(crate) left: i128,
}

/// Whether the receiver has heard the stimulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    NotYet,
    Once,
}
