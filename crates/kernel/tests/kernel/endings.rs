//! How a contract ends: at a limit with a last request, after a cancel without one, after a failure with its newest
//! text.

use guildhall_kernel::{
    Acceptance, Answer, Ask, AskId, AskKey, Brief, Cost, Grant, Input, Limit, Millis, Need, Outcome, Sender, Stimulus,
    TextKind, Turn, WRAP_UP_MARGIN_MAX, Wording,
};
use insta::assert_snapshot;

use crate::hall::{Delivery, Hall};
use crate::say::{PRICED_INPUT, calling, hire, known, message, path, root, sat, stop, text, tool, wait, words};

#[test]
fn a_contract_with_a_final_text_is_done() {
    let mut hall = Hall::open(root("coder", 100));
    hall.final_text("1");
    let report = hall.report("1");
    assert_eq!((report.outcome, report.acceptance), (Outcome::Done, Acceptance::Accepted));
    assert_eq!(report.text, Wording::Final(text(TextKind::Words, "final text of 1")));
}

#[test]
fn an_empty_purse_leaves_the_severance_for_a_last_request() {
    let mut hall = Hall::open(root("coder", 6));
    hall.replies_for("1", calling(&[tool("read")]), known(4));
    hall.skip_facts("1");
    hall.tool_ends("1", "read", known(0));
    hall.replies_for("1", words("what I found"), known(1));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 result "read"
    closing: exhausted: purse
    asked #3 model for the last time, holds 2sat
    answered #3 said "what I found", cost 1sat
    closed: exhausted: purse, not accepted, "what I found", spent 5sat, change 1sat
    "#);
}

#[test]
fn the_last_request_is_cut_to_fit_the_severance() {
    let own = root("coder", 20);
    let mut hall = Hall::open(Brief { tariff: PRICED_INPUT, severance: sat(5), opening_bytes: 1000, ..own });
    assert_snapshot!(hall.open_asks("1"), @"#1 model, holds 15sat");
    hall.replies_for("1", calling(&[tool("read")]), known(15));
    hall.tool_ends("1", "read", known(0));
    assert_snapshot!(hall.open_asks("1"), @"#3 model for the last time, holds 5sat");
    let (_, ask) = hall.contract("1").outstanding().next().unwrap();
    assert!(matches!(ask, Ask::Model(request) if (request.tokens, request.max_tokens) == (300, 512)));
}

/// The input and output tokens of the last request of a root that was told how many tokens are left.
fn last_request_with(left: u64) -> Option<(u64, u32)> {
    let mut hall = Hall::open(Brief { opening_bytes: 1000, ..root("coder", 100) });
    hall.says("1", &[tool("read")]);
    hall.owner_sends("1", Stimulus::OutOfTokens { left });
    hall.tool_ends("1", "read", known(0));
    let (_, ask) = hall.contract("1").outstanding().next()?;
    let Ask::Model(request) = ask else { panic!("{ask:?} is not a request") };
    assert_eq!(request.turn, Turn::Last);
    Some((request.tokens, request.max_tokens))
}

#[test]
fn a_last_request_stays_within_the_tokens_that_are_left_and_is_cut_to_fit() {
    let (whole, most) = last_request_with(1_000_000).unwrap();
    assert!(whole > 1_000);
    assert_eq!(last_request_with(whole + 600), Some((whole, 600)));
    assert_eq!(last_request_with(whole + u64::from(most)), Some((whole, most)));
    assert_eq!(last_request_with(812), Some((300, 512)), "the text is cut, not the reply");
    assert_eq!(last_request_with(768), Some((256, 512)));
    assert_eq!(last_request_with(767), None, "a shorter prompt gives no useful reply");
    assert_eq!(last_request_with(0), None);
}

