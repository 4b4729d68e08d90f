use super::*;
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

/// A row of our wallet with proof of a payment.
fn paid(number: u8, money: u64) -> Row {
    Row {
        payment: hash(number),
        wallet: wallet(),
        is_outgoing: true,
        money: sat(money),
        fee: sat(1),
        status: RowStatus::Success,
        preimage: Some((Preimage(Hash([number + 100; 32])), hash(number))),
        at: after(10),
    }
}

/// A treasurer with its facts, as a process has it.
struct Office {
    treasurer: Treasurer,
    stored: Vec<(TreasuryFact, UnixMs)>,
    now: UnixMs,
}

impl Office {
    /// An office that may pay, after it has read an empty list.
    fn new(facts: &[TreasuryFact]) -> Office {
        let stored: Vec<_> = facts.iter().map(|fact| (fact.clone(), START)).collect();
        let mut office = Office { treasurer: restored(&stored), stored, now: START };
        office.list(vec![]);
        office
    }

    /// The process is killed, and another one starts.
    fn restart(&mut self) {
        self.treasurer = restored(&self.stored);
        self.list(vec![]);
    }

    fn list(&mut self, rows: Vec<Row>) {
        let errands = self.treasurer.errands(self.now);
        assert!(matches!(errands.as_slice(), [Errand::List { .. }]), "the list comes first: {errands:?}");
        self.hear(&errands[0].clone(), &WalletReply::Listed(rows));
    }

    fn hear(&mut self, errand: &Errand, reply: &WalletReply) -> Vec<TreasuryFact> {
        let facts = self.treasurer.hear(errand, reply, self.now);
        for fact in &facts {
            self.treasurer.apply(fact, self.now).unwrap();
            self.stored.push((fact.clone(), self.now));
        }
        facts
    }

    fn later(&mut self, seconds: u64) {
        self.now = self.now.after(Millis(seconds * 1000));
    }

    fn errands(&self) -> Vec<Errand> {
        self.treasurer.errands(self.now).into_iter().filter(|errand| !matches!(errand, Errand::List { .. })).collect()
    }

    /// Performs the only errand, which must be a lookup.
    fn look_up(&mut self, reply: &WalletReply) -> Vec<TreasuryFact> {
        let errands = self.errands();
        assert!(matches!(errands.as_slice(), [Errand::LookUp { .. }]), "{errands:?}");
        self.hear(&errands[0].clone(), reply)
    }

    /// Performs the only errand, which must be a request to pay.
    fn send(&mut self, reply: &WalletReply) -> Vec<TreasuryFact> {
        let errands = self.errands();
        assert!(matches!(errands.as_slice(), [Errand::Send { .. }]), "{errands:?}");
        self.hear(&errands[0].clone(), reply)
    }
}

fn restored(stored: &[(TreasuryFact, UnixMs)]) -> Treasurer {
    let policy = Policy { can_pay: true, payees: vec![payee()], ..Policy::default() };
    Treasurer::new(Treasury::restore(stored.iter().cloned()).unwrap(), policy)
}

/// An office with a refund that was decided and not sent.
fn refund() -> Office {
    Office::new(&[connected(), wanted(1, Payer::Session(session()), 500)])
}

fn sending(attempt: u32) -> Vec<TreasuryFact> {
    vec![TreasuryFact::Sending { payment: hash(1), attempt }]
}

