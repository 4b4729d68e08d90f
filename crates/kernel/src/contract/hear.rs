//! What a contract is told: words, money, hires from outside, the wish that it ends. Each is heard once.

use super::{Contract, Phase};
use crate::ask::{Addressee, Answer, Ask, Cost, Matter, Origin, Sender, Stimulus};
use crate::brief::{Mode, Offer};
use crate::fact::{Fact, Hold, Pause, Waking};
use crate::money::Msat;
use crate::path::{AskId, DEPTH_MAX, Path};
use crate::refusal::{MESSAGE_BYTES_MAX, Refusal};
use crate::report::{Limit, Outcome};
use crate::text::TextRef;
use crate::time::Millis;

use super::share::Want;

impl Contract {
    pub(super) fn hear(&mut self, from: Sender, what: Stimulus, now: Millis, facts: &mut Vec<Fact>) {
        // Who was cancelled listens to nothing but money, which must end up somewhere.
        let deaf = self.is_cancelled() && !matches!(what, Stimulus::TopUp { .. });
        if deaf || self.heard.contains(&from) || !self.listens(&from, &what) {
            return;
        }
        if let Stimulus::TopUp { to, money } = what {
            return self.hear_money(from, to, money, facts);
        }
        self.emit(Fact::Heard { from: from.clone(), stimulus: what.clone() }, facts);
        match what {
            Stimulus::Message(text) => self.hear_words(&from, text, facts),
            Stimulus::Question(_) => self.detach(facts),
            Stimulus::Hire(offer) => self.hear_hire(*offer, now, facts),
            Stimulus::WrapUp if self.phase == Phase::Working => {
                let outcome = if self.at_ease() { Outcome::Done } else { Outcome::Exhausted(Limit::Asked) };
                self.begin_closing(outcome, facts);
            }
            Stimulus::WrapUp => {}
            Stimulus::Cancel => self.begin_closing(Outcome::Cancelled, facts),
            Stimulus::TopUp { .. } => unreachable!("money was heard above"),
        }
    }

    /// Whether it is for the sender to say that. Words are anybody's, within their length; hires and endings are the owner's
    /// and the hirer's, a question is that of a live hire.
    fn listens(&self, from: &Sender, what: &Stimulus) -> bool {
        let above = match from {
            Sender::Owner { .. } => true,
            Sender::Contract(key) => self.brief.path.hirer().as_ref() == Some(&key.contract),
        };
        // What could not be written down and read again was never said.
        let nameable = |path: &Path| path.level() <= usize::from(DEPTH_MAX);
        let signed = match from {
            Sender::Owner { .. } => true,
            Sender::Contract(key) => key.ask.0 > 0 && nameable(&key.contract),
        };
        signed
            && match what {
                Stimulus::Message(text) => text.bytes <= MESSAGE_BYTES_MAX,
                Stimulus::Question(text) => {
                    let hire = match from {
                        Sender::Owner { .. } => None,
                        Sender::Contract(key) => self.live_hire(&key.contract),
                    };
                    hire.is_some() && text.bytes <= MESSAGE_BYTES_MAX
                }
                Stimulus::TopUp { to, .. } => self.pays(from) && nameable(to),
                Stimulus::Hire(_) | Stimulus::WrapUp | Stimulus::Cancel => above,
            }
    }

    /// Words of one's hirer answer the question that it was asked. Words of the owner interrupt a wait.
    fn hear_words(&mut self, from: &Sender, text: TextRef, facts: &mut Vec<Fact>) {
        let speaker = match from {
            Sender::Owner { .. } => {
                self.detach(facts);
                Addressee::Owner
            }
            Sender::Contract(key) if Some(&key.contract) == self.brief.path.hirer().as_ref() => Addressee::Hirer,
            // Words may go direct, but only the one who was asked answers.
            Sender::Contract(_) => return,
        };
        let answers = |id: &AskId| matches!(self.ask(*id), Some(Ask::Question { to, matter: Matter::Words(_), .. }) if *to == speaker);
        if let Some(id) = self.questions.iter().copied().find(answers) {
            self.emit(Fact::Answered { id, answer: Answer::Words(text), cost: Cost::Known(Msat::ZERO) }, facts);
        }
    }

    /// Lets what the contract waits for go on in the background, so that it can hear what was said.
    pub(super) fn detach(&mut self, facts: &mut Vec<Fact>) {
        if self.phase != Phase::Working {
            return;
        }
        let waits = self.waits.iter().map(|wait| Pause::Call(wait.call));
        let hires = self.live.values().filter(|id| self.open[id].pauses).map(|id| Pause::Hire(*id));
        for pause in waits.chain(hires).collect::<Vec<_>>() {
            self.emit(Fact::Woke { pause, why: Waking::Words }, facts);
        }
    }

    /// A hire from outside has nobody who waits for it, so it is always a background one.
    fn hear_hire(&mut self, offer: Offer, now: Millis, facts: &mut Vec<Fact>) {
        let offer = Offer { mode: Mode::Background, ..offer };
        for share in self.shares(&[Want::Hire(&offer)], now) {
            self.admit_hire(&offer, Origin::Outside, share, now, facts);
        }
    }

    /// Money is taken, or passed on by one hop: the hold of the hire on the way grows by it. If nobody on the way lives,
    /// it stays here.
    fn hear_money(&mut self, from: Sender, to: Path, money: Msat, facts: &mut Vec<Fact>) {
        // There can't be so much.
        if self.purse.raised(money).is_none() {
            return;
        }
        let what = Stimulus::TopUp { to: to.clone(), money };
        self.emit(Fact::Heard { from, stimulus: what.clone() }, facts);
        if to == self.brief.path {
            return;
        }
        let next = self.brief.path.toward(&to).and_then(|hop| Some((self.live_hire(&hop)?, hop)));
        match next {
            Some((hire, hop)) if self.phase == Phase::Working => {
                self.emit(Fact::Raised { hire, by: money }, facts);
                self.emit_ask(Ask::Tell { to: hop, what }, Hold::default(), Origin::Course, facts);
            }
            Some(_) | None => {
                let why = Refusal::TopUpStays { to, with: self.brief.path.clone() };
                self.refuse(why, Origin::Outside, facts);
            }
        }
    }
}
