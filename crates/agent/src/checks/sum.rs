//! Sums: the numbers at one place of the structured output are added up and compared with a cap. A value that can't be added
//! fails the check. Otherwise a report could pass by leaving a price out.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::listed;
use crate::money::{DecimalError, Hundredths};
use crate::text::shortened;

/// How many amounts a failure shows.
const AMOUNTS_MAX: usize = 12;

/// The longest value that a failure shows, in characters.
const VALUE_CHARS_MAX: usize = 40;

/// A cap on the sum of the numbers at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    #[serde(deserialize_with = "read_place")]
    pub(super) of: String,
    pub(super) max: Hundredths,
}

fn read_place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    place(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Says that a text does not name a place in JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a place: write keys joined by dots, such as options.price_usd")]
pub struct SumError(pub String);

impl Sum {
    /// Caps the sum of the numbers at `of`: keys joined by dots. A list on the way is replaced by each of its items.
    pub fn new(of: &str, max: Hundredths) -> Result<Sum, SumError> {
        Ok(Sum { of: place(of)?, max })
    }

    pub(super) fn check(&self, output: &Value) -> Result<(), String> {
        let keys: Vec<&str> = self.of.split('.').collect();
        let mut amounts = Vec::new();
        add(output, &keys, "", &mut amounts)?;
        let of = &self.of;
        let sum = amounts.iter().try_fold(Hundredths::default(), |sum, amount| sum.plus(*amount));
        let sum = sum.ok_or_else(|| format!("The sum of {of} is too large; the cap is {}.", self.max))?;
        match sum.over(self.max) {
            None => Ok(()),
            Some(over) => Err(format!(
                "The sum of {of} is {sum} ({}), which is {over} over the cap of {}. Find options that cost less, or leave \
                 some out.",
                listed(&amounts, AMOUNTS_MAX, " + ", ToString::to_string),
                self.max
            )),
        }
    }
}

fn place(of: &str) -> Result<String, SumError> {
    let of = of.trim().to_owned();
    if of.split('.').any(str::is_empty) { Err(SumError(of)) } else { Ok(of) }
}

/// Collects the amounts at a place. `at` is the part of the place that leads to `value`.
fn add(value: &Value, keys: &[&str], at: &str, amounts: &mut Vec<Hundredths>) -> Result<(), String> {
    if let Value::Array(items) = value {
        return items.iter().zip(0..).try_for_each(|(item, index)| add(item, keys, &format!("{at}[{index}]"), amounts));
    }
    let Some((key, rest)) = keys.split_first() else {
        amounts.push(amount(value).map_err(|why| format!("At {at}: {why}."))?);
        return Ok(());
    };
    let within = if at.is_empty() { (*key).to_owned() } else { format!("{at}.{key}") };
    match value.get(key) {
        Some(value) => add(value, rest, &within, amounts),
        None => Err(format!("There is no {within} in your output: its amounts are needed for the sum.")),
    }
}

fn amount(value: &Value) -> Result<Hundredths, String> {
    let read = match value {
        Value::Number(number) => Hundredths::of(number),
        Value::String(text) => Hundredths::parse(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(DecimalError::NotANumber),
    };
    read.map_err(|why| format!("{} can't be added up, since {why}", shortened(&value.to_string(), VALUE_CHARS_MAX)))
}
