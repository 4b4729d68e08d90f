//! The simulator's own book: arithmetic on the stored facts that shares nothing with the treasury's fold. After every step it is
//! compared with the treasury, with the accounts of the sessions, and with what the wallet really did.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{
    FailedBecause, Msat, Path, PayeeName, Payer, PaymentHash, Preimage, SessionFact, SessionId, TreasuryFact, UnixMs,
};

use super::journal::Journal;
use super::wallet::{State, Wallet};

/// An invoice of a session.
struct In {
    session: SessionId,
    money: i128,
    is_received: bool,
}

/// A payment out of the wallet.
pub(super) struct Out {
    pub(super) from: Payer,
    pub(super) money: i128,
    pub(super) fee_max: i128,
    pub(super) at: UnixMs,
    pub(super) sent: u32,
    pub(super) end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was made, and cost its payer this much.
    Settled {
        cost: i128,
    },
    Failed,
}

impl Out {
    fn held(&self) -> i128 {
        if self.end.is_none() { self.money + self.fee_max } else { 0 }
    }

    fn cost(&self) -> i128 {
        match self.end {
            Some(End::Settled { cost }) => cost,
            Some(End::Failed) | None => 0,
        }
    }
}

/// The money of a session that is neither received, nor held for a payment, nor paid out.
#[derive(Default)]
struct Work {
    at_work: BTreeMap<Path, i128>,
    spent: i128,
}

#[derive(Default)]
pub(super) struct Book {
    pub(super) is_allowed: bool,
    pub(super) frozen: BTreeSet<PaymentHash>,
    foreign: BTreeSet<PaymentHash>,
    ins: BTreeMap<PaymentHash, In>,
    pub(super) outs: BTreeMap<PaymentHash, Out>,
    earned: BTreeMap<PayeeName, i128>,
    fees: BTreeSet<(SessionId, Path)>,
    work: BTreeMap<SessionId, Work>,
    house_fees: i128,
}

/// What is wrong with a fact.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn unless(&mut self, holds: bool, what: &str, payment: PaymentHash) {
        if !holds {
            self.0.push(format!("{what}: payment {:?}", payment.0));
        }
    }
}

fn wide(money: Msat) -> i128 {
    i128::from(money.get())
}

impl Book {
    /// Takes a stored fact of the treasury, and returns what is wrong with it.
    pub(super) fn take(&mut self, fact: &TreasuryFact, at: UnixMs, wallet: &Wallet) -> Vec<String> {
        let mut wrong = Wrong::default();
        match fact {
            TreasuryFact::Connected { .. } => {}
            TreasuryFact::Payouts { allowed } => {
                self.is_allowed = *allowed;
            }
            TreasuryFact::Invoiced { payment, session, money, .. } => {
                wrong.unless(!self.knows(*payment), "an invoice is used twice", *payment);
                let invoice = In { session: session.clone(), money: wide(*money), is_received: false };
                self.ins.insert(*payment, invoice);
            }
            TreasuryFact::Received { payment } => {
                let is_paid = wallet.own.get(payment).is_some_and(|invoice| invoice.is_paid);
                wrong.unless(is_paid, "money is credited that nobody paid", *payment);
                let invoice = self.ins.get_mut(payment);
                let is_first = invoice.is_some_and(|found| !std::mem::replace(&mut found.is_received, true));
                wrong.unless(is_first, "money is credited twice, or without an invoice", *payment);
            }
            TreasuryFact::Earned { payee, session, contract, money } => {
                if !self.fees.insert((session.clone(), contract.clone())) {
                    wrong.0.push(format!("a fee is earned twice: {contract} in {session}"));
                }
                *self.earned.entry(payee.clone()).or_default() += wide(*money);
            }
            TreasuryFact::Wanted { payment, from, money, fee_max, .. } => {
                wrong.unless(!self.knows(*payment), "an invoice is used twice", *payment);
                let is_alone = !self.outs.values().any(|out| out.from == *from && out.end.is_none());
                wrong.unless(is_alone, "a payment is wanted while another one of its account is unknown", *payment);
                let (from, money, fee_max) = (from.clone(), wide(*money), wide(*fee_max));
                self.outs.insert(*payment, Out { from, money, fee_max, at, sent: 0, end: None });
            }
            TreasuryFact::Sending { payment, attempt } => self.sending(*payment, *attempt, &mut wrong),
            TreasuryFact::Settled { payment, fee, preimage } => {
                self.settled(*payment, *fee, *preimage, wallet, &mut wrong);
            }
            TreasuryFact::Failed { payment, why } => self.failed(*payment, *why, wallet, &mut wrong),
            TreasuryFact::Frozen { payment } => {
                let is_real = wallet.bills.get(payment).is_some_and(|bill| bill.state != State::Unseen);
                wrong.unless(is_real, "payments are frozen for a payment that the wallet did not make", *payment);
                wrong.unless(!self.knows(*payment), "payments are frozen for a payment that is known", *payment);
                self.foreign.insert(*payment);
                self.frozen.insert(*payment);
            }
            TreasuryFact::Accepted { payment } => {
                wrong.unless(self.frozen.remove(payment), "a payment is accepted that stopped nothing", *payment);
            }
        }
        wrong.0
    }