#[test]
fn a_last_request_that_was_not_sent_for_want_of_tokens_is_made_again_and_cut_to_fit() {
    let unsent = || Answer::Failed(text(TextKind::Error, "too few tokens"));
    let ended = |left| {
        let mut hall = Hall::open(Brief { turns_max: 1, opening_bytes: 1000, ..root("coder", 100) });
        hall.says("1", &[tool("read")]);
        hall.tool_ends("1", "read", known(0));
        hall.owner_sends("1", Stimulus::OutOfTokens { left });
        hall.model("1", unsent(), known(0));
        hall
    };
    let mut hall = ended(900);
    let (_, ask) = hall.contract("1").outstanding().next().unwrap();
    assert!(
        matches!(ask, Ask::Model(request) if (request.tokens, request.max_tokens, request.cut) == (388, 512, true))
    );
    hall.model("1", unsent(), known(0));
    assert!(hall.contract("1").report().is_some(), "it fits, so it is not made a third time");
    for left in [0, 767, 1_000_000] {
        assert!(ended(left).contract("1").report().is_some(), "{left}: too little for any, or enough for the first");
    }
}

#[test]
fn only_a_root_is_told_that_the_tokens_are_used_up_and_only_by_the_owner() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[hire("tester")]);
    hall.skip_facts("1.1");
    hall.owner_sends("1.1", Stimulus::OutOfTokens { left: 900 });
    assert_snapshot!(hall.new_facts("1.1"), @"");
    let hirer = Sender::Contract(AskKey { contract: path("1"), ask: AskId(2) });
    let facts = hall.step("1.1", Input::Stimulus { from: hirer, what: Stimulus::OutOfTokens { left: 900 } });
    assert_eq!(facts, []);
}

#[test]
fn the_last_turn_allowed_is_followed_by_a_last_request() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("coder", 100) });
    hall.says("1", &[tool("read")]);
    hall.skip_facts("1");
    hall.tool_ends("1", "read", known(0));
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 result "read"
    closing: exhausted: turns
    asked #3 model for the last time, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    closed: exhausted: turns, not accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn before_its_deadline_a_contract_makes_a_last_request() {
    let own = root("coder", 100);
    let mut hall = Hall::open(Brief {
        grant: Grant { deadline: Some(Millis(100_000)), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant },
        ..own
    });
    hall.says("1", &[tool("read")]);
    assert_eq!(hall.contract("1").wake_at(), Some(Millis(70_000)));
    hall.skip_facts("1");
    hall.set_time(69_999);
    hall.set_time(70_000);
    hall.tool_ends("1", "read", known(0));
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    closing: exhausted: deadline
    answered #2 result "read"
    asked #3 model for the last time, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    closed: exhausted: deadline, not accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn a_contract_that_is_asked_to_wrap_up_reports_after_a_last_request() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read")]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.tool_ends("1", "read", known(0));
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard wrap up
    closing: exhausted: asked
    answered #2 result "read"
    asked #3 model for the last time, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    closed: exhausted: asked, not accepted, "final text of 1", spent 8sat, change 92sat
    "#);
}

#[test]
fn a_final_text_that_arrives_after_a_wrap_up_needs_no_last_request() {
    let mut hall = Hall::open(root("coder", 100));
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard wrap up
    closing: exhausted: asked
    answered #1 said "final text of 1", cost 4sat
    closed: exhausted: asked, not accepted, "final text of 1", spent 4sat, change 96sat
    "#);
}

#[test]
fn calls_of_the_last_reply_are_refused_and_its_text_is_the_report() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("coder", 100) });
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.skip_facts("1");
    hall.says("1", &[tool("read")]);
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 said 1 call, cost 4sat
    refused call 1 of #3: no more calls are accepted: write your report now
    closed: exhausted: turns, not accepted, "at work", spent 8sat, change 92sat
    "#);
}

#[test]
fn a_report_is_assembled_from_the_newest_text_when_the_last_request_fails() {
    for answer in [Answer::Lost, Answer::Failed(text(TextKind::Error, "wrong key"))] {
        let mut hall = Hall::open(Brief { turns_max: 1, ..root("coder", 100) });
        hall.says("1", &[tool("read")]);
        hall.tool_ends("1", "read", known(0));
        hall.model("1", answer, Cost::Unknown);
        let report = hall.report("1");
        assert_eq!(report.outcome, Outcome::Exhausted(Limit::Turns));
        assert_eq!(report.text, Wording::Assembled(text(TextKind::Result, "read")));
        assert_eq!(report.acceptance, Acceptance::NotAccepted);
    }
}

