//! Shares: the money and heads that each hire of one reply is granted. Shares are computed once per reply, so the order
//! of the calls matters only when there is not enough for all. Nothing here changes the state.

use super::Contract;
use crate::ask::ToolCall;
use crate::brief::{Mode, Offer};
use crate::input::Call;
use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::tariff::TURN_TOKENS;
use crate::time::Millis;

/// The expected size of a report, in bytes. A hirer uses it to compute the money that it keeps for its own next turns.
const REPORT_BYTES: u64 = 4_000;

/// The hirer keeps the available heads divided by this number.
const HEADS_KEPT: u32 = 10;

/// The hirer keeps at least the available money divided by this number.
const KEPT_MIN: u64 = 10;

/// The hirer keeps at most the available money divided by this number.
const KEPT_MAX: u64 = 2;

/// The money and heads that one hire is granted.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) money: Msat,
    /// The heads that the hire may use for its own hires. The hire itself needs one more.
    pub(super) heads: Heads,
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
struct Claim<'a> {
    offer: &'a Offer,
    heads: Heads,
    minimum: Msat,
    money: Msat,
    refused: Option<Refusal>,
}

impl Claim<'_> {
    fn is_admitted(&self) -> bool {
        self.refused.is_none()
    }

    /// Takes `all` heads, including one for the hire itself, or refuses the hire.
    fn take_heads(&mut self, left: &mut Heads, all: Heads) {
        match left.minus(all) {
            Some(rest) => {
                *left = rest;
                self.heads = all.minus(Heads(1)).unwrap_or(Heads::ZERO);
            }
            None => self.refused = Some(Refusal::NoHeads { asked: all, free: *left }),
        }
    }

    /// Takes the money, or refuses the hire if the money is not available or less than the minimum.
    fn take_money(&mut self, pot: &mut Msat, asked: Msat, granted: Msat) {
        match pot.minus(granted) {
            Some(rest) if granted >= self.minimum => {
                *pot = rest;
                self.money = granted;
            }
            Some(_) | None => self.refused = Some(Refusal::Money { asked, free: *pot, minimum: self.minimum }),
        }
    }

    fn grow(&mut self, by: Msat) {
        self.money = self.money.plus(by).expect("shares are parts of the available money");
    }

    /// Returns by how much the share may still grow.
    fn room(&self) -> Msat {
        self.offer.share_max.map_or(Msat::SUPPLY, |max| max.minus(self.money).unwrap_or(Msat::ZERO))
    }
}

impl Contract {
    /// Returns the money that would be available if the answer to this open ask cost nothing: the available money plus
    /// the ask's hold.
    pub fn money_with(&self, ask: AskId) -> Msat {
        let hold = self.hold(ask).unwrap_or_default().money;
        self.purse.available().plus(hold).unwrap_or(Msat::SUPPLY)
    }

    /// Returns how much of this amount one hire could be granted. The contract keeps the rest for its own next turns.
    pub fn grantable(&self, money: Msat) -> Msat {
        money.minus(self.kept(money, 1)).unwrap_or(Msat::ZERO)
    }

    /// Returns the share or the refusal of each hire among the wants, in order.
    pub(super) fn shares(&self, wants: &[Want<'_>], now: Millis) -> Vec<Result<Share, Refusal>> {
        let mut free = self.purse.available();
        let mut claims = Vec::new();
        for want in wants {
            match want {
                Want::Nothing => {}
                Want::Tool(call) if self.missing_power(call).is_some() => {}
                Want::Tool(call) => free = free.minus(call.price).unwrap_or(free),
                Want::Hire(offer) => {
                    let refused = self.check_offer(offer, now).err();
                    let (heads, minimum, money) = (Heads::ZERO, Msat::ZERO, Msat::ZERO);
                    claims.push(Claim { offer, heads, minimum, money, refused });
                }
            }
        }
        self.share_heads(&mut claims);
        for claim in claims.iter_mut().filter(|claim| claim.is_admitted()) {
            claim.minimum = self.draft(claim.offer, Share { money: Msat::ZERO, heads: claim.heads }, now).minimum();
        }
        self.share_money(free, &mut claims);
        let share = |claim: Claim<'_>| match claim.refused {
            Some(why) => Err(why),
            None => Ok(Share { money: claim.money, heads: claim.heads }),
        };
        claims.into_iter().map(share).collect()
    }

