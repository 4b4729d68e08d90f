//! Session time: it goes on from where it was left, as fast as this process runs, and never back. It stops while only a person
//! is awaited: somebody waits for one, and no model or tool is at work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_kernel::Millis;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The clock of one session in one process.
pub(super) struct SessionTime {
    left: Millis,
    state: Mutex<State>,
    resumed: Notify,
}

struct State {
    /// What had passed when it was last set going.
    passed: Duration,
    /// When that was, unless it stands.
    since: Option<Instant>,
    leaves: usize,
    awaiting: usize,
}

/// What time goes by.
#[derive(Clone, Copy)]
pub(super) enum Why {
    /// A model or a tool is at work.
    LeafUnderWay,
    /// A contract waits for a person.
    PersonAwaited,
}

/// Counts as long as it is kept.
pub(super) struct Counted {
    time: Arc<SessionTime>,
    why: Why,
}

/// How long it is until a moment.
enum Until {
    Past,
    Running(Duration),
    Standing,
}

impl SessionTime {
    pub(super) fn from(left: Millis) -> SessionTime {
        let state = State { passed: Duration::ZERO, since: Some(Instant::now()), leaves: 0, awaiting: 0 };
        SessionTime { left, state: Mutex::new(state), resumed: Notify::new() }
    }

    pub(super) fn now(&self) -> Millis {
        self.left.after(Millis(u64::try_from(self.state().passed().as_millis()).unwrap_or(u64::MAX)))
    }

    /// Lets time go by one thing more, until that is dropped.
    pub(super) fn count(self: &Arc<SessionTime>, why: Why) -> Counted {
        self.change(|state| *state.counter(why) += 1);
        Counted { time: Arc::clone(self), why }
    }

    /// Waits for a moment; for ever if there is none.
    pub(super) async fn reach(&self, moment: Option<Millis>) {
        let Some(moment) = moment else { return std::future::pending().await };
        loop {
            // Made before the look, so that no resumption is missed after it.
            let resumed = self.resumed.notified();
            match self.until(moment) {
                Until::Past => return,
                Until::Running(wait) => tokio::time::sleep(wait).await,
                Until::Standing => resumed.await,
            }
        }
    }

    fn until(&self, moment: Millis) -> Until {
        let state = self.state();
        let wait = Duration::from_millis(moment.0.saturating_sub(self.left.0)).saturating_sub(state.passed());
        match state.since {
            _ if wait.is_zero() => Until::Past,
            Some(_) => Until::Running(wait),
            None => Until::Standing,
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let runs = state.leaves > 0 || state.awaiting == 0;
        if runs == state.since.is_some() {
            return;
        }
        state.passed = state.passed();
        state.since = runs.then(Instant::now);
        drop(state);
        if runs {
            self.resumed.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held left it whole: it is only counted in there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn passed(&self) -> Duration {
        self.passed + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn counter(&mut self, why: Why) -> &mut usize {
        match why {
            Why::LeafUnderWay => &mut self.leaves,
            Why::PersonAwaited => &mut self.awaiting,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let why = self.why;
        self.time.change(|state| *state.counter(why) -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use guildhall_kernel::Millis;
    use tokio::time::{advance, timeout};

    use super::{SessionTime, Why};

    async fn pass(ms: u64) {
        advance(Duration::from_millis(ms)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn time_goes_on_from_where_it_was_left() {
        let time = SessionTime::from(Millis(5000));
        pass(30).await;
        assert_eq!(time.now(), Millis(5030));
    }

    #[tokio::test(start_paused = true)]
    async fn time_stops_while_only_a_person_is_awaited() {
        let time = Arc::new(SessionTime::from(Millis(0)));
        let person = time.count(Why::PersonAwaited);
        pass(1000).await;
        assert_eq!(time.now(), Millis(0), "only a person is awaited");
        let call = time.count(Why::LeafUnderWay);
        pass(20).await;
        assert_eq!(time.now(), Millis(20), "a model is at work as well");
        drop(call);
        pass(1000).await;
        assert_eq!(time.now(), Millis(20), "only a person is awaited again");
        drop(person);
        pass(3).await;
        assert_eq!(time.now(), Millis(23));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_moment_wakes_when_session_time_reaches_it() {
        let time = Arc::new(SessionTime::from(Millis(0)));
        let person = time.count(Why::PersonAwaited);
        let waiting = tokio::spawn({
            let time = Arc::clone(&time);
            async move { time.reach(Some(Millis(50))).await }
        });
        pass(10_000).await;
        assert!(!waiting.is_finished(), "time stands");
        drop(person);
        let began = tokio::time::Instant::now();
        timeout(Duration::from_secs(1), waiting).await.expect("it wakes").expect("it does not panic");
        assert_eq!(began.elapsed(), Duration::from_millis(50));
    }

    #[tokio::test(start_paused = true)]
    async fn who_sleeps_while_time_stops_sleeps_on() {
        let time = Arc::new(SessionTime::from(Millis(0)));
        let waiting = tokio::spawn({
            let time = Arc::clone(&time);
            async move { time.reach(Some(Millis(50))).await }
        });
        pass(20).await;
        let person = time.count(Why::PersonAwaited);
        pass(10_000).await;
        assert!(!waiting.is_finished(), "time stands");
        drop(person);
        let began = tokio::time::Instant::now();
        timeout(Duration::from_secs(1), waiting).await.expect("it wakes").expect("it does not panic");
        assert_eq!(began.elapsed(), Duration::from_millis(30));
    }
}
