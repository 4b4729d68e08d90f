//! The checker itself: it follows a journal fact by fact and looks at the touched contract and its edge only.

use guildhall_kernel::{FORMATS, Fact, Millis, Nudge, Stored};

use crate::batch::{Batch, Duty};
use crate::calls::{self, Call};
use crate::contract::{Contract, Tree};
use crate::form::Form;
use crate::violation::{Found, Law, Violation};
use crate::{answers, asks, closing, opening, refusals, stimuli};

/// Follows the journal of one session and says what it breaks.
#[derive(Default)]
pub struct Checker {
    pub(crate) tree: Tree,
    pub(crate) batch: Option<Batch>,
    pub(crate) seq: u64,
    at: Millis,
    version: u16,
}

/// One fact being looked at: whose it is, in which batch, and what is found.
pub(crate) struct Step<'a, 'b> {
    pub(crate) tree: &'a mut Tree,
    pub(crate) batch: &'a mut Batch,
    pub(crate) me: usize,
    pub(crate) at: Millis,
    pub(crate) form: Form,
    pub(crate) found: &'a mut Found<'b>,
}

impl Checker {
    /// Begins with an empty journal.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// Folds one stored fact and returns every law that it breaks. What a batch lacks is found with the first fact
    /// after it, or at rest.
    pub fn observe(&mut self, stored: &Stored) -> Vec<Violation> {
        let mut found = Found::at(&stored.contract, stored.seq);
        self.end_batch_before(stored, &mut found);
        self.check_order(stored, &mut found);
        let Some(me) = self.whose(stored, &mut found) else { return found.into_list() };
        let Checker { tree, batch, .. } = self;
        let batch = batch.get_or_insert_with(|| Batch::new(me, stored));
        batch.check_cause(stored, &mut found);
        batch.seq = stored.seq;
        if tree.contracts[me].is_closed() {
            found.broken(Law::Closing, format_args!("a closed contract has one more fact"));
        } else {
            let form = Form::of(stored.v);
            fold(&mut Step { tree, batch, me, at: stored.at, form, found: &mut found }, &stored.fact);
        }
        batch.facts += 1;
        let contract = &mut tree.contracts[me];
        contract.facts = contract.facts.saturating_add(1);
        check_accounts(contract, &mut found);
        found.into_list()
    }

    fn end_batch_before(&mut self, stored: &Stored, found: &mut Found<'_>) {
        if self.batch.as_ref().is_none_or(|batch| batch.goes_on(&self.tree, stored)) {
            return;
        }
        if let Some(batch) = self.batch.take() {
            found.add(self.missing(&batch));
        }
    }

    /// What a batch that is over lacks.
    pub(crate) fn missing(&self, batch: &Batch) -> Vec<Violation> {
        let mut found = Found::at(self.tree.contracts[batch.contract].path(), batch.seq);
        batch.check_over(&self.tree, &mut found);
        found.into_list()
    }

    fn check_order(&mut self, stored: &Stored, found: &mut Found<'_>) {
        let (due, at) = (self.seq.saturating_add(1), self.at);
        found.demand(stored.seq == due, Law::Replay, format_args!("this is no fact {due}, which is due"));
        found.demand(stored.at >= at, Law::Replay, format_args!("time goes back from {at} to {}", stored.at));
        let (form, before) = (stored.v, self.version);
        found.demand(FORMATS.contains(&form), Law::Replay, format_args!("form {form} is not known"));
        found.demand(form >= before, Law::Replay, format_args!("form {form} after form {before}, which is newer"));
        self.version = before.max(form);
        self.seq = stored.seq;
        self.at = at.max(stored.at);
    }

    /// Finds the contract of a fact; the first fact makes it.
    fn whose(&mut self, stored: &Stored, found: &mut Found<'_>) -> Option<usize> {
        let newest = self.batch.as_ref().map(|batch| batch.contract);
        let known = newest.or_else(|| self.tree.find(&stored.contract));
        match (&stored.fact, known) {
            (Fact::Opened(brief), None) => Some(opening::opened(&mut self.tree, stored, brief, found)),
            (_, Some(me)) => Some(me),
            (_, None) => {
                found.broken(Law::Replay, format_args!("a contract has facts before it was opened"));
                None
            }
        }
    }
}

fn fold(step: &mut Step<'_, '_>, fact: &Fact) {
    let Step { tree, me, at, form, .. } = step;
    let contract = &mut tree.contracts[*me];
    match fact {
        Fact::Opened(_) => {
            step.found.demand(contract.facts == 0, Law::Replay, format_args!("a contract is opened twice"));
        }
        Fact::Asked { id, ask, hold, origin } => asks::asked(step, *id, ask, *hold, *origin),
        Fact::Answered { id, answer, cost } => answers::answered(step, *id, answer, *cost),
        Fact::Refused { why, origin, bytes } => refusals::refused(step, why, *origin, *bytes),
        Fact::Raised { hire, by } => stimuli::raised(step, *hire, *by),
        Fact::Heard { from, stimulus } => stimuli::heard(step, from, stimulus),
        Fact::Waiting { call, on, need, until } => {
            step.batch.must(Duty::WakeWaiting);
            let wait = Call::Waiting { on: on.clone(), need: *need, until: *until };
            calls::waiting(contract, *call, wait, *form, step.found);
        }
        Fact::Woke { pause, why } => calls::woke(contract, *pause, *why, *at, step.found),
        Fact::Nudged(nudge) => nudged(contract, *nudge, step.found),
        Fact::Compacted { upto, bytes } => {
            compacted(contract, *upto, *bytes, step.found);
            if let Some(shares) = &mut step.batch.shares {
                shares.shorten(contract);
            }
        }
        Fact::Closing(outcome) => closing::closing(step, *outcome),
        Fact::Closed(report) => closing::closed(step, report),
    }
}

fn nudged(contract: &mut Contract, nudge: Nudge, found: &mut Found<'_>) {
    let first = !contract.nudged.contains(&nudge);
    found.demand(first, Law::Replay, format_args!("the agent was nudged twice about {nudge:?}"));
    contract.nudged.push(nudge);
}

fn compacted(contract: &mut Contract, upto: u32, bytes: u64, found: &mut Found<'_>) {
    let (before, shown) = (contract.compacted, contract.request.map_or(0, |request| request.upto));
    found.demand(upto > before, Law::Replay, format_args!("compacted up to {upto} after {before}"));
    found.demand(upto <= shown, Law::Replay, format_args!("compacted up to {upto}, but only {shown} were shown"));
    contract.compacted = before.max(upto);
    // How short a view can be is the agent layer's to say; what came after the request counts in full.
    let said = contract.said.map_or(0, |said| u64::from(said.reply.bytes));
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
