//! One hire of one agent, from its brief to its report: a state machine that is told what happened and answers with facts.
//!
//! `step` decides (`hear`, `admit`, `course`), and every decision is a fact; only `fold` changes the state, and it checks
//! each fact on the way in. So a restored contract is the same as the one that was lost, and a journal that breaks a law
//! is found where it breaks.

mod admit;
mod course;
mod fold;
mod hear;
mod lawful;
mod share;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::account::Account;
use crate::ask::{Answer, Ask, Certainty, Cost, Origin, Sender, ToolCall};
use crate::brief::{Brief, Stay};
use crate::fact::{Fact, Hold};
use crate::input::{Input, Need, Reply};
use crate::money::{Heads, Msat, Quantity};
use crate::path::{AskId, CallRef, Path};
use crate::refusal::Refusal;
use crate::report::{Nudge, Outcome, Report, Wording};
use crate::tariff::FRAME_TOKENS;
use crate::text::TextRef;
use crate::time::Millis;

/// How many of its model calls in a row a contract may lose before it gives up. Losses cost their holds, so this binds
/// first where calls are cheap.
pub const LOSSES_MAX: u32 = 32;

/// The longest notice of the runtime's own that an agent is shown, in bytes: that a hire has begun, that a wait is over.
pub const NOTICE_BYTES_MAX: u64 = 256;

/// One hire of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    brief: Arc<Brief>,
    phase: Phase,
    facts: u32,
    purse: Account<Msat>,
    heads: Account<Heads>,
    /// The part of the hold that only a last request may use.
    severance: Msat,
    /// The parts of what was spent that are not known to be billed, those of its hires included.
    uncertain: Uncertain,
    asked: u32,
    /// Asked and not answered. Boxed, so that a contract with one open ask does not pay for a whole tree node of them.
    open: BTreeMap<AskId, Box<Open>>,
    /// How many open asks and waits keep it from its next turn.
    pauses: u32,
    hires: u32,
    /// Live hires by ordinal.
    live: BTreeMap<u32, AskId>,
    /// Open questions: they have timers.
    questions: Vec<AskId>,
    waits: Vec<Wait>,
    /// Calls of the newest reply that no fact has placed yet.
    placing: Option<Placing>,
    /// A tool call whose approval was answered, and that no fact has placed yet.
    leave: Option<Box<Leave>>,
    /// Money heard for a hire and not yet passed on or kept.
    passing: Option<Box<Passing>>,
    turns: u32,
    losses: u32,
    view: View,
    request: Option<Requested>,
    /// There is something that the model has not been shown.
    unread: bool,
    /// Among it are words of the owner, or a hire's question: for those it waits for nothing else.
    spoken_to: bool,
    owed: Vec<AskId>,
    finale: Option<LastReport>,
    newest: TextRef,
    nudged: BTreeSet<Nudge>,
    round: Round,
    heard: BTreeSet<Sender>,
    /// The ending that somebody has asked for.
    told: Option<Outcome>,
    /// The model can't be had any more.
    broken: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Working,
    /// No more plans: `Exhausted` and `Failed` wrap up, `Cancelled` falls silent, `Done` is a conversation that ends.
    Closing(Outcome),
    Closed(Box<Report>),
}

#[derive(Clone, Debug, PartialEq)]
struct Open {
    ask: Ask,
    hold: Hold,
    origin: Origin,
    /// Whether the next turn waits for it.
    pauses: bool,
    /// What a hire was told about ending.
    told: Option<Ending>,
    /// Whether a hire has asked this contract something and got no words since.
    asks: bool,
}

/// The parts of what was spent whose bill nobody has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Uncertain {
    reserved: Msat,
    estimated: Msat,
}

/// What a hire is told about ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    WrapUp,
    Cancel,
}

/// Money on its way down.
#[derive(Clone, Debug, PartialEq)]
struct Passing {
    to: Path,
    money: Msat,
    /// The hire whose hold was raised by it.
    raised: Option<AskId>,
}

/// How many of a reply's calls a fact places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placed {
    One,
    /// All that are left: those beyond the limit.
    Rest,
}

