//! Hires that wait for money: who waits, who is admitted when, and who is refused.

use guildhall_kernel::{Ask, Brief, Fact, Grant, Heads, Mode, Need, Quantity as _, Refusal, Stimulus, Tariff};

use crate::hall::Hall;
use crate::say::{Do, TARIFF, hire, msat, path, root, sat, stop, tell, tool, wait};

/// A model whose ordinary turn costs 4 sat, and sixteen of them 64. A hire needs 64 sat and its severance of 2.
pub(crate) fn hall(money: u64) -> Hall {
    let own = root("contractor", money + 2 + 4);
    let grant = Grant { heads: Heads(20), ..own.grant };
    Hall::open(Brief { grant, tariff: TARIFF, hiring: Some(crate::say::hiring(&TEAM)), ..own })
}

const TEAM: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

pub(crate) fn queued(facts: &[Fact]) -> Vec<u32> {
    let ordinal = |fact: &Fact| if let Fact::Queued { ordinal, .. } = fact { Some(*ordinal) } else { None };
    facts.iter().filter_map(ordinal).collect()
}

pub(crate) fn hired(facts: &[Fact]) -> Vec<String> {
    let path = |fact: &Fact| Some(fact.asked()?.1.brief()?.path.to_string());
    facts.iter().filter_map(path).collect()
}

pub(crate) fn refused(facts: &[Fact]) -> Vec<(Option<u32>, &Refusal)> {
    facts.iter().filter_map(refusal).collect()
}

fn refusal(fact: &Fact) -> Option<(Option<u32>, &Refusal)> {
    if let Fact::Refused { ordinal, why, .. } = fact { Some((*ordinal, why)) } else { None }
}

fn names(names: &[&str]) -> Vec<Do> {
    names.iter().map(|name| hire(name)).collect()
}

#[test]
fn a_hire_that_does_not_fit_waits_and_begins_with_the_change_of_another() {
    let mut hall = hall(150);
    let facts = hall.says("1", &names(&["a", "b", "c"]));
    assert_eq!((hired(&facts), queued(&facts)), (vec!["1.1".to_owned(), "1.2".to_owned()], vec![3]));
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.3")]);
    hall.final_text("1.1");
    assert!(hall.contracts.contains_key(&path("1.3")), "the change of 1.1 pays for 1.3");
    assert!(!hall.waits_for_model("1"), "the hirer waits for its blocking hires");
}

#[test]
fn while_one_waits_nobody_gets_more_than_it_needs() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c"]));
    assert_eq!(hall.contract("1.1").brief().grant.money, sat(66));
    assert_eq!(hall.contract("1.2").brief().grant.money, sat(66));
}

#[test]
fn a_need_follows_what_a_hire_has_cost() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c", "d", "e", "f"]));
    // Five quarters of 10 sat are less than four turns and the severance.
    hall.replies_for("1.1", crate::say::words("found it"), crate::say::known(10));
    assert_eq!(hall.contract("1.3").brief().grant.money, sat(18));
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.6")]);
}

#[test]
fn nobody_overtakes_a_hire_that_waits() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a").background(), hire("b").background(), hire("c").background()]);
    let facts = hall.says("1", &[hire("d").background().budget(3)]);
    assert_eq!(queued(&facts), [4], "1.3 waits longer, although 1.4 would fit");
}

#[test]
fn an_admission_wakes_nobody_and_a_refusal_wakes() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a").background(), hire("b").background(), hire("c").background()]);
    hall.final_text("1");
    hall.says("1.1", &[tool("look")]);
    assert!(!hall.waits_for_model("1"));
    let facts = hall.owner_sends("1", Stimulus::DropHire { ordinal: 3 });
    let hire = path("1.3");
    assert_eq!(refused(&facts), [(Some(3), &Refusal::StoppedBeforeStart { hire })]);
    assert!(hall.waits_for_model("1"), "the model is told that 1.3 was refused");
}

#[test]
fn a_blocking_hire_does_not_wait_for_hires_in_the_background_alone() {
    let mut hall = hall(70);
    hall.says("1", &[hire("a").background()]);
    let facts = hall.says("1", &[hire("b")]);
    assert!(matches!(refused(&facts)[..], [(None, Refusal::Money { .. })]), "{facts:?}");
}

#[test]
fn a_tool_that_holds_money_can_be_waited_for() {
    let mut hall = hall(80);
    let facts = hall.says("1", &[hire("a"), hire("b"), tool("map").price(5)]);
    assert_eq!(queued(&facts), [2]);
}

#[test]
fn a_budget_or_a_maximum_below_the_minimum_is_refused_at_once() {
    let mut hall = hall(150);
    let capped = hire("b").with(|offer| offer.share_max = Some(sat(1)));
    let facts = hall.says("1", &[hire("a").budget(2), capped, hire("c")]);
    let money = |amount| Refusal::Money { asked: sat(amount), free: sat(150), minimum: sat(3) };
    assert_eq!(refused(&facts), [(None, &money(2)), (None, &money(1))]);
    assert_eq!(hired(&facts), ["1.1"]);
}

