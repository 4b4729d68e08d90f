//! The treasury in the journal: facts that fit are stored with the facts of their sessions, and others are refused.

use guildhall_kernel::{
    Fact, FailedBecause, Hash, Msat, Network, Outcome, Path, PayeeName, Payer, PaymentHash, Preimage, SessionFact,
    TextKind, TextRef, TreasuryFact, WalletId,
};
use guildhall_local::{
    Appended, Batch, HallBroken, Journal, JournalError, SessionBatch, TreasuryBatch, TreasuryCursor, TreasuryLease,
    UnixMs, hash_text,
};
use tempfile::tempdir;

use super::{batch, begin, fact, id, tamper};

const INVOICE: &str = "lnbc1";

pub(super) fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn hash(number: u8) -> PaymentHash {
    PaymentHash(Hash([number; 32]))
}

fn invoice() -> TextRef {
    let bytes = u32::try_from(INVOICE.len()).unwrap();
    TextRef { hash: hash_text(INVOICE.as_bytes()), bytes, kind: TextKind::Invoice }
}

fn wallet() -> WalletId {
    WalletId::parse("w1").unwrap()
}

fn connected() -> TreasuryFact {
    TreasuryFact::Connected { wallet: wallet(), network: Network::Bitcoin, url: invoice() }
}

fn invoiced(number: u8, money: u64) -> TreasuryFact {
    let (payment, money, expires) = (hash(number), sat(money), UnixMs(90_000));
    TreasuryFact::Invoiced { payment, session: id(), money, expires, invoice: invoice() }
}

fn received(number: u8) -> TreasuryFact {
    TreasuryFact::Received { payment: hash(number) }
}

fn refund(number: u8, money: u64) -> TreasuryFact {
    let (payment, money, expires) = (hash(number), sat(money), UnixMs(90_000));
    TreasuryFact::Wanted { payment, from: Payer::Session(id()), money, fee_max: sat(2), expires, invoice: invoice() }
}

fn earned(contract: u32) -> TreasuryFact {
    let (payee, contract) = (PayeeName::parse("ada").unwrap(), Path::root(1).hire(contract));
    TreasuryFact::Earned { payee, session: id(), contract, money: sat(5) }
}

fn of(facts: Vec<TreasuryFact>) -> TreasuryBatch {
    TreasuryBatch { at: UnixMs(7_000), facts, texts: vec![(invoice(), INVOICE.into())] }
}

async fn ask(journal: &Journal, facts: Vec<TreasuryFact>) -> Result<Appended, JournalError> {
    journal.append_treasury(None, of(facts)).await
}

async fn hear(journal: &Journal, lease: &TreasuryLease, facts: Vec<TreasuryFact>) -> Result<Appended, JournalError> {
    journal.append_treasury(Some(lease), of(facts)).await
}

/// Makes the session one with the money of a wallet, with a paid invoice.
pub(super) async fn fund(journal: &Journal, session: &guildhall_local::Lease, money: u64) -> TreasuryLease {
    let opened = SessionFact::Opened { wallet: wallet() };
    let opening = SessionBatch { at: guildhall_kernel::Millis(0), facts: vec![opened], texts: vec![], done: None };
    journal.append_session(session, opening).await.unwrap();
    ask(journal, vec![connected(), invoiced(1, money)]).await.unwrap();
    let lease = journal.lease_treasury(UnixMs(5)).await.unwrap().expect("no other process asks the wallet");
    hear(journal, &lease, vec![received(1)]).await.unwrap();
    lease
}

/// Pays 1 sat into the session.
pub(super) async fn pay(journal: &Journal, lease: &TreasuryLease, number: u8) {
    hear(journal, lease, vec![invoiced(number, 1), received(number)]).await.unwrap();
}

async fn free(journal: &Journal) -> Msat {
    journal.folded_account(&id()).await.unwrap().free()
}

/// What the journal has: the number of facts of the treasury and of the account.
async fn counts(journal: &Journal) -> (usize, usize) {
    (journal.treasury().await.unwrap().len(), journal.account(&id()).await.unwrap().len())
}

