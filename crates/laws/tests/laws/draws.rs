//! Draws: one at a time, answered once, the oldest first, within the limit, and with the hirer's own money.

use guildhall_kernel::{
    Answer, Ask, AskId, Brief, Cause, Cost, Fact, Limit, Mode, Nudge, Origin, Outcome, Report, Stimulus, TextKind, Turn,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, answer_of, ask_of, call, hold_of, known, msat, owner, path, report, root, said, said_of, sender, text,
};
use crate::scenes;
use crate::shares::{NEED, kept, scout, with_free};

/// A root with this much money after its reply, and with hires that wait for more.
pub(crate) fn hires(free: u64, hires: &[Brief]) -> Journal {
    let mut j = Journal::new();
    j.open(&with_free(free)).request(&[]);
    j.answer("1", 1, said(1, u32::try_from(hires.len()).unwrap()), known(10_000));
    for (index, hire) in (0..).zip(hires) {
        j.hire(hire, Mode::Blocking, call(1, index));
    }
    for hire in hires {
        j.open(hire).request(&[]);
    }
    j
}

/// The hire with this ordinal draws; the root does not hear it yet. Its draw is ask 2.
pub(crate) fn draws(j: &mut Journal, ordinal: u32, least: u64) {
    let hire = path("1").hire(ordinal).to_string();
    j.answer(&hire, 1, said(5, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).draw(least);
}

/// The root hears the draw of this hire.
pub(crate) fn hears(j: &mut Journal, ordinal: u32, least: u64) -> &mut Journal {
    let hire = path("1").hire(ordinal).to_string();
    j.hear("1", sender(&hire, 2), Stimulus::Draw { least: msat(least) })
}

/// A root with hires of equal grants, all of which it knows to draw this much, one by one.
fn drawers(free: u64, count: u32, drawn: &[(u32, u64)]) -> Journal {
    let all: Vec<Brief> = (1..=count).map(|ordinal| scout(ordinal, NEED)).collect();
    let mut j = hires(free, &all);
    for (ordinal, least) in drawn {
        draws(&mut j, *ordinal, *least);
        hears(&mut j, *ordinal, *least);
    }
    j
}

#[test]
fn only_a_hire_draws() {
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 0), known(10)).draw(5);
    j.breaks(Law::Hires, "a root draws, but a root has no hirer");
}

#[test]
fn a_draw_is_above_zero_holds_nothing_and_comes_from_the_course() {
    scenes::draws().with(9, |s| *ask_of(s) = Ask::Draw { least: msat(0) }).breaks(Law::Holds, "draws no money");
    scenes::draws().with(9, |s| hold_of(s).money = msat(1)).breaks(Law::Holds, "holds 1 msat, but the ceiling is 0");
    let outside = scenes::draws().with(9, |s| {
        let Fact::Asked { origin, .. } = &mut s.fact else { panic!("a draw") };
        *origin = Origin::Outside;
    });
    outside.breaks(Law::Replay, "a draw can't come from Outside");
}

#[test]
fn one_draw_is_open_at_a_time() {
    let mut j = scenes::draws().until(9);
    j.draw(5);
    j.breaks(Law::Holds, "makes a second draw while #2 is open");
}

#[test]
fn a_draw_is_answered_once_and_costs_nothing() {
    let mut twice = scenes::draws().until(14);
    twice.answered(2, Answer::Met);
    twice.breaks(Law::Holds, "#2 is settled a second time");
    let paid = scenes::draws().with(14, |s| *answer_of(s).1 = Cost::Unknown);
    paid.breaks(Law::Holds, "the draw #2 costs Unknown, but a draw costs nothing");
    let lost = scenes::draws().with(14, |s| *answer_of(s).0 = Answer::Lost);
    lost.breaks(Law::Holds, "#2 (a draw) has an answer of the wrong kind");
    let mut world = scenes::draws().until(9);
    world.answer("1.1", 2, Answer::Met, known(0)).request(&[]);
    world.breaks(Law::Replay, "answered does not follow from Answer(#2)");
}

#[test]
fn a_draw_that_got_its_money_is_met() {
    scenes::draws().until(13).breaks(Law::Holds, "the draw #2 has its answer, but is still open");
    let refused = scenes::draws().with(14, |s| *answer_of(s).0 = Answer::NotMet);
    refused.breaks(Law::Holds, "the draw #2 is not met, but its hirer did not refuse it");
}

