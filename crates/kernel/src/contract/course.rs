//! The steps that a contract takes on its own: the next request, the wrap-up, the checks, the close.

use super::row::{Found, Missing};
use super::state::{DrawnFor, Ending};
use super::{Contract, NOTICE_BYTES_MAX, OwnDraw, Phase};
use crate::ask::{Answer, Ask, Cost, Origin, Request, Stimulus, Turn};
use crate::brief::CloseWhen;
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::money::{Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report, Undone};
use crate::tariff::{LAST_TOKENS_MIN, TURN_TOKENS};
use crate::time::Millis;

impl Contract {
    /// Takes all steps that need no answer from the world.
    pub(super) fn advance(&mut self, now: Millis, facts: &mut Vec<Fact>) {
        if self.phase == Phase::Working {
            self.work(now, facts);
        }
        match self.phase {
            Phase::Closing(outcome) if self.open.is_empty() => self.finish(outcome, facts),
            Phase::Working | Phase::Closing(_) | Phase::Closed(_) => {}
        }
    }

    /// The contract's own request comes first. While it can't be paid, nobody who waits for money is served.
    fn work(&mut self, now: Millis, facts: &mut Vec<Fact>) {
        if self.is_late(now) {
            return self.begin_closing(Outcome::Exhausted(Limit::Deadline), facts);
        }
        self.end_needless_draw(facts);
        if self.request_is_due() {
            self.request_next(facts);
        }
        if self.phase == Phase::Working && !self.request_is_due() {
            self.serve(now, facts);
            // The model must be told that a hire was refused.
            if self.request_is_due() {
                self.request_next(facts);
            }
        }
        self.close_if_finished(facts);
    }

    /// Closes a contract with a final text and nothing left to do. While hires are at work or wait, the final text is not
    /// the report yet: each of their reports causes another request.
    fn close_if_finished(&mut self, facts: &mut Vec<Fact>) {
        let finished = self.open.is_empty() && self.queue.is_empty() && !self.unread && self.pauses == 0;
        if self.phase != Phase::Working || !finished || self.brief.close_when != CloseWhen::FinalText {
            return;
        }
        match &self.final_text {
            Some(text) if text.cut => self.begin_closing(Outcome::Exhausted(Limit::Length), facts),
            Some(_) | None => self.check_or_close(Outcome::Done, facts),
        }
    }

    /// Returns whether the model has something to read, and nothing delays the request.
    pub(super) fn request_is_due(&self) -> bool {
        self.unread && self.pauses == 0
    }

    /// Ends the own draw if the money has come from elsewhere: a top-up of a person, or the change of a hire.
    fn end_needless_draw(&mut self, facts: &mut Vec<Fact>) {
        let Some(draw) = self.own_draw.open() else { return };
        let enough = if self.request_is_due() { self.full_turn() <= self.purse.available() } else { self.row_fits() };
        if draw.missing == Msat::ZERO || enough {
            self.end_draw(draw.id, Answer::Met, facts);
        }
    }

    /// Returns whether it is time to wrap up.
    pub(super) fn is_late(&self, now: Millis) -> bool {
        self.brief.grant.wrap_up_at().is_some_and(|at| at <= now)
    }

    /// Returns whether the contract is a conversation that waits for the owner and has no open work. When such a
    /// contract is asked to end, its outcome is `Done`.
    pub(super) fn is_idle(&self) -> bool {
        let waits_for_owner = self.open.is_empty() && self.queue.is_empty() && !self.unread;
        self.brief.close_when == CloseWhen::Asked && waits_for_owner && self.final_text.is_some()
    }

