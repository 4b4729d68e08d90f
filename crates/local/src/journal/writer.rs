//! The only thread that writes. It stores all queued jobs in one transaction and answers them when the transaction is
//! durable, so that a thousand contracts share one sync. After a system error it stores nothing more.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{mpsc, oneshot};

use super::heads;
use super::known::{Change, Known};
use super::marker::{self, Marker};
use super::schema::OpenLock;
use super::{DATABASE, JournalError};

/// How many jobs can be queued; further senders wait.
const QUEUE_MAX: usize = 1024;
/// How many jobs share one commit at most.
const GROUP_MAX: usize = 256;
/// How many bytes share one commit. A single job may have more.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A job for the writer.
trait Job: Send {
    fn bytes(&self) -> usize;
    /// Performs the job inside the transaction.
    fn perform(&mut self, change: &mut Change<'_>) -> Result<(), JournalError>;
    /// Sends the result, after the transaction was committed or has failed.
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
        let result = committed.and_then(|()| done.expect("a committed job was performed"));
        if let Ok(value) = &result {
            then(value);
        }
        // The caller may be gone. The stored data stays stored.
        let _ = waiter.send(result);
    }
}

/// How much was stored and read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that were committed.
    pub jobs: u64,
    /// Commits. Each commit syncs the log once.
    pub commits: u64,
    /// Reads of the database.
    pub reads: u64,
}

#[derive(Debug, Default)]
struct Counters {
    jobs: AtomicU64,
    commits: AtomicU64,
}

/// The handle that sends jobs to the thread. Dropping it waits until the thread has finished all queued jobs.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    counters: Arc<Counters>,
    stopped: Arc<OnceLock<JournalError>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(db: Connection, dir: &Path) -> Result<Writer, JournalError> {
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        let (counters, stopped) = (Arc::new(Counters::default()), Arc::new(OnceLock::new()));
        let state = Thread {
            db,
            queue,
            counters: Arc::clone(&counters),
            dir: dir.to_owned(),
            marker: None,
            known: Known::default(),
            stopped: Arc::clone(&stopped),
        };
        let spawned = thread::Builder::new().name("journal".into()).spawn(move || state.run());
        let thread = spawned.map_err(JournalError::file(dir, "given a thread"))?;
        Ok(Writer { jobs: Some(jobs), counters, stopped, thread: Some(thread) })
    }

    /// Returns the error after which nothing is stored any more, if there was one.
    pub(crate) fn stopped(&self) -> Option<&JournalError> {
        self.stopped.get()
    }

    /// Returns how many jobs and how many commits there were.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.counters.jobs), read(&self.counters.commits))
    }

    /// Runs `work` inside the next transaction and returns when the transaction is durable. `work` may refuse only before it
    /// changes anything. `then` is called on the writing thread after the commit, even if the caller does not wait for the answer
    /// any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Change<'_>) -> Result<T, JournalError> + Send + 'static,
        then: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue(bytes, work, then).await.durable().await
    }

    /// Like [`Writer::run`], but returns as soon as the job is queued. Jobs are performed in the order in which they are
    /// queued.
    pub(crate) async fn queue<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Change<'_>) -> Result<T, JournalError> + Send + 'static,
        then: impl FnOnce(&T) + Send + 'static,
    ) -> Queued<T> {
        let (waiter, answered) = oneshot::channel();
        let job = Task { bytes, work: Some(work), done: None, then, waiter };
        let jobs = self.jobs.as_ref().expect("the queue is open while the handle exists");
        let sent = jobs.send(Box::new(job)).await;
        assert!(sent.is_ok(), "the thread reads its queue while the queue is open");
        Queued(answered)
    }
}

/// A queued job. Dropping this value does not cancel the job.
pub(crate) struct Queued<T>(oneshot::Receiver<Result<T, JournalError>>);

impl<T> Queued<T> {
    /// Waits until the job is durable or was refused.
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
    /// Present from the first commit on.
    marker: Option<Marker>,
    known: Known,
    stopped: Arc<OnceLock<JournalError>>,
}

impl Thread {
    fn run(mut self) {
        while let Some(group) = self.next_group() {
            if let Err(why) = self.write(group) {
                return self.refuse_all(&why);
            }
        }
        // Errors are ignored: the log and its marker can stay, and the next process that opens the journal handles them.
        let _ = self.clean_up();
    }

