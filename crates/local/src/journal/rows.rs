//! Rows: how facts and texts are written to the database. The hash chain covers the stored bytes, so these bytes are produced
//! only here.

use std::ops::Range;
use std::sync::Arc;

use guildhall_kernel::{ACCOUNT_FORMAT, Cause, FORMAT, Fact, Hash, Millis, Path, SessionFact, SessionId, TextRef};
use serde::Serialize;

use super::chain::link;
use super::event::AccountFact;
use super::known::Change;
use super::{JournalError, TEXT_BYTES_MAX, hash_text};

/// Facts in their stored form, with the texts that they name.
pub(crate) struct Prepared {
    pub(crate) bodies: Vec<String>,
    /// The texts that the facts name and that are not in `texts`.
    pub(crate) named: Vec<TextRef>,
    /// Shared with those who follow the session.
    pub(crate) texts: Arc<[(TextRef, Vec<u8>)]>,
}

impl Prepared {
    /// Produces the stored form, and checks each text against its hash.
    pub(crate) fn new(facts: &[impl Serialize], texts: Vec<(TextRef, Vec<u8>)>) -> Result<Prepared, JournalError> {
        texts.iter().try_for_each(|(named, bytes)| check_text(named, bytes))?;
        let bodies = facts.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        let bodies = bodies.map_err(|why| JournalError::NotJson { why: why.to_string() })?;
        let mut named: Vec<_> = bodies.iter().flat_map(|body| texts_in(body)).collect();
        named.retain(|named| texts.iter().all(|(text, _)| text.hash != named.hash));
        Ok(Prepared { bodies, named, texts: texts.into() })
    }

    /// Returns approximately how many bytes will be written.
    pub(crate) fn bytes(&self) -> usize {
        let texts: usize = self.texts.iter().map(|(_, bytes)| bytes.len()).sum();
        self.bodies.iter().map(String::len).sum::<usize>() + texts
    }

    /// Returns an error if a fact names a text that is neither stored nor among these texts. A lost text that an earlier fact of
    /// the session names may be named again, so that a session that lost a text can still be ended.
    pub(crate) fn check_texts(&self, change: &Change<'_>, session: Option<&SessionId>) -> Result<(), JournalError> {
        let db = change.db;
        let session = session.map_or("", SessionId::as_str);
        let mut find = db.prepare_cached("SELECT 1 FROM text WHERE hash = ?1")?;
        let mut named_before = db.prepare_cached("SELECT 1 FROM fact WHERE session = ?1 AND instr(body, ?2) > 0")?;
        for TextRef { hash, .. } in &self.named {
            if !change.knows_text(*hash)
                && !find.exists([hash.0])?
                && !named_before.exists((session, hash.to_string()))?
            {
                return Err(JournalError::TextMissing { hash: *hash });
            }
        }
        Ok(())
    }

