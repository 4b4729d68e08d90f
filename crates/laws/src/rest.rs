//! The laws between steps and at the end: all contracts are checked, and their accounts are computed again from the
//! asks.

use crate::batch::check_ending_sent;
use crate::checker::Checker;
use crate::contract::{Contract, Edge, Kind, Phase, State, Tree};
use crate::purse::wide;
use crate::queue;
use crate::stimuli::check_edge;
use crate::violation::{Found, Law, Violation};

impl Checker {
    /// Returns every law that is broken between steps: after all facts of a cause are stored, for example after a
    /// crash.
    pub fn at_rest(&self) -> Vec<Violation> {
        let mut all = self.batch.as_ref().map(|batch| self.missing(batch)).unwrap_or_default();
        for at in 0..self.tree.contracts.len() {
            let mut found = Found::at(self.tree.contracts[at].path(), self.seq);
            check_rest(&self.tree, at, &mut found);
            all.extend(found.into_list());
        }
        all.extend(self.check_bill());
        all
    }

    /// Returns every law that is broken when no work is left: those of [`Checker::at_rest`], and every contract that
    /// has not ended.
    pub fn at_end(&self) -> Vec<Violation> {
        let mut all = self.at_rest();
        for contract in &self.tree.contracts {
            let mut found = Found::at(contract.path(), self.seq);
            check_end(contract, &mut found);
            all.extend(found.into_list());
        }
        all
    }

    /// Returns how much money the roots were granted, top-ups included, in millisatoshis.
    pub fn funded(&self) -> i128 {
        self.roots().map(|root| root.money.granted).sum()
    }

    /// Returns how much money the roots spent, in millisatoshis.
    pub fn spent(&self) -> i128 {
        self.roots().map(|root| root.money.spent).sum()
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = &Contract> {
        self.tree.contracts.iter().filter(|contract| contract.path().level() == 0)
    }

    /// Checks that the contracts' own costs add up to the spending of the contracts that are not settled yet: the
    /// roots, and the hires whose report has not arrived.
    fn check_bill(&self) -> Vec<Violation> {
        let Some(first) = self.tree.contracts.first() else { return Vec::new() };
        let own: i128 = self.tree.contracts.iter().map(|contract| contract.own.parts.total()).sum();
        let unsettled = |contract: &&Contract| contract.hirer.is_none_or(|edge| is_live(&self.tree, edge));
        let spent: i128 = self.tree.contracts.iter().filter(unsettled).map(|contract| contract.money.spent).sum();
        let mut found = Found::at(first.path(), self.seq);
        found.demand(
            own == spent,
            Law::Hires,
            format_args!("the contracts cost {own} msat, but their purses spent {spent}"),
        );
        let (funded, spent) = (self.funded(), self.spent());
        found.demand(
            spent <= funded,
            Law::Hires,
            format_args!("{spent} msat were spent, but only {funded} were granted"),
        );
        found.into_list()
    }
}

fn is_live(tree: &Tree, edge: Edge) -> bool {
    tree.contracts[edge.hirer].is_open(edge.ask)
}

fn check_rest(tree: &Tree, at: usize, found: &mut Found<'_>) {
    let contract = &tree.contracts[at];
    check_books(contract, found);
    for ask in &contract.live {
        check_edge(tree, Edge { hirer: at, ask: *ask }, found);
    }
    if contract.is_closed() {
        return;
    }
    let owed = contract.open > 0 || contract.is_idle();
    found.demand(owed, Law::Liveness, format_args!("the contract is not closed and has no open ask"));
    let outlives = contract.hirer.is_some_and(|edge| tree.contracts[edge.hirer].is_closed());
    found.demand(!outlives, Law::Closing, format_args!("the contract is open, but its hirer has closed"));
    contract.calls.check_waiting(contract, found);
    check_ending_sent(contract, found);
    queue::check_ended(contract, found);
    queue::check_moves(contract, found);
}

/// Computes the accounts from the asks and compares them with the running accounts.
fn check_books(contract: &Contract, found: &mut Found<'_>) {
    let (mut held, mut spent) = ((0, 0), (0, 0));
    for asked in &contract.asks {
        match asked.state {
            State::Open { money, heads } => held = (held.0 + money, held.1 + heads),
            State::Settled { paid, heads } => spent = (spent.0 + paid.total(), spent.1 + heads),
        }
    }
    let fee = wide(contract.brief.fee);
    match &contract.phase {
        Phase::Working | Phase::Closing(_) => held.0 += fee + contract.severance,
        Phase::Closed(report) => spent.0 += wide(report.fee),
    }
    let (money, heads) = (contract.money, contract.heads);
    let same = (money.held, heads.held) == held && (money.spent, heads.spent) == spent;
    found.demand(
        same,
        Law::Purse,
        format_args!(
            "the asks hold {held:?} and spent {spent:?} (money, heads), but the accounts are {money:?} and {heads:?}"
        ),
    );
    let live = contract.asks.iter().filter(|asked| asked.is_open() && matches!(asked.kind, Kind::Hire(_))).count();
    found.demand(
        live == contract.live.len(),
        Law::Hires,
        format_args!("the contract has {live} open hires, but {} are listed", contract.live.len()),
    );
}

fn check_end(contract: &Contract, found: &mut Found<'_>) {
    if contract.is_idle() {
        let owed = &contract.owed;
        return found.demand(owed.is_empty(), Law::Reports, format_args!("no request included the reports {owed:?}"));
    }
    found.demand(contract.is_closed(), Law::Liveness, format_args!("the contract never closed"));
    let held = contract.money.held;
    found.demand(held == 0, Law::Hires, format_args!("{held} msat are still held"));
}
