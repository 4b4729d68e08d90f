//! Waits for hires, questions to the hirer, and how they end.

use guildhall_kernel::{Answer, AskId, AskKey, Cost, Input, Millis, Need, Sender, Stimulus, TextKind, Waking, Wording};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{ask_hirer, hire, known, message, path, root, tell, text, tool, wait};

/// A contractor with a researcher and a coder in the background.
fn two_hires() -> Hall {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100).background(), hire("coder").budget(100).background()]);
    hall.skip_facts("1");
    hall
}

#[test]
fn a_wait_for_any_ends_with_the_first_report() {
    let mut hall = two_hires();
    hall.says("1", &[wait(&[], Need::Any)]);
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.2");
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for any of [1, 2]
    answered #3 report done, cost 4sat
    woke call 1 of #4: reported
    asked #5 model hearing #3, holds 10sat
    ");
}

#[test]
fn a_wait_for_all_ends_with_the_last_report() {
    let mut hall = two_hires();
    hall.says("1", &[wait(&["1.1", "1.2"], Need::All)]);
    hall.final_text("1.2");
    assert!(!hall.waits_for_model("1"));
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for all of [1, 2]
    answered #3 report done, cost 4sat
    answered #2 report done, cost 4sat
    woke call 1 of #4: reported
    asked #5 model hearing #3 #2, holds 10sat
    ");
}

#[test]
fn a_wait_for_any_ends_immediately_if_one_hire_has_reported() {
    let mut hall = two_hires();
    hall.final_text("1.1");
    hall.says("1", &[wait(&["1.1", "1.2"], Need::Any)]);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #2 report done, cost 4sat
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for any of []
    woke call 1 of #4: reported
    asked #5 model hearing #2, holds 10sat
    ");
}

#[test]
fn a_wait_ends_at_its_time_limit_and_the_hires_continue() {
    let mut hall = two_hires();
    hall.says("1", &[wait(&[], Need::All).until(5000)]);
    assert_eq!(hall.contract("1").wake_at(), Some(Millis(5000)));
    hall.set_time(4999);
    assert!(!hall.waits_for_model("1"));
    hall.set_time(5000);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for all of [1, 2] until 5000ms
    woke call 1 of #4: timed out
    asked #5 model, holds 10sat
    ");
    assert_snapshot!(hall.tree(), @"
    contractor     1000sat  at work  spent 8sat
    ├─ researcher   100sat  at work  spent 0sat
    └─ coder        100sat  at work  spent 0sat
    ");
}

#[test]
fn a_message_from_the_owner_ends_a_wait() {
    let mut hall = two_hires();
    hall.says("1", &[wait(&[], Need::All)]);
    hall.owner_sends("1", Stimulus::Message(message("how far are you?")));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for all of [1, 2]
    heard message "how far are you?"
    woke call 1 of #4: message
    asked #5 model, holds 10sat
    "#);
}

#[test]
fn a_message_from_the_owner_moves_blocking_hires_to_the_background() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(100)]);
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::Message(message("how far are you?")));
    hall.final_text("1");
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard message "how far are you?"
    woke hire 1: message
    asked #3 model, holds 10sat
    answered #3 said "final text of 1", cost 4sat
    answered #2 report done, cost 4sat
    asked #4 model hearing #2, holds 10sat
    "#);
}

#[test]
fn a_wrap_up_ends_a_wait() {
    let mut hall = two_hires();
    hall.says("1", &[wait(&[], Need::All)]);
    hall.owner_sends("1", Stimulus::WrapUp);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for all of [1, 2]
    heard wrap up
    closing: exhausted: asked
    woke call 1 of #4: closing
    asked #5 tell 1.1 wrap up
    asked #6 tell 1.2 wrap up
    answered #5 delivered
    answered #6 delivered
    ");
}

#[test]
fn a_question_to_the_hirer_detaches_its_blocking_hires_and_is_answered_by_a_message() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100), hire("coder").budget(100)]);
    hall.skip_facts("1");
    hall.skip_facts("1.1");
    hall.says("1.1", &[ask_hirer("which year?", 60_000)]);
    assert!(hall.waits_for_model("1"));
    hall.says("1", &[tell("1.1", "this year")]);
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard question "which year?"
    woke hire 1: message
    woke hire 2: message
    asked #4 model, holds 10sat
    answered #4 said 1 call, cost 4sat
    asked #5 tell 1.1 message "this year"
    answered #5 delivered
    asked #6 model, holds 10sat
    "#);
    assert_snapshot!(hall.new_facts("1.1"), @r#"
    answered #1 said 1 call, cost 4sat
    asked #2 question to hirer until 60000ms: "which year?"
    heard message "this year"
    answered #2 words "this year"
    asked #3 model, holds 10sat
    "#);
}

