//! The tree of a session: what someone who watches the session sees, as a fold of its events. The fold uses only additions and
//! subtractions of numbers that are in the facts, so that a program in another language can compute the same tree. It has no
//! texts, only references to them.

mod account;
mod contract;

use std::collections::BTreeMap;

use guildhall_kernel::{Fact, Millis, Path, SessionFact, Stored};
use guildhall_local::{Cursor, Event, EventKind, SessionId};
use serde::{Serialize, Serializer};

use crate::hall::{Hall, HallError};

pub use account::{AccountKind, RootState, TreeAccount, TreeRoot};
pub use contract::{Amounts, ContractState, QueuedHire, StartContext, TreeContract, TreeReport, Waits};

/// How many events are read in one query.
const EVENTS_PER_PAGE: u32 = 4096;

/// The contracts of a session with their money and their state, and the session's account.
///
/// The facts of each contract must come in their order, and so must the facts of the account. Facts that break a law give a wrong
/// tree, and no error: [`Hall::session`](crate::Hall::session) lists violations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The id of the newest event in the tree. The events after this id lead to later trees.
    pub at: Cursor,
    /// The account.
    pub account: TreeAccount,
    /// All contracts, each before its hires.
    #[serde(serialize_with = "as_list")]
    pub contracts: BTreeMap<Path, TreeContract>,
}

impl Default for Tree {
    /// Returns the tree of a session without events.
    fn default() -> Tree {
        Tree { at: Cursor::START, account: TreeAccount::default(), contracts: BTreeMap::new() }
    }
}

impl Tree {
    /// Takes an event.
    pub fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Fact(stored) => self.apply_fact(stored),
            EventKind::Account(account) => self.apply_account(&account.fact, account.at),
        }
    }

    /// Takes a fact of a contract.
    pub fn apply_fact(&mut self, stored: &Stored) {
        self.at.facts += 1;
        if let Fact::Opened(brief) = &stored.fact {
            self.contracts.insert(stored.contract.clone(), TreeContract::open(brief, stored.at));
        } else if let Some(contract) = self.contracts.get_mut(&stored.contract) {
            contract.apply(&stored.fact, stored.at);
        }
    }

    /// Takes a fact of the account.
    pub fn apply_account(&mut self, fact: &SessionFact, at: Millis) {
        self.at.account += 1;
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

impl Hall {
    /// Adds the events to a tree that have happened since.
    pub async fn read_on(&self, id: &SessionId, tree: &mut Tree) -> Result<(), HallError> {
        loop {
            let page = self.journal().events(id, tree.at, EVENTS_PER_PAGE).await?;
            if page.is_empty() {
                return Ok(());
            }
            for event in &page {
                tree.apply(event);
            }
        }
    }

    /// Returns the tree of a session, now or at an earlier event. It is an error if the session has no event with this id.
    pub async fn tree(&self, id: &SessionId, at: Option<Cursor>) -> Result<Tree, HallError> {
        if let Some(at) = at {
            self.journal().events(id, at, 1).await?;
        }
        let mut tree = Tree::default();
        loop {
            let left = at.map(|at| at.facts.saturating_sub(tree.at.facts) + at.account.saturating_sub(tree.at.account));
            let limit =
                left.map_or(EVENTS_PER_PAGE, |left| u32::try_from(left).unwrap_or(u32::MAX).min(EVENTS_PER_PAGE));
            let page = if limit == 0 { Vec::new() } else { self.journal().events(id, tree.at, limit).await? };
            if page.is_empty() {
                return Ok(tree);
            }
            for event in &page {
                tree.apply(event);
            }
        }
    }
}
