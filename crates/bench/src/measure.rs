//! Runs one program to its end and prints what the system says about it. Each program has a measuring process of its own,
//! because the system adds up the processor time of all ended children of a process.

use std::io::{self, Read, Write as _};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::fake::now_us;

/// The longest run: a program that hangs must not stop the benchmark without a message.
const RUN_TIME_MAX: Duration = Duration::from_mins(10);
const POLL: Duration = Duration::from_millis(5);

/// What the system says about a program that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// When the program was started, in microseconds since 1970.
    pub(crate) start_us: u64,
    /// Processor time in user mode and in the kernel.
    pub(crate) cpu_us: u64,
    pub(crate) peak_kib: u64,
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(program: &[String]) -> Result<(), String> {
    let (name, args) = program.split_first().ok_or("`measure` needs a program")?;
    let start_us = now_us();
    let (success, stdout, stderr) =
        run_within(RUN_TIME_MAX, Command::new(name).args(args)).map_err(|e| format!("{name}: {e}"))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("getrusage: {e}"))?;
    let ended = Ended {
        start_us,
        cpu_us: micros(usage.user_time()) + micros(usage.system_time()),
        // Linux counts in KiB.
        peak_kib: usage.max_rss().try_into().unwrap_or_default(),
        success,
        stdout,
        stderr,
    };
    let ended = serde_json::to_string(&ended).map_err(|e| e.to_string())?;
    writeln!(io::stdout(), "{ended}").map_err(|e| e.to_string())
}

/// Runs a command to its end, or kills it at the time limit. Returns whether it succeeded, and its output.
fn run_within(limit: Duration, command: &mut Command) -> io::Result<(bool, String, String)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() >= limit {
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(POLL);
    };
    let text = |reader: JoinHandle<Vec<u8>>| {
        let bytes = reader.join().map_err(|_| io::Error::other("the output can't be read"))?;
        Ok::<String, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok((status.success(), text(stdout)?, text(stderr)?))
}

/// Reads a pipe to its end, so that the program never waits for its reader.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is shown.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn micros(time: TimeVal) -> u64 {
    let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
    micros.try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_never_ends_is_killed_at_the_limit() {
        let (success, ..) = run_within(Duration::ZERO, Command::new("sleep").arg("600")).unwrap();
        assert!(!success);
    }
}
