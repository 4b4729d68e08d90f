//! Scripts in which hires ask their hirers for more money.

use super::script::Script;

/// Returns the scripts about draws.
pub(crate) fn drawing() -> Vec<Script> {
    vec![]
}
