//! Checks the session's account against its contracts' facts: no more money is given out than was put in, a root ends
//! with the amounts of its report, only reserved money is given back, and the money of a wallet comes from payments and
//! leaves by payments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use guildhall_kernel::{AskKey, Msat, Path, PaymentHash, SessionFact};

use crate::checker::Checker;
use crate::contract::{Kind, Phase, State};
use crate::parts::Parts;
use crate::purse::wide;
use crate::violation::Law;

/// A law that a session's account breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law}, account fact {seq}: {what}")]
pub struct AccountViolation {
    /// The law.
    pub law: Law,
    /// The number of the account's fact, counted from 1; the last fact for a violation that is found only at the end.
    pub seq: usize,
    /// What was wrong.
    pub what: String,
}

/// The sums of a session's account, in millisatoshis. Signed, because a broken account may be overdrawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSums {
    /// All money that was added, top-ups included.
    pub funded: i128,
    /// The money that corrections have given back.
    pub credited: i128,
    /// The money granted to the roots that have not ended.
    pub at_work: i128,
    /// The money spent by the roots that have ended, before corrections.
    pub spent: i128,
    /// The part of `spent` that may not have been billed, before corrections.
    pub reserved: i128,
    /// The part of `spent` that is an upper bound.
    pub estimated: i128,
    /// The money that was set aside for a payment that has not ended.
    pub set_aside: i128,
    /// The money that payments took out of the session, with their routing fees, or play money that a person took out.
    pub withdrawn: i128,
}

impl SessionSums {
    /// Returns the money that is not in use: `funded + credited = free + at_work + spent + set_aside + withdrawn`.
    pub fn free(&self) -> i128 {
        self.funded + self.credited - self.at_work - self.spent - self.set_aside - self.withdrawn
    }
}

impl Checker {
    /// Checks a session's account against the observed facts of its contracts, and adds the account up. Both must be
    /// read at the same time: otherwise a root that closes in between is in only one of them.
    ///
    /// ```
    /// use guildhall_kernel::{Hash, Msat, Path, SessionFact, TextKind, TextRef};
    /// use guildhall_laws::Checker;
    ///
    /// let prices = TextRef { hash: Hash([0; 32]), bytes: 0, kind: TextKind::Prices };
    /// let sat = |sat| Msat::from_sat(sat).unwrap();
    /// let account = [
    ///     SessionFact::Funded { money: sat(100), root: None, payment: None },
    ///     SessionFact::Requested { root: Path::root(1), money: sat(101), prices },
    /// ];
    /// let (sums, broken) = Checker::new().check_account(&account);
    /// assert_eq!(sums.free(), -1000);
    /// assert_eq!(broken[0].what, "the account is overdrawn by 1000 msat");
    /// assert!(broken[0].to_string().starts_with("law 3 (hires), account fact 2: "));
    /// ```
    pub fn check_account(&self, facts: &[SessionFact]) -> (SessionSums, Vec<AccountViolation>) {
        let mut account = Account::new(self, MoneyKind::of(facts));
        for fact in facts {
            account.seq += 1;
            account.fold(fact);
        }
        account.check_roots();
        (account.sums, account.found)
    }
}

/// The kind of money in a session. It is the same for the whole life of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoneyKind {
    Play,
    Wallet,
}

impl MoneyKind {
    /// Returns the kind of money: a session is of a wallet if and only if its first fact says so.
    pub(crate) fn of(facts: &[SessionFact]) -> MoneyKind {
        match facts.first() {
            Some(SessionFact::Opened { .. }) => MoneyKind::Wallet,
            Some(
                SessionFact::Funded { .. }
                | SessionFact::Granted { .. }
                | SessionFact::Withdrawing { .. }
                | SessionFact::Withdrawn { .. }
                | SessionFact::Returned { .. }
                | SessionFact::Requested { .. }
                | SessionFact::Corrected { .. }
                | SessionFact::Ended { .. },
            )
            | None => MoneyKind::Play,
        }
    }
}

/// The state of an account after the facts so far.
struct Account<'a> {
    contracts: &'a Checker,
    kind: MoneyKind,
    sums: SessionSums,
    /// The roots in order: the first is number 1.
    roots: Vec<Root>,
    /// The credit of each corrected ask.
    credits: BTreeMap<AskKey, Msat>,
    /// Every payment that the account names, into the session or out of it.
    payments: BTreeSet<PaymentHash>,
    /// The money set aside for each payment that has not ended. There is at most one, unless the account is broken.
    set_aside: BTreeMap<PaymentHash, i128>,
    seq: usize,
    found: Vec<AccountViolation>,
}

/// A root in the account.
struct Root {
    /// Its grant and its top-ups.
    granted: i128,
    has_ended: bool,
}

