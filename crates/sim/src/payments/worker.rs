//! A process that asks the wallet. Between any two steps it can be killed: before it stores what follows from a reply, after it
//! stored a `Sending` and before the request leaves, after the request left, and after the reply came.

use std::collections::{BTreeSet, VecDeque};

use guildhall_kernel::{
    Errand, Millis, Msat, Network, Payer, PaymentHash, Treasurer, Treasury, TreasuryError, TreasuryFact, UnixMs,
    WalletReply,
};

use super::hall::{Hall, after, seconds};
use super::journal::Refused;
use super::names;
use super::wallet::{Flight, Route};

/// One process.
pub(super) struct Worker {
    pub(super) number: u32,
    pub(super) epoch: u64,
    pub(super) can_pay: bool,
    /// Whether it decides again after each errand, as the worker of the library does. Otherwise it performs all errands.
    is_careful: bool,
    pub(super) treasurer: Treasurer,
    /// How many facts of the journal it has read.
    seen: usize,
    /// What it knows.
    knows: Permission,
    /// What it knew when it decided what to ask.
    planned: Permission,
    pub(super) queue: VecDeque<Errand>,
    pub(super) waits: Option<Waits>,
    /// The payments that it has looked up since it started, or since its last request for them.
    looked_up: BTreeSet<PaymentHash>,
    has_list: bool,
}

/// What the facts that a process has read say about payments.
#[derive(Clone, Default)]
struct Permission {
    is_allowed: bool,
    frozen: BTreeSet<PaymentHash>,
}

/// A request that left.
pub(super) struct Waits {
    pub(super) errand: Errand,
    /// The time on the machine's clock when it left.
    asked: UnixMs,
    pub(super) reply: Option<WalletReply>,
}

impl Worker {
    /// Returns the payment that it is about to send a request for.
    pub(super) fn sends(&self) -> impl Iterator<Item = PaymentHash> {
        self.queue.iter().filter_map(|errand| match errand {
            Errand::Send { payment, .. } => Some(*payment),
            Errand::List { .. } | Errand::LookUp { .. } | Errand::AskPayee { .. } => None,
        })
    }

    /// Returns the name of the moment at which it is.
    pub(super) fn moment(&self) -> &'static str {
        match (&self.waits, self.queue.front()) {
            (Some(Waits { errand: Errand::Send { .. }, reply: None, .. }), _) => "killed before the reply to a request",
            (Some(Waits { errand: Errand::Send { .. }, .. }), _) => "killed after the reply to a request",
            (Some(_), _) => "killed before a fact is stored",
            (None, Some(Errand::Send { .. })) => "killed before a request leaves",
            (None, Some(_)) => "killed before a question",
            (None, None) => "killed at rest",
        }
    }
}

impl Hall {
    /// Starts a process. It takes the lease: an earlier process that still runs has lost it.
    pub(super) fn start(&mut self) {
        let epoch = self.journal.lease();
        self.next_worker += 1;
        let can_pay = !(self.faults && self.chance.one_in(12));
        let is_careful = self.chance.one_in(2);
        let policy = guildhall_kernel::Policy { can_pay, ..self.policy.clone() };
        let treasury = Treasury::restore(self.journal.facts.iter().cloned()).expect("stored facts fit");
        if treasury != self.journal.treasury {
            self.violate("the restored treasury differs from the stored one".to_owned());
        }
        if !can_pay {
            self.reach.count("process without the key that can pay");
        }
        let number = self.next_worker;
        self.note(|| format!("process {number} starts"));
        self.workers.push(Worker {
            number,
            epoch,
            can_pay,
            is_careful,
            treasurer: Treasurer::new(treasury, policy),
            seen: self.journal.facts.len(),
            knows: Permission { is_allowed: self.book.is_allowed, frozen: self.book.frozen.clone() },
            planned: Permission::default(),
            queue: VecDeque::new(),
            waits: None,
            looked_up: BTreeSet::new(),
            has_list: false,
        });
    }

    pub(super) fn kill(&mut self, at: usize) {
        let worker = self.workers.remove(at);
        self.reach.count(worker.moment());
        self.note(|| format!("process {} is {}", worker.number, worker.moment()));
    }

