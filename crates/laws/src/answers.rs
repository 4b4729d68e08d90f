//! Answers: each ask has one answer of the right kind, which is charged at its cost and never above its hold.

use guildhall_kernel::{
    Answer, AskId, CallRef, Cause, CloseWhen, Cost, LAST_OUTPUT_TOKENS, Matter, NOTICE_BYTES_MAX, Origin, Outcome,
    Path, Report, Said, Stimulus, Undone,
};

use crate::batch::Duty;
use crate::calls::Call;
use crate::checker::Step;
use crate::contract::{Asked, Contract, Heard, Kind, Phase, State, Tree, Verdict};
use crate::parts::{self, Parts, Spending, TokenSum};
use crate::purse::{charge, wide};
use crate::violation::{Found, Law};
use crate::{draft, draws, sizes};

/// An ask was answered.
pub(crate) fn answered(step: &mut Step<'_, '_>, id: AskId, answer: &Answer, cost: Cost) {
    let contract = &step.tree.contracts[step.me];
    let Some(asked) = contract.ask(id) else {
        return step.found.broken(Law::Holds, format_args!("{id} was never asked"));
    };
    let State::Open { money, heads } = asked.state else {
        return step.found.broken(Law::Holds, format_args!("{id} is settled a second time"));
    };
    let name = asked.kind.name();
    let fits = answers(&asked.kind, answer);
    step.found.demand(fits, Law::Holds, format_args!("{id} ({name}) has an answer of the wrong kind"));
    let by_itself = !matches!(step.batch.cause, Cause::Answer(_));
    // A question ends with its time limit; a draw ends with what the contract hears.
    let silent = matches!(asked.kind, Kind::Question { .. } | Kind::Draw { .. });
    step.found.demand(
        !by_itself || silent,
        Law::Replay,
        format_args!("{id} ({name}) is answered without an answer from the world"),
    );
    if matches!(answer, Answer::Aborted) {
        let cancelled = matches!(contract.phase, Phase::Closing(Outcome::Cancelled));
        step.found.demand(cancelled, Law::Closing, format_args!("{id} is aborted, but the contract was not cancelled"));
    }
    check_usage(id, answer, cost, step.found);
    let payer = check_world(step.tree, asked, answer, cost, step.found);
    let (origin, charged) = (asked.origin, (charge(cost, money), heads_used(answer, heads, step.found)));
    let paid = parts_of(&asked.kind, answer, cost, charged.0);
    let contract = &mut step.tree.contracts[step.me];
    contract.money.settle(money, charged.0);
    contract.heads.settle(heads, charged.1);
    if contract.last == Some(id) {
        // The unspent part of the severance is held again: it must not pay for anything else.
        contract.severance = (money - charged.0).min(wide(contract.brief.severance));
        contract.money.hold(contract.severance);
        if charged.0 == 0 && !matches!(answer, Answer::Said(_)) && !fits_tokens_left(contract) {
            contract.last = None;
        }
    }
    contract.settle_ask(id, State::Settled { paid, heads: charged.1 });
    if matches!(answer, Answer::Report(_)) {
        contract.repeats.restart();
    } else if contract.repeats.answered(id, answer) {
        shown(contract, NOTICE_BYTES_MAX);
    }
    if payer == Payer::Itself {
        step.tree.spend(step.me, Spending { parts: paid, tokens: tokens_of(answer) });
    }
    let size = size_of(&step.tree.contracts[step.me], id, answer);
    follow(step, id, answer, cost);
    shown(&mut step.tree.contracts[step.me], size);
    if let Origin::Call(call) = origin {
        resolve(step, call, answer);
    }
}

/// Whether the last request fits into the tokens that are left, if they are limited. One that does not fit is not sent, and a smaller
/// one may follow.
fn fits_tokens_left(contract: &Contract) -> bool {
    let output = contract.brief.tariff.max_tokens.min(LAST_OUTPUT_TOKENS);
    let needed = contract.request.map_or(0, |request| request.tokens).saturating_add(output.into());
    contract.last_tokens_max.is_none_or(|left| needed <= left)
}

/// The contract that spent the cost of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payer {
    /// The contract itself: its own calls, and hires that have no facts in this journal.
    Itself,
    /// A hire that has facts in this journal.
    Hire,
}

/// Returns the parts of the charge for an answer.
fn parts_of(kind: &Kind, answer: &Answer, cost: Cost, charge: i128) -> Parts {
    match (kind, answer) {
        (Kind::Model { .. } | Kind::Tool | Kind::Check(_), _) => Parts::of_leaf(answer, cost, charge),
        (Kind::Hire(_), Answer::Report(report)) => Parts::of_report(report, charge),
        // The ask holds nothing, or its answer is of the wrong kind, which was reported before.
        (Kind::Hire(_) | Kind::Question { .. } | Kind::Draw { .. } | Kind::Tell { .. }, _) => Parts::used(charge),
    }
}

fn tokens_of(answer: &Answer) -> TokenSum {
    if let Answer::Said(said) = answer {
        said.used.map_or_else(TokenSum::default, TokenSum::from)
    } else {
        TokenSum::default()
    }
}

