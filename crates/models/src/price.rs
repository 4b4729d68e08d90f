//! Prices: converts dollars per million tokens, which providers use, to millisatoshis, which Guildhall holds and settles. Only the
//! price table uses floats. The cost of a call is rounded once, upwards.

mod book;
#[cfg(feature = "http")]
mod rule;
#[cfg(feature = "http")]
mod table;
#[cfg(not(feature = "http"))]
#[path = "price/no_table.rs"]
mod table;

use guildhall_agent::{Usage, Usd, UsdError};
use guildhall_kernel::Msat;
use serde::{Deserialize, Serialize};

pub use book::{Listed, NoPrice, PriceBook, REPLY_TOKENS_MAX, Seller};

/// Returns the providers of the price table that sell a model, by their ids.
#[cfg(feature = "http")]
pub fn sellers_of(model: &str) -> Vec<&'static str> {
    table::sellers_of(model)
}

const NANOS: u128 = 1_000_000_000;
const MSAT_PER_BTC: u128 = 100_000_000_000;
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// The price of a local server's tokens, per million. No provider sends a bill for them. The price is that of the cheapest hosted
/// models, and is charged so that purse limits also stop a model that never ends its reply.
pub const LOCAL_PRICE: Price = Price::flat(Usd::from_nanos(NANOS / 10), Usd::from_nanos(NANOS / 10 * 4));

/// The price of a rehearsal, per million bytes that it reads and writes; a rehearsal has no tokens. No provider sends a bill
/// for these bytes. The price is charged so that purse limits apply, and a team sees what its hires and prompts would cost.
pub const REHEARSAL_PRICE: Price = Price {
    input: Usd::from_nanos(NANOS / 4),
    cache_read: Usd::from_nanos(NANOS / 40),
    cache_write: Usd::from_nanos(NANOS / 4),
    output: Usd::from_nanos(NANOS),
};

/// The price of one bitcoin in dollars.
///
/// ```
/// use guildhall_kernel::Msat;
/// use guildhall_models::{Rate, Usd};
/// let rate = Rate::parse("100000").unwrap();
/// assert_eq!(rate.to_msat(Usd::parse("0.25").unwrap()), Msat::from_sat(250).unwrap());
/// assert_eq!(rate.to_usd(Msat::from_sat(250).unwrap()).to_string(), "$0.25");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Usd", into = "Usd")]
pub struct Rate(Usd);

impl Rate {
    /// Reads the price of one bitcoin in dollars.
    pub fn parse(text: &str) -> Result<Rate, UsdError> {
        Rate::try_from(Usd::parse(text)?)
    }

    /// Converts dollars, rounding up.
    pub fn to_msat(self, amount: Usd) -> Msat {
        Msat::capped(amount.nanos().saturating_mul(MSAT_PER_BTC).div_ceil(self.0.nanos()))
    }

    /// Converts to dollars, for display.
    pub fn to_usd(self, amount: Msat) -> Usd {
        Usd::from_nanos(u128::from(amount.get()) * self.0.nanos() / MSAT_PER_BTC)
    }
}

impl TryFrom<Usd> for Rate {
    type Error = UsdError;
    /// Takes the price of one bitcoin, which must not be zero.
    fn try_from(per_btc: Usd) -> Result<Rate, UsdError> {
        if per_btc.nanos() == 0 { Err(UsdError { text: per_btc.to_string() }) } else { Ok(Rate(per_btc)) }
    }
}

impl From<Rate> for Usd {
    fn from(rate: Rate) -> Usd {
        rate.0
    }
}

/// The price of a model, per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input without a cache.
    pub input: Usd,
    /// Input read from a cache.
    pub cache_read: Usd,
    /// Input written to a cache.
    pub cache_write: Usd,
    /// Output.
    pub output: Usd,
}

impl Price {
    /// The price of a model that costs nothing.
    pub const FREE: Price = Price::flat(Usd::from_nanos(0), Usd::from_nanos(0));

    /// Creates a price that is the same with and without a cache.
    pub const fn flat(input: Usd, output: Usd) -> Price {
        Price { input, cache_read: input, cache_write: input, output }
    }

    /// Returns the cost of a usage in dollars, rounded to the billionth; `None` if the number is too large.
    fn of(&self, usage: &Usage) -> Option<Usd> {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let parts = [
            (plain, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        let sum = parts
            .into_iter()
            .try_fold(0_u128, |sum, (tokens, price)| sum.checked_add(u128::from(tokens).checked_mul(price.nanos())?))?;
        Some(Usd::from_nanos(sum.checked_add(TOKENS_PER_PRICE / 2)? / TOKENS_PER_PRICE))
    }
}
