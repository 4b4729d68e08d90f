//! Leaf calls: a model or a tool at work for one ask. Each ends: with its answer, with the contract's deadline, or with a cancel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guildhall_agent::{Arrival, BOARD, Delta, History, Surroundings, Texts, WaitReason, due};
use guildhall_kernel::{Answer, Ask, AskId, AskKey, Contract, Cost, Input, Millis, Msat, Request, ToolCall, Turn};
use tokio::task::AbortHandle;

use super::board::posts;
use super::desk::Desk;
use super::mail::{Mail, send};
use super::time::Why;
use super::{Inner, Office, OfficeError, Place, Replays};
use crate::lane::Permit;

/// How long a call may take that was under way when its contract was asked to report.
const PATIENCE: Millis = Millis(10_000);

/// How long a last report may take: whoever asked for it waits for it.
const LAST_REPORT: Millis = Millis(120_000);

/// A leaf call under way.
pub(super) struct Leaf {
    running: AbortHandle,
    departure: Departure,
    /// Whether it was given a little time to end.
    hastened: bool,
}

/// Whether a call has left for the world.
#[derive(Clone)]
struct Departure(Arc<AtomicBool>);

/// Whether the journal says of a call that it stands in line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    AsInLine,
    No,
}

impl Departure {
    /// A call that waits to be made again has not left: the one before it can't have cost anything.
    fn follow(&self, delta: Delta<'_>) {
        match delta {
            Delta::Asking => self.0.store(true, Ordering::Release),
            Delta::Waiting { .. } => self.0.store(false, Ordering::Release),
            Delta::Words(_) | Delta::Thinking | Delta::Call { .. } | Delta::Used(_) => {}
        }
    }

    fn note(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// What a call costs that is stopped: its hold, or nothing if it never left. What its provider has reported by then is
    /// no bill, since output is counted at the end only.
    fn cost_of_stopping(&self) -> Cost {
        if self.0.load(Ordering::Acquire) { Cost::Unknown } else { Cost::Known(Msat::ZERO) }
    }
}

impl Desk {
    /// Asks the model, on a permit that is held no longer than the call.
    pub(super) fn ask_model(&mut self, contract: &Contract, id: AskId, request: &Request) {
        let (key, request, place) = (self.key(id), request.clone(), self.place.clone());
        let (status, time) = (self.status(contract, id), self.time());
        let (before, facts, texts) = (Arc::clone(&self.before), self.facts.clone(), self.texts.clone());
        let office = self.office.clone();
        let marked = if self.in_line.contains(&id) { Marked::AsInLine } else { Marked::No };
        let departure = self.departure(id);
        let leaving = departure.clone();
        let patience = self.time().now().after(LAST_REPORT);
        let due = match request.turn {
            Turn::Next => due(contract, id),
            Turn::Last => Some(due(contract, id).map_or(patience, |due| due.min(patience))),
        };
        self.start(due, id, departure, async move {
            let permit = permit(&office, &place, &key, marked).await?;
            leaving.note();
            let history = History { before: &before, facts: &facts, texts: &texts };
            let watch = |delta: Delta<'_>| {
                leaving.follow(delta);
                pace(&permit, delta);
                (place.watch)(&key, delta);
            };
            let clock = || time.now();
            let arrival = place.seat.ask(key.clone(), &request, history, &status, &watch, &clock).await;
            if matches!(arrival.input, Input::Reply { .. }) {
                permit.succeeded();
            }
            Ok(arrival)
        });
    }

    pub(super) fn call_tool(&mut self, contract: &Contract, id: AskId, call: &ToolCall) {
        let (key, call, place) = (self.key(id), call.clone(), self.place.clone());
        let (arguments, facts) = (self.texts.text(&call.arguments), self.facts.clone());
        let office = self.office.clone();
        let departure = self.departure(id);
        let leaving = departure.clone();
        self.start(due(contract, id), id, departure, async move {
            leaving.note();
            let board = if call.tool.as_str() == BOARD { posts(&office, &key).await? } else { Vec::new() };
            let around = Surroundings { facts: &facts, board: &board };
            Ok(place.seat.call(&key, &call, &arguments, around).await)
        });
    }

