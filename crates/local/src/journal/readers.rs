//! A small pool of read-only connections.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::JournalError;
use super::schema::{self, Reading};

/// How many reads can run at the same time; more reads wait.
const READERS_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct Readers {
    file: PathBuf,
    reading: Reading,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    /// How often the database was read.
    reads: Arc<AtomicU64>,
    // The directory of the file, if the file is a copy. It is removed after the connections are closed.
    _copy: Option<TempDir>,
}

impl Readers {
    pub(crate) fn new(file: PathBuf, reading: Reading) -> Readers {
        let permits = Arc::new(Semaphore::new(READERS_MAX));
        Readers { file, reading, idle: Arc::default(), permits, reads: Arc::default(), _copy: None }
    }

    /// Returns the database file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns how connections open the file.
    pub(crate) fn reading(&self) -> Reading {
        self.reading
    }

    /// Returns the counter of reads.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.reads)
    }

    /// Returns how often the database was read.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Marks the file as a copy in this directory.
    pub(crate) fn of_copy(self, copy: TempDir) -> Readers {
        Readers { _copy: Some(copy), ..self }
    }

    /// Runs `work` immediately on this thread, on a new connection.
    pub(crate) fn now<T>(&self, work: impl FnOnce(&Connection) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let result = schema::open_reader(&self.file, self.reading).and_then(|db| work(&db));
        result.map_err(|error| error.in_database(&self.file))
    }

    /// Runs `work` on a blocking thread, on a connection from the pool. Everything that it reads is from one transaction.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the permits are never closed");
        let (idle, file, reading) = (Arc::clone(&self.idle), self.file.clone(), self.reading);
        let work = tokio::task::spawn_blocking(move || {
            let lent = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut db = lent.map_or_else(|| schema::open_reader(&file, reading), Ok)?;
            let transaction = db.transaction()?;
            let result = work(&transaction);
            drop(transaction);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            result.map_err(|error| error.in_database(&file))
        });
        match work.await {
            Ok(result) => result,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => unreachable!("a read is never cancelled"),
            },
        }
    }
}
