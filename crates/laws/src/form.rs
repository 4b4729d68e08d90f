//! The stored forms. A journal may begin in form 1, which the first release wrote, and go on in form 2; what form 2 added is
//! absent before that and always there since.

use crate::violation::{Found, Law};

/// The form in which a fact is stored, as far as the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// What the first release wrote: without margins, sizes of refusals and parts of what was spent, and with other shares.
    First,
    /// What is written now.
    Second,
}

impl Form {
    /// Returns the form of a stored version. An unknown version is a violation of its own and is read as the newest.
    pub(crate) fn of(version: u16) -> Form {
        if version <= 1 { Form::First } else { Form::Second }
    }

    /// Checks that a field that form 2 added is there in form 2 and absent in form 1.
    pub(crate) fn check_field<T: Copy>(self, name: &str, field: Option<T>, found: &mut Found<'_>) {
        let there = field.is_some();
        match self {
            Form::First => {
                found.demand(!there, Law::Replay, format_args!("`{name}` is stored, and form 1 has no such field"));
            }
            Form::Second => {
                found.demand(there, Law::Replay, format_args!("`{name}` is missing, and form 2 demands it"));
            }
        }
    }
}
