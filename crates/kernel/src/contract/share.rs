//! Shares: what each hire of one reply is granted. They are taken once per reply, so that the order of its calls decides
//! only who is refused when there is not enough for all. Nothing here changes the state.

use super::Contract;
use crate::ask::ToolCall;
use crate::brief::{Mode, Offer};
use crate::input::Call;
use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::refusal::Refusal;
use crate::tariff::TURN_TOKENS;
use crate::time::Millis;

/// What a hirer expects of each report when it sets money aside for its own next turns, in bytes.
const REPORT_BYTES: u64 = 4_000;

/// One part in so many of the heads stays with the hirer.
const HEADS_KEPT: u32 = 10;

/// Of the money the hirer keeps at least one part in so many.
const KEPT_MIN: u64 = 10;

/// Of the money the hirer keeps at most one part in so many.
const KEPT_MAX: u64 = 2;

/// What one hire is granted.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) money: Msat,
    /// The heads that it passes on; its own comes on top.
    pub(super) heads: Heads,
}

/// What a call takes from what is free.
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

/// A hire on its way to a share.
struct Claim<'a> {
    offer: &'a Offer,
    heads: Heads,
    minimum: Msat,
    money: Msat,
    refused: Option<Refusal>,
}

impl Claim<'_> {
    fn stands(&self) -> bool {
        self.refused.is_none()
    }

    /// Takes its heads, its own included, or is refused.
    fn take_heads(&mut self, left: &mut Heads, all: Heads) {
        match left.minus(all) {
            Some(rest) => {
                *left = rest;
                self.heads = all.minus(Heads(1)).unwrap_or(Heads::ZERO);
            }
            None => self.refused = Some(Refusal::NoHeads { asked: all, free: *left }),
        }
    }

    /// Takes its money, or is refused: if it is not there, or would be too little to work with.
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
        self.money = self.money.plus(by).expect("shares are parts of what is available");
    }

    /// How much more a share may grow.
    fn room(&self) -> Msat {
        self.offer.share_max.map_or(Msat::SUPPLY, |max| max.minus(self.money).unwrap_or(Msat::ZERO))
    }
}

impl Contract {
    /// Returns the money that a contract has when the answer to an open ask costs nothing: what nothing holds, and the hold of
    /// that ask.
    pub fn money_with(&self, ask: AskId) -> Msat {
        let hold = self.hold(ask).unwrap_or_default().money;
        self.purse.available().plus(hold).unwrap_or(Msat::SUPPLY)
    }

    /// Returns how much of an amount one hire could be granted: the contract keeps the rest for its own next turns.
    pub fn grantable(&self, money: Msat) -> Msat {
        money.minus(self.kept(money, 1)).unwrap_or(Msat::ZERO)
    }

    /// Returns what each hire among the wants is granted, or why it gets nothing, in their order.
    pub(super) fn shares(&self, wants: &[Want<'_>], now: Millis) -> Vec<Result<Share, Refusal>> {
        let mut free = self.purse.available();
        let mut claims = Vec::new();
        for want in wants {
            match want {
                Want::Nothing => {}
                Want::Tool(call) if self.lacks(call).is_some() => {}
                Want::Tool(call) => free = free.minus(call.price).unwrap_or(free),
                Want::Hire(offer) => {
                    let refused = self.object(offer, now).err();
                    let (heads, minimum, money) = (Heads::ZERO, Msat::ZERO, Msat::ZERO);
                    claims.push(Claim { offer, heads, minimum, money, refused });
                }
            }
        }
        self.share_heads(&mut claims);
        for claim in claims.iter_mut().filter(|claim| claim.stands()) {
            claim.minimum = self.draft(claim.offer, Share { money: Msat::ZERO, heads: claim.heads }, now).minimum();
        }
        self.share_money(free, &mut claims);
        let share = |claim: Claim<'_>| match claim.refused {
            Some(why) => Err(why),
            None => Ok(Share { money: claim.money, heads: claim.heads }),
        };
        claims.into_iter().map(share).collect()
    }

