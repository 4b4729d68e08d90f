//! Money: whole millisatoshis, at most the supply of bitcoin, parsed once where it enters the program. Never a float,
//! never negative.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An amount of money in millisatoshis, at most the supply of bitcoin.
///
/// ```
/// use guildhall_kernel::Msat;
/// let grant = Msat::parse("500sat").unwrap();
/// assert_eq!(grant, Msat::from_sat(500).unwrap());
/// assert_eq!(grant.to_string(), "500sat");
/// assert_eq!(Msat::parse("1500msat").unwrap().to_string(), "1.5sat");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Msat(u64);

/// Why an input is not an amount of money, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountError {
    /// The amount is zero.
    #[error("the amount is 0: give at least 1 sat, or leave the amount out")]
    Zero,
    /// The amount is below zero.
    #[error("the amount is negative: give a whole number of sats, such as 250")]
    Negative,
    /// The amount is not a whole number of its unit.
    #[error("the amount is not a whole number of sats: give one, such as 250")]
    Fractional,
    /// The input is not a number.
    #[error("the amount is not a number: give a whole number of sats, such as 250")]
    NotANumber,
    /// The amount exceeds the supply of bitcoin.
    #[error("the amount exceeds 21 million bitcoin: give at most 2100000000000000 sats")]
    BeyondSupply,
}

impl Msat {
    /// No money.
    pub const ZERO: Msat = Msat(0);
    /// The supply of bitcoin: 21 million.
    pub const SUPPLY: Msat = Msat(2_100_000_000_000_000_000);

    /// Makes an amount from a number of millisatoshis.
    pub const fn new(msat: u64) -> Result<Msat, AmountError> {
        if msat > Self::SUPPLY.0 { Err(AmountError::BeyondSupply) } else { Ok(Msat(msat)) }
    }

    /// Makes an amount from a number of satoshis.
    pub const fn from_sat(sat: u64) -> Result<Msat, AmountError> {
        match sat.checked_mul(1000) {
            Some(msat) => Msat::new(msat),
            None => Err(AmountError::BeyondSupply),
        }
    }

    /// Makes an amount from a computed price; a price beyond the supply becomes the supply.
    pub fn capped(msat: u128) -> Msat {
        u64::try_from(msat).map_or(Self::SUPPLY, |msat| Msat(msat).min(Self::SUPPLY))
    }

    /// Returns the number of millisatoshis.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads an amount that a person typed: `500sat`, `500 sats`, `1500msat`; a bare number is sats. Zero is refused.
    pub fn parse(text: &str) -> Result<Msat, AmountError> {
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "sat" | "sats" => Unit::Sat,
            "msat" | "msats" => Unit::Msat,
            _ => return Err(AmountError::NotANumber),
        };
        let digits = digits.trim_end();
        if let Some(rest) = digits.strip_prefix('-') {
            return Err(if is_number(rest) { AmountError::Negative } else { AmountError::NotANumber });
        }
        if !is_number(digits) {
            return Err(AmountError::NotANumber);
        }
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if fraction.bytes().any(|digit| digit != b'0') {
            return Err(AmountError::Fractional);
        }
        let number: u64 = whole.parse().map_err(|_| AmountError::BeyondSupply)?;
        let amount = match unit {
            Unit::Sat => Msat::from_sat(number)?,
            Unit::Msat => Msat::new(number)?,
        };
        if amount == Msat::ZERO { Err(AmountError::Zero) } else { Ok(amount) }
    }

    /// Reads a budget that a model wrote: a whole number of sats, as a JSON number or a string.
    pub fn from_json(value: &Value) -> Result<Msat, AmountError> {
        match value {
            Value::String(text) => Msat::parse(text),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(0), _) => Err(AmountError::Zero),
                (Some(sat), _) => Msat::from_sat(sat),
                (None, Some(float)) if float < 0.0 => Err(AmountError::Negative),
                (None, Some(0.0)) => Err(AmountError::Zero),
                (None, Some(float)) if float >= 2.1e15 => Err(AmountError::BeyondSupply),
                (None, Some(float)) if float.fract() != 0.0 => Err(AmountError::Fractional),
                // Whole and below the supply, so the text of its integer part is exact: 250.0 means 250.
                (None, Some(float)) => Msat::parse(&format!("{float:.0}")),
                (None, None) => Err(AmountError::NotANumber),
            },
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(AmountError::NotANumber),
        }
    }
}

enum Unit {
    Sat,
    Msat,
}

fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(fraction)
}

impl TryFrom<u64> for Msat {
    type Error = AmountError;
    fn try_from(msat: u64) -> Result<Msat, AmountError> {
        Msat::new(msat)
    }
}

impl From<Msat> for u64 {
    fn from(amount: Msat) -> u64 {
        amount.0
    }
}

impl fmt::Display for Msat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 1000, self.0 % 1000) {
            (sat, 0) => write!(f, "{sat}sat"),
            (sat, msat) => write!(f, "{sat}.{}sat", format!("{msat:03}").trim_end_matches('0')),
        }
    }
}

/// A quantity that a grant gives and an account counts: money, or heads.
pub trait Quantity: Copy + Ord + fmt::Debug {
    /// The amount zero.
    const ZERO: Self;
    /// Adds; `None` if the sum exceeds the maximum.
    fn plus(self, other: Self) -> Option<Self>;
    /// Subtracts; `None` if there is not enough.
    fn minus(self, other: Self) -> Option<Self>;
}

impl Quantity for Msat {
    const ZERO: Msat = Msat(0);
    fn plus(self, other: Msat) -> Option<Msat> {
        self.0.checked_add(other.0).and_then(|sum| Msat::new(sum).ok())
    }
    fn minus(self, other: Msat) -> Option<Msat> {
        self.0.checked_sub(other.0).map(Msat)
    }
}

/// A number of hires: a contract's own hires, and the hires of its hires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Heads(pub u32);

impl Quantity for Heads {
    const ZERO: Heads = Heads(0);
    fn plus(self, other: Heads) -> Option<Heads> {
        self.0.checked_add(other.0).map(Heads)
    }
    fn minus(self, other: Heads) -> Option<Heads> {
        self.0.checked_sub(other.0).map(Heads)
    }
}

impl fmt::Display for Heads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AmountError, Msat};

    #[test]
    fn amounts_typed_by_a_person_are_read_or_refused_with_the_reason() {
        let check =
            |text: &str, want: Result<u64, AmountError>| assert_eq!(Msat::parse(text).map(Msat::get), want, "{text:?}");
        check("500", Ok(500_000));
        check(" 500 sats ", Ok(500_000));
        check("1500msat", Ok(1500));
        check("250.0", Ok(250_000));
        check("2100000000000000", Ok(2_100_000_000_000_000_000));
        check("0", Err(AmountError::Zero));
        check("-1", Err(AmountError::Negative));
        check("-0", Err(AmountError::Negative));
        check("1.5", Err(AmountError::Fractional));
        check("2100000000000001", Err(AmountError::BeyondSupply));
        check("99999999999999999999999", Err(AmountError::BeyondSupply));
        for junk in
            ["", "-", "NaN", "all", "1e400", "1e3", "0x10", "٣", "1,000", "1 000", "5usd", ".5", "5.", "--5", "+5"]
        {
            check(junk, Err(AmountError::NotANumber));
        }
    }

    #[test]
    fn budgets_written_by_a_model_are_read_or_refused_with_the_reason() {
        let check =
            |value, want: Result<u64, AmountError>| assert_eq!(Msat::from_json(&value).map(Msat::get), want, "{value}");
        check(json!(250), Ok(250_000));
        check(json!(250.0), Ok(250_000));
        check(json!("250"), Ok(250_000));
        check(json!(0), Err(AmountError::Zero));
        check(json!(0.0), Err(AmountError::Zero));
        check(json!(-0.0), Err(AmountError::Zero));
        check(json!(-1), Err(AmountError::Negative));
        check(json!(-0.5), Err(AmountError::Negative));
        check(json!(0.5), Err(AmountError::Fractional));
        check(json!(1e300), Err(AmountError::BeyondSupply));
        check(json!(u64::MAX), Err(AmountError::BeyondSupply));
        check(json!("1e400"), Err(AmountError::NotANumber));
        check(json!(f64::NAN), Err(AmountError::NotANumber));
        check(json!(null), Err(AmountError::NotANumber));
        check(json!([1]), Err(AmountError::NotANumber));
        check(json!(true), Err(AmountError::NotANumber));
    }

    #[test]
    fn stored_amounts_beyond_the_supply_are_not_read() {
        assert!(serde_json::from_str::<Msat>("2100000000000000001").is_err());
        assert!(serde_json::from_str::<Msat>("-1").is_err());
        assert!(serde_json::from_str::<Msat>("1.5").is_err());
    }
}
