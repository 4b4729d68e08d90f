//! Runs one program to its end and prints what the system says about it. Each program has a measuring process of its own,
//! because the system adds up the processor time of all ended children of a process.

use std::io::{self, Write as _};
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

use crate::fake::now_us;

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
    let output = Command::new(name).args(args).output().map_err(|e| format!("{name}: {e}"))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("getrusage: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ended = Ended {
        start_us,
        cpu_us: micros(usage.user_time()) + micros(usage.system_time()),
        // Linux counts in KiB.
        peak_kib: usage.max_rss().try_into().unwrap_or_default(),
        success: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    };
    let ended = serde_json::to_string(&ended).map_err(|e| e.to_string())?;
    writeln!(io::stdout(), "{ended}").map_err(|e| e.to_string())
}

fn micros(time: TimeVal) -> u64 {
    let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
    micros.try_into().unwrap_or_default()
}
