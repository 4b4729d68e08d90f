//! Nudges, each given once, and hires that the runtime makes on an agent's behalf.

use guildhall_kernel::{Nudge, Outcome, Reply, Verdict};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{Do, hire, root, undone, words};

#[test]
fn a_required_hire_is_nudged_once_and_then_made_by_the_runtime() {
    let mut hall = Hall::open(root("contractor", 1000));
    let no_hire = || undone(Nudge::Required, &[hire("coder").budget(300)]);
    hall.replies("1", no_hire());
    hall.replies("1", no_hire());
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "I will have it done", cost 4sat
    nudged: required
    asked #2 model, holds 10sat
    answered #2 said "I will have it done", cost 4sat
    asked #3 hire 1.1 coder, holds 300sat and 1 head (cascade)
    answered #3 report done, cost 4sat
    asked #4 model hearing #3, holds 10sat
    answered #4 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 16sat, change 984sat
    "#);
}

#[test]
fn a_nudge_that_the_agent_follows_is_not_in_the_report() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.replies("1", undone(Nudge::Promise, &[]));
    hall.says("1", &[hire("coder").budget(300)]);
    hall.final_text("1.1");
    hall.final_text("1");
    assert_eq!(hall.report("1").ignored_nudge, None);
}

#[test]
fn a_promised_hire_is_nudged_once_and_then_flagged_in_the_report() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.replies("1", undone(Nudge::Promise, &[]));
    hall.skip_facts("1");
    hall.replies("1", undone(Nudge::Promise, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", ignored nudge promise, spent 8sat, change 92sat
    "#);
}

#[test]
fn a_required_hire_is_nudged_once_and_then_flagged() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.replies("1", undone(Nudge::Required, &[]));
    hall.replies("1", undone(Nudge::Required, &[]));
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "I will have it done", cost 4sat
    nudged: required
    asked #2 model, holds 10sat
    answered #2 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", ignored nudge required, spent 8sat, change 992sat
    "#);
}

#[test]
fn an_empty_reply_is_nudged_once_and_then_a_failure() {
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
    let reply = undone(Nudge::Required, calls);
    Reply { verdict: Verdict { nudge: None, ..reply.verdict }, ..words("coder and tester, please") }
}

#[test]
fn a_cascade_hires_the_team_after_the_first_reply_and_then_asks_for_the_report() {
    let mut hall = Hall::open(root("contractor", 1006));
    hall.replies("1", cascade(&[hire("coder"), hire("tester")]));
    hall.final_text("1.1");
    hall.final_text("1.2");
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1006sat
    asked #1 model, holds 10sat
    answered #1 said "coder and tester, please", cost 4sat
    asked #2 hire 1.1 coder, holds 498sat and 1 head (cascade)
    asked #3 hire 1.2 tester, holds 498sat and 1 head (cascade)
    answered #2 report done, cost 4sat
    answered #3 report done, cost 4sat
    asked #4 model hearing #2 #3, holds 10sat
    answered #4 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 16sat, change 990sat
    "#);
}

#[test]
fn the_agent_is_shown_why_a_cascade_was_refused() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.skip_facts("1");
    hall.replies("1", cascade(&[hire("stranger")]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "coder and tester, please", cost 4sat
    refused cascade: stranger is not on your team: hire one of these: researcher, coder, tester
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn each_nudge_is_given_once() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.skip_facts("1");
    hall.replies("1", Reply { words: None, ..words("") });
    hall.replies("1", undone(Nudge::Required, &[]));
    hall.replies("1", undone(Nudge::Promise, &[]));
    hall.replies("1", undone(Nudge::Promise, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said nothing, cost 4sat
    nudged: empty
    asked #2 model, holds 10sat
    answered #2 said "I will have it done", cost 4sat
    nudged: required
    asked #3 model, holds 10sat
    answered #3 said "I will have it done", cost 4sat
    nudged: promise
    asked #4 model, holds 10sat
    answered #4 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", ignored nudge promise, spent 16sat, change 984sat
    "#);
}

/// Names the example of each nudge; a new nudge does not compile until it has an example.
const _: fn(Nudge) -> fn() = |nudge| match nudge {
    Nudge::Required => a_required_hire_is_nudged_once_and_then_flagged,
    Nudge::Promise => a_promised_hire_is_nudged_once_and_then_flagged_in_the_report,
    Nudge::Empty => an_empty_reply_is_nudged_once_and_then_a_failure,
    Nudge::FixReport => crate::checks::a_final_text_that_fails_a_check_is_corrected_once,
};
