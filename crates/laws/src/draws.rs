//! Draws: a hire asks its hirer for more money, once at a time; the hirer raises the oldest draw first, from its own
//! money and within the hire's limit, or refuses. Money never enters a session by a draw.

use guildhall_kernel::{Answer, Ask, AskId, AskKey, Cost, Fact, Msat, Path, Stimulus};

use crate::batch::Batch;
use crate::checker::Step;
use crate::contract::{Contract, Ending, OpenDraw, OwnDraw, Phase};
use crate::purse::wide;
use crate::tells;
use crate::violation::{Found, Law};

/// What a batch says about draws.
#[derive(Default)]
pub(crate) struct Notes {
    /// A raise whose top-up is not sent yet.
    raise: Option<Raise>,
    /// The draw whose money was heard.
    paid: Option<AskId>,
    /// The draw whose refusal was heard.
    refused: Option<AskId>,
    /// The contract's own draw that was answered with no money.
    pub(crate) not_met: Option<NotMet>,
    /// A hire that draws more than it may ever get.
    beyond: Option<u32>,
}

/// A raise that answers a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Raise {
    hire: AskId,
    by: Msat,
    draw: AskId,
}

/// A draw of the contract that was answered with no money.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotMet {
    draw: AskId,
    /// Whether the contract drew for its own turn.
    alone: bool,
}

/// The contract draws from its hirer.
pub(crate) fn asked(contract: &mut Contract, id: AskId, least: Msat, found: &mut Found<'_>) {
    let level = contract.path().level();
    found.demand(level > 0, Law::Hires, format_args!("a root draws, but a root has no hirer"));
    found.demand(least > Msat::ZERO, Law::Holds, format_args!("draws no money"));
    let alone = contract.live.is_empty() && contract.row.waiting.is_empty();
    let open = contract.draw.replace(OwnDraw { ask: id, alone }).map_or(0, |open| open.ask.0);
    found.demand(open == 0, Law::Holds, format_args!("makes a second draw while #{open} is open"));
}

/// The contract's own draw was answered.
pub(crate) fn answered(step: &mut Step<'_, '_>, id: AskId, answer: &Answer, cost: Cost) {
    let free = cost == Cost::Known(Msat::ZERO);
    step.found.demand(free, Law::Holds, format_args!("the draw {id} costs {cost:?}, but a draw costs nothing"));
    let contract = &mut step.tree.contracts[step.me];
    let answered = contract.draw.take_if(|open| open.ask == id);
    let notes = &mut step.batch.draws;
    if let Answer::NotMet = answer {
        let alone = answered.is_some_and(|draw| draw.alone);
        notes.not_met = Some(NotMet { draw: id, alone });
    } else {
        let refused = notes.refused == Some(id);
        step.found.demand(!refused, Law::Holds, format_args!("the draw {id} is met, but its hirer refused it"));
    }
}

/// A draw of a hire was heard.
pub(crate) fn heard(step: &mut Step<'_, '_>, key: &AskKey, least: Msat) {
    let contract = &mut step.tree.contracts[step.me];
    let hire = &key.contract;
    let Some(id) = contract.live_hire(hire) else {
        return step.found.broken(Law::Hires, format_args!("hears a draw of {hire}, which is not a live hire"));
    };
    let Some(hired) = contract.hired_mut(id) else { return };
    if hired.draw_newest.is_some_and(|newest| newest > key.ask) {
        return;
    }
    let least = wide(least);
    hired.draw_newest = Some(key.ask);
    hired.draw = Some(OpenDraw { ask: key.ask, least, left: least });
    if room(hired.brief.money_max, hired.brief.grant.money, hired.drawn).is_some_and(|room| least > room) {
        step.batch.draws.beyond = Some(hire.ordinal());
    }
    contract.refresh(hire.ordinal());
}

/// Returns how much more a hire may draw, if there is a limit.
pub(crate) fn room(most: Option<Msat>, grant: Msat, drawn: i128) -> Option<i128> {
    most.map(|most| wide(most) - wide(grant) - drawn)
}

/// The money of a draw was heard.
pub(crate) fn paid(step: &mut Step<'_, '_>, draw: AskId, money: Msat) {
    step.tree.contracts[step.me].drawn += wide(money);
    step.batch.draws.paid = Some(draw);
}

/// The refusal of a draw was heard.
pub(crate) fn refused(step: &mut Step<'_, '_>, draw: AskId) {
    step.batch.draws.refused = Some(draw);
}

