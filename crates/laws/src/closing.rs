//! How a contract ends: for a true reason, without open asks, and with a report that adds up.

use guildhall_kernel::{Acceptance, LAST_OUTPUT_TOKENS, LAST_TOKENS_MIN, Limit, Outcome, Report, Wording};

use crate::batch::Duty;
use crate::checker::Step;
use crate::contract::{Contract, Ending, Phase, Verdict};
use crate::deadlines;
use crate::parts::{self, Parts};
use crate::purse::{last_least, wide};
use crate::violation::{Found, Law};
use crate::{draft, scarce};

/// The contract begins to close.
pub(crate) fn closing(step: &mut Step<'_, '_>, outcome: Outcome) {
    let at = step.at;
    let contract = &mut step.tree.contracts[step.me];
    let once = match (&contract.phase, outcome) {
        // An idle conversation that is asked to end.
        (Phase::Working, Outcome::Done) => contract.is_idle() && contract.ending == Ending::WrapUp,
        (Phase::Working, Outcome::Exhausted(_) | Outcome::Failed | Outcome::Cancelled)
        | (Phase::Closing(Outcome::Exhausted(_) | Outcome::Failed | Outcome::Done), Outcome::Cancelled) => true,
        (Phase::Closing(_) | Phase::Closed(_), _) => false,
    };
    step.found.demand(once, Law::Closing, format_args!("begins to close as {outcome:?}, which can't follow now"));
    let brief = &contract.brief;
    let happened = match outcome {
        Outcome::Done | Outcome::Failed => true,
        Outcome::Exhausted(Limit::Purse) => scarce::is_dry(contract, step.batch),
        Outcome::Exhausted(Limit::Length) => draft::is_too_long(contract),
        Outcome::Cancelled => contract.ending == Ending::Cancel,
        Outcome::Exhausted(Limit::Asked) => contract.ending >= Ending::WrapUp,
        Outcome::Exhausted(Limit::Turns) => contract.requests >= brief.turns_max,
        Outcome::Exhausted(Limit::Deadline) => deadlines::is_near(&brief.grant, at),
    };
    step.found.demand(happened, Law::Closing, format_args!("begins to close as {outcome:?} without a reason"));
    contract.phase = Phase::Closing(outcome);
    step.batch.must(Duty::SendEnding);
}

/// The contract closed.
pub(crate) fn closed(step: &mut Step<'_, '_>, report: &Report) {
    let Step { tree, me, found, .. } = step;
    let contract = &mut tree.contracts[*me];
    let open = contract.open;
    found.demand(open == 0, Law::Closing, format_args!("closes while {open} asks are open"));
    let waits = contract.row.waiting.len();
    found.demand(waits == 0, Law::Closing, format_args!("closes while {waits} of its hires wait for money"));
    let due = match contract.phase {
        Phase::Working => Outcome::Done,
        Phase::Closing(outcome) => outcome,
        Phase::Closed(ref report) => report.outcome,
    };
    found.demand(report.outcome == due, Law::Closing, format_args!("ends as {:?}, not {due:?}", report.outcome));
    check_text(contract, report, found);
    check_acceptance(contract, report, found);
    draft::check_report(contract, report, found);
    check_last(contract, report, found);
    check_lists(contract, report, found);
    check_figures(contract, report, found);
    parts::check_closed(contract, report, found);
    contract.money.release(contract.severance + wide(contract.brief.fee));
    contract.severance = 0;
    let fee = wide(report.fee);
    contract.money.hold(fee);
    contract.money.settle(fee, fee);
    contract.phase = Phase::Closed(Box::new(report.clone()));
    tree.spend(*me, Parts::used(fee).into());
}

fn check_text(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let done = report.outcome == Outcome::Done;
    match report.text {
        Wording::Final(text) => {
            let newest =
                contract.said.is_some_and(|said| !said.confirms && (said.reply == text || said.output == Some(text)));
            let said = newest || contract.draft.words == Some(text);
            found.demand(said, Law::Reports, format_args!("the final text is not the agent's newest text"));
            let output = contract.output;
            found.demand(
                report.output == output,
                Law::Reports,
                format_args!("has the output {:?}, but its text has {output:?}", report.output),
            );
            let calls = contract.said.map_or(0, |said| said.calls);
            found.demand(
                !done || calls == 0,
                Law::Reports,
                format_args!("is done with a reply that makes {calls} calls"),
            );
        }
        Wording::Assembled(_) => {
            found.demand(!done, Law::Reports, format_args!("is done without a final text"));
        }
    }
}

