//! Transcripts: what each agent of a session was shown and what it replied, as JSON lines in the format in which Claude Code
//! writes its own transcripts. They are made from the journal on request, and nothing reads them back. The same facts always
//! give the same bytes.

mod files;
mod line;
mod live;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::vec::IntoIter;

use guildhall_agent::{Conversation, Message, Reply, TextError, Texts, stored_reply};
use guildhall_kernel::{AskKey, Brief, Fact, Hash, Path, Stored, TextKind, TextRef};
use guildhall_local::{Contents, Journal, SessionId, SessionRow, texts_named};

use crate::hall::{Hall, HallError};
use crate::setup::{Staffing, staffings};
use crate::stored::{UnreadableText, stored_text};

pub use self::files::WrittenTranscripts;
use self::line::{Line, Place};
pub(crate) use self::live::LiveTranscripts;

/// How many bytes of one text a transcript shows at most. The complete text is in the journal.
pub const TRANSCRIPT_TEXT_BYTES_MAX: usize = 256 * 1024;

/// How many contracts the error for an unknown contract names.
const NAMED_MAX: usize = 10;

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
            let mut known: Vec<String> = other
                .iter()
                .filter(|stored| stored.fact.opened().is_some())
                .map(|stored| stored.contract.to_string())
                .collect();
            if known.len() > NAMED_MAX {
                known.truncate(NAMED_MAX);
                known.push("…".to_owned());
            }
            let (session, contract) = (session.clone(), contract.clone());
            return Err(HallError::NoContract { session, contract, known: known.join(", ") });
        }
        let about = Arc::new(SessionInfo::read(journal, row).await);
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
#[derive(Debug)]
struct SessionInfo {
    row: SessionRow,
    /// The agents of each root, as far as they can be read.
    staffings: BTreeMap<Path, Staffing>,
}

impl SessionInfo {
    async fn read(journal: &Journal, row: SessionRow) -> SessionInfo {
        // The settings only give the names of models. A transcript without them is better than none.
        let staffings = staffings(journal, &row.id).await.unwrap_or_default();
        SessionInfo { row, staffings }
    }

    fn model(&self, brief: &Brief) -> Option<&str> {
        self.staffings.get(&brief.path.top())?.model_of(brief)
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

    /// Returns the lines of the contract's next fact.
    async fn lines(&mut self, journal: &Journal, stored: &Stored) -> Vec<String> {
        let named = texts_named(&stored.fact);
        let mut texts = FactTexts::default();
        for of in named.iter().copied().chain(self.conversation.texts_of(&stored.fact)) {
            texts.load(journal, of, &stored.fact).await;
        }
        let unreadable = named.iter().filter_map(|of| texts.why_not(of));
        let unreadable = unreadable.map(|why| UnreadableText { contract: self.contract.clone(), why: why.clone() });
        self.unreadable.extend(unreadable);
        let mut lines = Vec::new();
        if let Fact::Opened(brief) = &stored.fact {
            self.model = self.about.model(brief).map(str::to_owned);
            let opening = brief.opening.as_deref().map(|of| texts.text_or_why(of));
            lines.push(self.line(stored, Line::opening(brief, opening.as_deref())));
        }
        let shown = match self.conversation.add(&stored.fact, &texts) {
            Ok(Some(Message::Assistant(reply))) => self.reply(&stored.fact, &reply),
            Ok(Some(Message::User(parts))) => Line::user(&parts),
            Ok(None) => Line::system(&stored.fact),
            // `FactTexts` has something in the place of each text.
            Err(why) => unreachable!("a text that was not loaded is needed: {why}"),
        };
        let shown = shown.with_fact(stored, &named, &texts);
        lines.push(self.line(stored, shown));
        lines
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
struct FactTexts(BTreeMap<Hash, Result<String, TextError>>);

impl FactTexts {
    async fn load(&mut self, journal: &Journal, of: TextRef, fact: &Fact) {
        // The opening of a hire is in the transcript of the hire.
        let is_of_hire = of.kind == TextKind::Opening && fact.opened().is_none();
        if !is_of_hire && !self.0.contains_key(&of.hash) {
            self.0.insert(of.hash, stored_text(journal, of).await);
        }
    }

    fn get(&self, of: &TextRef) -> Result<&String, TextError> {
        self.0.get(&of.hash).map_or(Err(TextError::Missing(*of)), |text| text.as_ref().map_err(Clone::clone))
    }

    /// Returns why a text that was loaded can't be read.
    fn why_not(&self, of: &TextRef) -> Option<&TextError> {
        self.0.get(&of.hash)?.as_ref().err()
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
        let says = self.get(of).map_err(|why| TextError::NotReply { of: *of, why: why.to_string() })?;
        stored_reply(of, says).map(Arc::new)
    }
}
