//! Shares: the money and heads that each hire is granted, and what the hirer keeps for itself. Nothing here changes the
//! state.
//!
//! The candidates are the hires that wait, oldest first, and then the new ones. Each has a need. The longest row from the
//! front whose needs fit into the pot is admitted. Only if nobody has to wait then, the rest of the pot is given out.

use super::Contract;
use super::row::{Missing, QueueHeads};
use crate::ask::ToolCall;
use crate::brief::{Context, Mode, Offer};
use crate::input::Call;
use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::tariff::{TURN_TOKENS, Tariff};
use crate::time::Millis;

/// The tokens that a hirer expects for each report until a hire has reported. Later it expects the largest report so far,
/// but not less than this.
pub(super) const REPORT_TOKENS_MIN: u64 = 1_000;

/// The hirer keeps the available heads divided by this number.
const HEADS_KEPT: u32 = 10;

/// The hirer keeps at most the money that was available when it hired, divided by this number.
const KEPT_MAX: u64 = 2;

/// How many turns a hire needs, as long as no hire of the hirer has reported what such work costs.
const NEED_TURNS: u32 = 16;

/// The least number of turns that a hire needs, however little the earlier hires have cost.
const NEED_TURNS_MIN: u32 = 4;

/// The money and heads that one hire is granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) money: Msat,
    /// The heads that the hire may use for its own hires. The hire itself needs one more.
    pub(super) heads: Heads,
}

/// What happens to a hire of a reply.
pub(super) enum Place {
    Admit(Share),
    /// It does not fit now.
    Queue,
    /// It comes after others, and is admitted or refused when the row is served.
    Behind,
    Refuse(Refusal),
}

impl Place {
    /// Puts a hire that breaks no law behind others.
    pub(super) fn behind(self) -> Place {
        match self {
            Place::Admit(_) | Place::Queue | Place::Behind => Place::Behind,
            Place::Refuse(why) => Place::Refuse(why),
        }
    }
}

/// What a call needs from the available money and heads.
pub(super) enum Want<'a> {
    Nothing,
    Tool(&'a ToolCall),
    Hire(&'a Offer),
}

impl Want<'_> {
    pub(super) fn of(call: &Call) -> Want<'_> {
        match call {
            Call::Hire(offer) => Want::Hire(offer),
            Call::Tool { call, approval: None } => Want::Tool(call),
            Call::Tool { approval: Some(_), .. }
            | Call::Wait { .. }
            | Call::Stop(_)
            | Call::Message { .. }
            | Call::AskHirer { .. }
            | Call::Invalid(_) => Want::Nothing,
        }
    }
}

/// A hire whose share is being computed.
pub(super) struct Claim<'a> {
    pub(super) offer: &'a Offer,
    pub(super) heads: Heads,
    pub(super) minimum: Msat,
    pub(super) need: Msat,
    pub(super) money: Msat,
}

impl Claim<'_> {
    /// Returns by how much the share may still grow: a named budget, or the agent's maximum, limits it.
    fn room(&self) -> Msat {
        self.offer.money_max().map_or(Msat::SUPPLY, |max| max.minus(self.money).unwrap_or(Msat::ZERO))
    }

    fn grow(&mut self, by: Msat) {
        self.money = self.money.plus(by).expect("shares are parts of the available money");
    }

    pub(super) fn share(&self) -> Share {
        Share { money: self.money, heads: self.heads }
    }
}

/// What the hires of a contract have cost and reported so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Learned {
    /// The most that one hire has spent.
    pub(super) most_spent: Msat,
    /// The largest report so far, with its task and notice, in tokens.
    pub(super) report_tokens: u64,
    /// Whether a hire has reported.
    pub(super) reported: bool,
}

impl Learned {
    pub(super) const NOTHING: Learned =
        Learned { most_spent: Msat::ZERO, report_tokens: REPORT_TOKENS_MIN, reported: false };

    pub(super) fn report(&mut self, spent: Msat, tokens: u64) {
        self.most_spent = self.most_spent.max(spent);
        self.report_tokens = self.report_tokens.max(tokens);
        self.reported = true;
    }
}

impl Contract {
    /// Returns the money that would be available if the answer to this open ask cost nothing: the available money plus
    /// the ask's hold.
    pub fn money_with(&self, ask: AskId) -> Msat {
        let hold = self.hold(ask).unwrap_or_default().money;
        self.purse.available().plus(hold).unwrap_or(Msat::SUPPLY)
    }

    /// Returns the largest part of this amount that could be granted to one more hire. The contract keeps the rest for its
    /// own next turn.
    pub fn grantable(&self, money: Msat) -> Msat {
        money.minus(self.kept_of(money, 1)).unwrap_or(Msat::ZERO)
    }

