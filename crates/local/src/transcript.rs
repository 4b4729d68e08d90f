//! Transcripts: copies of each contract's facts for people and their tools, as JSON lines with the texts included. They are
//! written while the session runs. The journal never reads them, a damaged transcript is written again, and an error here
//! stops nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use guildhall_kernel::Hash;
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::id::SessionId;
use crate::journal::rows::texts_in;
use crate::journal::schema::{self, Reading};
use crate::journal::walk::{self, FactRow, Which};
use crate::journal::{JournalError, hash_text};

/// How many bytes of one text a transcript shows at most; the complete text is in the journal.
pub const INLINE_BYTES_MAX: usize = 256 * 1024;

/// How many facts are read in one query.
const PAGE: u32 = 4096;

/// How many bytes are collected before they are written.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The longest contract path that is used unchanged as a file name.
const NAME_BYTES_MAX: usize = 150;

/// The reason why a session's transcripts are out of date.
#[derive(Clone, Debug)]
pub struct TranscriptFailure {
    /// The session.
    pub session: SessionId,
    /// The error. Writing is tried again at the next fact.
    pub why: JournalError,
}

/// The thread that writes transcripts.
#[derive(Debug)]
pub(crate) struct Transcripts {
    signal: WriterSignal,
    thread: Option<JoinHandle<()>>,
}

/// Notifies the thread about sessions with new facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriterSignal(Arc<(Mutex<Work>, Condvar)>);

#[derive(Debug, Default)]
struct Work {
    sessions: BTreeSet<SessionId>,
    closing: bool,
    failures: BTreeMap<SessionId, JournalError>,
}

impl WriterSignal {
    pub(crate) fn notify(&self, session: SessionId) {
        self.work().sessions.insert(session);
        self.0.1.notify_one();
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a session with new facts. Returns `None` when no more will come.
    fn next(&self) -> Option<SessionId> {
        let idle = |work: &mut Work| work.sessions.is_empty() && !work.closing;
        let mut work = self.0.1.wait_while(self.work(), idle).unwrap_or_else(PoisonError::into_inner);
        work.sessions.pop_first()
    }
}

impl Transcripts {
    pub(crate) fn start(dir: &Path, database: &Path) -> Result<Transcripts, JournalError> {
        let signal = WriterSignal::default();
        let mut writer =
            TranscriptWriter { database: database.into(), dir: dir.join("sessions"), at: BTreeMap::new(), db: None };
        let thread_signal = signal.clone();
        let run = move || {
            while let Some(session) = thread_signal.next() {
                let outcome = writer.follow(&session);
                let failures = &mut thread_signal.work().failures;
                match outcome {
                    Ok(()) => failures.remove(&session),
                    Err(why) => failures.insert(session, why),
                };
            }
        };
        let spawned = thread::Builder::new().name("transcripts".into()).spawn(run);
        let thread = spawned.map_err(JournalError::file(database, "given a thread"))?;
        Ok(Transcripts { signal, thread: Some(thread) })
    }

    pub(crate) fn signal(&self) -> WriterSignal {
        self.signal.clone()
    }

    pub(crate) fn failure(&self) -> Option<TranscriptFailure> {
        let work = self.signal.work();
        let first = work.failures.first_key_value();
        first.map(|(session, why)| TranscriptFailure { session: session.clone(), why: why.clone() })
    }
}

impl Drop for Transcripts {
    fn drop(&mut self) {
        self.signal.work().closing = true;
        self.signal.0.1.notify_one();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the transcripts' thread does not panic");
        }
    }
}

/// Writes the transcript files.
struct TranscriptWriter {
    database: PathBuf,
    dir: PathBuf,
    /// The last fact that is in each session's files.
    at: BTreeMap<SessionId, u64>,
    db: Option<Connection>,
}

