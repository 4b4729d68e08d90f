//! Stimuli: messages, money, hires from outside, endings. A contract hears each stimulus once.

use super::{Contract, Phase};
use crate::ask::{Addressee, Answer, Ask, Cost, Matter, Origin, Sender, Stimulus};
use crate::brief::{Mode, Offer};
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::money::{Msat, Quantity};
use crate::path::{AskId, AskKey, DEPTH_MAX, Path};
use crate::refusal::{MESSAGE_BYTES_MAX, Refusal};
use crate::report::{Limit, Outcome};
use crate::text::TextRef;
use crate::time::Millis;

use super::admit::Later;
use super::share::Want;

impl Contract {
    pub(super) fn hear(&mut self, from: Sender, what: Stimulus, now: Millis, facts: &mut Vec<Fact>) {
        // A cancelled contract ignores every stimulus except top-ups: money must not get lost.
        let ignored = self.is_cancelled() && !matches!(what, Stimulus::TopUp { .. });
        if ignored || self.heard.contains(&from) || !self.accepts(&from, &what) {
            return;
        }
        if let Stimulus::TopUp { to, money, draw } = what {
            return self.hear_money(from, to, money, draw, facts);
        }
        self.emit(Fact::Heard { from: from.clone(), stimulus: what.clone() }, facts);
        match what {
            Stimulus::Message(text) => self.hear_message(&from, text, facts),
            Stimulus::Question(_) => self.detach(facts),
            Stimulus::Hire(offer) => self.hear_hire(*offer, now, facts),
            Stimulus::Draw { .. } => self.hear_draw(&from, facts),
            Stimulus::RefuseDraw { draw } => self.end_draw(draw, Answer::NotMet, facts),
            Stimulus::DropHire { ordinal } => self.hear_drop(ordinal, facts),
            Stimulus::WrapUp | Stimulus::OutOfTokens { .. } if self.phase == Phase::Working => {
                let outcome = self.outcome_if_asked_to_end();
                self.begin_closing(outcome, facts);
            }
            Stimulus::WrapUp | Stimulus::OutOfTokens { .. } => {}
            Stimulus::Cancel => self.begin_closing(Outcome::Cancelled, facts),
            Stimulus::TopUp { .. } => unreachable!("money was heard above"),
        }
    }

    /// Returns whether the sender may send this stimulus. Every contract may send a message of an allowed length; only
    /// the owner and the hirer may send hires and endings; only a live hire may send a question.
    fn accepts(&self, from: &Sender, what: &Stimulus) -> bool {
        let above = match from {
            Sender::Owner { .. } => true,
            Sender::Contract(key) => self.brief.path.hirer().as_ref() == Some(&key.contract),
        };
        // A stimulus that could not be stored and read again is ignored.
        let storable = |path: &Path| path.level() <= usize::from(DEPTH_MAX);
        let valid_sender = match from {
            Sender::Owner { .. } => true,
            Sender::Contract(key) => key.ask.0 > 0 && storable(&key.contract),
        };
        valid_sender
            && match what {
                Stimulus::Message(text) => text.bytes <= MESSAGE_BYTES_MAX,
                Stimulus::Question(text) => self.sending_hire(from).is_some() && text.bytes <= MESSAGE_BYTES_MAX,
                Stimulus::TopUp { to, draw, .. } => {
                    // Only money for the contract itself answers its draw.
                    self.may_pay(from) && storable(to) && (draw.is_none() || *to == self.brief.path)
                }
                Stimulus::Draw { least } => *least > Msat::ZERO && self.sending_hire(from).is_some(),
                Stimulus::RefuseDraw { .. } => matches!(from, Sender::Contract(_)) && above,
                Stimulus::DropHire { .. } => matches!(from, Sender::Owner { .. }),
                Stimulus::OutOfTokens { .. } => matches!(from, Sender::Owner { .. }) && self.brief.path.level() == 0,
                Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel => above,
            }
    }

    fn outcome_if_asked_to_end(&self) -> Outcome {
        match &self.final_text {
            Some(text) if self.is_idle() && text.cut => Outcome::Exhausted(Limit::Length),
            Some(_) if self.is_idle() => Outcome::Done,
            Some(_) | None => Outcome::Exhausted(Limit::Asked),
        }
    }

    /// Returns the live hire that has sent a stimulus.
    pub(super) fn sending_hire(&self, from: &Sender) -> Option<AskId> {
        match from {
            Sender::Owner { .. } => None,
            Sender::Contract(key) => self.live_hire(&key.contract),
        }
    }

    /// Refuses a draw beyond the maximum of the hire at once. Other draws are served in their turn.
    fn hear_draw(&mut self, from: &Sender, facts: &mut Vec<Fact>) {
        let Sender::Contract(AskKey { contract, .. }) = from else { return };
        let Some(open) = self.live_hire(contract).and_then(|hire| self.open.get(&hire)) else { return };
        let Some(drawer) = open.draws else { return };
        let within = |max: Msat| open.hold.money.plus(drawer.least).is_some_and(|sum| sum <= max);
        if self.phase == Phase::Working && !open.money_max.is_none_or(within) {
            self.refuse_draw(contract.ordinal(), facts);
        }
    }

