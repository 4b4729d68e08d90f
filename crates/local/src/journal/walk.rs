//! Reading rows: each row is checked against its own hash and the hash of the row before it. A fact or text that was changed
//! after it was stored is never returned.

use guildhall_kernel::{ACCOUNT_FORMAT, FORMAT, Fact, Hash, Millis, Session, SessionFact, SessionId, Stored, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row};

use super::chain::{Broken, Chain, Fault};
use super::event::AccountFact;
use super::heads::{self, SessionHead};
use super::rows::{link_account, link_fact};
use super::{JournalError, SessionRow, hash_text};

/// A row of a fact as it is in the database, possibly damaged.
pub(crate) struct RawFact<'a> {
    pub(crate) seq: u64,
    v: i64,
    pub(crate) contract: &'a [u8],
    at: i64,
    cause: &'a [u8],
    pub(crate) body: &'a [u8],
    hash: &'a [u8],
}

impl<'a> RawFact<'a> {
    fn read(row: &'a Row<'_>) -> Option<RawFact<'a>> {
        Some(RawFact {
            seq: row.get::<_, i64>(0).ok()?.cast_unsigned(),
            v: row.get(1).ok()?,
            contract: bytes(row, 2)?,
            at: row.get(3).ok()?,
            cause: bytes(row, 4)?,
            body: bytes(row, 5)?,
            hash: bytes(row, 6)?,
        })
    }

    /// Returns the row's hash if it matches the stored hash.
    fn follows(&self, before: Hash) -> Option<Hash> {
        let hash = link_fact(before, self.seq, self.v, self.at, [self.contract, self.cause, self.body]);
        (hash.0 == self.hash).then_some(hash)
    }

    /// Returns the row as an owned value.
    pub(crate) fn owned(&self) -> Result<FactRow, Fault> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Broken::Fact { seq: self.seq });
        let (contract, cause, body) = (text(self.contract)?, text(self.cause)?, text(self.body)?);
        Ok(FactRow { seq: self.seq, v: self.v, contract, at: self.at, cause, body })
    }
}

/// Returns the bytes of a text or blob column. The bytes need not be valid UTF-8.
fn bytes<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    row.get_ref(column).ok()?.as_bytes().ok()
}

/// A row of a fact whose hash is right.
pub(crate) struct FactRow {
    pub(crate) seq: u64,
    v: i64,
    pub(crate) contract: String,
    at: i64,
    cause: String,
    pub(crate) body: String,
}

impl FactRow {
    /// Returns the fact, or an error if the row is not a valid fact.
    pub(crate) fn stored(&self, session: &SessionId) -> Result<Stored, JournalError> {
        let corrupt = |why: String| corrupt(session, format!("fact {}", self.seq), why);
        require_form(self.v, FORMAT).map_err(corrupt)?;
        let contract = self.contract.parse().map_err(|why: guildhall_kernel::PathError| corrupt(why.to_string()))?;
        let cause = serde_json::from_str(&self.cause).map_err(|why| corrupt(why.to_string()))?;
        let fact: Fact = serde_json::from_str(&self.body).map_err(|why| corrupt(why.to_string()))?;
        Ok(Stored { v: FORMAT, seq: self.seq, contract, at: Millis(self.at.cast_unsigned()), cause, fact })
    }
}

/// Returns an error if a fact does not have the form that this program reads.
pub(crate) fn require_form(v: i64, wanted: u16) -> Result<(), String> {
    if v == i64::from(wanted) {
        return Ok(());
    }
    Err(format!("the fact has form {v}, but this guildhall reads only form {wanted}"))
}

fn corrupt(session: &SessionId, place: String, why: String) -> JournalError {
    JournalError::Corrupt { session: session.clone(), place, why }
}

/// Returns the hash of the fact before this one.
fn hash_before(db: &Connection, session: &SessionId, seq: u64) -> Result<Hash, Fault> {
    if seq <= 1 {
        return Ok(Chain::Facts.genesis(session));
    }
    let before = seq - 1;
    let mut find = db.prepare_cached("SELECT hash FROM fact WHERE session = ?1 AND seq = ?2")?;
    let found = find.query_row((session.as_str(), before.cast_signed()), |row| Ok(row.get(0).ok())).optional()?;
    found.flatten().map(Hash).ok_or(Fault::Broken(Broken::Fact { seq: before }))
}

