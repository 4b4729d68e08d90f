//! Checks of the session's account against its contracts' facts.

use guildhall_kernel::{
    AskId, AskKey, Brief, Cost, Hash, Msat, Outcome, Path, SessionFact, Stimulus, TextKind, TextRef,
};
use guildhall_laws::{Law, SessionSums};

use crate::journal::{Journal, answer_of, known, msat, owner, path, report, report_of, root, said};
use crate::scenes;

pub(crate) fn funded(money: u64) -> SessionFact {
    SessionFact::Funded { money: msat(money), root: None, payment: None }
}

fn topped_up(root: &str, money: u64) -> SessionFact {
    SessionFact::Funded { money: msat(money), root: Some(path(root)), payment: None }
}

pub(crate) fn requested(root: u32, money: u64) -> SessionFact {
    let prices = TextRef { hash: Hash([0; 32]), bytes: 10, kind: TextKind::Prices };
    SessionFact::Requested { root: Path::root(root), money: msat(money), prices }
}

pub(crate) fn ended(root: u32, spent: u64, reserved: u64, estimated: u64) -> SessionFact {
    let (reserved, estimated) = (msat(reserved), msat(estimated));
    SessionFact::Ended { root: Path::root(root), spent: msat(spent), reserved, estimated }
}

fn corrected(contract: &str, ask: u32, credit: u64) -> SessionFact {
    let ask = AskKey { contract: path(contract), ask: AskId(ask) };
    SessionFact::Corrected { ask, credit: msat(credit) }
}

/// Returns the violations in an account, with their places.
pub(crate) fn found(journal: &Journal, account: &[SessionFact]) -> Vec<(usize, String)> {
    let (checker, broken) = journal.followed();
    assert_eq!(broken, []);
    let (_, found) = checker.check_account(account);
    assert!(found.iter().all(|violation| matches!(violation.law, Law::Hires | Law::Replay)));
    found.into_iter().map(|violation| (violation.seq, violation.what)).collect()
}

#[track_caller]
pub(crate) fn adds_up(journal: &Journal, account: &[SessionFact], want: SessionSums) {
    assert_eq!(found(journal, account), []);
    let (checker, _) = journal.followed();
    assert_eq!(checker.check_account(account).0, want);
}

#[track_caller]
pub(crate) fn breaks(journal: &Journal, account: &[SessionFact], seq: usize, what: &str) {
    let found = found(journal, account);
    assert!(found.iter().any(|(at, text)| *at == seq && text.contains(what)), "{what:?} was not found, but {found:#?}");
}

/// The account of [`scenes::one_hire`], whose last call has an unknown cost.
pub(crate) fn one_hire() -> Vec<SessionFact> {
    vec![funded(15_000_000), requested(1, 10_000_000), ended(1, 38_140, 18_000, 0)]
}

pub(crate) fn sums(funded: i128, credited: i128, at_work: i128, spent: i128, reserved: i128) -> SessionSums {
    SessionSums { funded, credited, at_work, spent, reserved, ..SessionSums::default() }
}

#[test]
fn an_account_adds_up() {
    adds_up(&scenes::one_hire(), &one_hire(), sums(15_000_000, 0, 0, 38_140, 18_000));
    assert_eq!(sums(15_000_000, 0, 0, 38_140, 18_000).free(), 14_961_860);
    adds_up(&scenes::one_hire().until(12), &one_hire()[..2], sums(15_000_000, 0, 10_000_000, 0, 0));
    adds_up(&Journal::new(), &one_hire()[..2], sums(15_000_000, 0, 10_000_000, 0, 0));
    adds_up(&Journal::new(), &[], SessionSums::default());
}

#[test]
fn a_root_ends_with_the_amounts_of_its_report() {
    let ends = |spent, reserved, estimated| {
        let mut account = one_hire();
        account[2] = ended(1, spent, reserved, estimated);
        account
    };
    let j = scenes::one_hire();
    let wrong = |account: &[SessionFact], what| breaks(&j, account, 3, what);
    wrong(&ends(38_139, 18_000, 0), "reported 38140 msat spent, but the account has 38139 msat");
    wrong(&ends(38_140, 17_999, 0), "reported 18000 msat reserved, but the account has 17999 msat");
    wrong(&ends(38_140, 18_000, 1), "reported 0 msat estimated, but the account has 1 msat");
    breaks(&j.clone().until(12), &one_hire(), 3, "root 1 has ended in the account, but has not closed");
    breaks(&Journal::new(), &one_hire(), 3, "root 1 has ended in the account, but has not closed");
}

