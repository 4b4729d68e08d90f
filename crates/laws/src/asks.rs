//! Asks: each has the next number, is allowed in the contract's phase, and holds its ceiling from the available money
//! and heads.

use guildhall_kernel::{
    Addressee, Ask, AskId, Brief, CallRef, Check, CloseWhen, Hold, MESSAGE_BYTES_MAX, Matter, Mode, Origin, Outcome,
    Path, PowerSet, Request, Stimulus, TextRef, Turn,
};

use crate::batch::{Batch, Stage};
use crate::calls::{Act, Call};
use crate::checker::Step;
use crate::contract::{Asked, Contract, Edge, Ending, Heard, Hired, Kind, Phase, Requested, State};
use crate::form::Form;
use crate::hires;
use crate::purse::{ceiling, output_least, wide};
use crate::shares;
use crate::stimuli::check_edge;
use crate::violation::{Found, Law};

/// The contract made an ask.
pub(crate) fn asked(step: &mut Step<'_, '_>, id: AskId, ask: &Ask, hold: Hold, origin: Origin) {
    let contract = &mut step.tree.contracts[step.me];
    let due = contract.asks.len() + 1;
    step.found.demand(usize::try_from(id.0) == Ok(due), Law::Replay, format_args!("{id} is asked, but #{due} is next"));
    check_phase(contract, ask, step.found);
    check_origin(ask, origin, step.found);
    if let Origin::Call(call) = origin {
        place(contract, ask, call, step.found);
    }
    let kind = match ask {
        Ask::Model(request) => requested(contract, id, request, step.found),
        Ask::Tool(call) => {
            check_powers(contract, &call.needs, step.found);
            if let Some(shares) = &mut step.batch.shares {
                shares.add_tool(wide(call.price));
            }
            Kind::Tool
        }
        Ask::Hire { brief, mode } => {
            hires::check(contract, brief, step.at, step.form, step.found);
            share(contract, step.batch, brief, origin, step.form, step.found);
            contract.hires.push(id);
            contract.live.insert(id);
            let brief = brief.clone();
            let blocks = *mode == Mode::Blocking;
            Kind::Hire(Hired {
                brief,
                child: None,
                on_the_way: 0,
                ending_sent: Ending::Nothing,
                blocks,
                has_asked: false,
            })
        }
        Ask::Check(check) => {
            let known = contract.brief.checks.contains(check);
            step.found.demand(known, Law::Reports, format_args!("a check that the brief does not name"));
            Kind::Check(*check)
        }
        Ask::Question { to, matter, .. } => {
            check_question(contract, *to, matter, step.found);
            Kind::Question { to: *to, matter: matter.clone(), heard: Heard::NotYet }
        }
        Ask::Tell { to, what } => Kind::Tell { to: to.clone(), what: what.clone(), heard: Heard::NotYet },
    };
    set_aside(contract, ask, hold, step.found);
    let state = State::Open { money: wide(hold.money), heads: i128::from(hold.heads.0) };
    contract.asks.push(Asked { kind, origin, state });
    contract.open += 1;
    if let Ask::Tell { to, what } = ask {
        sent(step, to, what);
    }
}

/// Checks the ceiling, and moves it from available to held.
fn set_aside(contract: &mut Contract, ask: &Ask, hold: Hold, found: &mut Found<'_>) {
    let (money, heads) = match ask {
        Ask::Model(request) => (ceiling(&contract.brief.tariff, request.tokens, request.max_tokens), 0),
        Ask::Tool(call) => (wide(call.price), 0),
        Ask::Hire { brief, .. } => (wide(brief.grant.money), 1 + i128::from(brief.grant.heads.0)),
        Ask::Check(check) => (wide(check.price), 0),
        Ask::Question { .. } | Ask::Tell { .. } => (0, 0),
    };
    let taken = (wide(hold.money), i128::from(hold.heads.0));
    found.demand(taken.0 == money, Law::Holds, format_args!("holds {} msat, but the ceiling is {money}", taken.0));
    found.demand(taken.1 == heads, Law::Holds, format_args!("holds {} heads, but {heads} are needed", taken.1));
    let free = (contract.money.available, contract.heads.available);
    found.demand(
        taken.0 <= free.0,
        Law::Purse,
        format_args!("holds {} msat, but only {} are available", taken.0, free.0),
    );
    found.demand(
        taken.1 <= free.1,
        Law::Purse,
        format_args!("holds {} heads, but only {} are available", taken.1, free.1),
    );
    contract.money.hold(taken.0);
    contract.heads.hold(taken.1);
}

