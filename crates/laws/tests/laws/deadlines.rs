//! Deadlines and margins, from the grant to the wrap-up.

use guildhall_kernel::{Brief, Cause, Fact, Grant, Limit, Millis, Mode, Origin, Outcome, Refusal, WRAP_UP_MARGIN_MAX};
use guildhall_laws::Law;

use crate::journal::{Journal, call, hire, known, refused, root, said};

/// A root that is due at this time with this margin.
fn due(deadline: u64, margin: u64) -> Brief {
    let grant = Grant { deadline: Some(Millis(deadline)), margin: Some(Millis(margin)), ..root().grant };
    Brief { grant, ..root() }
}

fn opens(brief: &Brief) -> Journal {
    let mut j = Journal::new();
    j.open(brief).request(&[]);
    j
}

/// A root that is due after 10 s with a margin of 2 s. At 20 ms it makes a hire with this deadline and this margin.
fn hires(deadline: Option<u64>, margin: Option<u64>) -> Journal {
    let hirer = due(10_010, 2002);
    let mut brief = hire(&hirer, 1, "scout");
    (brief.grant.deadline, brief.grant.margin) = (deadline.map(Millis), margin.map(Millis));
    let mut j = opens(&hirer);
    j.answer("1", 1, said(1, 1), known(10)).hire(&brief, Mode::Background, call(1, 0)).request(&[]);
    j
}

#[test]
fn a_hires_margin_is_a_fifth_of_its_time() {
    hires(Some(8008), Some(1597)).is_lawful_so_far();
    hires(Some(8008), Some(1598)).breaks(Law::Grants, "the margin is 1598ms, but must be 1597ms");
    hires(Some(8008), Some(1596)).breaks(Law::Grants, "the margin is 1596ms, but must be 1597ms");
    hires(Some(5020), Some(1000)).is_lawful_so_far();
    hires(Some(5019), Some(1000)).breaks(Law::Grants, "the margin is 1000ms, but must be 999ms");
}

#[test]
fn no_margin_is_longer_than_the_longest() {
    let hires = |deadline: u64, margin: u64| {
        let mut hired = hire(&root(), 1, "scout");
        (hired.grant.deadline, hired.grant.margin) = (Some(Millis(deadline)), Some(Millis(margin)));
        let mut j = opens(&root());
        j.answer("1", 1, said(1, 1), known(10)).hire(&hired, Mode::Background, call(1, 0)).request(&[]);
        j
    };
    hires(150_015, 29_999).is_lawful_so_far();
    hires(150_020, 30_000).is_lawful_so_far();
    hires(150_025, 30_000).is_lawful_so_far();
    hires(150_025, 30_001).breaks(Law::Grants, "the margin is 30001ms, but must be 30000ms");
}

#[test]
fn a_roots_margin_is_a_fifth_of_its_time_counted_from_a_time_before_the_opening() {
    // The root is opened at 10 ms.
    opens(&due(10_010, 2000)).is_lawful_so_far();
    opens(&due(10_010, 2002)).is_lawful_so_far();
    opens(&due(10_010, 2003)).breaks(Law::Grants, "the root's margin is 2003ms, not 2000ms to 2002ms");
    opens(&due(10_010, 1999)).breaks(Law::Grants, "the root's margin is 1999ms, not 2000ms to 2002ms");
    opens(&due(u64::MAX, 30_001)).breaks(Law::Grants, "not 30000ms to 30000ms");
}

#[test]
fn without_a_deadline_there_is_no_margin() {
    let without_deadline = |margin| {
        let grant = Grant { deadline: None, margin, ..root().grant };
        Brief { grant, ..root() }
    };
    opens(&without_deadline(None)).is_lawful_so_far();
    opens(&without_deadline(Some(WRAP_UP_MARGIN_MAX))).breaks(Law::Grants, "the grant has a margin without a deadline");
    let mut hired = hire(&without_deadline(None), 1, "scout");
    hired.grant.margin = Some(WRAP_UP_MARGIN_MAX);
    let mut j = opens(&without_deadline(None));
    j.answer("1", 1, said(1, 1), known(10)).hire(&hired, Mode::Background, call(1, 0));
    j.breaks(Law::Grants, "the grant has a margin without a deadline");
}

#[test]
fn a_hire_is_due_when_its_hirer_begins_to_wrap_up() {
    hires(Some(8008), Some(1597)).is_lawful_so_far();
    hires(Some(8009), Some(1597)).breaks(Law::Grants, "too late for its hirer, which is due");
    hires(None, None).breaks(Law::Grants, "too late for its hirer, which is due");
}

#[test]
fn a_hire_is_not_due_immediately() {
    hires(Some(21), Some(0)).is_lawful_so_far();
    hires(Some(20), Some(0)).breaks(Law::Refusals, "the hire is due at 20ms, but it is already 20ms");
}

/// A contract that begins to wrap up at this time for its deadline.
fn wraps_up(brief: &Brief, at: u64) -> Journal {
    let mut j = opens(brief);
    j.step("1", Cause::Tick).fact(Fact::Closing(Outcome::Exhausted(Limit::Deadline)));
    j.with(3, |s| s.at = Millis(at))
}

#[test]
fn a_contract_wraps_up_no_earlier_than_its_margin_before_its_deadline() {
    wraps_up(&due(10_010, 2002), 8008).is_lawful_so_far();
    wraps_up(&due(10_010, 2002), 8007).breaks(Law::Closing, "without a reason");
}

#[test]
fn a_hire_is_refused_for_lack_of_time_only_if_a_second_or_less_is_left() {
    let refuses = |deadline: u64, now: u64| {
        let mut j = opens(&root());
        let why = Refusal::Deadline { deadline: Millis(deadline), now: Millis(now) };
        j.answer("1", 1, said(1, 1), known(10)).fact(refused(why, call(1, 0))).request(&[]);
        j
    };
    let untrue = "the reason of the refusal is not true";
    refuses(1020, 20).is_lawful_so_far();
    refuses(0, 20).is_lawful_so_far();
    refuses(1021, 20).breaks(Law::Refusals, untrue);
    refuses(1020, 21).breaks(Law::Refusals, untrue);
}

#[test]
fn a_hire_without_a_call_has_a_margin_too() {
    let mut hired = hire(&root(), 1, "scout");
    hired.grant.margin = Some(Millis(29_999));
    let mut j = opens(&root());
    j.answer("1", 1, said(1, 0), known(10)).hire(&hired, Mode::Blocking, Origin::Cascade);
    j.breaks(Law::Grants, "the margin is 29999ms, but must be 30000ms");
}