#[test]
fn a_root_ends_once_and_is_requested_first() {
    let mut twice = one_hire();
    twice.push(ended(1, 38_140, 18_000, 0));
    breaks(&scenes::one_hire(), &twice, 4, "1 ends, but is not a root at work");
    let unasked = [funded(10_000_000), ended(1, 38_140, 18_000, 0)];
    breaks(&scenes::one_hire(), &unasked, 2, "1 ends, but is not a root at work");
    breaks(&scenes::one_hire(), &unasked, 2, "root 1 has facts, but was never requested");
    let mut below = one_hire();
    below[2] = SessionFact::Ended { root: path("1.1"), spent: msat(1), reserved: msat(0), estimated: msat(0) };
    breaks(&scenes::one_hire(), &below, 3, "1.1 ends, but is not a root at work");
}

#[test]
fn roots_are_numbered_in_order() {
    let account = [funded(20_000_000), requested(2, 10_000_000)];
    breaks(&Journal::new(), &account, 2, "root 2 is requested, but root 1 is next");
    let again = [funded(20_000_000), requested(1, 10_000_000), requested(1, 10_000_000)];
    breaks(&Journal::new(), &again, 3, "root 1 is requested, but root 2 is next");
}

#[test]
fn the_roots_are_not_granted_more_than_was_funded() {
    let account = |money| [funded(15_000_000), requested(1, 10_000_000), requested(2, money)];
    assert_eq!(found(&Journal::new(), &account(5_000_000)), []);
    breaks(&Journal::new(), &account(5_000_001), 3, "the account is overdrawn by 1 msat");
    // The violation is reported once, at the fact that caused it.
    let mut later = account(5_000_001).to_vec();
    later.push(topped_up("1", 7));
    assert_eq!(found(&Journal::new(), &later).len(), 1);
}

#[test]
fn a_root_opens_with_its_granted_money() {
    let mut account = one_hire();
    account[1] = requested(1, 10_000_001);
    breaks(&scenes::one_hire(), &account, 2, "root 1 was opened with 10000000 msat, but granted 10000001");
}

#[test]
fn a_root_does_not_spend_more_than_its_grant() {
    let all = [funded(38_140), requested(1, 38_140), ended(1, 38_140, 18_000, 0)];
    let less = [funded(38_140), requested(1, 38_139), ended(1, 38_140, 18_000, 0)];
    let spent = "root 1 spent 38140 msat, but was granted 38139";
    assert!(!found(&scenes::one_hire(), &all).iter().any(|(_, what)| what.contains("but was granted")));
    breaks(&scenes::one_hire(), &less, 3, spent);
}

#[test]
fn a_top_up_that_a_root_has_heard_is_in_the_account() {
    let j = scenes::top_up();
    let account = |top_up: &[SessionFact]| {
        let mut account = vec![funded(10_000_000), requested(1, 10_000_000)];
        account.extend_from_slice(top_up);
        account.push(ended(1, 50_100, 0, 0));
        account
    };
    adds_up(&j, &account(&[topped_up("1", 700)]), sums(10_000_700, 0, 0, 50_100, 0));
    // A top-up that came too late to be heard becomes change.
    adds_up(&j, &account(&[topped_up("1", 700), topped_up("1", 5)]), sums(10_000_705, 0, 0, 50_100, 0));
    breaks(&j, &account(&[topped_up("1", 699)]), 4, "root 1 has 10000700 msat, but was given 10000699");
    breaks(&j, &account(&[funded(700)]), 4, "root 1 has 10000700 msat, but was given 10000000");
    breaks(&j, &account(&[topped_up("2", 700)]), 3, "a top-up is for 2, which is not a root at work");
    let mut late = account(&[topped_up("1", 700)]);
    late.push(topped_up("1", 1));
    breaks(&j, &late, 5, "a top-up is for 1, which is not a root at work");
}

#[test]
fn later_roots_get_the_money_that_is_left() {
    let second = |money| {
        let mut brief = Brief { path: path("2"), ..root() };
        brief.grant.money = money;
        let mut j = scenes::one_hire();
        j.open(&brief).request(&[]);
        j.answer("2", 1, said(1, 0), known(10_000)).close(report(Outcome::Done, 1, money.get(), 10_000));
        j
    };
    let account = |money: u64| {
        let mut account = one_hire();
        account.extend([requested(2, money), ended(2, 10_000, 0, 0)]);
        account
    };
    adds_up(&second(msat(14_961_860)), &account(14_961_860), sums(15_000_000, 0, 0, 48_140, 18_000));
    breaks(&second(msat(14_961_861)), &account(14_961_861), 4, "the account is overdrawn by 1 msat");
}

