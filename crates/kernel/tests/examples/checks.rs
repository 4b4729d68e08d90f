//! Checks: performed by the contract itself, from its own purse, with one chance to mend.

use guildhall_kernel::{Acceptance, Answer, Ask, Brief, Check, Stimulus, TextKind, TextRef};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{calling, check, hire, known, root, sat, text, tool, words};

fn checked(checks: &[Check]) -> Hall {
    Hall::open(Brief { checks: checks.into(), fee: sat(20), ..root("coder", 100) })
}

fn finding() -> TextRef {
    text(TextKind::Finding, "2 of 9 fail")
}

#[test]
fn a_final_text_that_passes_its_checks_is_accepted_and_paid() {
    let mut hall = checked(&[check("schema", 0), check("tests", 5)]);
    hall.so_far("1");
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    hall.check("1", Answer::Passed, known(3));
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 check "schema", holds 0sat
    asked #3 check "tests", holds 5sat
    answered #2 passed
    answered #3 passed, cost 3sat
    closed: done, accepted, "final text of 1", spent 27sat, fee 20sat, change 73sat
    "#);
}

#[test]
pub(crate) fn a_final_text_that_fails_a_check_is_mended_once() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.so_far("1");
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 check "tests", holds 0sat
    answered #2 failed check "2 of 9 fail"
    nudged: mend
    asked #3 model, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    asked #4 check "tests", holds 0sat
    answered #4 passed
    closed: done, accepted, "final text of 1", spent 28sat, fee 20sat, change 72sat
    "#);
}

#[test]
fn a_final_text_that_fails_twice_is_reported_whole_but_not_accepted_and_not_paid() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    hall.so_far("1");
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    assert_snapshot!(hall.news("1"), @r#"
    answered #3 said "final text of 1", cost 4sat
    asked #4 check "tests", holds 0sat
    answered #4 failed check "2 of 9 fail"
    closed: done, not accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn a_check_that_cant_be_paid_means_not_accepted_while_free_ones_still_run() {
    let mut hall = checked(&[check("audit", 500), check("schema", 0)]);
    hall.so_far("1");
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    refused in the course of things: not enough money: at least 500sat needed, 500sat offered, 74sat available: do the work yourself, or wait for change
    asked #2 check "schema", holds 0sat
    answered #2 passed
    closed: done, not accepted, "final text of 1", spent 4sat, change 96sat
    "#);
}

#[test]
fn a_mend_that_cant_be_paid_means_not_accepted() {
    let mut hall = Hall::open(Brief { checks: [check("tests", 0)].into(), ..root("coder", 6) });
    hall.replies_for("1", words("my best"), known(4));
    hall.so_far("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    assert_snapshot!(hall.news("1"), @r#"
    answered #2 failed check "2 of 9 fail"
    closed: done, not accepted, "my best", spent 4sat, change 2sat
    "#);
}

#[test]
fn a_check_that_is_lost_did_not_pass() {
    let mut hall = Hall::open(Brief { turns_max: 1, checks: [check("tests", 0)].into(), ..root("coder", 100) });
    hall.final_text("1");
    hall.check("1", Answer::Lost, known(0));
    assert_eq!(hall.report("1").acceptance, Acceptance::NotAccepted);
}

#[test]
fn a_report_that_was_cut_short_is_accepted_only_if_there_was_a_check_to_pass() {
    let mut unchecked = checked(&[]);
    unchecked.told("1", Stimulus::WrapUp);
    unchecked.final_text("1");
    assert_eq!(unchecked.report("1").acceptance, Acceptance::NotAccepted);
    let mut hall = checked(&[check("tests", 0)]);
    hall.told("1", Stimulus::WrapUp);
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_eq!(hall.report("1").acceptance, Acceptance::Accepted);
}

#[test]
fn a_hires_checks_are_its_own_and_its_hirer_hears_of_a_report_that_fails_them() {
    let mut hall = Hall::open(root("contractor", 1000));
    let strict = hire("coder").budget(100).with(|offer| offer.checks = [check("tests", 10)].into());
    hall.says("1", &[strict]);
    for _ in 0..2 {
        hall.final_text("1.1");
        hall.check("1.1", Answer::FailedCheck(finding()), known(10));
    }
    assert!(hall.thinks("1"));
    assert_eq!(hall.report("1.1").acceptance, Acceptance::NotAccepted);
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  at work  spent 32sat
    └─ coder     100sat  done     spent 28sat
    ");
}

#[test]
fn what_is_said_after_a_call_is_checked_not_what_was_said_with_it() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.replies("1", calling(&[tool("read")]));
    assert!(hall.contract("1").outstanding().all(|(_, ask)| matches!(ask, Ask::Tool(_))));
}