impl<'a> Account<'a> {
    fn new(contracts: &'a Checker, kind: MoneyKind) -> Account<'a> {
        Account {
            contracts,
            kind,
            sums: SessionSums::default(),
            roots: Vec::new(),
            credits: BTreeMap::new(),
            payments: BTreeSet::new(),
            set_aside: BTreeMap::new(),
            seq: 0,
            found: Vec::new(),
        }
    }

    fn fold(&mut self, fact: &SessionFact) {
        let before = self.sums.free();
        match fact {
            SessionFact::Opened { .. } => {
                let first = self.seq == 1;
                self.demand(first, Law::Replay, format_args!("the session is opened, but has facts already"));
            }
            SessionFact::Funded { money, root, payment } => self.funded(wide(*money), root.as_ref(), *payment),
            SessionFact::Granted { root, money } => self.top_up(root, wide(*money)),
            SessionFact::Withdrawing { payment, money } => self.withdrawing(*payment, wide(*money)),
            SessionFact::Withdrawn { payment, spent } => self.withdrawn(*payment, wide(*spent)),
            SessionFact::Returned { money } => self.returned(wide(*money)),
            SessionFact::Requested { root, money, .. } => self.requested(root, wide(*money)),
            SessionFact::Corrected { ask, credit } => self.corrected(ask, *credit),
            SessionFact::Ended { root, spent, reserved, estimated } => {
                self.ended(root, *spent, (*reserved, *estimated));
            }
        }
        // Report an overdrawn account once, not with each later fact.
        let (free, lacks) = (self.sums.free(), -self.sums.free());
        let overdrawn = free < 0 && before >= 0;
        self.demand(!overdrawn, Law::Hires, format_args!("the account is overdrawn by {lacks} msat"));
    }

    fn funded(&mut self, money: i128, root: Option<&Path>, payment: Option<PaymentHash>) {
        match (self.kind, payment) {
            (MoneyKind::Play, None) => {}
            (MoneyKind::Play, Some(payment)) => {
                self.broken(Law::Hires, format_args!("payment {payment} funds a session that has play money"));
            }
            (MoneyKind::Wallet, None) => {
                self.broken(Law::Hires, format_args!("the money of a wallet was added without a payment"));
            }
            (MoneyKind::Wallet, Some(payment)) => {
                let direct = root.is_none();
                self.demand(
                    direct,
                    Law::Hires,
                    format_args!("payment {payment} does not go to the session, but to a root"),
                );
                if !self.payments.insert(payment) {
                    return self.broken(Law::Hires, format_args!("payment {payment} is in the account already"));
                }
            }
        }
        self.sums.funded += money;
        if let Some(path) = root {
            self.top_up(path, money);
        }
    }

    /// Moves money from the session to a root at work.
    fn top_up(&mut self, path: &Path, money: i128) {
        match self.at_work(path) {
            Some(root) => {
                root.granted += money;
                self.sums.at_work += money;
            }
            None => self.broken(Law::Hires, format_args!("a top-up is for {path}, which is not a root at work")),
        }
    }

    fn withdrawing(&mut self, payment: PaymentHash, money: i128) {
        let of_wallet = self.kind == MoneyKind::Wallet;
        self.demand(of_wallet, Law::Hires, format_args!("payment {payment} is for play money"));
        if let Some(other) = self.set_aside.keys().next().copied() {
            self.broken(Law::Hires, format_args!("payment {payment} begins, but payment {other} has not ended"));
        }
        if !self.payments.insert(payment) {
            return self.broken(Law::Hires, format_args!("payment {payment} is in the account already"));
        }
        self.set_aside.insert(payment, money);
        self.sums.set_aside += money;
    }

    fn withdrawn(&mut self, payment: PaymentHash, spent: i128) {
        let Some(money) = self.set_aside.remove(&payment) else {
            return self.broken(Law::Hires, format_args!("payment {payment} ends, but no money is set aside for it"));
        };
        self.demand(
            spent <= money,
            Law::Hires,
            format_args!("payment {payment} took {spent} msat, but {money} were set aside"),
        );
        self.sums.set_aside -= money;
        self.sums.withdrawn += spent;
    }

    fn returned(&mut self, money: i128) {
        let of_play = self.kind == MoneyKind::Play;
        self.demand(of_play, Law::Hires, format_args!("{money} msat of a wallet left the session without a payment"));
        self.sums.withdrawn += money;
    }

    fn requested(&mut self, path: &Path, money: i128) {
        let due = self.roots.len() + 1;
        let next = path.level() == 0 && usize::try_from(path.ordinal()) == Ok(due);
        self.demand(next, Law::Replay, format_args!("root {path} is requested, but root {due} is next"));
        self.roots.push(Root { granted: money, has_ended: false });
        self.sums.at_work += money;
        let tree = &self.contracts.tree;
        if let Some(at) = tree.find(path) {
            let opened = wide(tree.contracts[at].brief.grant.money);
            let same = opened == money;
            self.demand(
                same,
                Law::Hires,
                format_args!("root {path} was opened with {opened} msat, but granted {money}"),
            );
        }
    }

    fn ended(&mut self, path: &Path, spent: Msat, (reserved, estimated): (Msat, Msat)) {
        let Some(root) = self.at_work(path) else {
            return self.broken(Law::Hires, format_args!("{path} ends, but is not a root at work"));
        };
        root.has_ended = true;
        let granted = root.granted;
        let used = wide(spent);
        self.demand(
            used <= granted,
            Law::Hires,
            format_args!("root {path} spent {used} msat, but was granted {granted}"),
        );
        self.sums.at_work -= granted;
        self.sums.spent += used;
        self.sums.reserved += wide(reserved);
        self.sums.estimated += wide(estimated);
        let tree = &self.contracts.tree;
        let phase = tree.find(path).map(|at| &tree.contracts[at].phase);
        let Some(Phase::Closed(report)) = phase else {
            return self.broken(Law::Hires, format_args!("root {path} has ended in the account, but has not closed"));
        };
        let figures = [
            ("spent", spent, report.spent),
            ("reserved", reserved, report.reserved),
            ("estimated", estimated, report.estimated),
        ];
        for (name, booked, reported) in figures {
            let (same, booked, reported) = (booked == reported, booked.get(), reported.get());
            self.demand(
                same,
                Law::Hires,
                format_args!("root {path} reported {reported} msat {name}, but the account has {booked} msat"),
            );
        }
    }

    fn corrected(&mut self, ask: &AskKey, credit: Msat) {
        if let Some(before) = self.credits.get(ask).copied() {
            // The same correction twice counts once.
            let same = before == credit;
            let (credit, before) = (credit.get(), before.get());
            return self.demand(
                same,
                Law::Hires,
                format_args!("{ask} is corrected by {credit} msat, but was corrected by {before} before"),
            );
        }
        self.credits.insert(ask.clone(), credit);
        self.sums.credited += wide(credit);
        let Some(Parts { used, estimated, reserved }) = self.charged(ask) else {
            return self.broken(Law::Hires, format_args!("{ask} is corrected, but is not an answered call"));
        };
        let open = used == 0 && estimated == 0;
        self.demand(open, Law::Hires, format_args!("{ask} is corrected, but its cost is known or estimated"));
        let credit = wide(credit);
        let within = !open || credit <= reserved;
        self.demand(
            within,
            Law::Hires,
            format_args!("{ask} is corrected by {credit} msat, but only {reserved} are reserved"),
        );
    }

    /// Returns the charge for an answered model call, tool call or check.
    fn charged(&self, ask: &AskKey) -> Option<Parts> {
        let tree = &self.contracts.tree;
        let asked = tree.contracts[tree.find(&ask.contract)?].ask(ask.ask)?;
        match (&asked.kind, asked.state) {
            (Kind::Model { .. } | Kind::Tool | Kind::Check(_), State::Settled { paid, .. }) => Some(paid),
            (Kind::Model { .. } | Kind::Tool | Kind::Check(_), State::Open { .. })
            | (Kind::Hire(_) | Kind::Question { .. } | Kind::Draw { .. } | Kind::Tell { .. }, _) => None,
        }
    }

    /// Checks that each root with facts was requested, has heard no more money than the account gave it, and has ended if
    /// it has closed.
    fn check_roots(&mut self) {
        for contract in self.contracts.roots() {
            let (path, has) = (contract.path(), contract.money.granted);
            let Some(&mut Root { granted: given, has_ended }) = self.root(path) else {
                self.broken(Law::Hires, format_args!("root {path} has facts, but was never requested"));
                continue;
            };
            self.demand(has <= given, Law::Hires, format_args!("root {path} has {has} msat, but was given {given}"));
            let ended = has_ended || !contract.is_closed();
            self.demand(ended, Law::Hires, format_args!("root {path} has closed, but has not ended in the account"));
        }
    }

    fn root(&mut self, path: &Path) -> Option<&mut Root> {
        let nth = usize::try_from(path.ordinal()).ok()?.checked_sub(1)?;
        if path.level() == 0 { self.roots.get_mut(nth) } else { None }
    }

    fn at_work(&mut self, path: &Path) -> Option<&mut Root> {
        self.root(path).filter(|root| !root.has_ended)
    }

    fn demand(&mut self, holds: bool, law: Law, what: fmt::Arguments<'_>) {
        if !holds {
            self.broken(law, what);
        }
    }

    fn broken(&mut self, law: Law, what: fmt::Arguments<'_>) {
        self.found.push(AccountViolation { law, seq: self.seq, what: what.to_string() });
    }
}
