//! The written form of openings: the beginning of a request up to its first message. Each provider keeps the newest of them,
//! because hires of the same agent, and all turns of a contract, begin in the same way.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use guildhall_agent::{Opening, Wire};

use super::{JsonWriter, SOMETIMES_OURS, anthropic, limit_name, openai};
use crate::http::endpoint::Endpoint;

/// How many written openings a provider keeps.
const OPENINGS_MAX: usize = 64;

/// An opening as a request begins with it.
pub(crate) struct WrittenOpening {
    /// Everything up to the first message that is not the opening's own.
    start: Bytes,
}

impl WrittenOpening {
    pub(super) fn new(wire: Wire, endpoint: &Endpoint, opening: &Opening) -> Option<WrittenOpening> {
        if wire == Wire::Inside {
            return None;
        }
        let mut json = JsonWriter::default();
        json.raw("{");
        let ours = match wire {
            Wire::Anthropic => anthropic::fields(opening),
            Wire::OpenAi | Wire::Inside => openai::fields(opening),
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
            Wire::OpenAi | Wire::Inside => openai::write_opening(opening, &mut json),
        }
        Some(WrittenOpening { start: json.bytes.into() })
    }

    /// Returns the bytes that the request begins with.
    pub(crate) fn start(&self) -> &Bytes {
        &self.start
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
type Entry = (Weak<Opening>, Arc<WrittenOpening>);

impl Openings {
    /// Returns the written form of an opening; `None` for a model inside this process.
    pub(crate) fn written(
        &self,
        wire: Wire,
        endpoint: &Endpoint,
        opening: &Arc<Opening>,
    ) -> Option<Arc<WrittenOpening>> {
        if let Some(known) = self.find(opening) {
            return Some(known);
        }
        let written = Arc::new(WrittenOpening::new(wire, endpoint, opening)?);
        let mut entries = self.entries();
        entries.retain(|(known, _)| known.strong_count() > 0);
        if entries.len() >= OPENINGS_MAX {
            entries.remove(0);
        }
        entries.push((Arc::downgrade(opening), Arc::clone(&written)));
        Some(written)
    }

    fn find(&self, opening: &Arc<Opening>) -> Option<Arc<WrittenOpening>> {
        let mut entries = self.entries();
        let is_same = |(known, _): &Entry| Weak::as_ptr(known) == Arc::as_ptr(opening);
        let at = entries.iter().rposition(is_same)?;
        entries[at..].rotate_left(1);
        entries.last().map(|(_, written)| Arc::clone(written))
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