    fn request_next(&mut self, facts: &mut Vec<Fact>) {
        // The parts of one reply are one turn.
        if self.turns >= self.brief.turns_max && self.part.is_none() {
            return self.begin_closing(Outcome::Exhausted(Limit::Turns), facts);
        }
        // After a nudge the contract uses what it has: the nudge was given only if that pays for a turn.
        let missing = self.missing_turn();
        let refused = missing.all > Msat::ZERO && self.own_draw == OwnDraw::Refused(DrawnFor::Turn);
        let draws = self.nudge.is_none() && (refused || self.drawable(missing).is_some());
        if let Some(max_tokens) = self.reply_tokens().filter(|_| !draws) {
            return self.ask_model(self.view.total(), max_tokens, Turn::Next, facts);
        }
        // There is not enough money, but what is open may return some: wait for that.
        if !self.is_stuck() || self.own_draw.open().is_some() {
            return;
        }
        if draws && self.find_money(DrawnFor::Turn, missing, facts) == Found::Wait {
            return;
        }
        if !self.refuse_draws(facts) {
            self.begin_closing(Outcome::Exhausted(Limit::Purse), facts);
        }
    }

    /// Refuses draws, the youngest first, until a hire returns money. Returns whether one does: a hire that also waits for
    /// an answer returns none.
    fn refuse_draws(&mut self, facts: &mut Vec<Fact>) -> bool {
        while self.is_stuck() && self.refuse_youngest_drawer(facts) {}
        !self.is_stuck()
    }

    /// Returns what is missing for a full turn. What pays for the shortest turn helps.
    fn missing_turn(&self) -> Missing {
        let free = self.purse.available();
        let until = |turn: Msat| turn.minus(free).unwrap_or(Msat::ZERO);
        Missing { least: until(self.brief.tariff.turn_min(self.view.total())), all: until(self.full_turn()) }
    }

    /// Returns the money for a full turn: long enough for an ordinary reply, and for one like the longest so far.
    fn full_turn(&self) -> Msat {
        let tariff = self.brief.tariff;
        let longest = self.longest_reply.saturating_add(self.longest_reply.div_ceil(4));
        tariff.ceiling(self.view.total(), longest.max(TURN_TOKENS).min(tariff.max_tokens))
    }

    /// Returns how long the next reply may be: all that is available, because a contract that needs more can draw. A
    /// contract that can't draw another turn, such as a root, leaves one full turn besides if it has two. After a lost
    /// reply, a reply longer than an ordinary turn uses at most half of the available money, so that the contract can ask
    /// again.
    fn reply_tokens(&self) -> Option<u32> {
        let (tariff, tokens, free) = (self.brief.tariff, self.view.total(), self.purse.available());
        let most = tariff.affordable(tokens, free)?;
        if self.losses > 0 {
            let half = tariff.affordable(tokens, Msat::capped(u128::from(free.get() / 2))).unwrap_or(0);
            return Some(most.min(half.max(TURN_TOKENS)));
        }
        let full = self.full_turn();
        let leaves = free.minus(full).filter(|rest| *rest >= full && !self.can_draw(full));
        Some(leaves.and_then(|rest| tariff.affordable(tokens, rest)).unwrap_or(most))
    }

    fn ask_model(&mut self, tokens: u64, max_tokens: u32, turn: Turn, facts: &mut Vec<Fact>) {
        // A request that is cut to fit may leave out any report, so all reports stay owed.
        let cut = tokens < self.view.total();
        let hears = if cut { Vec::new() } else { self.owed.clone() };
        let request = Request { upto: self.facts, hears, tokens, max_tokens, turn, cut };
        let money = self.brief.tariff.ceiling(tokens, max_tokens);
        self.emit_ask(Ask::Model(request), Hold::money(money), Origin::Course, facts);
    }

