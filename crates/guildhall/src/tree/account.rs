//! The account of a session, in its tree.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{AskKey, Millis, Msat, Path, PaymentHash, SessionFact};
use serde::Serialize;

use super::contract::{difference, sum};

/// The account of a session: `funded + credited = free + at_work + spent + set_aside + withdrawn`, in millisatoshis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeAccount {
    /// The kind of money.
    pub kind: AccountKind,
    /// All money that was ever added.
    pub funded: Msat,
    /// The money that corrections gave back.
    pub credited: Msat,
    /// The money that no root has.
    pub free: Msat,
    /// The grants of the roots at work.
    pub at_work: Msat,
    /// The money that ended roots spent.
    pub spent: Msat,
    /// The money that is set aside for payments out of the wallet.
    pub set_aside: Msat,
    /// The money that was paid out.
    pub withdrawn: Msat,
    /// The roots, in order.
    pub roots: Vec<TreeRoot>,
    #[serde(skip)]
    payments: BTreeMap<PaymentHash, Msat>,
    #[serde(skip)]
    corrected: BTreeSet<AskKey>,
}

/// The kind of money that a session has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// Play money.
    #[default]
    Play,
    /// The money of a wallet.
    Wallet,
}

/// A root in the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeRoot {
    /// Its contract.
    pub path: Path,
    /// Its grant and its top-ups.
    pub granted: Msat,
    /// The money that it spent, if it has ended.
    pub spent: Msat,
    /// Whether it has ended.
    pub state: RootState,
    /// When it was requested, in session time.
    pub requested_at: Millis,
    /// When it ended, in session time.
    pub ended_at: Option<Millis>,
}

/// Whether a root has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RootState {
    /// It was requested and has not ended.
    AtWork,
    /// It has ended, and its change is free again.
    Ended,
}

impl TreeAccount {
    pub(super) fn apply(&mut self, fact: &SessionFact, at: Millis) {
        match fact {
            SessionFact::Opened { .. } => self.kind = AccountKind::Wallet,
            SessionFact::Funded { money, root, .. } => {
                self.funded = sum(self.funded, *money);
                match root {
                    Some(root) => self.raise(root, *money),
                    None => self.free = sum(self.free, *money),
                }
            }
            SessionFact::Granted { root, money } => {
                self.free = difference(self.free, *money);
                self.raise(root, *money);
            }
            SessionFact::Withdrawing { payment, money } => {
                self.free = difference(self.free, *money);
                self.set_aside = sum(self.set_aside, *money);
                self.payments.insert(*payment, *money);
            }
            SessionFact::Withdrawn { payment, spent } => {
                let money = self.payments.remove(payment).unwrap_or(*spent);
                self.set_aside = difference(self.set_aside, money);
                self.withdrawn = sum(self.withdrawn, *spent);
                self.free = sum(self.free, difference(money, *spent));
            }
            SessionFact::Returned { money } => {
                self.free = difference(self.free, *money);
                self.withdrawn = sum(self.withdrawn, *money);
            }
            SessionFact::Requested { root, money, .. } => {
                self.free = difference(self.free, *money);
                self.at_work = sum(self.at_work, *money);
                self.roots.push(TreeRoot {
                    path: root.clone(),
                    granted: *money,
                    spent: Msat::ZERO,
                    state: RootState::AtWork,
                    requested_at: at,
                    ended_at: None,
                });
            }
            SessionFact::Corrected { ask, credit } => {
                // The same correction twice counts once.
                if self.corrected.insert(ask.clone()) {
                    self.credited = sum(self.credited, *credit);
                    self.free = sum(self.free, *credit);
                }
            }
            SessionFact::Ended { root, spent, .. } => self.end(root, *spent, at),
        }
    }

    fn raise(&mut self, root: &Path, money: Msat) {
        self.at_work = sum(self.at_work, money);
        if let Some(root) = self.root(root) {
            root.granted = sum(root.granted, money);
        }
    }

    fn end(&mut self, root: &Path, spent: Msat, at: Millis) {
        let Some(root) = self.root(root) else { return };
        (root.spent, root.state, root.ended_at) = (spent, RootState::Ended, Some(at));
        let granted = root.granted;
        self.at_work = difference(self.at_work, granted);
        self.spent = sum(self.spent, spent);
        self.free = sum(self.free, difference(granted, spent));
    }

    fn root(&mut self, path: &Path) -> Option<&mut TreeRoot> {
        self.roots.iter_mut().rfind(|root| root.path == *path)
    }
}
