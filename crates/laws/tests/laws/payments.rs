//! Checks of the treasury's payments against the accounts of sessions.

use guildhall_kernel::{FailedBecause, Payer, SessionFact, SessionId, TreasuryFact, WalletId};
use guildhall_laws::{Checker, MoneyPlace, TreasuryChecker};

use crate::account::{funded, requested};
use crate::treasury::{
    connected, earned, failed, followed, invoiced, payment, received, refund, sending, session, settled,
};
use crate::wallet::{opened, paid_in, withdrawing, withdrawn};

/// Checks that the treasury alone breaks no rule, and returns the violations found in the session and at the end.
fn checked(facts: &[TreasuryFact], account: &[SessionFact]) -> (TreasuryChecker, Vec<String>) {
    let (mut checker, found) = followed(facts);
    assert_eq!(found, []);
    let mut found = checker.check_session(&session(), &Checker::new(), account);
    found.extend(checker.at_end());
    (checker, found.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn agree(facts: &[TreasuryFact], account: &[SessionFact]) {
    let none: [String; 0] = [];
    assert_eq!(checked(facts, account).1, none);
}

/// Asserts that the first violation is this one.
#[track_caller]
fn differ(facts: &[TreasuryFact], account: &[SessionFact], what: &str) {
    let (_, found) = checked(facts, account);
    assert!(found.first().is_some_and(|first| first.contains(what)), "{what:?} is not the first of {found:#?}");
}

/// A treasury that received 1000 sat for the session, and these facts.
fn treasury(more: &[TreasuryFact]) -> Vec<TreasuryFact> {
    [connected(), invoiced(1, 1_000_000), received(1)].iter().chain(more).cloned().collect()
}

/// The account of the session, and these facts.
fn account(more: &[SessionFact]) -> Vec<SessionFact> {
    [opened(), paid_in(payment(1), 1_000_000)].iter().chain(more).cloned().collect()
}

#[test]
fn every_payment_is_in_the_treasury_and_in_its_session() {
    agree(&treasury(&[]), &account(&[]));
    agree(&[connected(), invoiced(1, 5)], &[opened()]);
    agree(&[connected()], &[funded(5), requested(1, 5)]);
    agree(&[connected()], &[]);
    let paid = [refund(2, 900_000, 9000), sending(2, 1), settled(2, 500)];
    let given_up = [refund(3, 80_000, 2000), failed(3, FailedBecause::Person), refund(4, 80_000, 2000)];
    let refunds = [&paid[..], &given_up[..]].concat();
    let withdrawals = [
        withdrawing(payment(2), 909_000),
        withdrawn(payment(2), 900_500),
        withdrawing(payment(3), 82_000),
        withdrawn(payment(3), 0),
        withdrawing(payment(4), 82_000),
    ];
    agree(&treasury(&refunds), &account(&withdrawals));
    let (checker, _) = checked(&treasury(&refunds), &account(&withdrawals));
    let sessions = checker.sums().sessions;
    assert_eq!((sessions.funded, sessions.withdrawn, sessions.set_aside), (1_000_000, 900_500, 82_000));
    assert_eq!(sessions.free(), 17_500);
}

#[test]
fn received_money_funds_its_session() {
    differ(&treasury(&[]), &[opened()], "treasury fact 3: payment");
    differ(&treasury(&[]), &[opened()], "was received, but does not fund brave-otter");
    differ(&treasury(&[invoiced(2, 5), received(2)]), &account(&[]), "treasury fact 5: payment");
}

#[test]
fn a_session_is_funded_only_by_received_money() {
    let more = |seed, money| account(&[paid_in(payment(seed), money)]);
    agree(&treasury(&[invoiced(2, 5), received(2)]), &more(2, 5));
    differ(&treasury(&[]), &more(2, 5), "session brave-otter, account fact 3: payment");
    differ(&treasury(&[]), &more(2, 5), "funds the session, but has no invoice");
    differ(&treasury(&[refund(2, 5, 0)]), &more(2, 5), "funds the session, but has no invoice");
    differ(&treasury(&[invoiced(2, 5)]), &more(2, 5), "funds the session, but the wallet has not received it");
    differ(&treasury(&[]), &more(1, 1_000_000), "funds the session twice");
    let wrong = "funds the session with 6 msat, but its invoice is for 5";
    differ(&treasury(&[invoiced(2, 5), received(2)]), &more(2, 6), wrong);
}

#[test]
fn an_invoice_funds_no_other_session() {
    let mut facts = treasury(&[]);
    let TreasuryFact::Invoiced { session, .. } = &mut facts[1] else { panic!("fact 2 is an invoice") };
    *session = "calm-finch".parse().unwrap();
    differ(&facts, &account(&[]), "funds the session, but its invoice is for session calm-finch");
}

#[test]
fn a_wanted_payment_is_set_aside_in_its_session() {
    let facts = treasury(&[refund(2, 500, 10)]);
    agree(&facts, &account(&[withdrawing(payment(2), 510)]));
    differ(&facts, &account(&[]), "treasury fact 4: brave-otter sets nothing aside for payment");
    differ(&facts, &account(&[withdrawing(payment(2), 500)]), "500 msat are set aside for payment");
    differ(&facts, &account(&[withdrawing(payment(2), 511)]), "but it may cost 510");
    let twice = [withdrawing(payment(2), 510), withdrawing(payment(2), 510)];
    differ(&facts, &account(&twice), "money is set aside twice for payment");
}

#[test]
fn money_is_set_aside_only_for_a_payment_that_the_session_wanted() {
    let set_aside = account(&[withdrawing(payment(2), 510)]);
    differ(&treasury(&[]), &set_aside, "session brave-otter, account fact 3: payment");
    differ(&treasury(&[]), &set_aside, "was not wanted by this session");
    differ(&treasury(&[invoiced(2, 510)]), &set_aside, "was not wanted by this session");
    let mut other = refund(2, 500, 10);
    if let TreasuryFact::Wanted { from, .. } = &mut other {
        *from = Payer::Session("calm-finch".parse().unwrap());
    }
    differ(&treasury(&[other]), &set_aside, "was not wanted by this session");
}

#[test]
fn a_withdrawal_ends_with_the_cost_of_its_payment() {
    let ends = |end: TreasuryFact| treasury(&[refund(2, 500, 10), sending(2, 1), end]);
    let spends = |spent| account(&[withdrawing(payment(2), 510), withdrawn(payment(2), spent)]);
    agree(&ends(settled(2, 4)), &spends(504));
    differ(&ends(settled(2, 4)), &spends(510), "takes 510 msat from the session, but it cost 504");
    differ(&ends(settled(2, 4)), &spends(500), "takes 500 msat from the session, but it cost 504");
    // The house pays the fee above the limit.
    agree(&ends(settled(2, 400)), &spends(510));
    differ(&ends(settled(2, 400)), &spends(900), "takes 900 msat from the session, but it cost 510");
    agree(&ends(failed(2, FailedBecause::Refused)), &spends(0));
    differ(&ends(failed(2, FailedBecause::Refused)), &spends(500), "takes 500 msat from the session, but it cost 0");
}

#[test]
fn a_payment_ends_in_the_treasury_and_in_its_session() {
    let begun = [withdrawing(payment(2), 510)];
    let ended = [withdrawing(payment(2), 510), withdrawn(payment(2), 504)];
    let sent = treasury(&[refund(2, 500, 10), sending(2, 1)]);
    let settled = treasury(&[refund(2, 500, 10), sending(2, 1), settled(2, 4)]);
    agree(&sent, &account(&begun));
    differ(&sent, &account(&ended), "has not ended in the treasury");
    agree(&settled, &account(&ended));
    differ(&settled, &account(&begun), "treasury fact 6: payment");
    differ(&settled, &account(&begun), "ended, but not in brave-otter");
    let twice = [&ended[..], &[withdrawn(payment(2), 504)]].concat();
    differ(&settled, &account(&twice), "ends twice in the account");
}

#[test]
fn a_session_has_the_wallet_of_its_hall() {
    differ(
        &[],
        &[opened()],
        "session brave-otter, account fact 1: the session is of wallet wallet-1, but the hall has no wallet",
    );
    let other = SessionFact::Opened { wallet: WalletId::parse("wallet-2").unwrap() };
    differ(&[connected()], &[other], "the session is of wallet wallet-2, but the hall has wallet-1");
}

#[test]
fn the_treasury_names_no_session_with_play_money() {
    let play = [funded(1_000_000)];
    for fact in [invoiced(1, 1_000_000), refund(2, 5, 0), earned("ann", "1.1", 5)] {
        let what = "session brave-otter: the session has play money, but treasury fact 2 names it";
        differ(&[connected(), fact], &play, what);
    }
}

#[test]
fn every_session_that_the_treasury_names_exists() {
    let (mut checker, _) = followed(&treasury(&[]));
    let missing = "session brave-otter: treasury fact 2 names this session, but it does not exist";
    assert_eq!(checker.at_end()[0].to_string(), missing);
    assert_eq!(checker.check_session(&session(), &Checker::new(), &account(&[])), []);
    assert_eq!(checker.at_end(), []);
}

#[test]
fn sessions_are_checked_one_after_the_other() {
    let other: SessionId = "calm-finch".parse().unwrap();
    let mut second = invoiced(2, 7);
    if let TreasuryFact::Invoiced { session, .. } = &mut second {
        *session = other.clone();
    }
    let (mut checker, _) = followed(&treasury(&[second, received(2)]));
    assert_eq!(checker.check_session(&session(), &Checker::new(), &account(&[])), []);
    let accounts = [opened(), paid_in(payment(2), 7)];
    assert_eq!(checker.check_session(&other, &Checker::new(), &accounts), []);
    assert_eq!(checker.check_session(&"play".parse().unwrap(), &Checker::new(), &[funded(99)]), []);
    assert_eq!(checker.at_end(), []);
    // Play money is not in the sums.
    assert_eq!(checker.sums().sessions.funded, 1_000_007);
}

#[test]
fn no_money_is_created_or_lost() {
    // Each comparison has its own violation. Here, only the sums are of interest.
    let sums = |facts: &[TreasuryFact], account: &[SessionFact], place: &MoneyPlace| {
        let (mut checker, _) = followed(facts);
        let mut found = checker.check_session(&session(), &Checker::new(), account);
        found.extend(checker.at_end());
        found.into_iter().filter(|found| found.place == *place).map(|found| found.what).collect::<Vec<_>>()
    };
    let (all, one) = (MoneyPlace::Hall, MoneyPlace::Session(session()));
    let more = account(&[paid_in(payment(9), 5)]);
    let received = "the wallet received 1000000 msat for the session, but the account has 1000005";
    assert_eq!(sums(&treasury(&[]), &more, &one), [received]);
    let has = "the wallet received 1000000 msat and 0 were credited, but the sessions account for 1000005";
    assert_eq!(sums(&treasury(&[]), &more, &all), [has]);
    let aside = "payments hold 510 msat of the sessions, but 0 are set aside";
    assert_eq!(sums(&treasury(&[refund(2, 500, 10)]), &account(&[]), &all), [aside]);
    let paid = treasury(&[refund(2, 500, 10), sending(2, 1), settled(2, 4)]);
    let spent = account(&[withdrawing(payment(2), 510), withdrawn(payment(2), 505)]);
    let took = "payments took 504 msat from the sessions, but 505 were withdrawn";
    assert_eq!(sums(&paid, &spent, &all), [took]);
}
