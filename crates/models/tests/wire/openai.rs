//! Replies over Chat Completions, from servers that differ in details.

use guildhall_agent::{RawCall, Reply, Reported, Stop, Usage, Wire};
use guildhall_models::{CALLS_MAX, Event, Fault};
use serde_json::{Value, json};

use crate::server::{answer, stream};
use crate::setting::{ask, ask_with, chunks, delta, event, finish, reduce, reducer};

pub(crate) fn used() -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 60}}})
}

pub(crate) fn hello() -> String {
    let stream = [
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "Hel"})),
        delta(&json!({"content": "lo."})),
        finish("stop"),
        used(),
    ];
    chunks(&stream) + "data: [DONE]\n\n"
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}]}))
}

fn more(index: u64, arguments: &str) -> Value {
    delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
}

fn calls(events: &[Value]) -> Vec<(String, String, Result<Value, String>)> {
    let reply = reduce(Wire::OpenAi, events).unwrap();
    reply.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn read(id: &str, arguments: Value) -> (String, String, Result<Value, String>) {
    (id.into(), "read_file".into(), Ok(arguments))
}

#[tokio::test]
async fn a_streamed_reply_is_complete_and_its_input_includes_cached_tokens() {
    let asked = ask(Wire::OpenAi, vec![vec![stream(hello())]]).await;
    let reply = Reply {
        wire: Wire::OpenAi,
        raw: json!({"role": "assistant", "content": "Hello."}),
        words: Some("Hello.".into()),
        calls: vec![],
        stop: Stop::End,
        part: None,
    };
    let usage = Usage { input: 100, cache_read: 60, cache_write: 0, output: 20 };
    assert_eq!((asked.attempt.outcome, asked.attempt.usage), (Ok(reply), Reported::Whole(usage)));
    assert_eq!(asked.watched, ["Hel", "lo.", "(100 in, 20 out)"]);
    let head = &asked.requests[0].head;
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer sk-secret"), "{head}");
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_the_same_with_any_content_type() {
    let body = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    for headers in ["content-type: application/json\r\n", "content-type: text/event-stream\r\n", ""] {
        let asked = ask(Wire::OpenAi, vec![vec![answer(200, headers, format!("\n {body}"))]]).await;
        assert_eq!(asked.attempt.outcome.unwrap().words.as_deref(), Some("Hello."), "{headers}");
        assert_eq!(asked.attempt.usage, Reported::Whole(Usage { input: 3, output: 2, ..Usage::default() }));
    }
    let asked = ask(Wire::OpenAi, vec![vec![answer(200, "content-type: application/json\r\n", hello())]]).await;
    assert_eq!(asked.attempt.outcome.unwrap().words.as_deref(), Some("Hello."));
}

#[tokio::test]
async fn requests_of_a_session_have_idempotency_keys() {
    let asked =
        ask_with(Wire::OpenAi, vec![vec![stream(hello())]], |endpoint| endpoint.session = Some("s9".into())).await;
    assert!(asked.requests[0].head.contains("idempotency-key: s9/1#7"), "{}", asked.requests[0].head);
}

#[test]
fn parallel_calls_are_distinguished_by_their_index() {
    let events = [
        call(0, "a", "read_file", ""),
        call(1, "b", "read_file", "{\"n\""),
        more(0, "{\"path\":"),
        more(1, ":2}"),
        more(0, "\"x\"}"),
        finish("tool_calls"),
    ];
    assert_eq!(calls(&events), [read("a", json!({"path": "x"})), read("b", json!({"n": 2}))]);
}

#[test]
fn calls_with_the_same_index_or_without_an_index_are_distinguished() {
    let expect = [read("a", json!({"n": 1})), read("b", json!({"n": 2}))];
    let alike = [call(0, "a", "read_file", "{\"n\":1}"), call(0, "b", "read_file", "{\"n\":2}"), finish("stop")];
    assert_eq!(calls(&alike), expect);
    let bare = |id: &str, name: &str, arguments: &str| {
        delta(&json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}))
    };
    let none = [
        bare("a", "read_file", "{\"n\""),
        bare("", "", ":1}"),
        bare("b", "read_file", "{\"n\""),
        bare("b", "", ":2}"),
        finish("stop"),
    ];
    assert_eq!(calls(&none), expect);
    let repeated = [call(0, "a", "read_file", "{\"n\""), call(0, "a", "read_file", ":1}"), finish("stop")];
    assert_eq!(calls(&repeated), expect[..1]);
}

