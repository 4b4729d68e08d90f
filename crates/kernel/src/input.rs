//! What comes into a contract: answers, stimuli, the passing of time. Wishes and claims; nothing here is stored as it is.

use crate::ask::{Answer, Cost, Said, Sender, Stimulus, Tokens, ToolCall};
use crate::brief::Offer;
use crate::fact::Cause;
use crate::money::AmountError;
use crate::name::{FieldName, NameError};
use crate::path::{AskId, Path};
use crate::refusal::{Refusal, WrongField};
use crate::report::Nudge;
use crate::text::TextRef;
use crate::time::Millis;

/// The most calls of one reply that are considered; the rest is refused as one.
pub const CALLS_MAX: u32 = 1024;

/// Something that happens to a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The world answers an ask with something other than a model's reply.
    Answer {
        /// Which ask.
        id: AskId,
        /// With what.
        answer: Answer,
        /// At what cost.
        cost: Cost,
    },
    /// A model replies.
    Reply {
        /// To which ask.
        id: AskId,
        /// What it said; `calls` is counted by the kernel.
        reply: Box<Reply>,
        /// At what cost.
        cost: Cost,
    },
    /// The contract is told something.
    Told {
        /// By whom; the same sender is heard once.
        from: Sender,
        /// What.
        what: Stimulus,
    },
    /// Time has passed.
    Tick,
}

impl Input {
    /// Returns what the facts that follow from it are said to follow from.
    pub fn cause(&self) -> Cause {
        match self {
            Input::Answer { id, .. } | Input::Reply { id, .. } => Cause::Answer(*id),
            Input::Told { from, .. } => Cause::Told(from.clone()),
            Input::Tick => Cause::Tick,
        }
    }
}

/// A model's reply, with the calls it makes and what the agent layer makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The whole reply, verbatim.
    pub reply: TextRef,
    /// What of it is for a reader.
    pub words: Option<TextRef>,
    /// The structured output.
    pub output: Option<TextRef>,
    /// The input tokens that the provider reported, with the room that the agent layer keeps for what is said anew in
    /// each request: the next request costs no more than these and what has been said since.
    pub input_tokens: Option<u64>,
    /// What it took, as the provider reported it.
    pub used: Option<Tokens>,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What the agent layer makes of it.
    pub verdict: Verdict,
}

impl Reply {
    /// Returns what is stored of the reply itself.
    pub fn said(&self) -> Said {
        let calls = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        Said {
            reply: self.reply,
            words: self.words,
            output: self.output,
            input_tokens: self.input_tokens,
            used: self.used,
            calls,
            // The other nudges are the kernel's own to give.
            undone: self.verdict.nudge.filter(|nudge| matches!(nudge, Nudge::Required | Nudge::Promise)),
        }
    }
}

/// What a model wants by one call, as the agent layer reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// A tool.
    Tool {
        /// The call.
        call: ToolCall,
        /// Whether the owner must approve it first, and until when.
        approval: Option<Millis>,
    },
    /// A hire.
    Hire(Box<Offer>),
    /// To wait for hires.
    Wait {
        /// Which; all live ones if none is named.
        on: Vec<Path>,
        /// For one of them or for all.
        need: Need,
        /// When to wait no longer.
        until: Option<Millis>,
    },
    /// To stop a hire.
    Stop(Path),
    /// To tell a hire something.
    Message {
        /// Which.
        to: Path,
        /// What.
        text: TextRef,
    },
    /// To ask the hirer.
    AskHirer {
        /// What.
        question: TextRef,
        /// When to go on without an answer.
        until: Millis,
    },
    /// The agent layer could not read it, and says why.
    Invalid(Unreadable),
}

/// Why the agent layer could not read a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Its arguments are no JSON object.
    Malformed,
    /// One of its fields is missing or wrong.
    Field(FieldName, WrongField),
    /// Its task, message or question has no word in it.
    NothingSaid,
    /// There is no such tool.
    UnknownTool,
    /// Another call of the reply has its id.
    DoubledCall,
    /// Its budget is none.
    BadAmount(AmountError),
    /// Its agent's name is none.
    BadName(NameError),
}

impl From<Unreadable> for Refusal {
    fn from(why: Unreadable) -> Refusal {
        match why {
            Unreadable::Malformed => Refusal::Malformed,
            Unreadable::Field(field, wrong) => Refusal::Field { field, wrong },
            Unreadable::NothingSaid => Refusal::NothingSaid,
            Unreadable::UnknownTool => Refusal::UnknownTool,
            Unreadable::DoubledCall => Refusal::DoubledCall,
            Unreadable::BadAmount(why) => Refusal::BadAmount(why),
            Unreadable::BadName(why) => Refusal::BadName(why),
        }
    }
}

/// How many of the awaited hires must have reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// One.
    Any,
    /// All.
    All,
}

/// What the agent layer makes of a reply. The kernel has one rule for it: nudge if told to and not yet done, else hire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What to tell the agent before its final text counts.
    pub nudge: Option<Nudge>,
    /// Whom to hire if there is nothing to tell, or it was told before.
    pub then_hire: Option<ThenHire>,
    /// What to leave out of the next requests.
    pub compact: Option<Compaction>,
}

/// Hires that the agent layer makes on an agent's behalf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThenHire {
    /// Why.
    pub why: HireReason,
    /// Whom, in order.
    pub offers: Vec<Offer>,
}

/// Why the agent layer hires on an agent's behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HireReason {
    /// The agent's mode passes a reply on to its team.
    Cascade,
    /// The agent promised it.
    Promise,
}

/// A shorter view of the transcript for the requests to come. No stored text changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Facts before this one are shown in short.
    pub upto: u32,
    /// The size, in bytes, of what the newest request would then have shown, the opening included. What came after that
    /// request is counted by the kernel.
    pub bytes: u64,
}