/// Checks that the ask is allowed in the contract's phase.
fn check_phase(contract: &Contract, ask: &Ask, found: &mut Found<'_>) {
    let outcome = match &contract.phase {
        Phase::Working => {
            let hires = matches!(ask, Ask::Hire { .. }) && contract.ending != Ending::Nothing;
            return found.demand(!hires, Law::Closing, format_args!("hires after it was asked to end"));
        }
        Phase::Closing(outcome) => *outcome,
        Phase::Closed(report) => report.outcome,
    };
    let allowed = match (outcome, ask) {
        (Outcome::Done | Outcome::Exhausted(_), Ask::Model(request)) => request.turn == Turn::Last,
        (Outcome::Done | Outcome::Exhausted(_), Ask::Check(_)) => true,
        (Outcome::Done | Outcome::Exhausted(_), Ask::Tell { what, .. }) => {
            matches!(what, Stimulus::WrapUp | Stimulus::Cancel | Stimulus::TopUp { .. })
        }
        (Outcome::Failed, Ask::Tell { what, .. }) => matches!(what, Stimulus::WrapUp | Stimulus::TopUp { .. }),
        (Outcome::Cancelled, Ask::Tell { what, .. }) => matches!(what, Stimulus::Cancel),
        (_, Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. }) => false,
    };
    found.demand(allowed, Law::Closing, format_args!("asks for {} while it closes as {outcome:?}", name(ask)));
}

/// Checks that an ask has an origin of the right kind.
fn check_origin(ask: &Ask, origin: Origin, found: &mut Found<'_>) {
    let fits = match (ask, origin) {
        (Ask::Model(_) | Ask::Check(_) | Ask::Tell { .. }, Origin::Course)
        | (Ask::Tell { .. }, Origin::Outside)
        | (Ask::Tool(_) | Ask::Question { .. } | Ask::Tell { .. } | Ask::Hire { .. }, Origin::Call(_))
        | (Ask::Hire { .. }, Origin::Cascade | Origin::Promise | Origin::Outside) => true,
        (_, Origin::Course | Origin::Call(_) | Origin::Cascade | Origin::Promise | Origin::Outside) => false,
    };
    found.demand(fits, Law::Replay, format_args!("{} can't come from {origin:?}", name(ask)));
}

fn place(contract: &mut Contract, ask: &Ask, call: CallRef, found: &mut Found<'_>) {
    let (act, new) = match ask {
        Ask::Hire { mode: Mode::Blocking, .. } => (Act::Other, Call::Hire),
        Ask::Hire { mode: Mode::Background, .. } => (Act::Other, Call::Resolved),
        Ask::Question { matter: Matter::Approval(_), .. } => (Act::Other, Call::Approval),
        Ask::Tool(tool) => {
            if matches!(contract.calls.get(call), Some(Call::Approved)) {
                let same = approved(contract, call, ask);
                found.demand(same, Law::Refusals, format_args!("{} is not the call that was approved", tool.tool));
            }
            (Act::Tool, Call::Asked)
        }
        Ask::Question { matter: Matter::Text(_), .. } | Ask::Tell { .. } => (Act::Other, Call::Asked),
        // Such an ask can't have a call as its origin, which was reported before.
        Ask::Model(_) | Ask::Check(_) => return,
    };
    contract.calls.place(call, act, new, found);
}

