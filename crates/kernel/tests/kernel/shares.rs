//! The shares of the hires of one reply, and the money and heads that their hirer keeps.

use guildhall_kernel::{Answer, Ask, Brief, Cost, Fact, Grant, Heads, Hiring, Msat, Refusal, TextKind};

use crate::hall::Hall;
use crate::say::{Do, hire, hiring, msat, path, root, sat, text, tool};

/// A contractor that has this much available money after its first reply.
fn with_free(money: u64, heads: u32) -> Hall {
    let own = root("contractor", money + 2 + 4);
    let grant = Grant { heads: Heads(heads), ..own.grant };
    Hall::open(Brief { grant, hiring: Some(team()), ..own })
}

fn team() -> Hiring {
    hiring(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])
}

fn heads_of(hall: &Hall, hires: u32) -> Vec<u32> {
    (1..=hires).map(|hire| hall.contract(&format!("1.{hire}")).brief().grant.heads.0).collect()
}

fn money_of(hall: &Hall, hires: u32) -> Vec<Msat> {
    (1..=hires).map(|hire| hall.contract(&format!("1.{hire}")).brief().grant.money).collect()
}

fn refusals(facts: &[Fact]) -> Vec<&Refusal> {
    facts.iter().filter_map(|fact| if let Fact::Refused { why, .. } = fact { Some(why) } else { None }).collect()
}

fn lead(name: &str) -> Do {
    hire(name).team(&["x"])
}

#[test]
fn hires_that_can_hire_share_the_heads_except_a_tenth() {
    let mut hall = with_free(1000, 130);
    let ten = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(lead);
    hall.says("1", &ten);
    // (130 - 13) / 10 = 11 for each hire: one for itself and ten to pass on.
    assert_eq!(heads_of(&hall, 10), [10; 10]);
    assert_eq!(hall.contract("1").heads().available(), Heads(130 - 110));
}

#[test]
fn a_hire_that_cant_hire_takes_one_head_and_named_heads_come_first() {
    let mut hall = with_free(1000, 50);
    let named = lead("b").with(|offer| offer.heads = Some(Heads(7)));
    hall.says("1", &[lead("a"), named, hire("c"), lead("d")]);
    // 50 - 1 - 8 = 41; 41 - 4 = 37; 37 / 2 = 18 for each of a and d: one for itself and 17 to pass on.
    assert_eq!(heads_of(&hall, 4), [17, 7, 0, 17]);
}

#[test]
fn a_hire_at_the_last_level_gets_no_heads_for_hires_even_if_it_has_a_team() {
    let mut hall = with_free(1000, 50);
    hall.says("1", &[lead("a").with(|offer| offer.depth = Some(0)), lead("b")]);
    // 50 - 1 = 49; 49 - 4 = 45.
    assert_eq!(heads_of(&hall, 2), [0, 44]);
}

#[test]
fn a_hirer_gets_a_share_of_the_heads_if_a_hire_works_in_the_background() {
    let mut hall = with_free(1000, 100);
    hall.says("1", &[lead("a"), lead("b").background()]);
    assert_eq!(heads_of(&hall, 2), [29, 29]);
}

#[test]
fn too_few_heads_go_to_the_first_hires_of_a_reply() {
    let mut hall = with_free(1000, 2);
    let facts = hall.says("1", &[lead("a"), lead("b"), lead("c")]);
    assert_eq!(heads_of(&hall, 2), [0, 0]);
    assert_eq!(refusals(&facts), [&Refusal::NoHeads { asked: Heads(1), free: Heads(0) }]);
}

#[test]
fn a_chain_of_fifteen_hires_is_possible_with_a_thousand_heads() {
    let own = root("contractor", 1_000_000);
    let grant = Grant { heads: Heads(1000), depth: 16, ..own.grant };
    let mut hall = Hall::open(Brief { grant, ..own });
    let mut at = "1".to_owned();
    for level in 0..15 {
        let next = format!("l{}", level + 1);
        let name = if level == 0 { "coder".to_owned() } else { format!("l{level}") };
        hall.says(&at, &[hire(&name).task(&format!("level {level}")).team(&[next.as_str()])]);
        at = format!("{at}.1");
    }
    assert_eq!(hall.contract(&at).brief().path, path(&at));
}

#[test]
fn a_hirer_keeps_one_own_turn_and_at_most_half() {
    // A turn of 1,024 tokens costs 4 sat.
    for (free, kept) in [(1000, 4), (80, 4), (10, 4), (6, 3)] {
        let mut hall = with_free(free, 10);
        hall.says("1", &[hire("a")]);
        assert_eq!(money_of(&hall, 1), [sat(free - kept)], "{free} available");
    }
}

