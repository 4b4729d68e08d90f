//! What a model call costs where no provider has said so: one that is stopped or breaks off, and one whose reply came without
//! usage, or with only some of it. A byte is at least a token, so bytes are an upper bound.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guildhall_kernel::{Cost, Msat, Request};

use crate::model::{Delta, Prompt, Reply, Reported, Usage};
use crate::runtime::Price;

/// Follows a call and says what it costs to stop it.
///
/// A call that never left costs nothing. One that left costs its hold, since nobody knows what its provider counts. Only a
/// model that nobody bills is known to have cost what went over the wire, at its nominal price.
#[derive(Default)]
pub struct Meter {
    left: AtomicBool,
    received: AtomicU64,
    nominal: Option<Nominal>,
}

struct Nominal {
    price: Price,
    tokens: u64,
    max_tokens: u64,
}

impl Meter {
    /// Makes a meter for a call to a model that nobody bills.
    pub(crate) fn nominal(price: Price, request: &Request) -> Meter {
        let nominal = Nominal { price, tokens: request.tokens, max_tokens: request.max_tokens.into() };
        Meter { nominal: Some(nominal), ..Meter::default() }
    }

    /// Notes that the call leaves.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Records what a model reports about its call. A call that waits for a retry has not been sent: the attempts before it
    /// can't have cost anything.
    pub fn follow(&self, delta: Delta<'_>) {
        match delta {
            Delta::Asking => {
                self.received.store(0, Ordering::Release);
                self.leave();
            }
            Delta::Waiting { .. } => self.left.store(false, Ordering::Release),
            Delta::Received { bytes } => {
                self.received.fetch_add(bytes, Ordering::AcqRel);
            }
            Delta::Words(_) | Delta::Thinking | Delta::Call { .. } | Delta::Lost { .. } | Delta::Used(_) => {}
        }
    }

    /// Returns what the call costs if it ends here. What its provider has reported by now is no bill: output is counted at
    /// the end.
    pub fn cost_of_stopping(&self) -> Cost {
        match (&self.nominal, self.left.load(Ordering::Acquire)) {
            (_, false) => Cost::Known(Msat::ZERO),
            (None, true) => Cost::Unknown,
            (Some(Nominal { price, tokens, max_tokens }), true) => {
                let output = self.received.load(Ordering::Acquire).min(*max_tokens);
                Cost::Known(price(&Usage { input: *tokens, output, ..Usage::default() }))
            }
        }
    }
}

/// Returns the most that a whole reply can have cost whose usage was not reported, or only in part: at the dearest price of its
/// input, and each count no less than was reported. Thoughts that a provider keeps to itself and does not report are not in it.
/// Only what was reported can make it more than was held.
pub(crate) fn estimate(price: &Price, request: &Request, prompt: &Prompt, reply: &Reply, reported: Reported) -> Msat {
    let (bytes, least) = (Usage::in_bytes(prompt, reply), reported.at_least());
    let input = bytes.input.min(request.tokens).max(least.input);
    let output = bytes.output.min(request.max_tokens.into()).max(least.output);
    let plain = Usage { input, output, ..Usage::default() };
    price(&plain).max(price(&Usage { cache_write: input, ..plain }))
}
