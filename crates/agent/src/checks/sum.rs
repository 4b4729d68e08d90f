//! Sums: numbers at a place of the structured output, added up and held against a cap. What can't be added is told, never
//! left out, or leaving a price out would be the way to pass.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::money::{DecimalError, Hundredths};

const TOLD_MAX: usize = 12;

/// The longest value that is told, in characters.
const VALUE_CHARS_MAX: usize = 40;

/// A cap on what the numbers at some place add up to.
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

/// Says that something is no place in JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no place: write keys joined by dots, such as options.price_usd")]
pub struct SumError(pub String);

impl Sum {
    /// Caps the sum of the numbers at `of`: keys joined by dots. Lists on the way are walked.
    pub fn new(of: &str, max: Hundredths) -> Result<Sum, SumError> {
        Ok(Sum { of: place(of)?, max })
    }

    pub(super) fn check(&self, output: &Value) -> Result<(), String> {
        let keys: Vec<&str> = self.of.split('.').collect();
        let mut amounts = Vec::new();
        add(output, &keys, "", &mut amounts)?;
        let of = &self.of;
        let sum = amounts.iter().try_fold(Hundredths::default(), |sum, amount| sum.plus(*amount));
        let sum = sum.ok_or_else(|| format!("The sum of {of} is too large to be told; the cap is {}.", self.max))?;
        match sum.over(self.max) {
            None => Ok(()),
            Some(over) => Err(format!(
                "The sum of {of} is {sum} ({}), which is {over} over the cap of {}. Find options that cost less, or leave \
                 some out.",
                told(&amounts),
                self.max
            )),
        }
    }
}

fn place(of: &str) -> Result<String, SumError> {
    let of = of.trim().to_owned();
    if of.split('.').any(str::is_empty) { Err(SumError(of)) } else { Ok(of) }
}

fn told(amounts: &[Hundredths]) -> String {
    let mut told: Vec<String> = amounts.iter().take(TOLD_MAX).map(ToString::to_string).collect();
    if amounts.len() > TOLD_MAX {
        told.push(format!("{} more", amounts.len() - TOLD_MAX));
    }
    told.join(" + ")
}

/// Collects the amounts at a place. `at` is how far it has come.
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
        None => Err(format!("There is no {within} in your output: its amounts must be there to be added up.")),
    }
}

fn amount(value: &Value) -> Result<Hundredths, String> {
    let read = match value {
        Value::Number(number) => Hundredths::of(number),
        Value::String(text) => Hundredths::parse(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(DecimalError::NotANumber),
    };
    read.map_err(|why| {
        let value: String = value.to_string().chars().take(VALUE_CHARS_MAX).collect();
        format!("{value} can't be added up, since {why}")
    })
}
