//! The arguments of a call, as a model wrote them. An unknown field is ignored. A field of the wrong type is refused by its
//! name.

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

    /// Reads a field, if it is there.
    fn read<T>(
        self,
        key: &str,
        problem: WrongField,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Unreadable> {
        self.get(key).map(|value| read(value).ok_or_else(|| wrong(key, problem))).transpose()
    }

    pub(super) fn text(self, key: &str) -> Result<Option<&'a str>, Unreadable> {
        self.read(key, WrongField::NotText, Value::as_str)
    }

    pub(super) fn required(self, key: &str) -> Result<&'a str, Unreadable> {
        self.text(key)?.ok_or_else(|| wrong(key, WrongField::Missing))
    }

    /// Returns a text that must not be missing or blank.
    pub(super) fn words(self, key: &str) -> Result<&'a str, Unreadable> {
        let text = self.required(key)?;
        let is_blank = text.chars().all(|letter| letter.is_whitespace() || is_unseen(letter));
        if is_blank { Err(Unreadable::EmptyText) } else { Ok(text) }
    }

    /// Returns a boolean. Small models write it as a text, so `"true"` counts, too.
    pub(super) fn flag(self, key: &str) -> Result<Option<bool>, Unreadable> {
        let flag = |value: &Value| value.as_bool().or_else(|| value.as_str()?.trim().parse().ok());
        self.read(key, WrongField::NotBool, flag)
    }

    pub(super) fn money(self, key: &str) -> Result<Option<Msat>, Unreadable> {
        self.get(key).map(Msat::from_json).transpose().map_err(Unreadable::BadAmount)
    }

    pub(super) fn seconds(self, key: &str) -> Result<Option<Millis>, Unreadable> {
        self.read(key, WrongField::NotSeconds, |value| {
            let seconds = value.as_f64().filter(|seconds| (0.0..=WAIT_S_MAX).contains(seconds))?;
            format!("{:.0}", seconds * 1000.0).parse().ok().map(Millis)
        })
    }

    pub(super) fn path(self, key: &str) -> Result<Path, Unreadable> {
        read_path(key, self.required(key)?)
    }

    /// Returns the contracts in a list. A single text is a list of one.
    pub(super) fn paths(self, key: &str) -> Result<Vec<Path>, Unreadable> {
        let listed = match self.get(key) {
            Some(Value::Array(listed)) => listed.as_slice(),
            Some(single) => std::slice::from_ref(single),
            None => &[],
        };
        listed.iter().map(|path| read_path(key, path.as_str().unwrap_or_default())).collect()
    }
}

fn read_path(key: &str, text: &str) -> Result<Path, Unreadable> {
    text.trim().parse().map_err(|_| wrong(key, WrongField::NotId))
}

pub(super) fn wrong(key: &str, wrong: WrongField) -> Unreadable {
    Unreadable::Field(FieldName::parse(key).expect("the fields of our tools are names"), wrong)
}
