use super::{Session, SessionError, SessionFact, SessionKind};
use crate::{AskId, AskKey, Hash, Msat, Path, PaymentHash, TextKind, TextRef, WalletId};

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn requested(root: u32, money: u64) -> SessionFact {
    let prices = TextRef { hash: Hash([7; 32]), bytes: 9, kind: TextKind::Prices };
    SessionFact::Requested { root: Path::root(root), money: sat(money), prices }
}

#[test]
fn a_root_is_not_granted_more_than_the_session_has() {
    let mut session = Session::restore([SessionFact::Funded { money: sat(100), root: None, payment: None }]).unwrap();
    let refused = session.apply(&requested(1, 101));
    assert_eq!(refused, Err(SessionError::Overdrawn { asked: sat(101), free: sat(100) }));
    assert_eq!(session.apply(&requested(2, 1)), Err(SessionError::NotThisRoot { root: Path::root(2) }));
    assert_eq!(session.apply(&requested(1, 100)), Ok(()));
    assert_eq!(session.free(), Msat::ZERO);
}

#[test]
fn a_top_up_goes_to_a_root_at_work_and_the_roots_change_comes_back() {
    let mut session = Session::default();
    let top_up = SessionFact::Funded { money: sat(5), root: Some(Path::root(1)), payment: None };
    assert_eq!(session.apply(&top_up), Err(SessionError::NotThisRoot { root: Path::root(1) }));
    for fact in [SessionFact::Funded { money: sat(10), root: None, payment: None }, requested(1, 10), top_up] {
        assert_eq!(session.apply(&fact), Ok(()));
    }
    let ended = |spent| SessionFact::Ended {
        root: Path::root(1),
        spent: sat(spent),
        reserved: Msat::ZERO,
        estimated: Msat::ZERO,
    };
    assert_eq!(session.apply(&ended(16)), Err(SessionError::Impossible { claimed: sat(16), most: sat(15) }));
    assert_eq!(session.apply(&ended(12)), Ok(()));
    assert_eq!(session.apply(&ended(12)), Err(SessionError::NotThisRoot { root: Path::root(1) }));
    assert_eq!((session.free(), session.spent()), (sat(3), sat(12)));
}

#[test]
fn corrections_are_credited_up_to_the_reserved_money() {
    let ended = SessionFact::Ended { root: Path::root(1), spent: sat(9), reserved: sat(8), estimated: Msat::ZERO };
    let funded = SessionFact::Funded { money: sat(10), root: None, payment: None };
    let mut session = Session::restore([funded, requested(1, 10), ended]).unwrap();
    let key = |root, ask| AskKey { contract: Path::root(root).hire(2), ask: AskId(ask) };
    let corrected = |ask, credit| SessionFact::Corrected { ask: key(1, ask), credit: sat(credit) };
    assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
    assert_eq!(session.apply(&corrected(2, 3)), Err(SessionError::Impossible { claimed: sat(3), most: sat(2) }));
    assert_eq!((session.free(), session.credited()), (sat(7), sat(6)));
    // The same correction twice counts once; a different correction of the same ask is an error.
    assert_eq!(session.apply(&corrected(1, 6)), Ok(()));
    let contradicted = SessionError::Contradicted { ask: key(1, 1), before: sat(6) };
    assert_eq!(session.apply(&corrected(1, 2)), Err(contradicted));
    let stranger = SessionFact::Corrected { ask: key(2, 1), credit: sat(1) };
    assert_eq!(session.apply(&stranger), Err(SessionError::NotThisRoot { root: Path::root(2) }));
    assert_eq!((session.free(), session.credited(), session.spent()), (sat(7), sat(6), sat(9)));
    assert_eq!(session.apply(&corrected(2, 2)), Ok(()), "corrections may return all reserved money");
}

#[test]
fn only_reserved_money_can_be_corrected_once_the_root_reports_how_much_is_reserved() {
    let funded = SessionFact::Funded { money: sat(10), root: None, payment: None };
    let ended = |reserved, estimated| SessionFact::Ended {
        root: Path::root(1),
        spent: sat(8),
        reserved: sat(reserved),
        estimated: sat(estimated),
    };
    let mut session = Session::restore([funded, requested(1, 10)]).unwrap();
    let impossible = |claimed, most| Err(SessionError::Impossible { claimed: sat(claimed), most: sat(most) });
    assert_eq!(session.apply(&ended(5, 4)), impossible(9, 8), "reserved and estimated are parts of the spent money");
    assert_eq!(session.apply(&ended(3, 1)), Ok(()));
    let ask = AskKey { contract: Path::root(1), ask: AskId(3) };
    let corrected = |credit| SessionFact::Corrected { ask: ask.clone(), credit: sat(credit) };
    assert_eq!(session.apply(&corrected(4)), impossible(4, 3));
    assert_eq!(session.apply(&corrected(3)), Ok(()));
    assert_eq!((session.free(), session.reserved(), session.estimated()), (sat(5), sat(3), sat(1)));
}