    /// A call that an earlier process may have made counts as one that has left.
    fn departure(&self, id: AskId) -> Departure {
        Departure(Arc::new(AtomicBool::new(self.may_have_left(id))))
    }

    /// Starts a call, unless it is due already. One that is still under way then is cut off.
    fn start(
        &mut self,
        due: Option<Millis>,
        id: AskId,
        departure: Departure,
        work: impl Future<Output = Result<Arrival, OfficeError>> + Send + 'static,
    ) {
        let (post, time) = (self.post.clone(), self.time());
        if due.is_some_and(|due| due <= time.now()) {
            return send(&post, stopped(id, Answer::Lost, &departure));
        }
        let under_way = time.count(Why::LeafUnderWay);
        let leaving = departure.clone();
        let running = self.tasks.spawn(async move {
            let arrival = tokio::select! {
                biased;
                arrival = work => arrival,
                () = time.reach(due) => Ok(stopped(id, Answer::Lost, &leaving)),
            };
            match arrival {
                Ok(arrival) => send(&post, arrival),
                // A desk that is gone has failed itself, and says so.
                Err(why) => drop(post.send(Mail::Failed(why))),
            }
            drop(under_way);
        });
        self.leaves.insert(id, Leaf { running, departure, hastened: false });
    }

    /// Gives a call of a contract that is to report a little time to end. Whoever asked for the report waits for it.
    pub(super) fn hasten(&mut self, id: AskId, ask: &Ask) {
        let last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        let (post, time) = (self.post.clone(), self.time());
        let Some(leaf) = self.leaves.get_mut(&id).filter(|leaf| !last && !leaf.hastened) else { return };
        leaf.hastened = true;
        let (running, departure) = (leaf.running.clone(), leaf.departure.clone());
        let due = time.now().after(PATIENCE);
        self.tasks.spawn(async move {
            time.reach(Some(due)).await;
            // One that has ended meanwhile was answered, and a second answer changes nothing.
            running.abort();
            send(&post, stopped(id, Answer::Lost, &departure));
        });
    }

    /// Stops a leaf call of a contract that was cancelled, or keeps it from leaving.
    pub(super) fn abort(&mut self, id: AskId, ask: &Ask) {
        let leaf = matches!(ask, Ask::Model(_) | Ask::Tool(_) | Ask::Check(_));
        let departure = match self.leaves.remove(&id) {
            Some(Leaf { running, departure, .. }) => {
                running.abort();
                departure
            }
            None if leaf && !self.begun.contains(&id) => self.departure(id),
            None => return,
        };
        self.begun.insert(id);
        send(&self.post, stopped(id, Answer::Aborted, &departure));
    }
}

/// Tells the lane of a call what its provider answers.
fn pace(permit: &Permit, delta: Delta<'_>) {
    match delta {
        Delta::Asking => permit.asking(),
        Delta::Waiting { why: WaitReason::RateLimited, .. } => permit.rate_limited(),
        Delta::Waiting { why: WaitReason::Unavailable | WaitReason::Unreachable, .. }
        | Delta::Words(_)
        | Delta::Thinking
        | Delta::Call { .. }
        | Delta::Used(_) => {}
    }
}

/// Waits for a permit. Meanwhile it is noted that the call has not left, unless it could be made again anyway.
async fn permit(office: &Office, place: &Place, call: &AskKey, mut marked: Marked) -> Result<Permit, OfficeError> {
    let Inner { journal, lease, .. } = &*office.inner;
    let permit = if let Some(permit) = place.lane.try_enter() {
        permit
    } else {
        if place.replays == Replays::No && marked == Marked::No {
            journal.note_in_line(lease, call).await;
            marked = Marked::AsInLine;
        }
        place.lane.enter().await
    };
    if marked == Marked::AsInLine {
        journal.note_leaving(lease, call).await?;
    }
    Ok(permit)
}

fn stopped(id: AskId, answer: Answer, departure: &Departure) -> Arrival {
    Arrival { input: Input::Answer { id, answer, cost: departure.cost_of_stopping() }, texts: Vec::new() }
}