#[tokio::test]
async fn a_payment_reaches_the_treasury_and_its_session_in_one_commit() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let lease = fund(&journal, &session, 100).await;
    assert_eq!(free(&journal).await, sat(100));
    let preimage = Preimage(Hash([8; 32]));
    ask(&journal, vec![refund(2, 50)]).await.unwrap();
    assert_eq!(free(&journal).await, sat(48));
    let sent = vec![TreasuryFact::Sending { payment: hash(2), attempt: 1 }];
    hear(&journal, &lease, sent).await.unwrap();
    hear(&journal, &lease, vec![TreasuryFact::Settled { payment: hash(2), fee: sat(1), preimage }]).await.unwrap();
    ask(&journal, vec![refund(3, 40)]).await.unwrap();
    let failed = TreasuryFact::Failed { payment: hash(3), why: FailedBecause::Person };
    hear(&journal, &lease, vec![failed]).await.unwrap();
    assert_eq!(free(&journal).await, sat(49));
    assert_eq!(journal.verify_hall().await.unwrap(), []);
    assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());

    drop((session, lease));
    journal.close().await;
    let journal = Journal::open(dir.path()).unwrap();
    assert_eq!(counts(&journal).await, (8, 6));
    assert_eq!(free(&journal).await, sat(49));
    let (facts, cursor) = journal.treasury_after(TreasuryCursor::default()).await.unwrap();
    assert_eq!((facts.len(), facts[7].n, facts[7].at), (8, 8, UnixMs(7_000)));
    ask(&journal, vec![TreasuryFact::Payouts { allowed: true }]).await.unwrap();
    let (newest, _) = journal.treasury_after(cursor).await.unwrap();
    assert_eq!((newest.len(), newest[0].n), (1, 9));
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_leaves_both_chains_unchanged() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let lease = fund(&journal, &session, 100).await;
    let before = counts(&journal).await;
    let refused = [
        vec![received(1)],
        vec![invoiced(1, 5)],
        vec![refund(1, 5)],
        vec![TreasuryFact::Sending { payment: hash(9), attempt: 1 }],
        // The first fact fits, and the second does not.
        vec![invoiced(4, 5), invoiced(4, 5)],
    ];
    for facts in refused {
        let why = hear(&journal, &lease, facts.clone()).await.unwrap_err();
        assert!(matches!(why, JournalError::Treasury(_)), "{facts:?}: {why}");
    }
    let why = hear(&journal, &lease, vec![invoiced(5, 5), refund(6, 99)]).await.unwrap_err();
    assert!(matches!(why, JournalError::Account { .. }), "the session has not enough: {why}");
    assert_eq!(counts(&journal).await, before);
    ask(&journal, vec![invoiced(5, 5), refund(6, 98)]).await.unwrap();
    assert_eq!(free(&journal).await, Msat::ZERO);
    assert_eq!(journal.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn only_the_process_with_the_lease_stores_what_the_wallet_replied() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let lease = fund(&journal, &session, 100).await;
    ask(&journal, vec![invoiced(2, 5)]).await.unwrap();
    assert!(matches!(ask(&journal, vec![received(2)]).await, Err(JournalError::TreasuryNotLeased)));
    let other = Journal::open(dir.path()).unwrap();
    assert!(other.lease_treasury(UnixMs(6)).await.unwrap().is_none(), "the first process has it");
    let holder = other.treasury_holder().await.unwrap().expect("the first process has it");
    assert_eq!((holder.pid, holder.since), (std::process::id(), UnixMs(5)));
    drop(lease);
    assert_eq!(other.treasury_holder().await.unwrap(), None);
    let taken = other.lease_treasury(UnixMs(7)).await.unwrap().expect("the first process has released it");
    hear(&other, &taken, vec![received(2)]).await.unwrap();
    assert_eq!(free(&journal).await, sat(105));
    assert_eq!(other.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn two_processes_share_one_treasury_and_one_account() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let lease = fund(&journal, &session, 100).await;
    let other = Journal::open(dir.path()).unwrap();
    for number in 10..30 {
        let writer = if number % 2 == 0 { &journal } else { &other };
        ask(writer, vec![invoiced(number, 1)]).await.unwrap();
        hear(&journal, &lease, vec![received(number)]).await.unwrap();
    }
    assert_eq!(free(&other).await, sat(120));
    // Both want the same money at the same time.
    let (one, two) = tokio::join!(ask(&journal, vec![refund(40, 100)]), ask(&other, vec![refund(41, 100)]));
    assert!(one.is_ok() != two.is_ok(), "{one:?}, {two:?}");
    assert_eq!(free(&journal).await, sat(18));
    assert_eq!(journal.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn invoices_of_several_processes_stay_within_the_limit_of_a_session() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let lease = fund(&journal, &session, 100).await;
    let other = Journal::open(dir.path()).unwrap();
    let ask = |journal: &Journal, number, money| {
        let journal = journal.clone();
        async move { journal.append_invoices(of(vec![invoiced(number, money)]), sat(1000)).await }
    };
    let (one, two) = tokio::join!(ask(&journal, 2, 600), ask(&other, 3, 600));
    assert!(one.is_ok() != two.is_ok(), "{one:?}, {two:?}");
    let Err(JournalError::SessionLimit { wanted, most, .. }) = one.and(two) else { panic!("one is beyond the limit") };
    assert_eq!((wanted, most), (sat(1300), sat(1000)));
    ask(&other, 4, 300).await.unwrap();
    assert!(ask(&other, 5, 1).await.is_err(), "100 sat free and 900 sat that can still be paid");
    // An invoice that has expired counts no more.
    let later = TreasuryBatch { at: UnixMs(90_001), ..of(vec![invoiced(6, 900)]) };
    assert!(journal.append_invoices(later.clone(), sat(999)).await.is_err());
    journal.append_invoices(later, sat(1000)).await.unwrap();
    hear(&journal, &lease, vec![received(4)]).await.unwrap();
    assert_eq!(free(&journal).await, sat(400), "money that was paid is always credited");
    assert_eq!(journal.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn an_account_refuses_what_it_can_t_have() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let append = async |facts: Vec<SessionFact>| {
        let batch = SessionBatch {
            at: guildhall_kernel::Millis(1),
            facts,
            texts: vec![(invoice(), INVOICE.into())],
            done: None,
        };
        journal.append_session(&session, batch).await
    };
    let funded = SessionFact::Funded { money: sat(10), root: None, payment: None };
    let requested = SessionFact::Requested { root: Path::root(1), money: sat(11), prices: invoice() };
    let refused = append(vec![funded.clone(), requested]).await.unwrap_err();
    assert!(matches!(refused, JournalError::Account { .. }), "{refused}");
    assert_eq!(journal.account(&id()).await.unwrap(), []);
    append(vec![funded]).await.unwrap();
    let payment = Some(hash(1));
    let paid = append(vec![SessionFact::Funded { money: sat(10), root: None, payment }]).await.unwrap_err();
    assert!(matches!(paid, JournalError::Account { .. }), "{paid}");
    assert_eq!(free(&journal).await, sat(10));
}

#[tokio::test]
async fn a_fee_is_earned_with_the_facts_of_its_step_or_not_at_all() {
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    ask(&journal, vec![connected()]).await.unwrap();
    let contract = Path::root(1).hire(1);
    let closing = |number| Batch {
        treasury: Some(TreasuryBatch { at: UnixMs(9), facts: vec![earned(1)], texts: vec![] }),
        ..batch(&contract, vec![fact(number), Fact::Closing(Outcome::Done)])
    };
    journal.append(&session, closing(1)).await.unwrap();
    let again = journal.append(&session, closing(2)).await.unwrap_err();
    assert!(matches!(again, JournalError::Treasury(_)), "{again}");
    assert_eq!(journal.facts(&id(), 1).await.unwrap().len(), 2);
    assert_eq!(journal.treasury().await.unwrap().len(), 2);
    assert_eq!(journal.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn a_changed_treasury_is_reported() {
    let changes = [
        "UPDATE treasury_fact SET body = replace(body, '100000', '900000') WHERE n = 2",
        "UPDATE treasury_fact SET at = 1 WHERE n = 3",
        "UPDATE treasury_fact SET v = 2 WHERE n = 3",
        "UPDATE treasury_fact SET payment = NULL WHERE n = 2",
        "DELETE FROM treasury_fact WHERE n = 3",
        "DELETE FROM treasury_fact",
        "UPDATE treasury_head SET facts = 2",
        "UPDATE treasury_lease SET epoch = 9",
        "DELETE FROM treasury_lease",
    ];
    for sql in changes {
        let dir = tempdir().unwrap();
        let (journal, session) = begin(dir.path()).await;
        let lease = fund(&journal, &session, 100).await;
        tamper(dir.path(), sql);
        let found = journal.verify_hall().await.unwrap();
        assert!(found.iter().any(|broken| matches!(broken, HallBroken::Treasury { .. })), "{sql}: {found:?}");
        if sql.contains("treasury_fact") {
            // A process that starts now adds nothing to a damaged chain.
            drop(lease);
            let other = Journal::open(dir.path()).unwrap();
            let why = ask(&other, vec![TreasuryFact::Payouts { allowed: true }]).await.unwrap_err();
            assert!(matches!(why, JournalError::TreasuryDamaged { .. }), "{sql}: {why}");
        }
    }
    let dir = tempdir().unwrap();
    let (journal, session) = begin(dir.path()).await;
    let _lease = fund(&journal, &session, 100).await;
    tamper(dir.path(), "DELETE FROM treasury_fact; DELETE FROM treasury_head; DELETE FROM treasury_lease");
    assert_eq!(journal.verify_hall().await.unwrap(), [HallBroken::SessionHeads], "the hall's head covers the treasury");
}