    /// Begins to close: waits end, hires that wait for money are refused, the own draw and open questions end without a
    /// reply, and live hires are sent the same ending.
    pub(super) fn begin_closing(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        self.emit(Fact::Closing(outcome), facts);
        if let Some(draw) = self.own_draw.open() {
            self.end_draw(draw.id, Answer::NotMet, facts);
        }
        for call in self.waits.iter().map(|wait| wait.call).collect::<Vec<_>>() {
            self.emit(Fact::Woke { pause: Pause::Call(call), why: Waking::Closing }, facts);
        }
        for ordinal in self.queue.keys().copied().collect::<Vec<_>>() {
            self.refuse_queued(ordinal, Refusal::Closing, facts);
        }
        for id in self.questions.clone() {
            self.leave_unanswered(id, facts);
        }
        let what = match super::fold::ending(outcome) {
            Ending::Cancel => Stimulus::Cancel,
            Ending::WrapUp => Stimulus::WrapUp,
        };
        for ordinal in self.live.keys().copied().collect::<Vec<_>>() {
            let to = self.brief.path.hire(ordinal);
            self.emit_ask(Ask::Tell { to, what: what.clone() }, Hold::default(), Origin::Course, facts);
        }
    }

    /// Ends the waits and questions whose time limit was reached.
    pub(super) fn expire(&mut self, now: Millis, facts: &mut Vec<Fact>) {
        let over = |until: Millis| until <= now;
        let waits = self.waits.iter().filter(|wait| wait.until.is_some_and(over)).map(|wait| wait.call);
        for call in waits.collect::<Vec<_>>() {
            self.emit(Fact::Woke { pause: Pause::Call(call), why: Waking::TimedOut }, facts);
        }
        let questions = self.questions.iter().copied().filter(|id| over(self.question_until(*id)));
        for id in questions.collect::<Vec<_>>() {
            self.leave_unanswered(id, facts);
        }
    }

    /// Ends a question without a reply. For an approval, that means no.
    fn leave_unanswered(&mut self, id: AskId, facts: &mut Vec<Fact>) {
        let origin = self.open[&id].origin;
        let approval = super::fold::approval(&self.open[&id].ask).is_some();
        self.emit(Fact::Answered { id, answer: Answer::NoReply, cost: Cost::Known(Msat::ZERO) }, facts);
        if approval {
            self.refuse(Refusal::NotApproved, origin, facts);
        }
    }

    /// Begins to close if the model can't be used; the report is the newest text.
    pub(super) fn give_up_if_model_failed(&mut self, facts: &mut Vec<Fact>) {
        if self.model_failed && self.phase == Phase::Working {
            self.begin_closing(Outcome::Failed, facts);
        }
    }

    /// Ends a contract without open asks: makes the last request if one is needed, then closes.
    fn finish(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let last = self.request.is_some_and(|request| request.last);
        match outcome {
            Outcome::Exhausted(why) if self.final_text.is_some() && (last || !self.unread || self.is_kept_cut(why)) => {
                self.check_or_close(outcome, facts);
            }
            Outcome::Exhausted(_) if !last => self.request_last(outcome, facts),
            Outcome::Done => self.check_or_close(outcome, facts),
            Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled => self.close(outcome, facts),
        }
    }

    /// Returns whether a cut reply that was to be continued is the report as it is. Only a contract that runs dry asks for
    /// a last reply instead.
    fn is_kept_cut(&self, why: Limit) -> bool {
        self.part.is_some() && why != Limit::Purse
    }

    /// Makes the last request, paid by the severance and the rest of the purse, and cut to fit if necessary.
    fn request_last(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let tariff = self.brief.tariff;
        let money = self.purse.available().plus(self.severance).expect("both are parts of the grant");
        let fit = tariff.fitting(self.view.total(), money, tariff.last_output());
        let fit = fit.and_then(|tokens| {
            let tokens = self.within_tokens_left(tokens)?;
            Some((tokens, self.output_within_tokens_left(tokens, tariff.affordable(tokens, money)?)))
        });
        match fit {
            Some((tokens, max_tokens)) => self.ask_model(tokens, max_tokens, Turn::Last, facts),
            None => self.close(outcome, facts),
        }
    }

    /// Returns the input of a last request that leaves room for its output, if tokens are limited. `None` if too little is left.
    fn within_tokens_left(&self, tokens: u64) -> Option<u64> {
        let Some(max) = self.last_tokens_max else { return Some(tokens) };
        let fit = tokens.min(max.saturating_sub(self.brief.tariff.last_output().into()));
        (fit >= tokens.min(LAST_TOKENS_MIN)).then_some(fit)
    }