    /// Stores the texts.
    pub(crate) fn store_texts(&self, change: &mut Change<'_>) -> Result<(), JournalError> {
        let db = change.db;
        let mut insert = db
            .prepare_cached("INSERT INTO text (hash, bytes, kind) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING")?;
        let mut damaged = db.prepare_cached("DELETE FROM text WHERE hash = ?1 AND bytes != ?2")?;
        for (text, bytes) in self.texts.iter() {
            if change.knows_text(text.hash) {
                continue;
            }
            let kind = serde_json::to_value(text.kind).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
            let row = (text.hash.0, bytes, kind.as_str().unwrap_or_default());
            // The text that is already stored under this hash may be damaged. It is replaced, so that every acknowledged text
            // is readable.
            if insert.execute(row)? == 0 && damaged.execute((text.hash.0, bytes))? > 0 {
                insert.execute(row)?;
            }
            change.know_text(text.hash);
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
    texts_in(&serde_json::to_string(fact).expect("a fact is JSON"))
}

/// Returns the texts that a fact names, from the fact's stored form. A name of a text begins with an unescaped quotation mark
/// after a brace, so the inside of a JSON string can't look like a name.
pub(crate) fn texts_in(body: &str) -> Vec<TextRef> {
    let names = body.match_indices(r#"{"hash":""#).filter_map(|(start, _)| {
        let end = start + body[start..].find('}')?;
        serde_json::from_str(&body[start..=end]).ok()
    });
    names.collect()
}

/// The columns that all facts of one batch share.
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

/// Where facts were stored.
pub(crate) struct AddedFacts {
    pub(crate) seqs: Range<u64>,
    /// How many facts the account has.
    pub(crate) account: u64,
    /// The hash of the last fact.
    pub(crate) hash: Hash,
}

/// Adds facts to a session.
pub(crate) fn add_facts(
    change: &mut Change<'_>,
    session: &SessionId,
    shared: &Shared,
    bodies: &[String],
) -> Result<AddedFacts, JournalError> {
    let mut insert = change.db.prepare_cached(
        "INSERT INTO fact (session, seq, v, contract, at, cause, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let head = change.head(session)?;
    let first = head.facts + 1;
    let at = shared.at.0.cast_signed();
    for body in bodies {
        head.facts += 1;
        let texts = [shared.contract.as_bytes(), shared.cause.as_bytes(), body.as_bytes()];
        head.facts_hash = link_fact(head.facts_hash, head.facts, i64::from(FORMAT), at, texts);
        let (seq, hash) = (head.facts.cast_signed(), head.facts_hash.0);
        insert.execute((session.as_str(), seq, FORMAT, &shared.contract, at, &shared.cause, body, hash))?;
    }
    Ok(AddedFacts { seqs: first..head.facts + 1, account: head.account, hash: head.facts_hash })
}

/// Returns the hash of a fact. The texts are its contract, its cause and its body, as stored in the database.
pub(crate) fn link_fact(before: Hash, seq: u64, v: i64, at: i64, [contract, cause, body]: [&[u8]; 3]) -> Hash {
    link(before, &[&seq.to_le_bytes(), &v.to_le_bytes(), contract, &at.to_le_bytes(), cause, body])
}

/// Where facts of an account were stored.
pub(crate) struct AddedAccount {
    pub(crate) numbers: Range<u64>,
    /// The number of the session's fact before them.
    pub(crate) after: u64,
    pub(crate) at: Millis,
    /// The hash of the last fact.
    pub(crate) hash: Hash,
}

impl AddedAccount {
    /// Returns these facts as they are stored.
    pub(crate) fn stored<'a>(&'a self, facts: &'a [SessionFact]) -> impl Iterator<Item = AccountFact> + use<'a> {
        let stored =
            |(n, fact): (u64, &SessionFact)| AccountFact { n, after: self.after, at: self.at, fact: fact.clone() };
        self.numbers.clone().zip(facts).map(stored)
    }
}

/// Adds facts to a session's account.
pub(crate) fn add_account(
    change: &mut Change<'_>,
    session: &SessionId,
    time: Millis,
    bodies: &[String],
) -> Result<AddedAccount, JournalError> {
    let mut insert = change.db.prepare_cached(
        "INSERT INTO session_fact (session, n, v, after, at, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let head = change.head(session)?;
    let (first, after, at) = (head.account + 1, head.facts.cast_signed(), time.0.cast_signed());
    for body in bodies {
        head.account += 1;
        head.account_hash =
            link_account(head.account_hash, head.account, i64::from(ACCOUNT_FORMAT), [after, at], body.as_bytes());
        let (n, hash) = (head.account.cast_signed(), head.account_hash.0);
        insert.execute((session.as_str(), n, ACCOUNT_FORMAT, after, at, body, hash))?;
    }
    let numbers = first..head.account + 1;
    Ok(AddedAccount { numbers, after: head.facts, at: time, hash: head.account_hash })
}

/// Returns the hash of a fact of the account. `after` is the session's last fact at that time.
pub(crate) fn link_account(before: Hash, n: u64, v: i64, [after, at]: [i64; 2], body: &[u8]) -> Hash {
    let (n, form, after, at) = (n.to_le_bytes(), v.to_le_bytes(), after.to_le_bytes(), at.to_le_bytes());
    link(before, &[&n, &form, &after, &at, body])
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
            let found = texts_in(line).len();
            assert_eq!(found, line.matches(r#","kind":""#).count(), "{line}");
            all += found;
        }
        assert!(all > 10, "{all}");
    }
}
