//! Answers from the world: lost, failed, late, repeated or of the wrong kind.

use guildhall_kernel::{
    Answer, AskId, Brief, Cost, Effect, Input, LOSSES_MAX, Msat, Sender, Stimulus, Tariff, TextKind,
};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{TARIFF, calling, hire, known, message, path, root, sat, text, tool, words};

#[test]
fn a_lost_model_call_is_settled_at_its_hold_and_made_again() {
    let mut hall = Hall::open(root("coder", 100));
    hall.model("1", Answer::Lost, Cost::Unknown);
    assert_snapshot!(hall.facts("1"), @"
    opened coder with 100sat
    asked #1 model, holds 10sat
    answered #1 lost, cost unknown
    asked #2 model, holds 10sat
    ");
}

#[test]
fn a_lost_call_of_a_once_tool_is_never_repeated() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("send").price(3).on_tool(|call| call.effect = Effect::Once)]);
    hall.skip_facts("1");
    hall.tool("1", "send", Answer::Lost, Cost::Unknown);
    assert_snapshot!(hall.new_facts("1"), @"
    answered #2 lost, cost unknown
    asked #3 model, holds 10sat
    ");
    assert_snapshot!(hall.purse("1"), @"100sat = 81sat available + 12sat held + 7sat spent");
}

#[test]
fn the_model_is_shown_that_a_tool_failed() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read")]);
    hall.skip_facts("1");
    hall.tool("1", "read", Answer::Failed(text(TextKind::Error, "unknown server")), known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #2 failed "unknown server"
    asked #3 model, holds 10sat
    "#);
}

#[test]
fn a_model_that_fails_ends_the_contract_with_the_newest_text() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.skip_facts("1");
    hall.model("1", Answer::Failed(text(TextKind::Error, "wrong key")), known(0));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #3 failed "wrong key"
    closing: failed
    closed: failed, not accepted, assembled from "read", spent 4sat, change 96sat
    "#);
}

#[test]
fn too_many_lost_model_calls_end_the_contract_even_if_calls_are_free() {
    let free = Tariff { output: Msat::ZERO, ..TARIFF };
    let mut hall = Hall::open(Brief { tariff: free, ..root("coder", 100) });
    for _ in 1..LOSSES_MAX {
        hall.model("1", Answer::Lost, Cost::Unknown);
    }
    hall.skip_facts("1");
    hall.model("1", Answer::Lost, Cost::Unknown);
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #32 lost, cost unknown
    closing: failed
    closed: failed, not accepted, assembled from "the whole task", spent 0sat, change 100sat
    "#);
}

#[test]
fn a_repeated_answer_yields_no_facts() {
    let mut hall = Hall::open(root("coder", 100));
    hall.says("1", &[tool("read"), tool("list")]);
    let result = Answer::Result(text(TextKind::Result, "read"));
    assert!(!hall.answer("1", AskId(2), result.clone(), known(0)).is_empty());
    assert_eq!(hall.answer("1", AskId(2), result, known(0)), []);
    let again = Input::Reply { id: AskId(1), reply: Box::new(words("again")), cost: known(1) };
    assert_eq!(hall.step("1", again), []);
}

#[test]
fn a_late_answer_yields_no_facts() {
    let mut hall = Hall::open(root("coder", 100));
    hall.final_text("1");
    let late = Input::Reply { id: AskId(1), reply: Box::new(words("late")), cost: known(1) };
    assert_eq!(hall.step("1", late), []);
    assert_eq!(hall.owner_sends("1", Stimulus::Message(message("late"))), []);
    assert_eq!(hall.owner_sends("1", Stimulus::Cancel), []);
    assert_eq!(hall.step("1", Input::Tick), []);
}

#[test]
fn an_answer_to_an_unknown_ask_yields_no_facts() {
    let mut hall = Hall::open(root("coder", 100));
    assert_eq!(hall.answer("1", AskId(7), Answer::Delivered, known(0)), []);
    let unknown = Input::Reply { id: AskId(7), reply: Box::new(words("unknown")), cost: known(1) };
    assert_eq!(hall.step("1", unknown), []);
}

#[test]
fn an_answer_that_does_not_fit_its_ask_yields_no_facts() {
    let mut hall = Hall::open(root("contractor", 100));
    let said = calling(&[]).said();
    let unfitting = |hall: &mut Hall, id: u32, answers: &[Answer]| {
        for answer in answers {
            assert_eq!(hall.answer("1", AskId(id), answer.clone(), known(0)), [], "{answer:?} to #{id}");
        }
    };
    unfitting(&mut hall, 1, &[Answer::Result(message("no")), Answer::Passed, Answer::Aborted, Answer::Said(said)]);
    hall.says("1", &[tool("read"), hire("coder").budget(20), tool("write").if_approved_by(100)]);
    unfitting(&mut hall, 2, &[Answer::Approved, Answer::Delivered, Answer::NoReply, Answer::Said(said)]);
    unfitting(&mut hall, 3, &[Answer::Lost, Answer::Failed(message("no")), Answer::Aborted, Answer::Gone]);
    unfitting(&mut hall, 4, &[Answer::Text(message("no")), Answer::Passed, Answer::FailedCheck(message("no"))]);
}

#[test]
fn a_stimulus_is_heard_once_however_often_it_is_delivered() {
    let mut hall = Hall::open(root("coder", 100));
    let stimulus =
        |words| Input::Stimulus { from: Sender::Owner { command: 7 }, what: Stimulus::Message(message(words)) };
    assert_eq!(hall.step("1", stimulus("run the tests")).len(), 1);
    assert_eq!(hall.step("1", stimulus("run the tests")), []);
}

#[test]
fn a_top_up_from_a_wrong_sender_changes_nothing_however_often_it_is_delivered() {
    let mut hall = Hall::open(root("contractor", 100));
    hall.says("1", &[hire("coder").budget(20)]);
    let astray = || Input::Stimulus {
        from: Sender::Owner { command: 7 },
        what: Stimulus::TopUp { to: path("1.1"), money: sat(5), draw: None },
    };
    let purse = hall.purse("1.1");
    for _ in 0..2 {
        assert_eq!(hall.step("1.1", astray()), []);
        assert_eq!(hall.purse("1.1"), purse);
    }
}
