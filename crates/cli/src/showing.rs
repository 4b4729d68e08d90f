//! The replay of a rehearsal: a rehearsal ends too fast to read along, so its lines are printed afterwards, from the stored facts,
//! at reading speed. Any key skips the replay. The terminal settings are restored in every case.

use std::io::{self, IsTerminal};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

use crate::print::{note, say};
use crate::screen::width;
use crate::signals::Signals;

/// The reading time of a character, and the shortest time of a line, in milliseconds.
const CHAR_MS: u64 = 15;
const LINE_MS_MIN: u64 = 120;

/// The longest time of a replay, in milliseconds.
const SHOW_MS_MAX: u64 = 20_000;

/// The pause between two looks for a key.
const KEY_LOOK: Duration = Duration::from_millis(30);

/// The most bytes that are read of the keys that skip.
const KEYS_MAX: usize = 1024;

/// Whether a person at a terminal can watch a replay and press a key.
pub(crate) fn has_a_viewer() -> bool {
    // A background process can't change the settings of a terminal.
    let is_in_background = || tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground != getpgrp());
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_in_background()
}

/// Prints lines at reading speed, until a key is pressed.
pub(crate) async fn show(title: &str, lines: &[String], signals: &mut Signals) {
    let mut skip = match Skip::listen() {
        Ok(skip) => skip,
        Err(why) => {
            note(&format!("{title} without pauses, because keys can't be read ({why})"));
            for line in lines {
                say(line);
            }
            return;
        }
    };
    note(&format!("{title} at reading speed, any key skips"));
    let lengths: Vec<usize> = lines.iter().map(|line| width(line)).collect();
    let (began, due) = (Instant::now(), schedule(&lengths));
    // The last moment is the end of the replay and has no line.
    let steps = lines.iter().map(String::as_str).map(Some).chain([None]);
    for (at, (line, due)) in steps.zip(due).enumerate() {
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

/// Returns the time of each line, and at the end the time when the replay is over. Each line gets its reading time. All times
/// are shorter if the replay would take too long.
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

/// What ends a replay early: a key or a signal. Without a listener, a signal would end the process before the terminal settings
/// are restored.
struct Skip {
    hangup: Signal,
    quit: Signal,
    _keys: Keys,
}

impl Skip {
    fn listen() -> io::Result<Skip> {
        let (hangup, quit) = (signal(SignalKind::hangup())?, signal(SignalKind::quit())?);
        Ok(Skip { hangup, quit, _keys: Keys::listen()? })
    }

    /// Waits for a key or a signal.
    async fn asked(&mut self, signals: &mut Signals) {
        tokio::select! {
            () = pressed() => {}
            _ = self.hangup.recv() => {}
            _ = self.quit.recv() => {}
            () = signals.any() => {}
        }
    }
}

/// Waits for a key, and removes it from the input: it was meant for the replay.
async fn pressed() {
    let stdin = io::stdin();
    // Poll before reading: if another program changed the terminal settings, a read would wait for a whole line.
    let no_wait = Timespec { tv_sec: 0, tv_nsec: 0 };
    while !poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&no_wait)).is_ok_and(|ready| ready > 0) {
        sleep(KEY_LOOK).await;
    }
    // A terminal that is gone is ready, too. Then there is no key to read, and no person to see an error.
    rustix::io::read(&stdin, &mut [0; KEYS_MAX]).ok();
}

/// Terminal settings in which each key arrives immediately and is not echoed. Keys that send signals still do.
struct Keys {
    before: Termios,
}

impl Keys {
    fn listen() -> io::Result<Keys> {
        let keys = Keys { before: tcgetattr(io::stdin())? };
        let mut settings = keys.before.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(io::stdin(), OptionalActions::Now, &settings)?;
        Ok(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // This fails only if the terminal is gone, and then there are no settings to restore.
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
    fn a_replay_never_takes_longer_than_its_limit() {
        for lengths in [vec![80; 20], vec![80; 100_000], vec![1_000_000, 1, 1], vec![usize::MAX; 3]] {
            let due = schedule(&lengths);
            assert!(due.is_sorted() && due[due.len() - 1] <= Duration::from_secs(20), "{due:?}");
            assert_eq!((due.len(), due[0]), (lengths.len() + 1, Duration::ZERO));
        }
        let due = schedule(&[3000, 1000]);
        assert_eq!(due, [0, 15, 20].map(Duration::from_secs));
    }
}
