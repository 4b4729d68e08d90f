//! Draws: a hire that can't pay its next turn asks its hirer for what is missing.

use guildhall_kernel::{Answer, Ask, Brief, CloseWhen, Fact, Grant, Heads, Limit, Outcome, Stimulus, TextKind};

use crate::hall::{Delivery, Hall};
use crate::say::{ask_hirer, hire, known, path, root, sat, text, tool, words};

pub(crate) fn hall(money: u64) -> Hall {
    let own = root("contractor", money + 2 + 4);
    let grant = Grant { heads: Heads(20), ..own.grant };
    Hall::open(Brief { grant, hiring: Some(crate::say::hiring(&["a", "b", "c", "l"])), ..own })
}

pub(crate) fn draws(hall: &Hall, at: &str) -> Vec<String> {
    let draw = |fact: &Fact| match fact.asked() {
        Some((_, Ask::Draw { least })) => Some(least.to_string()),
        _ => None,
    };
    hall.journal[&path(at)].iter().filter_map(draw).collect()
}

pub(crate) fn answers(hall: &Hall, at: &str) -> Vec<Answer> {
    let answers = hall.journal[&path(at)].iter().filter_map(Fact::answered);
    answers.map(|(_, answer)| answer.clone()).filter(|answer| matches!(answer, Answer::Met | Answer::NotMet)).collect()
}

/// Results of the same size, in turn: a call that always has the same result would be refused.
pub(crate) const RESULTS: [&str; 2] = ["look", "seen"];

/// The hire works until it can't pay a full turn.
pub(crate) fn runs_dry(hall: &mut Hall, at: &str) {
    for result in RESULTS.into_iter().cycle() {
        if !hall.waits_for_model(at) || hall.contract(at).is_closing() {
            break;
        }
        hall.says(at, &[tool("look")]);
        if !hall.contract(at).is_closing() {
            hall.tool(at, "look", Answer::Result(text(TextKind::Result, result)), known(0));
        }
    }
}

/// Two hires of 68 sat each, which share all that the contractor does not keep.
pub(crate) fn two_hires() -> Hall {
    let mut hall = hall(140);
    hall.says("1", &[hire("a"), hire("b")]);
    hall
}

#[test]
fn a_hire_that_cant_pay_a_full_turn_draws_what_is_missing_and_waits() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    assert_eq!(draws(&hall, "1.1"), ["2sat"], "2 sat are left, and a turn costs 4");
    assert!(!hall.contract("1.1").is_closing());
    assert_eq!(answers(&hall, "1.1"), [], "1.2 works, and may return money");
}

#[test]
fn the_change_of_another_hire_serves_a_draw() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    hall.final_text("1.2");
    assert_eq!(answers(&hall, "1.1"), [Answer::Met]);
    assert!(hall.waits_for_model("1.1"));
}

#[test]
fn a_draw_is_granted_at_once_if_the_hirer_has_the_money() {
    let mut hall = hall(400);
    // A hire in the background gets what it needs, and its hirer keeps the rest.
    hall.says("1", &[hire("a").background()]);
    runs_dry(&mut hall, "1.1");
    let met = answers(&hall, "1.1");
    assert!(met.len() > 2 && met[..3].iter().all(|answer| *answer == Answer::Met), "{met:?}");
}

#[test]
fn an_idle_conversation_serves_draws() {
    let own = root("contractor", 406);
    let grant = Grant { heads: Heads(20), ..own.grant };
    let hiring = Some(crate::say::hiring(&["a"]));
    let mut hall = Hall::open(Brief { grant, hiring, close_when: CloseWhen::Asked, ..own });
    hall.says("1", &[hire("a").background()]);
    hall.final_text("1");
    assert!(!hall.waits_for_model("1"));
    runs_dry(&mut hall, "1.1");
    assert!(answers(&hall, "1.1").contains(&Answer::Met));
}

#[test]
fn a_draw_beyond_the_named_budget_is_not_made_and_the_hire_uses_what_it_has() {
    let mut hall = hall(400);
    hall.says("1", &[hire("a").budget(9)]);
    runs_dry(&mut hall, "1.1");
    assert_eq!(draws(&hall, "1.1"), Vec::<String>::new());
    assert_eq!(hall.contract("1.1").purse().spent(), sat(7), "all but the severance is used");
}

#[test]
fn a_persons_top_up_counts_toward_a_draw_and_raises_the_maximum() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    hall.owner_sends("1", Stimulus::TopUp { to: path("1.1"), money: sat(2), draw: None });
    assert_eq!(answers(&hall, "1.1"), [Answer::Met]);
    assert!(hall.waits_for_model("1.1"));
}

