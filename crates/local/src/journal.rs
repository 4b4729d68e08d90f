//! The journal: facts, texts and accounts of all sessions in one SQLite database. What it acknowledges is durable, and it
//! never changes or loses what is stored.
//!
//! Texts must have been redacted before they are handed over: a text's hash is in the facts that name it, so nothing can be
//! taken out of it here any more.

mod chain;
mod error;
pub(crate) mod heads;
mod marker;
mod readers;
pub(crate) mod rows;
pub(crate) mod schema;
mod subscription;
#[cfg(test)]
mod tests;
mod unwritable;
pub(crate) mod verify;
pub(crate) mod walk;
mod writer;

use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{Cause, Fact, Hash, Millis, Path, SessionFact, Stored, TextRef};
use rusqlite::Connection;

pub(crate) use self::chain::Fault;
pub use self::chain::{Broken, HallBroken, Head, HeadError, hash_text};
pub use self::error::JournalError;
pub use self::schema::SCHEMA;
pub use self::subscription::Subscription;
pub use self::writer::Counts;

use self::heads::{Change, SessionHead};
use self::readers::Readers;
pub use self::rows::texts_named;
use self::rows::{Prepared, Shared};
use self::schema::Reading;
use self::subscription::Heads;
use self::walk::Which;
pub(crate) use self::writer::Queued;
use self::writer::Writer;
use crate::clock::UnixMs;
use crate::id::SessionId;
use crate::inbox;
use crate::lease::{self, Lease};
use crate::transcript::{Transcripts, Trouble, WriterSignal};

/// The longest text that is stored, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The database's name in the journal's directory.
const DATABASE: &str = "journal.db";

/// How large the journal may become. Without a limit, the disk is the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Pages of 4 KiB; a journal that needs more is full, as if the disk were.
    pub pages_max: Option<u32>,
}

/// A session to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// When it begins.
    pub created_at: UnixMs,
    /// The root of the project that it is about.
    pub project: String,
    /// What people see in lists.
    pub label: String,
}

/// A session as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// When it began.
    pub created_at: UnixMs,
    /// The root of the project that it is about.
    pub project: String,
    /// What people see in lists.
    pub label: String,
    /// How many facts it has.
    pub facts: u64,
}

/// All that is stored of a session but its texts, from one moment: checked against its hashes and its head.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Its id, its project and its label.
    pub row: SessionRow,
    /// Its facts.
    pub facts: Vec<Stored>,
    /// The facts of its account.
    pub account: Vec<SessionFact>,
    /// Where it stands.
    pub head: Head,
}

/// All facts of one step of one contract: stored together or not at all, and the texts with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whose facts.
    pub contract: Path,
    /// When they happened.
    pub at: Millis,
    /// What they followed from.
    pub cause: Cause,
    /// What happened.
    pub facts: Vec<Fact>,
    /// The texts that they name and that may not be stored yet, redacted.
    pub texts: Vec<(TextRef, Vec<u8>)>,
    /// The command of the inbox that is carried out by them: marked with them, so that a crash repeats none.
    pub done: Option<u64>,
    /// What happens to the session's account with them: money that a person adds is there and heard, or neither.
    pub account: Vec<SessionFact>,
}

/// Facts of a session's account, likewise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBatch {
    /// When they happened.
    pub at: Millis,
    /// What happened.
    pub facts: Vec<SessionFact>,
    /// The texts that they name and that may not be stored yet.
    pub texts: Vec<(TextRef, Vec<u8>)>,
    /// The command of the inbox that is carried out by them: marked with them, so that a crash repeats none.
    pub done: Option<u64>,
}

/// What became durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The numbers of the facts.
    pub seqs: Range<u64>,
    /// The chain's hash after the last of them.
    pub hash: Hash,
}

