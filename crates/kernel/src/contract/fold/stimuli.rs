//! What a contract hears and what it tells its hires: messages, money, draws, endings. Nothing here decides.

use super::{Law, law};
use crate::ask::{Sender, Stimulus};
use crate::brief::CloseWhen;
use crate::contract::Contract;
use crate::contract::row::Drawer;
use crate::contract::state::{Ending, OwnDraw, Passing, Phase};
use crate::money::{Msat, Quantity};
use crate::path::AskId;
use crate::report::{Limit, Nudge, Outcome};

impl Contract {
    pub(super) fn fold_tell(&mut self, hire: AskId, what: &Stimulus) -> Law {
        let ending = match what {
            Stimulus::TopUp { to, money, draw } => {
                let (to, money, draw) = (to.clone(), *money, *draw);
                let raised = Some(Box::new(Passing { to, money, raised: Some(hire), draw }));
                return law(
                    self.passing.take() == raised,
                    "only money that was heard and added to the hire's hold is passed on",
                );
            }
            Stimulus::Message(_) => return self.change_hire(hire, |open| open.waits_for_answer = false),
            Stimulus::RefuseDraw { draw } => {
                let drawer = self.open.get(&hire).and_then(|open| open.draws);
                law(drawer.is_some_and(|drawer| drawer.draw == *draw), "only a draw that was heard is refused")?;
                return self.change_hire(hire, |open| open.draws = None);
            }
            Stimulus::WrapUp => Ending::WrapUp,
            Stimulus::Cancel => Ending::Cancel,
            Stimulus::Question(_)
            | Stimulus::Draw { .. }
            | Stimulus::Hire(_)
            | Stimulus::DropHire { .. }
            | Stimulus::OutOfTokens { .. } => {
                return Err("only messages, money, refused draws and endings are sent to a hire");
            }
        };
        // A hire that ends ends its draw itself.
        self.change_hire(hire, |open| {
            open.ending_sent = Some(ending);
            open.draws = None;
        })
    }

    pub(super) fn fold_raised(&mut self, hire: AskId, by: Msat, draw: Option<AskId>) -> Law {
        match draw {
            Some(draw) => self.fold_drawn(hire, by, draw)?,
            None => self.fold_passed_on(hire, by)?,
        }
        let open = self.open.get_mut(&hire).ok_or("a live hire is open")?;
        self.purse = self.purse.hold(by).ok_or("a hold is raised by available money")?;
        open.hold.money = open.hold.money.plus(by).ok_or("no sum exceeds the supply of bitcoin")?;
        let within = open.money_max.is_none_or(|max| open.hold.money <= max);
        law(within, "a grant and its draws are at most the hire's maximum")
    }

    /// Answers the draw of a hire. The money is sent to the hire next.
    fn fold_drawn(&mut self, hire: AskId, by: Msat, draw: AskId) -> Law {
        law(self.phase == Phase::Working, "a contract that is ending answers no draw")?;
        law(self.passing.is_none(), "money that was heard is passed on or kept before anything else happens")?;
        let open = self.open.get(&hire).ok_or("a live hire is open")?;
        let drawer = open.draws.ok_or("only a hire that draws is raised by a draw")?;
        law((drawer.draw, drawer.least) == (draw, by), "a draw is raised once, by what is missing")?;
        let to = open.ask.brief().ok_or("a live hire is open")?.path.clone();
        law(self.drawers.first() == Some(&to.ordinal()), "no draw overtakes one of an older hire")?;
        self.passing = Some(Box::new(Passing { to, money: by, raised: Some(hire), draw: Some(draw) }));
        self.change_hire(hire, |open| open.draws = None)
    }

    /// Passes on a top-up of a person. It raises the maximum of each hire that it passes.
    fn fold_passed_on(&mut self, hire: AskId, by: Msat) -> Law {
        let passing = self.passing.as_mut().ok_or("a hold is raised only by a top-up that was heard")?;
        law(
            passing.raised.is_none() && passing.money == by,
            "each top-up raises its hold once, by the amount of the top-up",
        )?;
        let way = self.brief.path.toward(&passing.to).ok_or("money is passed on only to contracts below")?;
        law(self.live.get(&way.ordinal()) == Some(&hire), "money is passed to the hire on the way to its receiver")?;
        passing.raised = Some(hire);
        self.change_hire(hire, |open| {
            open.money_max = open.money_max.map(|max| max.plus(by).unwrap_or(Msat::SUPPLY));
            let missing = |drawer: Drawer| drawer.least.minus(by).filter(|least| *least > Msat::ZERO);
            open.draws = open.draws.and_then(|drawer| Some(Drawer { least: missing(drawer)?, ..drawer }));
        })
    }

