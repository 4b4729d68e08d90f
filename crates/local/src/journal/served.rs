//! Sessions that a server makes for others: their teams, who may use them, their invoices in play money, and the keys under which
//! requests were made. Of tokens and keys, only hashes are stored. A request under a key is stored in the same commit as its
//! effect, so no crash lets it happen twice.

use guildhall_kernel::{Hash, Msat, SessionFact, SessionId, TextKind, TextRef, UnixMs, WalletId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::follow::Announcer;
use super::known::Change;
use super::rows::AddedAccount;
use super::{Journal, JournalError, NewSession, require_session, rows, walk};
use crate::clock::unix_now;

/// A session to make for somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewServed {
    /// The session.
    pub session: NewSession,
    /// The name of the team that works in it.
    pub team: String,
    /// The hash of its owner's token.
    pub owner: Hash,
    /// Its first money.
    pub funding: NewFunding,
    /// How many sessions may be without money at the same time.
    pub unpaid_max: u32,
    /// Sessions without money that are older than this do not count.
    pub unpaid_since: UnixMs,
}

/// The first money of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewFunding {
    /// An invoice in play money.
    Play {
        /// The amount.
        money: Msat,
        /// When the invoice expires.
        expires: UnixMs,
    },
    /// The money of a wallet. Its invoice is a fact of the treasury.
    Wallet(WalletId),
}

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything in one session.
    Owner,
    /// To read one session.
    Viewer,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Viewer => "viewer",
        }
    }
}

/// A token that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The session.
    pub session: SessionId,
    /// The number of the token in its session.
    pub number: u64,
    /// What the token allows.
    pub role: Role,
    /// When the token was revoked.
    pub revoked_at: Option<UnixMs>,
}

/// An invoice in play money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayInvoice {
    /// Its number in its session.
    pub number: u64,
    /// The amount.
    pub money: Msat,
    /// When it expires.
    pub expires: UnixMs,
    /// When it was settled.
    pub paid_at: Option<UnixMs>,
}

/// A key under which a request is made, and the hash of everything that the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The hash of the key.
    pub key: Hash,
    /// The hash of the request.
    pub request: Hash,
}

/// Why a change of a served session was refused. Nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServedError {
    /// The key was used before.
    #[error("this idempotency key was used before in this session")]
    KeyUsed {
        /// The hash of the earlier request.
        request: Hash,
        /// What came of the earlier request.
        result: String,
    },
    /// Too many sessions wait for their first money.
    #[error("{most} sessions wait for their first payment: try again later")]
    TooManyUnpaid {
        /// The limit.
        most: u32,
    },
    /// The session has no such invoice.
    #[error("session {session} has no play invoice {number}")]
    NoInvoice {
        /// The session.
        session: SessionId,
        /// The number.
        number: u64,
    },
    /// The invoice has expired.
    #[error("play invoice {number} of session {session} has expired: make another one")]
    InvoiceExpired {
        /// The session.
        session: SessionId,
        /// The number.
        number: u64,
    },
    /// The session has as many open invoices as it may have.
    #[error("session {session} has {most} open invoices, the most that a session can have: settle one first")]
    TooManyInvoices {
        /// The session.
        session: SessionId,
        /// The limit.
        most: usize,
    },
    /// Money goes back only while no request is at work: a top-up could take it at the same moment.
    #[error("session {session} works on a request: its free money can go back when the request has ended")]
    AtWork {
        /// The session.
        session: SessionId,
    },
    /// The session has no free money.
    #[error("session {session} has no free money")]
    NothingFree {
        /// The session.
        session: SessionId,
    },
    /// The session has as many tokens as it may have.
    #[error("session {session} has {most} tokens, the most that a session can have: revoke one first")]
    TooManyTokens {
        /// The session.
        session: SessionId,
        /// The limit.
        most: u64,
    },
}

/// The most invoices in play money of a session that can be settled.
const OPEN_INVOICES_MAX: usize = 100;

/// The most tokens of a session that are not revoked.
pub const TOKENS_MAX: u64 = 100;

