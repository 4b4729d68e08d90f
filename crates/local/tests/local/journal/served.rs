//! Sessions that a server makes for others: tokens, invoices in play money, and requests under a key.

use guildhall_kernel::{Hash, Millis, Msat, Path, SessionFact, SessionKind, TextKind, TextRef, WalletId};
use guildhall_local::{
    Cursor, Journal, JournalError, NewFunding, NewServed, RequestKey, Role, ServedError, SessionBatch, TOKENS_MAX,
    UnixMs,
};
use tempfile::tempdir;

use crate::journal::{batch, heard, id, new, text};

fn sat(sat: u64) -> Msat {
    Msat::from_sat(sat).unwrap()
}

fn hash(byte: u8) -> Hash {
    Hash([byte; 32])
}

fn key(byte: u8, request: u8) -> RequestKey {
    RequestKey { key: hash(byte), request: hash(request) }
}

fn served() -> NewServed {
    NewServed {
        session: new(id()),
        team: "demo".into(),
        owner: hash(1),
        funding: NewFunding::Play { money: sat(500), expires: UnixMs(10_000) },
        unpaid_max: 2,
        unpaid_since: UnixMs(0),
    }
}

async fn free(journal: &Journal) -> Msat {
    journal.folded_account(&id()).await.unwrap().free()
}

#[tokio::test]
async fn a_token_opens_its_session_until_it_is_revoked() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    let owner = journal.access(hash(1)).await.unwrap().expect("the token is known");
    assert_eq!((owner.session, owner.number, owner.role, owner.revoked_at), (id(), 1, Role::Owner, None));
    assert_eq!(journal.team_of(&id()).await.unwrap().as_deref(), Some("demo"));
    assert_eq!(journal.served_sessions().await.unwrap(), [(id(), "demo".to_owned())]);
    let number = journal.add_viewer(&id(), hash(2), UnixMs(5)).await.unwrap();
    assert_eq!((number, journal.access(hash(3)).await.unwrap()), (2, None));
    assert_eq!(journal.viewers(&id()).await.unwrap(), [(number, UnixMs(5))]);
    assert!(journal.revoke_viewer(&id(), number, UnixMs(6)).await.unwrap());
    assert_eq!(journal.viewers(&id()).await.unwrap(), []);
    assert!(journal.revoke_viewer(&id(), number, UnixMs(9)).await.unwrap(), "revoking twice is no error");
    let viewer = journal.access(hash(2)).await.unwrap().expect("a revoked token stays known");
    assert_eq!((viewer.role, viewer.revoked_at), (Role::Viewer, Some(UnixMs(6))));
    for wrong in [1, 3, u64::MAX] {
        assert!(!journal.revoke_viewer(&id(), wrong, UnixMs(9)).await.unwrap(), "{wrong} is not a viewer");
    }
    assert_eq!(journal.verify_hall().await.unwrap(), []);
}

#[tokio::test]
async fn a_session_has_a_limited_number_of_tokens() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    let token = |number: u64| Hash(*blake3::hash(&number.to_le_bytes()).as_bytes());
    for number in 1..TOKENS_MAX {
        journal.add_viewer(&id(), token(number), UnixMs(5)).await.unwrap();
    }
    let more = journal.add_viewer(&id(), token(0), UnixMs(5)).await;
    assert!(matches!(more, Err(JournalError::Served(ServedError::TooManyTokens { .. }))), "{more:?}");
    assert!(journal.revoke_viewer(&id(), 2, UnixMs(6)).await.unwrap());
    assert_eq!(journal.add_viewer(&id(), token(0), UnixMs(7)).await.unwrap(), TOKENS_MAX + 1);
}

