//! The contract kernel of Guildhall: contracts, grants, facts and their laws.
//!
//! A contract is a small deterministic state machine, and a hire is just another ask. A contract receives inputs and
//! returns facts; the open asks are derived from the facts. Nothing in this crate awaits, reads a clock, draws a random
//! number, does IO or holds a text.
#![deny(missing_docs)]

mod account;
mod ask;
mod brief;
mod contract;
mod fact;
mod input;
mod money;
mod name;
mod open_asks;
mod path;
mod refusal;
mod repeats;
mod reply_parts;
mod report;
mod session;
mod session_id;
mod tariff;
mod text;
mod time;
mod treasury;

pub use account::Account;
pub use ask::{
    Addressee, Answer, Ask, Certainty, Cost, Cut, Effect, ImplausibleUsage, Matter, Origin, OwnSize, Request, Said,
    Sender, Stimulus, Tokens, ToolCall, Turn,
};
pub use brief::{
    BRIEF_BYTES_MAX, Brief, Check, CloseWhen, Context, Grant, Hiring, Inherit, Lineage, Link, Mode, Offer, PowerSet,
    Powers, Standing,
};
pub use contract::{CONTINUATIONS_MAX, Contract, Corrupt, LOSSES_MAX, NOTICE_BYTES_MAX, NextSpeaker};
pub use fact::{Cause, FORMAT, Fact, Hold, Pause, Stored, Waking};
pub use input::{CALLS_MAX, Call, Compaction, Input, Need, Reply, Unreadable, Verdict};
pub use money::{AmountError, Heads, Msat, Quantity};
pub use name::{AgentName, FieldName, NAME_BYTES_MAX, NameError, PayeeName, Power, ToolName, WalletId};
pub use open_asks::{OpenAsks, WaitsFor};
pub use path::{AskId, AskKey, CallRef, DEPTH_MAX, Path, PathError};
pub use refusal::{EXAMPLE_BYTES_MAX, MESSAGE_BYTES_MAX, Refusal, WrongField};
pub use repeats::{REPEATS_MAX, REPEATS_TOLD_MIN, Repeats};
pub use reply_parts::ReplyParts;
pub use report::{Acceptance, Limit, Nudge, Outcome, Report, Undone, Wording};
pub use session::{ACCOUNT_FORMAT, Session, SessionCorrupt, SessionError, SessionFact, SessionKind};
pub use session_id::{SESSION_ID_BYTES_MAX, SessionId, SessionIdError};
pub use tariff::{FRAME_TOKENS, LAST_OUTPUT_TOKENS, LAST_TOKENS_MIN, MAX_TOKENS_MIN, TURN_TOKENS, Tariff};
pub use text::{Hash, HashError, TextKind, TextRef};
pub use time::{Millis, UnixMs, WRAP_UP_MARGIN_MAX};
pub use treasury::{
    Errand, FailedBecause, Invoice, InvoiceError, Invoiced, Network, PayeeAccount, Payer, Payment, PaymentEnd,
    PaymentHash, Policy, Preimage, Row, RowStatus, TREASURY_FORMAT, Treasurer, Treasury, TreasuryCorrupt,
    TreasuryError, TreasuryFact, Wallet, WalletReply, fee_limit, payable,
};
