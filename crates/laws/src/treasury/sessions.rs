//! Compares the treasury with one session: every payment is in both, and every fee that a payee earned is the fee of an
//! accepted report.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use guildhall_kernel::{Brief, Context, Path, Payer, PaymentHash, SessionFact, SessionId, Standing, WalletId};

use super::violation::{Found, MoneyPlace, TreasuryViolation};
use super::{Incoming, Named, Outgoing, Payment, TreasuryChecker};
use crate::account::{MoneyKind, SessionSums};
use crate::checker::Checker;
use crate::contract::{Contract, Kind, Phase};
use crate::purse::wide;

impl TreasuryChecker {
    /// Compares the treasury with one session, and returns every rule that is broken. The checker must have observed all
    /// facts of the session's contracts, and this one all facts of the treasury. Each session is checked once; nothing of
    /// it is kept except sums. [`Checker::check_account`] checks the account itself.
    pub fn check_session(
        &mut self,
        session: &SessionId,
        contracts: &Checker,
        account: &[SessionFact],
    ) -> Vec<TreasuryViolation> {
        let nothing = Named::default();
        let named = self.sessions.get(session).unwrap_or(&nothing);
        let found = Found::in_place(MoneyPlace::Session(session.clone()));
        let mut check = Comparison { treasury: self, session, named, found, seen: Seen::default() };
        let mut spent = (SessionSums::default(), 0);
        match MoneyKind::of(account) {
            MoneyKind::Play => check.check_play(),
            MoneyKind::Wallet => {
                check.check_account(account);
                check.check_payments();
                check.check_fees(contracts);
                spent = (contracts.check_account(account).0, spent_by_contracts(contracts));
                check.check_sums(&spent.0);
            }
        }
        let found = check.found.into_list();
        add(&mut self.checked, &spent.0);
        self.spent_by_contracts += spent.1;
        if let Some(named) = self.sessions.get_mut(session) {
            named.is_checked = true;
        }
        found
    }
}

/// The comparison of the treasury with one session.
struct Comparison<'a> {
    treasury: &'a TreasuryChecker,
    session: &'a SessionId,
    named: &'a Named,
    found: Found,
    seen: Seen,
}

/// The payments that the account names, by the kind of the fact.
#[derive(Default)]
struct Seen {
    funded: BTreeSet<PaymentHash>,
    withdrawing: BTreeSet<PaymentHash>,
    withdrawn: BTreeSet<PaymentHash>,
}

