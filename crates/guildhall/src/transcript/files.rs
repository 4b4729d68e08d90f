//! Transcripts as files: one file for each contract. A file gets its name only when it is complete, and replaces no other file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path as FilePath, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use guildhall_kernel::{Path, Stored};
use guildhall_local::{Contents, Journal, SessionId, create_private_dir, hash_text, private_file};

use super::live::PENDING_BYTES_MAX;
use super::thread::FileThread;
use super::{LineWriter, SessionInfo, TranscriptError, not_written};
use crate::hall::{Hall, HallError};
use crate::stored::UnreadableText;

/// The longest contract path that is used unchanged as a file name.
const NAME_BYTES_MAX: usize = 150;

/// How many names are tried for a file that is not complete yet.
const NAMES_MAX: u32 = 1000;

/// The result of [`Hall::write_transcripts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTranscripts {
    /// The files, in the order of the contracts.
    pub files: Vec<PathBuf>,
    /// The texts that can't be read. The lines say so in their places.
    pub unreadable: Vec<UnreadableText>,
}

impl Hall {
    /// Writes the transcripts of all contracts of a session into a directory, which is created if necessary. Existing files are
    /// not replaced. After an error, the files that have their names are complete.
    pub async fn write_transcripts(
        &self,
        session: &SessionId,
        directory: &FilePath,
    ) -> Result<WrittenTranscripts, HallError> {
        let Contents { row, facts, .. } = self.journal().contents(session).await?;
        let about = Arc::new(SessionInfo::read(self.journal(), row).await?);
        let contracts = by_contract(facts);
        if contracts.is_empty() {
            let (session, contract) = (session.clone(), Path::root(1));
            return Err(HallError::NoContract { session, contract, known: String::new() });
        }
        let mut done = WrittenTranscripts { files: Vec::new(), unreadable: Vec::new() };
        let written = write_all(self.journal(), &about, &contracts, directory, &mut done).await;
        let (written_so_far, all) = (done.files.len(), contracts.len());
        written.map_err(|why| HallError::TranscriptsNotWritten { why, written: written_so_far, all })?;
        // Several facts can name the same text.
        let mut seen = BTreeSet::new();
        done.unreadable.retain(|text| seen.insert(text.why.of().hash));
        Ok(done)
    }
}

async fn write_all(
    journal: &Journal,
    about: &Arc<SessionInfo>,
    contracts: &BTreeMap<Path, Vec<Stored>>,
    directory: &FilePath,
    done: &mut WrittenTranscripts,
) -> Result<(), TranscriptError> {
    let late = |why| not_written(directory, why);
    let mut thread = FileThread::start(Directory::default()).map_err(late)?;
    let paths: Vec<PathBuf> = contracts.keys().map(|contract| directory.join(file_name(contract))).collect();
    let (names, path) = (paths.clone(), directory.to_owned());
    thread.call(move |to| to.create(&path, &names), late).await?;
    for ((contract, facts), path) in contracts.iter().zip(paths) {
        let mut writer = LineWriter::new(about, contract);
        let name = path.clone();
        thread.call(move |to| to.begin(&name), late).await?;
        let mut bytes = Vec::new();
        let mut rest = facts.iter().peekable();
        while let Some(stored) = rest.next() {
            writer.add_lines(journal, stored, &mut bytes).await;
            if bytes.len() >= PENDING_BYTES_MAX || rest.peek().is_none() {
                let lines = std::mem::take(&mut bytes);
                thread.call(move |to| to.add(&lines), late).await?;
            }
        }
        thread.call(Directory::complete, late).await?;
        done.files.push(path);
        done.unreadable.extend(writer.unreadable);
    }
    Ok(())
}

/// The directory of `--all`, and the file that is being written. Dropping it removes the file and what was created and is empty.
#[derive(Default)]
struct Directory {
    created: NewDirectories,
    file: Option<NewFile>,
}

impl Directory {
    fn create(&mut self, directory: &FilePath, files: &[PathBuf]) -> Result<(), TranscriptError> {
        if let Some(path) = files.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(TranscriptError::Exists { path: path.clone() });
        }
        self.created = NewDirectories::create(directory)?;
        Ok(())
    }

    fn begin(&mut self, path: &FilePath) -> Result<(), TranscriptError> {
        let file = NewFile::create(path).map_err(|why| not_written(path, why))?;
        self.file = Some(file);
        Ok(())
    }

    fn add(&mut self, lines: &[u8]) -> Result<(), TranscriptError> {
        let file = self.file.as_mut().expect("lines are added to a file that was begun");
        file.file.write_all(lines).map_err(|why| not_written(&file.path, why))
    }

    fn complete(&mut self) -> Result<(), TranscriptError> {
        let file = self.file.take().expect("a file that was begun is completed once");
        match file.publish() {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                Err(TranscriptError::Exists { path: file.path.clone() })
            }
            published => published.map_err(|why| not_written(&file.path, why)),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.file = None;
        self.created.remove_empty();
    }
}

