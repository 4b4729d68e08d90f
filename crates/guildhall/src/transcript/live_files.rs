//! The files of a running session. All calls here can block, so they run on a thread of their own. A file is only ever made
//! longer, and only as long as its contents are those that this program wrote.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path as FilePath, PathBuf};

use guildhall_kernel::Path;
use guildhall_local::{open_regular, private_file};

use super::files::{NewDirectories, check_writable, file_name};
use super::{TranscriptError, not_written};

/// The lines of a contract that are written together.
pub(super) struct Lines {
    pub(super) contract: Path,
    pub(super) bytes: Vec<u8>,
    /// Whether these are the last lines of the contract.
    pub(super) are_last: bool,
}

/// The directory and the files of a session. Until the work begins, dropping this undoes everything that was done here.
pub(super) struct LiveFiles {
    directory: PathBuf,
    new_directories: NewDirectories,
    /// The length of each file that can still grow.
    lengths: BTreeMap<Path, u64>,
    /// Files that were written before the work began, with their earlier lengths. A new file has none.
    written: Vec<(PathBuf, Option<u64>)>,
    has_begun: bool,
}

impl LiveFiles {
    pub(super) fn new(directory: &FilePath) -> LiveFiles {
        LiveFiles {
            directory: directory.to_owned(),
            new_directories: NewDirectories::default(),
            lengths: BTreeMap::new(),
            written: Vec::new(),
            has_begun: false,
        }
    }

    /// Creates the directory, if necessary, and makes sure that files can be written in it.
    pub(super) fn create(&mut self) -> Result<(), TranscriptError> {
        self.new_directories = NewDirectories::create(&self.directory)?;
        check_writable(&self.directory)
    }

    fn path(&self, contract: &Path) -> PathBuf {
        self.directory.join(file_name(contract))
    }

    /// Makes sure that a contract that has no facts yet has no file either.
    pub(super) fn check_missing(&self, contract: &Path) -> Result<(), TranscriptError> {
        let path = self.path(contract);
        if path.symlink_metadata().is_ok() { Err(TranscriptError::Exists { path }) } else { Ok(()) }
    }

    /// Opens the file of a contract that already has facts. The file is missing, or it has the first part of the transcript.
    pub(super) fn open_earlier(&mut self, contract: &Path) -> Result<EarlierFile, TranscriptError> {
        let path = self.path(contract);
        let length = match path.symlink_metadata() {
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(not_written(&path, why)),
            Ok(found) if found.is_file() && found.len() > 0 => Some(found.len()),
            Ok(_) => return Err(TranscriptError::Exists { path }),
        };
        let file = match length {
            None => private_file().write(true).create_new(true).open(&path),
            Some(_) => open_regular(&path, OpenOptions::new().read(true).append(true)),
        };
        let file = file.map_err(|why| not_written(&path, why))?;
        self.written.push((path.clone(), length));
        Ok(EarlierFile { contract: contract.clone(), path, file, earlier: length.unwrap_or(0), at: 0 })
    }

    /// Ends the writing of what was stored before. The file has all of it.
    pub(super) fn close_earlier(&mut self, file: EarlierFile, is_open: bool) -> Result<(), TranscriptError> {
        if file.at < file.earlier {
            return Err(TranscriptError::Exists { path: file.path });
        }
        if is_open {
            self.lengths.insert(file.contract, file.at);
        }
        Ok(())
    }

    /// From now on, nothing is undone.
    pub(super) fn begin(&mut self) {
        self.has_begun = true;
        self.written.clear();
    }

    /// Adds lines to the files of their contracts. After an error, each file ends with a whole line, if that is possible.
    pub(super) fn append(&mut self, all: Vec<Lines>) -> Result<(), TranscriptError> {
        all.into_iter().try_for_each(|lines| self.append_one(&lines))
    }

    fn append_one(&mut self, Lines { contract, bytes, are_last }: &Lines) -> Result<(), TranscriptError> {
        let path = self.path(contract);
        let length = self.lengths.get(contract).copied();
        let written = match length {
            // Only the first lines of a contract create its file.
            None => private_file().write(true).create_new(true).open(&path),
            Some(length) => open_unchanged(&path, length),
        };
        let written =
            written.and_then(|mut file| file.write_all(bytes).inspect_err(|_| cut_back(&path, &file, length)));
        match written {
            Ok(()) => {}
            Err(why) if length.is_none() && why.kind() == io::ErrorKind::AlreadyExists => {
                return Err(TranscriptError::Exists { path });
            }
            Err(why) => return Err(not_written(&path, why)),
        }
        if *are_last {
            self.lengths.remove(contract);
        } else {
            self.lengths.insert(contract.clone(), length.unwrap_or(0) + bytes.len() as u64);
        }
        Ok(())
    }
}

impl Drop for LiveFiles {
    fn drop(&mut self) {
        if self.has_begun {
            return;
        }
        for (path, length) in &self.written {
            // What can't be undone is still the beginning of the same transcript, so a later start accepts it.
            let _ = match length {
                None => fs::remove_file(path),
                Some(length) => {
                    open_regular(path, OpenOptions::new().write(true)).and_then(|file| file.set_len(*length))
                }
            };
        }
        self.new_directories.remove_empty();
    }
}

/// Opens a file to add lines, if it is as long as this program has made it.
fn open_unchanged(path: &FilePath, length: u64) -> io::Result<File> {
    let file = open_regular(path, OpenOptions::new().append(true))?;
    if file.metadata()?.len() == length { Ok(file) } else { Err(io::Error::other("another program has changed it")) }
}

/// Removes the beginning of lines that could not be written.
fn cut_back(path: &FilePath, file: &File, length: Option<u64>) {
    // The first error is reported. A file that can't be cut ends with a part of a line, as after a crash.
    let _ = match length {
        None => fs::remove_file(path),
        Some(length) => file.set_len(length),
    };
}

/// A file that gets the lines of facts that were stored before. What it already has is compared and not written again.
pub(super) struct EarlierFile {
    contract: Path,
    path: PathBuf,
    file: File,
    /// How long the file was.
    earlier: u64,
    at: u64,
}

impl EarlierFile {
    /// Adds lines.
    pub(super) fn add(&mut self, lines: &[u8]) -> Result<(), TranscriptError> {
        let known = usize::try_from(self.earlier.saturating_sub(self.at)).unwrap_or(usize::MAX).min(lines.len());
        let mut found = vec![0; known];
        self.file.read_exact(&mut found).map_err(|why| not_written(&self.path, why))?;
        if found != lines[..known] {
            return Err(TranscriptError::Exists { path: self.path.clone() });
        }
        self.file.write_all(&lines[known..]).map_err(|why| not_written(&self.path, why))?;
        self.at += lines.len() as u64;
        Ok(())
    }
}