#[test]
fn a_wrap_up_is_sent_to_the_hires_and_the_last_request_includes_their_reports() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"]), hire("coder").budget(300)]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    for at in ["1.1.1", "1.1", "1.2", "1"] {
        hall.final_text(at);
    }
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard wrap up
    closing: exhausted: asked
    asked #4 tell 1.1 wrap up
    asked #5 tell 1.2 wrap up
    answered #4 delivered
    answered #5 delivered
    answered #2 report exhausted: asked, cost 12sat
    answered #3 report exhausted: asked, cost 4sat
    asked #6 model for the last time hearing #2 #3, holds 10sat
    answered #6 said "final text of 1", cost 4sat
    closed: exhausted: asked, not accepted, "final text of 1", spent 24sat, change 976sat
    "#);
    assert_snapshot!(hall.tree(), @"
    contractor     1000sat  exhausted: asked  spent 24sat
    ├─ researcher   300sat  exhausted: asked  spent 12sat
    │  └─ reader    100sat  exhausted: asked  spent  4sat
    └─ coder        300sat  exhausted: asked  spent  4sat
    ");
}

#[test]
fn a_cancel_is_sent_to_the_hires_and_nothing_else_is_asked() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"]), tool("read").price(5)]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::Cancel);
    assert!(hall.contract("1.1.1").is_cancelled());
    hall.tool("1", "read", Answer::Aborted, Cost::Unknown);
    hall.model("1.1.1", Answer::Aborted, known(3));
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard cancel
    closing: cancelled
    asked #4 tell 1.1 cancel
    answered #4 delivered
    answered #3 aborted, cost unknown
    answered #2 report cancelled, cost 7sat
    closed: cancelled, not accepted, assembled from "at work", unheard #2, spent 16sat, change 984sat
    "#);
    assert_snapshot!(hall.tree(), @"
    contractor     1000sat  cancelled  spent 16sat
    └─ researcher   300sat  cancelled  spent  7sat
       └─ reader    100sat  cancelled  spent  3sat
    ");
}

#[test]
fn a_cancel_ends_a_wrap_up_and_leaves_the_severance_unused() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read")]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.owner_sends("1", Stimulus::Cancel);
    hall.tool("1", "read", Answer::Aborted, known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard wrap up
    closing: exhausted: asked
    heard cancel
    closing: cancelled
    answered #2 aborted
    closed: cancelled, not accepted, assembled from "at work", spent 4sat, change 96sat
    "#);
}

#[test]
fn a_cancelled_contract_ignores_every_stimulus_except_top_ups() {
    let mut hall = Hall::open(root("coder", 100));
    hall.owner_sends("1", Stimulus::Cancel);
    assert_eq!(hall.owner_sends("1", Stimulus::Message(message("wait"))), []);
    assert_eq!(hall.owner_sends("1", Stimulus::WrapUp), []);
    assert_eq!(hall.owner_sends("1", Stimulus::Cancel), []);
    hall.owner_sends("1", Stimulus::TopUp { to: path("1"), money: sat(5), draw: None });
    hall.model("1", Answer::Aborted, known(2));
    assert_eq!(hall.report("1").change, sat(103));
}

#[test]
fn a_cancel_that_arrives_after_the_report_has_no_effect() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.skip_facts("1");
    hall.set_delivery(Delivery::Slow);
    hall.final_text("1.1");
    hall.says("1", &[stop("1.1")]);
    hall.set_delivery(Delivery::Prompt);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #3 said 1 call, cost 4sat
    asked #4 tell 1.1 cancel
    answered #2 report done, cost 4sat
    answered #4 gone
    asked #5 model hearing #2, holds 10sat
    ");
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  at work  spent 12sat
    └─ coder     300sat  done     spent  4sat
    ");
}

