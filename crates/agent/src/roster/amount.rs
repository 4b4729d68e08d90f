//! Amounts as people write them in agent files: sats, millisats or dollars. Dollars stay dollars until a rate is known, and
//! are whole micro-dollars, never a float.

use std::fmt;

use guildhall_kernel::{AmountError, Msat};

const MICROS_PER_USD: u64 = 1_000_000;

/// The most dollars that can be written: more than all bitcoin has ever been worth.
const USD_MAX: u64 = 1_000_000_000_000;

/// An amount of money in the unit in which it was written.
///
/// ```
/// use guildhall_agent::roster::Amount;
/// assert_eq!(Amount::parse("2000msat").unwrap(), Amount::parse("2 sat").unwrap());
/// assert_eq!(Amount::parse("0.05usd").unwrap().to_string(), "0.05usd");
/// assert!(Amount::parse("NaN").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Sats or millisats.
    Msat(Msat),
    /// Dollars.
    Usd(Usd),
}

/// An amount in micro-dollars, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u64);

/// Says why something is not an amount, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// No number of sats.
    #[error(transparent)]
    Msat(#[from] AmountError),
    /// No number of dollars.
    #[error("dollars are written as 0.05usd: above zero, at most six places, no more than a trillion")]
    Usd,
    /// Nothing at all.
    #[error("an amount is missing: write 500sat, 2000msat or 0.05usd")]
    Empty,
}

impl Amount {
    /// Reads `500`, `500sat`, `2000msat`, `0.05usd` or `$0.05`; a bare number is sats.
    pub fn parse(text: &str) -> Result<Amount, MoneyError> {
        let text = text.trim();
        let small = text.to_ascii_lowercase();
        let dollars = small.strip_prefix('$').or_else(|| small.strip_suffix("usd"));
        match dollars {
            _ if text.is_empty() => Err(MoneyError::Empty),
            Some(dollars) => usd(dollars.trim()).map(Amount::Usd).ok_or(MoneyError::Usd),
            None => Ok(Amount::Msat(Msat::parse(text)?)),
        }
    }
}

fn usd(text: &str) -> Option<Usd> {
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
    if !is_digits(whole) || !is_digits(places) || places.len() > 6 {
        return None;
    }
    let whole: u64 = whole.parse().ok().filter(|whole| *whole <= USD_MAX)?;
    let micros: u64 = format!("{places:0<6}").parse().ok()?;
    Some(Usd(whole * MICROS_PER_USD + micros)).filter(|usd| usd.0 > 0)
}

impl Usd {
    /// Returns the number of micro-dollars.
    pub fn micros(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Msat(amount) => amount.fmt(f),
            Amount::Usd(Usd(micros)) => {
                let places = format!("{:06}", micros % MICROS_PER_USD);
                let places = places.trim_end_matches('0');
                let point = if places.is_empty() { "" } else { "." };
                write!(f, "{}{point}{places}usd", micros / MICROS_PER_USD)
            }
        }
    }
}