    fn sending(&mut self, payment: PaymentHash, attempt: u32, wrong: &mut Wrong) {
        wrong.unless(self.frozen.is_empty(), "a request is prepared although payments are frozen", payment);
        let Some(found) = self.outs.get_mut(&payment) else {
            return wrong.unless(false, "a request is prepared for a payment that nobody wants", payment);
        };
        // A person can stop payouts while the process that repeats a request waits for a reply.
        let may_pay = self.is_allowed || attempt > 1 || matches!(found.from, Payer::Session(_));
        wrong.unless(may_pay, "a request is prepared for a payee although payouts are off", payment);
        wrong.unless(found.end.is_none(), "a request is prepared for a payment that has ended", payment);
        found.sent += 1;
        wrong.unless(found.sent == attempt, "requests are counted wrong", payment);
    }

    fn settled(&mut self, payment: PaymentHash, fee: Msat, preimage: Preimage, wallet: &Wallet, wrong: &mut Wrong) {
        let bill = wallet.bills.get(&payment).filter(|bill| bill.state == State::Paid);
        wrong.unless(bill.is_some(), "a payment is settled that the wallet did not make", payment);
        let proves = bill.is_none_or(|bill| bill.preimage == preimage && bill.fee == fee);
        wrong.unless(proves, "a payment is settled with a wrong preimage or fee", payment);
        let Some(found) = self.outs.get_mut(&payment) else {
            return wrong.unless(false, "a payment is settled that nobody wants", payment);
        };
        self.house_fees += (wide(fee) - found.fee_max).max(0);
        wrong.unless(found.end.is_none(), "a payment ends twice", payment);
        found.end = Some(End::Settled { cost: found.money + wide(fee).min(found.fee_max) });
    }

    fn failed(&mut self, payment: PaymentHash, why: FailedBecause, wallet: &Wallet, wrong: &mut Wrong) {
        wrong.unless(!wallet.has_paid(payment), "a payment counts as failed that the wallet made", payment);
        wrong.unless(!wallet.can_pay(payment), "a payment counts as failed that the wallet can still make", payment);
        let Some(found) = self.outs.get_mut(&payment) else {
            return wrong.unless(false, "a payment fails that nobody wants", payment);
        };
        let is_first = why != FailedBecause::Refused || found.sent == 1;
        wrong.unless(is_first, "a refused request that was not the first is believed", payment);
        wrong.unless(found.end.is_none(), "a payment ends twice", payment);
        found.end = Some(End::Failed);
    }

    /// Takes a stored fact of a session: only the work of its roots, because everything else follows from the treasury.
    pub(super) fn take_session(&mut self, session: &SessionId, fact: &SessionFact) {
        let work = self.work.entry(session.clone()).or_default();
        match fact {
            SessionFact::Requested { root, money, .. } => {
                work.at_work.insert(root.clone(), wide(*money));
            }
            SessionFact::Ended { root, spent, .. } => {
                work.at_work.remove(root);
                work.spent += wide(*spent);
            }
            SessionFact::Opened { .. }
            | SessionFact::Funded { .. }
            | SessionFact::Granted { .. }
            | SessionFact::Withdrawing { .. }
            | SessionFact::Withdrawn { .. }
            | SessionFact::Returned { .. }
            | SessionFact::Corrected { .. } => {}
        }
    }

    pub(super) fn knows(&self, payment: PaymentHash) -> bool {
        self.ins.contains_key(&payment) || self.outs.contains_key(&payment) || self.foreign.contains(&payment)
    }

    /// Returns the invoices of sessions that were not credited.
    pub(super) fn uncredited(&self) -> impl Iterator<Item = PaymentHash> {
        self.ins.iter().filter(|(_, found)| !found.is_received).map(|(payment, _)| *payment)
    }

    /// Returns what a payee is owed, without the payment that is under way.
    pub(super) fn owed(&self, payee: &PayeeName) -> i128 {
        let earned = self.earned.get(payee).copied().unwrap_or_default();
        let of = self.outs.values().filter(|out| matches!(&out.from, Payer::Payee(name) if name == payee));
        earned - of.map(|out| out.held() + out.cost()).sum::<i128>()
    }

    /// Returns what the payments to a payee have cost it.
    fn paid(&self, payee: &PayeeName) -> i128 {
        let of = self.outs.values().filter(|out| matches!(&out.from, Payer::Payee(name) if name == payee));
        of.map(Out::cost).sum()
    }

