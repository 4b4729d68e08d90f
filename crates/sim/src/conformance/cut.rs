//! Scripts with replies that were cut, and with usage that can't be right.

use super::script::Script;

/// Returns the scripts about cut replies and usage.
pub(crate) fn cutting() -> Vec<Script> {
    vec![]
}
