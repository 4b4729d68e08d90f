//! Asks, which a contract sends to the world, and answers, which come back. Both are values that facts contain.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::brief::{Brief, Check, Mode, Offer, PowerSet};
use crate::money::{Msat, Quantity};
use crate::name::ToolName;
use crate::path::{AskId, AskKey, CallRef, Path};
use crate::report::{Report, Undone};
use crate::text::TextRef;
use crate::time::Millis;

/// Something that a contract wants from the world. An ask holds its ceiling before the ask leaves the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A model's reply.
    Model(Request),
    /// A tool's result.
    Tool(ToolCall),
    /// Another contract's report.
    Hire {
        /// The brief of the hire; the brief's grant is this ask's hold.
        brief: Arc<Brief>,
        /// Whether the call that hired waits for the report.
        mode: Mode,
    },
    /// Whether the final text passes a check.
    Check(Check),
    /// An answer in text, or an approval to use a tool.
    Question {
        /// The receiver of the question.
        to: Addressee,
        /// What the question is about.
        matter: Matter,
        /// When the contract stops waiting for a reply.
        until: Millis,
    },
    /// More money from the hirer, because the contract can't pay for what comes next. Holds nothing. A contract has at
    /// most one open draw.
    Draw {
        /// The missing amount.
        least: Msat,
    },
    /// Sends a stimulus to another contract. Holds nothing.
    Tell {
        /// The contract that receives the stimulus.
        to: Path,
        /// The stimulus.
        what: Stimulus,
    },
}

impl Ask {
    /// Returns the brief, if this is a hire.
    pub fn brief(&self) -> Option<&Brief> {
        if let Ask::Hire { brief, .. } = self { Some(brief) } else { None }
    }
}

/// A model call: the transcript up to a cursor, and the longest reply. The transcript is the contract's own facts, so
/// the cursor counts facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The request shows the contract's facts before this number: always all facts that existed when the request was
    /// made.
    pub upto: u32,
    /// The reports that this request is the first to include: from now on they are not owed.
    pub hears: Vec<AskId>,
    /// An upper bound of the input tokens; the hold pays for them.
    pub tokens: u64,
    /// The maximum number of output tokens.
    pub max_tokens: u32,
    /// Whether another request may follow.
    pub turn: Turn,
    /// Whether the request shows less than the whole transcript, because there is not enough money. Only a last request is
    /// cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Request {
    /// Returns whether a provider reports more input than the request held. For a request that was cut to fit, `tokens` is the room
    /// that it had, not the size of its texts, so the comparison says nothing.
    pub fn is_exceeded_by(&self, used: Tokens) -> bool {
        !self.cut && used.input > self.tokens
    }
}

/// Whether a request is an ordinary one or the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// An ordinary turn.
    Next,
    /// The last request, which the severance pays for.
    Last,
}

/// A tool call, with the data that the contract needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub tool: ToolName,
    /// The arguments.
    pub arguments: TextRef,
    /// The maximum cost.
    pub price: Msat,
    /// What an engine may do about the call after a crash.
    pub effect: Effect,
    /// The powers that the tool uses.
    pub needs: PowerSet,
    /// Whether the tool is about hires, such as the list of hires and the board. Such calls may be repeated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_hires: bool,
}

/// What an engine may do about a tool call whose outcome is unknown after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call changes nothing: make the call again.
    Pure,
    /// Two calls have the same effect as one: make the call again.
    Idempotent,
    /// The tool can find out whether the call happened: check first.
    Reconcilable,
    /// Never make the call again: its outcome stays unknown.
    Once,
}

/// The receiver of a question.
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
    /// A question in text; no reply in time means "use your judgement".
    Text(TextRef),
    /// A request to approve this tool call; no reply in time means no.
    Approval(ToolCall),
}

/// Something that is sent to a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stimulus {
    /// A text.
    Message(TextRef),
    /// A question from a live hire, which waits for an answer.
    Question(TextRef),
    /// More money, for this contract or one below it. It travels one hop at a time.
    TopUp {
        /// The contract that the money is for.
        to: Path,
        /// The amount.
        money: Msat,
        /// The draw of the receiver that this money answers. Absent if a person sent the money.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draw: Option<AskId>,
    },
    /// A live hire asks for more money.
    Draw {
        /// The missing amount.
        least: Msat,
    },
    /// The hirer has no money for a draw of the receiver.
    RefuseDraw {
        /// The draw.
        draw: AskId,
    },
    /// A hire that a person or a hirer orders, not this contract's model.
    Hire(Box<Offer>),
    /// A person gives up a hire of the receiver that still waits for money.
    DropHire {
        /// The ordinal of the hire.
        ordinal: u32,
    },
    /// End soon, with a report from the model.
    WrapUp,
    /// The tokens of the session are used up: a root ends soon, as after `WrapUp`.
    OutOfTokens {
        /// How many tokens, input and output together, the root's last request may use.
        left: u64,
    },
    /// End now.
    Cancel,
}

/// The sender of a stimulus. The sender is also the key of the stimulus: a contract hears each sender value once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// A person, by the number of the command in the session's inbox.
    Owner {
        /// The number of the command.
        command: u64,
    },
    /// A contract, by the ask that sent the stimulus.
    Contract(AskKey),
}

