//! Ids of calls. Every call has an id that is unique within its reply: providers refuse a conversation without that.

use std::collections::BTreeSet;

use guildhall_kernel::AskKey;

/// Gives the calls of one reply their ids.
#[derive(Debug)]
pub(crate) struct Ids {
    seed: String,
    given: BTreeSet<String>,
}

impl Ids {
    /// Starts a reply. Generated ids contain the ask's key, so that two replies of a contract never have the same id.
    pub(crate) fn new(key: &AskKey) -> Ids {
        Ids { seed: plain(&key.to_string()), given: BTreeSet::new() }
    }

    /// Returns the id from the model if it is not empty and not used yet, else a similar new id.
    pub(crate) fn give(&mut self, wanted: &str) -> String {
        let stem = if wanted.trim().is_empty() { format!("call_{}", self.seed) } else { wanted.to_owned() };
        let mut id = stem.clone();
        let mut number = 1;
        while !self.given.insert(id.clone()) {
            number += 1;
            id = format!("{stem}-{number}");
        }
        id
    }
}

/// Replaces every character that some provider would refuse in an id.
pub(crate) fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
}
