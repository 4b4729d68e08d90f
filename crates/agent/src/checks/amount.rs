//! Amounts in reports: whole hundredths, never a float, so that sums are exact.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::usd::{NotDecimal, decimal};

/// The most hundredths of one amount: beyond that JSON's numbers are no longer exact.
const HUNDREDTHS_MAX: u64 = 1_000_000_000_000_000;

/// An amount of no negative size with at most two digits after the point, in whatever currency the report has.
///
/// ```
/// use guildhall_agent::checks::Hundredths;
/// assert_eq!(Hundredths::parse("$1,850.5").unwrap().to_string(), "1850.50");
/// assert!(Hundredths::parse("12.345").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hundredths(u64);

/// Says why something is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names say it")]
pub enum HundredthsError {
    #[error("it is no amount: write a plain number such as 850 or 850.50")]
    NotANumber,
    #[error("it is negative: write what it costs")]
    Negative,
    #[error("it has more than two digits after the point")]
    TooFine,
    #[error("it is too large to be added up")]
    TooLarge,
}

impl Hundredths {
    /// Reads `850`, `850.5`, `$850`, `1,850.00` or `850 USD`.
    pub fn parse(text: &str) -> Result<Hundredths, HundredthsError> {
        let text = text.trim();
        let bare = text.strip_prefix('-').or_else(|| text.strip_prefix('−')).unwrap_or(text).trim_start();
        let bare = bare.strip_prefix('$').or_else(|| bare.strip_prefix("USD")).unwrap_or(bare).trim_start();
        let bare = ["USD", "usd", "$"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare).trim_end();
        let (whole, fraction) = bare.split_once('.').map_or((bare, None), |(whole, rest)| (whole, Some(rest)));
        let mut plain = without_commas(whole).ok_or(HundredthsError::NotANumber)?;
        plain.extend(fraction.into_iter().flat_map(|fraction| [".", fraction]));
        let is_negative = text.starts_with(['-', '−']);
        match decimal(&plain, 2) {
            Err(NotDecimal::NotANumber) => Err(HundredthsError::NotANumber),
            Ok(1..) | Err(_) if is_negative => Err(HundredthsError::Negative),
            Err(NotDecimal::TooFine) => Err(HundredthsError::TooFine),
            Ok(hundredths) if hundredths <= HUNDREDTHS_MAX => Ok(Hundredths(hundredths)),
            Ok(_) | Err(NotDecimal::TooLarge) => Err(HundredthsError::TooLarge),
        }
    }

    /// Takes a number of JSON. It is read as it is written: the shortest text of a float is what its author wrote.
    pub(super) fn of(number: &Number) -> Result<Hundredths, HundredthsError> {
        let text = number.to_string();
        // An exponent is written only for what is far too large or far too fine.
        match text.split_once(['e', 'E']) {
            Some(_) if text.starts_with('-') => Err(HundredthsError::Negative),
            Some((_, exponent)) if exponent.starts_with('-') => Err(HundredthsError::TooFine),
            Some(_) => Err(HundredthsError::TooLarge),
            None => Hundredths::parse(&text),
        }
    }

    /// Adds; `None` if the sum is too large to be told.
    pub(super) fn plus(self, other: Hundredths) -> Option<Hundredths> {
        self.0.checked_add(other.0).map(Hundredths)
    }

    /// Returns by how much it is over a cap; `None` if it is not.
    pub(super) fn over(self, cap: Hundredths) -> Option<Hundredths> {
        self.0.checked_sub(cap.0).filter(|over| *over > 0).map(Hundredths)
    }
}

/// Takes the commas out of `1,850`; `None` if they do not divide thousands.
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
    type Error = HundredthsError;
    fn try_from(text: String) -> Result<Hundredths, HundredthsError> {
        Hundredths::parse(&text)
    }
}

impl From<Hundredths> for String {
    fn from(amount: Hundredths) -> String {
        amount.to_string()
    }
}
