//! What an agent is told once, and what the runtime does in its stead.

use guildhall_kernel::{HireReason, Nudge, Outcome, Reply, Verdict};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{Do, hire, root, undone, words};

#[test]
fn a_promise_is_nudged_once_and_then_kept_by_the_runtime() {
    let mut hall = Hall::open(root("contractor", 1000));
    let promise = || undone(Nudge::Promise, Some((HireReason::Promise, &[hire("coder").budget(300)])));
    hall.replies("1", promise());
    hall.replies("1", promise());
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "I shall have it done", cost 4sat
    nudged: promise
    asked #2 model, holds 10sat
    answered #2 said "I shall have it done", cost 4sat
    asked #3 hire 1.1 coder, holds 300sat and 1 head (promise)
    answered #3 report done, cost 4sat
    asked #4 model hearing #3, holds 10sat
    answered #4 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 16sat, change 984sat
    "#);
}

#[test]
fn a_promise_that_the_agent_keeps_when_nudged_is_forgotten() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.replies("1", undone(Nudge::Promise, Some((HireReason::Promise, &[hire("coder").budget(300)]))));
    hall.says("1", &[hire("coder").budget(300)]);
    hall.final_text("1.1");
    hall.final_text("1");
    assert_eq!(hall.report("1").unheeded, None);
}

#[test]
fn a_promise_that_cant_be_kept_is_flagged_in_the_report() {
    let mut hall = Hall::open(root("contractor", 100));
    let promise = || undone(Nudge::Promise, Some((HireReason::Promise, &[hire("coder").budget(2)])));
    hall.replies("1", promise());
    hall.so_far("1");
    hall.replies("1", promise());
    assert_snapshot!(hall.news("1"), @r#"
    answered #2 said "I shall have it done", cost 4sat
    refused promise: not enough money: at least 3sat needed, 2sat offered, 81sat available: do the work yourself, or wait for change
    closed: done, accepted, "I shall have it done", unheeded promise, spent 8sat, change 92sat
    "#);
}

#[test]
fn a_required_hire_is_nudged_once_and_then_flagged() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.replies("1", undone(Nudge::Required, None));
    hall.replies("1", undone(Nudge::Required, None));
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "I shall have it done", cost 4sat
    nudged: required
    asked #2 model, holds 10sat
    answered #2 said "I shall have it done", cost 4sat
    closed: done, accepted, "I shall have it done", unheeded required, spent 8sat, change 992sat
    "#);
}

#[test]
fn a_reply_of_nothing_is_nudged_once_and_then_a_failure() {
    let mut hall = Hall::open(root("contractor", 1000));
    let nothing = || Reply { words: None, ..words("") };
    hall.replies("1", nothing());
    hall.replies("1", nothing());
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said nothing, cost 4sat
    nudged: empty
    asked #2 model, holds 10sat
    answered #2 said nothing, cost 4sat
    closing: failed
    closed: failed, not accepted, assembled from "the whole task", spent 8sat, change 992sat
    "#);
    assert_eq!(hall.report("1").outcome, Outcome::Failed);
}

fn cascade(calls: &[Do]) -> Reply {
    let reply = undone(Nudge::Required, Some((HireReason::Cascade, calls)));
    Reply { verdict: Verdict { nudge: None, ..reply.verdict }, ..words("coder and tester, please") }
}

#[test]
fn a_cascade_hires_the_team_with_the_first_reply_and_then_synthesises() {
    let mut hall = Hall::open(root("contractor", 1006));
    hall.replies("1", cascade(&[hire("coder"), hire("tester")]));
    hall.final_text("1.1");
    hall.final_text("1.2");
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1006sat
    asked #1 model, holds 10sat
    answered #1 said "coder and tester, please", cost 4sat
    asked #2 hire 1.1 coder, holds 450sat and 1 head (cascade)
    asked #3 hire 1.2 tester, holds 450sat and 1 head (cascade)
    answered #2 report done, cost 4sat
    answered #3 report done, cost 4sat
    asked #4 model hearing #2 #3, holds 10sat
    answered #4 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 16sat, change 990sat
    "#);
}

#[test]
fn a_cascade_that_is_refused_is_told_to_the_agent() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.so_far("1");
    hall.replies("1", cascade(&[hire("stranger")]));
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said "coder and tester, please", cost 4sat
    refused cascade: there is no stranger on your team: hire one of these: researcher, coder, tester
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn each_nudge_is_given_once_and_the_next_is_another() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.so_far("1");
    hall.replies("1", Reply { words: None, ..words("") });
    hall.replies("1", undone(Nudge::Required, None));
    hall.replies("1", undone(Nudge::Promise, None));
    hall.replies("1", undone(Nudge::Promise, None));
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said nothing, cost 4sat
    nudged: empty
    asked #2 model, holds 10sat
    answered #2 said "I shall have it done", cost 4sat
    nudged: required
    asked #3 model, holds 10sat
    answered #3 said "I shall have it done", cost 4sat
    nudged: promise
    asked #4 model, holds 10sat
    answered #4 said "I shall have it done", cost 4sat
    closed: done, accepted, "I shall have it done", unheeded promise, spent 16sat, change 984sat
    "#);
}

/// Names the example of each nudge; a new one does not compile until it has its own.
const _: fn(Nudge) -> fn() = |nudge| match nudge {
    Nudge::Required => a_required_hire_is_nudged_once_and_then_flagged,
    Nudge::Promise => a_promise_is_nudged_once_and_then_kept_by_the_runtime,
    Nudge::Empty => a_reply_of_nothing_is_nudged_once_and_then_a_failure,
    Nudge::Mend => crate::checks::a_final_text_that_fails_a_check_is_mended_once,
};
