//! The simulated hall: people, payees, processes, the journal and the wallet, and everything that can happen next.

use std::collections::BTreeSet;

use guildhall_kernel::{
    FailedBecause, Invoice, Millis, Msat, Network, Path, PayeeName, Payer, PaymentHash, Policy, SessionFact, SessionId,
    TextKind, TreasuryFact, UnixMs,
};
use guildhall_laws::TreasuryChecker;

use super::book::Book;
use super::journal::{Backup, Journal, Refused};
use super::names;
use super::wallet::{Route, State, Then, Wallet, text};
use super::worker::Worker;
use crate::chance::Chance;
use crate::reach::Reach;
use crate::scenario;

/// When a schedule starts.
pub(super) const START: UnixMs = UnixMs(1_700_000_000_000);

/// The clock of the machine differs from the true time by at most this much.
const CLOCK_SECONDS_MAX: i64 = 20;

const SESSIONS: [&str; 3] = ["brave-otter", "calm-heron", "quick-badger"];
const PAYEES: [&str; 2] = ["ada", "ben"];

/// Facts that a person's process has decided on and not stored yet.
#[derive(Clone)]
struct Draft {
    facts: Vec<TreasuryFact>,
    own: Vec<(SessionId, SessionFact)>,
}

/// The complete state of one schedule.
pub(super) struct Hall {
    pub(super) chance: Chance,
    pub(super) reach: Reach,
    /// The true time.
    pub(super) now: UnixMs,
    clock_seconds: i64,
    pub(super) wallet: Wallet,
    pub(super) journal: Journal,
    pub(super) book: Book,
    laws: TreasuryChecker,
    pub(super) policy: Policy,
    pub(super) payees: Vec<PayeeName>,
    pub(super) workers: Vec<Worker>,
    pub(super) next_worker: u32,
    /// All requests to pay that left, with their numbers.
    pub(super) requests: BTreeSet<(PaymentHash, u32)>,
    drafts: Vec<Draft>,
    backup: Option<Backup>,
    /// Whether a backup is made from time to time when a payment is decided: the moment that matters most.
    pub(super) is_backed_up: bool,
    /// Whether replies get lost and processes are killed.
    pub(super) faults: bool,
    pub(super) violations: Vec<String>,
    pub(super) log: Option<Vec<String>>,
}

pub(super) fn sat(sat: u64) -> Msat {
    Msat::capped(u128::from(sat) * 1000)
}

pub(super) fn seconds(seconds: u64) -> Millis {
    Millis(seconds * 1000)
}

pub(super) fn after(now: UnixMs, span: Millis) -> UnixMs {
    now.after(span)
}

impl Hall {
    /// A hall with a wallet and some sessions with money.
    pub(super) fn new(mut chance: Chance, log: Option<Vec<String>>) -> Hall {
        let count = 1 + chance.below(3) as usize;
        let sessions = SESSIONS[..count].iter().map(|name| name.parse().expect("a valid id"));
        let payees = PAYEES.iter().map(|name| PayeeName::parse(name).expect("a valid name")).collect::<Vec<_>>();
        let lies = chance.pick(&[0, 3, 8, 2]);
        let daily_max = sat(u64::from(chance.pick(&[3_000_u32, 20_000])));
        let policy = Policy { daily_max, can_pay: true, payees: payees.clone(), ..Policy::default() };
        let mut hall = Hall {
            chance,
            reach: names::reach(),
            now: START,
            clock_seconds: 0,
            wallet: Wallet::new(lies),
            journal: Journal::new(sessions.collect()),
            book: Book::default(),
            laws: TreasuryChecker::new(),
            policy,
            payees,
            workers: Vec::new(),
            next_worker: 0,
            requests: BTreeSet::new(),
            drafts: Vec::new(),
            backup: None,
            is_backed_up: false,
            faults: true,
            violations: Vec::new(),
            log,
        };
        hall.open();
        hall
    }