/// An answer from the world, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A model replied.
    Said(Said),
    /// A tool returned a result or an error.
    Result(TextRef),
    /// A hire closed.
    Report(Box<Report>),
    /// The check passed.
    Passed,
    /// The check failed; the text says what the model must correct.
    FailedCheck(TextRef),
    /// The question was answered in text.
    Text(TextRef),
    /// The tool call was approved.
    Approved,
    /// The tool call was not approved.
    Denied,
    /// No reply came in time.
    NoReply,
    /// The money that was drawn has arrived.
    Met,
    /// The draw was refused, or the contract is ending.
    NotMet,
    /// The receiver heard the stimulus, now or earlier.
    Delivered,
    /// The receiver of the stimulus has closed.
    Gone,
    /// The outcome is unknown: a crash, half a stream, an engine's time limit.
    Lost,
    /// The call was stopped because the contract was cancelled.
    Aborted,
    /// The call can't succeed, now or later: a wrong key, an unknown model.
    Failed(TextRef),
}

impl Answer {
    /// Returns the report, if this is the answer to a hire.
    pub fn report(&self) -> Option<&Report> {
        if let Answer::Report(report) = self { Some(report) } else { None }
    }

    /// Returns the text of the answer that a model is shown. A model's own replies are not shown to it again.
    pub fn text(&self) -> Option<TextRef> {
        match self {
            Answer::Result(text) | Answer::FailedCheck(text) | Answer::Text(text) | Answer::Failed(text) => Some(*text),
            Answer::Report(report) => Some(report.text.text()),
            Answer::Said(_)
            | Answer::Passed
            | Answer::Approved
            | Answer::Denied
            | Answer::NoReply
            | Answer::Met
            | Answer::NotMet
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

/// A usage report that can't be right: far too few tokens for the bytes that were sent or received. Nothing is computed from
/// such a report. It is stored so that people can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImplausibleUsage {
    /// The tokens that the provider reported.
    pub tokens: u64,
    /// The bytes that it reported them for.
    pub bytes: u64,
}

/// A model's reply, as it is stored: its texts, and the number of its calls. Each call follows as a fact of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The whole reply, verbatim.
    pub reply: TextRef,
    /// The part of the reply for a reader; a reply with calls alone has none.
    pub words: Option<TextRef>,
    /// The structured output, if the brief demands one.
    pub output: Option<TextRef>,
    /// The input tokens that the provider reported, if it did, plus the room for the part of a prompt that changes in
    /// each request.
    pub input_tokens: Option<u64>,
    /// The tokens that the provider reported, for statistics. The kernel does not use them. Absent if nothing was reported, or
    /// if the report can't be right.
    pub used: Option<Tokens>,
    /// The size of the reply as later requests send it.
    pub size: OwnSize,
    /// Why the reply is cut, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// What the provider reported instead, if that can't be right and is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implausible: Option<ImplausibleUsage>,
    /// The number of calls in the reply.
    pub calls: u32,
    /// Whether the reply only says that the text before it is the report. Such a reply has no words of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirms: bool,
    /// What the reply leaves undone, if it is the final text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
}

/// The size of a text that a model wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSize {
    /// The size in bytes, as the text is sent to the model.
    pub bytes: u32,
    /// The output tokens that the provider reported for the text; 0 if unknown.
    pub tokens: u32,
}

impl OwnSize {
    /// Returns an upper bound of the input tokens when the same model reads the text: five quarters of the tokens that
    /// it wrote, at most the bytes.
    pub fn input_tokens(self) -> u64 {
        let bytes = u64::from(self.bytes);
        match u64::from(self.tokens) {
            0 => bytes,
            tokens => bytes.min((tokens * 5).div_ceil(4)),
        }
    }

    /// Returns the size of this text followed by another one.
    #[must_use]
    pub fn joined(self, next: OwnSize) -> OwnSize {
        let known = self.tokens > 0 && next.tokens > 0;
        let tokens = if known { self.tokens.saturating_add(next.tokens) } else { 0 };
        OwnSize { bytes: self.bytes.saturating_add(next.bytes), tokens }
    }
}

/// Why a reply is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The reply reached the `max_tokens` of its request. It can be continued.
    MaxTokens,
    /// The model's context window is full, or the agent layer ends the reply here. It can't be continued.
    Window,
}

/// The cost of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// A known amount. If it exceeds the hold, the hold is charged and the rest is an overrun.
    Known(Msat),
    /// Usage was not reported, or only in part: this is an upper bound from what was reported and the bytes that were
    /// sent and received. The bound may exceed the hold, like a known cost.
    Estimated(Msat),
    /// An unknown amount: the hold is charged.
    Unknown,
}

/// What is known about a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// The provider reported the amount.
    Used,
    /// The amount is an upper bound.
    Estimated,
    /// The provider may have billed less or nothing. The amount counts against the budget, and people see it as
    /// "reserved", not as "spent".
    Reserved,
}

impl Cost {
    /// Returns the amount that the contract is charged.
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

    /// Returns what is known about the charge for this answer to a leaf ask. Only the provider knows whether a call
    /// that was lost, aborted or failed is billed.
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
    /// The contract's own work: its requests, its checks, the stimuli that it passes on.
    Course,
    /// A call of a reply.
    Call(CallRef),
    /// The runtime hired the team for the agent, with the agent's reply as the message.
    Cascade,
    /// A stimulus from outside the contract.
    Outside,
}
