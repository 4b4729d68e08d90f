//! Replies that our own limit of tokens has cut: they are continued, and a text without its end is marked.

use guildhall_kernel::{
    Acceptance, Answer, Ask, Brief, CloseWhen, Cut, Fact, Limit, Outcome, OwnSize, Reply, ReplyParts, Stimulus,
    TextKind,
};

use crate::draws::{RESULTS, draws, two_hires};
use crate::hall::Hall;
use crate::say::{known, message, root, text, tool, words};

fn part(text: &str, why: Cut) -> Reply {
    Reply { cut: Some(why), ..words(text) }
}

#[test]
fn a_cut_reply_is_continued_and_the_parts_are_one_turn() {
    let mut hall = Hall::open(Brief { turns_max: 1, ..root("coder", 1000) });
    hall.replies("1", part("the first half", Cut::MaxTokens));
    assert!(hall.waits_for_model("1"), "the contract asks for the rest, although it has no turn left");
    hall.replies("1", words("the first half and the second"));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.cut), (Outcome::Done, false));
    assert_eq!(report.text.text(), words("the first half and the second").words.unwrap());
}

#[test]
pub(crate) fn a_reply_is_continued_four_times_and_then_the_joined_text_is_the_report() {
    let mut hall = Hall::open(root("coder", 1000));
    for _ in 0..4 {
        hall.replies("1", part("much", Cut::MaxTokens));
        assert!(hall.waits_for_model("1"));
    }
    hall.replies("1", part("too much", Cut::MaxTokens));
    let report = hall.report("1");
    let expected = (Outcome::Exhausted(Limit::Length), true, Acceptance::NotAccepted);
    assert_eq!((report.outcome, report.cut, report.acceptance), expected);
}

#[test]
fn what_comes_before_the_rest_of_a_reply_gets_a_turn_of_its_own() {
    for parts in 1..4 {
        for comes_in in 0..=parts {
            let mut hall = Hall::open(root("coder", 1000));
            for at in 0..=parts {
                if at == comes_in {
                    hall.owner_sends("1", Stimulus::Message(message("And where?")));
                }
                let whole = at == parts;
                hall.replies("1", if whole { words("the end") } else { part("more", Cut::MaxTokens) });
                assert!(hall.waits_for_model("1"), "{at} of {parts}: it asks for the rest, or for an answer");
            }
            hall.final_text("1");
            assert_eq!(hall.report("1").outcome, Outcome::Done, "the message gets one turn");
        }
    }
}

#[test]
fn what_comes_while_a_reply_waits_for_the_money_for_its_rest_gets_a_turn_of_its_own() {
    let mut results = RESULTS.into_iter().cycle();
    let mut looks = |hall: &mut Hall| {
        hall.says("1.1", &[tool("look")]);
        let result = results.next().unwrap_or_default();
        hall.tool("1.1", "look", Answer::Result(text(TextKind::Result, result)), known(0));
    };
    let (mut hall, mut turns) = (two_hires(), 0);
    while draws(&hall, "1.1").is_empty() {
        looks(&mut hall);
        turns += 1;
    }
    for comes in [false, true] {
        let mut hall = two_hires();
        (1..turns).for_each(|_| looks(&mut hall));
        hall.replies("1.1", part("the first half", Cut::MaxTokens));
        assert_eq!(draws(&hall, "1.1").len(), 1, "the rest has to be paid");
        if comes {
            hall.owner_sends("1.1", Stimulus::Message(message("And where?")));
        }
        hall.final_text("1.2");
        hall.replies("1.1", words("the first half and the second"));
        assert_eq!(hall.waits_for_model("1.1"), comes);
    }
}

#[test]
fn a_reply_that_fills_the_window_is_not_continued() {
    let mut hall = Hall::open(root("coder", 1000));
    hall.replies("1", part("all that fits", Cut::Window));
    assert_eq!((hall.report("1").outcome, hall.report("1").cut), (Outcome::Exhausted(Limit::Length), true));
}

#[test]
fn without_money_for_the_rest_the_severance_pays_a_last_reply() {
    let mut hall = Hall::open(root("coder", 9));
    hall.replies_for("1", part("half", Cut::MaxTokens), crate::say::known(10));
    assert!(hall.contract("1").is_closing());
    hall.replies_for("1", words("a short report"), crate::say::known(1));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.cut), (Outcome::Exhausted(Limit::Purse), false));
}

#[test]
fn a_last_reply_that_is_cut_is_marked() {
    let mut hall = Hall::open(root("coder", 9));
    hall.replies_for("1", part("half", Cut::MaxTokens), crate::say::known(10));
    hall.replies_for("1", part("a short rep", Cut::MaxTokens), crate::say::known(1));
    assert!(hall.report("1").cut);
}

