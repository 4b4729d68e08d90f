//! Replies over Anthropic Messages.

use guildhall_agent::{RawCall, Reply, Reported, Stop, Usage, Wire};
use guildhall_models::{CALLS_MAX, Event, Fault, REPLY_BYTES_MAX, Reducer, TOKENS_MAX};
use serde_json::{Value, json};

use crate::server::{answer, stream};
use crate::setting::{ask, event, named, reduce, reducer};

pub(crate) fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "m", "stop_reason": null, "usage": {"input_tokens": 10, "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 2000, "output_tokens": 1}}})
}

pub(crate) fn block(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(crate) fn part(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: u64, text: &str) -> Value {
    part(index, &json!({"type": "text_delta", "text": text}))
}

fn input(index: u64, text: &str) -> Value {
    part(index, &json!({"type": "input_json_delta", "partial_json": text}))
}

fn tool(index: u64, id: &str, name: &str) -> Value {
    block(index, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

pub(crate) fn end(reason: &str) -> [Value; 2] {
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": 42}});
    [delta, json!({"type": "message_stop"})]
}

pub(crate) fn hello() -> Vec<Value> {
    let mut events = vec![
        start(),
        block(0, &json!({"type": "text", "text": ""})),
        json!({"type": "ping"}),
        text(0, "Hel"),
        text(0, "lo."),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    events.extend(end("end_turn"));
    events
}

pub(crate) fn with_end(mut events: Vec<Value>, reason: &str) -> Vec<Value> {
    events.insert(0, start());
    events.extend(end(reason));
    events
}

#[tokio::test]
async fn a_streamed_reply_is_complete_and_its_input_includes_cache_tokens() {
    let asked = ask(Wire::Anthropic, vec![vec![stream(named(&hello()))]]).await;
    let usage = Usage { input: 2310, cache_read: 2000, cache_write: 300, output: 42 };
    let reply = Reply {
        wire: Wire::Anthropic,
        raw: json!([{"type": "text", "text": "Hello."}]),
        words: Some("Hello.".into()),
        calls: vec![],
        stop: Stop::End,
        part: None,
    };
    assert_eq!((asked.attempt.outcome, asked.attempt.usage), (Ok(reply), Reported::Whole(usage)));
    assert_eq!(asked.watched, ["(2310 in, 1 out)", "Hel", "lo.", "(2310 in, 42 out)"]);
    let head = &asked.requests[0].head;
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    assert!(head.contains("x-api-key: sk-secret") && head.contains("anthropic-version: 2023-06-01"), "{head}");
    assert!(!head.contains("idempotency-key"), "{head}");
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_the_same() {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [
        {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 6}});
    let asked =
        ask(Wire::Anthropic, vec![vec![answer(200, "content-type: application/json\r\n", body.to_string())]]).await;
    let reply = asked.attempt.outcome.unwrap();
    let call = RawCall { id: "t1".into(), name: "read_file".into(), arguments: Ok(json!({"path": "a"})) };
    assert_eq!((reply.raw, reply.calls, reply.stop), (body["content"].clone(), vec![call], Stop::Calls));
    assert_eq!(asked.attempt.usage, Reported::Whole(Usage { input: 5, output: 6, ..Usage::default() }));
    assert_eq!(asked.watched, ["I look.", "(read_file)", "(5 in, 6 out)"]);
}

#[test]
fn parallel_calls_are_distinguished_by_their_index() {
    let events = with_end(
        vec![
            tool(1, "b", "list_files"),
            tool(0, "a", "read_file"),
            input(0, "{\"path\":"),
            input(1, "{\"n\""),
            input(0, "\"a.rs\"}"),
            input(1, ":2}"),
        ],
        "tool_use",
    );
    let reply = reduce(Wire::Anthropic, &events).unwrap();
    let call = |id: &str, name: &str, arguments| RawCall { id: id.into(), name: name.into(), arguments: Ok(arguments) };
    let calls = vec![call("a", "read_file", json!({"path": "a.rs"})), call("b", "list_files", json!({"n": 2}))];
    assert_eq!((reply.calls, reply.stop), (calls, Stop::Calls));
    assert_eq!(reply.raw[1], json!({"type": "tool_use", "id": "b", "name": "list_files", "input": {"n": 2}}));
}

#[test]
fn thinking_and_unknown_blocks_are_stored_unchanged() {
    let events = with_end(
        vec![
            block(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
            part(0, &json!({"type": "thinking_delta", "thinking": "Let me "})),
            part(0, &json!({"type": "thinking_delta", "thinking": "see."})),
            part(0, &json!({"type": "signature_delta", "signature": "EqQBCg=="})),
            block(1, &json!({"type": "redacted_thinking", "data": "EmwKAh"})),
            block(2, &json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": "x"}})),
            block(3, &json!({"type": "text", "text": "So."})),
            part(3, &json!({"type": "citations_delta", "citation": {"cited_text": "x"}})),
        ],
        "end_turn",
    );
    let reply = reduce(Wire::Anthropic, &events).unwrap();
    let raw = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "EqQBCg=="},
        {"type": "redacted_thinking", "data": "EmwKAh"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": "x"}},
        {"type": "text", "text": "So.", "citations": [{"cited_text": "x"}]},
    ]);
    assert_eq!((reply.raw, reply.words, reply.calls), (raw, Some("So.".into()), vec![]));
}

#[test]
fn arguments_that_are_not_an_object_stay_text_and_can_be_sent_back() {
    for text in ["{\"path\":", "[1]", "{\"a\":1,\"a\":2}", "null"] {
        let reply =
            reduce(Wire::Anthropic, &with_end(vec![tool(0, "a", "read_file"), input(0, text)], "max_tokens")).unwrap();
        assert_eq!((&reply.calls[0].arguments, reply.stop), (&Err(text.to_owned()), Stop::Length));
        assert_eq!(reply.raw[0]["input"], json!({"INVALID_JSON": text}));
    }
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let reply = reduce(Wire::Anthropic, &with_end(vec![tool(0, "a", "list_files"), input(0, "")], "tool_use")).unwrap();
    assert_eq!(reply.calls[0].arguments, Ok(json!({})));
}

#[test]
fn missing_and_repeated_ids_are_made_unique() {
    let events = with_end(vec![tool(0, "a", "x"), tool(1, "a", "x"), tool(2, "", "x"), tool(3, "", "x")], "tool_use");
    let reply = reduce(Wire::Anthropic, &events).unwrap();
    let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "a-2", "call_1_7", "call_1_7-2"]);
    assert_eq!(reply.raw[3]["id"], "call_1_7-2");
}

#[test]
fn the_stop_depends_on_the_stop_reason_and_the_content() {
    let stop = |reason: &str, blocks: Vec<Value>| reduce(Wire::Anthropic, &with_end(blocks, reason)).unwrap().stop;
    assert_eq!(stop("tool_use", vec![]), Stop::End);
    assert_eq!(stop("end_turn", vec![tool(0, "a", "x")]), Stop::Calls);
    assert_eq!(stop("something_new", vec![tool(0, "a", "x")]), Stop::Calls);
    assert_eq!(stop("refusal", vec![]), Stop::Refusal);
    assert_eq!(stop("model_context_window_exceeded", vec![]), Stop::Window);
    assert_eq!(stop("stop_sequence", vec![]), Stop::End);
}

#[test]
fn a_reply_with_a_stop_reason_is_complete_without_the_last_event() {
    let mut events = hello();
    events.pop();
    assert_eq!(reduce(Wire::Anthropic, &events).unwrap().words.as_deref(), Some("Hello."));
    events.pop();
    assert_eq!(reduce(Wire::Anthropic, &events), Err(Fault::Incomplete));
}

#[test]
fn events_after_the_end_are_ignored() {
    let mut events = hello();
    events.extend([json!({"type": "message_stop"}), text(0, " And more."), json!(7)]);
    assert_eq!(reduce(Wire::Anthropic, &events).unwrap().words.as_deref(), Some("Hello."));
}

#[test]
fn invalid_usage_is_ignored_and_the_largest_report_counts() {
    let usage = |reports: &[Value]| {
        let mut reducer = reducer(Wire::Anthropic);
        for report in reports {
            let data = json!({"type": "message_delta", "delta": {}, "usage": report}).to_string();
            reducer.reduce(&Event { name: String::new(), data }).unwrap();
        }
        reducer.usage()
    };
    assert_eq!(usage(&[]), Reported::Nothing);
    assert_eq!(usage(&[json!({"input_tokens": -5, "output_tokens": "7"}), json!(null), json!([1])]), Reported::Nothing);
    assert_eq!(usage(&[json!({"output_tokens": 0})]), Reported::Part(Usage::default()));
    assert_eq!(usage(&[json!({"input_tokens": 9})]), Reported::Part(Usage { input: 9, ..Usage::default() }));
    let reports =
        [json!({"input_tokens": 9, "output_tokens": 5}), json!({"output_tokens": 3}), json!({"output_tokens": -1})];
    assert_eq!(usage(&reports), Reported::Whole(Usage { input: 9, output: 5, ..Usage::default() }));
    let huge = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "output_tokens": 1});
    assert_eq!(usage(&[huge]).whole().unwrap().input, TOKENS_MAX);
}

