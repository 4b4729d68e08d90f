//! The text on stdin, which is the task of a run or an addition to it. `chat` reads its messages elsewhere (`talk.rs`).

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::commands::run::TASK_BYTES_MAX;
use crate::exit::Failure;
use crate::print::{WARN, say_in};

/// How long stdin may stay open before a line says that the program waits for its end.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// The longest pause in a text on stdin. A slow command may be writing it; nobody writes to a stdin that a script left open.
const PAUSE_MAX: Duration = Duration::from_mins(10);

/// A text that is too long is only counted, up to this size and for this time: stdin may be endless.
const COUNTED_BYTES_MAX: u64 = 1024 * 1024 * 1024;
const COUNT_TIME_MAX: Duration = Duration::from_secs(2);

/// What the text on stdin is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is the task.
    Task,
    /// It is added to the task of the command line.
    Addition,
}

impl Purpose {
    /// The line about the wait for the end of stdin.
    fn waiting(self, is_terminal: bool) -> &'static str {
        match self {
            _ if is_terminal => "reading the task from this terminal: Ctrl-D on an empty line ends it",
            Purpose::Task => "waiting for the end of stdin, which is the task",
            Purpose::Addition => {
                "waiting for the end of stdin, which is added to the task. To run without stdin, add </dev/null"
            }
        }
    }
}

/// Whether stdin is a pipe, a socket or a file, so that its text belongs to the task. `/dev/null` and a terminal have none.
pub(crate) fn has_text() -> bool {
    let Ok(kind) = file().and_then(|file| file.metadata()).map(|about| about.file_type()) else { return false };
    kind.is_fifo() || kind.is_socket() || kind.is_file()
}

/// Stdin without a buffer.
fn file() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// What was read.
struct Text {
    /// The beginning.
    bytes: Vec<u8>,
    /// The size of all of it, as far as it was counted.
    length: u64,
    /// Whether all of it was counted.
    is_whole: bool,
}

/// Reads stdin to its end. `pause_max` is the time limit of the work, if it has one.
pub(crate) fn read(purpose: Purpose, pause_max: Option<Duration>) -> Result<String, Failure> {
    let pause_max = pause_max.map_or(PAUSE_MAX, |time| time.min(PAUSE_MAX));
    let Text { bytes, length, is_whole } = read_all(purpose, pause_max)?;
    if length > TASK_BYTES_MAX {
        let count = if is_whole { length.to_string() } else { format!("more than {length}") };
        return Err(Failure::usage(format!(
            "the text on stdin has {count} bytes, and a task can have {TASK_BYTES_MAX}: put it into a file and name the file"
        )));
    }
    let not_text =
        |what: String| Failure::usage(format!("stdin is not text: {what}. Put the data into a file and name the file"));
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(not_text(format!("byte {} is zero", at + 1)));
    }
    String::from_utf8(bytes)
        .map_err(|why| not_text(format!("byte {} is not UTF-8", why.utf8_error().valid_up_to() + 1)))
}

/// Reads until the end, an error, a pause that is too long, or a size that makes it useless to read on.
fn read_all(purpose: Purpose, pause_max: Duration) -> Result<Text, Failure> {
    let unreadable = |why: io::Error| Failure::usage(format!("can't read stdin: {why}"));
    let mut stdin = file().map_err(unreadable)?;
    let is_terminal = stdin.is_terminal();
    let (start, mut newest, mut is_told) = (Instant::now(), Instant::now(), false);
    let mut text = Text { bytes: Vec::new(), length: 0, is_whole: false };
    let mut too_long_since: Option<Instant> = None;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let counted = too_long_since.is_some_and(|since| since.elapsed() >= COUNT_TIME_MAX);
        if counted || text.length >= COUNTED_BYTES_MAX {
            return Ok(text);
        }
        if !is_told && start.elapsed() >= SILENT_WAIT {
            is_told = true;
            say_in(WARN, purpose.waiting(is_terminal));
        }
        // A person at a terminal may think for as long as they want.
        if !is_terminal && newest.elapsed() >= pause_max {
            return Err(Failure::usage(format!(
                "stdin is open, but nothing came for {} s: close it, or add </dev/null to run without it. Nothing was spent",
                pause_max.as_secs()
            )));
        }
        if !is_readable(&stdin).map_err(unreadable)? {
            continue;
        }
        match stdin.read(&mut chunk) {
            Ok(0) => return Ok(Text { is_whole: true, ..text }),
            Ok(count) => {
                newest = Instant::now();
                text.length += count as u64;
                if text.length <= TASK_BYTES_MAX {
                    text.bytes.extend_from_slice(&chunk[..count]);
                } else {
                    too_long_since.get_or_insert(newest);
                }
            }
            Err(why) if matches!(why.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(why) => return Err(unreadable(why)),
        }
    }
}

/// Waits a moment for a text or the end.
fn is_readable(stdin: &File) -> io::Result<bool> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&moment)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(why) => Err(why.into()),
    }
}
