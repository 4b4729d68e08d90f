//! The laws for an engine that can't be checked from facts alone.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{Answer, Ask, AskKey, Cost, Effect, Fact, Input, Msat, Quantity, Report, SessionFact, Stored};

use super::World;
use super::recovery::restore;

impl World {
    /// Law 2: no ask is performed before its fact is durable.
    pub(super) fn check_performed(&mut self) {
        let asked: BTreeSet<AskKey> = self.store.all().iter().filter_map(asked_key).collect();
        if let Some(key) = self.performed.keys().find(|key| !asked.contains(key)) {
            self.violations.push(format!("law 2: {key} was performed before its fact was durable"));
        }
    }

    /// Law 10: a call that may have happened must not be made again, unless the provider recognises its key.
    pub(super) fn check_repeated(&mut self, key: &AskKey) {
        let must_not_repeat = match self.ask(key) {
            Some(Ask::Model(_)) => true,
            Some(Ask::Tool(call)) => call.effect == Effect::Once,
            Some(Ask::Check(_) | Ask::Hire { .. } | Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. })
            | None => false,
        };
        if must_not_repeat && !self.scenario.reattach {
            self.violate(format!("law 10: {key} was performed twice"));
        }
    }

    /// Law 10: a contract that is restored from its facts equals the original contract.
    pub(crate) fn check_restored(&mut self) {
        if !self.store.is_synced() {
            return;
        }
        let (restored, corrupt) = restore(&self.store);
        self.violations.extend(corrupt);
        if let Some((path, _)) = restored.iter().find(|(path, contract)| self.contracts.get(*path) != Some(contract)) {
            self.violations.push(format!("law 10: {path} restored from its facts differs from the original contract"));
        }
    }

    /// Checks the laws between steps.
    pub(crate) fn check_rest(&mut self) {
        self.violations.extend(self.checker.at_rest().iter().map(ToString::to_string));
    }

    /// Checks the laws when no work is left.
    pub(crate) fn check_end(&mut self) {
        self.violations.extend(self.checker.at_end().iter().map(ToString::to_string));
        if self.waits_for_permit() {
            self.violations.push("law 8: a leaf call waits for a permit, but no call will release one".to_owned());
        }
        if let Some((path, _)) = self.contracts.iter().find(|(_, contract)| contract.report().is_none()) {
            self.violations.push(format!("law 8: no work is left, but {path} is not closed"));
        }
        self.check_bill();
        self.correct();
        self.return_rest();
        self.check_account();
    }

    /// Checks the session's account, as an engine would store it, against the contracts' facts.
    fn check_account(&mut self) {
        let is_correction =
            |fact: &&SessionFact| matches!(fact, SessionFact::Corrected { .. } | SessionFact::Returned { .. });
        let funded = self.account_facts.iter().filter(|fact| !is_correction(fact)).cloned();
        let ended = self.contracts.iter().filter(|(path, _)| path.level() == 0).filter_map(|(path, contract)| {
            let Report { spent, reserved, estimated, .. } = *contract.report()?;
            Some(SessionFact::Ended { root: path.clone(), spent, reserved, estimated })
        });
        let corrected = self.account_facts.iter().filter(is_correction).cloned();
        let account: Vec<SessionFact> = funded.chain(ended).chain(corrected).collect();
        let (sums, broken) = self.checker.check_account(&account);
        self.violations.extend(broken.iter().map(ToString::to_string));
        if sums.free() != i128::from(self.session.free().get()) {
            self.violate(format!(
                "the session has {} left, but the checker computes {} msat",
                self.session.free(),
                sums.free()
            ));
        }
    }

    /// Corrects lost calls: the charge above the true cost goes back to the session.
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
            // Twice, because a correction may come twice.
            if !self.add_to_account(corrected.clone()) || !self.add_to_account(corrected) {
                self.violate("the session's account refuses a correction".to_owned());
            }
        }
    }

    /// Gives half of the money that is left back to the person, and tries to give back more than there is.
    fn return_rest(&mut self) {
        let free = self.session.free();
        let returned = |msat: u64| SessionFact::Returned { money: Msat::capped(u128::from(msat)) };
        if !self.add_to_account(returned(free.get() / 2)) {
            self.violate("the session's account refuses to give back free money".to_owned());
        }
        if self.add_to_account(returned(free.get() + 1)) {
            self.violate("the session's account gives back more than it has".to_owned());
        }
    }

    /// Checks that every stored cost is the true cost, except for lost and aborted calls.
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
                self.violations
                    .push(format!("the stored cost of {key} is {cost:?}, but the true cost is {true_cost:?}"));
            }
        }
    }
}

fn asked_key(stored: &Stored) -> Option<AskKey> {
    match &stored.fact {
        Fact::Asked { id, .. } => Some(AskKey { contract: stored.contract.clone(), ask: *id }),
        Fact::Opened(_)
        | Fact::Answered { .. }
        | Fact::Queued { .. }
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
