//! What follows a crash: the world is rebuilt from what is durable, and what is owed is taken up again.

use std::collections::BTreeMap;

use guildhall_kernel::{Ask, AskKey, Contract, Effect, Fact, Millis, Path, Session};
use guildhall_laws::Checker;

use super::{World, lost};
use crate::store::Store;

impl World {
    /// The process dies: all that is not durable is gone, and the world is rebuilt from what is.
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
        self.errands.clear();
        self.flights.clear();
        self.hired.clear();
        self.permits_used = 0;
        let (contracts, corrupt) = restore(&self.store);
        self.contracts = contracts;
        self.violations.extend(corrupt);
        self.session = Session::restore(self.put_in.iter().cloned()).expect("the owner has put enough in");
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

    /// Law 10: what can be attached to again, or done again, is; what can't is settled as lost.
    fn recover(&mut self, key: AskKey) {
        let again = match self.ask(&key).expect("it is outstanding") {
            Ask::Model(_) => self.scenario.reattach,
            Ask::Tool(call) => match call.effect {
                Effect::Pure | Effect::Idempotent | Effect::Reconcilable => true,
                Effect::Once => self.scenario.reattach,
            },
            Ask::Check(_) | Ask::Hire { .. } | Ask::Question { .. } | Ask::Tell { .. } => true,
        };
        if again || !self.performed.contains_key(&key) {
            self.enqueue(key);
        } else {
            let lost = lost(&key);
            self.fly(key, lost);
        }
    }
}

/// Rebuilds every contract from its stored facts; also says which could not be.
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
            Err(why) => corrupt.push(format!("law 10: {path} can't be rebuilt: {why}")),
        }
    }
    (contracts, corrupt)
}