#[test]
fn missing_ids_are_generated_and_arguments_can_be_an_object() {
    let events = [
        delta(&json!({"tool_calls": [{"function": {"name": "read_file", "arguments": {"n": 1}}},
            {"function": {"name": "read_file"}}]})),
        finish("tool_calls"),
    ];
    assert_eq!(calls(&events), [read("call_1_7", json!({"n": 1})), read("call_1_7-2", json!({}))]);
}

#[test]
fn the_raw_message_can_be_sent_back() {
    let events = [
        delta(&json!({"role": "assistant", "reasoning_content": "Hm"})),
        delta(&json!({"reasoning_content": "m.", "reasoning_details": [{"text": "a"}]})),
        delta(&json!({"reasoning_details": [{"text": "b"}]})),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": "{ \"n\":1}"},
            "extra_content": {"google": {"thought_signature": "sig"}}}]}),
        ),
        call(1, "b", "", "{\"cut"),
        finish("length"),
    ];
    let reply = reduce(Wire::OpenAi, &events).unwrap();
    let raw = json!({
        "role": "assistant", "content": null, "reasoning_content": "Hmm.",
        "reasoning_details": [{"text": "a"}, {"text": "b"}],
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": "{ \"n\":1}"},
                "extra_content": {"google": {"thought_signature": "sig"}}},
            {"id": "b", "type": "function", "function": {"name": "unnamed", "arguments": "{\"INVALID_JSON\":\"{\\\"cut\"}"}},
        ],
    });
    assert_eq!((reply.raw, reply.stop), (raw, Stop::Length));
    assert_eq!(reply.calls[1], RawCall { id: "b".into(), name: String::new(), arguments: Err("{\"cut".into()) });
}

#[test]
fn a_call_written_as_text_is_sent_back_as_a_tool_call() {
    let text = "Sure.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```";
    let reply = reduce(Wire::OpenAi, &[delta(&json!({"content": text})), finish("stop")]).unwrap();
    assert_eq!((reply.words.as_deref(), reply.stop), (Some("Sure."), Stop::Calls));
    let id = "call_1_7".to_owned();
    let call = RawCall { id, name: "read_file".into(), arguments: Ok(json!({"path": "a"})) };
    assert_eq!(reply.calls, [call]);
    let raw = json!({"role": "assistant", "content": "Sure.", "tool_calls": [
        {"id": "call_1_7", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}]});
    assert_eq!(reply.raw, raw);
}

#[test]
fn a_written_call_stays_text_beside_a_tool_call_or_with_an_unknown_tool() {
    let text = "{\"name\": \"read_file\", \"arguments\": {}}";
    let both = [delta(&json!({"content": text})), call(0, "a", "list_files", "{}"), finish("tool_calls")];
    let reply = reduce(Wire::OpenAi, &both).unwrap();
    assert_eq!((reply.calls.len(), reply.words.as_deref()), (1, Some(text)));
    let unknown = "{\"name\": \"rm\", \"arguments\": {}}";
    let reply = reduce(Wire::OpenAi, &[delta(&json!({"content": unknown})), finish("stop")]).unwrap();
    assert_eq!((reply.calls.len(), reply.words.as_deref()), (0, Some(unknown)));
}

