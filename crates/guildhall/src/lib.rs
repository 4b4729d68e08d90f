//! Guildhall as a library: a hall with its models, tools and journal, and agents at work in it. The command line and the
//! server use only this.

mod agents;
mod builder;
mod built_in;
mod crew;
mod guide;
mod hall;
mod meter;
mod models;
mod name;
mod orders;
mod output;
#[cfg(feature = "http")]
mod quote;
mod running;
mod session;
mod setup;
mod undertaking;

pub use agents::{Agent, AgentBudget, Hires, entry_of};
pub use builder::HallBuilder;
pub use hall::{Ending, Hall, HallError, Telling};
#[cfg(feature = "http")]
pub use models::Source;
pub use models::{ANTHROPIC, CALLS_AT_ONCE, DatedRate, Locked, ModelName, Models, ModelsError, OPENAI, Paid};
pub use orders::Spawned;
pub use output::OutputError;
#[cfg(feature = "http")]
pub use quote::{Quote, TOKEN_BYTES};
pub use running::Running;
pub use session::{Bill, Ended, Line, View};
pub use setup::{Root, Setup, Staffing};
pub use undertaking::{DEPTH_MAX, HEADS_MAX, TURNS_MAX, Undertaking};

pub use guildhall_agent::roster::{self, Roster};
pub use guildhall_agent::{
    Attempt, Model, ModelError, Prompt, Reply, Tool, ToolResult, ToolSpec, ToolTerms, Usage, model_fn, tool_fn,
};
pub use guildhall_kernel::{AgentName, Effect, Fact, Msat, Outcome, Stored};
pub use guildhall_local::SessionId;
pub use guildhall_models::{LOCAL_PRICE, Price, REHEARSAL_PRICE};

pub use guildhall_agent as agent;
pub use guildhall_kernel as kernel;
pub use guildhall_local as local;
pub use guildhall_models as providers;
