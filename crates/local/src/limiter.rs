//! Limits how many calls of one kind run at the same time, such as the calls to one provider. When a provider answers "too
//! many requests", its limit is halved. Successful calls raise the limit again, one step at a time, up to the configured
//! maximum. At least one call is always allowed. No session uses all permits while calls of another session wait.

mod pace;
mod turns;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guildhall_kernel::SessionId;
use tokio::sync::{Notify, oneshot};

use self::pace::Pace;
use self::turns::Turns;

/// Limits the calls of one kind: the calls to one provider, or the calls to tools.
#[derive(Debug)]
pub struct CallLimiter {
    state: Mutex<State>,
    /// Notified when the last permit in use was returned.
    idle: Notify,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    turns: Turns<oneshot::Sender<Permit>>,
    gate: Gate,
}

/// Whether permits are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

impl State {
    fn has_room(&self) -> bool {
        self.gate == Gate::Open && self.turns.in_use() < self.pace.width
    }
}

impl CallLimiter {
    /// Creates a limiter that allows this many calls at the same time, and at least one.
    pub fn new(limit: usize) -> CallLimiter {
        let state = State { pace: Pace::new(limit.max(1)), turns: Turns::new(), gate: Gate::Open };
        CallLimiter { state: Mutex::new(state), idle: Notify::new() }
    }

    /// Returns how many calls are currently allowed at the same time.
    pub fn width(&self) -> usize {
        self.state().pace.width
    }

    /// Returns a permit for a call of this session, if a permit is free. It then overtakes no call: none waits.
    pub fn try_enter(self: &Arc<CallLimiter>, session: &SessionId) -> Option<Permit> {
        self.take(&mut self.state(), session)
    }

    /// Waits for a permit for a call of this session. The next free permit goes to the waiting session that uses the fewest
    /// permits, and if several use as few, to the call that has waited longest. Within a session, the first call is served first.
    /// After [`CallLimiter::close`], this waits forever.
    pub async fn enter(self: &Arc<CallLimiter>, session: &SessionId) -> Permit {
        let mut waiting = {
            let mut state = self.state();
            if let Some(permit) = self.take(&mut state, session) {
                return permit;
            }
            let (call, served) = oneshot::channel();
            let number = state.turns.wait(session, call);
            Waiting { limiter: self, session, number, served }
        };
        (&mut waiting.served).await.expect("a call waits until it is served")
    }

    /// Stops giving permits. Calls that have a permit continue.
    pub fn close(&self) {
        self.state().gate = Gate::Closed;
    }

    /// Waits until no permit is in use. If the limiter is not closed, new calls can follow.
    pub async fn idle(&self) {
        loop {
            // Created before the check: a permit that is returned after the check is then noticed.
            let returned = self.idle.notified();
            if self.state().turns.in_use() == 0 {
                return;
            }
            returned.await;
        }
    }

    fn take(self: &Arc<CallLimiter>, state: &mut State, session: &SessionId) -> Option<Permit> {
        if !state.has_room() {
            return None;
        }
        debug_assert!(state.turns.nobody_waits(), "a free permit is given to a waiting call at once");
        state.turns.take(session);
        Some(self.permit(state, session.clone()))
    }

    fn permit(self: &Arc<CallLimiter>, state: &State, session: SessionId) -> Permit {
        Permit { limiter: Arc::clone(self), session, round: AtomicU64::new(state.pace.round) }
    }

