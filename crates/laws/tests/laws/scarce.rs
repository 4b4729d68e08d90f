//! Refusals for money: what must not be refused while something else could free or give money.

use guildhall_kernel::{
    Addressee, Answer, Ask, AskId, Brief, Fact, Limit, Matter, Millis, Mode, Msat, Nudge, Offer, Origin, Outcome,
    Refusal, Stimulus, TextKind, Turn,
};
use guildhall_laws::Law;

use crate::draws::{draws, hears, hires};
use crate::journal::{
    Journal, call, granted, hire, known, msat, offer, owner, path, refused_hire, root, said, said_of, sender, text,
};
use crate::scenes::paid;
use crate::shares::{NEED, scout, with_free};

const HOLDS: &str = "a hire is refused for lack of money while something that it may wait for holds money";

fn short(asked: u64) -> Refusal {
    Refusal::Money { asked: msat(asked), free: Msat::ZERO, minimum: msat(25_440) }
}

/// A root whose reply calls a tool and hires once in each of these modes. The last hire waits; the others work.
fn works(modes: &[Mode], waits: Mode, tool: Option<u64>) -> Journal {
    let hires = u32::try_from(modes.len()).unwrap();
    let mut j = Journal::new();
    j.open(&with_free(u64::from(hires) * NEED + 100_000)).request(&[]);
    j.answer("1", 1, said(1, hires + 1 + u32::from(tool.is_some())), known(10_000));
    for (index, mode) in (0..).zip(modes) {
        j.hire(&scout(index + 1, NEED), *mode, call(1, index));
    }
    j.queue(&scout(hires + 1, 0), waits, call(1, hires));
    if let Some(price) = tool {
        j.tool(price, call(1, hires + 1));
    }
    j
}

/// The same, and the hire that waits is refused for lack of money.
fn refuses(modes: &[Mode], waits: Mode, tool: Option<u64>) -> Journal {
    let mut j = works(modes, waits, tool);
    let index = u32::try_from(modes.len()).unwrap();
    j.fact(refused_hire(short(25_440), call(1, index), Some(index + 1)));
    j
}

#[test]
fn a_hire_is_not_refused_for_money_while_a_call_holds_money() {
    use Mode::{Background, Blocking};
    for mode in [Background, Blocking] {
        refuses(&[], mode, Some(5)).breaks(Law::Refusals, HOLDS);
        refuses(&[], mode, Some(0)).is_lawful_so_far();
    }
    let mut request = works(&[], Background, Some(0));
    request.answer("1", 2, Answer::Lost, known(0)).request(&[]);
    request.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 9)));
    request.fact(refused_hire(short(25_440), call(1, 0), Some(1)));
    request.breaks(Law::Refusals, HOLDS);
}

#[test]
fn a_hire_is_not_refused_for_money_while_a_hire_that_it_waits_for_works() {
    use Mode::{Background, Blocking};
    refuses(&[Background], Background, None).breaks(Law::Refusals, HOLDS);
    refuses(&[Blocking], Background, None).breaks(Law::Refusals, HOLDS);
    refuses(&[Blocking], Blocking, None).breaks(Law::Refusals, HOLDS);
    refuses(&[Background, Blocking], Blocking, None).breaks(Law::Refusals, HOLDS);
    // A blocking hire does not wait for hires in the background.
    refuses(&[Background], Blocking, None).is_lawful_so_far();
}

#[test]
fn a_hire_that_has_asked_or_draws_does_not_count_as_working() {
    let question =
        Ask::Question { to: Addressee::Hirer, matter: Matter::Text(text(TextKind::Message, 50)), until: Millis(9000) };
    let mut asks = works(&[Mode::Background], Mode::Background, None);
    asks.open(&scout(1, NEED)).request(&[]);
    asks.answer("1.1", 1, said(5, 1), known(10_000)).ask(question, 0, 0, call(1, 0));
    asks.hear("1", sender("1.1", 2), Stimulus::Question(text(TextKind::Message, 50)));
    let mut messages = asks.clone();
    asks.fact(refused_hire(short(25_440), call(1, 1), Some(2))).request(&[]);
    asks.is_lawful_so_far();
    let answers = Ask::Tell { to: path("1.1"), what: Stimulus::Message(text(TextKind::Message, 51)) };
    messages.request(&[]);
    messages.answer("1", 3, said(7, 1), known(10)).ask(answers, 0, 0, call(3, 0));
    messages.fact(refused_hire(short(25_440), call(1, 1), Some(2)));
    messages.breaks(Law::Refusals, HOLDS);
}