#[derive(Clone, Debug, PartialEq)]
struct Wait {
    call: CallRef,
    on: Vec<AskId>,
    need: Need,
    until: Option<Millis>,
    ready: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Placing {
    reply: AskId,
    next: u32,
    calls: u32,
}

/// What became of a tool call that wanted leave.
#[derive(Clone, Debug, PartialEq)]
struct Leave {
    call: CallRef,
    /// What may now be asked for, if it was approved.
    approved: Option<ToolCall>,
}

/// The size of the next request: what was last reported or held, and the bytes added since.
#[derive(Clone, Copy, Debug, PartialEq)]
struct View {
    tokens: u64,
    since: u64,
    compacted: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Requested {
    id: AskId,
    upto: u32,
    tokens: u64,
    last: bool,
    /// The size of the reply in bytes, with room for a short result of each of its calls.
    reply: u32,
}

/// A text that may become the report.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LastReport {
    text: TextRef,
    output: Option<TextRef>,
    undone: Option<Nudge>,
}

/// One round of checks over one final text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Round {
    placed: usize,
    open: usize,
    failed: bool,
    unpaid: bool,
}

/// Who is to speak next in a conversation: a root that stays open, and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSpeaker {
    /// The agent: it has something to read, or waits for what it asked.
    Agent,
    /// The owner: the agent has said what it had to say.
    Owner {
        /// How many hires are at work in the background meanwhile.
        hires: usize,
    },
    /// Nobody: it is ending, has ended, or ends with its final text.
    Nobody,
}

/// Says which fact of a journal can't have happened, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {index} ({fact}) can't have happened: {why}")]
pub struct Corrupt {
    /// The fact's place among the contract's facts, counted from 0; one past the end if the journal breaks off.
    pub index: usize,
    /// What kind of fact it is.
    pub fact: &'static str,
    /// The law that it breaks.
    pub why: &'static str,
}

impl Contract {
    /// Opens a contract, or refuses the brief if no contract could carry it out within the rules.
    pub fn open(brief: Arc<Brief>, now: Millis) -> Result<(Contract, Vec<Fact>), Refusal> {
        brief.check()?;
        let opened = Fact::Opened(brief);
        let mut contract = Contract::opened(&opened).expect("a checked brief opens");
        let mut facts = vec![opened];
        contract.advance(now, &mut facts);
        Ok((contract, facts))
    }

    /// Takes an input and returns the facts that follow from it. An input that is late, repeated or does not fit the current
    /// state yields no facts.
    pub fn step(&mut self, input: Input, now: Millis) -> Vec<Fact> {
        let mut facts = Vec::new();
        if matches!(self.phase, Phase::Closed(_)) {
            return facts;
        }
        let ticked = input == Input::Tick;
        match input {
            Input::Answer { id, answer, cost } => self.answer(id, answer, cost, &mut facts),
            Input::Reply { id, reply, cost } => self.reply(id, *reply, cost, now, &mut facts),
            Input::Told { from, what } => self.hear(from, what, now, &mut facts),
            Input::Tick => {}
        }
        // What changed nothing is no occasion for anything else: time has its own.
        if facts.is_empty() && !ticked {
            return facts;
        }
        self.expire(now, &mut facts);
        self.advance(now, &mut facts);
        facts
    }

    /// Rebuilds a contract from its facts, and checks that each fact follows the contract rules.
    pub fn restore(facts: impl IntoIterator<Item = Fact>) -> Result<Contract, Corrupt> {
        let mut facts = facts.into_iter();
        let first = facts.next().ok_or(Corrupt { index: 0, fact: "nothing", why: "a contract has facts" })?;
        let corrupt = |index, fact: &Fact, why| Corrupt { index, fact: fact.kind(), why };
        let mut contract = Contract::opened(&first).map_err(|why| corrupt(0, &first, why))?;
        let mut count = 1;
        for fact in facts {
            contract.fold(&fact).map_err(|why| corrupt(count, &fact, why))?;
            count += 1;
        }
        match contract.unrest() {
            Some(why) => Err(Corrupt { index: count, fact: "the end", why }),
            None => Ok(contract),
        }
    }

    /// Returns what was asked and not answered: what the world owes. Derived, so a crash loses nothing.
    pub fn outstanding(&self) -> impl Iterator<Item = (AskId, &Ask)> {
        self.open.iter().map(|(id, open)| (*id, &open.ask))
    }

