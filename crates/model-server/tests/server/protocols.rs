//! Both protocols, streamed and not streamed. Each body is compared as a whole.

use serde_json::{Value, json};

use crate::client::{Connection, End, STREAMS, WIRES, Wire, ask};
use crate::{replying, start};

/// A reply with every kind of part.
fn full_reply() -> Value {
    json!({
        "thinking": [{"thinking": "hm \"é\"", "signature": "sig=="}, {"redacted": "xyz"}],
        "text": "Let me see, {{last_user}}.",
        "calls": [{"name": "read_file", "arguments": {"path": "a.txt"}, "id": "call-1"}, {"name": "list_files"}],
        "usage": {"input": 10, "output": 5, "cache_read": 3, "cache_write": 2},
        "pace": {"chunk_chars": 20},
    })
}

fn check(wire: Wire, content_type: &str, expect: &str) {
    let peer = replying(&full_reply());
    let got = ask(&peer, wire, "Ada");
    assert_eq!((got.status, got.end), (200, End::Complete));
    assert_eq!(got.headers["content-type"], content_type);
    assert_eq!(got.text(), expect);
}

#[test]
fn anthropic_messages_are_complete() {
    check(
        Wire::Anthropic,
        "application/json",
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm \"é\"","signature":"sig=="},{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"Let me see, Ada."},{"type":"tool_use","id":"call-1","name":"read_file","input":{"path":"a.txt"}},{"type":"tool_use","id":"toolu_1_1","name":"list_files","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":5}}"#,
    );
}

#[test]
fn anthropic_streams_are_complete() {
    check(
        Wire::AnthropicStream,
        "text/event-stream; charset=utf-8",
        r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm \"é\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me see, Ada."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"call-1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a.txt\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1_1","name":"list_files","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#,
    );
}

#[test]
fn openai_completions_are_complete() {
    check(
        Wire::OpenAi,
        "application/json",
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Let me see, Ada.","refusal":null,"reasoning_content":"hm \"é\"","tool_calls":[{"id":"call-1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}},{"id":"call_1_1","type":"function","function":{"name":"list_files","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":15,"completion_tokens":5,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":3}}}"#,
    );
}

