//! Funding: a person pays an invoice, and the session has that money.

use std::sync::atomic::Ordering;
use std::time::Duration;

use guildhall_kernel::{Msat, PaymentHash, Quantity, Session, SessionFact, SessionKind, UnixMs};
use guildhall_local::{JournalError, NewFunding, RequestKey, SessionBatch, SessionId, TreasuryBatch, unix_now};

use super::{LOOK_AGAIN, TreasuryWorker, WalletError, stored_invoice};
use crate::hall::{Hall, HallError};
use crate::name::fresh_id;
use crate::served::{NO_LABEL, Serving};

/// How long an invoice is valid.
const VALID: Duration = Duration::from_hours(1);

/// The label of a session that was funded before its first request.
const LABEL: &str = "funded session";

/// How long a command waits for payments that nobody waited for.
const CREDIT_WAIT: Duration = Duration::from_secs(5);

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

/// Who gets the money of an invoice.
pub(crate) enum Receiver<'a> {
    /// A new session.
    New,
    /// A session that exists.
    Existing(&'a SessionId),
    /// A new session that a server makes for somebody else.
    Served(Serving),
}

impl Hall {
    /// Makes an invoice for a session, or for a new session. It is stored before this returns, and can be paid even if no process
    /// waits for it.
    pub async fn fund(&self, session: Option<&SessionId>, money: Msat) -> Result<Funding, HallError> {
        self.make_invoice(session.map_or(Receiver::New, Receiver::Existing), money, None).await
    }

    /// Makes an invoice for a session under a key, unless the key was used before in this session. The result of the request is the
    /// payment.
    pub async fn fund_once(
        &self,
        session: &SessionId,
        money: Msat,
        key: Option<RequestKey>,
    ) -> Result<Funding, HallError> {
        self.make_invoice(Receiver::Existing(session), money, key).await
    }

    /// Returns an invoice that was made before.
    pub async fn funding(&self, payment: PaymentHash) -> Result<Option<Funding>, HallError> {
        let treasury = self.treasury().await?;
        let Some((_, invoiced)) = treasury.invoices().find(|(hash, _)| *hash == payment) else { return Ok(None) };
        let invoice = self.stored_words(invoiced.invoice).await?;
        let (session, money, expires) = (invoiced.session.clone(), invoiced.money, invoiced.expires);
        Ok(Some(Funding { session, payment, money, invoice, expires }))
    }

    /// Returns the invoices of a session that can be paid now.
    pub async fn open_fundings(&self, session: &SessionId) -> Result<Vec<Funding>, HallError> {
        let (treasury, now) = (self.treasury().await?, unix_now());
        let open = treasury.invoices().filter(|(_, invoiced)| invoiced.session == *session && invoiced.is_payable(now));
        let mut fundings = Vec::new();
        for (payment, invoiced) in open {
            let invoice = self.stored_words(invoiced.invoice).await?;
            let (money, expires) = (invoiced.money, invoiced.expires);
            fundings.push(Funding { session: session.clone(), payment, money, invoice, expires });
        }
        Ok(fundings)
    }

    pub(crate) async fn make_invoice(
        &self,
        receiver: Receiver<'_>,
        money: Msat,
        key: Option<RequestKey>,
    ) -> Result<Funding, HallError> {
        let treasury = self.treasury().await?;
        let wallet = treasury.wallet().ok_or(WalletError::NotConnected)?.id.clone();
        let id = match &receiver {
            Receiver::Existing(session) => SessionId::clone(session),
            Receiver::New | Receiver::Served(_) => fresh_id(),
        };
        let session_max = self.wallet_settings().limits.session_max;
        let account = match &receiver {
            Receiver::Existing(id) => self.journal().folded_account(id).await?,
            Receiver::New | Receiver::Served(_) => Session::default(),
        };
        if matches!(receiver, Receiver::Existing(_)) && *account.kind() == SessionKind::Play {
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
        match receiver {
            Receiver::Existing(_) => {}
            Receiver::New => {
                self.journal().create(self.funded_session(id.clone(), LABEL)).await?;
                let lease = self.journal().lease(&id, unix_now()).await?;
                let at = self.journal().newest_time(&id).await?;
                let facts = vec![SessionFact::Opened { wallet }];
                self.journal()
                    .append_session(&lease, SessionBatch { at, facts, texts: Vec::new(), done: None })
                    .await?;
            }
            Receiver::Served(serving) => {
                let session = self.funded_session(id.clone(), NO_LABEL);
                self.journal().create_served(serving.new_session(session, NewFunding::Wallet(wallet))).await?;
            }
        }
        let batch = TreasuryBatch { at: unix_now(), facts: vec![fact], texts: vec![text] };
        let stored = match key {
            Some(key) => {
                let result = decoded.payment.to_string();
                self.journal().append_treasury_once(batch, session_max, (&id, key, result)).await
            }
            None => self.journal().append_invoices(batch, session_max).await,
        };
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
        let ended = async {
            loop {
                let treasury = self.treasury().await?;
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
        if self.wallet_settings().is_kept.load(Ordering::Acquire) {
            return Ok(());
        }
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