    /// Returns what of it was asked after this ask: a contract with thousands of hires need not be gone through for one more.
    pub fn outstanding_after(&self, ask: AskId) -> impl Iterator<Item = (AskId, &Ask)> {
        self.open.range((Bound::Excluded(ask), Bound::Unbounded)).map(|(id, open)| (*id, &open.ask))
    }

    /// Returns an ask that is still open.
    pub fn ask(&self, id: AskId) -> Option<&Ask> {
        self.open.get(&id).map(|open| &open.ask)
    }

    /// Returns what an open ask holds.
    pub fn hold(&self, id: AskId) -> Option<Hold> {
        self.open.get(&id).map(|open| open.hold)
    }

    /// Returns when time alone will change something, if ever.
    pub fn wake_at(&self) -> Option<Millis> {
        let wrap_up = match self.phase {
            Phase::Working => self.brief.grant.wrap_up_at(),
            Phase::Closing(_) | Phase::Closed(_) => None,
        };
        let waits = self.waits.iter().filter_map(|wait| wait.until);
        let questions = self.questions.iter().map(|id| self.question_until(*id));
        wrap_up.into_iter().chain(waits).chain(questions).min()
    }

    /// Returns the report, once there is one.
    pub fn report(&self) -> Option<&Report> {
        match &self.phase {
            Phase::Closed(report) => Some(report),
            Phase::Working | Phase::Closing(_) => None,
        }
    }

    /// Returns whether it makes no more plans: it waits for what is open, and reports.
    pub fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_))
    }

    /// Returns whether it was cancelled and has yet to fall silent: its open leaf calls are to be aborted.
    pub fn is_cancelled(&self) -> bool {
        self.phase == Phase::Closing(Outcome::Cancelled)
    }

    /// Returns who is to speak next.
    pub fn floor(&self) -> NextSpeaker {
        match (&self.phase, self.brief.stay) {
            (Phase::Working, Stay::Open) if self.pauses > 0 || self.unread => NextSpeaker::Agent,
            (Phase::Working, Stay::Open) => NextSpeaker::Owner { hires: self.live.len() },
            (Phase::Working, Stay::Once) | (Phase::Closing(_) | Phase::Closed(_), _) => NextSpeaker::Nobody,
        }
    }

    /// Returns what it was hired for.
    pub fn brief(&self) -> &Arc<Brief> {
        &self.brief
    }

    /// Returns its money.
    pub fn purse(&self) -> &Account<Msat> {
        &self.purse
    }

    /// Returns the part of what was spent that may not have been billed, that of its closed hires included.
    pub fn reserved(&self) -> Msat {
        self.uncertain.reserved
    }

    /// Returns the part of what was spent that is an upper bound, that of its closed hires included.
    pub fn estimated(&self) -> Msat {
        self.uncertain.estimated
    }

    /// Returns the charge for a leaf ask, found in these facts of its contract, if that charge is reserved.
    pub fn reserved_charge<'a>(facts: impl IntoIterator<Item = &'a Fact>, ask: AskId) -> Option<Msat> {
        let mut held = None;
        for fact in facts {
            match fact {
                Fact::Asked { id, ask: Ask::Model(_) | Ask::Tool(_) | Ask::Check(_), hold, .. } if *id == ask => {
                    held = Some(hold.money);
                }
                Fact::Answered { id, answer, cost } if *id == ask => {
                    let reserved = cost.certainty(answer) == Certainty::Reserved;
                    return held.filter(|_| reserved).map(|hold| cost.within(hold));
                }
                Fact::Opened(_)
                | Fact::Asked { .. }
                | Fact::Answered { .. }
                | Fact::Refused { .. }
                | Fact::Raised { .. }
                | Fact::Heard { .. }
                | Fact::Waiting { .. }
                | Fact::Woke { .. }
                | Fact::Nudged(_)
                | Fact::Compacted { .. }
                | Fact::Closing(_)
                | Fact::Closed(_) => {}
            }
        }
        None
    }

    /// Returns its heads.
    pub fn heads(&self) -> &Account<Heads> {
        &self.heads
    }

    /// Returns how many replies it may still get, the last one apart; one that is asked for counts until it comes.
    pub fn turns_left(&self) -> u32 {
        self.brief.turns_max.saturating_sub(self.turns)
    }

    /// Returns how many facts it has.
    pub fn facts(&self) -> u32 {
        self.facts
    }

    fn answer(&mut self, id: AskId, answer: Answer, cost: Cost, facts: &mut Vec<Fact>) {
        let Some(open) = self.open.get(&id) else { return };
        // A reply's calls must be placed with it, so it comes as an input of its own.
        if matches!(answer, Answer::Said(_)) || !fold::fits(&open.ask, &answer, &self.phase) {
            return;
        }
        // What a hire costs is what it says it spent.
        let cost = answer.report().map_or(cost, |report| Cost::Known(report.spent));
        let approval = fold::approval(&open.ask).map(|call| (open.origin, call.clone()));
        let approved = answer == Answer::Approved;
        self.emit(Fact::Answered { id, answer, cost }, facts);
        match approval {
            // A contract that is ending has no open questions, so what was approved can still be asked for.
            Some((origin, call)) if approved => self.admit_tool(call, origin, facts),
            Some((origin, _)) => self.refuse(Refusal::NotApproved, origin, facts),
            None => self.wake_ready(facts),
        }
        self.give_up_if_broken(facts);
    }

    fn reply(&mut self, id: AskId, reply: Reply, cost: Cost, now: Millis, facts: &mut Vec<Fact>) {
        let Some(Ask::Model(_)) = self.ask(id) else { return };
        self.emit(Fact::Answered { id, answer: Answer::Said(reply.said()), cost }, facts);
        if self.phase == Phase::Working && !self.is_late(now) {
            self.take(id, reply, now, facts);
        } else {
            self.turn_down(id, reply.calls, facts);
        }
    }

    /// Records a decision: the fact changes the state and is returned to be stored.
    fn emit(&mut self, fact: Fact, facts: &mut Vec<Fact>) {
        if let Err(why) = self.fold(&fact) {
            panic!("the kernel emits lawful facts only: {why}: {fact:?}");
        }
        facts.push(fact);
    }

    fn refuse(&mut self, why: Refusal, origin: Origin, facts: &mut Vec<Fact>) {
        let bytes = Some(why.bytes());
        self.emit(Fact::Refused { why, origin, bytes }, facts);
    }

    /// Asks something of the world.
    fn emit_ask(&mut self, ask: Ask, hold: Hold, origin: Origin, facts: &mut Vec<Fact>) {
        self.emit(Fact::Asked { id: AskId(self.asked + 1), ask, hold, origin }, facts);
    }

    fn question_until(&self, id: AskId) -> Millis {
        match &self.open[&id].ask {
            Ask::Question { until, .. } => *until,
            Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Tell { .. } => {
                unreachable!("the list of questions names questions")
            }
        }
    }
}

