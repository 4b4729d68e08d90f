//! Reads events from the database: two chains of rows become one order. Each row is checked against its hash.

use guildhall_kernel::{SessionId, Stored};
use rusqlite::Connection;

use super::chain::Fault;
use super::event::{AccountFact, Cursor, Event, EventKind};
use super::heads::SessionHead;
use super::{JournalError, require_session, walk};

/// Where a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// With the event after this one.
    After(Cursor),
    /// With the fact of this number, which may not be stored yet.
    Fact(u64),
}

/// Events without a gap.
#[derive(Debug)]
pub(super) struct Page {
    /// The place before the first event.
    pub(super) before: Cursor,
    pub(super) events: Vec<Event>,
}

/// Returns the id of the newest event.
pub(super) fn end(db: &Connection, session: &SessionId) -> Result<Cursor, JournalError> {
    require_session(db, session)?;
    Ok(cursor(&SessionHead::read(db, session).map_err(|fault| fault.of(session))?))
}

fn cursor(head: &SessionHead) -> Cursor {
    Cursor { facts: head.facts, account: head.account }
}

/// Returns at most `limit` events that begin at this place.
pub(super) fn starting_at(
    db: &Connection,
    session: &SessionId,
    place: Place,
    limit: u32,
) -> Result<Page, JournalError> {
    require_session(db, session)?;
    let read = || {
        let head = SessionHead::read(db, session)?;
        let before = match place {
            Place::After(cursor) if is_place(db, session, &head, cursor)? => cursor,
            Place::After(id) => return Err(JournalError::UnknownEvent { session: session.clone(), id }.into()),
            Place::Fact(seq) => before_fact(db, session, &head, seq)?,
        };
        let facts = facts(db, session, &head, (before.facts + 1, limit))?;
        let account = account(db, session, &head, (before.account + 1, limit))?;
        Ok(Page { before, events: in_order(before, facts, account, limit) })
    };
    read().map_err(|fault: Fault| fault.of(session))
}

/// Returns the newest events, at most `limit`.
pub(super) fn newest(db: &Connection, session: &SessionId, limit: u32) -> Result<Page, JournalError> {
    require_session(db, session)?;
    let read = || {
        let head = SessionHead::read(db, session)?;
        let from = |count: u64| count.saturating_sub(u64::from(limit)) + 1;
        let facts = facts(db, session, &head, (from(head.facts), limit))?;
        let account = account(db, session, &head, (from(head.account), limit))?;
        Ok(in_order_from_the_end(cursor(&head), facts, account, limit))
    };
    read().map_err(|fault: Fault| fault.of(session))
}

fn facts(db: &Connection, session: &SessionId, head: &SessionHead, range: (u64, u32)) -> Result<Vec<Stored>, Fault> {
    let mut facts = Vec::new();
    walk::each_raw(db, session, head, range, |fact, _| {
        facts.push(fact.owned()?.stored(session)?);
        Ok(())
    })?;
    Ok(facts)
}

fn account(
    db: &Connection,
    session: &SessionId,
    head: &SessionHead,
    range: (u64, u32),
) -> Result<Vec<AccountFact>, Fault> {
    let mut account = Vec::new();
    walk::each_of_account(db, session, head, range, |row, _| {
        account.push(row.stored(session)?);
        Ok(())
    })?;
    Ok(account)
}

/// Whether a place exists: it is stored, and the facts of the account before and after it belong there.
fn is_place(db: &Connection, session: &SessionId, head: &SessionHead, cursor: Cursor) -> Result<bool, JournalError> {
    if cursor.facts > head.facts || cursor.account > head.account {
        return Ok(false);
    }
    let mut beside =
        db.prepare_cached("SELECT n, after FROM session_fact WHERE session = ?1 AND n BETWEEN ?2 AND ?2 + 1")?;
    let mut rows = beside.query((session.as_str(), cursor.account.cast_signed()))?;
    while let Some(row) = rows.next()? {
        let (n, after) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned());
        let fits = if n <= cursor.account { after <= cursor.facts } else { cursor.facts <= after };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the place before a fact, or the end if the fact is not stored yet.
fn before_fact(db: &Connection, session: &SessionId, head: &SessionHead, seq: u64) -> Result<Cursor, JournalError> {
    if seq > head.facts {
        return Ok(cursor(head));
    }
    let mut count = db.prepare_cached("SELECT count(*) FROM session_fact WHERE session = ?1 AND after < ?2")?;
    let account = count.query_row((session.as_str(), seq.cast_signed()), |row| row.get::<_, i64>(0))?;
    Ok(Cursor { facts: seq.saturating_sub(1), account: account.cast_unsigned() })
}

/// Puts facts and facts of the account that follow a place into one order.
fn in_order(before: Cursor, facts: Vec<Stored>, account: Vec<AccountFact>, limit: u32) -> Vec<Event> {
    let (mut facts, mut account) = (facts.into_iter().peekable(), account.into_iter().peekable());
    let mut at = before;
    let next = || {
        let is_last = facts.peek().is_none();
        let kind = match account.next_if(|fact| is_last || fact.after <= at.facts) {
            Some(fact) => EventKind::Account(fact),
            None => EventKind::Fact(facts.next()?.into()),
        };
        at = at.after(&kind);
        Some(Event::new(at, kind, None))
    };
    std::iter::from_fn(next).take(limit as usize).collect()
}

/// Puts the newest facts and facts of the account into one order, beginning with the newest.
fn in_order_from_the_end(end: Cursor, mut facts: Vec<Stored>, mut account: Vec<AccountFact>, limit: u32) -> Page {
    let mut before = end;
    let previous = || {
        let is_first = facts.is_empty();
        let kind = match account.pop_if(|fact| is_first || fact.after >= before.facts) {
            Some(fact) => EventKind::Account(fact),
            None => EventKind::Fact(facts.pop()?.into()),
        };
        let event = Event::new(before, kind, None);
        before = event.before();
        Some(event)
    };
    let mut events: Vec<Event> = std::iter::from_fn(previous).take(limit as usize).collect();
    events.reverse();
    Page { before, events }
}
