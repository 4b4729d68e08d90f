//! The treasury in the journal: one hash chain of facts for the whole hall, and the lease of the process that asks the wallet. A
//! fact that does not fit is refused in the transaction that would store it. The facts of sessions that belong to it are stored in
//! the same commit.

use std::fs::File;
use std::ops::Range;
use std::process;

use guildhall_kernel::{
    Hash, Msat, Quantity, SessionFact, SessionId, TREASURY_FORMAT, TextRef, Treasury, TreasuryFact, UnixMs,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::chain::link;
use super::event::AccountFact;
use super::follow::Announcer;
use super::heads::{self, NOTHING};
use super::known::Change;
use super::rows::{self, Prepared};
use super::{Appended, Journal, JournalError, RequestKey, schema, walk};
use crate::clock::boot_id;
use crate::lease::{self, Holder};
use crate::private::open_lock;

/// The texts that hashes start with. They are part of the stored form and must never change.
const GENESIS: &str = "guildhall journal 4: facts of the treasury";
const LEASE: &str = "guildhall journal 4: the lease of the treasury";
const HEAD: &str = "guildhall journal 4: head of the treasury";

/// A batch of facts of the treasury. They are stored together with their texts, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreasuryBatch {
    /// When the facts happened.
    pub at: UnixMs,
    /// The facts.
    pub facts: Vec<TreasuryFact>,
    /// The texts that the facts name and that are possibly not stored yet.
    pub texts: Vec<(TextRef, Vec<u8>)>,
}

/// A fact of the treasury as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTreasuryFact {
    /// Its number, counted from 1.
    pub n: u64,
    /// When it happened.
    pub at: UnixMs,
    /// The fact.
    pub fact: TreasuryFact,
}

/// A place in the facts of the treasury. The default is before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreasuryCursor(TreasuryHead);

impl Default for TreasuryCursor {
    fn default() -> TreasuryCursor {
        TreasuryCursor(TreasuryHead::new())
    }
}

/// The right to ask the wallet and to store its replies. The right ends when the lease is dropped or the process exits.
#[derive(Debug)]
pub struct TreasuryLease {
    epoch: u64,
    // Only held open: closing the file releases the lease.
    _lock: File,
}

/// The state of the treasury, as recorded in its head row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TreasuryHead {
    facts: u64,
    facts_hash: Hash,
    lease: Hash,
}

impl TreasuryHead {
    fn new() -> TreasuryHead {
        TreasuryHead { facts: 0, facts_hash: Hash(blake3::derive_key(GENESIS, &[])), lease: NOTHING }
    }

    fn hash(&self) -> Hash {
        let key = Hash(blake3::derive_key(HEAD, &[]));
        link(key, &[&self.facts.to_le_bytes(), &self.facts_hash.0, &self.lease.0])
    }

    /// Reads the head, with its stored hash. `None` if the hall never had a treasury.
    fn read(db: &Connection) -> Result<Option<(TreasuryHead, Hash)>, JournalError> {
        let mut find = db.prepare_cached("SELECT facts, facts_hash, lease, hash FROM treasury_head WHERE one = 1")?;
        let read = |row: &Row<'_>| {
            let hash = |column| row.get(column).ok().map(Hash);
            let facts = row.get::<_, i64>(0).ok().map(i64::cast_unsigned);
            let head = || Some(TreasuryHead { facts: facts?, facts_hash: hash(1)?, lease: hash(2)? });
            Ok(head().zip(hash(3)))
        };
        match find.query_row([], read).optional()? {
            None => Ok(None),
            Some(Some((head, hash))) if head.hash() == hash => Ok(Some((head, hash))),
            Some(_) => Err(damaged("its head row was changed after it was stored")),
        }
    }

    fn store(&self, db: &Connection) -> Result<Hash, rusqlite::Error> {
        let mut store = db.prepare_cached(
            "INSERT INTO treasury_head (one, facts, facts_hash, lease, hash) VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (one) DO UPDATE SET facts = ?1, facts_hash = ?2, lease = ?3, hash = ?4",
        )?;
        let hash = self.hash();
        store.execute((self.facts.cast_signed(), self.facts_hash.0, self.lease.0, hash.0))?;
        Ok(hash)
    }
}

fn damaged(why: &str) -> JournalError {
    JournalError::TreasuryDamaged { why: why.to_owned() }
}

