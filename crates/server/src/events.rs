//! The stream of a session's events: first the cast, then every fact with excerpts of its texts, every fact of the account, and what
//! agents do at the moment. An event is encoded once for all who watch.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use guildhall::SessionId;
use guildhall::kernel::{Hash, SessionFact, Stored, TextKind, TextRef};
use guildhall::local::{AccountFact, Cursor, Event, EventKind, Journal, JournalError, is_readable, texts_named};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, interval_at};
use utoipa::ToSchema;

use crate::app::{App, StreamPlace, until_stop};
use crate::body::Parts;
use crate::caller::Caller;
use crate::offer::CastMember;

/// How many characters of a text an event shows.
const EXCERPT_CHARS_MAX: usize = 280;

/// How often a stream without events shows that it lives, so that no proxy closes it.
const ALIVE: Duration = Duration::from_secs(15);

/// The data of the event `cast`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Cast<'a> {
    /// The session.
    #[schema(value_type = str)]
    session: &'a SessionId,
    /// The agents.
    agents: Vec<CastMember>,
}

/// What a stream is about.
pub(crate) struct Stream {
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) after: Cursor,
    pub(crate) cast: Vec<CastMember>,
    pub(crate) place: StreamPlace,
}

/// Sends the events of a session until the client goes, its token is revoked, or the server stops.
pub(crate) async fn send(app: App, stream: Stream, parts: Parts) {
    let Stream { session, caller, after, cast, place } = stream;
    let mut activities = app.activities().watch(&session);
    let (mut revocation, mut stopping) = (Revocation::new(&app, caller), app.stopping());
    let mut events = app.journal().follow(&session, after);
    let mut alive = interval_at(Instant::now() + ALIVE, ALIVE);
    let first = serde_json::to_string(&Cast { session: &session, agents: cast }).expect("a cast is JSON");
    if parts.send(Bytes::from(format!("retry: 1000\nevent: cast\ndata: {first}\n\n"))).await.is_err() {
        return;
    }
    loop {
        let part = tokio::select! {
            biased;
            () = until_stop(&mut stopping) => break,
            () = revocation.wait(&app) => break,
            event = events.next() => match event {
                Ok(event) => match encoded(app.journal(), &event).await {
                    Ok(part) => {
                        app.metrics().events_sent.fetch_add(1, Ordering::Relaxed);
                        part
                    }
                    Err(why) => return app.log(&format!("a stream of events ended: {why}")),
                },
                Err(why) => return app.log(&format!("a stream of events ended: {why}")),
            },
            activity = activities.recv() => match activity {
                Ok(part) => part,
                // A viewer that is behind misses activities. The facts come all the same.
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => break,
            },
            _ = alive.tick() => Bytes::from_static(b": alive\n\n"),
        };
        if parts.send(part).await.is_err() {
            break;
        }
    }
    drop(place);
}

/// Watches whether the token of a caller is revoked.
struct Revocation {
    caller: Caller,
    revoked: Receiver<(SessionId, u64)>,
    /// Whether the journal must be asked: a revocation may have been missed.
    must_ask: bool,
}

impl Revocation {
    /// Listens before the journal is asked, so that no revocation is missed in between.
    fn new(app: &App, caller: Caller) -> Revocation {
        Revocation { caller, revoked: app.revoked(), must_ask: true }
    }

    /// Waits until the token is revoked. Dropping the future misses nothing.
    async fn wait(&mut self, app: &App) {
        let Caller::Viewer(session, number) = &self.caller else { return std::future::pending().await };
        loop {
            if self.must_ask {
                // A journal that can't be read now ends the stream: the client comes back and is asked again.
                if app.journal().is_revoked(session, *number).await.unwrap_or(true) {
                    return;
                }
                self.must_ask = false;
            }
            match self.revoked.recv().await {
                Ok((of, revoked)) if of == *session && revoked == *number => return,
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.must_ask = true,
                Err(RecvError::Closed) => return,
            }
        }
    }
}

/// Returns an event in the form of the stream.
async fn encoded(journal: &Journal, event: &Event) -> Result<Bytes, JournalError> {
    let shared = event.encoded(async || encode(journal, event).await.map(Arc::from)).await?;
    Ok(Bytes::from_owner(shared))
}

async fn encode(journal: &Journal, event: &Event) -> Result<Vec<u8>, JournalError> {
    let (name, data) = match &event.kind {
        EventKind::Fact(stored) => ("fact", fact(journal, stored).await?),
        EventKind::Account(account) => ("account", account_fact(account)),
    };
    // A comment: programs that read events ignore it, and measurements read it.
    let durable = event.durable_at.map(|at| format!(": durable {}\n", at.0)).unwrap_or_default();
    Ok(format!("{durable}id: {}\nevent: {name}\ndata: {data}\n\n", event.id).into_bytes())
}

#[derive(Serialize)]
struct FactEvent<'a> {
    #[serde(flatten)]
    stored: &'a Stored,
    /// Excerpts of the texts that the fact names, by hash.
    #[serde(skip_serializing_if = "Map::is_empty")]
    texts: Map<String, Value>,
}

async fn fact(journal: &Journal, stored: &Stored) -> Result<String, JournalError> {
    let mut texts = Map::new();
    for of in texts_named(&stored.fact).into_iter().filter(is_excerpted) {
        if let Some(text) = excerpt(journal, of.hash).await? {
            texts.insert(of.hash.to_string(), json!(text));
        }
    }
    Ok(serde_json::to_string(&FactEvent { stored, texts }).expect("a fact is JSON"))
}

/// Whether an event has an excerpt of a text. The words of a reply are a text of their own.
fn is_excerpted(of: &TextRef) -> bool {
    is_readable(of.kind) && of.kind != TextKind::Reply
}

/// The beginning of a text. `None` if the text can't be read: a damaged text must not end the stream.
pub(crate) async fn excerpt(journal: &Journal, hash: Hash) -> Result<Option<String>, JournalError> {
    let bytes = match journal.text(hash).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) | Err(JournalError::TextDamaged { .. }) => return Ok(None),
        Err(why) => return Err(why),
    };
    // At most four bytes are one character, so this much is enough.
    let bytes = &bytes[..bytes.len().min(4 * EXCERPT_CHARS_MAX + 4)];
    let text = String::from_utf8_lossy(bytes);
    Ok(Some(shortened(&text)))
}

/// The first characters of a text.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A fact of the account. Which wallet the hall has is not for everybody.
fn account_fact(AccountFact { n, after, at, fact }: &AccountFact) -> String {
    let fact = match fact {
        SessionFact::Opened { .. } => json!({"opened": {}}),
        SessionFact::Funded { .. }
        | SessionFact::Granted { .. }
        | SessionFact::Withdrawing { .. }
        | SessionFact::Withdrawn { .. }
        | SessionFact::Returned { .. }
        | SessionFact::Requested { .. }
        | SessionFact::Corrected { .. }
        | SessionFact::Ended { .. } => json!(fact),
    };
    json!({"n": n, "after": after, "at": at, "fact": fact}).to_string()
}

#[cfg(test)]
mod tests {
    use super::{EXCERPT_CHARS_MAX, shortened};

    #[test]
    fn an_excerpt_ends_at_a_character() {
        assert_eq!(shortened("naïve"), "naïve");
        let long = "é".repeat(EXCERPT_CHARS_MAX + 1);
        assert_eq!(shortened(&long), format!("{}…", "é".repeat(EXCERPT_CHARS_MAX)));
        assert_eq!(shortened(&long[2..]), long[2..]);
    }
}