#[test]
fn an_answer_from_the_hirer_is_not_the_text_of_an_assembled_report() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100)]);
    hall.says("1.1", &[ask_hirer("which year?", 60_000)]);
    hall.says("1", &[tell("1.1", "this year")]);
    hall.model("1.1", Answer::Failed(text(TextKind::Error, "wrong key")), Cost::Unknown);
    assert_eq!(hall.report("1.1").text, Wording::Assembled(text(TextKind::Words, "at work")));
}

#[test]
fn a_wait_is_refused_after_a_question_that_came_during_the_model_call() {
    let mut hall = two_hires();
    hall.says("1.1", &[ask_hirer("which year?", 60_000)]);
    hall.skip_facts("1");
    hall.says("1", &[wait(&[], Need::All)]);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    refused call 1 of #4: 1.1 has asked you a question and waits for your answer: send it a message first, then wait
    asked #5 model, holds 10sat
    ");
}

#[test]
fn a_message_during_the_hirers_model_call_moves_its_hires_to_the_background() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.owner_sends("1", Stimulus::Message(message("be quick")));
    hall.skip_facts("1");
    hall.says("1", &[hire("coder").budget(100)]);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #1 said 1 call, cost 4sat
    asked #2 hire 1.1 coder, holds 100sat and 1 head
    woke hire 1: message
    asked #3 model, holds 10sat
    ");
}

#[test]
fn a_question_without_an_answer_ends_at_its_time_limit() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100)]);
    hall.says("1.1", &[ask_hirer("which year?", 60_000), tool("read")]);
    hall.tool_ends("1.1", "read", known(0));
    hall.skip_facts("1.1");
    hall.set_time(59_999);
    assert!(!hall.waits_for_model("1.1"));
    hall.set_time(60_000);
    assert_snapshot!(hall.new_facts("1.1"), @"
    answered #2 no reply
    asked #4 model, holds 10sat
    ");
}

#[test]
fn a_message_from_the_owner_does_not_answer_a_question_to_the_hirer() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100)]);
    hall.says("1.1", &[ask_hirer("which year?", 60_000)]);
    hall.skip_facts("1.1");
    hall.owner_sends("1.1", Stimulus::Message(message("hello")));
    assert_snapshot!(hall.new_facts("1.1"), @r#"heard message "hello""#);
}

#[test]
fn a_message_from_a_third_contract_does_not_answer_a_question_to_the_hirer() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100).team(&["reader"])]);
    hall.says("1.1", &[hire("reader").background()]);
    hall.says("1.1", &[ask_hirer("which year?", 60_000)]);
    hall.skip_facts("1.1");
    let from = Sender::Contract(AskKey { contract: path("1.1.1"), ask: AskId(9) });
    hall.step("1.1", Input::Stimulus { from, what: Stimulus::Message(message("last year")) });
    assert_snapshot!(hall.new_facts("1.1"), @r#"heard message "last year""#);
}

#[test]
fn a_wrap_up_ends_questions_without_a_reply() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(100)]);
    hall.says("1.1", &[ask_hirer("which year?", 60_000), tool("deploy").if_approved_by(60_000)]);
    hall.skip_facts("1.1");
    hall.owner_sends("1", Stimulus::WrapUp);
    assert_snapshot!(hall.new_facts("1.1"), @"
    heard wrap up
    closing: exhausted: asked
    answered #2 no reply
    answered #3 no reply
    refused call 2 of #1: the owner did not approve this call: continue without it
    asked #4 model for the last time, holds 10sat
    ");
}

/// Names the example of each waking; a new variant does not compile until it has an example.
const _: fn(Waking) -> fn() = |why| match why {
    Waking::Reported => a_wait_for_any_ends_with_the_first_report,
    Waking::TimedOut => a_wait_ends_at_its_time_limit_and_the_hires_continue,
    Waking::Message => a_message_from_the_owner_ends_a_wait,
    Waking::Closing => a_wrap_up_ends_a_wait,
};
