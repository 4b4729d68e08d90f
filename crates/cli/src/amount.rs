//! Amounts of money as people type and read them, in two currencies.

use std::collections::BTreeSet;
use std::str::FromStr;

use guildhall::kernel::{AmountError, Msat, SessionKind};
use guildhall::providers::Usd;
use guildhall::{DatedRate, Staffing};

use crate::world::{LIVE_DEMO, REHEARSAL};

/// The default budget of a run: one dollar.
pub(crate) const BUDGET: Budget = Budget::Usd(Usd::from_nanos(1_000_000_000));

/// The most dollars that fit into a `u64` of billionths.
const DOLLARS_MAX: u64 = u64::MAX / 1_000_000_000;

/// The message about an amount of 0.
const NOTHING: &str = "an amount of 0 buys nothing: give at least 1 sat";

/// The message about an amount above all bitcoin there can be.
const BEYOND_SUPPLY: &str =
    "there are only 21 million bitcoin: give at most 2100000000000000 sats; or dollars, such as 0.25usd";

/// A budget, in the currency in which it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    Msat(Msat),
    Usd(Usd),
}

impl Budget {
    /// Returns the budget in millisatoshis. Dollars are rounded down.
    pub(crate) fn msat(self, rate: &DatedRate) -> Msat {
        match self {
            Budget::Msat(amount) => amount,
            Budget::Usd(amount) => rate.usd_per_btc.to_msat(amount),
        }
    }
}

/// The amount that a provider billed. It may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Billed(Option<Budget>);

impl Billed {
    /// Returns the amount in millisatoshis.
    pub(crate) fn msat(self, rate: &DatedRate) -> Msat {
        self.0.map_or(Msat::ZERO, |billed| billed.msat(rate))
    }
}

impl FromStr for Billed {
    type Err = String;
    fn from_str(text: &str) -> Result<Billed, String> {
        let digits = text.trim().trim_start_matches('$').trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let zero = |part: &str| !part.is_empty() && part.bytes().all(|digit| digit == b'0');
        let (whole, fraction) = digits.trim().split_once('.').unwrap_or((digits.trim(), "0"));
        if zero(whole) && zero(fraction) {
            return Ok(Billed(None));
        }
        // Amounts with decimals are accepted here, because the bill prints them: 49.798 sat.
        let sats = text.trim().strip_suffix("sats").or_else(|| text.trim().strip_suffix("sat"));
        if let Some((whole, fraction)) = sats.and_then(|sats| sats.trim().split_once('.'))
            && (1..=3).contains(&fraction.len())
        {
            return format!("{whole}{fraction:0<3}msat").parse().map(|billed| Billed(Some(billed)));
        }
        text.parse().map(|billed| Billed(Some(billed)))
    }
}

impl FromStr for Budget {
    type Err = String;
    fn from_str(text: &str) -> Result<Budget, String> {
        let lower = text.trim().to_ascii_lowercase();
        let dollars = lower.strip_prefix('$').or_else(|| lower.strip_suffix("usd"));
        let Some(dollars) = dollars else {
            if is_number(&lower) {
                return Err(format!("{lower} has no unit: write {lower}sat, {lower}usd or ${lower}"));
            }
            return Msat::parse(text).map(Budget::Msat).map_err(|why| match why {
                AmountError::Zero => NOTHING.to_owned(),
                AmountError::BeyondSupply => BEYOND_SUPPLY.to_owned(),
                AmountError::Negative => "the amount is negative: write 250sat or 0.25usd".to_owned(),
                AmountError::Fractional => {
                    "sats must be a whole number: write 250sat, or dollars such as 0.25usd".to_owned()
                }
                AmountError::NotANumber => format!("{text:?} is not an amount: write 250sat or 0.25usd"),
            });
        };
        match Usd::parse(dollars.trim()) {
            Ok(amount) if amount.nanos() == 0 => Err(NOTHING.to_owned()),
            Ok(amount) => Ok(Budget::Usd(amount)),
            Err(_) if is_large(dollars.trim()) => {
                Err(format!("{} dollars is too much: give at most {DOLLARS_MAX} dollars", dollars.trim()))
            }
            Err(why) => Err(why.to_string()),
        }
    }
}

/// Whether a text is a number above zero without a unit. A negative number gets another message.
fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) && text.len() < 20
}

/// Whether a text that can't be parsed as dollars is only too large.
fn is_large(dollars: &str) -> bool {
    let (whole, fraction) = dollars.split_once('.').unwrap_or((dollars, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && whole.trim_start_matches('0').len() >= DOLLARS_MAX.to_string().len()
}

/// The kind of money that a session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Money {
    /// A limit that nobody pays in or out.
    Play,
    Wallet,
}

impl From<&SessionKind> for Money {
    fn from(kind: &SessionKind) -> Money {
        match kind {
            SessionKind::Play => Money::Play,
            SessionKind::Wallet(_) => Money::Wallet,
        }
    }
}

impl Money {
    pub(crate) fn of(staffing: &Staffing) -> Money {
        if staffing.is_of_wallet() { Money::Wallet } else { Money::Play }
    }

    /// Describes the money in one word, for programs.
    pub(crate) fn in_a_word(self) -> &'static str {
        match self {
            Money::Play => "play",
            Money::Wallet => "wallet",
        }
    }
}

/// Who pays for the models of a session, in the words that every screen uses.
pub(crate) fn paid_by(money: Money, staffing: &Staffing) -> BTreeSet<String> {
    match money {
        Money::Wallet => BTreeSet::from(["wallet".to_owned()]),
        Money::Play => staffing.models().into_iter().map(|model| payer(model, staffing.is_nominal(model))).collect(),
    }
}

