//! Redaction of values: of strings and keys, not of JSON as text. Valid JSON stays valid JSON.

use std::sync::Arc;

use guildhall_agent::{Redactor, hash, task_key};
use guildhall_kernel::TextKind;
use serde_json::{Value, json};

/// A redactor that knows two secrets by their values.
fn redactor() -> Redactor {
    let mark = "[redacted: secret]";
    Redactor::new(Arc::new(move |text: &str| text.replace("hunter-two", mark).replace("88123456", mark).into()))
}

#[track_caller]
fn check(value: &Value, expected: &Value) {
    let clean = redactor().clean_value(value);
    assert_eq!(clean, *expected);
    assert_eq!(redactor().clean_value(&clean), *expected, "redacting twice gives the same");
    let text = redactor().text(TextKind::Arguments, &value.to_string());
    assert_eq!(serde_json::from_str::<Value>(&text.says).unwrap(), *expected, "as text: {}", text.says);
}

#[test]
fn a_secret_is_taken_out_of_every_string() {
    check(
        &json!({"a": ["x hunter-two", {"b": "hunter-two"}], "c": 1, "d": null, "e": true}),
        &json!({"a": ["x [redacted: secret]", {"b": "[redacted: secret]"}], "c": 1, "d": null, "e": true}),
    );
}

#[test]
fn a_value_is_a_secret_if_its_name_says_so() {
    let hex = "0123456789abcdef".repeat(2);
    for name in ["X-Api-Key", "api_key", "OPENAI_API_KEY", "password", "db.password", "clientSecret", "access_token"] {
        for secret in [hex.as_str(), "short-but-secret-looking", "Tr0ub4dor&3"] {
            check(&json!({name: secret, "to": secret}), &json!({name: "[redacted: secret]", "to": secret}));
            check(&json!({name: [secret]}), &json!({name: ["[redacted: secret]"]}));
        }
    }
    check(&json!({"password": 12_345_678}), &json!({"password": "[redacted: secret]"}));
}

#[test]
fn placeholders_and_mentions_of_secrets_are_not_changed() {
    for value in [
        json!({"api_key": "$API_KEY", "password": "${PASSWORD}", "secret": "<your secret>", "passwd": "{{passwd}}"}),
        json!({"api_key": "OPENAI_API_KEY", "password": "short", "secret": "ask the user for it", "apiKey": ""}),
        json!({"token": "next-page-0001", "tokens": 12_345_678, "secrets": "in the vault", "key": "created_at"}),
        json!({"properties": {"password": {"type": "string"}}, "required": ["password"]}),
    ] {
        check(&value, &value);
    }
}

#[test]
fn keys_that_become_equal_are_numbered() {
    check(
        &json!({"hunter-two": 1, "88123456": 2, "[redacted: secret]": 3, "x hunter-two": 4}),
        &json!({"[redacted: secret]": 1, "[redacted: secret] 2": 2, "[redacted: secret] 3": 3, "x [redacted: secret]": 4}),
    );
}

#[test]
fn a_number_with_a_secret_in_it_becomes_a_string() {
    check(&json!([88_123_456, 7, -1_881_234_567]), &json!(["[redacted: secret]", 7, "[redacted: secret]"]));
}

#[test]
fn json_that_is_written_as_text_stays_json() {
    let inner = json!({"api_key": "short-but-secret", "say": "hunter-two"}).to_string();
    let clean = json!({"api_key": "[redacted: secret]", "say": "[redacted: secret]"}).to_string();
    check(&json!({"arguments": inner}), &json!({"arguments": clean}));
    let (twice, clean_twice) = (Value::from(inner).to_string(), Value::from(clean).to_string());
    check(&json!({"arguments": twice}), &json!({"arguments": clean_twice}));
}

#[test]
fn json_without_a_secret_stays_as_it_was_written() {
    for text in ["{ \"b\": 1.50,\n  \"a\": 1e3 }", "[\n]", "\"x\"", "{\"a\":1,\"a\":2}"] {
        assert_eq!(redactor().clean(text), text);
    }
}

#[test]
fn a_secret_across_several_strings_replaces_the_whole_json() {
    let redactor = Redactor::new(Arc::new(|text: &str| text.replace(r#""a","b""#, "[redacted: secret]").into()));
    assert_eq!(redactor.clean(r#"{"list":["a","b"]}"#), r#""[redacted: secret]""#);
}

#[test]
fn json_that_is_nested_too_deep_is_left_out() {
    // Each level is an array, since each level of quotes would double the backslashes.
    let mut value = json!([json!({"api_key": "short-but-secret"}).to_string()]);
    for _ in 0..160 {
        value = json!([value]);
    }
    let clean = redactor().clean_value(&value).to_string();
    assert!(clean.contains("nested too deep") && !clean.contains("short-but"), "{clean}");
}

#[test]
fn secrets_are_taken_out_before_the_hash_is_made() {
    let redactor = Redactor::new(Arc::new(|text: &str| text.replace("s3cret", "[redacted]").into()));
    let text = redactor.text(TextKind::Result, "the key is s3cret");
    assert_eq!(text.says, "the key is [redacted]");
    assert_eq!((text.of.hash, text.of.bytes), (hash(b"the key is [redacted]"), 21));
}

#[test]
fn a_task_key_ignores_case_blanks_and_punctuation() {
    assert_eq!(task_key("Fix  the\nBUG."), task_key("fix the bug"));
    assert_ne!(task_key("fix the bug"), task_key("fix the bugs"));
}
