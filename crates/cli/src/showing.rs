//! The show: a rehearsal is done before anybody could have read along, so its tree is told afterwards, from the facts that were
//! stored, at a speed at which it can be read. Any key skips. However a show ends, the terminal is left as it was found.

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

use crate::print::{note, say};
use crate::screen::width;
use crate::watch::Signals;

/// How long a character of a line takes to read, and a line at least, in milliseconds.
const CHAR_MS: u64 = 15;
const LINE_MS_MIN: u64 = 120;

/// How long a show takes at most, in milliseconds, however long it is.
const SHOW_MS_MAX: u64 = 20_000;

/// How often to look whether a key was pressed.
const KEY_LOOK: Duration = Duration::from_millis(30);

/// How many keys are taken at once that are pressed to skip.
const KEYS_MAX: usize = 1024;

/// Whether somebody sits at a terminal who can watch a show and press a key.
pub(crate) fn has_a_viewer() -> bool {
    // In the background a terminal can't be set. Where it controls no process, there is no background.
    let is_behind = || tcgetpgrp(io::stdin()).is_ok_and(|ahead| ahead != getpgrp());
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_behind()
}

/// Shows lines at reading speed, until somebody has seen enough.
pub(crate) async fn show(title: &str, lines: &[String], signals: &mut Signals) {
    let mut skip = match Skip::listen() {
        Ok(skip) => skip,
        Err(why) => {
            note(&format!("{title} at once: no key could be heard ({why})"));
            for line in lines {
                say(line);
            }
            return;
        }
    };
    note(&format!("{title} at reading speed, any key skips"));
    let lengths: Vec<usize> = lines.iter().map(|line| width(line)).collect();
    let (began, due) = (Instant::now(), schedule(&lengths));
    // The last moment is the end of the show: nothing is left to say then.
    let said = lines.iter().map(String::as_str).map(Some).chain([None]);
    for (at, (line, due)) in said.zip(due).enumerate() {
        tokio::select! {
            biased;
            () = skip.asked(signals) => {
                drop(skip);
                note(&format!("{} lines skipped", lines.len() - at));
                return;
            }
            () = sleep_until(began + due) => line.into_iter().for_each(say),
        }
    }
}

/// Says when each line is due, from the beginning on, and last when the show is over: each stays alone for as long as it takes
/// to read, and all of them for less where that would take too long.
fn schedule(lengths: &[usize]) -> Vec<Duration> {
    let read_ms = |chars: usize| u64::try_from(chars).unwrap_or(u64::MAX).saturating_mul(CHAR_MS).max(LINE_MS_MIN);
    let mut ends: Vec<u64> = vec![0];
    for chars in lengths {
        ends.push(ends[ends.len() - 1].saturating_add(read_ms(*chars)));
    }
    let all = ends[ends.len() - 1];
    let scaled = |ms: u64| {
        let micros = u128::from(ms) * u128::from(SHOW_MS_MAX) * 1000 / u128::from(all.max(SHOW_MS_MAX));
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    };
    ends.into_iter().map(scaled).collect()
}

/// What ends a show early: a key, or a signal. Those that end a process are heard as well, because the terminal would stay as
/// the show has set it.
struct Skip {
    hangup: Signal,
    quit: Signal,
    _keys: Keys,
}

impl Skip {
    fn listen() -> io::Result<Skip> {
        let (hangup, quit) = (signal(SignalKind::hangup())?, signal(SignalKind::quit())?);
        Ok(Skip { hangup, quit, _keys: Keys::hear()? })
    }

    /// Waits until somebody wants to see the end.
    async fn asked(&mut self, signals: &mut Signals) {
        tokio::select! {
            () = pressed() => {}
            _ = self.hangup.recv() => {}
            _ = self.quit.recv() => {}
            () = signals.any() => {}
        }
    }
}

/// Waits for a key, and takes it: it meant this and nothing else.
async fn pressed() {
    let stdin = io::stdin();
    // It is asked before it is read: whatever set the terminal meanwhile, a read must not wait for a whole line.
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    while !poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0) {
        sleep(KEY_LOOK).await;
    }
    // A terminal that is gone is ready, too, and has no key: nor has it a viewer.
    rustix::io::read(&stdin, &mut [0; KEYS_MAX]).ok();
}

/// A terminal that hands over each key at once and does not show it. Keys that make signals still do.
struct Keys {
    before: Termios,
}

impl Keys {
    fn hear() -> io::Result<Keys> {
        let keys = Keys { before: tcgetattr(io::stdin())? };
        let mut settings = keys.before.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Now, &settings)?;
        Ok(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // It fails only where the terminal is gone, and with it all its settings.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::schedule;

    #[test]
    fn a_line_stays_for_as_long_as_it_takes_to_read() {
        let ms = |lengths: &[usize]| schedule(lengths).iter().map(Duration::as_millis).collect::<Vec<_>>();
        assert_eq!(ms(&[]), [0]);
        assert_eq!(ms(&[100, 0, 20]), [0, 1500, 1620, 1920]);
    }

    #[test]
    fn a_show_never_takes_longer_than_its_time() {
        for lengths in [vec![80; 20], vec![80; 100_000], vec![1_000_000, 1, 1], vec![usize::MAX; 3]] {
            let due = schedule(&lengths);
            assert!(due.is_sorted() && due[due.len() - 1] <= Duration::from_secs(20), "{due:?}");
            assert_eq!((due.len(), due[0]), (lengths.len() + 1, Duration::ZERO));
        }
        let due = schedule(&[3000, 1000]);
        assert_eq!(due, [0, 15, 20].map(Duration::from_secs));
    }
}
