//! What a model call costs at most, and how much of it a purse can pay. One rounding, upwards, per call.

use serde::{Deserialize, Serialize};

use crate::money::Msat;

/// The fewest output tokens worth asking for: a request that can't have these is not made.
pub const MAX_TOKENS_MIN: u32 = 256;

/// The output tokens of an ordinary turn: what a hirer sets aside for each of its own, and what one call may always ask for.
pub const TURN_TOKENS: u32 = 1024;

/// The fewest input tokens a last request is cut to: below that no model could say anything of use.
pub const LAST_TOKENS_MIN: u64 = 256;

/// The maximum number of tokens needed to frame one text for a model: roles, ids, labels.
pub const FRAME_TOKENS: u64 = 32;

const TOKENS_PER_PRICE: u128 = 1_000_000;

/// The prices of one model, locked into the brief. Free models have prices of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tariff {
    /// The price of a million input tokens that are in no cache.
    pub input: Msat,
    /// The price of a million output tokens.
    pub output: Msat,
    /// The most output tokens to ask for in one reply.
    pub max_tokens: u32,
}

impl Tariff {
    /// Returns what a call with this much input and output costs at most.
    pub fn ceiling(&self, input_tokens: u64, output_tokens: u32) -> Msat {
        let parts = self.parts(input_tokens) + u128::from(output_tokens) * u128::from(self.output.get());
        Msat::capped(parts.div_ceil(TOKENS_PER_PRICE))
    }

    /// Returns what the least worthwhile turn with this much input costs at most.
    pub fn turn_min(&self, input_tokens: u64) -> Msat {
        self.ceiling(input_tokens, self.max_tokens.min(MAX_TOKENS_MIN))
    }

    /// Returns what the least worthwhile last request costs at most: no severance may be less.
    pub fn last_min(&self) -> Msat {
        self.turn_min(LAST_TOKENS_MIN)
    }

    /// Returns how many output tokens `money` pays for beside the input: as many as one may ask for, or as fit, or
    /// `None` if not even [`MAX_TOKENS_MIN`] do.
    pub fn affordable(&self, input_tokens: u64, money: Msat) -> Option<u32> {
        let least = self.max_tokens.min(MAX_TOKENS_MIN);
        let left = (u128::from(money.get()) * TOKENS_PER_PRICE).checked_sub(self.parts(input_tokens))?;
        let fit = left.checked_div(u128::from(self.output.get())).unwrap_or(u128::from(self.max_tokens));
        let tokens = u32::try_from(fit.min(u128::from(self.max_tokens))).expect("at most the tariff's max_tokens");
        (tokens >= least).then_some(tokens)
    }

    /// Returns how many input tokens `money` pays for beside the fewest output tokens, at most `wanted`; `None` if not
    /// even [`LAST_TOKENS_MIN`] do.
    pub fn fitting(&self, wanted: u64, money: Msat) -> Option<u64> {
        let output = u128::from(self.max_tokens.min(MAX_TOKENS_MIN)) * u128::from(self.output.get());
        let left = (u128::from(money.get()) * TOKENS_PER_PRICE).checked_sub(output)?;
        let fit = left.checked_div(u128::from(self.input.get())).unwrap_or(u128::from(wanted));
        let tokens = u64::try_from(fit.min(u128::from(wanted))).expect("at most what was wanted");
        (tokens >= wanted.min(LAST_TOKENS_MIN)).then_some(tokens)
    }

    fn parts(&self, input_tokens: u64) -> u128 {
        u128::from(input_tokens) * u128::from(self.input.get())
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_TOKENS_MIN, Tariff};
    use crate::money::Msat;

    fn tariff(input: u64, output: u64) -> Tariff {
        Tariff { input: Msat::new(input).unwrap(), output: Msat::new(output).unwrap(), max_tokens: 4096 }
    }

    #[test]
    fn a_ceiling_is_rounded_up_once() {
        assert_eq!(tariff(1, 1).ceiling(1, 1), Msat::new(1).unwrap());
        assert_eq!(tariff(3_000_000, 15_000_000).ceiling(1000, 100), Msat::new(4500).unwrap());
        assert_eq!(tariff(u64::from(Msat::SUPPLY), 0).ceiling(u64::MAX, 0), Msat::SUPPLY);
    }

    #[test]
    fn what_is_affordable_is_never_dearer_than_the_money() {
        for money in (0..20_000).step_by(37) {
            let (tariff, money) = (tariff(3_000_000, 15_000_000), Msat::new(money).unwrap());
            if let Some(tokens) = tariff.affordable(1000, money) {
                assert!(tokens >= MAX_TOKENS_MIN);
                assert!(tariff.ceiling(1000, tokens) <= money);
            }
            if let Some(input) = tariff.fitting(1000, money) {
                assert!(tariff.ceiling(input, MAX_TOKENS_MIN) <= money);
            }
        }
        assert_eq!(tariff(0, 0).affordable(u64::MAX, Msat::ZERO), Some(4096));
        assert_eq!(tariff(1, 0).affordable(1_000_000, Msat::ZERO), None);
    }
}
