//! The sums of the treasury, and their check against the sums of all sessions: no msat is created or lost.

use guildhall_kernel::{PayeeName, Payer};

use super::violation::{Found, MoneyPlace, TreasuryViolation};
use super::{Payment, TreasuryChecker};
use crate::account::SessionSums;
use crate::purse::Account;

/// The money of one payee, in millisatoshis. Signed, because a broken account may be overdrawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayeeSums {
    /// All fees that the payee earned: `earned = owed + held + paid`.
    pub earned: i128,
    /// The money that no payment has taken yet.
    pub owed: i128,
    /// The money that is set aside for a payment that has not ended.
    pub held: i128,
    /// The money that payments took, with their routing fees.
    pub paid: i128,
}

impl From<Account> for PayeeSums {
    fn from(account: Account) -> PayeeSums {
        let Account { granted: earned, available: owed, held, spent: paid } = account;
        PayeeSums { earned, owed, held, paid }
    }
}

/// The sums of the treasury and of the sessions that were checked, in millisatoshis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreasurySums {
    /// The money that the wallet received for sessions.
    pub received: i128,
    /// The money that left the wallet, with all routing fees.
    pub sent: i128,
    /// The part of `sent` that no session and no payee pays: routing fees above their limits.
    pub paid_by_house: i128,
    /// The money of all payees together.
    pub payees: PayeeSums,
    /// The accounts of the checked sessions of the wallet together.
    pub sessions: SessionSums,
}

impl TreasuryChecker {
    /// Returns the money of each payee, in the order of their names.
    pub fn payees(&self) -> impl Iterator<Item = (&PayeeName, PayeeSums)> {
        self.payees.iter().map(|(name, account)| (name, PayeeSums::from(*account)))
    }

    /// Adds everything up.
    pub fn sums(&self) -> TreasurySums {
        let mut sums = TreasurySums { sessions: self.checked, ..TreasurySums::default() };
        for payment in self.payments.values() {
            match payment {
                Payment::Incoming(incoming) if incoming.received.is_some() => sums.received += incoming.money,
                Payment::Outgoing(outgoing) => {
                    if let Some(end) = outgoing.end {
                        sums.sent += end.left;
                        sums.paid_by_house += end.left - end.cost;
                    }
                }
                Payment::Incoming(_) | Payment::Unknown => {}
            }
        }
        for (_, payee) in self.payees() {
            sums.payees.earned += payee.earned;
            sums.payees.owed += payee.owed;
            sums.payees.held += payee.held;
            sums.payees.paid += payee.paid;
        }
        sums
    }

    /// Returns every rule that is broken when all sessions were checked: sessions that the treasury names and that do not
    /// exist, and sums that differ. After a check of only some of the sessions, these rules can't be checked.
    pub fn at_end(&self) -> Vec<TreasuryViolation> {
        let mut found = Found::in_place(MoneyPlace::Hall);
        for (session, named) in self.sessions.iter().filter(|(_, named)| !named.is_checked) {
            found.go_to(MoneyPlace::Session(session.clone()));
            found.broken(format_args!("treasury fact {} names this session, but it does not exist", named.n));
        }
        found.go_to(MoneyPlace::Hall);
        self.check_sums(&mut found);
        found.into_list()
    }

    fn check_sums(&self, found: &mut Found) {
        let TreasurySums { received, payees, sessions, .. } = self.sums();
        let (credited, free) = (sessions.credited, sessions.free());
        let SessionSums { at_work, spent, set_aside, withdrawn, .. } = sessions;
        let has = free + at_work + spent + set_aside + withdrawn;
        found.demand(
            received + credited == has,
            format_args!(
                "the wallet received {received} msat and {credited} were credited, but the sessions account for {has}"
            ),
        );
        let (aside, left) = self.taken_from_sessions();
        found.demand(
            aside == set_aside,
            format_args!("payments hold {aside} msat of the sessions, but {set_aside} are set aside"),
        );
        found.demand(
            left == withdrawn,
            format_args!("payments took {left} msat from the sessions, but {withdrawn} were withdrawn"),
        );
        let (earned, spent) = (payees.earned, self.spent_by_contracts);
        found.demand(earned <= spent, format_args!("payees earned {earned} msat, but the sessions spent only {spent}"));
    }

    /// Returns the money that the payments of sessions hold, and the money that they took.
    fn taken_from_sessions(&self) -> (i128, i128) {
        let (mut aside, mut left) = (0, 0);
        for payment in self.payments.values() {
            let Payment::Outgoing(outgoing) = payment else { continue };
            let Payer::Session(_) = &outgoing.from else { continue };
            match outgoing.end {
                None => aside += outgoing.hold(),
                Some(end) => left += end.cost,
            }
        }
        (aside, left)
    }
}
