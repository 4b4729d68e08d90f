//! What happened. The only thing stored, streamed and replayed; a stored form, once released, opens for ever.

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ask::{Answer, Ask, Cost, Origin, Said, Sender, Stimulus};
use crate::brief::Brief;
use crate::input::Need;
use crate::money::{Heads, Msat};
use crate::path::{AskId, CallRef, Path};
use crate::refusal::Refusal;
use crate::report::{Nudge, Outcome, Report};
use crate::time::Millis;

/// Something that happened in one contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The contract began. Its fee and severance are held from here on.
    Opened(Arc<Brief>),
    /// It asked something of the world, and set its ceiling aside.
    Asked {
        /// The ask's number.
        id: AskId,
        /// What was asked.
        ask: Ask,
        /// What it holds.
        hold: Hold,
        /// Why.
        origin: Origin,
    },
    /// The world answered. The hold is settled: the cost, at most the hold, is spent and the rest is free.
    Answered {
        /// Which ask.
        id: AskId,
        /// With what.
        answer: Answer,
        /// The true cost, also where it is more than the hold.
        cost: Cost,
    },
    /// Something was not admitted.
    Refused {
        /// Why.
        why: Refusal,
        /// What it was that was not admitted.
        origin: Origin,
        /// The size of the reason as its agent is shown it. Absent in form 1, whose wording is frozen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u32>,
    },
    /// Money heard for a hire, or for one below it, was added to that hire's hold.
    Raised {
        /// Which hire.
        hire: AskId,
        /// By how much.
        by: Msat,
    },
    /// The contract was told something.
    Heard {
        /// By whom.
        from: Sender,
        /// What.
        stimulus: Stimulus,
    },
    /// A call waits for hires.
    Waiting {
        /// Which call.
        call: CallRef,
        /// The hires that it waits for and that had not reported.
        on: Vec<AskId>,
        /// How many of them it needs.
        need: Need,
        /// When it waits no longer.
        until: Option<Millis>,
    },
    /// Something that kept the contract from its next turn does so no longer, before or without what it waited for.
    Woke {
        /// What.
        pause: Pause,
        /// Why.
        why: Waking,
    },
    /// The agent was told something once.
    Nudged(Nudge),
    /// The requests to come show earlier facts in short. No stored text changes.
    Compacted {
        /// Facts of the contract before this one; never beyond what a request has included.
        upto: u32,
        /// The size of what the newest request would then have shown.
        bytes: u64,
    },
    /// The contract makes no more plans: it wraps up, or falls silent.
    Closing(Outcome),
    /// The contract ended: report, fee and change are one fact.
    Closed(Box<Report>),
}

impl Fact {
    /// Returns the name of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Fact::Opened(_) => "opened",
            Fact::Asked { .. } => "asked",
            Fact::Answered { .. } => "answered",
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
    /// Returns the brief with which the contract began, if that is what happened.
    pub fn opened(&self) -> Option<&Brief> {
        if let Fact::Opened(brief) = self { Some(brief) } else { None }
    }

    /// Returns what was asked, and its number.
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

/// What an open ask sets aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Of the purse.
    pub money: Msat,
    /// Of the heads: for a hire, one and what it passes on.
    pub heads: Heads,
}

/// What keeps a contract from its next turn, besides the answers that its calls need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// A call that asked to wait.
    Call(CallRef),
    /// A blocking hire. Woken, it goes on in the background.
    Hire(AskId),
}

impl Hold {
    /// Sets money aside, and no heads.
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
    /// The time is over.
    TimedOut,
    /// The owner or a hire said something that must be heard first. The hires go on in the background.
    Words,
    /// The contract is ending.
    Closing,
}

/// The version of the stored form that this kernel writes.
pub const FORMAT: u16 = 2;

/// The versions of the stored form that this kernel reads.
pub const FORMATS: RangeInclusive<u16> = 1..=FORMAT;

/// A fact as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The version of the stored form. One that this kernel does not know does not load.
    #[serde(deserialize_with = "known_format")]
    pub v: u16,
    /// Its place in the session's journal, counted from 1.
    pub seq: u64,
    /// Whose fact it is.
    pub contract: Path,
    /// When it happened.
    pub at: Millis,
    /// What it followed from. All facts of one cause are stored together or not at all.
    pub cause: Cause,
    /// What happened.
    pub fact: Fact,
}

/// What facts followed from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hirer's ask, or the session's request.
    Opening,
    /// An answer to this ask.
    Answer(AskId),
    /// A stimulus.
    Told(Sender),
    /// The passing of time.
    Tick,
}

fn known_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let form = u16::deserialize(deserializer)?;
    if FORMATS.contains(&form) {
        return Ok(form);
    }
    Err(serde::de::Error::custom(format!("form {form} is not known: a newer Guildhall wrote it")))
}
