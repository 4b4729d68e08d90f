//! The trait of a tool: it has a name and a schema, it declares its price, its effect and its powers, and it can be called.

use guildhall_kernel::{AskKey, Effect, Msat, PowerSet};
use serde_json::Value;

use crate::model::{Task, ToolSpec};

/// The longest result that a model is shown, in bytes. A tool with a longer result says where the rest is.
pub const RESULT_BYTES_MAX: usize = 64 * 1024;

/// A tool that agents may call.
///
/// The result is data from outside. A model is shown it as the result of a call, never as an instruction.
pub trait Tool: Send + Sync {
    /// Returns the tool as a model sees it.
    fn spec(&self) -> ToolSpec;

    /// Returns the price, the effect and the powers of a call. Recovery after a crash and the passing on of powers depend on them.
    fn terms(&self) -> ToolTerms;

    /// Makes a call. Dropping the task stops the call.
    fn call<'a>(&'a self, key: &'a AskKey, arguments: &'a Value) -> Task<'a, ToolResult>;

    /// Finds the result of a call that a crash interrupted. It is used only for tools whose effect is
    /// [`Effect::Reconcilable`]. It must not make the call.
    fn look_up<'a>(&'a self, _key: &'a AskKey, _arguments: &'a Value) -> Task<'a, LookUp> {
        Box::pin(async { LookUp::Unknown })
    }
}

/// The outcome of a call that a crash interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The call happened, with this result.
    Happened(ToolResult),
    /// The call certainly did not happen, so the engine makes it now.
    DidNotHappen,
    /// It is not known whether the call happened. The call is not made again, and its agent is shown that the outcome is
    /// unknown.
    Unknown,
}

/// The price, the effect and the powers of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolTerms {
    /// The highest cost of a call.
    pub price: Msat,
    /// What the engine may do about a call that a crash interrupted.
    pub effect: Effect,
    pub needs: PowerSet,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolResult {
    /// The text that the model is shown.
    pub text: String,
    pub outcome: ToolOutcome,
    pub cost: Msat,
}

/// Whether a call worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ToolOutcome {
    Done,
    /// The call failed. The text says why, and what to do instead.
    Failed,
}

impl ToolResult {
    /// Makes a result that cost nothing.
    pub fn done(text: impl Into<String>) -> ToolResult {
        ToolResult { text: text.into(), outcome: ToolOutcome::Done, cost: Msat::ZERO }
    }

    /// Makes a failure that cost nothing.
    pub fn failed(text: impl Into<String>) -> ToolResult {
        ToolResult { text: text.into(), outcome: ToolOutcome::Failed, cost: Msat::ZERO }
    }
}
