//! One account of one quantity: what was granted is available, held or spent. Money and heads obey this same law.

use crate::money::Quantity;

/// What a contract may use of one quantity; `granted = available + held + spent` by construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account<Q> {
    available: Q,
    held: Q,
    spent: Q,
}

impl<Q: Quantity> Account<Q> {
    pub(crate) fn new(granted: Q) -> Account<Q> {
        Account { available: granted, held: Q::ZERO, spent: Q::ZERO }
    }

    /// What may still be held.
    pub fn available(&self) -> Q {
        self.available
    }

    /// What open asks, the fee and the severance hold.
    pub fn held(&self) -> Q {
        self.held
    }

    /// What was used up.
    pub fn spent(&self) -> Q {
        self.spent
    }

    /// Everything that was ever put in.
    pub fn granted(&self) -> Q {
        let unspent = self.available.plus(self.held).expect("an account never holds more than was granted");
        unspent.plus(self.spent).expect("an account never holds more than was granted")
    }

    /// What was put in and not used: what a closed contract gives back.
    pub fn change(&self) -> Q {
        self.available.plus(self.held).expect("an account never holds more than was granted")
    }

    /// Puts more in; `None` if there can't be so much.
    #[must_use]
    pub(crate) fn raised(self, by: Q) -> Option<Account<Q>> {
        self.granted().plus(by)?;
        Some(Account { available: self.available.plus(by)?, ..self })
    }

    /// Sets an amount aside; `None` if it is not available.
    #[must_use]
    pub(crate) fn hold(self, amount: Q) -> Option<Account<Q>> {
        Some(Account { available: self.available.minus(amount)?, held: self.held.plus(amount)?, ..self })
    }

    /// Ends a hold: `cost` of it is spent, the rest is available again. `None` if no such hold can exist.
    #[must_use]
    pub(crate) fn settle(self, hold: Q, cost: Q) -> Option<Account<Q>> {
        let rest = hold.minus(cost)?;
        Some(Account {
            available: self.available.plus(rest)?,
            held: self.held.minus(hold)?,
            spent: self.spent.plus(cost)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Account;
    use crate::money::Msat;

    #[test]
    fn no_more_is_put_in_than_there_is_also_after_some_was_spent() {
        let all = Account::new(Msat::SUPPLY);
        let spent =
            all.hold(Msat::SUPPLY).and_then(|all| all.settle(Msat::SUPPLY, Msat::SUPPLY)).expect("it was there");
        assert_eq!(spent.raised(Msat::new(1).expect("small")), None);
        assert_eq!(spent.granted(), Msat::SUPPLY);
    }
}
