//! Funding: a person pays an invoice, and the session has that money.

use std::time::Duration;

use guildhall_kernel::{Msat, PaymentHash, Quantity, Session, SessionFact, SessionKind, UnixMs};
use guildhall_local::{JournalError, NewSession, SessionBatch, SessionId, TreasuryBatch, unix_now};

use super::{Followed, LOOK_AGAIN, TreasuryWorker, WalletError, stored_invoice};
use crate::hall::{Hall, HallError};
use crate::name::fresh_id;

/// How long an invoice is valid.
const VALID: Duration = Duration::from_hours(1);

/// How long a command waits for payments that nobody waited for.
const CREDIT_WAIT: Duration = Duration::from_secs(5);

/// The label of a session that was funded before its first request.
const LABEL: &str = "funded session";

/// An invoice that a person can pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Funding {
    /// The session that gets the money.
    pub session: SessionId,
    /// The payment.
    pub payment: PaymentHash,
    /// The amount.
    pub money: Msat,
    /// The invoice.
    pub invoice: String,
    /// When the invoice expires. A later payment counts, too.
    pub expires: UnixMs,
}

/// How waiting for a payment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FundingEnd {
    /// The session has the money.
    Paid {
        /// The free money of the session.
        free: Msat,
    },
    /// The invoice has expired.
    Expired,
}

impl Hall {
    /// Makes an invoice for a session, or for a new session. It is stored before this returns, and can be paid even if no process
    /// waits for it.
    pub async fn fund(&self, session: Option<&SessionId>, money: Msat) -> Result<Funding, HallError> {
        let treasury = self.treasury().await?;
        let wallet = treasury.wallet().ok_or(WalletError::NotConnected)?.id.clone();
        let id = session.cloned().unwrap_or_else(fresh_id);
        let session_max = self.wallet_settings().limits.session_max;
        let account = match session {
            Some(id) => self.journal().folded_account(id).await?,
            None => Session::default(),
        };
        if session.is_some() && *account.kind() == SessionKind::Play {
            return Err(WalletError::PlaySession(id).into());
        }
        // The limit is checked again when the invoice is stored. This check is early, so that no invoice is made in vain.
        let has = account.unspent().plus(treasury.awaited(&id, unix_now()));
        let wanted = has.and_then(|has| has.plus(money)).unwrap_or(Msat::SUPPLY);
        if wanted > session_max {
            return Err(WalletError::SessionLimit { session: id, wanted, most: session_max }.into());
        }
        let client = self.client().await?;
        let memo = format!("Guildhall session {id}");
        let decoded = self.warn_if_slow(client.invoice(money, &memo, VALID)).await.map_err(WalletError::from)?;
        let (invoice, text) = stored_invoice(&decoded);
        let fact = treasury.invoiced(&id, money, &invoice, unix_now()).map_err(WalletError::from)?;
        if session.is_none() {
            let (created_at, project) = (unix_now(), self.project().display().to_string());
            self.journal().create(NewSession { id: id.clone(), created_at, project, label: LABEL.to_owned() }).await?;
            let lease = self.journal().lease(&id, unix_now()).await?;
            let at = self.journal().newest_time(&id).await?;
            let facts = vec![SessionFact::Opened { wallet }];
            self.journal().append_session(&lease, SessionBatch { at, facts, texts: Vec::new(), done: None }).await?;
        }
        let batch = TreasuryBatch { at: unix_now(), facts: vec![fact], texts: vec![text] };
        let stored = self.journal().append_invoices(batch, session_max).await;
        if let Err(JournalError::SessionLimit { session, wanted, most }) = stored {
            return Err(WalletError::SessionLimit { session, wanted, most }.into());
        }
        stored?;
        let (payment, expires) = (decoded.payment, decoded.expires);
        Ok(Funding { session: id, payment, money, invoice: decoded.text, expires })
    }

    /// Waits until an invoice is paid or has expired. The invoice can be paid even if nobody waits.
    pub async fn wait_for_funding(&self, funding: &Funding) -> Result<FundingEnd, HallError> {
        let worker = TreasuryWorker::start_for_invoice(self, funding.payment);
        let mut followed = Followed::new();
        let ended = async {
            loop {
                let treasury = followed.read(self).await?;
                let invoiced = treasury.invoices().find(|(payment, _)| *payment == funding.payment);
                if invoiced.is_some_and(|(_, invoiced)| invoiced.is_paid) {
                    let free = self.journal().folded_account(&funding.session).await?.free();
                    return Ok(FundingEnd::Paid { free });
                }
                if unix_now() > funding.expires {
                    return Ok(FundingEnd::Expired);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let ended = ended.await;
        worker.finish().await;
        ended
    }

    /// Credits the paid invoices of a session that no process waits for. If the wallet can't be asked, nothing is credited.
    pub async fn credit(&self, session: &SessionId) -> Result<(), HallError> {
        let (treasury, now) = (self.treasury().await?, unix_now());
        let may_be_paid =
            treasury.invoices().any(|(_, invoiced)| invoiced.session == *session && invoiced.is_open(now));
        if may_be_paid && self.wallet_settings().invoice_key.is_some() {
            let worker = TreasuryWorker::start(self);
            // After the time, a later command asks again.
            let _ = tokio::time::timeout(CREDIT_WAIT, worker.finish()).await;
        }
        Ok(())
    }
}
