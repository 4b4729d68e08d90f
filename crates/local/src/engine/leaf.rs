//! Leaf calls: the calls of one contract to a model or a tool. Each call ends with its answer, at the contract's
//! deadline, or when the contract is cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;

use std::sync::atomic::Ordering;

use guildhall_agent::{Arrival, BOARD, Delta, History, LIST, LookUp, Meter, Texts, ToolContext, WaitReason, due};
use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Contract, Effect, Input, Millis, Msat, Request, TextKind, ToolCall, Turn,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::delivery::{fail, send};
use super::driver::ContractDriver;
use super::stop::SentCall;
use super::time::Activity;
use super::waiting_call::{InLine, WaitingCall};
use super::{AgentEnv, EngineError, SessionEngine};
use crate::limiter::Permit;

/// How long a call may continue after its contract was asked to report.
const CALL_WHEN_CLOSING_MAX: Millis = Millis(10_000);

/// How long the request for the last report may take, because the hirer is waiting for the report.
const LAST_REPORT_MAX: Millis = Millis(120_000);

/// The answer to a call, and the call, if it was sent.
type CallResult = Result<(Arrival, Option<SentCall>), EngineError>;

/// A running leaf call.
pub(super) struct Leaf {
    running: AbortHandle,
    meter: Arc<Meter>,
    /// Whether the call was given a short time to end, because its contract is closing.
    time_limited: bool,
}

/// Whether a call may be made again after a crash, when its outcome is not known.
#[derive(Clone, Copy)]
enum Repeat {
    Allowed,
    Never,
}

