//! What the wallet says about a payment: the truth, or a lie that the hall must see through. Before [`Bill::turns_until`] the
//! wallet may deny a payment as often as it likes; after it, once for each payment.

use guildhall_kernel::{Msat, PaymentHash, Row, RowStatus, UnixMs, WalletReply};

use super::wallet::{Bill, OwnInvoice, State, Wallet};
use crate::chance::Chance;
use crate::reach::Reach;

/// A lie about a payment out of the wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Unclear,
    Pending,
    FalseAmount,
    WrongPreimage,
    NoPreimage,
    /// A row of another wallet, with the right preimage: somebody else paid this invoice, or it is the payee's row.
    OtherWallet,
    /// A row of our wallet with the amount of an incoming payment.
    Incoming,
    OtherPayment,
    Failed,
    NotFound,
}

const LIES: [Lie; 10] = [
    Lie::Unclear,
    Lie::Pending,
    Lie::FalseAmount,
    Lie::WrongPreimage,
    Lie::NoPreimage,
    Lie::OtherWallet,
    Lie::Incoming,
    Lie::OtherPayment,
    Lie::Failed,
    Lie::NotFound,
];

impl Lie {
    /// Whether the hall may conclude from this lie that the payment was not made.
    fn denies(self) -> bool {
        match self {
            Lie::OtherWallet | Lie::Incoming | Lie::OtherPayment | Lie::Failed | Lie::NotFound => true,
            Lie::Unclear | Lie::Pending | Lie::FalseAmount | Lie::WrongPreimage | Lie::NoPreimage => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Lie::Unclear => "lie unclear",
            Lie::Pending => "lie pending",
            Lie::FalseAmount => "lie wrong amount",
            Lie::WrongPreimage => "lie wrong preimage",
            Lie::NoPreimage => "lie no preimage",
            Lie::OtherWallet => "lie row of another wallet",
            Lie::Incoming => "lie positive amount",
            Lie::OtherPayment => "lie row of another payment",
            Lie::Failed => "lie failed",
            Lie::NotFound => "lie not found",
        }
    }
}

impl Wallet {
    fn draws_lie(&self, chance: &mut Chance) -> bool {
        self.lies > 0 && chance.one_in(self.lies)
    }

    /// Looks a payment up, in or out.
    pub(super) fn look_up(
        &mut self,
        payment: PaymentHash,
        now: UnixMs,
        chance: &mut Chance,
        reach: &mut Reach,
    ) -> WalletReply {
        let lies = self.draws_lie(chance);
        if let Some(invoice) = self.own.get(&payment) {
            let row = self.own_row(payment, invoice);
            return if lies { self.lie_about_own(row, chance, reach) } else { WalletReply::Found(row) };
        }
        if self.flights.iter().any(|flight| flight.payment == payment) {
            reach.count("wallet looked up while a request is on its way");
        }
        let lie = if lies { self.choose_lie(payment, now, chance) } else { None };
        match (lie, self.bills.get(&payment)) {
            (_, None) => WalletReply::NotFound,
            (Some(lie), Some(bill)) => {
                reach.count(lie.name());
                self.tell(lie, payment, bill)
            }
            (None, Some(bill)) => match self.true_row(payment, bill, now) {
                Some(row) => WalletReply::Found(row),
                None => WalletReply::NotFound,
            },
        }
    }

    /// What a request to pay returns, when the wallet has a row for it.
    pub(super) fn reply_to_send(
        &mut self,
        payment: PaymentHash,
        now: UnixMs,
        chance: &mut Chance,
        reach: &mut Reach,
    ) -> WalletReply {
        let lie = if self.draws_lie(chance) { self.choose_lie(payment, now, chance) } else { None };
        let Some(bill) = self.bills.get(&payment) else { return WalletReply::Unclear };
        if let Some(lie) = lie {
            reach.count(lie.name());
            return self.tell(lie, payment, bill);
        }
        self.true_row(payment, bill, now).map_or(WalletReply::Unclear, WalletReply::Found)
    }

    /// Chooses a lie that the hall can be expected to see through.
    fn choose_lie(&mut self, payment: PaymentHash, now: UnixMs, chance: &mut Chance) -> Option<Lie> {
        let lie = chance.pick(&LIES);
        let can_pay = self.can_pay(payment);
        let bill = self.bills.get_mut(&payment)?;
        if !lie.denies() || !can_pay {
            return Some(lie);
        }
        if bill.is_admitted {
            return None;
        }
        if now > bill.turns_until() {
            // One late denial: the reason why the hall asks twice.
            return std::mem::take(&mut bill.has_late_lie).then_some(lie);
        }
        Some(lie)
    }

