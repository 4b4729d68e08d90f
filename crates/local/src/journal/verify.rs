//! The check of what is stored: both chains from their beginning, each text against its hash, and the end against a
//! printed head. It reads rows as they are and trusts nothing.

use std::collections::BTreeSet;

use guildhall_kernel::Hash;
use rusqlite::{Connection, Row};

use super::chain::{Broken, Chain, Head};
use super::rows::{self, link_account, link_fact, texts_in};
use super::{JournalError, hash_text};
use crate::id::SessionId;

/// Walks a session from end to end. The inner result says what is wrong first, or where the session stands.
pub(crate) fn verify(
    db: &Connection,
    session: &SessionId,
    printed: Option<&Head>,
) -> Result<Result<Head, Broken>, JournalError> {
    let mut texts = BTreeSet::new();
    let facts = match walk_facts(db, session, printed.map(|head| head.facts), &mut texts)? {
        Ok(end) => end,
        Err(broken) => return Ok(Err(broken)),
    };
    let account = match walk_account(db, session, printed.map(|head| head.account), &mut texts)? {
        Ok(end) => end,
        Err(broken) => return Ok(Err(broken)),
    };
    for hash in texts {
        if rows::text(db, hash)?.is_none_or(|bytes| hash_text(&bytes) != hash) {
            return Ok(Err(Broken::Text { hash }));
        }
    }
    let head = Head { facts: facts.rows, hash: facts.last, account: account.rows, account_hash: account.last };
    Ok(printed.map_or(Ok(()), |printed| compare(printed, &facts, &account)).map(|()| head))
}

/// Where a chain ended, and the hash that it had at the printed row, if it got there.
struct End {
    rows: u64,
    last: Hash,
    at_printed: Option<Hash>,
}

impl End {
    fn begin(genesis: Hash, printed: Option<u64>) -> End {
        End { rows: 0, last: genesis, at_printed: (printed == Some(0)).then_some(genesis) }
    }

    /// Takes the next row in, if it is the next and has the hash that follows.
    fn follow(&mut self, number: u64, hash: Hash, stored: &[u8], printed: Option<u64>) -> bool {
        let sound = number == self.rows + 1 && hash.0 == stored;
        self.rows = number;
        self.last = hash;
        if printed == Some(number) {
            self.at_printed = Some(hash);
        }
        sound
    }
}

fn compare(printed: &Head, facts: &End, account: &End) -> Result<(), Broken> {
    for (rows, hash, end) in [(printed.facts, printed.hash, facts), (printed.account, printed.account_hash, account)] {
        match end.at_printed {
            None => return Err(Broken::Cut { printed: rows, found: end.rows }),
            Some(found) if found != hash => return Err(Broken::Another { seq: rows }),
            Some(_) => {}
        }
    }
    Ok(())
}

fn walk_facts(
    db: &Connection,
    session: &SessionId,
    printed: Option<u64>,
    texts: &mut BTreeSet<Hash>,
) -> Result<Result<End, Broken>, JournalError> {
    let sql = "SELECT seq, v, contract, at, cause, body, hash FROM fact WHERE session = ?1 ORDER BY seq";
    let mut facts = db.prepare_cached(sql)?;
    let mut rows = facts.query([session.as_str()])?;
    let mut end = End::begin(Chain::Facts.genesis(session), printed);
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        let (contract, cause, body) = (stored(row, 2)?, stored(row, 4)?, stored(row, 5)?);
        let hash = link_fact(end.last, seq, row.get(1)?, row.get(3)?, [contract, cause, body]);
        if !end.follow(seq, hash, stored(row, 6)?, printed) {
            return Ok(Err(Broken::Fact { seq }));
        }
        note_texts(body, texts);
    }
    Ok(Ok(end))
}

fn walk_account(
    db: &Connection,
    session: &SessionId,
    printed: Option<u64>,
    texts: &mut BTreeSet<Hash>,
) -> Result<Result<End, Broken>, JournalError> {
    let mut facts =
        db.prepare_cached("SELECT n, after, at, body, hash FROM session_fact WHERE session = ?1 ORDER BY n")?;
    let mut rows = facts.query([session.as_str()])?;
    let mut end = End::begin(Chain::Account.genesis(session), printed);
    while let Some(row) = rows.next()? {
        let n = row.get::<_, i64>(0)?.cast_unsigned();
        let body = stored(row, 3)?;
        let hash = link_account(end.last, n, row.get(1)?, row.get(2)?, body);
        if !end.follow(n, hash, stored(row, 4)?, printed) {
            return Ok(Err(Broken::Account { n }));
        }
        note_texts(body, texts);
    }
    Ok(Ok(end))
}

/// Returns a text's or a blob's bytes, sound or not.
fn stored<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8], rusqlite::Error> {
    Ok(row.get_ref(column)?.as_bytes()?)
}

fn note_texts(body: &[u8], texts: &mut BTreeSet<Hash>) {
    // A body that is no JSON has the hash it was stored with: it is for the fold to say what is wrong with it.
    let value = serde_json::from_slice(body).unwrap_or_default();
    texts.extend(texts_in(&value).iter().map(|text| text.hash));
}
