//! Warnings about providers whose usage reports can't be right: far too few tokens for the bytes that were sent or received. Such
//! calls are charged by size. The warnings are computed from stored facts, so that a resume does not repeat or forget any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guildhall_kernel::{Brief, Fact, ImplausibleUsage, Path, Stored};
use guildhall_local::{Journal, SessionId};
use serde::Serialize;

use crate::hall::HallError;
use crate::setup::{Staffing, staffings};

/// A provider's first usage report that can't be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageWarning {
    /// The provider.
    pub provider: String,
    /// The tokens that it reported.
    pub tokens: u64,
    /// The bytes that it reported them for.
    pub bytes: u64,
}

impl UsageWarning {
    pub(crate) fn new(model: &str, ImplausibleUsage { tokens, bytes }: ImplausibleUsage) -> UsageWarning {
        UsageWarning { provider: provider(model).to_owned(), tokens, bytes }
    }
}

impl fmt::Display for UsageWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UsageWarning { provider, tokens, bytes } = self;
        let s = if *tokens == 1 { "" } else { "s" };
        write!(f, "{provider} reports {tokens} token{s} for {}: charged by size", size(*bytes))
    }
}

/// Formats a size: 640 bytes, 12 KB, 3 MB.
fn size(bytes: u64) -> String {
    const KB: u64 = 1000;
    const MB: u64 = 1000 * KB;
    match bytes {
        0..KB => format!("{bytes} bytes"),
        KB..MB => format!("{} KB", bytes.div_ceil(KB)),
        MB.. => format!("{} MB", bytes.div_ceil(MB)),
    }
}

/// Returns the provider of a model that is named `PROVIDER/NAME`.
fn provider(model: &str) -> &str {
    model.split_once('/').map_or(model, |(provider, _)| provider)
}

/// Finds the providers of a session whose usage reports can't be right. Each provider is named once.
#[derive(Clone, Debug, Default)]
pub struct UsageWarnings {
    /// The agents of each root.
    staffings: BTreeMap<Path, Staffing>,
    /// The model of each contract that has not closed.
    models: BTreeMap<Path, String>,
    named: BTreeSet<String>,
}

impl UsageWarnings {
    /// Makes the warnings of a session. No fact was taken.
    pub(crate) async fn of(journal: &Journal, id: &SessionId) -> Result<UsageWarnings, HallError> {
        Ok(UsageWarnings { staffings: staffings(journal, id).await?, ..UsageWarnings::default() })
    }

    /// Takes a fact. Returns a warning about a provider that was not named before.
    pub fn note(&mut self, stored: &Stored) -> Option<UsageWarning> {
        let Stored { contract, fact, .. } = stored;
        match fact {
            Fact::Opened(brief) => {
                if let Some(model) = self.model_of(brief) {
                    self.models.insert(contract.clone(), model);
                }
            }
            Fact::Closed(_) => {
                self.models.remove(contract);
            }
            Fact::Asked { .. }
            | Fact::Answered { .. }
            | Fact::Queued { .. }
            | Fact::Refused { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. }
            | Fact::Woke { .. }
            | Fact::Nudged(_)
            | Fact::Compacted { .. }
            | Fact::Closing(_) => {}
        }
        let (_, said) = fact.said()?;
        let warning = UsageWarning::new(self.models.get(contract)?, said.implausible?);
        self.named.insert(warning.provider.clone()).then_some(warning)
    }

    fn model_of(&self, brief: &Brief) -> Option<String> {
        self.staffings.get(&brief.path.top())?.model_of(brief).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::ImplausibleUsage;

    use super::UsageWarning;

    #[test]
    fn a_warning_names_the_provider_the_tokens_and_the_size() {
        let said = |tokens, bytes| UsageWarning::new("acme/m/1", ImplausibleUsage { tokens, bytes }).to_string();
        assert_eq!(said(0, 12_000), "acme reports 0 tokens for 12 KB: charged by size");
        assert_eq!(said(1, 999), "acme reports 1 token for 999 bytes: charged by size");
        assert_eq!(said(40_000, 1_000_001), "acme reports 40000 tokens for 2 MB: charged by size");
    }
}
