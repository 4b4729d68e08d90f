//! Decides which waiting call gets the next permit: a call of the session that uses the fewest permits, so that no session
//! keeps the others waiting. It has no side effects.

use std::collections::{BTreeMap, HashMap};

use guildhall_kernel::SessionId;

/// The calls of all sessions that use or await a permit. `W` is how a waiting call is told.
#[derive(Debug)]
pub(super) struct Turns<W> {
    sessions: HashMap<SessionId, Calls<W>>,
    /// The sessions that wait. The first one is served next.
    order: BTreeMap<Rank, SessionId>,
    /// How many permits are in use.
    in_use: usize,
    /// The number of the newest waiting call.
    newest: u64,
}

/// The calls of one session.
#[derive(Debug)]
struct Calls<W> {
    in_use: usize,
    /// By their numbers, so that the first one has waited longest.
    waiting: BTreeMap<u64, W>,
}

/// The place of a session among those that wait. Fewer permits come first, then the call that has waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    in_use: usize,
    first: u64,
}

impl<W> Calls<W> {
    fn rank(&self) -> Option<Rank> {
        let (first, _) = self.waiting.first_key_value()?;
        Some(Rank { in_use: self.in_use, first: *first })
    }
}

impl<W> Turns<W> {
    pub(super) fn new() -> Turns<W> {
        Turns { sessions: HashMap::new(), order: BTreeMap::new(), in_use: 0, newest: 0 }
    }

    /// Returns how many permits are in use.
    pub(super) fn in_use(&self) -> usize {
        self.in_use
    }

    pub(super) fn nobody_waits(&self) -> bool {
        self.order.is_empty()
    }

    /// Counts a permit that a session uses.
    pub(super) fn take(&mut self, session: &SessionId) {
        self.in_use += 1;
        self.change(session, |calls| calls.in_use += 1);
    }

    /// Counts a permit that a session has returned.
    pub(super) fn give_back(&mut self, session: &SessionId) {
        self.in_use -= 1;
        self.change(session, |calls| calls.in_use -= 1);
    }

    /// Adds a waiting call. Returns its number.
    pub(super) fn wait(&mut self, session: &SessionId, call: W) -> u64 {
        self.newest += 1;
        let number = self.newest;
        self.change(session, |calls| calls.waiting.insert(number, call));
        number
    }

    /// Removes a call that waits no longer, unless it was served.
    pub(super) fn stop_waiting(&mut self, session: &SessionId, number: u64) {
        self.change(session, |calls| calls.waiting.remove(&number));
    }

    /// Removes the waiting call that gets the next permit, and counts its permit.
    pub(super) fn serve(&mut self) -> Option<(SessionId, W)> {
        let session = self.order.first_key_value()?.1.clone();
        self.in_use += 1;
        let (_, call) = self.change(&session, |calls| {
            calls.in_use += 1;
            calls.waiting.pop_first()
        })?;
        Some((session, call))
    }

    /// Changes the calls of a session, and keeps its place in the order up to date.
    fn change<T>(&mut self, session: &SessionId, change: impl FnOnce(&mut Calls<W>) -> T) -> T {
        let new = || Calls { in_use: 0, waiting: BTreeMap::new() };
        let calls = self.sessions.entry(session.clone()).or_insert_with(new);
        let before = calls.rank();
        let result = change(calls);
        let (after, is_over) = (calls.rank(), calls.in_use == 0 && calls.waiting.is_empty());
        if before != after {
            before.and_then(|rank| self.order.remove(&rank));
            after.and_then(|rank| self.order.insert(rank, session.clone()));
        }
        if is_over {
            self.sessions.remove(session);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::SessionId;

    use super::Turns;

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    #[test]
    fn the_session_with_the_fewest_permits_is_served_first_and_then_the_call_that_waits_longest() {
        let mut turns = Turns::new();
        for session in ["a", "a", "b"] {
            turns.take(&id(session));
        }
        for (session, call) in [("a", 1), ("a", 2), ("b", 3), ("c", 4), ("d", 5), ("b", 6)] {
            turns.wait(&id(session), call);
        }
        let served: Vec<_> = std::iter::from_fn(|| turns.serve()).map(|(_, call)| call).collect();
        // c and d have no permit, then b, c and d have one each, and so on.
        assert_eq!(served, [4, 5, 3, 1, 6, 2]);
        assert_eq!(turns.in_use(), 9);
    }

    #[test]
    fn a_returned_permit_and_a_call_that_leaves_change_the_order() {
        let mut turns = Turns::new();
        for session in ["a", "b", "b"] {
            turns.take(&id(session));
        }
        let first = turns.wait(&id("a"), 1);
        turns.wait(&id("a"), 2);
        turns.wait(&id("b"), 3);
        turns.stop_waiting(&id("a"), first);
        turns.give_back(&id("b"));
        turns.give_back(&id("b"));
        let served: Vec<_> = std::iter::from_fn(|| turns.serve()).map(|(_, call)| call).collect();
        assert_eq!(served, [3, 2]);
    }

    #[test]
    fn a_session_without_calls_takes_no_room() {
        let mut turns = Turns::new();
        turns.take(&id("a"));
        let number = turns.wait(&id("b"), ());
        turns.stop_waiting(&id("b"), number);
        turns.stop_waiting(&id("b"), number);
        turns.give_back(&id("a"));
        assert!(turns.sessions.is_empty() && turns.nobody_waits());
    }
}
