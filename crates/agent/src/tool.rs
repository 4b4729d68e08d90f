//! What a tool is to Guildhall: it has a name and a schema, it declares its price, its effect and its powers, and it is called.

use guildhall_kernel::{AskKey, Effect, Msat, PowerSet};
use serde_json::Value;

use crate::model::{Task, ToolSpec};

/// The longest result that a model is shown, in bytes. A tool that has more says where the rest is.
pub const RESULT_BYTES_MAX: usize = 64 * 1024;

/// A tool that agents may call.
///
/// What it returns is data from outside: it is shown to a model as the result of a call, never as anybody's words.
pub trait Tool: Send + Sync {
    /// How a model sees it.
    fn spec(&self) -> ToolSpec;

    /// What a call costs, does and needs. Resuming after a crash and passing powers on depend on it.
    fn terms(&self) -> ToolTerms;

    /// Makes a call. Dropping the task stops it.
    fn call<'a>(&'a self, key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult>;

    /// Finds out what became of a call that a crash interrupted. Only tools whose effect is [`Effect::Reconcilable`] are asked.
    /// One that can't tell makes no call happen twice.
    fn look_up<'a>(&'a self, _key: &'a AskKey, _arguments: &'a Value) -> Task<'a, LookUp> {
        Box::pin(async { LookUp::Unknown })
    }
}

/// What became of a call that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The call happened: this is its result.
    Happened(ToolResult),
    /// The call certainly did not happen, so it is made now.
    DidNotHappen,
    /// Nobody knows. The call is not made again, and its agent is told that its outcome is unknown.
    Unknown,
}

/// What a tool declares of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolTerms {
    /// What a call costs at most.
    pub price: Msat,
    /// What may be done about a call whose outcome a crash took away.
    pub effect: Effect,
    pub needs: PowerSet,
}

/// What a call brought.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolResult {
    /// What the model is shown.
    pub text: String,
    pub outcome: ToolOutcome,
    pub cost: Msat,
}

/// Whether a call worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ToolOutcome {
    Done,
    /// It did not; the text says why, and what to do instead.
    Failed,
}

impl ToolResult {
    /// A result that cost nothing.
    pub fn done(text: impl Into<String>) -> ToolResult {
        ToolResult { text: text.into(), outcome: ToolOutcome::Done, cost: Msat::ZERO }
    }

    /// A failure that cost nothing.
    pub fn failed(text: impl Into<String>) -> ToolResult {
        ToolResult { text: text.into(), outcome: ToolOutcome::Failed, cost: Msat::ZERO }
    }
}
