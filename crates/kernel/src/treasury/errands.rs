//! Errands: what to ask the wallet, and what follows from its replies. A reply is a claim. Only a row of our wallet proves
//! something, and only what it says about the payment that was asked about.
//!
//! The treasurer remembers what it has asked since it started. A process that starts again knows only the stored facts, and so
//! looks every payment up before it sends anything.

use std::collections::BTreeMap;

use super::{
    FailedBecause, Invoice, InvoiceError, Invoiced, PayeeAccount, Payer, Payment, PaymentEnd, PaymentHash, Preimage,
    Treasury, TreasuryError, TreasuryFact, payable,
};
use crate::money::{Msat, Quantity};
use crate::name::{PayeeName, WalletId};
use crate::text::TextRef;
use crate::time::{Millis, UnixMs};

/// The pauses between two lookups of an unknown payment: the first, and the longest.
const PAUSE_MIN: Millis = Millis(1_000);
const PAUSE_MAX: Millis = Millis(60_000);

/// The pauses between two lookups of an invoice: while it is valid, and on the day after.
const INVOICE_PAUSE: Millis = Millis(2_000);
const LATE_INVOICE_PAUSE: Millis = Millis(60_000);

/// Among many invoices, the pause of a late one is at least this long for each of them.
const LATE_INVOICE_SHARE: Millis = Millis(1_000);

/// The pause between two readings of the wallet's list.
const LIST_PAUSE: Millis = Millis(10 * 60 * 1000);

/// A payment that the wallet made this long before it was connected may be new: the two clocks can differ.
const CLOCK_MARGIN: Millis = Millis(60_000);

/// Two lookups that show nothing count as two only if this much time is between them.
const BETWEEN_PROOFS: Millis = Millis(5_000);

/// No request leaves in the last part of an invoice's time, or later.
const RESEND_MARGIN: Millis = Millis(10_000);

const DAY: Millis = Millis(24 * 60 * 60 * 1000);

/// The limits that the operator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A payee is paid when it is owed this much.
    pub payout_min: Msat,
    /// The largest payment to a payee.
    pub payment_max: Msat,
    /// The largest sum of payments to payees in 24 hours.
    pub daily_max: Msat,
    /// How long after its invoice expired a payment that the wallet does not have counts as failed.
    pub failed_after: Millis,
    /// Whether this process has the key that can pay.
    pub can_pay: bool,
    /// The payees that this process can ask for an invoice.
    pub payees: Vec<PayeeName>,
}

impl Default for Policy {
    /// The limits that apply if the operator sets none: payouts from 100 sat on, at most 2,000 sat each and 20,000 sat a day.
    fn default() -> Policy {
        let sat = |sat: u64| Msat::capped(u128::from(sat) * 1000);
        Policy {
            payout_min: sat(100),
            payment_max: sat(2_000),
            daily_max: sat(20_000),
            failed_after: Millis(10 * 60 * 1000),
            can_pay: false,
            payees: Vec::new(),
        }
    }
}

/// Something to ask the wallet, or a payee's wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// All payments of the wallet since this moment.
    List {
        /// The moment.
        since: UnixMs,
    },
    /// Our wallet's row of a payment.
    LookUp {
        /// The payment.
        payment: PaymentHash,
    },
    /// Pay an invoice. Its `Sending` is stored.
    Send {
        /// The payment.
        payment: PaymentHash,
        /// Its invoice.
        invoice: TextRef,
        /// How many requests there are with this one.
        attempt: u32,
    },
    /// An invoice of a payee.
    AskPayee {
        /// The payee.
        payee: PayeeName,
        /// The amount.
        money: Msat,
    },
}

/// What came back from an errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalletReply {
    /// The payments of the list.
    Listed(Vec<Row>),
    /// The row of a payment, or the row that a request to pay returned.
    Found(Row),
    /// The wallet works, and has no such payment.
    NotFound,
    /// The wallet refused the request for a reason which proves that this request pays nothing.
    Refused,
    /// The invoice of a payee.
    Invoice(Invoice),
    /// Anything else: no reply, an error, or a reply that can't be read.
    Unclear,
}