impl Comparison<'_> {
    fn check_play(&mut self) {
        let n = self.named.n;
        self.found.demand(n == 0, format_args!("the session has play money, but treasury fact {n} names it"));
    }

    fn check_account(&mut self, account: &[SessionFact]) {
        for (seq, fact) in (1..).zip(account) {
            self.found.go_to(MoneyPlace::Account { session: self.session.clone(), seq });
            match fact {
                SessionFact::Opened { wallet } => self.opened(wallet),
                SessionFact::Funded { money, payment: Some(payment), root: _ } => self.funded(*payment, wide(*money)),
                SessionFact::Withdrawing { payment, money } => self.withdrawing(*payment, wide(*money)),
                SessionFact::Withdrawn { payment, spent } => self.withdrawn(*payment, wide(*spent)),
                // The account's own check finds money without a payment.
                SessionFact::Funded { payment: None, .. }
                | SessionFact::Returned { .. }
                | SessionFact::Granted { .. }
                | SessionFact::Requested { .. }
                | SessionFact::Corrected { .. }
                | SessionFact::Ended { .. } => {}
            }
        }
    }

    fn opened(&mut self, wallet: &WalletId) {
        match &self.treasury.wallet {
            Some((connected, _)) => {
                let same = wallet == connected;
                self.found
                    .demand(same, format_args!("the session is of wallet {wallet}, but the hall has {connected}"));
            }
            None => self.found.broken(format_args!("the session is of wallet {wallet}, but the hall has no wallet")),
        }
    }

    fn funded(&mut self, payment: PaymentHash, money: i128) {
        let first = self.seen.funded.insert(payment);
        self.found.demand(first, format_args!("payment {payment} funds the session twice"));
        let Some(Payment::Incoming(Incoming { session, money: invoiced, received })) =
            self.treasury.payments.get(&payment)
        else {
            return self.found.broken(format_args!("payment {payment} funds the session, but has no invoice"));
        };
        self.found.demand(
            session == self.session,
            format_args!("payment {payment} funds the session, but its invoice is for session {session}"),
        );
        self.found.demand(
            received.is_some(),
            format_args!("payment {payment} funds the session, but the wallet has not received it"),
        );
        let same = money == *invoiced;
        self.found.demand(
            same,
            format_args!("payment {payment} funds the session with {money} msat, but its invoice is for {invoiced}"),
        );
    }

    fn withdrawing(&mut self, payment: PaymentHash, money: i128) {
        let first = self.seen.withdrawing.insert(payment);
        self.found.demand(first, format_args!("money is set aside twice for payment {payment}"));
        let Some(wanted) = self.wanted(payment) else {
            return self.found.broken(format_args!("payment {payment} was not wanted by this session"));
        };
        let due = wanted.hold();
        self.found.demand(
            money == due,
            format_args!("{money} msat are set aside for payment {payment}, but it may cost {due}"),
        );
    }

    fn withdrawn(&mut self, payment: PaymentHash, spent: i128) {
        let first = self.seen.withdrawn.insert(payment);
        self.found.demand(first, format_args!("payment {payment} ends twice in the account"));
        let Some(end) = self.wanted(payment).and_then(|wanted| wanted.end) else {
            return self.found.broken(format_args!("payment {payment} has not ended in the treasury"));
        };
        let due = end.cost;
        self.found.demand(
            spent == due,
            format_args!("payment {payment} takes {spent} msat from the session, but it cost {due}"),
        );
    }

    /// Returns a payment that this session wanted.
    fn wanted(&self, payment: PaymentHash) -> Option<&Outgoing> {
        match self.treasury.payments.get(&payment)? {
            Payment::Outgoing(wanted) if self.is_mine(&wanted.from) => Some(wanted),
            Payment::Outgoing(_) | Payment::Incoming(_) | Payment::Unknown => None,
        }
    }

    fn is_mine(&self, payer: &Payer) -> bool {
        match payer {
            Payer::Session(session) => session == self.session,
            Payer::Payee(_) => false,
        }
    }

    /// Checks that the account has each of the treasury's payments for this session.
    fn check_payments(&mut self) {
        let session = self.session;
        for payment in &self.named.payments {
            match self.treasury.payments.get(payment) {
                Some(Payment::Incoming(incoming)) if incoming.session == *self.session => {
                    let Some(n) = incoming.received else { continue };
                    let is_there = self.seen.funded.contains(payment);
                    self.miss(n, is_there, format_args!("payment {payment} was received, but does not fund {session}"));
                }
                Some(Payment::Outgoing(wanted)) if self.is_mine(&wanted.from) => {
                    let is_there = self.seen.withdrawing.contains(payment);
                    self.miss(wanted.n, is_there, format_args!("{session} sets nothing aside for payment {payment}"));
                    let Some(end) = wanted.end else { continue };
                    let is_there = self.seen.withdrawn.contains(payment);
                    self.miss(end.n, is_there, format_args!("payment {payment} ended, but not in {session}"));
                }
                // The payment hash was used before, for something else. That is a violation of its own.
                Some(Payment::Incoming(_) | Payment::Outgoing(_) | Payment::Unknown) | None => {}
            }
        }
    }

    /// Adds a violation of the treasury's fact `n` unless its counterpart is there.
    fn miss(&mut self, n: u64, is_there: bool, what: fmt::Arguments<'_>) {
        self.found.go_to(MoneyPlace::Treasury(n));
        self.found.demand(is_there, what);
    }

    fn check_fees(&mut self, contracts: &Checker) {
        for contract in &contracts.tree.contracts {
            self.check_brief(&contract.brief);
            for brief in not_opened(contract) {
                self.check_brief(brief);
            }
            self.check_paid(contract);
        }
        for (contract, earned) in &self.named.earned {
            let paid = contracts.tree.find(contract).map_or(0, |at| fee_paid(&contracts.tree.contracts[at]));
            let session = self.session;
            self.miss(
                earned.n,
                paid > 0,
                format_args!("contract {contract} of {session} earned a fee, but no accepted report of it paid one"),
            );
        }
    }

    /// Checks that a brief may have a fee: its agent has a payee, its report is checked, and it is no fork and not ad hoc.
    fn check_brief(&mut self, brief: &Brief) {
        if wide(brief.fee) == 0 {
            return;
        }
        self.at_contract(&brief.path);
        self.found.demand(brief.payee.is_some(), format_args!("the brief has a fee, but no payee"));
        self.found.demand(!brief.checks.is_empty(), format_args!("the brief has a fee, but no check"));
        match &brief.context {
            Context::Fork { .. } => self.found.broken(format_args!("the brief of a fork has a fee")),
            Context::Fresh | Context::After { .. } => {}
        }
        match brief.standing {
            Standing::AdHoc => self.found.broken(format_args!("the brief of an ad-hoc agent has a fee")),
            Standing::Listed => {}
        }
    }

    /// Checks that the fee that a report paid was earned by the payee.
    fn check_paid(&mut self, contract: &Contract) {
        let paid = fee_paid(contract);
        if paid == 0 {
            return;
        }
        self.at_contract(contract.path());
        let Some(earned) = self.named.earned.get(contract.path()) else {
            return self.found.broken(format_args!("the report paid a fee of {paid} msat, but nobody earned it"));
        };
        let (n, money, payee) = (earned.n, earned.money, &earned.payee);
        self.found.demand(
            money == paid,
            format_args!("the report paid a fee of {paid} msat, but treasury fact {n} has {money}"),
        );
        let same = contract.brief.payee.as_deref() == Some(payee);
        self.found.demand(
            same,
            format_args!("treasury fact {n} gives the fee to {payee}, which is not the payee of the brief"),
        );
    }

    fn at_contract(&mut self, contract: &Path) {
        self.found.go_to(MoneyPlace::Contract { session: self.session.clone(), contract: contract.clone() });
    }

    fn check_sums(&mut self, sums: &SessionSums) {
        self.found.go_to(MoneyPlace::Session(self.session.clone()));
        let mut received = 0;
        for payment in &self.named.payments {
            if let Some(Payment::Incoming(incoming)) = self.treasury.payments.get(payment)
                && incoming.session == *self.session
                && incoming.received.is_some()
            {
                received += incoming.money;
            }
        }
        let funded = sums.funded;
        self.found.demand(
            received == funded,
            format_args!("the wallet received {received} msat for the session, but the account has {funded}"),
        );
    }
}