/// What the writer knows about the treasury.
#[derive(Debug)]
pub(super) struct KnownTreasury {
    head: TreasuryHead,
    /// The hash of the stored head, or none if there is none.
    stored: Option<Hash>,
    /// Whether the head was changed in the current transaction.
    changed: bool,
    state: Treasury,
    /// Whether another process may have added facts.
    is_old: bool,
}

impl KnownTreasury {
    /// Keeps what is known after another process has written. Its facts are read before the next use.
    pub(super) fn old(self) -> KnownTreasury {
        KnownTreasury { is_old: true, ..self }
    }

    /// Reads the facts that are not known yet.
    fn read(db: &Connection, before: Option<KnownTreasury>) -> Result<KnownTreasury, JournalError> {
        let (head, stored) = match TreasuryHead::read(db)? {
            Some((head, stored)) => (head, Some(stored)),
            None => (TreasuryHead::new(), None),
        };
        let (from, mut state) = match before {
            Some(before) if before.head.facts <= head.facts => (before.head, before.state),
            Some(_) | None => (TreasuryHead::new(), Treasury::default()),
        };
        each_fact(db, from, head, |stored| {
            state.apply(&stored.fact, stored.at).map_err(|why| damaged(&format!("fact {}: {why}", stored.n)))
        })?;
        Ok(KnownTreasury { head, stored, changed: false, state, is_old: false })
    }

    /// Stores the head if it was changed. Returns how the hash of the hall's set of heads changes.
    pub(super) fn store(&mut self, db: &Connection) -> Result<Option<Hash>, rusqlite::Error> {
        if !self.changed {
            return Ok(None);
        }
        let after = self.head.store(db)?;
        let difference = heads::xor(self.stored.unwrap_or(NOTHING), after);
        (self.stored, self.changed) = (Some(after), false);
        Ok(Some(difference))
    }
}

/// Returns all facts of the treasury.
pub(super) fn all(db: &Connection) -> Result<Vec<StoredTreasuryFact>, JournalError> {
    let head = TreasuryHead::read(db)?.map_or_else(TreasuryHead::new, |(head, _)| head);
    let mut facts = Vec::new();
    each_fact(db, TreasuryHead::new(), head, |stored| {
        facts.push(stored);
        Ok(())
    })?;
    Ok(facts)
}

/// Returns the hash of the stored head, for the head of the hall.
pub(super) fn stored_head(db: &Connection) -> Result<Hash, JournalError> {
    let mut find = db.prepare_cached("SELECT hash FROM treasury_head WHERE one = 1")?;
    match find.query_row([], |row| Ok(row.get(0).ok().map(Hash))).optional()? {
        None => Ok(NOTHING),
        Some(Some(hash)) => Ok(hash),
        Some(None) => Err(damaged("its head row was changed after it was stored")),
    }
}

/// Calls `each` for the facts after `from`, in order and without a gap. The last fact must match the head.
fn each_fact(
    db: &Connection,
    from: TreasuryHead,
    head: TreasuryHead,
    mut each: impl FnMut(StoredTreasuryFact) -> Result<(), JournalError>,
) -> Result<(), JournalError> {
    let mut facts =
        db.prepare_cached("SELECT n, v, at, payment, body, hash FROM treasury_fact WHERE n > ?1 ORDER BY n")?;
    let mut rows = facts.query([from.facts.cast_signed()])?;
    let mut last = (from.facts, from.facts_hash);
    while let Some(row) = rows.next()? {
        let n = last.0 + 1;
        let (stored, hash) = read_row(row, n, last.1)?;
        last = (n, hash);
        each(stored)?;
    }
    if last == (head.facts, head.facts_hash) {
        return Ok(());
    }
    Err(damaged(&format!("{} facts were stored, but the journal has {}", head.facts, last.0)))
}