/// A row of a wallet: one payment, in or out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The payment.
    pub payment: PaymentHash,
    /// The wallet that the row belongs to.
    pub wallet: WalletId,
    /// Whether the wallet pays.
    pub is_outgoing: bool,
    /// The amount.
    pub money: Msat,
    /// The routing fee.
    pub fee: Msat,
    /// The status.
    pub status: RowStatus,
    /// The preimage, with the hash that was computed from it.
    pub preimage: Option<(Preimage, PaymentHash)>,
    /// When the wallet made the row.
    pub at: UnixMs,
}

/// The status of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// The payment is under way.
    Pending,
    /// The payment was made.
    Success,
    /// The payment failed. A later lookup can show another status.
    Failed,
}

/// What the treasurer knows about a payment besides its facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Watched {
    /// When to look again.
    next: UnixMs,
    /// How many times in a row nothing new was found.
    looks: u32,
    /// The request that may be sent as soon as its `Sending` is stored.
    cleared: Option<u32>,
    /// When a lookup after the end of the invoice showed that the wallet has not paid.
    unpaid_since: Option<UnixMs>,
}

/// Decides what to ask the wallet. One process at a time has a treasurer: the one that holds the lease of the treasury.
#[derive(Clone, Debug)]
pub struct Treasurer {
    policy: Policy,
    treasury: Treasury,
    list_next: UnixMs,
    has_list: bool,
    watched: BTreeMap<PaymentHash, Watched>,
    payees: BTreeMap<PayeeName, Watched>,
    /// The invoice that somebody waits for.
    watched_closely: Option<PaymentHash>,
}

impl Treasurer {
    /// Starts with the stored state.
    pub fn new(treasury: Treasury, policy: Policy) -> Treasurer {
        Treasurer {
            policy,
            treasury,
            list_next: UnixMs(0),
            has_list: false,
            watched: BTreeMap::new(),
            payees: BTreeMap::new(),
            watched_closely: None,
        }
    }

    /// Returns the state.
    pub fn treasury(&self) -> &Treasury {
        &self.treasury
    }

    /// Takes a fact that was stored.
    pub fn apply(&mut self, fact: &TreasuryFact, at: UnixMs) -> Result<(), TreasuryError> {
        self.treasury.apply(fact, at)?;
        if let TreasuryFact::Settled { payment, .. } = fact
            && let Some(Payment { from: Payer::Payee(payee), .. }) = self.treasury.payment(*payment)
        {
            // Its wallet works: the next payment does not wait.
            self.payees.remove(payee);
        }
        Ok(())
    }

    /// Returns what to ask now. Each errand must be performed, and its reply heard, before this is called again.
    pub fn errands(&self, now: UnixMs) -> Vec<Errand> {
        let Some(wallet) = self.treasury.wallet() else { return Vec::new() };
        let since = UnixMs(wallet.since.0.saturating_sub(CLOCK_MARGIN.0));
        let list = (self.list_next <= now).then_some(Errand::List { since });
        if !self.has_list {
            // Nothing is decided before the wallet's list shows whether this journal knows all payments.
            return list.into_iter().collect();
        }
        let has_list_to_read = list.is_some();
        let mut errands: Vec<Errand> = list.into_iter().collect();
        for (hash, payment) in self.treasury.payments().filter(|(_, payment)| payment.end.is_none()) {
            let watched = self.watched.get(&hash).copied().unwrap_or_default();
            // Time can pass after the lookup: a person had stopped payments, or the machine slept.
            if watched.cleared == Some(payment.attempts) && self.may_send(payment, now) {
                if has_list_to_read {
                    // The list can freeze payments, so the request waits for it.
                    continue;
                }
                errands.push(Errand::Send { payment: hash, invoice: payment.invoice, attempt: payment.attempts });
            } else if watched.next <= now {
                errands.push(Errand::LookUp { payment: hash });
            }
        }
        errands.extend(self.payouts(now));
        // Invoices come last: strangers can ask for many, and that must not hold up payments.
        for (payment, invoiced) in self.treasury.invoices() {
            if invoiced.is_open(now) && self.is_due(payment, now) {
                errands.push(Errand::LookUp { payment });
            }
        }
        errands
    }