    /// Decides what happens to each hire among the wants, in order. A hire that breaks a law is refused; the longest row
    /// of the others whose needs fit is admitted, and the rest waits.
    pub(super) fn places(&self, wants: &[Want<'_>], now: Millis) -> Vec<Place> {
        let (mut free, mut tools) = (self.purse.available(), false);
        let mut checked = Vec::new();
        let mut refused = Vec::new();
        for want in wants {
            match want {
                Want::Nothing => {}
                Want::Tool(call) if self.missing_power(call).is_some() => {}
                Want::Tool(call) => {
                    // A call that can't be paid is refused and holds nothing.
                    if let Some(rest) = free.minus(call.price) {
                        free = rest;
                        tools |= call.price > Msat::ZERO;
                    }
                }
                Want::Hire(offer) => match self.check_new(offer, now) {
                    Ok(()) => {
                        refused.push(None);
                        checked.push(*offer);
                    }
                    Err(why) => refused.push(Some(why)),
                },
            }
        }
        let mut claims = self.claims(&checked).into_iter();
        let places = refused.into_iter().map(|refused| match refused {
            Some(why) => Err(why),
            None => claims.next().expect("every hire that was checked has a claim"),
        });
        let places: Vec<Result<Claim<'_>, Refusal>> = places.collect();
        if !self.row_is_empty() {
            let place = |place: Result<Claim<'_>, Refusal>| place.map_or_else(Place::Refuse, |_| Place::Behind);
            return places.into_iter().map(place).collect();
        }
        self.fill_row(free, places, tools)
    }

    /// Admits the longest row from the front whose needs fit, and gives out the rest if nobody has to wait. A hire that does
    /// not fit and has nothing to wait for is refused, and the next is tried. `tools` is whether the reply has tool calls
    /// that hold money.
    fn fill_row(&self, free: Msat, mut places: Vec<Result<Claim<'_>, Refusal>>, tools: bool) -> Vec<Place> {
        let mut count = places.iter().flatten().count();
        let pot_beside = |granted: Msat, count| {
            let rest = free.minus(granted).expect("what was granted is a part of what is free");
            rest.minus(self.kept(count)).unwrap_or(Msat::ZERO)
        };
        let (mut pot, mut granted) = (pot_beside(Msat::ZERO, count), Msat::ZERO);
        let (mut admitted, mut before) = (0, None);
        for place in &mut places {
            let Ok(claim) = place else { continue };
            let mode = claim.offer.mode;
            // A blocking hire behind hires in the background waits for tool calls, too.
            let waits_for_tools = tools && (before.is_some() || !self.live.is_empty());
            let less = !waits_for_tools && self.may_start_with_less(mode, before);
            if let Some(money) = fitting(claim.need, claim.minimum, pot, less) {
                claim.money = money;
                pot = pot.minus(money).expect("what fits is at most the pot");
                granted = granted.plus(money).expect("the pot is a part of what is free");
                (admitted, before) = (admitted + 1, Some(blocking_if_any(before, mode)));
                continue;
            }
            let draws = before.is_none() && self.is_stuck() && self.brief.path.level() > 0;
            if !less || draws || tools {
                break;
            }
            *place = Err(Refusal::Money { asked: claim.minimum, free: pot, minimum: claim.minimum });
            count -= 1;
            pot = pot_beside(granted, count);
        }
        let claims: Vec<&mut Claim<'_>> = places.iter_mut().flatten().collect();
        if admitted == claims.len() {
            give_out(pot, claims);
        }
        let mut left = admitted;
        let mut place = |claim: Claim<'_>| {
            if left == 0 {
                return Place::Queue;
            }
            left -= 1;
            Place::Admit(claim.share())
        };
        places.into_iter().map(|claim| claim.map_or_else(Place::Refuse, &mut place)).collect()
    }

    /// Returns whether a candidate may get less than its need: nothing moves that it may wait for. `before` is the mode of
    /// the hires that are admitted together with it, before it: blocking if any of them is.
    pub(super) fn may_start_with_less(&self, mode: Mode, before: Option<Mode>) -> bool {
        let waits_for_them = match (mode, before) {
            (_, None) | (Mode::Blocking, Some(Mode::Background)) => false,
            (Mode::Background, Some(_)) | (Mode::Blocking, Some(Mode::Blocking)) => true,
        };
        !self.may_wait(mode) && !waits_for_them
    }

