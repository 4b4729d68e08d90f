//! Transcripts that are written while a session runs. The work does not wait for them, and an error here does not stop it.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock};

use guildhall_kernel::{Fact, Path, Stored};
use guildhall_local::{Contents, Journal, SessionId, Subscription};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::files::by_contract;
use super::live_files::{EarlierFile, Lines, LiveFiles};
use super::thread::FileThread;
use super::{LineWriter, SessionInfo, TranscriptError, not_written};
use crate::builder::WarnFn;
use crate::hall::{Hall, HallError};
use crate::setup::Setup;

/// How many bytes of lines are collected before they are written.
pub(super) const PENDING_BYTES_MAX: usize = 1024 * 1024;

/// Why the transcripts of running work are not complete, as soon as that is known.
pub(crate) type TranscriptFailure = Arc<OnceLock<String>>;

/// A directory in which the transcripts of a session can be written. Dropping it removes what was created and is empty.
pub(crate) struct OpenTranscripts {
    directory: PathBuf,
    files: FileThread<LiveFiles>,
}

impl Hall {
    /// Makes sure that the transcripts of a session can be written, before the work costs anything. Returns `None` if the hall
    /// writes no transcripts. The session may not exist yet.
    pub(crate) async fn open_transcripts(&self, session: &SessionId) -> Result<Option<OpenTranscripts>, HallError> {
        let Some(directory) = self.transcripts().map(|all| all.join(session.as_str())) else { return Ok(None) };
        OpenTranscripts::open(directory).await.map(Some).map_err(HallError::TranscriptsNotStarted)
    }
}

impl OpenTranscripts {
    async fn open(directory: PathBuf) -> Result<OpenTranscripts, TranscriptError> {
        let late = |why| not_written(&directory, why);
        let mut files = FileThread::start(LiveFiles::new(&directory)).map_err(late)?;
        files.call(LiveFiles::create, late).await?;
        Ok(OpenTranscripts { directory, files })
    }

    /// Writes the transcripts of what is stored so far. `root` is the root that is to run. After an error, the files are as they
    /// were before.
    pub(crate) async fn catch_up(
        self,
        hall: &Hall,
        session: &SessionId,
        root: &Path,
    ) -> Result<ReadyTranscripts, HallError> {
        let journal = hall.journal().clone();
        let Contents { row, facts, head, .. } = journal.contents(session).await?;
        let about = Arc::new(SessionInfo::read(&journal, row).await?);
        let OpenTranscripts { directory, files } = self;
        let mut ready = ReadyTranscripts {
            directory,
            files,
            journal,
            about,
            open: BTreeMap::new(),
            next: head.facts.saturating_add(1),
        };
        ready.write_earlier(facts, root).await.map_err(HallError::TranscriptsNotStarted)?;
        Ok(ready)
    }
}

/// The transcripts of a session that has everything that is stored so far. Dropping this undoes what was written.
pub(crate) struct ReadyTranscripts {
    directory: PathBuf,
    files: FileThread<LiveFiles>,
    journal: Journal,
    about: Arc<SessionInfo>,
    /// The contracts that have not closed.
    open: BTreeMap<Path, LineWriter>,
    /// The number of the next fact.
    next: u64,
}

