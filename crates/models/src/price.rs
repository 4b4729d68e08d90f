//! Money between two worlds: dollars per million tokens, as providers post them, and millisatoshis, as Guildhall holds
//! and settles them. Floats end at the border to the price table; one rounding, upwards, per call.

mod book;

use std::fmt;

use guildhall_agent::Usage;
use guildhall_kernel::Msat;
use serde::{Deserialize, Serialize};

pub use book::{Listed, NoPrice, PriceBook, REPLY_TOKENS_MAX, Seller};

const NANOS: u64 = 1_000_000_000;
const NANO_DIGITS: usize = 9;
const MSAT_PER_BTC: u128 = 100_000_000_000;
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// What a local server's tokens cost, per million. Nobody sends a bill for them; it is what the cheapest hosted models
/// take, so that a purse binds a model that never stops.
pub const LOCAL_PRICE: Price = Price {
    input: Usd(NANOS / 10),
    cache_read: Usd(NANOS / 10),
    cache_write: Usd(NANOS / 10),
    output: Usd(NANOS / 10 * 4),
};

/// An amount of dollars, to the billionth.
///
/// ```
/// use guildhall_models::Usd;
/// assert_eq!(Usd::parse("0.25").unwrap().to_string(), "$0.25");
/// assert_eq!(Usd::parse("$3").unwrap().to_string(), "$3.00");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Usd(u64);

/// Says why something is no amount of dollars.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no amount of dollars: write it like 0.25, with at most nine digits after the point")]
pub struct UsdError {
    /// What was given.
    pub text: String,
}

impl Usd {
    /// Takes a number of billionths.
    pub const fn from_nanos(nanos: u64) -> Usd {
        Usd(nanos)
    }

    /// Returns the number of billionths.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Reads an amount.
    pub fn parse(text: &str) -> Result<Usd, UsdError> {
        let error = || UsdError { text: text.to_owned() };
        let number = text.trim();
        let number = number.strip_prefix('$').unwrap_or(number);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > NANO_DIGITS {
            return Err(error());
        }
        let nanos: u64 = format!("{fraction:0<NANO_DIGITS$}").parse().map_err(|_| error())?;
        let whole: u64 = whole.parse().map_err(|_| error())?;
        whole.checked_mul(NANOS).and_then(|whole| whole.checked_add(nanos)).map(Usd).ok_or_else(error)
    }

    /// Takes a float from the price table, rounded to the billionth: it is off by less, and rounding up first would
    /// charge for its error. One beyond the largest amount becomes that; below zero or no number is none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
    fn from_float(dollars: f64) -> Option<Usd> {
        (dollars >= 0.0).then_some(Usd((dollars * 1e9).round() as u64))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.0 % NANOS);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "${}.{fraction:0<2}", self.0 / NANOS)
    }
}

impl TryFrom<String> for Usd {
    type Error = UsdError;
    fn try_from(text: String) -> Result<Usd, UsdError> {
        Usd::parse(&text)
    }
}

impl From<Usd> for String {
    fn from(amount: Usd) -> String {
        amount.to_string()
    }
}

/// What one bitcoin costs in dollars.
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
    /// Takes the price of one bitcoin. Nothing is no price.
    pub fn new(per_btc: Usd) -> Result<Rate, UsdError> {
        if per_btc.0 == 0 { Err(UsdError { text: per_btc.to_string() }) } else { Ok(Rate(per_btc)) }
    }

    /// Reads the price of one bitcoin in dollars.
    pub fn parse(text: &str) -> Result<Rate, UsdError> {
        Rate::new(Usd::parse(text)?)
    }

    /// Converts dollars, rounding up.
    pub fn to_msat(self, amount: Usd) -> Msat {
        Msat::capped((u128::from(amount.0) * MSAT_PER_BTC).div_ceil(self.per_btc()))
    }

    /// Converts to dollars, for a reader.
    pub fn to_usd(self, amount: Msat) -> Usd {
        let nanos = u128::from(amount.get()) * self.per_btc() / MSAT_PER_BTC;
        Usd(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn per_btc(self) -> u128 {
        u128::from(self.0.0)
    }
}

impl TryFrom<Usd> for Rate {
    type Error = UsdError;
    fn try_from(per_btc: Usd) -> Result<Rate, UsdError> {
        Rate::new(per_btc)
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
    /// Input that is in no cache.
    pub input: Usd,
    /// Input read from a cache.
    pub cache_read: Usd,
    /// Input written to a cache.
    pub cache_write: Usd,
    /// Output.
    pub output: Usd,
}

impl Price {
    /// The price of a model whose cache costs nothing and saves nothing.
    pub const fn flat(input: Usd, output: Usd) -> Price {
        Price { input, cache_read: input, cache_write: input, output }
    }

    /// Returns what a usage costs, in dollars, rounded to the billionth; `None` if that is more than there is.
    fn of(&self, usage: &Usage) -> Option<Usd> {
        let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let parts = [
            (plain, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        let sum = parts.into_iter().try_fold(0_u128, |sum, (tokens, price)| {
            sum.checked_add(u128::from(tokens).checked_mul(u128::from(price.0))?)
        })?;
        u64::try_from((sum + TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE).ok().map(Usd)
    }
}
