//! Transcripts: each contract's facts as JSON lines with their texts inlined, for people and their tools, written as it
//! happens. They are copies. The journal never reads them, a damaged one is made anew, and a failure here stops nothing.

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

/// The most of one text that a transcript shows; the whole is in the journal.
pub const INLINE_BYTES_MAX: usize = 256 * 1024;

/// How many facts are read at once.
const PAGE: u32 = 4096;

/// How many bytes are kept before they are written.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The longest path that is a file's name as it is.
const NAME_BYTES_MAX: usize = 150;

/// Why a session's transcripts are behind.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Whose.
    pub session: SessionId,
    /// What happened. It is tried again with the next fact.
    pub why: JournalError,
}

/// The thread that writes them.
#[derive(Debug)]
pub(crate) struct Transcripts {
    bell: WriterSignal,
    thread: Option<JoinHandle<()>>,
}

/// Tells the thread which sessions have more facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriterSignal(Arc<(Mutex<Due>, Condvar)>);

#[derive(Debug, Default)]
struct Due {
    sessions: BTreeSet<SessionId>,
    closing: bool,
    trouble: BTreeMap<SessionId, JournalError>,
}

impl WriterSignal {
    pub(crate) fn ring(&self, session: SessionId) {
        self.due().sessions.insert(session);
        self.0.1.notify_one();
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a session with more facts; none means that no more will come.
    fn next(&self) -> Option<SessionId> {
        let quiet = |due: &mut Due| due.sessions.is_empty() && !due.closing;
        let mut due = self.0.1.wait_while(self.due(), quiet).unwrap_or_else(PoisonError::into_inner);
        due.sessions.pop_first()
    }
}

impl Transcripts {
    pub(crate) fn start(dir: &Path, database: &Path) -> Result<Transcripts, JournalError> {
        let bell = WriterSignal::default();
        let mut redactor =
            TranscriptWriter { database: database.into(), dir: dir.join("sessions"), at: BTreeMap::new(), db: None };
        let listening = bell.clone();
        let run = move || {
            while let Some(session) = listening.next() {
                let outcome = redactor.follow(&session);
                let trouble = &mut listening.due().trouble;
                match outcome {
                    Ok(()) => trouble.remove(&session),
                    Err(why) => trouble.insert(session, why),
                };
            }
        };
        let spawned = thread::Builder::new().name("transcripts".into()).spawn(run);
        let thread = spawned.map_err(JournalError::file(database, "given a thread"))?;
        Ok(Transcripts { bell, thread: Some(thread) })
    }

    pub(crate) fn bell(&self) -> WriterSignal {
        self.bell.clone()
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let due = self.bell.due();
        let first = due.trouble.first_key_value();
        first.map(|(session, why)| Trouble { session: session.clone(), why: why.clone() })
    }
}

impl Drop for Transcripts {
    fn drop(&mut self) {
        self.bell.due().closing = true;
        self.bell.0.1.notify_one();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the transcripts' thread does not panic");
        }
    }
}

/// Writes the files.
struct TranscriptWriter {
    database: PathBuf,
    dir: PathBuf,
    /// Up to which fact each session's files are written.
    at: BTreeMap<SessionId, u64>,
    db: Option<Connection>,
}

impl TranscriptWriter {
    /// Brings a session's files up to date. After a failure nothing is known of them, and the next time checks all.
    fn follow(&mut self, session: &SessionId) -> Result<(), JournalError> {
        let db = match self.db.take() {
            Some(db) => db,
            None => schema::open_reader(&self.database, Reading::Shared)?,
        };
        let files = Files { db: &db, session, dir: self.dir.join(session.as_str()).join("transcripts") };
        let before = self.at.remove(session);
        let now = schema::make_dir(&files.dir).and_then(|()| match before {
            None => files.mend(),
            Some(before) => files.extend(before),
        });
        self.at.extend(now.as_ref().ok().map(|now| (session.clone(), *now)));
        self.db = Some(db);
        now.map(|_| ())
    }
}

/// One session's files.
struct Files<'a> {
    db: &'a Connection,
    session: &'a SessionId,
    dir: PathBuf,
}

