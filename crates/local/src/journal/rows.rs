//! Rows: how facts and texts are written to the database and read from it. The bytes that were stored are what the chain
//! covers, so they are made once, here.

use std::collections::BTreeSet;
use std::ops::Range;

use guildhall_kernel::{Cause, FORMAT, Fact, Hash, Millis, Path, SessionFact, Stored, TextRef};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::{Chain, link};
use super::{JournalError, SessionRow, TEXT_BYTES_MAX, hash_text};
use crate::clock::UnixMs;
use crate::id::{SessionId, SessionIdError};

/// Facts in their stored form, and the texts that they name.
pub(crate) struct Prepared {
    pub(crate) bodies: Vec<String>,
    named: BTreeSet<Hash>,
    texts: Vec<(TextRef, Vec<u8>)>,
}

impl Prepared {
    /// Makes the stored form, and checks each text against its hash.
    pub(crate) fn new(facts: &[impl Serialize], texts: Vec<(TextRef, Vec<u8>)>) -> Result<Prepared, JournalError> {
        texts.iter().try_for_each(|(named, bytes)| check_text(named, bytes))?;
        let mut named = BTreeSet::new();
        let mut bodies = Vec::with_capacity(facts.len());
        for fact in facts {
            let value = serde_json::to_value(fact).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
            named.extend(texts_in(&value).iter().map(|text| text.hash));
            bodies.push(value.to_string());
        }
        for (text, _) in &texts {
            named.remove(&text.hash);
        }
        Ok(Prepared { bodies, named, texts })
    }

    /// About how much this is to write.
    pub(crate) fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().map(|(_, bytes)| bytes.len()).sum();
        self.bodies.iter().map(String::len).sum::<usize>() + texts
    }

    /// Stores the texts, and refuses facts that name others which are not stored.
    pub(crate) fn store_texts(&self, db: &Connection) -> Result<(), JournalError> {
        let mut find = db.prepare_cached("SELECT 1 FROM text WHERE hash = ?1")?;
        for hash in &self.named {
            if !find.exists([hash.0])? {
                return Err(JournalError::TextMissing { hash: *hash });
            }
        }
        let mut insert = db
            .prepare_cached("INSERT INTO text (hash, bytes, kind) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING")?;
        for (text, bytes) in &self.texts {
            let kind = serde_json::to_value(text.kind).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
            insert.execute((text.hash.0, bytes, kind.as_str().unwrap_or_default()))?;
        }
        Ok(())
    }
}

fn check_text(named: &TextRef, bytes: &[u8]) -> Result<(), JournalError> {
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(JournalError::TextTooLong { bytes: bytes.len() });
    }
    let found = hash_text(bytes);
    if found == named.hash && u32::try_from(bytes.len()) == Ok(named.bytes) {
        return Ok(());
    }
    let (named_bytes, named) = (named.bytes, named.hash);
    Err(JournalError::TextMismatch { named, named_bytes, found, found_bytes: bytes.len() })
}

/// Returns the texts that a fact names.
pub fn texts_named(fact: &Fact) -> Vec<TextRef> {
    texts_in(&serde_json::to_value(fact).expect("a fact is JSON"))
}

/// Returns the texts that a fact's JSON names, wherever in it they stand.
pub(crate) fn texts_in(fact: &Value) -> Vec<TextRef> {
    let mut found = Vec::new();
    let mut open = vec![fact];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => {
                let named = ["hash", "bytes", "kind"].iter().all(|name| fields.contains_key(*name));
                match named.then(|| TextRef::deserialize(value)) {
                    Some(Ok(text)) => found.push(text),
                    Some(Err(_)) | None => open.extend(fields.values().rev()),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// What all facts of one batch share.
pub(crate) struct Shared {
    pub(crate) contract: String,
    pub(crate) at: Millis,
    pub(crate) cause: String,
}

impl Shared {
    pub(crate) fn new(contract: &Path, at: Millis, cause: &Cause) -> Result<Shared, JournalError> {
        let cause = serde_json::to_string(cause).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
        Ok(Shared { contract: contract.to_string(), at, cause })
    }
}

/// Returns the last row of a chain: its number and its hash.
pub(crate) fn last(db: &Connection, session: &SessionId, chain: Chain) -> Result<(u64, Hash), JournalError> {
    let mut last = db.prepare_cached(match chain {
        Chain::Facts => "SELECT seq, hash FROM fact WHERE session = ?1 ORDER BY seq DESC LIMIT 1",
        Chain::Account => "SELECT n, hash FROM session_fact WHERE session = ?1 ORDER BY n DESC LIMIT 1",
    })?;
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), Hash(row.get(1)?)));
    let (number, hash) =
        last.query_row([session.as_str()], read).optional()?.unwrap_or_else(|| (0, chain.genesis(session)));
    if number >= i64::MAX.cast_unsigned() {
        return Err(corrupt(
            session,
            "the newest row".into(),
            format!("{} is no number for a row", number.cast_signed()),
        ));
    }
    Ok((number, hash))
}

