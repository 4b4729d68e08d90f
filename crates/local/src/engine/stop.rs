//! An orderly stop: no more calls are sent, the calls that were sent may end, and their answers are stored. A process that resumes
//! the session then knows which calls were never sent, so that it counts none of them as lost.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_kernel::{Ask, AskKey, Fact, Path};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;

use super::delivery::DriverMessage;
use super::{Inner, SessionEngine};
use crate::journal::JournalError;
use crate::limiter::Permit;

/// How long the drivers may take to store the answers that have arrived.
const ANSWERS_STORED_WITHIN: Duration = Duration::from_secs(5);

/// Whether a session does something, or only waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Contracts are at work.
    Works,
    /// At least one contract waits for a person, and no model or tool call is running. Session time stands still.
    AwaitsPerson,
}

/// Keeps a session from sending more calls. It does not keep the session's lease.
#[derive(Clone)]
pub struct CallGate(Arc<Gate>);

impl CallGate {
    /// From now on, no call is sent. Calls that were sent continue.
    pub fn close(&self) {
        self.0.close();
    }
}

/// Decides whether calls of a session may be sent, and counts those that were.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    /// Notified when the last call that was sent has ended.
    idle: Notify,
    /// Whether calls may not be sent any more. It changes while the state is locked.
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    /// How many calls were sent and have not ended.
    sent: usize,
    /// The calls that this process asked for and that were not sent.
    unsent: BTreeSet<AskKey>,
}

/// A call that was sent. It ends when this is dropped, which must happen after its answer is in the queue of its driver.
pub(super) struct SentCall {
    pub(super) permit: Permit,
    _sent: SentGuard,
}

struct SentGuard(Arc<Gate>);

impl Gate {
    /// Takes a fact of a contract.
    pub(super) fn apply(&self, contract: &Path, fact: &Fact) {
        let key = |ask| AskKey { contract: contract.clone(), ask };
        if let Some((id, Ask::Model(_) | Ask::Tool(_))) = fact.asked() {
            self.state().unsent.insert(key(id));
        } else if let Some((id, _)) = fact.answered() {
            self.state().unsent.remove(&key(id));
        }
    }

    /// Lets a call be sent, unless the session stops.
    pub(super) fn send(self: &Arc<Gate>, call: &AskKey, permit: Permit) -> Option<SentCall> {
        let mut state = self.state();
        if *self.closed.borrow() {
            return None;
        }
        state.sent += 1;
        state.unsent.remove(call);
        Some(SentCall { permit, _sent: SentGuard(Arc::clone(self)) })
    }

    fn close(&self) {
        // Under the lock of the state: a call is either counted before, or not sent.
        let _state = self.state();
        self.closed.send_replace(true);
    }

    /// Waits until the session stops while a call is between two tries. The tries so far have cost nothing, so the call counts as
    /// one that was not sent.
    pub(super) async fn recalled(&self, call: &AskKey, mut between_tries: watch::Receiver<bool>) {
        let mut closed = self.closed.subscribe();
        // The senders live as long as the session and the call.
        closed.wait_for(|closed| *closed).await.ok();
        between_tries.wait_for(|between| *between).await.ok();
        self.state().unsent.insert(call.clone());
    }

    async fn idle(&self) {
        loop {
            // Created before the check: a call that ends after the check is then noticed.
            let ended = self.idle.notified();
            if self.state().sent == 0 {
                return;
            }
            ended.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves the state valid: each change is one insert, remove or sum.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SentGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.sent -= 1;
        if state.sent == 0 {
            self.0.idle.notify_waiters();
        }
    }
}

impl SessionEngine {
    /// Returns whether the session does something, and each change of that.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.inner.time.progress()
    }

    /// Returns the gate that all calls of the session pass.
    pub fn call_gate(&self) -> CallGate {
        CallGate(Arc::clone(&self.inner.gate))
    }

    /// Stops the work in an orderly way. No more calls are sent, and the calls that were sent have this much time to end. After
    /// this, no contract takes another step: drop the future of [`SessionEngine::run`].
    pub async fn stop(&self, grace: Duration) -> Result<(), JournalError> {
        let Inner { journal, lease, gate, step, frozen, .. } = &*self.inner;
        gate.close();
        // A call that takes longer is cut off.
        timeout(grace, gate.idle()).await.ok();
        // A driver that takes longer stores nothing more, as after a crash.
        timeout(ANSWERS_STORED_WITHIN, self.handle_messages()).await.ok();
        let lock = Arc::clone(step).lock_owned().await;
        *frozen.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
        let unsent = std::mem::take(&mut gate.state().unsent);
        journal.record_unsent(lease, unsent).await
    }

    /// Waits until the drivers have handled the messages in their queues, and the facts of these steps are durable.
    async fn handle_messages(&self) {
        let ask = |driver: &super::delivery::Sender| {
            let (done, handled) = oneshot::channel();
            // A driver that is missing has closed its contract, and has handled its messages.
            driver.send(Box::new(DriverMessage::Handled(done))).ok();
            handled
        };
        let waiting: Vec<_> = self.drivers().values().map(ask).collect();
        for handled in waiting {
            // An error means that the driver has ended.
            handled.await.ok();
        }
    }
}
