//! Lawful journals, in which the checker must find nothing.

use guildhall_kernel::{CloseWhen, Outcome, Stimulus, TextKind};
use guildhall_laws::Checker;

use crate::journal::{Journal, known, owner, path, root, said, text};
use crate::scenes;

#[test]
fn a_root_with_one_tool_is_lawful() {
    scenes::one_tool().is_lawful();
}

#[test]
fn a_hire_that_is_checked_and_paid_is_lawful() {
    scenes::one_hire().is_lawful();
}

#[test]
fn money_for_a_hire_of_a_hire_is_lawful_at_every_level() {
    scenes::top_up().is_lawful();
}

#[test]
fn a_wrap_up_with_last_requests_is_lawful() {
    scenes::wrap_up().is_lawful();
}

#[test]
fn a_cancelled_tree_is_lawful() {
    scenes::cancel().is_lawful();
}

#[test]
fn calls_that_are_approved_denied_awaited_and_refused_are_lawful() {
    scenes::calls().is_lawful();
}

#[test]
fn a_hire_that_waits_for_money_is_lawful() {
    scenes::waits().is_lawful();
}

#[test]
fn draws_that_are_met_and_refused_are_lawful() {
    scenes::draws().is_lawful();
    scenes::draws_refused().is_lawful();
}

#[test]
fn a_conversation_can_wait_for_its_owner_at_the_end() {
    let mut j = Journal::new();
    j.open(&guildhall_kernel::Brief { close_when: CloseWhen::Asked, ..root() }).request(&[]);
    j.answer("1", 1, said(1, 0), known(1000));
    j.is_lawful();
    j.hear("1", owner(1), Stimulus::Message(text(TextKind::Message, 9))).request(&[]);
    j.answer("1", 2, said(2, 0), known(1000));
    j.is_lawful();
}

#[test]
fn a_crash_between_any_two_batches_breaks_nothing_at_rest() {
    for journal in scenes::all() {
        let mut checker = Checker::new();
        for (now, next) in journal.stored.iter().zip(&journal.stored[1..]) {
            assert_eq!(checker.observe(now), []);
            if now.at != next.at {
                assert_eq!(checker.at_rest(), []);
                assert_ne!(checker.at_end(), []);
            }
        }
    }
}

#[test]
fn the_bill_counts_each_contracts_own_cost_once() {
    let mut checker = Checker::new();
    let found: Vec<_> = scenes::top_up().stored.iter().flat_map(|stored| checker.observe(stored)).collect();
    assert_eq!(found, []);
    let lines: Vec<_> = checker.bill().map(|line| (line.contract.to_string(), line.spent, line.own)).collect();
    let want = [("1", 50_100, 20_000), ("1.1", 30_100, 20_000), ("1.1.1", 10_100, 10_100)];
    assert_eq!(lines, want.map(|(contract, spent, own)| (contract.to_owned(), spent, own)));
    assert_eq!((checker.funded(), checker.spent()), (10_000_700, 50_100));
    let below = checker.line(&path("1.1.1")).unwrap();
    assert_eq!((below.granted, below.available, below.held), (625_700, 615_600, 0));
    assert_eq!(below.outcome, Some(Outcome::Done));
}