#[test]
fn a_draw_that_was_refused_is_not_met_and_its_contract_wraps_up() {
    scenes::draws_refused().until(19).breaks(Law::Holds, "the draw #2 has its answer, but is still open");
    let met = scenes::draws_refused().with(20, |s| *answer_of(s).0 = Answer::Met);
    met.breaks(Law::Holds, "the draw #2 is met, but its hirer refused it");
    let mut goes_on = scenes::draws_refused().until(20);
    goes_on.request(&[]);
    goes_on.breaks(Law::Closing, "the draw #2 was refused, but the contract continues");
}

#[test]
fn an_ending_ends_an_open_draw() {
    let asked = Outcome::Exhausted(Limit::Asked);
    let mut j = scenes::draws().until(9);
    j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(asked)).tell("1.1", Stimulus::WrapUp);
    j.hear("1.1", sender("1", 3), Stimulus::WrapUp).fact(Fact::Closing(asked));
    j.clone().request_as(&[], Turn::Last).breaks(Law::Closing, "but its draw #2 is open");
    j.answered(2, Answer::NotMet).request_as(&[], Turn::Last);
    j.is_lawful_so_far();
    let mut late = scenes::wrap_up().until(14);
    late.draw(5);
    late.breaks(Law::Closing, "asks for a draw while it closes as Exhausted(Asked)");
}

#[test]
fn money_that_comes_in_another_way_meets_a_draw() {
    let mut j = scenes::draws().until(9);
    let money = || Stimulus::TopUp { to: path("1.1"), money: msat(9000), draw: None };
    let (hire, by) = (AskId(2), msat(9000));
    j.hear("1", owner(1), money()).fact(Fact::Raised { hire, by, draw: None }).tell("1.1", money());
    j.hear("1.1", sender("1", 3), money()).answered(2, Answer::Met).request(&[]);
    j.is_lawful_so_far();
}

#[test]
fn only_the_hirer_hears_a_draw_and_hears_it_once() {
    let mut other = scenes::draws().until(9);
    other.hear("1", sender("1.1", 2), Stimulus::Draw { least: msat(5001) });
    other.breaks(Law::Holds, "1.1#2 did not send this stimulus to this contract");
    let mut again = scenes::draws().until(12);
    hears(&mut again, 1, 5000);
    again.breaks(Law::Holds, "1.1#2 is heard twice");
    let mut person = scenes::draws().until(9);
    person.hear("1", owner(1), Stimulus::Draw { least: msat(5000) });
    person.breaks(Law::Hires, "a person draws money");
    let mut tells = scenes::draws().until(9);
    tells.step("1", Cause::Tick).tell("1.1", Stimulus::Draw { least: msat(5000) });
    tells.breaks(Law::Replay, "a stimulus that contracts do not send");
}

#[test]
fn a_draw_of_a_hire_that_has_reported_is_not_heard() {
    let mut j = scenes::draws().until(9);
    let dry = Outcome::Exhausted(Limit::Asked);
    j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(dry)).tell("1.1", Stimulus::WrapUp);
    j.hear("1.1", sender("1", 3), Stimulus::WrapUp).fact(Fact::Closing(dry)).answered(2, Answer::NotMet);
    j.request_as(&[], Turn::Last);
    let poor = report(dry, 7, NEED, 20_000);
    j.answer("1.1", 3, said(7, 0), known(10_000)).close(poor.clone());
    j.answer("1", 2, Answer::Report(Box::new(poor)), known(20_000)).request_as(&[2], Turn::Last);
    hears(&mut j, 1, 5000);
    j.breaks(Law::Hires, "hears a draw of 1.1, which is not a live hire");
}

#[test]
fn a_raise_is_for_the_open_draw_and_for_what_is_missing() {
    let raised = |by: u64, draw: u32| {
        let mut j = scenes::draws().until(10);
        j.raise((2, "1.1"), by, draw);
        j
    };
    raised(5000, 2).is_lawful_so_far();
    raised(5001, 2).breaks(Law::Hires, "#2 is raised by 5.001sat for its draw, but 5000 msat are missing");
    raised(4999, 2).breaks(Law::Hires, "#2 is raised by 4.999sat for its draw, but 5000 msat are missing");
    raised(5000, 3).breaks(Law::Hires, "#2 is raised for its draw #3, which is not open");
    let mut twice = raised(5000, 2);
    twice.raise((2, "1.1"), 5000, 2);
    twice.breaks(Law::Hires, "#2 is raised for its draw #2, which is not open");
    let mut unheard = scenes::draws().until(9);
    unheard.step("1", Cause::Tick).raise((2, "1.1"), 5000, 2);
    unheard.breaks(Law::Hires, "#2 is raised for its draw #2, which is not open");
}