    /// Changes the state, and gives the permits that are then free to waiting calls.
    fn change(self: &Arc<CallLimiter>, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let mut served = Vec::new();
        while state.has_room()
            && let Some((session, call)) = state.turns.serve()
        {
            served.push((call, self.permit(&state, session)));
        }
        if state.turns.in_use() == 0 {
            self.idle.notify_waiters();
        }
        drop(state);
        for (call, permit) in served {
            // If the call was dropped meanwhile, its permit is dropped here, and the next call gets it.
            drop(call.send(permit));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves the state valid: only counters and queues change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that waits for a permit. Dropping it removes the call from the queue. If the call was served meanwhile, its permit is
/// dropped with the channel.
struct Waiting<'a> {
    limiter: &'a CallLimiter,
    session: &'a SessionId,
    number: u64,
    served: oneshot::Receiver<Permit>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.limiter.state().turns.stop_waiting(self.session, self.number);
    }
}

/// The right to run one call. Dropping the permit returns it.
///
/// A call keeps its permit while it pauses because its provider accepts no more requests. If another call got the permit
/// meanwhile, it would send to the same provider at the same rate, which was too high.
#[derive(Debug)]
pub struct Permit {
    limiter: Arc<CallLimiter>,
    session: SessionId,
    /// The round in which the newest request of this call was sent.
    round: AtomicU64,
}

impl Permit {
    /// Records that a request is sent now.
    pub fn asking(&self) {
        self.round.store(self.limiter.state().pace.round, Ordering::Relaxed);
    }

    /// Records that the provider accepts no more requests for now.
    pub fn rate_limited(&self) {
        self.limiter.state().pace.rate_limited(self.round.load(Ordering::Relaxed));
    }

