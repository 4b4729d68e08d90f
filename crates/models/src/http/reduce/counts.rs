//! Tokens as a provider reports them, sometimes several times in one reply. The largest report counts. If numbers contradict
//! each other, the most expensive interpretation counts, so that a wrong report never makes a call cheaper.

use guildhall_agent::{Reported, Usage};

use crate::http::json::Json;

/// The limit on each reported number. No model can have used more tokens, and sums of such numbers don't overflow.
pub const TOKENS_MAX: u64 = 1_000_000_000_000;

/// The largest counts of all reports so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Input that was not in a cache; `None` without a report of input.
    plain: Option<u64>,
    /// Input that was written to a cache.
    cache_write: u64,
    /// The largest input of one report.
    pub(super) input: u64,
    output: Option<u64>,
    /// Whether output was counted after the model wrote some. A count at the start of a reply does not include the reply.
    is_output_final: bool,
    /// The part of a reported total that is not input, and so must be output.
    rest: u64,
}

impl Counts {
    /// Takes a report in which the input includes the cached parts. If the parts are larger than the input, their sum counts as
    /// the input, and nothing counts as read from a cache.
    pub(super) fn whole_input(&mut self, input: Option<u64>, cache_read: Option<u64>, cache_write: Option<u64>) {
        let Some(input) = input else { return };
        let (read, write) = (cache_read.unwrap_or(0), cache_write.unwrap_or(0));
        let cached = read + write;
        let (input, plain) = if cached <= input { (input, input - cached) } else { (cached, read) };
        self.largest(input, plain, write);
    }

    /// Takes a report in which the input does not include the cached parts.
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

    /// Records the start of the reply: output that was counted until now is not final.
    pub(super) fn begin(&mut self) {
        self.is_output_final = false;
    }

    /// Takes the part of a reported total that is not input. This alone does not count as a report of output.
    pub(super) fn output_at_least(&mut self, rest: u64) {
        self.rest = self.rest.max(rest);
    }

    /// Returns the usage so far.
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

    /// Returns the usage of a complete reply.
    pub(super) fn final_usage(&self) -> Reported {
        match self.usage() {
            Reported::Whole(usage) if !self.is_output_final => Reported::Part(usage),
            usage @ (Reported::Nothing | Reported::Part(_) | Reported::Whole(_)) => usage,
        }
    }
}

/// Reads a count. Negative numbers and other types count as not reported; larger numbers count as [`TOKENS_MAX`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
pub(super) fn tokens(value: &Json<'_>) -> Option<u64> {
    let number = value.as_number()?;
    let rounded = || number.as_f64().filter(|number| *number >= 0.0).map(|number| number.ceil() as u64);
    number.as_u64().or_else(rounded).map(|tokens| tokens.min(TOKENS_MAX))
}
