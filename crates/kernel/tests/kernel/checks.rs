//! Checks: a contract pays for them from its own purse, and the agent can correct its text once.

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
    hall.skip_facts("1");
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    hall.check("1", Answer::Passed, known(3));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 check "schema", holds 0sat
    asked #3 check "tests", holds 5sat
    answered #2 passed
    answered #3 passed, cost 3sat
    closed: done, accepted, "final text of 1", spent 27sat, fee 20sat, change 73sat
    "#);
}

#[test]
pub(crate) fn a_final_text_that_fails_a_check_is_corrected_once() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.skip_facts("1");
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 check "tests", holds 0sat
    answered #2 failed check "2 of 9 fail"
    nudged: fix report
    asked #3 model, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    asked #4 check "tests", holds 0sat
    answered #4 passed
    closed: done, accepted, "final text of 1", spent 28sat, fee 20sat, change 72sat
    "#);
}

#[test]
fn a_final_text_that_fails_twice_is_reported_but_not_accepted_and_not_paid() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    hall.skip_facts("1");
    hall.final_text("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 said "final text of 1", cost 4sat
    asked #4 check "tests", holds 0sat
    answered #4 failed check "2 of 9 fail"
    closed: done, not accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn a_check_that_cant_be_paid_means_not_accepted_and_free_checks_still_run() {
    let mut hall = checked(&[check("audit", 500), check("schema", 0)]);
    hall.skip_facts("1");
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    refused by the contract itself: not enough money: at least 500sat is needed, 500sat was offered, 74sat is available: do the work yourself, or wait until a hire returns unspent money
    asked #2 check "schema", holds 0sat
    answered #2 passed
    closed: done, not accepted, "final text of 1", spent 4sat, change 96sat
    "#);
}

#[test]
fn a_correction_that_cant_be_paid_means_not_accepted() {
    let mut hall = Hall::open(Brief { checks: [check("tests", 0)].into(), ..root("coder", 6) });
    hall.replies_for("1", words("my best"), known(4));
    hall.skip_facts("1");
    hall.check("1", Answer::FailedCheck(finding()), known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
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
fn a_report_after_a_wrap_up_is_accepted_only_if_it_passed_a_check() {
    let mut unchecked = checked(&[]);
    unchecked.owner_sends("1", Stimulus::WrapUp);
    unchecked.final_text("1");
    assert_eq!(unchecked.report("1").acceptance, Acceptance::NotAccepted);
    let mut hall = checked(&[check("tests", 0)]);
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.final_text("1");
    hall.check("1", Answer::Passed, known(0));
    assert_eq!(hall.report("1").acceptance, Acceptance::Accepted);
}

#[test]
fn a_hire_makes_its_own_checks_and_its_hirer_gets_the_report_that_failed_them() {
    let mut hall = Hall::open(root("contractor", 1000));
    let strict = hire("coder").budget(100).with(|offer| offer.checks = [check("tests", 10)].into());
    hall.says("1", &[strict]);
    for _ in 0..2 {
        hall.final_text("1.1");
        hall.check("1.1", Answer::FailedCheck(finding()), known(10));
    }
    assert!(hall.waits_for_model("1"));
    assert_eq!(hall.report("1.1").acceptance, Acceptance::NotAccepted);
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  at work  spent 32sat
    └─ coder     100sat  done     spent 28sat
    ");
}

#[test]
fn the_text_of_a_reply_with_calls_is_not_checked() {
    let mut hall = checked(&[check("tests", 0)]);
    hall.replies("1", calling(&[tool("read")]));
    assert!(hall.contract("1").outstanding().all(|(_, ask)| matches!(ask, Ask::Tool(_))));
}
