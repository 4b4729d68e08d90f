//! Runs blocking work outside of the async runtime, and ends it early when its task was dropped or takes too long.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_agent::{Task, ToolResult};
use tokio::sync::Semaphore;

/// How long one call may take.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(20);

/// How many calls that walk through directories run at the same time in this process, and how many other calls. Each call
/// needs memory, and a thousand agents may call at the same time. Waiting for a permit does not count against the time of a
/// call.
const WALKS_MAX: usize = 4;
const READS_MAX: usize = 8;

static WALK_PERMITS: Semaphore = Semaphore::const_new(WALKS_MAX);
static READ_PERMITS: Semaphore = Semaphore::const_new(READS_MAX);

/// The kind of a call. Calls of one kind share their permits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallKind {
    /// The call walks through directories.
    Walking,
    /// The call reads one file.
    Reading,
}

impl CallKind {
    fn permits(self) -> &'static Semaphore {
        match self {
            CallKind::Walking => &WALK_PERMITS,
            CallKind::Reading => &READ_PERMITS,
        }
    }
}

/// Tells running work when to end. A loop over files or bytes must check it in each round.
pub(crate) struct Watch {
    dropped: Arc<AtomicBool>,
    time_max: Duration,
    until: Instant,
}

impl Watch {
    pub(crate) fn new(time_max: Duration) -> Watch {
        Watch { dropped: Arc::default(), time_max, until: Instant::now() + time_max }
    }

    /// Returns how long the work may take in total.
    pub(crate) fn time_max(&self) -> Duration {
        self.time_max
    }

    /// Whether the work must end now, finished or not.
    pub(crate) fn is_over(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// A reader that stops when the watch is over.
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

/// Returns a task that runs blocking work. When the task is dropped, the work ends at its next check of the watch.
pub(crate) fn blocking<'a>(
    kind: CallKind,
    time_max: Duration,
    work: impl FnOnce(&Watch) -> ToolResult + Send + 'static,
) -> Task<'a, ToolResult> {
    Box::pin(async move {
        let permit = kind.permits().acquire().await.expect("the semaphore is never closed");
        let watch = Watch::new(time_max);
        let _end_on_drop = EndOnDrop(watch.dropped.clone());
        let work = move || {
            let result = work(&watch);
            // The work of a dropped task still uses memory until here.
            drop(permit);
            result
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => {
                    ToolResult::failed(format!("the call was not made, because Guildhall is stopping ({error})"))
                }
            },
        }
    })
}

struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{CALL_TIME_MAX, CallKind, WALKS_MAX, blocking};
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use guildhall_agent::ToolResult;

    #[test]
    fn work_ends_when_its_task_is_dropped() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (began, has_begun) = channel();
        let (ended, has_ended) = channel();
        let mut task = blocking(CallKind::Reading, CALL_TIME_MAX, move |watch| {
            began.send(()).unwrap();
            while !watch.is_over() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            ToolResult::done("")
        });
        let polled = runtime.block_on(poll_fn(|context| Poll::Ready(task.as_mut().poll(context).is_ready())));
        assert!(!polled, "the work continues until the task is dropped");
        has_begun.recv().unwrap();
        drop(task);
        has_ended.recv_timeout(CALL_TIME_MAX / 2).expect("the work ends long before its time is up");
    }
    #[test]
    fn the_number_of_running_walks_is_limited() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let at_work = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let call = || {
            let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
            blocking(CallKind::Walking, CALL_TIME_MAX, move |_| {
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
        assert!((1..=WALKS_MAX).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    }
}
