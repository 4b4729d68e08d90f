//! The empty price table of a build without the feature `http`: the caller must set every price.

use std::time::SystemTime;

use guildhall_agent::Usage;

use super::book::Calculated;

pub(super) fn models_of(_provider: &str) -> impl Iterator<Item = (&'static str, Option<u64>)> + use<> {
    std::iter::empty()
}

pub(super) fn window(_provider: &str, _model: &str) -> Option<u64> {
    None
}

pub(super) fn cost(_provider: &str, _model: &str, _usage: &Usage, _at: SystemTime) -> Option<Calculated> {
    None
}