/// Calls `each` for a session's facts with their hashes, in order and without a gap, starting with number `from`, at most
/// `limit` facts. The last fact of the session must match the head.
pub(crate) fn each_raw(
    db: &Connection,
    session: &SessionId,
    head: &SessionHead,
    (from, limit): (u64, u32),
    mut each: impl FnMut(&RawFact<'_>, Hash) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let from = from.max(1);
    if from > head.facts.saturating_add(1) {
        return Ok(());
    }
    let mut last = (from - 1, hash_before(db, session, from)?);
    let mut facts = db.prepare_cached(
        "SELECT seq, v, contract, at, cause, body, hash FROM fact WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = facts.query((session.as_str(), from.cast_signed(), limit))?;
    let mut left = limit;
    while let Some(row) = rows.next()? {
        let (due, before) = (last.0 + 1, last.1);
        let fact = RawFact::read(row).filter(|fact| fact.seq == due).ok_or(Broken::Fact { seq: due })?;
        last = (due, fact.follows(before).ok_or(Broken::Fact { seq: due })?);
        each(&fact, last.1)?;
        left -= 1;
    }
    match left {
        0 => Ok(()),
        _ if last == (head.facts, head.facts_hash) => Ok(()),
        _ if last.0 == head.facts => Err(Broken::Fact { seq: last.0 }.into()),
        _ => Err(Broken::Facts { recorded: head.facts, found: last.0 }.into()),
    }
}

/// Calls `each` for a session's facts, starting with number `from`, at most `limit` facts.
pub(crate) fn each_fact(
    db: &Connection,
    session: &SessionId,
    from: u64,
    limit: u32,
    mut each: impl FnMut(FactRow) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let mut walk = || {
        let head = SessionHead::read(db, session)?;
        each_raw(db, session, &head, (from, limit), |fact, _| Ok(each(fact.owned()?)?))
    };
    walk().map_err(|fault: Fault| fault.of(session))
}

/// Which facts of a contract to read.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    All,
    First,
    Newest,
}

/// Calls `each` for the facts of one contract, in order. Each fact is checked against the session's fact before it, which may
/// belong to another contract.
pub(crate) fn each_of_contract(
    db: &Connection,
    session: &SessionId,
    contract: &str,
    which: Which,
    mut each: impl FnMut(FactRow) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let order = match which {
        Which::All => "ASC",
        Which::First => "ASC LIMIT 1",
        Which::Newest => "DESC LIMIT 1",
    };
    let sql = format!(
        "SELECT fact.seq, fact.v, fact.contract, fact.at, fact.cause, fact.body, fact.hash, before.hash
         FROM fact LEFT JOIN fact AS before ON before.session = fact.session AND before.seq = fact.seq - 1
         WHERE fact.session = ?1 AND fact.contract = ?2 ORDER BY fact.seq {order}"
    );
    let mut facts = db.prepare_cached(&sql)?;
    let mut rows = facts.query((session.as_str(), contract))?;
    let mut walk = || {
        let mut seq: u64 = 0;
        while let Some(row) = rows.next()? {
            let fact = RawFact::read(row).ok_or(Broken::Fact { seq: seq.saturating_add(1) })?;
            seq = fact.seq;
            let before = match seq {
                1 => Some(Chain::Facts.genesis(session)),
                _ => row.get(7).ok().map(Hash),
            };
            before.and_then(|before| fact.follows(before)).ok_or(Broken::Fact { seq })?;
            each(fact.owned()?)?;
        }
        Ok(())
    };
    walk().map_err(|fault: Fault| fault.of(session))
}

/// Returns one fact of a contract, if the contract has facts.
pub(crate) fn one_of_contract(
    db: &Connection,
    session: &SessionId,
    contract: &str,
    which: Which,
) -> Result<Option<FactRow>, JournalError> {
    let mut found = None;
    each_of_contract(db, session, contract, which, |row| {
        found = Some(row);
        Ok(())
    })?;
    Ok(found)
}

/// A row of a fact of the account as it is in the database, possibly damaged.
pub(crate) struct RawAccount<'a> {
    pub(crate) n: u64,
    pub(crate) v: i64,
    after: i64,
    at: i64,
    pub(crate) body: &'a [u8],
    hash: &'a [u8],
}

