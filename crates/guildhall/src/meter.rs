//! The token meter: it counts the tokens of a session and asks the root to wrap up before the limit. Unlike the budget, the token
//! limit can be exceeded, because hires at work still make their last reports.

use guildhall_kernel::{Answer, Fact, Limit, Outcome, Path, Stored};
use guildhall_local::{SessionEngine, SessionId, Subscription};

use crate::hall::{Ending, Hall, HallError};

/// The token count of a root and all contracts below it, with its limit.
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

    /// Adds the tokens of a fact. When the root starts to wrap up, this records whether the limit was the reason.
    pub fn note(&mut self, stored: &Stored) {
        if stored.contract == self.root && stored.fact == Fact::Closing(Outcome::Exhausted(Limit::Asked)) {
            self.ended = self.reached();
        }
        let Some(tokens) = tokens(&stored.fact).filter(|_| stored.contract.top() == self.root) else { return };
        self.used = self.used.saturating_add(tokens);
        self.largest = self.largest.max(tokens);
    }

    /// Returns the limit if it ended the root. If a person asked for the wrap-up first, the limit was not the reason.
    pub fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// The limit, if it is reached. The tokens of one more request, as large as the largest so far, are kept for the last report.
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

    /// Counts tokens until the limit is near, then orders the root to wrap up. Returns only if the journal fails.
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

    /// Stores the order and delivers it immediately: a fast model takes many turns before the inbox is read again. When the
    /// order is read from the inbox later, it has no further effect.
    async fn wrap_up(&self) -> Result<(), HallError> {
        let number = self.hall.order_end(&self.id, Ending::WrapUp).await?.number;
        self.engine.tell(&self.root, number, Ending::WrapUp.stimulus(), Vec::new());
        Ok(())
    }
}

/// The tokens of a reply, as its provider reported them.
pub(crate) fn tokens(fact: &Fact) -> Option<u64> {
    let Fact::Answered { answer: Answer::Said(said), .. } = fact else { return None };
    said.used.map(|used| used.input.saturating_add(used.output))
}