/// A file that is not complete yet. It has a name that no other file has, and dropping it removes it.
struct NewFile {
    /// The name that the file gets when it is complete.
    path: PathBuf,
    partial: PathBuf,
    file: File,
}

impl NewFile {
    fn create(path: &FilePath) -> io::Result<NewFile> {
        let (partial, file) = create_unnamed(path)?;
        Ok(NewFile { path: path.to_owned(), partial, file })
    }

    /// Gives the file its name, unless another file has the name meanwhile.
    fn publish(&self) -> io::Result<()> {
        match fs::hard_link(&self.partial, &self.path) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists && self.path.symlink_metadata().is_err() => {
                // Some file systems have no hard links.
                fs::rename(&self.partial, &self.path)
            }
            linked => linked,
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // The file is missing if it was renamed. The name of a file that can't be removed says that it is not complete.
        let _ = fs::remove_file(&self.partial);
    }
}

/// Creates a file whose name begins like this path and ends with `.partial`, and which did not exist.
fn create_unnamed(path: &FilePath) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..NAMES_MAX {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}-{number}.partial", process::id()));
        let name = PathBuf::from(name);
        match private_file().write(true).create_new(true).open(&name) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (name, file)),
        }
    }
    Err(io::Error::other("no name for a new file is free"))
}

/// Makes sure that files can be written in a directory.
pub(super) fn check_writable(directory: &FilePath) -> Result<(), TranscriptError> {
    let created = create_unnamed(&directory.join("check")).and_then(|(path, _)| fs::remove_file(path));
    created.map_err(|why| not_written(directory, why))
}

/// Directories that this program has created, the outermost first.
#[derive(Default)]
pub(super) struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    /// Creates a directory and its parents, as far as they are missing.
    pub(super) fn create(directory: &FilePath) -> Result<NewDirectories, TranscriptError> {
        let mut missing = Vec::new();
        for path in directory.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            match path.metadata() {
                Ok(found) if found.is_dir() => break,
                Ok(_) => return Err(TranscriptError::NotDirectory { path: path.to_owned() }),
                Err(_) => missing.push(path.to_owned()),
            }
        }
        missing.reverse();
        let new = NewDirectories(missing);
        match create_private_dir(directory) {
            Ok(()) => Ok(new),
            Err(why) => {
                new.remove_empty();
                Err(not_written(directory, why))
            }
        }
    }

    /// Removes the directories that are empty.
    pub(super) fn remove_empty(&self) {
        for directory in self.0.iter().rev() {
            // A directory that is not empty stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Sorts the facts of a session by contract.
pub(super) fn by_contract(facts: Vec<Stored>) -> BTreeMap<Path, Vec<Stored>> {
    let mut contracts: BTreeMap<Path, Vec<Stored>> = BTreeMap::new();
    for stored in facts {
        contracts.entry(stored.contract.clone()).or_default().push(stored);
    }
    contracts
}

/// The name of a contract's file. A contract path that is too long for a file name is cut and gets a hash.
pub(super) fn file_name(contract: &Path) -> String {
    let contract = contract.to_string();
    if contract.len() <= NAME_BYTES_MAX {
        return format!("{contract}.jsonl");
    }
    let hash = hash_text(contract.as_bytes()).to_string();
    format!("{}-{}.jsonl", &contract[..NAME_BYTES_MAX], &hash[..16])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write};

    use guildhall_kernel::Path;

    use super::{NewFile, file_name};

    #[test]
    fn a_complete_file_does_not_replace_a_file_that_appeared_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.jsonl");
        let mut file = NewFile::create(&path).unwrap();
        file.file.write_all(b"ours").unwrap();
        fs::write(&path, "mine").unwrap();
        assert_eq!(file.publish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        fs::remove_file(&path).unwrap();
        file.publish().unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "the other name is gone");
    }

    #[test]
    fn the_longest_paths_have_short_and_different_file_names() {
        let deep = (0..64).fold(Path::root(u32::MAX), |path, _| path.hire(u32::MAX));
        let other = deep.hirer().unwrap().hire(7);
        assert_eq!(file_name(&Path::root(1).hire(2)), "1.2.jsonl");
        assert!(file_name(&deep).len() < 200 && file_name(&deep) != file_name(&other));
    }
}
