//! The newest trees of sessions that somebody asks about, so that a question reads only what has happened since the last one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use guildhall::{Hall, HallError, SessionId, Tree};
use tokio::sync::OwnedMutexGuard;

/// How many trees stay in memory.
const TREES_MAX: usize = 64;

type Shared = Arc<tokio::sync::Mutex<Tree>>;

/// The newest trees.
#[derive(Debug, Default)]
pub(crate) struct Trees(Mutex<HashMap<SessionId, Shared>>);

impl Trees {
    /// Returns the tree of a session as it is now. Others who ask for the same tree wait.
    pub(crate) async fn newest(&self, hall: &Hall, session: &SessionId) -> Result<OwnedMutexGuard<Tree>, HallError> {
        let mut tree = self.shared(session).lock_owned().await;
        hall.read_on(session, &mut tree).await?;
        Ok(tree)
    }

    fn shared(&self, session: &SessionId) -> Shared {
        // A panic while the lock was held leaves the map valid: each change is one insert or a removal.
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.len() >= TREES_MAX && !trees.contains_key(session) {
            // A tree that somebody uses has a second owner.
            trees.retain(|_, tree| Arc::strong_count(tree) > 1);
        }
        Arc::clone(trees.entry(session.clone()).or_default())
    }
}
