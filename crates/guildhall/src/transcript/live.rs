//! Transcripts that are written while a session runs. The work does not wait for them, and an error here does not stop it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{Fact, Path, Stored};
use guildhall_local::{Contents, Journal, JournalError, SessionId, Subscription, create_private_dir, private_file};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::files::{by_contract, file_name, write};
use super::{LineWriter, SessionInfo};
use crate::builder::WarnFn;
use crate::hall::{Hall, HallError};

/// How many bytes of lines are collected before they are written.
const PENDING_BYTES_MAX: usize = 1024 * 1024;

/// The task that writes the transcripts of a running session. Dropping it stops the task.
pub(crate) struct LiveTranscripts {
    /// Dropped when the work has ended.
    working: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Hall {
    /// Makes sure that the transcripts of a session can be written and replace only their own earlier states, before the work
    /// costs anything. The session may not exist yet.
    pub(crate) async fn check_transcripts(&self, session: &SessionId) -> Result<(), HallError> {
        let Some(directory) = self.transcripts_of(session) else { return Ok(()) };
        let probe = directory.join(".writable");
        let open = || private_file().write(true).open(&probe);
        let checked = create_private_dir(&directory).and_then(|()| open()).and_then(|_| fs::remove_file(&probe));
        checked.map_err(|source| not_written(&directory, source))?;
        let Contents { row, facts, .. } = match self.journal().contents(session).await {
            Err(JournalError::UnknownSession { .. }) => return Ok(()),
            contents => contents?,
        };
        let about = Arc::new(SessionInfo::read(self.journal(), row).await);
        for (contract, facts) in by_contract(facts) {
            let path = directory.join(file_name(&contract));
            let first = LineWriter::new(&about, &contract).lines(self.journal(), &facts[0]).await;
            if !can_replace(&path, &first[0]).map_err(|source| not_written(&path, source))? {
                return Err(HallError::TranscriptExists { path });
            }
        }
        Ok(())
    }

    /// The directory of a session's transcripts, if they are written while it runs.
    fn transcripts_of(&self, session: &SessionId) -> Option<PathBuf> {
        Some(self.transcripts()?.join(session.as_str()))
    }
}

fn not_written(path: &FilePath, source: io::Error) -> HallError {
    HallError::TranscriptNotWritten { path: path.into(), written: 0, all: 0, source }
}

impl LiveTranscripts {
    /// Writes the transcripts of what is stored so far, and starts the task that adds the facts to come. Returns `None` if the
    /// hall writes no transcripts.
    pub(crate) async fn start(hall: &Hall, session: &SessionId) -> Result<Option<LiveTranscripts>, HallError> {
        let Some(directory) = hall.transcripts_of(session) else { return Ok(None) };
        let journal = hall.journal().clone();
        let Contents { row, facts, head, .. } = journal.contents(session).await?;
        let about = Arc::new(SessionInfo::read(&journal, row).await);
        let facts_to_come = journal.subscribe(session, head.facts.saturating_add(1));
        create_private_dir(&directory).map_err(|source| not_written(&directory, source))?;
        let mut open = BTreeMap::new();
        for (contract, facts) in by_contract(facts) {
            let (path, mut lines) = (directory.join(file_name(&contract)), LineWriter::new(&about, &contract));
            let written = write(&path, &journal, &mut lines, &facts).await;
            written.map_err(|source| not_written(&path, source))?;
            if !facts.last().is_some_and(is_closed) {
                open.insert(contract, lines);
            }
        }
        let files = Files { directory, journal, about, open, pending: BTreeMap::new(), bytes: 0 };
        let (working, over) = oneshot::channel();
        let task = tokio::spawn(follow(files, facts_to_come, over, hall.warner()));
        Ok(Some(LiveTranscripts { working: Some(working), task }))
    }

    /// Waits until the transcripts have everything that is stored.
    pub(crate) async fn finish(mut self) {
        self.working = None;
        if let Err(stopped) = (&mut self.task).await
            && let Ok(panic) = stopped.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for LiveTranscripts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether a file is missing, or is an earlier state of the transcript that begins with this line. A session of another journal
/// can have the same name.
fn can_replace(path: &FilePath, first: &str) -> io::Result<bool> {
    let file = match File::open(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    let mut beginning = Vec::new();
    file.take(first.len() as u64).read_to_end(&mut beginning)?;
    // A crash can leave a part of the line.
    Ok(first.as_bytes().starts_with(&beginning))
}

fn is_closed(stored: &Stored) -> bool {
    matches!(stored.fact, Fact::Closed(_))
}

/// Adds facts to the files until the work is over and all its facts are written.
async fn follow(mut files: Files, mut facts: Subscription, mut over: oneshot::Receiver<()>, warn: WarnFn) {
    let mut is_over = false;
    loop {
        let next = if is_over {
            facts.try_next().await
        } else {
            tokio::select! {
                biased;
                next = facts.next() => next.map(Some),
                _ = &mut over => {
                    is_over = true;
                    continue;
                }
            }
        };
        let written = match next {
            Ok(Some(stored)) => files.add(&stored, facts.has_more()).await,
            Ok(None) => return,
            Err(why) => Err((files.directory.clone(), io::Error::other(why))),
        };
        if let Err((path, why)) = written {
            let (id, path) = (&files.about.row.id, path.display());
            return warn(&format!(
                "can't write the transcript {path}: {why}. The work continues without transcripts, and nothing else is lost. \
                 When there is room, run: guildhall transcript {id} --all DIR"
            ));
        }
    }
}

/// The files of a session.
struct Files {
    directory: PathBuf,
    journal: Journal,
    about: Arc<SessionInfo>,
    /// The contracts that have not closed.
    open: BTreeMap<Path, LineWriter>,
    /// The lines that are not written yet.
    pending: BTreeMap<Path, Vec<u8>>,
    bytes: usize,
}

impl Files {
    /// Adds a fact. It is written together with the facts that follow immediately. An error comes with the path of the file.
    async fn add(&mut self, stored: &Stored, more_follow: bool) -> Result<(), (PathBuf, io::Error)> {
        let contract = &stored.contract;
        if stored.fact.opened().is_some() {
            self.check_new(contract)?;
        }
        let writer = self.open.entry(contract.clone()).or_insert_with(|| LineWriter::new(&self.about, contract));
        let pending = self.pending.entry(contract.clone()).or_default();
        for line in writer.lines(&self.journal, stored).await {
            pending.extend(line.bytes().chain([b'\n']));
            self.bytes += line.len();
        }
        if is_closed(stored) {
            self.open.remove(contract);
        }
        if more_follow && self.bytes < PENDING_BYTES_MAX { Ok(()) } else { self.write() }
    }

    /// Makes sure that a new contract has no file yet. A session of another journal can have the same name.
    fn check_new(&self, contract: &Path) -> Result<(), (PathBuf, io::Error)> {
        let path = self.directory.join(file_name(contract));
        if path.symlink_metadata().is_ok() {
            return Err((path, io::ErrorKind::AlreadyExists.into()));
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), (PathBuf, io::Error)> {
        self.bytes = 0;
        for (contract, lines) in std::mem::take(&mut self.pending) {
            let path = self.directory.join(file_name(&contract));
            let written = private_file().append(true).open(&path).and_then(|mut file| file.write_all(&lines));
            written.map_err(|why| (path, why))?;
        }
        Ok(())
    }
}
