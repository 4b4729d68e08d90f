//! When to send a request again that can't have cost anything. Pure: the caller provides the clock and the randomness.

use std::time::Duration;

use guildhall_agent::WaitReason;

/// How to retry after a failure that can't have cost anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The first and shortest pause. It also applies to a server that allows an immediate retry.
    pub pause_min: Duration,
    /// The limit of the growing pause: each is twice as long as the one before, up to this limit, plus up to a quarter by
    /// chance. If the server says when to retry, that time is used instead, but at least `pause_min`.
    pub pause_max: Duration,
    /// The limit on the sum of all pauses. A pause that would exceed the limit ends the attempt immediately.
    pub pauses_total_max: Duration,
    /// The largest number of requests.
    pub tries_max: u32,
    /// The largest number of failed connections in a row.
    pub connects_max: u32,
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            pause_min: Duration::from_secs(1),
            pause_max: Duration::from_secs(30),
            pauses_total_max: Duration::from_mins(5),
            tries_max: 20,
            connects_max: 4,
        }
    }
}

/// The failed requests of one attempt so far. None of them can have cost anything.
#[derive(Debug)]
pub(crate) struct Tries<'a> {
    retry: &'a Retry,
    /// How many requests failed.
    pub(crate) made: u32,
    connects: u32,
    paused: Duration,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(retry: &'a Retry) -> Tries<'a> {
        Tries { retry, made: 0, connects: 0, paused: Duration::ZERO }
    }

    /// Counts a failed request, and returns the pause before the next one; `None` if there must be no more requests.
    /// `asked` is the pause that the server asked for. `chance` makes pauses differ, so that clients don't all retry at the same time.
    pub(crate) fn pause(&mut self, why: WaitReason, asked: Option<Duration>, chance: u8) -> Option<Duration> {
        self.made += 1;
        self.connects = match why {
            WaitReason::Unreachable => self.connects + 1,
            WaitReason::RateLimited | WaitReason::Unavailable => 0,
        };
        let Retry { pause_min, pauses_total_max, tries_max, connects_max, .. } = *self.retry;
        let pause = asked.map_or_else(|| self.growing(chance), |asked| asked.max(pause_min));
        let paused = self.paused.saturating_add(pause);
        if self.made >= tries_max || self.connects >= connects_max || paused > pauses_total_max {
            return None;
        }
        self.paused = paused;
        Some(pause)
    }

    /// Returns a pause that doubles with each request, plus up to a quarter by chance.
    fn growing(&self, chance: u8) -> Duration {
        let doublings = (self.made - 1).min(16);
        let pause = self.retry.pause_min.saturating_mul(1 << doublings).min(self.retry.pause_max);
        pause.saturating_add(pause / 1024 * u32::from(chance))
    }
}

#[cfg(test)]
mod tests {
    use guildhall_agent::WaitReason::{Unavailable, Unreachable};

    use std::time::Duration;

    use super::{Retry, Tries};

    /// How many requests are made, and the sum of the pauses in seconds, if each answer asks for this pause.
    fn until_the_end(asked_s: Option<u64>) -> (u32, u64) {
        let retry = Retry::default();
        let mut tries = Tries::new(&retry);
        while tries.pause(Unavailable, asked_s.map(Duration::from_secs), 0).is_some() {}
        (tries.made, tries.paused.as_secs())
    }

    #[test]
    fn a_busy_server_is_asked_at_most_20_times_and_with_at_most_five_minutes_of_pauses() {
        // 1 + 2 + 4 + 8 + 16 + 30 + 30 + … seconds.
        assert_eq!(until_the_end(None), (14, 271));
        assert_eq!((until_the_end(Some(1)), until_the_end(Some(100))), ((20, 19), (4, 300)));
        assert_eq!(until_the_end(Some(301)), (1, 0));
    }

    #[test]
    fn the_limit_on_connections_counts_only_failures_in_a_row() {
        let retry = Retry::default();
        let mut tries = Tries::new(&retry);
        for why in [Unreachable, Unreachable, Unreachable, Unavailable, Unreachable, Unreachable, Unreachable] {
            assert!(tries.pause(why, None, 0).is_some());
        }
        assert_eq!(tries.pause(Unreachable, None, 0), None);
    }
}
