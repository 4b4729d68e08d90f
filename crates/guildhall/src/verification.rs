//! The check of everything that is stored: hashes, heads, texts and the laws.

use guildhall_kernel::SessionKind;
use guildhall_laws::{Checker, TreasuryChecker};
use guildhall_local::{Contents, Head, JournalError, SessionId, Snapshot, StoredTreasuryFact};

use crate::hall::{Hall, HallError};
use crate::session::View;

/// The result of a check of the journal.
#[derive(Debug)]
pub struct Findings {
    /// The problems of the hall as a whole.
    pub hall: Vec<String>,
    /// The sessions that were checked.
    pub sessions: Vec<Checked>,
}

/// A session that was checked.
#[derive(Debug)]
pub struct Checked {
    /// The id of the session.
    pub id: SessionId,
    /// The state of the session, if it can be read.
    pub view: Option<View>,
    /// The problems of the session.
    pub wrong: Vec<String>,
}

impl Findings {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.hall.is_empty() && self.sessions.iter().all(|checked| checked.wrong.is_empty())
    }
}

/// Checks the treasury against the laws, and against all sessions with the money of a wallet.
fn check_money(snapshot: &Snapshot<'_>) -> Result<Vec<String>, JournalError> {
    let mut money = TreasuryChecker::new();
    let mut wrong = Vec::new();
    for StoredTreasuryFact { n, at, fact } in snapshot.treasury()? {
        wrong.extend(money.observe(n, at, &fact));
    }
    for row in snapshot.sessions()? {
        if *snapshot.account(&row.id)?.kind() != SessionKind::Play {
            let Contents { facts, account, .. } = snapshot.contents(&row.id)?;
            let mut contracts = Checker::new();
            for stored in &facts {
                // What the contracts break is among the problems of their session.
                drop(contracts.observe(stored));
            }
            wrong.extend(money.check_session(&row.id, &contracts, &account));
        }
    }
    wrong.extend(money.at_end());
    Ok(wrong.iter().map(ToString::to_string).collect())
}

impl Hall {
    /// Checks one session, or all sessions, and the hall as a whole. With a head that was printed earlier, this also detects a
    /// journal whose hashes were all computed again; without a head, it can't detect that.
    pub async fn verify(&self, id: Option<&SessionId>, printed: Option<Head>) -> Result<Findings, HallError> {
        let ids: Vec<SessionId> = match id {
            Some(id) => vec![id.clone()],
            None => self.journal().sessions().await?.into_iter().map(|row| row.id).collect(),
        };
        let mut sessions = Vec::new();
        for id in ids {
            sessions.push(self.check(id, printed).await?);
        }
        let mut hall = self.check_hall().await?;
        if id.is_none() && hall.is_empty() && sessions.iter().all(|checked: &Checked| checked.wrong.is_empty()) {
            hall.extend(self.journal().snapshot(check_money).await?);
        }
        Ok(Findings { hall, sessions })
    }

    /// Returns the problems of the hall as a whole: missing sessions, missing commits, a damaged database.
    async fn check_hall(&self) -> Result<Vec<String>, HallError> {
        let mut wrong: Vec<String> = self.missing_commits().into_iter().collect();
        match self.journal().verify_hall().await {
            Ok(broken) => wrong.extend(broken.iter().map(ToString::to_string)),
            Err(damaged @ JournalError::Damaged { .. }) => wrong.push(damaged.to_string()),
            Err(error) => return Err(error.into()),
        }
        Ok(wrong)
    }

    /// Returns the problems of the list of sessions, without reading the sessions.
    pub async fn check_listing(&self) -> Result<Vec<String>, HallError> {
        let broken = self.journal().check_listing().await?;
        Ok(self.missing_commits().into_iter().chain(broken.iter().map(ToString::to_string)).collect())
    }

    /// Returns a message if stored commits are missing.
    pub fn missing_commits(&self) -> Option<String> {
        match self.journal().unwritable() {
            Some(missing @ JournalError::LogMissing { .. }) => Some(missing.to_string()),
            Some(_) | None => None,
        }
    }

    async fn check(&self, id: SessionId, printed: Option<Head>) -> Result<Checked, HallError> {
        let mut wrong = Vec::new();
        match self.journal().verify_chain(&id, printed).await {
            Ok(Ok(_)) => {}
            Ok(Err(broken)) => wrong.push(broken.to_string()),
            Err(unknown @ JournalError::UnknownSession { .. }) => return Err(unknown.into()),
            Err(error) => wrong.push(error.to_string()),
        }
        let view = match self.session(&id).await {
            Ok(view) => Some(view),
            // The problem is already in the list.
            Err(_) if !wrong.is_empty() => None,
            Err(why) => {
                wrong.push(why.to_string());
                None
            }
        };
        wrong.extend(view.iter().flat_map(|view| view.violations.iter().cloned()));
        Ok(Checked { id, view, wrong })
    }
}
