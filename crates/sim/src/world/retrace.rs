//! The same inputs in the same order, through the engine and with crashes in between. Where every effect can be attached to
//! again by its key, the facts must come out the same, and with them reports and balances.

use guildhall_kernel::{Addressee, Answer, Ask, AskKey, Input, Sender, SessionFact};

use super::{Event, Logged, World};
use crate::chance::Chance;
use crate::scenario::{Faults, Scenario};

const CRASHES_MAX: u32 = 4;

impl World {
    /// Runs a log again in a world of its own. Says what came out differently.
    pub(crate) fn retrace(&self, log: &[Logged], chance: Chance) -> (Result<(), String>, Chance) {
        let scenario = Scenario { reattach: true, faults: Faults::default(), commands: 0, ..self.scenario.clone() };
        let mut again = World::new(scenario, chance);
        again.known.clone_from(&self.performed);
        for fact in self.put_in.iter().filter(|fact| matches!(fact, SessionFact::Funded { root: Some(_), .. })) {
            again.put_in(fact.clone());
        }
        let told = again.follow(log);
        let same = again.store.all().iter().map(|stored| (&stored.contract, &stored.fact));
        let same = same.eq(self.store.all().iter().map(|stored| (&stored.contract, &stored.fact)));
        let outcome = match (told, again.violations.first()) {
            (Err(why), _) => Err(why),
            (Ok(()), Some(broken)) => Err(broken.clone()),
            (Ok(()), None) if !same => Err("the facts are not the same".to_owned()),
            (Ok(()), None) => Ok(()),
        };
        (outcome, again.chance)
    }

    fn follow(&mut self, log: &[Logged]) -> Result<(), String> {
        // How many facts there were before each event, so that a crash shows which of them come again.
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

    /// Lets the engine do what it did: an effect leaves when its fact is durable, and its answer lands.
    fn redo(&mut self, logged: &Logged) -> Result<(), String> {
        let Logged { contract, what, .. } = logged;
        match what {
            Event::Opened(brief) if brief.path.level() == 0 => self.open(brief),
            Event::Opened(brief) => {
                self.sync();
                let hires =
                    |key: &&AskKey| matches!(self.ask(key), Some(Ask::Hire { brief: other, .. }) if other == brief);
                let key = self.errands.iter().find(hires).cloned();
                self.errand(&key.ok_or_else(|| format!("nobody hires {contract}"))?);
            }
            Event::Input(Input::Stimulus { from: Sender::Contract(key), .. }) => {
                self.sync();
                self.errand(key);
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

    /// Runs a certain errand, if it is still to be run.
    fn errand(&mut self, key: &AskKey) {
        if let Some(at) = self.errands.iter().position(|other| other == key) {
            self.errands.swap(0, at);
            let errand = self.errands.swap_remove(0);
            self.perform_errand(errand);
        }
    }

    fn answer_again(&mut self, key: &AskKey, input: &Input) -> Result<(), String> {
        // What a person answers is nobody's to attach to.
        if matches!(self.ask(key), Some(Ask::Question { to: Addressee::Owner, .. })) {
            self.step(&key.contract, input.clone());
            return Ok(());
        }
        let flying = |world: &World| world.flights.iter().position(|flight| flight.key == *key);
        if flying(self).is_none() {
            self.errand(key);
            if let Some(at) = self.leaves.iter().position(|other| other == key) {
                let leaf = self.leaves.swap_remove(at);
                self.perform_leaf(leaf);
            }
        }
        let brings = match flying(self) {
            Some(at) => {
                let flight = self.flights.swap_remove(at);
                self.permits_used -= usize::from(flight.permit);
                flight.brings
            }
            // The ask was closed before: a late answer.
            None => input.clone(),
        };
        // Whether a cancel or the answer comes first, and whether a hire had closed when it was told again, is the world's to say.
        let open_to_chance = |input: &Input| {
            matches!(input, Input::Answer { answer: Answer::Aborted | Answer::Delivered | Answer::Gone, .. })
        };
        if brings != *input && !open_to_chance(input) && !open_to_chance(&brings) {
            return Err(format!("{key} was attached to again, and brought another answer"));
        }
        self.step(&key.contract, input.clone());
        Ok(())
    }
}