    pub(super) fn fold_heard(&mut self, from: &Sender, stimulus: &Stimulus) -> Law {
        law(self.heard.insert(from.clone()), "a stimulus is heard once")?;
        self.own_draw = self.own_draw.without_refusal();
        match stimulus {
            Stimulus::Message(text) | Stimulus::Question(text) => {
                self.view.add(u64::from(text.bytes));
                self.unread = true;
                self.urgent |= matches!((from, stimulus), (Sender::Owner { .. }, _) | (_, Stimulus::Question(_)));
                if let (Some(hire), Stimulus::Question(_)) = (self.sending_hire(from), stimulus) {
                    self.change_hire(hire, |open| open.waits_for_answer = true)?;
                }
                // An agent is asked once for each task or message whether its text is its report. The answer to its own question
                // is no new task.
                if matches!(stimulus, Stimulus::Message(_)) && self.questions.is_empty() {
                    self.nudged.remove(&Nudge::ConfirmReport);
                }
                // In a conversation, each message from the owner resets the turns and the nudges.
                if self.brief.close_when == CloseWhen::Asked && matches!(from, Sender::Owner { .. }) {
                    self.turns = 0;
                    self.nudged.clear();
                }
            }
            Stimulus::TopUp { to, money, draw } => {
                law(self.may_pay(from), "money comes from the hirer, and for a root from the owner")?;
                self.purse = self.purse.raised(*money).ok_or("no sum exceeds the supply of bitcoin")?;
                let own = *to == self.brief.path;
                law(own || draw.is_none(), "only money for the contract itself answers its draw")?;
                if draw.is_none() {
                    self.money_max = self.money_max.map(|max| max.plus(*money).unwrap_or(Msat::SUPPLY));
                }
                // The hirer counts all money that it sends this way toward the draw.
                if let OwnDraw::Open(draw) = &mut self.own_draw {
                    draw.missing = draw.missing.minus(*money).unwrap_or(Msat::ZERO);
                }
                let passing = || Passing { to: to.clone(), money: *money, raised: None, draw: None };
                self.passing = (!own).then(|| Box::new(passing()));
            }
            Stimulus::Draw { least } => self.fold_draw(from, *least)?,
            Stimulus::WrapUp => self.asked_to_end = self.asked_to_end.or(Some(Outcome::Exhausted(Limit::Asked))),
            Stimulus::OutOfTokens { left } => {
                law(self.brief.path.level() == 0, "only a root is told that the tokens are used up")?;
                self.asked_to_end = self.asked_to_end.or(Some(Outcome::Exhausted(Limit::Asked)));
                self.last_tokens_max = Some(*left);
            }
            Stimulus::Cancel => self.asked_to_end = Some(Outcome::Cancelled),
            Stimulus::Hire(_) => self.free_before = self.purse.available(),
            Stimulus::RefuseDraw { .. } | Stimulus::DropHire { .. } => {}
        }
        Ok(())
    }

    /// Notes the draw of a live hire. A later draw replaces an earlier one, which the hire has ended itself.
    fn fold_draw(&mut self, from: &Sender, least: Msat) -> Law {
        let hire = self.sending_hire(from).ok_or("only a live hire draws")?;
        let Sender::Contract(key) = from else { return Err("only a live hire draws") };
        law(least > Msat::ZERO, "a draw is above zero")?;
        let working = self.phase == Phase::Working;
        self.change_hire(hire, |open| {
            if open.newest_draw.is_none_or(|newest| newest < key.ask) {
                open.newest_draw = Some(key.ask);
                // A hire that was told to end ends its draw itself.
                open.draws = (working && open.ending_sent.is_none()).then_some(Drawer { draw: key.ask, least });
            }
        })
    }

    /// Returns whether this sender may send money: the hirer to its hire, the owner to a root.
    pub(in crate::contract) fn may_pay(&self, from: &Sender) -> bool {
        match from {
            Sender::Owner { .. } => self.brief.path.level() == 0,
            Sender::Contract(key) => self.brief.path.hirer().as_ref() == Some(&key.contract),
        }
    }
}
