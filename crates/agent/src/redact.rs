//! Takes secrets out of what is said: out of texts, out of the strings and keys within values, and out of JSON that is written
//! as text. What could be read before can be read afterwards, and doing it twice is the same as doing it once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::AskKey;
use serde_json::{Map, Value};

use crate::model::{RawCall, Reply};
use crate::text::{Redactor, SECRET_BYTES_MIN};

/// Stands in the place of a secret that is known by the name it has.
const REDACTED: &str = "[redacted: secret]";

/// How names of secrets end, without what people write differently: case, dashes, underscores.
const SECRET_NAMES: &str = "apikey secret secretkey privatekey accesskey adminkey password passwd passphrase accesstoken \
    authtoken refreshtoken";

/// Stands in the place of JSON that is written as text too deep within other JSON to be looked into.
const TOO_DEEP: &str = "[left out: nested too deep]";

/// How deep JSON that is written as text may be found. What is read from it has at most as many levels of its own.
const LEVELS_MAX: usize = 128;

/// How deep the values of a stored reply may be. What reads them back reads 128 levels, a few of which are the reply's own.
const VALUE_DEPTH_MAX: usize = 100;

/// The name of a call whose name held a secret: one that every provider takes.
const REDACTED_NAME: &str = "redacted";

impl Redactor {
    /// Returns a text without its secrets. One that is JSON stays JSON.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean_nested(text, 0)
    }

    /// Returns a value without its secrets: none in a string, in a key, or under a key that says that it is one. It keeps its
    /// shape, but for a number that has a secret in it, which becomes a string.
    pub fn clean_value(&self, value: &Value) -> Value {
        self.clean_under(None, value, 0)
    }

    fn clean_nested<'a>(&self, text: &'a str, level: usize) -> Cow<'a, str> {
        let Some(value) = json(text) else { return self.redact(text) };
        if level > LEVELS_MAX {
            return Cow::Owned(Value::from(TOO_DEEP).to_string());
        }
        let cleaned = self.clean_under(None, &value, level + 1);
        let clean = if cleaned == value { Cow::Borrowed(text) } else { Cow::Owned(cleaned.to_string()) };
        // A secret that stands across several strings can't be taken out without breaking what is around it.
        if self.redact(&clean) == clean { clean } else { Cow::Owned(Value::from(REDACTED).to_string()) }
    }

    fn clean_under(&self, name: Option<&str>, value: &Value, level: usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => {
                let digits = number.to_string();
                let has_secret = is_secret(name, &digits) || self.redact(&digits) != digits;
                if has_secret { Value::from(REDACTED) } else { value.clone() }
            }
            Value::String(text) if is_secret(name, text) => Value::from(REDACTED),
            Value::String(text) => Value::from(self.clean_nested(text, level)),
            Value::Array(items) => items.iter().map(|item| self.clean_under(name, item, level + 1)).collect(),
            Value::Object(members) => Value::Object(self.clean_members(members, level + 1)),
        }
    }

    /// Cleans keys and values. Keys that become the same are numbered, so that no value is lost.
    fn clean_members(&self, members: &Map<String, Value>, level: usize) -> Map<String, Value> {
        let mut clean = Map::new();
        let mut number = 1;
        for (name, value) in members {
            let key = self.clean_nested(name, level);
            let mut unique = key.clone().into_owned();
            while clean.contains_key(&unique) {
                number += 1;
                unique = format!("{key} {number}");
            }
            clean.insert(unique, self.clean_under(Some(&key), value, level));
        }
        clean
    }

    /// Returns a reply without its secrets, in a form that can be stored and read back. Everything that a model says passes
    /// here first, so that what is read from its calls is clean as well.
    pub(crate) fn clean_reply(&self, key: &AskKey, reply: &Reply) -> Reply {
        let renamed = self.renamed(key, &reply.calls);
        let call = |call: &RawCall| RawCall {
            id: renamed.ids.get(&call.id).unwrap_or(&call.id).clone(),
            name: renamed.names.get(&call.name).unwrap_or(&call.name).clone(),
            arguments: match &call.arguments {
                Ok(value) if is_within(value, VALUE_DEPTH_MAX) => Ok(self.clean_value(value)),
                Ok(deep) => Err(self.clean(&deep.to_string()).into_owned()),
                Err(text) => Err(self.clean(text).into_owned()),
            },
        };
        // Without its own form, a reply is shown as words and calls.
        let raw = if is_within(&reply.raw, VALUE_DEPTH_MAX) {
            self.clean_value(&renamed.within(None, &reply.raw))
        } else {
            Value::Null
        };
        Reply {
            wire: reply.wire,
            raw,
            words: reply.words.as_deref().map(|words| self.clean(words).into_owned()),
            calls: reply.calls.iter().map(call).collect(),
            stop: reply.stop,
        }
    }

    /// Finds new names and ids for the calls of a reply that have a secret in theirs. Providers take only plain ones, and ids
    /// must be unique within a contract.
    fn renamed(&self, key: &AskKey, calls: &[RawCall]) -> Renamed {
        let has_secret = |text: &str| self.clean(text) != text;
        let taken: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        let mut renamed = Renamed::default();
        let mut number = 0;
        for RawCall { id, name, .. } in calls {
            if has_secret(name) {
                renamed.names.insert(name.clone(), REDACTED_NAME.to_owned());
            }
            if has_secret(id) && !renamed.ids.contains_key(id) {
                let mut fresh = String::new();
                while fresh.is_empty() || taken.contains(fresh.as_str()) {
                    number += 1;
                    fresh = format!("redacted-{key}-{number}").replace(['.', '#'], "-");
                }
                renamed.ids.insert(id.clone(), fresh);
            }
        }
        renamed
    }
}

#[derive(Default)]
struct Renamed {
    names: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
}

impl Renamed {
    fn within(&self, key: Option<&str>, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let new = if key == Some("name") { self.names.get(text) } else { self.ids.get(text) };
                new.map_or_else(|| value.clone(), |new| Value::from(new.as_str()))
            }
            Value::Array(items) => items.iter().map(|item| self.within(key, item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), self.within(Some(key), member))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn json(text: &str) -> Option<Value> {
    if text.trim_start().starts_with(['{', '[', '"']) { serde_json::from_str(text).ok() } else { None }
}

/// Whether a value is a secret because of the name that it has. A variable or a placeholder in its place is none.
fn is_secret(name: Option<&str>, value: &str) -> bool {
    let is_name = |name: &str| {
        let plain: String = without_marks(name).chars().filter(char::is_ascii_alphanumeric).collect();
        SECRET_NAMES.split(' ').any(|secret| plain.to_ascii_lowercase().ends_with(secret))
    };
    let is_token = |value: &str| {
        let of_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        value.len() >= SECRET_BYTES_MIN
            && value.starts_with(|c: char| c.is_ascii_alphanumeric())
            && value.chars().all(|c| c.is_ascii_graphic() && !"<>{}[]()$".contains(c))
            && !(value.contains('_') && value.chars().all(of_variable))
    };
    name.is_some_and(is_name) && is_token(value)
}

/// What of a name was not put there in the place of a secret.
fn without_marks(name: &str) -> String {
    let (mut own, mut rest) = (String::new(), name);
    while let Some((before, mark)) = rest.split_once("[redacted: ") {
        own.push_str(before);
        rest = mark.split_once(']').map_or("", |(_, after)| after);
    }
    own + rest
}

fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(_) | Value::Object(_) if levels == 0 => false,
        Value::Array(items) => items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(members) => members.values().all(|member| is_within(member, levels - 1)),
    }
}
