//! The arguments of calls, and events that are nearly valid JSON.

use guildhall_agent::{Reply, Wire};
use guildhall_models::Event;
use serde_json::{Value, json};

use crate::setting::{delta, finish, reduce, reducer};

/// Reads a call with these arguments.
fn called(arguments: &Value) -> Reply {
    let call = json!({"index": 0, "id": "a", "function": {"name": "read_file", "arguments": arguments}});
    reduce(Wire::OpenAi, &[delta(&json!({"tool_calls": [call]})), finish("tool_calls")]).unwrap()
}

fn read(text: &str) -> Result<Value, String> {
    called(&json!(text)).calls.remove(0).arguments
}

#[test]
fn an_object_is_read_unchanged() {
    let text = r#"{"a":[1,-2,0.5,true,null,"ü"],"b":{"c":18446744073709551615}}"#;
    assert_eq!(read(text), Ok(json!({"a": [1, -2, 0.5, true, null, "ü"], "b": {"c": u64::MAX}})));
    assert_eq!(read(""), Ok(json!({})));
    assert_eq!(read(" \n"), Ok(json!({})));
}

#[test]
fn arguments_that_are_not_an_object_stay_text() {
    let deep = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for text in [
        "null",
        "[]",
        "\"x\"",
        "7",
        "{\"a\":",
        "{\"a\":1,\"a\":2}",
        "{\"b\":{\"a\":1,\"a\":1}}",
        "{\"a\":1e400}",
        "{\"a\":\"\\ud800\"}",
        "{} {}",
        "{'a':1}",
        &deep,
    ] {
        assert_eq!(read(text), Err(text.to_owned()));
    }
}

#[test]
fn arguments_that_are_too_large_are_cut_to_an_excerpt() {
    let text = format!("{{\"a\":\"{}\"}}", "ü".repeat(512 * 1024));
    let excerpt = read(&text).unwrap_err();
    assert!(excerpt.len() < 1200 && excerpt.ends_with("(1048584 bytes, more than 1048576)"), "{excerpt}");
}

#[test]
fn arguments_sent_as_json_are_read_and_sent_back_as_an_object() {
    for (arguments, expect) in [(json!({"a": 1}), json!({"a": 1})), (json!(null), json!({}))] {
        assert_eq!(called(&arguments).calls[0].arguments, Ok(expect));
    }
    let shown = |arguments: &Value| called(arguments).raw["tool_calls"][0]["function"]["arguments"].clone();
    assert_eq!(shown(&json!([1])), json!(r#"{"INVALID_JSON":"[1]"}"#));
}

#[test]
fn lone_surrogates_are_replaced_and_other_errors_stay_errors() {
    let words = |text: &str| {
        let mut reducer = reducer(Wire::OpenAi);
        let data = format!(r#"{{"choices":[{{"delta":{{"content":{text}}},"finish_reason":"stop"}}]}}"#);
        reducer.reduce(&Event { name: String::new(), data }).ok()?;
        reducer.finish().unwrap().words
    };
    for (text, expect) in [
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ude00x\ud83d\ude00\ud83d""#, "\u{fffd}x😀\u{fffd}"),
        (r#""\\ud83d""#, "\\ud83d"),
        (r#""\ud800\\""#, "\u{fffd}\\"),
    ] {
        assert_eq!(words(text).as_deref(), Some(expect), "{text}");
    }
    for text in [r#""\ud83d"#, "{", r#"["\u12"]"#, r#"["\ü"]"#, "[\"\\", &"[".repeat(10_000)] {
        assert_eq!(words(text), None, "{text:.20}");
    }
}
