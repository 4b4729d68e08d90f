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

/// The shortest of these ends, in bytes.
const SECRET_NAME_BYTES_MIN: usize = 6;

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
        let mut clean = value.clone();
        self.clean_under(None, &mut clean, 0);
        clean
    }

    fn clean_nested<'a>(&self, text: &'a str, level: usize) -> Cow<'a, str> {
        let Some(mut value) = json(text) else { return self.redact(text) };
        if level > LEVELS_MAX {
            return Cow::Owned(Value::from(TOO_DEEP).to_string());
        }
        let has_changed = self.clean_under(None, &mut value, level + 1);
        let clean = if has_changed { Cow::Owned(value.to_string()) } else { Cow::Borrowed(text) };
        // A secret that spans several strings can't be taken out alone without breaking the JSON.
        if self.redact(&clean) == clean { clean } else { Cow::Owned(Value::from(REDACTED).to_string()) }
    }

    /// Takes the secrets out of a value with this name. Returns whether the value has changed: most values have no secrets, and
    /// are not copied.
    fn clean_under(&self, name: Option<&str>, value: &mut Value, level: usize) -> bool {
        let clean = match value {
            Value::Null | Value::Bool(_) => return false,
            Value::Number(number) => {
                let digits = number.to_string();
                let has_secret = is_secret(name, &digits) || self.redact(&digits) != digits;
                has_secret.then(|| REDACTED.to_owned())
            }
            Value::String(text) if is_secret(name, text) => Some(REDACTED.to_owned()),
            Value::String(text) => changed(self.clean_nested(text, level), text),
            Value::Array(items) => {
                let clean = items.iter_mut().map(|item| self.clean_under(name, item, level + 1));
                return clean.fold(false, |before, now| before | now);
            }
            Value::Object(members) => return self.clean_members(members, level + 1),
        };
        let has_changed = clean.is_some();
        if let Some(clean) = clean {
            *value = Value::from(clean);
        }
        has_changed
    }

    /// Cleans keys and values. Keys that become equal are numbered, so that no value is lost.
    fn clean_members(&self, members: &mut Map<String, Value>, level: usize) -> bool {
        let has_secret = |name: &String| changed(self.clean_nested(name, level), name).is_some();
        if !members.keys().any(has_secret) {
            let clean = |(name, value): (&String, &mut Value)| self.clean_under(Some(name), value, level);
            return members.iter_mut().map(clean).fold(false, |before, now| before | now);
        }
        let mut number = 1;
        for (name, mut value) in std::mem::take(members) {
            let key = self.clean_nested(&name, level);
            let mut unique = key.clone().into_owned();
            while members.contains_key(&unique) {
                number += 1;
                unique = format!("{key} {number}");
            }
            self.clean_under(Some(&key), &mut value, level);
            members.insert(unique, value);
        }
        true
    }

    /// Returns a reply without its secrets, in a form that can be stored and read back. Every reply passes here before its calls
    /// are read, so that the calls are clean, too.
    pub(crate) fn clean_reply(&self, key: &AskKey, mut reply: Reply) -> Reply {
        let renamed = self.renamed(key, &reply.calls);
        if is_within(&reply.raw, VALUE_DEPTH_MAX) {
            renamed.within(None, &mut reply.raw);
            self.clean_under(None, &mut reply.raw, 0);
        } else {
            // A reply without `raw` is shown as words and calls.
            reply.raw = Value::Null;
        }
        reply.words = reply.words.map(|words| self.clean(&words).into_owned());
        reply.part = reply.part.map(|part| self.clean(&part).into_owned());
        for call in &mut reply.calls {
            renamed.call(call);
            match &mut call.arguments {
                Ok(value) if is_within(value, VALUE_DEPTH_MAX) => {
                    self.clean_under(None, value, 0);
                }
                Ok(deep) => call.arguments = Err(self.clean(&deep.to_string()).into_owned()),
                Err(text) => *text = self.clean(text).into_owned(),
            }
        }
        reply
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
    fn call(&self, call: &mut RawCall) {
        for (new, text) in [(self.ids.get(&call.id), &mut call.id), (self.names.get(&call.name), &mut call.name)] {
            if let Some(new) = new {
                text.clone_from(new);
            }
        }
    }

    /// Renames calls in the provider's form of a reply.
    fn within(&self, key: Option<&str>, value: &mut Value) {
        if self.names.is_empty() && self.ids.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                let new = if key == Some("name") { self.names.get(text) } else { self.ids.get(text) };
                if let Some(new) = new {
                    text.clone_from(new);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.within(key, item)),
            Value::Object(members) => members.iter_mut().for_each(|(key, member)| self.within(Some(key), member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the clean form of a text if it differs from the text.
fn changed(clean: Cow<'_, str>, text: &str) -> Option<String> {
    match clean {
        Cow::Owned(clean) if clean != text => Some(clean),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}

fn json(text: &str) -> Option<Value> {
    if text.trim_start().starts_with(['{', '[', '"']) { serde_json::from_str(text).ok() } else { None }
}

/// Whether a value is a secret because of its name. The name of a variable or a placeholder is not a secret.
fn is_secret(name: Option<&str>, value: &str) -> bool {
    let is_name = |name: &str| {
        if name.len() < SECRET_NAME_BYTES_MIN {
            return false;
        }
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
    // Few values are tokens, and this is quickly seen.
    is_token(value) && name.is_some_and(is_name)
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

#[cfg(test)]
mod tests {
    use super::{SECRET_NAME_BYTES_MIN, SECRET_NAMES};

    #[test]
    fn no_name_of_a_secret_is_shorter_than_the_shortest() {
        assert_eq!(SECRET_NAMES.split_whitespace().map(str::len).min(), Some(SECRET_NAME_BYTES_MIN));
    }
}
