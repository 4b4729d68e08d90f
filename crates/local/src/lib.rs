//! The engine on one machine: the journal, the lease on a session, the inbox, the transcripts, and the office that runs
//! contracts on them.
//!
//! Nothing here decides what a contract does. What the journal has acknowledged is durable; what it refuses or can't store
//! is an error that says so, and no effect may leave on it.
#![deny(missing_docs)]

mod clock;
mod departures;
mod files;
mod id;
mod inbox;
mod journal;
mod lane;
mod lease;
mod office;
mod transcript;

pub use clock::UnixMs;
pub use files::raise_open_files;
pub use id::{SESSION_ID_BYTES_MAX, SessionId, SessionIdError};
pub use inbox::{COMMAND_BYTES_MAX, Command};
pub use journal::{
    Appended, Batch, Broken, Contents, Counts, HallBroken, Head, HeadError, Journal, JournalError, Limits, NewSession,
    SCHEMA, SessionBatch, SessionRow, Subscription, TEXT_BYTES_MAX, hash_text, texts_named,
};
pub use lane::{Lane, Permit};
pub use lease::{Holder, Lease};
pub use office::{Exists, Office, OfficeError, Order, Overruns, Place, Places, ProviderOf, Replays, Watcher};
pub use transcript::{INLINE_BYTES_MAX, Trouble};
