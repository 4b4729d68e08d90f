//! How many calls of one kind run at once, such as those to one provider. A provider that answers "too many requests" halves
//! its limiter; calls that succeed widen the limiter again, one step at a time, up to its limit. It always lets one call through.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// How many calls must succeed before a limiter lets one more call through.
const SUCCESSES_PER_STEP: u32 = 8;

/// The calls of one kind that may run at once: those to one provider, or those of tools.
#[derive(Debug)]
pub struct CallLimiter {
    permits: Arc<Semaphore>,
    pace: Mutex<Pace>,
}

impl CallLimiter {
    /// Makes a limiter for at most so many calls at once, and at least one.
    pub fn new(limit: usize) -> CallLimiter {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        CallLimiter { permits: Arc::new(Semaphore::new(limit)), pace: Mutex::new(Pace::new(limit)) }
    }

    /// Returns how many calls may run at once now.
    pub fn width(&self) -> usize {
        self.pace().width
    }

    /// Returns a permit if one is free.
    pub fn try_enter(self: &Arc<CallLimiter>) -> Option<Permit> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Some(self.permit(permit)),
            Err(TryAcquireError::NoPermits) => None,
            Err(TryAcquireError::Closed) => unreachable!("a limiter is never closed"),
        }
    }

    /// Waits for a permit. Who waits longest gets the next one.
    pub async fn enter(self: &Arc<CallLimiter>) -> Permit {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("a limiter is never closed");
        self.permit(permit)
    }

    fn permit(self: &Arc<CallLimiter>, permit: OwnedSemaphorePermit) -> Permit {
        let round = AtomicU64::new(self.pace().round);
        Permit { limiter: Arc::clone(self), taken: Some(permit), round }
    }

    fn succeeded(&self) {
        let mut pace = self.pace();
        if pace.succeeded() == Step::Wider {
            self.permits.add_permits(1);
        }
    }

    fn rate_limited(&self, round: u64) {
        let mut pace = self.pace();
        let surplus = pace.rate_limited(round);
        let removed = self.permits.forget_permits(surplus);
        pace.owed += surplus - removed;
    }

    fn leave(&self, permit: OwnedSemaphorePermit) {
        match self.pace().left() {
            Returned::Kept => permit.forget(),
            Returned::Free => drop(permit),
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        // A panic while it was held left it whole: it is only counted in there.
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one call. It is returned when this is dropped.
///
/// A call that pauses because its provider takes no more requests keeps its permit: the pause is part of the call, and whoever
/// got the permit meanwhile would ask the same provider in its place, at the rate that was too much for it.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<CallLimiter>,
    /// Gone once it was returned.
    taken: Option<OwnedSemaphorePermit>,
    /// The round in which the newest request of this call left.
    round: AtomicU64,
}

impl Permit {
    /// Notes that a request leaves now.
    pub fn asking(&self) {
        self.round.store(self.limiter.pace().round, Ordering::Relaxed);
    }

    /// Notes that the provider takes no more requests for now.
    pub fn rate_limited(&self) {
        self.limiter.rate_limited(self.round.load(Ordering::Relaxed));
    }

    /// Notes that the provider has replied.
    pub fn succeeded(&self) {
        self.limiter.succeeded();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(permit) = self.taken.take() {
            self.limiter.leave(permit);
        }
    }
}

/// How many calls a limiter lets through, by how its calls ended. It decides and does nothing.
#[derive(Debug, PartialEq, Eq)]
struct Pace {
    limit: usize,
    width: usize,
    /// Permits that are in use beyond the width: each is withdrawn when it comes back.
    owed: usize,
    /// How often the limiter was halved. A request that left in an earlier round says nothing about the width of this one.
    round: u64,
    /// Calls that succeeded since the width last changed.
    successes: u32,
}

/// What a success changes.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// There is to be one more permit.
    Wider,
    None,
}

/// What becomes of a permit that comes back.
#[derive(Debug, PartialEq, Eq)]
enum Returned {
    /// The next call may have it.
    Free,
    /// It is withdrawn.
    Kept,
}

impl Pace {
    fn new(limit: usize) -> Pace {
        Pace { limit, width: limit, owed: 0, round: 0, successes: 0 }
    }

    fn succeeded(&mut self) -> Step {
        if self.width == self.limit {
            return Step::None;
        }
        self.successes += 1;
        if self.successes < SUCCESSES_PER_STEP {
            return Step::None;
        }
        (self.width, self.successes) = (self.width + 1, 0);
        match self.owed.checked_sub(1) {
            // The permit is there already, and need not be withdrawn any more.
            Some(owed) => {
                self.owed = owed;
                Step::None
            }
            None => Step::Wider,
        }
    }

