//! OpenAI Chat Completions on the wire.

use crate::json::{Literal, quote};
use crate::render::{Rendered, Resolved, Thought, sum};
use crate::script::reply::Usage;

/// All replies claim the same time of creation, so that the same request gets the same bytes.
const CREATED: u64 = 1_700_000_000;

/// The body of a reply that is not streamed.
pub(crate) fn completion(reply: &Resolved) -> String {
    let content = reply.text.as_ref().map_or_else(|| "null".into(), Literal::quoted);
    let thoughts: Vec<String> = open_thoughts(reply).map(Literal::quoted).collect();
    let inner: String = thoughts.iter().map(|quoted| &quoted[1..quoted.len() - 1]).collect();
    let reasoning = if thoughts.is_empty() { String::new() } else { format!(r#","reasoning_content":"{inner}""#) };
    let calls: Vec<String> = reply
        .calls
        .iter()
        .map(|call| {
            let (id, name, arguments) = (quote(&call.id), quote(&call.name), call.arguments.quoted());
            format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
        })
        .collect();
    let calls = if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
    let usage = reply.usage.as_ref().map_or_else(String::new, |usage| format!(r#","usage":{}"#, usage_json(usage)));
    let (n, model, stop) = (reply.n, quote(&reply.model), stop_json(reply));
    format!(
        r#"{{"id":"chatcmpl-{n}","object":"chat.completion","created":{CREATED},"model":{model},"choices":[{{"index":0,"message":{{"role":"assistant","content":{content},"refusal":null{reasoning}{calls}}},"logprobs":null,"finish_reason":{stop}}}]{usage}}}"#
    )
}

/// The chunks of a stream.
pub(crate) fn stream(reply: &Resolved) -> Rendered {
    let mut out = Rendered::default();
    let delta = |delta: &str| chunk(reply, &format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#), "");
    out.push(delta(r#"{"role":"assistant","content":""}"#));
    for thought in open_thoughts(reply) {
        for piece in thought.deltas(reply.chunk_chars) {
            out.push_delta(delta(&format!(r#"{{"reasoning_content":{piece}}}"#)));
        }
    }
    for piece in reply.text.iter().flat_map(|text| text.deltas(reply.chunk_chars)) {
        out.push_delta(delta(&format!(r#"{{"content":{piece}}}"#)));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let (id, name) = (quote(&call.id), quote(&call.name));
        out.push_delta(delta(&format!(
            r#"{{"tool_calls":[{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":""}}}}]}}"#
        )));
        for piece in call.arguments.deltas(reply.chunk_chars) {
            let part = format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]}}"#);
            out.push_delta(delta(&part));
        }
    }
    let told = reply.usage.as_ref().filter(|_| reply.include_usage);
    for earlier in told.iter().flat_map(|usage| &usage.earlier) {
        out.push(chunk(reply, "", &format!(r#","usage":{}"#, usage_json(earlier))));
    }
    let last = format!(r#"{{"index":0,"delta":{{}},"finish_reason":{}}}"#, stop_json(reply));
    out.push_end(chunk(reply, &last, ""));
    if let Some(usage) = told {
        out.push_end(chunk(reply, "", &format!(r#","usage":{}"#, usage_json(usage))));
    }
    out.push_end("data: [DONE]\n\n".into());
    out
}

/// The chunk that ends a stream with an error.
pub(crate) fn error_event(kind: &str, message: &str) -> String {
    let (kind, message) = (quote(kind), quote(message));
    format!("data: {{\"error\":{{\"message\":{message},\"type\":{kind},\"param\":null,\"code\":null}}}}\n\n")
}

/// An event that no client knows.
pub(crate) fn unknown_event() -> String {
    "event: weather_report\ndata: {\"weather\":\"fair\"}\n\n".into()
}

fn open_thoughts(reply: &Resolved) -> impl Iterator<Item = &Literal> {
    reply.thinking.iter().filter_map(|thought| match thought {
        Thought::Open { thinking, .. } => Some(thinking),
        Thought::Redacted(_) => None,
    })
}

fn chunk(reply: &Resolved, choice: &str, usage: &str) -> String {
    let (n, model) = (reply.n, quote(&reply.model));
    // With include_usage every chunk but the last says that its usage is null.
    let usage = if usage.is_empty() && reply.include_usage { r#","usage":null"# } else { usage };
    format!(
        "data: {{\"id\":\"chatcmpl-{n}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":{model},\"choices\":[{choice}]{usage}}}\n\n"
    )
}

fn stop_json(reply: &Resolved) -> String {
    let word = match reply.stop.as_deref() {
        None => return "null".into(),
        Some("end_turn" | "stop_sequence") => "stop",
        Some("tool_use") => "tool_calls",
        Some("max_tokens") => "length",
        Some("refusal") => "content_filter",
        Some(other) => other,
    };
    quote(word)
}

fn usage_json(usage: &Usage) -> String {
    let prompt = sum(&[&usage.input, &usage.cache_read, &usage.cache_write]);
    let total = sum(&[&usage.input, &usage.cache_read, &usage.cache_write, &usage.output]);
    let (output, cached) = (usage.output.json(), usage.cache_read.json());
    format!(
        r#"{{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":{total},"prompt_tokens_details":{{"cached_tokens":{cached}}}}}"#
    )
}
