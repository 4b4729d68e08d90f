//! What must hold between steps and at the end: the whole tree is walked and its books are added up anew.

use crate::batch::check_told;
use crate::checker::Checker;
use crate::contract::{Contract, Edge, Kind, Phase, State, Tree};
use crate::purse::wide;
use crate::stimuli::check_edge;
use crate::violation::{Found, Law, Violation};

impl Checker {
    /// Returns every law that is broken between steps: all facts of one cause are stored, at a crash or at quiescence.
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

    /// Returns every law that is broken when nothing is left to do: those at rest, and whatever has not ended.
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

    /// What each contract spent itself adds up to what those spent whom nobody has settled with yet: the roots, and the
    /// hires whose report has not been heard.
    fn check_bill(&self) -> Vec<Violation> {
        let Some(first) = self.tree.contracts.first() else { return Vec::new() };
        let own: i128 = self.tree.contracts.iter().map(|contract| contract.own.parts.total()).sum();
        let unsettled = |contract: &&Contract| contract.hirer.is_none_or(|edge| is_live(&self.tree, edge));
        let spent: i128 = self.tree.contracts.iter().filter(unsettled).map(|contract| contract.money.spent).sum();
        let mut found = Found::at(first.path(), self.seq);
        found.demand(own == spent, Law::Hires, format_args!("the bill is {own} msat, but {spent} were spent"));
        let (funded, spent) = (self.funded(), self.spent());
        found.demand(spent <= funded, Law::Hires, format_args!("{spent} msat were spent of {funded}"));
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
    let owed = contract.open > 0 || contract.idles();
    found.demand(owed, Law::Liveness, format_args!("it is neither closed nor owed anything"));
    let outlives = contract.hirer.is_some_and(|edge| tree.contracts[edge.hirer].is_closed());
    found.demand(!outlives, Law::Closing, format_args!("it outlives its hirer"));
    contract.calls.check_waiting(contract, found);
    check_told(contract, found);
}

/// Adds up the books from the asks, which the running accounts were not made from.
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
    found.demand(same, Law::Purse, format_args!("holds {held:?}, spent {spent:?}, but {money:?}, heads {heads:?}"));
    let live = contract.asks.iter().filter(|asked| asked.is_open() && matches!(asked.kind, Kind::Hire(_))).count();
    found.demand(live == contract.live.len(), Law::Hires, format_args!("{live} live hires are not all known"));
}

fn check_end(contract: &Contract, found: &mut Found<'_>) {
    if contract.idles() {
        let owed = &contract.owed;
        return found.demand(owed.is_empty(), Law::Reports, format_args!("the reports {owed:?} were never heard"));
    }
    found.demand(contract.is_closed(), Law::Liveness, format_args!("it never closed"));
    let held = contract.money.held;
    found.demand(held == 0, Law::Hires, format_args!("{held} msat are still held"));
}