fn check_acceptance(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    match report.acceptance {
        Acceptance::NotAccepted => {
            let earned = report.outcome == Outcome::Done && matches!(report.text, Wording::Final(_));
            let wrongly_rejected = earned && all_passed(contract);
            found.demand(
                !wrongly_rejected,
                Law::Reports,
                format_args!("is not accepted, although it is done and passed every check"),
            );
        }
        Acceptance::Accepted => {
            let own = matches!(report.text, Wording::Final(_));
            found.demand(own, Law::Reports, format_args!("is accepted without a final text"));
            let may = may_be_accepted(contract, report.outcome);
            found.demand(may, Law::Reports, format_args!("is accepted, but ended as {:?}", report.outcome));
            found.demand(all_passed(contract), Law::Reports, format_args!("is accepted without passing every check"));
        }
    }
    let (fee, due) = (wide(report.fee), fee_due(contract, report.acceptance));
    found.demand(fee == due, Law::Hires, format_args!("a fee of {fee} msat is paid, but {due} is due"));
}

/// Returns whether every check of the brief passed since the newest reply.
fn all_passed(contract: &Contract) -> bool {
    contract.brief.checks.iter().all(|check| {
        let mut of_it = contract.round.iter().filter(|(other, _)| other == check).map(|(_, verdict)| *verdict);
        of_it.next_back() == Some(Verdict::Passed)
    })
}

/// Returns whether a report with this outcome may be accepted.
fn may_be_accepted(contract: &Contract, outcome: Outcome) -> bool {
    match outcome {
        Outcome::Done => true,
        Outcome::Exhausted(_) => !contract.brief.checks.is_empty(),
        Outcome::Failed | Outcome::Cancelled => false,
    }
}

/// Returns the fee that a report pays.
fn fee_due(contract: &Contract, acceptance: Acceptance) -> i128 {
    match acceptance {
        Acceptance::Accepted => wide(contract.brief.fee),
        Acceptance::NotAccepted => 0,
    }
}

/// Checks that a contract that was stopped by a limit made a last request, if its severance could pay for one.
fn check_last(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let Outcome::Exhausted(limit) = report.outcome else { return };
    if matches!(report.text, Wording::Final(_)) || draft::is_report(contract, limit) {
        return;
    }
    let least = last_least(&contract.brief.tariff);
    let could = contract.money.available + contract.severance;
    let output = contract.brief.tariff.max_tokens.min(LAST_OUTPUT_TOKENS);
    let tokens_min = LAST_TOKENS_MIN + u64::from(output);
    let no_tokens = contract.last_tokens_max.is_some_and(|left| left < tokens_min);
    found.demand(
        contract.last.is_some() || could < least || no_tokens,
        Law::Severance,
        format_args!("closes without a last request, although {could} msat were left for one"),
    );
}

fn check_lists(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let (unheard, owed) = (&report.unheard, &contract.owed);
    found.demand(unheard == owed, Law::Reports, format_args!("lists {unheard:?} as unheard, but {owed:?} are owed"));
    let due = match report.text {
        Wording::Final(_) => contract.undone,
        Wording::Assembled(_) => None,
    };
    found.demand(
        report.undone == due,
        Law::Reports,
        format_args!("says that {:?} is undone, not {due:?}", report.undone),
    );
}

fn check_figures(contract: &Contract, report: &Report, found: &mut Found<'_>) {
    let (spent, due) = (wide(report.spent), contract.money.spent + wide(report.fee));
    found.demand(spent == due, Law::Hires, format_args!("reports {spent} msat spent, but {due} were spent"));
    let (change, due) = (wide(report.change), contract.money.granted - spent);
    found.demand(change == due, Law::Hires, format_args!("gives {change} msat back, but {due} are left"));
    let (heads, due) = (i128::from(report.heads.0), contract.heads.spent);
    found.demand(heads == due, Law::Purse, format_args!("reports {heads} heads, but {due} were used"));
}
