//! Calls that a model wrote as text.

use guildhall_agent::{Reply, Stop, Wire};
use guildhall_models::{Written, read_written_calls as read};
use serde_json::{Value, json};

use crate::anthropic;
use crate::setting::{delta, finish, reduce};

const TOOLS: [&str; 2] = ["read_file", "delegate_task"];

fn check(text: &str, words: Option<&str>, calls: &[(&str, Value)]) {
    let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), Ok(arguments.clone()))).collect();
    let expect = Written { words: words.map(str::to_owned), calls };
    assert_eq!(read(text, &TOOLS), (!expect.calls.is_empty()).then_some(expect), "{text}");
}

#[test]
fn a_call_is_read_in_every_form_that_models_write() {
    let path = json!({"path": "a.rs"});
    let call = r#"{"name": "read_file", "arguments": {"path": "a.rs"}}"#;
    for text in [
        call.to_owned(),
        format!("```json\n{call}\n```"),
        format!("```\n{call}\n```"),
        format!("```tool_call\n{call}\n```"),
        format!("<tool_call>\n{call}\n</tool_call>"),
        format!("<tool_call>{call}"),
        format!("<|python_tag|>{call}"),
        format!("[TOOL_CALLS] [{call}]"),
        r#"{"tool": "read_file", "args": {"path": "a.rs"}}"#.to_owned(),
        r#"{"function": "read_file", "parameters": {"path": "a.rs"}}"#.to_owned(),
        r#"{"type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a.rs\"}"}}"#.to_owned(),
    ] {
        check(&text, None, &[("read_file", path.clone())]);
    }
}

#[test]
fn text_around_a_call_stays_text() {
    let text = "I will look.\n```json\n{\"name\":\"read_file\",\"arguments\":{}}\n```\nThen I report.";
    check(text, Some("I will look.\n\nThen I report."), &[("read_file", json!({}))]);
    check("Sure! {\"name\": \"read_file\"}", Some("Sure!"), &[("read_file", json!({}))]);
}

#[test]
fn several_calls_are_read_in_order() {
    let one = r#"{"name":"read_file","arguments":{"n":1}}"#;
    let two = r#"{"name":"delegate_task","arguments":{"n":2}}"#;
    let expect = [("read_file", json!({"n": 1})), ("delegate_task", json!({"n": 2}))];
    check(&format!("[{one},{two}]"), None, &expect);
    check(&format!("<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>"), None, &expect);
}

#[test]
fn text_that_is_not_a_call_of_a_known_tool_stays_text() {
    for text in [
        "",
        "no braces",
        r#"{"name": "rm_rf", "arguments": {}}"#,
        r#"{"name": "read_file", "version": "1.0"}"#,
        r#"{"example": {"name": "read_file", "arguments": {}}}"#,
        r#"{"name": "read_file", "arguments": {"#,
        "[]",
        "{\"name\": 7}",
    ] {
        check(text, None, &[]);
    }
}

#[test]
fn arguments_that_are_not_a_valid_object_stay_text() {
    let text = r#"{"name":"read_file","arguments":{"a":1,"a":2}}"#;
    assert_eq!(read(text, &TOOLS).unwrap().calls, [("read_file".to_owned(), Err(text.to_owned()))]);
    let text = r#"{"name":"read_file","arguments":[1]}"#;
    assert_eq!(read(text, &TOOLS).unwrap().calls, [("read_file".to_owned(), Err("[1]".to_owned()))]);
}

#[test]
fn a_reply_full_of_braces_has_no_calls() {
    for text in ["{".repeat(1_000_000), "[".repeat(1_000_000), "{\"a\":".repeat(200_000), "[1]".repeat(400_000)] {
        assert_eq!(read(&text, &TOOLS), None);
    }
}

/// The reply on both protocols, for a text that was cut at its limit.
fn cut(text: &str) -> [Reply; 2] {
    let openai = [delta(&json!({"content": text})), finish("length")];
    let anthropic =
        anthropic::with_end(vec![anthropic::block(0, &json!({"type": "text", "text": text}))], "max_tokens");
    [reduce(Wire::OpenAi, &openai).unwrap(), reduce(Wire::Anthropic, &anthropic).unwrap()]
}

#[test]
fn a_text_that_was_cut_within_a_call_has_the_call_without_arguments_and_the_whole_calls_before_it() {
    let whole = r#"{"name": "read_file", "arguments": {"path": "a.rs"}}"#;
    for part in [
        r#"{"name": "read_file", "arguments": {"path": "b"#,
        r#"{"name":"read_file""#,
        r#"{"function": {"name": "read_file", "argum"#,
        r#"[{"tool": "read_file", "args":"#,
    ] {
        for reply in cut(&format!("I look.\n<tool_call>{whole}</tool_call>\n<tool_call>\n{part}")) {
            let calls: Vec<_> = reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
            let expect = [("read_file", Ok(json!({"path": "a.rs"}))), ("read_file", Err(part.to_owned()))];
            assert_eq!((calls, reply.stop), (expect.to_vec(), Stop::Length), "{part}");
            assert!(reply.words.as_deref().is_some_and(|words| words.starts_with("I look.")), "{part}");
        }
    }
}

#[test]
fn a_whole_call_without_arguments_in_a_text_that_was_cut_is_made() {
    for reply in cut("{\"name\": \"list_files\"}\nAnd then I w") {
        assert_eq!(reply.calls.iter().map(|call| call.arguments.clone()).collect::<Vec<_>>(), [Ok(json!({}))]);
    }
}

#[test]
fn a_text_that_was_cut_within_other_json_stays_text() {
    for text in [
        r#"The result: {"path": "a", "tools": [{"name": "read_file", "arg"#,
        r#"{"name": "unknown_tool", "arguments": {"#,
        r#"{"name": "read_file_twice", "arguments": {"#,
        r#"{ and [ and {"na"#,
        "{\"name\": \"read_file\", oh no",
    ] {
        for reply in cut(text) {
            assert_eq!((reply.words.as_deref(), reply.calls.len()), (Some(text), 0));
        }
    }
    let deep = "[".repeat(100_000);
    for reply in cut(&deep) {
        assert_eq!(reply.calls.len(), 0);
    }
}
