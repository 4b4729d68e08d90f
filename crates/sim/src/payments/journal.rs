//! The journal of the simulated hall. It stores facts as the journal on disk does: each batch is folded into the treasury and
//! into the accounts of its sessions, and is refused as a whole if anything does not fit.

use guildhall_kernel::{Session, SessionError, SessionFact, SessionId, Treasury, TreasuryError, TreasuryFact, UnixMs};

/// A session and its stored account.
pub(super) struct Account {
    pub(super) id: SessionId,
    pub(super) facts: Vec<SessionFact>,
    pub(super) state: Session,
}

/// Why a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    NotLeased,
    Treasury(TreasuryError),
    Session(SessionError),
}

/// The length of every chain at one moment.
#[derive(Clone, Debug)]
pub(super) struct Backup {
    facts: usize,
    accounts: Vec<usize>,
}

pub(super) struct Journal {
    pub(super) facts: Vec<(TreasuryFact, UnixMs)>,
    pub(super) accounts: Vec<Account>,
    pub(super) treasury: Treasury,
    /// The lease: only the process with the newest number may store what the wallet replied.
    pub(super) epoch: u64,
}

impl Journal {
    pub(super) fn new(sessions: Vec<SessionId>) -> Journal {
        let account = |id| Account { id, facts: Vec::new(), state: Session::default() };
        let accounts = sessions.into_iter().map(account).collect();
        Journal { facts: Vec::new(), accounts, treasury: Treasury::default(), epoch: 0 }
    }

    /// Takes the lease for a new process.
    pub(super) fn lease(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// Stores facts of the treasury, with the facts of sessions that belong to them, and facts of sessions alone. Returns the
    /// facts of sessions that were stored.
    pub(super) fn append(
        &mut self,
        epoch: Option<u64>,
        at: UnixMs,
        facts: &[TreasuryFact],
        own: &[(SessionId, SessionFact)],
    ) -> Result<Vec<(SessionId, SessionFact)>, Refused> {
        if facts.iter().any(TreasuryFact::needs_lease) && epoch != Some(self.epoch) {
            return Err(Refused::NotLeased);
        }
        let fitted = self.fit(at, facts, own);
        match fitted {
            Ok(sessions) => {
                self.facts.extend(facts.iter().map(|fact| (fact.clone(), at)));
                for (session, fact) in &sessions {
                    self.account(session).facts.push(fact.clone());
                }
                Ok(sessions)
            }
            Err(why) => {
                // A part of the batch may be applied: fold the stored facts again.
                self.fold_again();
                Err(why)
            }
        }
    }

    fn fit(
        &mut self,
        at: UnixMs,
        facts: &[TreasuryFact],
        own: &[(SessionId, SessionFact)],
    ) -> Result<Vec<(SessionId, SessionFact)>, Refused> {
        let mut sessions = own.to_vec();
        for fact in facts {
            sessions.extend(self.treasury.session_fact(fact));
            self.treasury.apply(fact, at).map_err(Refused::Treasury)?;
        }
        for (session, fact) in &sessions {
            self.account(session).state.apply(fact).map_err(Refused::Session)?;
        }
        Ok(sessions)
    }

    fn account(&mut self, session: &SessionId) -> &mut Account {
        self.accounts.iter_mut().find(|account| account.id == *session).expect("the hall has this session")
    }

    fn fold_again(&mut self) {
        self.treasury = Treasury::restore(self.facts.iter().cloned()).expect("stored facts fit");
        for account in &mut self.accounts {
            account.state = Session::restore(account.facts.iter().cloned()).expect("stored facts fit");
        }
    }

    pub(super) fn backup(&self) -> Backup {
        let accounts = self.accounts.iter().map(|account| account.facts.len()).collect();
        Backup { facts: self.facts.len(), accounts }
    }

    /// Replaces the journal by an older one.
    pub(super) fn replace(&mut self, backup: &Backup) {
        self.facts.truncate(backup.facts);
        for (account, count) in self.accounts.iter_mut().zip(&backup.accounts) {
            account.facts.truncate(*count);
        }
        self.fold_again();
    }
}
