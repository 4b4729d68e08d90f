//! The parts of a contract's state. Only `fold` changes them.

use std::collections::BTreeSet;

use crate::ask::{Answer, Ask, Certainty, Cost, Origin, OwnSize, ToolCall};
use crate::fact::Hold;
use crate::input::Need;
use crate::money::{Msat, Quantity};
use crate::path::{AskId, CallRef, Path};
use crate::report::{Outcome, Report, Undone};
use crate::tariff::FRAME_TOKENS;
use crate::text::TextRef;
use crate::time::Millis;

use super::row::Drawer;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    Working,
    /// The contract is ending: `Exhausted` and `Failed` wrap up, `Cancelled` asks nothing more, `Done` is a
    /// conversation that ends.
    Closing(Outcome),
    Closed(Box<Report>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    pub(super) ask: Ask,
    pub(super) hold: Hold,
    pub(super) origin: Origin,
    /// Whether the next request waits for the answer.
    pub(super) pauses: bool,
    /// The ending that was sent to the hire.
    pub(super) ending_sent: Option<Ending>,
    /// Whether the hire has asked this contract a question and has had no message since.
    pub(super) waits_for_answer: bool,
    /// The hire's draw that this contract has heard and not answered.
    pub(super) draws: Option<Drawer>,
    /// The maximum of a hire's grant and draws together.
    pub(super) money_max: Option<Msat>,
    /// The number of the newest draw that was heard from the hire.
    pub(super) newest_draw: Option<AskId>,
}

/// The contract's own draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OwnDraw {
    /// None, or its answer was acted on.
    None,
    Open(OpenDraw),
    /// The newest input refused it.
    Refused(DrawnFor),
}

impl OwnDraw {
    pub(super) fn open(self) -> Option<OpenDraw> {
        match self {
            OwnDraw::Open(draw) => Some(draw),
            OwnDraw::None | OwnDraw::Refused(_) => None,
        }
    }

    /// Forgets a refusal, because something else has come since.
    pub(super) fn without_refusal(self) -> OwnDraw {
        self.open().map_or(OwnDraw::None, OwnDraw::Open)
    }
}

/// What a contract draws for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrawnFor {
    /// Its own next request.
    Turn,
    /// The first of those that wait for its money.
    Row,
}

/// A draw without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OpenDraw {
    pub(super) id: AskId,
    /// The money that has not come yet.
    pub(super) missing: Msat,
    pub(super) wanted: DrawnFor,
}

/// A reply that was cut, with everything that came before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) text: FinalText,
    /// How often the reply was continued.
    pub(super) continued: u32,
    /// The size of the next request if nothing else comes before it.
    pub(super) view: u64,
    /// Whether the model is shown something else before the rest of the reply, such as a message: it needs a turn for that.
    pub(super) has_news: bool,
}

/// The parts of the spent money that no provider has reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Uncertain {
    pub(super) reserved: Msat,
    pub(super) estimated: Msat,
}

/// The ending that a hirer sends to a hire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    WrapUp,
    Cancel,
}

/// A top-up on its way down the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passing {
    pub(super) to: Path,
    pub(super) money: Msat,
    /// The hire whose hold was raised by this money.
    pub(super) raised: Option<AskId>,
    /// The draw that the money answers.
    pub(super) draw: Option<AskId>,
}

/// How many of a reply's calls a fact decides on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    One,
    /// All remaining calls: those beyond the limit.
    Rest,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wait {
    pub(super) call: CallRef,
    pub(super) on: BTreeSet<u32>,
    pub(super) need: Need,
    pub(super) until: Option<Millis>,
    pub(super) ready: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placing {
    pub(super) reply: AskId,
    pub(super) next: u32,
    pub(super) calls: u32,
}

/// The owner's answer about a tool call that needs approval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnsweredApproval {
    pub(super) call: CallRef,
    /// The tool call, if it was approved.
    pub(super) approved: Option<ToolCall>,
}

/// The size of the next request: the tokens that were last reported or held, and the bytes added since.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    pub(super) tokens: u64,
    pub(super) since: u64,
    pub(super) compacted: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Requested {
    pub(super) id: AskId,
    pub(super) upto: u32,
    pub(super) tokens: u64,
    pub(super) last: bool,
    /// The size of the reply in tokens, plus room for a short result of each call.
    pub(super) reply: u32,
}

/// A text that may become the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FinalText {
    pub(super) text: TextRef,
    pub(super) output: Option<TextRef>,
    pub(super) undone: Option<Undone>,
    /// Whether the text is the reply to the question about the text before it.
    pub(super) is_answer: bool,
    /// Whether the text is cut: its model could not finish it.
    pub(super) cut: bool,
    pub(super) size: OwnSize,
}

/// One round of checks over one final text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Round {
    pub(super) placed: usize,
    pub(super) open: usize,
    pub(super) failed: bool,
    pub(super) unpaid: bool,
}

impl Uncertain {
    /// Adds the charge of an answered ask. The parts of a hire's charge are in its report; a leaf ask's certainty
    /// depends on its cost and answer.
    pub(super) fn add(self, answer: &Answer, cost: Cost, charge: Msat) -> Option<Uncertain> {
        let Uncertain { reserved, estimated } = self;
        if let Some(report) = answer.report() {
            return Some(Uncertain {
                reserved: reserved.plus(report.reserved)?,
                estimated: estimated.plus(report.estimated)?,
            });
        }
        match cost.certainty(answer) {
            Certainty::Used => Some(self),
            Certainty::Estimated => Some(Uncertain { estimated: estimated.plus(charge)?, ..self }),
            Certainty::Reserved => Some(Uncertain { reserved: reserved.plus(charge)?, ..self }),
        }
    }
}

impl View {
    pub(super) fn total(&self) -> u64 {
        self.tokens.saturating_add(self.since)
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.since = self.since.saturating_add(bytes).saturating_add(FRAME_TOKENS);
    }
}

impl Round {
    pub(super) fn passed(&self, checks: usize) -> bool {
        self.placed == checks && self.open == 0 && !self.failed && !self.unpaid
    }

    /// A text that failed may pass after a correction; a check that can't be paid for never passes.
    pub(super) fn can_be_corrected(&self) -> bool {
        self.failed && !self.unpaid
    }
}
