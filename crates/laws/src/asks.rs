//! Asks: each has the next number, is allowed in the contract's phase, and holds its ceiling from the available money
//! and heads.

use guildhall_kernel::{
    Addressee, Ask, AskId, CallRef, Cause, Check, CloseWhen, Hold, LAST_OUTPUT_TOKENS, MESSAGE_BYTES_MAX, Matter, Mode,
    Msat, Origin, Outcome, PowerSet, Request, Stimulus, TextRef, Turn,
};

use crate::calls::{Act, Call};
use crate::checker::Step;
use crate::contract::{Asked, Contract, Ending, Heard, Kind, Phase, Requested, State};
use crate::purse::{ceiling, output_least, wide};
use crate::violation::{Found, Law};
use crate::{draft, draws, hires, queue, tells};

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
    let kind = kind_of(step, id, ask, origin);
    let contract = &mut step.tree.contracts[step.me];
    set_aside(contract, ask, hold, step.found);
    let state = State::Open { money: wide(hold.money), heads: i128::from(hold.heads.0) };
    contract.add_ask(Asked { kind, origin, state });
    match ask {
        Ask::Hire { brief, .. } => {
            contract.refresh(brief.path.ordinal());
            // A hire that costs nothing takes nothing from what its hirer keeps.
            if hold.money > Msat::ZERO {
                step.batch.shares.given(contract);
            }
        }
        Ask::Tell { to, what } => tells::sent(step, to, what),
        Ask::Model(_) | Ask::Tool(_) | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. } => {}
    }
}

/// Checks what is special about an ask of this kind.
fn kind_of(step: &mut Step<'_, '_>, id: AskId, ask: &Ask, origin: Origin) -> Kind {
    let contract = &mut step.tree.contracts[step.me];
    match ask {
        Ask::Model(request) => requested(contract, id, request, step.found),
        Ask::Tool(call) => {
            check_powers(contract, &call.needs, step.found);
            contract.repeats.called(id, call, step.found);
            // The calls of a reply are placed before the hires are served.
            if let (Origin::Call(call_ref), Cause::Answer(reply)) = (origin, &step.batch.cause)
                && call_ref.reply == *reply
            {
                step.batch.shares.add_tool(wide(call.price));
            }
            Kind::Tool
        }
        Ask::Hire { brief, mode } => Kind::Hire(hires::asked(step, id, brief, *mode, origin)),
        Ask::Check(check) => {
            let known = contract.brief.checks.contains(check);
            step.found.demand(known, Law::Reports, format_args!("a check that the brief does not name"));
            let waits = matches!(contract.phase, Phase::Working) && contract.draft.is_continued();
            step.found.demand(!waits, Law::Reports, format_args!("checks a reply that waits for its continuation"));
            Kind::Check(*check)
        }
        Ask::Question { to, matter, .. } => {
            check_question(contract, *to, matter, step.found);
            Kind::Question { to: *to, matter: matter.clone(), heard: Heard::NotYet }
        }
        Ask::Draw { least } => {
            draws::asked(contract, id, *least, step.found);
            Kind::Draw { least: *least, heard: Heard::NotYet }
        }
        Ask::Tell { to, what } => Kind::Tell { to: to.clone(), what: what.clone(), heard: Heard::NotYet },
    }
}

/// Checks the ceiling, and moves it from available to held.
fn set_aside(contract: &mut Contract, ask: &Ask, hold: Hold, found: &mut Found<'_>) {
    let (money, heads) = match ask {
        Ask::Model(request) => (ceiling(&contract.brief.tariff, request.tokens, request.max_tokens), 0),
        Ask::Tool(call) => (wide(call.price), 0),
        Ask::Hire { brief, .. } => (wide(brief.grant.money), 1 + i128::from(brief.grant.heads.0)),
        Ask::Check(check) => (wide(check.price), 0),
        Ask::Question { .. } | Ask::Draw { .. } | Ask::Tell { .. } => (0, 0),
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
            matches!(what, Stimulus::WrapUp | Stimulus::Cancel | Stimulus::TopUp { draw: None, .. })
        }
        (Outcome::Failed, Ask::Tell { what, .. }) => {
            matches!(what, Stimulus::WrapUp | Stimulus::TopUp { draw: None, .. })
        }
        (Outcome::Cancelled, Ask::Tell { what, .. }) => matches!(what, Stimulus::Cancel),
        (
            _,
            Ask::Model(_) | Ask::Tool(_) | Ask::Hire { .. } | Ask::Check(_) | Ask::Question { .. } | Ask::Draw { .. },
        ) => false,
    };
    found.demand(allowed, Law::Closing, format_args!("asks for {} while it closes as {outcome:?}", name(ask)));
}

