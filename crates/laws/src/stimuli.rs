//! Stimuli: each is heard once, was really sent by its sender, and money comes only from the hirer's hold or from the
//! owner.

use guildhall_kernel::{Addressee, AskId, AskKey, CloseWhen, Matter, Msat, Nudge, Path, Sender, Stimulus};

use crate::answers::shown;
use crate::batch::{Duty, Stage, TopUp};
use crate::checker::Step;
use crate::contract::{Asked, Contract, Edge, Ending, Heard, Kind, Phase, State, Tree};
use crate::draws;
use crate::purse::wide;
use crate::violation::{Found, Law};

/// The contract heard a stimulus.
pub(crate) fn heard(step: &mut Step<'_, '_>, from: &Sender, stimulus: &Stimulus) {
    match from {
        Sender::Owner { command } => {
            let first = step.tree.contracts[step.me].commands.insert(*command);
            step.found.demand(first, Law::Holds, format_args!("command {command} is heard twice"));
        }
        Sender::Contract(key) => heard_from(step, key, stimulus),
    }
    let contract = &mut step.tree.contracts[step.me];
    if let Stimulus::Message(text) | Stimulus::Question(text) = stimulus {
        shown(contract, u64::from(text.bytes));
    }
    let is_question =
        |asked: &Asked| matches!((&asked.kind, &asked.state), (Kind::Question { .. }, State::Open { .. }));
    let has_question = contract.asks.iter().any(is_question);
    if matches!(stimulus, Stimulus::Message(_)) && !has_question {
        // Each message is a new task, about whose report the agent may be asked again. The answer to a question is none.
        contract.nudged.retain(|nudge| *nudge != Nudge::ConfirmReport);
    }
    if matches!(stimulus, Stimulus::Message(_) | Stimulus::Question(_)) {
        contract.repeats.restart();
    }
    let working = matches!(contract.phase, Phase::Working);
    let by_owner = matches!(from, Sender::Owner { .. });
    if by_owner && contract.brief.close_when == CloseWhen::Asked && matches!(stimulus, Stimulus::Message(_)) {
        // In a conversation, each message from the owner resets the nudges.
        contract.nudged.clear();
    }
    match stimulus {
        Stimulus::Message(_) if working && by_owner => step.batch.must(Duty::WakeAll),
        Stimulus::Question(_) if working => step.batch.must(Duty::WakeAll),
        Stimulus::Message(_) | Stimulus::Question(_) => {}
        Stimulus::TopUp { to, money, draw } => topped_up(step, from, (to, *money), *draw),
        Stimulus::Draw { least } => match from {
            Sender::Contract(key) => draws::heard(step, key, *least),
            Sender::Owner { .. } => step.found.broken(Law::Hires, format_args!("a person draws money")),
        },
        Stimulus::RefuseDraw { draw } => draws::refused(step, *draw),
        Stimulus::DropHire { ordinal } => {
            step.found.demand(by_owner, Law::Holds, format_args!("a contract gives up a hire for another one"));
            step.batch.dropped = Some(*ordinal);
        }
        Stimulus::Hire(offer) => {
            step.batch.hiring_with = Some(contract.money.available);
            step.batch.offer = Some(offer.clone());
            step.batch.must(Duty::Consider);
        }
        Stimulus::WrapUp => {
            note_ending(step, Ending::WrapUp);
            step.batch.must(Duty::BeWrappingUp);
        }
        Stimulus::OutOfTokens { left } => {
            let right = by_owner && contract.path().level() == 0;
            step.found.demand(right, Law::Holds, format_args!("{from:?} tells it that the tokens are used up"));
            contract.last_tokens_max = Some(*left);
            note_ending(step, Ending::WrapUp);
            step.batch.must(Duty::BeWrappingUp);
        }
        Stimulus::Cancel => {
            note_ending(step, Ending::Cancel);
            step.batch.must(Duty::BeCancelled);
        }
    }
}

fn note_ending(step: &mut Step<'_, '_>, heard: Ending) {
    let ending = &mut step.tree.contracts[step.me].ending;
    *ending = heard.max(*ending);
}

/// Checks that the sender sent this stimulus to this contract.
fn heard_from(step: &mut Step<'_, '_>, key: &AskKey, stimulus: &Stimulus) {
    let me = step.tree.contracts[step.me].path().clone();
    let sender = step.tree.find(&key.contract);
    let Some(asked) = sender.and_then(|at| step.tree.contracts[at].ask_mut(key.ask)) else {
        return step.found.broken(Law::Holds, format_args!("{key} is heard before it was asked"));
    };
    let (sent, heard) = match &mut asked.kind {
        Kind::Tell { to, what, heard } => (*to == me && what == stimulus, heard),
        Kind::Question { to: Addressee::Hirer, matter: Matter::Text(words), heard } => {
            let to_me = key.contract.hirer().as_ref() == Some(&me);
            (to_me && *stimulus == Stimulus::Question(*words), heard)
        }
        Kind::Draw { least, heard } => {
            let to_me = key.contract.hirer().as_ref() == Some(&me);
            (to_me && *stimulus == Stimulus::Draw { least: *least }, heard)
        }
        Kind::Model { .. } | Kind::Tool | Kind::Hire(_) | Kind::Check(_) | Kind::Question { .. } => {
            return step.found.broken(Law::Holds, format_args!("{key} does not send a stimulus"));
        }
    };
    step.found.demand(sent, Law::Holds, format_args!("{key} did not send this stimulus to this contract"));
    step.found.demand(*heard == Heard::NotYet, Law::Holds, format_args!("{key} is heard twice"));
    *heard = Heard::Once;
    if let Stimulus::Question(_) = stimulus {
        asked_by(&mut step.tree.contracts[step.me], &key.contract);
    }
}

