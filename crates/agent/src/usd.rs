//! Dollars, as people and price tables write them: whole billionths, never a float.

use std::fmt;

use serde::{Deserialize, Serialize};

const NANOS: u64 = 1_000_000_000;
const NANO_DIGITS: usize = 9;

/// An amount of dollars, to the billionth.
///
/// ```
/// use guildhall_agent::Usd;
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
        let number = text.trim();
        let nanos = decimal(number.strip_prefix('$').unwrap_or(number), NANO_DIGITS);
        nanos.map(Usd).map_err(|_| UsdError { text: text.to_owned() })
    }
}

/// Why a text is no decimal number of so many digits.
pub(crate) enum NotDecimal {
    NotANumber,
    TooFine,
    TooLarge,
}

/// Reads a decimal number as a whole number of its smallest parts: with two digits after the point, `8.5` is 850.
pub(crate) fn decimal(text: &str, digits: usize) -> Result<u64, NotDecimal> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = fraction.trim_end_matches('0');
    match () {
        () if !is_digits(whole) || !is_digits(fraction) => Err(NotDecimal::NotANumber),
        () if parts.len() > digits => Err(NotDecimal::TooFine),
        () => format!("{}{parts:0<digits$}", whole.trim_start_matches('0')).parse().map_err(|_| NotDecimal::TooLarge),
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
