//! Why not: values that a model or a person is told, with what to do instead. Never an error, and nothing is spent.

mod form_1;

use serde::{Deserialize, Serialize};

use crate::brief::BRIEF_BYTES_MAX;
use crate::input::CALLS_MAX;
use crate::money::{AmountError, Heads, Msat};
use crate::name::{AgentName, FieldName, NameError, Power, ToolName};
use crate::path::Path;
use crate::time::Millis;

/// The longest message or question, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 64 * 1024;

/// Why a call, a hire, a check or a root was not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The contract may hire nobody.
    #[error("you can't hire anyone: do the work yourself")]
    MayNotHire,
    /// The agent itself.
    #[error("you can't hire yourself: do the work yourself, or hire a different agent")]
    SelfHire,
    /// Not on the team.
    #[error("there is no {agent} on your team: {}", whom(team))]
    UnknownAgent {
        /// Who was asked for.
        agent: AgentName,
        /// Who could be.
        team: Vec<AgentName>,
    },
    /// Somebody above.
    #[error("{} would be a cycle: hire an agent that is not waiting for you", chain(way))]
    Cycle {
        /// The way round.
        way: Vec<AgentName>,
    },
    /// The same agent was hired for the same task above; for a made-up specialist the task alone counts.
    #[error("{agent}, above you in this tree, already has this exact task: do your part of it, or give a smaller task")]
    SameTask {
        /// Who has it.
        agent: AgentName,
    },
    /// No level left.
    #[error("no more levels of hires are allowed here ({asked} needed, {left} left): do the work yourself")]
    TooDeep {
        /// The levels that were asked for.
        asked: u8,
        /// The levels left.
        left: u8,
    },
    /// Not enough heads.
    #[error("not enough hires left ({asked} needed, {free} left): hire fewer agents, or wait for a report")]
    NoHeads {
        /// What it would take.
        asked: Heads,
        /// What is free.
        free: Heads,
    },
    /// Not enough money.
    #[error(
        "not enough money: at least {minimum} needed, {asked} offered, {free} available: do the work yourself, or wait for change"
    )]
    Money {
        /// What it would take.
        asked: Msat,
        /// What is free.
        free: Msat,
        /// The least that would do.
        minimum: Msat,
    },
    /// Not enough time.
    #[error("not enough time: a hire would have {} ms to work: do the work yourself", deadline.0.saturating_sub(now.0))]
    Deadline {
        /// When its report would be due.
        deadline: Millis,
        /// What time it is.
        now: Millis,
    },
    /// A power that can't be passed on.
    #[error("you can't grant the power {power}: hire without it")]
    Powers {
        /// The first such power.
        power: Power,
    },
    /// A power that the contract does not have.
    #[error("{tool} needs the power {power}, and you don't have it: use another tool, or hire an agent that has it")]
    NoPower {
        /// The tool.
        tool: ToolName,
        /// The first power that is missing.
        power: Power,
    },
    /// The owner said no, or nothing.
    #[error("the owner did not approve this call: continue without it")]
    NotApproved,
    /// Only a root may stay open, and only where nobody waits for its report.
    #[error("only a root contract can stay open")]
    StaysOpen,
    /// A brief that does not fit its place in the tree, or whose model or severance could not bring a word.
    #[error("no contract can work on this brief: its context, lineage, model or severance is wrong")]
    Unworkable,
    /// Over [`BRIEF_BYTES_MAX`].
    #[error(
        "the brief is too long ({bytes} bytes, at most {BRIEF_BYTES_MAX}): put the details into a file and name the file"
    )]
    BriefTooLong {
        /// How long it was, its terms included.
        bytes: u64,
    },
    /// Over [`MESSAGE_BYTES_MAX`].
    #[error(
        "the message is too long ({bytes} bytes, at most {MESSAGE_BYTES_MAX}): put the details into a file and name the file"
    )]
    MessageTooLong {
        /// How long it was.
        bytes: u32,
    },
    /// Over [`CALLS_MAX`].
    #[error("{calls} calls in one reply: only the first {CALLS_MAX} were read: repeat the others, fewer at a time")]
    TooManyCalls {
        /// How many there were.
        calls: u32,
    },
    /// No live hire of one's own.
    #[error("{hire} is not one of your active hires: list your hires to see who is")]
    UnknownHire {
        /// What was named.
        hire: Path,
    },
    /// Nobody to wait for.
    #[error("you have no active hires, so there is nothing to wait for")]
    NothingToAwait,
    /// A hire that waits for an answer of the one who would wait for it.
    #[error("{hire} has asked you a question and waits for your answer: send it a message first, then wait")]
    AskedYou {
        /// Which hire.
        hire: Path,
    },
    /// The contract is ending.
    #[error("no more calls are accepted: write your report now")]
    Closing,
    /// The one whom money was meant for has closed, is closing, or stands elsewhere.
    #[error("{to} can't take more money, because it has closed or is closing: the money stays with {with}")]
    TopUpStays {
        /// Whom it was for.
        to: Path,
        /// Who keeps it.
        with: Path,
    },
    /// A budget that is none.
    #[error("{0}")]
    BadAmount(AmountError),
    /// A name that is none.
    #[error("{0}")]
    BadName(NameError),
    /// A call that can't be read.
    #[error("the arguments are not a JSON object: correct them and call again")]
    Malformed,
    /// A field of a call that is missing or wrong.
    #[error("`{field}` {wrong}: correct it and call again")]
    Field {
        /// Which field.
        field: FieldName,
        /// What is wrong with it.
        wrong: WrongField,
    },
    /// A task, a message or a question without a word in it.
    #[error("the task, message or question is empty: write what to do, tell or ask")]
    NothingSaid,
    /// No such tool.
    #[error("there is no tool with that name: use one of your tools")]
    UnknownTool,
    /// An id that another call of the reply has.
    #[error("another call in this reply has the same id: give each call its own id")]
    DoubledCall,
}

