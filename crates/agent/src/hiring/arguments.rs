//! The arguments of a call, as a model wrote them. A field that no tool has is ignored; a field of the wrong kind is refused by
//! its name.

use guildhall_kernel::{FieldName, Millis, Msat, Path, Unreadable, WrongField};
use serde_json::{Map, Value};

use crate::text::is_unseen;

/// The longest that a model can ask to wait, in seconds.
const WAIT_S_MAX: f64 = 1e9;

#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, key: &str) -> Result<Option<&'a str>, Unreadable> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| wrong(key, WrongField::NotText)),
        }
    }

    pub(super) fn needed(self, key: &str) -> Result<&'a str, Unreadable> {
        self.text(key)?.ok_or_else(|| wrong(key, WrongField::Missing))
    }

    /// A text that must be there, with a word in it.
    pub(super) fn words(self, key: &str) -> Result<&'a str, Unreadable> {
        let text = self.needed(key)?;
        if text.chars().all(|letter| letter.is_whitespace() || is_unseen(letter)) {
            Err(Unreadable::EmptyText)
        } else {
            Ok(text)
        }
    }

    /// Yes or no, also as a word: small models write it so.
    pub(super) fn flag(self, key: &str) -> Result<Option<bool>, Unreadable> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(word)) => word.trim().parse().map(Some).map_err(|_| wrong(key, WrongField::NotBool)),
            Some(Value::Number(_) | Value::Array(_) | Value::Object(_) | Value::Null) => {
                Err(wrong(key, WrongField::NotBool))
            }
        }
    }

    pub(super) fn money(self, key: &str) -> Result<Option<Msat>, Unreadable> {
        self.get(key).map(Msat::from_json).transpose().map_err(Unreadable::BadAmount)
    }

    pub(super) fn seconds(self, key: &str) -> Result<Option<Millis>, Unreadable> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let seconds = value.as_f64().filter(|seconds| (0.0..=WAIT_S_MAX).contains(seconds));
        let none = || wrong(key, WrongField::NotSeconds);
        let text = format!("{:.0}", seconds.ok_or_else(none)? * 1000.0);
        text.parse().map(|ms| Some(Millis(ms))).map_err(|_| none())
    }

    pub(super) fn path(self, key: &str) -> Result<Path, Unreadable> {
        read_path(key, self.needed(key)?)
    }

    /// Contracts: several, one, or none.
    pub(super) fn paths(self, key: &str) -> Result<Vec<Path>, Unreadable> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![read_path(key, one)?]),
            Some(Value::Array(many)) => {
                many.iter().map(|one| read_path(key, one.as_str().unwrap_or_default())).collect()
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Null) => {
                Err(wrong(key, WrongField::NotId))
            }
        }
    }
}

fn read_path(key: &str, text: &str) -> Result<Path, Unreadable> {
    text.trim().parse().map_err(|_| wrong(key, WrongField::NotId))
}

pub(super) fn wrong(key: &str, wrong: WrongField) -> Unreadable {
    Unreadable::Field(FieldName::parse(key).expect("the fields of our tools are names"), wrong)
}
