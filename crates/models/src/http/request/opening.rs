//! The written form of openings: the beginning of a request up to its first message. Each provider keeps the newest of them,
//! because hires of the same agent, and all turns of a contract, begin in the same way.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use guildhall_agent::{CallFormat, Opening, Wire};

use super::{JsonWriter, SOMETIMES_OURS, anthropic, limit_name, openai};
use crate::http::endpoint::Endpoint;
use crate::http::json_turn;

/// How many written openings a provider keeps.
const OPENINGS_MAX: usize = 64;

/// An opening as a request begins with it.
pub(crate) struct WrittenOpening {
    /// Everything up to the first message that is not the opening's own.
    start: Bytes,
    /// The schema of a reply that may do everything, if replies are JSON turns.
    response_format: Option<String>,
}

impl WrittenOpening {
    pub(super) fn new(wire: Wire, endpoint: &Endpoint, opening: &Opening, calls: CallFormat) -> Option<WrittenOpening> {
        let in_json = match (wire, calls) {
            (Wire::Anthropic, _) | (Wire::OpenAi, CallFormat::Tools) => false,
            (Wire::OpenAi, CallFormat::Json) => true,
            (Wire::Inside, _) => return None,
        };
        let mut json = JsonWriter::default();
        json.raw("{");
        let ours = match wire {
            Wire::Anthropic => anthropic::fields(opening),
            Wire::OpenAi | Wire::Inside => openai::fields(opening, in_json),
        };
        let is_ours = |name: &str| ours.contains(&name) || name == limit_name(wire, endpoint);
        for (name, value) in endpoint.extra.iter().filter(|(name, _)| !is_ours(name)) {
            if !SOMETIMES_OURS.contains(&name.as_str()) {
                json.field(name, value);
            }
        }
        json.field("model", &endpoint.model);
        json.field("stream", &true);
        match wire {
            Wire::Anthropic => anthropic::write_opening(opening, &mut json),
            Wire::OpenAi | Wire::Inside => openai::write_opening(opening, in_json, &mut json),
        }
        let response_format = in_json.then(|| json_turn::response_format(opening.tools(), None).to_string());
        Some(WrittenOpening { start: json.bytes.into(), response_format })
    }

    /// Returns the bytes that the request begins with.
    pub(crate) fn start(&self) -> &Bytes {
        &self.start
    }

    pub(super) fn response_format(&self) -> Option<&str> {
        self.response_format.as_deref()
    }

    /// Whether the opening has a message of its own.
    pub(super) fn has_message(&self) -> bool {
        !self.start.ends_with(b"[")
    }
}

/// The newest written openings of one provider, the newest last.
#[derive(Default)]
pub(crate) struct Openings(Mutex<Vec<Entry>>);

/// As long as an entry exists, no other opening can have the same address.
type Entry = (Weak<Opening>, CallFormat, Arc<WrittenOpening>);

impl Openings {
    /// Returns the written form of an opening; `None` for a model inside this process.
    pub(crate) fn written(
        &self,
        wire: Wire,
        endpoint: &Endpoint,
        opening: &Arc<Opening>,
        calls: CallFormat,
    ) -> Option<Arc<WrittenOpening>> {
        if let Some(known) = self.find(opening, calls) {
            return Some(known);
        }
        let written = Arc::new(WrittenOpening::new(wire, endpoint, opening, calls)?);
        let mut entries = self.entries();
        entries.retain(|(known, _, _)| known.strong_count() > 0);
        if entries.len() >= OPENINGS_MAX {
            entries.remove(0);
        }
        entries.push((Arc::downgrade(opening), calls, Arc::clone(&written)));
        Some(written)
    }

    fn find(&self, opening: &Arc<Opening>, calls: CallFormat) -> Option<Arc<WrittenOpening>> {
        let mut entries = self.entries();
        let is_same = |(known, form, _): &Entry| *form == calls && Weak::as_ptr(known) == Arc::as_ptr(opening);
        let at = entries.iter().rposition(is_same)?;
        entries[at..].rotate_left(1);
        entries.last().map(|(_, _, written)| Arc::clone(written))
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        // A panic while the lock was held leaves the list valid: a lost entry is only written again.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Openings {
    /// The instructions of agents are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Openings({})", self.entries().len())
    }
}