/// The journal of a hall. Clones share one writer; the last to be dropped waits until what has queued up is stored.
///
/// A journal that can't be written can be read: whatever is to be stored is then refused, and [`Journal::unwritable`] says why.
///
/// ```
/// use guildhall_kernel::{Cause, Fact, Millis, Path};
/// use guildhall_local::{Batch, Journal, NewSession, UnixMs};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let journal = Journal::open(dir.path())?;
/// let (id, now) = ("brave-otter".parse()?, UnixMs::now());
/// journal.create(NewSession { id, created_at: now, project: "/ship".into(), label: "Fix the build".into() }).await?;
/// let lease = journal.lease(&"brave-otter".parse()?, now).await?;
///
/// let facts = vec![Fact::Compacted { upto: 3, bytes: 100 }];
/// let (contract, at, cause) = (Path::root(1), Millis(5), Cause::Tick);
/// let stored = journal.append(&lease, Batch { contract, at, cause, facts, texts: vec![], done: None, account: vec![] }).await?;
/// assert_eq!(stored.seqs, 1..2); // durable from here on
///
/// let mut facts = journal.subscribe(lease.session(), 1);
/// assert_eq!(facts.next().await?.seq, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Journal(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    mode: Mode,
    readers: Readers,
    heads: Arc<Heads>,
    dir: PathBuf,
}

#[derive(Debug)]
enum Mode {
    // The order of the fields is the order of the end: the writer stores what has queued up, then the transcripts follow it.
    Writing { writer: Writer, transcripts: Transcripts },
    Reading { why: JournalError },
}

impl Journal {
    /// Opens the journal in this directory, or begins one. Blocks until that is done.
    pub fn open(dir: &FilePath) -> Result<Journal, JournalError> {
        Journal::open_within(dir, Limits::default())
    }

    /// Opens a journal that may not outgrow these limits.
    pub fn open_within(dir: &FilePath, limits: Limits) -> Result<Journal, JournalError> {
        schema::check_version()?;
        let (mode, readers) = match unwritable::why(dir).map_or_else(|| schema::open(dir, limits), Err) {
            Ok(db) => {
                let file = dir.join(DATABASE);
                let transcripts = Transcripts::start(dir, &file)?;
                let writer = Writer::start(db, dir)?;
                (Mode::Writing { writer, transcripts }, Readers::new(file, Reading::Shared))
            }
            Err(why @ (JournalError::ReadOnly { .. } | JournalError::LogMissing { .. })) => {
                let readers = unwritable::readers(dir)?;
                let why = unwritable::refuse_loss(dir, &readers).err().unwrap_or(why);
                (Mode::Reading { why }, readers)
            }
            Err(error) => return Err(error),
        };
        Ok(Journal(Arc::new(Inner { mode, readers, heads: Arc::default(), dir: dir.into() })))
    }

    /// Returns why nothing can be stored, if nothing can: the directory is not writable, or commits are missing.
    pub fn unwritable(&self) -> Option<&JournalError> {
        match &self.0.mode {
            Mode::Writing { .. } => None,
            Mode::Reading { why } => Some(why),
        }
    }

