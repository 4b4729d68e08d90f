//! Checks the treasury's facts alone: one wallet, each payment hash used once, no payee paid more than it earned, and no
//! payment ended without proof. `treasury/sessions.rs` compares the treasury with the sessions.

mod sessions;
mod sums;
mod violation;

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{
    FailedBecause, Msat, Network, Path, PayeeName, Payer, PaymentHash, Preimage, SessionId, TreasuryFact, UnixMs,
    WalletId,
};
use sha2::{Digest, Sha256};

use crate::account::SessionSums;
use crate::purse::{Account, wide};

pub use self::sums::{PayeeSums, TreasurySums};
use self::violation::Found;
pub use self::violation::{MoneyPlace, TreasuryNote, TreasuryViolation};

/// Clocks are corrected now and then. A longer way back is worth a note.
const WAY_BACK_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Checks the treasury of one hall: first its facts, all of them and in order, then each session, then the end.
///
/// The treasury and the sessions must be read at the same moment, for example in one transaction. Otherwise a payment that
/// is stored in between is in only one of them.
///
/// ```
/// use guildhall_kernel::{Hash, Network, PaymentHash, SessionFact, TextKind, TextRef, TreasuryFact, UnixMs, WalletId};
/// use guildhall_laws::{Checker, TreasuryChecker};
///
/// let wallet = WalletId::parse("w-1").unwrap();
/// let url = TextRef { hash: Hash([0; 32]), bytes: 0, kind: TextKind::Task };
/// let payment = PaymentHash(Hash([7; 32]));
/// let mut treasury = TreasuryChecker::new();
///
/// // The facts of the treasury.
/// let connected = TreasuryFact::Connected { wallet: wallet.clone(), network: Network::Regtest, url };
/// assert_eq!(treasury.observe(1, UnixMs(0), &connected), []);
/// let broken = treasury.observe(2, UnixMs(0), &TreasuryFact::Received { payment });
/// assert!(broken[0].to_string().starts_with("treasury fact 2: payment 0707"));
///
/// // Each session, with the checker that has seen its contracts' facts.
/// let account = [SessionFact::Opened { wallet }];
/// assert_eq!(treasury.check_session(&"brave-otter".parse().unwrap(), &Checker::new(), &account), []);
///
/// // The end: every session that the treasury names was checked, and the sums are equal.
/// assert_eq!(treasury.at_end(), []);
/// assert_eq!(treasury.sums().received, 0);
/// ```
#[derive(Default)]
pub struct TreasuryChecker {
    /// The number of the newest fact.
    n: u64,
    at: UnixMs,
    wallet: Option<(WalletId, Network)>,
    payouts: Payouts,
    /// The unknown payments of the wallet that no person has accepted.
    frozen: BTreeSet<PaymentHash>,
    payments: BTreeMap<PaymentHash, Payment>,
    /// The number of payments of each payer that have not ended.
    under_way: BTreeMap<Payer, u32>,
    /// The money of each payee: earned = owed + held + paid.
    payees: BTreeMap<PayeeName, Account>,
    /// What the treasury says about each session.
    sessions: BTreeMap<SessionId, Named>,
    /// The sums of the sessions of the wallet that were checked.
    checked: SessionSums,
    /// The money that the contracts of the checked sessions of the wallet spent, whether their roots have ended or not.
    spent_by_contracts: i128,
    notes: Vec<TreasuryNote>,
}

/// Whether payees may be paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Payouts {
    /// A person has not allowed payments, or has stopped them.
    #[default]
    Off,
    On,
}

/// A payment hash that the treasury knows.
enum Payment {
    Incoming(Incoming),
    Outgoing(Outgoing),
    Unknown,
}

/// An invoice of a session.
struct Incoming {
    session: SessionId,
    money: i128,
    /// The fact that says that the wallet has the money.
    received: Option<u64>,
}

/// A payment out of the wallet.
struct Outgoing {
    /// The number of its `Wanted`.
    n: u64,
    from: Payer,
    money: i128,
    fee_max: i128,
    expires: UnixMs,
    /// How many requests were about to leave.
    sent: u32,
    end: Option<End>,
}

impl Outgoing {
    /// Returns the money that its payer sets aside.
    fn hold(&self) -> i128 {
        self.money + self.fee_max
    }
}

/// How a payment ended.
#[derive(Clone, Copy)]
struct End {
    /// The number of the fact.
    n: u64,
    /// The part that the payer pays. The house pays the fee above the limit.
    cost: i128,
    /// The money that left the wallet.
    left: i128,
}

/// What the treasury says about one session.
#[derive(Default)]
struct Named {
    /// The first fact that names the session.
    n: u64,
    /// Its payments, in both directions.
    payments: Vec<PaymentHash>,
    earned: BTreeMap<Path, Earned>,
    is_checked: bool,
}

/// The fee of one contract.
struct Earned {
    n: u64,
    payee: PayeeName,
    money: i128,
}