impl Journal {
    /// Makes a session for somebody else, with its owner's token and its first invoice in play money.
    pub async fn create_served(&self, new: NewServed) -> Result<(), JournalError> {
        let work = move |change: &mut Change<'_>| {
            let NewServed { session, team, owner, funding, unpaid_max, unpaid_since } = new;
            if unpaid(change.db, unpaid_since)? >= unpaid_max {
                return Err(ServedError::TooManyUnpaid { most: unpaid_max }.into());
            }
            let (id, created_at) = (session.id.clone(), session.created_at);
            super::add_session(change, session)?;
            let db = change.db;
            db.prepare_cached("INSERT INTO served_session (session, team) VALUES (?1, ?2)")?
                .execute((id.as_str(), &team))?;
            add_token(db, &id, 1, Role::Owner, owner, created_at)?;
            match funding {
                NewFunding::Play { money, expires } => add_invoice(db, &id, 1, money, expires)?,
                NewFunding::Wallet(wallet) => {
                    // Nobody follows a session that does not exist yet.
                    add_account_fact(change, &id, SessionFact::Opened { wallet })?;
                }
            }
            Ok(())
        };
        self.writer()?.run(0, work, |()| {}).await
    }

    /// Returns an error if as many sessions wait for their first money as may wait.
    pub async fn require_unpaid_below(&self, most: u32, since: UnixMs) -> Result<(), JournalError> {
        let work = move |db: &Connection| {
            let is_below = unpaid(db, since)? < most;
            if is_below { Ok(()) } else { Err(ServedError::TooManyUnpaid { most }.into()) }
        };
        self.readers().read(work).await
    }

    /// Returns the team of a session, if a server made the session for somebody else.
    pub async fn team_of(&self, session: &SessionId) -> Result<Option<String>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            let mut find = db.prepare_cached("SELECT team FROM served_session WHERE session = ?1")?;
            Ok(find.query_row([session.as_str()], |row| row.get(0)).optional()?)
        };
        self.readers().read(work).await
    }

    /// Returns all sessions that a server made for others, with their teams, the newest first.
    pub async fn served_sessions(&self) -> Result<Vec<(SessionId, String)>, JournalError> {
        let work = move |db: &Connection| {
            let mut all = db.prepare_cached(
                "SELECT session, team FROM served_session JOIN session ON id = session ORDER BY created_at DESC, session",
            )?;
            let mut rows = all.query([])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                // A row without a valid id is reported by the check of the hall.
                if let Ok(id) = row.get::<_, String>(0)?.parse() {
                    sessions.push((id, row.get(1)?));
                }
            }
            Ok(sessions)
        };
        self.readers().read(work).await
    }

    /// Returns what requests to teams have cost, the newest first, at most `limit` of them.
    pub async fn costs_of_teams(&self, limit: u32) -> Result<Vec<(String, Msat)>, JournalError> {
        let work = move |db: &Connection| {
            let mut all = db.prepare_cached(
                "SELECT team, body FROM session_fact JOIN served_session USING (session)
                 WHERE body LIKE '{\"ended\"%' ORDER BY session_fact.rowid DESC LIMIT ?1",
            )?;
            let mut rows = all.query([limit])?;
            let mut costs = Vec::new();
            while let Some(row) = rows.next()? {
                if let Ok(SessionFact::Ended { spent, .. }) = serde_json::from_str(&row.get::<_, String>(1)?) {
                    costs.push((row.get(0)?, spent));
                }
            }
            Ok(costs)
        };
        self.readers().read(work).await
    }

    /// Finds a token by its hash, also a revoked one.
    pub async fn access(&self, token: Hash) -> Result<Option<Access>, JournalError> {
        let work = move |db: &Connection| {
            let mut find =
                db.prepare_cached("SELECT session, number, role, revoked_at FROM access_token WHERE hash = ?1")?;
            Ok(find.query_row([token.0], |row| Ok(access(row))).optional()?.flatten())
        };
        self.readers().read(work).await
    }

    /// Adds a token that allows to read a session. Returns its number.
    pub async fn add_viewer(&self, session: &SessionId, token: Hash, now: UnixMs) -> Result<u64, JournalError> {
        let session = session.clone();
        let work = move |change: &mut Change<'_>| {
            require_session(change.db, &session)?;
            let mut count = change.db.prepare_cached(
                "SELECT coalesce(max(number), 0), count(*) FILTER (WHERE revoked_at IS NULL)
                 FROM access_token WHERE session = ?1",
            )?;
            let (newest, valid): (i64, i64) =
                count.query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if valid.cast_unsigned() >= TOKENS_MAX {
                return Err(ServedError::TooManyTokens { session, most: TOKENS_MAX }.into());
            }
            let number = newest.cast_unsigned() + 1;
            add_token(change.db, &session, number, Role::Viewer, token, now)?;
            Ok(number)
        };
        self.writer()?.run(0, work, |_| {}).await
    }

    /// Returns the viewers of a session whose tokens are valid: their numbers, and when they were added.
    pub async fn viewers(&self, session: &SessionId) -> Result<Vec<(u64, UnixMs)>, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            let mut all = db.prepare_cached(
                "SELECT number, created_at FROM access_token
                 WHERE session = ?1 AND role = 'viewer' AND revoked_at IS NULL ORDER BY number",
            )?;
            let number = |row: &Row<'_>, at| row.get::<_, i64>(at).map(i64::cast_unsigned);
            let rows = all.query_map([session.as_str()], |row| Ok((number(row, 0)?, UnixMs(number(row, 1)?))))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        self.readers().read(work).await
    }

    /// Revokes a viewer's token. Returns whether the session has such a token, revoked or not.
    pub async fn revoke_viewer(&self, session: &SessionId, number: u64, now: UnixMs) -> Result<bool, JournalError> {
        let session = session.clone();
        let work = move |change: &mut Change<'_>| {
            let mut revoke = change.db.prepare_cached(
                "UPDATE access_token SET revoked_at = coalesce(revoked_at, ?3)
                 WHERE session = ?1 AND number = ?2 AND role = 'viewer'",
            )?;
            let row = (session.as_str(), i64::try_from(number).unwrap_or(i64::MAX), now.0.cast_signed());
            Ok(revoke.execute(row)? > 0)
        };
        self.writer()?.run(0, work, |_| {}).await
    }

    /// Whether a token of a session was revoked.
    pub async fn is_revoked(&self, session: &SessionId, number: u64) -> Result<bool, JournalError> {
        let session = session.clone();
        let work = move |db: &Connection| {
            let mut find = db.prepare_cached(
                "SELECT 1 FROM access_token WHERE session = ?1 AND number = ?2 AND revoked_at IS NOT NULL",
            )?;
            Ok(find.exists((session.as_str(), i64::try_from(number).unwrap_or(i64::MAX)))?)
        };
        self.readers().read(work).await
    }

    /// Adds an invoice in play money. Returns its number.
    pub async fn add_play_invoice(
        &self,
        session: &SessionId,
        money: Msat,
        expires: UnixMs,
        key: Option<RequestKey>,
    ) -> Result<u64, JournalError> {
        let session = session.clone();
        let work = move |change: &mut Change<'_>| {
            require_session(change.db, &session)?;
            change.require_unused(&session, key)?;
            let open = play_invoices(change.db, &session)?;
            let open = open.iter().filter(|invoice| invoice.paid_at.is_none() && invoice.expires > unix_now()).count();
            if open >= OPEN_INVOICES_MAX {
                return Err(ServedError::TooManyInvoices { session, most: OPEN_INVOICES_MAX }.into());
            }
            let mut newest =
                change.db.prepare_cached("SELECT coalesce(max(number), 0) FROM play_invoice WHERE session = ?1")?;
            let number = newest.query_row([session.as_str()], |row| row.get::<_, i64>(0))?.cast_unsigned() + 1;
            add_invoice(change.db, &session, number, money, expires)?;
            change.use_key(&session, key, &number.to_string())?;
            Ok(number)
        };
        self.writer()?.run(0, work, |_| {}).await
    }

    /// Settles an invoice in play money: the session has its money from now on. An invoice counts once: settling it again changes
    /// nothing.
    pub async fn settle_play_invoice(
        &self,
        session: &SessionId,
        number: u64,
        now: UnixMs,
        key: Option<RequestKey>,
    ) -> Result<PlayInvoice, JournalError> {
        let (announcer, session, of) = (self.followers().announcer(), session.clone(), session.clone());
        let work = move |change: &mut Change<'_>| {
            change.require_head(&session)?;
            change.require_unused(&session, key)?;
            let invoices = play_invoices(change.db, &session)?;
            let Some(invoice) = invoices.into_iter().find(|invoice| invoice.number == number) else {
                return Err(ServedError::NoInvoice { session, number }.into());
            };
            if invoice.paid_at.is_some() {
                change.use_key(&session, key, &number.to_string())?;
                return Ok((invoice, None));
            }
            if now > invoice.expires {
                return Err(ServedError::InvoiceExpired { session, number }.into());
            }
            let funded = SessionFact::Funded { money: invoice.money, root: None, payment: None };
            let added = add_account_fact(change, &session, funded)?;
            let mut pay =
                change.db.prepare_cached("UPDATE play_invoice SET paid_at = ?3 WHERE session = ?1 AND number = ?2")?;
            pay.execute((session.as_str(), number.cast_signed(), now.0.cast_signed()))?;
            change.use_key(&session, key, &number.to_string())?;
            Ok((PlayInvoice { paid_at: Some(now), ..invoice }, Some(added)))
        };
        let then = move |(_, added): &(PlayInvoice, Option<AddedFact>)| {
            if let Some(added) = added {
                added.announce(&announcer, &of);
            }
        };
        Ok(self.writer()?.run(0, work, then).await?.0)
    }

    /// Gives the free play money of a session back to the person. Returns the amount.
    pub async fn return_play_money(&self, session: &SessionId, key: Option<RequestKey>) -> Result<Msat, JournalError> {
        let (announcer, session, of) = (self.followers().announcer(), session.clone(), session.clone());
        let work = move |change: &mut Change<'_>| {
            change.require_head(&session)?;
            change.require_unused(&session, key)?;
            let account = change.account(&session)?;
            let (money, at_work) = (account.free(), account.at_work());
            if at_work > Msat::ZERO {
                return Err(ServedError::AtWork { session }.into());
            }
            if money == Msat::ZERO {
                return Err(ServedError::NothingFree { session }.into());
            }
            let added = add_account_fact(change, &session, SessionFact::Returned { money })?;
            change.use_key(&session, key, &money.get().to_string())?;
            Ok((money, added))
        };
        let then = move |(_, added): &(Msat, AddedFact)| added.announce(&announcer, &of);
        Ok(self.writer()?.run(0, work, then).await?.0)
    }

    /// Returns the invoices in play money of a session.
    pub async fn play_invoices(&self, session: &SessionId) -> Result<Vec<PlayInvoice>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| Ok(play_invoices(db, &session)?)).await
    }

    /// Returns what came of a request under a key, with the hash of that request, if there was one in this session.
    pub async fn result_of(&self, session: &SessionId, key: Hash) -> Result<Option<(Hash, String)>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| Ok(used(db, &session, key)?)).await
    }

    /// Returns how a fact of a session names a text, if any does. Settings and system prompts are not for those who use a session,
    /// so they count as not named.
    pub async fn named_text(&self, session: &SessionId, text: Hash) -> Result<Option<TextRef>, JournalError> {
        let session = session.clone();
        self.readers().read(move |db| Ok(named_text(db, &session, text)?)).await
    }
}

