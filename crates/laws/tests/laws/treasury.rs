//! Checks of the treasury's facts alone.

use guildhall_kernel::{
    FailedBecause, Hash, Network, PayeeName, Payer, PaymentHash, Preimage, SessionId, TextKind, TreasuryFact, UnixMs,
    WalletId,
};
use guildhall_laws::{PayeeSums, TreasuryChecker, TreasurySums};
use sha2::{Digest, Sha256};

use crate::journal::{msat, path, text};

pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;

/// The time of every fact, unless a test is about time.
const NOW: UnixMs = UnixMs(1_000 * DAY);

pub(crate) fn session() -> SessionId {
    "brave-otter".parse().unwrap()
}

pub(crate) fn payee(name: &str) -> PayeeName {
    PayeeName::parse(name).unwrap()
}

fn preimage(seed: u8) -> Preimage {
    Preimage(Hash([seed; 32]))
}

/// The payment that the preimage with this seed proves.
pub(crate) fn payment(seed: u8) -> PaymentHash {
    PaymentHash(Hash(Sha256::digest([seed; 32]).into()))
}

pub(crate) fn connected() -> TreasuryFact {
    connected_to("wallet-1", Network::Regtest)
}

fn connected_to(wallet: &str, network: Network) -> TreasuryFact {
    TreasuryFact::Connected { wallet: WalletId::parse(wallet).unwrap(), network, url: text(TextKind::Task, 1) }
}

pub(crate) fn invoiced(seed: u8, money: u64) -> TreasuryFact {
    let (payment, invoice) = (payment(seed), text(TextKind::Task, seed));
    TreasuryFact::Invoiced { payment, session: session(), money: msat(money), expires: NOW, invoice }
}

pub(crate) fn received(seed: u8) -> TreasuryFact {
    TreasuryFact::Received { payment: payment(seed) }
}

pub(crate) fn earned(name: &str, contract: &str, money: u64) -> TreasuryFact {
    TreasuryFact::Earned { payee: payee(name), session: session(), contract: path(contract), money: msat(money) }
}

pub(crate) fn wanted(seed: u8, from: Payer, money: u64, fee_max: u64) -> TreasuryFact {
    let (payment, invoice) = (payment(seed), text(TextKind::Task, seed));
    TreasuryFact::Wanted { payment, from, money: msat(money), fee_max: msat(fee_max), expires: NOW, invoice }
}

/// A refund of the session.
pub(crate) fn refund(seed: u8, money: u64, fee_max: u64) -> TreasuryFact {
    wanted(seed, Payer::Session(session()), money, fee_max)
}

/// A payment to a payee.
pub(crate) fn payout(seed: u8, name: &str, money: u64, fee_max: u64) -> TreasuryFact {
    wanted(seed, Payer::Payee(payee(name)), money, fee_max)
}

pub(crate) fn sending(seed: u8, attempt: u32) -> TreasuryFact {
    TreasuryFact::Sending { payment: payment(seed), attempt }
}

pub(crate) fn settled(seed: u8, fee: u64) -> TreasuryFact {
    TreasuryFact::Settled { payment: payment(seed), fee: msat(fee), preimage: preimage(seed) }
}

pub(crate) fn failed(seed: u8, why: FailedBecause) -> TreasuryFact {
    TreasuryFact::Failed { payment: payment(seed), why }
}

fn frozen(seed: u8) -> TreasuryFact {
    TreasuryFact::Frozen { payment: payment(seed) }
}

fn payouts(allowed: bool) -> TreasuryFact {
    TreasuryFact::Payouts { allowed }
}

/// Checks facts until the first that breaks a rule, and returns the number of that fact with all its violations.
pub(crate) fn followed(facts: &[TreasuryFact]) -> (TreasuryChecker, Vec<(u64, String)>) {
    let mut checker = TreasuryChecker::new();
    for (n, fact) in (1..).zip(facts) {
        let found = checker.observe(n, NOW, fact);
        if !found.is_empty() {
            let found = found.into_iter().map(|violation| {
                assert!(violation.to_string().starts_with(&format!("treasury fact {n}: ")));
                (n, violation.what)
            });
            return (checker, found.collect());
        }
    }
    (checker, Vec::new())
}

#[track_caller]
fn is_sound(facts: &[TreasuryFact]) -> TreasuryChecker {
    let (checker, found) = followed(facts);
    assert_eq!(found, []);
    checker
}

/// Asserts that exactly one rule is broken, by the last fact.
#[track_caller]
fn breaks(facts: &[TreasuryFact], what: &str) {
    let (_, found) = followed(facts);
    let last = u64::try_from(facts.len()).unwrap();
    assert!(
        matches!(&found[..], [(n, text)] if *n == last && text.contains(what)),
        "{what:?} was not found with fact {last}, but {found:#?}"
    );
}

