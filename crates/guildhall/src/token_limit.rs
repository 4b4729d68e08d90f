//! The token limit of a root, for code that watches the work. The engine enforces it.

use guildhall_kernel::{Fact, Limit, Outcome, Path, Stimulus, Stored};
use guildhall_local::TokensMax;

/// The token limit of a root and all contracts below it, and whether it ended the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    max: TokensMax,
    told: bool,
    ended: bool,
}

impl TokenLimit {
    pub(crate) fn new(root: Path, tokens: u64) -> TokenLimit {
        TokenLimit { max: TokensMax { root, tokens }, told: false, ended: false }
    }

    pub(crate) fn max(&self) -> &TokensMax {
        &self.max
    }

    /// Notes whether the root wraps up because its tokens are used.
    pub fn note(&mut self, stored: &Stored) {
        if stored.contract != self.max.root {
            return;
        }
        self.told |= matches!(stored.fact, Fact::Heard { stimulus: Stimulus::OutOfTokens { .. }, .. });
        self.ended |= self.told && stored.fact == Fact::Closing(Outcome::Exhausted(Limit::Asked));
    }

    /// Returns the limit if it ended the root. If a person asked for the wrap-up first, the limit was not the reason.
    pub fn ended(&self) -> Option<u64> {
        self.ended.then_some(self.max.tokens)
    }
}