fn read_row(row: &Row<'_>, n: u64, before: Hash) -> Result<(StoredTreasuryFact, Hash), JournalError> {
    let changed = || damaged(&format!("fact {n} was changed after it was stored, or a fact before it is missing"));
    let number = |column| row.get::<_, i64>(column).map_err(|_| changed());
    let (found, v, at) = (number(0)?, number(1)?, number(2)?);
    let body = row.get_ref(4).ok().and_then(|body| body.as_bytes().ok()).ok_or_else(changed)?;
    let hash = link_row(before, n, v, at, body);
    if found.cast_unsigned() != n || row.get(5).ok() != Some(hash.0) {
        return Err(changed());
    }
    let unreadable = |why: String| damaged(&format!("fact {n}: {why}"));
    walk::require_form(v, TREASURY_FORMAT).map_err(unreadable)?;
    let fact: TreasuryFact = serde_json::from_slice(body).map_err(|why| unreadable(why.to_string()))?;
    let payment: Option<[u8; 32]> = row.get(3).map_err(|_| changed())?;
    if payment != fact.introduces().map(|payment| payment.0.0) {
        return Err(changed());
    }
    Ok((StoredTreasuryFact { n, at: UnixMs(at.cast_unsigned()), fact }, hash))
}

/// Returns the hash of a fact. `payment` follows from the body, so the hash does not cover it.
fn link_row(before: Hash, n: u64, v: i64, at: i64, body: &[u8]) -> Hash {
    link(before, &[&n.to_le_bytes(), &v.to_le_bytes(), &at.to_le_bytes(), body])
}

/// Facts of the treasury that fit, with the facts of sessions that belong to them.
pub(crate) struct Fitting {
    sessions: Vec<(SessionId, SessionFact)>,
}

/// Where facts of the treasury were stored.
pub(crate) struct AddedTreasury {
    numbers: Range<u64>,
    hash: Hash,
    /// The facts of accounts that were stored with them.
    sessions: Vec<(SessionId, AccountFact)>,
}

impl AddedTreasury {
    /// Announces the facts of accounts.
    pub(crate) fn announce(&self, announcer: &Announcer) {
        for (session, fact) in &self.sessions {
            announcer.account(session, std::iter::once_with(|| fact.clone()), &[]);
        }
    }
}

impl Change<'_> {
    fn treasury(&mut self) -> Result<&mut KnownTreasury, JournalError> {
        let known = match self.known.treasury.take() {
            Some(known) if !known.is_old => known,
            before => KnownTreasury::read(self.db, before)?,
        };
        Ok(self.known.treasury.insert(known))
    }

    /// Returns an error if a session would have more than `most` after an invoice of this batch is paid.
    fn check_session_max(&mut self, batch: &TreasuryBatch, most: Msat) -> Result<(), JournalError> {
        for fact in &batch.facts {
            let TreasuryFact::Invoiced { session, money, .. } = fact else { continue };
            let awaited = self.treasury()?.state.awaited(session, batch.at);
            let has = self.account(session)?.unspent();
            let wanted = has.plus(awaited).and_then(|sum| sum.plus(*money)).unwrap_or(Msat::SUPPLY);
            if wanted > most {
                return Err(JournalError::SessionLimit { session: session.clone(), wanted, most });
            }
        }
        Ok(())
    }

    /// Applies facts to the treasury and to the accounts of their sessions, or says why they do not fit. Nothing is written.
    pub(crate) fn fit_treasury(&mut self, batch: &TreasuryBatch) -> Result<Fitting, JournalError> {
        let fitted = self.apply_treasury(batch);
        if fitted.is_err() {
            // A part of the facts may be applied: read the stored ones again.
            self.known.treasury = None;
        }
        fitted
    }

    fn apply_treasury(&mut self, batch: &TreasuryBatch) -> Result<Fitting, JournalError> {
        let mut sessions = Vec::new();
        let known = self.treasury()?;
        for fact in &batch.facts {
            sessions.extend(known.state.session_fact(fact));
            known.state.apply(fact, batch.at)?;
        }
        for (session, fact) in &sessions {
            self.require_head(session)?;
            self.fit_account(session, std::slice::from_ref(fact))?;
        }
        Ok(Fitting { sessions })
    }

    /// Writes facts that fit.
    pub(crate) fn add_treasury(
        &mut self,
        at: UnixMs,
        facts: &[TreasuryFact],
        prepared: &Prepared,
        fitting: &Fitting,
    ) -> Result<AddedTreasury, JournalError> {
        let mut insert = self.db.prepare_cached(
            "INSERT INTO treasury_fact (n, v, at, payment, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let known = self.treasury()?;
        let first = known.head.facts + 1;
        for (fact, body) in facts.iter().zip(&prepared.bodies) {
            let (n, at) = (known.head.facts + 1, at.0.cast_signed());
            let hash = link_row(known.head.facts_hash, n, TREASURY_FORMAT.into(), at, body.as_bytes());
            let payment = fact.introduces().map(|payment| payment.0.0);
            insert.execute((n.cast_signed(), TREASURY_FORMAT, at, payment, body, hash.0))?;
            (known.head.facts, known.head.facts_hash, known.changed) = (n, hash, true);
        }
        let (numbers, hash) = (first..known.head.facts + 1, known.head.facts_hash);
        let mut sessions = Vec::new();
        for (session, fact) in &fitting.sessions {
            let body = serde_json::to_string(fact).map_err(|why| JournalError::NotJson { why: why.to_string() })?;
            let at = walk::newest_time(self.db, session)?;
            let added = rows::add_account(self, session, at, &[body])?;
            sessions.extend(added.stored(std::slice::from_ref(fact)).map(|fact| (session.clone(), fact)));
        }
        Ok(AddedTreasury { numbers, hash, sessions })
    }
}

