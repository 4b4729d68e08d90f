//! The bill: what each contract cost itself, and what it cost with everybody whom it hired.

use guildhall_kernel::{Outcome, Path};

use crate::checker::Checker;
use crate::contract::{Contract, Phase};
use crate::parts::{Parts, TokenSum};

/// One contract's line of the bill, in millisatoshis. Signed, since a broken journal may be overdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillLine {
    /// Whose line it is.
    pub contract: Path,
    /// Everything it was granted, top-ups included.
    pub granted: i128,
    /// What it may still hold.
    pub available: i128,
    /// What it holds.
    pub held: i128,
    /// What it spent, the spending of the hires that have reported included.
    pub spent: i128,
    /// What it spent itself, its fee included. Summed over the tree, this is what the roots spent.
    pub own: i128,
    /// What is known about `own`: the parts add up to it.
    pub own_parts: Parts,
    /// What it and everybody below it spent themselves, whether they have reported or not.
    pub all_parts: Parts,
    /// The tokens of its own model calls.
    pub own_tokens: TokenSum,
    /// The tokens of its own model calls and of those of everybody below it.
    pub all_tokens: TokenSum,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
}

impl Checker {
    /// Returns one contract's line of the bill.
    pub fn line(&self, contract: &Path) -> Option<BillLine> {
        self.tree.find(contract).map(|at| line(&self.tree.contracts[at]))
    }

    /// Goes through the bill, one line per contract, in the order in which they were opened.
    pub fn bill(&self) -> impl Iterator<Item = BillLine> {
        self.tree.contracts.iter().map(line)
    }
}

fn line(contract: &Contract) -> BillLine {
    let money = contract.money;
    let outcome = match &contract.phase {
        Phase::Closed(report) => Some(report.outcome),
        Phase::Working | Phase::Closing(_) => None,
    };
    BillLine {
        contract: contract.path().clone(),
        granted: money.granted,
        available: money.available,
        held: money.held,
        spent: money.spent,
        own: contract.own.parts.total(),
        own_parts: contract.own.parts,
        all_parts: contract.all.parts,
        own_tokens: contract.own.tokens,
        all_tokens: contract.all.tokens,
        outcome,
    }
}
