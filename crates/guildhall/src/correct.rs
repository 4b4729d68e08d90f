//! Corrections: a person who has seen the provider's bill records the real cost of a reserved call. The difference becomes free
//! money of the session. Nothing else about the call changes.

use guildhall_kernel::{AskKey, Contract, Msat, Quantity, Session, SessionFact, Stored};
use guildhall_local::{SessionBatch, SessionId, unix_now};

use crate::hall::{Hall, HallError};

/// The result of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrected {
    /// The amount that was reserved for the call.
    pub reserved: Msat,
    /// The part of the reserved amount that is free again.
    pub released: Msat,
    /// The free money of the session after the correction.
    pub free: Msat,
}

impl Hall {
    /// Records the amount that the provider billed for a reserved call. No process may run the session. The same correction
    /// again changes nothing; a different correction of the same call is refused.
    pub async fn correct(&self, id: &SessionId, ask: &AskKey, billed: Msat) -> Result<Corrected, HallError> {
        let journal = self.journal();
        let lease = journal.lease(id, unix_now()).await?;
        let stored = journal.contract_facts(id, &ask.contract).await?;
        let at = stored.last().map(|stored| stored.at);
        let reserved = Contract::reserved_charge(stored.iter().map(|Stored { fact, .. }| fact), ask.ask);
        let not_reserved = || HallError::NotReserved { session: id.clone(), ask: ask.clone() };
        let (reserved, at) = reserved.zip(at).ok_or_else(not_reserved)?;
        let beyond = || HallError::BilledBeyondReserve { ask: ask.clone(), billed, reserved };
        let released = reserved.minus(billed).ok_or_else(beyond)?;
        let damaged = |why: guildhall_kernel::SessionCorrupt| HallError::Damaged(why.to_string());
        let mut account = Session::restore(journal.account(id).await?).map_err(damaged)?;
        let corrected = SessionFact::Corrected { ask: ask.clone(), credit: released };
        let before = account.clone();
        account.apply(&corrected)?;
        // The same correction as before changes nothing.
        if account != before {
            let batch = SessionBatch { at, facts: vec![corrected], texts: Vec::new(), done: None };
            journal.append_session(&lease, batch).await?;
        }
        Ok(Corrected { reserved, released, free: account.free() })
    }
}