/// Returns whether a tool call is the approved one: its question is the newest ask with that origin.
fn approved(contract: &Contract, call: CallRef, ask: &Ask) -> bool {
    let question = contract.asks.iter().rev().find(|asked| asked.origin == Origin::Call(call));
    match (question.map(|asked| &asked.kind), ask) {
        (Some(Kind::Question { matter: Matter::Approval(approved), .. }), Ask::Tool(tool)) => approved == tool,
        (Some(_) | None, _) => false,
    }
}

/// Checks a request: its cursor, the reports that it includes, and whether it is allowed now.
fn requested(contract: &mut Contract, id: AskId, request: &Request, found: &mut Found<'_>) -> Kind {
    let Request { upto, hears, max_tokens, turn, .. } = request;
    let facts = contract.facts;
    found.demand(*upto == facts, Law::Replay, format_args!("shows {upto} facts, but there are {facts}"));
    // A last request that is cut to fit includes no report: all reports stay owed.
    let cut = *turn == Turn::Last && hears.is_empty();
    let owed = &contract.owed;
    let all = cut || hears == owed;
    found.demand(all, Law::Reports, format_args!("includes the reports {hears:?}, but {owed:?} are owed"));
    if !cut {
        contract.owed.clear();
    }
    let open = contract.request.filter(|newest| contract.is_open(newest.ask));
    found.demand(open.is_none(), Law::Holds, format_args!("a second request was made while one is open"));
    let left = contract.calls.unresolved();
    found.demand(left.is_none(), Law::Reports, format_args!("a request was made while call {left:?} has no answer"));
    let blocked = contract.live.iter().find(|hire| contract.blocks(**hire));
    found.demand(
        blocked.is_none(),
        Law::Reports,
        format_args!("a request was made while it waits for hire {blocked:?}"),
    );
    let (least, most) = (output_least(&contract.brief.tariff), contract.brief.tariff.max_tokens);
    let sensible = (least..=most).contains(max_tokens);
    found.demand(sensible, Law::Holds, format_args!("asks for {max_tokens} output tokens, not {least} to {most}"));
    match turn {
        Turn::Next => {
            let shown = contract.shown;
            let whole = request.tokens >= shown;
            found.demand(
                whole,
                Law::Holds,
                format_args!("pays for {} tokens, but shows at least {shown}", request.tokens),
            );
            let (replies, most) = (contract.replies, contract.brief.turns_max);
            let left = contract.brief.close_when == CloseWhen::Asked || replies < most;
            found.demand(left, Law::Grants, format_args!("asks for another reply after {replies} of {most}"));
            contract.requests = contract.requests.saturating_add(1);
        }
        Turn::Last => last(contract, id, found),
    }
    contract.shown = request.tokens;
    contract.request = Some(Requested { ask: id, upto: *upto, tokens: request.tokens });
    Kind::Model { hears: hears.clone() }
}

/// Checks the last request, which the severance pays for: the same fact releases the severance.
fn last(contract: &mut Contract, id: AskId, found: &mut Found<'_>) {
    let cut_short = matches!(contract.phase, Phase::Closing(Outcome::Exhausted(_)));
    found.demand(cut_short, Law::Severance, format_args!("a last request was made without a limit as the reason"));
    let before = contract.last.replace(id);
    found.demand(before.is_none(), Law::Severance, format_args!("a second last request was made"));
    contract.money.release(contract.severance);
    contract.severance = 0;
}

fn check_powers(contract: &Contract, needs: &PowerSet, found: &mut Found<'_>) {
    if let Some(power) = hires::lacking(needs, &contract.brief.powers.usable) {
        found.broken(Law::Grants, format_args!("a tool needs the power {power}, which the contract does not have"));
    }
}