/// Returns the briefs of the hires that have not opened yet. After that, the contract has the same brief.
fn not_opened(contract: &Contract) -> impl Iterator<Item = &Arc<Brief>> {
    contract.asks.iter().filter_map(|asked| match &asked.kind {
        Kind::Hire(hired) if hired.child.is_none() => Some(&hired.brief),
        Kind::Hire(_)
        | Kind::Model { .. }
        | Kind::Tool
        | Kind::Check(_)
        | Kind::Question { .. }
        | Kind::Draw { .. }
        | Kind::Tell { .. } => None,
    })
}

/// Returns the fee that a contract's report paid.
fn fee_paid(contract: &Contract) -> i128 {
    match &contract.phase {
        Phase::Closed(report) => wide(report.fee),
        Phase::Working | Phase::Closing(_) => 0,
    }
}

/// Returns the money that a session's contracts spent, whether they have reported or not.
fn spent_by_contracts(contracts: &Checker) -> i128 {
    contracts.roots().map(|root| root.all.parts.total()).sum()
}

fn add(to: &mut SessionSums, more: &SessionSums) {
    let SessionSums { funded, credited, at_work, spent, reserved, estimated, set_aside, withdrawn } = more;
    to.funded += funded;
    to.credited += credited;
    to.at_work += at_work;
    to.spent += spent;
    to.reserved += reserved;
    to.estimated += estimated;
    to.set_aside += set_aside;
    to.withdrawn += withdrawn;
}