    /// Whoever can't hire takes one head, and whoever was promised heads takes those; a tenth of the rest stays, and the
    /// others share what remains. A blocking hire's unused heads are back before its hirer's next turn, so the hirer takes
    /// part in the division only if a hire works in the background.
    fn share_heads(&self, claims: &mut [Claim<'_>]) {
        let mut left = self.heads.available();
        let shares = |claim: &Claim<'_>| claim.offer.heads.is_none() && self.can_hire(claim.offer);
        for claim in claims.iter_mut().filter(|claim| claim.stands() && !shares(claim)) {
            let said = claim.offer.heads.unwrap_or(Heads::ZERO);
            claim.take_heads(&mut left, Heads(said.0.saturating_add(1)));
        }
        let background = claims.iter().any(|claim| claim.stands() && claim.offer.mode == Mode::Background);
        let sharing = claims.iter().filter(|claim| claim.stands() && shares(claim)).count() + usize::from(background);
        let rest = left.0 - left.0 / HEADS_KEPT;
        let part = u32::try_from(sharing).ok().and_then(|sharing| rest.checked_div(sharing)).unwrap_or(0).max(1);
        for claim in claims.iter_mut().filter(|claim| claim.stands() && shares(claim)) {
            claim.take_heads(&mut left, Heads(part));
        }
    }

    /// Said budgets come first, each cut to what is left; then each other hire gets its minimum, and then all of those get
    /// equal parts of the rest, up to their maximum.
    fn share_money(&self, free: Msat, claims: &mut [Claim<'_>]) {
        let hires = claims.iter().filter(|claim| claim.stands()).count();
        let mut pot = free.minus(self.kept(free, hires)).unwrap_or(Msat::ZERO);
        for claim in claims.iter_mut().filter(|claim| claim.stands()) {
            if let Some(budget) = claim.offer.budget {
                let granted = budget.min(pot);
                claim.take_money(&mut pot, budget, granted);
            }
        }
        for claim in claims.iter_mut().filter(|claim| claim.stands() && claim.offer.budget.is_none()) {
            let least = claim.minimum.min(claim.offer.share_max.unwrap_or(Msat::SUPPLY));
            claim.take_money(&mut pot, least, least);
        }
        let sharing = claims.iter_mut().filter(|claim| claim.stands() && claim.offer.budget.is_none());
        fill(pot, &mut sharing.collect::<Vec<_>>());
    }

    /// What the hirer keeps: two more turns, the second after a report of each hire, within a tenth and a half of it all.
    fn kept(&self, free: Msat, hires: usize) -> Msat {
        let reports = hires as u64 * REPORT_BYTES;
        let (tariff, view) = (self.brief.tariff, self.view.total());
        let turn = |tokens: u64| u128::from(tariff.ceiling(tokens, tariff.max_tokens.min(TURN_TOKENS)).get());
        let turns = turn(view) + turn(view.saturating_add(reports));
        let part = |parts: u64| Msat::capped(u128::from(free.get() / parts));
        Msat::capped(turns).clamp(part(KEPT_MIN), part(KEPT_MAX))
    }

    /// Whether a hire could hire in turn.
    fn can_hire(&self, offer: &Offer) -> bool {
        offer.hiring.is_some() && self.depth_of(offer) > 0
    }
}

/// Divides the pot equally, except that nobody gets more than there is room for.
fn fill(mut pot: Msat, sharing: &mut [&mut Claim<'_>]) {
    sharing.sort_by_key(|claim| claim.room());
    let mut rest = sharing;
    while let Some((claim, others)) = rest.split_first_mut() {
        let part = Msat::capped(u128::from(pot.get() / (others.len() as u64 + 1)));
        if claim.room() > part {
            // All who follow have as much room: they get the same.
            claim.grow(part);
            return others.iter_mut().for_each(|claim| claim.grow(part));
        }
        let room = claim.room();
        pot = pot.minus(room).expect("less than a part of the pot");
        claim.grow(room);
        rest = others;
    }
}
