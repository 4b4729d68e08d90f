//! The data that a prompt is made from, for models that are programs within the process. The data never leaves the process, and
//! it does not depend on how the runtime words things for language models.

use std::sync::Arc;

use guildhall_kernel::{AgentName, Nudge, Outcome, Path, Refusal, Turn};

use crate::hiring::Team;
use crate::model::Reply;
use crate::status::Status;

/// Everything that a prompt shows an agent, as data.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PromptData {
    pub agent: AgentName,
    /// The agents that this agent may hire, if it may hire.
    pub team: Option<Arc<Team>>,
    /// The task of the brief, without terms and checks.
    pub task: String,
    /// Whether the reply may make calls, or is the last.
    pub turn: Turn,
    pub status: Status,
    /// What the contract heard and replied since its brief, in the order of its transcript. What arrives while the model works
    /// follows the model's reply. The results of calls are in the order of the calls.
    pub heard: Vec<Heard>,
}

impl PromptData {
    /// The reply that says that the text before the question [`Nudge::ConfirmReport`] is the report.
    pub const CONFIRMS_REPORT: &str = "DONE";

    /// Whether the agent is asked if its newest text is its report.
    pub fn asks_to_confirm(&self) -> bool {
        let since = self.heard.iter().rev().take_while(|heard| !matches!(heard, Heard::Reply(_)));
        since.into_iter().any(|heard| *heard == Heard::Nudged(Nudge::ConfirmReport))
    }
}

/// One thing that a contract heard, or replied.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Heard {
    /// The agent's own reply.
    Reply(Arc<Reply>),
    /// The result of a tool call.
    Result {
        /// The call's id, as the model gave it.
        call: String,
        text: String,
        failed: bool,
    },
    /// An agent was hired. It may still wait for money.
    Hired {
        /// The call that hired it, if a call did.
        call: Option<String>,
        hire: Path,
        agent: AgentName,
    },
    /// A call was refused, or a hire that the runtime proposed.
    Refused {
        /// The call, if a call was refused.
        call: Option<String>,
        /// The hire, if it had waited for money.
        hire: Option<Path>,
        why: Refusal,
    },
    /// A hire reported.
    Report(HeardReport),
    /// A hire asks a question and waits for the answer.
    Question { from: Path, text: String },
    /// Another contract sent a message.
    Message { from: Path, text: String },
    /// The owner sent a message.
    Owner(String),
    /// The runtime demands something of the next reply.
    Nudged(Nudge),
}

/// A report, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct HeardReport {
    /// The call that hired the agent, if a call did.
    pub call: Option<String>,
    pub hire: Path,
    pub agent: AgentName,
    pub outcome: Outcome,
    /// The text of the report. Empty if the agent ended before it wrote anything.
    pub text: String,
}
