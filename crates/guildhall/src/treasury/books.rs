//! The ledger: double entry, derived from the facts of the treasury and of all sessions. Each posting takes money from one account
//! and gives it to another, so the accounts always add up to zero.

use std::collections::BTreeMap;
use std::fmt;

use guildhall_kernel::{
    Msat, PayeeName, Payer, PaymentHash, Quantity, Session, SessionFact, SessionKind, Treasury, TreasuryFact, UnixMs,
};
use guildhall_local::{Contents, SessionId, SessionRow, TreasuryCursor};

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
    /// Where play money comes from and goes to.
    Play,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Wallet => f.write_str("wallet"),
            Entry::Session(session) => write!(f, "session {session}"),
            Entry::Payee(payee) => write!(f, "payee {payee}"),
            Entry::UnderWay(payment) => write!(f, "payment {}", &payment.to_string()[..8]),
            Entry::House => f.write_str("house"),
            Entry::Play => f.write_str("play money"),
        }
    }
}

/// When a posting happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedAt {
    /// At this moment.
    At(UnixMs),
    /// Inside a session, which has its own time: after this moment, the last one before it that is known.
    After(UnixMs),
}

impl PostedAt {
    fn moment(self) -> UnixMs {
        match self {
            PostedAt::At(moment) | PostedAt::After(moment) => moment,
        }
    }
}

/// Money that moved from one account to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// When it happened.
    pub at: PostedAt,
    /// The session whose money or work it is about. A payment of fees to a payee is about no single session.
    pub session: Option<SessionId>,
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
    /// The postings, in the order of their times.
    pub postings: Vec<Posting>,
    /// The balance of each account, in millisatoshis. What comes into the wallet is negative there, because somebody is owed it:
    /// all balances add up to zero.
    pub balances: BTreeMap<Entry, i128>,
}

impl Ledger {
    fn post(&mut self, posting: Posting) {
        if posting.money == Msat::ZERO {
            return;
        }
        let money = i128::from(posting.money.get());
        *self.balances.entry(posting.from.clone()).or_default() -= money;
        *self.balances.entry(posting.to.clone()).or_default() += money;
        self.postings.push(posting);
    }

    /// Puts the postings in order, and removes the payments that have ended.
    fn finish(&mut self) {
        self.postings.sort_by_key(|posting| posting.at.moment());
        self.balances.retain(|entry, balance| *balance != 0 || !matches!(entry, Entry::UnderWay(_)));
    }

    /// Returns what the wallet has because of this hall, in millisatoshis.
    pub fn in_wallet(&self) -> i128 {
        -self.balances.get(&Entry::Wallet).copied().unwrap_or_default()
    }

    /// Returns the part of the ledger that is about one session: what came in, what its work cost and who earned from it, and what
    /// was paid back. The balances are those of this part, and add up to zero, too.
    #[must_use]
    pub fn of_session(&self, session: &SessionId) -> Ledger {
        let mut own = Ledger::default();
        for posting in self.postings.iter().filter(|posting| posting.session.as_ref() == Some(session)) {
            own.post(posting.clone());
        }
        own.finish();
        own
    }

    /// Adds a fact of the treasury. `before` is the state before the fact.
    fn add_fact(&mut self, before: &Treasury, fact: &TreasuryFact, at: UnixMs) {
        let mut post = |session: Option<&SessionId>, from: Entry, to: Entry, money: Msat, what: &'static str| {
            self.post(Posting { at: PostedAt::At(at), session: session.cloned(), from, to, money, what });
        };
        match fact {
            TreasuryFact::Received { payment } => {
                if let Some((_, invoiced)) = before.invoices().find(|(hash, _)| hash == payment) {
                    let session = &invoiced.session;
                    let to = Entry::Session(session.clone());
                    post(Some(session), Entry::Wallet, to, invoiced.money, "invoice paid");
                }
            }
            TreasuryFact::Earned { payee, session, money, .. } => {
                post(Some(session), Entry::House, Entry::Payee(payee.clone()), *money, "fee earned");
            }
            TreasuryFact::Wanted { payment, from, money, fee_max, .. } => {
                let held = money.plus(*fee_max).unwrap_or(Msat::SUPPLY);
                post(session_of(from), owner(from), Entry::UnderWay(*payment), held, "payment decided");
            }
            TreasuryFact::Settled { payment, fee, .. } => {
                let Some(paid) = before.payment(*payment) else { return };
                let (under_way, within) = (Entry::UnderWay(*payment), (*fee).min(paid.fee_max));
                let session = session_of(&paid.from);
                post(session, under_way.clone(), Entry::Wallet, paid.money, "payment made");
                post(session, under_way.clone(), Entry::Wallet, within, "routing fee");
                let over = fee.minus(paid.fee_max).unwrap_or(Msat::ZERO);
                post(session, Entry::House, Entry::Wallet, over, "routing fee above its limit");
                let rest = paid.fee_max.minus(within).unwrap_or(Msat::ZERO);
                post(session, under_way, owner(&paid.from), rest, "unused fee limit");
            }
            TreasuryFact::Failed { payment, .. } => {
                let Some(paid) = before.payment(*payment) else { return };
                let session = session_of(&paid.from);
                post(session, Entry::UnderWay(*payment), owner(&paid.from), paid.held(), "payment failed");
            }
            TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Invoiced { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Frozen { .. }
            | TreasuryFact::Accepted { .. } => {}
        }
    }

