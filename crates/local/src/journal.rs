//! The journal: facts, texts and accounts of all sessions in one SQLite database. Everything that it acknowledges is durable.
//! It never changes or deletes stored data.
//!
//! Texts must be redacted before they are passed to the journal. Facts contain the hashes of their texts, so nothing can be
//! removed from a text here.

mod chain;
mod error;
mod event;
mod event_pages;
mod follow;
pub(crate) mod heads;
pub(crate) mod known;
mod marker;
mod readers;
pub(crate) mod rows;
pub(crate) mod schema;
mod served;
#[cfg(test)]
mod tests;
mod treasury;
mod unwritable;
pub(crate) mod verify;
pub(crate) mod walk;
mod writer;

use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use guildhall_kernel::{
    Cause, FORMAT, Fact, Hash, Millis, Path, Session, SessionFact, SessionId, Stored, TextRef, UnixMs,
};
use rusqlite::Connection;

pub(crate) use self::chain::Fault;
pub use self::chain::{Broken, Chain, HallBroken, Head, HeadError, hash_text};
pub use self::error::{JournalError, JournalForm};
pub use self::event::{AccountFact, Cursor, CursorError, Event, EventKind};
pub use self::follow::{Events, Subscription};
pub use self::served::{
    Access, NewFunding, NewServed, PlayInvoice, RequestKey, Role, ServedError, TOKENS_MAX, is_readable,
};
pub use self::treasury::{StoredTreasuryFact, TreasuryBatch, TreasuryCursor, TreasuryLease};
pub use self::writer::Counts;

use self::follow::Followers;
use self::heads::SessionHead;
use self::known::Change;
use self::readers::Readers;
pub use self::rows::texts_named;
use self::rows::{AddedAccount, AddedFacts, Prepared, Shared};
use self::schema::Reading;
use self::treasury::AddedTreasury;
use self::walk::Which;
pub(crate) use self::writer::Queued;
use self::writer::Writer;
use crate::inbox;
use crate::lease::Lease;

/// The longest text that can be stored, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The name of the database file in the journal's directory.
const DATABASE: &str = "journal.db";

/// How large the journal may become. Without a limit, it can fill the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The maximum in pages of 4 KiB. A journal that needs more pages fails as on a full disk.
    pub pages_max: Option<u32>,
}

/// A session to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The session's id.
    pub id: SessionId,
    /// When the session begins.
    pub created_at: UnixMs,
    /// The root directory of the session's project.
    pub project: String,
    /// The label that is shown in lists.
    pub label: String,
}

/// A session, as shown in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's id.
    pub id: SessionId,
    /// When the session began.
    pub created_at: UnixMs,
    /// The root directory of the session's project.
    pub project: String,
    /// The label that is shown in lists.
    pub label: String,
    /// How many facts the session has.
    pub facts: u64,
}

/// Everything stored about a session except its texts, read in one transaction and checked against its hashes and its head.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The session's id, project and label.
    pub row: SessionRow,
    /// The session's facts.
    pub facts: Vec<Stored>,
    /// The facts of the session's account.
    pub account: Vec<SessionFact>,
    /// The head: how many rows both chains have, and their last hashes.
    pub head: Head,
}

/// All facts of one step of one contract. They are stored together with their texts, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The contract that the facts belong to.
    pub contract: Path,
    /// When the facts happened.
    pub at: Millis,
    /// The cause of the facts.
    pub cause: Cause,
    /// The facts.
    pub facts: Vec<Fact>,
    /// The redacted texts that the facts name and that are possibly not stored yet.
    pub texts: Vec<(TextRef, Vec<u8>)>,
    /// The command in the inbox that led to the facts. It is marked as done in the same commit, so that no crash repeats it.
    pub done: Option<u64>,
    /// Facts of the session's account that belong to this step. A top-up reaches the account and the contract in one commit.
    pub account: Vec<SessionFact>,
    /// Facts of the treasury that belong to this step: the fee that a report earned.
    pub treasury: Option<TreasuryBatch>,
}

