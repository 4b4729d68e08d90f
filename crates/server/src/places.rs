//! Places: a limit on what is open at the same time, in all and for each owner, so that one client or one session can't take
//! everything.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts what is open.
#[derive(Debug)]
pub(crate) struct Places<K>(Arc<Counts<K>>);

#[derive(Debug)]
struct Counts<K> {
    all_max: usize,
    each_max: usize,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    each: HashMap<K, usize>,
}

/// A place that is taken, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<K: Eq + Hash> {
    of: K,
    counts: Arc<Counts<K>>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All places are taken.
    All,
    /// The owner has as many as one owner may have.
    Own,
}

impl<K: Eq + Hash + Clone> Places<K> {
    pub(crate) fn new(all_max: usize, each_max: usize) -> Places<K> {
        Places(Arc::new(Counts { all_max, each_max, taken: Mutex::new(Taken { all: 0, each: HashMap::new() }) }))
    }

    /// Takes a place.
    pub(crate) fn take(&self, of: K) -> Result<Place<K>, Full> {
        let mut taken = self.0.lock();
        if taken.all >= self.0.all_max {
            return Err(Full::All);
        }
        let own = taken.each.entry(of.clone()).or_default();
        if *own >= self.0.each_max {
            return Err(Full::Own);
        }
        *own += 1;
        taken.all += 1;
        drop(taken);
        Ok(Place { of, counts: Arc::clone(&self.0) })
    }

    /// How many places are taken.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().all
    }
}

impl<K> Counts<K> {
    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.counts.lock();
        taken.all -= 1;
        if let Some(own) = taken.each.get_mut(&self.of) {
            *own -= 1;
            if *own == 0 {
                taken.each.remove(&self.of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, Places};

    #[test]
    fn nobody_takes_more_than_its_own_share() {
        let places = Places::new(3, 2);
        let (first, _second) = (places.take("one").unwrap(), places.take("one").unwrap());
        assert_eq!(places.take("one").unwrap_err(), Full::Own);
        let other = places.take("other").unwrap();
        assert_eq!(places.take("other").unwrap_err(), Full::All);
        drop(first);
        assert_eq!(places.count(), 2);
        let _again = places.take("one").unwrap();
        drop(other);
        assert_eq!(places.take("one").unwrap_err(), Full::Own);
        assert_eq!((places.count(), places.0.lock().each.len()), (2, 1), "an owner without a place is forgotten");
    }
}