    /// Adds the facts of a session's account that are not also facts of the treasury.
    fn add_account(&mut self, row: &SessionRow, account: &[SessionFact], moments: &Moments) {
        let session = || Entry::Session(row.id.clone());
        let mut after = row.created_at;
        for fact in account {
            let (from, to, money, what) = match fact {
                SessionFact::Ended { spent, .. } => (session(), Entry::House, *spent, "work done"),
                SessionFact::Corrected { credit, .. } => (Entry::House, session(), *credit, "reserved money released"),
                SessionFact::Funded { payment: Some(payment), .. } | SessionFact::Withdrawing { payment, .. } => {
                    after = moments.first.get(payment).copied().unwrap_or(after);
                    continue;
                }
                SessionFact::Withdrawn { payment, .. } => {
                    after = moments.last.get(payment).copied().unwrap_or(after);
                    continue;
                }
                SessionFact::Funded { payment: None, money, .. } => {
                    (Entry::Play, session(), *money, "play money added")
                }
                SessionFact::Returned { money } => (session(), Entry::Play, *money, "play money returned"),
                SessionFact::Opened { .. } | SessionFact::Granted { .. } | SessionFact::Requested { .. } => continue,
            };
            self.post(Posting { at: PostedAt::After(after), session: Some(row.id.clone()), from, to, money, what });
        }
    }
}

/// When money of a payment first moved, and when it last moved.
#[derive(Default)]
struct Moments {
    first: BTreeMap<PaymentHash, UnixMs>,
    last: BTreeMap<PaymentHash, UnixMs>,
}

impl Moments {
    fn note(&mut self, fact: &TreasuryFact, at: UnixMs) {
        match fact {
            TreasuryFact::Received { payment } | TreasuryFact::Wanted { payment, .. } => {
                self.first.insert(*payment, at);
            }
            TreasuryFact::Settled { payment, .. } | TreasuryFact::Failed { payment, .. } => {
                self.last.insert(*payment, at);
            }
            TreasuryFact::Connected { .. }
            | TreasuryFact::Payouts { .. }
            | TreasuryFact::Invoiced { .. }
            | TreasuryFact::Earned { .. }
            | TreasuryFact::Sending { .. }
            | TreasuryFact::Frozen { .. }
            | TreasuryFact::Accepted { .. } => {}
        }
    }
}

fn owner(from: &Payer) -> Entry {
    match from {
        Payer::Session(session) => Entry::Session(session.clone()),
        Payer::Payee(payee) => Entry::Payee(payee.clone()),
    }
}

fn session_of(from: &Payer) -> Option<&SessionId> {
    match from {
        Payer::Session(session) => Some(session),
        Payer::Payee(_) => None,
    }
}

impl Hall {
    /// Returns the ledger of one session, in play money, too: what came in, what its work cost and who earned from it, and what went
    /// back.
    pub async fn session_ledger(&self, session: &SessionId) -> Result<Ledger, HallError> {
        let Contents { row, account, .. } = self.journal().contents(session).await?;
        let folded = Session::restore(account.iter().cloned()).map_err(|why| HallError::Damaged(why.to_string()))?;
        let mut ledger = Ledger::default();
        let (mut treasury, mut moments) = (Treasury::default(), Moments::default());
        if *folded.kind() != SessionKind::Play {
            let (facts, _) = self.journal().treasury_after(TreasuryCursor::default()).await?;
            for stored in facts {
                ledger.add_fact(&treasury, &stored.fact, stored.at);
                moments.note(&stored.fact, stored.at);
                treasury.apply(&stored.fact, stored.at).map_err(|why| HallError::Damaged(why.to_string()))?;
            }
        }
        ledger.add_account(&row, &account, &moments);
        Ok(ledger.of_session(session))
    }

    /// Returns the ledger of all sessions with the money of a wallet.
    pub async fn ledger(&self) -> Result<Ledger, HallError> {
        let mut ledger = Ledger::default();
        let (mut treasury, mut moments) = (Treasury::default(), Moments::default());
        let (facts, _) = self.journal().treasury_after(TreasuryCursor::default()).await?;
        for stored in facts {
            ledger.add_fact(&treasury, &stored.fact, stored.at);
            moments.note(&stored.fact, stored.at);
            treasury.apply(&stored.fact, stored.at).map_err(|why| HallError::Damaged(why.to_string()))?;
        }
        for row in self.journal().sessions().await? {
            let account = self.journal().folded_account(&row.id).await?;
            if *account.kind() != SessionKind::Play {
                ledger.add_account(&row, &self.journal().account(&row.id).await?, &moments);
            }
        }
        ledger.finish();
        Ok(ledger)
    }
}
