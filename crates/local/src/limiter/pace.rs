//! Computes how many calls are allowed, from how earlier calls ended. It has no side effects.

/// How many calls must succeed before one more call is allowed at the same time.
pub(super) const SUCCESSES_PER_STEP: u32 = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pace {
    limit: usize,
    /// How many calls are allowed at the same time. More may run for a while after the width was halved.
    pub(super) width: usize,
    /// How often the width was halved. A request that was sent in an earlier round says nothing about the current width.
    pub(super) round: u64,
    /// Calls that succeeded since the width last changed.
    successes: u32,
}

impl Pace {
    pub(super) fn new(limit: usize) -> Pace {
        Pace { limit, width: limit, round: 0, successes: 0 }
    }

    pub(super) fn succeeded(&mut self) {
        if self.width == self.limit {
            return;
        }
        self.successes += 1;
        if self.successes == SUCCESSES_PER_STEP {
            (self.width, self.successes) = (self.width + 1, 0);
        }
    }

    /// Halves the width if the request was sent after the last halving: forty calls that are rejected together halve it only
    /// once.
    pub(super) fn rate_limited(&mut self, round: u64) {
        if round == self.round {
            (self.width, self.successes, self.round) = ((self.width / 2).max(1), 0, self.round + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, SUCCESSES_PER_STEP};

    #[test]
    fn a_limiter_is_halved_by_each_round_that_is_rejected_and_never_below_one() {
        let mut pace = Pace::new(32);
        let widths: Vec<usize> = (0..7)
            .map(|round| {
                pace.rate_limited(round);
                pace.width
            })
            .collect();
        assert_eq!(widths, [16, 8, 4, 2, 1, 1, 1]);
    }

    #[test]
    fn requests_sent_before_a_halving_do_not_halve_again() {
        let mut pace = Pace::new(32);
        for _ in 0..32 {
            pace.rate_limited(0);
            assert_eq!(pace.width, 16);
        }
        pace.rate_limited(1);
        assert_eq!(pace.width, 8);
    }

    #[test]
    fn successes_widen_a_limiter_by_one_step_each_up_to_its_limit() {
        let mut pace = Pace::new(4);
        pace.succeeded();
        assert_eq!(pace, Pace::new(4), "the width is at its limit");
        pace.rate_limited(0);
        let widths = [3, 4, 4].map(|_| {
            (0..SUCCESSES_PER_STEP).for_each(|_| pace.succeeded());
            pace.width
        });
        assert_eq!(widths, [3, 4, 4]);
    }

    #[test]
    fn a_rate_limit_resets_the_count_of_successes() {
        let mut pace = Pace::new(8);
        pace.rate_limited(0);
        for _ in 1..SUCCESSES_PER_STEP {
            pace.succeeded();
        }
        pace.rate_limited(1);
        pace.succeeded();
        assert_eq!(pace.width, 2);
    }
}
