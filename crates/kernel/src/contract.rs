//! One hire of one agent, from its brief to its report: a state machine that receives inputs and returns facts.
//!
//! `step` decides (`hear`, `admit`, `row`, `course`), and every decision is a fact. Only `fold` changes the state, and it
//! checks each fact first. So a contract that is restored after a crash equals the lost one, and a journal that breaks
//! a law is reported with the fact that breaks it.

mod admit;
mod course;
mod fold;
mod hear;
mod lawful;
mod row;
mod share;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::account::Account;
use crate::ask::{Answer, Ask, Certainty, Cost, Origin, Sender};
use crate::brief::{Brief, CloseWhen};
use crate::fact::{Fact, Hold};
use crate::input::{Input, Reply};
use crate::money::{Heads, Msat};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::repeats::Repeats;
use crate::report::{Nudge, Outcome, Report, Wording};
use crate::text::TextRef;
use crate::time::Millis;

use row::{Moving, QueueHeads, Queued};
use share::Learned;
use state::{
    AnsweredApproval, FinalText, Open, OwnDraw, Part, Passing, Phase, Placing, Requested, Round, Uncertain, View, Wait,
};

/// The maximum number of lost model calls in a row; then the contract gives up. A lost call costs its hold, so
/// expensive calls usually use up the money first.
pub const LOSSES_MAX: u32 = 32;

/// How often one reply that was cut is continued.
pub const CONTINUATIONS_MAX: u32 = 4;

/// The maximum size of a notice from the runtime to an agent, in bytes: for example that a hire has begun or a wait is
/// over.
pub const NOTICE_BYTES_MAX: u64 = 256;

/// One hire of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    brief: Arc<Brief>,
    phase: Phase,
    facts: u32,
    purse: Account<Msat>,
    heads: Account<Heads>,
    /// The held money that only the last request may use.
    severance: Msat,
    /// The parts of the spent money that may not have been billed, including those of its hires.
    uncertain: Uncertain,
    asked: u32,
    /// The asks without an answer. Boxed, because a tree node has room for many entries and most contracts have one
    /// open ask.
    open: BTreeMap<AskId, Box<Open>>,
    /// The number of open asks and waits that delay the next request.
    pauses: u32,
    /// The ordinal of the newest hire that was admitted or had to wait.
    hires: u32,
    /// Live hires by ordinal.
    live: BTreeMap<u32, AskId>,
    /// The hires that wait for money before they begin, by ordinal. Boxed, because most contracts have none.
    queue: BTreeMap<u32, Box<Queued>>,
    queue_heads: QueueHeads,
    /// The live hires that draw, by ordinal.
    drawers: BTreeSet<u32>,
    moving: Moving,
    own_draw: OwnDraw,
    /// The maximum of the grant and all draws together. A person's top-up raises it.
    money_max: Option<Msat>,
    /// The money that was available at the newest reply or stimulus that may have hired.
    free_before: Msat,
    /// The money that was available at the newest reply or stimulus that has hired.
    free_at_hire: Msat,
    learned: Learned,
    /// The open questions. Each has a time limit.
    questions: Vec<AskId>,
    /// The tool calls that the agent repeats.
    repeats: Repeats,
    waits: Vec<Wait>,
    /// The calls of the newest reply that are neither asked, refused nor waiting yet.
    placing: Option<Placing>,
    /// A tool call whose approval question was answered, and that is neither asked nor refused yet.
    answered_approval: Option<Box<AnsweredApproval>>,
    /// A top-up for a contract below this one that is neither passed on nor kept yet.
    passing: Option<Box<Passing>>,
    turns: u32,
    losses: u32,
    /// The longest reply so far, in output tokens; its bytes if no tokens were reported.
    longest_reply: u32,
    /// A reply that was cut and has not been continued to its end.
    part: Option<Box<Part>>,
    /// The nudge that the next request gives. Such a request does not draw.
    nudge: Option<Nudge>,
    view: View,
    request: Option<Requested>,
    /// There is a text that the model has not been shown.
    unread: bool,
    /// The unread texts include a message from the owner or a hire's question. The contract does not wait for anything
    /// else before it shows them to the model.
    urgent: bool,
    owed: Vec<AskId>,
    final_text: Option<Box<FinalText>>,
    newest_text: TextRef,
    nudged: BTreeSet<Nudge>,
    /// The final text about which the agent was asked, until the agent says or calls something else.
    to_confirm: Option<Box<FinalText>>,
    round: Round,
    heard: BTreeSet<Sender>,
    /// The ending that the owner or the hirer has asked for.
    asked_to_end: Option<Outcome>,
    /// The most tokens, input and output together, that the last request may use, if tokens are limited.
    last_tokens_max: Option<u64>,
    /// The model can't be used any more.
    model_failed: bool,
}

