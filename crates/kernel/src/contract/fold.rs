//! Facts change the state here and nowhere else. Each fact is checked first, so that the error for a journal that
//! breaks a law names the fact that breaks it. Nothing here decides.

mod answers;
mod stimuli;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::admit::Candidate;
use super::row::{Moving, QueueHeads, Queued};
use super::share::Learned;
use super::state::{DrawnFor, Ending, Open, OpenDraw, OwnDraw, Phase, Placed, Requested, Round, Uncertain, View, Wait};
use super::{Contract, NOTICE_BYTES_MAX};
use crate::account::Account;
use crate::ask::{Addressee, Answer, Ask, Matter, Origin, Request, ToolCall, Turn};
use crate::brief::{Brief, Context, Mode, Offer};
use crate::fact::{Fact, Hold, Pause};
use crate::input::{CALLS_MAX, Need};
use crate::money::{Heads, Msat, Quantity};
use crate::path::{AskId, CallRef};
use crate::refusal::Refusal;
use crate::repeats::{REPEATS_TOLD_MIN, Repeats};
use crate::report::{Acceptance, Nudge, Outcome, Report};
use crate::time::Millis;

pub(super) type Law = Result<(), &'static str>;

pub(super) fn law(holds: bool, law: &'static str) -> Law {
    if holds { Ok(()) } else { Err(law) }
}

/// Returns whether this kind of answer fits this ask.
pub(super) fn fits(ask: &Ask, answer: &Answer, phase: &Phase) -> bool {
    let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
    let question = match ask {
        Ask::Question { matter, .. } => Some(matter),
        Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Draw { .. } | Ask::Tell { .. } => None,
    };
    match answer {
        Answer::Said(_) => matches!(ask, Ask::Model(_)),
        Answer::Result(_) => matches!(ask, Ask::Tool(_)),
        Answer::Report(_) => matches!(ask, Ask::Hire { .. }),
        Answer::Passed | Answer::FailedCheck(_) => matches!(ask, Ask::Check(_)),
        Answer::Text(_) => matches!(question, Some(Matter::Text(_))),
        Answer::Approved | Answer::Denied => matches!(question, Some(Matter::Approval(_))),
        Answer::NoReply => question.is_some(),
        Answer::Met | Answer::NotMet => matches!(ask, Ask::Draw { .. }),
        Answer::Delivered | Answer::Gone => matches!(ask, Ask::Tell { .. }),
        Answer::Lost => leaf || question.is_some(),
        Answer::Aborted => leaf && *phase == Phase::Closing(Outcome::Cancelled),
        Answer::Failed(_) => leaf,
    }
}

/// Returns the tool call that an ask wants approval for.
pub(super) fn approval(ask: &Ask) -> Option<&ToolCall> {
    match ask {
        Ask::Question { matter: Matter::Approval(call), .. } => Some(call),
        Ask::Question { matter: Matter::Text(_), .. }
        | Ask::Model(_)
        | Ask::Tool(_)
        | Ask::Hire { .. }
        | Ask::Check(_)
        | Ask::Draw { .. }
        | Ask::Tell { .. } => None,
    }
}

/// Returns the ending that a contract sends to its live hires when it begins to close with this outcome.
pub(super) fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Cancelled => Ending::Cancel,
        Outcome::Done | Outcome::Exhausted(_) | Outcome::Failed => Ending::WrapUp,
    }
}

/// Whether an open ask begins or ceases to hold money.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    Begins,
    Ends,
}

