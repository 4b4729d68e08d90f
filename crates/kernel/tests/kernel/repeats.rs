//! Limits on repetition: the same call with the same result, and a task that is passed on without a change.

use guildhall_kernel::{Answer, Effect, Need, Refusal, Stimulus, TextKind};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{hire, known, message, path, root, text, tool, wait};

/// An agent makes a call and gets this result.
fn looks(hall: &mut Hall, result: &str) {
    hall.says("1", &[tool("read")]);
    hall.tool("1", "read", Answer::Result(text(TextKind::Result, result)), known(0));
}

/// Whether the next call is refused because of its repetition.
fn is_refused(hall: &mut Hall) -> bool {
    let facts = hall.says("1", &[tool("read")]);
    facts.iter().any(|fact| matches!(fact, guildhall_kernel::Fact::Refused { why: Refusal::Repeated { .. }, .. }))
}

#[test]
pub(crate) fn the_eighth_call_with_the_same_result_is_refused() {
    let mut hall = Hall::open(root("reader", 1000));
    for _ in 0..6 {
        looks(&mut hall, "the same");
    }
    hall.skip_facts("1");
    looks(&mut hall, "the same");
    hall.says("1", &[tool("read")]);
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #13 said 1 call, cost 4sat
    asked #14 tool read, holds 0sat
    answered #14 result "the same"
    asked #15 model, holds 10sat
    answered #15 said 1 call, cost 4sat
    refused call 1 of #15: you have made this call of read 7 times, and nothing has changed: use its result, or do something else
    asked #16 model, holds 10sat
    "#);
}

#[test]
fn another_result_a_message_and_a_call_that_may_change_something_start_the_count_anew() {
    let message = |hall: &mut Hall| {
        hall.owner_sends("1", Stimulus::Message(message("look again")));
        hall.final_text("1");
    };
    let change = |hall: &mut Hall| {
        hall.says("1", &[tool("edit").on_tool(|call| call.effect = Effect::Once)]);
        hall.tool_ends("1", "edit", known(0));
    };
    let report = |hall: &mut Hall| {
        hall.says("1", &[hire("coder").budget(100)]);
        hall.final_text("1.1");
    };
    let anew: [&dyn Fn(&mut Hall); 3] = [&message, &change, &report];
    for (at, restart) in anew.iter().enumerate() {
        let mut hall = Hall::open(root("reader", 5000));
        for _ in 0..7 {
            looks(&mut hall, "the same");
        }
        restart(&mut hall);
        assert!(!is_refused(&mut hall), "{at}");
    }
    let mut hall = Hall::open(root("reader", 5000));
    for result in ["the same", "the same", "the same", "the same", "the same", "another", "another"] {
        looks(&mut hall, result);
    }
    assert!(!is_refused(&mut hall), "another result");
}

#[test]
fn calls_about_hires_and_calls_that_may_change_something_may_be_repeated() {
    for change in [
        (|call: &mut guildhall_kernel::ToolCall| call.for_hires = true) as fn(&mut guildhall_kernel::ToolCall),
        |call| call.effect = Effect::Idempotent,
    ] {
        let mut hall = Hall::open(root("reader", 1000));
        for _ in 0..12 {
            let facts = hall.says("1", &[tool("read").on_tool(change)]);
            assert!(!facts.iter().any(|fact| matches!(fact, guildhall_kernel::Fact::Refused { .. })));
            hall.tool("1", "read", Answer::Result(text(TextKind::Result, "the same")), known(0));
        }
    }
}

#[test]
pub(crate) fn a_task_that_three_contracts_above_have_is_not_passed_on_again() {
    let mut hall = Hall::open(root("contractor", 1000));
    let same = |name: &str, team: &[&str]| hire(name).task("the whole task").team(team).budget(400);
    hall.says("1", &[same("coder", &["tester"])]);
    hall.says("1.1", &[same("tester", &["researcher"]).budget(200)]);
    hall.skip_facts("1.1.1");
    hall.says("1.1.1", &[same("researcher", &[]).budget(100)]);
    assert_snapshot!(hall.new_facts("1.1.1"), @"
    answered #1 said 1 call, cost 4sat
    refused call 1 of #1: this task was passed on 3 times without a change: do it yourself, or split it into smaller tasks
    asked #2 model, holds 10sat
    ");
}

#[test]
fn a_wait_for_any_hire_ends_at_once_if_a_report_has_come_already() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(100).background(), hire("tester").budget(100).background()]);
    hall.final_text("1.1");
    hall.skip_facts("1");
    hall.says("1", &[wait(&[], Need::Any)]);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #4 said 1 call, cost 4sat
    waiting call 1 of #4 for any of []
    woke call 1 of #4: reported
    asked #5 model hearing #2, holds 10sat
    ");
    assert_eq!(hall.contract("1").brief().path, path("1"));
}

#[test]
fn equal_calls_of_one_reply_count_before_they_have_results() {
    let mut hall = Hall::open(root("reader", 1000));
    let facts = hall.says("1", &vec![tool("read"); 9]);
    let refused = |fact: &&guildhall_kernel::Fact| {
        matches!(fact, guildhall_kernel::Fact::Refused { why: Refusal::Repeated { times: 7, .. }, .. })
    };
    assert_eq!(facts.iter().filter(refused).count(), 2);
}