    /// Does the next step of a process. Returns whether there was something to do.
    pub(super) fn advance(&mut self, at: usize) -> bool {
        match self.workers[at].waits.take() {
            None => match self.workers[at].queue.pop_front() {
                None => self.plan(at),
                Some(errand) => {
                    self.leave(at, errand);
                    true
                }
            },
            Some(Waits { errand, asked, reply: None }) => {
                let reply = self.receive(at, &errand);
                self.workers[at].waits = Some(Waits { errand, asked, reply: Some(reply) });
                true
            }
            Some(Waits { errand, asked, reply: Some(reply) }) => {
                self.hear(at, &errand, &reply, asked);
                true
            }
        }
    }

    fn plan(&mut self, at: usize) -> bool {
        self.catch_up(at);
        let clock = self.clock();
        let worker = &mut self.workers[at];
        worker.planned = worker.knows.clone();
        worker.queue = worker.treasurer.errands(clock).into();
        if worker.is_careful {
            worker.queue.truncate(1);
        }
        let has_work = !worker.queue.is_empty();
        if !has_work {
            self.check_pause(at, clock);
        }
        has_work
    }

    /// A process that has nothing to do sleeps until the right moment.
    fn check_pause(&mut self, at: usize, clock: UnixMs) {
        let treasurer = &self.workers[at].treasurer;
        let Some(wake) = treasurer.wake_at(clock) else {
            return self.violate("a process sleeps for ever".to_owned());
        };
        // A payee may wait until the list is read again: the sum of a day becomes smaller with time.
        let is_missed = |errand: &Errand| !matches!(errand, Errand::AskPayee { .. });
        let before = UnixMs(wake.0.saturating_sub(1));
        if wake <= clock {
            self.violate("a process without work does not sleep".to_owned());
        } else if treasurer.errands(before).iter().any(is_missed) {
            self.violate("a process sleeps too long".to_owned());
        }
    }

    /// Returns how long a process without work sleeps.
    pub(super) fn pause(&self, at: usize) -> Millis {
        let clock = self.clock();
        let wake = self.workers[at].treasurer.wake_at(clock).unwrap_or(clock);
        Millis(wake.0.saturating_sub(clock.0).max(1_000))
    }

    /// Reads the facts that other processes stored.
    fn catch_up(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let mut wrong = None;
        for (fact, stored) in &self.journal.facts[worker.seen..] {
            if let Err(why) = worker.treasurer.apply(fact, *stored) {
                wrong = Some(format!("a process can't read a stored fact: {why}"));
            }
            match fact {
                TreasuryFact::Payouts { allowed } => {
                    worker.knows.is_allowed = *allowed;
                }
                TreasuryFact::Frozen { payment } => {
                    worker.knows.frozen.insert(*payment);
                }
                TreasuryFact::Accepted { payment } => {
                    worker.knows.frozen.remove(payment);
                }
                TreasuryFact::Connected { .. }
                | TreasuryFact::Invoiced { .. }
                | TreasuryFact::Received { .. }
                | TreasuryFact::Earned { .. }
                | TreasuryFact::Wanted { .. }
                | TreasuryFact::Sending { .. }
                | TreasuryFact::Settled { .. }
                | TreasuryFact::Failed { .. } => {}
            }
        }
        worker.seen = self.journal.facts.len();
        if let Some(why) = wrong {
            self.violate(why);
        }
    }

    /// The question leaves. The wallet replies at once, except to a request to pay.
    fn leave(&mut self, at: usize, errand: Errand) {
        self.reach.count(names::errand(&errand));
        let number = self.workers[at].number;
        self.note(|| format!("process {number} asks {}", names::describe(&errand)));
        let reply = match &errand {
            Errand::List { since } => Some(self.wallet.list(*since, self.now, &mut self.chance, &mut self.reach)),
            Errand::LookUp { payment } => {
                Some(self.wallet.look_up(*payment, self.now, &mut self.chance, &mut self.reach))
            }
            Errand::AskPayee { money, .. } => {
                let Worker { planned, can_pay, .. } = &self.workers[at];
                if !planned.is_allowed || !planned.frozen.is_empty() || !can_pay {
                    self.violate("a payee is asked for an invoice that must not be paid".to_owned());
                }
                Some(self.ask_payee(*money))
            }
            Errand::Send { payment, invoice, attempt } => {
                self.check_request(at, *payment, *attempt, PaymentHash(invoice.hash));
                let payment = PaymentHash(invoice.hash);
                self.wallet.flights.push(Flight { payment, attempt: *attempt, left: self.now, worker: number });
                self.requests.insert((payment, *attempt));
                None
            }
        };
        let asked = self.clock();
        self.workers[at].waits = Some(Waits { errand, asked, reply });
    }

