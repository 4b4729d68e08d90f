//! The checker: it reads a journal fact by fact. For each fact it checks only the fact's contract and its link to its
//! hirer.

use guildhall_kernel::{FORMAT, Fact, Millis, Nudge, Stored};

use crate::batch::{Batch, Duty};
use crate::calls::{self, Wait};
use crate::contract::{Contract, Tree};
use crate::refusals::Refused;
use crate::row::Waiting;
use crate::violation::{Found, Law, Violation};
use crate::{answers, asks, closing, draws, opening, queue, refusals, sizes, stimuli};

/// Checks the journal of one session.
#[derive(Default)]
pub struct Checker {
    pub(crate) tree: Tree,
    pub(crate) batch: Option<Batch>,
    pub(crate) seq: u64,
    at: Millis,
}

/// The check of one fact: its contract, its batch, and the violations found.
pub(crate) struct Step<'a, 'b> {
    pub(crate) tree: &'a mut Tree,
    pub(crate) batch: &'a mut Batch,
    pub(crate) me: usize,
    pub(crate) at: Millis,
    pub(crate) found: &'a mut Found<'b>,
}

impl Checker {
    /// Begins with an empty journal.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// Takes one stored fact and returns every law that it breaks. A fact that is missing in a batch is found with the
    /// first fact after the batch, or by [`Checker::at_rest`].
    pub fn observe(&mut self, stored: &Stored) -> Vec<Violation> {
        let mut found = Found::at(&stored.contract, stored.seq);
        self.end_batch_before(stored, &mut found);
        self.check_order(stored, &mut found);
        let Some(me) = self.contract_of(stored, &mut found) else { return found.into_list() };
        let Checker { tree, batch, .. } = self;
        let batch = batch.get_or_insert_with(|| Batch::new(me, stored));
        batch.check_cause(stored, &mut found);
        batch.seq = stored.seq;
        if tree.contracts[me].is_closed() {
            found.broken(Law::Closing, format_args!("a closed contract has one more fact"));
        } else {
            fold(&mut Step { tree, batch, me, at: stored.at, found: &mut found }, &stored.fact);
        }
        if batch.facts == 0 {
            batch.shares.begin(&tree.contracts[me]);
        }
        batch.facts += 1;
        let contract = &mut tree.contracts[me];
        contract.facts = contract.facts.saturating_add(1);
        check_accounts(contract, &mut found);
        found.into_list()
    }

    fn end_batch_before(&mut self, stored: &Stored, found: &mut Found<'_>) {
        if self.batch.as_ref().is_none_or(|batch| batch.contains(&self.tree, stored)) {
            return;
        }
        if let Some(batch) = self.batch.take() {
            found.add(self.missing(&batch));
        }
    }

    /// Returns what is missing in a batch that has ended.
    pub(crate) fn missing(&self, batch: &Batch) -> Vec<Violation> {
        let mut found = Found::at(self.tree.contracts[batch.contract].path(), batch.seq);
        batch.check_over(&self.tree, &mut found);
        found.into_list()
    }

    fn check_order(&mut self, stored: &Stored, found: &mut Found<'_>) {
        let (due, at) = (self.seq.saturating_add(1), self.at);
        found.demand(stored.seq == due, Law::Replay, format_args!("the next fact must have number {due}"));
        found.demand(stored.at >= at, Law::Replay, format_args!("time goes back from {at} to {}", stored.at));
        let form = stored.v;
        found.demand(form == FORMAT, Law::Replay, format_args!("form {form} is unknown"));
        self.seq = stored.seq;
        self.at = at.max(stored.at);
    }