impl Contract {
    /// The text that would be the report, had the contract to close now.
    fn wording(&self) -> Wording {
        self.finale.map_or(Wording::Assembled(self.newest), |finale| Wording::Final(finale.text))
    }
}

impl Uncertain {
    /// Adds the charge of an answered ask: a hire's by what its report says, a leaf's by what is known about it.
    fn add(self, answer: &Answer, cost: Cost, charge: Msat) -> Option<Uncertain> {
        let Uncertain { reserved, estimated } = self;
        if let Some(report) = answer.report() {
            return Some(Uncertain {
                reserved: reserved.plus(report.reserved.unwrap_or(Msat::ZERO))?,
                estimated: estimated.plus(report.estimated.unwrap_or(Msat::ZERO))?,
            });
        }
        match cost.certainty(answer) {
            Certainty::Used => Some(self),
            Certainty::Estimated => Some(Uncertain { estimated: estimated.plus(charge)?, ..self }),
            Certainty::Reserved => Some(Uncertain { reserved: reserved.plus(charge)?, ..self }),
        }
    }
}

impl View {
    fn total(&self) -> u64 {
        self.tokens.saturating_add(self.since)
    }

    fn add(&mut self, bytes: u64) {
        self.since = self.since.saturating_add(bytes).saturating_add(FRAME_TOKENS);
    }
}

impl Round {
    fn passed(&self, checks: usize) -> bool {
        self.placed == checks && self.open == 0 && !self.failed && !self.unpaid
    }

    /// A text that failed may pass after a correction; a check that can't be paid for never passes.
    fn can_be_corrected(&self) -> bool {
        self.failed && !self.unpaid
    }
}