impl ContractDriver {
    /// Sends a request to the model. The permit is held only during the call.
    pub(super) fn ask_model(&mut self, contract: &Contract, id: AskId, request: &Request) {
        let (key, request, env) = (self.key(id), request.clone(), self.env.clone());
        let (status, time) = (self.status(contract, id), self.time());
        let (before, facts, texts) = (self.before.clone(), Arc::clone(&self.facts), self.texts.clone());
        let (root_task, engine) = (self.root_task.clone(), self.engine.clone());
        let repeat = if self.is_replayed() { Repeat::Allowed } else { Repeat::Never };
        let (in_line, no_new_calls) = (self.in_line(id, repeat), Arc::clone(&self.no_new_calls));
        let meter = self.meter(id, env.runtime.meter(&request));
        let call_meter = Arc::clone(&meter);
        let due = self.request_due(contract, id, request.turn);
        let (provider, held) = (self.provider.clone(), contract.hold(id).unwrap_or_default().money);
        if let Some(tokens) = &self.engine.inner.tokens {
            tokens.enter(&key, in_line);
        }
        self.start(due, id, meter, async move {
            let before = match before {
                Ok(before) => before,
                Err(why) => return Err(record_not_sent(&engine, repeat, &key, why).await),
            };
            let refusal = || {
                let why = engine.inner.providers.refusal(provider.as_deref()?)?;
                Some(refused(&env, id, &why, &call_meter))
            };
            if let Some(refused) = refusal() {
                return Ok(unsent(refused));
            }
            let mut waiting = WaitingCall { engine: &engine, call: &key, record: in_line };
            let Some(request) = waiting.reserve(&request).await else {
                return Ok(unsent(refused(&env, id, &out_of_tokens(&engine), &call_meter)));
            };
            let permit = waiting.permit(&env.limiter, &no_new_calls).await?;
            let Some(sent) = permit else { return Ok(unsent(stopped(id, Answer::Aborted, &call_meter))) };
            // The provider may have overrun while this call waited.
            if let Some(refused) = refusal() {
                return Ok(unsent(refused));
            }
            call_meter.leave();
            let history = History { before: &before, root_task: root_task.as_deref(), facts: &facts, texts: &texts };
            let between_tries = watch::Sender::new(false);
            let watch = |delta: Delta<'_>| {
                note_tries(&between_tries, delta);
                call_meter.follow(delta);
                report_to_limiter(&sent.permit, delta);
                (env.watch)(engine.inner.lease.session(), &key, delta);
            };
            let clock = || time.now();
            let arrival = tokio::select! {
                // First: a try whose pause has just ended must not leave after the stop.
                biased;
                () = engine.inner.gate.recalled(&key, between_tries.subscribe()) => {
                    drop(sent);
                    // As for a call that waits for its permit: the process that resumes the session sends it.
                    return std::future::pending().await;
                }
                arrival = env.runtime.ask(key.clone(), &request, history, &status, &watch, &clock) => arrival,
            };
            let arrival = match arrival {
                Ok(arrival) => arrival,
                Err(why) => {
                    let why = EngineError::Text { contract: key.contract.clone(), why };
                    return Err(record_not_sent(&engine, repeat, &key, why).await);
                }
            };
            if matches!(arrival.input, Input::Reply { .. }) {
                sent.permit.succeeded();
            }
            // This happens before the permit is released: the next call to get it must see the overrun.
            note_bill(&engine, provider.as_deref(), held, &arrival.input);
            Ok((arrival, Some(sent)))
        });
    }

    /// Returns when a request must have ended.
    fn request_due(&self, contract: &Contract, id: AskId, turn: Turn) -> Option<Millis> {
        let latest = self.time().now().after(LAST_REPORT_MAX);
        match turn {
            Turn::Next => due(contract, id),
            Turn::Last => Some(due(contract, id).map_or(latest, |due| due.min(latest))),
        }
    }

    /// Calls a tool, with a permit from the tools' own limiter. If an earlier process may have made the call, it is
    /// made again only if the tool allows repeated calls, or if the tool knows that the call did not happen.
    pub(super) fn call_tool(&mut self, contract: &Contract, id: AskId, call: &ToolCall) {
        let (key, call, env) = (self.key(id), call.clone(), self.env.clone());
        let is_looked_up = call.effect == Effect::Reconcilable && self.may_have_left(id);
        let meter = self.meter(id, Meter::default());
        let arguments = match self.texts.text(&call.arguments) {
            Ok(arguments) => arguments,
            Err(_) if is_looked_up => return send(&self.sender, stopped(id, Answer::Lost, &meter)),
            Err(why) => return send(&self.sender, env.runtime.not_called(&key, &why)),
        };
        let (facts, texts, engine) = (Arc::clone(&self.facts), self.texts.clone(), self.engine.clone());
        let repeat = match call.effect {
            Effect::Pure | Effect::Idempotent => Repeat::Allowed,
            Effect::Reconcilable | Effect::Once => Repeat::Never,
        };
        let (in_line, no_new_calls) = (self.in_line(id, repeat), Arc::clone(&self.no_new_calls));
        let call_meter = Arc::clone(&meter);
        self.start(due(contract, id), id, meter, async move {
            let mut waiting = WaitingCall { engine: &engine, call: &key, record: in_line };
            let permit = waiting.permit(&env.tools, &no_new_calls).await?;
            let Some(sent) = permit else { return Ok(unsent(stopped(id, Answer::Aborted, &call_meter))) };
            call_meter.leave();
            if is_looked_up {
                match env.runtime.look_up(&key, &call, &arguments).await {
                    LookUp::Happened(result) => return Ok((env.runtime.answer(&key, &result), Some(sent))),
                    LookUp::DidNotHappen => {}
                    LookUp::Unknown => return Ok((stopped(id, Answer::Lost, &call_meter), Some(sent))),
                }
            }
            let (mut board, mut waits) = (Vec::new(), BTreeMap::new());
            match call.tool.as_str() {
                BOARD => board = engine.boards().posts(&key),
                LIST => waits = engine.open_asks().of_hires(&key.contract),
                _ => {}
            }
            let context = ToolContext { facts: &facts, board: &board, waits: &waits, texts: &texts };
            Ok((env.runtime.call(&key, &call, &arguments, context).await, Some(sent)))
        });
    }

    /// Returns what the journal records about this call if it has to wait.
    fn in_line(&self, id: AskId, repeat: Repeat) -> InLine {
        match repeat {
            _ if self.in_line.contains(&id) => InLine::Recorded,
            Repeat::Never if !self.may_have_left(id) => InLine::RecordIfWaiting,
            Repeat::Never | Repeat::Allowed => InLine::NotRecorded,
        }
    }

    /// Returns a meter that counts the call as sent if an earlier process may have sent it.
    fn meter(&self, id: AskId, meter: Meter) -> Arc<Meter> {
        if self.may_have_left(id) {
            meter.leave();
        }
        Arc::new(meter)
    }

    /// Returns the answer to a call that an earlier process may have made and whose outcome is unknown.
    pub(super) fn lost(&self, id: AskId, ask: &Ask) -> Arrival {
        stopped(id, Answer::Lost, &self.meter_of(id, ask))
    }

    /// Returns the meter of a call that this process has not started.
    fn meter_of(&self, id: AskId, ask: &Ask) -> Arc<Meter> {
        let meter = match ask {
            Ask::Model(request) => self.env.runtime.meter(request),
            Ask::Tool(_)
            | Ask::Check(_)
            | Ask::Hire { .. }
            | Ask::Question { .. }
            | Ask::Draw { .. }
            | Ask::Tell { .. } => Meter::default(),
        };
        self.meter(id, meter)
    }

    /// Starts a call, unless it is past its deadline. A call that is still running at its deadline is stopped.
    fn start(
        &mut self,
        due: Option<Millis>,
        id: AskId,
        meter: Arc<Meter>,
        work: impl Future<Output = CallResult> + Send + 'static,
    ) {
        let (sender, time) = (self.sender.clone(), self.time());
        if due.is_some_and(|due| due <= time.now()) {
            return send(&sender, stopped(id, Answer::Lost, &meter));
        }
        let running_guard = time.count(Activity::CallRunning);
        let call_meter = Arc::clone(&meter);
        let running = self.tasks.spawn(async move {
            let arrival = tokio::select! {
                biased;
                arrival = work => arrival,
                () = time.wait_until(due) => Ok(unsent(stopped(id, Answer::Lost, &call_meter))),
            };
            match arrival {
                Ok((arrival, sent)) => {
                    send(&sender, arrival);
                    // The call ends after its answer is in the queue: an orderly stop waits for the answers of ended calls.
                    drop(sent);
                }
                Err(why) => fail(&sender, why),
            }
            drop(running_guard);
        });
        self.leaves.insert(id, Leaf { running, meter, time_limited: false });
    }

    /// Gives a running call of a closing contract a short time to end, because the hirer is waiting for the report.
    pub(super) fn limit_time(&mut self, id: AskId, ask: &Ask) {
        let last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        if !last && self.withdraw(id) {
            return;
        }
        let (sender, time) = (self.sender.clone(), self.time());
        let Some(leaf) = self.leaves.get_mut(&id).filter(|leaf| !last && !leaf.time_limited) else { return };
        leaf.time_limited = true;
        let (running, meter) = (leaf.running.clone(), Arc::clone(&leaf.meter));
        let due = time.now().after(CALL_WHEN_CLOSING_MAX);
        self.tasks.spawn(async move {
            time.wait_until(Some(due)).await;
            // If the call has ended meanwhile, it was answered, and a second answer has no effect.
            running.abort();
            send(&sender, stopped(id, Answer::Lost, &meter));
        });
    }

    /// Ends a request that still waits for tokens: it costs nothing, and no tokens will come. Returns whether it waited.
    fn withdraw(&mut self, id: AskId) -> bool {
        let waits = |engine: &SessionEngine, key: &AskKey| {
            engine.inner.tokens.as_ref().is_some_and(|tokens| tokens.withdraw(key))
        };
        if !waits(&self.engine, &self.key(id)) {
            return false;
        }
        if let Some(Leaf { running, meter, .. }) = self.leaves.remove(&id) {
            running.abort();
            send(&self.sender, refused(&self.env, id, &out_of_tokens(&self.engine), &meter));
        }
        true
    }

    /// Stops a leaf call of a cancelled contract. A call that has not been sent is not sent.
    pub(super) fn abort(&mut self, id: AskId, ask: &Ask) {
        // Set this before any permit is released: a waiting call must not be sent when a stopped call releases its
        // permit.
        self.no_new_calls.store(true, Ordering::Release);
        let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
        let meter = match self.leaves.remove(&id) {
            Some(Leaf { running, meter, .. }) => {
                running.abort();
                meter
            }
            None if leaf && !self.started.contains(&id) => self.meter_of(id, ask),
            None => return,
        };
        self.started.insert(id);
        send(&self.sender, stopped(id, Answer::Aborted, &meter));
    }
}

