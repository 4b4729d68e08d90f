//! The parts of the spent money: used, estimated, reserved.

use guildhall_kernel::{Answer, AskId, Contract, Cost, Msat, TextKind};

use crate::hall::Hall;
use crate::say::{hire, known, root, sat, text, tool, words};

fn parts(hall: &Hall, at: &str) -> (Msat, Msat, Msat) {
    let report = hall.report(at);
    (report.spent, report.estimated, report.reserved)
}

#[test]
fn a_report_says_what_is_estimated_and_what_is_reserved_with_its_hires() {
    let mut hall = Hall::open(root("contractor", 1000));
    hall.model("1", Answer::Lost, Cost::Unknown);
    hall.says("1", &[hire("coder").budget(100)]);
    hall.replies_for("1.1", crate::say::calling(&[tool("map").price(7)]), Cost::Estimated(sat(3)));
    hall.tool("1.1", "map", Answer::Failed(text(TextKind::Error, "no map")), Cost::Unknown);
    hall.final_text("1.1");
    assert_eq!(parts(&hall, "1.1"), (sat(3 + 7 + 4), sat(3), sat(7)));
    hall.final_text("1");
    assert_eq!(parts(&hall, "1"), (sat(10 + 4 + 14 + 4), sat(3), sat(10 + 7)));
}

#[test]
fn a_charge_is_reserved_if_the_call_was_lost_aborted_or_failed_or_its_cost_is_unknown() {
    let check = |answer: Option<Answer>, cost: Cost, estimated: u64, reserved: u64| {
        let mut hall = Hall::open(root("coder", 100));
        hall.says("1", &[tool("map").price(8)]);
        let answer = answer.unwrap_or(Answer::Result(text(TextKind::Result, "a map")));
        hall.tool("1", "map", answer, cost);
        hall.final_text("1");
        let (_, found_estimated, found_reserved) = parts(&hall, "1");
        assert_eq!((found_estimated, found_reserved), (sat(estimated), sat(reserved)), "{cost:?}");
    };
    check(None, known(5), 0, 0);
    check(None, Cost::Estimated(sat(5)), 5, 0);
    check(None, Cost::Estimated(sat(50)), 8, 0);
    check(None, Cost::Unknown, 0, 8);
    check(Some(Answer::Lost), Cost::Unknown, 0, 8);
    check(Some(Answer::Lost), known(0), 0, 0);
    check(Some(Answer::Lost), known(3), 0, 3);
    check(Some(Answer::Failed(text(TextKind::Error, "no"))), Cost::Estimated(sat(2)), 0, 2);
}

#[test]
fn the_charge_of_a_reserved_ask_is_found_in_the_facts() {
    let mut hall = Hall::open(root("coder", 100));
    hall.model("1", Answer::Lost, Cost::Unknown);
    hall.replies_for("1", words("done"), known(3));
    let facts = &hall.journal[&crate::say::path("1")];
    let charge = |ask| Contract::reserved_charge(facts, AskId(ask));
    assert_eq!([charge(1), charge(2), charge(3)], [Some(sat(10)), None, None]);
}

#[test]
fn an_overrun_is_the_cost_beyond_the_hold() {
    assert_eq!(known(9).overrun(sat(4)), Some(sat(5)));
    assert_eq!(known(4).overrun(sat(4)), None);
    assert_eq!(Cost::Estimated(sat(9)).overrun(sat(4)), Some(sat(5)));
    assert_eq!(Cost::Unknown.overrun(sat(4)), None);
}
