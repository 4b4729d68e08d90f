//! Recovery after a crash: the state is restored from the durable facts, and the open asks are performed again.

use std::collections::BTreeMap;

use guildhall_kernel::{Ask, AskKey, Contract, Effect, Fact, Millis, Path, Session};
use guildhall_laws::Checker;

use super::{World, lost};
use crate::store::Store;

impl World {
    /// The process dies: facts that are not durable are lost, and the state is restored from the others.
    pub(crate) fn crash(&mut self) {
        self.check_restored();
        self.store.crash();
        self.check_performed();
        self.rebuild();
        for key in self.outstanding() {
            self.recover(key);
        }
        for root in self.scenario.roots.clone() {
            self.open(&root);
        }
        for number in 0..self.commands.len() {
            self.deliver_command(number);
        }
    }

    fn rebuild(&mut self) {
        self.checker = Checker::new();
        for stored in self.store.all() {
            self.checker.observe(stored);
        }
        self.violations.extend(self.checker.at_rest().iter().map(ToString::to_string));
        self.now = self.store.all().last().map_or(Millis(0), |stored| stored.at);
        self.fresh.clear();
        self.leaves.clear();
        self.other_asks.clear();
        self.pending.clear();
        self.hired.clear();
        self.permits_used = 0;
        let (contracts, corrupt) = restore(&self.store);
        self.contracts = contracts;
        self.violations.extend(corrupt);
        self.session =
            Session::restore(self.account_facts.iter().cloned()).expect("the account's facts were accepted before");
        let closed = |(path, contract): (&Path, &Contract)| Some((path.clone(), contract.report()?.clone()));
        for (path, report) in self.contracts.iter().filter_map(closed).collect::<Vec<_>>() {
            self.end_root(&path, &report);
        }
    }

    pub(crate) fn outstanding(&self) -> Vec<AskKey> {
        let keys = |(path, contract): (&Path, &Contract)| {
            let key = |(ask, _): (_, &Ask)| AskKey { contract: path.clone(), ask };
            contract.outstanding().map(key).collect::<Vec<_>>()
        };
        self.contracts.iter().flat_map(keys).collect()
    }

    /// Law 10: an ask that can be attached to or repeated is performed again; any other ask is settled as lost.
    fn recover(&mut self, key: AskKey) {
        let again = match self.ask(&key).expect("the ask is open") {
            Ask::Model(_) => self.scenario.reattach,
            Ask::Tool(call) => match call.effect {
                Effect::Pure | Effect::Idempotent | Effect::Reconcilable => true,
                Effect::Once => self.scenario.reattach,
            },
            Ask::Check(_) | Ask::Hire { .. } | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => true,
        };
        if again || !self.performed.contains_key(&key) {
            self.enqueue(key);
        } else {
            let lost = lost(&key);
            self.send_answer(key, lost);
        }
    }
}

/// Restores every contract from its stored facts. Also returns an error for each contract that can't be restored.
pub(super) fn restore(store: &Store) -> (BTreeMap<Path, Contract>, Vec<String>) {
    let mut facts: BTreeMap<&Path, Vec<Fact>> = BTreeMap::new();
    for stored in store.all() {
        facts.entry(&stored.contract).or_default().push(stored.fact.clone());
    }
    let mut corrupt = Vec::new();
    let mut contracts = BTreeMap::new();
    for (path, facts) in facts {
        match Contract::restore(facts) {
            Ok(contract) => {
                contracts.insert(path.clone(), contract);
            }
            Err(why) => corrupt.push(format!("law 10: {path} can't be restored: {why}")),
        }
    }
    (contracts, corrupt)
}