fn check_question(contract: &Contract, to: Addressee, matter: &Matter, found: &mut Found<'_>) {
    let heard = to == Addressee::Owner || contract.path().level() > 0;
    found.demand(heard, Law::Refusals, format_args!("a root asks its hirer, but a root has none"));
    match matter {
        Matter::Text(words) => check_words(words, found),
        Matter::Approval(call) => check_powers(contract, &call.needs, found),
    }
}

fn check_words(words: &TextRef, found: &mut Found<'_>) {
    let bytes = words.bytes;
    found.demand(
        bytes <= MESSAGE_BYTES_MAX,
        Law::Refusals,
        format_args!("a message has {bytes} bytes, more than the maximum"),
    );
}

/// Notes the share of a hire. A hire from outside must be the one that was offered.
fn share(contract: &Contract, batch: &mut Batch, hire: &Brief, origin: Origin, form: Form, found: &mut Found<'_>) {
    let money = wide(hire.grant.money);
    match origin {
        Origin::Call(_) | Origin::Cascade | Origin::Promise => {
            if let Some(shares) = &mut batch.shares {
                shares.add_hire(money);
            }
        }
        Origin::Outside => match batch.offer.take().filter(|offer| shares::is_offered(offer, hire)) {
            Some(offer) if form == Form::Second => {
                shares::check_offered(&offer, hire, contract, found);
            }
            Some(_) => {}
            None => {
                let agent = &hire.agent;
                found.broken(Law::Refusals, format_args!("hires {agent} from outside, which was not offered"));
            }
        },
        // A hire can't have this origin, which was reported before.
        Origin::Course => {}
    }
}

/// The contract sends a stimulus to a contract below.
fn sent(step: &mut Step<'_, '_>, to: &Path, what: &Stimulus) {
    let contract = &mut step.tree.contracts[step.me];
    let hire = contract.live_hire(to);
    let hired = hire.and_then(|id| contract.ask_mut(id)).and_then(|asked| match &mut asked.kind {
        Kind::Hire(hired) => Some(hired),
        Kind::Model { .. } | Kind::Tool | Kind::Check(_) | Kind::Question { .. } | Kind::Tell { .. } => None,
    });
    match (what, hired) {
        (Stimulus::WrapUp, Some(hired)) => hired.ending_sent = hired.ending_sent.max(Ending::WrapUp),
        (Stimulus::Cancel, Some(hired)) => hired.ending_sent = Ending::Cancel,
        (Stimulus::TopUp { to: addressee, money }, Some(hired)) => {
            hired.on_the_way += wide(*money);
            let due = step.batch.top_up.as_mut().filter(|due| due.to == *addressee && due.money == *money);
            match due {
                Some(due) if hire.is_some_and(|hire| due.stage == Stage::Raised(hire)) => due.stage = Stage::PassedOn,
                Some(_) | None => {
                    step.found
                        .broken(Law::Hires, format_args!("passes on {money} to {to}, but has not heard it for {to}"));
                }
            }
            if let Some(ask) = hire {
                check_edge(step.tree, Edge { hirer: step.me, ask }, step.found);
            }
        }
        (Stimulus::Message(words), hired) => {
            if let Some(hired) = hired {
                hired.has_asked = false;
            }
            check_words(words, step.found);
            let below = contract.path().toward(to).is_some();
            step.found.demand(below, Law::Replay, format_args!("sends a message to {to}, which is not below"));
        }
        (Stimulus::WrapUp | Stimulus::Cancel | Stimulus::TopUp { .. }, None) => {
            step.found.broken(Law::Replay, format_args!("sends a stimulus to {to}, which is not a live hire"));
        }
        (Stimulus::Question(_) | Stimulus::Hire(_), _) => {
            step.found.broken(Law::Replay, format_args!("sends {to} a stimulus that contracts do not send"));
        }
    }
}

fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Model(_) => "a request",
        Ask::Tool(_) => "a tool call",
        Ask::Hire { .. } => "a hire",
        Ask::Check(Check { .. }) => "a check",
        Ask::Question { .. } => "a question",
        Ask::Tell { .. } => "a stimulus",
    }
}