#[test]
fn a_last_reply_without_words_leaves_the_cut_text_as_the_report_and_marks_it() {
    let mut hall = Hall::open(root("coder", 9));
    hall.replies_for("1", part("half", Cut::MaxTokens), crate::say::known(10));
    hall.replies_for("1", Reply { words: None, ..words("thinking") }, crate::say::known(1));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.cut), (Outcome::Exhausted(Limit::Purse), true));
    assert_eq!(report.text.text(), words("half").words.unwrap());
}

#[test]
fn a_wrap_up_keeps_what_was_written() {
    let mut hall = Hall::open(root("coder", 1000));
    hall.replies("1", part("half", Cut::MaxTokens));
    hall.owner_sends("1", Stimulus::WrapUp);
    hall.replies("1", part("half and more", Cut::MaxTokens));
    let report = hall.report("1");
    assert_eq!((report.outcome, report.cut), (Outcome::Exhausted(Limit::Asked), true));
    assert_eq!(report.text.text(), words("half and more").words.unwrap());
}

#[test]
fn a_lost_continuation_is_asked_for_again() {
    let mut hall = Hall::open(root("coder", 1000));
    hall.replies("1", part("half", Cut::MaxTokens));
    hall.model("1", guildhall_kernel::Answer::Lost, guildhall_kernel::Cost::Unknown);
    assert!(hall.waits_for_model("1"));
    hall.replies("1", words("half and the rest"));
    assert_eq!((hall.report("1").outcome, hall.report("1").cut), (Outcome::Done, false));
}

#[test]
fn a_cut_text_of_a_conversation_stands_and_its_end_is_not_done() {
    let mut hall = Hall::open(Brief { close_when: CloseWhen::Asked, ..root("coder", 1000) });
    hall.replies("1", part("all that fits", Cut::Window));
    hall.owner_sends("1", Stimulus::WrapUp);
    assert_eq!((hall.report("1").outcome, hall.report("1").cut), (Outcome::Exhausted(Limit::Length), true));
}

#[test]
fn a_reply_that_was_cut_before_its_first_word_is_nudged_as_an_empty_one() {
    let mut hall = Hall::open(root("coder", 1000));
    let facts = hall.replies("1", Reply { words: None, ..part("", Cut::MaxTokens) });
    assert!(facts.contains(&Fact::Nudged(guildhall_kernel::Nudge::Empty)));
}

#[test]
fn facts_alone_tell_which_replies_are_continued() {
    let mut hall = Hall::open(root("coder", 1000));
    let mut parts = ReplyParts::default();
    let mut is_continued = |facts: Vec<Fact>| {
        for fact in &facts {
            parts.note(fact);
        }
        parts.are_continued()
    };
    for _ in 0..4 {
        assert!(is_continued(hall.replies("1", part("much", Cut::MaxTokens))));
    }
    assert!(!is_continued(hall.replies("1", part("too much", Cut::MaxTokens))), "it was continued four times");
}

#[test]
fn a_contract_that_is_ending_continues_no_reply() {
    let mut hall = Hall::open(root("coder", 9));
    let mut parts = ReplyParts::default();
    for cost in [10, 1] {
        let facts = hall.replies_for("1", part("half", Cut::MaxTokens), crate::say::known(cost));
        for fact in &facts {
            parts.note(fact);
        }
        assert!(!parts.are_continued());
    }
    assert!(hall.report("1").cut);
}

#[test]
fn what_a_model_wrote_counts_by_its_reported_tokens_and_never_more_than_its_bytes() {
    let sizes = [(400, 0, 400), (400, 80, 100), (400, 1000, 400), (0, 7, 0), (10, 1, 2)];
    for (bytes, tokens, counted) in sizes {
        assert_eq!(OwnSize { bytes, tokens }.input_tokens(), counted, "{bytes} bytes, {tokens} tokens");
    }
}

#[test]
fn a_reply_may_use_all_that_is_free_and_a_root_leaves_one_turn() {
    // A reply of 2,560 tokens costs 10 sat, an ordinary turn 4.
    for (money, first) in [(100, 10_000), (14, 10_000), (12, 8_000), (8, 4_000), (7, 7_000), (5, 5_000)] {
        let hall = Hall::open(root("coder", money + 2));
        let id = hall.find("1", |ask| matches!(ask, Ask::Model(_)));
        let held = hall.contract("1").hold(id).expect("the request is open").money;
        assert_eq!(held, crate::say::msat(first), "with {money}");
    }
}