/// Whose turn it is in a conversation between a root that stays open and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSpeaker {
    /// The agent: it has unread texts, or waits for answers.
    Agent,
    /// The agent, as soon as it can pay for a request: its hires hold the rest of its money.
    AgentWithoutMoney {
        /// The number of hires at work.
        hires: usize,
    },
    /// The owner: the agent has written its final text.
    Owner {
        /// The number of hires that work in the background meanwhile or wait for money.
        hires: usize,
    },
    /// Neither: the contract is ending, has closed, or closes with its final text.
    Nobody,
}

/// A fact of a contract's journal that can't have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fact {index} ({fact}) can't have happened: {why}")]
pub struct Corrupt {
    /// The fact's place among the contract's facts, counted from 0. The number of facts, if the journal ends in the
    /// middle of a step.
    pub index: usize,
    /// The kind of the fact.
    pub fact: &'static str,
    /// The law that the fact breaks.
    pub why: &'static str,
}

impl Contract {
    /// Opens a contract, or refuses a brief that no contract could work on within the laws.
    pub fn open(brief: Arc<Brief>, now: Millis) -> Result<(Contract, Vec<Fact>), Refusal> {
        brief.check()?;
        let opened = Fact::Opened(brief);
        let mut contract = Contract::opened(&opened).expect("a checked brief opens");
        let mut facts = vec![opened];
        contract.advance(now, &mut facts);
        Ok((contract, facts))
    }

    /// Processes an input and returns the facts that follow from it. An input that is late, repeated or does not fit
    /// the current state yields no facts.
    pub fn step(&mut self, input: Input, now: Millis) -> Vec<Fact> {
        let mut facts = Vec::new();
        if matches!(self.phase, Phase::Closed(_)) {
            return facts;
        }
        let ticked = input == Input::Tick;
        match input {
            Input::Answer { id, answer, cost } => self.answer(id, answer, cost, &mut facts),
            Input::Reply { id, reply, cost } => self.reply(id, *reply, cost, now, &mut facts),
            Input::Stimulus { from, what } => self.hear(from, what, now, &mut facts),
            Input::Tick => {}
        }
        // A repeated or late input must not trigger anything: only `Input::Tick` lets time pass.
        if facts.is_empty() && !ticked {
            return facts;
        }
        self.expire(now, &mut facts);
        self.advance(now, &mut facts);
        facts
    }

    /// Restores a contract from its facts, and checks each fact against the laws.
    pub fn restore(facts: impl IntoIterator<Item = Fact>) -> Result<Contract, Corrupt> {
        let mut facts = facts.into_iter();
        let first =
            facts.next().ok_or(Corrupt { index: 0, fact: "nothing", why: "a contract has at least one fact" })?;
        let corrupt = |index, fact: &Fact, why| Corrupt { index, fact: fact.kind(), why };
        let mut contract = Contract::opened(&first).map_err(|why| corrupt(0, &first, why))?;
        let mut count = 1;
        for fact in facts {
            contract.fold(&fact).map_err(|why| corrupt(count, &fact, why))?;
            count += 1;
        }
        match contract.incomplete() {
            Some(why) => Err(Corrupt { index: count, fact: "the end", why }),
            None => Ok(contract),
        }
    }

