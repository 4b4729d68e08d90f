//! Writes the log, and keeps keys out of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use hyper::header::{HeaderMap, HeaderValue};

use crate::entry::Entry;

/// Headers whose values are nobody's business.
const SECRET: [&str; 4] = ["authorization", "x-api-key", "cookie", "proxy-authorization"];

pub(super) struct Log {
    began: Instant,
    out: Option<RefCell<Box<dyn Write>>>,
}

impl Log {
    pub(super) fn new(out: Option<Box<dyn Write>>) -> Self {
        Self { began: Instant::now(), out: out.map(RefCell::new) }
    }

    /// Writes a line at once, so that a test can wait for it; without a log the entry is not even made.
    pub(super) fn write(&self, entry: impl FnOnce(u64) -> Entry) {
        let Some(out) = &self.out else { return };
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut line = serde_json::to_vec(&entry(at_us)).expect("an entry is JSON");
        line.push(b'\n');
        let mut out = out.borrow_mut();
        if let Err(error) = out.write_all(&line).and_then(|()| out.flush()) {
            eprintln!("the log lost a line: {error}");
        }
    }
}

/// The headers, with a marker in place of each secret.
pub(super) fn redacted(headers: &HeaderMap, expected: Option<&str>) -> BTreeMap<String, String> {
    let shown = headers.iter().map(|(name, value)| {
        let value = if SECRET.contains(&name.as_str()) {
            marker(value, expected).into()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.to_string(), value)
    });
    shown.collect()
}

/// Whether a request carries the key.
pub(super) fn has_key(headers: &HeaderMap, expected: &str) -> bool {
    ["x-api-key", "authorization"].iter().filter_map(|name| headers.get(*name)).any(|value| key(value) == expected)
}

fn marker(value: &HeaderValue, expected: Option<&str>) -> &'static str {
    match expected {
        None => "<secret>",
        Some(expected) if key(value) == expected => "<expected key>",
        Some(_) => "<other key>",
    }
}

fn key(value: &HeaderValue) -> &str {
    let text = value.to_str().unwrap_or_default();
    text.strip_prefix("Bearer ").unwrap_or(text)
}