impl Change<'_> {
    /// Returns an error if a key was used before in this session.
    pub(crate) fn require_unused(&self, session: &SessionId, key: Option<RequestKey>) -> Result<(), JournalError> {
        let Some(RequestKey { key, .. }) = key else { return Ok(()) };
        match used(self.db, session, key)? {
            Some((request, result)) => Err(ServedError::KeyUsed { request, result }.into()),
            None => Ok(()),
        }
    }

    /// Records what came of a request under a key.
    pub(crate) fn use_key(
        &self,
        session: &SessionId,
        key: Option<RequestKey>,
        result: &str,
    ) -> Result<(), JournalError> {
        let Some(RequestKey { key, request }) = key else { return Ok(()) };
        let mut insert = self.db.prepare_cached(
            "INSERT INTO idempotency_key (session, key, request, result, at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        insert.execute((session.as_str(), key.0, request.0, result, unix_now().0.cast_signed()))?;
        Ok(())
    }
}

fn access(row: &Row<'_>) -> Option<Access> {
    let role = match row.get::<_, String>(2).ok()?.as_str() {
        "owner" => Role::Owner,
        "viewer" => Role::Viewer,
        _ => return None,
    };
    let moment = |at: i64| UnixMs(at.cast_unsigned());
    Some(Access {
        session: row.get::<_, String>(0).ok()?.parse().ok()?,
        number: row.get::<_, i64>(1).ok()?.cast_unsigned(),
        role,
        revoked_at: row.get::<_, Option<i64>>(3).ok()?.map(moment),
    })
}