#[test]
fn a_hire_is_refused_at_once_only_for_its_own_limit() {
    let refuses = |asked: u64| {
        let mut j = works(&[Mode::Blocking], Mode::Blocking, None).until(4);
        j.fact(refused_hire(short(asked), call(1, 1), None));
        j
    };
    refuses(25_439).is_lawful_so_far();
    refuses(25_440).breaks(Law::Refusals, HOLDS);
    let outside = |budget: Option<Msat>| {
        let mut j = works(&[Mode::Blocking], Mode::Blocking, None);
        let offered = Offer { budget, ..offer(&scout(3, 0), Mode::Background) };
        j.hear("1", owner(1), Stimulus::Hire(Box::new(offered)));
        j.fact(refused_hire(short(25_439), Origin::Outside, None));
        j
    };
    outside(Some(msat(25_439))).is_lawful_so_far();
    outside(Some(msat(25_440))).breaks(Law::Refusals, HOLDS);
    outside(None).breaks(Law::Refusals, HOLDS);
}

#[test]
fn the_oldest_hire_is_refused_first() {
    let refuses = |ordinal: u32| {
        let mut j = works(&[], Mode::Blocking, None).with(3, |s| said_of(s).calls = 2);
        j.queue(&scout(2, 0), Mode::Blocking, call(1, 1));
        j.fact(refused_hire(short(25_440), call(1, ordinal - 1), Some(ordinal)));
        for other in [1, 2] {
            if other != ordinal {
                j.fact(refused_hire(short(25_440), call(1, other - 1), Some(other)));
            }
        }
        j.request(&[]);
        j
    };
    refuses(1).is_lawful_so_far();
    refuses(2).breaks(Law::Refusals, "a hire is refused for lack of money before hire 1, which is older");
}

#[test]
fn a_draw_is_refused_before_a_hire_that_waits() {
    let mut j = works(&[Mode::Blocking], Mode::Blocking, None);
    j.open(&scout(1, NEED)).request(&[]);
    draws(&mut j, 1, 200_000);
    hears(&mut j, 1, 200_000);
    let mut candidate = j.clone();
    candidate.fact(refused_hire(short(25_440), call(1, 1), Some(2)));
    candidate.breaks(Law::Refusals, "a hire is refused for lack of money before 1 hires that draw");
    j.tell("1.1", Stimulus::RefuseDraw { draw: AskId(2) });
    j.is_lawful_so_far();
}

/// A root with three hires, of which some draw. Then the root refuses one of the draws.
fn refuses_draw(drawn: &[u32], refused: u32, tool: Option<u64>) -> Journal {
    let all: Vec<Brief> = (1..=3).map(|ordinal| scout(ordinal, NEED)).collect();
    let mut j = hires(3 * NEED + 100_000, &all);
    if let Some(price) = tool {
        j = j.with(3, |s| said_of(s).calls = 4).until(6);
        j.tool(price, call(1, 3));
        for hire in &all {
            j.open(hire).request(&[]);
        }
    }
    for ordinal in drawn {
        draws(&mut j, *ordinal, 200_000);
    }
    for ordinal in drawn {
        hears(&mut j, *ordinal, 200_000);
    }
    j.tell(&path("1").hire(refused).to_string(), Stimulus::RefuseDraw { draw: AskId(2) });
    j
}

#[test]
fn the_youngest_draw_is_refused_and_only_if_nothing_moves() {
    refuses_draw(&[1, 2, 3], 3, None).is_lawful_so_far();
    refuses_draw(&[3, 2, 1], 3, None).is_lawful_so_far();
    let younger = "the draw of 1.1 is refused, but hire 3 is younger";
    refuses_draw(&[1, 2, 3], 1, None).breaks(Law::Refusals, younger);
    let holds = "is refused while something that it may wait for holds money";
    refuses_draw(&[1, 2], 2, None).breaks(Law::Refusals, holds);
    refuses_draw(&[1, 2, 3], 3, Some(5)).breaks(Law::Refusals, holds);
    refuses_draw(&[1, 2, 3], 3, Some(0)).is_lawful_so_far();
    // The hire whose draw was refused will report: the others wait for it.
    let mut two = refuses_draw(&[1, 2, 3], 3, None);
    two.tell("1.2", Stimulus::RefuseDraw { draw: AskId(2) });
    two.breaks(Law::Refusals, holds);
}