    /// Returns when there is something to ask next, if nothing else happens before.
    pub fn wake_at(&self, now: UnixMs) -> Option<UnixMs> {
        self.treasury.wallet()?;
        if !self.has_list {
            return Some(self.list_next);
        }
        let open = |(payment, invoiced): (PaymentHash, &Invoiced)| invoiced.is_open(now).then_some(payment);
        let invoices = self.treasury.invoices().filter_map(open);
        let payments = self.treasury.payments().filter(|(_, payment)| payment.end.is_none()).map(|(hash, _)| hash);
        let next = |hash: PaymentHash| self.watched.get(&hash).copied().unwrap_or_default().next;
        let payees = self.treasury.payees().filter(|(name, account)| self.amount_for(name, account, now).is_some());
        let payees = payees.map(|(name, _)| self.payees.get(name).copied().unwrap_or_default().next);
        invoices.chain(payments).map(next).chain(payees).chain([self.list_next]).min()
    }

    /// Whether there is a payment to make, or a payee to pay, for which this process lacks a key. Another process may have it.
    pub fn lacks_key(&self) -> bool {
        let Policy { can_pay, payout_min, payees, .. } = &self.policy;
        let lacks = |payee: &PayeeName| !can_pay || !payees.contains(payee);
        let is_due = |account: &PayeeAccount| account.paying.is_none() && account.owed >= *payout_min;
        let has_payments = self.treasury.payments().any(|(_, payment)| payment.end.is_none());
        let mut fees = self.treasury.payees().filter(|_| self.treasury.payouts_allowed);
        (!can_pay && has_payments) || fees.any(|(payee, account)| is_due(account) && lacks(payee))
    }

    /// Takes the reply to an errand, and returns the facts that follow. They must be stored before [`Treasurer::errands`] is
    /// called again, and applied in the order in which they are stored. If they are refused, restore the treasurer.
    ///
    /// `asked` is the moment before the errand's request left, not the moment at which the reply came: if the machine slept in
    /// between, the reply says nothing about the time after it.
    pub fn hear(&mut self, errand: &Errand, reply: &WalletReply, asked: UnixMs) -> Vec<TreasuryFact> {
        match errand {
            Errand::List { since } => self.hear_list(*since, reply, asked),
            Errand::LookUp { payment } => match self.treasury.payment(*payment) {
                Some(found) => self.hear_lookup(*payment, &found.clone(), reply, asked),
                None => self.hear_invoice(*payment, reply, asked),
            },
            Errand::Send { payment, attempt, .. } => self.hear_send(*payment, *attempt, reply, asked),
            Errand::AskPayee { payee, money } => self.hear_payee(payee, *money, reply, asked),
        }
    }

    /// Makes the treasurer look at an invoice often, because somebody waits for its payment.
    pub fn watch_closely(&mut self, invoice: PaymentHash) {
        self.watched_closely = Some(invoice);
    }

    fn hear_list(&mut self, since: UnixMs, reply: &WalletReply, now: UnixMs) -> Vec<TreasuryFact> {
        let WalletReply::Listed(rows) = reply else {
            self.list_next = now.after(PAUSE_MIN);
            return Vec::new();
        };
        (self.has_list, self.list_next) = (true, now.after(LIST_PAUSE));
        let mut facts = Vec::new();
        for row in rows {
            let is_new = |fact: &TreasuryFact| !facts.contains(fact);
            let fact = if row.is_outgoing { self.foreign(row, since) } else { self.received(row.payment, row) };
            facts.extend(fact.filter(is_new));
        }
        facts
    }

