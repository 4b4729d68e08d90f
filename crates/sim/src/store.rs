//! The store: a journal of facts. The first part of it is durable; a crash loses the rest.

use guildhall_kernel::{Cause, FORMAT, Fact, Millis, Path, Stored};

/// Facts in the order in which they happened.
#[derive(Debug, Default)]
pub(crate) struct Store {
    facts: Vec<Stored>,
    durable: usize,
}

impl Store {
    /// Appends all facts of one step; they become durable together or not at all.
    pub(crate) fn append(&mut self, contract: &Path, at: Millis, cause: &Cause, facts: Vec<Fact>) -> &[Stored] {
        let before = self.facts.len();
        for fact in facts {
            let seq = self.facts.len() as u64 + 1;
            self.facts.push(Stored { v: FORMAT, seq, contract: contract.clone(), at, cause: cause.clone(), fact });
        }
        &self.facts[before..]
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        self.durable = self.facts.len();
    }

    /// Removes the facts that are not durable.
    pub(crate) fn crash(&mut self) {
        self.facts.truncate(self.durable);
    }

    pub(crate) fn all(&self) -> &[Stored] {
        &self.facts
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.durable == self.facts.len()
    }
}
