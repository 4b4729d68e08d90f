//! The ledger: double entry, derived from the facts of the treasury and of all sessions. Each posting takes money from one account
//! and gives it to another, so the accounts always add up to zero.

use std::collections::BTreeMap;
use std::fmt;

use guildhall_kernel::{
    Msat, PayeeName, Payer, PaymentHash, Quantity, SessionFact, SessionKind, Treasury, TreasuryFact, UnixMs,
};
use guildhall_local::{SessionId, TreasuryCursor};

use crate::hall::{Hall, HallError};

/// An account of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// The wallet: what it has because of this hall. A positive balance is money.
    Wallet,
    /// What the hall owes to a session.
    Session(SessionId),
    /// What the hall owes to a payee.
    Payee(PayeeName),
    /// The money of a payment that is under way.
    UnderWay(PaymentHash),
    /// What the hall keeps: it pays the providers of models.
    House,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Wallet => f.write_str("wallet"),
            Entry::Session(session) => write!(f, "session {session}"),
            Entry::Payee(payee) => write!(f, "payee {payee}"),
            Entry::UnderWay(payment) => write!(f, "payment {}", &payment.to_string()[..8]),
            Entry::House => f.write_str("house"),
        }
    }
}

/// Money that moved from one account to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// When it happened. `None` for what happened inside a session, which has its own time.
    pub at: Option<UnixMs>,
    /// The account that has less.
    pub from: Entry,
    /// The account that has more.
    pub to: Entry,
    /// The amount.
    pub money: Msat,
    /// What happened.
    pub what: &'static str,
}

/// All postings, and the balances that follow from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The postings: those of the treasury in order, then those inside sessions.
    pub postings: Vec<Posting>,
    /// The balance of each account, in millisatoshis. What comes into the wallet is negative there, because somebody is owed it:
    /// all balances add up to zero.
    pub balances: BTreeMap<Entry, i128>,
}

impl Ledger {
    fn post(&mut self, at: Option<UnixMs>, (from, to): (Entry, Entry), money: Msat, what: &'static str) {
        if money == Msat::ZERO {
            return;
        }
        *self.balances.entry(from.clone()).or_default() -= i128::from(money.get());
        *self.balances.entry(to.clone()).or_default() += i128::from(money.get());
        self.postings.push(Posting { at, from, to, money, what });
    }

    /// Returns what the wallet has because of this hall, in millisatoshis.
    pub fn in_wallet(&self) -> i128 {
        -self.balances.get(&Entry::Wallet).copied().unwrap_or_default()
    }

    /// Returns the postings of one session.
    pub fn of_session<'a>(&'a self, session: &'a SessionId) -> impl Iterator<Item = &'a Posting> {
        let is_own = move |entry: &Entry| matches!(entry, Entry::Session(id) if id == session);
        self.postings.iter().filter(move |posting| is_own(&posting.from) || is_own(&posting.to))
    }

    /// Adds a fact of the treasury. `before` is the state before the fact.
    fn add_fact(&mut self, before: &Treasury, fact: &TreasuryFact, at: UnixMs) {
        let at = Some(at);
        match fact {
            TreasuryFact::Received { payment } => {
                if let Some((_, invoiced)) = before.invoices().find(|(hash, _)| hash == payment) {
                    let to = Entry::Session(invoiced.session.clone());
                    self.post(at, (Entry::Wallet, to), invoiced.money, "invoice paid");
                }
            }
            TreasuryFact::Earned { payee, money, .. } => {
                self.post(at, (Entry::House, Entry::Payee(payee.clone())), *money, "fee earned");
            }
            TreasuryFact::Wanted { payment, from, money, fee_max, .. } => {
                let held = money.plus(*fee_max).unwrap_or(Msat::SUPPLY);
                self.post(at, (owner(from), Entry::UnderWay(*payment)), held, "payment decided");
            }
            TreasuryFact::Settled { payment, fee, .. } => {
                let Some(paid) = before.payment(*payment) else { return };
                let (under_way, within) = (Entry::UnderWay(*payment), (*fee).min(paid.fee_max));
                self.post(at, (under_way.clone(), Entry::Wallet), paid.money, "payment made");
                self.post(at, (under_way.clone(), Entry::Wallet), within, "routing fee");
                let over = fee.minus(paid.fee_max).unwrap_or(Msat::ZERO);
                self.post(at, (Entry::House, Entry::Wallet), over, "routing fee above its limit");
                let rest = paid.fee_max.minus(within).unwrap_or(Msat::ZERO);
                self.post(at, (under_way, owner(&paid.from)), rest, "unused fee limit");
            }
            TreasuryFact::Failed { payment, .. } => {
                let Some(paid) = before.payment(*payment) else { return };
                self.post(at, (Entry::UnderWay(*payment), owner(&paid.from)), paid.held(), "payment failed");
            }
            TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Invoiced { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Frozen { .. }
            | TreasuryFact::Accepted { .. } => {}
        }
    }

    /// Adds a fact of a session's account that is not also one of the treasury.
    fn add_session_fact(&mut self, id: &SessionId, fact: &SessionFact) {
        let session = || Entry::Session(id.clone());
        match fact {
            SessionFact::Ended { spent, .. } => self.post(None, (session(), Entry::House), *spent, "work done"),
            SessionFact::Corrected { credit, .. } => {
                self.post(None, (Entry::House, session()), *credit, "reserved money released");
            }
            SessionFact::Opened { .. }
            | SessionFact::Funded { .. }
            | SessionFact::Granted { .. }
            | SessionFact::Withdrawing { .. }
            | SessionFact::Withdrawn { .. }
            | SessionFact::Requested { .. } => {}
        }
    }
}

fn owner(from: &Payer) -> Entry {
    match from {
        Payer::Session(session) => Entry::Session(session.clone()),
        Payer::Payee(payee) => Entry::Payee(payee.clone()),
    }
}

impl Hall {
    /// Returns the ledger of all sessions with the money of a wallet.
    pub async fn ledger(&self) -> Result<Ledger, HallError> {
        let mut ledger = Ledger::default();
        let mut treasury = Treasury::default();
        let (facts, _) = self.journal().treasury_after(TreasuryCursor::default()).await?;
        for stored in facts {
            ledger.add_fact(&treasury, &stored.fact, stored.at);
            treasury.apply(&stored.fact, stored.at).map_err(|why| HallError::Damaged(why.to_string()))?;
        }
        for row in self.journal().sessions().await? {
            let account = self.journal().folded_account(&row.id).await?;
            if *account.kind() != SessionKind::Play {
                for fact in self.journal().account(&row.id).await? {
                    ledger.add_session_fact(&row.id, &fact);
                }
            }
        }
        Ok(ledger)
    }
}