fn failed(why: FailedBecause) -> Vec<TreasuryFact> {
    vec![TreasuryFact::Failed { payment: hash(1), why }]
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
fn nothing_is_sent_before_a_lookup_and_a_stored_sending() {
    let mut office = refund();
    assert_eq!(office.look_up(&WalletReply::NotFound), sending(1));
    let done = office.send(&WalletReply::Found(paid(1, 500)));
    assert_eq!(done, [settled(1, 1)]);
    assert_eq!(office.errands(), []);
}

#[test]
fn a_sending_that_was_not_stored_sends_nothing() {
    let mut office = refund();
    let errands = office.errands();
    let facts = office.treasurer.hear(&errands[0], &WalletReply::NotFound, office.now);
    assert_eq!(facts, sending(1));
    assert!(!office.errands().iter().any(|errand| matches!(errand, Errand::Send { .. })));
}

#[test]
fn a_payment_that_was_made_before_the_first_request_is_settled_and_not_sent() {
    let mut office = refund();
    assert_eq!(office.look_up(&WalletReply::Found(paid(1, 500))), [settled(1, 1)]);
}

#[test]
fn only_the_first_request_can_be_refused() {
    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    assert_eq!(office.send(&WalletReply::Refused), failed(FailedBecause::Refused));

    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.send(&WalletReply::Unclear);
    office.later(5);
    assert_eq!(office.look_up(&WalletReply::NotFound), sending(2));
    assert_eq!(office.send(&WalletReply::Refused), [], "the first request may still be on its way");
}

#[test]
fn a_request_of_a_killed_process_is_looked_up_before_the_same_invoice_is_sent_again() {
    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.restart();
    assert_eq!(office.look_up(&WalletReply::NotFound), sending(2));
    office.restart();
    assert_eq!(office.look_up(&WalletReply::Found(paid(1, 500))), [settled(1, 1)]);
}

#[test]
fn a_row_proves_a_payment_only_if_everything_in_it_fits() {
    let row = paid(1, 500);
    let wrong = [
        Row { wallet: WalletId::parse("w2").unwrap(), ..row.clone() },
        Row { is_outgoing: false, ..row.clone() },
        Row { money: sat(499), ..row.clone() },
        Row { payment: hash(2), ..row.clone() },
        Row { preimage: None, ..row.clone() },
        Row { preimage: Some((Preimage(Hash([1; 32])), hash(2))), ..row.clone() },
        Row { status: RowStatus::Pending, ..row.clone() },
        Row { status: RowStatus::Failed, ..row },
    ];
    for row in wrong {
        let mut office = refund();
        office.look_up(&WalletReply::NotFound);
        assert_eq!(office.send(&WalletReply::Found(row.clone())), [], "{row:?}");
        office.later(1);
        assert_eq!(office.look_up(&WalletReply::Found(row.clone())), [], "{row:?}");
        assert_eq!(office.treasurer.treasury().payment(hash(1)).unwrap().end, None);
    }
}

#[test]
fn an_unknown_payment_fails_only_long_after_its_invoice_expired_and_after_two_lookups() {
    let unpaid = [
        WalletReply::NotFound,
        WalletReply::Found(Row { status: RowStatus::Failed, ..paid(1, 500) }),
        WalletReply::Found(Row { wallet: WalletId::parse("w2").unwrap(), ..paid(1, 500) }),
    ];
    for reply in unpaid {
        let mut office = refund();
        office.look_up(&WalletReply::NotFound);
        office.send(&WalletReply::Unclear);
        office.now = after(600 + 599);
        assert_eq!(office.look_up(&reply), [], "too early: {reply:?}");
        office.now = after(600 + 700);
        assert_eq!(office.look_up(&reply), [], "once is not enough: {reply:?}");
        office.later(1);
        assert_eq!(office.errands(), [], "the second lookup comes later");
        office.later(5);
        assert_eq!(office.look_up(&reply), failed(FailedBecause::Expired), "{reply:?}");
    }
}

#[test]
fn a_lookup_counts_from_the_moment_at_which_it_was_asked_for() {
    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.send(&WalletReply::Unclear);
    office.now = after(30);
    let errands = office.errands();
    // The machine sleeps before it reads the reply.
    office.treasurer.hear(&errands[0], &WalletReply::NotFound, after(30));
    office.now = after(600 + 700);
    assert_eq!(office.look_up(&WalletReply::NotFound), [], "the first lookup after the end of the invoice");
    office.later(6);
    assert_eq!(office.look_up(&WalletReply::NotFound), failed(FailedBecause::Expired));
}

#[test]
fn a_lookup_that_shows_a_payment_under_way_counts_again_from_the_beginning() {
    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.send(&WalletReply::Unclear);
    office.now = after(2000);
    assert_eq!(office.look_up(&WalletReply::NotFound), []);
    office.later(60);
    assert_eq!(office.look_up(&WalletReply::Found(Row { status: RowStatus::Pending, ..paid(1, 500) })), []);
    office.later(60);
    assert_eq!(office.look_up(&WalletReply::NotFound), [], "the first of two");
    office.later(60);
    assert_eq!(office.look_up(&WalletReply::Unclear), [], "no reply proves nothing");
    office.later(60);
    assert_eq!(office.look_up(&WalletReply::NotFound), failed(FailedBecause::Expired));
}

#[test]
fn a_payment_that_failed_at_the_wallet_is_not_sent_again_and_can_still_settle() {
    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.send(&WalletReply::Unclear);
    let failed = WalletReply::Found(Row { status: RowStatus::Failed, ..paid(1, 500) });
    for _ in 0..3 {
        office.later(60);
        assert_eq!(office.look_up(&failed), []);
    }
    office.later(60);
    assert_eq!(office.look_up(&WalletReply::Found(paid(1, 500))), [settled(1, 1)]);
}

#[test]
fn a_payment_that_never_left_fails_as_soon_as_its_invoice_has_expired() {
    let mut office = refund();
    office.now = after(601);
    assert_eq!(office.look_up(&WalletReply::NotFound), failed(FailedBecause::Expired));
}

#[test]
fn a_failed_row_waits_for_its_end_also_if_an_old_backup_knows_of_no_request() {
    let mut office = refund();
    let failed_row = WalletReply::Found(Row { status: RowStatus::Failed, ..paid(1, 500) });
    office.now = after(601);
    assert_eq!(office.look_up(&failed_row), [], "the wallet can turn it into a paid one");
    office.now = after(600 + 700);
    assert_eq!(office.look_up(&failed_row), []);
    office.later(6);
    assert_eq!(office.look_up(&failed_row), failed(FailedBecause::Expired));
}

#[test]
fn a_request_that_was_prepared_does_not_leave_after_its_invoice_expired() {
    let mut office = refund();
    assert_eq!(office.look_up(&WalletReply::NotFound), sending(1));
    // The machine sleeps before the request leaves. LNbits pays expired invoices of its own wallets, so a late request could
    // pay after two lookups have shown nothing.
    office.now = after(600 + 700);
    assert_eq!(office.look_up(&WalletReply::NotFound), []);
    office.later(6);
    assert_eq!(office.look_up(&WalletReply::NotFound), failed(FailedBecause::Expired));
}

#[test]
fn an_invoice_is_credited_once_and_also_after_it_expired() {
    let row = Row { is_outgoing: false, fee: Msat::ZERO, ..paid(1, 50) };
    let received = [TreasuryFact::Received { payment: hash(1) }];
    let mut office = Office::new(&[connected(), invoiced(1, 50)]);
    for wrong in [
        Row { money: sat(49), ..row.clone() },
        Row { status: RowStatus::Pending, ..row.clone() },
        Row { wallet: WalletId::parse("w2").unwrap(), ..row.clone() },
        Row { is_outgoing: true, ..row.clone() },
    ] {
        assert_eq!(office.look_up(&WalletReply::Found(wrong)), []);
        office.later(2);
    }
    office.now = after(4000);
    assert_eq!(office.look_up(&WalletReply::Found(row.clone())), received);
    office.later(60);
    assert_eq!(office.errands(), []);

    // A process that starts later finds it in the list.
    let mut office = Office::new(&[connected(), invoiced(1, 50)]);
    office.treasurer = restored(&office.stored);
    office.now = after(40 * 86_400);
    office.list(vec![row.clone(), row]);
    assert_eq!(office.stored.last().unwrap().0, received[0]);
}

#[test]
fn a_payment_that_this_hall_does_not_know_stops_all_payments_until_a_person_allows_them() {
    let facts = [connected(), earned(1, 500), TreasuryFact::Payouts { allowed: true }];
    let refund = wanted(1, Payer::Session(session()), 500);
    let mut office = Office::new(&[&facts[..], &[refund]].concat());
    office.treasurer = restored(&office.stored);
    let old = Row { at: UnixMs(START.0 - 120_000), ..paid(7, 5) };
    let failed = Row { status: RowStatus::Failed, ..paid(8, 5) };
    office.list(vec![old, failed, paid(9, 5), paid(9, 5)]);
    assert_eq!(office.stored.last().unwrap().0, TreasuryFact::Frozen { payment: hash(9) });
    assert_eq!(office.stored.len(), 5, "one of four: {:?}", office.stored);
    assert_eq!(office.look_up(&WalletReply::NotFound), [], "the refund waits, too");

    let allowed = TreasuryFact::Payouts { allowed: true };
    office.treasurer.apply(&allowed, office.now).unwrap();
    office.stored.push((allowed, office.now));
    office.treasurer = restored(&office.stored);
    office.list(vec![paid(9, 5)]);
    assert_eq!(office.treasurer.treasury().frozen().count(), 0, "a person has accepted this payment");
}

#[test]
fn a_request_waits_for_a_list_that_can_freeze_payments() {
    let mut office = refund();
    // The list is due again after ten minutes. The invoice is valid for longer than that in this test.
    office.stored[1].0 = TreasuryFact::Wanted {
        payment: hash(1),
        from: Payer::Session(session()),
        money: sat(500),
        fee_max: sat(5),
        expires: after(3600),
        invoice: text(),
    };
    office.restart();
    assert_eq!(office.look_up(&WalletReply::NotFound), sending(1));
    office.later(700);
    assert_eq!(office.errands(), [], "only the list");
    office.list(vec![paid(9, 5)]);
    assert_eq!(office.treasurer.treasury().frozen().count(), 1);
    assert!(!office.errands().iter().any(|errand| matches!(errand, Errand::Send { .. })));
}

/// An office with a payee that is owed this much.
fn owing(money: u64) -> Office {
    Office::new(&[connected(), TreasuryFact::Payouts { allowed: true }, earned(1, money)])
}

#[test]
fn a_payee_is_paid_in_whole_sats_within_the_limits() {
    for (owed, amount) in [(99, None), (100, Some(98)), (1000, Some(990)), (5000, Some(2000))] {
        let money = amount.map(|amount| Errand::AskPayee { payee: payee(), money: sat(amount) });
        assert_eq!(owing(owed).errands(), Vec::from_iter(money), "{owed} sat");
    }
    let mut office = owing(500);
    let errands = office.errands();
    assert_eq!(office.hear(&errands[0], &WalletReply::Invoice(invoice(1, 494))), [], "another amount than asked for");
    office.later(60);
    let facts = office.hear(&errands[0], &WalletReply::Invoice(invoice(1, 495)));
    assert_eq!(facts, [wanted(1, Payer::Payee(payee()), 495)]);
}

#[test]
fn payouts_wait_for_a_person_a_key_and_a_configured_payee() {
    let stopped = Office::new(&[connected(), earned(1, 500)]);
    assert_eq!(stopped.errands(), [], "payouts are off by default");
    let allowed = Policy { can_pay: true, payees: vec![payee()], ..Policy::default() };
    for policy in [Policy { can_pay: false, ..allowed.clone() }, Policy { payees: vec![], ..allowed }] {
        let mut office = owing(500);
        office.treasurer = Treasurer::new(office.treasurer.treasury().clone(), policy);
        office.list(vec![]);
        assert_eq!(office.errands(), []);
    }
}

#[test]
fn only_the_process_that_asks_the_wallet_decides_to_pay_a_payee() {
    assert!(wanted(1, Payer::Payee(payee()), 100).needs_lease(), "it keeps to the sum of a day");
    assert!(!wanted(1, Payer::Session(session()), 100).needs_lease(), "any process can be asked for a refund");
}

#[test]
fn payees_get_no_more_than_the_daily_sum() {
    let mut office = owing(50_000);
    for number in 1..=10 {
        let errands = office.errands();
        office.hear(&errands[0].clone(), &WalletReply::Invoice(invoice(number, 2000)));
        office.look_up(&WalletReply::NotFound);
        office.send(&WalletReply::Found(paid(number, 2000)));
        office.later(30);
    }
    assert_eq!(office.errands(), [], "20,000 sat were paid");
    office.later(86_400);
    assert_eq!(office.errands(), [Errand::AskPayee { payee: payee(), money: sat(2000) }]);
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
