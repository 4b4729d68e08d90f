//! A root that stays open: a final text means waiting for words.

use guildhall_kernel::{Acceptance, Answer, Brief, NextSpeaker, Outcome, Stay, Stimulus};
use insta::assert_snapshot;

use crate::hall::Hall;
use crate::say::{check, hire, known, message, root};

fn open_root() -> Hall {
    Hall::open(Brief { stay: Stay::Open, ..root("contractor", 1000) })
}

fn words(text: &str) -> Stimulus {
    Stimulus::Message(message(text))
}

#[test]
fn an_open_root_stays_for_words_and_ends_done_when_it_is_dismissed_at_ease() {
    let mut hall = open_root();
    hall.final_text("1");
    assert!(!hall.thinks("1"));
    hall.told("1", words("and now in German"));
    hall.final_text("1");
    hall.told("1", Stimulus::WrapUp);
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
fn an_open_root_that_is_dismissed_at_work_is_cut_short() {
    let mut hall = open_root();
    hall.told("1", Stimulus::WrapUp);
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
fn the_floor_is_the_owners_while_the_agent_has_nothing_to_read_and_waits_for_nothing() {
    let mut hall = open_root();
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Agent);
    hall.says("1", &[hire("coder").budget(300).background(), hire("tester").budget(300)]);
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Agent, "it waits for one of them");
    hall.final_text("1.2");
    hall.final_text("1");
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Owner { hires: 1 });
    hall.told("1", words("and now in German"));
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Agent);
    hall.final_text("1");
    hall.final_text("1.1");
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Agent, "a report is to be read");
    hall.final_text("1");
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Owner { hires: 0 });
    hall.told("1", Stimulus::WrapUp);
    assert_eq!(hall.contract("1").floor(), NextSpeaker::Nobody);
    assert_eq!(Hall::open(root("contractor", 1000)).contract("1").floor(), NextSpeaker::Nobody);
}

#[test]
fn background_hires_live_on_while_an_open_root_waits_for_words() {
    let mut hall = open_root();
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1");
    hall.told("1", words("meanwhile, what is 2 + 2?"));
    hall.final_text("1");
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  at work  spent 12sat
    └─ coder     300sat  at work  spent  0sat
    ");
    hall.final_text("1.1");
    assert!(hall.thinks("1"), "the report wakes a turn");
}

#[test]
fn an_open_root_has_its_turns_anew_for_each_thing_the_owner_says() {
    let mut hall = Hall::open(Brief { stay: Stay::Open, turns_max: 1, ..root("contractor", 1000) });
    for question in ["what is 2 + 2?", "and 3 + 3?"] {
        hall.final_text("1");
        hall.told("1", words(question));
        assert!(hall.thinks("1"));
    }
}

#[test]
fn an_open_root_that_is_dismissed_while_hires_live_lets_them_wrap_up_first() {
    let mut hall = open_root();
    hall.says("1", &[hire("coder").budget(300).background()]);
    hall.final_text("1");
    hall.so_far("1");
    hall.told("1", Stimulus::WrapUp);
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.news("1"), @r#"
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
fn words_that_come_while_the_model_speaks_are_answered_by_another_turn() {
    let mut hall = open_root();
    hall.told("1", words("in German, please"));
    hall.so_far("1");
    hall.final_text("1");
    assert_snapshot!(hall.news("1"), @r#"
    answered #1 said "final text of 1", cost 4sat
    asked #2 model, holds 10sat
    "#);
}

#[test]
fn an_open_root_is_checked_when_it_is_dismissed() {
    let own = root("contractor", 1000);
    let mut hall = Hall::open(Brief { stay: Stay::Open, checks: [check("polite", 0)].into(), ..own });
    hall.final_text("1");
    hall.told("1", Stimulus::WrapUp);
    hall.check("1", Answer::Passed, known(0));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.acceptance), (Outcome::Done, Acceptance::Accepted));
}
