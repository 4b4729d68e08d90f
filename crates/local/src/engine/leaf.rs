//! Leaf calls: a model or a tool at work for one ask. Each ends: with its answer, with the contract's deadline, or with a cancel.

use std::collections::BTreeMap;
use std::sync::Arc;

use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_agent::{Arrival, BOARD, Delta, History, LIST, LookUp, Meter, Texts, ToolContext, WaitReason, due};
use guildhall_kernel::{
    Answer, Ask, AskId, AskKey, Contract, Effect, Input, Millis, Request, TextKind, ToolCall, Turn,
};
use tokio::task::AbortHandle;

use super::delivery::{fail, send};
use super::driver::ContractDriver;
use super::time::Why;
use super::{AgentEnv, EngineError, Inner, Replays, SessionEngine};
use crate::limiter::{CallLimiter, Permit};

/// How long a call may take that was under way when its contract was asked to report.
const PATIENCE: Millis = Millis(10_000);

/// How long a last report may take: whoever asked for it waits for it.
const LAST_REPORT: Millis = Millis(120_000);

/// A leaf call under way.
pub(super) struct Leaf {
    running: AbortHandle,
    meter: Arc<Meter>,
    /// Whether it was given a little time to end.
    hastened: bool,
}

/// Whether a call may simply be made again after a crash that took its outcome away.
#[derive(Clone, Copy)]
enum Again {
    Allowed,
    Never,
}

/// What the journal says of a call that waits for its permit: whether it is known not to have left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InLine {
    /// It is noted that the call waits.
    Noted,
    /// It is to be noted if the call has to wait.
    ToBeNoted,
    /// Nothing is noted: the call may be made again, or an earlier process may have made it.
    NotNoted,
}

