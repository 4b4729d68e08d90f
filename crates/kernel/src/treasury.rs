//! The treasury: what the hall's wallet received, what the hall owes, and what it pays. One account for all sessions, in wall
//! time. Its state is a fold of its facts. A fact that does not fit is refused, so no order of facts can create money, lose money
//! or pay twice.
//!
//! A payment is `Wanted`, then `Sending`, then `Settled` or `Failed`. A payment that is `Sending` and has not ended is *unknown*:
//! the request may have left, so its money stays held. [`Treasurer`] decides what to ask the wallet.

mod errands;
mod fact;
mod invoice;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use self::errands::{Errand, Policy, Row, RowStatus, Treasurer, WalletReply};
pub use self::fact::{FailedBecause, Payer, PaymentHash, Preimage, TreasuryCorrupt, TreasuryError, TreasuryFact};
pub use self::invoice::{Invoice, InvoiceError, Network, fee_limit, payable};
use crate::money::{Msat, Quantity};
use crate::name::{PayeeName, WalletId};
use crate::path::Path;
use crate::session::SessionFact;
use crate::session_id::SessionId;
use crate::text::TextRef;
use crate::time::{Millis, UnixMs};

/// The version of the stored form of the treasury's facts that this kernel writes.
pub const TREASURY_FORMAT: u16 = 1;

/// The wallet of the hall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wallet {
    /// Its id.
    pub id: WalletId,
    /// Its network.
    pub network: Network,
    /// The address of its server.
    pub url: TextRef,
    /// When the hall was first connected to it.
    pub since: UnixMs,
}

/// An invoice for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoiced {
    /// The session.
    pub session: SessionId,
    /// The amount.
    pub money: Msat,
    /// When it expires.
    pub expires: UnixMs,
    /// The invoice.
    pub invoice: TextRef,
    /// Whether the wallet has the money.
    pub is_paid: bool,
}

/// How long after its expiry an invoice is looked up. Later, only the wallet's list is read.
const LATE_MAX: Millis = Millis(24 * 60 * 60 * 1000);

impl Invoiced {
    /// Whether the invoice is not paid and has not expired.
    pub fn is_payable(&self, now: UnixMs) -> bool {
        !self.is_paid && now <= self.expires
    }

    /// Whether the invoice is not paid and its payment is still looked up.
    pub fn is_open(&self, now: UnixMs) -> bool {
        !self.is_paid && now <= self.expires.after(LATE_MAX)
    }
}

/// A payment out of the wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The account that pays.
    pub from: Payer,
    /// The amount.
    pub money: Msat,
    /// The most that it may cost besides its amount.
    pub fee_max: Msat,
    /// When its invoice expires.
    pub expires: UnixMs,
    /// Its invoice.
    pub invoice: TextRef,
    /// When it was decided.
    pub at: UnixMs,
    /// How many requests were sent, or are about to be sent.
    pub attempts: u32,
    /// When the newest request was about to be sent.
    pub sent_at: Option<UnixMs>,
    /// How it ended, if it has.
    pub end: Option<PaymentEnd>,
}

/// How a payment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentEnd {
    /// It was made.
    Settled {
        /// The routing fee.
        fee: Msat,
        /// The proof.
        preimage: Preimage,
    },
    /// It will never be made.
    Failed(FailedBecause),
}

impl Payment {
    /// Returns the amount with the fee limit: the money that is held until the payment ends.
    pub fn held(&self) -> Msat {
        self.money.plus(self.fee_max).unwrap_or(Msat::SUPPLY)
    }

    /// Returns what a payment with this fee costs its account. The house pays what exceeds the limit.
    fn cost(&self, fee: Msat) -> Msat {
        self.money.plus(fee.min(self.fee_max)).unwrap_or(Msat::SUPPLY)
    }
}

/// The account of a payee: `earned = owed + held for its payment + paid`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayeeAccount {
    /// All fees that it has earned.
    pub earned: Msat,
    /// What it is owed, without the payment that is under way.
    pub owed: Msat,
    /// What its payments have cost, with their fees.
    pub paid: Msat,
    /// Its payment that is under way.
    pub paying: Option<PaymentHash>,
}

/// The hall's money, as far as it is not in a session: a fold of the treasury's facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treasury {
    wallet: Option<Wallet>,
    payouts_allowed: bool,
    /// The unknown payments that no person has accepted yet.
    frozen: BTreeSet<PaymentHash>,
    /// All payments of the wallet that are not this hall's.
    foreign: BTreeSet<PaymentHash>,
    invoices: BTreeMap<PaymentHash, Invoiced>,
    payments: BTreeMap<PaymentHash, Payment>,
    payees: BTreeMap<PayeeName, PayeeAccount>,
    earned: BTreeSet<(SessionId, Path)>,
    /// The payment of each session that is under way.
    refunding: BTreeMap<SessionId, PaymentHash>,
    house_fees: Msat,
}