#[tokio::test]
async fn a_play_invoice_counts_once_and_not_after_its_time() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    assert_eq!(free(&journal).await, Msat::ZERO);
    let settled = journal.settle_play_invoice(&id(), 1, UnixMs(9_000), None).await.unwrap();
    assert_eq!((settled.money, settled.paid_at), (sat(500), Some(UnixMs(9_000))));
    let again = journal.settle_play_invoice(&id(), 1, UnixMs(99_000), None).await.unwrap();
    assert_eq!((again, free(&journal).await), (settled, sat(500)));
    let second = journal.add_play_invoice(&id(), sat(20), UnixMs(10_000), None).await.unwrap();
    let late = journal.settle_play_invoice(&id(), second, UnixMs(10_001), None).await;
    assert!(matches!(late, Err(JournalError::Served(ServedError::InvoiceExpired { .. }))), "{late:?}");
    let unknown = journal.settle_play_invoice(&id(), 3, UnixMs(9_000), None).await;
    assert!(matches!(unknown, Err(JournalError::Served(ServedError::NoInvoice { .. }))), "{unknown:?}");
    assert_eq!(free(&journal).await, sat(500));
    assert!(journal.verify_chain(&id(), None).await.unwrap().is_ok());
}

#[tokio::test]
async fn sessions_without_money_are_limited_and_stop_counting_when_they_are_old_or_paid() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let make = |name: &str, at: u64, since: u64| {
        let session = guildhall_local::NewSession { created_at: UnixMs(at), ..new(name.parse().unwrap()) };
        let owner = Hash(*blake3::hash(name.as_bytes()).as_bytes());
        let served = NewServed { session, owner, unpaid_since: UnixMs(since), ..served() };
        let journal = journal.clone();
        async move { journal.create_served(served).await }
    };
    make("a-1", 100, 0).await.unwrap();
    make("a-2", 200, 0).await.unwrap();
    let third = make("a-3", 300, 0).await;
    assert!(matches!(third, Err(JournalError::Served(ServedError::TooManyUnpaid { most: 2 }))), "{third:?}");
    assert!(journal.access(Hash(*blake3::hash(b"a-3").as_bytes())).await.unwrap().is_none(), "nothing was stored");
    make("a-3", 300, 101).await.unwrap();
    assert!(make("a-4", 300, 101).await.is_err());
    journal.settle_play_invoice(&"a-2".parse().unwrap(), 1, UnixMs(400), None).await.unwrap();
    make("a-4", 300, 101).await.unwrap();
}

#[tokio::test]
async fn a_request_under_a_key_has_its_effect_once() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    journal.settle_play_invoice(&id(), 1, UnixMs(1), Some(key(1, 1))).await.unwrap();
    let used = |result: Result<u64, JournalError>| match result {
        Err(JournalError::Served(ServedError::KeyUsed { request, result })) => (request, result),
        other => panic!("{other:?}"),
    };
    assert_eq!(used(journal.put_once(&id(), &"stop", UnixMs(2), Some(key(1, 2))).await), (hash(1), "1".to_owned()));
    assert_eq!(journal.put_once(&id(), &"stop", UnixMs(2), Some(key(2, 2))).await.unwrap(), 1);
    assert_eq!(used(journal.put_once(&id(), &"stop", UnixMs(3), Some(key(2, 2))).await), (hash(2), "1".to_owned()));
    let lease = journal.lease(&id(), UnixMs(4)).await.unwrap();
    let prices = text("prices");
    let requested = SessionFact::Requested { root: Path::root(1), money: sat(100), prices: prices.0 };
    let request = SessionBatch { at: Millis(0), facts: vec![requested], texts: vec![prices], done: None };
    let root = || Some((key(3, 3), "1".to_owned()));
    journal.append_session_once(&lease, request.clone(), root()).await.unwrap();
    let again = journal.append_session_once(&lease, request, root()).await.map(|stored| stored.seqs.start);
    assert_eq!(used(again), (hash(3), "1".to_owned()));
    let invoice = journal.add_play_invoice(&id(), sat(5), UnixMs(9_000), Some(key(4, 4))).await.unwrap();
    let again = journal.add_play_invoice(&id(), sat(5), UnixMs(9_000), Some(key(4, 4))).await;
    assert_eq!((used(again), invoice), ((hash(4), "2".to_owned()), 2));
    assert_eq!(journal.result_of(&id(), hash(4)).await.unwrap(), Some((hash(4), "2".to_owned())));
    assert_eq!(journal.result_of(&id(), hash(9)).await.unwrap(), None);
    assert_eq!((free(&journal).await, journal.take_after(&id(), 0).await.unwrap().len()), (sat(400), 1));
}

