//! The bill: the cost of each contract alone, and with all contracts below it.

use guildhall_kernel::{Outcome, Path};

use crate::checker::Checker;
use crate::contract::{Contract, Phase};
use crate::parts::{Parts, TokenSum};

/// One contract's line of the bill, in millisatoshis. Signed, because a purse in a broken journal may be overdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillLine {
    /// The contract.
    pub contract: Path,
    /// The granted money, top-ups included.
    pub granted: i128,
    /// The available money.
    pub available: i128,
    /// The held money.
    pub held: i128,
    /// The spent money, including that of the hires that have reported.
    pub spent: i128,
    /// The money that the contract spent itself, its fee included. The sum over the tree is the spending of the roots.
    pub own: i128,
    /// The parts of `own`.
    pub own_parts: Parts,
    /// The parts of the money spent by the contract and all contracts below it, whether they have reported or not.
    pub all_parts: Parts,
    /// The tokens of its own model calls.
    pub own_tokens: TokenSum,
    /// The tokens of the model calls of the contract and all contracts below it.
    pub all_tokens: TokenSum,
    /// The outcome, if the contract has closed.
    pub outcome: Option<Outcome>,
}

impl Checker {
    /// Returns one contract's line of the bill.
    pub fn line(&self, contract: &Path) -> Option<BillLine> {
        self.tree.find(contract).map(|at| line(&self.tree.contracts[at]))
    }

    /// Iterates over the bill, one line per contract, in the order in which the contracts were opened.
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
