//! Replays the same inputs in the same order through the engine, with crashes in between. If every effect can be
//! attached to again by its key, the facts must be the same, and so the reports and balances.

use guildhall_kernel::{Addressee, Answer, Ask, AskKey, Input, Sender, SessionFact};

use super::{Event, Logged, World};
use crate::chance::Chance;
use crate::scenario::{Faults, Scenario};

const CRASHES_MAX: u32 = 4;

impl World {
    /// Replays a log in a new world. Returns the difference, if there is one.
    pub(crate) fn replay(&self, log: &[Logged], chance: Chance) -> (Result<(), String>, Chance) {
        let scenario = Scenario { reattach: true, faults: Faults::default(), commands: 0, ..self.scenario.clone() };
        let mut again = World::new(scenario, chance);
        again.known.clone_from(&self.performed);
        for fact in self.account_facts.iter().filter(|fact| matches!(fact, SessionFact::Funded { root: Some(_), .. })) {
            again.add_to_account(fact.clone());
        }
        let followed = again.follow(log);
        let same = again.store.all().iter().map(|stored| (&stored.contract, &stored.fact));
        let same = same.eq(self.store.all().iter().map(|stored| (&stored.contract, &stored.fact)));
        let outcome = match (followed, again.violations.first()) {
            (Err(why), _) => Err(why),
            (Ok(()), Some(broken)) => Err(broken.clone()),
            (Ok(()), None) if !same => Err("the facts are not the same".to_owned()),
            (Ok(()), None) => Ok(()),
        };
        (outcome, again.chance)
    }

    fn follow(&mut self, log: &[Logged]) -> Result<(), String> {
        // The number of facts before each event, to find the events that must be replayed after a crash.
        let mut before = Vec::with_capacity(log.len());
        let (mut at, mut crashes) = (0, 0);
        while at < log.len() {
            if crashes < CRASHES_MAX && self.chance.one_in(10) {
                crashes += 1;
                self.crash();
                at = before.partition_point(|facts| *facts < self.store.all().len()).min(at);
                before.truncate(at);
            }
            before.push(self.store.all().len());
            self.now = self.now.max(log[at].now);
            self.redo(&log[at])?;
            at += 1;
        }
        Ok(())
    }

    /// Lets the engine repeat one event: an ask is performed after its fact is durable, and its answer is delivered.
    fn redo(&mut self, logged: &Logged) -> Result<(), String> {
        let Logged { contract, what, .. } = logged;
        match what {
            Event::Opened(brief) if brief.path.level() == 0 => self.open(brief),
            Event::Opened(brief) => {
                self.sync();
                let hires =
                    |key: &&AskKey| matches!(self.ask(key), Some(Ask::Hire { brief: other, .. }) if other == brief);
                let key = self.other_asks.iter().find(hires).cloned();
                self.perform_now(&key.ok_or_else(|| format!("no contract hires {contract}"))?);
            }
            Event::Input(Input::Stimulus { from: Sender::Contract(key), .. }) => {
                self.sync();
                self.perform_now(key);
            }
            Event::Input(input @ (Input::Answer { id, .. } | Input::Reply { id, .. })) => {
                self.sync();
                let key = AskKey { contract: contract.clone(), ask: *id };
                self.answer_again(&key, input)?;
            }
            Event::Input(input @ (Input::Stimulus { from: Sender::Owner { .. }, .. } | Input::Tick)) => {
                self.step(contract, input.clone());
            }
        }
        Ok(())
    }

    /// Performs an ask that needs no permit, if it is not performed yet.
    fn perform_now(&mut self, key: &AskKey) {
        if let Some(at) = self.other_asks.iter().position(|other| other == key) {
            self.other_asks.swap(0, at);
            let ask = self.other_asks.swap_remove(0);
            self.perform_other_ask(ask);
        }
    }

    fn answer_again(&mut self, key: &AskKey, input: &Input) -> Result<(), String> {
        // An engine can't attach to a person's answer.
        if matches!(self.ask(key), Some(Ask::Question { to: Addressee::Owner, .. })) {
            self.step(&key.contract, input.clone());
            return Ok(());
        }
        let is_pending = |world: &World| world.pending.iter().position(|pending| pending.key == *key);
        if is_pending(self).is_none() {
            self.perform_now(key);
            if let Some(at) = self.leaves.iter().position(|other| other == key) {
                let leaf = self.leaves.swap_remove(at);
                self.perform_leaf(leaf);
            }
        }
        let response = match is_pending(self) {
            Some(at) => {
                let pending = self.pending.swap_remove(at);
                self.permits_used -= usize::from(pending.permit);
                pending.response
            }
            // The ask was answered before: this is a late answer.
            None => input.clone(),
        };
        // It may differ whether a cancel or the answer comes first, and whether a hire had closed when a stimulus was
        // delivered again.
        let may_differ = |input: &Input| {
            matches!(input, Input::Answer { answer: Answer::Aborted | Answer::Delivered | Answer::Gone, .. })
        };
        if response != *input && !may_differ(input) && !may_differ(&response) {
            return Err(format!("{key} was attached to again, but the answer is different"));
        }
        self.step(&key.contract, input.clone());
        Ok(())
    }
}