/// Notes whether a call is between two tries. Nothing of it is on its way then.
fn note_tries(between_tries: &watch::Sender<bool>, delta: Delta<'_>) {
    match delta {
        Delta::Waiting { .. } => drop(between_tries.send_replace(true)),
        Delta::Asking => drop(between_tries.send_replace(false)),
        Delta::Words(_)
        | Delta::Thinking
        | Delta::Call { .. }
        | Delta::Received { .. }
        | Delta::Lost { .. }
        | Delta::Used(_) => {}
    }
}

/// Reports to the limiter how the provider reacted to a request.
fn report_to_limiter(permit: &Permit, delta: Delta<'_>) {
    match delta {
        Delta::Asking => permit.asking(),
        Delta::Waiting { why: WaitReason::RateLimited, .. } => permit.rate_limited(),
        Delta::Waiting { why: WaitReason::Unavailable | WaitReason::Unreachable, .. }
        | Delta::Words(_)
        | Delta::Thinking
        | Delta::Call { .. }
        | Delta::Received { .. }
        | Delta::Lost { .. }
        | Delta::Used(_) => {}
    }
}

/// Tells the session what a call cost, if its provider is paid.
fn note_bill(engine: &SessionEngine, provider: Option<&str>, held: Msat, input: &Input) {
    if let (Some(provider), Input::Reply { cost, .. } | Input::Answer { cost, .. }) = (provider, input) {
        engine.inner.providers.billed(provider, held, *cost);
    }
}