impl Files<'_> {
    /// Checks every file against the journal and makes those anew that differ.
    fn mend(&self) -> Result<u64, JournalError> {
        let moment = self.db.unchecked_transaction()?;
        let mut contracts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut all = moment.prepare_cached("SELECT contract, seq FROM fact WHERE session = ?1 ORDER BY seq")?;
        let mut found = all.query([self.session.as_str()])?;
        let mut last = 0;
        while let Some(row) = found.next()? {
            last = row.get::<_, i64>(1)?.cast_unsigned();
            contracts.entry(row.get(0)?).or_default().push(last);
        }
        for (contract, seqs) in &contracts {
            if !is_sound(&self.file(contract, "jsonl"), seqs) {
                self.rebuild(contract)?;
            }
            self.describe(contract, &Added::default())?;
        }
        Ok(last)
    }

    /// Adds the facts after `at`.
    fn extend(&self, mut at: u64) -> Result<u64, JournalError> {
        loop {
            let before = at;
            let mut page = Page::default();
            // The facts and the head that says how many there are must be of one moment.
            let _moment = self.db.unchecked_transaction()?;
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

    /// Writes what was kept, file by file.
    fn write(&self, page: &mut Page) -> Result<(), JournalError> {
        for (contract, added) in std::mem::take(page).contracts {
            let file = self.file(&contract, "jsonl");
            let add = |mut to: File| to.write_all(&added.lines);
            schema::private().append(true).open(&file).and_then(add).map_err(JournalError::file(&file, "written"))?;
            let turns = added.opened.is_some() || added.outcome.is_some();
            if turns || !self.file(&contract, "meta.json").exists() {
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

    /// One fact, with what its texts say; and what it is by itself.
    fn line(&self, row: &FactRow) -> Result<(String, Value), JournalError> {
        let mut texts = Map::new();
        let fact = read(row);
        for text in texts_in(&fact) {
            texts.insert(text.hash.to_string(), self.text(text.hash)?.into());
        }
        Ok((row.line(&Value::Object(texts)), fact))
    }

    /// A text as far as it is shown.
    fn text(&self, hash: Hash) -> Result<Option<String>, JournalError> {
        let shown = |bytes: Vec<u8>| {
            let cut = &bytes[..bytes.len().min(INLINE_BYTES_MAX)];
            let rest = bytes.len() - cut.len();
            let text = String::from_utf8_lossy(cut);
            if rest == 0 { text.into_owned() } else { format!("{text}… ({rest} bytes more)") }
        };
        match walk::text(self.db, hash) {
            // A copy for people has nothing where the journal has nothing that can be trusted.
            Err(JournalError::TextDamaged { .. }) => Ok(None),
            text => Ok(text?.map(shown)),
        }
    }

    /// Writes what the contract is and how it ended, for those who look for one. What was not added just now is in its first
    /// fact and in its last.
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
        let task = match texts_in(&opened["task"]).first() {
            Some(task) => self.text(task.hash)?,
            None => None,
        };
        let name = match texts_in(&opened["label"]).first() {
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

    /// Where a contract's file lies. A path that is too long for a file's name is cut, and told apart by its hash.
    fn file(&self, contract: &str, ending: &str) -> PathBuf {
        if contract.len() <= NAME_BYTES_MAX {
            return self.dir.join(format!("{contract}.{ending}"));
        }
        let hash = hash_text(contract.as_bytes()).to_string();
        let begins = &contract[..contract.floor_char_boundary(NAME_BYTES_MAX)];
        self.dir.join(format!("{begins}-{}.{ending}", &hash[..16]))
    }
}

/// What is kept of a session's facts until it is written.
#[derive(Default)]
struct Page {
    contracts: BTreeMap<String, Added>,
    bytes: usize,
}

/// What is added to one contract's files.
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

/// A fact as JSON; nothing if it is none, which is for others to find.
fn read(row: &FactRow) -> Value {
    serde_json::from_str(&row.body).unwrap_or_default()
}

/// How a contract ended, if this is the fact that says so.
fn outcome(fact: &Value) -> Option<Value> {
    fact.pointer("/closed/outcome").cloned()
}

/// Returns whether a file has a whole line for each of these facts, in order, and no other.
fn is_sound(file: &Path, seqs: &[u64]) -> bool {
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
