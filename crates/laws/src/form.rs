//! The stored forms. A journal may begin in form 1, which the first release wrote, and continue in form 2. The fields
//! that form 2 added are absent in facts of form 1 and always present in facts of form 2.

use crate::violation::{Found, Law};

/// The form in which a fact is stored. The rules differ between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The form of the first release: without margins, sizes of refusals and parts of the spending, and with other
    /// rules for shares.
    First,
    /// The form that is written now.
    Second,
}

impl Form {
    /// Returns the form of a stored version. An unknown version is a violation of its own and counts as the newest
    /// form.
    pub(crate) fn of(version: u16) -> Form {
        if version <= 1 { Form::First } else { Form::Second }
    }

    /// Checks that a field of form 2 is present in form 2 and absent in form 1.
    pub(crate) fn check_field<T: Copy>(self, name: &str, field: Option<T>, found: &mut Found<'_>) {
        let there = field.is_some();
        match self {
            Form::First => {
                found.demand(
                    !there,
                    Law::Replay,
                    format_args!("`{name}` is stored, but form 1 does not have this field"),
                );
            }
            Form::Second => {
                found.demand(there, Law::Replay, format_args!("`{name}` is missing, but form 2 requires it"));
            }
        }
    }
}
