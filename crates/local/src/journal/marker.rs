//! The marker: a small file beside the database that says how many commits there are, as long as some of them may be only in
//! the log. Whoever loses the log loses those commits without a trace in the database; the marker is the trace.
//!
//! It is made durable before the first commit of a process and brought up to date after each, without another sync: what it
//! says is never more than what is durable, so it gives no false alarm after a crash, wherever that comes. The last
//! process that writes removes it when everything is in the database itself.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::JournalError;
use super::schema::{self, Turn};

/// The marker's name in the journal's directory: who removes all files of the database removes it with them.
const MARKER: &str = "journal.db-marker";

/// What the file says before the number.
const SAYS: &str = "commits in journal.db and journal.db-wal: ";

/// How many digits the number has, always: a new number replaces all of the old one.
const DIGITS: usize = 20;

/// The longest marker that is read.
const BYTES_MAX: u64 = 200;

/// Returns where the marker is.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(MARKER)
}

/// Returns how many commits there must be, as far as the marker says. One that is not there, or that nobody can read, says
/// nothing.
pub(crate) fn commits(dir: &Path) -> Result<u64, JournalError> {
    let path = path(dir);
    let read = File::open(&path).and_then(read);
    match read {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(JournalError::file(&path, "read")(error)),
        Ok(commits) => Ok(commits),
        Err(_) => Ok(0),
    }
}

fn read(file: impl Read) -> io::Result<u64> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix(SAYS).and_then(|number| number.trim().parse().ok()).unwrap_or(0))
}

fn written(commits: u64) -> String {
    format!("{SAYS}{commits:0DIGITS$}\n")
}

/// The marker of a process that writes. As long as one has it, nobody removes the file.
#[derive(Debug)]
pub(crate) struct Marker(File);

impl Marker {
    /// Makes the marker durable, if it is not there, and keeps it there. Only one process at a time may do so.
    pub(crate) fn take(dir: &Path, commits: u64, _turn: &Turn) -> Result<Marker, JournalError> {
        let path = path(dir);
        let failed = || JournalError::own_file(&path, "written");
        if !path.exists() {
            let fresh = dir.join(format!("{MARKER}.new"));
            let write = |mut to: File| to.write_all(written(commits).as_bytes()).and_then(|()| to.sync_all());
            schema::private().write(true).truncate(true).open(&fresh).and_then(write).map_err(failed())?;
            fs::rename(&fresh, &path).map_err(failed())?;
            #[cfg(unix)]
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed())?;
        }
        let file = File::options().write(true).open(&path).map_err(failed())?;
        file.lock_shared().map_err(failed())?;
        Ok(Marker(file))
    }

    /// Says that there are so many commits. If another process says less right afterwards, less is found until the next commit.
    pub(crate) fn advance(&self, commits: u64) -> io::Result<()> {
        self.0.write_all_at(written(commits).as_bytes(), 0)
    }
}

/// Removes the marker if nobody needs it any more: no other process writes, and `checkpoint` says that the log has nothing
/// that the database lacks. One that stays does no harm.
pub(crate) fn remove(
    dir: &Path,
    own: Option<Marker>,
    _turn: &Turn,
    checkpoint: impl FnOnce() -> Result<bool, JournalError>,
) -> Result<(), JournalError> {
    let path = path(dir);
    let file = match own {
        Some(Marker(file)) => file,
        None => match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(JournalError::file(&path, "opened"))?,
        },
    };
    if file.try_lock().is_ok() && checkpoint()? {
        fs::remove_file(&path).map_err(JournalError::file(&path, "removed"))?;
    }
    Ok(())
}
