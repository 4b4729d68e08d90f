//! The agent layer: the prompts that an agent is shown, the reading of its replies, and the traits of its models and tools.
#![deny(missing_docs)]

pub mod checks;
mod engine;
mod function;
mod hiring;
mod history;
mod json_turn;
mod meter;
mod model;
mod money;
mod profile;
mod prompt_data;
mod redact;
pub mod roster;
mod run;
mod runtime;
mod status;
mod text;
mod tool;
mod transcript;
mod wording;

pub use engine::{Engine, due};
pub use function::{ToolFn, model_fn, tool_fn};
pub use hiring::{
    BOARD, Hired, KnownModel, LIST, Listing, POST_BYTES_MAX, POSTS_MAX, Post, Team, Worker, runtime_prompt,
};
pub use history::{History, fork_prefix};
pub use json_turn::{Calls, Choice, JsonTurn};
pub use meter::Meter;
pub use model::{
    Attempt, Billing, CallFormat, Delta, Message, Model, ModelError, Opening, Part, Prompt, RawCall, Reply, Reported,
    Stop, Task, ToolSpec, Usage, WaitReason, Watch, Wire,
};
pub use money::{Usd, UsdError};
pub use profile::Profile;
pub use prompt_data::{Heard, HeardReport, PromptData};
pub use run::{RunError, run};
pub use runtime::{AgentRuntime, Arrival, Clock, Price, TokenCounts, ToolContext};
pub use status::{HiringLeft, STATUS_BYTES_MAX, Status};
pub use text::{
    LABEL_BYTES_MAX, LazyText, Redact, Redactor, SECRET_BYTES_MIN, Text, TextError, Texts, escape_unseen, hash,
    is_unseen, stored_reply, task_key,
};
pub use tool::{LookUp, RESULT_BYTES_MAX, Tool, ToolOutcome, ToolResult, ToolTerms};
pub use transcript::{Conversation, transcript};