#[test]
fn an_ending_ends_the_draw_of_a_hire() {
    for (ending, outcome) in
        [(Stimulus::Cancel, Outcome::Cancelled), (Stimulus::WrapUp, Outcome::Exhausted(Limit::Asked))]
    {
        let mut hall = two_hires();
        runs_dry(&mut hall, "1.1");
        hall.owner_sends("1", ending);
        assert_eq!(answers(&hall, "1.1"), [Answer::NotMet]);
        if outcome != Outcome::Cancelled {
            hall.final_text("1.1");
        }
        assert_eq!(hall.report("1.1").outcome, outcome);
    }
}

#[test]
fn money_for_a_draw_that_meets_an_ending_comes_back_as_change() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    hall.set_delivery(Delivery::Slow);
    hall.final_text("1.2");
    hall.owner_sends("1.1", Stimulus::Cancel);
    hall.set_delivery(Delivery::Prompt);
    assert_eq!(answers(&hall, "1.1"), [Answer::NotMet]);
    let (root, spent) = (hall.contract("1").purse(), hall.report("1.1").spent);
    assert_eq!(root.held(), sat(2 + 10), "only the severance and the next request are held");
    assert!(spent <= sat(66));
}

#[test]
fn when_nobody_moves_the_youngest_draw_is_refused_and_that_hire_wraps_up() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    runs_dry(&mut hall, "1.2");
    assert_eq!((answers(&hall, "1.1"), answers(&hall, "1.2")), (vec![], vec![Answer::NotMet]));
    assert!(hall.contract("1.2").is_closing(), "1.2 makes its last request");
    hall.replies_for("1.2", words("what was found"), known(1));
    assert_eq!(hall.report("1.2").outcome, Outcome::Exhausted(Limit::Purse));
    assert_eq!(answers(&hall, "1.1"), [Answer::Met], "the change of 1.2 serves 1.1");
}

#[test]
fn a_draw_climbs_one_level_at_a_time() {
    let mut hall = hall(300);
    hall.says("1", &[hire("l").team(&["a"]).background()]);
    hall.says("1.1", &[hire("a")]);
    runs_dry(&mut hall, "1.1.1");
    assert!(!draws(&hall, "1.1").is_empty(), "the hirer of 1.1.1 draws from the root");
    assert!(answers(&hall, "1.1.1").contains(&Answer::Met));
}

#[test]
fn a_hire_that_waits_for_an_answer_counts_as_one_that_waits() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    hall.says("1.2", &[ask_hirer("which log?", 100_000)]);
    assert!(hall.waits_for_model("1"), "the question comes first");
    hall.final_text("1");
    assert_eq!(answers(&hall, "1.1"), [Answer::NotMet], "nothing moves, and 1.1 is the only one that draws");
}

#[test]
fn without_a_turn_left_nobody_draws() {
    let mut hall = hall(140);
    hall.says("1", &[hire("a").with(|offer| offer.turns_max = 1), hire("b")]);
    hall.says("1.1", &[tool("look")]);
    hall.tool_ends("1.1", "look", known(0));
    assert_eq!(draws(&hall, "1.1"), Vec::<String>::new());
    assert!(hall.contract("1.1").is_closing());
}

#[test]
fn a_deadline_ends_the_draw_of_a_hire() {
    let mut hall = hall(140);
    let until = |offer: &mut guildhall_kernel::Offer| offer.deadline = Some(guildhall_kernel::Millis(500_000));
    hall.says("1", &[hire("a").with(until), hire("b")]);
    runs_dry(&mut hall, "1.1");
    assert_eq!(answers(&hall, "1.1"), []);
    hall.set_time(490_000);
    assert_eq!(answers(&hall, "1.1"), [Answer::NotMet]);
    hall.replies_for("1.1", words("what was found"), known(1));
    assert_eq!(hall.report("1.1").outcome, Outcome::Exhausted(Limit::Deadline));
}

#[test]
fn the_maximum_of_an_agent_is_the_limit_of_its_draws() {
    let mut hall = hall(400);
    hall.says("1", &[hire("a").with(|offer| offer.share_max = Some(sat(20)))]);
    assert_eq!(hall.contract("1.1").brief().grant.money, sat(20));
    runs_dry(&mut hall, "1.1");
    assert_eq!(draws(&hall, "1.1"), Vec::<String>::new());
    assert!(hall.contract("1.1").is_closing());
}

