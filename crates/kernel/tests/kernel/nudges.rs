//! Nudges, each given once, and hires that the runtime makes on an agent's behalf.

use guildhall_kernel::{Answer, Brief, Nudge, Outcome, Reply, Stimulus, TextKind, Undone, Verdict};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{Do, check, confirms, hire, known, message, root, text, tool, undone, words};

#[test]
fn a_required_hire_is_nudged_once_and_then_made_by_the_runtime() {
    let mut hall = Hall::open(root("contractor", 1000));
    let no_hire = || undone(Undone::RequiredHire, &[hire("coder").budget(300)]);
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
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    hall.says("1", &[hire("coder").budget(300)]);
    hall.final_text("1.1");
    hall.final_text("1");
    assert_eq!(hall.report("1").undone, None);
}

#[test]
fn an_agent_is_asked_once_whether_a_promise_is_its_report_and_then_the_report_is_marked() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    hall.skip_facts("1");
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", undone: promised hire, spent 8sat, change 92sat
    "#);
}

#[test]
fn a_text_that_the_agent_confirms_is_the_report_with_its_output_and_without_a_mark() {
    let mut hall = Hall::open(root("contractor", 100));
    let output = text(TextKind::Output, "42");
    hall.replies("1", Reply { output: Some(output), ..undone(Undone::PromisedHire, &[]) });
    hall.skip_facts("1");
    hall.replies("1", confirms());
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 said nothing, cost 4sat
    closed: done, accepted, "I will have it done", output "42", spent 8sat, change 92sat
    "#);
    assert_eq!((hall.report("1").output, hall.report("1").undone), (Some(output), None));
}

#[test]
fn a_text_that_the_agent_confirms_is_checked() {
    let mut hall = Hall::open(Brief { checks: [check("sums", 1)].into(), ..root("contractor", 100) });
    hall.replies("1", undone(Undone::NoHire, &[]));
    hall.skip_facts("1");
    hall.replies("1", confirms());
    hall.check("1", Answer::Passed, known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 said nothing, cost 4sat
    asked #3 check "sums", holds 1sat
    answered #3 passed
    closed: done, accepted, "I will have it done", spent 8sat, change 92sat
    "#);
}

#[test]
fn an_agent_is_asked_again_after_a_message() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.replies("1", undone(Undone::NoHire, &[]));
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.owner_sends("1", Stimulus::Message(message("and the tests?")));
    hall.final_text("1");
    hall.skip_facts("1");
    hall.replies("1", undone(Undone::NoHire, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #5 said "I will have it done", cost 4sat
    nudged: confirm report
    asked #6 model, holds 10sat
    "#);
}

#[test]
fn a_report_is_not_marked_if_nobody_could_be_asked() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("contractor", 100) });
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    assert_eq!((hall.report("1").outcome, hall.report("1").undone), (Outcome::Done, None));
}

#[test]
fn a_name_that_may_be_an_ordinary_word_is_asked_about_but_not_marked() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.replies("1", undone(Undone::Unclear, &[]));
    hall.replies("1", undone(Undone::Unclear, &[]));
    assert_eq!((hall.report("1").outcome, hall.report("1").undone), (Outcome::Done, None));
}

#[test]
fn nobody_is_asked_about_a_text_while_a_message_is_unread() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.owner_sends("1", Stimulus::Message(message("and the tests?")));
    hall.skip_facts("1");
    hall.replies("1", undone(Undone::NoHire, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "I will have it done", cost 4sat
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn a_later_report_is_not_marked_for_the_promise_before_the_calls() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    assert_eq!((hall.report("1").outcome, hall.report("1").undone), (Outcome::Done, None));
}

#[test]
fn nobody_confirms_a_text_about_which_nobody_asked() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.skip_facts("1");
    hall.replies("1", confirms());
    assert_snapshot!(hall.new_facts("1"), @"
    answered #1 said nothing, cost 4sat
    nudged: empty
    asked #2 model, holds 10sat
    ");
}

#[test]
fn a_required_hire_is_nudged_once_and_then_flagged() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.replies("1", undone(Undone::RequiredHire, &[]));
    hall.replies("1", undone(Undone::RequiredHire, &[]));
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "I will have it done", cost 4sat
    nudged: required
    asked #2 model, holds 10sat
    answered #2 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", undone: required hire, spent 8sat, change 992sat
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
    let reply = undone(Undone::RequiredHire, calls);
    Reply { verdict: Verdict { undone: None, ..reply.verdict }, ..words("coder and tester, please") }
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
    hall.replies("1", undone(Undone::RequiredHire, &[]));
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    hall.replies("1", undone(Undone::PromisedHire, &[]));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said nothing, cost 4sat
    nudged: empty
    asked #2 model, holds 10sat
    answered #2 said "I will have it done", cost 4sat
    nudged: required
    asked #3 model, holds 10sat
    answered #3 said "I will have it done", cost 4sat
    nudged: confirm report
    asked #4 model, holds 10sat
    answered #4 said "I will have it done", cost 4sat
    closed: done, accepted, "I will have it done", undone: promised hire, spent 16sat, change 984sat
    "#);
}

/// Names the example of each nudge; a new nudge does not compile until it has an example.
const _: fn(Nudge) -> fn() = |nudge| match nudge {
    Nudge::Required => a_required_hire_is_nudged_once_and_then_flagged,
    Nudge::ConfirmReport => an_agent_is_asked_once_whether_a_promise_is_its_report_and_then_the_report_is_marked,
    Nudge::Empty => an_empty_reply_is_nudged_once_and_then_a_failure,
    Nudge::FixReport => crate::checks::a_final_text_that_fails_a_check_is_corrected_once,
};