    /// Halves the width, if the request left after it was last halved: forty calls that are turned away together halve it once.
    /// Returns how many permits are to go.
    fn rate_limited(&mut self, round: u64) -> usize {
        if round != self.round {
            return 0;
        }
        let width = (self.width / 2).max(1);
        let surplus = self.width - width;
        (self.width, self.successes, self.round) = (width, 0, self.round + 1);
        surplus
    }

    fn left(&mut self) -> Returned {
        match self.owed.checked_sub(1) {
            Some(owed) => {
                self.owed = owed;
                Returned::Kept
            }
            None => Returned::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CallLimiter, Pace, Permit, SUCCESSES_PER_STEP, Step};

    fn all(limiter: &Arc<CallLimiter>) -> Vec<Permit> {
        std::iter::from_fn(|| limiter.try_enter()).collect()
    }

    #[test]
    fn a_lane_is_halved_by_each_round_that_is_turned_away_and_never_below_one() {
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
    fn requests_that_left_before_a_halving_do_not_halve_again() {
        let mut pace = Pace::new(32);
        assert_eq!((pace.rate_limited(0), pace.width), (16, 16));
        for _ in 1..32 {
            assert_eq!((pace.rate_limited(0), pace.width), (0, 16));
        }
        assert_eq!((pace.rate_limited(1), pace.width), (8, 8));
    }

    #[test]
    fn successes_widen_a_lane_by_one_step_each_up_to_its_limit() {
        let mut pace = Pace::new(4);
        assert_eq!(pace.succeeded(), Step::None, "it is as wide as it may be");
        pace.rate_limited(0);
        let steps = |pace: &mut Pace| (0..SUCCESSES_PER_STEP).filter(|_| pace.succeeded() == Step::Wider).count();
        assert_eq!((steps(&mut pace), pace.width), (1, 3));
        assert_eq!((steps(&mut pace), pace.width), (1, 4));
        assert_eq!((steps(&mut pace), pace.width), (0, 4));
    }

    #[test]
    fn a_rate_limit_begins_the_count_of_successes_anew() {
        let mut pace = Pace::new(8);
        pace.rate_limited(0);
        for _ in 1..SUCCESSES_PER_STEP {
            pace.succeeded();
        }
        pace.rate_limited(1);
        assert_eq!((pace.succeeded(), pace.width), (Step::None, 2));
    }

    #[test]
    fn permits_in_use_beyond_the_width_are_withdrawn_as_they_come_back() {
        let limiter = Arc::new(CallLimiter::new(4));
        let mut permits = all(&limiter);
        permits[0].rate_limited();
        assert_eq!((permits.len(), limiter.width()), (4, 2));
        for left in [3, 2] {
            drop(permits.pop());
            assert!(limiter.try_enter().is_none(), "{left} calls still run in a limiter for 2");
        }
        drop(permits.pop());
        let one = limiter.try_enter().expect("one call runs in a limiter for 2");
        assert!(limiter.try_enter().is_none());
        drop((one, permits));
        assert_eq!(all(&limiter).len(), 2);
    }

    #[test]
    fn free_permits_are_withdrawn_at_once_and_come_back_with_successes() {
        let limiter = Arc::new(CallLimiter::new(4));
        let one = limiter.try_enter().expect("it is empty");
        one.rate_limited();
        assert_eq!(all(&limiter).len(), 1);
        for _ in 0..2 * SUCCESSES_PER_STEP {
            one.succeeded();
        }
        assert_eq!((limiter.width(), all(&limiter).len()), (4, 3));
    }

    #[test]
    fn a_lane_that_grows_while_permits_are_owed_withdraws_fewer() {
        let limiter = Arc::new(CallLimiter::new(4));
        let mut permits = all(&limiter);
        permits[0].rate_limited();
        for _ in 0..SUCCESSES_PER_STEP {
            permits[0].succeeded();
        }
        assert_eq!(limiter.width(), 3);
        drop(permits.pop());
        assert!(limiter.try_enter().is_none());
        drop(permits.pop());
        assert!(limiter.try_enter().is_some());
        drop(permits);
        assert_eq!(all(&limiter).len(), 3);
    }

    #[test]
    fn a_request_that_leaves_after_a_halving_can_halve_again() {
        let limiter = Arc::new(CallLimiter::new(8));
        let one = limiter.try_enter().expect("it is empty");
        one.rate_limited();
        one.rate_limited();
        assert_eq!(limiter.width(), 4);
        one.asking();
        one.rate_limited();
        assert_eq!(limiter.width(), 2);
    }

    #[tokio::test]
    async fn who_waits_gets_the_permit_that_comes_back() {
        let limiter = Arc::new(CallLimiter::new(0));
        let one = limiter.try_enter().expect("a limiter lets at least one call through");
        let waiting = tokio::spawn({
            let limiter = Arc::clone(&limiter);
            async move { drop(limiter.enter().await) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(one);
        waiting.await.expect("it gets its permit");
    }
}
