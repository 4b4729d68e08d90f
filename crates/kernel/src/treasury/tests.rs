mod errands;

use super::*;
use crate::text::Hash;
use crate::{Millis, TextKind};

const START: UnixMs = UnixMs(1_000_000_000);

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn hash(number: u8) -> PaymentHash {
    PaymentHash(Hash([number; 32]))
}

fn text() -> TextRef {
    TextRef { hash: Hash([9; 32]), bytes: 200, kind: TextKind::Invoice }
}

fn wallet() -> WalletId {
    WalletId::parse("w1").unwrap()
}

fn payee() -> PayeeName {
    PayeeName::parse("ada").unwrap()
}

fn session() -> SessionId {
    "brave-otter".parse().unwrap()
}

fn after(seconds: u64) -> UnixMs {
    START.after(Millis(seconds * 1000))
}

fn connected() -> TreasuryFact {
    TreasuryFact::Connected { wallet: wallet(), network: Network::Bitcoin, url: text() }
}

fn earned(contract: u32, money: u64) -> TreasuryFact {
    let contract = Path::root(1).hire(contract);
    TreasuryFact::Earned { payee: payee(), session: session(), contract, money: sat(money) }
}

fn invoiced(number: u8, money: u64) -> TreasuryFact {
    let (payment, money, expires) = (hash(number), sat(money), after(600));
    TreasuryFact::Invoiced { payment, session: session(), money, expires, invoice: text() }
}

fn wanted(number: u8, from: Payer, money: u64) -> TreasuryFact {
    let (payment, money, expires) = (hash(number), sat(money), after(600));
    TreasuryFact::Wanted { payment, from, money, fee_max: fee_limit(money), expires, invoice: text() }
}

fn settled(number: u8, fee: u64) -> TreasuryFact {
    TreasuryFact::Settled { payment: hash(number), fee: sat(fee), preimage: Preimage(Hash([number + 100; 32])) }
}

fn treasury(facts: &[TreasuryFact]) -> Treasury {
    Treasury::restore(facts.iter().map(|fact| (fact.clone(), START))).unwrap()
}

/// An invoice of somebody else.
fn invoice(number: u8, money: u64) -> Invoice {
    Invoice {
        payment: hash(number),
        money: Some(sat(money)),
        network: Network::Bitcoin,
        expires: after(600),
        text: text(),
    }
}

#[test]
fn a_payee_is_owed_what_it_earned_until_it_is_paid() {
    let facts = [connected(), earned(1, 300), earned(2, 200), wanted(1, Payer::Payee(payee()), 400)];
    let mut treasury = treasury(&facts);
    let account = |treasury: &Treasury| *treasury.payees().next().unwrap().1;
    assert_eq!((account(&treasury).owed, treasury.owed_to_payees()), (sat(96), sat(500)));
    treasury.apply(&settled(1, 1), START).unwrap();
    let after = account(&treasury);
    assert_eq!((after.owed, after.paid, after.earned, after.paying), (sat(99), sat(401), sat(500), None));
    assert_eq!(treasury.owed_to_payees(), sat(99));
}

#[test]
fn the_house_pays_what_exceeds_the_fee_limit() {
    let mut treasury = treasury(&[connected(), earned(1, 500), wanted(1, Payer::Payee(payee()), 400)]);
    let session_fact = treasury.session_fact(&settled(1, 9));
    treasury.apply(&settled(1, 9), START).unwrap();
    assert_eq!((treasury.house_fees(), treasury.owed_to_payees()), (sat(5), sat(96)));
    assert_eq!(session_fact, None, "a payee pays for it, and no session does");
}

#[test]
fn facts_that_do_not_fit_are_refused_and_change_nothing() {
    let facts = [connected(), earned(1, 300), invoiced(1, 50), wanted(2, Payer::Payee(payee()), 100)];
    let before = treasury(&facts);
    let other = WalletId::parse("w2").unwrap();
    let refused = [
        TreasuryFact::Connected { wallet: other, network: Network::Bitcoin, url: text() },
        TreasuryFact::Connected { wallet: wallet(), network: Network::Regtest, url: text() },
        earned(1, 300),
        earned(3, 0),
        invoiced(1, 50),
        invoiced(2, 50),
        invoiced(4, 0),
        wanted(1, Payer::Session(session()), 10),
        wanted(3, Payer::Payee(payee()), 10),
        TreasuryFact::Received { payment: hash(2) },
        TreasuryFact::Sending { payment: hash(2), attempt: 2 },
        TreasuryFact::Sending { payment: hash(1), attempt: 1 },
        TreasuryFact::Failed { payment: hash(2), why: FailedBecause::Refused },
        TreasuryFact::Failed { payment: hash(9), why: FailedBecause::Person },
        TreasuryFact::Failed { payment: hash(2), why: FailedBecause::Expired },
        TreasuryFact::Sending { payment: hash(2), attempt: 1 },
        settled(9, 1),
        TreasuryFact::Frozen { payment: hash(2) },
        TreasuryFact::Accepted { payment: hash(2) },
        TreasuryFact::Accepted { payment: hash(9) },
    ];
    for fact in refused {
        let mut treasury = before.clone();
        assert!(treasury.apply(&fact, START).is_err(), "{fact:?}");
        assert_eq!(treasury, before, "{fact:?}");
    }
    let overdrawn = treasury(&[connected(), earned(1, 300)]).apply(&wanted(3, Payer::Payee(payee()), 299), START);
    let asked = sat(299).plus(fee_limit(sat(299))).unwrap();
    assert_eq!(overdrawn, Err(TreasuryError::Overdrawn { payee: payee(), asked, owed: sat(300) }));
    let frozen = TreasuryFact::Frozen { payment: hash(1) };
    for fact in [invoiced(1, 1), earned(1, 1), frozen, TreasuryFact::Payouts { allowed: true }] {
        assert_eq!(Treasury::default().apply(&fact, START), Err(TreasuryError::NotConnected));
    }
}

