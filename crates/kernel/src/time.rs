//! Session time: it advances only while the session runs, and never goes back. Time is an argument: the kernel never
//! reads a clock.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest wrap-up margin: how long before its deadline a contract begins to wrap up, and how much earlier than its
/// hirer the contract must report.
pub const WRAP_UP_MARGIN_MAX: Millis = Millis(30_000);

/// A grant's margin is its time divided by this number, at most the longest margin.
const MARGIN_DIVISOR: u64 = 5;

/// A point in session time, or a duration, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// Returns the time this much later, but never later than the latest time that can be stored.
    #[must_use]
    pub fn after(self, span: Millis) -> Millis {
        Millis(self.0.saturating_add(span.0))
    }

    /// Returns the wrap-up margin of a grant with this much time: a fifth of it, at most [`WRAP_UP_MARGIN_MAX`].
    #[must_use]
    pub fn wrap_up_margin(self) -> Millis {
        Millis(self.0 / MARGIN_DIVISOR).min(WRAP_UP_MARGIN_MAX)
    }

    /// Returns the time this much earlier, but never before 0.
    #[must_use]
    pub fn before(self, span: Millis) -> Millis {
        Millis(self.0.saturating_sub(span.0))
    }
}

/// A moment of wall time, in milliseconds since 1970. Only the treasury decides by wall time, because invoices expire by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// Returns the moment this much later, but never later than the latest moment that can be stored.
    #[must_use]
    pub fn after(self, span: Millis) -> UnixMs {
        UnixMs(self.0.saturating_add(span.0))
    }
}

impl fmt::Display for UnixMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}