/// A wallet from which payees are paid, and these facts.
fn after(facts: &[TreasuryFact]) -> Vec<TreasuryFact> {
    [connected(), payouts(true)].iter().chain(facts).cloned().collect()
}

#[test]
fn the_money_of_a_hall_adds_up() {
    let facts = after(&[
        invoiced(1, 5_000_000),
        received(1),
        invoiced(2, 7),
        earned("ann", "1.1", 100_000),
        earned("bob", "1.2", 300_000),
        earned("ann", "1.3", 50_000),
        payout(3, "ann", 100_000, 2000),
        payout(4, "bob", 290_000, 5000),
        sending(3, 1),
        sending(4, 1),
        sending(4, 2),
        settled(3, 1500),
        refund(5, 1_000_000, 10_000),
        sending(5, 1),
        // The fee is above the limit.
        settled(5, 10_001),
        payout(6, "ann", 48_000, 500),
        sending(6, 1),
        failed(6, FailedBecause::Refused),
    ]);
    let checker = is_sound(&facts);
    assert_eq!(checker.notes(), []);
    let payees: Vec<_> = checker.payees().map(|(name, sums)| (name.to_string(), sums)).collect();
    let ann = PayeeSums { earned: 150_000, owed: 48_500, held: 0, paid: 101_500 };
    let bob = PayeeSums { earned: 300_000, owed: 5000, held: 295_000, paid: 0 };
    assert_eq!(payees, [("ann".to_owned(), ann), ("bob".to_owned(), bob)]);
    let payees = PayeeSums { earned: 450_000, owed: 53_500, held: 295_000, paid: 101_500 };
    let want = TreasurySums {
        received: 5_000_000,
        sent: 101_500 + 1_010_001,
        paid_by_house: 1,
        payees,
        ..TreasurySums::default()
    };
    assert_eq!(checker.sums(), want);
}

#[test]
fn facts_are_numbered_in_order() {
    let mut checker = TreasuryChecker::new();
    assert_eq!(checker.observe(1, NOW, &connected()), []);
    let found = checker.observe(3, NOW, &payouts(true));
    assert_eq!(found[0].to_string(), "treasury fact 3: the next fact must have number 2");
    assert_eq!(checker.observe(4, NOW, &payouts(true)), []);
    assert_eq!(TreasuryChecker::new().observe(2, NOW, &connected()).len(), 1);
}

#[test]
fn a_wallet_is_connected_first() {
    for fact in [payouts(true), invoiced(1, 5), earned("ann", "1", 5), frozen(1), refund(1, 5, 0)] {
        is_sound(&[connected(), fact.clone()]);
        breaks(&[fact], "no wallet was connected before this fact");
    }
}