    /// Returns whether the tokens that are left, if they are limited, are too few for a last request with this input.
    pub(super) fn exceeds_tokens_left(&self, tokens: u64) -> bool {
        let output = u64::from(self.brief.tariff.last_output());
        self.last_tokens_max.is_some_and(|max| max < tokens.saturating_add(output))
    }

    fn output_within_tokens_left(&self, input: u64, output: u32) -> u32 {
        let left = self.last_tokens_max.map_or(u64::MAX, |max| max.saturating_sub(input));
        output.min(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Checks the final text before it becomes the report. The agent may correct a text that fails once.
    fn check_or_close(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        // A text without its end is never accepted, so nothing is spent on checking it.
        if self.wording_is_cut() {
            return self.close(outcome, facts);
        }
        while let Some(check) = self.brief.checks.get(self.round.placed).copied() {
            let free = self.purse.available();
            if check.price <= free {
                self.emit_ask(Ask::Check(check), Hold::money(check.price), Origin::Course, facts);
            } else {
                self.refuse(Refusal::Money { asked: check.price, free, minimum: check.price }, Origin::Course, facts);
            }
        }
        if self.round.open > 0 {
            return;
        }
        let correctable = self.phase == Phase::Working && !self.nudged.contains(&Nudge::FixReport);
        if correctable && self.round.can_be_corrected() && self.has_another_turn() {
            self.emit(Fact::Nudged(Nudge::FixReport), facts);
            return self.request_next(facts);
        }
        self.close(outcome, facts);
    }

    /// Returns what the report says is undone. A promise counts only if the agent repeats it when it is asked about it, and not
    /// at the end of a conversation, whose owner has read each text.
    pub(super) fn undone_in_report(&self) -> Option<Undone> {
        let text = self.final_text.as_ref()?;
        let undone = text.undone?;
        let was_asked = text.is_answer && self.brief.close_when == CloseWhen::FinalText;
        match undone {
            Undone::RequiredHire => Some(undone),
            Undone::PromisedHire | Undone::NoHire => was_asked.then_some(undone),
            Undone::Unclear => None,
        }
    }

    /// Returns whether the contract can pay for another turn after a nudge.
    pub(super) fn has_another_turn(&self) -> bool {
        let mut view = self.view;
        view.add(NOTICE_BYTES_MAX);
        let payable = self.brief.tariff.affordable(view.total(), self.purse.available()).is_some();
        payable && self.turns < self.brief.turns_max
    }

    fn close(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let checks = self.brief.checks.len();
        let counts = match outcome {
            Outcome::Done => true,
            Outcome::Exhausted(_) => checks > 0,
            Outcome::Failed | Outcome::Cancelled => false,
        };
        let accepted = counts && self.final_text.is_some() && !self.wording_is_cut() && self.round.passed(checks);
        let (acceptance, fee) =
            if accepted { (Acceptance::Accepted, self.brief.fee) } else { (Acceptance::NotAccepted, Msat::ZERO) };
        let spent = self.purse.spent().plus(fee).expect("the fee is part of the grant");
        let report = Report {
            outcome,
            text: self.wording(),
            output: self.final_text.as_ref().and_then(|final_text| final_text.output),
            acceptance,
            undone: self.undone_in_report(),
            unheard: self.owed.clone(),
            spent,
            change: self.purse.granted().minus(spent).expect("the spent money is part of the grant"),
            fee,
            reserved: self.uncertain.reserved,
            estimated: self.uncertain.estimated,
            heads: self.heads.spent(),
            cut: self.wording_is_cut(),
            tokens: self.final_text.as_ref().map_or(0, |text| text.size.tokens),
        };
        self.emit(Fact::Closed(Box::new(report)), facts);
    }
}
