//! The check of stored data: both hash chains from their start, all other rows that a session's head covers, each text
//! against its hash, and the end against a printed head. It reads raw rows and trusts none of them.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{Hash, SessionFact, SessionId, Stored};
use rusqlite::{Connection, OptionalExtension, Row};

use super::chain::{Broken, Chain, Fault, HallBroken, Head, link};
use super::heads::{self, SessionHead};
use super::rows::texts_in;
use super::walk::{self, RawAccount, RawFact};
use super::{Contents, JournalError, schema, treasury};
use crate::lease;

/// How many errors in the structure of the database are reported.
const FAULTS_MAX: usize = 5;

/// The tables whose rows belong to a session.
const TABLES: [&str; 10] = [
    "fact",
    "session_fact",
    "inbox",
    "lease",
    "in_line",
    "session_head",
    "served_session",
    "access_token",
    "play_invoice",
    "idempotency_key",
];

/// A row whose hash is right, with this hash.
pub(crate) enum Seen<'a> {
    Fact(&'a RawFact<'a>, Hash),
    Account(&'a RawAccount<'a>, Hash),
}

/// Checks everything of a session except its texts, and calls `see` for each fact.
pub(crate) fn check_session(
    db: &Connection,
    session: &SessionId,
    see: &mut dyn FnMut(Seen<'_>) -> Result<(), Fault>,
) -> Result<SessionHead, Fault> {
    let head = SessionHead::read(db, session)?;
    if about(db, session)? != Some(head.about) {
        return Err(Broken::About.into());
    }
    let mut places: BTreeMap<Vec<u8>, Hash> = BTreeMap::new();
    walk::each_raw(db, session, &head, (1, u32::MAX), |fact, hash| {
        if !places.contains_key(fact.contract) {
            places.insert(fact.contract.to_vec(), heads::NOTHING);
        }
        let own = places.get_mut(fact.contract).expect("inserted above");
        *own = heads::xor(*own, place(fact.seq));
        see(Seen::Fact(fact, hash))
    })?;
    for (contract, places) in places {
        if indexed(db, session, &contract)? != Some(places) {
            return Err(Broken::Index.into());
        }
    }
    walk::each_of_account(db, session, &head, walk::ALL, |fact, hash| see(Seen::Account(fact, hash)))?;
    walk::open_commands(db, session, &head)?;
    if in_line(db, session)? != Some(head.in_line) {
        return Err(Broken::InLine.into());
    }
    if leased(db, session)? != head.lease {
        return Err(Broken::Lease.into());
    }
    Ok(head)
}

/// Reads everything of a session except its texts, and checks it.
pub(crate) fn contents(db: &Connection, session: &SessionId) -> Result<Contents, JournalError> {
    let (mut facts, mut account): (Vec<Stored>, Vec<SessionFact>) = (Vec::new(), Vec::new());
    let mut see = |seen: Seen<'_>| {
        match seen {
            Seen::Fact(fact, _) => facts.push(fact.owned()?.stored(session)?),
            Seen::Account(fact, _) => account.push(fact.fact(session)?),
        }
        Ok(())
    };
    let head = check_session(db, session, &mut see).map_err(|fault| fault.of(session))?.printed();
    let row = walk::session(db, session)?.ok_or_else(|| JournalError::UnknownSession { session: session.clone() })?;
    Ok(Contents { row, facts, account, head })
}

/// Checks a session completely. The inner result is the session's head or the first error that was found.
pub(crate) fn verify(
    db: &Connection,
    session: &SessionId,
    printed: Option<&Head>,
) -> Result<Result<Head, Broken>, JournalError> {
    match walk_all(db, session, printed) {
        Ok(head) => Ok(Ok(head)),
        Err(Fault::Broken(broken)) => Ok(Err(broken)),
        Err(Fault::Journal(error)) => Err(error),
    }
}

fn walk_all(db: &Connection, session: &SessionId, printed: Option<&Head>) -> Result<Head, Fault> {
    let mut texts = BTreeSet::new();
    let mut at_printed = AtPrinted::begin(session);
    let mut see = |seen: Seen<'_>| {
        let body = match seen {
            Seen::Fact(fact, hash) => {
                at_printed.facts(printed, fact.seq, hash);
                fact.body
            }
            Seen::Account(fact, hash) => {
                at_printed.account(printed, fact.n, hash);
                fact.body
            }
        };
        collect_texts(body, &mut texts);
        Ok(())
    };
    let head = check_session(db, session, &mut see)?.printed();
    for hash in texts {
        match walk::text(db, hash) {
            Ok(Some(_)) => {}
            Ok(None) | Err(JournalError::TextDamaged { .. }) => return Err(Broken::Text { hash }.into()),
            Err(error) => return Err(error.into()),
        }
    }
    printed.map_or(Ok(()), |printed| at_printed.compare(printed, &head))?;
    Ok(head)
}

/// The hashes of the two chains at the rows that a printed head counts, as far as the chains have these rows.
struct AtPrinted {
    facts: (u64, Hash),
    account: (u64, Hash),
}

impl AtPrinted {
    fn begin(session: &SessionId) -> AtPrinted {
        AtPrinted { facts: (0, Chain::Facts.genesis(session)), account: (0, Chain::Account.genesis(session)) }
    }

    fn facts(&mut self, printed: Option<&Head>, seq: u64, hash: Hash) {
        if printed.is_some_and(|printed| seq <= printed.facts) {
            self.facts = (seq, hash);
        }
    }

    fn account(&mut self, printed: Option<&Head>, n: u64, hash: Hash) {
        if printed.is_some_and(|printed| n <= printed.account) {
            self.account = (n, hash);
        }
    }