/// A person's top-up for a hire, or for a contract below it, counts toward the hire's draw.
pub(crate) fn topped_up(contract: &mut Contract, hire: AskId, by: i128) {
    let Some(hired) = contract.hired_mut(hire) else { return };
    let ordinal = hired.brief.path.ordinal();
    if let Some(draw) = &mut hired.draw {
        draw.left -= by;
    }
    hired.draw = hired.draw.filter(|draw| draw.left > 0);
    contract.refresh(ordinal);
}

/// A hire's hold was raised to answer its draw.
pub(crate) fn raised(step: &mut Step<'_, '_>, hire: AskId, by: Msat, draw: AskId) {
    let contract = &mut step.tree.contracts[step.me];
    let working = matches!(contract.phase, Phase::Working);
    step.found.demand(working, Law::Closing, format_args!("raises {hire} for a draw while the contract is ending"));
    step.batch.draws.raise = Some(Raise { hire, by, draw });
    let due = contract.hired(hire).and_then(|hired| hired.draw).filter(|open| open.ask == draw);
    let Some(due) = due.filter(|_| contract.live.contains(&hire)) else {
        return step.found.broken(Law::Hires, format_args!("{hire} is raised for its draw {draw}, which is not open"));
    };
    let left = due.left;
    let right = wide(by) == left;
    step.found.demand(
        right,
        Law::Hires,
        format_args!("the hold of {hire} is raised by {by} for its draw, but {left} msat are missing"),
    );
    let Some(hired) = contract.hired_mut(hire) else { return };
    let (ordinal, path) = (hired.brief.path.ordinal(), hired.brief.path.clone());
    let room = room(hired.brief.money_max, hired.brief.grant.money, hired.drawn);
    hired.drawn += wide(by);
    hired.draw = None;
    step.found.demand(
        room.is_none_or(|room| wide(by) <= room),
        Law::Grants,
        format_args!("the grant of {path} is raised by {by}, but may draw only {} msat", room.unwrap_or_default()),
    );
    let oldest = contract.row.drawers.first().copied().unwrap_or(ordinal);
    step.found.demand(
        ordinal <= oldest,
        Law::Grants,
        format_args!("{path} gets the money that it drew before hire {oldest}, which is older"),
    );
    contract.refresh(ordinal);
}

/// Checks that the fact after a raise for a draw sends the money.
pub(crate) fn check_next(batch: &mut Batch, contract: &Contract, fact: &Fact, found: &mut Found<'_>) {
    let Some(raise) = &batch.draws.raise else { return };
    if let Fact::Asked { ask: Ask::Tell { to, what: Stimulus::TopUp { to: addressee, money, draw }, .. }, .. } = fact {
        let same = *money == raise.by && *draw == Some(raise.draw) && to == addressee;
        if same && contract.live_hire(to) == Some(raise.hire) {
            return;
        }
    }
    found.broken(Law::Hires, format_args!("{} is raised for a draw, but the money is not sent to it", raise.hire));
    batch.draws.raise = None;
}

/// The money of a draw is sent.
pub(crate) fn money_sent(step: &mut Step<'_, '_>, to: &Path, money: Msat) {
    let contract = &mut step.tree.contracts[step.me];
    let Some(hire) = contract.live_hire(to) else { return tells::not_live(step, to) };
    if let Some(hired) = contract.hired_mut(hire) {
        hired.on_the_way += wide(money);
    }
    let raised = step.batch.draws.raise.take().is_some();
    step.found.demand(raised, Law::Hires, format_args!("sends {to} money for a draw that it did not raise"));
}

/// Checks what must be true about draws at the end of a batch.
pub(crate) fn check_over(notes: &Notes, contract: &Contract, found: &mut Found<'_>) {
    if let Some(raise) = &notes.raise {
        found.broken(Law::Hires, format_args!("{} is raised for a draw, but the money is not sent to it", raise.hire));
    }
    for heard in [notes.paid, notes.refused].into_iter().flatten() {
        let open = contract.draw.is_some_and(|draw| draw.ask == heard);
        found.demand(!open, Law::Holds, format_args!("the draw {heard} has its answer, but is still open"));
    }
    let working = matches!(contract.phase, Phase::Working);
    if let Some(NotMet { draw, alone }) = notes.not_met {
        let refused = notes.refused == Some(draw);
        found.demand(
            refused || !working,
            Law::Holds,
            format_args!("the draw {draw} is not met, but its hirer did not refuse it"),
        );
        let continues = refused && alone && working;
        found.demand(!continues, Law::Closing, format_args!("the draw {draw} was refused, but the contract continues"));
    }
    if let Some(ordinal) = notes.beyond.filter(|_| working && contract.ending == Ending::Nothing) {
        let open = contract.row.drawers.contains(&ordinal);
        found.demand(
            !open,
            Law::Refusals,
            format_args!("hire {ordinal} draws more than it may ever get, but the draw was not refused at once"),
        );
    }
}
