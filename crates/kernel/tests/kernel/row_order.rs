//! Who is served when, and what a draw is for: cases in which several things happen to a row at once.

use guildhall_kernel::{Answer, Fact, Mode, Msat, Offer, Refusal, Stimulus, Tariff};

use crate::draws::{answers, draws, hall, runs_dry};
use crate::hall::Hall;
use crate::say::{TARIFF, calling, hire, known, message, path, sat, stop, tool, words};
use crate::waiting::{hired, queued, refused};

/// The hire makes this many turns of 10 sat.
pub(crate) fn spends(hall: &mut Hall, at: &str, turns: usize) {
    for _ in 0..turns {
        hall.replies_for(at, calling(&[tool("look")]), known(10));
        hall.tool_ends(at, "look", known(0));
    }
}

#[test]
fn a_top_up_that_passes_a_hirer_counts_toward_its_draw_on_both_sides() {
    let mut hall = hall(300);
    hall.says("1", &[hire("l").team(&["a", "b"]), hire("c")]);
    hall.says("1.1", &[hire("a"), hire("b")]);
    runs_dry(&mut hall, "1.1.1");
    runs_dry(&mut hall, "1.1.2");
    assert_eq!(draws(&hall, "1.1"), ["1sat"]);
    hall.owner_sends("1", Stimulus::TopUp { to: path("1.1.2"), money: sat(8), draw: None });
    assert_eq!(answers(&hall, "1.1"), [Answer::Met], "1 counts the money toward the draw, too");
    runs_dry(&mut hall, "1.1.2");
    assert_eq!(draws(&hall, "1.1").len(), 2, "nobody moves below 1.1, so it draws again");
}

#[test]
fn a_blocking_hire_behind_a_draw_is_placed_and_then_the_row_is_served() {
    let mut hall = hall(144);
    hall.says("1", &[hire("a").background(), hire("b").background()]);
    runs_dry(&mut hall, "1.1");
    assert_eq!(answers(&hall, "1.1"), [], "the request of 1 holds the money");
    let facts = hall.replies_for("1", calling(&[hire("c").budget(5)]), known(0));
    assert_eq!((queued(&facts), hired(&facts), refused(&facts)), (vec![3], vec!["1.3".to_owned()], vec![]));
    assert_eq!(answers(&hall, "1.1"), [Answer::Met]);
}

#[test]
fn a_hire_behind_one_that_is_stopped_in_the_same_reply_takes_its_place() {
    let mut hall = hall(72);
    hall.says("1", &[hire("a").background(), hire("b").background()]);
    hall.replies_for("1.1", words("found it"), known(0));
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.2")], "the request of 1 holds the money");
    let facts = hall.replies_for("1", calling(&[stop("1.2"), hire("c")]), known(0));
    assert_eq!(hired(&facts), ["1.3"]);
    assert!(!refused(&facts).iter().any(|(_, why)| matches!(why, Refusal::Money { .. })), "{facts:?}");
}

#[test]
fn a_refused_draw_for_a_waiting_hire_does_not_end_its_hirer() {
    let mut hall = hall(136);
    hall.says("1", &[hire("l").team(&["a"]).background(), hire("c").background()]);
    spends(&mut hall, "1.1", 6);
    hall.replies_for("1.1", calling(&[hire("a")]), known(1));
    assert_eq!(draws(&hall, "1.1").len(), 1, "1.1.1 does not fit");
    hall.owner_sends("1.1", Stimulus::Message(message("How far are you?")));
    // 1.2 returns nothing, and 1 has no money left for its next turn.
    spends(&mut hall, "1.2", 6);
    hall.replies_for("1.2", words("found it"), known(4));
    hall.final_text("1");
    hall.replies_for("1", words("waiting"), known(2));
    assert_eq!(answers(&hall, "1.1"), [Answer::NotMet, Answer::NotMet]);
    assert_eq!(draws(&hall, "1.1")[1], "1sat", "after the refusal it draws for its own turn");
}

#[test]
fn a_hire_draws_what_its_named_budget_still_allows() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a"), hire("b").budget(5), hire("c"), hire("l")]);
    assert_eq!(hall.contract("1.2").brief().grant.money, sat(3), "others wait, so it has its minimum");
    assert_eq!(draws(&hall, "1.2"), ["2sat"], "3 sat are missing for a full turn, and 2 sat of the budget are left");
}

#[test]
fn after_a_refusal_the_own_request_goes_before_those_that_still_wait() {
    let mut hall = hall(72);
    hall.says("1", &[hire("a").background()]);
    hall.replies_for("1", calling(&[hire("b").background(), hire("c").background()]), known(4));
    hall.replies_for("1", words("waiting"), known(1));
    spends(&mut hall, "1.1", 6);
    hall.replies_for("1.1", words("found it"), known(4));
    hall.replies_for("1", words("waiting"), known(0));
    let refusals = |facts: &[Fact]| refused(facts).iter().map(|(ordinal, _)| *ordinal).collect::<Vec<_>>();
    assert_eq!(refusals(&hall.journal[&path("1")]), [Some(2)]);
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.3")]);
    assert!(hall.waits_for_model("1"), "the model is told of the refusal first");
}

#[test]
fn a_hire_from_outside_waits_while_the_own_request_cant_be_paid() {
    let mut hall = hall(72);
    hall.says("1", &[hire("l").team(&["a"]).background()]);
    spends(&mut hall, "1.1", 6);
    hall.replies_for("1.1", calling(&[tool("look")]), known(3));
    hall.tool_ends("1.1", "look", known(0));
    let tariff = Tariff { output: Msat::ZERO, ..TARIFF };
    let offer = Offer { tariff, severance: Msat::ZERO, ..crate::say::offer("a") };
    let facts = hall.owner_sends("1.1", Stimulus::Hire(Box::new(offer)));
    assert_eq!((queued(&facts), hired(&facts)), (vec![1], vec![]), "it costs nothing, but it is not the next");
}

#[test]
fn the_size_of_a_refusal_includes_the_notice_about_a_hire_in_the_background() {
    let bytes = |mode: Mode| {
        let mut hall = hall(78);
        hall.says("1", &[hire("a"), hire("b").with(|offer| offer.mode = mode)]);
        let facts = hall.owner_sends("1", Stimulus::DropHire { ordinal: 2 });
        facts
            .iter()
            .find_map(|fact| if let Fact::Refused { bytes, .. } = fact { Some(u64::from(*bytes)) } else { None })
    };
    assert_eq!(bytes(Mode::Background).unwrap(), bytes(Mode::Blocking).unwrap() + guildhall_kernel::NOTICE_BYTES_MAX);
}

#[test]
fn a_hire_that_fits_is_admitted_beside_a_tool_call_that_is_refused() {
    let dear = hire("a").with(|offer| offer.severance = sat(500));
    let mut hall = hall(100);
    let facts = hall.says("1", &[tool("read").price(1000), dear, hire("b")]);
    assert_eq!((queued(&facts), hired(&facts)), (vec![], vec!["1.1".to_owned()]));
    let refusals = facts.iter().filter_map(|fact| if let Fact::Refused { why, .. } = fact { Some(why) } else { None });
    for why in refusals {
        assert!(matches!(why, Refusal::Money { free, minimum, .. } if minimum > free), "{why}");
    }
}