#[tokio::test]
async fn free_play_money_goes_back_once_per_key() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    journal.settle_play_invoice(&id(), 1, UnixMs(1), None).await.unwrap();
    assert_eq!(journal.return_play_money(&id(), Some(key(1, 1))).await.unwrap(), sat(500));
    let again = journal.return_play_money(&id(), Some(key(1, 1))).await;
    assert!(matches!(again, Err(JournalError::Served(ServedError::KeyUsed { .. }))), "{again:?}");
    let account = journal.folded_account(&id()).await.unwrap();
    assert_eq!((account.free(), account.withdrawn()), (Msat::ZERO, sat(500)));
    let nothing = journal.return_play_money(&id(), None).await;
    assert!(matches!(nothing, Err(JournalError::Served(ServedError::NothingFree { .. }))), "{nothing:?}");
}

#[tokio::test]
async fn a_text_is_named_only_by_facts_of_its_session_and_settings_never_are() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    journal.create(new("other-heron".parse().unwrap())).await.unwrap();
    let lease = journal.lease(&id(), UnixMs(4)).await.unwrap();
    let facts = guildhall_local::Batch { texts: vec![text("hello")], ..batch(&Path::root(1), vec![heard("hello")]) };
    journal.append(&lease, facts).await.unwrap();
    journal.settle_play_invoice(&id(), 1, UnixMs(1), None).await.unwrap();
    let (of, bytes) = text("the settings");
    let prices = TextRef { kind: TextKind::Prices, ..of };
    let requested = SessionFact::Requested { root: Path::root(1), money: sat(1), prices };
    let request = SessionBatch { at: Millis(5), facts: vec![requested], texts: vec![(prices, bytes)], done: None };
    journal.append_session(&lease, request).await.unwrap();
    let (hello, other) = (text("hello").0, "other-heron".parse().unwrap());
    assert_eq!(journal.named_text(&id(), hello.hash).await.unwrap(), Some(hello));
    assert_eq!(journal.named_text(&other, hello.hash).await.unwrap(), None);
    assert_eq!(journal.named_text(&id(), prices.hash).await.unwrap(), None);
    assert_eq!(journal.named_text(&id(), hash(9)).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_with_the_money_of_a_wallet_begins_with_its_wallet() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    let wallet = WalletId::parse("11112222333344445555666677778888").unwrap();
    journal.create_served(NewServed { funding: NewFunding::Wallet(wallet.clone()), ..served() }).await.unwrap();
    assert_eq!(*journal.folded_account(&id()).await.unwrap().kind(), SessionKind::Wallet(wallet));
    assert_eq!(journal.play_invoices(&id()).await.unwrap(), []);
}

#[tokio::test]
async fn those_who_follow_a_session_see_its_play_money_come_and_go() {
    let dir = tempdir().unwrap();
    let journal = Journal::open(dir.path()).unwrap();
    journal.create_served(served()).await.unwrap();
    let mut events = journal.follow(&id(), Cursor::START);
    assert!(events.try_next().await.unwrap().is_none());
    journal.settle_play_invoice(&id(), 1, UnixMs(1), None).await.unwrap();
    journal.return_play_money(&id(), None).await.unwrap();
    for expected in ["0.1", "0.2"] {
        let event = events.next().await.unwrap();
        assert_eq!((event.id.to_string().as_str(), event.durable_at.is_some()), (expected, true));
    }
}