#[test]
fn facts_of_a_session_follow_from_facts_of_the_treasury() {
    let facts = [connected(), invoiced(1, 50), wanted(2, Payer::Session(session()), 400)];
    let treasury = treasury(&facts);
    let funded = SessionFact::Funded { money: sat(50), root: None, payment: Some(hash(1)) };
    let of = |fact: &TreasuryFact| treasury.session_fact(fact);
    assert_eq!(of(&TreasuryFact::Received { payment: hash(1) }), Some((session(), funded)));
    let aside = SessionFact::Withdrawing { payment: hash(3), money: sat(102) };
    assert_eq!(of(&wanted(3, Payer::Session(session()), 100)), Some((session(), aside)));
    let withdrawn = |spent| Some((session(), SessionFact::Withdrawn { payment: hash(2), spent: sat(spent) }));
    assert_eq!(of(&settled(2, 1)), withdrawn(401));
    assert_eq!(of(&settled(2, 9)), withdrawn(404), "a session pays no more than its limit");
    assert_eq!(of(&TreasuryFact::Failed { payment: hash(2), why: FailedBecause::Person }), withdrawn(0));
    assert_eq!(of(&earned(1, 5)), None);
}

#[test]
fn invoices_that_can_t_be_paid_are_refused_with_the_reason() {
    let treasury = treasury(&[connected(), invoiced(1, 50), wanted(2, Payer::Session(session()), 10)]);
    let good = invoice(3, 100);
    let check = |invoice: Invoice| treasury.wanted(Payer::Session(session()), sat(1000), &invoice, START).map(|_| ());
    let other = InvoiceError::OtherNetwork { found: Network::Regtest, wallet: Network::Bitcoin };
    let too_much = InvoiceError::TooMuch {
        asked: sat(995),
        fee_max: Msat::new(9950).unwrap(),
        free: sat(1000),
        payable: sat(990),
    };
    let fractional = Msat::new(1_500).unwrap();
    let refused = [
        (Invoice { money: None, ..good.clone() }, InvoiceError::NoAmount),
        (Invoice { money: Some(Msat::ZERO), ..good.clone() }, InvoiceError::NoAmount),
        (Invoice { money: Some(fractional), ..good.clone() }, InvoiceError::Fractional { found: fractional }),
        (Invoice { expires: after(10), ..good.clone() }, InvoiceError::Expired),
        (Invoice { expires: after(86_401), ..good.clone() }, InvoiceError::TooLong),
        (Invoice { network: Network::Regtest, ..good.clone() }, other),
        (invoice(1, 50), InvoiceError::Ours),
        (invoice(2, 10), InvoiceError::Used),
        (invoice(3, 995), too_much),
    ];
    for (invoice, why) in refused {
        assert_eq!(check(invoice), Err(why));
    }
    assert_eq!(check(invoice(3, 990)), Ok(()));
    let asked = treasury.invoiced(&session(), sat(99), &good, START);
    assert_eq!(asked, Err(InvoiceError::OtherAmount { found: sat(100), asked: sat(99) }));
    assert_eq!(Treasury::default().invoiced(&session(), sat(100), &good, START), Err(InvoiceError::NotConnected));
}

#[test]
fn the_payable_amount_and_its_fee_limit_use_the_money_up_to_two_sats() {
    for msat in (0..400_000).chain([Msat::SUPPLY.get()]) {
        let money = Msat::new(msat).unwrap();
        let amount = payable(money);
        assert_eq!(amount.get() % 1000, 0);
        if amount > Msat::ZERO {
            assert!(amount.plus(fee_limit(amount)).unwrap() <= money, "{msat}");
        }
        let more = Msat::new((amount.get() + 2000).min(Msat::SUPPLY.get())).unwrap();
        assert!(more.plus(fee_limit(more)).is_none_or(|sum| sum > money), "{msat}: {more} is payable, too");
    }
}