#[test]
fn a_raise_for_a_draw_is_sent_at_once() {
    let unsent = "#2 is raised for a draw, but the money is not sent to it";
    scenes::draws().until(11).breaks(Law::Hires, unsent);
    let mut late = scenes::draws().until(11);
    late.tell("1.1", Stimulus::Message(text(TextKind::Message, 9)));
    late.breaks(Law::Hires, unsent);
    let other = Stimulus::TopUp { to: path("1.1"), money: msat(4000), draw: Some(AskId(2)) };
    let mut wrong = scenes::draws().until(11);
    wrong.tell("1.1", other.clone());
    wrong.breaks(Law::Hires, unsent);
    let mut alone = scenes::draws().until(10);
    alone.tell("1.1", other);
    alone.breaks(Law::Hires, "sends 1.1 money for a draw that it did not raise");
}

#[test]
fn the_hold_of_a_hire_includes_the_money_on_the_way() {
    // Law 3: the hold has grown, and the hire has not heard it yet.
    scenes::draws().until(12).is_lawful_so_far();
    // Without the top-up, the hold is more than the grant.
    let unsent = "289100 msat are held for 1.1, which was granted 284100; 0 are on the way";
    scenes::draws().until(11).breaks(Law::Hires, unsent);
}

#[test]
fn no_money_enters_a_session_by_a_draw() {
    let money = |draw| Stimulus::TopUp { to: path("1"), money: msat(5000), draw };
    let mut j = scenes::draws().until(9);
    j.hear("1", owner(1), money(None));
    j.is_lawful_so_far();
    let mut j = scenes::draws().until(9);
    j.hear("1", owner(1), money(Some(AskId(2))));
    j.breaks(Law::Hires, "which is not its hirer");
    let below = Stimulus::TopUp { to: path("1.1"), money: msat(5000), draw: Some(AskId(2)) };
    let mut j = scenes::draws().until(9);
    j.hear("1.1", owner(1), below);
    j.breaks(Law::Hires, "which is not its hirer");
    let mut j = drawers(NEED + 20_000, 1, &[]);
    draws(&mut j, 1, 25_000);
    hears(&mut j, 1, 25_000).raise((2, "1.1"), 25_000, 2);
    j.breaks(Law::Purse, "#2 is raised by 25sat, but only 20000 msat are available");
}

#[test]
fn a_draw_is_met_only_from_the_pot() {
    let meets = |least: u64| {
        let mut j = drawers(NEED + 100_000, 1, &[]);
        draws(&mut j, 1, least);
        hears(&mut j, 1, least).raise((2, "1.1"), least, 2);
        j
    };
    meets(100_000 - kept(1)).is_lawful_so_far();
    let less = "leaves itself 19229 msat when it serves its hires, but must keep 19230";
    meets(100_001 - kept(1)).breaks(Law::Grants, less);
}

#[test]
fn the_oldest_draw_is_met_first() {
    let meets = |ordinal: u32| {
        let mut j = drawers(3 * NEED + 100_000, 3, &[(2, 5000), (1, 5000)]);
        let hire = path("1").hire(ordinal).to_string();
        j.step("1", Cause::Tick).raise((ordinal + 1, &hire), 5000, 2);
        j
    };
    meets(1).is_lawful_so_far();
    meets(2).breaks(Law::Grants, "1.2 gets the money that it drew before hire 1, which is older");
}

#[test]
fn draws_are_met_before_a_hire_begins() {
    let mut j = drawers(2 * NEED + 100_000, 2, &[]).with(3, |s| said_of(s).calls = 3).until(5);
    j.queue(&scout(3, 0), Mode::Blocking, call(1, 2));
    for ordinal in [1, 2] {
        j.open(&scout(ordinal, NEED)).request(&[]);
    }
    draws(&mut j, 1, 5000);
    hears(&mut j, 1, 5000);
    let done = scenes::paid(6, NEED);
    j.answer("1.2", 1, said(6, 0), known(10_000)).close(done.clone());
    j.answer("1", 3, Answer::Report(Box::new(done)), known(10_100));
    let mut overtakes = j.clone();
    overtakes.hire(&scout(3, 86_100), Mode::Blocking, call(1, 2));
    overtakes.breaks(Law::Grants, "1.3 is hired before hire 1 got the money that it drew");
    j.raise((2, "1.1"), 5000, 2).hire(&scout(3, 86_100), Mode::Blocking, call(1, 2));
    j.is_lawful_so_far();
}

