//! The row: hires that wait for the contract's money. First hires that draw, oldest first, and then hires that have not begun,
//! oldest first. Nobody overtakes.

use super::share::{Claim, blocking_if_any, fitting, give_out};
use super::state::DrawnFor;
use super::{Contract, NOTICE_BYTES_MAX, OwnDraw, Phase};
use crate::ask::{Ask, Origin, Stimulus};
use crate::brief::{Context, Inherit, Mode, Offer};
use crate::fact::{Fact, Hold};
use crate::money::{Heads, Msat, Quantity};
use crate::path::{AskId, Path};
use crate::refusal::Refusal;
use crate::time::Millis;

/// A hire that waits for money before it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queued {
    pub(super) origin: Origin,
    pub(super) offer: Offer,
    pub(super) context: Context,
    /// Whether the next request waits for the report.
    pub(super) pauses: bool,
}

impl Queued {
    pub(super) fn mode(&self) -> Mode {
        if self.pauses { Mode::Blocking } else { Mode::Background }
    }
}

/// A draw that a hirer has heard and not answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawer {
    /// The draw: an ask of the hire.
    pub(super) draw: AskId,
    /// What is missing.
    pub(super) least: Msat,
}

/// Sums over the queue, so that a share of heads is computed in the same time for a queue of any length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QueueHeads {
    /// The heads of hires that can't hire or whose offers name a number.
    pub(super) named: u64,
    /// The number of hires that get a share.
    pub(super) sharing: u32,
    /// The number of hires in the background.
    pub(super) background: u32,
}

impl QueueHeads {
    pub(super) fn add(&mut self, heads: Option<Heads>, mode: Mode) {
        match heads {
            Some(heads) => self.named += u64::from(heads.0),
            None => self.sharing += 1,
        }
        self.background += u32::from(mode == Mode::Background);
    }

    pub(super) fn remove(&mut self, heads: Option<Heads>, mode: Mode) {
        match heads {
            Some(heads) => self.named -= u64::from(heads.0),
            None => self.sharing -= 1,
        }
        self.background -= u32::from(mode == Mode::Background);
    }
}

/// The open asks that hold money or may return some, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moving {
    /// Open calls and checks that hold money.
    pub(super) leaves: u32,
    /// Live hires that neither draw nor wait for an answer of this contract.
    pub(super) hires: u32,
    /// Live hires that the next request waits for.
    pub(super) blocking: u32,
}

impl Contract {
    pub(super) fn queue_heads(&self) -> QueueHeads {
        self.queue_heads
    }

    /// Returns whether nobody waits for this contract's money.
    pub(super) fn row_is_empty(&self) -> bool {
        self.queue.is_empty() && self.drawers.is_empty()
    }

    /// Returns whether nothing that holds money can return any: all live hires wait for this contract.
    pub(super) fn is_stuck(&self) -> bool {
        self.moving.leaves == 0 && self.moving.hires == 0
    }

    /// Returns whether there is something that a new hire may wait for. A blocking hire waits only for what its hirer
    /// waits for anyway.
    pub(super) fn may_wait(&self, mode: Mode) -> bool {
        match mode {
            Mode::Blocking => self.moving.leaves > 0 || self.moving.blocking > 0,
            Mode::Background => !self.is_stuck(),
        }
    }

    /// Serves those who wait: first the hires that draw, then the hires that have not begun. Returns when the first in the
    /// row does not fit and something may return money, when the row is empty, or when the own request is due: it goes first.
    pub(super) fn serve(&mut self, now: Millis, facts: &mut Vec<Fact>) {
        while self.phase == Phase::Working && !self.request_is_due() {
            let served = match self.drawers.first().copied() {
                Some(ordinal) => self.serve_drawer(ordinal, facts) || self.refuse_blocking_hire(facts),
                None if !self.queue.is_empty() => self.serve_queue(now, facts),
                None => return,
            };
            if !served {
                return;
            }
        }
    }

    /// Gives the oldest drawer its money. Returns whether the next in the row may be served.
    fn serve_drawer(&mut self, ordinal: u32, facts: &mut Vec<Fact>) -> bool {
        let (hire, drawer) = self.drawer(ordinal);
        if drawer.least <= self.pot() {
            self.raise(ordinal, hire, drawer, facts);
            return true;
        }
        // A hire whose draw is refused wraps up and returns money. If it also waits for an answer, the next in the row is refused.
        self.is_stuck()
            && self.find_money(DrawnFor::Row, self.missing(drawer.least, drawer.least), facts) == Found::GiveWay
            && self.refuse_youngest_drawer(facts)
    }

