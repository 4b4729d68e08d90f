//! A few connections that only read, lent out one reader at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{JournalError, schema};

/// How many may read at once; more wait.
const READERS_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct Readers {
    file: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(file: PathBuf) -> Readers {
        Readers { file, idle: Arc::default(), permits: Arc::new(Semaphore::new(READERS_MAX)) }
    }

    /// Runs `work` on a connection of its own, on a thread that may block. All it reads is from one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the permits are never closed");
        let (idle, file) = (Arc::clone(&self.idle), self.file.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let lent = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut db = lent.map_or_else(|| schema::open_reader(&file), Ok)?;
            let moment = db.transaction()?;
            let result = work(&moment);
            drop(moment);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            result.map_err(|error| error.within(&file))
        });
        match reading.await {
            Ok(result) => result,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => unreachable!("nobody cancels a read"),
            },
        }
    }
}
