//! Checks of the fees that payees earned against the contracts of a session of a wallet.

use std::sync::Arc;

use guildhall_kernel::{AskId, Brief, Context, SessionFact, Standing, TreasuryFact};
use guildhall_laws::Checker;

use crate::account::{ended, funded, requested};
use crate::journal::{Journal, brief_of, msat, report_of};
use crate::scenes;
use crate::treasury::{connected, earned, followed, invoiced, payee, payment, received, session};
use crate::wallet::{opened, paid_in};

/// [`scenes::one_hire`], whose hire has a fee of 100 msat, a check and the payee ann. Its brief is in the facts 4 and 5.
fn one_hire() -> Journal {
    with_brief(scenes::one_hire(), |brief| brief.payee = Some(Box::new(payee("ann"))))
}

/// Changes the brief of the hire, in its hirer's ask and in its opening.
fn with_brief(journal: Journal, change: impl Fn(&mut Brief)) -> Journal {
    journal.with(4, |stored| change(brief_of(stored))).with(5, |stored| change(brief_of(stored)))
}

/// The account of [`one_hire`].
fn account() -> Vec<SessionFact> {
    let funded = paid_in(payment(1), 15_000_000);
    vec![opened(), funded, requested(1, 10_000_000), ended(1, 38_140, 18_000, 0)]
}

/// A treasury that received the money of the session, and these facts.
fn treasury(more: &[TreasuryFact]) -> Vec<TreasuryFact> {
    [connected(), invoiced(1, 15_000_000), received(1)].iter().chain(more).cloned().collect()
}

fn found(journal: &Journal, facts: &[TreasuryFact], account: &[SessionFact]) -> Vec<String> {
    let (mut checker, broken) = followed(facts);
    assert_eq!(broken, []);
    let mut contracts = Checker::new();
    for stored in &journal.stored {
        // Some of these journals break laws that are not the subject here.
        contracts.observe(stored);
    }
    let mut found = checker.check_session(&session(), &contracts, account);
    found.extend(checker.at_end());
    found.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn agree(journal: &Journal, facts: &[TreasuryFact], account: &[SessionFact]) {
    let none: [String; 0] = [];
    assert_eq!(found(journal, facts, account), none);
}

/// Asserts that the first violation is this one.
#[track_caller]
fn differ(journal: &Journal, facts: &[TreasuryFact], what: &str) {
    let found = found(journal, facts, &account());
    assert!(found.first().is_some_and(|first| first.contains(what)), "{what:?} is not the first of {found:#?}");
}

#[test]
fn the_fee_of_an_accepted_report_is_earned_by_its_payee() {
    one_hire().is_lawful();
    agree(&one_hire(), &treasury(&[earned("ann", "1.1", 100)]), &account());
    // The hire has not reported, and its hirer is at work.
    agree(&one_hire().until(8), &treasury(&[]), &account()[..3]);
    // The hire has reported, and its hirer is at work.
    agree(&one_hire().until(10), &treasury(&[earned("ann", "1.1", 100)]), &account()[..3]);
}

#[test]
fn a_paid_fee_is_earned() {
    let nobody = "session brave-otter, contract 1.1: the report paid a fee of 100 msat, but nobody earned it";
    differ(&one_hire(), &treasury(&[]), nobody);
    differ(&one_hire(), &treasury(&[earned("ann", "1.2", 100)]), nobody);
    let amount = "the report paid a fee of 100 msat, but treasury fact 4 has 99";
    differ(&one_hire(), &treasury(&[earned("ann", "1.1", 99)]), amount);
    let other = "treasury fact 4 gives the fee to bob, which is not the payee of the brief";
    differ(&one_hire(), &treasury(&[earned("bob", "1.1", 100)]), other);
}

#[test]
fn only_a_paid_fee_is_earned() {
    let wrong = |contract: &str| {
        format!("contract {contract} of brave-otter earned a fee, but no accepted report of it paid one")
    };
    let both = |contract: &str| treasury(&[earned("ann", "1.1", 100), earned("ann", contract, 100)]);
    // There is no such contract.
    differ(&one_hire(), &both("1.2"), &format!("treasury fact 5: {}", wrong("1.2")));
    // The root has no fee.
    differ(&one_hire(), &both("1"), &wrong("1"));
    // The hire has not reported.
    differ(
        &one_hire().until(8),
        &treasury(&[earned("ann", "1.1", 100)]),
        &format!("treasury fact 4: {}", wrong("1.1")),
    );
    // The report was not accepted.
    let not_accepted = one_hire().with(10, |stored| report_of(stored).fee = msat(0));
    differ(&not_accepted, &treasury(&[earned("ann", "1.1", 100)]), &wrong("1.1"));
}

#[test]
fn a_fee_has_a_payee_and_a_check() {
    let facts = treasury(&[earned("ann", "1.1", 100)]);
    let no_payee = with_brief(one_hire(), |brief| brief.payee = None);
    differ(&no_payee, &facts, "session brave-otter, contract 1.1: the brief has a fee, but no payee");
    let no_check = with_brief(one_hire(), |brief| brief.checks = Arc::new([]));
    differ(&no_check, &facts, "session brave-otter, contract 1.1: the brief has a fee, but no check");
}

#[test]
fn neither_a_fork_nor_an_ad_hoc_agent_has_a_fee() {
    let facts = treasury(&[earned("ann", "1.1", 100)]);
    let context = Context::Fork { request: AskId(1), upto: 1, tokens: 1000 };
    let fork = with_brief(one_hire(), |brief| brief.context = context.clone());
    differ(&fork, &facts, "contract 1.1: the brief of a fork has a fee");
    let ad_hoc = with_brief(one_hire(), |brief| brief.standing = Standing::AdHoc);
    differ(&ad_hoc, &facts, "contract 1.1: the brief of an ad-hoc agent has a fee");
}

#[test]
fn a_hire_that_has_not_opened_obeys_the_same_rules() {
    let no_payee = with_brief(one_hire(), |brief| brief.payee = None).until(4);
    let found = found(&no_payee, &treasury(&[]), &account()[..3]);
    assert_eq!(found, ["session brave-otter, contract 1.1: the brief has a fee, but no payee"]);
}

#[test]
fn briefs_without_a_fee_need_no_payee() {
    let free = |brief: &mut Brief| {
        (brief.fee, brief.payee, brief.checks) = (msat(0), None, Arc::new([]));
        brief.standing = Standing::AdHoc;
    };
    agree(&with_brief(one_hire(), free).until(6), &treasury(&[]), &account()[..3]);
}

#[test]
fn fees_in_play_money_are_earned_by_nobody() {
    let play = [funded(15_000_000), requested(1, 10_000_000)];
    agree(&scenes::one_hire().until(12), &[connected()], &play);
}

#[test]
fn payees_earn_no_more_than_the_sessions_spent() {
    let facts = treasury(&[earned("ann", "1.1", 38_141)]);
    let found = found(&one_hire(), &facts, &account());
    assert_eq!(found.last().unwrap(), "all sessions: payees earned 38141 msat, but the sessions spent only 38140");
    // The spending of a hire counts although its hirer has not heard the report yet.
    let large = with_brief(one_hire(), |brief| brief.fee = msat(20_000)).until(10).with(10, |stored| {
        let report = report_of(stored);
        (report.fee, report.spent, report.change) = (msat(20_000), msat(30_040), msat(2_469_960));
    });
    large.is_lawful_so_far();
    agree(&large, &treasury(&[earned("ann", "1.1", 20_000)]), &account()[..3]);
}
