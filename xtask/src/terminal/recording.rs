//! Runs a program in a pseudo-terminal and records what it prints, and when.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::screen::{COLUMNS, ROWS};

/// A directory for the journal of the recorded run.
const HOME: &str = "target/terminal-home";

/// The longest time of a recording.
const RECORDING_MAX: Duration = Duration::from_mins(1);

/// What was printed, with the milliseconds since the start.
pub(crate) type Output = Vec<(u64, Vec<u8>)>;

/// Runs a program until it ends.
pub(crate) fn record(program: &Path, args: &[&str]) -> Result<Output, String> {
    if let Err(why) = fs::remove_dir_all(HOME)
        && why.kind() != ErrorKind::NotFound
    {
        return Err(format!("{HOME}: {why}"));
    }
    fs::create_dir_all(HOME).map_err(|e| format!("{HOME}: {e}"))?;
    let (mut terminal, inner) = open().map_err(|e| format!("can't open a pseudo-terminal: {e}"))?;
    let mut child = start(program, args, &inner).map_err(|e| format!("{}: {e}", program.display()))?;
    drop(inner);
    let output = read(&mut terminal);
    if output.is_err() {
        // The error of the recording is the one to report.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| format!("{}: {e}", program.display()))?;
    let output = output?;
    if !status.success() {
        let printed: Vec<u8> = output.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        return Err(format!("the recorded run failed: {status}\n{}", String::from_utf8_lossy(&printed)));
    }
    Ok(output)
}

/// Opens a pseudo-terminal: the end of the person, and the end of the program.
fn open() -> Result<(File, File), std::io::Error> {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&outer)?;
    unlockpt(&outer)?;
    tcsetwinsize(&outer, Winsize { ws_col: COLUMNS, ws_row: ROWS, ws_xpixel: 0, ws_ypixel: 0 })?;
    let path = ptsname(&outer, Vec::new())?;
    let no_ctty = OFlags::NOCTTY.bits().cast_signed();
    let inner =
        OpenOptions::new().read(true).write(true).custom_flags(no_ctty).open(OsStr::from_bytes(path.as_bytes()))?;
    Ok((File::from(outer), inner))
}

/// Starts the program without the settings and the keys of this machine.
fn start(program: &Path, args: &[&str], terminal: &File) -> Result<Child, std::io::Error> {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    command.env("GUILDHALL_HOME", fs::canonicalize(HOME)?);
    command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal.try_clone()?).spawn()
}

fn read(terminal: &mut File) -> Result<Output, String> {
    let failed = |why: std::io::Error| format!("can't read the pseudo-terminal: {why}");
    let (start, mut output) = (Instant::now(), Output::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let left = RECORDING_MAX.checked_sub(start.elapsed());
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let left = left.ok_or_else(|| format!("the recorded run took more than {} s", RECORDING_MAX.as_secs()))?;
        poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&left)).map_err(|e| failed(e.into()))?;
        let count = match terminal.read(&mut buffer) {
            Ok(count) => count,
            // The program has ended.
            Err(why) if why.raw_os_error() == Some(Errno::IO.raw_os_error()) => 0,
            Err(why) => return Err(failed(why)),
        };
        if count == 0 {
            return Ok(output);
        }
        output.push((u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX), buffer[..count].to_vec()));
    }
}
