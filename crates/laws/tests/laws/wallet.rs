//! Checks of a session with the money of a wallet: its account alone, and against its contracts.

use guildhall_kernel::{Hash, PaymentHash, SessionFact, Stimulus, WalletId};
use guildhall_laws::SessionSums;

use crate::account::{adds_up, breaks, ended, found, funded, one_hire, requested, sums};
use crate::journal::{Journal, msat, owner, path};
use crate::scenes;

pub(crate) fn opened() -> SessionFact {
    SessionFact::Opened { wallet: WalletId::parse("wallet-1").unwrap() }
}

pub(crate) fn payment(seed: u8) -> PaymentHash {
    PaymentHash(Hash([seed; 32]))
}

pub(crate) fn paid_in(payment: PaymentHash, money: u64) -> SessionFact {
    SessionFact::Funded { money: msat(money), root: None, payment: Some(payment) }
}

pub(crate) fn granted(root: &str, money: u64) -> SessionFact {
    SessionFact::Granted { root: path(root), money: msat(money) }
}

pub(crate) fn withdrawing(payment: PaymentHash, money: u64) -> SessionFact {
    SessionFact::Withdrawing { payment, money: msat(money) }
}

pub(crate) fn withdrawn(payment: PaymentHash, spent: u64) -> SessionFact {
    SessionFact::Withdrawn { payment, spent: msat(spent) }
}

/// An account that was paid 15,000 sat and has no root yet, and these facts.
fn of_wallet(more: &[SessionFact]) -> Vec<SessionFact> {
    let mut account = vec![opened(), paid_in(payment(1), 15_000_000)];
    account.extend_from_slice(more);
    account
}

#[track_caller]
fn is_found(account: &[SessionFact], seq: usize, what: &str) {
    breaks(&Journal::new(), account, seq, what);
}

#[test]
fn an_account_of_a_wallet_adds_up() {
    let root = [requested(1, 10_000_000), ended(1, 38_140, 18_000, 0)];
    let mut account = of_wallet(&root);
    account.push(withdrawing(payment(2), 14_961_860));
    let aside = SessionSums { set_aside: 14_961_860, ..sums(15_000_000, 0, 0, 38_140, 18_000) };
    adds_up(&scenes::one_hire(), &account, aside);
    assert_eq!(aside.free(), 0);
    account.push(withdrawn(payment(2), 14_900_000));
    let gone = SessionSums { set_aside: 0, withdrawn: 14_900_000, ..aside };
    adds_up(&scenes::one_hire(), &account, gone);
    assert_eq!(gone.free(), 61_860);
    account.extend([withdrawing(payment(3), 61_860), withdrawn(payment(3), 0), paid_in(payment(4), 5)]);
    adds_up(&scenes::one_hire(), &account, SessionSums { funded: 15_000_005, ..gone });
}

#[test]
fn a_session_is_opened_with_its_first_fact_or_never() {
    assert_eq!(found(&Journal::new(), &[opened()]), []);
    is_found(&[opened(), opened()], 2, "the session is opened, but has facts already");
    is_found(&[funded(5), opened()], 2, "the session is opened, but has facts already");
    // A late opening does not change the money of the session.
    is_found(&[funded(5), opened(), paid_in(payment(1), 5)], 3, "funds a session that has play money");
}

#[test]
fn the_money_of_a_wallet_comes_from_payments() {
    assert_eq!(found(&Journal::new(), &of_wallet(&[paid_in(payment(2), 1)])), []);
    is_found(&of_wallet(&[funded(5)]), 3, "the money of a wallet was added without a payment");
    let to_root = SessionFact::Funded { money: msat(5), root: Some(path("1")), payment: Some(payment(2)) };
    let account = of_wallet(&[requested(1, 10_000_000), to_root]);
    is_found(&account, 4, "does not go to the session, but to a root");
}

#[test]
fn a_payment_funds_a_session_once() {
    let account = of_wallet(&[paid_in(payment(1), 15_000_000)]);
    is_found(&account, 3, "payment 0101010101010101010101010101010101010101010101010101010101010101 is in the account");
    // The second time does not count.
    let (sums, _) = Journal::new().followed().0.check_account(&account);
    assert_eq!(sums.free(), 15_000_000);
    is_found(&of_wallet(&[withdrawing(payment(1), 5)]), 3, "is in the account already");
    let again = [withdrawing(payment(2), 5), withdrawn(payment(2), 5), withdrawing(payment(2), 5)];
    is_found(&of_wallet(&again), 5, "is in the account already");
}

