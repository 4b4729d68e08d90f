//! Limits how many calls of one kind run at the same time, such as the calls to one provider. When a provider answers "too
//! many requests", its limit is halved. Successful calls raise the limit again, one step at a time, up to the configured
//! maximum. At least one call is always allowed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// How many calls must succeed before one more call is allowed at the same time.
const SUCCESSES_PER_STEP: u32 = 8;

/// Limits the calls of one kind: the calls to one provider, or the calls to tools.
#[derive(Debug)]
pub struct CallLimiter {
    permits: Arc<Semaphore>,
    pace: Mutex<Pace>,
}

impl CallLimiter {
    /// Creates a limiter that allows this many calls at the same time, and at least one.
    pub fn new(limit: usize) -> CallLimiter {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        CallLimiter { permits: Arc::new(Semaphore::new(limit)), pace: Mutex::new(Pace::new(limit)) }
    }

    /// Returns how many calls are currently allowed at the same time.
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

    /// Waits for a permit. The call that has waited longest gets the next permit.
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
        pace.surplus_in_use += surplus - removed;
    }

    fn leave(&self, permit: OwnedSemaphorePermit) {
        match self.pace().left() {
            Returned::Withdrawn => permit.forget(),
            Returned::Free => drop(permit),
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        // A panic while the lock was held leaves the state valid: only counters change.
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one call. Dropping the permit returns it.
///
/// A call keeps its permit while it pauses because its provider accepts no more requests. If another call got the permit
/// meanwhile, it would send to the same provider at the same rate, which was too high.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<CallLimiter>,
    /// None after the permit was returned.
    taken: Option<OwnedSemaphorePermit>,
    /// The round in which the newest request of this call was sent.
    round: AtomicU64,
}

impl Permit {
    /// Records that a request is sent now.
    pub fn asking(&self) {
        self.round.store(self.limiter.pace().round, Ordering::Relaxed);
    }

    /// Records that the provider accepts no more requests for now.
    pub fn rate_limited(&self) {
        self.limiter.rate_limited(self.round.load(Ordering::Relaxed));
    }

    /// Records that the provider has replied.
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

/// Computes how many calls are allowed, from how earlier calls ended. It has no side effects.
#[derive(Debug, PartialEq, Eq)]
struct Pace {
    limit: usize,
    width: usize,
    /// Permits in use above the current width. Each of them is withdrawn when it is returned.
    surplus_in_use: usize,
    /// How often the width was halved. A request that was sent in an earlier round says nothing about the current width.
    round: u64,
    /// Calls that succeeded since the width last changed.
    successes: u32,
}

/// The effect of a successful call.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// One permit is added.
    Wider,
    None,
}

/// What happens to a returned permit.
#[derive(Debug, PartialEq, Eq)]
enum Returned {
    /// The next call can use it.
    Free,
    /// The permit is withdrawn.
    Withdrawn,
}

impl Pace {
    fn new(limit: usize) -> Pace {
        Pace { limit, width: limit, surplus_in_use: 0, round: 0, successes: 0 }
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
        match self.surplus_in_use.checked_sub(1) {
            // The extra permit is still in use, so it only has to stay.
            Some(surplus_in_use) => {
                self.surplus_in_use = surplus_in_use;
                Step::None
            }
            None => Step::Wider,
        }
    }

    /// Halves the width if the request was sent after the last halving: forty calls that are rejected together halve it only
    /// once. Returns how many permits to withdraw.
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
        match self.surplus_in_use.checked_sub(1) {
            Some(surplus_in_use) => {
                self.surplus_in_use = surplus_in_use;
                Returned::Withdrawn
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
        assert_eq!((pace.rate_limited(0), pace.width), (16, 16));
        for _ in 1..32 {
            assert_eq!((pace.rate_limited(0), pace.width), (0, 16));
        }
        assert_eq!((pace.rate_limited(1), pace.width), (8, 8));
    }

    #[test]
    fn successes_widen_a_limiter_by_one_step_each_up_to_its_limit() {
        let mut pace = Pace::new(4);
        assert_eq!(pace.succeeded(), Step::None, "the width is at its limit");
        pace.rate_limited(0);
        let steps = |pace: &mut Pace| (0..SUCCESSES_PER_STEP).filter(|_| pace.succeeded() == Step::Wider).count();
        assert_eq!((steps(&mut pace), pace.width), (1, 3));
        assert_eq!((steps(&mut pace), pace.width), (1, 4));
        assert_eq!((steps(&mut pace), pace.width), (0, 4));
    }

    #[test]
    fn a_rate_limit_resets_the_count_of_successes() {
        let mut pace = Pace::new(8);
        pace.rate_limited(0);
        for _ in 1..SUCCESSES_PER_STEP {
            pace.succeeded();
        }
        pace.rate_limited(1);
        assert_eq!((pace.succeeded(), pace.width), (Step::None, 2));
    }

    #[test]
    fn surplus_permits_in_use_are_withdrawn_when_they_are_returned() {
        let limiter = Arc::new(CallLimiter::new(4));
        let mut permits = all(&limiter);
        permits[0].rate_limited();
        assert_eq!((permits.len(), limiter.width()), (4, 2));
        for left in [3, 2] {
            drop(permits.pop());
            assert!(limiter.try_enter().is_none(), "{left} calls still run, and 2 are allowed");
        }
        drop(permits.pop());
        let one = limiter.try_enter().expect("one call runs, and 2 are allowed");
        assert!(limiter.try_enter().is_none());
        drop((one, permits));
        assert_eq!(all(&limiter).len(), 2);
    }

    #[test]
    fn free_permits_are_withdrawn_immediately_and_added_again_after_successes() {
        let limiter = Arc::new(CallLimiter::new(4));
        let one = limiter.try_enter().expect("no permit is in use");
        one.rate_limited();
        assert_eq!(all(&limiter).len(), 1);
        for _ in 0..2 * SUCCESSES_PER_STEP {
            one.succeeded();
        }
        assert_eq!((limiter.width(), all(&limiter).len()), (4, 3));
    }

    #[test]
    fn a_limiter_that_grows_while_surplus_permits_are_in_use_withdraws_fewer() {
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
    fn a_request_sent_after_a_halving_can_halve_again() {
        let limiter = Arc::new(CallLimiter::new(8));
        let one = limiter.try_enter().expect("no permit is in use");
        one.rate_limited();
        one.rate_limited();
        assert_eq!(limiter.width(), 4);
        one.asking();
        one.rate_limited();
        assert_eq!(limiter.width(), 2);
    }

    #[tokio::test]
    async fn a_waiting_call_gets_the_returned_permit() {
        let limiter = Arc::new(CallLimiter::new(0));
        let one = limiter.try_enter().expect("a limiter allows at least one call");
        let waiting = tokio::spawn({
            let limiter = Arc::clone(&limiter);
            async move { drop(limiter.enter().await) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(one);
        waiting.await.expect("the task does not panic");
    }
}