#[test]
fn a_named_budget_of_any_size_starves_nobody() {
    let mut hall = hall(300);
    let facts = hall.says("1", &[hire("a").budget(1_000_000_000), hire("b").budget(50), hire("c").budget(12)]);
    assert_eq!(hired(&facts).len(), 3);
    assert_eq!(hall.contract("1.2").brief().grant.money, sat(50));
    assert_eq!(hall.contract("1.3").brief().grant.money, sat(12));
}

#[test]
fn every_ending_refuses_what_waits() {
    for ending in [Stimulus::WrapUp, Stimulus::Cancel] {
        let mut hall = hall(150);
        hall.says("1", &names(&["a", "b", "c"]));
        let facts = hall.owner_sends("1", ending);
        assert_eq!(refused(&facts), [(Some(3), &Refusal::Closing)]);
        assert!(hall.contract("1").waiting().next().is_none());
    }
}

#[test]
fn a_message_of_the_owner_moves_a_waiting_hire_into_the_background() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c"]));
    hall.owner_sends("1", Stimulus::Message(crate::say::message("look here")));
    assert!(hall.waits_for_model("1"));
    hall.final_text("1");
    hall.final_text("1.1");
    let facts = &hall.journal[&path("1")];
    let third = facts.iter().filter_map(Fact::asked).find_map(|(_, ask)| {
        let Ask::Hire { brief, mode } = ask else { return None };
        (brief.path == path("1.3")).then_some(*mode)
    });
    assert_eq!(third, Some(Mode::Background));
}

#[test]
fn a_wait_may_name_a_hire_that_waits_for_money() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a").background(), hire("b").background(), hire("c").background()]);
    hall.says("1", &[wait(&["1.3"], Need::All)]);
    hall.final_text("1.1");
    assert!(!hall.waits_for_model("1"), "1.3 has not reported");
    hall.final_text("1.3");
    assert!(hall.waits_for_model("1"));
}

#[test]
pub(crate) fn a_hire_that_waits_hears_no_message() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a").background(), hire("b").background(), hire("c").background()]);
    let facts = hall.says("1", &[tell("1.3", "hello")]);
    assert_eq!(refused(&facts), [(None, &Refusal::NotStarted { hire: path("1.3") })]);
}

#[test]
pub(crate) fn a_hire_that_waits_can_be_stopped() {
    let mut hall = hall(150);
    hall.says("1", &[hire("a").background(), hire("b").background(), hire("c").background()]);
    let facts = hall.says("1", &[stop("1.3")]);
    let stopped = Refusal::StoppedBeforeStart { hire: path("1.3") };
    assert_eq!(refused(&facts), [(None, &stopped), (Some(3), &stopped)]);
}

#[test]
fn a_top_up_of_the_hirer_pays_for_a_hire_that_waits() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c"]));
    hall.owner_sends("1", Stimulus::TopUp { to: path("1"), money: sat(100), draw: None });
    assert!(hall.contracts.contains_key(&path("1.3")));
}

#[test]
fn money_for_a_hire_that_waits_stays_with_its_hirer() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c"]));
    let facts = hall.owner_sends("1", Stimulus::TopUp { to: path("1.3"), money: sat(1), draw: None });
    assert_eq!(refused(&facts), [(None, &Refusal::TopUpStays { to: path("1.3"), with: path("1") })]);
}

#[test]
fn no_more_hires_wait_than_heads_are_free() {
    let own = root("contractor", 156);
    let grant = Grant { heads: Heads(4), ..own.grant };
    let mut hall = Hall::open(Brief { grant, hiring: Some(crate::say::hiring(&TEAM)), ..own });
    let facts = hall.says("1", &names(&["a", "b", "c", "d", "e", "f"]));
    assert_eq!((hired(&facts).len(), queued(&facts)), (2, vec![3, 4]));
    assert!(refused(&facts).iter().all(|(_, why)| matches!(why, Refusal::NoHeads { .. })), "{facts:?}");
}

#[test]
fn the_shares_of_heads_are_computed_as_if_all_who_wait_were_admitted() {
    let mut hall = hall(80);
    hall.says("1", &["a", "b", "c"].map(|name| hire(name).team(&["d"])));
    assert_eq!(hall.contract("1").waiting().count(), 2);
    assert_eq!(hall.contract("1.1").brief().grant.heads, Heads(5), "a third of 18, one for the hire itself");
    crate::row_order::spends(&mut hall, "1.1", 4);
    hall.final_text("1.1");
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.3")]);
    assert_eq!(hall.contract("1.2").brief().grant.heads, Heads(8), "half of 18");
}

#[test]
fn a_fork_that_waits_sees_the_request_that_made_it() {
    let mut hall = hall(150);
    let fork = || hire("contractor").with(|offer| offer.inherit = guildhall_kernel::Inherit::Fork);
    let background = |call: Do| call.background();
    hall.says("1", &[background(hire("a")), background(hire("b")), background(fork())]);
    let context = |hall: &Hall| {
        let queued = |fact: &Fact| if let Fact::Queued { context, .. } = fact { Some(context.clone()) } else { None };
        hall.journal[&path("1")].iter().find_map(queued).expect("the fork waits")
    };
    let seen = context(&hall);
    hall.final_text("1");
    hall.final_text("1.1");
    hall.final_text("1.2");
    assert_eq!(hall.contract("1.3").brief().context, seen);
}

