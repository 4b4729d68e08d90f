//! Ids of calls: each is there, and once only within a reply. Providers refuse a conversation in which that is not so.

use std::collections::BTreeSet;

use guildhall_kernel::AskKey;

/// Gives the calls of one reply their ids.
#[derive(Debug)]
pub(crate) struct Ids {
    seed: String,
    given: BTreeSet<String>,
}

impl Ids {
    /// Begins a reply. Ids that are made up carry the ask's key, so that no two replies of a contract share one.
    pub(crate) fn new(key: &AskKey) -> Ids {
        Ids { seed: plain(&key.to_string()), given: BTreeSet::new() }
    }

    /// Returns the id that the model gave if it gave one that is free, and one like it otherwise.
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

/// Returns the id with nothing in it but what every provider accepts.
pub(crate) fn plain(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
}
