//! The one thread that writes. It takes what has queued up, stores it in one transaction and answers only when that is
//! durable, so that a thousand contracts share one sync. After an error of the world it stores nothing more, ever.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{mpsc, oneshot};

use super::heads::{self, Change, HeadUpdates};
use super::marker::{self, Marker};
use super::schema::Turn;
use super::{DATABASE, JournalError};

/// How many jobs may wait; more make their senders wait.
const QUEUE_MAX: usize = 1024;
/// How many jobs share one commit at most.
const GROUP_MAX: usize = 256;
/// How many bytes share one commit, but for a single job that has more.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One thing to store, whoever waits for it.
trait Job: Send {
    fn bytes(&self) -> usize;
    /// Does its part of the transaction.
    fn perform(&mut self, change: &mut Change<'_>) -> Result<(), JournalError>;
    /// Answers, now that the transaction is durable, or is not.
    fn answer(self: Box<Self>, committed: Result<(), JournalError>);
}

struct Task<T, W, N> {
    bytes: usize,
    work: Option<W>,
    done: Option<Result<T, JournalError>>,
    then: N,
    waiter: oneshot::Sender<Result<T, JournalError>>,
}

impl<T, W, N> Job for Task<T, W, N>
where
    T: Send,
    W: FnOnce(&mut Change<'_>) -> Result<T, JournalError> + Send,
    N: FnOnce(&T) + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn perform(&mut self, change: &mut Change<'_>) -> Result<(), JournalError> {
        let work = self.work.take().expect("a job is performed once");
        let done = self.done.insert(work(change));
        done.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn answer(self: Box<Self>, committed: Result<(), JournalError>) {
        let Task { done, then, waiter, .. } = *self;
        let result = committed.and_then(|()| done.expect("what is committed was performed"));
        if let Ok(value) = &result {
            then(value);
        }
        // Whoever asked may have gone; what is stored stays stored.
        let _ = waiter.send(result);
    }
}

/// What the writer has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that were answered after a commit.
    pub jobs: u64,
    /// Commits, and so syncs of the log.
    pub commits: u64,
}

#[derive(Debug, Default)]
struct Counters {
    jobs: AtomicU64,
    commits: AtomicU64,
}

/// The handle through which jobs reach the thread. Dropping it lets the thread finish what has queued up.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    counters: Arc<Counters>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(db: Connection, dir: &Path) -> Result<Writer, JournalError> {
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        let counters = Arc::new(Counters::default());
        let state = Thread { db, queue, counters: Arc::clone(&counters), dir: dir.to_owned(), marker: None };
        let spawned = thread::Builder::new().name("journal".into()).spawn(move || state.run());
        let thread = spawned.map_err(JournalError::file(dir, "given a thread"))?;
        Ok(Writer { jobs: Some(jobs), counters, thread: Some(thread) })
    }

    pub(crate) fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts { jobs: read(&self.counters.jobs), commits: read(&self.counters.commits) }
    }

    /// Runs `work` inside the next transaction and returns when that is durable. A refusal undoes this job alone. `then` is
    /// called on the writing thread after the commit, also if nobody waits for the answer any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Change<'_>) -> Result<T, JournalError> + Send + 'static,
        then: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue(bytes, work, then).await.durable().await
    }

    /// The same, but it returns as soon as the job has its place: jobs are done in the order in which they queued up.
    pub(crate) async fn queue<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Change<'_>) -> Result<T, JournalError> + Send + 'static,
        then: impl FnOnce(&T) + Send + 'static,
    ) -> Queued<T> {
        let (waiter, answered) = oneshot::channel();
        let job = Task { bytes, work: Some(work), done: None, then, waiter };
        let jobs = self.jobs.as_ref().expect("the queue is open as long as the handle");
        let sent = jobs.send(Box::new(job)).await;
        assert!(sent.is_ok(), "the thread reads its queue as long as it is open");
        Queued(answered)
    }
}

/// A job that has its place in the queue. Dropping this undoes nothing.
pub(crate) struct Queued<T>(oneshot::Receiver<Result<T, JournalError>>);

impl<T> Queued<T> {
    /// Returns when the job is durable, or was refused.
    pub(crate) async fn durable(self) -> Result<T, JournalError> {
        self.0.await.expect("every job is answered")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the journal's thread does not panic");
        }
    }
}

struct Thread {
    db: Connection,
    queue: mpsc::Receiver<Box<dyn Job>>,
    counters: Arc<Counters>,
    dir: PathBuf,
    /// From the first commit on.
    marker: Option<Marker>,
}

