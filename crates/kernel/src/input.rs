//! Inputs of a contract: answers, stimuli, the passing of time. Inputs are not stored; the facts that follow from them
//! are.

use crate::ask::{Answer, Cost, Cut, ImplausibleUsage, OwnSize, Said, Sender, Stimulus, Tokens, ToolCall};
use crate::brief::Offer;
use crate::fact::Cause;
use crate::money::AmountError;
use crate::name::{FieldName, NameError};
use crate::path::{AskId, Path};
use crate::refusal::{Refusal, WrongField};
use crate::report::Undone;
use crate::text::TextRef;
use crate::time::Millis;

/// The maximum number of calls in one reply; all calls beyond it are refused together.
pub const CALLS_MAX: u32 = 1024;

/// An event that a contract reacts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The world answers an ask that is not a model call, or reports that a model call failed.
    Answer {
        /// The ask.
        id: AskId,
        /// The answer.
        answer: Answer,
        /// The cost of the answer.
        cost: Cost,
    },
    /// A model replies.
    Reply {
        /// The ask that the reply answers.
        id: AskId,
        /// The reply.
        reply: Box<Reply>,
        /// The cost of the reply.
        cost: Cost,
    },
    /// The contract receives a stimulus.
    Stimulus {
        /// The sender; the same sender value is heard once.
        from: Sender,
        /// The stimulus.
        what: Stimulus,
    },
    /// Time has passed.
    Tick,
}

impl Input {
    /// Returns the cause that is stored with the facts that follow from this input.
    pub fn cause(&self) -> Cause {
        match self {
            Input::Answer { id, .. } | Input::Reply { id, .. } => Cause::Answer(*id),
            Input::Stimulus { from, .. } => Cause::Stimulus(from.clone()),
            Input::Tick => Cause::Tick,
        }
    }
}

/// A model's reply, with its calls and the agent layer's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The whole reply, verbatim.
    pub reply: TextRef,
    /// The part of the reply for a reader.
    pub words: Option<TextRef>,
    /// The structured output.
    pub output: Option<TextRef>,
    /// The input tokens that the provider reported, plus the room for the part of a prompt that changes in each
    /// request: the next request has at most these tokens and the texts added since.
    pub input_tokens: Option<u64>,
    /// The tokens that the provider reported, if the report can be right.
    pub used: Option<Tokens>,
    /// The size of the reply as later requests send it.
    pub size: OwnSize,
    /// Why the reply is cut, if it is.
    pub cut: Option<Cut>,
    /// Whether the reply only says that the text before the nudge [`ConfirmReport`](crate::Nudge::ConfirmReport) is the report. Such a reply has no
    /// words of its own.
    pub confirms: bool,
    /// What the provider reported, if that can't be right and is not used.
    pub implausible: Option<ImplausibleUsage>,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The agent layer's verdict.
    pub verdict: Verdict,
}

impl Reply {
    /// Returns the part of the reply that is stored in the fact.
    pub fn said(&self) -> Said {
        let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        Said {
            reply: self.reply,
            words: self.words,
            output: self.output,
            input_tokens: self.input_tokens,
            used: self.used,
            size: self.size,
            cut: self.cut,
            implausible: self.implausible,
            calls,
            confirms: self.confirms,
            undone: self.verdict.undone,
        }
    }
}

/// One call of a model, as the agent layer understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A tool.
    Tool {
        /// The call.
        call: ToolCall,
        /// Until when the owner may approve the call, if an approval is needed.
        approval: Option<Millis>,
    },
    /// A hire.
    Hire(Box<Offer>),
    /// Wait for hires.
    Wait {
        /// The hires; all live hires if the list is empty.
        on: Vec<Path>,
        /// Whether to wait for one hire or for all.
        need: Need,
        /// When to stop waiting.
        until: Option<Millis>,
    },
    /// Stop a hire.
    Stop(Path),
    /// Send a message to a hire.
    Message {
        /// The hire.
        to: Path,
        /// The message.
        text: TextRef,
    },
    /// Ask the hirer a question.
    AskHirer {
        /// The question.
        question: TextRef,
        /// When to continue without an answer.
        until: Millis,
    },
    /// A call that the agent layer could not read.
    Invalid(Unreadable),
}

/// Why the agent layer could not read a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The arguments are not a JSON object.
    Malformed,
    /// The reply was cut within this call.
    Cut,
    /// A field is missing or wrong.
    Field(FieldName, WrongField),
    /// The task, message or question is empty.
    EmptyText,
    /// The tool is unknown.
    UnknownTool,
    /// Another call of the reply has the same id.
    DuplicateCallId,
    /// The budget is not an amount of money.
    BadAmount(AmountError),
    /// The agent's name is not a valid name.
    BadName(NameError),
}

impl From<Unreadable> for Refusal {
    fn from(why: Unreadable) -> Refusal {
        match why {
            Unreadable::Malformed => Refusal::Malformed,
            Unreadable::Cut => Refusal::CutCall,
            Unreadable::Field(field, wrong) => Refusal::Field { field, wrong },
            Unreadable::EmptyText => Refusal::EmptyText,
            Unreadable::UnknownTool => Refusal::UnknownTool,
            Unreadable::DuplicateCallId => Refusal::DuplicateCallId,
            Unreadable::BadAmount(why) => Refusal::BadAmount(why),
            Unreadable::BadName(why) => Refusal::BadName(why),
        }
    }
}

/// How many of the awaited hires must report before the wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// One.
    Any,
    /// All.
    All,
}

/// The agent layer's decision about a reply. The kernel follows one rule: give the nudge about what is undone, if the agent
/// has not had it yet; otherwise hire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What the reply leaves undone, if it is the final text.
    pub undone: Option<Undone>,
    /// The hires to make on the agent's behalf if nothing is undone, or the agent was told about it.
    pub then_hire: Vec<Offer>,
    /// The facts to shorten in the next requests.
    pub compact: Option<Compaction>,
}

/// A shorter view of the transcript for the requests to come. No stored text changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The facts before this number are shown in short form.
    pub upto: u32,
    /// The size, in bytes, that the newest request would have in short form, the opening included. The kernel counts
    /// the texts that came after that request.
    pub bytes: u64,
}
