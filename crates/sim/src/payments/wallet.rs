//! The wallet of the simulated hall: the truth about who paid what. `replies.rs` says how the wallet lies about it.
//!
//! The payment hash is honoured: two requests for one invoice never pay twice. A request arrives within [`FLIGHT_MAX`], and a
//! payment that the wallet reports as failed becomes a paid one only until [`TURN_MAX`] after its invoice expired. The hall
//! relies on nothing else.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use guildhall_kernel::{
    Hash, Invoice, Millis, Msat, Network, PaymentHash, Preimage, TextKind, TextRef, UnixMs, WalletId, WalletReply,
};
use sha2::{Digest, Sha256};

use crate::chance::Chance;
use crate::reach::Reach;

/// A request to pay arrives at the wallet within this time, also if its process was killed.
pub(super) const FLIGHT_MAX: Millis = Millis(8 * 60 * 1000);

/// A payment that is reported as failed becomes a paid one only within this time after its invoice expired.
pub(super) const TURN_MAX: Millis = Millis(9 * 60 * 1000);

/// The number of secrets that are computed in advance.
const SECRETS: u32 = 128;

/// How an invoice of somebody else is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// On the same server: without a fee, and also after the invoice expired.
    Internal,
    /// Over the network.
    External,
}

/// What the wallet did about an invoice of somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No request has arrived.
    Unseen,
    /// The payment is under way, for ever or until this moment.
    Pending(Option<UnixMs>, Then),
    /// The payment failed, and may become a paid one at this moment.
    Failed(Option<UnixMs>),
    Paid,
}

/// How a pending payment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Pays,
    Fails,
}

/// An invoice that the wallet made, for a session.
#[derive(Clone, Debug)]
pub(super) struct OwnInvoice {
    pub(super) preimage: Preimage,
    pub(super) money: Msat,
    pub(super) expires: UnixMs,
    pub(super) is_paid: bool,
    pub(super) at: UnixMs,
}

/// An invoice of somebody else.
#[derive(Clone, Debug)]
pub(super) struct Bill {
    pub(super) preimage: Preimage,
    pub(super) money: Msat,
    pub(super) fee: Msat,
    pub(super) expires: UnixMs,
    pub(super) route: Route,
    pub(super) state: State,
    pub(super) at: UnixMs,
    /// Until then, the wallet reports the paid invoice as failed.
    pub(super) hidden_until: UnixMs,
    /// Whether the wallet may still say once, after [`TURN_MAX`], that it has not paid.
    pub(super) has_late_lie: bool,
    /// Whether the wallet never again denies the payment.
    pub(super) is_admitted: bool,
}

impl Bill {
    /// Returns the moment after which a report that the payment was not made can be believed.
    pub(super) fn turns_until(&self) -> UnixMs {
        self.expires.after(TURN_MAX)
    }
}

/// A request to pay that left its process and has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The payment that the invoice in the request asks for.
    pub(super) payment: PaymentHash,
    pub(super) attempt: u32,
    pub(super) left: UnixMs,
    /// The process that sent it.
    pub(super) worker: u32,
}

/// The wallet.
pub(super) struct Wallet {
    pub(super) id: WalletId,
    pub(super) other: WalletId,
    pub(super) own: BTreeMap<PaymentHash, OwnInvoice>,
    pub(super) bills: BTreeMap<PaymentHash, Bill>,
    pub(super) flights: Vec<Flight>,
    /// How often the wallet lies: once in this many replies. 0: never.
    pub(super) lies: u32,
    secrets: u32,
}

impl Wallet {
    pub(super) fn new(lies: u32) -> Wallet {
        let id = |name: &str| WalletId::parse(name).expect("a valid id");
        let (own, bills) = (BTreeMap::new(), BTreeMap::new());
        Wallet { id: id("ours"), other: id("theirs"), own, bills, flights: Vec::new(), lies, secrets: 0 }
    }

    /// Makes an invoice of our wallet.
    pub(super) fn invoice(&mut self, money: Msat, expires: UnixMs, at: UnixMs) -> Invoice {
        let (preimage, payment) = self.next_secret();
        self.own.insert(payment, OwnInvoice { preimage, money, expires, is_paid: false, at });
        Invoice { payment, money: Some(money), network: Network::Regtest, expires, text: text(payment) }
    }

    /// Makes an invoice of somebody else.
    pub(super) fn bill(&mut self, money: Msat, expires: UnixMs, route: Route) -> Invoice {
        let (preimage, payment) = self.next_secret();
        let bill = Bill {
            preimage,
            money,
            fee: Msat::ZERO,
            expires,
            route,
            state: State::Unseen,
            at: UnixMs(0),
            hidden_until: UnixMs(0),
            has_late_lie: true,
            is_admitted: false,
        };
        self.bills.insert(payment, bill);
        Invoice { payment, money: Some(money), network: Network::Regtest, expires, text: text(payment) }
    }

    fn next_secret(&mut self) -> (Preimage, PaymentHash) {
        self.secrets += 1;
        secret(self.secrets)
    }

