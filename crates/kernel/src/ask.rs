//! What a contract wants from the world, and what it is told by it. Both are values that facts carry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::brief::{Brief, Check, Mode, Offer, PowerSet};
use crate::money::{Msat, Quantity};
use crate::name::ToolName;
use crate::path::{AskId, AskKey, CallRef, Path};
use crate::report::{Nudge, Report};
use crate::text::TextRef;
use crate::time::Millis;

/// Something a contract wants from the world. It holds its ceiling before it leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A model's reply.
    Model(Request),
    /// A tool's result.
    Tool(ToolCall),
    /// Another contract's report.
    Hire {
        /// What is handed over; its grant is this ask's hold.
        brief: Arc<Brief>,
        /// Whether the call that hired waits for the report.
        mode: Mode,
    },
    /// Whether the final text passes a check.
    Check(Check),
    /// An answer in words, or leave to use a tool.
    Question {
        /// Who is asked.
        to: Addressee,
        /// What is asked.
        matter: Matter,
        /// When no reply counts as one.
        until: Millis,
    },
    /// Nothing but that another contract hears something. It holds nothing.
    Tell {
        /// Who is to hear it.
        to: Path,
        /// What is to be heard.
        what: Stimulus,
    },
}

/// A model call: the transcript up to a cursor, and how much may come back. The transcript is the contract's own facts, so
/// the cursor counts facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// It shows the facts of the contract before this one: always all that there were when it was asked.
    pub upto: u32,
    /// The reports that it is the first to include: they are owed no longer.
    pub hears: Vec<AskId>,
    /// An upper bound of its input tokens, which the hold pays for.
    pub tokens: u64,
    /// The most output tokens it may bring.
    pub max_tokens: u32,
    /// Whether another turn may follow.
    pub turn: Turn,
}

/// Whether a request is one of many or the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// An ordinary turn.
    Next,
    /// The last one, which the severance pays for. `tokens` may be less than the transcript's: then it is cut to fit.
    Last,
}

/// A tool call, as far as the contract must know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which tool.
    pub tool: ToolName,
    /// With what.
    pub arguments: TextRef,
    /// What it costs at most.
    pub price: Msat,
    /// What may be done about it after a crash.
    pub effect: Effect,
    /// The powers that it uses.
    pub needs: PowerSet,
}

/// What an engine may do about a tool call whose outcome a crash took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing: do it again.
    Pure,
    /// Twice is the same as once: do it again.
    Idempotent,
    /// It can be seen whether it happened: look first.
    Reconcilable,
    /// Never again: its outcome stays unknown.
    Once,
}

/// Who is asked a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressee {
    /// The contract that hired this one.
    Hirer,
    /// The person who pays.
    Owner,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// Words; no reply in time means "use your judgement".
    Words(TextRef),
    /// Leave to make this tool call; no reply in time means no.
    Approval(ToolCall),
}

/// Something a contract is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stimulus {
    /// Words.
    Message(TextRef),
    /// Words of one's hire that wait for an answer.
    Question(TextRef),
    /// More money, for this contract or one below it. It travels one hop at a time.
    TopUp {
        /// Whom it is for.
        to: Path,
        /// How much.
        money: Msat,
    },
    /// A hire that no model decided on.
    Hire(Box<Offer>),
    /// End soon, with a report.
    WrapUp,
    /// End now.
    Cancel,
}

/// Where a stimulus came from. It is also its key: the same one is heard once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// A person, by the number of the command in the session's inbox.
    Owner {
        /// That number.
        command: u64,
    },
    /// A contract, by the ask that tells or asks.
    Contract(AskKey),
}

/// What the world answered, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A model replied.
    Said(Said),
    /// A tool ended, well or not.
    Result(TextRef),
    /// A hire closed.
    Report(Box<Report>),
    /// The check passed.
    Passed,
    /// The check failed; what it found is for the model to correct.
    FailedCheck(TextRef),
    /// The question was answered in words.
    Words(TextRef),
    /// The tool call was approved.
    Approved,
    /// The tool call was not approved.
    Denied,
    /// Nobody replied in time.
    NoReply,
    /// The stimulus was heard, or had been before.
    Delivered,
    /// The one who was to hear it has closed.
    Gone,
    /// Nobody knows what became of it: a crash, half a stream, an engine's time limit.
    Lost,
    /// It was stopped because the contract was cancelled.
    Aborted,
    /// It can't be had, now or later: a wrong key, an unknown model.
    Failed(TextRef),
}

