//! Why not: values that a model or a person is told, with what to do instead. Never an error, and nothing is spent.

use serde::{Deserialize, Serialize};

use crate::brief::BRIEF_BYTES_MAX;
use crate::input::CALLS_MAX;
use crate::money::{AmountError, Heads, Msat};
use crate::name::{AgentName, NameError, Power, ToolName};
use crate::path::Path;
use crate::time::{Millis, WRAP_UP_MARGIN};

/// The longest message or question, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 64 * 1024;

/// Why a call, a hire, a check or a root was not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The contract may hire nobody.
    #[error("this agent may not hire: do the work yourself")]
    MayNotHire,
    /// The agent itself.
    #[error("an agent can't hire itself: do the work yourself, or hire somebody else")]
    SelfHire,
    /// Not on the team.
    #[error("{agent} is not on your team: hire one of {}", list(team))]
    UnknownAgent {
        /// Who was asked for.
        agent: AgentName,
        /// Who could be.
        team: Vec<AgentName>,
    },
    /// Somebody above.
    #[error("{} would be a circle: hire somebody who is not waiting for you", chain(way))]
    Cycle {
        /// The way round.
        way: Vec<AgentName>,
    },
    /// The same agent was hired for the same task above; for a made-up specialist the task alone counts.
    #[error("{agent} above you already has this very task: do your part of it, or hand on a smaller one")]
    SameTask {
        /// Who has it.
        agent: AgentName,
    },
    /// No level left.
    #[error("no hires below this level: {asked} more levels asked for, {left} left: do the work yourself")]
    TooDeep {
        /// The levels that were asked for.
        asked: u8,
        /// The levels left.
        left: u8,
    },
    /// Not enough heads.
    #[error("{asked} heads asked for, {free} free: hire fewer, or wait for a report")]
    NoHeads {
        /// What it would take.
        asked: Heads,
        /// What is free.
        free: Heads,
    },
    /// Not enough money.
    #[error("{asked} is not possible: {free} free, at least {minimum} needed: do it yourself, or wait for change")]
    Money {
        /// What it would take.
        asked: Msat,
        /// What is free.
        free: Msat,
        /// The least that would do.
        minimum: Msat,
    },
    /// Not enough time.
    #[error(
        "a report due at {deadline} leaves no time to work, it is {now} and wrapping up takes {WRAP_UP_MARGIN}: do it yourself"
    )]
    Deadline {
        /// When its report would be due.
        deadline: Millis,
        /// What time it is.
        now: Millis,
    },
    /// A power that can't be passed on.
    #[error("the power {power} is not yours to grant: hire without it")]
    Powers {
        /// The first such power.
        power: Power,
    },
    /// A power that the contract does not have.
    #[error("{tool} needs the power {power}, which you do not have: use another tool, or hire one who has it")]
    NoPower {
        /// The tool.
        tool: ToolName,
        /// The first power that is missing.
        power: Power,
    },
    /// The owner said no, or nothing.
    #[error("not approved: go on without it")]
    NotApproved,
    /// Only a root may stay open, and only where nobody waits for its report.
    #[error("only a root can stay open")]
    StaysOpen,
    /// A brief that does not fit its place in the tree, or whose model or severance could not bring a word.
    #[error("the brief does not fit its place: its context, lineage, model or severance is wrong")]
    Unworkable,
    /// Over [`BRIEF_BYTES_MAX`].
    #[error("a brief of {bytes} bytes is too long: at most {BRIEF_BYTES_MAX}: put the rest into a file and name it")]
    BriefTooLong {
        /// How long it was, its terms included.
        bytes: u64,
    },
    /// Over [`MESSAGE_BYTES_MAX`].
    #[error(
        "a message of {bytes} bytes is too long: at most {MESSAGE_BYTES_MAX}: put the rest into a file and name it"
    )]
    MessageTooLong {
        /// How long it was.
        bytes: u32,
    },
    /// Over [`CALLS_MAX`].
    #[error(
        "{calls} calls in one reply: only the first {CALLS_MAX} were considered: make the others again, fewer at a time"
    )]
    TooManyCalls {
        /// How many there were.
        calls: u32,
    },
    /// No live hire of one's own.
    #[error("{hire} is not one of your live hires: ask for the list")]
    UnknownHire {
        /// What was named.
        hire: Path,
    },
    /// Nobody to wait for.
    #[error("none of your hires is at work: there is nothing to wait for")]
    NothingToAwait,
    /// The contract is ending.
    #[error("it is time to report: no more calls")]
    Closing,
    /// The one whom money was meant for has closed, is closing, or stands elsewhere.
    #[error("{to} takes no more money: it stays with {with}")]
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
    #[error("the call could not be read: follow the tool's schema")]
    Malformed,
    /// A task, a message or a question without a word in it.
    #[error("there is not a word in it: say what is to be done, told or asked")]
    NothingSaid,
    /// No such tool.
    #[error("there is no such tool: use one of those you were given")]
    UnknownTool,
    /// An id that another call of the reply has.
    #[error("another call of this reply has the same id: give each its own")]
    DoubledCall,
}

fn list(names: &[AgentName]) -> String {
    if names.is_empty() {
        return "nobody".to_owned();
    }
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")
}

fn chain(names: &[AgentName]) -> String {
    names.iter().map(AgentName::as_str).collect::<Vec<_>>().join(" -> ")
}