impl TranscriptWriter {
    /// Updates a session's files. After an error, the state of the files is unknown, and the next update checks all of them.
    fn follow(&mut self, session: &SessionId) -> Result<(), JournalError> {
        let db = match self.db.take() {
            Some(db) => db,
            None => schema::open_reader(&self.database, Reading::Shared)?,
        };
        let files = Files { db: &db, session, dir: self.dir.join(session.as_str()).join("transcripts") };
        let before = self.at.remove(session);
        let now = schema::make_dir(&files.dir).and_then(|()| match before {
            None => files.rebuild_damaged(),
            Some(before) => files.extend(before),
        });
        self.at.extend(now.as_ref().ok().map(|now| (session.clone(), *now)));
        self.db = Some(db);
        now.map(|_| ())
    }
}

/// The files of one session.
struct Files<'a> {
    db: &'a Connection,
    session: &'a SessionId,
    dir: PathBuf,
}

impl Files<'_> {
    /// Checks every file against the journal and rewrites those that differ.
    fn rebuild_damaged(&self) -> Result<u64, JournalError> {
        let transaction = self.db.unchecked_transaction()?;
        let mut contracts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut all = transaction.prepare_cached("SELECT contract, seq FROM fact WHERE session = ?1 ORDER BY seq")?;
        let mut found = all.query([self.session.as_str()])?;
        let mut last = 0;
        while let Some(row) = found.next()? {
            last = row.get::<_, i64>(1)?.cast_unsigned();
            contracts.entry(row.get(0)?).or_default().push(last);
        }
        for (contract, seqs) in &contracts {
            if !is_complete(&self.file(contract, "jsonl"), seqs) {
                self.rebuild(contract)?;
            }
            self.describe(contract, &Added::default())?;
        }
        Ok(last)
    }

    /// Adds the facts after number `at`.
    fn extend(&self, mut at: u64) -> Result<u64, JournalError> {
        loop {
            let before = at;
            let mut page = Page::default();
            // The facts and the head must be read in one transaction.
            let _transaction = self.db.unchecked_transaction()?;
            walk::each_fact(self.db, self.session, at.saturating_add(1), PAGE, |row| {
                at = row.seq;
                let (line, fact) = self.line(&row)?;
                page.add(row.contract, &line, fact);
                if page.bytes > PAGE_BYTES_MAX { self.write(&mut page) } else { Ok(()) }
            })?;
            self.write(&mut page)?;
            if at == before {
                return Ok(at);
            }
        }
    }

    /// Writes the collected lines to their files.
    fn write(&self, page: &mut Page) -> Result<(), JournalError> {
        for (contract, added) in std::mem::take(page).contracts {
            let file = self.file(&contract, "jsonl");
            let add = |mut to: File| to.write_all(&added.lines);
            schema::private().append(true).open(&file).and_then(add).map_err(JournalError::file(&file, "written"))?;
            let is_changed = added.opened.is_some() || added.outcome.is_some();
            if is_changed || !self.file(&contract, "meta.json").exists() {
                self.describe(&contract, &added)?;
            }
        }
        Ok(())
    }

    fn rebuild(&self, contract: &str) -> Result<(), JournalError> {
        let (file, fresh) = (self.file(contract, "jsonl"), self.file(contract, "jsonl.new"));
        let failed = || JournalError::file(&file, "written");
        let made = schema::private().write(true).truncate(true).open(&fresh).map_err(failed())?;
        let mut to = BufWriter::new(made);
        walk::each_of_contract(self.db, self.session, contract, Which::All, |row| {
            to.write_all(self.line(&row)?.0.as_bytes()).map_err(failed())
        })?;
        to.flush().and_then(|()| fs::rename(&fresh, &file)).map_err(failed())
    }

    /// Returns the line of a fact with its texts, and the fact as JSON.
    fn line(&self, row: &FactRow) -> Result<(String, Value), JournalError> {
        let mut texts = Map::new();
        let fact = read(row);
        for text in texts_in(&fact.to_string()) {
            texts.insert(text.hash.to_string(), self.text(text.hash)?.into());
        }
        Ok((row.line(&Value::Object(texts)), fact))
    }

    /// Returns the part of a text that a transcript shows.
    fn text(&self, hash: Hash) -> Result<Option<String>, JournalError> {
        let shown = |bytes: Vec<u8>| {
            let cut = &bytes[..bytes.len().min(INLINE_BYTES_MAX)];
            let rest = bytes.len() - cut.len();
            let text = String::from_utf8_lossy(cut);
            if rest == 0 { text.into_owned() } else { format!("{text}… ({rest} bytes more)") }
        };
        match walk::text(self.db, hash) {
            // A damaged text is left out.
            Err(JournalError::TextDamaged { .. }) => Ok(None),
            text => Ok(text?.map(shown)),
        }
    }

    /// Writes the contract's description and outcome, for people who search for a contract. Values that are not in `added`
    /// are read from the contract's first and newest facts.
    fn describe(&self, contract: &str, added: &Added) -> Result<(), JournalError> {
        let stored = |which| walk::one_of_contract(self.db, self.session, contract, which);
        let opened = match &added.opened {
            Some(opened) => opened.clone(),
            None => stored(Which::First)?.and_then(|row| read(&row).get("opened").cloned()).unwrap_or_default(),
        };
        let ended = match &added.outcome {
            Some(outcome) => outcome.clone(),
            None if added.opened.is_some() => Value::Null,
            None => stored(Which::Newest)?.and_then(|row| outcome(&read(&row))).unwrap_or_default(),
        };
        let task = match texts_in(&opened["task"].to_string()).first() {
            Some(task) => self.text(task.hash)?,
            None => None,
        };
        let name = match texts_in(&opened["label"].to_string()).first() {
            Some(label) => self.text(label.hash)?,
            None => None,
        };
        let hirer = contract.rsplit_once('.').map(|(hirer, _)| hirer);
        let meta = json!({
            "session": self.session, "contract": contract, "hirer": hirer,
            "agent": opened["agent"], "name": name, "task": task, "outcome": ended,
        });
        schema::replace(&self.file(contract, "meta.json"), format!("{meta:#}\n").as_bytes())
    }

    /// Returns the path of a contract's file. A contract path that is too long for a file name is cut and gets a hash.
    fn file(&self, contract: &str, ending: &str) -> PathBuf {
        if contract.len() <= NAME_BYTES_MAX {
            return self.dir.join(format!("{contract}.{ending}"));
        }
        let hash = hash_text(contract.as_bytes()).to_string();
        let prefix = &contract[..contract.floor_char_boundary(NAME_BYTES_MAX)];
        self.dir.join(format!("{prefix}-{}.{ending}", &hash[..16]))
    }
}

