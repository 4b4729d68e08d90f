//! The meter: it counts the tokens of a session and asks its root to wrap up before there are too many. Money is what can't be
//! overdrawn; this is a second limit for those who think in tokens.

use guildhall_kernel::{Answer, Fact, Path};
use guildhall_local::{Office, SessionId, Subscription};

use crate::hall::{Ending, Hall, HallError};

/// Counts the tokens of a session while it runs.
pub(crate) struct Meter {
    hall: Hall,
    id: SessionId,
    office: Office,
    root: Path,
    limit: Option<u64>,
    facts: Subscription,
}

impl Meter {
    pub(crate) fn new(hall: &Hall, id: &SessionId, office: &Office, root: &Path, limit: Option<u64>) -> Meter {
        let facts = hall.journal().subscribe(id, 1);
        Meter { hall: hall.clone(), id: id.clone(), office: office.clone(), root: root.clone(), limit, facts }
    }

    /// Watches until the limit is near, asks for the last report, and leaves the rest to the contract. Ends only if the
    /// journal fails.
    pub(crate) async fn watch(mut self) -> HallError {
        let Some(limit) = self.limit else { return std::future::pending().await };
        let (mut used, mut largest) = (0_u64, 0_u64);
        loop {
            let stored = match self.facts.next().await {
                Ok(stored) => stored,
                Err(why) => return why.into(),
            };
            let Some(tokens) = tokens(&stored.fact).filter(|_| stored.contract.top() == self.root) else { continue };
            used = used.saturating_add(tokens);
            largest = largest.max(tokens);
            // Room for one more request like the largest is kept for the last report.
            if used.saturating_add(largest) > limit {
                match self.wrap_up().await {
                    Ok(()) | Err(HallError::HasEnded(_)) => return std::future::pending().await,
                    Err(why) => return why,
                }
            }
        }
    }

    /// Leaves the order and hands it over at once: a quick model takes many turns before the inbox is looked into again.
    /// Whoever finds it there later finds it carried out.
    async fn wrap_up(&self) -> Result<(), HallError> {
        let number = self.hall.leave(&self.id, Ending::WrapUp).await?.number;
        self.office.tell(&self.root, number, Ending::WrapUp.stimulus(), Vec::new());
        Ok(())
    }
}

/// What a reply took, as its provider reported it.
pub(crate) fn tokens(fact: &Fact) -> Option<u64> {
    let Fact::Answered { answer: Answer::Said(said), .. } = fact else { return None };
    said.used.map(|used| used.input.saturating_add(used.output))
}
