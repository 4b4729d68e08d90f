//! The session's account, held against what its contracts' facts say: nobody is granted what was not put in, a root ends
//! with what it reported, and only what may not have been billed is given back.

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
    /// Which law.
    pub law: Law,
    /// Which fact of the account, counted from 1; for what only shows at the end, the last one there is.
    pub seq: usize,
    /// What was wrong.
    pub what: String,
}

/// What a session's account adds up to, in millisatoshis. Signed, since a broken account may be overdrawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSums {
    /// Everything that was put in, top-ups included.
    pub funded: i128,
    /// What corrections have given back.
    pub credited: i128,
    /// What the roots that have not ended were granted.
    pub at_work: i128,
    /// What the roots that have ended spent, before corrections.
    pub spent: i128,
    /// The part of `spent` that may not have been billed, before corrections.
    pub reserved: i128,
    /// The part of `spent` that is an upper bound.
    pub estimated: i128,
}

impl SessionSums {
    /// Returns what no root has been granted: `funded + credited = free + at_work + spent`.
    pub fn free(&self) -> i128 {
        self.funded + self.credited - self.at_work - self.spent
    }
}

impl Checker {
    /// Checks a session's account against the contracts' facts that were observed, and adds it up. Both must have been read
    /// at the same moment: a root that closes in between is not in both.
    ///
    /// ```
    /// use guildhall_kernel::{Hash, Msat, Path, SessionFact, TextKind, TextRef};
    /// use guildhall_laws::Checker;
    ///
    /// let prices = TextRef { hash: Hash([0; 32]), bytes: 0, kind: TextKind::Prices };
    /// let sat = |sat| Msat::from_sat(sat).unwrap();
    /// let (sums, broken) = Checker::new().check_account(&[
    ///     SessionFact::Funded { money: sat(100), root: None },
    ///     SessionFact::Requested { root: Path::root(1), money: sat(101), prices },
    /// ]);
    /// assert_eq!(sums.free(), -1000);
    /// assert_eq!(broken[0].to_string(), "law 3 (hires), account fact 2: 1000 msat more are granted than were put in");
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

/// An account, as its facts so far make it.
struct Account<'a> {
    contracts: &'a Checker,
    sums: SessionSums,
    /// The roots in order: the first is number 1.
    roots: Vec<Root>,
    /// What was given back, by the ask that had been charged.
    credits: BTreeMap<AskKey, Msat>,
    seq: usize,
    found: Vec<AccountViolation>,
}

