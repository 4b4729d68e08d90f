//! Activity: what agents do at this moment, for those who watch. It is never stored, and it has no words of a model in it: words are
//! shown only after secrets were removed from them, as facts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use guildhall::SessionId;
use guildhall::agent::Delta;
use guildhall::kernel::{AskId, AskKey, Path};
use guildhall::local::Watcher;
use serde::Serialize;
use tokio::sync::broadcast;
use utoipa::ToSchema;

/// How many activities a viewer may be behind. It misses the rest: each new one replaces the one before.
const BEHIND_MAX: usize = 64;

/// The activities of all sessions that somebody watches. A clone is another handle to the same.
#[derive(Clone, Default)]
pub struct Activities(Arc<Mutex<HashMap<SessionId, Watched>>>);

struct Watched {
    sender: broadcast::Sender<Bytes>,
    /// The newest activity of each contract, which makes one request at a time. It is sent once.
    newest: HashMap<Path, (AskId, Does)>,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Does {
    /// It asks its model.
    Asks,
    /// The model thinks.
    Thinks,
    /// The model writes.
    Writes,
    /// The model writes a call.
    Calls,
    /// The model's server is not available, and is asked again later.
    Waits,
}

/// The data of the event `activity`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Activity<'a> {
    /// The contract.
    #[schema(value_type = str, example = "1.2")]
    contract: &'a Path,
    /// The number of its ask.
    #[schema(value_type = u32)]
    ask: AskId,
    /// What it does.
    does: Does,
}

impl Activities {
    /// Returns the function that a hall calls with each part of a reply.
    pub fn watcher(&self) -> Watcher {
        let activities = self.clone();
        Arc::new(move |session, ask, delta| activities.note(session, ask, delta))
    }

    /// Returns the activities of a session from now on.
    pub(crate) fn watch(&self, session: &SessionId) -> broadcast::Receiver<Bytes> {
        let mut all = self.lock();
        all.retain(|_, watched| watched.sender.receiver_count() > 0);
        let new = || Watched { sender: broadcast::Sender::new(BEHIND_MAX), newest: HashMap::new() };
        all.entry(session.clone()).or_insert_with(new).sender.subscribe()
    }

    fn note(&self, session: &SessionId, ask: &AskKey, delta: Delta<'_>) {
        let does = match delta {
            Delta::Asking => Does::Asks,
            Delta::Thinking => Does::Thinks,
            Delta::Words(_) => Does::Writes,
            Delta::Call { .. } => Does::Calls,
            Delta::Waiting { .. } => Does::Waits,
            // The facts tell what comes of it.
            Delta::Received { .. } | Delta::Lost { .. } | Delta::Used(_) => return,
        };
        let mut all = self.lock();
        let Some(watched) = all.get_mut(session).filter(|watched| watched.sender.receiver_count() > 0) else { return };
        if watched.newest.get(&ask.contract) == Some(&(ask.ask, does)) {
            return;
        }
        watched.newest.insert(ask.contract.clone(), (ask.ask, does));
        let activity = Activity { contract: &ask.contract, ask: ask.ask, does };
        let data = serde_json::to_string(&activity).expect("an activity is JSON");
        // A viewer that has just gone is not told.
        let _ = watched.sender.send(Bytes::from(format!("event: activity\ndata: {data}\n\n")));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use guildhall::agent::Delta;
    use guildhall::kernel::{AskId, AskKey, Path};

    use super::Activities;

    #[test]
    fn a_viewer_gets_each_activity_once_and_never_words() {
        let (activities, id) = (Activities::default(), "brave-otter".parse().unwrap());
        let (watcher, ask) = (activities.watcher(), AskKey { contract: Path::root(1), ask: AskId(3) });
        watcher(&id, &ask, Delta::Asking);
        let mut seen = activities.watch(&id);
        for delta in [Delta::Asking, Delta::Words("secret"), Delta::Words("more"), Delta::Call { name: "secret" }] {
            watcher(&id, &ask, delta);
        }
        watcher(&"other-otter".parse().unwrap(), &ask, Delta::Thinking);
        let line = |does| format!("event: activity\ndata: {{\"contract\":\"1\",\"ask\":3,\"does\":\"{does}\"}}\n\n");
        for does in ["asks", "writes", "calls"] {
            assert_eq!(seen.try_recv().unwrap(), line(does));
        }
        assert!(seen.try_recv().is_err());
    }
}