#[test]
fn openai_streams_are_complete() {
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{choices}],\"usage\":{usage}}}\n\n"
        )
    };
    let delta = |delta: &str| chunk(&format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#), "null");
    let expect = [
        delta(r#"{"role":"assistant","content":""}"#),
        delta(r#"{"reasoning_content":"hm \"é\""}"#),
        delta(r#"{"content":"Let me see, Ada."}"#),
        delta(
            r#"{"tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"read_file","arguments":""}}]}"#,
        ),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"a.txt\"}"}}]}"#),
        delta(
            r#"{"tool_calls":[{"index":1,"id":"call_1_1","type":"function","function":{"name":"list_files","arguments":""}}]}"#,
        ),
        delta(r#"{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}"#),
        chunk(r#"{"index":0,"delta":{},"finish_reason":"tool_calls"}"#, "null"),
        chunk(
            "",
            r#"{"prompt_tokens":15,"completion_tokens":5,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":3}}"#,
        ),
        "data: [DONE]\n\n".into(),
    ];
    check(Wire::OpenAiStream, "text/event-stream; charset=utf-8", &expect.concat());
}

#[test]
fn an_openai_stream_has_a_usage_only_on_request() {
    let peer = replying(&full_reply());
    let mut body = Wire::OpenAi.request("Ada");
    body["stream"] = true.into();
    let got = crate::client::ask_with(&peer, Wire::OpenAiStream, &[], &body);
    assert!(got.text().ends_with("\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"), "{}", got.text());
    assert!(!got.text().contains("usage"));
}

#[test]
fn texts_are_sent_in_deltas_of_chunk_chars() {
    let peer = replying(&json!({"text": "añb世c", "pace": {"chunk_chars": 2}}));
    let anthropic = ask(&peer, Wire::AnthropicStream, "").events();
    let texts: Vec<&str> = anthropic.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(texts, ["añ", "b世", "c"]);
    let openai = ask(&peer, Wire::OpenAiStream, "").events();
    let texts: Vec<&str> = openai.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(texts, ["", "añ", "b世", "c"]);
}

#[test]
fn a_huge_text_is_sent_in_a_thousand_deltas() {
    let peer = replying(&json!({"text": {"again": "ab", "times": 1_000_000}}));
    let events = ask(&peer, Wire::AnthropicStream, "").events();
    let texts = events.iter().filter_map(|event| event["delta"]["text"].as_str());
    assert_eq!((texts.clone().count(), texts.map(str::len).sum::<usize>()), (1000, 2_000_000));
}

#[test]
fn known_stop_reasons_are_translated_and_unknown_ones_are_sent_unchanged() {
    for (stop, finish) in [
        (None, json!("stop")),
        (Some("max_tokens"), json!("length")),
        (Some("refusal"), json!("content_filter")),
        (Some("weird"), json!("weird")),
        (Some("missing"), json!(null)),
    ] {
        let peer = replying(&json!({"text": "x", "stop": stop}));
        let reason = ask(&peer, Wire::Anthropic, "").json()["stop_reason"].clone();
        let expect = match stop {
            None => json!("end_turn"),
            Some("missing") => json!(null),
            Some(reason) => json!(reason),
        };
        assert_eq!(reason, expect);
        assert_eq!(ask(&peer, Wire::OpenAi, "").json()["choices"][0]["finish_reason"], finish);
    }
}

#[test]
fn noise_adds_comments_and_unknown_events_to_a_stream() {
    let peer = replying(&json!({"text": "x", "noise": true}));
    for wire in STREAMS {
        let text = ask(&peer, wire, "").text();
        assert!(text.starts_with(": still here\r\n\r\n"), "{text}");
        assert!(text.contains("event: weather_report\r\ndata: {"), "{text}");
        assert!(!text.replace("\r\n", "").contains('\n'), "every line ends with CRLF: {text}");
    }
    assert_eq!(ask(&peer, Wire::Anthropic, "").json()["content"][0]["text"], "x");
}

#[test]
fn one_connection_serves_many_requests() {
    let peer = replying(&json!({"text": "{{n}}"}));
    let mut connection = Connection::open(peer.address());
    for n in 1..=8 {
        let wire = WIRES[n % 4];
        connection.send("POST", wire.path(), &[], &wire.request("").to_string());
        let got = connection.receive();
        assert_eq!(got.end, End::Complete);
        assert!(got.text().contains(&format!("\"{n}\"")), "{}", got.text());
    }
}

#[test]
fn models_are_listed_in_both_protocols_and_other_models_are_refused() {
    let peer = start(&json!({"models": ["small", "large"], "rules": []}));
    let list = |headers: &[(&str, &str)]| {
        let mut connection = Connection::open(peer.address());
        connection.send("GET", "/v1/models", headers, "");
        connection.receive().json()
    };
    let openai = list(&[]);
    assert_eq!(openai["object"], "list");
    assert_eq!(
        openai["data"][1],
        json!({"id": "large", "object": "model", "created": 1_700_000_000, "owned_by": "guildhall"})
    );
    let anthropic = list(&[("anthropic-version", "2023-06-01")]);
    assert_eq!(anthropic["last_id"], "large");
    assert_eq!(
        anthropic["data"][0],
        json!({"type": "model", "id": "small", "display_name": "small", "created_at": "2025-01-01T00:00:00Z"})
    );
    for (wire, kind) in [(Wire::Anthropic, "/error/type"), (Wire::OpenAi, "/error/code")] {
        let got = ask(&peer, wire, "");
        assert_eq!(got.status, 404);
        let kind = got.json().pointer(kind).unwrap().clone();
        assert!(kind == "not_found_error" || kind == "model_not_found", "{kind}");
    }
}

#[test]
fn a_request_that_no_rule_matches_gets_a_message_about_that() {
    let peer = start(&json!({"rules": []}));
    let got = ask(&peer, Wire::Anthropic, "");
    assert_eq!(got.status, 400);
    assert_eq!(got.json()["error"]["message"], "model-server: no rule of the script matches request 1");
}