impl Treasury {
    /// Restores the treasury from its stored facts.
    pub fn restore(facts: impl IntoIterator<Item = (TreasuryFact, UnixMs)>) -> Result<Treasury, TreasuryCorrupt> {
        let mut treasury = Treasury::default();
        for (index, (fact, at)) in facts.into_iter().enumerate() {
            treasury.apply(&fact, at).map_err(|source| TreasuryCorrupt { index, source })?;
        }
        Ok(treasury)
    }

    /// Applies one fact, or says why the fact can't have happened. A refused fact changes nothing.
    pub fn apply(&mut self, fact: &TreasuryFact, at: UnixMs) -> Result<(), TreasuryError> {
        match fact {
            TreasuryFact::Connected { wallet, network, url } => self.connect(wallet, *network, *url, at),
            TreasuryFact::Payouts { allowed } => {
                self.require_wallet()?;
                self.payouts_allowed = *allowed;
                Ok(())
            }
            TreasuryFact::Invoiced { payment, session, money, expires, invoice } => {
                self.require_wallet()?;
                self.require_new(*payment)?;
                require_some(*money)?;
                let (session, money, expires, invoice) = (session.clone(), *money, *expires, *invoice);
                self.invoices.insert(*payment, Invoiced { session, money, expires, invoice, is_paid: false });
                Ok(())
            }
            TreasuryFact::Received { payment } => match self.invoices.get_mut(payment) {
                Some(invoiced) if !invoiced.is_paid => {
                    invoiced.is_paid = true;
                    Ok(())
                }
                Some(_) | None => Err(TreasuryError::NotUnderWay { payment: *payment }),
            },
            TreasuryFact::Earned { payee, session, contract, money } => self.earn(payee, session, contract, *money),
            TreasuryFact::Wanted { payment, from, money, fee_max, expires, invoice } => {
                let (from, money, fee_max) = (from.clone(), *money, *fee_max);
                let (expires, invoice, attempts) = (*expires, *invoice, 0);
                let (sent_at, end) = (None, None);
                self.want(*payment, Payment { from, money, fee_max, expires, invoice, at, attempts, sent_at, end })
            }
            TreasuryFact::Sending { payment, attempt } => {
                let found = self.under_way(*payment)?;
                if found.attempts.checked_add(1) != Some(*attempt) {
                    return Err(TreasuryError::WrongAttempt { payment: *payment, sent: found.attempts });
                }
                let is_payout = matches!(found.from, Payer::Payee(_));
                // The first request decides whether money leaves. Later ones ask about the same payment.
                if *attempt == 1 && (!self.frozen.is_empty() || is_payout && !self.payouts_allowed) {
                    return Err(TreasuryError::PaymentsStopped);
                }
                let found = self.under_way(*payment)?;
                (found.attempts, found.sent_at) = (*attempt, Some(at));
                Ok(())
            }
            TreasuryFact::Settled { payment, fee, preimage } => {
                self.end(*payment, PaymentEnd::Settled { fee: *fee, preimage: *preimage })
            }
            TreasuryFact::Failed { payment, why } => {
                let Payment { attempts: sent, expires, .. } = *self.under_way(*payment)?;
                match why {
                    FailedBecause::Refused if sent != 1 => {
                        return Err(TreasuryError::WrongAttempt { payment: *payment, sent });
                    }
                    FailedBecause::Expired if at <= expires => {
                        return Err(TreasuryError::NotExpired { payment: *payment });
                    }
                    FailedBecause::Refused | FailedBecause::Expired | FailedBecause::Person => {}
                }
                self.end(*payment, PaymentEnd::Failed(*why))
            }
            TreasuryFact::Frozen { payment } => {
                self.require_wallet()?;
                self.require_new(*payment)?;
                self.foreign.insert(*payment);
                self.frozen.insert(*payment);
                Ok(())
            }
            TreasuryFact::Accepted { payment } => {
                let was_frozen = self.frozen.remove(payment);
                if was_frozen { Ok(()) } else { Err(TreasuryError::NotFrozen { payment: *payment }) }
            }
        }
    }

