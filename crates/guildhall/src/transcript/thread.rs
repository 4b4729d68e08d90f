//! A thread for the files of transcripts. A file system can be slow or hang, and a call to it can't be cancelled. On a thread of
//! its own, such a call delays neither contracts nor signals.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// How long one call may take.
const CALL_TIME_MAX: Duration = Duration::from_secs(20);

/// How long the end of the thread is waited for. Nothing waits longer: a call that hangs ends with the process.
const END_TIME_MAX: Duration = Duration::from_millis(300);

/// What the thread does with its state.
type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// A thread that owns a state and changes it on request. Dropping this drops the state on the thread.
pub(super) struct FileThread<S> {
    /// `None` while this is dropped.
    jobs: Option<Sender<Job<S>>>,
    /// Closed when the thread has dropped the state.
    ended: Receiver<()>,
    call_time_max: Duration,
}

impl<S: Send + 'static> FileThread<S> {
    pub(super) fn start(mut state: S) -> io::Result<FileThread<S>> {
        let (jobs, queue) = mpsc::channel::<Job<S>>();
        let (running, ended) = mpsc::channel();
        let run = move || {
            for job in queue {
                job(&mut state);
            }
            drop(state);
            drop::<Sender<()>>(running);
        };
        thread::Builder::new().name("transcripts".to_owned()).spawn(run)?;
        Ok(FileThread { jobs: Some(jobs), ended, call_time_max: CALL_TIME_MAX })
    }

    /// Executes a call on the thread and returns its result. `late` makes the error if the call takes too long.
    pub(super) async fn call<T, E>(
        &mut self,
        call: impl FnOnce(&mut S) -> Result<T, E> + Send + 'static,
        late: impl FnOnce(io::Error) -> E,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        // Without a receiver, the call took too long, and its result is not needed any more.
        self.send(move |state| drop(reply.send(call(state))));
        match tokio::time::timeout(self.call_time_max, replied).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(late(io::Error::other("the thread that writes transcripts has stopped"))),
            Err(_) => {
                let seconds = self.call_time_max.as_secs();
                let why = format!("the file system did not answer within {seconds} seconds");
                Err(late(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
        }
    }

    /// Changes the state without waiting.
    pub(super) fn send(&mut self, change: impl FnOnce(&mut S) + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            // A thread that has stopped drops the job, and the job's reply with it.
            drop(jobs.send(Box::new(change)));
        }
    }
}

impl<S> Drop for FileThread<S> {
    fn drop(&mut self) {
        self.jobs = None;
        // The thread sends nothing: this returns an error when the thread has ended, or when the time is over.
        let _ = self.ended.recv_timeout(END_TIME_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::FileThread;

    #[tokio::test]
    async fn a_call_that_hangs_is_an_error_and_delays_nothing() {
        let mut files = FileThread::start(0).unwrap();
        files.call_time_max = Duration::from_millis(50);
        let (release, released) = channel::<()>();
        let hang = move |_: &mut i32| {
            released.recv().ok();
            io::Result::Ok(())
        };
        let start = Instant::now();
        let late = files.call(hang, |why| why).await.unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        drop(files);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        drop(release);
    }

    #[tokio::test]
    async fn the_state_is_dropped_when_the_thread_ends() {
        struct Told(std::sync::mpsc::Sender<&'static str>);
        impl Drop for Told {
            fn drop(&mut self) {
                self.0.send("dropped").unwrap();
            }
        }
        let (tell, told) = channel();
        let mut files = FileThread::start(Told(tell)).unwrap();
        let heard = files.call(|told| io::Result::Ok(told.0.send("called").is_ok()), |why| why).await.unwrap();
        assert!(heard);
        drop(files);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["called", "dropped"]);
    }
}
