//! The engine that runs on one machine: the journal, the lease on a session, the inbox, and the session engine that
//! runs contracts.
//!
//! Nothing here decides what a contract does. Data that the journal has acknowledged is durable. When the journal can't store
//! something, it returns an error, and the engine must not send anything that depends on it.
#![deny(missing_docs)]

mod clock;
mod engine;
mod files;
mod inbox;
mod journal;
mod lease;
mod limiter;
mod private;
mod waiting_calls;

pub use clock::unix_now;
pub use engine::{
    AgentEnv, CallGate, EngineError, Exists, FindEnv, MoneySource, Order, Overruns, Progress, ProviderOf, Replays,
    SessionEngine, TokensMax, Watcher,
};
pub use files::raise_open_files;
pub use guildhall_kernel::{SESSION_ID_BYTES_MAX, SessionId, SessionIdError, UnixMs};
pub use inbox::{COMMAND_BYTES_MAX, Command};
pub use journal::{
    Access, AccountFact, Appended, Batch, Broken, Chain, Contents, Counts, Cursor, CursorError, Event, EventKind,
    Events, HallBroken, Head, HeadError, Journal, JournalError, JournalForm, Limits, NewFunding, NewServed, NewSession,
    PlayInvoice, RequestKey, Role, ServedError, SessionBatch, SessionRow, Snapshot, StoredTreasuryFact, Subscription,
    TEXT_BYTES_MAX, TOKENS_MAX, TreasuryBatch, TreasuryCursor, TreasuryLease, hash_text, is_readable, texts_named,
};
pub use lease::{Holder, Lease};
pub use limiter::{CallLimiter, Permit};
pub use private::{create_private_dir, open_lock, open_regular, private_file};
