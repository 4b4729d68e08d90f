//! Amounts of money as people, price tables and reports write them. An amount is a whole number of its smallest unit, never a
//! float, so that sums are exact. Dollars stay dollars until a rate is known.

use std::fmt;

use guildhall_kernel::{AmountError, Msat};
use serde::{Deserialize, Serialize};
use serde_json::Number;

const NANOS: u128 = 1_000_000_000;
const NANO_DIGITS: usize = 9;

/// The largest amount, in hundredths. Above it, numbers in JSON are not exact.
const HUNDREDTHS_MAX: u64 = 1_000_000_000_000_000;

/// An amount of dollars, to the billionth.
///
/// ```
/// use guildhall_agent::Usd;
/// assert_eq!(Usd::parse("0.25").unwrap().to_string(), "$0.25");
/// assert_eq!(Usd::parse("$3").unwrap().to_string(), "$3.00");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Usd(u128);

/// Says that a text is not an amount of dollars.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an amount of dollars: write it like 0.25, with at most nine digits after the point")]
pub struct UsdError {
    /// The text.
    pub text: String,
}

impl Usd {
    /// Takes a number of billionths.
    pub const fn from_nanos(nanos: u128) -> Usd {
        Usd(nanos)
    }

    /// Returns the number of billionths.
    pub const fn nanos(self) -> u128 {
        self.0
    }

    /// Reads an amount.
    pub fn parse(text: &str) -> Result<Usd, UsdError> {
        let number = text.trim();
        let nanos = decimal(number.strip_prefix('$').unwrap_or(number), NANO_DIGITS);
        nanos.map(|nanos| Usd(nanos.into())).map_err(|_| UsdError { text: text.to_owned() })
    }
}

/// Reads a decimal number as a whole number of its smallest unit: with two digits after the point, `8.5` is 850.
pub(crate) fn decimal(text: &str, digits: usize) -> Result<u64, DecimalError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = fraction.trim_end_matches('0');
    match () {
        () if !is_digits(whole) || !is_digits(fraction) => Err(DecimalError::NotANumber),
        () if parts.len() > digits => Err(DecimalError::TooFine),
        () => format!("{}{parts:0<digits$}", whole.trim_start_matches('0')).parse().map_err(|_| DecimalError::TooLarge),
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

/// An amount of money above zero, in the currency in which it was written.
///
/// ```
/// use guildhall_agent::roster::Amount;
/// assert_eq!(Amount::parse("2000msat").unwrap(), Amount::parse("2 sat").unwrap());
/// assert_eq!(Amount::parse("0.05usd").unwrap().to_string(), "$0.05");
/// assert!(Amount::parse("NaN").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Amount {
    Msat(Msat),
    Usd(Usd),
}

/// Says why a text is not an amount, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum MoneyError {
    #[error(transparent)]
    Msat(#[from] AmountError),
    #[error(transparent)]
    Usd(#[from] UsdError),
    #[error("an amount is missing: write 500sat, 2000msat or 0.05usd")]
    Empty,
}

impl Amount {
    /// Reads `500`, `500sat`, `2000msat`, `0.05usd` or `$0.05`; a bare number is sats.
    pub fn parse(text: &str) -> Result<Amount, MoneyError> {
        let small = text.trim().to_ascii_lowercase();
        let dollars = small.strip_prefix('$').or_else(|| small.strip_suffix("usd"));
        match dollars {
            _ if small.is_empty() => Err(MoneyError::Empty),
            None => Ok(Amount::Msat(Msat::parse(&small)?)),
            Some(dollars) => match Usd::parse(dollars)? {
                nothing if nothing == Usd::default() => Err(AmountError::Zero.into()),
                amount => Ok(Amount::Usd(amount)),
            },
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Msat(amount) => amount.fmt(f),
            Amount::Usd(amount) => amount.fmt(f),
        }
    }
}

/// An amount that is not negative, with at most two digits after the point, in the currency of the report.
///
/// ```
/// use guildhall_agent::checks::Hundredths;
/// assert_eq!(Hundredths::parse("$1,850.5").unwrap().to_string(), "1850.50");
/// assert!(Hundredths::parse("12.345").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hundredths(u64);

/// Says why a value is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DecimalError {
    #[error("it is not an amount: write a plain number such as 850 or 850.50")]
    NotANumber,
    #[error("it is negative: write what it costs")]
    Negative,
    #[error("it has more than two digits after the point")]
    TooFine,
    #[error("it is larger than 10000000000000")]
    TooLarge,
}

impl Hundredths {
    /// Reads `850`, `850.5`, `$850`, `1,850.00` or `850 USD`.
    pub fn parse(text: &str) -> Result<Hundredths, DecimalError> {
        let text = text.trim();
        let bare = text.strip_prefix('-').or_else(|| text.strip_prefix('−')).unwrap_or(text).trim_start();
        let bare = bare.strip_prefix('$').or_else(|| bare.strip_prefix("USD")).unwrap_or(bare).trim_start();
        let bare = ["USD", "usd", "$"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare).trim_end();
        let (whole, fraction) = bare.split_once('.').map_or((bare, None), |(whole, rest)| (whole, Some(rest)));
        let mut plain = without_commas(whole).ok_or(DecimalError::NotANumber)?;
        plain.extend(fraction.into_iter().flat_map(|fraction| [".", fraction]));
        let is_negative = text.starts_with(['-', '−']);
        match decimal(&plain, 2) {
            Err(DecimalError::NotANumber) => Err(DecimalError::NotANumber),
            Ok(1..) | Err(_) if is_negative => Err(DecimalError::Negative),
            Ok(hundredths) if hundredths > HUNDREDTHS_MAX => Err(DecimalError::TooLarge),
            read => read.map(Hundredths),
        }
    }

    /// Reads a number of JSON as it is written. The shortest text of a float is the text that its author wrote.
    pub(crate) fn of(number: &Number) -> Result<Hundredths, DecimalError> {
        let text = number.to_string();
        // Only a number that is far too large or far too fine is written with an exponent.
        match text.split_once(['e', 'E']) {
            Some(_) if text.starts_with('-') => Err(DecimalError::Negative),
            Some((_, exponent)) if exponent.starts_with('-') => Err(DecimalError::TooFine),
            Some(_) => Err(DecimalError::TooLarge),
            None => Hundredths::parse(&text),
        }
    }

    /// Adds two amounts; `None` if the sum is too large.
    pub(crate) fn plus(self, other: Hundredths) -> Option<Hundredths> {
        self.0.checked_add(other.0).map(Hundredths)
    }

    /// Returns by how much the amount is over a cap; `None` if it is not over.
    pub(crate) fn over(self, cap: Hundredths) -> Option<Hundredths> {
        self.0.checked_sub(cap.0).filter(|over| *over > 0).map(Hundredths)
    }
}

/// Takes the commas out of `1,850`; `None` if they do not separate thousands.
fn without_commas(whole: &str) -> Option<String> {
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let divides = groups.all(|group| group.len() == 3) && (first.len() <= 3 || !whole.contains(','));
    (divides && (!first.is_empty() || !whole.contains(','))).then(|| whole.replace(',', ""))
}

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, fraction) => write!(f, "{whole}.{fraction:02}"),
        }
    }
}

impl TryFrom<String> for Hundredths {
    type Error = DecimalError;
    fn try_from(text: String) -> Result<Hundredths, DecimalError> {
        Hundredths::parse(&text)
    }
}

impl From<Hundredths> for String {
    fn from(amount: Hundredths) -> String {
        amount.to_string()
    }
}
