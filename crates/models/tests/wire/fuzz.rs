//! The readers with random input: they never panic and stay within their memory limits. The tests are short; `cargo bolero test`
//! runs the same targets for longer.

use std::fs;

use guildhall_agent::Wire;
use guildhall_models::{Event, Frame, Reducer, Sse, read_written_calls};
use serde_json::{Value, json};

use crate::setting::reducer;

const RUNS: usize = 3000;
const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

/// Parts of the protocols, for streams that are nearly valid.
const TOKENS: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\ud83d",
    "\\ude00",
    "\n",
    "\r",
    "data: ",
    "event: ",
    ": ",
    "\n\n",
    "[DONE]",
    "null",
    "-1",
    "1e400",
    "18446744073709551615",
    "\"type\":",
    "\"index\":0",
    "\"error\"",
    "\"usage\":",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "tool_use",
    "partial_json",
    "\"choices\":[{\"delta\":",
    "\"tool_calls\":",
    "\"function\":",
    "\"name\":\"read_file\"",
    "\"arguments\":",
    "finish_reason",
    "<tool_call>",
    "```json\n",
];

/// Complete events, for streams with events in any order.
fn events() -> Vec<Value> {
    let function =
        |arguments: Value| json!([{"index": 0, "id": "a", "function": {"name": "read_file", "arguments": arguments}}]);
    vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "input": 7}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "thinking", "signature": []}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "{\"name\":\"read_file\"}"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"partial_json": "{\"a\":"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"signature": "s", "citation": 1, "x": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": 3, "id": {}, "name": 4}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
        json!({"type": "error", "error": 3}),
        json!({"choices": [{"delta": {"content": "Hi"}}]}),
        json!({"choices": [{"delta": {"tool_calls": function(json!("{\"a\":1"))}}]}),
        json!({"choices": [{"delta": {"tool_calls": function(json!({"b": 2}))}}]}),
        json!({"choices": [{"delta": {"tool_calls": [7, null, {"id": "b", "rest": [1]}]}}]}),
        json!({"choices": [{"delta": {"role": "assistant", "content": [{"text": "x"}], "reasoning": "r", "reasoning": 5}}]}),
        json!({"choices": [{"delta": {"tool_calls": {}, "content": {}, "refusal": "no"}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}}}),
        json!({"error": false, "choices": null}),
        json!([]),
    ]
}

fn finish(reducer: Reducer) {
    if let Ok(reply) = reducer.finish() {
        assert!(reply.words.is_none_or(|words| !words.trim().is_empty()));
        let mut ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() == reply.calls.len() && ids.iter().all(|id| !id.is_empty()));
        assert!(reply.calls.iter().all(|call| call.arguments.as_ref().map_or(true, Value::is_object)));
    }
}

fn stream(bytes: &[u8], size: usize) {
    for wire in WIRES {
        let mut sse = Sse::with_limit(4096);
        let mut reducer = reducer(wire);
        'chunks: for chunk in bytes.chunks(size.max(1)) {
            let Ok(frames) = sse.push(chunk) else { break };
            for frame in frames {
                if let Frame::Event(event) = frame
                    && reducer.reduce(&event).is_err()
                {
                    break 'chunks;
                }
            }
        }
        finish(reducer);
    }
}

#[test]
fn any_bytes_are_a_stream_or_a_fault() {
    bolero::check!().with_iterations(RUNS).with_type::<(Vec<u8>, u8)>().for_each(|(bytes, size)| {
        stream(bytes, usize::from(*size));
        for wire in WIRES {
            let mut reducer = reducer(wire);
            if reducer.read_body(&String::from_utf8_lossy(bytes)).is_ok() {
                finish(reducer);
            }
        }
    });
}

/// Streams of real servers.
fn corpus() -> Vec<Vec<u8>> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/corpus");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus is empty");
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn real_streams_with_changed_bytes_are_streams_or_faults() {
    let corpus = corpus();
    for bytes in &corpus {
        (1..bytes.len()).step_by(7).for_each(|size| stream(bytes, size));
    }
    bolero::check!().with_iterations(RUNS).with_type::<(u8, u8, Vec<(u16, u8)>)>().for_each(|(pick, size, changes)| {
        let mut bytes = corpus[usize::from(*pick) % corpus.len()].clone();
        for (at, byte) in changes.iter().take(8) {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = *byte;
        }
        stream(&bytes, usize::from(*size));
    });
}

#[test]
fn any_mix_of_protocol_tokens_is_a_stream_or_a_fault() {
    bolero::check!().with_iterations(RUNS).with_type::<(Vec<u8>, u8)>().for_each(|(picks, size)| {
        let text: String = picks.iter().map(|pick| TOKENS[usize::from(*pick) % TOKENS.len()]).collect();
        stream(text.as_bytes(), usize::from(*size));
        if let Some(written) = read_written_calls(&text, &["read_file"]) {
            assert!(written.calls.iter().all(|(name, _)| name == "read_file"));
        }
    });
}

#[test]
fn any_order_of_events_is_a_reply_or_a_fault() {
    let events: Vec<Event> =
        events().iter().map(|event| Event { name: String::new(), data: event.to_string() }).collect();
    bolero::check!().with_iterations(RUNS).with_type::<Vec<u8>>().for_each(|picks| {
        for wire in WIRES {
            let mut reducer = reducer(wire);
            let mut picked = picks.iter().map(|pick| &events[usize::from(*pick) % events.len()]);
            // The test continues after a fault, to check the state after it, too.
            picked.by_ref().for_each(|event| drop(reducer.reduce(event)));
            finish(reducer);
        }
    });
}

#[test]
fn the_size_of_chunks_does_not_change_a_stream() {
    bolero::check!().with_iterations(RUNS).with_type::<(Vec<u8>, u8)>().for_each(|(picks, size)| {
        let text: String = picks.iter().map(|pick| TOKENS[usize::from(*pick) % TOKENS.len()]).collect();
        let frames = |size: usize| {
            let mut sse = Sse::default();
            let mut frames: Vec<Frame> =
                text.as_bytes().chunks(size).flat_map(|chunk| sse.push(chunk).unwrap()).collect();
            frames.extend(sse.finish().map(Frame::Event));
            frames
        };
        assert_eq!(frames(usize::from(*size).max(1)), frames(text.len().max(1)));
    });
}