    /// Begins a session.
    pub async fn create(&self, new: NewSession) -> Result<(), JournalError> {
        let work = move |change: &mut Change<'_>| {
            let created_at = new.created_at.0.cast_signed();
            let sql = "INSERT INTO session (id, created_at, project, label) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT (id) DO NOTHING";
            if change.db.execute(sql, (new.id.as_str(), created_at, &new.project, &new.label))? == 0 {
                return Err(JournalError::SessionExists { session: new.id });
            }
            let about = heads::about(&new.id, created_at, new.project.as_bytes(), new.label.as_bytes());
            change.begin(&new.id, about);
            Ok(())
        };
        self.writer()?.run(0, work, |()| {}).await
    }

    /// Stores the facts of one step and returns when they are durable. Once they have queued up, dropping it undoes nothing.
    pub async fn append(&self, lease: &Lease, batch: Batch) -> Result<Appended, JournalError> {
        self.queue(lease, batch).await?.durable().await
    }

    /// Gives the facts of one step their place among all that is to be stored. They are durable later.
    pub(crate) async fn queue(&self, lease: &Lease, batch: Batch) -> Result<Queued<Appended>, JournalError> {
        let shared = Shared::new(&batch.contract, batch.at, &batch.cause)?;
        let prepared = Prepared::new(&batch.facts, batch.texts)?;
        let account = Prepared::new(&batch.account, Vec::new())?;
        let (token, bytes) = (lease.token(), prepared.bytes());
        let work = move |change: &mut Change<'_>| {
            lease::check(change.db, &token)?;
            prepared.store_texts(change.db, &token.session)?;
            inbox::mark(change, &token.session, batch.done)?;
            rows::add_account(change, &token.session, batch.at, &account.bodies)?;
            let (seqs, hash) = rows::add_facts(change, &token.session, &shared, &prepared.bodies)?;
            Ok(Appended { seqs, hash })
        };
        let (writer, transcripts) = (self.writer()?, self.bell());
        let heads = Arc::clone(&self.0.heads);
        let session = lease.session().clone();
        let then = move |appended: &Appended| {
            heads.publish(&session, appended.seqs.end - 1);
            if let Some(transcripts) = transcripts {
                transcripts.ring(session);
            }
        };
        Ok(writer.queue(bytes, work, then).await)
    }

    /// Stores facts of the session's account and returns when they are durable.
    pub async fn append_session(&self, lease: &Lease, batch: SessionBatch) -> Result<Appended, JournalError> {
        let prepared = Prepared::new(&batch.facts, batch.texts)?;
        let (token, bytes) = (lease.token(), prepared.bytes());
        let work = move |change: &mut Change<'_>| {
            lease::check(change.db, &token)?;
            prepared.store_texts(change.db, &token.session)?;
            inbox::mark(change, &token.session, batch.done)?;
            let (seqs, hash) = rows::add_account(change, &token.session, batch.at, &prepared.bodies)?;
            Ok(Appended { seqs, hash })
        };
        self.writer()?.run(bytes, work, |_| {}).await
    }

    /// Returns all of a session but its texts. A session of which anything is not what was stored is an error.
    pub async fn contents(&self, session: &SessionId) -> Result<Contents, JournalError> {
        let session = session.clone();
        self.0.readers.read(move |db| known(db, &session).and_then(|()| verify::contents(db, &session))).await
    }

    /// Returns a session's facts from this number on.
    pub async fn facts(&self, session: &SessionId, from: u64) -> Result<Vec<Stored>, JournalError> {
        self.page(session, from, u32::MAX).await
    }

    /// Returns at most so many of them.
    pub(crate) async fn page(&self, session: &SessionId, from: u64, limit: u32) -> Result<Vec<Stored>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            known(db, &session)?;
            let mut facts = Vec::new();
            walk::each_fact(db, &session, from, limit, |row| {
                facts.push(row.stored(&session)?);
                Ok(())
            })?;
            Ok(facts)
        };
        self.0.readers.read(work).await
    }

    /// Returns one contract's facts.
    pub async fn contract_facts(&self, session: &SessionId, contract: &Path) -> Result<Vec<Stored>, JournalError> {
        let (session, contract) = (session.clone(), contract.to_string());
        let work = move |db: &Connection| {
            known(db, &session)?;
            let mut facts = Vec::new();
            walk::each_of_contract(db, &session, &contract, Which::All, |row| {
                facts.push(row.stored(&session)?);
                Ok(())
            })?;
            Ok(facts)
        };
        self.0.readers.read(work).await
    }

    /// Returns the newest fact of a contract, if there is such a contract. It is open unless that fact closes it.
    pub async fn newest_fact(&self, session: &SessionId, contract: &Path) -> Result<Option<Stored>, JournalError> {
        self.one_fact(session, contract, Which::Newest).await
    }

    /// Returns the first fact of a contract, which has its brief, if there is such a contract.
    pub async fn first_fact(&self, session: &SessionId, contract: &Path) -> Result<Option<Stored>, JournalError> {
        self.one_fact(session, contract, Which::First).await
    }

    async fn one_fact(
        &self,
        session: &SessionId,
        contract: &Path,
        which: Which,
    ) -> Result<Option<Stored>, JournalError> {
        let (session, contract) = (session.clone(), contract.to_string());
        let work = move |db: &Connection| {
            known(db, &session)?;
            let one = walk::one_of_contract(db, &session, &contract, which)?;
            one.map(|row| row.stored(&session)).transpose()
        };
        self.0.readers.read(work).await
    }

    /// Returns the facts of a session's account.
    pub async fn account(&self, session: &SessionId) -> Result<Vec<SessionFact>, JournalError> {
        let session = session.clone();
        self.0.readers.read(move |db| known(db, &session).and_then(|()| walk::account(db, &session))).await
    }

    /// Returns the stored text, or nothing if no such text was stored. Returns an error if the text was changed after it was
    /// stored.
    pub async fn text(&self, hash: Hash) -> Result<Option<Vec<u8>>, JournalError> {
        self.0.readers.read(move |db| walk::text(db, hash)).await
    }

    /// Returns all sessions, the newest first.
    pub async fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.0.readers.read(walk::sessions).await
    }

    /// Returns where a session stands.
    pub async fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            known(db, &session)?;
            Ok(SessionHead::read(db, &session).map_err(|fault| fault.of(&session))?.printed())
        };
        self.0.readers.read(work).await
    }

    /// Checks that the sessions which are listed are those that were stored, without reading any of them.
    pub async fn check_listing(&self) -> Result<Vec<HallBroken>, JournalError> {
        self.0.readers.read(verify::listing).await
    }

    /// Checks what no session by itself can show: the database's own structure, and that no session is missing.
    pub async fn verify_hall(&self) -> Result<Vec<HallBroken>, JournalError> {
        self.0.readers.read(verify::hall).await
    }

    /// Checks everything that is stored of a session, texts included, and that it still has the facts of a printed head. The inner result
    /// says what is wrong first, or where the session stands.
    pub async fn verify_chain(
        &self,
        session: &SessionId,
        printed: Option<Head>,
    ) -> Result<Result<Head, Broken>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            known(db, &session)?;
            verify::verify(db, &session, printed.as_ref())
        };
        self.0.readers.read(work).await
    }

    /// Returns a session's facts from this number on, and then each further one as soon as it is durable.
    pub fn subscribe(&self, session: &SessionId, from: u64) -> Subscription {
        Subscription::new(self.clone(), session.clone(), from)
    }

    /// Returns what the writer has done so far.
    pub fn counts(&self) -> Counts {
        match &self.0.mode {
            Mode::Writing { writer, .. } => writer.counts(),
            Mode::Reading { .. } => Counts::default(),
        }
    }

    /// Returns why transcripts are behind, if they are. The journal is not: they are copies for people.
    pub fn transcript_trouble(&self) -> Option<Trouble> {
        match &self.0.mode {
            Mode::Writing { transcripts, .. } => transcripts.trouble(),
            Mode::Reading { .. } => None,
        }
    }

    /// Waits until everything that has queued up is stored and the transcripts have followed, if this is the last handle.
    pub async fn close(self) {
        let closing = tokio::task::spawn_blocking(move || drop(self));
        closing.await.expect("closing neither panics nor is cancelled");
    }

    pub(crate) fn dir(&self) -> &FilePath {
        &self.0.dir
    }

    pub(crate) fn heads(&self) -> &Heads {
        &self.0.heads
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.0.readers
    }

    /// Returns the writer, or says why nothing can be stored.
    pub(crate) fn writer(&self) -> Result<&Writer, JournalError> {
        match &self.0.mode {
            Mode::Writing { writer, .. } => Ok(writer),
            Mode::Reading { why } => Err(why.clone()),
        }
    }

    /// Returns what tells transcripts of more facts, if they are written.
    pub(crate) fn bell(&self) -> Option<WriterSignal> {
        match &self.0.mode {
            Mode::Writing { transcripts, .. } => Some(transcripts.bell()),
            Mode::Reading { .. } => None,
        }
    }
}

/// Refuses a session that there is not.
pub(crate) fn known(db: &Connection, session: &SessionId) -> Result<(), JournalError> {
    let mut find = db.prepare_cached("SELECT 1 FROM session WHERE id = ?1")?;
    let found = find.exists([session.as_str()])?;
    if found { Ok(()) } else { Err(JournalError::UnknownSession { session: session.clone() }) }
}
