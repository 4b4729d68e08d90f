//! The keeper: it owns all running work of a server. It resumes a session when someone says something to it, unloads a session
//! that only waits for a person, and stops everything in an orderly way. An error or a panic in one session ends the work of that
//! session alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_kernel::Path;
use guildhall_local::{JournalError, Progress, RequestKey, SessionId};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::hall::{Ending, Hall, HallError, Instruction};
use crate::running::{Running, Stopper};
use crate::session::Ended;
use crate::undertaking::{Undertaking, account};

/// How long a session must wait for a person before it is unloaded.
pub const UNLOAD_AFTER: Duration = Duration::from_mins(1);

/// How much longer than the grace period a stop may take: answers are stored, and transcripts and payments are finished.
const STOP_MARGIN: Duration = Duration::from_secs(10);

/// How long to wait for work that has ended, and the pause between two looks.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A function that is told when the work on a root ends: the session, the root, and the result or the error.
pub type OnEnd = Arc<dyn Fn(&SessionId, &Path, Result<&Ended, &HallError>) + Send + Sync>;

/// Owns the running work of a server. A clone is another handle to the same keeper. When the last handle is dropped, all work
/// stops at its current state; [`Keeper::shut_down`] stops it in an orderly way.
///
/// ```
/// use std::sync::Arc;
/// use guildhall::{Hall, Keeper, Price, Reply, WorkState, model_fn};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let project = tempfile::tempdir()?;
/// let clerk = model_fn(|_| async { Reply::words("On Tuesday.") });
/// let hall = Hall::builder().project(project.path()).model("clerk", clerk, Price::FREE).build()?;
/// let (end, mut ended) = tokio::sync::mpsc::unbounded_channel();
/// let keeper = Keeper::new(Arc::new(move |session, _, result| {
///     end.send((session.clone(), result.map(|ended| ended.text.clone()).ok())).ok();
/// }));
/// let started = keeper.start(hall.run("When is the meeting?")).await?;
/// assert_eq!(ended.recv().await, Some((started.session.clone(), Some("On Tuesday.".to_owned()))));
/// assert!(matches!(keeper.state(&started.session), WorkState::NotLoaded));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Keeper {
    shared: Arc<Shared>,
    /// One task for each loaded session. The tasks do not own the keeper, so that dropping the keeper ends them.
    tasks: Arc<Mutex<Tasks>>,
}

#[derive(Default)]
struct Tasks {
    all: JoinSet<()>,
    is_closed: bool,
}

struct Shared {
    slots: Mutex<BTreeMap<SessionId, Arc<Slot>>>,
    on_end: OnEnd,
    unload_after: Duration,
}

/// The place of one session.
#[derive(Default)]
struct Slot {
    /// Held while the session is loaded or unloaded.
    loading: tokio::sync::Mutex<()>,
    state: Mutex<SlotState>,
}

#[derive(Default)]
enum SlotState {
    #[default]
    NotLoaded,
    Loaded {
        stopper: Stopper,
        progress: watch::Receiver<Progress>,
    },
    Failed(Arc<HallError>),
}

/// Work that a keeper has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The session.
    pub session: SessionId,
    /// The root.
    pub root: Path,
}

/// What a keeper knows about a session.
#[derive(Clone, Debug)]
pub enum WorkState {
    /// The session is loaded and at work.
    Works,
    /// The session is loaded and only waits for a person.
    AwaitsPerson,
    /// The session is not loaded: no work was started, the work has ended, or the session was unloaded.
    NotLoaded,
    /// The work stopped because of this error. [`Keeper::resume`] tries again.
    Failed(Arc<HallError>),
}

impl Keeper {
    /// Creates a keeper without work.
    pub fn new(on_end: OnEnd) -> Keeper {
        let shared = Shared { slots: Mutex::default(), on_end, unload_after: UNLOAD_AFTER };
        Keeper { shared: Arc::new(shared), tasks: Arc::default() }
    }

    /// Sets how long a session must wait for a person before it is unloaded, in place of [`UNLOAD_AFTER`]. Call this before any
    /// work starts.
    #[must_use]
    pub fn unload_after(self, time: Duration) -> Keeper {
        let shared = Shared { slots: Mutex::default(), on_end: Arc::clone(&self.shared.on_end), unload_after: time };
        Keeper { shared: Arc::new(shared), ..self }
    }

