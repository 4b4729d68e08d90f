//! Takes secrets out of texts, out of the strings and keys of JSON values, and out of JSON that is written as text. Valid JSON
//! stays valid JSON, and redacting twice gives the same as redacting once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::AskKey;
use serde_json::{Map, Value};

use crate::model::{RawCall, Reply};
use crate::text::{Redactor, SECRET_BYTES_MIN};

/// Replaces a secret that is recognized by its name.
const REDACTED: &str = "[redacted: secret]";

/// The ends of names of secrets, in lower case and without dashes and underscores.
const SECRET_NAMES: &str = "apikey secret secretkey privatekey accesskey adminkey password passwd passphrase accesstoken \
    authtoken refreshtoken";

/// Replaces JSON that is written as text too deep within other JSON.
const TOO_DEEP: &str = "[left out: nested too deep]";

/// How many levels of JSON written as text within JSON are searched.
const LEVELS_MAX: usize = 128;

/// How many levels the values of a stored reply may have. The JSON reader takes 128, and the reply itself needs a few.
const VALUE_DEPTH_MAX: usize = 100;

/// The new name of a call whose name contains a secret. Every provider accepts it.
const REDACTED_NAME: &str = "redacted";

impl Redactor {
    /// Returns a text without its secrets. JSON stays JSON.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.clean_nested(text, 0)
    }

    /// Returns a value without the secrets in its strings, in its keys, and under keys that name a secret. The value keeps its
    /// shape, except that a number that contains a secret becomes a string.
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
        // A secret that spans several strings can't be taken out alone without breaking the JSON.
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

    /// Cleans keys and values. Keys that become equal are numbered, so that no value is lost.
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

    /// Returns a reply without its secrets, in a form that can be stored and read back. Every reply passes here before its calls
    /// are read, so that the calls are clean, too.
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
        // A reply without `raw` is shown as words and calls.
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

    /// Finds new names and ids for calls whose name or id contains a secret. Providers accept only plain characters, and an id
    /// must be unique within a contract.
    fn renamed(&self, key: &AskKey, calls: &[RawCall]) -> Renamed {
        let has_secret = |text: &&String| self.clean(text) != text.as_str();
        let taken: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        let fresh = (1..).map(|number| format!("redacted-{key}-{number}").replace(['.', '#'], "-"));
        let fresh = fresh.filter(|id| !taken.contains(id.as_str()));
        let names = calls.iter().map(|call| &call.name).filter(has_secret);
        let mut seen = BTreeSet::new();
        let ids = calls.iter().map(|call| &call.id).filter(has_secret).filter(|id| seen.insert(*id));
        Renamed {
            names: names.map(|name| (name.clone(), REDACTED_NAME.to_owned())).collect(),
            ids: ids.cloned().zip(fresh).collect(),
        }
    }
}

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

/// Whether a value is a secret because of its name. The name of a variable or a placeholder is not a secret.
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

/// Returns a name without the marks that replace secrets.
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
