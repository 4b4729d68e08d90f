//! The steps that a contract takes on its own: the next request, the wrap-up, the checks, the close.

use super::{Contract, Ending, NOTICE_BYTES_MAX, Phase};
use crate::ask::{Answer, Ask, Cost, Origin, Request, Stimulus, Turn};
use crate::brief::CloseWhen;
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::money::{Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report};
use crate::tariff::TURN_TOKENS;
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

    fn work(&mut self, now: Millis, facts: &mut Vec<Fact>) {
        if self.is_late(now) {
            return self.begin_closing(Outcome::Exhausted(Limit::Deadline), facts);
        }
        if self.pauses > 0 {
            return;
        }
        if self.unread {
            return self.request_next(facts);
        }
        // While hires are at work, the final text is not the report yet: each of their reports causes another request.
        if self.open.is_empty() && self.brief.close_when == CloseWhen::FinalText {
            self.check_or_close(Outcome::Done, facts);
        }
    }

    /// Returns whether it is time to wrap up.
    pub(super) fn is_late(&self, now: Millis) -> bool {
        self.brief.grant.wrap_up_at().is_some_and(|at| at <= now)
    }

    /// Returns whether the contract is a conversation that waits for the owner and has no open work. When such a
    /// contract is asked to end, its outcome is `Done`.
    pub(super) fn is_idle(&self) -> bool {
        self.brief.close_when == CloseWhen::Asked && self.open.is_empty() && !self.unread && self.final_text.is_some()
    }

    fn request_next(&mut self, facts: &mut Vec<Fact>) {
        if self.turns >= self.brief.turns_max {
            return self.begin_closing(Outcome::Exhausted(Limit::Turns), facts);
        }
        match self.affordable() {
            Some(max_tokens) => self.ask_model(self.view.total(), max_tokens, Turn::Next, facts),
            // There is not enough money, but live hires may return some: wait for them.
            None if !self.live.is_empty() => {}
            None => self.begin_closing(Outcome::Exhausted(Limit::Purse), facts),
        }
    }

    /// Returns how long the next reply may be. A reply longer than an ordinary turn uses at most half of the available
    /// money, so that the contract can ask again if the call is lost.
    fn affordable(&self) -> Option<u32> {
        let (tariff, tokens, free) = (self.brief.tariff, self.view.total(), self.purse.available());
        let most = tariff.affordable(tokens, free)?;
        let half = tariff.affordable(tokens, Msat::capped(u128::from(free.get() / 2))).unwrap_or(0);
        Some(most.min(half.max(TURN_TOKENS)))
    }

    fn ask_model(&mut self, tokens: u64, max_tokens: u32, turn: Turn, facts: &mut Vec<Fact>) {
        // A request that is cut to fit may leave out any report, so all reports stay owed.
        let hears = if tokens == self.view.total() { self.owed.clone() } else { Vec::new() };
        let request = Request { upto: self.facts, hears, tokens, max_tokens, turn };
        let money = self.brief.tariff.ceiling(tokens, max_tokens);
        self.emit_ask(Ask::Model(request), Hold::money(money), Origin::Course, facts);
    }

    /// Begins to close: waits end, open questions end without a reply, and live hires are sent the same ending.
    pub(super) fn begin_closing(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        self.emit(Fact::Closing(outcome), facts);
        for call in self.waits.iter().map(|wait| wait.call).collect::<Vec<_>>() {
            self.emit(Fact::Woke { pause: Pause::Call(call), why: Waking::Closing }, facts);
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
            Outcome::Exhausted(_) if self.final_text.is_some() && (last || !self.unread) => {
                self.check_or_close(outcome, facts);
            }
            Outcome::Exhausted(_) if !last => self.request_last(outcome, facts),
            Outcome::Done => self.check_or_close(outcome, facts),
            Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled => self.close(outcome, facts),
        }
    }

    /// Makes the last request, paid by the severance and the rest of the purse, and cut to fit if necessary.
    fn request_last(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let tariff = self.brief.tariff;
        let money = self.purse.available().plus(self.severance).expect("both are parts of the grant");
        let fit = tariff.fitting(self.view.total(), money);
        match fit.and_then(|tokens| Some((tokens, tariff.affordable(tokens, money)?))) {
            Some((tokens, max_tokens)) => self.ask_model(tokens, max_tokens, Turn::Last, facts),
            None => self.close(outcome, facts),
        }
    }

    /// Checks the final text before it becomes the report. The agent may correct a text that fails once.
    fn check_or_close(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
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
        let accepted = counts && self.final_text.is_some() && self.round.passed(checks);
        let (acceptance, fee) =
            if accepted { (Acceptance::Accepted, self.brief.fee) } else { (Acceptance::NotAccepted, Msat::ZERO) };
        let spent = self.purse.spent().plus(fee).expect("the fee is part of the grant");
        let report = Report {
            outcome,
            text: self.wording(),
            output: self.final_text.as_ref().and_then(|final_text| final_text.output),
            acceptance,
            ignored_nudge: self.final_text.as_ref().and_then(|final_text| final_text.undone),
            unheard: self.owed.clone(),
            spent,
            change: self.purse.granted().minus(spent).expect("the spent money is part of the grant"),
            fee,
            reserved: Some(self.uncertain.reserved),
            estimated: Some(self.uncertain.estimated),
            heads: self.heads.spent(),
        };
        self.emit(Fact::Closed(Box::new(report)), facts);
    }
}
