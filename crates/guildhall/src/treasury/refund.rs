//! Refunds and the list of payments: what leaves the wallet, and what a person can do about a payment whose end is not known.

use std::time::Duration;

use guildhall_kernel::{
    FailedBecause, Hash, InvoiceError, Msat, Payer, Payment, PaymentEnd, PaymentHash, Preimage, RowStatus, SessionKind,
    TreasuryFact, UnixMs, WalletReply, fee_limit, payable,
};
use guildhall_lightning::{Lnbits, decode, preimage_hash};
use guildhall_local::{RequestKey, SessionId, TreasuryBatch, unix_now};

use super::{LOOK_AGAIN, TreasuryWorker, WalletError, stored_invoice};
use crate::hall::{Hall, HallError};

/// What a session can get back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundQuote {
    /// The free money.
    pub free: Msat,
    /// The largest amount that can be paid out, in whole sats.
    pub payable: Msat,
    /// The most that the payment may cost in addition. What it does not cost stays in the session.
    pub fee_max: Msat,
    /// The money of work that has not ended. It is not part of the free money.
    pub at_work: Msat,
}

/// A payment to a person that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    /// The payment.
    pub payment: PaymentHash,
    /// The amount.
    pub money: Msat,
}

/// A payment out of the wallet, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentView {
    /// The payment.
    pub payment: PaymentHash,
    /// The account that pays.
    pub from: Payer,
    /// The amount.
    pub money: Msat,
    /// The most that it may cost in addition.
    pub fee_max: Msat,
    /// When it was decided.
    pub at: UnixMs,
    /// When its invoice expires.
    pub expires: UnixMs,
    /// How many requests were sent.
    pub attempts: u32,
    /// How it ended, if it has.
    pub end: Option<PaymentEnd>,
}

/// What a person knows about a payment whose end is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It was made; this is the proof.
    Paid(Preimage),
    /// It was not made, and never will be.
    Failed,
}

impl Resolution {
    /// Reads a preimage: 64 hexadecimal digits.
    pub fn paid(preimage: &str) -> Result<Resolution, WalletError> {
        let hash = Hash::try_from(preimage.trim().to_ascii_lowercase()).map_err(|_| WalletError::WrongPreimage)?;
        Ok(Resolution::Paid(Preimage(hash)))
    }
}

impl Hall {
    /// Returns what a session can get back. A payment that nobody waited for is credited before.
    pub async fn refund_quote(&self, session: &SessionId) -> Result<RefundQuote, HallError> {
        self.credit(session).await?;
        let account = self.journal().folded_account(session).await?;
        if *account.kind() == SessionKind::Play {
            return Err(WalletError::PlaySession(session.clone()).into());
        }
        let (free, amount) = (account.free(), payable(account.free()));
        Ok(RefundQuote { free, payable: amount, fee_max: fee_limit(amount), at_work: account.at_work() })
    }

    /// Decides to pay free money of a session to an invoice. The payment is stored before this returns, and the worker of any
    /// process makes it.
    pub async fn refund(&self, session: &SessionId, invoice: &str) -> Result<Refund, HallError> {
        self.refund_once(session, invoice, None).await
    }

    /// Decides to pay free money of a session to an invoice under a key, unless the key was used before in this session. The result
    /// of the request is the payment.
    pub async fn refund_once(
        &self,
        session: &SessionId,
        invoice: &str,
        key: Option<RequestKey>,
    ) -> Result<Refund, HallError> {
        let decoded = decode(invoice).map_err(WalletError::from)?;
        if self.wallet_settings().admin_key.is_none() {
            return Err(WalletError::NoAdminKey.into());
        }
        let treasury = self.treasury().await?;
        if treasury.payment(decoded.payment).is_some() {
            return Err(WalletError::Exists(decoded.payment).into());
        }
        if treasury.frozen().next().is_some() {
            return Err(WalletError::Frozen.into());
        }
        let client = self.client().await?;
        if self.warn_if_slow(is_ours(&client, decoded.payment)).await {
            return Err(WalletError::from(InvoiceError::Ours).into());
        }
        let free = self.refund_quote(session).await?.free;
        let (invoice, text) = stored_invoice(&decoded);
        let wanted = treasury.wanted(Payer::Session(session.clone()), free, &invoice, unix_now());
        let wanted = wanted.map_err(WalletError::from)?;
        let batch = TreasuryBatch { at: unix_now(), facts: vec![wanted], texts: vec![text] };
        match key {
            Some(key) => {
                let result = decoded.payment.to_string();
                self.journal().append_treasury_once(batch, Msat::SUPPLY, (session, key, result)).await?;
            }
            None => {
                self.journal().append_treasury(None, batch).await?;
            }
        }
        Ok(Refund { payment: decoded.payment, money: decoded.money.unwrap_or(Msat::ZERO) })
    }