/// Why a request is not sent if there are no tokens for it.
fn out_of_tokens(engine: &SessionEngine) -> String {
    let limit = engine.inner.tokens.as_ref().map_or(0, |tokens| tokens.limit());
    format!("the request was not sent: it needs more tokens than are left of the limit of {limit}")
}

/// Returns the answer to a call that is not made. It costs nothing, unless an earlier process may have made the call.
fn refused(env: &AgentEnv, id: AskId, why: &str, meter: &Meter) -> Arrival {
    let text = env.runtime.redactor.text(TextKind::Error, why);
    Arrival { texts: vec![text.clone()], ..stopped(id, Answer::Failed(text.of), meter) }
}

/// Records that a request was not sent because it could not be written, so that a process that resumes the session does
/// not charge for it.
async fn record_not_sent(engine: &SessionEngine, repeat: Repeat, call: &AskKey, why: EngineError) -> EngineError {
    if let Repeat::Never = repeat {
        engine.inner.journal.record_waiting_call(&engine.inner.lease, call).await;
    }
    why
}

fn unsent(arrival: Arrival) -> (Arrival, Option<SentCall>) {
    (arrival, None)
}

fn stopped(id: AskId, answer: Answer, meter: &Meter) -> Arrival {
    Arrival { input: Input::Answer { id, answer, cost: meter.cost_of_stopping() }, texts: Vec::new() }
}