impl TreasuryChecker {
    /// Begins with an empty treasury.
    pub fn new() -> TreasuryChecker {
        TreasuryChecker::default()
    }

    /// Takes the treasury's fact number `n`, stored at this time, and returns every rule that it breaks.
    pub fn observe(&mut self, n: u64, at: UnixMs, fact: &TreasuryFact) -> Vec<TreasuryViolation> {
        let mut found = Found::at(n);
        let due = self.n.saturating_add(1);
        found.demand(n == due, format_args!("the next fact must have number {due}"));
        self.n = n;
        self.check_time(at);
        let connected = self.wallet.is_some() || matches!(fact, TreasuryFact::Connected { .. });
        found.demand(connected, format_args!("no wallet was connected before this fact"));
        self.fold(fact, &mut found);
        found.into_list()
    }

    /// Returns what is unusual in the facts, but breaks no rule.
    pub fn notes(&self) -> &[TreasuryNote] {
        &self.notes
    }

    fn check_time(&mut self, at: UnixMs) {
        let back = self.at.0.saturating_sub(at.0);
        if back > WAY_BACK_MS_MAX {
            self.note(format!("the clock went back by {back} ms"));
        }
        self.at = at;
    }

    fn note(&mut self, what: String) {
        self.notes.push(TreasuryNote { n: self.n, what });
    }

    fn fold(&mut self, fact: &TreasuryFact, found: &mut Found) {
        match fact {
            TreasuryFact::Connected { wallet, network, url: _ } => self.connected(wallet, *network, found),
            TreasuryFact::Payouts { allowed } => {
                self.payouts = if *allowed { Payouts::On } else { Payouts::Off };
            }
            TreasuryFact::Invoiced { payment, session, money, expires: _, invoice: _ } => {
                let incoming = Incoming { session: session.clone(), money: positive(*money, found), received: None };
                self.named(session).payments.push(*payment);
                self.introduce(*payment, Payment::Incoming(incoming), found);
            }
            TreasuryFact::Received { payment } => self.received(*payment, found),
            TreasuryFact::Earned { payee, session, contract, money } => {
                let earned = Earned { n: self.n, payee: payee.clone(), money: positive(*money, found) };
                self.earned(session, contract, earned, found);
            }
            TreasuryFact::Wanted { payment, from, money, fee_max, expires, invoice: _ } => {
                let (money, fee_max) = (positive(*money, found), wide(*fee_max));
                let (n, from, expires) = (self.n, from.clone(), *expires);
                self.wanted(*payment, Outgoing { n, from, money, fee_max, expires, sent: 0, end: None }, found);
            }
            TreasuryFact::Sending { payment, attempt } => self.sending(*payment, *attempt, found),
            TreasuryFact::Settled { payment, fee, preimage } => self.settled(*payment, *fee, *preimage, found),
            TreasuryFact::Failed { payment, why } => self.failed(*payment, *why, found),
            TreasuryFact::Frozen { payment } => {
                self.frozen.insert(*payment);
                self.introduce(*payment, Payment::Unknown, found);
            }
            TreasuryFact::Accepted { payment } => {
                let was_frozen = self.frozen.remove(payment);
                found.demand(was_frozen, format_args!("payment {payment} is accepted, but nothing was stopped by it"));
            }
        }
    }

    fn connected(&mut self, wallet: &WalletId, network: Network, found: &mut Found) {
        if let Some((before, on)) = &self.wallet {
            found.demand(
                before == wallet,
                format_args!("wallet {wallet} is connected, but the hall has wallet {before}"),
            );
            found.demand(*on == network, format_args!("the wallet is on {network:?}, but it was on {on:?}"));
        } else {
            self.wallet = Some((wallet.clone(), network));
        }
    }

    /// Adds a payment. A payment hash that is known already keeps its first meaning. Returns whether the hash is new.
    fn introduce(&mut self, payment: PaymentHash, meaning: Payment, found: &mut Found) -> bool {
        let is_new = !self.payments.contains_key(&payment);
        found.demand(is_new, format_args!("payment {payment} is known already"));
        if is_new {
            self.payments.insert(payment, meaning);
        }
        is_new
    }

    fn named(&mut self, session: &SessionId) -> &mut Named {
        let n = self.n;
        self.sessions.entry(session.clone()).or_insert_with(|| Named { n, ..Named::default() })
    }

    fn received(&mut self, payment: PaymentHash, found: &mut Found) {
        let n = self.n;
        match self.payments.get_mut(&payment) {
            Some(Payment::Incoming(incoming)) => {
                let first = incoming.received.is_none();
                found.demand(first, format_args!("payment {payment} was received already"));
                incoming.received.get_or_insert(n);
            }
            Some(Payment::Outgoing(_) | Payment::Unknown) | None => {
                found.broken(format_args!("payment {payment} was received, but there is no invoice for it"));
            }
        }
    }