    /// A payment of our wallet that this hall does not know, whatever its status: a failed row can turn into a paid one.
    fn foreign(&self, row: &Row, since: UnixMs) -> Option<TreasuryFact> {
        let is_ours = self.is_our_wallet(row) && row.at >= since;
        let payment = row.payment;
        (is_ours && !self.treasury.knows(payment)).then_some(TreasuryFact::Frozen { payment })
    }

    /// Checks whether a row proves that an invoice was paid.
    fn received(&self, payment: PaymentHash, row: &Row) -> Option<TreasuryFact> {
        let invoiced = self.treasury.invoices.get(&payment).filter(|invoiced| !invoiced.is_paid)?;
        let is_paid = row.payment == payment
            && self.is_our_wallet(row)
            && !row.is_outgoing
            && row.status == RowStatus::Success
            && row.money == invoiced.money;
        is_paid.then_some(TreasuryFact::Received { payment })
    }

    fn hear_invoice(&mut self, payment: PaymentHash, reply: &WalletReply, now: UnixMs) -> Vec<TreasuryFact> {
        let Some(invoiced) = self.treasury.invoices.get(&payment) else { return Vec::new() };
        // A wallet server allows a few requests a second, for all invoices together.
        let open = self.treasury.invoices().filter(|(_, invoiced)| invoiced.is_open(now)).count() as u64;
        let valid = self.treasury.invoices().filter(|(_, invoiced)| invoiced.is_payable(now)).count() as u64;
        // The wallet's list shows what was paid, too, so a longer pause than between two readings is no use.
        let among_all = Millis(INVOICE_PAUSE.0.saturating_mul(valid)).min(LIST_PAUSE);
        let pause = if now > invoiced.expires {
            LATE_INVOICE_PAUSE.max(Millis(LATE_INVOICE_SHARE.0.saturating_mul(open)))
        } else if self.watched_closely == Some(payment) {
            INVOICE_PAUSE
        } else {
            among_all
        };
        let fact = if let WalletReply::Found(row) = reply { self.received(payment, row) } else { None };
        self.watched.entry(payment).or_default().next = now.after(pause);
        fact.into_iter().collect()
    }

    fn hear_lookup(
        &mut self,
        hash: PaymentHash,
        payment: &Payment,
        reply: &WalletReply,
        now: UnixMs,
    ) -> Vec<TreasuryFact> {
        if payment.end.is_some() {
            return Vec::new();
        }
        self.look_later(hash, now);
        match reply {
            WalletReply::Found(row) if self.is_our_payment(hash, row) => match row.status {
                RowStatus::Success => settled(hash, payment, row).into_iter().collect(),
                RowStatus::Pending => {
                    self.watched.entry(hash).or_default().unpaid_since = None;
                    Vec::new()
                }
                // LNbits does not send a failed payment again, and can still turn it into a paid one.
                RowStatus::Failed => self.unpaid(hash, payment, now),
            },
            WalletReply::NotFound => {
                let facts = self.absent(hash, payment, now);
                if facts.is_empty() { self.send(hash, payment, now) } else { facts }
            }
            // No request of this hall has left, so this ends when the invoice does.
            WalletReply::Found(_) if payment.attempts == 0 => self.absent(hash, payment, now),
            // The row of another wallet, or a row of money that came in, says nothing about a request that has left.
            WalletReply::Found(_)
            | WalletReply::Listed(_)
            | WalletReply::Refused
            | WalletReply::Invoice(_)
            | WalletReply::Unclear => Vec::new(),
        }
    }

    /// Decides about a payment of which our wallet has no row.
    fn absent(&mut self, hash: PaymentHash, payment: &Payment, now: UnixMs) -> Vec<TreasuryFact> {
        if payment.attempts > 0 {
            return self.unpaid(hash, payment, now);
        }
        // No request has left.
        let failed = TreasuryFact::Failed { payment: hash, why: FailedBecause::Expired };
        if now > payment.expires { vec![failed] } else { Vec::new() }
    }

