//! The stream of a session's events.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use guildhall::local::Cursor;

use crate::app::App;
use crate::body::made_by;
use crate::caller::Reader;
use crate::events::{Stream, send};
use crate::peer::Peer;
use crate::places::Full;
use crate::problem::{Problem, ReadProblems};
use crate::routes::reading::cast_of;

/// The header with the id of the last event that a client has.
const LAST_EVENT_ID: &str = "last-event-id";

/// The events of a session, as server-sent events: `cast` once, then `fact`, `account` and `activity`. Facts have ids such as `5.2`; a
/// client that comes back with `Last-Event-ID` gets everything after that id. Activities are not stored and have no id.
#[utoipa::path(get, path = "/api/sessions/{id}/events", tag = "session", security(("token" = [])),
    params(("id" = String, Path, description = "The session"),
           ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that the client has",
            example = "5.2", pattern = r"^(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})$")),
    responses((status = 200, content_type = "text/event-stream", body = String, description = "The events, until the client goes or the server stops"), ReadProblems))]
pub(crate) async fn events(
    State(app): State<App>,
    Reader { session, caller }: Reader,
    parts: Parts,
) -> Result<Response, Problem> {
    let after = match parts.headers.get(LAST_EVENT_ID) {
        None => Cursor::START,
        Some(id) => parse_cursor(id.to_str().unwrap_or_default())?,
    };
    // An id that no event has is an error now, and not a stream that waits for ever.
    app.journal().events(&session, after, 0).await?;
    let place = app.take_stream(parts.extensions.get::<Peer>().copied(), &session).map_err(too_many_streams)?;
    let cast = cast_of(&app, &session).await?;
    let stream = Stream { session, caller, after, cast, place };
    let mut response = Response::new(made_by(move |body| send(app, stream, body)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

fn too_many_streams(full: Full) -> Problem {
    let (status, detail) = match full {
        Full::All => (StatusCode::SERVICE_UNAVAILABLE, "This server has all streams open that it can serve."),
        Full::Own => (StatusCode::TOO_MANY_REQUESTS, "This client, or this session, has too many open streams."),
    };
    Problem::new(status, "too_many_streams", format!("{detail} Close one, or try again later.")).retry_after(10)
}

pub(crate) fn parse_cursor(text: &str) -> Result<Cursor, Problem> {
    text.parse().map_err(|_| Problem::bad_request("The id of an event is two numbers, such as 5.2."))
}