    fn open(&mut self) {
        // A payment of the wallet's owner, long before the hall was connected: it must not freeze anything.
        self.wallet.pay_stranger(sat(7), UnixMs(START.0 - 86_400_000), State::Paid);
        let (wallet, network) = (self.wallet.id.clone(), Network::Regtest);
        let url = scenario::text(7, 20, TextKind::Task);
        let connected = TreasuryFact::Connected { wallet: wallet.clone(), network, url };
        let sessions: Vec<SessionId> = self.journal.accounts.iter().map(|account| account.id.clone()).collect();
        let opened = sessions.iter().map(|session| (session.clone(), SessionFact::Opened { wallet: wallet.clone() }));
        let opened: Vec<_> = opened.collect();
        self.store_or_violate(&[connected], &opened);
        for session in sessions {
            let money = sat(u64::from(self.chance.pick(&[5_000_u32, 700, 0])));
            if money > Msat::ZERO {
                let invoice = self.wallet.invoice(money, after(self.now, seconds(600)), self.now);
                self.wallet.pay_own(invoice.payment);
                let Invoice { payment, expires, text, .. } = invoice;
                let invoiced = TreasuryFact::Invoiced { payment, session, money, expires, invoice: text };
                self.store_or_violate(&[invoiced], &[]);
            }
        }
        if self.chance.one_in(2) {
            self.store_or_violate(&[TreasuryFact::Payouts { allowed: true }], &[]);
        }
    }

