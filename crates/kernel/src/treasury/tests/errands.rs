//! Tests of what the treasurer asks, and of what follows from the replies.

use super::*;

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

/// The policy of a process that can pay.
fn policy() -> Policy {
    Policy { can_pay: true, payees: vec![payee()], ..Policy::default() }
}

fn restored(stored: &[(TreasuryFact, UnixMs)]) -> Treasurer {
    Treasurer::new(Treasury::restore(stored.iter().cloned()).unwrap(), policy())
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
    office.later(2);
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
    let unpaid = [WalletReply::NotFound, WalletReply::Found(Row { status: RowStatus::Failed, ..paid(1, 500) })];
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
fn a_row_of_another_wallet_ends_only_a_payment_that_was_never_sent() {
    let foreign = WalletReply::Found(Row { wallet: WalletId::parse("w2").unwrap(), ..paid(1, 500) });
    let mut office = refund();
    office.now = after(601);
    assert_eq!(office.look_up(&foreign), failed(FailedBecause::Expired), "no request has left");

    let mut office = refund();
    office.look_up(&WalletReply::NotFound);
    office.send(&WalletReply::Unclear);
    office.now = after(600 + 700);
    for _ in 0..3 {
        assert_eq!(office.look_up(&foreign), [], "it says nothing about the request of this hall");
        office.later(3600);
    }
}

#[test]
fn a_process_without_the_key_knows_that_another_one_may_pay() {
    let keyless = |facts: &[TreasuryFact]| Treasurer::new(treasury(facts), Policy { can_pay: false, ..policy() });
    let allowed = TreasuryFact::Payouts { allowed: true };
    assert!(!keyless(&[connected(), earned(1, 500)]).lacks_key(), "payouts are off");
    assert!(!keyless(&[connected(), allowed.clone(), earned(1, 99)]).lacks_key(), "too little is owed");
    assert!(keyless(&[connected(), allowed.clone(), earned(1, 500)]).lacks_key());
    let refund = [connected(), wanted(1, Payer::Session(session()), 10)];
    assert!(keyless(&refund).lacks_key());
    assert!(!Treasurer::new(treasury(&refund), policy()).lacks_key(), "this process has the key");
    let stranger = Policy { payees: Vec::new(), ..policy() };
    let owing = treasury(&[connected(), allowed, earned(1, 500)]);
    assert!(Treasurer::new(owing, stranger).lacks_key(), "this process can't ask the payee");
}

#[test]
fn a_payment_that_is_never_made_is_sent_less_and_less_often_also_by_new_processes() {
    let mut office = refund();
    let mut sent = Vec::new();
    for second in 0..120 {
        office.now = after(second);
        // Each second, a process starts that knows only the stored facts.
        office.treasurer = restored(&office.stored);
        office.list(vec![]);
        if !office.look_up(&WalletReply::NotFound).is_empty() {
            office.send(&WalletReply::Unclear);
            sent.push(second);
        }
    }
    assert_eq!(sent, [0, 2, 6, 14, 30, 62]);
}

#[test]
fn an_invoice_that_somebody_waits_for_is_looked_up_often_among_many() {
    let facts: Vec<_> = (1..=11).map(|number| invoiced(number, 5)).collect();
    let mut office = Office::new(&[&[connected()], &facts[..]].concat());
    office.treasurer.watch_closely(hash(7));
    let mut looks = vec![0; 12];
    for _ in 0..20 {
        for errand in office.errands() {
            let Errand::LookUp { payment } = &errand else { panic!("{errand:?}") };
            looks[usize::from(payment.0.0[0])] += 1;
            office.hear(&errand, &WalletReply::Unclear);
        }
        office.later(2);
    }
    assert_eq!((looks[7], looks[1]), (20, 2), "{looks:?}");
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
fn a_payment_that_this_hall_does_not_know_stops_all_payments_until_a_person_accepts_it() {
    let facts = [connected(), earned(1, 500), TreasuryFact::Payouts { allowed: true }];
    let refund = wanted(1, Payer::Session(session()), 500);
    let mut office = Office::new(&[&facts[..], &[refund]].concat());
    office.treasurer = restored(&office.stored);
    let old = Row { at: UnixMs(START.0 - 120_000), ..paid(7, 5) };
    let failed = Row { status: RowStatus::Failed, ..paid(8, 5) };
    office.list(vec![old, failed, paid(9, 5), paid(9, 5)]);
    let frozen = |number| (TreasuryFact::Frozen { payment: hash(number) }, office.now);
    assert_eq!(
        office.stored[4..],
        [frozen(8), frozen(9)],
        "a failed row can turn into a paid one, and an old one is old"
    );
    assert_eq!(office.look_up(&WalletReply::NotFound), [], "the refund waits, too");

    let accepted = |number| TreasuryFact::Accepted { payment: hash(number) };
    let steps = [TreasuryFact::Payouts { allowed: true }, accepted(9), accepted(8)];
    for (fact, still_frozen) in steps.into_iter().zip([2, 1, 0]) {
        office.treasurer.apply(&fact, office.now).unwrap();
        office.stored.push((fact, office.now));
        assert_eq!(office.treasurer.treasury().frozen().count(), still_frozen, "each payment is accepted by itself");
    }
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
    for policy in [Policy { can_pay: false, ..policy() }, Policy { payees: vec![], ..policy() }] {
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