    /// Checks a request at the moment at which it leaves.
    fn check_request(&mut self, at: usize, payment: PaymentHash, attempt: u32, invoice: PaymentHash) {
        let worker = &mut self.workers[at];
        let out = self.book.outs.get(&payment);
        let stored = |found: &super::book::Out| found.sent >= attempt && attempt > 0;
        // A process that has lost its lease can't know what another one has found in the list since it decided.
        let has_lease = worker.epoch == self.journal.epoch;
        let is_frozen = !worker.planned.frozen.is_empty() || has_lease && !worker.knows.frozen.is_empty();
        let is_payee = out.is_some_and(|out| matches!(out.from, Payer::Payee(_)));
        let demands = [
            (out.is_some_and(stored), "a request leaves before its Sending is stored"),
            (worker.looked_up.remove(&payment), "a request leaves without a lookup before it in its process"),
            (worker.has_list, "a request leaves before the wallet's list is read"),
            (payment == invoice, "a request leaves with another invoice"),
            (!self.requests.contains(&(payment, attempt)), "a request leaves twice"),
            (!is_frozen, "a request leaves although payments are frozen"),
            (worker.can_pay, "a request leaves from a process without the key"),
            (!is_payee || worker.planned.is_allowed, "a request leaves for a payee although payouts are off"),
        ];
        let broken: Vec<_> = demands.iter().filter(|(holds, _)| !holds).map(|(_, what)| (*what).to_owned()).collect();
        self.violations.extend(broken);
    }

    /// The reply to a request to pay comes, or the process stops waiting.
    fn receive(&mut self, at: usize, errand: &Errand) -> WalletReply {
        let number = self.workers[at].number;
        let is_its = |flight: &Flight| match errand {
            Errand::Send { invoice, attempt, .. } => {
                flight.payment.0 == invoice.hash && (flight.attempt, flight.worker) == (*attempt, number)
            }
            Errand::List { .. } | Errand::LookUp { .. } | Errand::AskPayee { .. } => false,
        };
        let found = self.wallet.flights.iter().position(is_its);
        if self.faults && self.chance.one_in(5) {
            self.reach.count("request without a reply");
            return WalletReply::Unclear;
        }
        match found {
            Some(found) => {
                let flight = self.wallet.flights.swap_remove(found);
                self.wallet.arrive(flight, self.now, &mut self.chance, &mut self.reach)
            }
            // It arrived when nobody could take the reply.
            None => WalletReply::Unclear,
        }
    }

    /// The process hears a reply, perhaps lost or doubled, and stores what follows.
    fn hear(&mut self, at: usize, errand: &Errand, reply: &WalletReply, asked: UnixMs) {
        let lost = WalletReply::Unclear;
        let reply = if self.faults && self.chance.one_in(16) {
            self.reach.count("reply lost");
            &lost
        } else {
            reply
        };
        let times = if self.faults && self.chance.one_in(16) { 2 } else { 1 };
        if times > 1 {
            self.reach.count("reply doubled");
        }
        self.reach.count(names::reply(reply));
        if self.faults && self.chance.one_in(30) {
            self.correct_clock();
        }
        let number = self.workers[at].number;
        for _ in 0..times {
            let worker = &mut self.workers[at];
            match (errand, reply) {
                (Errand::LookUp { payment }, _) => {
                    worker.looked_up.insert(*payment);
                }
                (Errand::List { .. }, WalletReply::Listed(_)) => worker.has_list = true,
                (Errand::List { .. } | Errand::Send { .. } | Errand::AskPayee { .. }, _) => {}
            }
            let facts = worker.treasurer.hear(errand, reply, asked);
            let epoch = worker.epoch;
            self.note(|| format!("process {number} hears {}", names::reply(reply)));
            let broken = self.check_payout(errand, &facts, asked);
            match self.store(Some(epoch), &facts, &[]) {
                Ok(()) => {
                    self.violations.extend(broken);
                    self.catch_up(at);
                }
                Err(Refused::NotLeased) => {
                    self.reach.count("process ends without its lease");
                    self.workers.remove(at);
                    return;
                }
                Err(why @ (Refused::Treasury(_) | Refused::Session(_))) => {
                    // As the treasurer demands: what was refused is forgotten with everything that led to it.
                    self.reach.count("process begins again after a refusal");
                    self.workers.remove(at);
                    self.check_refusal(&why);
                    return;
                }
            }
            self.check_list(at, errand, reply);
        }
    }

