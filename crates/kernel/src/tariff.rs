//! The maximum cost of a model call, and how many tokens an amount of money pays for. Each call is rounded up once.

use serde::{Deserialize, Serialize};

use crate::money::Msat;

/// The minimum number of output tokens of a request: a request that can't pay for them is not made.
pub const MAX_TOKENS_MIN: u32 = 256;

/// The output tokens of an ordinary turn: a hirer keeps money for this many per turn, and a call may always ask for
/// this many.
pub const TURN_TOKENS: u32 = 1024;

/// The output tokens that a severance pays for: a last request asks for at least this many, if the model allows.
pub const LAST_OUTPUT_TOKENS: u32 = 512;

/// The minimum number of input tokens of a last request: a shorter prompt gives no useful reply.
pub const LAST_TOKENS_MIN: u64 = 256;

/// The maximum number of tokens needed to frame one text for a model: roles, ids, labels.
pub const FRAME_TOKENS: u64 = 32;

const TOKENS_PER_PRICE: u128 = 1_000_000;

/// The prices of one model, locked into the brief. Free models have prices of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tariff {
    /// The price of a million input tokens without a cache discount.
    pub input: Msat,
    /// The price of a million output tokens.
    pub output: Msat,
    /// The maximum number of output tokens of one reply.
    pub max_tokens: u32,
}

impl Tariff {
    /// Returns the maximum cost of a call with these tokens.
    pub fn ceiling(&self, input_tokens: u64, output_tokens: u32) -> Msat {
        let parts = self.parts(input_tokens) + u128::from(output_tokens) * u128::from(self.output.get());
        Msat::capped(parts.div_ceil(TOKENS_PER_PRICE))
    }

    /// Returns the maximum cost of a turn with this input and the minimum output.
    pub fn turn_min(&self, input_tokens: u64) -> Msat {
        self.ceiling(input_tokens, self.max_tokens.min(MAX_TOKENS_MIN))
    }

    /// Returns the maximum cost of the smallest last request: a severance must be at least this.
    pub fn last_min(&self) -> Msat {
        self.ceiling(LAST_TOKENS_MIN, self.last_output())
    }

    /// Returns the output tokens that a severance pays for.
    pub fn last_output(&self) -> u32 {
        self.max_tokens.min(LAST_OUTPUT_TOKENS)
    }

    /// Returns how many output tokens `money` pays for besides the input, at most the tariff's `max_tokens`; `None` if
    /// fewer than [`MAX_TOKENS_MIN`].
    pub fn affordable(&self, input_tokens: u64, money: Msat) -> Option<u32> {
        let least = self.max_tokens.min(MAX_TOKENS_MIN);
        let left = (u128::from(money.get()) * TOKENS_PER_PRICE).checked_sub(self.parts(input_tokens))?;
        let fit = left.checked_div(u128::from(self.output.get())).unwrap_or(u128::from(self.max_tokens));
        let tokens = u32::try_from(fit.min(u128::from(self.max_tokens))).expect("at most the tariff's max_tokens");
        (tokens >= least).then_some(tokens)
    }

    /// Returns how many input tokens `money` pays for besides this output, at most `wanted`; `None` if fewer than
    /// [`LAST_TOKENS_MIN`].
    pub fn fitting(&self, wanted: u64, money: Msat, output: u32) -> Option<u64> {
        let output = u128::from(output) * u128::from(self.output.get());
        let left = (u128::from(money.get()) * TOKENS_PER_PRICE).checked_sub(output)?;
        let fit = left.checked_div(u128::from(self.input.get())).unwrap_or(u128::from(wanted));
        let tokens = u64::try_from(fit.min(u128::from(wanted))).expect("at most the wanted tokens");
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
    fn affordable_tokens_never_cost_more_than_the_money() {
        for money in (0..20_000).step_by(37) {
            let (tariff, money) = (tariff(3_000_000, 15_000_000), Msat::new(money).unwrap());
            if let Some(tokens) = tariff.affordable(1000, money) {
                assert!(tokens >= MAX_TOKENS_MIN);
                assert!(tariff.ceiling(1000, tokens) <= money);
            }
            if let Some(input) = tariff.fitting(1000, money, MAX_TOKENS_MIN) {
                assert!(tariff.ceiling(input, MAX_TOKENS_MIN) <= money);
            }
        }
        assert_eq!(tariff(0, 0).affordable(u64::MAX, Msat::ZERO), Some(4096));
        assert_eq!(tariff(1, 0).affordable(1_000_000, Msat::ZERO), None);
    }
}