impl Answer {
    /// Returns the report that a hire's answer is.
    pub fn report(&self) -> Option<&Report> {
        if let Answer::Report(report) = self { Some(report) } else { None }
    }

    /// Returns the text that a model is shown of it; its own replies it knows.
    pub fn text(&self) -> Option<TextRef> {
        match self {
            Answer::Result(text) | Answer::FailedCheck(text) | Answer::Words(text) | Answer::Failed(text) => {
                Some(*text)
            }
            Answer::Report(report) => Some(report.text.text()),
            Answer::Said(_)
            | Answer::Passed
            | Answer::Approved
            | Answer::Denied
            | Answer::NoReply
            | Answer::Delivered
            | Answer::Gone
            | Answer::Lost
            | Answer::Aborted => None,
        }
    }
}

/// Tokens, as a provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// All input.
    pub input: u64,
    /// The part of the input that was read from a cache.
    pub cached: u64,
    /// All output.
    pub output: u64,
}

/// A model's reply, as it is stored: what it said, and how many calls it made. The calls follow as facts of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The whole reply, verbatim.
    pub reply: TextRef,
    /// What of it is for a reader; a reply of calls alone has none.
    pub words: Option<TextRef>,
    /// The structured output, where one was asked for.
    pub output: Option<TextRef>,
    /// The input tokens that the provider reported, if it did, with the room that the agent layer keeps for what is
    /// said anew in each request.
    pub input_tokens: Option<u64>,
    /// What it took, as the provider reported it. Nothing here depends on it: it is for whoever counts.
    pub used: Option<Tokens>,
    /// How many calls it makes.
    pub calls: u32,
    /// What the agent layer finds left undone, should this be the final text.
    pub undone: Option<Nudge>,
}

/// What an answer cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// This much, which may be more than was held: then the hold is charged and the rest is an overrun.
    Known(Msat),
    /// Usage was not reported, or only in part: this is an upper bound from what was reported and the bytes that were sent and
    /// received. It may be more than was held, like a known cost.
    Estimated(Msat),
    /// Nobody knows: the hold is charged.
    Unknown,
}

/// What is known about a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It was reported.
    Used,
    /// It is an upper bound.
    Estimated,
    /// It may not have been billed at all, or for less: it counts against the budget and is never called spent.
    Reserved,
}

impl Cost {
    /// What the contract is charged.
    pub fn within(self, hold: Msat) -> Msat {
        match self {
            Cost::Known(cost) | Cost::Estimated(cost) => cost.min(hold),
            Cost::Unknown => hold,
        }
    }

    /// Returns by how much the cost is known to exceed its hold.
    pub fn overrun(self, hold: Msat) -> Option<Msat> {
        match self {
            Cost::Known(cost) | Cost::Estimated(cost) => cost.minus(hold).filter(|excess| *excess > Msat::ZERO),
            Cost::Unknown => None,
        }
    }

    /// Returns what is known about the charge for this answer to a leaf ask. Whether a call that was lost, aborted or failed
    /// is billed, its provider alone knows.
    pub fn certainty(self, answer: &Answer) -> Certainty {
        match (answer, self) {
            (Answer::Lost | Answer::Aborted | Answer::Failed(_), _) | (_, Cost::Unknown) => Certainty::Reserved,
            (_, Cost::Estimated(_)) => Certainty::Estimated,
            (_, Cost::Known(_)) => Certainty::Used,
        }
    }
}

/// Why something was asked or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The contract's own course: its requests, its checks, what it passes on.
    Course,
    /// A call of a reply.
    Call(CallRef),
    /// A team that is hired with the first reply as its message.
    Cascade,
    /// A hire that an agent announced and the runtime made. Only the first release did that.
    Promise,
    /// Somebody outside, by a stimulus.
    Outside,
}