/// Adds facts to a session and returns their numbers and the last hash.
pub(crate) fn add_facts(
    db: &Connection,
    session: &SessionId,
    shared: &Shared,
    bodies: &[String],
) -> Result<(Range<u64>, Hash), JournalError> {
    let (before, mut hash) = last(db, session, Chain::Facts)?;
    let mut seq = before;
    let mut insert = db.prepare_cached(
        "INSERT INTO fact (session, seq, v, contract, at, cause, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let at = shared.at.0.cast_signed();
    for body in bodies {
        seq += 1;
        let texts = [shared.contract.as_bytes(), shared.cause.as_bytes(), body.as_bytes()];
        hash = link_fact(hash, seq, i64::from(FORMAT), at, texts);
        let row = (session.as_str(), seq.cast_signed(), FORMAT, &shared.contract, at, &shared.cause, body, hash.0);
        insert.execute(row)?;
    }
    Ok((before + 1..seq + 1, hash))
}

/// Returns a fact's hash. Its texts are its contract, its cause and its body, as they stand in the database.
pub(crate) fn link_fact(before: Hash, seq: u64, v: i64, at: i64, [contract, cause, body]: [&[u8]; 3]) -> Hash {
    link(before, &[&seq.to_le_bytes(), &v.to_le_bytes(), contract, &at.to_le_bytes(), cause, body])
}

/// Adds facts to a session's account.
pub(crate) fn add_account(
    db: &Connection,
    session: &SessionId,
    at: Millis,
    bodies: &[String],
) -> Result<(Range<u64>, Hash), JournalError> {
    let after = last(db, session, Chain::Facts)?.0.cast_signed();
    let (before, mut hash) = last(db, session, Chain::Account)?;
    let mut n = before;
    let mut insert = db.prepare_cached(
        "INSERT INTO session_fact (session, n, after, at, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let at = at.0.cast_signed();
    for body in bodies {
        n += 1;
        hash = link_account(hash, n, after, at, body.as_bytes());
        insert.execute((session.as_str(), n.cast_signed(), after, at, body, hash.0))?;
    }
    Ok((before + 1..n + 1, hash))
}

/// Returns the hash of a fact of the account.
pub(crate) fn link_account(before: Hash, n: u64, after: i64, at: i64, body: &[u8]) -> Hash {
    link(before, &[&n.to_le_bytes(), &after.to_le_bytes(), &at.to_le_bytes(), body])
}

/// A fact as it stands in the database.
pub(crate) struct FactRow {
    pub(crate) seq: u64,
    v: i64,
    pub(crate) contract: String,
    at: i64,
    cause: String,
    pub(crate) body: String,
}

impl FactRow {
    const COLUMNS: &str = "seq, v, contract, at, cause, body";

    fn read(row: &Row<'_>) -> Result<FactRow, rusqlite::Error> {
        Ok(FactRow {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            v: row.get(1)?,
            contract: row.get(2)?,
            at: row.get(3)?,
            cause: row.get(4)?,
            body: row.get(5)?,
        })
    }

    /// Returns the row as one line of JSON, with the texts that it names.
    pub(crate) fn line(&self, texts: &Value) -> String {
        let FactRow { seq, v, contract, at, cause, body } = self;
        format!(
            "{{\"seq\":{seq},\"v\":{v},\"contract\":\"{contract}\",\"at\":{at},\"cause\":{cause},\"fact\":{body},\"texts\":{texts}}}\n"
        )
    }

    /// Returns the fact, or says why it is none.
    pub(crate) fn stored(&self, session: &SessionId) -> Result<Stored, JournalError> {
        let corrupt = |why: String| corrupt(session, format!("fact {}", self.seq), why);
        if self.v != i64::from(FORMAT) {
            return Err(corrupt(format!("it has form {}, and this guildhall reads form {FORMAT}", self.v)));
        }
        let contract = self.contract.parse().map_err(|why: guildhall_kernel::PathError| corrupt(why.to_string()))?;
        let cause = serde_json::from_str(&self.cause).map_err(|why| corrupt(why.to_string()))?;
        let fact: Fact = serde_json::from_str(&self.body).map_err(|why| corrupt(why.to_string()))?;
        Ok(Stored { v: FORMAT, seq: self.seq, contract, at: Millis(self.at.cast_unsigned()), cause, fact })
    }
}

fn corrupt(session: &SessionId, place: String, why: String) -> JournalError {
    JournalError::Corrupt { session: session.clone(), place, why }
}

/// Calls `each` for a session's facts from `from` on, at most `limit` of them, in order and without a gap.
pub(crate) fn each_fact(
    db: &Connection,
    session: &SessionId,
    from: u64,
    limit: u32,
    mut each: impl FnMut(FactRow) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let from = from.max(1);
    let sql = format!("SELECT {} FROM fact WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3", FactRow::COLUMNS);
    let mut facts = db.prepare_cached(&sql)?;
    let mut rows = facts.query((session.as_str(), i64::try_from(from).unwrap_or(i64::MAX), limit))?;
    let mut due = from;
    while let Some(row) = rows.next()? {
        let row = FactRow::read(row).map_err(|why| corrupt(session, format!("fact {due}"), why.to_string()))?;
        if row.seq != due {
            return Err(corrupt(session, format!("fact {due}"), "it is missing".into()));
        }
        due += 1;
        each(row)?;
    }
    Ok(())
}

/// Calls `each` for one contract's facts.
pub(crate) fn each_of_contract(
    db: &Connection,
    session: &SessionId,
    contract: &str,
    mut each: impl FnMut(FactRow) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let columns = FactRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM fact WHERE session = ?1 AND contract = ?2 ORDER BY seq");
    let mut facts = db.prepare_cached(&sql)?;
    let mut rows = facts.query((session.as_str(), contract))?;
    while let Some(row) = rows.next()? {
        let row = FactRow::read(row);
        each(row.map_err(|why| corrupt(session, format!("a fact of {contract}"), why.to_string()))?)?;
    }
    Ok(())
}

/// Which fact of a contract is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    First,
    Newest,
}

/// Returns one fact of a contract, if it has any.
pub(crate) fn one_of_contract(
    db: &Connection,
    session: &SessionId,
    contract: &str,
    which: Which,
) -> Result<Option<FactRow>, JournalError> {
    let order = match which {
        Which::First => "ASC",
        Which::Newest => "DESC",
    };
    let columns = FactRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM fact WHERE session = ?1 AND contract = ?2 ORDER BY seq {order} LIMIT 1");
    let mut one = db.prepare_cached(&sql)?;
    let row = one.query_row((session.as_str(), contract), FactRow::read).optional();
    row.map_err(|why| corrupt(session, format!("a fact of {contract}"), why.to_string()))
}

/// Returns the facts of a session's account.
pub(crate) fn account(db: &Connection, session: &SessionId) -> Result<Vec<SessionFact>, JournalError> {
    let mut facts = db.prepare_cached("SELECT n, body FROM session_fact WHERE session = ?1 ORDER BY n")?;
    let mut rows = facts.query([session.as_str()])?;
    let mut account = Vec::new();
    while let Some(row) = rows.next()? {
        let (n, body) = (row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
        let corrupt = |why: String| corrupt(session, format!("fact {n} of the account"), why);
        if n.cast_unsigned() != account.len() as u64 + 1 {
            return Err(corrupt("one before it is missing".into()));
        }
        account.push(serde_json::from_str(&body).map_err(|why| corrupt(why.to_string()))?);
    }
    Ok(account)
}

/// Returns a text, if it is stored.
pub(crate) fn text(db: &Connection, hash: Hash) -> Result<Option<Vec<u8>>, JournalError> {
    let mut find = db.prepare_cached("SELECT bytes FROM text WHERE hash = ?1")?;
    Ok(find.query_row([hash.0], |row| row.get(0)).optional()?)
}

/// Returns all sessions, the newest first.
pub(crate) fn sessions(db: &Connection) -> Result<Vec<SessionRow>, JournalError> {
    let mut all = db.prepare_cached(
        "SELECT id, created_at, project, label, (SELECT coalesce(max(seq), 0) FROM fact WHERE session = id)
         FROM session ORDER BY created_at DESC, id",
    )?;
    let mut rows = all.query([])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let id: SessionId = id.parse().map_err(|why: SessionIdError| {
            let source = rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(why));
            JournalError::from(source)
        })?;
        let (created_at, facts) = (row.get::<_, i64>(1)?.cast_unsigned(), row.get::<_, i64>(4)?.cast_unsigned());
        sessions.push(SessionRow {
            id,
            created_at: UnixMs(created_at),
            project: row.get(2)?,
            label: row.get(3)?,
            facts,
        });
    }
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use super::texts_in;

    #[test]
    fn every_text_that_a_fact_names_is_found() {
        let files = [
            include_str!("../../../kernel/tests/golden/fact.jsonl"),
            include_str!("../../../kernel/tests/golden/ask.jsonl"),
            include_str!("../../../kernel/tests/golden/answer.jsonl"),
        ];
        let mut all = 0;
        for line in files.iter().flat_map(|file| file.lines()) {
            let found = texts_in(&serde_json::from_str(line).unwrap()).len();
            assert_eq!(found, line.matches(r#","kind":""#).count(), "{line}");
            all += found;
        }
        assert!(all > 10, "{all}");
    }
}