    /// Waits for a job, and takes the jobs that are queued behind it.
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

    /// Stores a group of jobs and answers them. Returns only an error at which the writer must stop.
    fn write(&mut self, mut group: Vec<Box<dyn Job>>) -> Result<(), JournalError> {
        let outcome = self.store(&mut group).map_err(|error| error.in_database(&self.dir.join(DATABASE)));
        if outcome.is_ok() {
            self.counters.jobs.fetch_add(group.len() as u64, Ordering::Relaxed);
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
        }
        let stop = outcome.clone().or_else(|error| if error.stops_writer() { Err(error) } else { Ok(()) });
        if let Err(why) = &stop {
            // Before the answers: whoever gets one must find the writer stopped. The thread stops once.
            let _ = self.stopped.set(why.clone());
        }
        for job in group {
            job.answer(outcome.clone());
        }
        stop
    }

    fn store(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), JournalError> {
        let marker = if let Some(marker) = &self.marker {
            marker
        } else {
            let lock = OpenLock::take(&self.dir)?;
            self.marker.insert(Marker::take(&self.dir, heads::commits(&self.db)?, &lock)?)
        };
        if let Some(commits) = transact(&self.db, &mut self.known, group)? {
            // An outdated marker detects fewer missing commits. The data itself is stored.
            let _ = marker.advance(commits);
        }
        Ok(())
    }

    /// Moves all commits from the log into the database, and removes the marker if no other process writes.
    fn clean_up(&mut self) -> Result<(), JournalError> {
        self.checkpoint()?;
        let lock = OpenLock::take(&self.dir)?;
        // Don't wait for readers: no other process can open the journal meanwhile.
        self.db.busy_timeout(Duration::ZERO)?;
        let marker = self.marker.take();
        marker::remove(&self.dir, marker, &lock, || self.checkpoint())
    }

    /// Writes the log back to the database. Returns whether all of the log was written.
    fn checkpoint(&self) -> Result<bool, JournalError> {
        let busy = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
        Ok(busy == 0)
    }

    /// Answers all further jobs with the error that stopped the writer.
    fn refuse_all(mut self, why: &JournalError) {
        // After an error, closing must not write the log back. If this setting fails, closing writes it back, which is safe,
        // too.
        let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        while let Some(job) = self.queue.blocking_recv() {
            job.answer(Err(JournalError::Stopped { why: Box::new(why.clone()) }));
        }
    }
}

/// Performs jobs in one transaction. Returns the number of the commit, if anything changed.
fn transact(db: &Connection, known: &mut Known, group: &mut [Box<dyn Job>]) -> Result<Option<u64>, JournalError> {
    run(db, "BEGIN IMMEDIATE")?;
    let mut perform_all = || {
        known.refresh(db)?;
        group.iter_mut().try_for_each(|job| perform(&mut Change { db, known }, job.as_mut()))?;
        Ok(known.store_heads(db)?)
    };
    let committed = perform_all().and_then(|commits| match run(db, "COMMIT") {
        Ok(()) => Ok(commits),
        Err(error) => Err(not_durable(error)),
    });
    if committed.is_err() {
        // A failed rollback commits nothing either, and the first error is already being returned.
        let _ = run(db, "ROLLBACK");
        *known = Known::default();
    }
    committed
}

/// Performs one job. If the job is refused, its error is stored for the answer. Returns only an error at which the writer must
/// stop.
fn perform(change: &mut Change<'_>, job: &mut dyn Job) -> Result<(), JournalError> {
    let before = change.db.total_changes();
    match job.perform(change) {
        Err(error) if error.stops_writer() => Err(error),
        // The job can't be undone alone, and a part of a job must not be committed.
        Err(error) if change.db.total_changes() != before => Err(JournalError::Stopped { why: Box::new(error) }),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn run(db: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    db.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// Converts the error of a failed commit: it is unknown what reached the disk.
fn not_durable(error: rusqlite::Error) -> JournalError {
    let known = JournalError::from(error);
    if let JournalError::Sqlite { source } = known {
        JournalError::NotDurable { source }
    } else if known.stops_writer() {
        known
    } else {
        JournalError::Stopped { why: Box::new(known) }
    }
}