    /// Somebody pays an invoice of our wallet. A second payment is refused.
    pub(super) fn pay_own(&mut self, payment: PaymentHash) -> bool {
        match self.own.get_mut(&payment) {
            Some(invoice) if !invoice.is_paid => {
                invoice.is_paid = true;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Somebody else who has the key of the wallet pays.
    pub(super) fn pay_stranger(&mut self, money: Msat, at: UnixMs, state: State) -> PaymentHash {
        let payment = self.bill(money, at.after(Millis(600_000)), Route::External).payment;
        let bill = self.bills.get_mut(&payment).expect("it was made in the line above");
        (bill.state, bill.at) = (state, at);
        payment
    }

    /// Returns whether the wallet can still make this payment without another request.
    pub(super) fn can_pay(&self, payment: PaymentHash) -> bool {
        let is_on_its_way = self.flights.iter().any(|flight| flight.payment == payment);
        let can_turn = self.bills.get(&payment).is_some_and(|bill| match bill.state {
            State::Unseen | State::Failed(None) => false,
            State::Pending(..) | State::Failed(Some(_)) | State::Paid => true,
        });
        is_on_its_way || can_turn
    }

    pub(super) fn has_paid(&self, payment: PaymentHash) -> bool {
        self.bills.get(&payment).is_some_and(|bill| bill.state == State::Paid)
    }

    /// Time passes: late requests arrive, pending payments end, and failed ones become paid ones.
    pub(super) fn pass_time(&mut self, now: UnixMs, chance: &mut Chance, reach: &mut Reach) {
        let (late, flights): (Vec<_>, Vec<_>) =
            self.flights.drain(..).partition(|flight| flight.left.after(FLIGHT_MAX) <= now);
        self.flights = flights;
        for flight in late {
            // Its reply has nobody who waits for it.
            self.arrive(flight, flight.left.after(FLIGHT_MAX), chance, reach);
        }
        for bill in self.bills.values_mut() {
            match bill.state {
                State::Pending(Some(until), Then::Pays) if until <= now => bill.state = State::Paid,
                State::Pending(Some(until), Then::Fails) if until <= now => bill.state = State::Failed(None),
                State::Failed(Some(at)) if at <= now => {
                    reach.count("wallet failed, then paid");
                    bill.state = State::Paid;
                }
                State::Unseen | State::Pending(..) | State::Failed(_) | State::Paid => {}
            }
        }
    }

    /// A request arrives. Returns what the wallet replies.
    pub(super) fn arrive(&mut self, flight: Flight, at: UnixMs, chance: &mut Chance, reach: &mut Reach) -> WalletReply {
        let lies = self.lies > 0;
        let Some(bill) = self.bills.get_mut(&flight.payment) else { return WalletReply::Unclear };
        let is_expired = at >= bill.expires;
        if bill.state != State::Unseen {
            reach.count("wallet request repeated");
            if lies && flight.attempt > 1 && chance.one_in(4) {
                reach.count("wallet refused a request after an earlier one");
                return WalletReply::Refused;
            }
            return self.reply_to_send(flight.payment, at, chance, reach);
        }
        let mut what = if lies { chance.weighted(&[6, 3, 3, 2, 1]) } else { 0 };
        if is_expired && bill.route == Route::External {
            what = 4;
        }
        bill.at = at;
        if bill.route == Route::External {
            bill.fee = Msat::capped(u128::from(chance.pick(&[0_u32, 500, 2_000, 50_000])));
        }
        match what {
            0 => {
                bill.state = State::Paid;
                if is_expired {
                    reach.count("wallet paid after the end of the invoice");
                }
                if lies && chance.one_in(4) {
                    reach.count("wallet paid, and reports failed");
                    let seconds = u64::from(chance.pick(&[30_u32, 300, 3_000]));
                    bill.hidden_until = at.after(Millis(seconds * 1000)).min(bill.turns_until());
                }
            }
            1 => {
                let then = chance.pick(&[Then::Pays, Then::Pays, Then::Fails]);
                let seconds = chance.pick(&[2_u32, 60, 1_200, 7_200, 0]);
                let until = (seconds > 0).then(|| at.after(Millis(u64::from(seconds) * 1000)));
                if until.is_none() {
                    reach.count("wallet pending for ever");
                }
                bill.state = State::Pending(until, then);
            }
            2 => {
                let seconds = u64::from(chance.pick(&[0_u32, 2, 100, 900, 9_000]));
                let turns = at.after(Millis(seconds * 1000)).min(bill.turns_until());
                bill.state = State::Failed((turns > at && seconds > 0).then_some(turns));
            }
            3 => {
                reach.count("wallet refused a request");
                if self.flights.iter().any(|other| other.payment == flight.payment) {
                    reach.count("wallet refused while a request is on its way");
                }
                return WalletReply::Refused;
            }
            _ => {
                reach.count("wallet forgot a request");
                return WalletReply::Unclear;
            }
        }
        self.reply_to_send(flight.payment, at, chance, reach)
    }

    /// An old backup takes the place of the journal: requests of earlier processes have arrived, or never do, and the wallet has
    /// corrected its reports. Payments that the backup does not know and that failed stay failed.
    pub(super) fn settle_down(&mut self, now: UnixMs, knows: impl Fn(PaymentHash) -> bool) {
        self.flights.clear();
        for (payment, bill) in &mut self.bills {
            (bill.hidden_until, bill.is_admitted) = (now, true);
            if matches!(bill.state, State::Failed(_)) && !knows(*payment) {
                bill.state = State::Failed(None);
            }
        }
    }
}

/// The text of the invoice for a payment: a request pays the invoice that it contains.
pub(super) fn text(payment: PaymentHash) -> TextRef {
    TextRef { hash: payment.0, bytes: 200, kind: TextKind::Invoice }
}

/// Returns the secret with this number, and its hash.
fn secret(number: u32) -> (Preimage, PaymentHash) {
    static KNOWN: OnceLock<Vec<(Preimage, PaymentHash)>> = OnceLock::new();
    let make = |number: u32| {
        let mut preimage = [0; 32];
        preimage[..4].copy_from_slice(&number.to_le_bytes());
        (Preimage(Hash(preimage)), PaymentHash(Hash(Sha256::digest(preimage).into())))
    };
    let known = KNOWN.get_or_init(|| (0..SECRETS).map(make).collect());
    known.get(number as usize).copied().unwrap_or_else(|| make(number))
}
