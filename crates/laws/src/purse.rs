//! The checker's own arithmetic: accounts and ceilings. 128 bits and signed, so that a broken journal gives a negative
//! number and not a panic.

use guildhall_kernel::{Brief, Cost, LAST_OUTPUT_TOKENS, LAST_TOKENS_MIN, MAX_TOKENS_MIN, Msat, Tariff};

/// An account of money in millisatoshis, or of heads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    pub(crate) granted: i128,
    pub(crate) available: i128,
    pub(crate) held: i128,
    pub(crate) spent: i128,
}

impl Account {
    pub(crate) fn new(granted: i128) -> Account {
        Account { granted, available: granted, held: 0, spent: 0 }
    }

    pub(crate) fn grow(&mut self, by: i128) {
        self.granted += by;
        self.available += by;
    }

    pub(crate) fn hold(&mut self, amount: i128) {
        self.available -= amount;
        self.held += amount;
    }

    pub(crate) fn release(&mut self, amount: i128) {
        self.hold(-amount);
    }

    pub(crate) fn settle(&mut self, hold: i128, charge: i128) {
        self.held -= hold;
        self.available += hold - charge;
        self.spent += charge;
    }

    pub(crate) fn is_sound(&self) -> bool {
        let parts = [self.available, self.held, self.spent];
        parts.iter().all(|part| *part >= 0) && parts.iter().sum::<i128>() == self.granted
    }
}

/// Returns the number of millisatoshis as 128 bits.
pub(crate) fn wide(amount: Msat) -> i128 {
    i128::from(amount.get())
}

/// Returns the maximum cost of a call with these tokens, rounded up once.
pub(crate) fn ceiling(tariff: &Tariff, input: u64, output: u32) -> i128 {
    let input = u128::from(input) * u128::from(tariff.input.get());
    let output = u128::from(output) * u128::from(tariff.output.get());
    let whole = (input + output) / 1_000_000;
    let price = if (input + output) % 1_000_000 == 0 { whole } else { whole + 1 };
    i128::try_from(price).unwrap_or(i128::MAX).min(wide(Msat::SUPPLY))
}

/// Returns the minimum number of output tokens of a request.
pub(crate) fn output_least(tariff: &Tariff) -> u32 {
    if tariff.max_tokens < MAX_TOKENS_MIN { tariff.max_tokens } else { MAX_TOKENS_MIN }
}

/// Returns the least money that pays for a last request.
pub(crate) fn last_least(tariff: &Tariff) -> i128 {
    ceiling(tariff, LAST_TOKENS_MIN, tariff.max_tokens.min(LAST_OUTPUT_TOKENS))
}

/// Returns the least money that a contract can begin with: one small turn, its severance and its fee.
pub(crate) fn minimum(brief: &Brief) -> i128 {
    let input = brief.opening_bytes.saturating_add(brief.context.tokens());
    ceiling(&brief.tariff, input, output_least(&brief.tariff)) + wide(brief.severance) + wide(brief.fee)
}

/// Returns the charge for an answer: its cost, at most the hold.
pub(crate) fn charge(cost: Cost, hold: i128) -> i128 {
    match cost {
        Cost::Known(cost) | Cost::Estimated(cost) if wide(cost) < hold => wide(cost),
        Cost::Known(_) | Cost::Estimated(_) | Cost::Unknown => hold,
    }
}

#[cfg(test)]
mod tests {
    use guildhall_kernel::{Cost, Msat, Tariff};

    use super::{Account, ceiling, charge};

    #[test]
    fn a_ceiling_is_rounded_up_once_and_capped_by_the_supply() {
        let tariff = |input, output| Tariff {
            input: Msat::new(input).unwrap(),
            output: Msat::new(output).unwrap(),
            max_tokens: 4096,
        };
        assert_eq!(ceiling(&tariff(1, 1), 1, 1), 1);
        assert_eq!(ceiling(&tariff(0, 0), 7, 7), 0);
        assert_eq!(ceiling(&tariff(3_000_000, 15_000_000), 1000, 100), 4500);
        assert_eq!(ceiling(&tariff(3_000_001, 15_000_000), 1000, 100), 4501);
        let all = Msat::SUPPLY.get();
        assert_eq!(ceiling(&tariff(all, all), u64::MAX, u32::MAX), i128::from(all));
    }

    #[test]
    fn a_charge_is_never_more_than_its_hold() {
        assert_eq!(charge(Cost::Known(Msat::new(3).unwrap()), 5), 3);
        assert_eq!(charge(Cost::Known(Msat::new(7).unwrap()), 5), 5);
        assert_eq!(charge(Cost::Unknown, 5), 5);
    }

    #[test]
    fn an_overdrawn_account_is_not_sound() {
        let mut account = Account::new(10);
        account.hold(4);
        account.settle(4, 3);
        assert!(account.is_sound());
        account.hold(8);
        assert!(!account.is_sound());
    }
}