impl Thread {
    fn run(mut self) {
        while let Some(group) = self.next_group() {
            if let Err(why) = self.write(group) {
                return self.refuse_all(&why);
            }
        }
        // Tidiness, no more: what the log keeps, and the marker of it, the next opening finds there.
        let _ = self.tidy();
    }

    /// Waits for a job, and takes what has queued up behind it.
    fn next_group(&mut self) -> Option<Vec<Box<dyn Job>>> {
        let first = self.queue.blocking_recv()?;
        let mut bytes = first.bytes();
        let mut group = vec![first];
        while group.len() < GROUP_MAX && bytes < GROUP_BYTES_MAX {
            let Ok(job) = self.queue.try_recv() else { break };
            bytes = bytes.saturating_add(job.bytes());
            group.push(job);
        }
        Some(group)
    }

    /// Stores a group and answers it. An error is one that the writer must stop on.
    fn write(&mut self, mut group: Vec<Box<dyn Job>>) -> Result<(), JournalError> {
        let outcome = self.store(&mut group).map_err(|error| error.within(&self.dir.join(DATABASE)));
        if outcome.is_ok() {
            self.counters.jobs.fetch_add(group.len() as u64, Ordering::Relaxed);
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
        }
        for job in group {
            job.answer(outcome.clone());
        }
        outcome.or_else(|error| if error.stops() { Err(error) } else { Ok(()) })
    }

    fn store(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), JournalError> {
        let marker = if let Some(marker) = &self.marker {
            marker
        } else {
            let turn = Turn::take(&self.dir)?;
            self.marker.insert(Marker::take(&self.dir, heads::commits(&self.db)?, &turn)?)
        };
        if let Some(commits) = transact(&self.db, group)? {
            // A marker that says less finds less. What is stored is stored all the same.
            let _ = marker.advance(commits);
        }
        Ok(())
    }

    /// Brings everything into the database itself, and removes the marker if no other process writes.
    fn tidy(&mut self) -> Result<(), JournalError> {
        self.checkpoint()?;
        let turn = Turn::take(&self.dir)?;
        // Somebody who reads is not waited for: nobody else can open the journal meanwhile.
        self.db.busy_timeout(Duration::ZERO)?;
        let marker = self.marker.take();
        marker::remove(&self.dir, marker, &turn, || self.checkpoint())
    }

    /// Writes the log back. Returns whether all of it was.
    fn checkpoint(&self) -> Result<bool, JournalError> {
        let busy = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
        Ok(busy == 0)
    }

    /// Answers everybody who still comes with the reason.
    fn refuse_all(mut self, why: &JournalError) {
        // Closing must not move pages about either. If even this fails, closing does what it always does, which is sound.
        let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        while let Some(job) = self.queue.blocking_recv() {
            job.answer(Err(JournalError::Stopped { why: Box::new(why.clone()) }));
        }
    }
}

/// Performs jobs in one transaction. Returns the number of the commit, if anything changed.
fn transact(db: &Connection, group: &mut [Box<dyn Job>]) -> Result<Option<u64>, JournalError> {
    run(db, "BEGIN IMMEDIATE")?;
    let mut touched = HeadUpdates::default();
    let performed = group.iter_mut().try_for_each(|job| perform(db, job.as_mut(), &mut touched));
    let commits = match performed.and_then(|()| Ok(touched.store(db)?)) {
        Ok(commits) => commits,
        Err(error) => {
            // Whatever it says, nothing is committed, and an error that is on its way out already tells why.
            let _ = run(db, "ROLLBACK");
            return Err(error);
        }
    };
    run(db, "COMMIT").map_err(|error| {
        let _ = run(db, "ROLLBACK");
        not_durable(error)
    })?;
    Ok(commits)
}

/// Performs one job. A refusal is undone and kept for its answer; only what the writer must stop on is an error.
fn perform(db: &Connection, job: &mut dyn Job, touched: &mut HeadUpdates) -> Result<(), JournalError> {
    run(db, "SAVEPOINT job")?;
    let mut change = Change::new(db, touched);
    let performed = job.perform(&mut change);
    let own = change.done();
    match performed {
        Ok(()) => {
            run(db, "RELEASE job")?;
            touched.take(own);
        }
        Err(error) if error.stops() => return Err(error),
        Err(_) => {
            run(db, "ROLLBACK TO job")?;
            run(db, "RELEASE job")?;
        }
    }
    Ok(())
}

fn run(db: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    db.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// Tells a commit that failed from other errors: nobody knows what reached the disk.
fn not_durable(error: rusqlite::Error) -> JournalError {
    let known = JournalError::from(error);
    if let JournalError::Sqlite { source } = known {
        JournalError::NotDurable { source }
    } else if known.stops() {
        known
    } else {
        JournalError::Stopped { why: Box::new(known) }
    }
}
