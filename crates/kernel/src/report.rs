//! What a contract returns, also on failure.

use serde::{Deserialize, Serialize};

use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::text::TextRef;

/// What a contract returns: the answer to its hirer's ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What it found.
    pub text: Wording,
    /// The structured output, where one was asked for.
    pub output: Option<TextRef>,
    /// Whether its hirer may rely on it. Only an accepted report pays the fee.
    pub acceptance: Acceptance,
    /// What its final text left undone although it had been told.
    pub unheeded: Option<Nudge>,
    /// The reports of its own hires that no request of its own included.
    pub unheard: Vec<AskId>,
    /// Everything that was spent, its hires' spending and its fee included.
    pub spent: Msat,
    /// What goes back to the hirer: what was granted less what was spent.
    pub change: Msat,
    /// The part of `spent` that is its fee.
    pub fee: Msat,
    /// The part of `spent` that may not have been billed, that of its hires included. Absent in form 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Msat>,
    /// The part of `spent` that is an upper bound, that of its hires included. Absent in form 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Msat>,
    /// How many heads were used below it.
    pub heads: Heads,
}

impl Report {
    /// Returns the part of what was spent that was reported: neither reserved nor estimated.
    pub fn used(&self) -> Msat {
        let uncertain = [self.reserved, self.estimated].into_iter().flatten().map(|part| u128::from(part.get()));
        Msat::capped(u128::from(self.spent.get()).saturating_sub(uncertain.sum()))
    }

    /// Whether what is reserved and what is estimated is part of what was spent.
    pub(crate) fn adds_up(&self) -> bool {
        let parts = [self.fee, self.reserved.unwrap_or(Msat::ZERO), self.estimated.unwrap_or(Msat::ZERO)];
        parts.into_iter().try_fold(Msat::ZERO, Msat::plus).is_some_and(|sum| sum <= self.spent)
    }
}

/// Where a report's text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// The agent's own final text.
    Final(TextRef),
    /// No model made it: it is assembled around the newest text there is, which is the task itself if nothing came after it.
    Assembled(TextRef),
}

impl Wording {
    /// Returns the text, whoever made it.
    pub fn text(&self) -> TextRef {
        let (Wording::Final(text) | Wording::Assembled(text)) = self;
        *text
    }
}

/// How a contract ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It said what it had to say.
    Done,
    /// It was cut short, and says what it found.
    Exhausted(Limit),
    /// The world failed it.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// What cut a contract short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Its money.
    Purse,
    /// Its turns.
    Turns,
    /// Its deadline.
    Deadline,
    /// Somebody asked it to wrap up.
    Asked,
}

/// Whether a report may be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    /// It is the agent's own text and passed every check. One cut short counts only if there was a check to pass.
    Accepted,
    /// A check failed or could not be paid for, or there is nothing that could be checked.
    NotAccepted,
}

/// What an agent is told once: the next time, the runtime acts or the report says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nudge {
    /// Its mode requires a hire before the report.
    Required,
    /// It promised a hire and made none.
    Promise,
    /// Its final text failed a check.
    Mend,
    /// It replied with nothing.
    Empty,
}
