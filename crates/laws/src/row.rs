//! The hires of a contract by ordinal, and which of them wait: for money to begin with, or for more money. The sets are
//! kept up to date fact by fact, so that no check searches through all hires.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, Context, Offer, Origin};

/// The hires of a contract.
#[derive(Default)]
pub(crate) struct Row {
    /// The first hire has ordinal 1.
    slots: Vec<Slot>,
    /// The hires that wait for money to begin with; the oldest comes first.
    pub(crate) waiting: BTreeSet<u32>,
    /// The hires that delay the next request, whether they live or wait.
    pub(crate) blocking: BTreeSet<u32>,
    /// The live hires whose draw has no answer yet.
    pub(crate) drawers: BTreeSet<u32>,
    /// The live hires that wait neither for money nor for an answer, as far as their hirer has heard.
    pub(crate) moving: BTreeSet<u32>,
    /// Those that move and delay the next request.
    pub(crate) moving_blocking: BTreeSet<u32>,
}

/// One hire.
pub(crate) enum Slot {
    /// It was asked for.
    Admitted(AskId),
    /// It waits for money.
    Waiting(Box<Waiting>),
    /// It waited for money and was refused.
    Refused,
}

/// A hire that waits for money to begin with.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) origin: Origin,
    pub(crate) offer: Box<Offer>,
    pub(crate) context: Context,
}

impl Row {
    /// Returns the ordinal of the next new hire.
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.slots.len()).map_or(u32::MAX, |slots| slots.saturating_add(1))
    }

    pub(crate) fn slot(&self, ordinal: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(ordinal).ok()?.checked_sub(1)?)
    }

    /// Returns the ask of an admitted hire.
    pub(crate) fn ask(&self, ordinal: u32) -> Option<AskId> {
        match self.slot(ordinal)? {
            Slot::Admitted(ask) => Some(*ask),
            Slot::Waiting(_) | Slot::Refused => None,
        }
    }

    pub(crate) fn add(&mut self, slot: Slot) {
        self.slots.push(slot);
    }

    /// Ends the wait of a hire.
    pub(crate) fn settle(&mut self, ordinal: u32, slot: Slot) {
        let place = usize::try_from(ordinal).ok().and_then(|ordinal| ordinal.checked_sub(1));
        if let Some(old) = place.and_then(|place| self.slots.get_mut(place)) {
            *old = slot;
        }
        self.waiting.remove(&ordinal);
    }

    /// Returns the number of hires that live or wait.
    pub(crate) fn count(&self, live: usize) -> u64 {
        u64::try_from(self.waiting.len().saturating_add(live)).unwrap_or(u64::MAX)
    }
}

/// Adds an ordinal to a set or removes it.
pub(crate) fn note(set: &mut BTreeSet<u32>, ordinal: u32, is_in: bool) {
    if is_in {
        set.insert(ordinal);
    } else {
        set.remove(&ordinal);
    }
}