    /// Returns the sum of the payments to payees since this moment that were not failures.
    pub(super) fn paid_since(&self, since: UnixMs) -> i128 {
        let counts = |out: &&Out| out.at > since && matches!(out.from, Payer::Payee(_)) && out.end != Some(End::Failed);
        self.outs.values().filter(counts).map(|out| out.money).sum()
    }

    /// Compares the book with the treasury, the accounts and the wallet.
    pub(super) fn compare(&self, journal: &Journal, wallet: &Wallet) -> Vec<String> {
        let mut wrong = Vec::new();
        for (payment, out) in &self.outs {
            if out.end == Some(End::Failed) && wallet.has_paid(*payment) {
                wrong.push(format!("the wallet made a payment that counts as failed: {:?}", payment.0));
            }
        }
        let mut liabilities = 0;
        for account in &journal.accounts {
            let free = self.free(&account.id);
            let held = self.held_for(&account.id);
            let aside = account.state.withdrawing().map_or(0, |(_, money)| wide(money));
            if (wide(account.state.free()), aside) != (free, held) {
                let found = (account.state.free(), aside);
                wrong.push(format!("session {} has {found:?}, but must have {free} free and {held} held", account.id));
            }
            liabilities += free + held + self.at_work(&account.id);
        }
        for (payee, account) in journal.treasury.payees() {
            let (owed, paid) = (self.owed(payee), self.paid(payee));
            if (wide(account.owed), wide(account.paid)) != (owed, paid) || owed < 0 {
                let found = (account.owed, account.paid);
                wrong.push(format!("payee {payee} has {found:?}, but must be owed {owed} and have got {paid}"));
            }
        }
        if wide(journal.treasury.house_fees()) != self.house_fees {
            wrong.push(format!("the house paid {} of fees", self.house_fees));
        }
        let payees = self.earned.keys().map(|payee| self.owed(payee)).sum::<i128>();
        let held_for_payees = self.outs.values().filter(|out| matches!(out.from, Payer::Payee(_))).map(Out::held);
        liabilities += payees + held_for_payees.sum::<i128>();
        let house = self.spent() - self.earned.values().sum::<i128>() - self.house_fees;
        let difference = balance(wallet) - (liabilities + house + self.not_booked(wallet));
        if difference != 0 {
            wrong.push(format!("the wallet and the accounts differ by {difference} msat"));
        }
        wrong
    }

    /// Money that the wallet moved and that no account shows yet: paid invoices that are not credited, payments that are
    /// unknown, and payments of somebody else.
    fn not_booked(&self, wallet: &Wallet) -> i128 {
        let ins = wallet.own.iter().filter(|(_, invoice)| invoice.is_paid);
        let is_new = |payment: &PaymentHash| self.ins.get(payment).is_none_or(|found| !found.is_received);
        let ins = ins.filter(|(payment, _)| is_new(payment)).map(|(_, invoice)| wide(invoice.money));
        let paid = wallet.bills.iter().filter(|(_, bill)| bill.state == State::Paid);
        let is_open = |payment: &PaymentHash| self.outs.get(payment).is_none_or(|out| out.end.is_none());
        let outs = paid.filter(|(payment, _)| is_open(payment)).map(|(_, bill)| wide(bill.money) + wide(bill.fee));
        ins.sum::<i128>() - outs.sum::<i128>()
    }

    fn free(&self, session: &SessionId) -> i128 {
        let received = self.ins.values().filter(|found| found.is_received && found.session == *session);
        let paid = self.of_session(session).map(|out| out.held() + out.cost());
        let work = self.work.get(session).map_or(0, |work| work.spent) + self.at_work(session);
        received.map(|found| found.money).sum::<i128>() - paid.sum::<i128>() - work
    }

    fn held_for(&self, session: &SessionId) -> i128 {
        self.of_session(session).map(Out::held).sum()
    }

    fn of_session<'a>(&'a self, session: &'a SessionId) -> impl Iterator<Item = &'a Out> {
        self.outs.values().filter(move |out| matches!(&out.from, Payer::Session(name) if name == session))
    }

    fn at_work(&self, session: &SessionId) -> i128 {
        self.work.get(session).map_or(0, |work| work.at_work.values().sum())
    }

    fn spent(&self) -> i128 {
        self.work.values().map(|work| work.spent).sum()
    }
}

/// Returns what the wallet really has, without what it had at the beginning.
fn balance(wallet: &Wallet) -> i128 {
    let ins = wallet.own.values().filter(|invoice| invoice.is_paid).map(|invoice| wide(invoice.money));
    let outs = wallet.bills.values().filter(|bill| bill.state == State::Paid);
    ins.sum::<i128>() - outs.map(|bill| wide(bill.money) + wide(bill.fee)).sum::<i128>()
}