    /// Returns the time that the machine's clock shows.
    pub(super) fn clock(&self) -> UnixMs {
        UnixMs(self.now.0.saturating_add_signed(self.clock_seconds * 1000))
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let at = (self.now.0 - START.0) / 1000;
            log.push(format!("{at:>7} s  {}", line()));
        }
    }

    pub(super) fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    fn store_or_violate(&mut self, facts: &[TreasuryFact], own: &[(SessionId, SessionFact)]) {
        if let Err(why) = self.store(None, facts, own) {
            self.violate(format!("the journal refuses facts that fit: {why:?}"));
        }
    }

    /// Stores facts, and checks them against the truth.
    pub(super) fn store(
        &mut self,
        epoch: Option<u64>,
        facts: &[TreasuryFact],
        own: &[(SessionId, SessionFact)],
    ) -> Result<(), Refused> {
        let at = self.clock();
        let before = self.journal.facts.len();
        let sessions = self.journal.append(epoch, at, facts, own).inspect_err(|why| {
            self.reach.count(names::refused(why));
        })?;
        for (number, fact) in facts.iter().enumerate() {
            names::count_fact(&mut self.reach, fact);
            self.note(|| format!("    stored: {}", names::line(fact)));
            let wrong = self.book.take(fact, at, &self.wallet);
            self.violations.extend(wrong);
            let broken = self.laws.observe((before + number) as u64 + 1, at, fact);
            self.violations.extend(broken.iter().map(|broken| format!("laws: {broken}")));
        }
        for (session, fact) in &sessions {
            self.book.take_session(session, fact);
        }
        let decides = facts.iter().any(|fact| matches!(fact, TreasuryFact::Wanted { .. }));
        if self.is_backed_up && decides && self.chance.one_in(2) {
            self.backup = Some(self.journal.backup());
        }
        Ok(())
    }

    /// Compares all accounts with the truth.
    pub(super) fn check(&mut self) {
        let wrong = self.book.compare(&self.journal, &self.wallet);
        self.violations.extend(wrong);
    }

    /// A person decides something. It is stored at once, or later, when it may not fit any more.
    fn decide(&mut self, facts: Vec<TreasuryFact>, own: Vec<(SessionId, SessionFact)>) {
        let draft = Draft { facts, own };
        if self.chance.one_in(20) {
            self.reach.count("person asks twice at once");
            self.drafts.push(draft.clone());
        }
        if self.chance.one_in(6) {
            self.reach.count("person's facts stored later");
            self.drafts.push(draft);
        } else {
            self.store_draft(&draft);
        }
    }

    fn store_draft(&mut self, draft: &Draft) {
        // A refusal is counted when it happens, and changes nothing.
        if self.store(None, &draft.facts, &draft.own).is_err() {
            self.note(|| "    refused".to_owned());
        }
    }

    pub(super) fn store_late(&mut self) {
        if let Some(draft) = self.chance.take(&mut self.drafts) {
            self.store_draft(&draft);
        }
    }

    fn any_session(&mut self) -> usize {
        self.chance.below(u32::try_from(self.journal.accounts.len()).expect("few sessions")) as usize
    }

    /// A person asks for an invoice for a session.
    pub(super) fn fund(&mut self) {
        let session = self.any_session();
        let session = self.journal.accounts[session].id.clone();
        let money = sat(u64::from(self.chance.pick(&[500_u32, 1_000, 5_000])));
        let valid = u64::from(self.chance.pick(&[600_u32, 60, 3_600]));
        let mut invoice = self.wallet.invoice(money, after(self.now, seconds(valid)), self.now);
        if self.wallet.lies > 0 && self.chance.one_in(8) {
            invoice.money = self.chance.pick(&[None, Some(sat(1))]);
        }
        match self.journal.treasury.invoiced(&session, money, &invoice, self.clock()) {
            Ok(fact) => self.decide(vec![fact], Vec::new()),
            Err(why) => self.reach.count(names::invoice_error(&why)),
        }
    }

    /// Somebody pays an invoice that a person was shown: in time, late, or a second time.
    pub(super) fn pay_in(&mut self) {
        let shown: Vec<PaymentHash> = self.journal.treasury.invoices().map(|(payment, _)| payment).collect();
        if shown.is_empty() {
            return;
        }
        let payment = self.chance.pick(&shown);
        let is_late = self.wallet.own.get(&payment).is_some_and(|invoice| invoice.expires < self.now);
        let name = match (self.wallet.pay_own(payment), is_late) {
            (true, false) => "invoice paid in time",
            (true, true) => "invoice paid late",
            (false, _) => "invoice paid twice",
        };
        self.reach.count(name);
        self.note(|| format!("{name}: {:?}", payment.0));
    }

    /// A root works and ends, and a payee earns a fee of it.
    pub(super) fn earn(&mut self) {
        let at = self.any_session();
        let account = &self.journal.accounts[at];
        let (session, root, free) = (account.id.clone(), account.state.next_root(), account.state.free());
        let money = self.chance.pick(&[150_000_u32, 99_999, 1_000_000, 2_500_700, 100_000, 1]);
        let money = Msat::capped(u128::from(money)).min(free);
        if money == Msat::ZERO {
            return;
        }
        let payee = self.chance.below(u32::try_from(self.payees.len()).expect("few payees")) as usize;
        let payee = self.payees[payee].clone();
        let grant = Msat::capped(u128::from(money.get()) + 40_000).min(free);
        let spent = if self.chance.one_in(2) { money } else { grant };
        let prices = scenario::text(5, 9, TextKind::Prices);
        let requested = SessionFact::Requested { root: root.clone(), money: grant, prices };
        if self.store(None, &[], &[(session.clone(), requested)]).is_err() {
            return;
        }
        let contract: Path = root.hire(1);
        let ended = SessionFact::Ended { root, spent, reserved: Msat::ZERO, estimated: Msat::ZERO };
        let earned = TreasuryFact::Earned { payee, session: session.clone(), contract, money };
        // The report and its fee are stored together. A process that is killed before stores neither.
        self.decide(vec![earned], vec![(session, ended)]);
    }

    /// A person wants the money of a session back, with an invoice that is right or wrong.
    pub(super) fn refund(&mut self) {
        let at = self.any_session();
        let account = &self.journal.accounts[at];
        let (session, free) = (account.id.clone(), account.state.free());
        let route = self.chance.pick(&[Route::External, Route::Internal]);
        let most = guildhall_kernel::payable(free);
        let money = self.chance.pick(&[most, sat(100), sat(3)]);
        let valid = self.chance.pick(&[600_u32, 3_600, 40]);
        let kind = self.chance.weighted(&[24, 1, 1, 1, 1, 1, 1, 1, 1]);
        let valid = match kind {
            2 => 0,
            7 => 100_000,
            _ => valid,
        };
        let mut invoice = self.wallet.bill(money, after(self.now, seconds(valid.into())), route);
        match kind {
            0 | 2 | 7 => {}
            1 => invoice.money = Some(free),
            3 => invoice.network = Network::Bitcoin,
            4 => invoice.payment = self.journal.treasury.invoices().next().map_or(invoice.payment, |found| found.0),
            5 => invoice.payment = self.journal.treasury.payments().next().map_or(invoice.payment, |found| found.0),
            6 => invoice.money = None,
            _ => invoice.money = Some(Msat::capped(1_500)),
        }
        match self.journal.treasury.wanted(Payer::Session(session), free, &invoice, self.clock()) {
            Ok(fact) => self.decide(vec![fact], Vec::new()),
            Err(why) => self.reach.count(names::invoice_error(&why)),
        }
    }

    /// A person accepts the payments that this hall does not know, or allows or stops payments to payees.
    pub(super) fn allow(&mut self) {
        let most = if self.chance.one_in(2) { 1 } else { usize::MAX };
        let frozen = self.book.frozen.iter().take(most);
        let accepted: Vec<TreasuryFact> = frozen.map(|payment| TreasuryFact::Accepted { payment: *payment }).collect();
        if !accepted.is_empty() && self.chance.one_in(2) {
            self.decide(accepted, Vec::new());
            return;
        }
        let allowed = !self.chance.one_in(3);
        self.decide(vec![TreasuryFact::Payouts { allowed }], Vec::new());
    }

    /// A person who knows the truth ends a payment: `payments resolve`.
    pub(super) fn resolve(&mut self) {
        let open = self.book.outs.iter().filter(|(_, out)| out.end.is_none());
        let open: Vec<(PaymentHash, u32)> = open.map(|(payment, out)| (*payment, out.sent)).collect();
        if open.is_empty() {
            return;
        }
        let (payment, sent) = self.chance.pick(&open);
        let Some(bill) = self.wallet.bills.get(&payment) else { return };
        let is_queued = self.workers.iter().any(|worker| worker.sends().any(|queued| queued == payment));
        let fact = if bill.state == State::Paid {
            TreasuryFact::Settled { payment, fee: bill.fee, preimage: bill.preimage }
        } else if !self.wallet.can_pay(payment) && !is_queued && (sent == 0 || self.now > bill.turns_until()) {
            TreasuryFact::Failed { payment, why: FailedBecause::Person }
        } else {
            return;
        };
        self.reach.count("person resolves a payment");
        // The process that has the lease stores it, or another one takes the lease.
        let epoch = if self.chance.one_in(2) { self.journal.epoch } else { self.journal.lease() };
        if self.store(Some(epoch), &[fact], &[]).is_err() {
            self.violate("the journal refuses what a person says about a payment".to_owned());
        }
    }

    /// A backup is made, or takes the place of the journal. All processes end before.
    pub(super) fn backup(&mut self) {
        let Some(backup) = self.backup.take() else {
            self.backup = Some(self.journal.backup());
            return;
        };
        self.reach.count("journal replaced by a backup");
        self.note(|| "an old backup takes the place of the journal".to_owned());
        self.workers.clear();
        self.drafts.clear();
        self.requests.clear();
        self.journal.replace(&backup);
        let treasury = &self.journal.treasury;
        self.wallet.settle_down(self.now, |payment| treasury.knows(payment));
        (self.book, self.laws) = (Book::default(), TreasuryChecker::new());
        for (number, (fact, at)) in self.journal.facts.iter().enumerate() {
            let wrong = self.book.take(fact, *at, &self.wallet);
            self.violations.extend(wrong);
            self.laws.observe(number as u64 + 1, *at, fact);
        }
        for account in &self.journal.accounts {
            for fact in &account.facts {
                self.book.take_session(&account.id, fact);
            }
        }
    }

    /// Somebody else pays with the same wallet.
    pub(super) fn share(&mut self) {
        self.reach.count("wallet shared");
        let state = self.chance.pick(&[State::Paid, State::Pending(None, Then::Pays), State::Failed(None)]);
        let payment = self.wallet.pay_stranger(sat(11), self.now, state);
        self.note(|| format!("somebody else pays with the wallet: {:?}", text(payment).hash));
    }

    /// A request of a process that does not wait for it any more arrives.
    pub(super) fn land(&mut self) {
        let waits = |number: u32| self.workers.iter().any(|worker| worker.number == number && worker.waits.is_some());
        let at = self.wallet.flights.iter().position(|flight| !waits(flight.worker));
        if let Some(at) = at {
            let flight = self.wallet.flights.swap_remove(at);
            self.reach.count("late request arrives");
            self.note(|| format!("a late request arrives: {:?}", flight.payment.0));
            // Nobody waits for the reply.
            self.wallet.arrive(flight, self.now, &mut self.chance, &mut self.reach);
        }
    }

    /// The machine's clock is corrected by some seconds.
    pub(super) fn correct_clock(&mut self) {
        let seconds = i64::from(self.chance.pick(&[0_i32, -3, 5, -20, 20]));
        if seconds < self.clock_seconds {
            self.reach.count("clock goes back");
        }
        self.clock_seconds = seconds.clamp(-CLOCK_SECONDS_MAX, CLOCK_SECONDS_MAX);
    }

    pub(super) fn pass_time(&mut self, span: Millis) {
        self.now = self.now.after(span);
        self.wallet.pass_time(self.now, &mut self.chance, &mut self.reach);
    }
}
