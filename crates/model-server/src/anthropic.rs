//! Anthropic Messages on the wire.

use crate::json::quote;
use crate::render::{Rendered, Resolved, Thought};
use crate::script::reply::{Amount, Usage};

/// The body of a reply that is not streamed.
pub(crate) fn message(reply: &Resolved) -> String {
    let blocks: Vec<String> = reply
        .thinking
        .iter()
        .map(thought)
        .chain(reply.text.iter().map(|text| format!(r#"{{"type":"text","text":{}}}"#, text.quoted())))
        .chain(reply.calls.iter().map(|call| {
            let (id, name) = (quote(&call.id), quote(&call.name));
            format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{}}}"#, call.arguments.verbatim())
        }))
        .collect();
    let usage = reply.usage.as_ref().map_or_else(String::new, |usage| format!(r#","usage":{}"#, usage_json(usage)));
    envelope(reply, &blocks.join(","), &stop_json(reply), &usage)
}

/// The events of a stream.
pub(crate) fn stream(reply: &Resolved) -> Rendered {
    let mut out = Rendered::default();
    let begun = reply.usage.as_ref().map(|usage| Usage {
        input: usage.input_at_start.clone().unwrap_or_else(|| usage.input.clone()),
        output: Amount::Whole(1),
        ..usage.clone()
    });
    let usage = begun.map_or_else(String::new, |usage| format!(r#","usage":{}"#, usage_json(&usage)));
    let message = envelope(reply, "", "null", &usage);
    out.push(event("message_start", &format!(r#""message":{message}"#)));
    out.push(event_bare("ping"));
    let mut index = 0;
    for thought in &reply.thinking {
        stream_thought(&mut out, index, thought, reply.chunk_chars);
        index += 1;
    }
    if let Some(text) = &reply.text {
        let deltas = text.deltas(reply.chunk_chars);
        let deltas = deltas.iter().map(|piece| format!(r#"{{"type":"text_delta","text":{piece}}}"#));
        block(&mut out, index, r#"{"type":"text","text":""}"#, deltas);
        index += 1;
    }
    for call in &reply.calls {
        let (id, name) = (quote(&call.id), quote(&call.name));
        let start = format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{{}}}}"#);
        // The first delta of a call is always empty.
        let pieces = std::iter::once("\"\"".to_owned()).chain(call.arguments.deltas(reply.chunk_chars));
        let deltas = pieces.map(|piece| format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#));
        block(&mut out, index, &start, deltas);
        index += 1;
    }
    for earlier in reply.usage.iter().flat_map(|usage| &usage.earlier) {
        let delta = format!(r#""delta":{{"stop_reason":null,"stop_sequence":null}},"usage":{}"#, usage_json(earlier));
        out.push(event("message_delta", &delta));
    }
    let usage = reply.usage.as_ref().map_or_else(String::new, |usage| format!(r#","usage":{}"#, usage_json(usage)));
    let stop = stop_json(reply);
    let delta = format!(r#""delta":{{"stop_reason":{stop},"stop_sequence":null}}{usage}"#);
    out.push_end(event("message_delta", &delta));
    out.push_end(event_bare("message_stop"));
    out
}

/// The event that ends a stream with an error.
pub(crate) fn error_event(kind: &str, message: &str) -> String {
    let (kind, message) = (quote(kind), quote(message));
    event("error", &format!(r#""error":{{"type":{kind},"message":{message}}}"#))
}

/// An event that no client knows.
pub(crate) fn unknown_event() -> String {
    event("weather_report", r#""weather":"fair""#)
}

fn event(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",{fields}}}\n\n")
}

fn event_bare(name: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\"}}\n\n")
}

fn envelope(reply: &Resolved, content: &str, stop: &str, usage: &str) -> String {
    let (n, model) = (reply.n, quote(&reply.model));
    format!(
        r#"{{"id":"msg_{n}","type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":{stop},"stop_sequence":null{usage}}}"#
    )
}

fn thought(thought: &Thought) -> String {
    match thought {
        Thought::Open { thinking, signature } => {
            let (thinking, signature) = (thinking.quoted(), quote(signature));
            format!(r#"{{"type":"thinking","thinking":{thinking},"signature":{signature}}}"#)
        }
        Thought::Redacted(data) => format!(r#"{{"type":"redacted_thinking","data":{}}}"#, quote(data)),
    }
}

fn stream_thought(out: &mut Rendered, index: usize, content: &Thought, chunk_chars: Option<usize>) {
    match content {
        Thought::Open { thinking, signature } => {
            let deltas = thinking.deltas(chunk_chars);
            let deltas = deltas.iter().map(|piece| format!(r#"{{"type":"thinking_delta","thinking":{piece}}}"#));
            let signed = format!(r#"{{"type":"signature_delta","signature":{}}}"#, quote(signature));
            let start = r#"{"type":"thinking","thinking":"","signature":""}"#;
            block(out, index, start, deltas.chain([signed]));
        }
        Thought::Redacted(_) => block(out, index, &thought(content), []),
    }
}

fn block(out: &mut Rendered, index: usize, start: &str, deltas: impl IntoIterator<Item = String>) {
    out.push(event("content_block_start", &format!(r#""index":{index},"content_block":{start}"#)));
    for delta in deltas {
        out.push_delta(event("content_block_delta", &format!(r#""index":{index},"delta":{delta}"#)));
    }
    out.push(event("content_block_stop", &format!(r#""index":{index}"#)));
}

fn stop_json(reply: &Resolved) -> String {
    reply.stop.as_deref().map_or_else(|| "null".into(), quote)
}

fn usage_json(usage: &Usage) -> String {
    format!(
        r#"{{"input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"output_tokens":{}}}"#,
        usage.input.json(),
        usage.cache_write.json(),
        usage.cache_read.json(),
        usage.output.json(),
    )
}