/// One root, as the account knows it.
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
            SessionFact::Funded { money, root } => self.funded(wide(*money), root.as_ref()),
            SessionFact::Requested { root, money, .. } => self.requested(root, wide(*money)),
            SessionFact::Corrected { ask, credit } => self.corrected(ask, *credit),
            SessionFact::Ended { root, spent, reserved, estimated } => {
                self.ended(root, *spent, (*reserved, *estimated));
            }
        }
        // Once overdrawn, an account is not found so again with each fact.
        let (free, lacks) = (self.sums.free(), -self.sums.free());
        let overdrawn = free < 0 && before >= 0;
        self.demand(!overdrawn, Law::Hires, format_args!("{lacks} msat more are granted than were put in"));
    }

    fn funded(&mut self, money: i128, root: Option<&Path>) {
        self.sums.funded += money;
        let Some(path) = root else { return };
        match self.at_work(path) {
            Some(root) => {
                root.granted += money;
                self.sums.at_work += money;
            }
            None => self.broken(Law::Hires, format_args!("a top-up for {path}, which is no root at work")),
        }
    }

    fn requested(&mut self, path: &Path, money: i128) {
        let due = self.roots.len() + 1;
        let next = path.level() == 0 && usize::try_from(path.ordinal()) == Ok(due);
        self.demand(next, Law::Replay, format_args!("root {path} is requested when root {due} is due"));
        self.roots.push(Root { granted: money, has_ended: false });
        self.sums.at_work += money;
        let tree = &self.contracts.tree;
        if let Some(at) = tree.find(path) {
            let opened = wide(tree.contracts[at].brief.grant.money);
            let same = opened == money;
            self.demand(same, Law::Hires, format_args!("root {path} began with {opened} msat, granted were {money}"));
        }
    }

    fn ended(&mut self, path: &Path, spent: Msat, (reserved, estimated): (Option<Msat>, Option<Msat>)) {
        let Some(root) = self.at_work(path) else {
            return self.broken(Law::Hires, format_args!("{path} ends, which is no root at work"));
        };
        root.has_ended = true;
        let granted = root.granted;
        let used = wide(spent);
        self.demand(used <= granted, Law::Hires, format_args!("root {path} spent {used} of {granted} msat granted"));
        self.sums.at_work -= granted;
        self.sums.spent += used;
        self.sums.reserved += reserved.map_or(0, wide);
        self.sums.estimated += estimated.map_or(0, wide);
        let tree = &self.contracts.tree;
        let phase = tree.find(path).map(|at| &tree.contracts[at].phase);
        let Some(Phase::Closed(report)) = phase else {
            return self.broken(Law::Hires, format_args!("root {path} has ended in the account, and has not closed"));
        };
        let figures = [
            ("spent", Some(spent), Some(report.spent)),
            ("reserved", reserved, report.reserved),
            ("estimated", estimated, report.estimated),
        ];
        for (name, booked, reported) in figures {
            let (same, booked, reported) = (booked == reported, shown(booked), shown(reported));
            self.demand(same, Law::Hires, format_args!("root {path} reported {reported} {name}, booked are {booked}"));
        }
    }

    fn corrected(&mut self, ask: &AskKey, credit: Msat) {
        if let Some(before) = self.credits.get(ask).copied() {
            // The same correction twice is one.
            let same = before == credit;
            let (credit, before) = (credit.get(), before.get());
            return self.demand(
                same,
                Law::Hires,
                format_args!("{ask} is corrected by {credit} msat, and was by {before}"),
            );
        }
        self.credits.insert(ask.clone(), credit);
        self.sums.credited += wide(credit);
        let Some(Parts { used, estimated, reserved }) = self.charged(ask) else {
            return self.broken(Law::Hires, format_args!("{ask} is corrected, and is no call that was answered"));
        };
        let open = used == 0 && estimated == 0;
        self.demand(open, Law::Hires, format_args!("{ask} is corrected, and its cost is known or estimated"));
        let credit = wide(credit);
        let within = !open || credit <= reserved;
        self.demand(within, Law::Hires, format_args!("{ask} is corrected by {credit} of {reserved} msat reserved"));
    }

    /// What was charged for a model call, a tool call or a check that was answered.
    fn charged(&self, ask: &AskKey) -> Option<Parts> {
        let tree = &self.contracts.tree;
        let asked = tree.contracts[tree.find(&ask.contract)?].ask(ask.ask)?;
        match (&asked.kind, asked.state) {
            (Kind::Model { .. } | Kind::Tool | Kind::Check(_), State::Settled { paid, .. }) => Some(paid),
            (Kind::Model { .. } | Kind::Tool | Kind::Check(_), State::Open { .. })
            | (Kind::Hire(_) | Kind::Question { .. } | Kind::Tell { .. }, _) => None,
        }
    }

    /// Checks that each root that has facts was requested, and has heard of no more money than was put in for it.
    fn check_roots(&mut self) {
        for contract in self.contracts.roots() {
            let (path, has) = (contract.path(), contract.money.granted);
            let Some(given) = self.root(path).map(|root| root.granted) else {
                self.broken(Law::Hires, format_args!("root {path} has facts, and was never requested"));
                continue;
            };
            self.demand(has <= given, Law::Hires, format_args!("root {path} has {has} msat, and {given} were put in"));
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