#[test]
fn play_money_neither_comes_from_a_payment_nor_leaves_by_one() {
    is_found(&[funded(5), paid_in(payment(1), 5)], 2, "funds a session that has play money");
    is_found(&[funded(5), withdrawing(payment(1), 5)], 2, "is for play money");
    is_found(&[funded(5), withdrawn(payment(1), 5)], 2, "ends, but no money is set aside for it");
}

#[test]
fn granted_money_goes_from_the_session_to_a_root_at_work() {
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), Stimulus::TopUp { to: path("1"), money: msat(700), draw: None });
    let want = sums(15_000_000, 0, 10_000_700, 0, 0);
    adds_up(&j, &of_wallet(&[requested(1, 10_000_000), granted("1", 700)]), want);
    let play = [funded(15_000_000), requested(1, 10_000_000), granted("1", 700)];
    adds_up(&j, &play, want);
    breaks(&j, &of_wallet(&[requested(1, 10_000_000)]), 3, "root 1 has 10000700 msat, but was given 10000000");
    let wrong = of_wallet(&[requested(1, 10_000_000), granted("2", 700)]);
    breaks(&j, &wrong, 4, "a top-up is for 2, which is not a root at work");
    let mut late = one_hire();
    late.push(granted("1", 1));
    breaks(&scenes::one_hire(), &late, 4, "a top-up is for 1, which is not a root at work");
}

#[test]
fn no_more_is_given_out_than_is_free() {
    let root = |money| of_wallet(&[requested(1, 10_000_000), granted("1", money)]);
    assert_eq!(found(&Journal::new(), &root(5_000_000)), []);
    is_found(&root(5_000_001), 4, "the account is overdrawn by 1 msat");
    let refund = |money| of_wallet(&[requested(1, 10_000_000), withdrawing(payment(2), money)]);
    assert_eq!(found(&Journal::new(), &refund(5_000_000)), []);
    is_found(&refund(5_000_001), 4, "the account is overdrawn by 1 msat");
    // Money that is set aside can't be granted, and what a payment took is gone.
    let aside = [withdrawing(payment(2), 15_000_000), requested(1, 1)];
    is_found(&of_wallet(&aside), 4, "the account is overdrawn by 1 msat");
    let gone = [withdrawing(payment(2), 15_000_000), withdrawn(payment(2), 14_999_999), requested(1, 2)];
    is_found(&of_wallet(&gone), 5, "the account is overdrawn by 1 msat");
}

#[test]
fn one_payment_leaves_a_session_at_a_time() {
    let after = |ends: &[SessionFact]| {
        let mut account = of_wallet(&[withdrawing(payment(2), 5)]);
        account.extend_from_slice(ends);
        account.push(withdrawing(payment(3), 5));
        account
    };
    assert_eq!(found(&Journal::new(), &after(&[withdrawn(payment(2), 5)])), []);
    is_found(&after(&[]), 4, "has not ended");
}

#[test]
fn a_withdrawal_ends_once_and_within_the_money_set_aside() {
    let ends = |ends: &[SessionFact]| {
        let mut account = of_wallet(&[withdrawing(payment(2), 50)]);
        account.extend_from_slice(ends);
        account
    };
    assert_eq!(found(&Journal::new(), &ends(&[withdrawn(payment(2), 50)])), []);
    is_found(&ends(&[withdrawn(payment(2), 51)]), 4, "took 51 msat, but 50 were set aside");
    is_found(&ends(&[withdrawn(payment(3), 50)]), 4, "ends, but no money is set aside for it");
    is_found(&ends(&[withdrawn(payment(2), 0), withdrawn(payment(2), 0)]), 5, "ends, but no money is set aside for it");
}

#[test]
fn a_closed_root_has_ended_in_the_account() {
    let missing = "root 1 has closed, but has not ended in the account";
    assert_eq!(crate::account::found(&scenes::one_hire(), &one_hire()), []);
    let play = &one_hire()[..2];
    breaks(&scenes::one_hire(), &of_wallet(&[requested(1, 10_000_000)]), 3, missing);
    // A root that is still at work has not ended.
    breaks(&scenes::one_hire(), play, 2, missing);
    assert_eq!(crate::account::found(&scenes::one_hire().until(12), play), []);
}
