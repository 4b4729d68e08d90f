//! Guildhall as a library: a hall with its models, tools and journal, and the agents at work in it. The command line uses only
//! this crate.
//!
//! A program builds a [`Hall`] once. [`Hall::run`] gives the hall work: a task and a budget. All agents that work on the task
//! together can't spend more than the budget. The program awaits the work, or starts it and watches it fact by fact. The work
//! ends with a report, a bill and, on request, an output that programs can read. Every fact is stored in the journal before the
//! hall acts on it, so [`Hall::resume`] can continue work that a crash interrupted.
//!
//! ```
//! use guildhall::{Hall, Msat, REHEARSAL_PRICE, Reply, model_fn, tool_fn};
//! use serde_json::{Value, json};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let project = tempfile::tempdir()?;
//! // The program's own tool and its own model: here, both are functions.
//! let clock = tool_fn("clock", "Says what time it is.", json!({"type": "object"}), |_: Value| async {
//!     "half past four".to_owned()
//! });
//! let clerk = model_fn(|prompt| async move {
//!     match prompt.last_result() {
//!         None => Reply::call("clock", json!({})),
//!         Some(time) => Reply::words(format!("It is {time}.")),
//!     }
//! });
//! let hall = Hall::builder().project(project.path()).model("clerk", clerk, REHEARSAL_PRICE).tool(clock).build()?;
//!
//! let ended = hall.run("What time is it?").budget(Msat::from_sat(100)?).await?;
//! assert_eq!(ended.text, "It is half past four.");
//! println!("{} of {}", ended.report.spent, ended.granted);
//! # Ok(())
//! # }
//! ```
//!
//! - **Models**: [`model_fn`], or the trait [`Model`], for the program's own models; [`Models`] with a [`Source`] for models of
//!   providers.
//! - **Tools**: [`tool_fn`], or the trait [`Tool`]. The tools that read the project's files are always available.
//! - **Teams**: a [`Roster`] of agents from Markdown files. Without a roster, one assistant works alone.
//! - **Output**: [`Undertaking::output`] and [`Ended::output`].
//! - **Transcripts**: [`Hall::transcript`], or [`HallBuilder::transcripts`] while the work runs.
//! - **Watching**: [`Undertaking::start`], [`Running::next`], [`Running::say`], [`Running::end`].
//!
//! The library reads no environment variables and prints nothing.
//!
//! # Features
//!
//! `http` is on by default. It adds the providers: Anthropic Messages and OpenAI-compatible servers over HTTP and TLS, and the
//! table of their prices. Without it, only the program's own models are available, and the build needs half as many crates.
#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "http"),
    allow(rustdoc::broken_intra_doc_links, reason = "`Source` exists only with the feature http")
)]

mod agent_table;
mod agents;
mod bill;
mod builder;
mod built_in;
mod closing;
mod correct;
mod failure;
mod faults;
mod guide;
mod hall;
mod keeper;
mod models;
mod name;
mod opening;
mod orders;
mod output;
#[cfg(feature = "http")]
mod quote;
mod running;
mod served;
mod session;
mod setup;
mod stored;
mod task_list_model;
mod tasks;
mod token_limit;
mod topup;
mod transcript;
#[cfg(feature = "lightning")]
mod treasury;
mod tree;
mod undertaking;
mod usage_warnings;
mod verification;

pub use agents::{Agent, AgentBudget, Hires, entry_of};
pub use bill::{Bill, Charges, EarnedFee, Lack, Line, Overrun};
pub use builder::{HallBuilder, TOOLS_AT_ONCE, WarnFn};
pub use correct::Corrected;
pub use hall::{Ending, Hall, HallError, Instruction};
pub use keeper::{Keeper, OnEnd, Started, UNLOAD_AFTER, WorkState};
pub use models::{
    ANTHROPIC, CALLS_AT_ONCE, CALLS_AT_ONCE_MAX, DatedRate, Locked, ModelName, Models, ModelsError, OPENAI, Paid,
};
#[cfg(feature = "http")]
pub use models::{Naming, Source};
pub use orders::OrderedHire;
pub use output::OutputError;
#[cfg(feature = "http")]
pub use quote::{FeeQuote, Quote, TOKEN_BYTES};
pub use running::Running;
pub use served::Serving;
pub use session::{Ended, Unreadable, View};
pub use setup::{Request, Root, Setup, Staffing};
pub use stored::UnreadableText;
pub use tasks::{TASK_NAME_BYTES_MAX, TASKS_MAX, TaskError, TaskSpec, Tasks, TasksError};
pub use token_limit::TokenLimit;
pub use topup::ToppedUp;
pub use transcript::{TRANSCRIPT_TEXT_BYTES_MAX, Transcript, TranscriptError, WrittenTranscripts, timestamp};
#[cfg(feature = "lightning")]
pub use treasury::{
    BookKeeping, Entry, Funding, FundingEnd, Ledger, Payee, PaymentView, Payouts, PostedAt, Posting, Refund,
    RefundQuote, Resolution, TreasuryLimits, WalletError, WalletView,
};
pub use tree::{
    AccountKind, Amounts, ContractState, QueuedHire, RootState, StartContext, Tree, TreeAccount, TreeContract,
    TreeReport, TreeRoot, Waits,
};
pub use undertaking::{DEPTH_MAX, HEADS_MAX, TURNS_MAX, Undertaking};
pub use usage_warnings::{InputAboveHold, UsageWarning, UsageWarnings};
pub use verification::{Checked, Findings};

pub use guildhall_agent::roster::{self, Roster};
pub use guildhall_agent::{
    Attempt, LookUp, Model, ModelError, Opening, Prompt, Reply, Reported, Tool, ToolResult, ToolSpec, ToolTerms, Usage,
    model_fn, tool_fn,
};
pub use guildhall_kernel::{AgentName, Effect, Fact, Msat, Outcome, Stored};
pub use guildhall_local::SessionId;
pub use guildhall_models::{LOCAL_PRICE, Price, REHEARSAL_PRICE};
pub use guildhall_rehearsal::{LABEL as REHEARSAL_LABEL, Rehearsal};

pub use guildhall_agent as agent;
pub use guildhall_kernel as kernel;
#[cfg(feature = "lightning")]
pub use guildhall_lightning as lightning;
pub use guildhall_local as local;
pub use guildhall_models as providers;
