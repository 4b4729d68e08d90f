//! Runs blocking work beside the runtime, and ends it early when nobody waits for it any more or it takes too long.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_agent::{Task, ToolResult};

/// How long one call may take.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(20);

/// Tells work that is under way when to end. Whoever loops over something from outside asks it in each round.
pub(crate) struct Watch {
    dropped: Arc<AtomicBool>,
    until: Instant,
}

impl Watch {
    pub(crate) fn new(time_max: Duration) -> Watch {
        Watch { dropped: Arc::default(), until: Instant::now() + time_max }
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
    time_max: Duration,
    work: impl FnOnce(&Watch) -> ToolResult + Send + 'static,
) -> Task<'a, ToolResult> {
    Box::pin(async move {
        let watch = Watch::new(time_max);
        let _told_when_dropped = Tell(watch.dropped.clone());
        match tokio::task::spawn_blocking(move || work(&watch)).await {
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
    use super::{CALL_TIME_MAX, blocking};
    use std::future::poll_fn;
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use guildhall_agent::ToolResult;

    #[test]
    fn work_whose_task_was_dropped_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (began, has_begun) = channel();
        let (ended, has_ended) = channel();
        let mut task = blocking(CALL_TIME_MAX, move |watch| {
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
}