impl<'a> RawAccount<'a> {
    fn read(row: &'a Row<'_>) -> Option<RawAccount<'a>> {
        let n = row.get::<_, i64>(0).ok()?.cast_unsigned();
        let (v, after, at) = (row.get(1).ok()?, row.get(2).ok()?, row.get(3).ok()?);
        Some(RawAccount { n, v, after, at, body: bytes(row, 4)?, hash: bytes(row, 5)? })
    }

    fn follows(&self, before: Hash) -> Option<Hash> {
        let hash = link_account(before, self.n, self.v, [self.after, self.at], self.body);
        (hash.0 == self.hash).then_some(hash)
    }

    /// Returns the fact, or an error if the row is not a valid fact.
    pub(crate) fn fact(&self, session: &SessionId) -> Result<SessionFact, JournalError> {
        let corrupt = |why: String| corrupt(session, format!("fact {} of the account", self.n), why);
        require_form(self.v, ACCOUNT_FORMAT).map_err(corrupt)?;
        serde_json::from_slice(self.body).map_err(|why| corrupt(why.to_string()))
    }

    /// Returns the fact with its place, or an error if the row is not a valid fact.
    pub(crate) fn stored(&self, session: &SessionId) -> Result<AccountFact, JournalError> {
        let (after, at) = (self.after.cast_unsigned(), Millis(self.at.cast_unsigned()));
        Ok(AccountFact { n: self.n, after, at, fact: self.fact(session)? })
    }
}

/// All facts, as a range for [`each_raw`] and [`each_of_account`].
pub(crate) const ALL: (u64, u32) = (1, u32::MAX);

/// Calls `each` for the facts of a session's account, in order and without a gap, starting with number `from`, at most `limit`
/// facts. The last fact must match the head.
pub(crate) fn each_of_account(
    db: &Connection,
    session: &SessionId,
    head: &SessionHead,
    (from, limit): (u64, u32),
    mut each: impl FnMut(&RawAccount<'_>, Hash) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut facts = db.prepare_cached(
        "SELECT n, v, after, at, body, hash FROM session_fact WHERE session = ?1 AND n >= ?2 ORDER BY n LIMIT ?3",
    )?;
    let mut rows = facts.query((session.as_str(), from.cast_signed(), limit))?;
    let mut last = (from - 1, hash_before_account(db, session, from)?);
    let mut left = limit;
    while let Some(row) = rows.next()? {
        let (due, before) = (last.0 + 1, last.1);
        let fact = RawAccount::read(row).filter(|fact| fact.n == due).ok_or(Broken::Account { n: due })?;
        last = (due, fact.follows(before).ok_or(Broken::Account { n: due })?);
        each(&fact, last.1)?;
        left -= 1;
    }
    match left {
        0 => Ok(()),
        _ if last == (head.account, head.account_hash) => Ok(()),
        _ if last.0 == head.account => Err(Broken::Account { n: last.0 }.into()),
        _ => Err(Broken::Accounts { recorded: head.account, found: last.0 }.into()),
    }
}

/// Returns the hash of the fact of the account before this one.
fn hash_before_account(db: &Connection, session: &SessionId, n: u64) -> Result<Hash, Fault> {
    if n <= 1 {
        return Ok(Chain::Account.genesis(session));
    }
    let before = n - 1;
    let mut find = db.prepare_cached("SELECT hash FROM session_fact WHERE session = ?1 AND n = ?2")?;
    let found = find.query_row((session.as_str(), before.cast_signed()), |row| Ok(row.get(0).ok())).optional()?;
    found.flatten().map(Hash).ok_or(Fault::Broken(Broken::Account { n: before }))
}

/// Returns the facts of a session's account.
pub(crate) fn account(db: &Connection, session: &SessionId) -> Result<Vec<SessionFact>, JournalError> {
    let mut account = Vec::new();
    let mut walk = || {
        let head = SessionHead::read(db, session)?;
        each_of_account(db, session, &head, ALL, |fact, _| {
            account.push(fact.fact(session)?);
            Ok(())
        })
    };
    walk().map_err(|fault: Fault| fault.of(session))?;
    Ok(account)
}

/// Returns a session's account.
pub(crate) fn folded_account(db: &Connection, session: &SessionId) -> Result<Session, JournalError> {
    let account = Session::restore(account(db, session)?);
    account.map_err(|why| corrupt(session, "the account".to_owned(), why.to_string()))
}