    /// Decides whether a payment that the wallet has not made can't be made any more. If our wallet has a row, a request has left,
    /// also if this journal is an old backup that does not know it.
    fn unpaid(&mut self, hash: PaymentHash, payment: &Payment, now: UnixMs) -> Vec<TreasuryFact> {
        if now < payment.expires.after(self.policy.failed_after) {
            return Vec::new();
        }
        let watched = self.watched.entry(hash).or_default();
        match watched.unpaid_since {
            Some(first) if now >= first.after(BETWEEN_PROOFS) => {
                vec![TreasuryFact::Failed { payment: hash, why: FailedBecause::Expired }]
            }
            Some(_) => Vec::new(),
            None => {
                watched.unpaid_since = Some(now);
                watched.next = now.after(BETWEEN_PROOFS);
                Vec::new()
            }
        }
    }

    /// Prepares the next request to pay, if it may be sent.
    fn send(&mut self, hash: PaymentHash, payment: &Payment, now: UnixMs) -> Vec<TreasuryFact> {
        if !self.may_send(payment, now) {
            return Vec::new();
        }
        // A server that refuses again and again gets fewer and fewer requests, also from processes that start anew.
        let next = payment.sent_at.map(|sent| sent.after(pause(payment.attempts)));
        if let Some(next) = next.filter(|next| now < *next && *next <= now.after(PAUSE_MAX)) {
            self.watched.entry(hash).or_default().next = next;
            return Vec::new();
        }
        let Some(attempt) = payment.attempts.checked_add(1) else { return Vec::new() };
        self.watched.entry(hash).or_default().cleared = Some(attempt);
        vec![TreasuryFact::Sending { payment: hash, attempt }]
    }

    fn hear_send(&mut self, hash: PaymentHash, attempt: u32, reply: &WalletReply, now: UnixMs) -> Vec<TreasuryFact> {
        let watched = self.watched.entry(hash).or_default();
        (watched.cleared, watched.looks) = (None, 0);
        self.look_later(hash, now);
        let Some(payment) = self.treasury.payment(hash).filter(|payment| payment.end.is_none()) else {
            return Vec::new();
        };
        match reply {
            WalletReply::Found(row) if self.is_our_payment(hash, row) && row.status == RowStatus::Success => {
                settled(hash, payment, row).into_iter().collect()
            }
            // A later request can be refused although an earlier one pays: it may still be on its way.
            WalletReply::Refused if attempt == 1 => {
                vec![TreasuryFact::Failed { payment: hash, why: FailedBecause::Refused }]
            }
            WalletReply::Found(_)
            | WalletReply::Refused
            | WalletReply::Listed(_)
            | WalletReply::NotFound
            | WalletReply::Invoice(_)
            | WalletReply::Unclear => Vec::new(),
        }
    }

    fn hear_payee(&mut self, payee: &PayeeName, money: Msat, reply: &WalletReply, now: UnixMs) -> Vec<TreasuryFact> {
        let watched = self.payees.entry(payee.clone()).or_default();
        (watched.next, watched.looks) = (now.after(pause(watched.looks)), watched.looks.saturating_add(1));
        let WalletReply::Invoice(invoice) = reply else { return Vec::new() };
        // An invoice that can't be paid leads to nothing: the payee is asked again later.
        self.payout(payee, money, invoice, now).into_iter().collect()
    }

    /// Returns the fact for a payment of the invoice that a payee made for this amount, or says why it is refused.
    pub fn payout(
        &self,
        payee: &PayeeName,
        money: Msat,
        invoice: &Invoice,
        now: UnixMs,
    ) -> Result<TreasuryFact, InvoiceError> {
        let found = invoice.money.ok_or(InvoiceError::NoAmount)?;
        if found != money {
            return Err(InvoiceError::OtherAmount { found, asked: money });
        }
        let owed = self.treasury.payees.get(payee).map_or(Msat::ZERO, |account| account.owed);
        self.treasury.wanted(Payer::Payee(payee.clone()), owed, invoice, now)
    }