#[test]
fn five_hundred_calls_are_read_and_more_calls_than_the_limit_are_a_fault() {
    let calls = |count: u64| (0..count).map(|index| tool(index, &format!("t{index}"), "read_file")).collect();
    assert_eq!(reduce(Wire::Anthropic, &with_end(calls(500), "tool_use")).unwrap().calls.len(), 500);
    assert_eq!(reduce(Wire::Anthropic, &with_end(calls(CALLS_MAX as u64 + 1), "tool_use")), Err(Fault::TooLarge));
}

#[test]
fn an_endless_reply_is_a_fault_at_the_limit() {
    let mut reducer = reducer(Wire::Anthropic);
    let piece = "x".repeat(1024 * 1024);
    let events = [start(), block(0, &json!({"type": "text", "text": ""}))];
    let flood = std::iter::repeat_with(|| text(0, &piece));
    let fault = events.into_iter().chain(flood).find_map(|value| reducer.reduce(&event(&value)).err());
    assert_eq!(fault, Some(Fault::TooLarge));
    const { assert!(REPLY_BYTES_MAX < 50_000_000) };
}

#[test]
fn lone_surrogates_in_an_event_do_not_lose_the_reply() {
    let mut reducer = reducer(Wire::Anthropic);
    let send =
        |reducer: &mut Reducer, data: &str| reducer.reduce(&Event { name: String::new(), data: data.into() }).unwrap();
    for event in [start(), block(0, &json!({"type": "text", "text": ""}))] {
        send(&mut reducer, &event.to_string());
    }
    send(&mut reducer, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#);
    for event in end("end_turn") {
        send(&mut reducer, &event.to_string());
    }
    assert_eq!(reducer.finish().unwrap().words.as_deref(), Some("a\u{fffd}"));
}

#[test]
fn events_that_break_the_protocol_are_faults() {
    for event in [
        text(0, "x"),
        block(0, &json!({"text": "no type"})),
        json!({"type": "content_block_start", "content_block": {"type": "text"}}),
        json!({"type": "content_block_delta", "index": -1, "delta": {}}),
    ] {
        assert!(matches!(reduce(Wire::Anthropic, &[start(), event.clone()]), Err(Fault::Malformed(_))), "{event}");
    }
    let twice = [start(), tool(0, "a", "x"), tool(0, "a", "x")];
    assert!(matches!(reduce(Wire::Anthropic, &twice), Err(Fault::Malformed(_))));
}

#[test]
fn a_call_written_as_text_is_sent_back_as_a_tool_call() {
    let written = "I look.\n<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}</tool_call>";
    let events = with_end(vec![block(0, &json!({"type": "text", "text": written}))], "end_turn");
    let reply = reduce(Wire::Anthropic, &events).unwrap();
    let raw = json!([{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "call_1_7", "name": "read_file", "input": {"path": "a"}}]);
    assert_eq!((reply.raw, reply.words, reply.stop), (raw, Some("I look.".into()), Stop::Calls));
    assert_eq!(reply.calls[0].arguments, Ok(json!({"path": "a"})));
}