    /// Checks a new offer against every law, and against its own maximum.
    fn check_new(&self, offer: &Offer, now: Millis) -> Result<(), Refusal> {
        self.check_offer(offer, now)?;
        let context = self.context_of(offer);
        let minimum = self.minimum_of(offer, &context);
        let share = Share { money: minimum, heads: Heads::ZERO };
        match self.draft(offer, context, self.hires + 1, share, now).check() {
            // Whether the minimum is available is checked later, also if it exceeds the supply of bitcoin.
            Ok(()) | Err(Refusal::Money { .. }) => {}
            Err(why) => return Err(why),
        }
        match offer.money_max() {
            Some(max) if max < minimum => Err(Refusal::Money { asked: max, free: self.purse.available(), minimum }),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes the claims of new hires, and takes their heads: a hire that can't hire takes one head. A hire whose offer
    /// names a number of heads takes that number. The hirer keeps a tenth of the rest, and the other hires share what
    /// remains. The unused heads of a blocking hire come back before the hirer's next turn, so the hirer gets a share
    /// itself only if a hire works in the background.
    fn claims<'a>(&self, offers: &[&'a Offer]) -> Vec<Result<Claim<'a>, Refusal>> {
        let mut heads = self.queue_heads();
        for offer in offers {
            heads.add(self.heads_of(offer), offer.mode);
        }
        let part = heads.part(self.heads.available());
        let mut left = self.heads.available();
        let mut take = |offer: &&'a Offer| {
            let all = self.heads_of(offer).unwrap_or(part);
            left = left.minus(all).ok_or(Refusal::NoHeads { asked: all, free: left })?;
            Ok(self.claim(offer, &self.context_of(offer), all))
        };
        offers.iter().map(&mut take).collect()
    }

    /// Makes a claim that takes `all` heads, including one for the hire itself.
    pub(super) fn claim<'a>(&self, offer: &'a Offer, context: &Context, all: Heads) -> Claim<'a> {
        let heads = all.minus(Heads(1)).unwrap_or(Heads::ZERO);
        let (minimum, need) = (self.minimum_of(offer, context), self.need_of(offer, context));
        Claim { offer, heads, minimum, need, money: Msat::ZERO }
    }

    /// Returns the heads that a hire takes, itself included; `None` if it gets a share.
    pub(super) fn heads_of(&self, offer: &Offer) -> Option<Heads> {
        match offer.heads {
            Some(said) => Some(Heads(said.0.saturating_add(1))),
            None => (!self.can_hire(offer)).then_some(Heads(1)),
        }
    }

    /// Returns the least money that a hire can work with.
    pub(super) fn minimum_of(&self, offer: &Offer, context: &Context) -> Msat {
        let (tariff, tokens) = self.opening_of(offer, context);
        with_fixed_parts(offer, tariff, tariff.turn_min(tokens), 1)
    }

    /// Returns the money for one ordinary turn of a hire, at most the hire's maximum.
    pub(super) fn one_turn_of(&self, offer: &Offer, context: &Context) -> Msat {
        let (tariff, tokens) = self.opening_of(offer, context);
        let turn = with_fixed_parts(offer, tariff, turn(tariff, tokens), 1);
        turn.min(offer.money_max().unwrap_or(Msat::SUPPLY)).max(self.minimum_of(offer, context))
    }

    /// Returns the money with which a hire is admitted while others wait. With a named budget, it is the minimum: draws
    /// bring the rest. Otherwise it is the money for some turns, and later a little more than such a hire has cost so far.
    fn need_of(&self, offer: &Offer, context: &Context) -> Msat {
        let minimum = self.minimum_of(offer, context);
        if offer.budget.is_some() {
            return minimum;
        }
        let (tariff, tokens) = self.opening_of(offer, context);
        let turns = |turns| with_fixed_parts(offer, tariff, turn(tariff, tokens), turns);
        let most = turns(NEED_TURNS);
        let need = match self.learned.most_spent {
            Msat::ZERO => most,
            spent => Msat::capped((u128::from(spent.get()) * 5).div_ceil(4)).max(turns(NEED_TURNS_MIN)).min(most),
        };
        need.min(offer.share_max.unwrap_or(Msat::SUPPLY)).max(minimum)
    }

    /// Returns the prices of a hire, and the size of what its first request begins with. A fork has its hirer's prices.
    fn opening_of(&self, offer: &Offer, context: &Context) -> (Tariff, u64) {
        let tariff = match context {
            Context::Fork { .. } => self.brief.tariff,
            Context::Fresh | Context::After { .. } => offer.tariff,
        };
        (tariff, context.tokens().saturating_add(offer.opening_bytes))
    }

    /// Returns the money that the contract keeps for its own next turn, with these new hires besides those that live or
    /// wait. It is at most half of what was available when the contract hired; for a root only until the first report,
    /// because nobody above can help a root.
    pub(super) fn kept(&self, new: usize) -> Msat {
        self.kept_of(if new > 0 { self.free_before } else { self.free_at_hire }, new)
    }

    fn kept_of(&self, free: Msat, new: usize) -> Msat {
        let turn = self.own_turn(new);
        if self.brief.path.level() == 0 && self.learned.reported {
            return turn;
        }
        turn.min(Msat::capped(u128::from(free.get() / KEPT_MAX)))
    }

    /// Returns the cost of one own turn with a report of each hire that lives or waits, and of this many new hires.
    fn own_turn(&self, new: usize) -> Msat {
        turn(self.brief.tariff, self.tokens_with_reports(new))
    }

    /// Returns the size of a request that shows the whole transcript.
    pub fn tokens(&self) -> u64 {
        self.view.total()
    }

    /// Returns the size of a request that also shows a report of each hire that lives or waits, and of this many new hires.
    pub fn tokens_with_reports(&self, new: usize) -> u64 {
        let hires = (self.live.len() + self.queue.len() + new) as u64;
        self.view.total().saturating_add(hires.saturating_mul(self.learned.report_tokens))
    }

    /// Returns the money that can be given to hires and draws.
    pub(super) fn pot(&self) -> Msat {
        self.purse.available().minus(self.kept(0)).unwrap_or(Msat::ZERO)
    }

    /// Returns how much is missing until the pot has this amount, or at least the least amount.
    pub(super) fn missing(&self, least: Msat, all: Msat) -> Missing {
        let (kept, free) = (u128::from(self.kept(0).get()), u128::from(self.purse.available().get()));
        let until = |amount: Msat| Msat::capped((u128::from(amount.get()) + kept).saturating_sub(free));
        Missing { least: until(least), all: until(all) }
    }

    /// Returns whether a hire could make hires itself.
    fn can_hire(&self, offer: &Offer) -> bool {
        offer.hiring.is_some() && self.depth_of(offer) > 0
    }
}

