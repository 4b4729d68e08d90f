//! Guildhall as a library: a hall with its models, tools and journal, and agents at work in it. The command line and the
//! server use only this.

mod agents;
mod built_in;
mod crew;
mod guide;
mod hall;
mod meter;
mod models;
mod name;
mod orders;
mod quote;
mod session;
mod setup;
mod undertaking;

pub use agents::{Agent, AgentBudget, Hires, entry_of};
pub use hall::{Ending, Hall, HallBuilder, HallError, Telling};
pub use models::{
    ANTHROPIC, CALLS_AT_ONCE, DatedRate, Locked, ModelName, Models, ModelsError, Naming, OPENAI, Paid, Source,
};
pub use orders::Spawned;
pub use quote::{Quote, TOKEN_BYTES};
pub use session::{Bill, Ended, Line, View};
pub use setup::{Root, Setup, Staffing};
pub use undertaking::{DEPTH_MAX, HEADS_MAX, Running, TURNS_MAX, Undertaking};

pub use guildhall_agent as agent;
pub use guildhall_kernel as kernel;
pub use guildhall_local as local;
pub use guildhall_models as providers;