impl Journal {
    /// Returns all facts of the treasury, checked against their hashes.
    pub async fn treasury(&self) -> Result<Vec<StoredTreasuryFact>, JournalError> {
        self.readers().read(all).await
    }

    /// Returns the facts of the treasury after a place, checked against their hashes, and the new place.
    pub async fn treasury_after(
        &self,
        after: TreasuryCursor,
    ) -> Result<(Vec<StoredTreasuryFact>, TreasuryCursor), JournalError> {
        let work = move |db: &Connection| {
            let head = TreasuryHead::read(db)?.map_or_else(TreasuryHead::new, |(head, _)| head);
            let mut facts = Vec::new();
            each_fact(db, after.0, head, |stored| {
                facts.push(stored);
                Ok(())
            })?;
            Ok((facts, TreasuryCursor(head)))
        };
        self.readers().read(work).await
    }

    /// Stores facts of the treasury, and the facts of sessions that belong to them, and returns when they are durable. What the
    /// wallet replied needs the lease.
    pub async fn append_treasury(
        &self,
        lease: Option<&TreasuryLease>,
        batch: TreasuryBatch,
    ) -> Result<Appended, JournalError> {
        self.append_limited(lease, batch, Msat::SUPPLY, None).await
    }

    /// Stores invoices, unless a session would have more than `session_max` with its invoices that can still be paid. Processes
    /// that make invoices at the same time stay within the limit together.
    pub async fn append_invoices(&self, invoices: TreasuryBatch, session_max: Msat) -> Result<Appended, JournalError> {
        self.append_limited(None, invoices, session_max, None).await
    }

    /// Stores what somebody asked for under a key in a session, unless the key was used before. The result of the request is
    /// `result`.
    pub async fn append_treasury_once(
        &self,
        batch: TreasuryBatch,
        session_max: Msat,
        (session, key, result): (&SessionId, RequestKey, String),
    ) -> Result<Appended, JournalError> {
        self.append_limited(None, batch, session_max, Some((session.clone(), key, result))).await
    }

