//! Stimuli that a contract sends: only to contracts below it, and money only if it was heard or drawn for them.

use guildhall_kernel::{Msat, Path, Stimulus};

use crate::asks::check_words;
use crate::batch::Stage;
use crate::checker::Step;
use crate::contract::{Edge, Ending};
use crate::purse::wide;
use crate::stimuli::check_edge;
use crate::violation::Law;
use crate::{draws, scarce};

/// The contract sends a stimulus to a contract below.
pub(crate) fn sent(step: &mut Step<'_, '_>, to: &Path, what: &Stimulus) {
    match what {
        Stimulus::WrapUp => pass_ending(step, to, Ending::WrapUp),
        Stimulus::Cancel => pass_ending(step, to, Ending::Cancel),
        Stimulus::TopUp { money, draw: Some(_), .. } => {
            draws::money_sent(step, to, *money);
            check_hire(step, to);
        }
        Stimulus::TopUp { to: addressee, money, draw: None } => {
            pass_money(step, to, addressee, *money);
            check_hire(step, to);
        }
        Stimulus::RefuseDraw { draw } => scarce::draw_refused(step, to, *draw),
        Stimulus::Message(words) => {
            let contract = &mut step.tree.contracts[step.me];
            if let Some(hire) = contract.live_hire(to)
                && let Some(hired) = contract.hired_mut(hire)
            {
                hired.has_asked = false;
                contract.refresh(to.ordinal());
            }
            check_words(words, step.found);
            let below = contract.path().toward(to).is_some();
            step.found.demand(below, Law::Replay, format_args!("sends a message to {to}, which is not below"));
        }
        Stimulus::Question(_)
        | Stimulus::Draw { .. }
        | Stimulus::Hire(_)
        | Stimulus::DropHire { .. }
        | Stimulus::OutOfTokens { .. } => {
            step.found.broken(Law::Replay, format_args!("sends {to} a stimulus that contracts do not send"));
        }
    }
}

fn pass_ending(step: &mut Step<'_, '_>, to: &Path, ending: Ending) {
    let contract = &mut step.tree.contracts[step.me];
    let Some(hire) = contract.live_hire(to) else { return not_live(step, to) };
    if let Some(hired) = contract.hired_mut(hire) {
        hired.ending_sent = hired.ending_sent.max(ending);
    }
    contract.refresh(to.ordinal());
}

/// A top-up of a person is passed on.
fn pass_money(step: &mut Step<'_, '_>, to: &Path, addressee: &Path, money: Msat) {
    let contract = &mut step.tree.contracts[step.me];
    let Some(hire) = contract.live_hire(to) else { return not_live(step, to) };
    if let Some(hired) = contract.hired_mut(hire) {
        hired.on_the_way += wide(money);
    }
    let due = step.batch.top_up.as_mut().filter(|due| due.to == *addressee && due.money == money);
    match due {
        Some(due) if due.stage == Stage::Raised(hire) => due.stage = Stage::PassedOn,
        Some(_) | None => {
            step.found.broken(Law::Hires, format_args!("passes on {money} to {to}, but has not heard it for {to}"));
        }
    }
}

/// Checks that a stimulus was not sent to a contract that is no live hire.
pub(crate) fn not_live(step: &mut Step<'_, '_>, to: &Path) {
    step.found.broken(Law::Replay, format_args!("sends a stimulus to {to}, which is not a live hire"));
}

fn check_hire(step: &mut Step<'_, '_>, to: &Path) {
    if let Some(ask) = step.tree.contracts[step.me].live_hire(to) {
        check_edge(step.tree, Edge { hirer: step.me, ask }, step.found);
    }
}