/// A batch of facts of a session's account. They are stored together with their texts, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBatch {
    /// When the facts happened.
    pub at: Millis,
    /// The facts.
    pub facts: Vec<SessionFact>,
    /// The texts that the facts name and that are possibly not stored yet.
    pub texts: Vec<(TextRef, Vec<u8>)>,
    /// The command in the inbox that led to the facts. It is marked as done in the same commit, so that no crash repeats it.
    pub done: Option<u64>,
}

/// The result of an append: where the facts were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence numbers of the facts.
    pub seqs: Range<u64>,
    /// The hash of the last fact.
    pub hash: Hash,
}

/// Where the facts of one step were stored.
pub(crate) struct AddedStep {
    account: (AddedAccount, Vec<SessionFact>),
    earned: Option<AddedTreasury>,
    facts: AddedFacts,
}

/// The journal at one moment.
pub struct Snapshot<'a>(&'a Connection);

impl Snapshot<'_> {
    /// Returns all sessions, the newest first.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        walk::sessions(self.0)
    }

    /// Returns a session's account.
    pub fn account(&self, session: &SessionId) -> Result<Session, JournalError> {
        walk::folded_account(self.0, session)
    }

    /// Returns everything stored about a session except its texts.
    pub fn contents(&self, session: &SessionId) -> Result<Contents, JournalError> {
        verify::contents(self.0, session)
    }

    /// Returns all facts of the treasury.
    pub fn treasury(&self) -> Result<Vec<StoredTreasuryFact>, JournalError> {
        treasury::all(self.0)
    }
}

/// The journal of a hall. Clones share one writer. Dropping the last clone waits until all queued jobs are stored.
///
/// A journal that can't be written can still be read. Every write then returns an error, which [`Journal::unwritable`]
/// returns, too.
///
/// ```
/// use guildhall_kernel::{Cause, Fact, Millis, Path};
/// use guildhall_local::{Batch, Journal, NewSession, unix_now};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let journal = Journal::open(dir.path())?;
/// let (id, now) = ("brave-otter".parse()?, unix_now());
/// journal.create(NewSession { id, created_at: now, project: "/ship".into(), label: "Fix the build".into() }).await?;
/// let lease = journal.lease(&"brave-otter".parse()?, now).await?;
///
/// let facts = vec![Fact::Compacted { upto: 3, bytes: 100 }];
/// let (contract, at, cause) = (Path::root(1), Millis(5), Cause::Tick);
/// let stored = journal.append(&lease, Batch { contract, at, cause, facts, texts: vec![], done: None, account: vec![], treasury: None }).await?;
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
    // The first field: its thread ends before the writer closes the database.
    followers: Followers,
    mode: Mode,
    readers: Readers,
    dir: PathBuf,
}

#[derive(Debug)]
enum Mode {
    Writing(Writer),
    Reading { why: JournalError },
}

impl Journal {
    /// Opens the journal in this directory, or creates one. Blocks until the journal is open.
    pub fn open(dir: &FilePath) -> Result<Journal, JournalError> {
        Journal::open_within(dir, Limits::default())
    }

    /// Opens a journal that must not exceed these limits.
    pub fn open_within(dir: &FilePath, limits: Limits) -> Result<Journal, JournalError> {
        schema::check_version()?;
        let (mode, readers) = match unwritable::why(dir).map_or_else(|| schema::open(dir, limits), Err) {
            Ok(db) => {
                let file = dir.join(DATABASE);
                (Mode::Writing(Writer::start(db, dir)?), Readers::new(file, Reading::Shared))
            }
            Err(why @ (JournalError::ReadOnly { .. } | JournalError::LogMissing { .. })) => {
                let readers = unwritable::readers(dir)?;
                let why = unwritable::refuse_missing_commits(dir, &readers).err().unwrap_or(why);
                (Mode::Reading { why }, readers)
            }
            Err(error) => return Err(error),
        };
        Ok(Journal(Arc::new(Inner { followers: Followers::new(), mode, readers, dir: dir.into() })))
    }

    /// Returns the reason why nothing can be stored, if there is one: the directory is not writable, or commits are missing.
    pub fn unwritable(&self) -> Option<&JournalError> {
        match &self.0.mode {
            Mode::Writing(_) => None,
            Mode::Reading { why } => Some(why),
        }
    }

