//! The tree of a session: what someone who watches the session sees, as a fold of its events. The fold uses only additions and
//! subtractions of numbers that are in the facts, so that a program in another language can compute the same tree. It has no
//! texts, only references to them.

mod account;
mod contract;

use std::collections::BTreeMap;

use guildhall_kernel::{Fact, Millis, Path, SessionFact, Stored};
use serde::{Serialize, Serializer};

pub use account::{AccountKind, RootState, TreeAccount, TreeRoot};
pub use contract::{Amounts, ContractState, StartContext, TreeContract, TreeReport, Waits};

/// The contracts of a session with their money and their state, and the session's account.
///
/// The facts of each contract must come in their order, and so must the facts of the account. Facts that break a law give a wrong
/// tree, and no error: [`Hall::session`](crate::Hall::session) lists violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The account.
    pub account: TreeAccount,
    /// All contracts, each before its hires.
    #[serde(serialize_with = "as_list")]
    pub contracts: BTreeMap<Path, TreeContract>,
}

impl Tree {
    /// Takes a fact of a contract.
    pub fn apply_fact(&mut self, stored: &Stored) {
        if let Fact::Opened(brief) = &stored.fact {
            self.contracts.insert(stored.contract.clone(), TreeContract::open(brief, stored.at));
        } else if let Some(contract) = self.contracts.get_mut(&stored.contract) {
            contract.apply(&stored.fact, stored.at);
        }
    }

    /// Takes a fact of the account.
    pub fn apply_account(&mut self, fact: &SessionFact, at: Millis) {
        self.account.apply(fact, at);
    }

    /// Returns the newest root, whether it has opened or not.
    pub fn newest_root(&self) -> Option<&TreeRoot> {
        self.account.roots.last()
    }

    /// Whether a contract has opened and has not closed.
    pub fn is_open(&self, contract: &Path) -> bool {
        self.contracts.get(contract).is_some_and(|contract| contract.report.is_none())
    }
}

/// Each contract has its path, so that a list is enough. Programs that read JSON may sort the keys of an object.
fn as_list<S: Serializer>(contracts: &BTreeMap<Path, TreeContract>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(contracts.values())
}