#[test]
fn thinking_left_in_the_text_is_removed() {
    let events = [delta(&json!({"content": "<think>\nHm.\n</think>\n\nYes."})), finish("stop")];
    let reply = reduce(Wire::OpenAi, &events).unwrap();
    assert_eq!(reply.words.as_deref(), Some("Yes."));
    assert_eq!(reply.raw["content"], "<think>\nHm.\n</think>\n\nYes.");
}

#[test]
fn a_reply_that_is_cut_within_thinking_left_in_the_text_has_no_words() {
    let cut = reduce(Wire::OpenAi, &[delta(&json!({"content": "<think>\nHm. Tues"})), finish("length")]).unwrap();
    assert_eq!((cut.words, cut.stop), (None, Stop::Length));
}

#[test]
fn a_reply_that_is_cut_behind_the_name_of_a_call_has_no_arguments_for_it() {
    let events = [call(0, "a", "list_files", "{}"), call(1, "b", "list_files", ""), finish("length")];
    let reply = reduce(Wire::OpenAi, &events).unwrap();
    let arguments: Vec<bool> = reply.calls.iter().map(|call| call.arguments.is_ok()).collect();
    assert_eq!((arguments, reply.stop), (vec![true, false], Stop::Length));
}

#[test]
fn the_stop_depends_on_the_stop_reason_and_the_content() {
    let stop = |events: &[Value]| reduce(Wire::OpenAi, events).unwrap().stop;
    assert_eq!(stop(&[call(0, "a", "x", "{}"), finish("stop")]), Stop::Calls);
    assert_eq!(stop(&[finish("tool_calls")]), Stop::End);
    assert_eq!(stop(&[finish("content_filter")]), Stop::Refusal);
    assert_eq!(stop(&[finish("length")]), Stop::Length);
    let refused = [delta(&json!({"refusal": "I can't."})), finish("stop")];
    assert_eq!(reduce(Wire::OpenAi, &refused).unwrap().words.as_deref(), Some("I can't."));
    assert_eq!(stop(&refused), Stop::Refusal);
}

#[test]
fn a_stream_without_a_stop_reason_needs_done_at_its_end() {
    let events = [delta(&json!({"content": "Hi"}))];
    assert_eq!(reduce(Wire::OpenAi, &events), Err(Fault::Incomplete));
    let mut reducer = reducer(Wire::OpenAi);
    let done = Event { name: String::new(), data: "[DONE]".into() };
    reducer.reduce(&done).unwrap();
    assert!(!reducer.is_done(), "[DONE] before the first chunk does not end the reply");
    reducer.reduce(&event(&events[0])).unwrap();
    reducer.reduce(&done).unwrap();
    assert_eq!(reducer.finish().unwrap().words.as_deref(), Some("Hi"));
}

#[test]
fn usage_in_every_chunk_counts_once() {
    let mut reducer = reducer(Wire::OpenAi);
    for output in 1..5 {
        let usage = json!({"prompt_tokens": 10, "completion_tokens": output, "prompt_cache_hit_tokens": 9});
        reducer.reduce(&event(&json!({"choices": null, "usage": usage}))).unwrap();
    }
    assert_eq!(reducer.usage(), Reported::Whole(Usage { input: 10, cache_read: 9, cache_write: 0, output: 4 }));
}

#[test]
fn five_hundred_calls_are_read_and_more_calls_than_the_limit_are_a_fault() {
    let many = |count: u64| {
        let mut events: Vec<Value> = (0..count).map(|n| call(n, &format!("c{n}"), "read_file", "{}")).collect();
        events.push(finish("tool_calls"));
        reduce(Wire::OpenAi, &events)
    };
    assert_eq!(many(500).unwrap().calls.len(), 500);
    assert_eq!(many(CALLS_MAX as u64 + 1), Err(Fault::TooLarge));
}

#[test]
fn content_in_parts_is_read() {
    let parts = json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}]);
    let reply = reduce(Wire::OpenAi, &[delta(&json!({"content": parts})), finish("stop")]).unwrap();
    assert_eq!(reply.words.as_deref(), Some("Hi"));
}
