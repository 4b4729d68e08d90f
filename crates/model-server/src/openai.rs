//! Writes replies as OpenAI Chat Completions.

use crate::render::{Part, Rendered, Resolved, quote};
use crate::script::{Amount, Usage};

/// All replies have the same time of creation, so that the same request gets the same bytes.
const CREATED: u64 = 1_700_000_000;

/// Returns the body of a reply that is not streamed.
pub(crate) fn completion(reply: &Resolved<'_>) -> String {
    let (mut content, mut reasoning, mut calls) = ("null".to_owned(), String::new(), Vec::new());
    for part in &reply.parts {
        match part {
            Part::Thinking { text, .. } => {
                let quoted = text.quoted();
                reasoning += &quoted[1..quoted.len() - 1];
            }
            Part::Redacted(_) => {}
            Part::Text(text) => content = text.quoted(),
            Part::Call { id, name, arguments } => {
                let (id, name, arguments) = (quote(id), quote(name), arguments.quoted());
                calls.push(format!(
                    r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
                ));
            }
        }
    }
    let mut message = vec![format!(r#""role":"assistant","content":{content},"refusal":null"#)];
    if !reasoning.is_empty() {
        message.push(format!(r#""reasoning_content":"{reasoning}""#));
    }
    if !calls.is_empty() {
        message.push(format!(r#""tool_calls":[{}]"#, calls.join(",")));
    }
    let message = message.join(",");
    let (n, model, stop, usage) = (reply.turn.n, quote(&reply.turn.model), stop(reply), usage(reply.usage.as_ref()));
    format!(
        r#"{{"id":"chatcmpl-{n}","object":"chat.completion","created":{CREATED},"model":{model},"choices":[{{"index":0,"message":{{{message}}},"logprobs":null,"finish_reason":{stop}}}]{usage}}}"#
    )
}

/// Returns the chunks of a stream.
pub(crate) fn stream(reply: &Resolved<'_>) -> Rendered {
    let mut out = Rendered::default();
    let delta = |delta: &str| chunk(reply, &format!(r#"{{"index":0,"delta":{delta},"finish_reason":null}}"#), None);
    out.events.push(delta(r#"{"role":"assistant","content":""}"#));
    let mut calls = 0;
    for part in &reply.parts {
        match part {
            Part::Thinking { text, .. } => {
                let pieces = text.deltas(reply.chunk_chars).into_iter();
                out.push_deltas(pieces.map(|piece| delta(&format!(r#"{{"reasoning_content":{piece}}}"#))));
            }
            Part::Redacted(_) => {}
            Part::Text(text) => {
                let pieces = text.deltas(reply.chunk_chars).into_iter();
                out.push_deltas(pieces.map(|piece| delta(&format!(r#"{{"content":{piece}}}"#))));
            }
            Part::Call { id, name, arguments } => {
                let call = |fields: &str| delta(&format!(r#"{{"tool_calls":[{{"index":{calls},{fields}}}]}}"#));
                let (id, name) = (quote(id), quote(name));
                let start = format!(r#""id":{id},"type":"function","function":{{"name":{name},"arguments":""}}"#);
                let pieces = arguments.deltas(reply.chunk_chars).into_iter();
                let rest = pieces.map(|piece| call(&format!(r#""function":{{"arguments":{piece}}}"#)));
                out.push_deltas([call(&start)].into_iter().chain(rest));
                calls += 1;
            }
        }
    }
    let reported = reply.usage.as_ref().filter(|_| reply.turn.include_usage);
    for earlier in reported.iter().flat_map(|usage| &usage.earlier) {
        out.events.push(chunk(reply, "", Some(earlier)));
    }
    let last = format!(r#"{{"index":0,"delta":{{}},"finish_reason":{}}}"#, stop(reply));
    out.push_end(chunk(reply, &last, None));
    if reported.is_some() {
        out.push_end(chunk(reply, "", reported));
    }
    out.push_end("data: [DONE]\n\n".into());
    out
}

fn chunk(reply: &Resolved<'_>, choice: &str, reported: Option<&Usage>) -> String {
    let (n, model) = (reply.turn.n, quote(&reply.turn.model));
    // With include_usage, every chunk except the last has `"usage": null`.
    let usage =
        if reported.is_none() && reply.turn.include_usage { r#","usage":null"#.into() } else { usage(reported) };
    format!(
        "data: {{\"id\":\"chatcmpl-{n}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":{model},\"choices\":[{choice}]{usage}}}\n\n"
    )
}

fn stop(reply: &Resolved<'_>) -> String {
    match reply.stop {
        None => "null".into(),
        Some("end_turn" | "stop_sequence") => quote("stop"),
        Some("tool_use") => quote("tool_calls"),
        Some("max_tokens") => quote("length"),
        Some("refusal") => quote("content_filter"),
        Some(other) => quote(other),
    }
}

/// Returns the field `usage`, with the comma before it.
fn usage(reported: Option<&Usage>) -> String {
    let Some(Usage { input, output, cache_read, cache_write, .. }) = reported else { return String::new() };
    let prompt = Amount::sum(&[input, cache_read, cache_write]);
    let total = Amount::sum(&[input, cache_read, cache_write, output]);
    let (output, cached) = (Amount::sum(&[output]), Amount::sum(&[cache_read]));
    format!(
        r#","usage":{{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":{total},"prompt_tokens_details":{{"cached_tokens":{cached}}}}}"#
    )
}