/// The account of [`scenes::one_hire`] with corrections after the root has ended, or before.
fn with_corrections(corrections: &[SessionFact]) -> [Vec<SessionFact>; 2] {
    let (mut after, mut before) = (one_hire(), one_hire());
    after.extend_from_slice(corrections);
    before.splice(2..2, corrections.iter().cloned());
    [after, before]
}

#[test]
fn money_that_was_not_billed_is_given_back() {
    let whole = sums(15_000_000, 18_000, 0, 38_140, 18_000);
    for account in with_corrections(&[corrected("1", 3, 18_000)]) {
        adds_up(&scenes::one_hire(), &account, whole);
        assert_eq!(whole.free(), 14_979_860);
    }
    // The same correction twice counts once.
    for account in with_corrections(&[corrected("1", 3, 18_000), corrected("1", 3, 18_000)]) {
        adds_up(&scenes::one_hire(), &account, whole);
    }
}

#[test]
fn only_reserved_money_is_given_back() {
    let seq = [4, 3];
    let j = scenes::one_hire();
    let wrong = |correction: SessionFact, what: &str| {
        for (account, seq) in with_corrections(&[correction]).iter().zip(seq) {
            breaks(&j, account, seq, what);
        }
    };
    wrong(corrected("1", 3, 18_001), "1#3 is corrected by 18001 msat, but only 18000 are reserved");
    wrong(corrected("1", 1, 1), "1#1 is corrected, but its cost is known or estimated");
    wrong(corrected("1", 2, 1), "1#2 is corrected, but is not an answered call");
    wrong(corrected("1", 4, 1), "1#4 is corrected, but is not an answered call");
    wrong(corrected("1.2", 1, 1), "1.2#1 is corrected, but is not an answered call");
    for (account, seq) in with_corrections(&[corrected("1", 3, 100), corrected("1", 3, 101)]).iter().zip([5, 4]) {
        breaks(&j, account, seq, "1#3 is corrected by 101 msat, but was corrected by 100 before");
    }
}

#[test]
fn an_upper_bound_is_not_given_back() {
    let j = scenes::one_hire().with(13, |s| *answer_of(s).1 = Cost::Estimated(msat(18_000))).with(14, |s| {
        let report = report_of(s);
        (report.reserved, report.estimated) = (Msat::ZERO, msat(18_000));
    });
    let mut account = one_hire();
    account[2] = ended(1, 38_140, 0, 18_000);
    let want = SessionSums { estimated: 18_000, ..sums(15_000_000, 0, 0, 38_140, 0) };
    adds_up(&j, &account, want);
    account.push(corrected("1", 3, 1));
    breaks(&j, &account, 4, "1#3 is corrected, but its cost is known or estimated");
}

#[test]
fn a_call_without_an_answer_is_not_corrected() {
    let account = [funded(10_000_000), requested(1, 10_000_000), corrected("1", 3, 1)];
    breaks(&scenes::one_hire().until(12), &account, 3, "1#3 is corrected, but is not an answered call");
}

#[test]
fn a_call_of_a_hire_can_be_corrected() {
    let account = |credit| {
        [
            funded(10_000_000),
            requested(1, 10_000_000),
            ended(1, 31_000, 21_000, 0),
            corrected("1.1", 1, credit),
            corrected("1", 3, 3000),
        ]
    };
    adds_up(&scenes::cancel(), &account(18_000), sums(10_000_000, 21_000, 0, 31_000, 21_000));
    breaks(&scenes::cancel(), &account(18_001), 4, "1.1#1 is corrected by 18001 msat, but only 18000 are reserved");
}

#[test]
fn a_root_does_not_hear_money_that_is_not_in_the_account() {
    // The account is correct, but the root hears a top-up that is not in the account.
    let mut j = scenes::one_tool().until(2);
    j.hear("1", owner(1), Stimulus::TopUp { to: path("1"), money: msat(5), draw: None });
    let account = [funded(10_000_000), requested(1, 10_000_000)];
    breaks(&j, &account, 2, "root 1 has 10000005 msat, but was given 10000000");
}
