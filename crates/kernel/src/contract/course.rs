//! The course of a contract: the next request, the wrap-up, the checks, the close. What to do when nothing is asked of it.

use super::{Contract, Ending, NOTICE_BYTES_MAX, Phase};
use crate::ask::{Answer, Ask, Cost, Origin, Request, Stimulus, Turn};
use crate::brief::Stay;
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::money::{Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report};
use crate::tariff::TURN_TOKENS;
use crate::time::Millis;

impl Contract {
    /// Goes as far as it can without the world.
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
        // A final text is not the report yet while hires are at work: each arrival wakes one turn.
        if self.open.is_empty() && self.brief.stay == Stay::Once {
            self.check_or_close(Outcome::Done, facts);
        }
    }

    /// Whether a report is due so soon that there is no time for more than that.
    pub(super) fn is_late(&self, now: Millis) -> bool {
        self.brief.grant.wrap_up_at().is_some_and(|at| at <= now)
    }

    /// Whether there is nothing to cut short: an open root that has said all it has to say. Asked to end, it is done.
    pub(super) fn at_ease(&self) -> bool {
        self.brief.stay == Stay::Open && self.open.is_empty() && !self.unread && self.finale.is_some()
    }

    fn request_next(&mut self, facts: &mut Vec<Fact>) {
        if self.turns >= self.brief.turns_max {
            return self.begin_closing(Outcome::Exhausted(Limit::Turns), facts);
        }
        match self.affordable() {
            Some(max_tokens) => self.ask_model(self.view.total(), max_tokens, Turn::Next, facts),
            // Running dry with live hires: wait for their change first.
            None if !self.live.is_empty() => {}
            None => self.begin_closing(Outcome::Exhausted(Limit::Purse), facts),
        }
    }

    /// How long the next reply may be. Beyond an ordinary turn it uses half of what is free at most, so that a contract whose
    /// call is lost can ask again.
    fn affordable(&self) -> Option<u32> {
        let (tariff, tokens, free) = (self.brief.tariff, self.view.total(), self.purse.available());
        let most = tariff.affordable(tokens, free)?;
        let half = tariff.affordable(tokens, Msat::capped(u128::from(free.get() / 2))).unwrap_or(0);
        Some(most.min(half.max(TURN_TOKENS)))
    }

    fn ask_model(&mut self, tokens: u64, max_tokens: u32, turn: Turn, facts: &mut Vec<Fact>) {
        // A request that is cut to fit shows none of the reports in full, so they stay owed.
        let hears = if tokens == self.view.total() { self.owed.clone() } else { Vec::new() };
        let request = Request { upto: self.facts, hears, tokens, max_tokens, turn };
        let money = self.brief.tariff.ceiling(tokens, max_tokens);
        self.emit_ask(Ask::Model(request), Hold::money(money), Origin::Course, facts);
    }

    /// Makes no more plans: nothing new is asked, live hires are told the same, questions go unanswered.
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

    /// Lets time pass: what has waited long enough wakes, what was asked long enough ago goes unanswered.
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

    /// No reply means: use your judgement. No approval means no.
    fn leave_unanswered(&mut self, id: AskId, facts: &mut Vec<Fact>) {
        let origin = self.open[&id].origin;
        let approval = super::fold::approval(&self.open[&id].ask).is_some();
        self.emit(Fact::Answered { id, answer: Answer::NoReply, cost: Cost::Known(Msat::ZERO) }, facts);
        if approval {
            self.refuse(Refusal::NotApproved, origin, facts);
        }
    }

    /// A model that can't be had ends the contract; what was found so far is its report.
    pub(super) fn give_up_if_broken(&mut self, facts: &mut Vec<Fact>) {
        if self.broken && self.phase == Phase::Working {
            self.begin_closing(Outcome::Failed, facts);
        }
    }

    /// Nothing is open any more: one last request if there is more to say, then the close.
    fn finish(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let last = self.request.is_some_and(|request| request.last);
        match outcome {
            Outcome::Exhausted(_) if self.finale.is_some() && (last || !self.unread) => {
                self.check_or_close(outcome, facts);
            }
            Outcome::Exhausted(_) if !last => self.request_last(outcome, facts),
            Outcome::Done => self.check_or_close(outcome, facts),
            Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled => self.close(outcome, facts),
        }
    }

    /// Asks once more, with what the severance and the rest of the purse pay for: cut to fit, if need be.
    fn request_last(&mut self, outcome: Outcome, facts: &mut Vec<Fact>) {
        let tariff = self.brief.tariff;
        let money = self.purse.available().plus(self.severance).expect("a part of what was granted");
        let fit = tariff.fitting(self.view.total(), money);
        match fit.and_then(|tokens| Some((tokens, tariff.affordable(tokens, money)?))) {
            Some((tokens, max_tokens)) => self.ask_model(tokens, max_tokens, Turn::Last, facts),
            None => self.close(outcome, facts),
        }
    }

    /// A final text is checked before it counts. A text that fails may be corrected once.
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
        let correctable = self.phase == Phase::Working && !self.nudged.contains(&Nudge::Mend);
        if correctable && self.round.can_be_corrected() && self.could_go_on() {
            self.emit(Fact::Nudged(Nudge::Mend), facts);
            return self.request_next(facts);
        }
        self.close(outcome, facts);
    }

    /// Whether a nudge could be followed by another turn.
    pub(super) fn could_go_on(&self) -> bool {
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
        let accepted = counts && self.finale.is_some() && self.round.passed(checks);
        let (acceptance, fee) =
            if accepted { (Acceptance::Accepted, self.brief.fee) } else { (Acceptance::NotAccepted, Msat::ZERO) };
        let spent = self.purse.spent().plus(fee).expect("the fee is part of the grant");
        let report = Report {
            outcome,
            text: self.wording(),
            output: self.finale.and_then(|finale| finale.output),
            acceptance,
            unheeded: self.finale.and_then(|finale| finale.undone),
            unheard: self.owed.clone(),
            spent,
            change: self.purse.granted().minus(spent).expect("no more is spent than was granted"),
            fee,
            reserved: Some(self.uncertain.reserved),
            estimated: Some(self.uncertain.estimated),
            heads: self.heads.spent(),
        };
        self.emit(Fact::Closed(Box::new(report)), facts);
    }
}