#[test]
fn a_hire_in_the_background_gets_what_it_needs_and_the_hirer_has_the_rest() {
    let mut hall = with_free(1000, 10);
    hall.says("1", &[hire("a").background(), hire("b").background().budget(30)]);
    // Sixteen turns of 4 sat and a severance of 2.
    assert_eq!(money_of(&hall, 2), [sat(66), sat(30)]);
}

#[test]
fn named_budgets_are_filled_in_equal_steps_before_the_others_share() {
    let mut hall = with_free(154, 10);
    hall.says("1", &[hire("a"), hire("b").budget(60), hire("c").budget(500)]);
    // a needs 66, b and c at least 3; the hirer keeps 4. Of the other 78, b and c get 39 each.
    assert_eq!(money_of(&hall, 3), [sat(66), sat(42), sat(42)]);
}

#[test]
fn the_rest_is_shared_equally_up_to_each_maximum() {
    let mut hall = with_free(400, 10);
    let capped = |name, max| hire(name).with(|offer| offer.share_max = Some(sat(max)));
    hall.says("1", &[capped("a", 10), hire("b").budget(20), hire("c"), capped("d", 100)]);
    // a needs 10, b 3, c and d 66: 145. Of the other 251, b gets 17, d 34, and c the 200 that are left.
    assert_eq!(money_of(&hall, 4), [sat(10), sat(20), sat(266), sat(100)]);
}

#[test]
fn the_first_hire_may_get_less_than_it_needs_and_the_others_wait() {
    let mut hall = with_free(20, 10);
    let facts = hall.says("1", &[hire("a"), hire("b"), hire("c")]);
    assert_eq!(money_of(&hall, 1), [sat(16)]);
    assert_eq!((refusals(&facts), hall.contract("1").waiting().count()), (vec![], 2));
}

#[test]
fn the_tools_of_a_reply_are_paid_before_its_hires_share() {
    let mut hall = with_free(150, 10);
    hall.says("1", &[hire("a"), tool("map").price(50)]);
    assert_eq!(money_of(&hall, 1), [sat(96)]);
}

#[test]
fn a_tool_that_costs_more_than_the_rest_is_refused_and_a_hire_keeps_its_share() {
    let mut hall = with_free(100, 10);
    // There is not enough money for both tools, so the shares are computed without the second tool.
    let facts = hall.says("1", &[tool("map").price(60), hire("a"), tool("dear").price(50)]);
    assert_eq!(refusals(&facts), [&Refusal::Money { asked: sat(50), free: sat(4), minimum: sat(50) }]);
    let mut hall = with_free(100, 10);
    let powerless = tool("map").price(90).on_tool(|call| call.needs = crate::say::powers(&["shell"]));
    hall.says("1", &[powerless, tool("dear").price(95), hire("a")]);
    assert!(hall.contract("1").purse().available() >= Msat::ZERO, "only available money is granted");
}

#[test]
fn a_refused_hire_takes_no_share() {
    let mut hall = with_free(100, 10);
    hall.says("1", &[hire("nobody"), hire("a"), hire("contractor")]);
    assert_eq!(money_of(&hall, 1), [sat(96)]);
}

#[test]
fn after_a_lost_reply_a_long_one_uses_at_most_half_of_the_available_money() {
    // A reply of 2,560 tokens costs 10 sat, an ordinary turn 4.
    for (money, first, second) in
        [(100, 10_000, 10_000), (28, 10_000, 9_000), (18, 10_000, 4_000), (7, 7_000, 0), (5, 5_000, 0)]
    {
        let mut hall = Hall::open(root("contractor", money + 2));
        let held = |hall: &Hall| {
            let id = hall.find("1", |ask| matches!(ask, Ask::Model(_)));
            hall.contract("1").hold(id).expect("the request is open").money
        };
        assert_eq!(held(&hall), msat(first), "first hold with {money}");
        hall.model("1", Answer::Lost, Cost::Unknown);
        if second > 0 {
            assert_eq!(held(&hall), msat(second), "second hold with {money}");
        } else {
            assert!(hall.contract("1").is_closing(), "the severance pays for a last reply");
        }
    }
}

#[test]
fn a_contract_gets_the_label_of_its_offer() {
    let mut hall = with_free(100, 10);
    let label = Some(Box::new(text(TextKind::Label, "the careful one")));
    hall.says("1", &[hire("a").with(|offer| offer.label = label.clone())]);
    assert_eq!(hall.contract("1.1").brief().label, label);
}
