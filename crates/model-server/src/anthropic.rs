//! Writes replies as Anthropic Messages.

use crate::render::{Part, Rendered, Resolved, quote};
use crate::script::{Amount, Usage};

/// Returns the body of a reply that is not streamed.
pub(crate) fn message(reply: &Resolved<'_>) -> String {
    let blocks: Vec<String> = reply.parts.iter().map(block).collect();
    envelope(reply, &blocks.join(","), &stop(reply), &usage(reply.usage.as_ref()))
}

/// Returns the events of a stream.
pub(crate) fn stream(reply: &Resolved<'_>) -> Rendered {
    let mut out = Rendered::default();
    let at_start = reply.usage.as_ref().map(|usage| Usage {
        input: usage.input_at_start.as_ref().unwrap_or(&usage.input).clone(),
        output: match usage.output {
            Amount::Number(output) => Amount::Number(output.min(1)),
            Amount::Verbatim(_) => Amount::Number(1),
        },
        ..usage.clone()
    });
    let message = envelope(reply, "", "null", &usage(at_start.as_ref()));
    out.events.push(event("message_start", &format!(r#","message":{message}"#)));
    out.events.push(event("ping", ""));
    for (index, part) in reply.parts.iter().enumerate() {
        let (start, deltas) = start_and_deltas(part, reply.chunk_chars);
        out.events.push(event("content_block_start", &format!(r#","index":{index},"content_block":{start}"#)));
        let deltas = deltas.iter().map(|delta| format!(r#","index":{index},"delta":{delta}"#));
        out.push_deltas(deltas.map(|delta| event("content_block_delta", &delta)));
        out.events.push(event("content_block_stop", &format!(r#","index":{index}"#)));
    }
    for earlier in reply.usage.iter().flat_map(|usage| &usage.earlier) {
        out.events.push(message_delta("null", Some(earlier)));
    }
    out.push_end(message_delta(&stop(reply), reply.usage.as_ref()));
    out.push_end(event("message_stop", ""));
    out
}

fn event(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\"{fields}}}\n\n")
}

fn message_delta(stop: &str, reported: Option<&Usage>) -> String {
    let fields = format!(r#","delta":{{"stop_reason":{stop},"stop_sequence":null}}{}"#, usage(reported));
    event("message_delta", &fields)
}

fn envelope(reply: &Resolved<'_>, content: &str, stop: &str, usage: &str) -> String {
    let (n, model) = (reply.turn.n, quote(&reply.turn.model));
    format!(
        r#"{{"id":"msg_{n}","type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":{stop},"stop_sequence":null{usage}}}"#
    )
}

fn block(part: &Part) -> String {
    match part {
        Part::Thinking { text, signature } => thinking_block(&text.quoted(), signature),
        Part::Redacted(data) => format!(r#"{{"type":"redacted_thinking","data":{}}}"#, quote(data)),
        Part::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, text.quoted()),
        Part::Call { id, name, arguments } => call_block(id, name, &arguments.verbatim()),
    }
}

fn thinking_block(thinking: &str, signature: &str) -> String {
    format!(r#"{{"type":"thinking","thinking":{thinking},"signature":{}}}"#, quote(signature))
}

fn call_block(id: &str, name: &str, input: &str) -> String {
    format!(r#"{{"type":"tool_use","id":{},"name":{},"input":{input}}}"#, quote(id), quote(name))
}

/// Returns the empty block with which a stream starts a part, and the deltas that fill the block.
fn start_and_deltas(part: &Part, chunk_chars: Option<usize>) -> (String, Vec<String>) {
    let deltas = |kind: &str, field: &str, pieces: Vec<String>| -> Vec<String> {
        pieces.iter().map(|piece| format!(r#"{{"type":"{kind}","{field}":{piece}}}"#)).collect()
    };
    match part {
        Part::Thinking { text, signature } => {
            let mut all = deltas("thinking_delta", "thinking", text.deltas(chunk_chars));
            all.extend(deltas("signature_delta", "signature", vec![quote(signature)]));
            (thinking_block("\"\"", ""), all)
        }
        Part::Redacted(_) => (block(part), Vec::new()),
        Part::Text(text) => {
            (r#"{"type":"text","text":""}"#.into(), deltas("text_delta", "text", text.deltas(chunk_chars)))
        }
        Part::Call { id, name, arguments } => {
            // The first delta of a call is always empty.
            let mut pieces = vec![quote("")];
            pieces.extend(arguments.deltas(chunk_chars));
            (call_block(id, name, "{}"), deltas("input_json_delta", "partial_json", pieces))
        }
    }
}

fn stop(reply: &Resolved<'_>) -> String {
    reply.stop.map_or_else(|| "null".into(), quote)
}

/// Returns the field `usage`, with the comma before it.
fn usage(reported: Option<&Usage>) -> String {
    let Some(Usage { input, output, cache_read, cache_write, .. }) = reported else { return String::new() };
    let [input, output, read, written] = [input, output, cache_read, cache_write].map(|amount| Amount::sum(&[amount]));
    format!(
        r#","usage":{{"input_tokens":{input},"cache_creation_input_tokens":{written},"cache_read_input_tokens":{read},"output_tokens":{output}}}"#
    )
}
