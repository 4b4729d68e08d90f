//! Without providers there is no price table: what a model costs must be said.

use std::time::SystemTime;

use guildhall_agent::Usage;

use super::book::Calculated;

pub(super) fn models_of(_provider: &str) -> Vec<(String, Option<u64>)> {
    Vec::new()
}

pub(super) fn calculated(_provider: &str, _model: &str, _usage: &Usage, _at: SystemTime) -> Option<Calculated> {
    None
}