    /// Returns why nothing is stored any more, if that is so: the journal can't be written, or a disk error stopped it.
    pub fn stopped(&self) -> Option<&JournalError> {
        match &self.0.mode {
            Mode::Writing(writer) => writer.stopped(),
            Mode::Reading { why } => Some(why),
        }
    }

    /// Creates a session.
    pub async fn create(&self, new: NewSession) -> Result<(), JournalError> {
        let work = move |change: &mut Change<'_>| add_session(change, new);
        self.writer()?.run(0, work, |()| {}).await
    }

    /// Stores the facts of one step and returns when they are durable. Dropping the future after they are queued undoes
    /// nothing.
    pub async fn append(&self, lease: &Lease, batch: Batch) -> Result<Appended, JournalError> {
        let AddedFacts { seqs, hash, .. } = self.queue(lease, batch).await?.0.durable().await?.facts;
        Ok(Appended { seqs, hash })
    }

    /// Queues the facts of one step. They become durable later. Returns also the texts that the facts name and that are not
    /// part of the batch.
    pub(crate) async fn queue(
        &self,
        lease: &Lease,
        batch: Batch,
    ) -> Result<(Queued<AddedStep>, Vec<TextRef>), JournalError> {
        let Batch { contract, at, cause, facts, texts, done, account, treasury } = batch;
        let shared = Shared::new(&contract, at, &cause)?;
        let prepared = Prepared::new(&facts, texts)?;
        let account_rows = Prepared::new(&account, Vec::new())?;
        let earned = treasury.map(|batch| Ok::<_, JournalError>((Prepared::new(&batch.facts, Vec::new())?, batch)));
        let earned = earned.transpose()?;
        let (token, bytes) = (lease.token(), prepared.bytes());
        let (named, texts) = (prepared.named.clone(), Arc::clone(&prepared.texts));
        let work = move |change: &mut Change<'_>| {
            change.check_lease(&token)?;
            change.require_head(&token.session)?;
            prepared.check_texts(change, Some(&token.session))?;
            change.fit_account(&token.session, &account)?;
            let fitting = earned.as_ref().map(|(_, batch)| change.fit_treasury(batch)).transpose()?;
            prepared.store_texts(change)?;
            inbox::mark(change, &token.session, done)?;
            let own = rows::add_account(change, &token.session, at, &account_rows.bodies)?;
            let earned = earned.as_ref().zip(fitting.as_ref());
            let earned = earned.map(|((rows, batch), fits)| change.add_treasury(batch.at, &batch.facts, rows, fits));
            let earned = earned.transpose()?;
            let facts = rows::add_facts(change, &token.session, &shared, &prepared.bodies)?;
            Ok(AddedStep { account: (own, account), earned, facts })
        };
        let (announcer, session) = (self.0.followers.announcer(), lease.session().clone());
        let then = move |added: &AddedStep| {
            let AddedStep { account: (own, account), earned, facts: AddedFacts { seqs, account: before, .. } } = added;
            if !account.is_empty() {
                announcer.account(&session, own.stored(account), &[]);
            }
            if let Some(earned) = earned {
                earned.announce(&announcer);
            }
            let stored =
                |(seq, fact)| Stored { v: FORMAT, seq, contract: contract.clone(), at, cause: cause.clone(), fact };
            announcer.facts(&session, *before, seqs.clone().zip(facts).map(stored), &texts);
        };
        let queued = self.writer()?.queue(bytes, work, then).await;
        Ok((queued, named))
    }

    /// Stores facts of the session's account and returns when they are durable.
    pub async fn append_session(&self, lease: &Lease, batch: SessionBatch) -> Result<Appended, JournalError> {
        self.append_session_once(lease, batch, None).await
    }

    /// Stores facts of the session's account under a key, with the result of the request, unless the key was used before.
    pub async fn append_session_once(
        &self,
        lease: &Lease,
        batch: SessionBatch,
        under_key: Option<(RequestKey, String)>,
    ) -> Result<Appended, JournalError> {
        let (key, result) = under_key.unzip();
        let prepared = Prepared::new(&batch.facts, batch.texts)?;
        let (token, bytes, texts) = (lease.token(), prepared.bytes(), Arc::clone(&prepared.texts));
        let work = move |change: &mut Change<'_>| {
            change.check_lease(&token)?;
            change.require_head(&token.session)?;
            change.require_unused(&token.session, key)?;
            prepared.check_texts(change, Some(&token.session))?;
            change.fit_account(&token.session, &batch.facts)?;
            prepared.store_texts(change)?;
            inbox::mark(change, &token.session, batch.done)?;
            let added = rows::add_account(change, &token.session, batch.at, &prepared.bodies)?;
            change.use_key(&token.session, key, result.as_deref().unwrap_or_default())?;
            Ok((added, batch.facts))
        };
        let (announcer, session) = (self.0.followers.announcer(), lease.session().clone());
        let then = move |(added, facts): &(AddedAccount, Vec<SessionFact>)| {
            announcer.account(&session, added.stored(facts), &texts);
        };
        let (added, _) = self.writer()?.run(bytes, work, then).await?;
        Ok(Appended { seqs: added.numbers, hash: added.hash })
    }

    /// Reads several things as they are at one moment.
    pub async fn snapshot<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot<'_>) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.0.readers.read(move |db| read(&Snapshot(db))).await
    }

    /// Returns everything stored about a session except its texts. Returns an error if anything differs from what was stored.
    pub async fn contents(&self, session: &SessionId) -> Result<Contents, JournalError> {
        let session = session.clone();
        self.0.readers.read(move |db| require_session(db, &session).and_then(|()| verify::contents(db, &session))).await
    }

    /// Returns a session's facts, starting with this number.
    pub async fn facts(&self, session: &SessionId, from: u64) -> Result<Vec<Stored>, JournalError> {
        self.page(session, from, u32::MAX).await
    }

    /// Returns at most `limit` facts of a session, starting with this number.
    pub(crate) async fn page(&self, session: &SessionId, from: u64, limit: u32) -> Result<Vec<Stored>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            require_session(db, &session)?;
            let mut facts = Vec::new();
            walk::each_fact(db, &session, from, limit, |row| {
                facts.push(row.stored(&session)?);
                Ok(())
            })?;
            Ok(facts)
        };
        self.0.readers.read(work).await
    }

    /// Returns the facts of one contract.
    pub async fn contract_facts(&self, session: &SessionId, contract: &Path) -> Result<Vec<Stored>, JournalError> {
        let (session, contract) = (session.clone(), contract.to_string());
        let work = move |db: &Connection| {
            require_session(db, &session)?;
            let mut facts = Vec::new();
            walk::each_of_contract(db, &session, &contract, Which::All, |row| {
                facts.push(row.stored(&session)?);
                Ok(())
            })?;
            Ok(facts)
        };
        self.0.readers.read(work).await
    }

    /// Returns the newest fact of a contract, if the contract exists. The contract is open unless this fact is `Closed`.
    pub async fn newest_fact(&self, session: &SessionId, contract: &Path) -> Result<Option<Stored>, JournalError> {
        self.one_fact(session, contract, Which::Newest).await
    }

    /// Returns the first fact of a contract, if the contract exists. This fact contains the brief.
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
            require_session(db, &session)?;
            let one = walk::one_of_contract(db, &session, &contract, which)?;
            one.map(|row| row.stored(&session)).transpose()
        };
        self.0.readers.read(work).await
    }

    /// Returns the facts of a session's account.
    pub async fn account(&self, session: &SessionId) -> Result<Vec<SessionFact>, JournalError> {
        let session = session.clone();
        self.0.readers.read(move |db| require_session(db, &session).and_then(|()| walk::account(db, &session))).await
    }

    /// Returns a session's account.
    pub async fn folded_account(&self, session: &SessionId) -> Result<Session, JournalError> {
        let session = session.clone();
        let work =
            move |db: &Connection| require_session(db, &session).and_then(|()| walk::folded_account(db, &session));
        self.0.readers.read(work).await
    }

    /// Returns the session time of the newest row of a session.
    pub async fn newest_time(&self, session: &SessionId) -> Result<Millis, JournalError> {
        let session = session.clone();
        self.0
            .readers
            .read(move |db| require_session(db, &session).and_then(|()| walk::newest_time(db, &session)))
            .await
    }

    /// Returns a stored text, or `None` if no text has this hash. Returns an error if the text was changed after it was
    /// stored.
    pub async fn text(&self, hash: Hash) -> Result<Option<Vec<u8>>, JournalError> {
        if let Some(text) = self.0.followers.text(hash) {
            return Ok(Some(text));
        }
        self.0.readers.read(move |db| walk::text(db, hash)).await
    }

    /// Returns all sessions, the newest first.
    pub async fn sessions(&self) -> Result<Vec<SessionRow>, JournalError> {
        self.0.readers.read(walk::sessions).await
    }

    /// Returns the sessions whose work has not ended, the oldest first: a root was requested and has not ended.
    pub async fn under_way(&self) -> Result<Vec<SessionId>, JournalError> {
        self.0.readers.read(walk::under_way).await
    }

    /// Returns the head of a session.
    pub async fn head(&self, session: &SessionId) -> Result<Head, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            require_session(db, &session)?;
            Ok(SessionHead::read(db, &session).map_err(|fault| fault.of(&session))?.printed())
        };
        self.0.readers.read(work).await
    }

    /// Checks that the listed sessions are the stored ones, without reading the sessions themselves.
    pub async fn check_listing(&self) -> Result<Vec<HallBroken>, JournalError> {
        self.0.readers.read(verify::listing).await
    }

    /// Checks the hall as a whole: the structure of the database, and that no session is missing.
    pub async fn verify_hall(&self) -> Result<Vec<HallBroken>, JournalError> {
        self.0.readers.read(verify::hall).await
    }

    /// Checks everything stored about a session, including its texts. If a printed head is given, checks that the session
    /// still has its facts. The inner result is the session's head or the first error that was found.
    pub async fn verify_chain(
        &self,
        session: &SessionId,
        printed: Option<Head>,
    ) -> Result<Result<Head, Broken>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            require_session(db, &session)?;
            verify::verify(db, &session, printed.as_ref())
        };
        self.0.readers.read(work).await
    }

    /// Returns how much was stored and read so far.
    pub fn counts(&self) -> Counts {
        let (jobs, commits) = match &self.0.mode {
            Mode::Writing(writer) => writer.counts(),
            Mode::Reading { .. } => (0, 0),
        };
        Counts { jobs, commits, reads: self.0.readers.reads() }
    }

    /// Closes this handle. If it is the last one, waits until all queued jobs are stored.
    pub async fn close(self) {
        let closing = tokio::task::spawn_blocking(move || drop(self));
        closing.await.expect("closing neither panics nor is cancelled");
    }

    pub(crate) fn dir(&self) -> &FilePath {
        &self.0.dir
    }

    pub(crate) fn followers(&self) -> &Followers {
        &self.0.followers
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.0.readers
    }

    /// Returns the writer, or the error that says why nothing can be stored.
    pub(crate) fn writer(&self) -> Result<&Writer, JournalError> {
        match &self.0.mode {
            Mode::Writing(writer) => Ok(writer),
            Mode::Reading { why } => Err(why.clone()),
        }
    }
}

/// Adds a session, unless there is one with its id.
fn add_session(change: &mut Change<'_>, new: NewSession) -> Result<(), JournalError> {
    let created_at = new.created_at.0.cast_signed();
    let sql = "INSERT INTO session (id, created_at, project, label) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO NOTHING";
    if change.db.execute(sql, (new.id.as_str(), created_at, &new.project, &new.label))? == 0 {
        return Err(JournalError::SessionExists { session: new.id });
    }
    let about = heads::about(&new.id, created_at, new.project.as_bytes(), new.label.as_bytes());
    change.begin(&new.id, about);
    Ok(())
}

/// Returns an error if the session does not exist.
pub(crate) fn require_session(db: &Connection, session: &SessionId) -> Result<(), JournalError> {
    let mut find = db.prepare_cached("SELECT 1 FROM session WHERE id = ?1")?;
    let found = find.exists([session.as_str()])?;
    if found { Ok(()) } else { Err(JournalError::UnknownSession { session: session.clone() }) }
}