#[test]
fn a_grant_and_all_draws_are_within_the_limit() {
    let limited = |most: u64, least: u64| {
        let brief = Brief { money_max: Some(msat(most)), ..scout(1, NEED) };
        let mut j = hires(NEED + 100_000, &[brief]);
        draws(&mut j, 1, least);
        hears(&mut j, 1, least);
        j
    };
    let meets = |most: u64, least: u64| {
        let mut j = limited(most, least);
        j.raise((2, "1.1"), least, 2);
        j
    };
    meets(NEED + 5000, 5000).is_lawful_so_far();
    meets(NEED + 4999, 5000).breaks(Law::Grants, "1.1 is raised by 5sat, but may draw only 4999 msat");
    // A draw beyond the limit is refused at once.
    let mut waits = limited(NEED + 4999, 5000);
    let mut refuses = waits.clone();
    waits.step("1", Cause::Tick).fact(Fact::Nudged(Nudge::Empty));
    waits.breaks(Law::Refusals, "hire 1 draws more than it may ever get, but the draw was not refused at once");
    refuses.tell("1.1", Stimulus::RefuseDraw { draw: AskId(2) });
    refuses.is_lawful_so_far();
}

#[test]
fn a_persons_top_up_counts_toward_a_draw_and_raises_the_limit() {
    let brief = Brief { money_max: Some(msat(NEED + 5000)), ..scout(1, NEED) };
    let topped_up = |money: u64| {
        let mut j = hires(NEED + 100_000, std::slice::from_ref(&brief));
        draws(&mut j, 1, 5000);
        let by = msat(money);
        let money = Stimulus::TopUp { to: path("1.1"), money: by, draw: None };
        // Another hire works: the draw may wait.
        j.hear("1", owner(1), money.clone()).fact(Fact::Raised { hire: AskId(2), by, draw: None }).tell("1.1", money);
        j
    };
    // The top-up came before the draw was heard: the whole draw is missing, and the limit is that of the draws alone.
    let mut before = topped_up(2000);
    hears(&mut before, 1, 5000).raise((2, "1.1"), 5000, 2);
    before.is_lawful_so_far();
    let after = |money: u64, by: u64| {
        let mut j = drawers(2 * NEED + 100_000, 2, &[(1, 5000)]);
        let more = Stimulus::TopUp { to: path("1.1"), money: msat(money), draw: None };
        j.hear("1", owner(1), more.clone());
        j.fact(Fact::Raised { hire: AskId(2), by: msat(money), draw: None }).tell("1.1", more);
        j.raise((2, "1.1"), by, 2);
        j
    };
    after(2000, 3000).is_lawful_so_far();
    after(2000, 5000).breaks(Law::Hires, "#2 is raised by 5sat for its draw, but 3000 msat are missing");
    after(5000, 1).breaks(Law::Hires, "#2 is raised for its draw #2, which is not open");
}

#[test]
fn a_newer_draw_replaces_an_older_one() {
    let second = |newest_first: bool| {
        let mut j = drawers(2 * NEED + 100_000, 2, &[]);
        draws(&mut j, 1, 5000);
        // A top-up ends the first draw; later the hire draws again.
        let money = || Stimulus::TopUp { to: path("1.1"), money: msat(6000), draw: None };
        let (hire, by) = (AskId(2), msat(6000));
        j.hear("1", owner(1), money()).fact(Fact::Raised { hire, by, draw: None }).tell("1.1", money());
        j.hear("1.1", sender("1", 4), money()).answered(2, Answer::Met).request(&[]);
        j.answer("1.1", 3, said(7, 0), known(10_000)).fact(Fact::Nudged(Nudge::FixReport)).draw(7000);
        let first = (2, 5000);
        let second = (4, 7000);
        for (ask, least) in if newest_first { [second, first] } else { [first, second] } {
            j.hear("1", sender("1.1", ask), Stimulus::Draw { least: msat(least) });
        }
        j
    };
    for newest_first in [true, false] {
        let mut j = second(newest_first);
        let mut old = j.clone();
        j.raise((2, "1.1"), 7000, 4);
        j.is_lawful_so_far();
        old.raise((2, "1.1"), 5000, 2);
        old.breaks(Law::Hires, "#2 is raised for its draw #2, which is not open");
    }
}