    /// A hire that can't hire takes one head. A hire whose offer names a number of heads takes that number. The hirer
    /// keeps a tenth of the rest, and the other hires share what remains. The unused heads of a blocking hire come back
    /// before the hirer's next turn, so the hirer gets a share itself only if a hire works in the background.
    fn share_heads(&self, claims: &mut [Claim<'_>]) {
        let mut left = self.heads.available();
        let shares = |claim: &Claim<'_>| claim.offer.heads.is_none() && self.can_hire(claim.offer);
        for claim in claims.iter_mut().filter(|claim| claim.is_admitted() && !shares(claim)) {
            let passed_on = claim.offer.heads.unwrap_or(Heads::ZERO);
            claim.take_heads(&mut left, Heads(passed_on.0.saturating_add(1)));
        }
        let background = claims.iter().any(|claim| claim.is_admitted() && claim.offer.mode == Mode::Background);
        let sharing =
            claims.iter().filter(|claim| claim.is_admitted() && shares(claim)).count() + usize::from(background);
        let rest = left.0 - left.0 / HEADS_KEPT;
        let part = u32::try_from(sharing).ok().and_then(|sharing| rest.checked_div(sharing)).unwrap_or(0).max(1);
        for claim in claims.iter_mut().filter(|claim| claim.is_admitted() && shares(claim)) {
            claim.take_heads(&mut left, Heads(part));
        }
    }

    /// Hires with a budget come first, each budget cut to the money that is left. Then each other hire gets its
    /// minimum. Then these other hires get equal parts of the rest, up to their maximum.
    fn share_money(&self, free: Msat, claims: &mut [Claim<'_>]) {
        let hires = claims.iter().filter(|claim| claim.is_admitted()).count();
        let mut pot = free.minus(self.kept(free, hires)).unwrap_or(Msat::ZERO);
        for claim in claims.iter_mut().filter(|claim| claim.is_admitted()) {
            if let Some(budget) = claim.offer.budget {
                let granted = budget.min(pot);
                claim.take_money(&mut pot, budget, granted);
            }
        }
        for claim in claims.iter_mut().filter(|claim| claim.is_admitted() && claim.offer.budget.is_none()) {
            let least = claim.minimum.min(claim.offer.share_max.unwrap_or(Msat::SUPPLY));
            claim.take_money(&mut pot, least, least);
        }
        let sharing = claims.iter_mut().filter(|claim| claim.is_admitted() && claim.offer.budget.is_none());
        fill(pot, &mut sharing.collect::<Vec<_>>());
    }

    /// Returns the money that the hirer keeps: enough for two more turns, the second with a report of each hire, but at
    /// least a tenth and at most half of the available money.
    fn kept(&self, free: Msat, hires: usize) -> Msat {
        let reports = hires as u64 * REPORT_BYTES;
        let (tariff, view) = (self.brief.tariff, self.view.total());
        let turn = |tokens: u64| u128::from(tariff.ceiling(tokens, tariff.max_tokens.min(TURN_TOKENS)).get());
        let turns = turn(view) + turn(view.saturating_add(reports));
        let part = |parts: u64| Msat::capped(u128::from(free.get() / parts));
        Msat::capped(turns).clamp(part(KEPT_MIN), part(KEPT_MAX))
    }

    /// Returns whether a hire could make hires itself.
    fn can_hire(&self, offer: &Offer) -> bool {
        offer.hiring.is_some() && self.depth_of(offer) > 0
    }
}

/// Divides the pot equally, but no share grows beyond its maximum.
fn fill(mut pot: Msat, sharing: &mut [&mut Claim<'_>]) {
    sharing.sort_by_key(|claim| claim.room());
    let mut rest = sharing;
    while let Some((claim, others)) = rest.split_first_mut() {
        let part = Msat::capped(u128::from(pot.get() / (others.len() as u64 + 1)));
        if claim.room() > part {
            // The claims are sorted by room, so all following claims have room for the same part.
            claim.grow(part);
            return others.iter_mut().for_each(|claim| claim.grow(part));
        }
        let room = claim.room();
        pot = pot.minus(room).expect("the room is at most a part of the pot");
        claim.grow(room);
        rest = others;
    }
}