/// Returns the session time of the newest row: a session's time stands still while no process runs it.
pub(crate) fn newest_time(db: &Connection, session: &SessionId) -> Result<Millis, JournalError> {
    let mut newest = db.prepare_cached(
        "SELECT max(coalesce((SELECT at FROM fact WHERE session = ?1 ORDER BY seq DESC LIMIT 1), 0),
                    coalesce((SELECT at FROM session_fact WHERE session = ?1 ORDER BY n DESC LIMIT 1), 0))",
    )?;
    Ok(Millis(newest.query_row([session.as_str()], |row| row.get::<_, i64>(0))?.cast_unsigned()))
}

/// A row of a command that is not executed yet, as it is in the database.
pub(crate) struct RawCommand {
    pub(crate) number: i64,
    pub(crate) at: i64,
    pub(crate) command: Vec<u8>,
}

/// Returns the commands of a session that are not executed yet, if they match the head.
pub(crate) fn open_commands(
    db: &Connection,
    session: &SessionId,
    head: &SessionHead,
) -> Result<Vec<RawCommand>, Fault> {
    let mut waiting =
        db.prepare_cached("SELECT number, at, command FROM inbox WHERE session = ?1 AND done = 0 ORDER BY number")?;
    let mut rows = waiting.query([session.as_str()])?;
    let (mut commands, mut set) = (Vec::new(), heads::NOTHING);
    while let Some(row) = rows.next()? {
        let read =
            || Some(RawCommand { number: row.get(0).ok()?, at: row.get(1).ok()?, command: bytes(row, 2)?.to_vec() });
        let command = read().ok_or(Broken::Inbox)?;
        set = heads::xor(set, heads::command(session, command.number, command.at, &command.command));
        commands.push(command);
    }
    if set == head.commands_open { Ok(commands) } else { Err(Broken::Inbox.into()) }
}

/// Returns a text, if it is stored. Returns an error if its bytes do not match the hash.
pub(crate) fn text(db: &Connection, hash: Hash) -> Result<Option<Vec<u8>>, JournalError> {
    let mut find = db.prepare_cached("SELECT bytes FROM text WHERE hash = ?1")?;
    let found = find.query_row([hash.0], |row| Ok(bytes(row, 0).map(<[u8]>::to_vec))).optional()?;
    match found {
        None => Ok(None),
        Some(Some(bytes)) if hash_text(&bytes) == hash => Ok(Some(bytes)),
        Some(_) => Err(JournalError::TextDamaged { hash }),
    }
}

/// Returns all sessions, the newest first. Damage of a session is not checked here, and rows without a valid id are left out;
/// the check of the hall reports them.
pub(crate) fn sessions(db: &Connection) -> Result<Vec<SessionRow>, JournalError> {
    let mut all = db.prepare_cached(
        "SELECT id, created_at, project, label, (SELECT facts FROM session_head WHERE session = id)
         FROM session ORDER BY created_at DESC, id",
    )?;
    let mut rows = all.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.extend(session_row(row));
    }
    Ok(sessions)
}

/// Returns the row of one session, if the session exists.
pub(crate) fn session(db: &Connection, session: &SessionId) -> Result<Option<SessionRow>, JournalError> {
    let mut one = db.prepare_cached(
        "SELECT id, created_at, project, label, (SELECT facts FROM session_head WHERE session = id)
         FROM session WHERE id = ?1",
    )?;
    Ok(one.query_row([session.as_str()], |row| Ok(session_row(row))).optional()?.flatten())
}

/// Returns the sessions with a root that was requested and has not ended, the oldest first. Damage of a session is not checked
/// here, and rows without a valid id are left out.
pub(crate) fn under_way(db: &Connection) -> Result<Vec<SessionId>, JournalError> {
    // Each root is requested once and ends once.
    let mut find = db.prepare_cached(
        "SELECT id FROM session
         WHERE (SELECT count(*) FILTER (WHERE body LIKE '{\"requested\":%')
                       > count(*) FILTER (WHERE body LIKE '{\"ended\":%')
                FROM session_fact WHERE session = id)
         ORDER BY created_at, id",
    )?;
    let mut rows = find.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        let id = bytes(row, 0).and_then(|id| String::from_utf8_lossy(id).parse().ok());
        sessions.extend(id);
    }
    Ok(sessions)
}

fn session_row(row: &Row<'_>) -> Option<SessionRow> {
    let text = |column| bytes(row, column).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    Some(SessionRow {
        id: text(0)?.parse().ok()?,
        created_at: UnixMs(row.get::<_, i64>(1).ok()?.cast_unsigned()),
        project: text(2)?,
        label: text(3)?,
        facts: row.get::<_, i64>(4).unwrap_or(0).cast_unsigned(),
    })
}