    async fn append_limited(
        &self,
        lease: Option<&TreasuryLease>,
        batch: TreasuryBatch,
        session_max: Msat,
        under_key: Option<(SessionId, RequestKey, String)>,
    ) -> Result<Appended, JournalError> {
        let TreasuryBatch { at, facts, texts } = batch;
        let prepared = Prepared::new(&facts, texts)?;
        let (epoch, bytes) = (lease.map(|lease| lease.epoch), prepared.bytes());
        let batch = TreasuryBatch { at, facts, texts: Vec::new() };
        let work = move |change: &mut Change<'_>| {
            if batch.facts.iter().any(TreasuryFact::needs_lease) {
                check_lease(change.db, epoch)?;
            }
            if let Some((session, key, _)) = &under_key {
                change.require_unused(session, Some(*key))?;
            }
            prepared.check_texts(change, None)?;
            change.check_session_max(&batch, session_max)?;
            let fitting = change.fit_treasury(&batch)?;
            prepared.store_texts(change)?;
            let added = change.add_treasury(batch.at, &batch.facts, &prepared, &fitting)?;
            if let Some((session, key, result)) = &under_key {
                change.use_key(session, Some(*key), result)?;
            }
            Ok(added)
        };
        let announcer = self.followers().announcer();
        let added = self.writer()?.run(bytes, work, move |added| added.announce(&announcer)).await?;
        Ok(Appended { seqs: added.numbers, hash: added.hash })
    }

    /// Returns the process that asks the wallet now, if there is one.
    pub async fn treasury_holder(&self) -> Result<Option<Holder>, JournalError> {
        let file = self.dir().join("treasury").join("lock");
        if lease::is_locked(&file)? { self.readers().read(holder).await } else { Ok(None) }
    }

    /// Takes the lease of the treasury for this process. `None` if another process holds it.
    pub async fn lease_treasury(&self, now: UnixMs) -> Result<Option<TreasuryLease>, JournalError> {
        let writer = self.writer()?;
        let dir = self.dir().join("treasury");
        schema::make_dir(&dir)?;
        let file = dir.join("lock");
        let lock = open_lock(&file).map_err(JournalError::file(&file, "opened"))?;
        if !lease::lock(&lock).await.map_err(JournalError::file(&file, "locked"))? {
            return Ok(None);
        }
        let (pid, boot) = (process::id(), boot_id());
        let work = move |change: &mut Change<'_>| {
            change.treasury()?;
            let mut take = change.db.prepare_cached(
                "INSERT INTO treasury_lease (one, epoch, pid, boot, since) VALUES (1, 1, ?1, ?2, ?3)
                 ON CONFLICT (one) DO UPDATE SET epoch = epoch + 1, pid = ?1, boot = ?2, since = ?3 RETURNING epoch",
            )?;
            let row = (pid, &boot, now.0.cast_signed());
            let epoch = take.query_row(row, |row| row.get::<_, i64>(0))?.cast_unsigned();
            let known = change.treasury()?;
            known.head.lease = hash_lease(&Holder { pid, boot, since: now, epoch });
            known.changed = true;
            Ok(epoch)
        };
        let epoch = writer.run(0, work, |_| {}).await?;
        Ok(Some(TreasuryLease { epoch, _lock: lock }))
    }
}

/// Returns the hash of the treasury's lease.
fn hash_lease(holder: &Holder) -> Hash {
    let Holder { pid, boot, since, epoch } = holder;
    let key = Hash(blake3::derive_key(LEASE, &[]));
    link(key, &[&epoch.to_le_bytes(), &pid.to_le_bytes(), boot.as_bytes(), &since.0.to_le_bytes()])
}

/// Returns an error if this process does not hold the lease.
fn check_lease(db: &Connection, epoch: Option<u64>) -> Result<(), JournalError> {
    let mut find = db.prepare_cached("SELECT epoch FROM treasury_lease WHERE one = 1")?;
    let found = find.query_row([], |row| row.get::<_, i64>(0)).optional()?.map(i64::cast_unsigned);
    if epoch.is_some() && found == epoch { Ok(()) } else { Err(JournalError::TreasuryNotLeased) }
}

/// Returns the process that last took the lease, from the lease's row.
fn holder(db: &Connection) -> Result<Option<Holder>, JournalError> {
    let mut find = db.prepare_cached("SELECT pid, boot, since, epoch FROM treasury_lease WHERE one = 1")?;
    let read = |row: &Row<'_>| {
        let number = |column| row.get::<_, i64>(column).ok().map(i64::cast_unsigned);
        let holder = || {
            let (pid, boot) = (row.get(0).ok()?, row.get(1).ok()?);
            Some(Holder { pid, boot, since: UnixMs(number(2)?), epoch: number(3)? })
        };
        Ok(holder())
    };
    find.query_row([], read).optional()?.map(|holder| holder.ok_or_else(lease_changed)).transpose()
}

fn lease_changed() -> JournalError {
    damaged("the row that records which process asks the wallet was changed after it was stored")
}

/// Checks the facts of the treasury, and its lease, against its head.
pub(super) fn check(db: &Connection) -> Result<(), JournalError> {
    let head = TreasuryHead::read(db)?.map(|(head, _)| head);
    let lease = holder(db)?.map_or(NOTHING, |holder| hash_lease(&holder));
    if lease != head.map_or(NOTHING, |head| head.lease) {
        return Err(lease_changed());
    }
    each_fact(db, TreasuryHead::new(), head.unwrap_or_else(TreasuryHead::new), |_| Ok(()))
}