#[test]
fn a_hall_keeps_its_wallet_and_its_network() {
    is_sound(&[connected(), connected()]);
    let other = connected_to("wallet-2", Network::Regtest);
    breaks(&[connected(), other.clone()], "wallet wallet-2 is connected, but the hall has wallet wallet-1");
    breaks(
        &[connected(), connected_to("wallet-1", Network::Bitcoin)],
        "the wallet is on Bitcoin, but it was on Regtest",
    );
    // The hall does not change its wallet because of a wrong fact.
    let mut checker = TreasuryChecker::new();
    let found: Vec<_> =
        (1..).zip([connected(), other, connected()]).map(|(n, f)| checker.observe(n, NOW, &f)).collect();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn a_payment_hash_is_used_once() {
    let known = format!("payment {} is known already", payment(1));
    for first in [invoiced(1, 5), refund(1, 5, 0), frozen(1)] {
        for second in [invoiced(1, 5), payout(1, "ann", 5, 0), frozen(1)] {
            breaks(&after(&[earned("ann", "1.1", 5), first.clone(), second]), &known);
        }
    }
    // The refund has ended, and its payment hash is still used.
    let ended = [refund(1, 5, 0), failed(1, FailedBecause::Person), refund(1, 5, 0)];
    breaks(&after(&ended), "is known already");
    is_sound(&after(&[invoiced(1, 5), refund(2, 5, 0), frozen(3)]));
    // The second use takes no money, does not block its payer, and does not change what the hash means.
    let (mut checker, _) = followed(&after(&[earned("ann", "1.1", 5), invoiced(1, 5), payout(1, "ann", 5, 0)]));
    assert_eq!(checker.observe(6, NOW, &payout(2, "ann", 5, 0)), []);
    assert_eq!(checker.observe(7, NOW, &received(1)), []);
}

#[test]
fn money_is_received_once_and_for_an_invoice() {
    is_sound(&after(&[invoiced(1, 5), received(1)]));
    breaks(&after(&[invoiced(1, 5), received(1), received(1)]), "was received already");
    breaks(&after(&[invoiced(1, 5), received(2)]), "was received, but there is no invoice for it");
    breaks(&after(&[refund(2, 5, 0), received(2)]), "was received, but there is no invoice for it");
    breaks(&after(&[frozen(2), received(2)]), "was received, but there is no invoice for it");
}

#[test]
fn no_amount_is_zero() {
    for fact in [invoiced(1, 0), earned("ann", "1", 0), refund(1, 0, 5)] {
        breaks(&after(&[fact]), "the amount is zero");
    }
    // A payment may be free of fees.
    is_sound(&after(&[refund(1, 1, 0), sending(1, 1), settled(1, 0)]));
}

#[test]
fn a_contract_earns_its_fee_once() {
    is_sound(&after(&[earned("ann", "1.1", 5), earned("ann", "1.2", 5)]));
    let twice = "the fee of contract 1.1 of brave-otter was earned by fact 3 already";
    breaks(&after(&[earned("ann", "1.1", 5), earned("ann", "1.1", 5)]), twice);
    breaks(&after(&[earned("ann", "1.1", 5), earned("bob", "1.1", 7)]), twice);
    let mut other = earned("ann", "1.1", 5);
    if let TreasuryFact::Earned { session, .. } = &mut other {
        *session = "calm-finch".parse().unwrap();
    }
    is_sound(&after(&[earned("ann", "1.1", 5), other]));
    // The second time does not count.
    let (checker, _) = followed(&after(&[earned("ann", "1.1", 5), earned("ann", "1.1", 5)]));
    assert_eq!(checker.sums().payees.earned, 5);
}

#[test]
fn a_payee_is_paid_what_it_earned_and_no_more() {
    is_sound(&after(&[earned("ann", "1.1", 100), payout(1, "ann", 90, 10)]));
    breaks(
        &after(&[earned("ann", "1.1", 100), payout(1, "ann", 90, 11)]),
        "payee ann is paid 1 msat more than it is owed",
    );
    breaks(
        &after(&[earned("ann", "1.1", 100), payout(1, "bob", 5, 0)]),
        "payee bob is paid 5 msat more than it is owed",
    );
    // What a payment did not use is owed again.
    let paid = |end: TreasuryFact| vec![earned("ann", "1.1", 100), payout(1, "ann", 60, 10), sending(1, 1), end];
    let then = |end: TreasuryFact, money| after(&[&paid(end)[..], &[payout(2, "ann", money, 0)]].concat());
    is_sound(&then(settled(1, 4), 36));
    breaks(&then(settled(1, 4), 37), "is paid 1 msat more");
    is_sound(&then(settled(1, 11), 30));
    breaks(&then(settled(1, 11), 31), "is paid 1 msat more");
    is_sound(&then(failed(1, FailedBecause::Refused), 100));
    breaks(&then(failed(1, FailedBecause::Refused), 101), "is paid 1 msat more");
}

#[test]
fn a_payer_makes_one_payment_at_a_time() {
    let owed = [earned("ann", "1.1", 100), earned("bob", "1.2", 100)];
    let with = |facts: &[TreasuryFact]| after(&[&owed[..], facts].concat());
    is_sound(&with(&[payout(1, "ann", 5, 0), payout(2, "bob", 5, 0), refund(3, 5, 0)]));
    breaks(&with(&[payout(1, "ann", 5, 0), payout(2, "ann", 5, 0)]), "payee ann pays again");
    breaks(&with(&[refund(1, 5, 0), sending(1, 1), refund(2, 5, 0)]), "session brave-otter pays again");
    is_sound(&with(&[refund(1, 5, 0), sending(1, 1), settled(1, 0), refund(2, 5, 0)]));
    is_sound(&with(&[payout(1, "ann", 5, 0), failed(1, FailedBecause::Person), payout(2, "ann", 5, 0)]));
}

#[test]
fn requests_to_pay_are_counted() {
    is_sound(&after(&[refund(1, 5, 0), sending(1, 1), sending(1, 2), sending(1, 3)]));
    breaks(&after(&[refund(1, 5, 0), sending(1, 2)]), "leaves, but request 1 is next");
    breaks(&after(&[refund(1, 5, 0), sending(1, 0)]), "leaves, but request 1 is next");
    breaks(&after(&[refund(1, 5, 0), sending(1, 1), sending(1, 1)]), "leaves, but request 2 is next");
    breaks(&after(&[sending(1, 1)]), "was never wanted");
    breaks(&after(&[invoiced(1, 5), sending(1, 1)]), "was never wanted");
    breaks(&after(&[refund(1, 5, 0), sending(1, 1), settled(1, 0), sending(1, 2)]), "ended with fact 5 already");
}

#[test]
fn a_payment_ends_once() {
    let ends = [settled(1, 0), failed(1, FailedBecause::Person)];
    for first in &ends {
        breaks(&after(std::slice::from_ref(first)), "was never wanted");
        breaks(&after(&[invoiced(1, 5), first.clone()]), "was never wanted");
        breaks(&after(&[frozen(1), first.clone()]), "was never wanted");
        for second in &ends {
            let facts = [refund(1, 5, 0), sending(1, 1), first.clone(), second.clone()];
            breaks(&after(&facts), "ended with fact 5 already");
        }
    }
}

#[test]
fn only_the_first_request_can_be_refused() {
    let refused = || failed(1, FailedBecause::Refused);
    is_sound(&after(&[refund(1, 5, 0), sending(1, 1), refused()]));
    breaks(&after(&[refund(1, 5, 0), refused()]), "but 0 requests have left");
    breaks(&after(&[refund(1, 5, 0), sending(1, 1), sending(1, 2), refused()]), "but 2 requests have left");
}

#[test]
fn a_payment_does_not_expire_before_its_invoice() {
    let observe = |at| {
        let mut checker = is_sound(&after(&[refund(1, 5, 0), sending(1, 1), sending(1, 2)]));
        checker.observe(6, at, &failed(1, FailedBecause::Expired))
    };
    assert_eq!(observe(NOW), []);
    assert!(observe(UnixMs(NOW.0 - 1))[0].what.contains("failed as expired at 86399999999ms, before 86400000000ms"));
}

#[test]
fn a_payment_is_proved_by_its_preimage() {
    // SHA-256 of 32 zero bytes, from another implementation.
    let hash = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
    assert_eq!(payment(0).to_string(), hash);
    is_sound(&after(&[refund(0, 5, 0), sending(0, 1), settled(0, 0)]));
    let wrong = TreasuryFact::Settled { payment: payment(1), fee: msat(0), preimage: preimage(2) };
    breaks(&after(&[refund(1, 5, 0), sending(1, 1), wrong]), "the preimage does not prove payment");
}

#[test]
fn a_payment_without_a_recorded_request_is_noted() {
    let checker = is_sound(&after(&[refund(1, 5, 0), settled(1, 0)]));
    let notes: Vec<String> = checker.notes().iter().map(ToString::to_string).collect();
    let want = format!("treasury fact 4: payment {} was made, but no request was recorded before", payment(1));
    assert_eq!(notes, [want]);
}

#[test]
fn a_clock_that_goes_back_a_long_way_is_noted() {
    let mut checker = TreasuryChecker::new();
    for (n, at) in [(1, 10 * DAY), (2, 9 * DAY), (3, 20 * DAY), (4, 19 * DAY - 1), (5, 18 * DAY)] {
        assert_eq!(checker.observe(n, UnixMs(at), &connected()), []);
    }
    let notes: Vec<String> = checker.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["treasury fact 4: the clock went back by 86400001 ms"]);
}

