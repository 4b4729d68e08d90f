//! Transcripts as files: one file for each contract. A file gets its name only when it is complete.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{Path, Stored};
use guildhall_local::{Contents, Journal, SessionId, create_private_dir, hash_text, private_file};

use super::{LineWriter, SessionInfo};
use crate::hall::{Hall, HallError};
use crate::stored::UnreadableText;

/// The longest contract path that is used unchanged as a file name.
const NAME_BYTES_MAX: usize = 150;

/// The end of the name of a file that is not complete yet.
const PARTIAL: &str = ".partial";

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
        let about = Arc::new(SessionInfo::read(self.journal(), row).await);
        let contracts = by_contract(facts);
        let all = contracts.len();
        let not_written = |path: &FilePath, written: usize, source: io::Error| HallError::TranscriptNotWritten {
            path: path.into(),
            written,
            all,
            source,
        };
        let file = |contract: &Path| directory.join(file_name(contract));
        if let Some(path) = contracts.keys().map(file).find(|path| path.symlink_metadata().is_ok()) {
            return Err(HallError::TranscriptExists { path });
        }
        create_private_dir(directory).map_err(|source| not_written(directory, 0, source))?;
        let mut done = WrittenTranscripts { files: Vec::new(), unreadable: Vec::new() };
        for (contract, facts) in &contracts {
            let (path, mut lines) = (file(contract), LineWriter::new(&about, contract));
            let written = write(&path, self.journal(), &mut lines, facts).await;
            written.map_err(|source| not_written(&path, done.files.len(), source))?;
            done.files.push(path);
            done.unreadable.extend(lines.unreadable);
        }
        Ok(done)
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

/// Writes the lines of a contract's facts to a file. The file gets its name when it is complete.
pub(super) async fn write(
    path: &FilePath,
    journal: &Journal,
    lines: &mut LineWriter,
    facts: &[Stored],
) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL);
    let partial = PathBuf::from(partial);
    let written = write_partial(&partial, journal, lines, facts).await.and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The error is more important than a file that can't be removed: its name says that it is not complete.
        let _ = fs::remove_file(&partial);
    }
    written
}

async fn write_partial(
    partial: &FilePath,
    journal: &Journal,
    lines: &mut LineWriter,
    facts: &[Stored],
) -> io::Result<()> {
    let mut to = BufWriter::new(private_file().write(true).truncate(true).open(partial)?);
    for stored in facts {
        for line in lines.lines(journal, stored).await {
            writeln!(to, "{line}")?;
        }
    }
    to.flush()
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
    use guildhall_kernel::Path;

    use super::file_name;

    #[test]
    fn the_longest_paths_have_short_and_different_file_names() {
        let deep = (0..64).fold(Path::root(u32::MAX), |path, _| path.hire(u32::MAX));
        let other = deep.hirer().unwrap().hire(7);
        assert_eq!(file_name(&Path::root(1).hire(2)), "1.2.jsonl");
        assert!(file_name(&deep).len() < 200 && file_name(&deep) != file_name(&other));
    }
}
