//! JSON that is read once and dropped: the events of a stream. Texts are borrowed and objects are lists, because a reply can have
//! thousands of events, and each repeats fields that nobody needs. What is kept is copied.

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A JSON value. If a name is repeated in an object, the last field of that name counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_number(&self) -> Option<&Number> {
        if let Json::Number(number) = self { Some(number) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Json<'a>]> {
        if let Json::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn as_object(&self) -> Option<&[(Cow<'a, str>, Json<'a>)]> {
        if let Json::Object(fields) = self { Some(fields) } else { None }
    }

    /// Copies the value.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => Value::Number(number.clone()),
            Json::Text(text) => Value::from(text.as_ref()),
            Json::List(items) => items.iter().map(Json::to_value).collect(),
            Json::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value.to_value())).collect(),
        }
    }
}

/// The field of an object; null if there is none.
impl<'a> Index<&str> for Json<'a> {
    type Output = Json<'a>;

    fn index(&self, name: &str) -> &Json<'a> {
        let fields = self.as_object().unwrap_or_default();
        fields.iter().rev().find(|(other, _)| other == name).map_or(&Json::Null, |(_, value)| value)
    }
}

impl PartialEq<&str> for Json<'_> {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == Some(*text)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json<'de>, E> {
        Number::from_f64(number).map(Json::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json<'de>, A::Error> {
        let mut fields = Vec::new();
        // A name is a JSON text.
        while let Some(name) = object.next_key::<Json<'de>>()? {
            let Json::Text(name) = name else { return Err(A::Error::custom("a name is not a text")) };
            fields.push((name, object.next_value()?));
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;
    use serde_json::{Value, json};

    #[test]
    fn every_value_is_read_as_serde_json_reads_it() {
        let all =
            json!({"a": null, "b": [true, 1, -1, 1.5, 1e300, u64::MAX], "c": {"ä\n": "x\ty", "": ""}}).to_string();
        for text in [all.as_str(), "[]", "{}", "\"x\"", "7", "{\"a\":1,\"b\":2,\"a\":3}", " null "] {
            let read: Json<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(read.to_value(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["", "{", "{\"a\"}", "[1,]", "nul", "1 2", "\"\\ud800\"", &"[".repeat(1000)] {
            assert!(serde_json::from_str::<Json<'_>>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_field_of_a_name_counts_and_a_missing_field_is_null() {
        let read: Json<'_> = serde_json::from_str("{\"a\":1,\"a\":\"two\"}").unwrap();
        assert!(read["a"] == "two" && read["b"] == Json::Null && read["a"]["b"] == Json::Null, "{read:?}");
    }
}
