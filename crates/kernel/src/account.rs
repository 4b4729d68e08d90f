//! The account of one quantity: every granted unit is available, held or spent. Money and heads follow the same law.

use crate::money::Quantity;

/// The amount of one quantity that a contract may use; `granted = available + held + spent` by construction.
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

    /// Returns the amount that new asks may hold.
    pub fn available(&self) -> Q {
        self.available
    }

    /// Returns the amount that open asks, the fee and the severance hold.
    pub fn held(&self) -> Q {
        self.held
    }

    /// Returns the amount that was spent.
    pub fn spent(&self) -> Q {
        self.spent
    }

    /// Returns the whole amount that was ever granted.
    pub fn granted(&self) -> Q {
        let unspent = self.available.plus(self.held).expect("an account never holds more than was granted");
        unspent.plus(self.spent).expect("an account never holds more than was granted")
    }

    /// Returns the granted amount that was not spent: a closed contract gives this amount back.
    pub fn change(&self) -> Q {
        self.available.plus(self.held).expect("an account never holds more than was granted")
    }

    /// Grants more; `None` if the sum would exceed the maximum.
    #[must_use]
    pub(crate) fn raised(self, by: Q) -> Option<Account<Q>> {
        self.granted().plus(by)?;
        Some(Account { available: self.available.plus(by)?, ..self })
    }

    /// Holds an amount; `None` if the amount is not available.
    #[must_use]
    pub(crate) fn hold(self, amount: Q) -> Option<Account<Q>> {
        Some(Account { available: self.available.minus(amount)?, held: self.held.plus(amount)?, ..self })
    }

    /// Ends a hold: `cost` is spent, the rest of the hold is available again. `None` if this account can't contain that
    /// hold.
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
    fn a_grant_beyond_the_supply_is_refused_also_after_spending() {
        let all = Account::new(Msat::SUPPLY);
        let spent = all
            .hold(Msat::SUPPLY)
            .and_then(|all| all.settle(Msat::SUPPLY, Msat::SUPPLY))
            .expect("the supply was available");
        assert_eq!(spent.raised(Msat::new(1).expect("small")), None);
        assert_eq!(spent.granted(), Msat::SUPPLY);
    }
}
