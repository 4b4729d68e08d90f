//! Top-ups, running dry, the fee.

use guildhall_kernel::{Acceptance, Brief, Reply, Stimulus};
use insta::assert_snapshot;

use crate::hall::{Hall, Post};
use crate::say::{calling, hire, known, path, root, sat, tool, words};

fn top_up(to: &str, money: u64) -> Stimulus {
    Stimulus::TopUp { to: path(to), money: sat(money) }
}

#[test]
fn a_top_up_travels_hop_by_hop_to_a_grandchild() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"])]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    for at in ["1", "1.1", "1.1.1"] {
        hall.so_far(at);
    }
    hall.told("1", top_up("1.1.1", 50));
    assert_snapshot!(hall.news("1"), @"
    heard top-up of 50sat for 1.1.1
    raised #2 by 50sat
    asked #3 tell 1.1 top-up of 50sat for 1.1.1
    answered #3 delivered
    ");
    assert_snapshot!(hall.news("1.1"), @"
    heard top-up of 50sat for 1.1.1
    raised #2 by 50sat
    asked #3 tell 1.1.1 top-up of 50sat for 1.1.1
    answered #3 delivered
    ");
    assert_snapshot!(hall.news("1.1.1"), @"heard top-up of 50sat for 1.1.1");
    assert_snapshot!(hall.tree(), @"
    contractor     1050sat  at work  spent 4sat
    └─ researcher   350sat  at work  spent 4sat
       └─ reader    150sat  at work  spent 0sat
    ");
}

#[test]
fn a_top_up_for_one_who_has_closed_stays_with_the_last_living_contract_on_the_way() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.says("1", &[hire("researcher").budget(300).team(&["reader"])]);
    hall.says("1.1", &[hire("reader").budget(100)]);
    hall.final_text("1.1.1");
    hall.so_far("1.1");
    hall.told("1", top_up("1.1.1", 50));
    assert_snapshot!(hall.news("1.1"), @"
    heard top-up of 50sat for 1.1.1
    refused from outside: 1.1.1 can't take more money, because it has closed or is closing: the money stays with 1.1
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
    hall.so_far("1");
    hall.post(Post::Slow);
    hall.final_text("1.1");
    hall.told("1", top_up("1.1", 50));
    hall.post(Post::Prompt);
    assert_snapshot!(hall.news("1"), @"
    heard top-up of 50sat for 1.1
    raised #2 by 50sat
    asked #3 tell 1.1 top-up of 50sat for 1.1
    answered #2 report done, cost 4sat
    asked #4 model hearing #2, holds 10sat
    answered #3 gone
    ");
    assert_snapshot!(hall.purse("1"), @"1050sat = 1030sat available + 12sat held + 8sat spent");
}

/// A contractor that has spent what it kept, with a coder at work on 7 sat.
fn dry_with_a_hire() -> Hall {
    let mut hall = Hall::open(root("contractor", 20));
    hall.says("1", &[hire("coder").budget(14).background()]);
    hall.replies_for("1", calling(&[tool("map").price(3)]), known(4));
    hall.so_far("1");
    hall.tool_ends("1", "map", known(3));
    assert!(!hall.thinks("1"), "it has run dry and waits");
    hall
}

#[test]
fn a_top_up_lets_a_dry_contract_go_on() {
    let mut hall = dry_with_a_hire();
    hall.told("1", top_up("1", 100));
    assert!(hall.thinks("1"));
}

#[test]
fn who_runs_dry_with_a_live_hire_waits_for_its_change() {
    let mut hall = dry_with_a_hire();
    hall.final_text("1.1");
    assert_snapshot!(hall.news("1"), @r#"
    answered #4 result "map", cost 3sat
    answered #2 report done, cost 4sat
    asked #5 model hearing #2, holds 3sat
    "#);
}

#[test]
fn who_runs_dry_and_gets_no_change_wraps_up() {
    let mut hall = dry_with_a_hire();
    hall.replies_for("1.1", calling(&[tool("map").price(1)]), known(4));
    hall.tool_ends("1.1", "map", known(1));
    hall.replies_for("1.1", words("all of it"), known(2));
    assert_snapshot!(hall.news("1"), @r#"
    answered #4 result "map", cost 3sat
    answered #2 report exhausted: purse, cost 7sat
    closing: exhausted: purse
    asked #5 model for the last time hearing #2, holds 2sat
    "#);
}

#[test]
fn a_fee_is_held_at_the_opening_and_paid_with_an_accepted_report() {
    let mut hall = Hall::open(Brief { fee: sat(30), ..root("coder", 100) });
    assert_snapshot!(hall.purse("1"), @"100sat = 58sat available + 42sat held + 0sat spent");
    hall.final_text("1");
    assert_snapshot!(hall.news("1"), @r#"
    opened coder with 100sat
    asked #1 model, holds 10sat
    answered #1 said "final text of 1", cost 4sat
    closed: done, accepted, "final text of 1", spent 34sat, fee 30sat, change 66sat
    "#);
    assert_snapshot!(hall.purse("1"), @"100sat = 66sat available + 0sat held + 34sat spent");
}

#[test]
fn a_fee_is_not_paid_where_the_report_is_not_accepted() {
    let mut hall = Hall::open(Brief { fee: sat(30), ..root("coder", 100) });
    hall.replies("1", Reply { words: None, ..words("") });
    hall.replies("1", Reply { words: None, ..words("") });
    let report = hall.report("1");
    assert_eq!((report.acceptance, report.fee), (Acceptance::NotAccepted, sat(0)));
    assert_snapshot!(hall.purse("1"), @"100sat = 92sat available + 0sat held + 8sat spent");
}

#[test]
fn a_hires_fee_comes_out_of_its_own_grant() {
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