    /// Returns the fact that belongs into a session's account with this fact of the treasury. Both are stored together. Call it
    /// before the fact is applied.
    pub fn session_fact(&self, fact: &TreasuryFact) -> Option<(SessionId, SessionFact)> {
        match fact {
            TreasuryFact::Received { payment } => {
                let Invoiced { session, money, .. } = self.invoices.get(payment)?;
                Some((session.clone(), SessionFact::Funded { money: *money, root: None, payment: Some(*payment) }))
            }
            TreasuryFact::Wanted { payment, from: Payer::Session(session), money, fee_max, .. } => {
                let money = money.plus(*fee_max)?;
                Some((session.clone(), SessionFact::Withdrawing { payment: *payment, money }))
            }
            TreasuryFact::Settled { payment, fee, .. } => self.withdrawn(*payment, |paid| paid.cost(*fee)),
            TreasuryFact::Failed { payment, .. } => self.withdrawn(*payment, |_| Msat::ZERO),
            TreasuryFact::Wanted { from: Payer::Payee(_), .. }
            | TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Invoiced { .. }
            | TreasuryFact::Earned { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Frozen { .. }
            | TreasuryFact::Accepted { .. } => None,
        }
    }

    fn withdrawn(&self, payment: PaymentHash, spent: impl Fn(&Payment) -> Msat) -> Option<(SessionId, SessionFact)> {
        let found = self.payments.get(&payment)?;
        match &found.from {
            Payer::Session(session) => Some((session.clone(), SessionFact::Withdrawn { payment, spent: spent(found) })),
            Payer::Payee(_) => None,
        }
    }

    /// Returns the wallet, if one is connected.
    pub fn wallet(&self) -> Option<&Wallet> {
        self.wallet.as_ref()
    }

    /// Returns whether a person has allowed payments to payees.
    pub fn payouts_allowed(&self) -> bool {
        self.payouts_allowed
    }

    /// Returns the payments of the wallet that this hall does not know. If there are any, nothing is paid.
    pub fn frozen(&self) -> impl Iterator<Item = PaymentHash> {
        self.frozen.iter().copied()
    }

    /// Returns all payments of the wallet that are not this hall's, as far as they are known.
    pub fn foreign(&self) -> impl Iterator<Item = PaymentHash> {
        self.foreign.iter().copied()
    }

    /// Returns all invoices for sessions.
    pub fn invoices(&self) -> impl Iterator<Item = (PaymentHash, &Invoiced)> {
        self.invoices.iter().map(|(payment, invoiced)| (*payment, invoiced))
    }

    /// Returns the money of a session's invoices that are not paid and have not expired.
    pub fn awaited(&self, session: &SessionId, now: UnixMs) -> Msat {
        let open = |invoiced: &&Invoiced| invoiced.is_payable(now) && invoiced.session == *session;
        let sum = |sum: Msat, invoiced: &Invoiced| sum.plus(invoiced.money).unwrap_or(Msat::SUPPLY);
        self.invoices.values().filter(open).fold(Msat::ZERO, sum)
    }

    /// Returns all payments out of the wallet.
    pub fn payments(&self) -> impl Iterator<Item = (PaymentHash, &Payment)> {
        self.payments.iter().map(|(hash, payment)| (*hash, payment))
    }

    /// Returns a payment out of the wallet.
    pub fn payment(&self, payment: PaymentHash) -> Option<&Payment> {
        self.payments.get(&payment)
    }

    /// Returns the accounts of all payees that have earned something.
    pub fn payees(&self) -> impl Iterator<Item = (&PayeeName, &PayeeAccount)> {
        self.payees.iter()
    }

    /// Returns the part of routing fees that exceeded their limits. The house pays it.
    pub fn house_fees(&self) -> Msat {
        self.house_fees
    }

    /// Returns what the hall owes to payees, with their payments that are under way.
    pub fn owed_to_payees(&self) -> Msat {
        let under_way = |account: &PayeeAccount| account.paying.and_then(|payment| self.payments.get(&payment));
        let parts = self
            .payees
            .values()
            .flat_map(|account| [account.owed, under_way(account).map_or(Msat::ZERO, Payment::held)]);
        parts.fold(Msat::ZERO, |sum, part| sum.plus(part).unwrap_or(Msat::SUPPLY))
    }

    /// Returns whether this hall knows a payment, in or out.
    pub fn knows(&self, payment: PaymentHash) -> bool {
        self.invoices.contains_key(&payment) || self.payments.contains_key(&payment) || self.foreign.contains(&payment)
    }

    fn connect(&mut self, id: &WalletId, network: Network, url: TextRef, at: UnixMs) -> Result<(), TreasuryError> {
        match &self.wallet {
            Some(wallet) if wallet.id != *id || wallet.network != network => {
                return Err(TreasuryError::OtherWallet { connected: wallet.id.clone() });
            }
            Some(_) | None => {}
        }
        let since = self.wallet.as_ref().map_or(at, |wallet| wallet.since);
        self.wallet = Some(Wallet { id: id.clone(), network, url, since });
        Ok(())
    }

    fn earn(
        &mut self,
        payee: &PayeeName,
        session: &SessionId,
        contract: &Path,
        money: Msat,
    ) -> Result<(), TreasuryError> {
        self.require_wallet()?;
        require_some(money)?;
        let key = (session.clone(), contract.clone());
        if self.earned.contains(&key) {
            let (session, contract) = key;
            return Err(TreasuryError::EarnedBefore { session, contract });
        }
        let account = self.payees.get(payee).copied().unwrap_or_default();
        let sum = |before: Msat| before.plus(money).ok_or(TreasuryError::BeyondSupply);
        let account = PayeeAccount { earned: sum(account.earned)?, owed: sum(account.owed)?, ..account };
        self.payees.insert(payee.clone(), account);
        self.earned.insert(key);
        Ok(())
    }

    fn want(&mut self, hash: PaymentHash, payment: Payment) -> Result<(), TreasuryError> {
        self.require_wallet()?;
        self.require_new(hash)?;
        require_some(payment.money)?;
        let held = payment.money.plus(payment.fee_max).ok_or(TreasuryError::BeyondSupply)?;
        let from = payment.from.clone();
        match &from {
            Payer::Session(session) => {
                if let Some(payment) = self.refunding.get(session).copied() {
                    return Err(TreasuryError::StillPaying { from, payment });
                }
                self.refunding.insert(session.clone(), hash);
            }
            Payer::Payee(payee) => {
                let account = self.payees.get(payee).copied().unwrap_or_default();
                if let Some(payment) = account.paying {
                    return Err(TreasuryError::StillPaying { from, payment });
                }
                let Some(owed) = account.owed.minus(held) else {
                    return Err(TreasuryError::Overdrawn { payee: payee.clone(), asked: held, owed: account.owed });
                };
                self.payees.insert(payee.clone(), PayeeAccount { owed, paying: Some(hash), ..account });
            }
        }
        self.payments.insert(hash, payment);
        Ok(())
    }

    fn end(&mut self, hash: PaymentHash, end: PaymentEnd) -> Result<(), TreasuryError> {
        let payment = self.under_way(hash)?.clone();
        let (spent, over) = match end {
            PaymentEnd::Settled { fee, .. } => (payment.cost(fee), fee.minus(payment.fee_max).unwrap_or(Msat::ZERO)),
            PaymentEnd::Failed(_) => (Msat::ZERO, Msat::ZERO),
        };
        let house_fees = self.house_fees.plus(over).ok_or(TreasuryError::BeyondSupply)?;
        match &payment.from {
            Payer::Session(session) => {
                self.refunding.remove(session);
            }
            Payer::Payee(payee) => {
                let account = self.payees.get(payee).copied().unwrap_or_default();
                let change = payment.held().minus(spent).unwrap_or(Msat::ZERO);
                let owed = account.owed.plus(change).ok_or(TreasuryError::BeyondSupply)?;
                let paid = account.paid.plus(spent).ok_or(TreasuryError::BeyondSupply)?;
                self.payees.insert(payee.clone(), PayeeAccount { owed, paid, paying: None, ..account });
            }
        }
        self.house_fees = house_fees;
        self.payments.insert(hash, Payment { end: Some(end), ..payment });
        Ok(())
    }

    fn under_way(&mut self, payment: PaymentHash) -> Result<&mut Payment, TreasuryError> {
        let found = self.payments.get_mut(&payment).filter(|found| found.end.is_none());
        found.ok_or(TreasuryError::NotUnderWay { payment })
    }

    fn require_wallet(&self) -> Result<(), TreasuryError> {
        self.wallet.as_ref().map(|_| ()).ok_or(TreasuryError::NotConnected)
    }

    fn require_new(&self, payment: PaymentHash) -> Result<(), TreasuryError> {
        if self.knows(payment) { Err(TreasuryError::KnownPayment { payment }) } else { Ok(()) }
    }
}

fn require_some(money: Msat) -> Result<(), TreasuryError> {
    if money == Msat::ZERO { Err(TreasuryError::Nothing) } else { Ok(()) }
}