impl ContractDriver {
    /// Asks the model, on a permit that is held no longer than the call.
    pub(super) fn ask_model(&mut self, contract: &Contract, id: AskId, request: &Request) {
        let (key, request, env) = (self.key(id), request.clone(), self.env.clone());
        let (status, time) = (self.status(contract, id), self.time());
        let (before, facts, texts) = (self.before.clone(), Arc::clone(&self.facts), self.texts.clone());
        let (root_task, engine) = (self.root_task.clone(), self.engine.clone());
        let again = match env.replays {
            Replays::Yes => Again::Allowed,
            Replays::No => Again::Never,
        };
        let (in_line, barred) = (self.in_line(id, again), Arc::clone(&self.barred));
        let meter = self.meter(id, env.runtime.meter(&request));
        let leaving = Arc::clone(&meter);
        let patience = self.time().now().after(LAST_REPORT);
        let due = match request.turn {
            Turn::Next => due(contract, id),
            Turn::Last => Some(due(contract, id).map_or(patience, |due| due.min(patience))),
        };
        let (provider, held) = (self.provider.clone(), contract.hold(id).unwrap_or_default().money);
        self.start(due, id, meter, async move {
            let before = match before {
                Ok(before) => before,
                Err(why) => return Err(not_left(&engine, &env, &key, why).await),
            };
            let refusal = || {
                let why = engine.inner.providers.refusal(provider.as_deref()?)?;
                Some(refused(&env, id, &why, &leaving))
            };
            if let Some(refused) = refusal() {
                return Ok(refused);
            }
            let permit = permit(&engine, &key, in_line, &env.limiter, &barred).await?;
            let Some(permit) = permit else { return Ok(stopped(id, Answer::Aborted, &leaving)) };
            // The provider may have overrun while this call waited.
            if let Some(refused) = refusal() {
                return Ok(refused);
            }
            leaving.leave();
            let history = History { before: &before, root_task: root_task.as_deref(), facts: &facts, texts: &texts };
            let watch = |delta: Delta<'_>| {
                leaving.follow(delta);
                pace(&permit, delta);
                (env.watch)(&key, delta);
            };
            let clock = || time.now();
            let arrival = env.runtime.ask(key.clone(), &request, history, &status, &watch, &clock).await;
            let arrival = match arrival {
                Ok(arrival) => arrival,
                Err(why) => {
                    let why = EngineError::Text { contract: key.contract.clone(), why };
                    return Err(not_left(&engine, &env, &key, why).await);
                }
            };
            if matches!(arrival.input, Input::Reply { .. }) {
                permit.succeeded();
            }
            // Before the permit is free: whoever gets it next must know.
            if let (Some(provider), Input::Reply { cost, .. } | Input::Answer { cost, .. }) =
                (&provider, &arrival.input)
            {
                engine.inner.providers.billed(provider, held, *cost);
            }
            Ok(arrival)
        });
    }

    /// Calls a tool, on a permit of the tools' own. A call that an earlier process may have made is made only if it is one
    /// that may be made again, or if its tool knows that it did not happen.
    pub(super) fn call_tool(&mut self, contract: &Contract, id: AskId, call: &ToolCall) {
        let (key, call, env) = (self.key(id), call.clone(), self.env.clone());
        let is_looked_up = call.effect == Effect::Reconcilable && self.may_have_left(id);
        let meter = self.meter(id, Meter::default());
        let arguments = match self.texts.text(&call.arguments) {
            Ok(arguments) => arguments,
            Err(_) if is_looked_up => return send(&self.post, stopped(id, Answer::Lost, &meter)),
            Err(why) => return send(&self.post, env.runtime.not_called(&key, &why)),
        };
        let (facts, texts, engine) = (Arc::clone(&self.facts), self.texts.clone(), self.engine.clone());
        let again = match call.effect {
            Effect::Pure | Effect::Idempotent => Again::Allowed,
            Effect::Reconcilable | Effect::Once => Again::Never,
        };
        let (in_line, barred) = (self.in_line(id, again), Arc::clone(&self.barred));
        let leaving = Arc::clone(&meter);
        self.start(due(contract, id), id, meter, async move {
            let permit = permit(&engine, &key, in_line, &env.tools, &barred).await?;
            let Some(_permit) = permit else { return Ok(stopped(id, Answer::Aborted, &leaving)) };
            leaving.leave();
            if is_looked_up {
                match env.runtime.look_up(&key, &call, &arguments).await {
                    LookUp::Happened(result) => return Ok(env.runtime.answer(&key, &result)),
                    LookUp::DidNotHappen => {}
                    LookUp::Unknown => return Ok(stopped(id, Answer::Lost, &leaving)),
                }
            }
            let (mut board, mut waits) = (Vec::new(), BTreeMap::new());
            match call.tool.as_str() {
                BOARD => board = engine.boards().posts(&key),
                LIST => waits = engine.open_asks().of_hires(&key.contract),
                _ => {}
            }
            let around = ToolContext { facts: &facts, board: &board, waits: &waits, texts: &texts };
            Ok(env.runtime.call(&key, &call, &arguments, around).await)
        });
    }

    /// What is noted of a call if it has to wait.
    fn in_line(&self, id: AskId, again: Again) -> InLine {
        match again {
            _ if self.in_line.contains(&id) => InLine::Noted,
            Again::Never if !self.may_have_left(id) => InLine::ToBeNoted,
            Again::Never | Again::Allowed => InLine::NotNoted,
        }
    }

    /// A call that an earlier process may have made counts as one that has left.
    fn meter(&self, id: AskId, meter: Meter) -> Arc<Meter> {
        if self.may_have_left(id) {
            meter.leave();
        }
        Arc::new(meter)
    }

    /// Returns the answer to a call that an earlier process may have made, and nobody knows what became of it.
    pub(super) fn lost(&self, id: AskId, ask: &Ask) -> Arrival {
        stopped(id, Answer::Lost, &self.meter_of(id, ask))
    }

    /// A meter for a call of which nothing but its ask is known.
    fn meter_of(&self, id: AskId, ask: &Ask) -> Arc<Meter> {
        let meter = match ask {
            Ask::Model(request) => self.env.runtime.meter(request),
            Ask::Tool(_) | Ask::Check(_) | Ask::Hire { .. } | Ask::Question { .. } | Ask::Tell { .. } => {
                Meter::default()
            }
        };
        self.meter(id, meter)
    }

    /// Starts a call, unless it is due already. One that is still under way then is cut off.
    fn start(
        &mut self,
        due: Option<Millis>,
        id: AskId,
        meter: Arc<Meter>,
        work: impl Future<Output = Result<Arrival, EngineError>> + Send + 'static,
    ) {
        let (post, time) = (self.post.clone(), self.time());
        if due.is_some_and(|due| due <= time.now()) {
            return send(&post, stopped(id, Answer::Lost, &meter));
        }
        let under_way = time.count(Why::LeafUnderWay);
        let leaving = Arc::clone(&meter);
        let running = self.tasks.spawn(async move {
            let arrival = tokio::select! {
                biased;
                arrival = work => arrival,
                () = time.reach(due) => Ok(stopped(id, Answer::Lost, &leaving)),
            };
            match arrival {
                Ok(arrival) => send(&post, arrival),
                Err(why) => fail(&post, why),
            }
            drop(under_way);
        });
        self.leaves.insert(id, Leaf { running, meter, hastened: false });
    }

    /// Gives a call of a contract that is to report a little time to end. Whoever asked for the report waits for it.
    pub(super) fn hasten(&mut self, id: AskId, ask: &Ask) {
        let last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        let (post, time) = (self.post.clone(), self.time());
        let Some(leaf) = self.leaves.get_mut(&id).filter(|leaf| !last && !leaf.hastened) else { return };
        leaf.hastened = true;
        let (running, meter) = (leaf.running.clone(), Arc::clone(&leaf.meter));
        let due = time.now().after(PATIENCE);
        self.tasks.spawn(async move {
            time.reach(Some(due)).await;
            // One that has ended meanwhile was answered, and a second answer changes nothing.
            running.abort();
            send(&post, stopped(id, Answer::Lost, &meter));
        });
    }

    /// Stops a leaf call of a contract that was cancelled, or keeps it from leaving.
    pub(super) fn abort(&mut self, id: AskId, ask: &Ask) {
        // Before any permit comes back: a call that waits for it must not leave in the place of one that was stopped.
        self.barred.store(true, Ordering::Release);
        let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
        let meter = match self.leaves.remove(&id) {
            Some(Leaf { running, meter, .. }) => {
                running.abort();
                meter
            }
            None if leaf && !self.begun.contains(&id) => self.meter_of(id, ask),
            None => return,
        };
        self.begun.insert(id);
        send(&self.post, stopped(id, Answer::Aborted, &meter));
    }
}