#[test]
fn a_hire_that_is_stopped_reports_that_it_was_cancelled() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.skip_facts("1");
    hall.says("1", &[stop("1.1")]);
    hall.model("1.1", Answer::Aborted, Cost::Unknown);
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 said 1 call, cost 4sat
    asked #4 tell 1.1 cancel
    answered #4 delivered
    asked #5 model, holds 10sat
    answered #2 report cancelled, cost 10sat
    answered #5 said "final text of 1", cost 4sat
    asked #6 model hearing #2, holds 10sat
    "#);
}

#[test]
fn reports_that_no_request_included_are_listed_in_the_closing_report() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1.1");
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::Cancel);
    hall.model("1", Answer::Aborted, known(1));
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard cancel
    closing: cancelled
    answered #3 aborted, cost 1sat
    closed: cancelled, not accepted, assembled from "final text of 1.1", unheard #2, spent 9sat, change 991sat
    "#);
}

#[test]
fn a_failure_lets_the_hires_wrap_up_and_asks_nothing_more() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.skip_facts("1");
    hall.model("1", Answer::Failed(text(TextKind::Error, "wrong key")), known(0));
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 failed "wrong key"
    closing: failed
    asked #4 tell 1.1 wrap up
    answered #4 delivered
    answered #2 report exhausted: asked, cost 4sat
    closed: failed, not accepted, assembled from "final text of 1.1", unheard #2, spent 8sat, change 992sat
    "#);
}

#[test]
fn a_cancel_ends_waits_and_questions_to_the_owner() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.says("1", &[wait(&[], Need::All), tool("deploy").if_approved_by(9000)]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::Cancel);
    assert_snapshot!(hall.new_facts("1"), @"
    heard cancel
    closing: cancelled
    woke call 1 of #3: closing
    answered #4 no reply
    refused call 2 of #3: the owner did not approve this call: continue without it
    asked #5 tell 1.1 cancel
    answered #5 delivered
    ");
}

#[test]
fn a_contract_that_opens_near_its_deadline_makes_only_the_last_request() {
    let own = root("coder", 100);
    let hall = Hall::open(Brief {
        grant: Grant { deadline: Some(Millis(30_000)), margin: Some(WRAP_UP_MARGIN_MAX), ..own.grant },
        ..own
    });
    assert_snapshot!(hall.facts("1"), @"
    opened coder with 100sat
    closing: exhausted: deadline
    asked #1 model for the last time, holds 10sat
    ");
}

/// Names the example of each outcome; a new variant does not compile until it has an example.
const _: fn(Outcome) -> fn() = |outcome| match outcome {
    Outcome::Done => a_contract_with_a_final_text_is_done,
    Outcome::Exhausted(Limit::Purse) => an_empty_purse_leaves_the_severance_for_a_last_request,
    Outcome::Exhausted(Limit::Turns) => the_last_turn_allowed_is_followed_by_a_last_request,
    Outcome::Exhausted(Limit::Deadline) => before_its_deadline_a_contract_makes_a_last_request,
    Outcome::Exhausted(Limit::Length) => {
        crate::cut::a_reply_is_continued_four_times_and_then_the_joined_text_is_the_report
    }
    Outcome::Exhausted(Limit::Asked) => a_contract_that_is_asked_to_wrap_up_reports_after_a_last_request,
    Outcome::Failed => a_failure_lets_the_hires_wrap_up_and_asks_nothing_more,
    Outcome::Cancelled => a_cancel_is_sent_to_the_hires_and_nothing_else_is_asked,
};

/// Names the example of each wording and acceptance.
const _: fn(Wording, Acceptance) -> fn() = |wording, acceptance| match (wording, acceptance) {
    (Wording::Final(_), Acceptance::Accepted) => a_contract_with_a_final_text_is_done,
    (Wording::Final(_), Acceptance::NotAccepted) => a_contract_that_is_asked_to_wrap_up_reports_after_a_last_request,
    (Wording::Assembled(_), _) => a_report_is_assembled_from_the_newest_text_when_the_last_request_fails,
};
