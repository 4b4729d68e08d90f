//! When to ask again for what can't have cost anything. Pure: the clock and the source of chance are the caller's.

use std::time::Duration;

use guildhall_agent::WaitReason;

/// How to ask again when nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The first pause, and the shortest: a server that says to come back at once is not flooded with requests.
    pub pause_min: Duration,
    /// The longest pause that is chosen here. Each is twice as long as the one before until then. A server that says when
    /// to come back is believed instead, if that is later than `pause_min`.
    pub pause_max: Duration,
    /// The longest time to pause in all. A pause that does not fit ends the attempt at once.
    pub pauses_total_max: Duration,
    /// How many requests are made at the most.
    pub tries_max: u32,
    /// How many connections in a row are tried at the most.
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

/// The requests of one attempt so far. None of them can have cost anything.
#[derive(Debug)]
pub(crate) struct Tries<'a> {
    retry: &'a Retry,
    made: u32,
    connects: u32,
    paused: Duration,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(retry: &'a Retry) -> Tries<'a> {
        Tries { retry, made: 0, connects: 0, paused: Duration::ZERO }
    }

    /// How many requests were made.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Counts a request that came to nothing, and says how long to pause before the next; `None` if there is to be none.
    /// `asked` is what the server wants. `chance` makes pauses differ, so that not all who wait come back at once.
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

    /// Twice as long each time, and up to a quarter longer by chance.
    fn growing(&self, chance: u8) -> Duration {
        let doublings = (self.made - 1).min(16);
        let pause = self.retry.pause_min.saturating_mul(1 << doublings).min(self.retry.pause_max);
        pause.saturating_add(pause / 1024 * u32::from(chance))
    }
}

#[cfg(test)]
mod tests {
    use guildhall_agent::WaitReason::{Unavailable, Unreachable};

    use super::{Retry, Tries};

    #[test]
    fn only_connections_that_are_refused_in_a_row_count() {
        let retry = Retry::default();
        let mut tries = Tries::new(&retry);
        for why in [Unreachable, Unreachable, Unreachable, Unavailable, Unreachable, Unreachable, Unreachable] {
            assert!(tries.pause(why, None, 0).is_some());
        }
        assert_eq!(tries.pause(Unreachable, None, 0), None);
    }
}
