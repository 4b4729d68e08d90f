//! Refusals: values that tell a model or a person what was not done, why, and what to do instead. A refusal is not an
//! error and costs nothing.

use serde::{Deserialize, Serialize};

use crate::brief::BRIEF_BYTES_MAX;
use crate::input::CALLS_MAX;
use crate::money::{AmountError, Heads, Msat};
use crate::name::{AgentName, FieldName, NameError, Power, ToolName};
use crate::path::Path;
use crate::time::Millis;

/// The longest message or question, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 64 * 1024;

/// Why a call, a hire, a check or a root was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The contract is not allowed to hire.
    #[error("you can't hire anyone: do the work yourself")]
    CantHire,
    /// An agent named itself.
    #[error("you can't hire yourself: do the work yourself, or hire a different agent")]
    SelfHire,
    /// The agent is not on the contract's team.
    #[error("{agent} is not on your team: {}", hire_one_of(team))]
    UnknownAgent {
        /// The agent that was named.
        agent: AgentName,
        /// The agents that can be hired.
        team: Vec<AgentName>,
    },
    /// The agent is above the contract in the tree.
    #[error("{} would be a cycle: hire an agent that is not waiting for you", chain(way))]
    Cycle {
        /// The agents of the cycle, in order.
        way: Vec<AgentName>,
    },
    /// The same agent was hired for the same task above; for an ad-hoc specialist only the task is compared.
    #[error("{agent}, above you in this tree, already has this exact task: do your part of it, or give a smaller task")]
    SameTask {
        /// The agent that has the task.
        agent: AgentName,
    },
    /// Several contracts above have the same task, which nobody has made smaller.
    #[error("this task was passed on {times} times without a change: do it yourself, or split it into smaller tasks")]
    PassedOn {
        /// The number of contracts above that have the task, the hirer included.
        times: u32,
    },
    /// The same call had the same result too often.
    #[error(
        "you have made this call of {tool} {times} times, and nothing has changed: use its result, or do something else"
    )]
    Repeated {
        /// The tool.
        tool: ToolName,
        /// How often the call was made without a change.
        times: u32,
    },
    /// The tree would become too deep.
    #[error("no more levels of hires are allowed here ({asked} needed, {left} left): do the work yourself")]
    TooDeep {
        /// The levels that are needed.
        asked: u8,
        /// The levels that are left.
        left: u8,
    },
    /// Not enough heads.
    #[error("not enough hires left ({asked} needed, {free} left): hire fewer agents, or wait for a report")]
    NoHeads {
        /// The number that is needed.
        asked: Heads,
        /// The number that is available.
        free: Heads,
    },
    /// Not enough money.
    #[error(
        "not enough money: at least {minimum} is needed, {asked} was offered, {free} is available: do the work yourself, or wait until a hire returns unspent money"
    )]
    Money {
        /// The amount that is needed.
        asked: Msat,
        /// The amount that is available.
        free: Msat,
        /// The minimum amount.
        minimum: Msat,
    },
    /// Not enough time.
    #[error("not enough time: a hire would have {} ms to work: do the work yourself", deadline.0.saturating_sub(now.0))]
    Deadline {
        /// When the report would be due.
        deadline: Millis,
        /// The current time.
        now: Millis,
    },
    /// The contract is not allowed to grant a power.
    #[error("you are not allowed to grant the power {power}: hire an agent that does not need it")]
    Powers {
        /// The first power that can't be granted.
        power: Power,
    },
    /// The contract does not have a power that the tool needs.
    #[error("{tool} needs the power {power}, and you don't have it: use another tool, or hire an agent that has it")]
    NoPower {
        /// The tool.
        tool: ToolName,
        /// The first power that is missing.
        power: Power,
    },
    /// The owner denied the tool call, or did not reply in time.
    #[error("the owner did not approve this call: continue without it")]
    NotApproved,
    /// Only a root can stay open after its final text.
    #[error("only a root contract can stay open after its final text")]
    StaysOpen,
    /// The brief does not fit its place in the tree, or its model or severance does not allow any reply.
    #[error("no contract can work on this brief: its context, lineage, model or severance is wrong")]
    Unworkable,
    /// The brief is longer than [`BRIEF_BYTES_MAX`].
    #[error(
        "the brief is too long ({bytes} bytes, at most {BRIEF_BYTES_MAX}): put the details into a file and name the file"
    )]
    BriefTooLong {
        /// The length of the brief, its terms included.
        bytes: u64,
    },
    /// The message is longer than [`MESSAGE_BYTES_MAX`].
    #[error(
        "the message is too long ({bytes} bytes, at most {MESSAGE_BYTES_MAX}): put the details into a file and name the file"
    )]
    MessageTooLong {
        /// The length of the message.
        bytes: u32,
    },
    /// The reply has more calls than [`CALLS_MAX`].
    #[error(
        "your reply has {calls} calls, but only the first {CALLS_MAX} were read: make the other calls again in your next reply"
    )]
    TooManyCalls {
        /// The number of calls in the reply.
        calls: u32,
    },
    /// The path is not that of a live hire of this contract.
    #[error("{hire} is not one of your active hires: list your hires, then use the id of an active hire")]
    UnknownHire {
        /// The path that was named.
        hire: Path,
    },
    /// The contract has no live hires to wait for.
    #[error("you have no active hires to wait for: continue with your own work")]
    NothingToAwait,
    /// The hire has asked this contract a question, so both would wait for each other.
    #[error("{hire} has asked you a question and waits for your answer: send it a message first, then wait")]
    AskedYou {
        /// The hire.
        hire: Path,
    },
    /// The hire waits for money, so it has no contract that could hear a message.
    #[error(
        "{hire} waits for money and has not started: send the message when it has started, or stop it and hire again"
    )]
    NotStarted {
        /// The hire.
        hire: Path,
    },
    /// The hire was stopped while it waited for money.
    #[error("{hire} was stopped before it started: it was waiting for money, and nothing was spent")]
    StoppedBeforeStart {
        /// The hire.
        hire: Path,
    },
    /// The contract is ending.
    #[error("no more calls are accepted: write your report now")]
    Closing,
    /// The receiver of a top-up has closed, is closing, or is not below this contract.
    #[error(
        "{to} can't take more money, because it has not started, has closed or is closing: the money stays with {with}"
    )]
    TopUpStays {
        /// The contract that the money was for.
        to: Path,
        /// The contract that has the money now.
        with: Path,
    },
    /// The budget is not an amount of money.
    #[error("{0}")]
    BadAmount(AmountError),
    /// The agent's name is not a valid name.
    #[error("{0}")]
    BadName(NameError),
    /// The call's arguments are not a JSON object.
    #[error("the arguments are not one JSON object with unique keys: correct them and call again")]
    Malformed,
    /// The reply was cut within the call by its limit of tokens.
    #[error(
        "your reply reached its limit of tokens within this call: call again, with less text or fewer calls in one reply"
    )]
    CutCall,
    /// A field of a call is missing or wrong.
    #[error("`{field}` {wrong}: correct it and call again")]
    Field {
        /// The field.
        field: FieldName,
        /// What is wrong with the field.
        wrong: WrongField,
    },
    /// The task, message or question is empty.
    #[error("the task, message or question is empty: write the text and call again")]
    EmptyText,
    /// The tool is unknown.
    #[error("there is no tool with that name: use one of your tools")]
    UnknownTool,
    /// Another call of the reply has the same id.
    #[error("another call in this reply has the same id: give each call its own id")]
    DuplicateCallId,
}