/// Notes that a hire waits for an answer from this contract.
fn asked_by(contract: &mut Contract, hire: &Path) {
    let Some(id) = contract.live_hire(hire) else { return };
    if let Some(hired) = contract.hired_mut(id) {
        hired.has_asked = true;
    }
    contract.refresh(hire.ordinal());
}

/// The contract heard a top-up: from a person, or for a draw.
fn topped_up(step: &mut Step<'_, '_>, from: &Sender, (to, money): (&Path, Msat), draw: Option<AskId>) {
    let edge = step.tree.contracts[step.me].hirer;
    let contract = &mut step.tree.contracts[step.me];
    let path = contract.path();
    let right = match from {
        Sender::Owner { .. } => path.level() == 0 && draw.is_none(),
        Sender::Contract(key) => path.hirer().as_ref() == Some(&key.contract),
    };
    step.found.demand(right, Law::Hires, format_args!("money comes from {from:?}, which is not its hirer"));
    if to != path {
        step.batch.top_up = Some(TopUp { to: to.clone(), money, stage: Stage::Heard });
        step.batch.must(Duty::PassOn);
    }
    contract.money.grow(wide(money));
    if let Some(draw) = draw {
        draws::paid(step, draw, money);
    }
    let Some(edge) = edge else { return };
    if let Some(Asked { kind: Kind::Hire(hired), .. }) = step.tree.contracts[edge.hirer].ask_mut(edge.ask) {
        hired.on_the_way -= wide(money);
    }
    check_edge(step.tree, edge, step.found);
}

/// A hire's hold was raised: by money that was heard for the hire or for a contract below it, or to answer a draw.
pub(crate) fn raised(step: &mut Step<'_, '_>, hire: AskId, by: Msat, draw: Option<AskId>) {
    let free = step.tree.contracts[step.me].money.available;
    step.found.demand(
        wide(by) <= free,
        Law::Purse,
        format_args!("the hold of {hire} is raised by {by}, but only {free} msat are available"),
    );
    match draw {
        Some(draw) => draws::raised(step, hire, by, draw),
        None => passed(step, hire, by),
    }
    let contract = &mut step.tree.contracts[step.me];
    let Some(asked) = contract.ask_mut(hire).filter(|asked| asked.kind.hired().is_some()) else { return };
    let State::Open { money, .. } = &mut asked.state else { return };
    *money += wide(by);
    contract.money.hold(wide(by));
    if draw.is_some() {
        step.batch.shares.given(contract);
    }
}

/// Checks that a person's top-up was heard for the hire, or for a contract below it.
fn passed(step: &mut Step<'_, '_>, hire: AskId, by: Msat) {
    let contract = &mut step.tree.contracts[step.me];
    let toward = step.batch.top_up.as_ref().and_then(|top_up| contract.path().toward(&top_up.to));
    let due = step.batch.top_up.as_mut().filter(|top_up| top_up.stage == Stage::Heard && top_up.money == by);
    let right = toward.is_some_and(|toward| contract.live_hire(&toward) == Some(hire));
    match due {
        Some(top_up) if right => top_up.stage = Stage::Raised(hire),
        Some(_) | None => {
            step.found.broken(
                Law::Hires,
                format_args!("the hold of {hire} is raised by {by}, which was not heard for this hire"),
            );
        }
    }
    draws::topped_up(contract, hire, wide(by));
}

/// Checks that a hirer's hold is its hire's grant and the top-ups that the hire has not heard yet.
pub(crate) fn check_edge(tree: &Tree, edge: Edge, found: &mut Found<'_>) {
    let Some(asked) = tree.contracts[edge.hirer].ask(edge.ask) else { return };
    let (State::Open { money: held, .. }, Kind::Hire(hired)) = (asked.state, &asked.kind) else { return };
    // A hire that has not opened yet has the money of its brief.
    let granted = hired.child.map_or(wide(hired.brief.grant.money), |child| tree.contracts[child].money.granted);
    let (path, on_the_way) = (&hired.brief.path, hired.on_the_way);
    found.demand(
        held == granted + on_the_way && on_the_way >= 0,
        Law::Hires,
        format_args!("{held} msat are held for {path}, which was granted {granted}; {on_the_way} are on the way"),
    );
}