#[test]
fn payees_are_paid_only_while_a_person_allows_it() {
    let owed = [connected(), earned("ann", "1.1", 100), payout(1, "ann", 5, 0)];
    let with = |facts: &[TreasuryFact]| [&owed[..], facts].concat();
    is_sound(&with(&[payouts(true), sending(1, 1)]));
    breaks(&with(&[sending(1, 1)]), "payees are not paid now");
    breaks(&with(&[payouts(true), payouts(false), sending(1, 1)]), "payees are not paid now");
    // A repeated request may be needed to learn how the payment ended. A refund needs no permission.
    is_sound(&with(&[payouts(true), sending(1, 1), payouts(false), sending(1, 2)]));
    is_sound(&[connected(), refund(1, 5, 0), sending(1, 1)]);
}

#[test]
fn nothing_is_paid_while_a_payment_that_the_hall_does_not_know_is_not_accepted() {
    let accepted = |seed| TreasuryFact::Accepted { payment: payment(seed) };
    for wanted in [payout(1, "ann", 5, 0), refund(1, 5, 0)] {
        let begun = [connected(), payouts(true), earned("ann", "1.1", 100), wanted];
        let with = |facts: &[TreasuryFact]| [&begun[..], facts].concat();
        breaks(&with(&[frozen(2), sending(1, 1)]), "was not accepted");
        breaks(&with(&[frozen(2), payouts(true), sending(1, 1)]), "was not accepted");
        breaks(&with(&[frozen(2), frozen(3), accepted(2), sending(1, 1)]), "was not accepted");
        is_sound(&with(&[frozen(2), accepted(2), sending(1, 1)]));
        is_sound(&with(&[sending(1, 1), frozen(2), sending(1, 2)]));
        breaks(&with(&[accepted(2)]), "nothing was stopped by it");
    }
}
