//! The parts of the spent money. *Reserved* money may not have been billed, *estimated* money is an upper bound, *used*
//! money is the rest: reported costs, and fees.

use std::ops::AddAssign;

use guildhall_kernel::{Answer, Cost, Report, Tokens};

use crate::contract::Contract;
use crate::purse::wide;
use crate::violation::{Found, Law};

/// The parts of a sum of money, in millisatoshis. Signed, because the parts in a broken journal may exceed the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Costs that were reported, and fees.
    pub used: i128,
    /// Upper bounds of costs that were not reported.
    pub estimated: i128,
    /// Charges for calls that were lost, aborted or failed, or whose cost is unknown.
    pub reserved: i128,
}

impl Parts {
    /// Returns the whole sum.
    pub fn total(&self) -> i128 {
        self.used + self.estimated + self.reserved
    }

    pub(crate) fn used(used: i128) -> Parts {
        Parts { used, ..Parts::default() }
    }

    /// Returns the parts of the charge for the answer to a model call, a tool call or a check.
    pub(crate) fn of_leaf(answer: &Answer, cost: Cost, charge: i128) -> Parts {
        match (answer, cost) {
            (Answer::Lost | Answer::Aborted | Answer::Failed(_), _) | (_, Cost::Unknown) => {
                Parts { reserved: charge, ..Parts::default() }
            }
            (_, Cost::Estimated(_)) => Parts { estimated: charge, ..Parts::default() },
            (_, Cost::Known(_)) => Parts::used(charge),
        }
    }

    /// Returns the parts of the charge for a hire, from its report.
    pub(crate) fn of_report(report: &Report, charge: i128) -> Parts {
        let (estimated, reserved) = (wide(report.estimated), wide(report.reserved));
        Parts { used: charge - estimated - reserved, estimated, reserved }
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        self.used += other.used;
        self.estimated += other.estimated;
        self.reserved += other.reserved;
    }
}

/// A sum of tokens. 128 bits wide, because a provider may claim any number in each reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenSum {
    /// All input, the cached part included.
    pub input: u128,
    /// The part of the input that was read from a cache.
    pub cached: u128,
    /// All output.
    pub output: u128,
}

impl From<Tokens> for TokenSum {
    fn from(tokens: Tokens) -> TokenSum {
        let Tokens { input, cached, output } = tokens;
        TokenSum { input: input.into(), cached: cached.into(), output: output.into() }
    }
}

impl AddAssign for TokenSum {
    fn add_assign(&mut self, other: TokenSum) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
    }
}

/// The spent money, and the tokens that it paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spending {
    pub(crate) parts: Parts,
    pub(crate) tokens: TokenSum,
}

impl From<Parts> for Spending {
    fn from(parts: Parts) -> Spending {
        Spending { parts, tokens: TokenSum::default() }
    }
}

impl AddAssign for Spending {
    fn add_assign(&mut self, other: Spending) {
        self.parts += other.parts;
        self.tokens += other.tokens;
    }
}

/// Checks the parts in a closing report: they are the sums over the contract's own asks and its hires' reports.
pub(crate) fn check_closed(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let paid = contract.paid();
    let claims = [("reserved", report.reserved, paid.reserved), ("estimated", report.estimated, paid.estimated)];
    for (name, claimed, due) in claims {
        let claimed = wide(claimed);
        found.demand(claimed == due, Law::Hires, format_args!("reports {claimed} msat {name}, but {due} are"));
    }
    check_within(report, found);
}

/// Checks that the parts of a report do not exceed its spending.
pub(crate) fn check_within(report: &Report, found: &mut Found<'_>) {
    let (spent, fee) = (wide(report.spent), wide(report.fee));
    let (reserved, estimated) = (wide(report.reserved), wide(report.estimated));
    found.demand(
        reserved + estimated + fee <= spent,
        Law::Hires,
        format_args!("{reserved} msat reserved, {estimated} estimated and a fee of {fee} exceed the {spent} spent"),
    );
}
