//! Transcripts: what each agent of a session was shown and what it replied, as JSON lines in the format in which Claude Code
//! writes its own transcripts. They are made from the journal on request, and nothing reads them back. The same facts always
//! give the same bytes.

mod files;
mod line;
mod live;
mod live_files;
mod thread;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, OnceLock};
use std::vec::IntoIter;

use guildhall_agent::{Conversation, Message, Reply, TextError, Texts, stored_reply};
use guildhall_kernel::{AskKey, Brief, Fact, Hash, Path, Stored, TextKind, TextRef};
use guildhall_local::{Contents, Journal, SessionId, SessionRow, texts_named};

use crate::hall::{Hall, HallError};
use crate::opening::StoredOpening;
use crate::setup::{Staffing, readable_staffings};
use crate::stored::{UnreadableText, stored_text};

pub use self::files::WrittenTranscripts;
pub use self::line::timestamp;
use self::line::{Line, Place};
pub(crate) use self::live::{LiveTranscripts, OpenTranscripts, ReadyTranscripts, TranscriptFailure};

/// How many bytes of one text a transcript shows at most. The complete text is in the journal.
pub const TRANSCRIPT_TEXT_BYTES_MAX: usize = 256 * 1024;

/// How many contracts the error for an unknown contract names.
const NAMED_MAX: usize = 10;

/// Why a transcript can't be written.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// Another file is in the place of a transcript.
    #[error("{} exists, and transcripts do not replace other files", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file is in the place of a directory.
    #[error("{} is not a directory", path.display())]
    NotDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The system returned an error.
    #[error("can't write the transcript {}: {source}", path.display())]
    NotWritten {
        /// The file or directory.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

fn not_written(path: &FilePath, source: io::Error) -> TranscriptError {
    TranscriptError::NotWritten { path: path.to_owned(), source }
}

/// The transcript of one contract, read from the journal line by line. [`Hall::transcript`] returns it.
#[derive(Debug)]
pub struct Transcript {
    journal: Journal,
    facts: IntoIter<Stored>,
    lines: VecDeque<String>,
    writer: LineWriter,
}

impl Hall {
    /// Returns the transcript of a contract: what is stored about it now, also while another process runs the session. A session
    /// that was changed after it was stored is an error.
    ///
    /// ```
    /// use guildhall::kernel::Path;
    /// use guildhall::{Hall, Price, Reply, model_fn};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let project = tempfile::tempdir()?;
    /// let clerk = model_fn(|_| async { Reply::words("On Tuesday.") });
    /// let hall = Hall::builder().project(project.path()).model("clerk", clerk, Price::FREE).build()?;
    /// let ended = hall.run("When is the meeting?").await?;
    /// let mut transcript = hall.transcript(&ended.session, &Path::root(1)).await?;
    /// while let Some(line) = transcript.next().await {
    ///     println!("{line}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn transcript(&self, session: &SessionId, contract: &Path) -> Result<Transcript, HallError> {
        let journal = self.journal();
        let Contents { row, facts, .. } = journal.contents(session).await?;
        let (own, other): (Vec<Stored>, Vec<Stored>) =
            facts.into_iter().partition(|stored| stored.contract == *contract);
        if own.is_empty() {
            let known: BTreeSet<&Path> = other.iter().map(|stored| &stored.contract).collect();
            let mut known: Vec<String> = known.into_iter().take(NAMED_MAX + 1).map(Path::to_string).collect();
            if known.len() > NAMED_MAX {
                known.truncate(NAMED_MAX);
                known.push("…".to_owned());
            }
            let (session, contract) = (session.clone(), contract.clone());
            return Err(HallError::NoContract { session, contract, known: known.join(", ") });
        }
        let about = Arc::new(SessionInfo::read(journal, row).await?);
        let writer = LineWriter::new(&about, contract);
        Ok(Transcript { journal: journal.clone(), facts: own.into_iter(), lines: VecDeque::new(), writer })
    }
}