    /// Answers the contract's own draw, if it is still open.
    pub(super) fn end_draw(&mut self, draw: AskId, answer: Answer, facts: &mut Vec<Fact>) {
        if self.own_draw.open().is_some_and(|open| open.id == draw) {
            self.emit(Fact::Answered { id: draw, answer, cost: Cost::Known(Msat::ZERO) }, facts);
        }
    }

    /// Gives up a hire that waits for money. A hire that has begun meanwhile is cancelled.
    fn hear_drop(&mut self, ordinal: u32, facts: &mut Vec<Fact>) {
        if self.phase != Phase::Working {
            return;
        }
        let hire = self.brief.path.hire(ordinal);
        if self.waiting_hire(&hire).is_some() {
            self.drop_queued(ordinal, facts);
        } else if self.live_hire(&hire).is_some() {
            self.emit_ask(Ask::Tell { to: hire, what: Stimulus::Cancel }, Hold::default(), Origin::Outside, facts);
        }
    }

    /// Hears a message. A message from the hirer or the owner answers a question to them. A message from the owner also
    /// ends waits.
    fn hear_message(&mut self, from: &Sender, text: TextRef, facts: &mut Vec<Fact>) {
        let speaker = match from {
            Sender::Owner { .. } => {
                self.detach(facts);
                Addressee::Owner
            }
            Sender::Contract(key) if Some(&key.contract) == self.brief.path.hirer().as_ref() => Addressee::Hirer,
            // Every contract may send a message, but only the receiver of a question answers it.
            Sender::Contract(_) => return,
        };
        let answers = |id: &AskId| matches!(self.ask(*id), Some(Ask::Question { to, matter: Matter::Text(_), .. }) if *to == speaker);
        if let Some(id) = self.questions.iter().copied().find(answers) {
            self.emit(Fact::Answered { id, answer: Answer::Text(text), cost: Cost::Known(Msat::ZERO) }, facts);
        }
    }

    /// Ends all waits, so that the model is shown the new message next. Blocking hires continue in the background.
    pub(super) fn detach(&mut self, facts: &mut Vec<Fact>) {
        if self.phase != Phase::Working {
            return;
        }
        let waits = self.waits.iter().map(|wait| Pause::Call(wait.call));
        let live = self.live.iter().filter(|(_, id)| self.open[id].pauses).map(|(ordinal, _)| Pause::Hire(*ordinal));
        let queued = self.queue.iter().filter(|(_, queued)| queued.pauses).map(|(ordinal, _)| Pause::Hire(*ordinal));
        for pause in waits.chain(live).chain(queued).collect::<Vec<_>>() {
            self.emit(Fact::Woke { pause, why: Waking::Message }, facts);
        }
    }

    /// Hears a hire from outside. No call waits for such a hire, so it always runs in the background.
    fn hear_hire(&mut self, offer: Offer, now: Millis, facts: &mut Vec<Fact>) {
        let offer = Offer { mode: Mode::Background, ..offer };
        for place in self.places(&[Want::Hire(&offer)], now) {
            // The own request goes first, also before a hire that would fit.
            let place = if self.request_is_due() { place.behind() } else { place };
            self.place_hire(&offer, Origin::Outside, place, Later::default(), now, facts);
        }
    }

    /// Hears a top-up. Money for this contract is added to its purse. Money for a contract below is added to the hold
    /// of the hire on the way and passed on by one level. If that hire is not live, the money stays here.
    fn hear_money(&mut self, from: Sender, to: Path, money: Msat, draw: Option<AskId>, facts: &mut Vec<Fact>) {
        // The sum would exceed the supply of bitcoin.
        if self.purse.raised(money).is_none() {
            return;
        }
        let what = Stimulus::TopUp { to: to.clone(), money, draw };
        self.emit(Fact::Heard { from, stimulus: what.clone() }, facts);
        if to == self.brief.path {
            if let Some(draw) = draw {
                self.end_draw(draw, Answer::Met, facts);
            }
            return;
        }
        let next = self.brief.path.toward(&to).and_then(|hop| Some((self.live_hire(&hop)?, hop)));
        match next {
            Some((hire, hop)) if self.phase == Phase::Working => {
                self.emit(Fact::Raised { hire, by: money, draw: None }, facts);
                self.emit_ask(Ask::Tell { to: hop, what }, Hold::default(), Origin::Course, facts);
            }
            Some(_) | None => {
                let why = Refusal::TopUpStays { to, with: self.brief.path.clone() };
                self.refuse(why, Origin::Outside, facts);
            }
        }
    }
}