    fn tell(&self, lie: Lie, payment: PaymentHash, bill: &Bill) -> WalletReply {
        let paid = self.paid_row(payment, bill);
        match lie {
            Lie::Unclear => WalletReply::Unclear,
            Lie::NotFound => WalletReply::NotFound,
            Lie::Pending => WalletReply::Found(Row { status: RowStatus::Pending, preimage: None, ..paid }),
            Lie::Failed => WalletReply::Found(Row { status: RowStatus::Failed, preimage: None, ..paid }),
            Lie::FalseAmount => WalletReply::Found(Row { money: more(paid.money), ..paid }),
            Lie::WrongPreimage => {
                let (preimage, hash) = self.other_secret(payment);
                WalletReply::Found(Row { preimage: Some((preimage, hash)), ..paid })
            }
            Lie::NoPreimage => WalletReply::Found(Row { preimage: None, ..paid }),
            Lie::OtherWallet => WalletReply::Found(Row { wallet: self.other.clone(), ..paid }),
            Lie::Incoming => WalletReply::Found(Row { is_outgoing: false, ..paid }),
            Lie::OtherPayment => WalletReply::Found(Row { payment: self.other_secret(payment).1, ..paid }),
        }
    }

    /// Returns a secret that is not the one of this payment.
    fn other_secret(&self, payment: PaymentHash) -> (guildhall_kernel::Preimage, PaymentHash) {
        let others = self.bills.iter().map(|(hash, bill)| (bill.preimage, *hash));
        let own = self.own.iter().map(|(hash, invoice)| (invoice.preimage, *hash));
        others.chain(own).find(|(_, hash)| *hash != payment).expect("the hall has an invoice")
    }

    fn paid_row(&self, payment: PaymentHash, bill: &Bill) -> Row {
        Row {
            payment,
            wallet: self.id.clone(),
            is_outgoing: true,
            money: bill.money,
            fee: bill.fee,
            status: RowStatus::Success,
            preimage: Some((bill.preimage, payment)),
            at: bill.at,
        }
    }

    /// Returns the row that the wallet shows when it does not choose to lie. A hidden payment is shown as failed.
    fn true_row(&self, payment: PaymentHash, bill: &Bill, now: UnixMs) -> Option<Row> {
        let paid = self.paid_row(payment, bill);
        match bill.state {
            State::Unseen => None,
            State::Pending(..) => Some(Row { status: RowStatus::Pending, preimage: None, ..paid }),
            State::Failed(_) => Some(Row { status: RowStatus::Failed, preimage: None, ..paid }),
            State::Paid if self.lies > 0 && now < bill.hidden_until => {
                Some(Row { status: RowStatus::Failed, preimage: None, ..paid })
            }
            State::Paid => Some(paid),
        }
    }

    fn own_row(&self, payment: PaymentHash, invoice: &OwnInvoice) -> Row {
        let status = if invoice.is_paid { RowStatus::Success } else { RowStatus::Pending };
        Row {
            payment,
            wallet: self.id.clone(),
            is_outgoing: false,
            money: invoice.money,
            fee: Msat::ZERO,
            status,
            preimage: None,
            at: invoice.at,
        }
    }

    fn lie_about_own(&self, row: Row, chance: &mut Chance, reach: &mut Reach) -> WalletReply {
        reach.count("lie about our invoice");
        let paid = Row { status: RowStatus::Success, ..row };
        match chance.below(7) {
            0 => WalletReply::Unclear,
            1 => WalletReply::NotFound,
            2 => WalletReply::Found(Row { status: RowStatus::Pending, ..paid }),
            3 => WalletReply::Found(Row { wallet: self.other.clone(), ..paid }),
            4 => WalletReply::Found(Row { is_outgoing: true, ..paid }),
            5 => WalletReply::Found(Row { money: more(paid.money), ..paid }),
            _ => WalletReply::Found(Row { payment: self.other_secret(paid.payment).1, ..paid }),
        }
    }

    /// Returns all payments, in and out. With lies, some rows are of another wallet, doubled, or wrong.
    pub(super) fn list(&self, since: UnixMs, now: UnixMs, chance: &mut Chance, reach: &mut Reach) -> WalletReply {
        if self.draws_lie(chance) && chance.one_in(2) {
            return WalletReply::Unclear;
        }
        let own = self.own.iter().map(|(payment, invoice)| self.own_row(*payment, invoice));
        let out = self.bills.iter().filter_map(|(payment, bill)| self.true_row(*payment, bill, now));
        // The server filters by its own clock, and may return older rows.
        let is_shown = |row: &Row| row.at >= since || self.lies > 0;
        let mut rows: Vec<Row> = own.chain(out).filter(is_shown).collect();
        if self.draws_lie(chance) {
            reach.count("lie in the list");
            let more_rows: Vec<Row> = rows.iter().map(|row| self.lie_in_list(row, chance)).collect();
            rows.extend(more_rows);
        }
        WalletReply::Listed(rows)
    }

    fn lie_in_list(&self, row: &Row, chance: &mut Chance) -> Row {
        let row = row.clone();
        match chance.below(3) {
            // Twice the same row.
            0 => row,
            1 => Row { wallet: self.other.clone(), status: RowStatus::Success, payment: row.payment, ..row },
            _ if !row.is_outgoing => Row { money: more(row.money), status: RowStatus::Success, ..row },
            _ => Row { wallet: self.other.clone(), payment: flipped(row.payment), ..row },
        }
    }
}

fn more(money: Msat) -> Msat {
    Msat::capped(u128::from(money.get()) + 1000)
}

/// A payment hash that nobody knows.
fn flipped(mut payment: PaymentHash) -> PaymentHash {
    payment.0.0[0] ^= 0xff;
    payment
}