#[test]
fn a_root_at_work_can_be_corrected_and_must_have_spent_at_least_the_credit() {
    let funded = SessionFact::Funded { money: sat(10), root: None, payment: None };
    let mut session = Session::restore([funded, requested(1, 10)]).unwrap();
    let ask = AskKey { contract: Path::root(1), ask: AskId(3) };
    assert_eq!(session.apply(&SessionFact::Corrected { ask, credit: sat(4) }), Ok(()));
    let ended = |spent| SessionFact::Ended {
        root: Path::root(1),
        spent: sat(spent),
        reserved: Msat::ZERO,
        estimated: Msat::ZERO,
    };
    assert_eq!(session.apply(&ended(3)), Err(SessionError::Impossible { claimed: sat(4), most: sat(3) }));
    assert_eq!(session.apply(&ended(7)), Ok(()));
    assert_eq!((session.free(), session.spent(), session.credited()), (sat(7), sat(7), sat(4)));
    assert_eq!(session.next_root(), Path::root(2));
}

#[test]
fn crediting_beyond_the_supply_is_an_error_and_not_a_panic() {
    let mut session =
        Session::restore([SessionFact::Funded { money: Msat::SUPPLY, root: None, payment: None }]).unwrap();
    let mut round = |root| {
        let path = Path::root(root);
        let ask = AskKey { contract: path.clone(), ask: AskId(1) };
        let prices = TextRef { hash: Hash([7; 32]), bytes: 9, kind: TextKind::Prices };
        session.apply(&SessionFact::Requested { root: path.clone(), money: Msat::SUPPLY, prices })?;
        session.apply(&SessionFact::Ended {
            root: path,
            spent: Msat::SUPPLY,
            reserved: Msat::SUPPLY,
            estimated: Msat::ZERO,
        })?;
        session.apply(&SessionFact::Corrected { ask, credit: Msat::SUPPLY })
    };
    assert_eq!(round(1), Ok(()));
    assert_eq!(round(2), Err(SessionError::BeyondSupply));
}

fn payment(number: u8) -> PaymentHash {
    PaymentHash(Hash([number; 32]))
}

fn of_a_wallet() -> Session {
    let opened = SessionFact::Opened { wallet: WalletId::parse("w1").unwrap() };
    let funded = SessionFact::Funded { money: sat(100), root: None, payment: Some(payment(1)) };
    Session::restore([opened, funded, requested(1, 60)]).unwrap()
}

#[test]
fn the_money_of_a_wallet_enters_only_by_a_payment_that_counts_once() {
    let mut session = of_a_wallet();
    assert_eq!(session.kind(), &SessionKind::Wallet(WalletId::parse("w1").unwrap()));
    let play = |root| SessionFact::Funded { money: sat(5), root, payment: None };
    let other_kind = Err(SessionError::OtherKind { wallet: true });
    assert_eq!(session.apply(&play(None)), other_kind);
    assert_eq!(session.apply(&play(Some(Path::root(1)))), other_kind);
    let paid = |root, number| SessionFact::Funded { money: sat(5), root, payment: Some(payment(number)) };
    let counted = |number| Err(SessionError::NotThisPayment { payment: payment(number) });
    assert_eq!(session.apply(&paid(None, 1)), counted(1));
    assert_eq!(session.apply(&paid(Some(Path::root(1)), 2)), counted(2));
    assert_eq!(session.apply(&paid(None, 2)), Ok(()));
    assert_eq!((session.free(), session.at_work()), (sat(45), sat(60)));
}

#[test]
fn a_session_keeps_its_kind_of_money() {
    let opened = SessionFact::Opened { wallet: WalletId::parse("w1").unwrap() };
    let mut play = Session::restore([SessionFact::Funded { money: sat(5), root: None, payment: None }]).unwrap();
    assert_eq!(play.apply(&opened), Err(SessionError::HasBegun));
    let other_kind = Err(SessionError::OtherKind { wallet: false });
    let paid = SessionFact::Funded { money: sat(5), root: None, payment: Some(payment(1)) };
    assert_eq!(play.apply(&paid), other_kind);
    assert_eq!(play.apply(&SessionFact::Withdrawing { payment: payment(1), money: sat(1) }), other_kind);
    assert_eq!(of_a_wallet().apply(&opened), Err(SessionError::HasBegun));
}

