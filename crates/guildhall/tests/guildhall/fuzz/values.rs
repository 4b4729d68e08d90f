//! Random values and only the redaction: the result stays readable, keeps its shape, and a second redaction changes nothing.

use serde_json::Value;

use crate::fuzz::engine::redactor;
use crate::fuzz::replies::Replies;
use crate::fuzz::{assert_clean, seeds};

/// Checks that a value has the same shape as before. Only its strings, keys and numbers can be redacted.
fn assert_same_shape(was: &Value, is: &Value, seed: u64) {
    match (was, is) {
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            was.iter().zip(is).for_each(|(was, is)| assert_same_shape(was, is, seed));
        }
        (Value::Object(was), Value::Object(is)) if was.len() == is.len() => {
            was.values().zip(is.values()).for_each(|(was, is)| assert_same_shape(was, is, seed));
        }
        (Value::String(was), Value::String(is)) => {
            // A string that contains a number is an ordinary string.
            let was: Option<Value> = serde_json::from_str(was).ok().filter(|was: &Value| !was.is_number());
            assert!(
                was.is_none() || serde_json::from_str::<Value>(is).is_ok(),
                "seed {seed}: {is} is not JSON after the redaction"
            );
        }
        (Value::Number(_), Value::String(is)) => assert_eq!(is, "[redacted: secret]", "seed {seed}"),
        (was, is) => assert_eq!(was, is, "seed {seed}"),
    }
}

#[test]
fn a_redacted_value_stays_readable_keeps_its_shape_and_does_not_change_again() {
    let redactor = redactor();
    for seed in seeds(1) {
        let value = Replies::new(seed).value(4);
        let clean = redactor.clean_value(&value);
        let written = clean.to_string();
        assert_clean("a value", &written, seed);
        let read: Value = serde_json::from_str(&written).unwrap_or_else(|why| panic!("seed {seed}: {why}: {written}"));
        assert_same_shape(&value, &read, seed);
        assert_eq!(redactor.clean_value(&clean), clean, "seed {seed}");
        let text = Value::Array(vec![value]).to_string();
        let clean = redactor.clean(&text);
        assert!(serde_json::from_str::<Value>(&clean).is_ok(), "seed {seed}: {clean}");
        assert_eq!(redactor.clean(&clean), clean, "seed {seed}");
    }
}
