//! Structured output: the JSON in a report's words. It comes from a model, so its size is limited, and the parser limits its
//! depth. A part of broken JSON is never taken for the whole.

use serde_json::Value;

/// The longest report in which output is looked for, in bytes.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// Returns the structured output: all the words if they are one object or list, else the last block marked `json`, else the
/// last object among the words.
///
/// ```
/// use guildhall_agent::checks::output;
/// assert_eq!(output("It is {\"a\": 1}.").unwrap()["a"], 1);
/// assert_eq!(output("no braces"), None);
/// ```
pub fn output(words: &str) -> Option<Value> {
    if words.len() > OUTPUT_BYTES_MAX {
        return None;
    }
    // A block is meant as the output. If it can't be read, nothing else is taken in its place.
    parsed(words).or_else(|| match last_block(words) {
        Some(block) => parsed(block),
        None => last_object(words).and_then(parsed),
    })
}

fn parsed(text: &str) -> Option<Value> {
    let text = text.trim();
    let value = if text.starts_with(['{', '[']) { serde_json::from_str(text).ok() } else { None };
    value.filter(|value: &Value| value.is_object() || value.is_array())
}

/// Returns the last block marked `json`. A block without an end mark extends to the end of the words.
fn last_block(words: &str) -> Option<&str> {
    let mut last = None;
    let mut open: Option<(usize, bool)> = None;
    let mut at = 0;
    for line in words.split_inclusive('\n') {
        let next = at + line.len();
        if let Some(label) = line.trim().strip_prefix("```") {
            match open {
                Some((start, is_json)) if label.is_empty() => {
                    last = if is_json { Some(&words[start..at]) } else { last };
                    open = None;
                }
                Some(_) => {}
                None => open = Some((next, label.trim().eq_ignore_ascii_case("json"))),
            }
        }
        at = next;
    }
    match open {
        Some((start, true)) => Some(&words[start..]),
        Some((_, false)) | None => last,
    }
}

/// Returns the last `{...}` whose braces are balanced, unless it is within an object that does not end.
fn last_object(words: &str) -> Option<&str> {
    let mut open: Vec<usize> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in words.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            // A string in JSON does not continue on the next line, so the quotation mark was in prose.
            b'\n' => quoted = false,
            b'"' if !open.is_empty() => quoted = !quoted,
            b'{' if !quoted => open.push(at),
            b'}' if !quoted => last = open.pop().map(|start| (start, at + 1)).or(last),
            _ => {}
        }
    }
    let (start, end) = last?;
    let is_object = |at: &usize| words[at + 1..].trim_start().starts_with('"');
    let is_part = open.iter().take_while(|at| **at < start).any(is_object);
    (!is_part).then(|| &words[start..end])
}
