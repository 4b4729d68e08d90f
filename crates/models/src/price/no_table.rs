//! The empty price table of a build without the feature `http`: the caller must set every price.

use std::time::SystemTime;

use guildhall_agent::Usage;

use super::book::Calculated;

pub(super) fn models_of(_provider: &str) -> Vec<(String, Option<u64>)> {
    Vec::new()
}

pub(super) fn calculated(_provider: &str, _model: &str, _usage: &Usage, _at: SystemTime) -> Option<Calculated> {
    None
}
