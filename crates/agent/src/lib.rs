//! The agent layer: what an agent is shown, what its replies mean, and the traits of the models and tools it works with.

mod model;
mod tool;

pub use model::{
    Attempt, Delta, Message, Model, ModelError, Part, Prompt, RawCall, Reply, Stop, Task, ToolSpec, Usage, Watch, Wire,
};
pub use tool::{RESULT_BYTES_MAX, Tool, ToolOutcome, ToolResult, ToolTerms};
