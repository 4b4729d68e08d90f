//! The signals that end work: Ctrl-C and SIGTERM. A thread of its own counts them, so that two Ctrl-C count as two also while the
//! main thread is busy, for example with the resume of a large session.

use std::sync::mpsc;
use std::thread;

use rustix::io::Errno;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};

use crate::exit::Failure;

/// How many signals have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    interrupts: u32,
    terminates: u32,
}

/// Listens for signals from its creation on. A signal without a listener ends the process without advice on how to continue.
pub(crate) struct Signals {
    counts: watch::Receiver<Counts>,
    /// The signals that were handled.
    handled: Counts,
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let failed =
            |why: &dyn std::fmt::Display| Failure::failed(format!("can't listen for Ctrl-C and other signals: {why}"));
        let (sender, counts) = watch::channel(Counts::default());
        let (report, listens) = mpsc::channel();
        let spawned = thread::Builder::new().name("signals".to_owned()).spawn(move || count(&sender, &report));
        spawned.map_err(|why| failed(&why))?;
        match listens.recv() {
            Ok(Ok(())) => Ok(Signals { counts, handled: Counts::default() }),
            Ok(Err(why)) => Err(failed(&why)),
            Err(_) => Err(failed(&Errno::CANCELED)),
        }
    }

    /// Waits for any of the signals, also for one that came before. Each signal ends one wait.
    pub(crate) async fn any(&mut self) {
        self.next().await;
    }

    /// Waits until the process must stop: after SIGTERM or a second Ctrl-C. The first Ctrl-C only notifies `wrap_up`.
    pub(crate) async fn until_stop(&mut self, wrap_up: &Notify) {
        match self.next().await {
            Came::Terminate => {}
            Came::Interrupt => {
                wrap_up.notify_one();
                self.next().await;
            }
        }
    }

    async fn next(&mut self) -> Came {
        let handled = self.handled;
        let Ok(counts) = self.counts.wait_for(|counts| *counts != handled).await.map(|counts| *counts) else {
            // The thread ends only after this value. Without it, no signal would come any more.
            return std::future::pending().await;
        };
        if counts.terminates > handled.terminates {
            self.handled.terminates += 1;
            Came::Terminate
        } else {
            self.handled.interrupts += 1;
            Came::Interrupt
        }
    }
}

/// A signal.
enum Came {
    Interrupt,
    Terminate,
}

/// Counts signals until nobody needs the counts.
fn count(counts: &watch::Sender<Counts>, report: &mpsc::Sender<std::io::Result<()>>) {
    let listening = Builder::new_current_thread().enable_io().build().and_then(|runtime| {
        let entered = runtime.enter();
        let both = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        drop(entered);
        Ok((runtime, both))
    });
    let (runtime, (mut interrupt, mut terminate)) = match listening {
        Ok(listening) => listening,
        // The receiver waits for this.
        Err(why) => return report.send(Err(why)).unwrap_or_default(),
    };
    report.send(Ok(())).unwrap_or_default();
    runtime.block_on(async {
        loop {
            tokio::select! {
                _ = interrupt.recv() => counts.send_modify(|counts| counts.interrupts += 1),
                _ = terminate.recv() => counts.send_modify(|counts| counts.terminates += 1),
                () = counts.closed() => return,
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};
    use tokio::runtime::Builder;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::Signals;

    /// Sends Ctrl-C to this process, each after the one before was counted. The calling thread does nothing else meanwhile.
    fn interrupt(signals: &Signals, times: u32) {
        let mut counts = signals.counts.clone();
        let send = move || {
            let runtime = Builder::new_current_thread().build().unwrap();
            for time in 1..=times {
                kill_process(getpid(), Signal::INT).unwrap();
                runtime.block_on(counts.wait_for(|counts| counts.interrupts == time)).unwrap();
            }
        };
        thread::spawn(send).join().unwrap();
    }

    #[test]
    fn two_ctrl_c_count_as_two_also_while_the_main_thread_is_busy() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let wrap_up = Notify::new();
            for (times, stops) in [(1, false), (2, true)] {
                let mut signals = Signals::listen().unwrap();
                interrupt(&signals, times);
                let stopped = timeout(Duration::from_millis(100), signals.until_stop(&wrap_up)).await.is_ok();
                assert_eq!(stopped, stops, "{times}");
            }
            let mut signals = Signals::listen().unwrap();
            interrupt(&signals, 2);
            signals.any().await;
            signals.any().await;
            // A signal that was handled is not handled again.
            assert!(timeout(Duration::from_millis(100), signals.any()).await.is_err());
        });
    }
}