impl Contract {
    pub(super) fn opened(fact: &Fact) -> Result<Contract, &'static str> {
        let Fact::Opened(brief) = fact else { return Err("the first fact of a contract is that it opened") };
        law(brief.check().is_ok(), "a brief is one that a contract can work on within the laws")?;
        let purse = Account::new(brief.grant.money);
        let purse = purse.hold(brief.fee).and_then(|purse| purse.hold(brief.severance));
        let opening = brief.context.tokens().saturating_add(brief.opening_bytes);
        Ok(Contract {
            phase: Phase::Working,
            facts: 1,
            purse: purse.ok_or("the fee and the severance are part of the grant")?,
            heads: Account::new(brief.grant.heads),
            severance: brief.severance,
            uncertain: Uncertain::default(),
            asked: 0,
            open: BTreeMap::new(),
            pauses: 0,
            hires: 0,
            live: BTreeMap::new(),
            queue: BTreeMap::new(),
            queue_heads: QueueHeads::default(),
            drawers: BTreeSet::new(),
            moving: Moving::default(),
            own_draw: OwnDraw::None,
            money_max: brief.money_max,
            free_before: Msat::ZERO,
            free_at_hire: Msat::ZERO,
            learned: Learned::NOTHING,
            questions: Vec::new(),
            repeats: Repeats::default(),
            waits: Vec::new(),
            placing: None,
            answered_approval: None,
            passing: None,
            turns: 0,
            losses: 0,
            longest_reply: 0,
            part: None,
            nudge: None,
            view: View { tokens: opening, since: 0, compacted: 0 },
            request: None,
            unread: true,
            urgent: false,
            owed: Vec::new(),
            final_text: None,
            newest_text: brief.task,
            nudged: BTreeSet::new(),
            to_confirm: None,
            round: Round::default(),
            heard: BTreeSet::new(),
            asked_to_end: None,
            last_tokens_max: None,
            model_failed: false,
            brief: Arc::clone(brief),
        })
    }

    pub(super) fn fold(&mut self, fact: &Fact) -> Law {
        law(!matches!(self.phase, Phase::Closed(_)), "a closed contract stays closed")?;
        self.check_lawful(fact)?;
        // The agent is told beside the result that it repeats a call.
        if self.repeats.note(fact).is_some_and(|times| times >= REPEATS_TOLD_MIN) {
            self.view.add(NOTICE_BYTES_MAX);
        }
        match fact {
            Fact::Opened(_) => return Err("a contract opens once"),
            Fact::Asked { id, ask, hold, origin } => self.fold_asked(*id, ask, *hold, *origin)?,
            Fact::Answered { id, answer, cost } => self.fold_answered(*id, answer, *cost)?,
            Fact::Queued { origin, ordinal, offer, context } => self.fold_queued(*origin, *ordinal, offer, context)?,
            Fact::Refused { why, origin, bytes, ordinal, .. } => self.fold_refused(why, *origin, *bytes, *ordinal)?,
            Fact::Raised { hire, by, draw } => self.fold_raised(*hire, *by, *draw)?,
            Fact::Heard { from, stimulus } => self.fold_heard(from, stimulus)?,
            Fact::Waiting { call, on, need, until } => self.fold_waiting(*call, on, *need, *until)?,
            Fact::Woke { pause, .. } => self.fold_woke(*pause)?,
            Fact::Nudged(nudge) => self.fold_nudged(*nudge)?,
            Fact::Compacted { upto, bytes } => self.fold_compacted(*upto, *bytes)?,
            Fact::Closing(outcome) => self.fold_closing(*outcome)?,
            Fact::Closed(report) => self.fold_closed(report)?,
        }
        self.facts += 1;
        Ok(())
    }

    fn fold_asked(&mut self, id: AskId, ask: &Ask, hold: Hold, origin: Origin) -> Law {
        law(id.0 == self.asked + 1, "asks are numbered in order")?;
        self.check_phase(ask)?;
        let queued = match ask {
            Ask::Hire { brief, mode } => self.take_queued(brief, *mode, origin)?,
            Ask::Model(_)
            | Ask::Tool(_)
            | Ask::Check(_)
            | Ask::Question { .. }
            | Ask::Draw { .. }
            | Ask::Tell { .. } => None,
        };
        if queued.is_none() {
            self.fold_origin(origin, Placed::One)?;
        }
        let ceiling = match ask {
            Ask::Model(request) => self.fold_request(id, request)?,
            Ask::Tool(call) => {
                law(
                    call.needs.beyond(&self.brief.powers.usable).is_none(),
                    "a contract has the powers that its tool call needs",
                )?;
                Hold::money(call.price)
            }
            Ask::Hire { brief, .. } => self.fold_hire(id, brief, queued.as_deref())?,
            Ask::Check(check) => {
                let in_order = self.brief.checks.get(self.round.placed) == Some(check);
                law(in_order, "checks are made in the order of the brief")?;
                (self.round.placed, self.round.open) = (self.round.placed + 1, self.round.open + 1);
                Hold::money(check.price)
            }
            Ask::Question { to, .. } => {
                law(*to == Addressee::Owner || self.brief.path.level() > 0, "a root has no hirer")?;
                self.questions.push(id);
                Hold::default()
            }
            Ask::Draw { least } => {
                law(self.own_draw.open().is_none(), "a contract has at most one open draw")?;
                law(self.can_draw(*least), "a hire draws an amount above zero, within its maximum")?;
                let wanted = if self.request_is_due() { DrawnFor::Turn } else { DrawnFor::Row };
                self.own_draw = OwnDraw::Open(OpenDraw { id, missing: *least, wanted });
                Hold::default()
            }
            Ask::Tell { to, what } => {
                let hire = self.live_hire(to).ok_or("only live hires are sent a stimulus")?;
                self.fold_tell(hire, what)?;
                Hold::default()
            }
        };
        law(hold == ceiling, "an ask holds its ceiling")?;
        self.purse = self.purse.hold(hold.money).ok_or("a hold is available before its ask leaves")?;
        self.heads = self.heads.hold(hold.heads).ok_or("heads are available before their hire")?;
        let pauses = match ask {
            Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } => true,
            Ask::Hire { mode, .. } => *mode == Mode::Blocking,
            Ask::Draw { .. } => false,
            Ask::Tell { .. } => matches!(origin, Origin::Call(_)),
        };
        // The call of a background hire is answered immediately, and the model has not been shown this answer. If the hire
        // has waited, the next request shows that it has begun, but that alone is no reason for a request.
        if matches!((ask, origin), (Ask::Hire { mode: Mode::Background, .. }, Origin::Call(_))) {
            self.unread |= queued.is_none();
            self.view.add(NOTICE_BYTES_MAX);
        }
        // The pause of a hire that has waited began when it was queued.
        self.pauses += u32::from(pauses && queued.is_none());
        self.asked = id.0;
        let money_max = ask.brief().and_then(|brief| brief.money_max);
        let (ask, ending_sent, waits_for_answer) = (ask.clone(), None, false);
        let (draws, newest_draw) = (None, None);
        let open = Open { ask, hold, origin, pauses, ending_sent, waits_for_answer, draws, money_max, newest_draw };
        self.count_moving(&open, Moves::Begins);
        self.open.insert(id, Box::new(open));
        Ok(())
    }

    /// Counts an open ask, or no longer counts it, among those that hold money or may return some.
    fn count_moving(&mut self, open: &Open, change: Moves) {
        let Moving { leaves, hires, blocking } = &mut self.moving;
        let add = |count: &mut u32, counts: bool| match change {
            Moves::Begins => *count += u32::from(counts),
            Moves::Ends => *count -= u32::from(counts),
        };
        match &open.ask {
            Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) => add(leaves, open.hold.money > Msat::ZERO),
            Ask::Hire { .. } => {
                // A hire that was told to end waits for nothing.
                let waits = open.ending_sent.is_none() && (open.draws.is_some() || open.waits_for_answer);
                add(hires, !waits);
                add(blocking, open.pauses);
            }
            Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => {}
        }
    }

    /// Changes the entry of a live hire, and counts the hire anew.
    fn change_hire(&mut self, hire: AskId, change: impl FnOnce(&mut Open)) -> Law {
        let mut open = self.open.remove(&hire).ok_or("a live hire is open")?;
        let ordinal = open.ask.brief().ok_or("a live hire is open")?.path.ordinal();
        self.count_moving(&open, Moves::Ends);
        change(&mut open);
        self.count_moving(&open, Moves::Begins);
        if open.draws.is_some() {
            self.drawers.insert(ordinal);
        } else {
            self.drawers.remove(&ordinal);
        }
        self.open.insert(hire, open);
        Ok(())
    }

    /// Takes an admitted hire out of the queue, if it has waited. Nobody overtakes a hire that waits.
    fn take_queued(&mut self, brief: &Brief, mode: Mode, origin: Origin) -> Result<Option<Box<Queued>>, &'static str> {
        let Some((&first, queued)) = self.queue.first_key_value() else { return Ok(None) };
        law(brief.path.ordinal() == first, "no hire overtakes one that waits for money")?;
        law(queued.mode() == mode && queued.origin == origin, "a hire that has waited is the one that was queued")?;
        law(queued.offer.task_key == brief.task_key, "a hire that has waited is the one that was queued")?;
        Ok(self.remove_queued(first))
    }

    fn remove_queued(&mut self, ordinal: u32) -> Option<Box<Queued>> {
        let queued = self.queue.remove(&ordinal)?;
        self.queue_heads.remove(self.heads_of(&queued.offer), queued.mode());
        Some(queued)
    }

    fn fold_queued(&mut self, origin: Origin, ordinal: u32, offer: &Offer, context: &Context) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending hires nobody")?;
        self.fold_origin(origin, Placed::One)?;
        law(ordinal == self.hires + 1, "hires are numbered in order")?;
        let waiting = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        law(Heads(waiting) < self.heads.available(), "no more hires wait than heads are available")?;
        law(self.check_candidate(self.candidate(offer)).is_ok(), "a hire that waits is one that its hirer may hire")?;
        law(*context == self.context_of(offer), "a fork sees its hirer's last request and the reply to it")?;
        let pauses = offer.mode == Mode::Blocking;
        self.pauses += u32::from(pauses);
        if let (Mode::Background, Origin::Call(_)) = (offer.mode, origin) {
            self.unread = true;
            self.view.add(NOTICE_BYTES_MAX);
        }
        self.hires = ordinal;
        self.free_at_hire = self.free_before;
        self.queue_heads.add(self.heads_of(offer), offer.mode);
        let queued = Queued { origin, offer: offer.clone(), context: context.clone(), pauses };
        self.queue.insert(ordinal, Box::new(queued));
        Ok(())
    }

    fn fold_request(&mut self, id: AskId, request: &Request) -> Result<Hold, &'static str> {
        let Request { upto, hears, tokens, max_tokens, turn, cut } = request;
        law(*upto == self.facts, "a request shows all facts before it")?;
        let whole = *tokens == self.view.total();
        law(*cut != whole, "a request that shows less than the transcript says so")?;
        let due = if whole { &*self.owed } else { &[] };
        law(*hears == due, "a request lists every report that is owed, and a request that is cut lists none")?;
        law(self.pauses == 0, "a request waits for every call of the reply before it")?;
        law(
            *max_tokens <= self.brief.tariff.max_tokens,
            "a request asks for no more output tokens than the tariff allows",
        )?;
        match turn {
            Turn::Next => {
                law(whole, "an ordinary request shows and pays for the whole transcript")?;
                law(
                    self.turns < self.brief.turns_max || self.part.is_some(),
                    "a contract asks for no more replies than its brief allows",
                )?;
            }
            Turn::Last => {
                law(*tokens <= self.view.total(), "a last request shows no more than the transcript")?;
                law(self.request.is_none_or(|request| !request.last), "a contract makes at most one last request")?;
                self.purse = self.purse.settle(self.severance, Msat::ZERO).ok_or("the severance is held")?;
                self.severance = Msat::ZERO;
            }
        }
        if let Some(part) = &mut self.part {
            part.has_news |= self.view.total() > part.view;
        }
        self.view = View { tokens: *tokens, since: 0, ..self.view };
        self.request = Some(Requested { id, upto: *upto, tokens: *tokens, last: *turn == Turn::Last, reply: 0 });
        self.unread = false;
        self.urgent = false;
        self.nudge = None;
        self.final_text = None;
        self.round = Round::default();
        if whole {
            self.owed.clear();
        }
        Ok(Hold::money(self.brief.tariff.ceiling(*tokens, *max_tokens)))
    }

    fn fold_hire(&mut self, id: AskId, brief: &Brief, queued: Option<&Queued>) -> Result<Hold, &'static str> {
        let own = &*self.brief;
        let ordinal = brief.path.ordinal();
        let in_order = queued.is_some() || ordinal == self.hires + 1;
        law(in_order && brief.path == own.path.hire(ordinal), "hires are numbered in order")?;
        let within = brief.money_max.is_none_or(|max| brief.grant.money <= max);
        law(within, "a grant is at most the hire's maximum")?;
        law(brief.check().is_ok(), "a brief is one that a contract can work on within the laws")?;
        law(brief.grant.depth < own.grant.depth, "depth falls by one per level")?;
        let due = match (own.grant.wrap_up_at(), brief.grant.deadline) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(latest), Some(theirs)) => theirs <= latest,
        };
        law(due, "a hire's deadline leaves its hirer the wrap-up margin")?;
        law(
            own.beyond_grantable(&brief.powers).is_none(),
            "a hire's powers are within those that its hirer may grant",
        )?;
        law(brief.lineage == own.lineage.with(own.link()), "a hire's lineage is its hirer's lineage and its hirer")?;
        let mut terms = brief.terms.iter();
        law(own.terms.iter().chain(&*own.adds).all(|term| terms.next() == Some(term)), "terms are never dropped")?;
        let fork = matches!(brief.context, Context::Fork { .. });
        let candidate = Candidate { agent: &brief.agent, standing: brief.standing, task_key: brief.task_key, fork };
        law(
            self.check_candidate(candidate).is_ok(),
            "a hire is on the hirer's team, and neither it nor its task is already above it in the tree",
        )?;
        let seen = match queued {
            Some(queued) => queued.context.clone(),
            None => self.context_seen_by(fork),
        };
        law(brief.context == seen, "a fork sees its hirer's last request and the reply to it")?;
        let heads = brief.grant.heads.plus(Heads(1)).ok_or("the number of heads is within its maximum")?;
        if queued.is_none() {
            self.hires = ordinal;
            self.free_at_hire = self.free_before;
        }
        self.live.insert(ordinal, id);
        Ok(Hold { money: brief.grant.money, heads })
    }

    /// Returns the context that a new hire's first request would begin with: a fork sees the last request and the reply to it.
    pub(super) fn context_seen_by(&self, fork: bool) -> Context {
        match self.request {
            Some(request) if fork => {
                let tokens = request.tokens.saturating_add(request.reply.into());
                Context::Fork { request: request.id, upto: request.upto, tokens }
            }
            Some(_) | None => Context::Fresh,
        }
    }

    /// Checks that a reply's calls are decided on in order, each once. A call that needs approval is decided on again
    /// after the owner's answer.
    fn fold_origin(&mut self, origin: Origin, count: Placed) -> Law {
        let Origin::Call(call) = origin else { return Ok(()) };
        if self.answered_approval.as_ref().is_some_and(|approval| approval.call == call) {
            self.answered_approval = None;
            return law(count == Placed::One, "the calls beyond the limit, and only they, are refused together");
        }
        let placing = self.placing.as_mut().ok_or("a call belongs to the newest reply")?;
        law((placing.reply, placing.next) == (call.reply, call.index), "calls are decided on in order")?;
        let due = if call.index < CALLS_MAX { Placed::One } else { Placed::Rest };
        law(count == due, "the calls beyond the limit, and only they, are refused together")?;
        placing.next = match count {
            Placed::One => placing.next + 1,
            Placed::Rest => placing.calls,
        };
        if placing.next >= placing.calls {
            self.placing = None;
        }
        Ok(())
    }

    fn fold_refused(&mut self, why: &Refusal, origin: Origin, bytes: u32, ordinal: Option<u32>) -> Law {
        if let Some(ordinal) = ordinal {
            let queued = self.remove_queued(ordinal).ok_or("only a hire that waits is refused with its ordinal")?;
            law(queued.origin == origin, "a hire that has waited is the one that was queued")?;
            self.pauses -= u32::from(queued.pauses);
            self.own_draw = self.own_draw.without_refusal();
            self.fold_no_longer_awaited(ordinal);
            if let Origin::Call(_) | Origin::Cascade = origin {
                self.unread = true;
                self.view.add(u64::from(bytes));
            }
            return Ok(());
        }
        let count = if matches!(why, Refusal::TooManyCalls { .. }) { Placed::Rest } else { Placed::One };
        self.fold_origin(origin, count)?;
        match origin {
            Origin::Call(_) | Origin::Cascade => {
                self.unread = true;
                self.view.add(u64::from(bytes));
            }
            Origin::Course => {
                law(
                    self.round.placed < self.brief.checks.len(),
                    "only a check can be refused without a call or a stimulus",
                )?;
                self.round.placed += 1;
                self.round.unpaid = true;
            }
            Origin::Outside => {
                if let Refusal::TopUpStays { to, .. } = why {
                    let heard = self.passing.take().is_some_and(|heard| heard.to == *to && heard.raised.is_none());
                    law(heard, "only money that was heard and not passed on can stay")?;
                }
            }
        }
        Ok(())
    }

    fn fold_waiting(&mut self, call: CallRef, on: &[u32], need: Need, until: Option<Millis>) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending does not begin to wait")?;
        self.fold_origin(Origin::Call(call), Placed::One)?;
        let unreported = |ordinal: &u32| self.live.contains_key(ordinal) || self.queue.contains_key(ordinal);
        law(on.iter().all(unreported), "a call waits for hires that live or wait for money")?;
        self.waits.push(Wait { call, on: on.iter().copied().collect(), need, until, ready: on.is_empty() });
        self.pauses += 1;
        Ok(())
    }

    fn fold_woke(&mut self, pause: Pause) -> Law {
        match pause {
            Pause::Call(call) => {
                let at =
                    self.waits.iter().position(|wait| wait.call == call).ok_or("only a pause that exists can end")?;
                self.waits.remove(at);
            }
            Pause::Hire(ordinal) => {
                if let Some(queued) = self.queue.get_mut(&ordinal) {
                    law(queued.pauses, "only a pause that exists can end")?;
                    queued.pauses = false;
                    self.queue_heads.background += 1;
                } else {
                    let hire = self.live.get(&ordinal).copied().ok_or("only a pause that exists can end")?;
                    let pauses = self.open.get(&hire).is_some_and(|open| open.pauses);
                    law(pauses, "only a pause that exists can end")?;
                    self.change_hire(hire, |open| open.pauses = false)?;
                }
            }
        }
        self.pauses -= 1;
        self.unread = true;
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_nudged(&mut self, nudge: Nudge) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending gets no nudge")?;
        law(self.nudged.insert(nudge), "an agent gets each nudge once")?;
        if nudge == Nudge::ConfirmReport {
            self.to_confirm.clone_from(&self.final_text);
        }
        self.unread = true;
        self.nudge = Some(nudge);
        self.view.add(NOTICE_BYTES_MAX);
        Ok(())
    }

    fn fold_compacted(&mut self, upto: u32, bytes: u64) -> Law {
        let included = self.request.map_or(0, |request| request.upto);
        law(self.view.compacted < upto && upto <= included, "only facts that a request has included are shortened")?;
        self.view = View { tokens: bytes, compacted: upto, ..self.view };
        if let Some(part) = &mut self.part {
            part.view = self.view.total();
        }
        Ok(())
    }

    fn fold_closing(&mut self, outcome: Outcome) -> Law {
        let lawful = match (&self.phase, outcome) {
            (Phase::Working, Outcome::Done) => self.is_idle(),
            (Phase::Working, Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled) => true,
            (Phase::Closing(before), Outcome::Cancelled) => *before != Outcome::Cancelled,
            (Phase::Closing(_) | Phase::Closed(_), _) => false,
        };
        law(lawful, "a contract begins to close once, except that a cancel may follow another ending")?;
        self.phase = Phase::Closing(outcome);
        // Each live hire is sent the ending, and ends its draw itself.
        for ordinal in std::mem::take(&mut self.drawers) {
            let hire = self.live.get(&ordinal).copied().ok_or("a hire that draws is live")?;
            self.change_hire(hire, |open| open.draws = None)?;
        }
        Ok(())
    }

    fn fold_closed(&mut self, report: &Report) -> Law {
        let nothing_open = self.open.is_empty() && self.waits.is_empty() && self.queue.is_empty();
        law(nothing_open, "a contract closes only when it has no open asks and no hire waits")?;
        let outcome = match self.phase {
            Phase::Closing(outcome) => outcome,
            Phase::Working | Phase::Closed(_) => Outcome::Done,
        };
        law(report.outcome == outcome, "the report has the outcome with which the contract began to close")?;
        let fee = match report.acceptance {
            Acceptance::Accepted => self.brief.fee,
            Acceptance::NotAccepted => Msat::ZERO,
        };
        law(report.fee == fee, "only an accepted report pays the fee")?;
        let purse = self.purse.settle(self.brief.fee, fee).and_then(|purse| purse.settle(self.severance, Msat::ZERO));
        let purse = purse.ok_or("the fee and the severance are held to the end")?;
        law(purse.held() == Msat::ZERO && self.heads.held() == Heads::ZERO, "a closed contract holds nothing")?;
        law(report.spent == purse.spent(), "a report has the right spent amount")?;
        law(report.change == purse.change(), "the change is the granted money that was not spent")?;
        let Uncertain { reserved, estimated } = self.uncertain;
        law(report.reserved == reserved, "a report has the right reserved amount")?;
        law(report.estimated == estimated, "a report has the right estimated amount")?;
        law(
            report.heads == self.heads.spent(),
            "the used heads in a report are the heads that its contract has spent",
        )?;
        law(report.cut == self.wording_is_cut(), "a report says whether its text is cut")?;
        let tokens = self.final_text.as_ref().map_or(0, |text| text.size.tokens);
        law(report.tokens == tokens, "a report has the reported tokens of its final text")?;
        law(report.unheard == self.owed, "a report lists every report of a hire that no request included")?;
        self.purse = purse;
        self.severance = Msat::ZERO;
        self.phase = Phase::Closed(Box::new(report.clone()));
        Ok(())
    }
}
