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
        self.output = self.output.max(output);
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
}

/// Reads a count. What is negative, a text or nothing was not reported; what is more than [`TOKENS_MAX`] counts as that.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked, and it saturates")]
pub(super) fn tokens(value: &Value) -> Option<u64> {
    let rounded = || value.as_f64().filter(|number| *number >= 0.0).map(|number| number.ceil() as u64);
    value.as_u64().or_else(rounded).map(|tokens| tokens.min(TOKENS_MAX))
}

#[cfg(test)]
mod tests {
    use guildhall_agent::{Reported, Usage};
    use serde_json::{Value, json};

    use super::{Counts, TOKENS_MAX, tokens};

    fn check(counts: Counts, input: u64, cache_read: u64, cache_write: u64) {
        let mut counts = counts;
        counts.output(Some(7));
        assert_eq!(counts.usage(), Reported::Whole(Usage { input, cache_read, cache_write, output: 7 }));
    }

    #[test]
    fn the_largest_of_several_reports_counts() {
        let mut counts = Counts::default();
        counts.whole_input(Some(9000), Some(100), None);
        counts.whole_input(Some(5), None, None);
        check(counts, 9000, 100, 0);
        counts.output(Some(9000));
        counts.output(Some(1));
        assert_eq!(counts.usage().whole().unwrap().output, 9000);
        let mut counts = Counts::default();
        counts.parted_input(Some(0), Some(0), Some(0));
        counts.parted_input(Some(10), Some(2000), Some(300));
        check(counts, 2310, 2000, 300);
        counts.parted_input(None, Some(10), None);
        check(counts, 2310, 2000, 300);
    }

    #[test]
    fn reports_that_disagree_about_the_cache_are_read_as_the_one_that_costs_more() {
        for cached in [[0, 80], [80, 0]] {
            let mut counts = Counts::default();
            for cached in cached {
                counts.whole_input(Some(100), Some(cached), None);
            }
            check(counts, 100, 0, 0);
        }
        let mut counts = Counts::default();
        counts.parted_input(Some(5000), None, None);
        counts.parted_input(Some(10), Some(4990), None);
        check(counts, 5000, 0, 0);
    }

    #[test]
    fn more_from_the_cache_than_input_means_that_no_cache_had_any() {
        for (input, cache_read, cache_write, expect) in
            [(100, 5000, 0, (5000, 0, 0)), (100, 90, 20, (110, 0, 20)), (100, 0, 300, (300, 0, 300))]
        {
            let mut counts = Counts::default();
            counts.whole_input(Some(input), Some(cache_read), Some(cache_write));
            check(counts, expect.0, expect.1, expect.2);
        }
    }

    #[test]
    fn a_report_of_input_or_output_alone_is_a_part() {
        assert_eq!(Counts::default().usage(), Reported::Nothing);
        let mut counts = Counts::default();
        counts.output(Some(7));
        counts.whole_input(None, Some(5), None);
        counts.parted_input(None, Some(5), Some(5));
        assert_eq!(counts.usage(), Reported::Part(Usage { output: 7, ..Usage::default() }));
        let mut counts = Counts::default();
        counts.parted_input(Some(7), Some(2), None);
        assert_eq!(counts.usage(), Reported::Part(Usage { input: 9, cache_read: 2, ..Usage::default() }));
    }

    #[test]
    fn absurd_counts_are_bounded_and_dear_parts_fill_the_bound_first() {
        let absurd: Value = serde_json::from_str("100000000000000000000").unwrap();
        for value in [json!(10_000_000_000_000_000_000_u64), json!(u64::MAX), json!(1e300), absurd] {
            assert_eq!(tokens(&value), Some(TOKENS_MAX), "{value}");
        }
        for (value, expect) in [(json!(12), Some(12)), (json!(11.2), Some(12)), (json!(0), Some(0))] {
            assert_eq!(tokens(&value), expect, "{value}");
        }
        for value in [json!(-1), json!(-0.5), json!("12"), json!(null), json!([12]), json!(true)] {
            assert_eq!(tokens(&value), None, "{value}");
        }
        let mut counts = Counts::default();
        counts.parted_input(Some(10), Some(TOKENS_MAX), Some(TOKENS_MAX));
        check(counts, TOKENS_MAX, 0, TOKENS_MAX);
        let mut counts = Counts::default();
        counts.parted_input(Some(TOKENS_MAX), Some(TOKENS_MAX), Some(5));
        check(counts, TOKENS_MAX, 0, 5);
    }
}