#[test]
fn an_ending_hirer_meets_no_draw() {
    let mut j = drawers(2 * NEED + 100_000, 2, &[(1, 5000)]);
    j.hear("1", owner(1), Stimulus::WrapUp).fact(Fact::Closing(Outcome::Exhausted(Limit::Asked)));
    j.tell("1.1", Stimulus::WrapUp).tell("1.2", Stimulus::WrapUp);
    let mut meets = j.clone();
    meets.raise((2, "1.1"), 5000, 2);
    meets.breaks(Law::Closing, "raises #2 for a draw while the contract is ending");
    j.tell("1.1", Stimulus::RefuseDraw { draw: AskId(2) });
    j.breaks(Law::Closing, "asks for a stimulus while it closes as Exhausted(Asked)");
}

#[test]
fn a_hire_that_draws_does_not_wait_for_nothing() {
    let mut j = drawers(NEED + 100_000, 1, &[(1, 5000)]);
    j.breaks(Law::Liveness, "a hire waits for money, but nothing that could free money is open");
    j.raise((2, "1.1"), 5000, 2);
    j.is_lawful_so_far();
}

#[test]
fn a_hire_that_was_told_to_end_draws_no_more() {
    let mut j = drawers(NEED + 100_000, 1, &[]);
    draws(&mut j, 1, 5000);
    j.hear("1", owner(1), Stimulus::DropHire { ordinal: 1 }).tell("1.1", Stimulus::Cancel);
    hears(&mut j, 1, 5000);
    j.is_lawful_so_far();
}

#[test]
fn a_hire_draws_before_it_runs_dry() {
    let dry = Outcome::Exhausted(Limit::Purse);
    let closes = |change: fn(&mut Brief)| {
        let mut brief = scout(1, NEED);
        change(&mut brief);
        let mut j = hires(NEED + 100_000, &[brief]);
        j.answer("1.1", 1, said(5, 0), known(10_000)).fact(Fact::Closing(dry));
        j.request_as(&[], Turn::Last);
        j
    };
    closes(|_| ()).breaks(Law::Closing, "begins to close as Exhausted(Purse) without a reason");
    // For the answer to a nudge, no hire draws.
    let mut nudged = hires(NEED + 100_000, &[scout(1, NEED)]);
    nudged.answer("1.1", 1, said(5, 0), known(10_000)).fact(Fact::Nudged(Nudge::Empty)).fact(Fact::Closing(dry));
    nudged.request_as(&[], Turn::Last);
    nudged.is_lawful_so_far();
    closes(|brief| brief.money_max = brief.grant.money.into()).is_lawful_so_far();
    let mut alone = Journal::new();
    alone.open(&root()).request(&[]);
    alone.answer("1", 1, said(1, 0), known(10_000)).fact(Fact::Closing(dry)).request_as(&[], Turn::Last);
    alone.is_lawful_so_far();
}

#[test]
fn draws_end_with_the_report_of_their_hire() {
    let mut j = drawers(2 * NEED + 100_000, 2, &[(1, 5000)]);
    let money = || Stimulus::TopUp { to: path("1.1"), money: msat(9000), draw: None };
    // The hire that drew goes on with a person's money and reports; its hirer owes it nothing any more.
    let (hire, by) = (AskId(2), msat(9000));
    j.hear("1", owner(1), money()).fact(Fact::Raised { hire, by, draw: None }).tell("1.1", money());
    j.hear("1.1", sender("1", 4), money()).answered(2, Answer::Met).request(&[]);
    let done = Report { fee: msat(100), ..report(Outcome::Done, 6, NEED + 9000, 20_100) };
    j.answer("1.1", 3, said(6, 0), known(10_000)).close(done.clone());
    j.answer("1", 2, Answer::Report(Box::new(done)), known(20_100));
    j.is_lawful_so_far();
    j.raise((2, "1.1"), 5000, 2);
    j.breaks(Law::Hires, "#2 is raised for its draw #2, which is not open");
}