    fn compare(&self, printed: &Head, head: &Head) -> Result<(), Broken> {
        let chains = [
            (Chain::Facts, printed.facts, printed.hash, self.facts, head.facts),
            (Chain::Account, printed.account, printed.account_hash, self.account, head.account),
        ];
        for (of, rows, hash, found, all) in chains {
            if found.0 < rows {
                return Err(Broken::Cut { of, printed: rows, found: all });
            }
            if found.1 != hash {
                return Err(Broken::OtherJournal { of, seq: rows });
            }
        }
        Ok(())
    }
}

fn collect_texts(body: &[u8], texts: &mut BTreeSet<Hash>) {
    // A body that is not valid still has its stored hash, so it is not damaged. The code that reads the fact reports the
    // error.
    texts.extend(texts_in(&String::from_utf8_lossy(body)).iter().map(|text| text.hash));
}

/// The hash of a fact's position, for comparing the index of a contract's facts with the facts.
fn place(seq: u64) -> Hash {
    link(heads::NOTHING, &[&seq.to_le_bytes()])
}

/// Returns the hash of the positions that the index has for a contract, or `None` if a row can't be read. The index is
/// searched exactly as in [`walk::each_of_contract`], because a search by another key could miss damage.
fn indexed(db: &Connection, session: &SessionId, contract: &[u8]) -> Result<Option<Hash>, rusqlite::Error> {
    let mut find = db.prepare_cached(
        "SELECT seq FROM fact INDEXED BY fact_of_contract WHERE session = ?1 AND contract = CAST(?2 AS TEXT) ORDER BY seq",
    )?;
    let mut rows = find.query((session.as_str(), contract))?;
    let mut places = heads::NOTHING;
    while let Some(row) = rows.next()? {
        let Ok(seq) = row.get::<_, i64>(0) else { return Ok(None) };
        places = heads::xor(places, place(seq.cast_unsigned()));
    }
    Ok(Some(places))
}

/// Returns the hash of a session's own row, or `None` if there is no readable row.
fn about(db: &Connection, session: &SessionId) -> Result<Option<Hash>, rusqlite::Error> {
    let mut find = db.prepare_cached("SELECT created_at, project, label FROM session WHERE id = ?1")?;
    let read = |row: &Row<'_>| {
        let bytes = |column| row.get_ref(column).ok()?.as_bytes().ok();
        let about = || Some(heads::about(session, row.get(0).ok()?, bytes(1)?, bytes(2)?));
        Ok(about())
    };
    Ok(find.query_row([session.as_str()], read).optional()?.flatten())
}

/// Returns the hash of the set of a session's calls that wait for a permit, or `None` if a row can't be read.
fn in_line(db: &Connection, session: &SessionId) -> Result<Option<Hash>, rusqlite::Error> {
    let mut find = db.prepare_cached("SELECT contract, ask FROM in_line WHERE session = ?1")?;
    let mut rows = find.query([session.as_str()])?;
    let mut set = heads::NOTHING;
    while let Some(row) = rows.next()? {
        let read = || Some((row.get_ref(0).ok()?.as_bytes().ok()?, row.get(1).ok()?));
        let Some((contract, ask)) = read() else { return Ok(None) };
        set = heads::xor(set, heads::in_line(session, contract, ask));
    }
    Ok(Some(set))
}

/// Returns the hash of a session's lease.
fn leased(db: &Connection, session: &SessionId) -> Result<Hash, Fault> {
    let holder = lease::holder(db, session)?;
    Ok(holder.map_or(heads::NOTHING, |holder| heads::lease(session, &holder)))
}

/// Checks the hall as a whole: the structure of the database, that no session is missing, and that there are no rows of a
/// missing session.
pub(crate) fn hall(db: &Connection) -> Result<Vec<HallBroken>, JournalError> {
    let mut check = db.prepare(&format!("PRAGMA integrity_check({FAULTS_MAX})"))?;
    let lines = check.query_map([], |row| Ok(lossy(row)))?;
    let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
    let mut broken: Vec<HallBroken> = lines.into_iter().filter(|line| line != "ok").map(HallBroken::Database).collect();
    broken.extend(schema::wrong_definitions(db)?.into_iter().map(|name| HallBroken::Definition { name }));
    broken.extend(listing(db)?);
    match treasury::check(db) {
        Err(JournalError::TreasuryDamaged { why }) => broken.push(HallBroken::Treasury { why }),
        checked => checked?,
    }
    for table in TABLES {
        let stray = format!("SELECT session FROM {table} WHERE session NOT IN (SELECT id FROM session) LIMIT 1");
        let read = |row: &Row<'_>| Ok(lossy(row));
        let session = db.query_row(&stray, [], read).optional()?;
        broken.extend(session.map(|session| HallBroken::Stray { session, table }));
    }
    Ok(broken)
}

/// Checks that the existing sessions are the stored ones, without reading the sessions themselves.
pub(crate) fn listing(db: &Connection) -> Result<Vec<HallBroken>, JournalError> {
    let mut broken = heads::check_hall(db)?;
    let mut ids = db.prepare_cached("SELECT id FROM session WHERE id NOT IN (SELECT session FROM session_head)")?;
    let mut rows = ids.query([])?;
    while let Some(row) = rows.next()? {
        broken.push(HallBroken::Unknown { session: lossy(row) });
    }
    Ok(broken)
}

fn lossy(row: &Row<'_>) -> String {
    let bytes = row.get_ref(0).ok().and_then(|value| value.as_bytes().ok()).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
