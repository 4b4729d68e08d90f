//! Session time: the clock of a session. It continues from the last stored time and never goes back. It stops while all
//! work waits for a person: at least one contract waits for a person, and no model or tool call is running.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_kernel::Millis;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::stop::Progress;

/// The clock of one session in one process.
pub(super) struct SessionTime {
    start: Millis,
    state: Mutex<State>,
    started_again: Notify,
    progress: watch::Sender<Progress>,
}

struct State {
    /// The time that had passed when the clock was last started or stopped.
    passed: Duration,
    /// When the clock was last started. None while it is stopped.
    since: Option<Instant>,
    calls: usize,
    waits_for_person: usize,
}

/// An activity that decides whether session time runs.
#[derive(Clone, Copy)]
pub(super) enum Activity {
    /// A model or tool call is running.
    CallRunning,
    /// A contract waits for a person.
    WaitingForPerson,
}

/// Counts one activity until it is dropped.
pub(super) struct ActivityGuard {
    time: Arc<SessionTime>,
    activity: Activity,
}

/// How long it takes until a moment of session time.
enum Until {
    Reached,
    In(Duration),
    Paused,
}

impl SessionTime {
    pub(super) fn new(start: Millis) -> SessionTime {
        let state = State { passed: Duration::ZERO, since: Some(Instant::now()), calls: 0, waits_for_person: 0 };
        SessionTime {
            start,
            state: Mutex::new(state),
            started_again: Notify::new(),
            progress: watch::Sender::new(Progress::Works),
        }
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(super) fn now(&self) -> Millis {
        self.start.after(Millis(u64::try_from(self.state().passed().as_millis()).unwrap_or(u64::MAX)))
    }

    /// Counts one more activity, until the returned guard is dropped.
    pub(super) fn count(self: &Arc<SessionTime>, activity: Activity) -> ActivityGuard {
        self.change(|state| *state.counter(activity) += 1);
        ActivityGuard { time: Arc::clone(self), activity }
    }

    /// Waits for a moment of session time, or for ever if there is none.
    pub(super) async fn wait_until(&self, moment: Option<Millis>) {
        let Some(moment) = moment else { return std::future::pending().await };
        loop {
            // Created before the check, so that a start of the clock after the check is not missed.
            let started_again = self.started_again.notified();
            match self.until(moment) {
                Until::Reached => return,
                Until::In(wait) => tokio::time::sleep(wait).await,
                Until::Paused => started_again.await,
            }
        }
    }

    fn until(&self, moment: Millis) -> Until {
        let state = self.state();
        let wait = Duration::from_millis(moment.0.saturating_sub(self.start.0)).saturating_sub(state.passed());
        match state.since {
            _ if wait.is_zero() => Until::Reached,
            Some(_) => Until::In(wait),
            None => Until::Paused,
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let runs = state.calls > 0 || state.waits_for_person == 0;
        if runs == state.since.is_some() {
            return;
        }
        state.passed = state.passed();
        state.since = runs.then(Instant::now);
        // Sent while the state is locked, so that the newest value is that of the newest change.
        self.progress.send_replace(if runs { Progress::Works } else { Progress::AwaitsPerson });
        drop(state);
        if runs {
            self.started_again.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves the state valid: only counters change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn passed(&self) -> Duration {
        self.passed + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn counter(&mut self, activity: Activity) -> &mut usize {
        match activity {
            Activity::CallRunning => &mut self.calls,
            Activity::WaitingForPerson => &mut self.waits_for_person,
        }
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let activity = self.activity;
        self.time.change(|state| *state.counter(activity) -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use guildhall_kernel::Millis;
    use tokio::time::{advance, timeout};

    use super::{Activity, SessionTime};

    async fn pass(ms: u64) {
        advance(Duration::from_millis(ms)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn session_time_continues_from_its_start() {
        let time = SessionTime::new(Millis(5000));
        pass(30).await;
        assert_eq!(time.now(), Millis(5030));
    }

    #[tokio::test(start_paused = true)]
    async fn session_time_stops_while_all_work_waits_for_a_person() {
        let time = Arc::new(SessionTime::new(Millis(0)));
        let person = time.count(Activity::WaitingForPerson);
        pass(1000).await;
        assert_eq!(time.now(), Millis(0), "all work waits for a person");
        let call = time.count(Activity::CallRunning);
        pass(20).await;
        assert_eq!(time.now(), Millis(20), "a call is running, too");
        drop(call);
        pass(1000).await;
        assert_eq!(time.now(), Millis(20), "all work waits for a person again");
        drop(person);
        pass(3).await;
        assert_eq!(time.now(), Millis(23));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_session_time_reaches_its_moment() {
        let time = Arc::new(SessionTime::new(Millis(0)));
        let person = time.count(Activity::WaitingForPerson);
        let waiting = tokio::spawn({
            let time = Arc::clone(&time);
            async move { time.wait_until(Some(Millis(50))).await }
        });
        pass(10_000).await;
        assert!(!waiting.is_finished(), "session time is stopped");
        drop(person);
        let began = tokio::time::Instant::now();
        timeout(Duration::from_secs(1), waiting).await.expect("the wait ends").expect("the task does not panic");
        assert_eq!(began.elapsed(), Duration::from_millis(50));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_takes_longer_when_session_time_stops_meanwhile() {
        let time = Arc::new(SessionTime::new(Millis(0)));
        let waiting = tokio::spawn({
            let time = Arc::clone(&time);
            async move { time.wait_until(Some(Millis(50))).await }
        });
        pass(20).await;
        let person = time.count(Activity::WaitingForPerson);
        pass(10_000).await;
        assert!(!waiting.is_finished(), "session time is stopped");
        drop(person);
        let began = tokio::time::Instant::now();
        timeout(Duration::from_secs(1), waiting).await.expect("the wait ends").expect("the task does not panic");
        assert_eq!(began.elapsed(), Duration::from_millis(30));
    }
}
