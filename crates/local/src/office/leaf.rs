//! Leaf calls: a model or a tool at work for one ask. Each ends: with its answer, with the contract's deadline, or with a cancel.

use std::sync::Arc;

use guildhall_agent::{Arrival, BOARD, Delta, History, Meter, Surroundings, Texts, due};
use guildhall_kernel::{Answer, Ask, AskId, AskKey, Contract, Input, Millis, Request, ToolCall, Turn};
use tokio::sync::{SemaphorePermit, TryAcquireError};
use tokio::task::AbortHandle;

use super::board::posts;
use super::desk::Desk;
use super::mail::{fail, send};
use super::time::Why;
use super::{Inner, Office, OfficeError, Place, Replays};

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

/// Whether the journal says of a call that it stands in line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    AsInLine,
    No,
}

impl Desk {
    /// Asks the model, on a permit that is held no longer than the call.
    pub(super) fn ask_model(&mut self, contract: &Contract, id: AskId, request: &Request) {
        let (key, request, place) = (self.key(id), request.clone(), self.place.clone());
        let (status, time) = (self.status(contract, id), self.time());
        let (before, facts, texts) = (self.before.clone(), self.facts.clone(), self.texts.clone());
        let office = self.office.clone();
        let marked = if self.in_line.contains(&id) { Marked::AsInLine } else { Marked::No };
        let meter = self.meter(id, place.seat.meter(&request));
        let leaving = Arc::clone(&meter);
        let patience = self.time().now().after(LAST_REPORT);
        let due = match request.turn {
            Turn::Next => due(contract, id),
            Turn::Last => Some(due(contract, id).map_or(patience, |due| due.min(patience))),
        };
        self.start(due, id, meter, async move {
            let before = match before {
                Ok(before) => before,
                Err(why) => return Err(not_left(&office, &place, &key, why).await),
            };
            let permit = permit(&office, &place, &key, marked).await?;
            let Some(permit) = permit else { return Ok(stopped(id, Answer::Lost, &leaving)) };
            leaving.leave();
            let history = History { before: &before, facts: &facts, texts: &texts };
            let watch = |delta: Delta<'_>| {
                leaving.follow(delta);
                (place.watch)(&key, delta);
            };
            let clock = || time.now();
            let arrival = place.seat.ask(key.clone(), &request, history, &status, &watch, &clock).await;
            drop(permit);
            match arrival {
                Ok(arrival) => Ok(arrival),
                Err(why) => {
                    let why = OfficeError::Text { contract: key.contract.clone(), why };
                    Err(not_left(&office, &place, &key, why).await)
                }
            }
        });
    }

    pub(super) fn call_tool(&mut self, contract: &Contract, id: AskId, call: &ToolCall) {
        let (key, call, place) = (self.key(id), call.clone(), self.place.clone());
        let arguments = match self.texts.text(&call.arguments) {
            Ok(arguments) => arguments,
            Err(why) => return send(&self.post, place.seat.not_called(&key, &why)),
        };
        let facts = self.facts.clone();
        let office = self.office.clone();
        let meter = self.meter(id, Meter::default());
        let leaving = Arc::clone(&meter);
        self.start(due(contract, id), id, meter, async move {
            leaving.leave();
            let board = if call.tool.as_str() == BOARD { posts(&office, &key).await? } else { Vec::new() };
            let around = Surroundings { facts: &facts, board: &board };
            Ok(place.seat.call(&key, &call, &arguments, around).await)
        });
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
            Ask::Model(request) => self.place.seat.meter(request),
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
        work: impl Future<Output = Result<Arrival, OfficeError>> + Send + 'static,
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

/// Waits for a permit, and none comes if there are to be no more calls. Meanwhile it is noted that the call has not left,
/// unless it could be made again anyway.
async fn permit<'a>(
    office: &Office,
    place: &'a Place,
    call: &AskKey,
    mut marked: Marked,
) -> Result<Option<SemaphorePermit<'a>>, OfficeError> {
    let Inner { journal, lease, .. } = &*office.inner;
    let permit = match place.lane.try_acquire() {
        Err(TryAcquireError::NoPermits) => {
            if place.replays == Replays::No && marked == Marked::No {
                journal.note_in_line(lease, call).await;
                marked = Marked::AsInLine;
            }
            place.lane.acquire().await.ok()
        }
        permit => permit.ok(),
    };
    if marked == Marked::AsInLine {
        journal.note_leaving(lease, call).await?;
    }
    Ok(permit)
}

/// Notes that a request never left, because it could not be written: whoever takes the session up is not charged for it.
async fn not_left(office: &Office, place: &Place, call: &AskKey, why: OfficeError) -> OfficeError {
    if place.replays == Replays::No {
        office.inner.journal.note_in_line(&office.inner.lease, call).await;
    }
    why
}

fn stopped(id: AskId, answer: Answer, meter: &Meter) -> Arrival {
    Arrival { input: Input::Answer { id, answer, cost: meter.cost_of_stopping() }, texts: Vec::new() }
}