impl Transcript {
    /// Returns the next line, without its line end, and `None` after the last one.
    pub async fn next(&mut self) -> Option<String> {
        while self.lines.is_empty() {
            let stored = self.facts.next()?;
            self.lines = self.writer.lines(&self.journal, &stored).await.into();
        }
        self.lines.pop_front()
    }

    /// Returns the texts of the lines so far that can't be read. The lines say so in their places.
    pub fn unreadable(&self) -> &[UnreadableText] {
        &self.writer.unreadable
    }
}

/// What the lines of all contracts of a session have in common.
#[derive(Clone, Debug)]
struct SessionInfo {
    row: SessionRow,
    /// The agents of each root, or why its settings can't be read. A transcript without the names of models is better than none.
    staffings: BTreeMap<Path, Result<Staffing, TextError>>,
}

impl SessionInfo {
    async fn read(journal: &Journal, row: SessionRow) -> Result<SessionInfo, HallError> {
        let staffings = readable_staffings(journal, &row.id).await?;
        Ok(SessionInfo { row, staffings })
    }

    /// Adds a root that was requested after this was read.
    fn with(&self, root: &Path, staffing: &Staffing) -> SessionInfo {
        let mut info = self.clone();
        info.staffings.insert(root.clone(), Ok(staffing.clone()));
        info
    }

    /// Returns the model of a contract. A task list has none.
    fn model(&self, brief: &Brief) -> Result<Option<&str>, &TextError> {
        match self.staffings.get(&brief.path.top()) {
            Some(Ok(staffing)) => Ok(staffing.model_of(brief)),
            Some(Err(why)) => Err(why),
            None => Ok(None),
        }
    }
}

/// Turns the facts of one contract into lines, one fact after another.
#[derive(Debug)]
struct LineWriter {
    about: Arc<SessionInfo>,
    contract: Path,
    conversation: Conversation,
    model: Option<String>,
    /// The id of the line before.
    parent: Option<String>,
    unreadable: Vec<UnreadableText>,
}

impl LineWriter {
    fn new(about: &Arc<SessionInfo>, contract: &Path) -> LineWriter {
        LineWriter {
            about: Arc::clone(about),
            contract: contract.clone(),
            conversation: Conversation::default(),
            model: None,
            parent: None,
            unreadable: Vec::new(),
        }
    }

    /// Adds the lines of the contract's next fact, each with its line end.
    async fn add_lines(&mut self, journal: &Journal, stored: &Stored, to: &mut Vec<u8>) {
        for line in self.lines(journal, stored).await {
            to.extend(line.bytes().chain([b'\n']));
        }
    }

    /// Adds a text that can't be read, once.
    fn note_unreadable(&mut self, why: TextError) {
        if !self.unreadable.iter().any(|text| text.why.of().hash == why.of().hash) {
            self.unreadable.push(UnreadableText { contract: self.contract.clone(), why });
        }
    }

    /// Returns the lines of the contract's next fact.
    async fn lines(&mut self, journal: &Journal, stored: &Stored) -> Vec<String> {
        let named = texts_named(&stored.fact);
        let mut texts = FactTexts::default();
        for of in named.iter().copied().chain(self.conversation.texts_of(&stored.fact)) {
            texts.load(journal, of, &stored.fact).await;
        }
        for why in named.iter().filter_map(|of| texts.why_not(of)) {
            self.note_unreadable(why);
        }
        let mut lines = Vec::new();
        if let Fact::Opened(brief) = &stored.fact {
            lines.push(self.opening(stored, brief, &texts));
        }
        let shown = match self.conversation.add(&stored.fact, &texts) {
            Ok(Some(Message::Assistant(reply))) => self.reply(&stored.fact, &reply),
            Ok(Some(Message::User(parts))) => Line::user(&parts),
            Ok(None) => Line::system(&stored.fact),
            // `FactTexts` has something in the place of each text.
            Err(why) => unreachable!("a text that was not loaded is needed: {why}"),
        };
        if let Some(why) = texts.invalid_reply.take() {
            self.note_unreadable(why);
        }
        let shown = shown.with_fact(stored, &named, &texts);
        lines.push(self.line(stored, shown));
        lines
    }