    /// Makes a payment, and waits until it has ended or the time is over. Returns the payment as it is then.
    pub async fn wait_for_payment(&self, payment: PaymentHash, time: Duration) -> Result<PaymentView, HallError> {
        let worker = TreasuryWorker::start(self);
        let ended = async {
            loop {
                let treasury = self.treasury().await?;
                let found = treasury.payment(payment);
                let found = found.ok_or_else(|| WalletError::NoPayment(payment.to_string()))?;
                if found.end.is_some() {
                    return Ok::<PaymentView, HallError>(view(payment, found));
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let ended = tokio::time::timeout(time, ended).await;
        worker.finish().await;
        match ended {
            Ok(ended) => ended,
            Err(_) => self.payment(payment).await,
        }
    }

    /// Asks the wallet for everything that is due, for at most this time: its list of payments, invoices that may be paid, and
    /// payments to make.
    pub async fn settle_payments(&self, time: Duration) -> Result<(), HallError> {
        if self.treasury().await?.wallet().is_some() && self.wallet_settings().invoice_key.is_some() {
            let worker = TreasuryWorker::start(self);
            // The rest is done by a later command.
            let _ = tokio::time::timeout(time, worker.finish()).await;
        }
        Ok(())
    }

    /// Returns all payments out of the wallet, the newest first.
    pub async fn payments(&self) -> Result<Vec<PaymentView>, HallError> {
        let treasury = self.treasury().await?;
        let mut payments: Vec<_> = treasury.payments().map(|(hash, payment)| view(hash, payment)).collect();
        payments.sort_by_key(|payment| std::cmp::Reverse(payment.at));
        Ok(payments)
    }

    /// Returns one payment.
    pub async fn payment(&self, payment: PaymentHash) -> Result<PaymentView, HallError> {
        let treasury = self.treasury().await?;
        let found = treasury.payment(payment).map(|found| view(payment, found));
        Ok(found.ok_or_else(|| WalletError::NoPayment(payment.to_string()))?)
    }

    /// Ends a payment whose end is not known, as a person says. No process may ask the wallet meanwhile.
    pub async fn resolve_payment(&self, payment: PaymentHash, how: Resolution) -> Result<(), HallError> {
        let view = self.payment(payment).await?;
        if view.end.is_some() {
            return Err(WalletError::NoPayment(payment.to_string()).into());
        }
        let fact = match how {
            Resolution::Paid(preimage) if preimage_hash(preimage) == payment => {
                TreasuryFact::Settled { payment, fee: Msat::ZERO, preimage }
            }
            Resolution::Paid(_) => return Err(WalletError::WrongPreimage.into()),
            Resolution::Failed if self.shows_as_paid(payment).await => {
                return Err(WalletError::WasPaid(payment.to_string()).into());
            }
            Resolution::Failed => TreasuryFact::Failed { payment, why: FailedBecause::Person },
        };
        let Some(lease) = self.journal().lease_treasury(unix_now()).await? else {
            return Err(WalletError::Busy(self.journal().treasury_holder().await?).into());
        };
        let batch = TreasuryBatch { at: unix_now(), facts: vec![fact], texts: Vec::new() };
        self.journal().append_treasury(Some(&lease), batch).await?;
        Ok(())
    }
}

impl Hall {
    /// Whether the wallet replies, and shows a payment as made. A wallet that can't say is the reason why a person decides.
    async fn shows_as_paid(&self, payment: PaymentHash) -> bool {
        let Ok(wallet) = self.client().await else { return false };
        let reply = wallet.look_up(payment).await.reply;
        matches!(reply, WalletReply::Found(row) if row.is_outgoing && row.status == RowStatus::Success)
    }
}

/// Whether the wallet made this invoice itself: it can't pay itself, and the payment would wait until the invoice expires.
pub(super) async fn is_ours(wallet: &Lnbits, payment: PaymentHash) -> bool {
    let reply = wallet.look_up(payment).await.reply;
    matches!(reply, WalletReply::Found(row) if !row.is_outgoing)
}

fn view(hash: PaymentHash, payment: &Payment) -> PaymentView {
    let Payment { from, money, fee_max, expires, at, attempts, end, .. } = payment.clone();
    PaymentView { payment: hash, from, money, fee_max, at, expires, attempts, end }
}