    /// Records that the provider has replied.
    pub fn succeeded(&self) {
        self.limiter.change(|state| state.pace.succeeded());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.change(|state| state.turns.give_back(&self.session));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use guildhall_kernel::SessionId;
    use tokio::task::{JoinSet, yield_now};

    use super::pace::SUCCESSES_PER_STEP;
    use super::{CallLimiter, Permit};

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    fn try_enter(limiter: &Arc<CallLimiter>) -> Option<Permit> {
        limiter.try_enter(&id("session"))
    }

    fn all(limiter: &Arc<CallLimiter>) -> Vec<Permit> {
        std::iter::from_fn(|| try_enter(limiter)).collect()
    }

    /// Calls that wait, run for one turn of the runtime, and record their names in the order in which they got their permits.
    #[derive(Default)]
    struct Calls {
        tasks: JoinSet<()>,
        served: Arc<Mutex<Vec<String>>>,
    }

    impl Calls {
        async fn wait(&mut self, limiter: &Arc<CallLimiter>, session: &str, name: &str) -> tokio::task::AbortHandle {
            let (limiter, served) = (Arc::clone(limiter), Arc::clone(&self.served));
            let (session, name) = (id(session), name.to_owned());
            let task = self.tasks.spawn(async move {
                let _permit = limiter.enter(&session).await;
                served.lock().unwrap().push(name);
                yield_now().await;
            });
            yield_now().await;
            task
        }

        async fn finish(self) -> Vec<String> {
            self.tasks.join_all().await;
            Arc::into_inner(self.served).unwrap().into_inner().unwrap()
        }
    }

    #[test]
    fn surplus_permits_in_use_are_withdrawn_when_they_are_returned() {
        let limiter = Arc::new(CallLimiter::new(4));
        let mut permits = all(&limiter);
        permits[0].rate_limited();
        assert_eq!((permits.len(), limiter.width()), (4, 2));
        for left in [3, 2] {
            drop(permits.pop());
            assert!(try_enter(&limiter).is_none(), "{left} calls still run, and 2 are allowed");
        }
        drop(permits.pop());
        let one = try_enter(&limiter).expect("one call runs, and 2 are allowed");
        assert!(try_enter(&limiter).is_none());
        drop((one, permits));
        assert_eq!(all(&limiter).len(), 2);
    }

    #[test]
    fn free_permits_are_withdrawn_immediately_and_added_again_after_successes() {
        let limiter = Arc::new(CallLimiter::new(4));
        let one = try_enter(&limiter).expect("no permit is in use");
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
        assert!(try_enter(&limiter).is_none());
        drop(permits.pop());
        assert!(try_enter(&limiter).is_some());
        drop(permits);
        assert_eq!(all(&limiter).len(), 3);
    }

    #[test]
    fn a_request_sent_after_a_halving_can_halve_again() {
        let limiter = Arc::new(CallLimiter::new(8));
        let one = try_enter(&limiter).expect("no permit is in use");
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
        let one = try_enter(&limiter).expect("a limiter allows at least one call");
        let mut calls = Calls::default();
        calls.wait(&limiter, "session", "call").await;
        assert!(calls.served.lock().unwrap().is_empty());
        drop(one);
        assert_eq!(calls.finish().await, ["call"]);
    }

    #[tokio::test]
    async fn a_waiting_call_gets_the_permit_that_a_success_adds() {
        let limiter = Arc::new(CallLimiter::new(2));
        let one = try_enter(&limiter).expect("no permit is in use");
        one.rate_limited();
        let mut calls = Calls::default();
        calls.wait(&limiter, "session", "call").await;
        for _ in 0..SUCCESSES_PER_STEP {
            one.succeeded();
        }
        assert_eq!(calls.finish().await, ["call"]);
    }

    #[tokio::test]
    async fn the_first_call_of_a_session_does_not_wait_for_a_thousand_calls_of_another() {
        let limiter = Arc::new(CallLimiter::new(2));
        let permits = [id("a"), id("a")].map(|session| limiter.try_enter(&session).expect("one session may use all"));
        let mut calls = Calls::default();
        for number in 0..1_000 {
            calls.wait(&limiter, "a", &format!("a{number}")).await;
        }
        calls.wait(&limiter, "b", "b").await;
        let [one, _two] = permits;
        drop(one);
        let served = calls.finish().await;
        assert_eq!((served.len(), &served[..3]), (1_001, &["b", "a0", "a1"].map(str::to_owned)[..]));
    }

    #[tokio::test]
    async fn calls_of_one_session_are_served_in_the_order_in_which_they_came() {
        let limiter = Arc::new(CallLimiter::new(1));
        let one = try_enter(&limiter).expect("no permit is in use");
        let (mut calls, names) = (Calls::default(), ["first", "second", "third"]);
        for name in names {
            calls.wait(&limiter, "session", name).await;
        }
        drop(one);
        assert!(try_enter(&limiter).is_none(), "a new call does not overtake those that wait");
        assert_eq!(calls.finish().await, names);
    }

    #[tokio::test]
    async fn a_call_that_stops_waiting_loses_no_permit() {
        let limiter = Arc::new(CallLimiter::new(1));
        let session = id("session");
        let mut one = try_enter(&limiter);
        {
            let mut early = Box::pin(limiter.enter(&session));
            assert!(tokio::time::timeout(Duration::ZERO, &mut early).await.is_err());
            drop(early);
            assert!(limiter.state().turns.nobody_waits());
            // This call stops after it was served and before it has noticed.
            let mut late = Box::pin(limiter.enter(&session));
            assert!(tokio::time::timeout(Duration::ZERO, &mut late).await.is_err());
            drop(one.take());
            assert!(try_enter(&limiter).is_none(), "the permit belongs to the late call");
            drop(late);
        }
        assert_eq!(all(&limiter).len(), 1);
        limiter.idle().await;
    }

    #[tokio::test]
    async fn a_closed_limiter_gives_no_permit_and_is_idle_when_the_last_one_is_returned() {
        let limiter = Arc::new(CallLimiter::new(2));
        let (one, two, session) = (try_enter(&limiter), try_enter(&limiter), id("session"));
        let mut waiting = pin!(limiter.enter(&session));
        assert!(tokio::time::timeout(Duration::ZERO, &mut waiting).await.is_err());
        limiter.close();
        drop(one);
        assert!(try_enter(&limiter).is_none());
        assert!(tokio::time::timeout(Duration::ZERO, &mut waiting).await.is_err());
        let mut idle = pin!(limiter.idle());
        assert!(tokio::time::timeout(Duration::ZERO, &mut idle).await.is_err(), "one permit is in use");
        drop(two);
        idle.await;
        assert!(tokio::time::timeout(Duration::ZERO, waiting).await.is_err(), "nothing is given any more");
    }
}