    /// The facts of the process with the lease can be refused because of what a person stored in the meantime, and for no other
    /// reason.
    fn check_refusal(&mut self, why: &Refused) {
        let is_person = match why {
            Refused::NotLeased
            | Refused::Treasury(
                TreasuryError::NotUnderWay { .. }
                | TreasuryError::NotFrozen { .. }
                | TreasuryError::KnownPayment { .. }
                | TreasuryError::PaymentsStopped
                | TreasuryError::NotExpired { .. },
            ) => true,
            Refused::Treasury(
                TreasuryError::NotConnected
                | TreasuryError::OtherWallet { .. }
                | TreasuryError::EarnedBefore { .. }
                | TreasuryError::Overdrawn { .. }
                | TreasuryError::StillPaying { .. }
                | TreasuryError::WrongAttempt { .. }
                | TreasuryError::Nothing
                | TreasuryError::BeyondSupply,
            )
            | Refused::Session(_) => false,
        };
        if !is_person {
            self.violate(format!("the treasurer contradicts the stored facts: {why:?}"));
        }
    }

    /// The limits of the operator hold for every payment to a payee. Returns what is wrong if these facts are stored.
    fn check_payout(&self, errand: &Errand, facts: &[TreasuryFact], clock: UnixMs) -> Vec<String> {
        let mut broken = Vec::new();
        for fact in facts {
            let TreasuryFact::Wanted { from: Payer::Payee(payee), money, .. } = fact else { continue };
            let (owed, amount) = (self.book.owed(payee), i128::from(money.get()));
            let min = i128::from(self.policy.payout_min.get());
            let since = UnixMs(clock.0.saturating_sub(24 * 60 * 60 * 1000));
            let today = self.book.paid_since(since) + amount;
            let is_asked = matches!(errand, Errand::AskPayee { money: asked, .. } if asked == money);
            let demands = [
                (*money <= self.policy.payment_max, "a payee gets more than the largest payment"),
                (today <= i128::from(self.policy.daily_max.get()), "payees get more than the daily sum"),
                (owed >= min, "a payee is paid although it is owed too little"),
                (amount % 1000 == 0, "a payee is paid a part of a sat"),
                (is_asked, "a payee gets another amount than it was asked to demand"),
            ];
            broken.extend(demands.iter().filter(|(holds, _)| !holds).map(|(_, what)| (*what).to_owned()));
        }
        broken
    }

    /// Every payment of the list that the hall does not know has stopped payments.
    fn check_list(&mut self, at: usize, errand: &Errand, reply: &WalletReply) {
        let (Errand::List { since }, WalletReply::Listed(rows)) = (errand, reply) else { return };
        let is_unknown = |row: &&guildhall_kernel::Row| {
            let is_ours = row.is_outgoing && row.wallet == self.wallet.id && row.at >= *since;
            is_ours && row.status != guildhall_kernel::RowStatus::Failed && !self.book.knows(row.payment)
        };
        if rows.iter().any(|row| is_unknown(&row)) {
            let number = self.workers[at].number;
            self.violate(format!("an unknown payment does not freeze payments: process {number}"));
        }
    }

    /// A payee is asked for an invoice.
    fn ask_payee(&mut self, money: Msat) -> WalletReply {
        let route = self.chance.pick(&[Route::External, Route::Internal]);
        let valid = self.chance.pick(&[600, 3_600, 40]);
        let kind = if self.faults { self.chance.weighted(&[30, 1, 1, 1, 1, 1, 1, 2]) } else { 0 };
        let valid = match kind {
            4 => 0,
            5 => 90_000,
            _ => valid,
        };
        let mut invoice = self.wallet.bill(money, after(self.now, seconds(valid)), route);
        match kind {
            0 | 4 | 5 => {}
            1 => invoice.money = None,
            2 => invoice.money = Some(Msat::capped(u128::from(money.get()) + 1000)),
            3 => invoice.network = Network::Bitcoin,
            6 => {
                let used = self.book.outs.keys().next().copied();
                invoice.payment = used.unwrap_or(invoice.payment);
            }
            _ => return WalletReply::Unclear,
        }
        WalletReply::Invoice(invoice)
    }

    /// Returns whether a process has decided to send a request that has not left. The simulated machine does not sleep then.
    pub(super) fn has_request_to_send(&self) -> bool {
        self.workers.iter().any(|worker| worker.sends().next().is_some())
    }
}
