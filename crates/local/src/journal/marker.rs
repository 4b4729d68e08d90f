//! The marker: a small file beside the database that records how many commits there are, while some of them may be only in the
//! write-ahead log. If the log is lost, the database alone does not show that commits are missing; the marker does.
//!
//! The marker is made durable before the first commit of a process. After each commit it is updated without a sync. Its number
//! is therefore never higher than the number of durable commits, and a crash at any point causes no false alarm. The last
//! process that writes removes the marker when all commits are in the database itself.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::JournalError;
use super::schema::OpenLock;
use crate::private::{open_regular, private_file};

/// The marker's name in the journal's directory. The name starts like the database's, so that people delete both together.
const MARKER: &str = "journal.db-marker";

/// The text before the number.
const PREFIX: &str = "commits in journal.db and journal.db-wal: ";

/// The number always has this many digits, so that a new number overwrites the old one completely.
const DIGITS: usize = 20;

/// How many bytes of the marker are read at most.
const BYTES_MAX: u64 = 200;

/// Returns the path of the marker.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(MARKER)
}

/// Returns how many commits there must be, according to the marker. A missing marker, or one without a valid number, counts
/// as 0.
pub(crate) fn commits(dir: &Path) -> Result<u64, JournalError> {
    let path = path(dir);
    let read = open_regular(&path, OpenOptions::new().read(true)).and_then(read);
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
    Ok(text.strip_prefix(PREFIX).and_then(|number| number.trim().parse().ok()).unwrap_or(0))
}

fn written(commits: u64) -> String {
    format!("{PREFIX}{commits:0DIGITS$}\n")
}

/// The marker of a process that writes. Its lock prevents other processes from removing the file.
#[derive(Debug)]
pub(crate) struct Marker(File);

impl Marker {
    /// Creates a durable marker if there is none, and locks it. The caller must hold the lock that serializes opening and
    /// closing.
    pub(crate) fn take(dir: &Path, commits: u64, _lock: &OpenLock) -> Result<Marker, JournalError> {
        let path = path(dir);
        let failed = || JournalError::own_file(&path, "written");
        if !path.exists() {
            let fresh = dir.join(format!("{MARKER}.new"));
            // A file that a crash left behind, or that another program put there.
            if let Err(why) = fs::remove_file(&fresh)
                && why.kind() != ErrorKind::NotFound
            {
                return Err(failed()(why));
            }
            let write = |mut to: File| to.write_all(written(commits).as_bytes()).and_then(|()| to.sync_all());
            private_file().write(true).create_new(true).open(&fresh).and_then(write).map_err(failed())?;
            fs::rename(&fresh, &path).map_err(failed())?;
            #[cfg(unix)]
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed())?;
        }
        let file = open_regular(&path, OpenOptions::new().write(true)).map_err(failed())?;
        file.lock_shared().map_err(failed())?;
        Ok(Marker(file))
    }

    /// Writes the number of commits. If another process writes a lower number afterwards, a loss of those commits is not
    /// detected until the next commit.
    pub(crate) fn advance(&self, commits: u64) -> io::Result<()> {
        self.0.write_all_at(written(commits).as_bytes(), 0)
    }
}

/// Removes the marker if it is not needed any more: no other process writes, and `checkpoint` reports that the whole log is
/// in the database. A marker that stays does no harm.
pub(crate) fn remove(
    dir: &Path,
    own: Option<Marker>,
    _lock: &OpenLock,
    checkpoint: impl FnOnce() -> Result<bool, JournalError>,
) -> Result<(), JournalError> {
    let path = path(dir);
    let file = match own {
        Some(Marker(file)) => file,
        None => match open_regular(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(JournalError::file(&path, "opened"))?,
        },
    };
    if file.try_lock().is_ok() && checkpoint()? {
        fs::remove_file(&path).map_err(JournalError::file(&path, "removed"))?;
    }
    Ok(())
}