    /// The first line: the system prompt and the tools.
    fn opening(&mut self, stored: &Stored, brief: &Brief, texts: &FactTexts) -> String {
        match self.about.model(brief).map(|model| model.map(str::to_owned)).map_err(Clone::clone) {
            Ok(model) => self.model = model,
            Err(why) => self.note_unreadable(why),
        }
        let opening = brief.opening.as_deref().map(|of| texts.opening(of));
        if let Some(Err(why)) = &opening {
            self.note_unreadable(why.clone());
        }
        let line = Line::opening(&self.about.row.id, brief, opening);
        self.line(stored, line)
    }

    fn reply(&self, fact: &Fact, reply: &Reply) -> Line {
        let (ask, said) = fact.said().expect("only this fact adds a reply to the conversation");
        Line::assistant(&AskKey { contract: self.contract.clone(), ask }, said, reply, self.model.as_deref())
    }

    fn line(&mut self, stored: &Stored, line: Line) -> String {
        let place = Place { row: &self.about.row, stored, parent: self.parent.as_deref() };
        let (id, line) = line.written(&place);
        self.parent = Some(id);
        line
    }
}

/// The texts that the line of a fact needs.
#[derive(Debug, Default)]
struct FactTexts {
    texts: BTreeMap<Hash, Result<String, TextError>>,
    /// A reply that can be read but is not valid.
    invalid_reply: OnceLock<TextError>,
}

impl FactTexts {
    async fn load(&mut self, journal: &Journal, of: TextRef, fact: &Fact) {
        // The opening of a hire is in the transcript of the hire.
        let is_of_hire = of.kind == TextKind::Opening && fact.opened().is_none();
        if !is_of_hire && !self.texts.contains_key(&of.hash) {
            self.texts.insert(of.hash, stored_text(journal, of).await);
        }
    }

    fn get(&self, of: &TextRef) -> Result<&String, TextError> {
        self.texts.get(&of.hash).map_or(Err(TextError::Missing(*of)), |text| text.as_ref().map_err(Clone::clone))
    }

    /// Returns why a text that was loaded can't be read.
    fn why_not(&self, of: &TextRef) -> Option<TextError> {
        self.texts.get(&of.hash)?.as_ref().err().cloned()
    }

    fn opening(&self, of: &TextRef) -> Result<StoredOpening, TextError> {
        let invalid = |why: serde_json::Error| TextError::Invalid { of: *of, why: why.to_string() };
        StoredOpening::read(self.get(of)?).map_err(invalid)
    }

    /// Returns a text, or why it can't be read.
    fn text_or_why(&self, of: &TextRef) -> String {
        self.get(of).map_or_else(|why| format!("[{why}]"), Clone::clone)
    }
}

impl Texts for FactTexts {
    fn text(&self, of: &TextRef) -> Result<String, TextError> {
        Ok(self.text_or_why(of))
    }

    /// Returns a reply. One that can't be read counts as not valid, so that a placeholder is shown for it.
    fn reply(&self, of: &TextRef) -> Result<Arc<Reply>, TextError> {
        let says = self.get(of).map_err(|why| TextError::Invalid { of: *of, why: why.to_string() })?;
        let reply = stored_reply(of, says).map(Arc::new);
        reply.inspect_err(|why| {
            self.invalid_reply.get_or_init(|| why.clone());
        })
    }
}

#[cfg(test)]
mod tests {
    use guildhall_agent::TextError;
    use guildhall_kernel::{TextKind, TextRef};
    use guildhall_local::hash_text;

    use super::FactTexts;

    #[test]
    fn a_stored_prompt_that_is_not_json_can_t_be_read() {
        let says = "not JSON";
        let of = TextRef { hash: hash_text(says.as_bytes()), bytes: 8, kind: TextKind::Opening };
        let mut texts = FactTexts::default();
        texts.texts.insert(of.hash, Ok(says.to_owned()));
        assert!(matches!(texts.opening(&of), Err(TextError::Invalid { .. })));
    }
}
