//! Tokens as a provider reports them, perhaps several times in one reply. Of several reports the largest counts, and where
//! reports contradict themselves or each other the dearest reading does: a wrong report is never a reason to charge less.

use guildhall_agent::{Reported, Usage};
use serde_json::Value;

/// The most tokens of one kind that a report is believed. No model can have used more, and sums of these don't overflow.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;

/// The largest counts of all reports so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Input that no cache had, if there was a report on input.
    plain: Option<u64>,
    /// Input that was written to a cache.
    cache_write: u64,
    /// All input of one report.
    input: u64,
    output: Option<u64>,
    /// Whether output was counted after there was some: a count at the beginning says nothing of what comes after it.
    is_output_final: bool,
    /// What must be output if a report adds up.
    rest: u64,
}

impl Counts {
    /// Takes a report in which all input is one count, and what a cache had is a part of it. If the parts are more than the
    /// whole, the larger of the two is the input, and no cache had any of it.
    pub(super) fn whole_input(&mut self, input: Option<u64>, cache_read: Option<u64>, cache_write: Option<u64>) {
        let Some(input) = input else { return };
        let (read, write) = (cache_read.unwrap_or(0), cache_write.unwrap_or(0));
        let cached = read + write;
        let (input, plain) = if cached <= input { (input, input - cached) } else { (cached, read) };
        self.largest(input, plain, write);
    }

    /// Takes a report that counts input which no cache had apart from the rest.
    pub(super) fn parted_input(&mut self, plain: Option<u64>, cache_read: Option<u64>, cache_write: Option<u64>) {
        let Some(plain) = plain.or(self.plain) else { return };
        let (read, write) = (cache_read.unwrap_or(0), cache_write.unwrap_or(0));
        self.largest(plain + read + write, plain, write);
    }

    fn largest(&mut self, input: u64, plain: u64, cache_write: u64) {
        self.input = self.input.max(input);
        self.plain = self.plain.max(Some(plain));
        self.cache_write = self.cache_write.max(cache_write);
    }

    pub(super) fn output(&mut self, output: Option<u64>) {
        self.is_output_final |= output.is_some();
        self.output = self.output.max(output);
    }

    /// Notes that the reply only begins: what was counted as output so far was counted before there was any.
    pub(super) fn begin(&mut self) {
        self.is_output_final = false;
    }

    /// Takes what must be output if a report adds up. That alone is no report of output.
    pub(super) fn output_at_least(&mut self, rest: u64) {
        self.rest = self.rest.max(rest);
    }

    /// Returns all input that was reported so far.
    pub(super) fn input(&self) -> u64 {
        self.input
    }

    /// Returns what counts as used.
    pub(super) fn usage(&self) -> Reported {
        let kind = match (self.plain, self.output) {
            (None, None) if self.rest == 0 => return Reported::Nothing,
            (Some(_), Some(_)) => Reported::Whole,
            (_, None) | (None, _) => Reported::Part,
        };
        let (plain, output) = (self.plain.unwrap_or(0), self.output.unwrap_or(0).max(self.rest));
        let input = self.input.max(plain + self.cache_write).min(TOKENS_MAX);
        let cache_write = self.cache_write.min(input);
        let cache_read = (input - cache_write).saturating_sub(plain);
        kind(Usage { input, cache_read, cache_write, output })
    }

    /// Returns what counts as used for a reply that is whole.
    pub(super) fn final_usage(&self) -> Reported {
        match self.usage() {
            Reported::Whole(usage) if !self.is_output_final => Reported::Part(usage),
            usage @ (Reported::Nothing | Reported::Part(_) | Reported::Whole(_)) => usage,
        }
    }
}

/// Reads a count. What is negative, a text or nothing was not reported; what is more than [`TOKENS_MAX`] counts as that.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
pub(super) fn tokens(value: &Value) -> Option<u64> {
    let rounded = || value.as_f64().filter(|number| *number >= 0.0).map(|number| number.ceil() as u64);
    value.as_u64().or_else(rounded).map(|tokens| tokens.min(TOKENS_MAX))
}