    /// Returns the asks without an answer. They are derived from the facts, so a crash loses none.
    pub fn outstanding(&self) -> impl Iterator<Item = (AskId, &Ask)> {
        self.open.iter().map(|(id, open)| (*id, &open.ask))
    }

    /// Returns the asks without an answer that come after this ask. So an engine need not go through thousands of hires
    /// to find a new one.
    pub fn outstanding_after(&self, ask: AskId) -> impl Iterator<Item = (AskId, &Ask)> {
        self.open.range((Bound::Excluded(ask), Bound::Unbounded)).map(|(id, open)| (*id, &open.ask))
    }

    /// Returns an ask that is still open.
    pub fn ask(&self, id: AskId) -> Option<&Ask> {
        self.open.get(&id).map(|open| &open.ask)
    }

    /// Returns the hold of an open ask.
    pub fn hold(&self, id: AskId) -> Option<Hold> {
        self.open.get(&id).map(|open| open.hold)
    }

    /// Returns the next time at which an `Input::Tick` will have an effect, if there is one.
    pub fn wake_at(&self) -> Option<Millis> {
        let wrap_up = match self.phase {
            Phase::Working => self.brief.grant.wrap_up_at(),
            Phase::Closing(_) | Phase::Closed(_) => None,
        };
        let waits = self.waits.iter().filter_map(|wait| wait.until);
        let questions = self.questions.iter().map(|id| self.question_until(*id));
        wrap_up.into_iter().chain(waits).chain(questions).min()
    }

    /// Returns the report of a closed contract.
    pub fn report(&self) -> Option<&Report> {
        match &self.phase {
            Phase::Closed(report) => Some(report),
            Phase::Working | Phase::Closing(_) => None,
        }
    }

