//! Reports: what a contract returns, also when it fails.

use serde::{Deserialize, Serialize};

use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::text::TextRef;

/// What a contract returns: the answer to its hirer's ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How the contract ended.
    pub outcome: Outcome,
    /// The text of the report.
    pub text: Wording,
    /// The structured output, if the brief demands one.
    pub output: Option<TextRef>,
    /// Whether the hirer can rely on the report. Only an accepted report pays the fee.
    pub acceptance: Acceptance,
    /// What the final text leaves undone: a required hire, or a promise that the agent has repeated when it was asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// The reports of the contract's hires that none of its requests included.
    pub unheard: Vec<AskId>,
    /// The money that was spent, including its hires' spending and its fee.
    pub spent: Msat,
    /// The money that goes back to the hirer: granted minus spent.
    pub change: Msat,
    /// The part of `spent` that is its fee.
    pub fee: Msat,
    /// The part of `spent` that may not have been billed, including that of its hires.
    pub reserved: Msat,
    /// The part of `spent` that is an upper bound, including that of its hires.
    pub estimated: Msat,
    /// The number of heads that were used below the contract.
    pub heads: Heads,
    /// Whether the text is cut: its model could not finish it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The output tokens that the provider reported for the text; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u32,
}

impl Report {
    /// Returns the part of `spent` that providers reported: neither reserved nor estimated.
    pub fn used(&self) -> Msat {
        let uncertain = [self.reserved, self.estimated].into_iter().map(|part| u128::from(part.get()));
        Msat::capped(u128::from(self.spent.get()).saturating_sub(uncertain.sum()))
    }

    /// Returns whether the fee, `reserved` and `estimated` together are at most `spent`.
    pub(crate) fn adds_up(&self) -> bool {
        let parts = [self.fee, self.reserved, self.estimated];
        parts.into_iter().try_fold(Msat::ZERO, Msat::plus).is_some_and(|sum| sum <= self.spent)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(tokens: &u32) -> bool {
    *tokens == 0
}

/// Where a report's text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// The agent's own final text.
    Final(TextRef),
    /// A text that no model wrote for the report: the newest text of the contract, or the task if there is no later
    /// text.
    Assembled(TextRef),
}

impl Wording {
    /// Returns the text of either variant.
    pub fn text(&self) -> TextRef {
        let (Wording::Final(text) | Wording::Assembled(text)) = self;
        *text
    }
}

/// How a contract ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It wrote its final text.
    Done,
    /// It was stopped early by a limit, and its report says what it found.
    Exhausted(Limit),
    /// Its model or its engine failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// The limit that stopped a contract early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Its money ran out.
    Purse,
    /// It had no turns left.
    Turns,
    /// Its deadline was near.
    Deadline,
    /// Its owner or hirer asked it to wrap up.
    Asked,
    /// Its reply was longer than one reply can be, and was continued as often as allowed.
    Length,
}

/// Whether a hirer can rely on a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// The report is the agent's own text and passed every check. A report that was stopped early is accepted only if
    /// there was a check.
    Accepted,
    /// A check failed or could not be paid for, or there is no final text to check.
    NotAccepted,
}

/// A message that the runtime gives an agent once. If the agent ignores it, the runtime acts or the report says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nudge {
    /// The agent's mode requires a hire before the report.
    Required,
    /// The agent is asked whether its text is its report, since the text reads as if a hire or a call was still to come.
    ConfirmReport,
    /// The agent's final text failed a check and must be corrected.
    FixReport,
    /// The agent's reply was empty.
    Empty,
}

/// What a final text leaves undone, as the agent layer judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// The agent's mode requires a hire before the report.
    RequiredHire,
    /// The text promises a hire or a call that was not made.
    PromisedHire,
    /// The text names a member of the team that was not hired by a name that may be an ordinary word, or the agent can't hire
    /// and the text writes a call. The agent is asked, but no report is marked for it.
    Unclear,
    /// The agent has a team of its own, and the text is short and came without a call.
    NoHire,
}

impl Undone {
    /// Returns the nudge that tells the agent about it.
    pub fn nudge(self) -> Nudge {
        match self {
            Undone::RequiredHire => Nudge::Required,
            Undone::PromisedHire | Undone::Unclear | Undone::NoHire => Nudge::ConfirmReport,
        }
    }
}
