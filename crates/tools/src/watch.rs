//! Runs blocking work beside the runtime, and ends it early when nobody waits for it any more or it takes too long.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_agent::{Task, ToolResult};
use tokio::sync::Semaphore;

/// How long one call may take.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(20);

/// How many calls that walk through directories run at once in this process, and how many others. Each takes memory, and a
/// thousand agents may call at once. A call that waits for its permit loses none of its time.
const WALKS_AT_ONCE: usize = 4;
const READS_AT_ONCE: usize = 8;

static WALK_PERMITS: Semaphore = Semaphore::const_new(WALKS_AT_ONCE);
static READ_PERMITS: Semaphore = Semaphore::const_new(READS_AT_ONCE);

/// With which other calls a call shares its permits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lane {
    /// Those that walk through directories.
    Walking,
    /// Those that look at one file.
    Reading,
}

impl Lane {
    fn permits(self) -> &'static Semaphore {
        match self {
            Lane::Walking => &WALK_PERMITS,
            Lane::Reading => &READ_PERMITS,
        }
    }
}

/// Tells work that is under way when to end. Whoever loops over something from outside asks it in each round.
pub(crate) struct Watch {
    dropped: Arc<AtomicBool>,
    time_max: Duration,
    until: Instant,
}

impl Watch {
    pub(crate) fn new(time_max: Duration) -> Watch {
        Watch { dropped: Arc::default(), time_max, until: Instant::now() + time_max }
    }

    /// How long the work may take in all.
    pub(crate) fn time_max(&self) -> Duration {
        self.time_max
    }

    /// Whether the work is to end now, done or not.
    pub(crate) fn is_over(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Reads no further once the watch is over.
pub(crate) struct Watched<'a, R> {
    pub(crate) inner: R,
    pub(crate) watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.inner.read(buffer)
    }
}

/// Makes a task of blocking work. When the task is dropped, the work is told and ends at its next look at the watch.
pub(crate) fn blocking<'a>(
    lane: Lane,
    time_max: Duration,
    work: impl FnOnce(&Watch) -> ToolResult + Send + 'static,
) -> Task<'a, ToolResult> {
    Box::pin(async move {
        let permit = lane.permits().acquire().await.expect("no limit is ever closed");
        let watch = Watch::new(time_max);
        let _told_when_dropped = Tell(watch.dropped.clone());
        let work = move || {
            let result = work(&watch);
            // The work of a task that was dropped still takes memory until here.
            drop(permit);
            result
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => {
                    ToolResult::failed(format!("the call was not made, since Guildhall is stopping ({error})"))
                }
            },
        }
    })
}

struct Tell(Arc<AtomicBool>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{CALL_TIME_MAX, Lane, WALKS_AT_ONCE, blocking};
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use guildhall_agent::ToolResult;

    #[test]
    fn work_whose_task_was_dropped_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (began, has_begun) = channel();
        let (ended, has_ended) = channel();
        let mut task = blocking(Lane::Reading, CALL_TIME_MAX, move |watch| {
            began.send(()).unwrap();
            while !watch.is_over() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            ToolResult::done("")
        });
        let polled = runtime.block_on(poll_fn(|context| Poll::Ready(task.as_mut().poll(context).is_ready())));
        assert!(!polled, "the work goes on until it is told");
        has_begun.recv().unwrap();
        drop(task);
        has_ended.recv_timeout(CALL_TIME_MAX / 2).expect("the work ends long before its time is up");
    }
    #[test]
    fn no_more_calls_walk_at_once_than_their_memory_allows() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let at_work = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let call = || {
            let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
            blocking(Lane::Walking, CALL_TIME_MAX, move |_| {
                most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                at_work.fetch_sub(1, Ordering::SeqCst);
                ToolResult::done("")
            })
        };
        let mut calls: Vec<_> = (0..200).map(|_| call()).collect();
        runtime.block_on(poll_fn(|context| {
            calls.retain_mut(|call| call.as_mut().poll(context).is_pending());
            if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!((1..=WALKS_AT_ONCE).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    }
}