    /// Returns whether the contract is ending: it waits for its open asks and then closes.
    pub fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_))
    }

    /// Returns whether the contract was cancelled and has not closed yet: engines must abort its open leaf calls.
    pub fn is_cancelled(&self) -> bool {
        self.phase == Phase::Closing(Outcome::Cancelled)
    }

    fn only_hires_are_open(&self) -> bool {
        !self.live.is_empty() && self.open.len() == self.live.len()
    }

    /// Returns whose turn it is in the conversation.
    pub fn next_speaker(&self) -> NextSpeaker {
        match (&self.phase, self.brief.close_when) {
            (Phase::Working, CloseWhen::Asked) if self.pauses == 0 && self.unread && self.only_hires_are_open() => {
                NextSpeaker::AgentWithoutMoney { hires: self.live.len() }
            }
            (Phase::Working, CloseWhen::Asked) if self.pauses > 0 || self.unread => NextSpeaker::Agent,
            (Phase::Working, CloseWhen::Asked) => NextSpeaker::Owner { hires: self.live.len() + self.queue.len() },
            (Phase::Working, CloseWhen::FinalText) | (Phase::Closing(_) | Phase::Closed(_), _) => NextSpeaker::Nobody,
        }
    }

    /// Returns the brief.
    pub fn brief(&self) -> &Arc<Brief> {
        &self.brief
    }

    /// Returns the account of its money.
    pub fn purse(&self) -> &Account<Msat> {
        &self.purse
    }

    /// Returns the part of the spent money that may not have been billed, including that of its closed hires.
    pub fn reserved(&self) -> Msat {
        self.uncertain.reserved
    }

    /// Returns the part of the spent money that is an upper bound, including that of its closed hires.
    pub fn estimated(&self) -> Msat {
        self.uncertain.estimated
    }

    /// Finds a leaf ask in the facts of its contract and returns the ask's charge, if the charge is reserved.
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
                | Fact::Queued { .. }
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

    /// Returns the text about which the agent was asked whether it is its report, until the agent says or calls something else.
    pub fn text_to_confirm(&self) -> Option<TextRef> {
        self.to_confirm.as_ref().map(|text| text.text)
    }

    /// Returns the text so far of a reply that was cut, if the next ordinary reply continues it.
    pub fn unfinished_text(&self) -> Option<TextRef> {
        self.part.as_ref().map(|part| part.text.text)
    }

    /// Returns the account of its heads.
    pub fn heads(&self) -> &Account<Heads> {
        &self.heads
    }

    /// Returns how many replies the contract may still get, without the last request's. A reply that was asked for is
    /// counted until it arrives.
    pub fn turns_left(&self) -> u32 {
        self.brief.turns_max.saturating_sub(self.turns)
    }

    /// Returns the number of its facts.
    pub fn facts(&self) -> u32 {
        self.facts
    }

    fn answer(&mut self, id: AskId, answer: Answer, cost: Cost, facts: &mut Vec<Fact>) {
        let Some(open) = self.open.get(&id) else { return };
        // A reply comes as `Input::Reply`, because its calls are decided on in the same step.
        if matches!(answer, Answer::Said(_)) || !fold::fits(&open.ask, &answer, &self.phase) {
            return;
        }
        // The cost of a hire is the spending in its report.
        let cost = answer.report().map_or(cost, |report| Cost::Known(report.spent));
        let approval = fold::approval(&open.ask).map(|call| (open.origin, call.clone()));
        let approved = answer == Answer::Approved;
        self.emit(Fact::Answered { id, answer, cost }, facts);
        match approval {
            // A contract that is ending has no open questions, so this contract can still ask for the approved call.
            Some((origin, call)) if approved => self.admit_tool(call, origin, facts),
            Some((origin, _)) => self.refuse(Refusal::NotApproved, origin, facts),
            None => self.wake_ready(facts),
        }
        self.give_up_if_model_failed(facts);
    }

    fn reply(&mut self, id: AskId, mut reply: Reply, cost: Cost, now: Millis, facts: &mut Vec<Fact>) {
        let Some(Ask::Model(_)) = self.ask(id) else { return };
        reply.confirms &= self.to_confirm.is_some() && reply.words.is_none() && reply.calls.is_empty();
        self.emit(Fact::Answered { id, answer: Answer::Said(reply.said()), cost }, facts);
        if self.phase == Phase::Working && !self.is_late(now) {
            self.take_reply(id, reply, now, facts);
        } else {
            self.refuse_calls(id, reply.calls, facts);
        }
    }

    /// Records a decision: the fact changes the state and is returned to be stored.
    fn emit(&mut self, fact: Fact, facts: &mut Vec<Fact>) {
        if let Err(why) = self.fold(&fact) {
            panic!("the kernel emitted a fact that breaks a law: {why}: {fact:?}");
        }
        facts.push(fact);
    }

    fn refuse(&mut self, why: Refusal, origin: Origin, facts: &mut Vec<Fact>) {
        let bytes = why.bytes();
        self.emit(Fact::Refused { why, origin, bytes, agent: None, ordinal: None }, facts);
    }

    /// Records an ask.
    fn emit_ask(&mut self, ask: Ask, hold: Hold, origin: Origin, facts: &mut Vec<Fact>) {
        self.emit(Fact::Asked { id: AskId(self.asked + 1), ask, hold, origin }, facts);
    }

    fn question_until(&self, id: AskId) -> Millis {
        match &self.open[&id].ask {
            Ask::Question { until, .. } => *until,
            Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Draw { .. } | Ask::Tell { .. } => {
                unreachable!("the list of questions names questions")
            }
        }
    }

    /// Returns the text that the report would have if the contract closed now.
    fn wording(&self) -> Wording {
        self.final_text
            .as_ref()
            .map_or(Wording::Assembled(self.newest_text), |final_text| Wording::Final(final_text.text))
    }

    /// Returns whether that text is cut.
    fn wording_is_cut(&self) -> bool {
        match (&self.final_text, &self.part) {
            (Some(text), _) => text.cut,
            (None, Some(part)) => part.text.text == self.newest_text,
            (None, None) => false,
        }
    }
}
