//! The cost of a model call whose usage no provider has reported in full: the call was stopped or broke off, or its reply came
//! with no usage, only a part of it, or numbers that can't be right. A token has at least one byte, so bytes are an upper bound.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guildhall_kernel::{Cost, ImplausibleUsage, Msat, Request};

use crate::model::{Delta, Prompt, Reply, Reported, Stop, Usage};
use crate::runtime::Price;
use crate::transcript::{text_size, written_size};

/// The most bytes of text that one token can stand for, on average over a long text.
const BYTES_PER_TOKEN_MAX: u64 = 16;

/// A text of at least this many bytes is long enough for an average. A shorter one has at least one token.
const LONG_TEXT_BYTES: u64 = 256;

/// Follows a call and says what it costs if it is stopped.
///
/// A call that was not sent costs nothing. A call that was sent costs its hold, since only its provider knows the usage. A
/// call to a model that nobody bills costs what was sent and received, at its nominal price.
#[derive(Default)]
pub struct Meter {
    left: AtomicBool,
    received: AtomicU64,
    /// For a model that nobody bills: its price, and the most tokens of the request as input and output.
    nominal: Option<(Price, Usage)>,
}

impl Meter {
    /// Makes a meter for a call to a model that nobody bills.
    pub(crate) fn nominal(price: Price, request: &Request) -> Meter {
        let most = Usage { input: request.tokens, output: request.max_tokens.into(), ..Usage::default() };
        Meter { nominal: Some((price, most)), ..Meter::default() }
    }

    /// Records that the call is sent.
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

    /// Returns what the call costs if it ends now. The usage that its provider has reported so far is not final: output is
    /// counted at the end.
    pub fn cost_of_stopping(&self) -> Cost {
        match (&self.nominal, self.left.load(Ordering::Acquire)) {
            (_, false) => Cost::Known(Msat::ZERO),
            (None, true) => Cost::Unknown,
            (Some((price, most)), true) => {
                let output = self.received.load(Ordering::Acquire).min(most.output);
                Cost::Known(price(&Usage { output, ..*most }))
            }
        }
    }
}

/// The counts of a usage report that can't be right: far too few tokens for the bytes that were sent or received. A provider that
/// reports them may bill something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Implausible {
    input: Option<ImplausibleUsage>,
    output: Option<ImplausibleUsage>,
}

impl Implausible {
    /// Compares the counts with the texts alone. What a protocol adds, and thinking, may be counted or not. A reply that was cut
    /// at its limit has at least one token, also if its text is empty.
    pub(crate) fn of(usage: &Usage, prompt: &Prompt, opening_bytes: u64, reply: &Reply) -> Implausible {
        let sent = opening_bytes.saturating_add(text_size(&prompt.messages));
        let check = |tokens, bytes| Some(ImplausibleUsage { tokens, bytes }).filter(|usage| !is_plausible(usage));
        let least = u64::from(reply.stop == Stop::Length);
        Implausible { input: check(usage.input, sent), output: check(usage.output, written_size(reply).max(least)) }
    }

    /// Returns whether every count can be right.
    pub(crate) fn is_none(&self) -> bool {
        *self == Implausible::default()
    }

    /// Returns the counts that matter for the cost: a count that has no price doesn't.
    pub(crate) fn priced(&self, price: &Price) -> Option<ImplausibleUsage> {
        let costs = |usage: Usage| price(&usage) > Msat::ZERO;
        let input = self.input.filter(|of| costs(Usage { input: of.bytes, ..Usage::default() }));
        let output = self.output.filter(|of| costs(Usage { output: of.bytes, ..Usage::default() }));
        [input, output].into_iter().flatten().reduce(|one, other| ImplausibleUsage {
            tokens: one.tokens.saturating_add(other.tokens),
            bytes: one.bytes.saturating_add(other.bytes),
        })
    }
}

fn is_plausible(ImplausibleUsage { tokens, bytes }: &ImplausibleUsage) -> bool {
    match *bytes {
        0 => true,
        1..LONG_TEXT_BYTES => *tokens > 0,
        LONG_TEXT_BYTES.. => *tokens >= bytes / BYTES_PER_TOKEN_MAX,
    }
}

/// Returns the most that a complete reply can have cost if its usage was not reported, only in part, or can't be right. It counts the input at
/// its highest price, and each count as at least what was reported. A reply that was cut at its limit has reached the limit. Of a whole reply,
/// thinking that the provider neither sends nor reports is left out. The estimate exceeds the hold only if the reported counts do.
pub(crate) fn estimate(price: &Price, request: &Request, prompt: &Prompt, reply: &Reply, reported: Reported) -> Msat {
    let (bytes, least) = (Usage::in_bytes(prompt, reply), reported.at_least());
    let input = bytes.input.min(request.tokens).max(least.input);
    let written = if reply.stop == Stop::Length { u64::MAX } else { bytes.output };
    let output = written.min(request.max_tokens.into()).max(least.output);
    let plain = Usage { input, output, ..Usage::default() };
    price(&plain).max(price(&Usage { cache_write: input, ..plain }))
}