impl ReadyTranscripts {
    async fn call<T: Send + 'static>(
        &mut self,
        call: impl FnOnce(&mut LiveFiles) -> Result<T, TranscriptError> + Send + 'static,
    ) -> Result<T, TranscriptError> {
        self.files.call(call, |why| not_written(&self.directory, why)).await
    }

    async fn write_earlier(&mut self, facts: Vec<Stored>, root: &Path) -> Result<(), TranscriptError> {
        let contracts = by_contract(facts);
        if !contracts.contains_key(root) {
            let root = root.clone();
            self.call(move |files| files.check_missing(&root)).await?;
        }
        for (contract, facts) in contracts {
            self.write_contract(contract, &facts).await?;
        }
        Ok(())
    }

    async fn write_contract(&mut self, contract: Path, facts: &[Stored]) -> Result<(), TranscriptError> {
        let mut writer = LineWriter::new(&self.about, &contract);
        let of = contract.clone();
        let mut file: EarlierFile = self.call(move |files| files.open_earlier(&of)).await?;
        let mut bytes = Vec::new();
        let mut rest = facts.iter().peekable();
        while let Some(stored) = rest.next() {
            writer.add_lines(&self.journal, stored, &mut bytes).await;
            if bytes.len() >= PENDING_BYTES_MAX || rest.peek().is_none() {
                let lines = std::mem::take(&mut bytes);
                file = self.call(move |_| file.add(&lines).map(|()| file)).await?;
            }
        }
        let is_open = !facts.last().is_some_and(is_closed);
        self.call(move |files| files.close_earlier(file, is_open)).await?;
        if is_open {
            self.open.insert(contract, writer);
        }
        Ok(())
    }

    /// Starts the task that adds the facts to come. From now on, nothing is undone.
    pub(crate) fn begin(mut self, hall: &Hall, setup: &Setup) -> LiveTranscripts {
        self.files.send(LiveFiles::begin);
        let ReadyTranscripts { directory, files, journal, about, open, next } = self;
        let about = Arc::new(about.with(&setup.brief.path, &setup.staffing));
        let facts = journal.subscribe(&about.row.id, next);
        let failure = TranscriptFailure::default();
        let writing =
            Writing { directory: directory.clone(), files, journal, about, open, pending: BTreeMap::new(), bytes: 0 };
        let (working, over) = oneshot::channel();
        let task = tokio::spawn(follow(writing, facts, over, hall.warner(), Arc::clone(&failure)));
        LiveTranscripts { directory, working: Some(working), task, failure }
    }
}

/// The task that writes the transcripts of a running session. Dropping it stops the task.
pub(crate) struct LiveTranscripts {
    directory: PathBuf,
    /// Dropped when the work has ended.
    working: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    failure: TranscriptFailure,
}

impl LiveTranscripts {
    /// The directory of the files.
    pub(crate) fn directory(&self) -> &FilePath {
        &self.directory
    }

    /// Why the transcripts are not complete, as soon as that is known.
    pub(crate) fn failure(&self) -> &TranscriptFailure {
        &self.failure
    }

    /// Waits until the transcripts have everything that is stored, or can't be written.
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

fn is_closed(stored: &Stored) -> bool {
    matches!(stored.fact, Fact::Closed(_))
}

/// Adds facts to the files until the work is over and all its facts are written.
async fn follow(
    mut writing: Writing,
    mut facts: Subscription,
    mut over: oneshot::Receiver<()>,
    warn: WarnFn,
    failure: TranscriptFailure,
) {
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
            Ok(Some(stored)) => writing.add(&stored, facts.has_more()).await,
            Ok(None) => return,
            Err(why) => Err(not_written(&writing.directory, std::io::Error::other(why))),
        };
        if let Err(why) = written {
            let why = failure.get_or_init(|| why.to_string());
            let id = &writing.about.row.id;
            return warn(&format!(
                "{why}. The work continues without transcripts, and nothing else is lost. To write them later, run: \
                 guildhall transcript {id} --all DIR"
            ));
        }
    }
}

/// The transcripts of a session that are being written.
struct Writing {
    directory: PathBuf,
    files: FileThread<LiveFiles>,
    journal: Journal,
    about: Arc<SessionInfo>,
    /// The contracts that have not closed.
    open: BTreeMap<Path, LineWriter>,
    /// The lines that are not written yet.
    pending: BTreeMap<Path, Lines>,
    bytes: usize,
}

impl Writing {
    /// Adds a fact. It is written together with the facts that follow immediately.
    async fn add(&mut self, stored: &Stored, more_follow: bool) -> Result<(), TranscriptError> {
        let contract = &stored.contract;
        let writer = self.open.entry(contract.clone()).or_insert_with(|| LineWriter::new(&self.about, contract));
        let lines = self.pending.entry(contract.clone());
        let lines = lines.or_insert_with(|| Lines { contract: contract.clone(), bytes: Vec::new(), are_last: false });
        let before = lines.bytes.len();
        writer.add_lines(&self.journal, stored, &mut lines.bytes).await;
        self.bytes += lines.bytes.len() - before;
        if is_closed(stored) {
            lines.are_last = true;
            self.open.remove(contract);
        }
        if more_follow && self.bytes < PENDING_BYTES_MAX { Ok(()) } else { self.write().await }
    }

    async fn write(&mut self) -> Result<(), TranscriptError> {
        self.bytes = 0;
        let lines = std::mem::take(&mut self.pending).into_values().collect();
        self.files.call(|files| files.append(lines), |why| not_written(&self.directory, why)).await
    }
}