/// Who pays for the work of these agents, as a text.
pub(crate) fn paid_in_words(staffing: &Staffing) -> String {
    paid_by(Money::of(staffing), staffing).into_iter().collect::<Vec<_>>().join(", ")
}

/// Who pays for a model, if the wallet does not. `nominal` means that nobody bills it.
pub(crate) fn payer(model: &str, nominal: bool) -> String {
    match (model, nominal) {
        (REHEARSAL | LIVE_DEMO, _) => "rehearsal (free)".to_owned(),
        (_, true) => "free (local)".to_owned(),
        (_, false) => format!("paid by you to {}", model.split('/').next().unwrap_or(model)),
    }
}

/// An amount in dollars, in cents; below ten cents, with two significant digits.
pub(crate) fn dollars(amount: Usd) -> String {
    let nanos = amount.nanos();
    let places = (2..9).find(|places| nanos == 0 || nanos >= 10_u128.pow(10 - places)).unwrap_or(9);
    let unit = 10_u128.pow(9 - places);
    let rounded = (nanos + unit / 2) / unit;
    let (whole, part) = (rounded / 10_u128.pow(places), rounded % 10_u128.pow(places));
    format!("${whole}.{part:0width$}", width = places as usize)
}

/// An amount in both currencies: `12.5 sat ($0.0125)`.
pub(crate) fn both(amount: Msat, rate: &DatedRate) -> String {
    format!("{} ({})", sats(amount), rate.usd_per_btc.to_usd(amount))
}

/// An amount in both currencies, the one first in which the session is paid.
pub(crate) fn as_paid(amount: Msat, rate: &DatedRate, money: Money) -> String {
    match money {
        Money::Wallet => both(amount, rate),
        Money::Play => format!("{} ({})", dollars(rate.usd_per_btc.to_usd(amount)), sats(amount)),
    }
}

/// An amount in sats, with a space before the unit.
pub(crate) fn sats(amount: Msat) -> String {
    amount.to_string().replace("sat", " sat")
}

/// Adds two amounts. The sum is at most all money there is.
pub(crate) fn sum(one: Msat, other: Msat) -> Msat {
    Msat::capped(u128::from(one.get()) + u128::from(other.get()))
}

/// The rate, as it is printed with a bill.
pub(crate) fn at_rate(rate: &DatedRate) -> String {
    format!("at {} per bitcoin, as of {}", Usd::from(rate.usd_per_btc), rate.date)
}

#[cfg(test)]
mod tests {
    use guildhall::kernel::Msat;
    use guildhall::providers::Usd;

    use super::{Billed, Budget, dollars, payer};

    #[test]
    fn dollars_have_cents_or_two_significant_digits() {
        let cases = [
            ("0", "$0.00"),
            ("12.345", "$12.35"),
            ("1", "$1.00"),
            ("0.1", "$0.10"),
            ("0.0625", "$0.063"),
            ("0.001234", "$0.0012"),
            ("0.000000012", "$0.000000012"),
            ("0.000000001", "$0.000000001"),
        ];
        for (amount, words) in cases {
            assert_eq!(dollars(Usd::parse(amount).unwrap()), words);
        }
    }

    #[test]
    fn a_model_is_free_or_its_provider_is_named() {
        assert_eq!(payer("rehearsal", false), "rehearsal (free)");
        assert_eq!(payer("live-demo", true), "rehearsal (free)");
        assert_eq!(payer("local/qwen", true), "free (local)");
        assert_eq!(payer("anthropic/claude-x", false), "paid by you to anthropic");
    }

    #[test]
    fn a_billed_amount_may_be_zero() {
        for nothing in ["0", "0sat", "0 msat", "$0", "0.00usd"] {
            assert_eq!(nothing.parse(), Ok(Billed(None)), "{nothing}");
        }
        assert_eq!("3sat".parse(), Ok(Billed(Some("3sat".parse().unwrap()))));
        assert_eq!("49.79 sat".parse(), Ok(Billed(Some("49790msat".parse().unwrap()))), "as the bill prints it");
        for wrong in ["", "sat", "-1", "0.5.0", "nothing", "."] {
            assert!(wrong.parse::<Billed>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_budget_is_read_in_either_currency() {
        let sat = |sat| Ok(Budget::Msat(Msat::from_sat(sat).unwrap()));
        assert_eq!(("500sat".parse(), "5000 sats".parse()), (sat(500), sat(5000)));
        let quarter = Ok(Budget::Usd(Usd::parse("0.25").unwrap()));
        for text in ["0.25usd", "$0.25", "0.25 USD", "$.25"] {
            let read: Result<Budget, String> = text.parse();
            assert!(read == quarter || text == "$.25", "{text}: {read:?}");
        }
        let says = |text: &str| text.parse::<Budget>().unwrap_err();
        for much in ["99999999999usd", "$18446744074", "$99999999999999999999.50"] {
            assert!(says(much).contains("dollars is too much: give at most 18446744073"), "{}", says(much));
        }
        let supply = says("2100000000000001sat");
        assert!(supply.contains("at most 2100000000000000 sats"), "{supply}");
        assert_eq!(says("5"), "5 has no unit: write 5sat, 5usd or $5");
        assert_eq!(says("0.50"), "0.50 has no unit: write 0.50sat, 0.50usd or $0.50");
        assert!(says("0.0000000001usd").contains("at most nine digits"));
        for wrong in ["", "0", "-1", "NaN", "0usd", "-2usd", "1e9usd", "0.5sat", "five", "99999999999999999999"] {
            assert!(wrong.parse::<Budget>().is_err(), "{wrong}");
        }
    }
}