/// Returns whether an answer is of the kind that was asked for.
fn answers(kind: &Kind, answer: &Answer) -> bool {
    let lost = matches!(answer, Answer::Lost | Answer::Aborted);
    let lost_or_failed = lost || matches!(answer, Answer::Failed(_));
    match kind {
        Kind::Model { .. } => lost_or_failed || matches!(answer, Answer::Said(_)),
        Kind::Tool => lost_or_failed || matches!(answer, Answer::Result(_)),
        Kind::Hire(_) => matches!(answer, Answer::Report(_)),
        Kind::Check(_) => lost_or_failed || matches!(answer, Answer::Passed | Answer::FailedCheck(_)),
        Kind::Question { matter: Matter::Text(_), .. } => lost || matches!(answer, Answer::Text(_) | Answer::NoReply),
        Kind::Question { matter: Matter::Approval(_), .. } => {
            lost || matches!(answer, Answer::Approved | Answer::Denied | Answer::NoReply)
        }
        Kind::Draw { .. } => matches!(answer, Answer::Met | Answer::NotMet),
        Kind::Tell { .. } => matches!(answer, Answer::Delivered | Answer::Gone),
    }
}

/// Checks that nothing is computed from a usage report that can't be right.
fn check_usage(id: AskId, answer: &Answer, cost: Cost, found: &mut Found<'_>) {
    if let Answer::Said(Said { implausible: Some(_), used, input_tokens, .. }) = answer {
        let unused = used.is_none() && input_tokens.is_none() && matches!(cost, Cost::Estimated(_));
        found.demand(unused, Law::Holds, format_args!("{id} is settled by a usage report that can't be right"));
    }
}

/// Checks an answer against the facts of other contracts. Returns the contract that spent its cost.
fn check_world(tree: &Tree, asked: &Asked, answer: &Answer, cost: Cost, found: &mut Found<'_>) -> Payer {
    match (&asked.kind, answer) {
        (Kind::Hire(hired), Answer::Report(report)) => {
            let known = cost == Cost::Known(report.spent);
            found.demand(known, Law::Hires, format_args!("charges {cost:?} for a report that spent {}", report.spent));
            let Some(child) = hired.child else {
                parts::check_within(report, found);
                return Payer::Itself;
            };
            check_report(&tree.contracts[child], report, found);
            Payer::Hire
        }
        (Kind::Tell { to, what, heard }, Answer::Delivered) => {
            let money = matches!(what, Stimulus::TopUp { .. });
            let lost = money && *heard == Heard::NotYet && tree.find(to).is_some();
            found.demand(
                !lost,
                Law::Hires,
                format_args!("money for {to} is marked as delivered, but {to} has not heard it"),
            );
            Payer::Itself
        }
        (Kind::Tell { to, .. }, Answer::Gone) => {
            check_gone(tree, to, found);
            Payer::Itself
        }
        (
            Kind::Model { .. }
            | Kind::Tool
            | Kind::Hire(_)
            | Kind::Check(_)
            | Kind::Question { .. }
            | Kind::Draw { .. }
            | Kind::Tell { .. },
            _,
        ) => Payer::Itself,
    }
}

fn check_report(child: &Contract, report: &Report, found: &mut Found<'_>) {
    let path = child.path();
    match &child.phase {
        Phase::Closed(closed) => {
            found.demand(
                **closed == *report,
                Law::Reports,
                format_args!("the report differs from the report of {path}"),
            );
        }
        Phase::Working | Phase::Closing(_) => {
            found.broken(Law::Reports, format_args!("{path} has reported, but has not closed"));
        }
    }
}

fn check_gone(tree: &Tree, to: &Path, found: &mut Found<'_>) {
    let alive = tree.find(to).is_some_and(|at| !tree.contracts[at].is_closed());
    found.demand(!alive, Law::Closing, format_args!("{to} is marked as gone, but has not closed"));
}

/// Returns the number of heads that an answer used: for a report, one for the hire itself and those used below it.
fn heads_used(answer: &Answer, held: i128, found: &mut Found<'_>) -> i128 {
    let Answer::Report(report) = answer else { return 0 };
    let used = 1 + i128::from(report.heads.0);
    found.demand(used <= held, Law::Purse, format_args!("the report used {used} heads, but only {held} are held"));
    used.min(held)
}

/// Updates the contract after an answer.
fn follow(step: &mut Step<'_, '_>, id: AskId, answer: &Answer, cost: Cost) {
    let contract = &mut step.tree.contracts[step.me];
    match answer {
        Answer::Said(said) => {
            replied(contract, id, said, step.found);
            step.batch.hiring_with = Some(contract.money.available);
            step.batch.must(Duty::PlaceCalls);
        }
        Answer::Report(report) => {
            contract.live.remove(&id);
            contract.owed.push(id);
            reported(contract, id, report);
            step.batch.must(Duty::WakeWaiting);
        }
        Answer::Passed => checked(contract, id, Verdict::Passed),
        Answer::FailedCheck(_) | Answer::Lost | Answer::Aborted | Answer::Failed(_) => {
            checked(contract, id, Verdict::NotPassed);
            owe_again(contract, id);
        }
        Answer::Met | Answer::NotMet => draws::answered(step, id, answer, cost),
        Answer::Result(_)
        | Answer::Text(_)
        | Answer::Approved
        | Answer::Denied
        | Answer::NoReply
        | Answer::Delivered
        | Answer::Gone => {}
    }
}

