//! What the laws demand of an engine, beyond what facts alone can show.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{Answer, Ask, AskKey, Cost, Effect, Fact, Input, Quantity, Report, SessionFact, Stored};

use super::World;
use super::recovery::restore;

impl World {
    /// Nothing may have left for the world whose fact is not durable.
    pub(super) fn check_performed(&mut self) {
        let asked: BTreeSet<AskKey> = self.store.all().iter().filter_map(asked_key).collect();
        if let Some(key) = self.performed.keys().find(|key| !asked.contains(key)) {
            self.violations.push(format!("law 2: {key} left before its fact was durable"));
        }
    }

    /// Law 10: what may have happened once must not happen again, unless the world knows it by its key.
    pub(super) fn check_repeated(&mut self, key: &AskKey) {
        let dear = match self.ask(key) {
            Some(Ask::Model(_)) => true,
            Some(Ask::Tool(call)) => call.effect == Effect::Once,
            Some(Ask::Check(_) | Ask::Hire { .. } | Ask::Question { .. } | Ask::Tell { .. }) | None => false,
        };
        if dear && !self.scenario.reattach {
            self.violate(format!("law 10: {key} was performed twice"));
        }
    }

    /// Law 10: a contract rebuilt from its facts is the contract that was.
    pub(crate) fn check_restored(&mut self) {
        if !self.store.is_synced() {
            return;
        }
        let (restored, corrupt) = restore(&self.store);
        self.violations.extend(corrupt);
        if let Some((path, _)) = restored.iter().find(|(path, contract)| self.contracts.get(*path) != Some(contract)) {
            self.violations.push(format!("law 10: {path} rebuilt from its facts is not what it was"));
        }
    }

    /// Everything that must be so between steps.
    pub(crate) fn check_rest(&mut self) {
        self.violations.extend(self.checker.at_rest().iter().map(ToString::to_string));
    }

    /// Everything that must be so when nothing is left to do.
    pub(crate) fn check_end(&mut self) {
        self.violations.extend(self.checker.at_end().iter().map(ToString::to_string));
        if self.is_starved() {
            self.violations.push("law 8: a call waits for a permit that nobody gives back".to_owned());
        }
        if let Some((path, _)) = self.contracts.iter().find(|(_, contract)| contract.report().is_none()) {
            self.violations.push(format!("law 8: nothing is left to do, and {path} is not closed"));
        }
        self.check_bill();
        self.correct();
        self.check_account();
    }

    /// The session's account, as an engine would have stored it, fits the contracts' facts.
    fn check_account(&mut self) {
        let is_correction = |fact: &&SessionFact| matches!(fact, SessionFact::Corrected { .. });
        let put_in = self.put_in.iter().filter(|fact| !is_correction(fact)).cloned();
        let ended = self.contracts.iter().filter(|(path, _)| path.level() == 0).filter_map(|(path, contract)| {
            let Report { spent, reserved, estimated, .. } = *contract.report()?;
            Some(SessionFact::Ended { root: path.clone(), spent, reserved, estimated })
        });
        let corrected = self.put_in.iter().filter(is_correction).cloned();
        let account: Vec<SessionFact> = put_in.chain(ended).chain(corrected).collect();
        let (sums, broken) = self.checker.check_account(&account);
        self.violations.extend(broken.iter().map(ToString::to_string));
        if sums.free() != i128::from(self.session.free().get()) {
            self.violate(format!(
                "the session says that {} are free, the checker {}",
                self.session.free(),
                sums.free()
            ));
        }
    }

    /// Later truth: what a lost attempt was charged above its true cost is the session's again.
    fn correct(&mut self) {
        let holds = self.store.all().iter().filter_map(|stored| {
            let Fact::Asked { id, hold, .. } = &stored.fact else { return None };
            Some(((&stored.contract, *id), hold.money))
        });
        let holds: BTreeMap<_, _> = holds.collect();
        let credits = self.store.all().iter().filter_map(|stored| {
            let Fact::Answered { id, answer: Answer::Lost, cost: Cost::Unknown } = &stored.fact else { return None };
            let ask = AskKey { contract: stored.contract.clone(), ask: *id };
            let (Input::Answer { cost, .. } | Input::Reply { cost, .. }) = self.performed.get(&ask)? else {
                return None;
            };
            let hold = holds[&(&stored.contract, *id)];
            Some(SessionFact::Corrected { ask, credit: hold.minus(cost.within(hold))? })
        });
        for corrected in credits.collect::<Vec<_>>() {
            // Twice, since later truth may come twice, too.
            if !self.put_in(corrected.clone()) || !self.put_in(corrected) {
                self.violate("the session's account does not take a correction".to_owned());
            }
        }
    }

    /// Every amount on the bill is the world's own figure, or a lost or aborted attempt marked as such.
    fn check_bill(&mut self) {
        for stored in self.store.all() {
            let Fact::Answered { id, answer, cost } = &stored.fact else { continue };
            let key = AskKey { contract: stored.contract.clone(), ask: *id };
            let (Some(Input::Answer { cost: true_cost, .. } | Input::Reply { cost: true_cost, .. }), false) =
                (self.performed.get(&key), matches!(answer, Answer::Lost | Answer::Aborted))
            else {
                continue;
            };
            if cost != true_cost {
                self.violations.push(format!("the bill says {cost:?} for {key}, the world {true_cost:?}"));
            }
        }
    }
}

fn asked_key(stored: &Stored) -> Option<AskKey> {
    match &stored.fact {
        Fact::Asked { id, .. } => Some(AskKey { contract: stored.contract.clone(), ask: *id }),
        Fact::Opened(_)
        | Fact::Answered { .. }
        | Fact::Refused { .. }
        | Fact::Raised { .. }
        | Fact::Heard { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => None,
    }
}