    fn payouts(&self, now: UnixMs) -> Vec<Errand> {
        let due = |name: &PayeeName| self.payees.get(name).copied().unwrap_or_default().next <= now;
        let payees = self.treasury.payees().filter(|(name, _)| due(name));
        let payees = payees.filter_map(|(name, account)| {
            let money = self.amount_for(name, account, now)?;
            Some(Errand::AskPayee { payee: name.clone(), money })
        });
        // One at a time: each changes what may still be paid today.
        payees.take(1).collect()
    }

    /// Returns the amount that a payee can be paid now.
    fn amount_for(&self, payee: &PayeeName, account: &PayeeAccount, now: UnixMs) -> Option<Msat> {
        let Policy { payout_min, payment_max, daily_max, .. } = self.policy;
        let is_known = self.policy.payees.contains(payee);
        if !is_known || account.paying.is_some() || account.owed < payout_min || !self.may_pay_payees() {
            return None;
        }
        let left = daily_max.minus(self.paid_within_a_day(now))?;
        let most = payment_max.min(left);
        let whole = Msat::capped(u128::from(most.get() / 1000 * 1000));
        Some(payable(account.owed).min(whole)).filter(|money| *money > Msat::ZERO)
    }

    fn paid_within_a_day(&self, now: UnixMs) -> Msat {
        let is_recent = |payment: &Payment| {
            matches!(payment.from, Payer::Payee(_))
                && payment.at.after(DAY) > now
                && !matches!(payment.end, Some(PaymentEnd::Failed(_)))
        };
        let recent = self.treasury.payments().filter(|(_, payment)| is_recent(payment));
        recent.fold(Msat::ZERO, |sum, (_, payment)| sum.plus(payment.money).unwrap_or(Msat::SUPPLY))
    }

    fn may_pay_payees(&self) -> bool {
        self.policy.can_pay && self.treasury.payouts_allowed && self.treasury.frozen.is_empty()
    }

    fn may_send(&self, payment: &Payment, now: UnixMs) -> bool {
        if now.after(RESEND_MARGIN) >= payment.expires {
            return false;
        }
        match payment.from {
            Payer::Payee(_) => self.may_pay_payees(),
            Payer::Session(_) => self.policy.can_pay && self.treasury.frozen.is_empty(),
        }
    }

    fn is_our_wallet(&self, row: &Row) -> bool {
        self.treasury.wallet().is_some_and(|wallet| wallet.id == row.wallet)
    }

    fn is_our_payment(&self, hash: PaymentHash, row: &Row) -> bool {
        row.payment == hash && row.is_outgoing && self.is_our_wallet(row)
    }

    fn is_due(&self, payment: PaymentHash, now: UnixMs) -> bool {
        self.watched.get(&payment).copied().unwrap_or_default().next <= now
    }

    fn look_later(&mut self, hash: PaymentHash, now: UnixMs) {
        let watched = self.watched.entry(hash).or_default();
        (watched.next, watched.looks) = (now.after(pause(watched.looks)), watched.looks.saturating_add(1));
    }
}

/// Checks whether a row of our wallet proves that a payment was made.
fn settled(hash: PaymentHash, payment: &Payment, row: &Row) -> Option<TreasuryFact> {
    let (preimage, _) = row.preimage.filter(|(_, of)| *of == hash)?;
    (row.money == payment.money).then_some(TreasuryFact::Settled { payment: hash, fee: row.fee, preimage })
}

/// The pause before the next try, after this many.
fn pause(tries: u32) -> Millis {
    Millis(PAUSE_MIN.0.saturating_mul(1 << tries.min(16))).min(PAUSE_MAX)
}