#[test]
fn change_from_below_counts_toward_a_draw() {
    let mut hall = hall(300);
    hall.says("1", &[hire("l").team(&["a", "b"]), hire("b")]);
    hall.says("1.1", &[hire("a"), hire("b")]);
    runs_dry(&mut hall, "1.1.1");
    runs_dry(&mut hall, "1.1.2");
    assert_eq!((draws(&hall, "1.1").len(), answers(&hall, "1.1")), (1, vec![]), "1.2 works");
    hall.owner_sends("1.1.2", Stimulus::Cancel);
    assert_eq!(answers(&hall, "1.1.1"), [Answer::Met], "the change of 1.1.2 serves it");
    assert_eq!(answers(&hall, "1.1"), [Answer::Met]);
}

#[test]
fn a_refused_hirer_refuses_its_own_youngest_draw() {
    let mut hall = hall(150);
    hall.says("1", &[hire("l").team(&["a", "b"])]);
    hall.says("1.1", &[hire("a"), hire("b")]);
    runs_dry(&mut hall, "1.1.1");
    runs_dry(&mut hall, "1.1.2");
    assert_eq!(answers(&hall, "1.1").last(), Some(&Answer::NotMet));
    assert!(!hall.contract("1.1").is_closing(), "it drew for its hires");
    assert_eq!(answers(&hall, "1.1.2").last(), Some(&Answer::NotMet));
    assert!(!answers(&hall, "1.1.1").contains(&Answer::NotMet));
}

#[test]
fn a_tool_never_draws() {
    let mut hall = hall(140);
    hall.says("1", &[hire("a"), hire("b")]);
    let facts = hall.says("1.1", &[tool("map").price(500)]);
    assert!(facts.iter().any(|fact| matches!(fact, Fact::Refused { .. })), "{facts:?}");
    assert_eq!(draws(&hall, "1.1"), Vec::<String>::new());
}

#[test]
fn a_draw_is_at_most_seven_facts() {
    let mut hall = two_hires();
    runs_dry(&mut hall, "1.1");
    hall.final_text("1.2");
    let is_of_a_draw = |fact: &&Fact| {
        let heard = if let Fact::Heard { stimulus, .. } = fact { Some(stimulus) } else { None };
        let ask = fact.asked().map(|(_, ask)| ask);
        let told = if let Some(Ask::Tell { what, .. }) = ask { Some(what) } else { heard };
        let draws = told.is_some_and(|what| matches!(what, Stimulus::Draw { .. } | Stimulus::TopUp { .. }));
        let asks = matches!(ask, Some(Ask::Draw { .. }));
        let answers = fact.answered().is_some_and(|(_, answer)| matches!(answer, Answer::Met | Answer::Delivered));
        draws || asks || answers || matches!(fact, Fact::Raised { .. })
    };
    let facts = hall.journal.values().flatten().filter(is_of_a_draw);
    assert_eq!(facts.count(), 7, "ask, heard, raised, told, heard, and two answers");
}

#[test]
fn hires_with_two_prices_and_a_free_one_draw_what_their_own_turns_cost() {
    let mut hall = hall(140);
    let dear = guildhall_kernel::Tariff { output: crate::say::sat(20_000), ..crate::say::TARIFF };
    let free = guildhall_kernel::Tariff { output: guildhall_kernel::Msat::ZERO, ..crate::say::TARIFF };
    let with = |name: &str, tariff| hire(name).with(|offer| offer.tariff = tariff);
    hall.says("1", &[with("c", free).with(|offer| offer.severance = sat(0)), hire("a"), with("b", dear)]);
    for result in RESULTS.into_iter().cycle().take(10) {
        hall.replies_for("1.1", crate::say::calling(&[tool("look")]), known(0));
        hall.tool("1.1", "look", Answer::Result(text(TextKind::Result, result)), known(0));
    }
    assert_eq!(draws(&hall, "1.1"), Vec::<String>::new(), "a free model needs no money");
    runs_dry(&mut hall, "1.2");
    assert_eq!(draws(&hall, "1.2")[0], "4sat", "what its own turn costs");
    hall.replies_for("1.1", words("found it"), known(0));
    hall.final_text("1.2");
    while hall.waits_for_model("1.3") && draws(&hall, "1.3").is_empty() {
        hall.replies_for("1.3", crate::say::calling(&[tool("look")]), known(20));
        hall.tool_ends("1.3", "look", known(0));
    }
    assert_eq!(draws(&hall, "1.3"), ["16.72sat"], "a full turn costs 20.48 sat, and 3.76 are left");
}