/// Tells the limiter of a call what its provider answers.
fn pace(permit: &Permit, delta: Delta<'_>) {
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

/// Waits for a permit with which the call may leave. Meanwhile it is noted that the call has not left, if that is to be known after
/// a crash. A call that may not leave any more gets none.
async fn permit(
    engine: &SessionEngine,
    call: &AskKey,
    mut in_line: InLine,
    limiter: &Arc<CallLimiter>,
    barred: &AtomicBool,
) -> Result<Option<Permit>, EngineError> {
    let Inner { journal, lease, .. } = &*engine.inner;
    let permit = if let Some(permit) = limiter.try_enter() {
        permit
    } else {
        if in_line == InLine::ToBeNoted {
            journal.note_in_line(lease, call).await;
            in_line = InLine::Noted;
        }
        limiter.enter().await
    };
    if barred.load(Ordering::Acquire) || engine.inner.stopped.load(Ordering::Acquire) {
        return Ok(None);
    }
    if in_line == InLine::Noted {
        journal.note_leaving(lease, call).await?;
    }
    Ok(Some(permit))
}

/// A call that is not made. It costs nothing, unless an earlier process may have made it.
fn refused(env: &AgentEnv, id: AskId, why: &str, meter: &Meter) -> Arrival {
    let text = env.runtime.redactor.text(TextKind::Error, why);
    Arrival { texts: vec![text.clone()], ..stopped(id, Answer::Failed(text.of), meter) }
}

/// Notes that a request never left, because it could not be written: whoever takes the session up is not charged for it.
async fn not_left(engine: &SessionEngine, env: &AgentEnv, call: &AskKey, why: EngineError) -> EngineError {
    if env.replays == Replays::No {
        engine.inner.journal.note_in_line(&engine.inner.lease, call).await;
    }
    why
}

fn stopped(id: AskId, answer: Answer, meter: &Meter) -> Arrival {
    Arrival { input: Input::Answer { id, answer, cost: meter.cost_of_stopping() }, texts: Vec::new() }
}