/// What is wrong with a field of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongField {
    /// The field is missing.
    #[error("is missing")]
    Missing,
    /// The value is not a string.
    #[error("is not a string")]
    NotText,
    /// The value is neither true nor false.
    #[error("is neither true nor false")]
    NotBool,
    /// The value is not a number of seconds.
    #[error("is not a number of seconds")]
    NotSeconds,
    /// The value is not the id of a hire.
    #[error("is not the id of a hire, such as \"1.2\"")]
    NotId,
    /// The value is not one of the allowed values.
    #[error("is not one of the allowed values")]
    UnknownValue,
}

/// The space for the correct call that the agent layer shows with a refusal, in bytes.
pub const EXAMPLE_BYTES_MAX: usize = 256;

impl Refusal {
    /// Returns whether the agent is shown a correct call with this refusal.
    pub fn has_example(&self) -> bool {
        matches!(self, Refusal::Field { .. } | Refusal::Malformed | Refusal::BadAmount(_) | Refusal::EmptyText)
    }

    /// Returns the size of the text that an agent is shown. The size is stored in the fact.
    pub(crate) fn bytes(&self) -> u32 {
        let example = if self.has_example() { EXAMPLE_BYTES_MAX } else { 0 };
        u32::try_from(self.to_string().len() + example).unwrap_or(u32::MAX)
    }
}

fn hire_one_of(names: &[AgentName]) -> String {
    if names.is_empty() {
        return "your team is empty: do the work yourself".to_owned();
    }
    format!("hire one of these: {}", names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", "))
}

fn chain(names: &[AgentName]) -> String {
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(" -> ")
}