/// Checks that an ask has an origin of the right kind.
fn check_origin(ask: &Ask, origin: Origin, found: &mut Found<'_>) {
    let fits = match (ask, origin) {
        (Ask::Model(_) | Ask::Check(_) | Ask::Draw { .. } | Ask::Tell { .. }, Origin::Course)
        | (Ask::Tell { .. }, Origin::Outside)
        | (Ask::Tool(_) | Ask::Question { .. } | Ask::Tell { .. } | Ask::Hire { .. }, Origin::Call(_))
        | (Ask::Hire { .. }, Origin::Cascade | Origin::Outside) => true,
        (_, Origin::Course | Origin::Call(_) | Origin::Cascade | Origin::Outside) => false,
    };
    found.demand(fits, Law::Replay, format_args!("{} can't come from {origin:?}", name(ask)));
}

fn place(contract: &mut Contract, ask: &Ask, call: CallRef, found: &mut Found<'_>) {
    let (act, new) = match ask {
        // Its call was decided on when the hire began to wait.
        Ask::Hire { brief, .. } if queue::waiting_for(contract, brief).is_some() => return,
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
        Ask::Model(_) | Ask::Check(_) | Ask::Draw { .. } => return,
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
    let Request { upto, hears, max_tokens, turn, cut, .. } = request;
    let facts = contract.facts;
    found.demand(*upto == facts, Law::Replay, format_args!("shows {upto} facts, but there are {facts}"));
    // A request that is cut to fit includes no report: all reports stay owed.
    let owed = &contract.owed;
    let all = if *cut { hears.is_empty() } else { hears == owed };
    found.demand(all, Law::Reports, format_args!("includes the reports {hears:?}, but {owed:?} are owed"));
    let (whole, shown) = (*cut || request.tokens >= contract.shown, contract.shown);
    let tokens = request.tokens;
    found.demand(whole, Law::Holds, format_args!("pays for {tokens} tokens, but shows at least {shown}"));
    if !cut {
        contract.owed.clear();
    }
    let open = contract.request.filter(|newest| contract.is_open(newest.ask));
    found.demand(open.is_none(), Law::Holds, format_args!("a second request was made while one is open"));
    let left = contract.calls.unresolved();
    found.demand(left.is_none(), Law::Reports, format_args!("a request was made while call {left:?} has no answer"));
    let blocked = contract.row.blocking.first();
    found.demand(
        blocked.is_none(),
        Law::Reports,
        format_args!("a request was made while it waits for hire {blocked:?}"),
    );
    let most = contract.brief.tariff.max_tokens;
    let least = match turn {
        Turn::Next => output_least(&contract.brief.tariff),
        Turn::Last => most.min(LAST_OUTPUT_TOKENS),
    };
    let sensible = (least..=most).contains(max_tokens);
    found.demand(sensible, Law::Holds, format_args!("asks for {max_tokens} output tokens, not {least} to {most}"));
    match turn {
        Turn::Next => {
            found.demand(!cut, Law::Holds, format_args!("an ordinary request is cut to fit"));
            let (replies, most) = (contract.replies, contract.brief.turns_max);
            // A reply that is continued is one turn with all its parts.
            let continues = contract.draft.is_continued();
            let left = continues || contract.brief.close_when == CloseWhen::Asked || replies < most;
            found.demand(left, Law::Grants, format_args!("asks for another reply after {replies} of {most}"));
            contract.requests = contract.requests.saturating_add(u32::from(!continues));
        }
        Turn::Last => {
            let (input, output) = (request.tokens, u64::from(*max_tokens));
            let left = contract.last_tokens_max.unwrap_or(u64::MAX);
            found.demand(
                input.saturating_add(output) <= left,
                Law::Holds,
                format_args!("a last request may use {input} + {output} tokens, but only {left} are left"),
            );
            last(contract, id, found);
        }
    }
    contract.shown = request.tokens;
    contract.request = Some(Requested { ask: id, upto: *upto, tokens: request.tokens });
    Kind::Model { hears: hears.clone() }
}

/// Checks the last request, which the severance pays for: the same fact releases the severance.
fn last(contract: &mut Contract, id: AskId, found: &mut Found<'_>) {
    match contract.phase {
        Phase::Closing(Outcome::Exhausted(limit)) => {
            let has_report = draft::is_report(contract, limit);
            found.demand(
                !has_report,
                Law::Severance,
                format_args!("a last request was made, although a text that was cut is the report"),
            );
        }
        Phase::Working | Phase::Closing(_) | Phase::Closed(_) => {
            found.broken(Law::Severance, format_args!("a last request was made without a limit as the reason"));
        }
    }
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

pub(crate) fn check_words(words: &TextRef, found: &mut Found<'_>) {
    let bytes = words.bytes;
    found.demand(
        bytes <= MESSAGE_BYTES_MAX,
        Law::Refusals,
        format_args!("a message has {bytes} bytes, more than the maximum"),
    );
}

fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Model(_) => "a request",
        Ask::Tool(_) => "a tool call",
        Ask::Hire { .. } => "a hire",
        Ask::Check(Check { .. }) => "a check",
        Ask::Question { .. } => "a question",
        Ask::Draw { .. } => "a draw",
        Ask::Tell { .. } => "a stimulus",
    }
}
