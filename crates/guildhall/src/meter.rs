//! The meter: it counts the tokens of a session and asks its root to wrap up before there are too many. Money is what can't be
//! overdrawn; this is a second limit for those who think in tokens.

use guildhall_kernel::{Answer, Fact, Limit, Outcome, Path, Stored};
use guildhall_local::{SessionEngine, SessionId, Subscription};

use crate::hall::{Ending, Hall, HallError};

/// How far a root's tokens are from their limit: a fold of its facts and those of all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    root: Path,
    limit: u64,
    used: u64,
    largest: u64,
    ended: Option<u64>,
}

impl TokenLimit {
    pub(crate) fn new(root: Path, limit: u64) -> TokenLimit {
        TokenLimit { root, limit, used: 0, largest: 0, ended: None }
    }

    /// Counts what a fact says was used, until the root is told to wrap up.
    pub fn note(&mut self, stored: &Stored) {
        if stored.contract == self.root && stored.fact == Fact::Closing(Outcome::Exhausted(Limit::Asked)) {
            self.ended = self.reached();
        }
        let Some(tokens) = tokens(&stored.fact).filter(|_| stored.contract.top() == self.root) else { return };
        self.used = self.used.saturating_add(tokens);
        self.largest = self.largest.max(tokens);
    }

    /// Returns the limit if it is what ended the root. One who was asked by a person before was not ended by it.
    pub fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// The limit once it is reached: room for one more request like the largest is kept for the last report.
    fn reached(&self) -> Option<u64> {
        (self.used.saturating_add(self.largest) > self.limit).then_some(self.limit)
    }
}

/// Counts the tokens of a session while it runs.
pub(crate) struct Meter {
    hall: Hall,
    id: SessionId,
    engine: SessionEngine,
    root: Path,
    limit: Option<TokenLimit>,
    facts: Subscription,
}

impl Meter {
    pub(crate) fn new(
        hall: &Hall,
        id: &SessionId,
        engine: &SessionEngine,
        root: &Path,
        limit: Option<TokenLimit>,
    ) -> Meter {
        let facts = hall.journal().subscribe(id, 1);
        Meter { hall: hall.clone(), id: id.clone(), engine: engine.clone(), root: root.clone(), limit, facts }
    }

    /// Watches until the limit is near, asks for the last report, and leaves the rest to the contract. Ends only if the
    /// journal fails.
    pub(crate) async fn watch(mut self) -> HallError {
        let Some(mut limit) = self.limit.take() else { return std::future::pending().await };
        loop {
            let stored = match self.facts.next().await {
                Ok(stored) => stored,
                Err(why) => return why.into(),
            };
            limit.note(&stored);
            if limit.reached().is_some() {
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
        self.engine.tell(&self.root, number, Ending::WrapUp.stimulus(), Vec::new());
        Ok(())
    }
}

/// What a reply took, as its provider reported it.
pub(crate) fn tokens(fact: &Fact) -> Option<u64> {
    let Fact::Answered { answer: Answer::Said(said), .. } = fact else { return None };
    said.used.map(|used| used.input.saturating_add(used.output))
}
