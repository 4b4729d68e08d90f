//! Facts: what happened. Only facts are stored, streamed and replayed. A change of the stored form gets the next number, and
//! only this form is read.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ask::{Answer, Ask, Cost, Origin, Said, Sender, Stimulus};
use crate::brief::{Brief, Context, Offer};
use crate::input::Need;
use crate::money::{Heads, Msat};
use crate::name::AgentName;
use crate::path::{AskId, CallRef, Path};
use crate::refusal::Refusal;
use crate::report::{Nudge, Outcome, Report};
use crate::time::Millis;

/// Something that happened in one contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The contract opened. Its fee and severance are held from now on.
    Opened(Arc<Brief>),
    /// The contract made an ask and held the ask's ceiling.
    Asked {
        /// The ask's number.
        id: AskId,
        /// The ask.
        ask: Ask,
        /// What the ask holds.
        hold: Hold,
        /// Why the contract asked.
        origin: Origin,
    },
    /// The world answered. The hold is settled: the cost, at most the hold, is spent and the rest is available again.
    Answered {
        /// The ask.
        id: AskId,
        /// The answer.
        answer: Answer,
        /// The true cost, even if it is more than the hold.
        cost: Cost,
    },
    /// A hire that does not fit into the available money now waits for money. The `Asked` or `Refused` that ends the
    /// wait names the ordinal.
    Queued {
        /// Why the contract hires.
        origin: Origin,
        /// The ordinal of the hire.
        ordinal: u32,
        /// The offer.
        offer: Box<Offer>,
        /// The context that the hire's first request begins with.
        context: Context,
    },
    /// A call, a hire, a check or a top-up was refused.
    Refused {
        /// The reason.
        why: Refusal,
        /// What was refused: the call, or the other origin.
        origin: Origin,
        /// The size of the reason's text as the agent is shown it.
        bytes: u32,
        /// The agent that was not hired. Absent if this is not about a hire. No law depends on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentName>,
        /// The ordinal of the hire, if the hire had waited for money.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ordinal: Option<u32>,
    },
    /// Money was added to a hire's hold: a top-up for the hire or for a contract below it, or the answer to a draw.
    Raised {
        /// The hire.
        hire: AskId,
        /// The amount.
        by: Msat,
        /// The draw of the hire that this money answers. Absent for a top-up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draw: Option<AskId>,
    },
    /// The contract received a stimulus.
    Heard {
        /// The sender.
        from: Sender,
        /// The stimulus.
        stimulus: Stimulus,
    },
    /// A call waits for hires.
    Waiting {
        /// The call.
        call: CallRef,
        /// The ordinals of the hires that the call waits for and that had not reported yet.
        on: Vec<u32>,
        /// How many of these hires must report.
        need: Need,
        /// When the wait ends without reports.
        until: Option<Millis>,
    },
    /// A pause is over, so it no longer delays the contract's next request.
    Woke {
        /// The pause.
        pause: Pause,
        /// Why the pause is over.
        why: Waking,
    },
    /// The agent was given a nudge.
    Nudged(Nudge),
    /// Later requests show the earlier facts in short form. No stored text changes.
    Compacted {
        /// The facts before this number are shortened; all of them were included in an earlier request.
        upto: u32,
        /// The size that the newest request would have in short form.
        bytes: u64,
    },
    /// The contract is ending: it wraps up, or it stops after a cancel.
    Closing(Outcome),
    /// The contract closed: report, fee and change are one fact.
    Closed(Box<Report>),
}

impl Fact {
    /// Returns the name of the fact's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Fact::Opened(_) => "opened",
            Fact::Asked { .. } => "asked",
            Fact::Answered { .. } => "answered",
            Fact::Queued { .. } => "queued",
            Fact::Refused { .. } => "refused",
            Fact::Raised { .. } => "raised",
            Fact::Heard { .. } => "heard",
            Fact::Waiting { .. } => "waiting",
            Fact::Woke { .. } => "woke",
            Fact::Nudged(_) => "nudged",
            Fact::Compacted { .. } => "compacted",
            Fact::Closing(_) => "closing",
            Fact::Closed(_) => "closed",
        }
    }
}

impl Fact {
    /// Returns the brief, if this fact opened the contract.
    pub fn opened(&self) -> Option<&Brief> {
        if let Fact::Opened(brief) = self { Some(brief) } else { None }
    }

    /// Returns the ask and its number, if this fact is an ask.
    pub fn asked(&self) -> Option<(AskId, &Ask)> {
        if let Fact::Asked { id, ask, .. } = self { Some((*id, ask)) } else { None }
    }

    /// Returns the answer to an ask, and the ask's number.
    pub fn answered(&self) -> Option<(AskId, &Answer)> {
        if let Fact::Answered { id, answer, .. } = self { Some((*id, answer)) } else { None }
    }

    /// Returns a model's reply, and the number of the request that it answers.
    pub fn said(&self) -> Option<(AskId, &Said)> {
        match self.answered() {
            Some((id, Answer::Said(said))) => Some((id, said)),
            Some(_) | None => None,
        }
    }
}

/// What an open ask holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The money, from the purse.
    pub money: Msat,
    /// The heads: for a hire, one plus the heads that are passed on.
    pub heads: Heads,
}

/// Something that delays a contract's next request, besides the answers that its calls need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// A call that waits for hires.
    Call(CallRef),
    /// A blocking hire, by its ordinal: it works, or waits for money. When the pause is over, the hire continues in the
    /// background.
    Hire(u32),
}

impl Hold {
    /// Holds money, and no heads.
    pub fn money(money: Msat) -> Hold {
        Hold { money, heads: Heads(0) }
    }
}

/// Why a pause is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waking {
    /// Enough of the hires have reported.
    Reported,
    /// The time limit was reached.
    TimedOut,
    /// A message from the owner, or a hire's question, must be shown to the model first. The hires continue in the
    /// background.
    Message,
    /// The contract is ending.
    Closing,
}

/// The version of the stored form. This kernel writes and reads no other form.
pub const FORMAT: u16 = 4;

/// A fact as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The version of the stored form: [`FORMAT`]. A fact of another version is not read.
    #[serde(deserialize_with = "current_format")]
    pub v: u16,
    /// The fact's number in the session's journal, counted from 1.
    pub seq: u64,
    /// The contract that the fact belongs to.
    pub contract: Path,
    /// When the fact happened.
    pub at: Millis,
    /// The input that the fact followed from. All facts of one cause are stored together or not at all.
    pub cause: Cause,
    /// The fact.
    pub fact: Fact,
}

/// The input that facts followed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hirer's ask, or the session's request.
    Opening,
    /// An answer to this ask.
    Answer(AskId),
    /// A stimulus.
    Stimulus(Sender),
    /// The passing of time.
    Tick,
}

fn current_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let form = u16::deserialize(deserializer)?;
    if form == FORMAT {
        return Ok(form);
    }
    Err(serde::de::Error::custom(format!("the fact has form {form}, but this program reads only form {FORMAT}")))
}
