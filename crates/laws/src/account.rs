//! Checks the session's account against its contracts' facts: the roots are granted no more than was funded, a root
//! ends with the amounts of its report, and only reserved money is given back.

use std::collections::BTreeMap;
use std::fmt;

use guildhall_kernel::{AskKey, Msat, Path, SessionFact};

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
}

impl SessionSums {
    /// Returns the money that no root has been granted: `funded + credited = free + at_work + spent`.
    pub fn free(&self) -> i128 {
        self.funded + self.credited - self.at_work - self.spent
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
    /// let (sums, broken) = Checker::new().check_account(&[
    ///     SessionFact::Funded { money: sat(100), root: None, payment: None },
    ///     SessionFact::Requested { root: Path::root(1), money: sat(101), prices },
    /// ]);
    /// assert_eq!(sums.free(), -1000);
    /// assert_eq!(broken[0].what, "the roots are granted 1000 msat more than was funded");
    /// assert!(broken[0].to_string().starts_with("law 3 (hires), account fact 2: "));
    /// ```
    pub fn check_account(&self, facts: &[SessionFact]) -> (SessionSums, Vec<AccountViolation>) {
        let mut account = Account::new(self);
        for fact in facts {
            account.seq += 1;
            account.fold(fact);
        }
        account.check_roots();
        (account.sums, account.found)
    }
}

/// The state of an account after the facts so far.
struct Account<'a> {
    contracts: &'a Checker,
    sums: SessionSums,
    /// The roots in order: the first is number 1.
    roots: Vec<Root>,
    /// The credit of each corrected ask.
    credits: BTreeMap<AskKey, Msat>,
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
    fn new(contracts: &'a Checker) -> Account<'a> {
        let sums = SessionSums::default();
        Account { contracts, sums, roots: Vec::new(), credits: BTreeMap::new(), seq: 0, found: Vec::new() }
    }

    fn fold(&mut self, fact: &SessionFact) {
        let before = self.sums.free();
        match fact {
            SessionFact::Funded { money, root, .. } => self.funded(wide(*money), root.as_ref()),
            SessionFact::Opened { .. }
            | SessionFact::Granted { .. }
            | SessionFact::Withdrawing { .. }
            | SessionFact::Withdrawn { .. } => {}
            SessionFact::Requested { root, money, .. } => self.requested(root, wide(*money)),
            SessionFact::Corrected { ask, credit } => self.corrected(ask, *credit),
            SessionFact::Ended { root, spent, reserved, estimated } => {
                self.ended(root, *spent, (*reserved, *estimated));
            }
        }
        // Report an overdrawn account once, not with each later fact.
        let (free, lacks) = (self.sums.free(), -self.sums.free());
        let overdrawn = free < 0 && before >= 0;
        self.demand(!overdrawn, Law::Hires, format_args!("the roots are granted {lacks} msat more than was funded"));
    }

    fn funded(&mut self, money: i128, root: Option<&Path>) {
        self.sums.funded += money;
        let Some(path) = root else { return };
        match self.at_work(path) {
            Some(root) => {
                root.granted += money;
                self.sums.at_work += money;
            }
            None => self.broken(Law::Hires, format_args!("a top-up is for {path}, which is not a root at work")),
        }
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

    fn ended(&mut self, path: &Path, spent: Msat, (reserved, estimated): (Option<Msat>, Option<Msat>)) {
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
        self.sums.reserved += reserved.map_or(0, wide);
        self.sums.estimated += estimated.map_or(0, wide);
        let tree = &self.contracts.tree;
        let phase = tree.find(path).map(|at| &tree.contracts[at].phase);
        let Some(Phase::Closed(report)) = phase else {
            return self.broken(Law::Hires, format_args!("root {path} has ended in the account, but has not closed"));
        };
        let figures = [
            ("spent", Some(spent), Some(report.spent)),
            ("reserved", reserved, report.reserved),
            ("estimated", estimated, report.estimated),
        ];
        for (name, booked, reported) in figures {
            let (same, booked, reported) = (booked == reported, shown(booked), shown(reported));
            self.demand(
                same,
                Law::Hires,
                format_args!("root {path} reported {reported} {name}, but the account has {booked}"),
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
            | (Kind::Hire(_) | Kind::Question { .. } | Kind::Tell { .. }, _) => None,
        }
    }

    /// Checks that each root with facts was requested, and has heard no more money than the account gave it.
    fn check_roots(&mut self) {
        for contract in self.contracts.roots() {
            let (path, has) = (contract.path(), contract.money.granted);
            let Some(given) = self.root(path).map(|root| root.granted) else {
                self.broken(Law::Hires, format_args!("root {path} has facts, but was never requested"));
                continue;
            };
            self.demand(has <= given, Law::Hires, format_args!("root {path} has {has} msat, but was given {given}"));
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

fn shown(amount: Option<Msat>) -> String {
    amount.map_or_else(|| "nothing".to_owned(), |amount| format!("{} msat", amount.get()))
}
