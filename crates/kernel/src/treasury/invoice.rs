//! Invoices: what the treasury demands of an invoice before anyone sees it or money is set aside for it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Payer, PaymentHash, Treasury, TreasuryFact};
use crate::money::{Msat, Quantity};
use crate::session_id::SessionId;
use crate::text::TextRef;
use crate::time::{Millis, UnixMs};

/// The longest time that an invoice may be valid: until it ends, the money of its payment may be held.
const VALID_MAX: Millis = Millis(24 * 60 * 60 * 1000);

/// An invoice must be valid for this long when a payment is decided.
const VALID_MIN: Millis = Millis(10_000);

/// The smallest fee limit, and the part of the amount that is the limit of larger payments. Wallet servers reserve as much.
const FEE_LIMIT_MIN: Msat = match Msat::from_sat(2) {
    Ok(money) => money,
    Err(_) => Msat::ZERO,
};
const FEE_DIVISOR: u64 = 100;

const MSAT_PER_SAT: u64 = 1000;

/// The network that an invoice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Bitcoin.
    Bitcoin,
    /// The test network.
    Testnet,
    /// The signed test network.
    Signet,
    /// A private network.
    Regtest,
    /// A simulated network.
    Simnet,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Bitcoin => "bitcoin",
            Network::Testnet => "testnet",
            Network::Signet => "signet",
            Network::Regtest => "regtest",
            Network::Simnet => "simnet",
        })
    }
}

/// An invoice that was decoded outside the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoice {
    /// The payment that it asks for.
    pub payment: PaymentHash,
    /// The amount, if it has one.
    pub money: Option<Msat>,
    /// Its network.
    pub network: Network,
    /// When it expires.
    pub expires: UnixMs,
    /// The invoice itself.
    pub text: TextRef,
}

/// Why an invoice is refused, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvoiceError {
    /// No wallet is connected.
    #[error("no wallet is connected: run `guildhall wallet connect URL`")]
    NotConnected,
    /// The invoice has no amount.
    #[error("the invoice has no amount: make one with an amount")]
    NoAmount,
    /// The invoice is not for the amount that was asked for.
    #[error("the invoice is for {found}, but {asked} was asked for")]
    OtherAmount {
        /// The amount of the invoice.
        found: Msat,
        /// The amount that was asked for.
        asked: Msat,
    },
    /// The amount is not a whole number of sats.
    #[error("the invoice is for {found}: make one for a whole number of sats")]
    Fractional {
        /// The amount of the invoice.
        found: Msat,
    },
    /// The invoice has expired, or expires in a moment.
    #[error("the invoice has expired, or expires in less than 10 seconds: make a new one")]
    Expired,
    /// The invoice is valid too long.
    #[error(
        "the invoice is valid for more than a day, and its money would be held that long: make one that expires within 24 hours"
    )]
    TooLong,
    /// The invoice is for another network.
    #[error("the invoice is for the network {found}, but the wallet is on {wallet}")]
    OtherNetwork {
        /// The network of the invoice.
        found: Network,
        /// The network of the wallet.
        wallet: Network,
    },
    /// The invoice was made by the hall's own wallet.
    #[error("this invoice was made by the wallet of this hall, so nothing would be paid: make one with another wallet")]
    Ours,
    /// The invoice was used before.
    #[error("this invoice was used before: make a new one")]
    Used,
    /// The account does not have the money.
    #[error(
        "{asked} and a fee of up to {fee_max} were asked for, but only {free} is free: make an invoice for at most {payable}"
    )]
    TooMuch {
        /// The amount of the invoice.
        asked: Msat,
        /// Its fee limit.
        fee_max: Msat,
        /// The free money.
        free: Msat,
        /// The largest amount that can be paid.
        payable: Msat,
    },
}

/// Returns the most that a payment may cost besides its amount: one percent, at least 2 sat.
pub fn fee_limit(money: Msat) -> Msat {
    Msat::capped(u128::from(money.get().div_ceil(FEE_DIVISOR))).max(FEE_LIMIT_MIN)
}

/// Returns the largest amount in whole sats that this money can pay together with the fee limit.
pub fn payable(money: Msat) -> Msat {
    let Some(most) = money.minus(FEE_LIMIT_MIN) else { return Msat::ZERO };
    let by_part = u128::from(money.get()) * u128::from(FEE_DIVISOR) / u128::from(FEE_DIVISOR + 1);
    let mut sats = most.min(Msat::capped(by_part)).get() / MSAT_PER_SAT;
    loop {
        let amount = Msat::capped(u128::from(sats) * u128::from(MSAT_PER_SAT));
        match amount.plus(fee_limit(amount)) {
            Some(sum) if sum <= money => return amount,
            // Rounding can be off by one sat.
            _ => sats = sats.saturating_sub(1),
        }
        if sats == 0 {
            return Msat::ZERO;
        }
    }
}

impl Treasury {
    /// Returns the fact for an invoice that the wallet made for a session, or says why the invoice must not be shown.
    pub fn invoiced(
        &self,
        session: &SessionId,
        asked: Msat,
        invoice: &Invoice,
        now: UnixMs,
    ) -> Result<TreasuryFact, InvoiceError> {
        let money = self.amount_of(invoice, now)?;
        if money != asked {
            return Err(InvoiceError::OtherAmount { found: money, asked });
        }
        let Invoice { payment, expires, text, .. } = *invoice;
        Ok(TreasuryFact::Invoiced { payment, session: session.clone(), money, expires, invoice: text })
    }

    /// Returns the fact for a payment of an invoice that a person or a payee gave, or says why it is refused. `free` is the money
    /// of the account that pays.
    pub fn wanted(
        &self,
        from: Payer,
        free: Msat,
        invoice: &Invoice,
        now: UnixMs,
    ) -> Result<TreasuryFact, InvoiceError> {
        let money = self.amount_of(invoice, now)?;
        if money.get() % MSAT_PER_SAT != 0 {
            return Err(InvoiceError::Fractional { found: money });
        }
        let fee_max = fee_limit(money);
        if money.plus(fee_max).is_none_or(|sum| sum > free) {
            return Err(InvoiceError::TooMuch { asked: money, fee_max, free, payable: payable(free) });
        }
        let Invoice { payment, expires, text, .. } = *invoice;
        Ok(TreasuryFact::Wanted { payment, from, money, fee_max, expires, invoice: text })
    }

    fn amount_of(&self, invoice: &Invoice, now: UnixMs) -> Result<Msat, InvoiceError> {
        let wallet = self.wallet().ok_or(InvoiceError::NotConnected)?;
        if invoice.network != wallet.network {
            return Err(InvoiceError::OtherNetwork { found: invoice.network, wallet: wallet.network });
        }
        if self.invoices.contains_key(&invoice.payment) {
            return Err(InvoiceError::Ours);
        }
        if self.knows(invoice.payment) {
            return Err(InvoiceError::Used);
        }
        if invoice.expires <= now.after(VALID_MIN) {
            return Err(InvoiceError::Expired);
        }
        if invoice.expires > now.after(VALID_MAX) {
            return Err(InvoiceError::TooLong);
        }
        invoice.money.filter(|money| *money > Msat::ZERO).ok_or(InvoiceError::NoAmount)
    }
}
