//! What a call waits for before it is sent: tokens, if they are limited, and a permit. A call that waits costs nothing, also after a
//! crash, and holds no permit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_kernel::{AskKey, Request, Turn};

use super::stop::SentCall;
use super::token_pool::Reserved;
use super::{EngineError, Inner, SessionEngine};
use crate::limiter::CallLimiter;

/// What the journal records about a call that waits for its permit. A recorded call is known not to have been sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InLine {
    /// The journal has a record that the call is waiting.
    Recorded,
    /// A record is written if the call has to wait.
    RecordIfWaiting,
    /// There is no record: the call may be repeated, or an earlier process may have sent it.
    NotRecorded,
}

/// A call that has not been sent.
pub(super) struct WaitingCall<'a> {
    pub(super) engine: &'a SessionEngine,
    pub(super) call: &'a AskKey,
    /// What the journal records about it if it has to wait.
    pub(super) record: InLine,
}

impl WaitingCall<'_> {
    /// Records that the call is waiting, so that a process after a crash knows that it was not sent.
    async fn record_waiting(&mut self) {
        if self.record == InLine::RecordIfWaiting {
            let Inner { journal, lease, .. } = &*self.engine.inner;
            journal.record_waiting_call(lease, self.call).await;
            self.record = InLine::Recorded;
        }
    }

    /// Reserves tokens for a request, if they are limited, and returns the request with what it got. If none are left, the root
    /// is told to wrap up, and the request waits until its contract ends it. Returns nothing for a last request that gets none.
    pub(super) async fn reserve(&mut self, request: &Request) -> Option<Request> {
        let tokens = self.engine.inner.tokens.clone().filter(|tokens| tokens.counts(&self.call.contract));
        let Some(tokens) = tokens else { return Some(request.clone()) };
        let reserved = if let Some(reserved) = tokens.try_reserve(self.call, request) {
            reserved
        } else {
            self.record_waiting().await;
            tokens.reserve(self.call, request).await
        };
        match (reserved, request.turn) {
            (Reserved::Tokens(max_tokens), _) => Some(Request { max_tokens, ..request.clone() }),
            (Reserved::Exhausted { left }, Turn::Last) => {
                // A root that ends for another reason has not been told what is left. It makes a smaller request.
                if self.call.contract == *tokens.root() {
                    self.engine.say_out_of_tokens(tokens.root(), left);
                }
                None
            }
            (Reserved::Exhausted { left }, Turn::Next) => {
                self.record_waiting().await;
                self.engine.say_out_of_tokens(tokens.root(), left);
                std::future::pending().await
            }
        }
    }

    /// Waits for the permit to send the call. Returns nothing if the call must not be sent any more. Waits for ever if the
    /// session stops.
    pub(super) async fn permit(
        &mut self,
        limiter: &Arc<CallLimiter>,
        no_new_calls: &AtomicBool,
    ) -> Result<Option<SentCall>, EngineError> {
        let Inner { journal, lease, .. } = &*self.engine.inner;
        let permit = if let Some(permit) = limiter.try_enter(lease.session()) {
            permit
        } else {
            self.record_waiting().await;
            limiter.enter(lease.session()).await
        };
        if no_new_calls.load(Ordering::Acquire) || self.engine.inner.stopped.load(Ordering::Acquire) {
            return Ok(None);
        }
        // If the session stops, the call is not sent and not answered: the process that resumes the session sends it.
        let sent = self.engine.inner.gate.send(self.call, permit);
        let Some(sent) = sent else { return std::future::pending().await };
        if self.record == InLine::Recorded {
            journal.record_sending(lease, self.call).await?;
        }
        if let Some(tokens) = &self.engine.inner.tokens {
            tokens.leave(self.call);
        }
        Ok(Some(sent))
    }
}