impl QueueHeads {
    /// Returns the heads of each hire that gets a share, itself included.
    pub(super) fn part(&self, available: Heads) -> Heads {
        let rest = available.0.saturating_sub(u32::try_from(self.named).unwrap_or(u32::MAX));
        let sharing = self.sharing.saturating_add(u32::from(self.background > 0));
        Heads((rest - rest / HEADS_KEPT).checked_div(sharing).unwrap_or(0).max(1))
    }
}

/// Adds a hire to the hires that are admitted together.
pub(super) fn blocking_if_any(before: Option<Mode>, mode: Mode) -> Mode {
    if before == Some(Mode::Blocking) { Mode::Blocking } else { mode }
}

/// Returns the money that a candidate gets out of the pot: its need, or less if it is the first one and nothing moves.
pub(super) fn fitting(need: Msat, minimum: Msat, pot: Msat, may_get_less: bool) -> Option<Msat> {
    if need <= pot {
        return Some(need);
    }
    (may_get_less && minimum <= pot).then_some(pot)
}

/// Gives out the rest of the pot: to named budgets first, in equal steps, then to the others in equal parts. If one of these
/// hires works in the background, hires without a named budget get nothing more: the hirer works on and needs turns of its
/// own, and hires can draw.
pub(super) fn give_out(pot: Msat, claims: Vec<&mut Claim<'_>>) {
    let background = claims.iter().any(|claim| claim.offer.mode == Mode::Background);
    let (mut said, mut unsaid): (Vec<_>, Vec<_>) = claims.into_iter().partition(|claim| claim.offer.budget.is_some());
    let rest = fill(pot, &mut said);
    if !background {
        fill(rest, &mut unsaid);
    }
}

/// Divides the pot equally, but no share grows beyond its maximum. Returns what is left.
fn fill(mut pot: Msat, sharing: &mut [&mut Claim<'_>]) -> Msat {
    sharing.sort_by_key(|claim| claim.room());
    let mut rest = sharing;
    while let Some((claim, others)) = rest.split_first_mut() {
        let part = Msat::capped(u128::from(pot.get() / (others.len() as u64 + 1)));
        let by = claim.room().min(part);
        claim.grow(by);
        pot = pot.minus(by).expect("a part is at most the pot");
        rest = others;
    }
    pot
}

/// Returns the cost of an ordinary turn.
pub(super) fn turn(tariff: Tariff, tokens: u64) -> Msat {
    tariff.ceiling(tokens, tariff.max_tokens.min(TURN_TOKENS))
}

/// Returns the money for some turns, the severance and the fee of a hire.
fn with_fixed_parts(offer: &Offer, tariff: Tariff, turn: Msat, turns: u32) -> Msat {
    let severance = offer.severance.max(tariff.last_min());
    let fixed = u128::from(severance.get()) + u128::from(offer.fee.get());
    Msat::capped(u128::from(turn.get()) * u128::from(turns) + fixed)
}
