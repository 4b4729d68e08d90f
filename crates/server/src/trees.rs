//! The newest trees of sessions that somebody asks about, so that a question reads only what has happened since the last one.

use std::sync::{Arc, Mutex, PoisonError};

use guildhall::{Hall, HallError, SessionId, Tree};
use tokio::sync::Mutex as AsyncMutex;

/// How many trees stay in memory.
const TREES_MAX: usize = 64;

type Shared = Arc<AsyncMutex<Arc<Tree>>>;

/// The newest trees, the one that was used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Trees(Mutex<Vec<(SessionId, Shared)>>);

impl Trees {
    /// Returns the tree of a session as it is now. Others who ask for the same tree wait only while new events are read.
    pub(crate) async fn newest(&self, hall: &Hall, session: &SessionId) -> Result<Arc<Tree>, HallError> {
        let shared = self.shared(session);
        let mut newest = shared.lock().await;
        if !hall.journal().events(session, newest.at, 1).await?.is_empty() {
            // Whoever still uses the tree before keeps it as it was.
            hall.read_on(session, Arc::make_mut(&mut newest)).await?;
        }
        Ok(Arc::clone(&newest))
    }

    /// Returns the place of a tree. The tree that nobody has used for the longest time makes room for a new one.
    fn shared(&self, session: &SessionId) -> Shared {
        // A panic while the lock was held leaves the list valid: at worst a tree is missing, and is read again.
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = trees.iter().position(|(id, _)| id == session).map(|at| trees.remove(at));
        if known.is_none() && trees.len() >= TREES_MAX {
            trees.remove(0);
        }
        let (id, shared) = known.unwrap_or_else(|| (session.clone(), Shared::default()));
        trees.push((id, Arc::clone(&shared)));
        shared
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{TREES_MAX, Trees};

    #[test]
    fn the_tree_that_was_not_used_for_the_longest_time_makes_room() {
        let trees = Trees::default();
        let id = |number: usize| format!("brave-otter-{number}").parse().unwrap();
        let first = trees.shared(&id(0));
        for number in 1..TREES_MAX {
            trees.shared(&id(number));
        }
        assert!(Arc::ptr_eq(&first, &trees.shared(&id(0))), "a known tree stays");
        let second = trees.shared(&id(1));
        trees.shared(&id(TREES_MAX));
        assert!(Arc::ptr_eq(&first, &trees.shared(&id(0))));
        assert!(Arc::ptr_eq(&second, &trees.shared(&id(1))));
        assert_eq!(trees.0.lock().unwrap().len(), TREES_MAX);
        assert!(
            trees.0.lock().unwrap().iter().all(|(known, _)| *known != id(2)),
            "2 was not used for the longest time"
        );
    }
}