    /// Admits the first hires of the queue, as many as fit. Returns whether the next in the row may be served.
    fn serve_queue(&mut self, now: Millis, facts: &mut Vec<Fact>) -> bool {
        if self.admit_row(now, facts) || self.refuse_blocking_hire(facts) {
            return true;
        }
        let Some((&ordinal, first)) = self.queue.first_key_value() else { return false };
        if !self.is_stuck() {
            return false;
        }
        let turn = self.one_turn_of(&first.offer, &first.context);
        let minimum = self.minimum_of(&first.offer, &first.context);
        match self.find_money(DrawnFor::Row, self.missing(minimum, turn), facts) {
            Found::Wait => false,
            Found::GiveWay => {
                self.refuse_queued_for_money(ordinal, facts);
                true
            }
        }
    }

    /// Admits the longest row from the front of the queue whose needs fit. If then nobody waits, the rest of the pot is
    /// given out. Returns whether the queue has changed.
    fn admit_row(&mut self, now: Millis, facts: &mut Vec<Fact>) -> bool {
        let Some((&first, queued)) = self.queue.first_key_value() else { return false };
        if let Err(why) = self.check_offer(&queued.offer, now).and_then(|()| self.check_heads(&queued.offer)) {
            self.refuse_queued(first, why, facts);
            return true;
        }
        let part = self.queue_heads.part(self.heads.available());
        let (mut pot, mut heads) = (self.pot(), self.heads.available());
        let mut claims: Vec<(u32, Claim<'_>)> = Vec::new();
        let mut before = None;
        for (ordinal, queued) in &self.queue {
            let all = self.heads_of(&queued.offer).unwrap_or(part);
            let lawful = claims.is_empty() || self.check_offer(&queued.offer, now).is_ok();
            let Some(left) = heads.minus(all).filter(|_| lawful) else { break };
            let mut claim = self.claim(&queued.offer, &queued.context, all);
            let less = self.may_start_with_less(queued.mode(), before);
            let Some(money) = fitting(claim.need, claim.minimum, pot, less) else { break };
            claim.money = money;
            (pot, heads) = (pot.minus(money).expect("what fits is at most the pot"), left);
            before = Some(blocking_if_any(before, queued.mode()));
            claims.push((*ordinal, claim));
        }
        if claims.len() == self.queue.len() {
            give_out(pot, claims.iter_mut().map(|(_, claim)| claim).collect());
        }
        let shares: Vec<_> = claims.iter().map(|(ordinal, claim)| (*ordinal, claim.share())).collect();
        for (ordinal, share) in &shares {
            let queued = self.queue[ordinal].clone();
            match self.consider(&queued.offer, queued.context.clone(), *ordinal, *share, now) {
                Ok(brief) => self.emit_hire(brief, queued.mode(), queued.origin, facts),
                Err(why) => self.refuse_queued(*ordinal, why, facts),
            }
        }
        !shares.is_empty()
    }

    fn check_heads(&self, offer: &Offer) -> Result<(), Refusal> {
        let (asked, free) = (self.heads_of(offer).unwrap_or(Heads(1)), self.heads.available());
        if asked > free { Err(Refusal::NoHeads { asked, free }) } else { Ok(()) }
    }

    /// Refuses the oldest blocking hire of the queue if all that still moves works in the background. Returns whether it
    /// has refused one.
    fn refuse_blocking_hire(&mut self, facts: &mut Vec<Fact>) -> bool {
        let some = self.queue.len() > self.queue_heads.background as usize;
        if !some || self.is_stuck() || self.may_wait(Mode::Blocking) {
            return false;
        }
        // A hire that costs nothing is never refused for money. It begins after the hires before it.
        let must_not = |queued: &Queued| queued.pauses && self.minimum_of(&queued.offer, &queued.context) > Msat::ZERO;
        let first = self.queue.iter().find(|(_, queued)| must_not(queued)).map(|(ordinal, _)| *ordinal);
        let Some(ordinal) = first else { return false };
        self.refuse_queued_for_money(ordinal, facts);
        true
    }

    /// Finds money when nothing moves: draws it from the hirer, if that is possible.
    pub(super) fn find_money(&mut self, wanted: DrawnFor, missing: Missing, facts: &mut Vec<Fact>) -> Found {
        match self.own_draw {
            OwnDraw::Open(_) => return Found::Wait,
            OwnDraw::Refused(refused) if refused == wanted => return Found::GiveWay,
            OwnDraw::Refused(_) | OwnDraw::None => {}
        }
        let Some(least) = self.drawable(missing) else { return Found::GiveWay };
        self.emit_ask(Ask::Draw { least }, Hold::default(), Origin::Course, facts);
        Found::Wait
    }

    /// Returns how much of the missing money the contract may ask its hirer for. `None` if that would not even be the least
    /// that helps.
    pub(super) fn drawable(&self, missing: Missing) -> Option<Msat> {
        let part = missing.all.min(self.room());
        (part >= missing.least && part > Msat::ZERO).then_some(part)
    }

    /// Returns whether the contract may ask its hirer for this amount.
    pub(super) fn can_draw(&self, missing: Msat) -> bool {
        missing > Msat::ZERO && missing <= self.room()
    }

    /// Returns how much the contract may still draw.
    fn room(&self) -> Msat {
        match self.money_max {
            _ if self.brief.path.level() == 0 => Msat::ZERO,
            None => Msat::SUPPLY,
            Some(max) => max.minus(self.purse.granted()).unwrap_or(Msat::ZERO),
        }
    }

    /// Returns whether the contract may get more money from its hirer.
    pub fn may_draw(&self) -> bool {
        self.room() > Msat::ZERO
    }

    /// Refuses the draw of the youngest hire that draws, if there is one. Its change serves the others.
    pub(super) fn refuse_youngest_drawer(&mut self, facts: &mut Vec<Fact>) -> bool {
        let Some(ordinal) = self.drawers.last().copied() else { return false };
        self.refuse_draw(ordinal, facts);
        true
    }

    pub(super) fn refuse_draw(&mut self, ordinal: u32, facts: &mut Vec<Fact>) {
        let (_, Drawer { draw, .. }) = self.drawer(ordinal);
        let tell = Ask::Tell { to: self.brief.path.hire(ordinal), what: Stimulus::RefuseDraw { draw } };
        self.emit_ask(tell, Hold::default(), Origin::Course, facts);
    }

    fn raise(&mut self, ordinal: u32, hire: AskId, drawer: Drawer, facts: &mut Vec<Fact>) {
        let Drawer { draw, least } = drawer;
        self.emit(Fact::Raised { hire, by: least, draw: Some(draw) }, facts);
        let to = self.brief.path.hire(ordinal);
        let what = Stimulus::TopUp { to: to.clone(), money: least, draw: Some(draw) };
        self.emit_ask(Ask::Tell { to, what }, Hold::default(), Origin::Course, facts);
    }

    fn drawer(&self, ordinal: u32) -> (AskId, Drawer) {
        let hire = self.live[&ordinal];
        (hire, self.open[&hire].draws.expect("the list of drawers names hires that draw"))
    }

    fn refuse_queued_for_money(&mut self, ordinal: u32, facts: &mut Vec<Fact>) {
        let Queued { offer, context, .. } = &*self.queue[&ordinal];
        let minimum = self.minimum_of(offer, context);
        let is_first = self.drawers.is_empty() && self.queue.keys().next() == Some(&ordinal);
        // Everything in the pot is for those before it in the row.
        let free = if is_first { self.pot() } else { Msat::ZERO };
        self.refuse_queued(ordinal, Refusal::Money { asked: minimum, free, minimum }, facts);
    }

    /// Refuses a hire that waits.
    pub(super) fn refuse_queued(&mut self, ordinal: u32, why: Refusal, facts: &mut Vec<Fact>) {
        let Queued { origin, offer, pauses, .. } = &*self.queue[&ordinal];
        let (origin, agent) = (*origin, Some(self.candidate(offer).agent.clone()));
        // The model is told about a hire in the background in a separate notice.
        let notice = if *pauses { 0 } else { u32::try_from(NOTICE_BYTES_MAX).expect("a notice is short") };
        let bytes = why.bytes().saturating_add(notice);
        self.emit(Fact::Refused { why, origin, bytes, agent, ordinal: Some(ordinal) }, facts);
        self.wake_ready(facts);
    }

    /// Gives up a hire that waits, because it was stopped.
    pub(super) fn drop_queued(&mut self, ordinal: u32, facts: &mut Vec<Fact>) {
        let hire = self.brief.path.hire(ordinal);
        self.refuse_queued(ordinal, Refusal::StoppedBeforeStart { hire }, facts);
    }

    /// Returns the ordinal of a hire of this contract that waits for money.
    pub(super) fn waiting_hire(&self, path: &Path) -> Option<u32> {
        let own = path.hirer().as_ref() == Some(&self.brief.path);
        (own && self.queue.contains_key(&path.ordinal())).then(|| path.ordinal())
    }

    /// Returns the hires that wait for money and have not begun.
    pub fn waiting(&self) -> impl Iterator<Item = Path> {
        self.queue.keys().map(|ordinal| self.brief.path.hire(*ordinal))
    }

    /// Returns the context that a new hire of this offer would begin with.
    pub(super) fn context_of(&self, offer: &Offer) -> Context {
        self.context_seen_by(offer.inherit == Inherit::Fork)
    }

    /// Returns whether the first in the row can be served now.
    pub(super) fn row_fits(&self) -> bool {
        if let Some(ordinal) = self.drawers.first() {
            return self.drawer(*ordinal).1.least <= self.pot();
        }
        let Some(first) = self.queue.first_key_value().map(|(_, queued)| queued) else { return true };
        let claim = self.claim(&first.offer, &first.context, Heads(1));
        fitting(claim.need, claim.minimum, self.pot(), self.may_start_with_less(first.mode(), None)).is_some()
    }
}

/// Money that is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// The least that helps.
    pub(super) least: Msat,
    pub(super) all: Msat,
}

/// Whether missing money is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The contract has drawn, and waits for the answer.
    Wait,
    /// No draw is possible: a draw or a hire must be refused.
    GiveWay,
}
