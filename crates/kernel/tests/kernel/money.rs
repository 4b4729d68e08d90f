//! Top-ups, running out of money, the fee.

use guildhall_kernel::{Acceptance, Brief, Reply, Stimulus};
use insta::assert_snapshot;

use crate::hall::{Delivery, Hall};
use crate::say::{calling, hire, known, path, root, sat, tool, words};

fn top_up(to: &str, money: u64) -> Stimulus {
    Stimulus::TopUp { to: path(to), money: sat(money), draw: None }
}

#[test]
fn a_top_up_is_passed_on_level_by_level_to_a_hire_of_a_hire() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"])]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    for at in ["1", "1.1", "1.1.1"] {
        hall.skip_facts(at);
    }
    hall.owner_sends("1", top_up("1.1.1", 50));
    assert_snapshot!(hall.new_facts("1"), @"
    heard top-up of 50sat for 1.1.1
    raised #2 by 50sat
    asked #3 tell 1.1 top-up of 50sat for 1.1.1
    answered #3 delivered
    ");
    assert_snapshot!(hall.new_facts("1.1"), @"
    heard top-up of 50sat for 1.1.1
    raised #2 by 50sat
    asked #3 tell 1.1.1 top-up of 50sat for 1.1.1
    answered #3 delivered
    ");
    assert_snapshot!(hall.new_facts("1.1.1"), @"heard top-up of 50sat for 1.1.1");
    assert_snapshot!(hall.tree(), @"
    contractor     1050sat  at work  spent 4sat
    └─ researcher   350sat  at work  spent 4sat
       └─ reader    150sat  at work  spent 0sat
    ");
}

#[test]
fn a_top_up_for_a_closed_contract_stays_with_the_last_live_contract_on_the_way() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"])]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    hall.final_text("1.1.1");
    hall.skip_facts("1.1");
    hall.owner_sends("1", top_up("1.1.1", 50));
    assert_snapshot!(hall.new_facts("1.1"), @"
    heard top-up of 50sat for 1.1.1
    refused from outside: 1.1.1 can't take more money, because it has not started, has closed or is closing: the money stays with 1.1
    ");
    assert_snapshot!(hall.tree(), @"
    contractor     1050sat  at work  spent 4sat
    └─ researcher   350sat  at work  spent 8sat
       └─ reader    100sat  done     spent 4sat
    ");
}

#[test]
fn a_top_up_that_meets_a_report_comes_back_with_the_change() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(300)]);
    hall.skip_facts("1");
    hall.set_delivery(Delivery::Slow);
    hall.final_text("1.1");
    hall.owner_sends("1", top_up("1.1", 50));
    hall.set_delivery(Delivery::Prompt);
    assert_snapshot!(hall.new_facts("1"), @"
    heard top-up of 50sat for 1.1
    raised #2 by 50sat
    asked #3 tell 1.1 top-up of 50sat for 1.1
    answered #2 report done, cost 4sat
    asked #4 model hearing #2, holds 10sat
    answered #3 gone
    ");
    assert_snapshot!(hall.purse("1"), @"1050sat = 1030sat available + 12sat held + 8sat spent");
}

/// A contractor that has spent all the money that it kept, with a coder at work.
fn out_of_money_with_a_hire() -> Hall {
    let mut hall = Hall::open(root("contractor", 20));
    hall.says("1", &[hire("coder").budget(14).background()]);
    hall.replies_for("1", calling(&[tool("map").price(3)]), known(1));
    hall.skip_facts("1");
    hall.tool_ends("1", "map", known(3));
    assert!(!hall.waits_for_model("1"), "the contractor has no money and waits");
    hall
}

#[test]
fn a_top_up_lets_a_contract_without_money_continue() {
    let mut hall = out_of_money_with_a_hire();
    hall.owner_sends("1", top_up("1", 100));
    assert!(hall.waits_for_model("1"));
}

#[test]
fn a_contract_without_money_waits_for_the_change_of_its_live_hire() {
    let mut hall = out_of_money_with_a_hire();
    hall.final_text("1.1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #4 result "map", cost 3sat
    answered #2 report done, cost 4sat
    asked #5 model hearing #2, holds 6sat
    "#);
}

#[test]
fn a_contract_without_money_that_gets_no_change_wraps_up() {
    let mut hall = out_of_money_with_a_hire();
    hall.replies_for("1.1", calling(&[tool("map").price(1)]), known(4));
    hall.tool_ends("1.1", "map", known(1));
    hall.replies_for("1.1", words("all of it"), known(2));
    assert_snapshot!(hall.new_facts("1"), @r#"
    answered #4 result "map", cost 3sat
    heard draw of 1sat
    asked #5 tell 1.1 no money for draw #3
    answered #5 delivered
    answered #2 report exhausted: purse, cost 7sat
    asked #6 model hearing #2, holds 3sat
    "#);
}

#[test]
fn a_fee_is_held_from_the_opening_and_paid_with_an_accepted_report() {
    let mut hall = Hall::open(Brief { fee: sat(30), ..root("coder", 100) });
    assert_snapshot!(hall.purse("1"), @"100sat = 58sat available + 42sat held + 0sat spent");
    hall.final_text("1");
    assert_snapshot!(hall.new_facts("1"), @r#"
    opened coder with 100sat
    asked #1 model, holds 10sat
    answered #1 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 34sat, fee 30sat, change 66sat
    "#);
    assert_snapshot!(hall.purse("1"), @"100sat = 66sat available + 0sat held + 34sat spent");
}

#[test]
fn a_fee_is_not_paid_if_the_report_is_not_accepted() {
    let mut hall = Hall::open(Brief { fee: sat(30), ..root("coder", 100) });
    hall.replies("1", Reply { words: None, ..words("") });
    hall.replies("1", Reply { words: None, ..words("") });
    let report = hall.report("1");
    assert_eq!((report.acceptance, report.fee), (Acceptance::NotAccepted, sat(0)));
    assert_snapshot!(hall.purse("1"), @"100sat = 92sat available + 0sat held + 8sat spent");
}

#[test]
fn a_hires_fee_is_paid_from_its_own_grant() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("coder").budget(100).with(|offer| offer.fee = sat(30)), tool("read")]);
    hall.tool_ends("1", "read", known(0));
    hall.final_text("1.1");
    hall.final_text("1");
    assert_snapshot!(hall.tree(), @"
    contractor  1000sat  done  spent 42sat
    └─ coder     100sat  done  spent 34sat
    ");
}
