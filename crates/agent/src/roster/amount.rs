//! Amounts as people write them in agent files: sats, millisats or dollars. Dollars stay dollars until a rate is known.

use std::fmt;

use guildhall_kernel::{AmountError, Msat};

use crate::usd::{Usd, UsdError};

/// An amount of money in the currency in which it was written. It is above zero.
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

/// Says why something is not an amount, and what to write instead.
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