    /// Starts work. It is an error if work of the same session is under way.
    pub async fn start(&self, work: Undertaking) -> Result<Started, HallError> {
        self.require_open()?;
        let (id, work) = work.with_session();
        let slot = self.shared.slot(&id);
        let started = async {
            self.until_gone(work.hall(), &id, &slot).await?;
            let _loading = slot.loading.lock().await;
            if slot.is_loaded() {
                return Err(HallError::NotEnded(id.clone()));
            }
            let running = work.start().await?;
            let root = running.root().path.clone();
            // The request is stored. An error would tell the caller that it is not. The next process continues it.
            match self.keep(&slot, running).await {
                Ok(()) | Err(HallError::Stopping) => Ok(Started { session: id.clone(), root }),
                Err(why) => Err(why),
            }
        };
        let started = started.await;
        self.shared.forget(&id, &slot);
        started
    }

    /// Waits a moment for work that has ended: its last facts are stored a little before it is unloaded, so a caller who sees that it
    /// has ended may start the next work at once.
    async fn until_gone(&self, hall: &Hall, id: &SessionId, slot: &Slot) -> Result<(), HallError> {
        let until = Instant::now() + GONE_WITHIN;
        while slot.is_loaded() && Instant::now() < until {
            let account = account(hall.journal(), id).await?;
            let newest = account.next_root().ordinal() - 1;
            if newest > 0 && account.is_at_work(&Path::root(newest)) {
                break;
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Resumes the work of a session, unless it is loaded.
    pub async fn resume(&self, hall: &Hall, id: &SessionId) -> Result<(), HallError> {
        self.require_open()?;
        let slot = self.shared.slot(id);
        let resumed = async {
            let _loading = slot.loading.lock().await;
            if slot.is_loaded() {
                return Ok(());
            }
            let running = hall.resume(id).await?;
            self.keep(&slot, running).await
        };
        let resumed = resumed.await;
        self.shared.forget(id, &slot);
        resumed
    }

    /// Sends an instruction to a contract. If the session is under way and not loaded, it is resumed, so that the instruction is
    /// read. Returns the number of the instruction, as in [`Fact::Heard`](crate::Fact::Heard).
    pub async fn instruct(&self, hall: &Hall, id: &SessionId, to: &Path, what: Instruction) -> Result<u64, HallError> {
        self.instruct_once(hall, id, to, what, None).await
    }

    /// Sends an instruction under a key, as [`Keeper::instruct`] does, unless the key was used before in this session.
    pub async fn instruct_once(
        &self,
        hall: &Hall,
        id: &SessionId,
        to: &Path,
        what: Instruction,
        key: Option<RequestKey>,
    ) -> Result<u64, HallError> {
        let cancels_all = what == Instruction::End(Ending::Cancel) && *to == hall.root(id).await?;
        let number = hall.instruct_once(id, to, what, key).await?;
        let done = match self.let_read(hall, id).await {
            Err(why) if cancels_all => end_without_resume(hall, id, Ending::Cancel, why).await,
            done => done,
        };
        // The instruction is stored, so this must not look as if it was not: the caller would repeat it.
        if let Err(why) = done {
            hall.warn(&format!(
                "an instruction to session {id} waits until the session is resumed, which is not possible now: {why}"
            ));
        }
        Ok(number)
    }

    /// Orders the work of a session to end before it is done. If the session is not loaded, it is resumed. A session that can't be
    /// resumed is ended without a model.
    pub async fn end(&self, hall: &Hall, id: &SessionId, how: Ending) -> Result<(), HallError> {
        hall.order_end(id, how).await?;
        match self.let_read(hall, id).await {
            Ok(()) => Ok(()),
            Err(why) => end_without_resume(hall, id, how, why).await,
        }
    }

    /// Returns what the keeper knows about a session.
    pub fn state(&self, id: &SessionId) -> WorkState {
        let slot = self.shared.slots().get(id).cloned();
        let Some(slot) = slot else { return WorkState::NotLoaded };
        match &*slot.state() {
            SlotState::NotLoaded => WorkState::NotLoaded,
            SlotState::Loaded { progress, .. } => match *progress.borrow() {
                Progress::Works => WorkState::Works,
                Progress::AwaitsPerson => WorkState::AwaitsPerson,
            },
            SlotState::Failed(why) => WorkState::Failed(Arc::clone(why)),
        }
    }

    /// Returns how many sessions are loaded.
    pub fn count(&self) -> usize {
        self.shared.slots().values().filter(|slot| slot.is_loaded()).count()
    }

    /// Stops all work in an orderly way. No new work starts, and no more calls are sent. The calls that were sent have this much time
    /// to end, and their answers are stored. Then the work stops, and a later process can resume it.
    pub async fn shut_down(&self, grace: Duration) {
        let mut tasks = {
            let mut tasks = self.tasks();
            tasks.is_closed = true;
            std::mem::take(&mut tasks.all)
        };
        for slot in self.shared.slots().values() {
            if let SlotState::Loaded { stopper, .. } = &*slot.state() {
                stopper.stop(grace);
            }
        }
        // Work that takes longer is dropped with its task, as after a crash.
        let all = async { while tasks.join_next().await.is_some() {} };
        timeout(grace.saturating_add(STOP_MARGIN), all).await.ok();
    }

    /// Makes sure that the session is loaded, so that an order in its inbox is read.
    async fn let_read(&self, hall: &Hall, id: &SessionId) -> Result<(), HallError> {
        match self.resume(hall, id).await {
            // The work ended by itself meanwhile, or another process runs the session and reads the inbox, or this program is
            // stopping and reads the inbox after its next start. The order is stored, so it must not look as if it failed.
            Err(
                HallError::HasEnded(_)
                | HallError::Stopping
                | HallError::Journal(JournalError::Held { .. } | JournalError::Busy),
            ) => Ok(()),
            other => other,
        }
    }

    /// Keeps running work until it ends.
    async fn keep(&self, slot: &Arc<Slot>, mut running: Running) -> Result<(), HallError> {
        let loaded = SlotState::Loaded { stopper: running.stopper(), progress: running.progress() };
        {
            let mut tasks = self.tasks();
            while tasks.all.try_join_next().is_some() {}
            if !tasks.is_closed {
                *slot.state() = loaded;
                tasks.all.spawn(watch_over(Arc::clone(&self.shared), Arc::clone(slot), running));
                return Ok(());
            }
        }
        running.stopper().stop(Duration::ZERO);
        // The work was requested, and continues after the next start.
        running.outcome().await.ok();
        Err(HallError::Stopping)
    }

    /// Refuses work while the program stops, before anything is stored.
    fn require_open(&self) -> Result<(), HallError> {
        if self.tasks().is_closed { Err(HallError::Stopping) } else { Ok(()) }
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session that can't be resumed, for this reason. A wrap-up of a session whose settings can be read waits for a resume.
async fn end_without_resume(hall: &Hall, id: &SessionId, how: Ending, why: HallError) -> Result<(), HallError> {
    if hall.end_here(id, how).await? { Ok(()) } else { Err(why) }
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, id: &SessionId) -> Arc<Slot> {
        Arc::clone(self.slots().entry(id.clone()).or_default())
    }

    /// Forgets a session that is not loaded, unless someone is about to load it.
    fn forget(&self, id: &SessionId, slot: &Arc<Slot>) {
        let mut slots = self.slots();
        // Others get the slot only from the list, which is locked: two are the list and the caller.
        if Arc::strong_count(slot) == 2 && matches!(*slot.state(), SlotState::NotLoaded) {
            slots.remove(id);
        }
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_loaded(&self) -> bool {
        matches!(*self.state(), SlotState::Loaded { .. })
    }
}

/// Waits until the work ends, and unloads it when it only waits for a person.
async fn watch_over(shared: Arc<Shared>, slot: Arc<Slot>, mut running: Running) {
    let (id, root, mut progress) = (running.id().clone(), running.root().path.clone(), running.progress());
    loop {
        tokio::select! {
            biased;
            outcome = running.outcome() => {
                end(&shared, &slot, &id, &root, outcome);
                break;
            }
            () = awaits_person_for(&mut progress, shared.unload_after) => {}
        }
        // An instruction that is left from here on waits for this lock, and then loads the session again.
        let _loading = slot.loading.lock().await;
        if running.has_nothing_to_do().await {
            running.stopper().stop(Duration::ZERO);
            let outcome = running.outcome().await;
            end(&shared, &slot, &id, &root, outcome);
            break;
        }
    }
    drop(running);
    shared.forget(&id, &slot);
}

/// Records how the work ended.
fn end(shared: &Shared, slot: &Slot, id: &SessionId, root: &Path, outcome: Result<Ended, HallError>) {
    match outcome {
        // The work was stopped in an orderly way.
        Err(HallError::NotEnded(_)) => *slot.state() = SlotState::NotLoaded,
        Ok(ended) => {
            *slot.state() = SlotState::NotLoaded;
            (shared.on_end)(id, root, Ok(&ended));
        }
        Err(why) => {
            let why = Arc::new(why);
            *slot.state() = SlotState::Failed(Arc::clone(&why));
            (shared.on_end)(id, root, Err(&why));
        }
    }
}

/// Waits until a session has waited for a person without a break for this long.
async fn awaits_person_for(progress: &mut watch::Receiver<Progress>, time: Duration) {
    loop {
        if progress.wait_for(|progress| *progress == Progress::AwaitsPerson).await.is_err() {
            // The work has ended.
            return std::future::pending().await;
        }
        if timeout(time, progress.wait_for(|progress| *progress == Progress::Works)).await.is_err() {
            return;
        }
    }
}