/// A hire has reported: nothing waits for it any longer.
fn reported(contract: &mut Contract, id: AskId, report: &Report) {
    let Some(brief) = contract.hired(id).map(|hired| hired.brief.clone()) else { return };
    contract.experience.learn(&brief, report);
    let ordinal = brief.path.ordinal();
    if contract.row.ask(ordinal) == Some(id) {
        contract.row.blocking.remove(&ordinal);
        contract.refresh(ordinal);
        contract.calls.reported(ordinal);
    }
}

/// The reports that a request included are owed again if no reply came.
fn owe_again(contract: &mut Contract, id: AskId) {
    if let Some(Asked { kind: Kind::Model { hears }, .. }) = contract.ask(id) {
        let again = hears.clone();
        contract.owed.splice(0..0, again);
    }
}

/// Adds a size to the next request.
pub(crate) fn shown(contract: &mut Contract, size: u64) {
    contract.shown = contract.shown.saturating_add(size);
}

/// Returns the size that an answer adds to the next request.
fn size_of(contract: &Contract, id: AskId, answer: &Answer) -> u64 {
    match answer {
        Answer::Said(said) => sizes::of_own(said.size),
        Answer::Result(text) | Answer::FailedCheck(text) | Answer::Text(text) => u64::from(text.bytes),
        Answer::Report(report) => contract.hired(id).map_or(0, |hired| sizes::of_report(&hired.brief, report)),
        Answer::Passed
        | Answer::Approved
        | Answer::Denied
        | Answer::NoReply
        | Answer::Met
        | Answer::NotMet
        | Answer::Delivered
        | Answer::Gone
        | Answer::Lost
        | Answer::Aborted
        | Answer::Failed(_) => 0,
    }
}

fn replied(contract: &mut Contract, id: AskId, said: &Said, found: &mut Found<'_>) {
    if let (Some(tokens), Some(request)) = (said.input_tokens, contract.request) {
        // The provider's token count does not include texts that came during the model call.
        contract.shown = contract.shown.saturating_sub(request.tokens).saturating_add(tokens);
    }
    let is_last = contract.last == Some(id);
    if draft::replied(contract, said, is_last, found) {
        contract.replies = contract.replies.saturating_add(1);
    }
    if contract.draft.is_continued() {
        // The next request says that the reply was cut.
        shown(contract, NOTICE_BYTES_MAX);
    }
    if said.confirms {
        contract.undone = None;
    } else if said.words.is_some() {
        contract.undone = said.undone.filter(|undone| is_marked(contract, *undone));
        contract.output = said.output;
    }
    check_confirmation(contract, said, found);
    contract.said = Some(*said);
    contract.is_nudged = false;
    contract.round.clear();
    contract.calls.begin(id, said.calls);
}

/// Returns whether a report with this text says that this is undone. A promise counts only in the reply to the question about
/// it, and not in a conversation, whose owner has read every text.
fn is_marked(contract: &Contract, undone: Undone) -> bool {
    let is_answer = contract.to_confirm.is_some() && contract.brief.close_when == CloseWhen::FinalText;
    match undone {
        Undone::RequiredHire => true,
        Undone::PromisedHire | Undone::NoHire => is_answer,
        Undone::Unclear => false,
    }
}

/// A reply can stand for the text before it only if the agent was asked about that text, and has said and called nothing since.
fn check_confirmation(contract: &mut Contract, said: &Said, found: &mut Found<'_>) {
    if said.confirms {
        let asked = contract.to_confirm.take();
        let same = asked.is_some() && asked == contract.draft.words;
        found.demand(same, Law::Reports, format_args!("a reply confirms a text about which the agent was not asked"));
        let alone = said.words.is_none() && said.calls == 0;
        found.demand(alone, Law::Reports, format_args!("a reply that confirms a text has a text or a call of its own"));
    } else if said.words.is_some() || said.calls > 0 {
        contract.to_confirm = None;
    }
}

fn checked(contract: &mut Contract, id: AskId, verdict: Verdict) {
    if let Some(Asked { kind: Kind::Check(check), .. }) = contract.ask(id) {
        contract.round.push((*check, verdict));
    }
}

/// Marks the call that an answer belongs to as resolved, or notes what must follow.
fn resolve(step: &mut Step<'_, '_>, call: CallRef, answer: &Answer) {
    let calls = &mut step.tree.contracts[step.me].calls;
    let to = match (calls.get(call), answer) {
        (Some(Call::Approval), Answer::Approved) => Call::Approved,
        (Some(Call::Approval), Answer::Denied | Answer::NoReply | Answer::Lost) => Call::Denied,
        (Some(_) | None, _) => Call::Resolved,
    };
    if !matches!(to, Call::Resolved) {
        step.batch.must(Duty::FollowUp(call));
    }
    calls.turn(call, to);
}
