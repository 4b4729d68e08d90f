//! Decodes server-sent events from bytes. A character or a line end may be split between two chunks. An event larger than the
//! limit is an error, so that a server can't fill the memory.

use memchr::memchr2;

/// The most bytes of one event. Some servers send a complete tool call in one event.
pub const EVENT_BYTES_MAX: usize = 2 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The name; empty if the event has none.
    pub name: String,
    /// The data lines, joined by line feeds.
    pub data: String,
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event.
    Event(Event),
    /// A comment. It shows that the server still works.
    Comment,
}

/// An event was larger than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {bytes_max} bytes")]
pub struct TooBig {
    /// The limit.
    pub bytes_max: usize,
}

/// Decodes a stream of events.
///
/// ```
/// use guildhall_models::{Event, Frame, Sse};
/// let mut sse = Sse::default();
/// assert_eq!(sse.push(b"data: hel").unwrap(), []);
/// let event = Event { name: String::new(), data: "hello".into() };
/// assert_eq!(sse.push(b"lo\r\n\r\n").unwrap(), [Frame::Event(event)]);
/// ```
#[derive(Debug)]
pub struct Sse {
    bytes_max: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
    at_start: bool,
}

impl Default for Sse {
    fn default() -> Sse {
        Sse::with_limit(EVENT_BYTES_MAX)
    }
}

impl Sse {
    /// Starts a stream whose events have at most this many bytes.
    pub fn with_limit(bytes_max: usize) -> Sse {
        Sse { bytes_max, line: Vec::new(), event: Event::default(), has_data: false, after_cr: false, at_start: true }
    }

    /// Takes more bytes of the stream and returns the parts that are now complete.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Vec<Frame>, TooBig> {
        let mut frames = Vec::new();
        let mut rest = chunk;
        if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        } else if rest.is_empty() {
            return Ok(frames);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let line = &rest[..end];
            self.check(line)?;
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_cr && rest.is_empty() {
                self.after_cr = true;
            } else if is_cr && rest[0] == b'\n' {
                rest = &rest[1..];
            }
            // Most lines arrive whole and are read where they are.
            if self.line.is_empty() {
                frames.extend(self.end_line(line));
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                frames.extend(self.end_line(&whole));
            }
        }
        self.check(rest)?;
        self.line.extend_from_slice(rest);
        Ok(frames)
    }

    /// Ends the stream. Some servers omit the last empty line, so an event counts if all its lines are complete.
    pub fn finish(mut self) -> Option<Event> {
        if self.line.is_empty() { self.take() } else { None }
    }

    /// Checks whether the event stays within the limit with more bytes.
    fn check(&self, more: &[u8]) -> Result<(), TooBig> {
        let bytes = self.line.len() + more.len() + self.event.data.len() + self.event.name.len();
        if bytes > self.bytes_max { Err(TooBig { bytes_max: self.bytes_max }) } else { Ok(()) }
    }

    fn end_line(&mut self, line: &[u8]) -> Option<Frame> {
        let line = if std::mem::take(&mut self.at_start) { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        if line.is_empty() {
            return self.take().map(Frame::Event);
        }
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => return Some(Frame::Comment),
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Ids and reconnection times are for clients that reconnect, which this client never does.
            _ => {}
        }
        None
    }

    fn take(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}
