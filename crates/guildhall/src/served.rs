//! Sessions that a server makes for others. They exist, with an owner and an invoice, before their first request. Money comes into
//! them only by a paid or settled invoice.

use std::time::Duration;

use guildhall_kernel::{Hash, Msat};
use guildhall_local::{NewFunding, NewServed, NewSession, PlayInvoice, SessionId, UnixMs, unix_now};

use crate::hall::{Hall, HallError};
use crate::name::fresh_id;
#[cfg(feature = "lightning")]
use crate::treasury::{Funding, Receiver};

/// A session to make for somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The name of the team that works in it.
    pub team: String,
    /// The hash of its owner's token.
    pub owner: Hash,
    /// How many sessions may be without money at the same time.
    pub unpaid_max: u32,
    /// How long a session without money counts, and how long an invoice in play money is valid.
    pub unpaid_for: Duration,
}

impl Serving {
    fn unpaid_since(&self, now: UnixMs) -> UnixMs {
        UnixMs(now.0.saturating_sub(u64::try_from(self.unpaid_for.as_millis()).unwrap_or(u64::MAX)))
    }

    pub(crate) fn new_session(self, session: NewSession, funding: NewFunding) -> NewServed {
        let unpaid_since = self.unpaid_since(session.created_at);
        let Serving { team, owner, unpaid_max, .. } = self;
        NewServed { session, team, owner, funding, unpaid_max, unpaid_since }
    }
}

impl Hall {
    /// Makes a session in play money for somebody else, with an invoice that settling pays.
    pub async fn serve_play(&self, serving: Serving, money: Msat) -> Result<(SessionId, PlayInvoice), HallError> {
        let id = fresh_id();
        let expires = expiry(serving.unpaid_for);
        let funding = NewFunding::Play { money, expires };
        let session = self.funded_session(id.clone(), NO_LABEL);
        self.journal().create_served(serving.new_session(session, funding)).await?;
        Ok((id, PlayInvoice { number: 1, money, expires, paid_at: None }))
    }

    /// A session that has no task yet.
    pub(crate) fn funded_session(&self, id: SessionId, label: &str) -> NewSession {
        let (created_at, project) = (unix_now(), self.project().display().to_string());
        NewSession { id, created_at, project, label: label.to_owned() }
    }

    /// Makes a session with the money of the wallet for somebody else, with its first invoice.
    #[cfg(feature = "lightning")]
    pub async fn serve_wallet(&self, serving: Serving, money: Msat) -> Result<Funding, HallError> {
        // This is checked again when the session is made. This check is early, so that nobody can make the wallet's server make
        // invoices without end.
        self.journal().require_unpaid_below(serving.unpaid_max, serving.unpaid_since(unix_now())).await?;
        self.make_invoice(Receiver::Served(serving), money, None).await
    }
}

/// The label of a session without one: the task of its first request is shown in its place.
pub(crate) const NO_LABEL: &str = "";

/// Returns when an invoice that is made now expires.
fn expiry(valid: Duration) -> UnixMs {
    UnixMs(unix_now().0.saturating_add(u64::try_from(valid.as_millis()).unwrap_or(u64::MAX)))
}