fn add_token(
    db: &Connection,
    session: &SessionId,
    number: u64,
    role: Role,
    token: Hash,
    now: UnixMs,
) -> Result<(), rusqlite::Error> {
    let mut insert = db.prepare_cached(
        "INSERT INTO access_token (session, number, role, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    insert.execute((session.as_str(), number.cast_signed(), role.name(), token.0, now.0.cast_signed()))?;
    Ok(())
}

fn add_invoice(
    db: &Connection,
    session: &SessionId,
    number: u64,
    money: Msat,
    expires: UnixMs,
) -> Result<(), rusqlite::Error> {
    let mut insert =
        db.prepare_cached("INSERT INTO play_invoice (session, number, msat, expires_at) VALUES (?1, ?2, ?3, ?4)")?;
    let row = (session.as_str(), number.cast_signed(), money.get().cast_signed(), expires.0.cast_signed());
    insert.execute(row)?;
    Ok(())
}

fn play_invoices(db: &Connection, session: &SessionId) -> Result<Vec<PlayInvoice>, rusqlite::Error> {
    let mut all = db.prepare_cached(
        "SELECT number, msat, expires_at, paid_at FROM play_invoice WHERE session = ?1 ORDER BY number",
    )?;
    let invoices = all.query_map([session.as_str()], |row| {
        let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
        Ok(PlayInvoice {
            number: number(0)?,
            money: Msat::capped(u128::from(number(1)?)),
            expires: UnixMs(number(2)?),
            paid_at: row.get::<_, Option<i64>>(3)?.map(|at| UnixMs(at.cast_unsigned())),
        })
    })?;
    invoices.collect()
}

fn used(db: &Connection, session: &SessionId, key: Hash) -> Result<Option<(Hash, String)>, rusqlite::Error> {
    let mut find = db.prepare_cached("SELECT request, result FROM idempotency_key WHERE session = ?1 AND key = ?2")?;
    find.query_row((session.as_str(), key.0), |row| Ok((Hash(row.get(0)?), row.get(1)?))).optional()
}

/// Whether those who use a session may read texts of this kind.
pub fn is_readable(kind: TextKind) -> bool {
    match kind {
        TextKind::Prices | TextKind::Opening | TextKind::Url => false,
        TextKind::Task
        | TextKind::Term
        | TextKind::Reply
        | TextKind::Words
        | TextKind::Output
        | TextKind::Arguments
        | TextKind::Result
        | TextKind::Message
        | TextKind::Finding
        | TextKind::Error
        | TextKind::Label
        | TextKind::Invoice => true,
    }
}

fn named_text(db: &Connection, session: &SessionId, text: Hash) -> Result<Option<TextRef>, rusqlite::Error> {
    let mut find = db.prepare_cached(
        "SELECT body FROM fact WHERE session = ?1 AND instr(body, ?2) > 0
         UNION ALL SELECT body FROM session_fact WHERE session = ?1 AND instr(body, ?2) > 0",
    )?;
    let mut rows = find.query((session.as_str(), text.to_string()))?;
    let mut found = None;
    while let Some(row) = rows.next()? {
        for named in rows::texts_in(&row.get::<_, String>(0)?).into_iter().filter(|named| named.hash == text) {
            if !is_readable(named.kind) {
                return Ok(None);
            }
            found = Some(named);
        }
    }
    Ok(found)
}

/// How many served sessions that are not older than a moment have got no money yet.
fn unpaid(db: &Connection, since: UnixMs) -> Result<u32, rusqlite::Error> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM served_session JOIN session ON id = session
         WHERE created_at >= ?1 AND NOT EXISTS (
             SELECT 1 FROM session_fact WHERE session_fact.session = id AND body LIKE '{\"funded\"%')",
    )?;
    count.query_row([since.0.cast_signed()], |row| row.get(0))
}

/// Adds a fact to a session's account, if it fits.
fn add_account_fact(
    change: &mut Change<'_>,
    session: &SessionId,
    fact: SessionFact,
) -> Result<AddedFact, JournalError> {
    change.fit_account(session, std::slice::from_ref(&fact))?;
    let body = serde_json::to_string(&fact).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
    let at = walk::newest_time(change.db, session)?;
    Ok(AddedFact { added: rows::add_account(change, session, at, &[body])?, fact })
}

/// A fact that was added to an account, for those who follow the session.
struct AddedFact {
    added: AddedAccount,
    fact: SessionFact,
}

impl AddedFact {
    fn announce(&self, announcer: &Announcer, session: &SessionId) {
        announcer.account(session, self.added.stored(std::slice::from_ref(&self.fact)), &[]);
    }
}
