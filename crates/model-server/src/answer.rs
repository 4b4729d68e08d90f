//! An answer, exact to the byte: what to send, when to wait, where to stop. `connection.rs` only sends it.

use std::time::Duration;

use crate::entry::{AnswerKind, Tokens};
use crate::refusal::error_event;
use crate::render::Rendered;
use crate::script::{Cut, Damage, Pace, Place, Reply};
use crate::turn::Turn;

/// This many bytes before the end of an event its JSON is incomplete: an event ends with `"}}` and two line ends.
const INSIDE_JSON: usize = 8;
const UNKNOWN_EVENT: &str = "event: weather_report\ndata: {\"type\":\"weather_report\",\"weather\":\"fair\"}\n\n";

type Headers = Vec<(String, String)>;

/// Everything that the server does for one request.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) kind: AnswerKind,
    /// The wait before the headers.
    pub(crate) wait: Duration,
    /// Absent when no response is sent.
    pub(crate) head: Option<Head>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) finish: Finish,
    /// The tokens of a turn of the model.
    pub(crate) tokens: Option<Tokens>,
}

#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    /// Whether the body is sent in chunks, without a `content-length`.
    pub(crate) is_chunked: bool,
}

/// A piece of the body, and the wait before it.
#[derive(Clone)]
pub(crate) struct Piece {
    pub(crate) wait: Duration,
    pub(crate) bytes: Vec<u8>,
}

/// What happens after the last piece.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    Complete,
    Close,
    Reset,
    Stall,
    /// The server closes all connections and refuses new ones for this long.
    Down(Duration),
}

impl Answer {
    pub(crate) fn no_response(finish: Finish) -> Self {
        Self { kind: AnswerKind::Fault, wait: Duration::ZERO, head: None, pieces: Vec::new(), finish, tokens: None }
    }

    /// A response that is sent in one piece.
    pub(crate) fn response(kind: AnswerKind, status: u16, mut headers: Headers, body: impl Into<Vec<u8>>) -> Self {
        let bytes = body.into();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            headers.push(("content-type".into(), "application/json".into()));
        }
        headers.push(("content-length".into(), bytes.len().to_string()));
        Self {
            kind,
            head: Some(Head { status, headers, is_chunked: false }),
            pieces: vec![Piece { wait: Duration::ZERO, bytes }],
            ..Self::no_response(Finish::Complete)
        }
    }

    /// A turn of the model. The damage of the reply is ignored: `damage` is applied instead.
    pub(crate) fn reply(mut body: Rendered, reply: &Reply, damage: Option<&Damage>, turn: &Turn) -> Self {
        if reply.noise && turn.stream {
            add_noise(&mut body);
        }
        let (place, finish) = damage.map_or((None, Finish::Complete), |damage| apply(damage, &mut body, turn));
        let mut pieces = paced(&body, &reply.pace);
        let all: usize = body.events.iter().map(String::len).sum();
        let end = place.map_or(all, |place| locate(&body, place).min(all));
        truncate(&mut pieces, end);
        let usual = if turn.stream { "text/event-stream; charset=utf-8" } else { "application/json" };
        let content_type = reply.content_type.as_deref().unwrap_or(usual);
        let announced = if finish == Finish::Complete { end } else { all };
        let framing = if turn.stream {
            ("transfer-encoding".into(), "chunked".into())
        } else {
            ("content-length".into(), announced.to_string())
        };
        let headers = vec![("content-type".into(), content_type.into()), framing];
        let head = Head { status: 200, headers, is_chunked: turn.stream };
        let wait = Duration::from_millis(reply.pace.headers_ms);
        if place == Some(Place::Start) {
            let finish = if finish == Finish::Complete { Finish::Close } else { finish };
            return Self { kind: AnswerKind::Reply, wait, ..Self::no_response(finish) };
        }
        Self { kind: AnswerKind::Reply, wait, head: Some(head), pieces, finish, tokens: None }
    }
}

/// Damages the content, or returns where and how the body ends early.
fn apply(damage: &Damage, body: &mut Rendered, turn: &Turn) -> (Option<Place>, Finish) {
    match damage {
        Damage::Cut { after, how: Cut::Reset } => (Some(*after), Finish::Reset),
        Damage::Cut { after, how: Cut::Close } => (Some(*after), Finish::Close),
        Damage::Cut { after, how: Cut::End } => (Some(*after), Finish::Complete),
        Damage::Stall { after } => (Some(*after), Finish::Stall),
        Damage::Error { events, kind, message } => {
            body.events.truncate(*events);
            body.events.push(error_event(turn.protocol, kind, message));
            (None, Finish::Complete)
        }
        Damage::EndTwice => {
            let end = body.events.len() - body.end;
            body.events.extend_from_within(end..);
            (None, Finish::Complete)
        }
    }
}

fn add_noise(body: &mut Rendered) {
    body.events.insert(1, UNKNOWN_EVENT.into());
    body.last_delta = body.last_delta.map(|at| at + 1);
    for event in &mut body.events {
        *event = format!(": still here\n\n{event}").replace('\n', "\r\n");
    }
}

/// Returns the byte at which a place is.
fn locate(body: &Rendered, place: Place) -> usize {
    let text = body.events.concat();
    let until = |events: usize| body.events.iter().take(events).map(String::len).sum();
    match place {
        Place::Start => 0,
        Place::Bytes(bytes) => bytes,
        Place::Events(events) => until(events),
        Place::InsideUtf8 => {
            text.char_indices().find(|(_, char)| char.len_utf8() > 1).map_or(text.len() / 2, |(at, _)| at + 1)
        }
        Place::InsideDelta => body.last_delta.map_or(text.len() / 2, |last| until(last + 1) - INSIDE_JSON),
    }
}

fn paced(body: &Rendered, pace: &Pace) -> Vec<Piece> {
    let all = body.events.concat().into_bytes();
    let (pieces, between_ms): (Vec<Vec<u8>>, u64) = match pace.drip {
        Some(drip) => (all.chunks(drip.bytes).map(Into::into).collect(), drip.every_ms),
        None if pace.between_ms == 0 => (vec![all], 0),
        None => (body.events.iter().map(|event| event.as_bytes().into()).collect(), pace.between_ms),
    };
    let waits = std::iter::once(pace.first_ms).chain(std::iter::repeat(between_ms)).map(Duration::from_millis);
    waits.zip(pieces).map(|(wait, bytes)| Piece { wait, bytes }).collect()
}

fn truncate(pieces: &mut Vec<Piece>, at: usize) {
    let mut left = at;
    for piece in pieces.iter_mut() {
        piece.bytes.truncate(left);
        left -= piece.bytes.len();
    }
    pieces.retain(|piece| !piece.bytes.is_empty());
}
