//! The figures of running work: the status line, the agents at work, and the cost so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use guildhall::Charges;
use guildhall::kernel::{Answer, Certainty, Cost, Msat, Path};

use super::{Kind, Live, words};
use crate::amount::{sats, sum};
use crate::bill::charges;
use crate::screen::width;

/// The figures of the newest root's status line.
pub(super) struct Tally {
    pub(super) since: Instant,
    pub(super) at_work: BTreeSet<Path>,
    /// The hires that wait for money and have not begun.
    pub(super) queued: BTreeSet<Path>,
    pub(super) charges: Charges,
    pub(super) budget: Msat,
}

impl Live {
    /// Adds what earlier roots of the same conversation have cost.
    pub(crate) fn after_roots(self, earlier: Charges) -> Live {
        Live { earlier, ..self }
    }

    /// Returns what all roots of the conversation have cost.
    pub(crate) fn charges(&self) -> Charges {
        self.earlier.and(self.tally.charges)
    }

    /// Describes the cost of a conversation that had several roots. The bill is that of the newest one.
    pub(crate) fn cost_of_all_roots(&self) -> Option<String> {
        (self.earlier.total() > Msat::ZERO).then(|| format!("the whole conversation: {}", self.cost()))
    }

    /// Returns the status line, in at most this many columns.
    pub(crate) fn status(&self, columns: usize) -> String {
        let Tally { since, at_work, charges: spent, budget, .. } = &self.tally;
        let (calls, held) = self.calls();
        words::status(&words::Status {
            elapsed: since.elapsed(),
            agents: at_work.len(),
            calls,
            spent: *spent,
            held,
            budget: *budget,
            paid_by: self.paid_by.clone(),
        })
        .into_iter()
        .find(|status| width(status) <= columns)
        .unwrap_or_else(|| sats(spent.total()))
    }

    /// Returns how many calls have no answer yet, and how much is held for them.
    pub(super) fn calls(&self) -> (usize, Msat) {
        let calls = self.asks.values().filter(|ask| ask.kind == Kind::Call);
        (calls.clone().count(), calls.fold(Msat::ZERO, |all, ask| sum(all, ask.hold)))
    }

    /// Returns the open contracts and the hires that have not begun, with their names and whether they wait for money.
    pub(crate) fn at_work(&self) -> Vec<String> {
        let drawing = self.asks.iter().filter(|(_, ask)| ask.kind == Kind::Draw).map(|((contract, _), _)| contract);
        let waiting: BTreeSet<&Path> = self.tally.queued.iter().chain(drawing).collect();
        let all: BTreeSet<&Path> = self.tally.at_work.iter().chain(&self.tally.queued).collect();
        let questions = self.asks.iter().filter(|(_, ask)| ask.kind == Kind::Question);
        let questions: BTreeMap<&Path, &str> =
            questions.map(|((contract, _), ask)| (contract, ask.what.as_str())).collect();
        let line = |contract: &Path| {
            let state = match questions.get(contract) {
                _ if waiting.contains(contract) => " waits for money".to_owned(),
                Some(question) => format!(" {question}"),
                None => String::new(),
            };
            format!("{contract} {}{state}", self.name(contract))
        };
        all.into_iter().map(line).collect()
    }

    /// Describes the cost of the conversation so far, and its budget.
    pub(crate) fn cost(&self) -> String {
        // The budget of the newest root is what the roots before it left.
        let budget = sum(self.tally.budget, self.earlier.total());
        let (_, held) = self.calls();
        let held = if held == Msat::ZERO { String::new() } else { format!(", held {} for calls", sats(held)) };
        let hires = self.asks.iter().filter(|((hirer, _), ask)| ask.kind == Kind::Hire && hirer.level() == 0);
        let granted = hires.fold(Msat::ZERO, |all, (_, ask)| sum(all, ask.hold));
        let granted = if granted == Msat::ZERO {
            String::new()
        } else {
            format!("; {} are granted to hires at work", sats(granted))
        };
        let (spent, budget, paid_by) = (charges(self.charges(), sats), sats(budget), &self.paid_by);
        format!("{spent}{held} of {budget} so far, {paid_by}{granted}")
    }

    /// Adds the cost of an answer to the tally. Returns a note about the part that stays reserved, if there is one.
    pub(super) fn count(&mut self, answer: &Answer, cost: Cost, hold: Msat) -> String {
        let charge = cost.within(hold);
        let Charges { used, estimated, reserved } = &mut self.tally.charges;
        let (part, is_reserved) = match cost.certainty(answer) {
            Certainty::Used => (used, false),
            Certainty::Estimated => (estimated, false),
            Certainty::Reserved => (reserved, true),
        };
        *part = sum(*part, charge);
        if is_reserved && charge > Msat::ZERO {
            format!("; {} stays reserved because the cost of the call is not known", sats(charge))
        } else {
            String::new()
        }
    }
}