    fn earned(&mut self, session: &SessionId, contract: &Path, earned: Earned, found: &mut Found) {
        let named = self.named(session);
        if let Some(before) = named.earned.get(contract) {
            let n = before.n;
            return found
                .broken(format_args!("the fee of contract {contract} of {session} was earned by fact {n} already"));
        }
        let (payee, money) = (earned.payee.clone(), earned.money);
        named.earned.insert(contract.clone(), earned);
        self.payees.entry(payee).or_default().grow(money);
    }

    fn wanted(&mut self, payment: PaymentHash, wanted: Outgoing, found: &mut Found) {
        let (from, hold) = (wanted.from.clone(), wanted.hold());
        let open = self.under_way.get(&from).copied().unwrap_or_default();
        found.demand(open == 0, format_args!("{from} pays again, but its payment before has not ended"));
        if let Payer::Session(session) = &from {
            self.named(session).payments.push(payment);
        }
        if !self.introduce(payment, Payment::Outgoing(wanted), found) {
            return;
        }
        *self.under_way.entry(from.clone()).or_default() += 1;
        if let Payer::Payee(payee) = from {
            let account = self.payees.entry(payee.clone()).or_default();
            account.hold(hold);
            let lacks = -account.available;
            found.demand(lacks <= 0, format_args!("payee {payee} is paid {lacks} msat more than it is owed"));
        }
    }

    fn sending(&mut self, payment: PaymentHash, attempt: u32, found: &mut Found) {
        let (payouts, is_frozen) = (self.payouts, !self.frozen.is_empty());
        let Some(open) = self.open(payment, found) else { return };
        let due = open.sent.saturating_add(1);
        open.sent = due;
        found.demand(
            attempt == due,
            format_args!("request {attempt} for payment {payment} leaves, but request {due} is next"),
        );
        // A request that is repeated after payments were stopped only finds out what became of the first request.
        let is_first = due == 1;
        let may_pay = match open.from {
            Payer::Session(_) => true,
            Payer::Payee(_) => payouts == Payouts::On,
        };
        found.demand(
            !is_first || may_pay,
            format_args!("payment {payment} leaves for a payee, but payees are not paid now"),
        );
        found.demand(
            !is_first || !is_frozen,
            format_args!("payment {payment} leaves, but a payment that this hall does not know was not accepted"),
        );
    }

    fn settled(&mut self, payment: PaymentHash, fee: Msat, preimage: Preimage, found: &mut Found) {
        let hash: [u8; 32] = Sha256::digest(preimage.0.0).into();
        found.demand(hash == payment.0.0, format_args!("the preimage does not prove payment {payment}"));
        let n = self.n;
        let Some(open) = self.open(payment, found) else { return };
        let fee = wide(fee);
        let (cost, left) = (open.money + fee.min(open.fee_max), open.money + fee);
        let never_sent = open.sent == 0;
        self.end(payment, End { n, cost, left });
        if never_sent {
            self.note(format!("payment {payment} was made, but no request was recorded before"));
        }
    }

    fn failed(&mut self, payment: PaymentHash, why: FailedBecause, found: &mut Found) {
        let (n, at) = (self.n, self.at);
        let Some(open) = self.open(payment, found) else { return };
        let (sent, expires) = (open.sent, open.expires);
        match why {
            FailedBecause::Refused => {
                found.demand(
                    sent == 1,
                    format_args!("payment {payment} failed because it was refused, but {sent} requests have left"),
                );
            }
            FailedBecause::Expired => {
                found.demand(
                    at >= expires,
                    format_args!("payment {payment} failed as expired at {at}, before {expires}"),
                );
            }
            FailedBecause::Person => {}
        }
        self.end(payment, End { n, cost: 0, left: 0 });
    }

    /// Finds a payment out of the wallet that has not ended.
    fn open(&mut self, payment: PaymentHash, found: &mut Found) -> Option<&mut Outgoing> {
        match self.payments.get_mut(&payment) {
            Some(Payment::Outgoing(outgoing)) => {
                if let Some(end) = outgoing.end {
                    found.broken(format_args!("payment {payment} ended with fact {} already", end.n));
                    return None;
                }
                Some(outgoing)
            }
            Some(Payment::Incoming(_) | Payment::Unknown) | None => {
                found.broken(format_args!("payment {payment} was never wanted"));
                None
            }
        }
    }

    fn end(&mut self, payment: PaymentHash, end: End) {
        let Some(Payment::Outgoing(outgoing)) = self.payments.get_mut(&payment) else { return };
        outgoing.end = Some(end);
        if let Some(open) = self.under_way.get_mut(&outgoing.from) {
            *open -= 1;
        }
        if let Payer::Payee(payee) = &outgoing.from
            && let Some(account) = self.payees.get_mut(payee)
        {
            account.settle(outgoing.hold(), end.cost);
        }
    }
}

fn positive(money: Msat, found: &mut Found) -> i128 {
    found.demand(money > Msat::ZERO, format_args!("the amount is zero"));
    wide(money)
}