#[test]
fn a_refused_draw_is_open() {
    let not_open = "refuses the draw #2 of 1.1, which is not open";
    refuses_draw(&[2, 3], 1, None).breaks(Law::Hires, not_open);
    let mut again = refuses_draw(&[1, 2, 3], 3, None);
    again.tell("1.3", Stimulus::RefuseDraw { draw: AskId(2) });
    again.breaks(Law::Hires, "refuses the draw #2 of 1.3, which is not open");
    let mut gone = refuses_draw(&[1, 2, 3], 3, None);
    gone.tell("1.4", Stimulus::RefuseDraw { draw: AskId(2) });
    gone.breaks(Law::Replay, "sends a stimulus to 1.4, which is not a live hire");
}

/// A hire that may hire, with this limit.
fn lead(limit: Option<u64>) -> Brief {
    let lead = granted(&hire(&root(), 1, "scout"), 600_000);
    Brief { hiring: root().hiring, money_max: limit.map(msat), ..heads(lead) }
}

fn heads(mut brief: Brief) -> Brief {
    brief.grant.heads = guildhall_kernel::Heads(3);
    brief
}

/// A root with a hire, whose own hire draws more than its hirer has.
fn two_levels(limit: Option<u64>) -> Journal {
    let lead = lead(limit);
    let below = granted(&hire(&lead, 1, "writer"), NEED);
    let mut j = Journal::new();
    j.open(&with_free(700_000)).request(&[]);
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&lead, Mode::Blocking, call(1, 0));
    j.open(&lead).request(&[]);
    j.answer("1.1", 1, said(5, 1), known(10_000)).hire(&below, Mode::Blocking, call(1, 0));
    j.open(&below).request(&[]);
    j.answer("1.1.1", 1, said(6, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).draw(400_000);
    j.hear("1.1", sender("1.1.1", 2), Stimulus::Draw { least: msat(400_000) });
    j
}

#[test]
fn a_hire_draws_from_its_hirer_before_it_refuses() {
    let refuse = |draw: u32| Stimulus::RefuseDraw { draw: AskId(draw) };
    let could = "although the contract could draw from its own hirer";
    let refuses = |limit| {
        let mut j = two_levels(limit);
        j.tell("1.1.1", refuse(2));
        j
    };
    refuses(None).breaks(Law::Refusals, could);
    refuses(Some(10_000_000)).breaks(Law::Refusals, could);
    refuses(Some(700_000)).is_lawful_so_far();
    let mut draws = two_levels(None);
    draws.draw(150_000);
    draws.is_lawful_so_far();
    draws.hear("1", sender("1.1", 3), Stimulus::Draw { least: msat(150_000) }).tell("1.1", refuse(3));
    draws.hear("1.1", sender("1", 3), refuse(3)).answered(3, Answer::NotMet).tell("1.1.1", refuse(2));
    draws.hear("1.1.1", sender("1.1", 4), refuse(2)).answered(2, Answer::NotMet);
    draws.fact(Fact::Closing(Outcome::Exhausted(Limit::Purse))).request_as(&[], Turn::Last);
    draws.is_lawful_so_far();
}

#[test]
fn a_hire_draws_from_its_hirer_before_it_refuses_a_hire_that_waits() {
    let refuses = |limit: Option<u64>| {
        let lead = lead(limit);
        let mut j = Journal::new();
        j.open(&with_free(700_000)).request(&[]);
        j.answer("1", 1, said(1, 1), known(10_000)).hire(&lead, Mode::Blocking, call(1, 0));
        j.open(&lead).request(&[]);
        j.answer("1.1", 1, said(5, 1), known(10_000));
        j.queue(&granted(&hire(&lead, 1, "writer"), 0), Mode::Blocking, call(1, 0));
        j.fact(refused_hire(short(25_440), call(1, 0), Some(1))).request(&[]);
        j
    };
    let could = "although the contract could draw from its own hirer";
    refuses(None).breaks(Law::Refusals, could);
    // A first turn costs 36,600, and the lead keeps at most half of its 569,900.
    refuses(Some(600_000 + 36_600 + 284_950)).breaks(Law::Refusals, could);
    refuses(Some(600_000 + 36_600 + 284_949)).is_lawful_so_far();
}

#[test]
fn a_refused_hire_returns_what_the_others_wait_for() {
    // The first hire reports; the second, which waited, is admitted with all the rest.
    let mut j = works(&[Mode::Blocking], Mode::Blocking, None);
    j.open(&scout(1, NEED)).request(&[]);
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(paid(5, NEED));
    j.answer("1", 2, Answer::Report(Box::new(paid(5, NEED))), known(10_100));
    let mut refused = j.clone();
    refused.fact(refused_hire(short(25_440), call(1, 1), Some(2))).request(&[2]);
    refused.is_lawful_so_far();
    j.hire(&scout(2, 86_100), Mode::Blocking, call(1, 1));
    j.is_lawful_so_far();
}