    /// Finds the contract of a fact; the first fact creates it.
    fn contract_of(&mut self, stored: &Stored, found: &mut Found<'_>) -> Option<usize> {
        let newest = self.batch.as_ref().map(|batch| batch.contract);
        let known = newest.or_else(|| self.tree.find(&stored.contract));
        match (&stored.fact, known) {
            (Fact::Opened(brief), None) => Some(opening::opened(&mut self.tree, stored, brief, found)),
            (_, Some(me)) => Some(me),
            (_, None) => {
                found.broken(Law::Replay, format_args!("the contract has a fact before it was opened"));
                None
            }
        }
    }
}

fn fold(step: &mut Step<'_, '_>, fact: &Fact) {
    let Step { tree, me, at, .. } = step;
    let contract = &mut tree.contracts[*me];
    draws::check_next(step.batch, contract, fact, step.found);
    match fact {
        Fact::Opened(_) => {
            step.found.demand(contract.facts == 0, Law::Replay, format_args!("a contract is opened twice"));
        }
        Fact::Asked { id, ask, hold, origin } => asks::asked(step, *id, ask, *hold, *origin),
        Fact::Answered { id, answer, cost } => answers::answered(step, *id, answer, *cost),
        Fact::Queued { origin, ordinal, offer, context } => {
            let waiting = Waiting { origin: *origin, offer: offer.clone(), context: context.clone() };
            queue::queued(step, *ordinal, &waiting);
        }
        Fact::Refused { why, origin, bytes, agent, ordinal } => {
            let (agent, ordinal) = (agent.as_ref(), *ordinal);
            refusals::refused(step, Refused { why, origin: *origin, bytes: *bytes, agent, ordinal });
        }
        Fact::Raised { hire, by, draw } => stimuli::raised(step, *hire, *by, *draw),
        Fact::Heard { from, stimulus } => stimuli::heard(step, from, stimulus),
        Fact::Waiting { call, on, need, until } => {
            step.batch.must(Duty::WakeWaiting);
            calls::waiting(contract, *call, Wait::new(on, *need, *until), step.found);
        }
        Fact::Woke { pause, why } => calls::woke(contract, *pause, *why, *at, step.found),
        Fact::Nudged(nudge) => nudged(contract, *nudge, step.found),
        Fact::Compacted { upto, bytes } => {
            compacted(contract, *upto, *bytes, step.found);
            contract.repeats.restart();
            step.batch.shares.shorten(contract);
        }
        Fact::Closing(outcome) => closing::closing(step, *outcome),
        Fact::Closed(report) => closing::closed(step, report),
    }
}

fn nudged(contract: &mut Contract, nudge: Nudge, found: &mut Found<'_>) {
    let first = !contract.nudged.contains(&nudge);
    found.demand(first, Law::Replay, format_args!("the agent got the nudge {nudge:?} twice"));
    let waits = contract.draft.is_continued();
    found.demand(!waits, Law::Reports, format_args!("the agent got a nudge, but its reply waits for its continuation"));
    if nudge == Nudge::ConfirmReport {
        contract.to_confirm = contract.draft.words;
    }
    contract.nudged.push(nudge);
    contract.is_nudged = true;
}

fn compacted(contract: &mut Contract, upto: u32, bytes: u64, found: &mut Found<'_>) {
    let (before, shown) = (contract.compacted, contract.request.map_or(0, |request| request.upto));
    found.demand(upto > before, Law::Replay, format_args!("compacts up to {upto} after {before}"));
    found.demand(upto <= shown, Law::Replay, format_args!("compacts up to {upto}, but only {shown} facts were shown"));
    contract.compacted = before.max(upto);
    // The agent layer decides how short a view is; texts that came after the request count in full.
    let said = contract.said.map_or(0, |said| sizes::of_own(said.size));
    contract.shown = bytes.saturating_add(said);
}

fn check_accounts(contract: &mut Contract, found: &mut Found<'_>) {
    let Contract { money, heads, noted, .. } = contract;
    if *noted || money.is_sound() && heads.is_sound() {
        return;
    }
    *noted = true;
    found.broken(Law::Purse, format_args!("the purse does not add up: {money:?}, heads {heads:?}"));
}
