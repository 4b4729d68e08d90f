//! A root that stays open: after a final text it waits for the owner's next message.

use guildhall_kernel::{Acceptance, Answer, Brief, CloseWhen, NextSpeaker, Outcome, Stimulus};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{check, hire, known, message, root};

fn open_root() -> Hall {
    Hall::open(Brief { close_when: CloseWhen::Asked, ..root("contractor", 1000) })
}

fn words(text: &str) -> Stimulus {
    Stimulus::Message(message(text))
}

#[test]
fn an_open_root_waits_for_messages_and_ends_done_when_it_is_asked_to_end_while_idle() {
    let mut hall = open_root();
    hall.final_text("1");
    assert!(!hall.waits_for_model("1"));
    hall.owner_sends("1", words("and now in German"));
    hall.final_text("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    answered #1 said "final text of 1", cost 4sat
    heard message "and now in German"
    asked #2 model, holds 10sat
    answered #2 said "final text of 1", cost 4sat
    heard wrap up
    closing: done
    closed: done, accepted, "final text of 1", spent 8sat, change 992sat
    "#);
}

#[test]
fn an_open_root_that_is_asked_to_end_while_it_works_is_stopped_early() {
    let mut hall = open_root();
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.final_text("1");
    assert_snapshot!(hall.facts("1"), @r#"
    opened contractor with 1000sat
    asked #1 model, holds 10sat
    heard wrap up
    closing: exhausted: asked
    answered #1 said "final text of 1", cost 4sat
    closed: exhausted: asked, not accepted, "final text of 1", spent 4sat, change 996sat
    "#);
}

#[test]
fn it_is_the_owners_turn_while_the_agent_has_nothing_to_read_and_waits_for_nothing() {
    let mut hall = open_root();
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Agent);
    hall.says("1", &[hire("coder").budget(300).background(), hire("tester").budget(300)]);
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Agent, "the agent waits for the tester");
    hall.final_text("1.2");
    hall.final_text("1");
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Owner { hires: 1 });
    hall.owner_sends("1", words("and now in German"));
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Agent);
    hall.final_text("1");
    hall.final_text("1.1");
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Agent, "the agent has a report to read");
    hall.final_text("1");
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Owner { hires: 0 });
    hall.owner_sends("1", Stimulus::WrapUp);
    assert_eq!(hall.contract("1").next_speaker(), NextSpeaker::Nobody);
    assert_eq!(Hall::open(root("contractor", 1000)).contract("1").next_speaker(), NextSpeaker::Nobody);
}

#[test]
fn background_hires_continue_while_an_open_root_waits_for_messages() {
    let mut hall = open_root();
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1");
    hall.owner_sends("1", words("meanwhile, what is 2 + 2?"));
    hall.final_text("1");
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  at work  spent 12sat
    └─ coder     300sat  at work  spent  0sat
    ");
    hall.final_text("1.1");
    assert!(hall.waits_for_model("1"), "the report causes a turn");
}

#[test]
fn each_message_from_the_owner_resets_the_turns_of_an_open_root() {
    let mut hall = Hall::open(Brief { close_when: CloseWhen::Asked, turns_max: 1, ..root("contractor", 1000) });
    for question in ["what is 2 + 2?", "and 3 + 3?"] {
        hall.final_text("1");
        hall.owner_sends("1", words(question));
        assert!(hall.waits_for_model("1"));
    }
}

#[test]
fn an_open_root_that_is_asked_to_end_lets_its_live_hires_wrap_up_first() {
    let mut hall = open_root();
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1");
    hall.skip_facts("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    heard wrap up
    closing: exhausted: asked
    asked #4 tell 1.1 wrap up
    answered #4 delivered
    answered #2 report exhausted: asked, cost 4sat
    asked #5 model for the last time hearing #2, holds 10sat
    answered #5 said "final text of 1", cost 4sat
    closed: exhausted: asked, not accepted, "final text of 1", spent 16sat, change 984sat
    "#);
}

#[test]
fn a_message_that_comes_during_a_model_call_causes_another_turn() {
    let mut hall = open_root();
    hall.owner_sends("1", words("in German, please"));
    hall.skip_facts("1");
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn an_open_root_is_checked_when_it_is_asked_to_end() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { close_when: CloseWhen::Asked, checks: [check("polite", 0)].into(), ..own });
    hall.final_text("1");
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.check("1", Answer::Passed, known(0));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.acceptance), (Outcome::Done, Acceptance::Accepted));
}