/// The collected lines of a session that are not written yet.
#[derive(Default)]
struct Page {
    contracts: BTreeMap<String, Added>,
    bytes: usize,
}

/// The data that is added to the files of one contract.
#[derive(Default)]
struct Added {
    lines: Vec<u8>,
    opened: Option<Value>,
    outcome: Option<Value>,
}

impl Page {
    fn add(&mut self, contract: String, line: &str, mut fact: Value) {
        self.bytes += line.len();
        let added = self.contracts.entry(contract).or_default();
        added.lines.extend(line.as_bytes());
        added.opened = fact.get_mut("opened").map(Value::take).or(added.opened.take());
        added.outcome = outcome(&fact).or(added.outcome.take());
    }
}

/// Returns a fact as JSON, or null if it is not valid JSON, which other code reports.
fn read(row: &FactRow) -> Value {
    serde_json::from_str(&row.body).unwrap_or_default()
}

/// Returns the outcome of a contract, if this fact closes it.
fn outcome(fact: &Value) -> Option<Value> {
    fact.pointer("/closed/outcome").cloned()
}

/// Returns whether a file has exactly one complete line for each of these facts, in order.
fn is_complete(file: &Path, seqs: &[u64]) -> bool {
    let Ok(opened) = File::open(file) else { return false };
    let mut lines = BufReader::new(opened);
    let mut due = seqs.iter();
    let mut line = Vec::new();
    loop {
        line.clear();
        match (lines.read_until(b'\n', &mut line), due.next()) {
            (Ok(0), None) => return true,
            (Ok(read), Some(seq)) if read > 0 => {
                let whole = line.starts_with(format!("{{\"seq\":{seq},").as_bytes()) && line.ends_with(b"}\n");
                if !whole {
                    return false;
                }
            }
            (Ok(_) | Err(_), _) => return false,
        }
    }
}
