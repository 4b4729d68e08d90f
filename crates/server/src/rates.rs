//! Request rates: each caller has a bucket of tokens that fills again with time. A request takes one token; an empty bucket means "too
//! many requests".

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many callers are remembered. A full bucket says nothing, so it is forgotten first.
const CALLERS_MAX: usize = 10_000;

/// How fast a bucket fills, and how much it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many requests a minute are allowed in the long run.
    pub per_minute: u32,
    /// How many requests are allowed at once.
    pub burst: u32,
}

/// The buckets of all callers of one kind.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    rate: Rate,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// The bucket at a later moment.
    fn filled(self, rate: Rate, now: Instant) -> Bucket {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let added = passed * f64::from(rate.per_minute) / 60.0;
        Bucket { tokens: (self.tokens + added).min(f64::from(rate.burst)), at: now }
    }
}

impl<K: Eq + Hash> Buckets<K> {
    pub(crate) fn new(rate: Rate) -> Buckets<K> {
        Buckets { rate, buckets: Mutex::default() }
    }

    /// Takes a token, or returns how long to wait for the next one.
    pub(crate) fn take(&self, caller: K, now: Instant) -> Result<(), Duration> {
        let rate = self.rate;
        // A panic while the lock was held leaves the map valid: each change is one insert or a removal.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CALLERS_MAX {
            buckets.retain(|_, bucket| bucket.filled(rate, now).tokens < f64::from(rate.burst));
        }
        if buckets.len() >= CALLERS_MAX && !buckets.contains_key(&caller) {
            return Err(Duration::from_secs(1));
        }
        let full = Bucket { tokens: f64::from(rate.burst), at: now };
        let bucket = buckets.entry(caller).or_insert(full);
        *bucket = bucket.filled(rate, now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.tokens) * 60.0 / f64::from(rate.per_minute.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Buckets, CALLERS_MAX, Rate};

    #[test]
    fn a_burst_is_allowed_and_then_the_rate_counts() {
        let buckets = Buckets::new(Rate { per_minute: 120, burst: 3 });
        let start = Instant::now();
        let taken = |caller, after_ms| buckets.take(caller, start + Duration::from_millis(after_ms)).is_ok();
        assert_eq!([0, 0, 0, 0].map(|at| taken("one", at)), [true, true, true, false]);
        assert!(taken("other", 0), "callers do not share a bucket");
        assert_eq!([499, 500, 501].map(|at| taken("one", at)), [false, true, false]);
        assert_eq!(buckets.take("one", start + Duration::from_millis(501)).unwrap_err().as_millis(), 499);
    }

    #[test]
    fn the_number_of_remembered_callers_is_limited() {
        let buckets = Buckets::new(Rate { per_minute: 60, burst: 1 });
        let start = Instant::now();
        for caller in 0..CALLERS_MAX {
            buckets.take(caller, start).unwrap();
        }
        assert!(buckets.take(CALLERS_MAX, start).is_err());
        assert!(buckets.take(CALLERS_MAX, start + Duration::from_secs(1)).is_ok(), "full buckets are forgotten");
    }
}