/// What is wrong with a field of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongField {
    /// It is not there.
    #[error("is missing")]
    Missing,
    /// Not a text.
    #[error("is not a text")]
    NotText,
    /// Neither true nor false.
    #[error("is neither true nor false")]
    NotFlag,
    /// Not a number of seconds.
    #[error("is not a number of seconds")]
    NotSeconds,
    /// Not the id of a hire.
    #[error("is not the id of a hire, such as \"1.2\"")]
    NotId,
    /// None of the values that it can have.
    #[error("is none of the values that the tool knows")]
    NotKnown,
}

/// The room for a right call that the agent layer shows with a refusal, in bytes.
pub const EXAMPLE_BYTES_MAX: usize = 256;

impl Refusal {
    /// Whether the agent is shown a right call with it.
    pub fn has_example(&self) -> bool {
        matches!(self, Refusal::Field { .. } | Refusal::Malformed | Refusal::BadAmount(_) | Refusal::NothingSaid)
    }

    /// Returns the size of the reason as an agent is shown it today. It is stored with the fact.
    pub(crate) fn bytes(&self) -> u32 {
        let example = if self.has_example() { EXAMPLE_BYTES_MAX } else { 0 };
        u32::try_from(self.to_string().len() + example).unwrap_or(u32::MAX)
    }

    /// Returns the size that the reason had in form 1, whose facts do not say it; `None` for one that form 1 did not have.
    pub(crate) fn bytes_in_form_1(&self) -> Option<u32> {
        form_1::wording(self).map(|text| u32::try_from(text.len()).unwrap_or(u32::MAX))
    }
}

fn whom(names: &[AgentName]) -> String {
    if names.is_empty() {
        return "your team is empty: do the work yourself".to_owned();
    }
    format!("hire one of these: {}", names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", "))
}

fn chain(names: &[AgentName]) -> String {
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(" -> ")
}