#[test]
fn free_money_is_granted_to_a_root_at_work_and_to_no_other() {
    let mut session = of_a_wallet();
    let granted = |root, money| SessionFact::Granted { root: Path::root(root), money: sat(money) };
    assert_eq!(session.apply(&granted(1, 41)), Err(SessionError::Overdrawn { asked: sat(41), free: sat(40) }));
    assert_eq!(session.apply(&granted(2, 1)), Err(SessionError::NotThisRoot { root: Path::root(2) }));
    assert_eq!(session.free(), sat(40), "a refused fact changes nothing");
    assert_eq!(session.apply(&granted(1, 40)), Ok(()));
    assert_eq!((session.free(), session.at_work()), (sat(0), sat(100)));
}

#[test]
fn one_payment_is_under_way_and_its_change_comes_back() {
    let mut session = of_a_wallet();
    let aside = |number, money| SessionFact::Withdrawing { payment: payment(number), money: sat(money) };
    let withdrawn = |number, spent| SessionFact::Withdrawn { payment: payment(number), spent: sat(spent) };
    assert_eq!(session.apply(&aside(7, 41)), Err(SessionError::Overdrawn { asked: sat(41), free: sat(40) }));
    assert_eq!(session.apply(&aside(7, 40)), Ok(()));
    assert_eq!(session.apply(&aside(8, 0)), Err(SessionError::StillPaying { payment: payment(7) }));
    let not_this = Err(SessionError::NotThisPayment { payment: payment(8) });
    assert_eq!(session.apply(&withdrawn(8, 1)), not_this);
    assert_eq!(session.apply(&withdrawn(7, 41)), Err(SessionError::Impossible { claimed: sat(41), most: sat(40) }));
    assert_eq!(session.apply(&withdrawn(7, 38)), Ok(()));
    assert_eq!((session.free(), session.withdrawn(), session.withdrawing()), (sat(2), sat(38), None));
    assert_eq!(session.apply(&withdrawn(7, 38)), Err(SessionError::NotThisPayment { payment: payment(7) }));
    assert_eq!(session.apply(&aside(7, 2)), Err(SessionError::NotThisPayment { payment: payment(7) }));
    assert_eq!(session.apply(&aside(1, 2)), Err(SessionError::NotThisPayment { payment: payment(1) }));
    assert_eq!(session.apply(&aside(9, 2)), Ok(()));
    assert_eq!(session.apply(&withdrawn(9, 0)), Ok(()), "a failed payment costs nothing");
    assert_eq!(session.free(), sat(2));
}

#[test]
fn the_error_of_a_damaged_journal_names_the_fact() {
    let funded = SessionFact::Funded { money: sat(10), root: None, payment: None };
    let corrupt = Session::restore([funded, requested(1, 10), requested(1, 10)]).unwrap_err();
    assert_eq!(corrupt.index, 2);
}

#[test]
fn a_session_never_has_more_than_the_supply() {
    let all = SessionFact::Funded { money: Msat::SUPPLY, root: None, payment: None };
    let mut session = Session::restore([all]).unwrap();
    let more = SessionFact::Funded { money: sat(1), root: None, payment: None };
    assert_eq!(session.apply(&more), Err(SessionError::BeyondSupply));
}

#[test]
fn only_free_play_money_goes_back_to_the_person() {
    let returned = |money| SessionFact::Returned { money: sat(money) };
    let mut session = Session::restore([SessionFact::Funded { money: sat(10), root: None, payment: None }]).unwrap();
    session.apply(&requested(1, 4)).unwrap();
    assert_eq!(session.apply(&returned(7)), Err(SessionError::Overdrawn { asked: sat(7), free: sat(6) }));
    assert_eq!(session.apply(&returned(6)), Ok(()));
    assert_eq!((session.free(), session.withdrawn(), session.at_work()), (Msat::ZERO, sat(6), sat(4)));
    let opened = SessionFact::Opened { wallet: WalletId::parse("0a1b2c3d").unwrap() };
    let mut of_wallet = Session::restore([opened]).unwrap();
    assert_eq!(of_wallet.apply(&returned(0)), Err(SessionError::OtherKind { wallet: true }));
}
