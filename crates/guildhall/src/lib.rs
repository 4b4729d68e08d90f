//! Guildhall as a library: a hall with its models, tools and journal, and agents at work in it. The command line and the
//! server use only this. So far one agent works at a time; hiring comes next.

mod built_in;
mod hall;
mod meter;
mod models;
mod name;
mod session;
mod setup;
mod undertaking;

pub use hall::{Ending, Hall, HallBuilder, HallError};
pub use models::{ANTHROPIC, CALLS_AT_ONCE, DatedRate, Locked, ModelName, Models, ModelsError, OPENAI, Paid, Source};
pub use session::{Bill, Ended, Line, View};
pub use setup::{Agent, Root, Seated, Setup};
pub use undertaking::{Running, TURNS_MAX, Undertaking};

pub use guildhall_agent as agent;
pub use guildhall_kernel as kernel;
pub use guildhall_local as local;
pub use guildhall_models as providers;