#[test]
fn what_one_turn_of_the_hirer_costs_is_kept() {
    // At 1 msat per token, a turn costs 4 sat, its input, and 1,000 tokens for each of the three reports.
    let input = Tariff { input: msat(1_000_000), ..TARIFF };
    let own = root("contractor", 1006);
    let mut hall =
        Hall::open(Brief { tariff: input, severance: sat(3), hiring: Some(crate::say::hiring(&TEAM)), ..own });
    hall.says("1", &names(&["a", "b", "c"]));
    let kept = hall.contract("1").purse().available();
    assert!(kept >= sat(4 + 3) && kept < sat(4 + 3 + 1), "{kept}");
}

#[test]
fn what_the_next_reply_does_not_use_admits_a_hire() {
    let mut hall = hall(72);
    hall.says("1", &[hire("a").background(), hire("b").background()]);
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.2")]);
    hall.replies_for("1.1", crate::say::words("found it"), crate::say::known(0));
    assert_eq!(hall.contract("1").waiting().count(), 1, "the request of 1 holds the money");
    hall.replies_for("1", crate::say::words("waiting"), crate::say::known(0));
    hall.replies_for("1", crate::say::words("waiting"), crate::say::known(0));
    assert!(hall.contracts.contains_key(&path("1.2")));
}

#[test]
fn a_need_is_five_quarters_of_the_most_that_a_hire_has_spent_and_at_most_sixteen_turns() {
    for (turns, need) in [(3, 43), (6, 66)] {
        let mut hall = hall(150);
        hall.says("1", &names(&["a", "b", "c", "d"]));
        crate::row_order::spends(&mut hall, "1.1", turns);
        hall.final_text("1.1");
        let money = hall.contracts.get(&path("1.3")).map(|hire| hire.brief().grant.money);
        assert_eq!(money.unwrap_or(sat(66)), msat(need * 1000 - if turns == 3 { 500 } else { 0 }), "{turns} turns");
    }
}

#[test]
fn a_question_of_a_hire_moves_a_waiting_hire_into_the_background() {
    let mut hall = hall(150);
    hall.says("1", &names(&["a", "b", "c"]));
    hall.says("1.1", &[crate::say::ask_hirer("which log?", 100_000)]);
    assert!(hall.waits_for_model("1"), "the question comes first");
    hall.final_text("1");
    hall.final_text("1.2");
    let modes = hall.journal[&path("1")].iter().filter_map(Fact::asked).filter_map(|(_, ask)| {
        let Ask::Hire { brief, mode } = ask else { return None };
        (brief.path == path("1.3")).then_some(*mode)
    });
    assert_eq!(modes.collect::<Vec<_>>(), [Mode::Background]);
}

#[test]
fn a_hire_that_waited_past_its_deadline_is_refused_and_the_next_is_tried() {
    let mut hall = hall(150);
    let late = hire("c").with(|offer| offer.deadline = Some(guildhall_kernel::Millis(200_000)));
    hall.says("1", &[hire("a"), hire("b"), late, hire("d")]);
    assert_eq!(hall.contract("1").waiting().collect::<Vec<_>>(), [path("1.3"), path("1.4")]);
    hall.set_time(200_000);
    hall.final_text("1.1");
    let refused = refused(&hall.journal[&path("1")]).into_iter().map(|(ordinal, _)| ordinal).collect::<Vec<_>>();
    assert_eq!(refused, [Some(3)], "the deadline is checked with the time of then");
    assert!(hall.contracts.contains_key(&path("1.4")));
}

#[test]
fn a_hire_of_a_cascade_waits_too() {
    let mut hall = hall(150);
    let all = names(&["a", "b", "c"]);
    hall.replies("1", crate::say::undone(guildhall_kernel::Undone::RequiredHire, &all));
    let facts = hall.replies("1", crate::say::undone(guildhall_kernel::Undone::RequiredHire, &all));
    assert_eq!((hired(&facts).len(), queued(&facts)), (2, vec![3]), "{facts:?}");
}

#[test]
fn what_is_kept_grows_with_the_largest_report() {
    let input = Tariff { input: msat(1_000_000), ..TARIFF };
    let own = root("contractor", 1006);
    let brief = Brief { tariff: input, severance: sat(3), hiring: Some(crate::say::hiring(&TEAM)), ..own };
    let kept = |bytes: usize| {
        let mut hall = Hall::open(brief.clone());
        let background = |name| hire(name).background();
        hall.says("1", &["a", "b", "c"].map(background));
        hall.final_text("1");
        hall.replies("1.1", crate::say::words(&"x".repeat(bytes)));
        hall.contract("1").grantable(sat(500))
    };
    let (small, large) = (kept(500), kept(3_000));
    assert!(large.plus(sat(2 * 2)).unwrap() < small, "three reports of 3,000 are kept for: {small}, {large}");
}
