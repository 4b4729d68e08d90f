//! Whether a fact may come now: what a step begins it ends first, what is asked has a reason to be, and a report claims
//! nothing that did not happen. Nothing here changes the state.

use super::fold::{Law, law};
use super::{Contract, Leave, Phase};
use crate::ask::{Ask, Origin, Stimulus};
use crate::fact::{Fact, Pause, Waking};
use crate::path::CallRef;
use crate::refusal::Refusal;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report};

impl Contract {
    /// Refuses a fact that can't come here, whatever it says in detail.
    pub(super) fn check_lawful(&self, fact: &Fact) -> Law {
        self.check_order(fact)?;
        match fact {
            Fact::Asked { ask, origin, .. } => self.check_origin(ask, *origin),
            Fact::Refused { origin, .. } => self.check_stead(*origin),
            Fact::Woke { pause, why } => self.check_woke(*pause, *why),
            Fact::Nudged(nudge) => self.check_nudged(*nudge),
            Fact::Compacted { .. } => {
                law(self.placing.is_none_or(|placing| placing.next == 0), "a view is shortened before calls are placed")
            }
            Fact::Closing(outcome) => self.check_told(*outcome),
            Fact::Closed(report) => self.check_claims(report),
            Fact::Opened(_)
            | Fact::Answered { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. } => Ok(()),
        }
    }

    /// What a step has begun comes before anything else: an approved call, money to pass on, a cancel, a reply's calls.
    fn check_order(&self, fact: &Fact) -> Law {
        let placed = placed(fact);
        if let Some(leave) = &self.leave {
            law(placed == Some(leave.call), "a call whose approval was answered comes before anything else")?;
            return law(leave.permits(fact), "a tool that needs approval is asked for as it was approved");
        }
        if self.passing.is_some() {
            return law(passes(fact), "money that was heard is passed on or kept before anything else");
        }
        if self.told == Some(Outcome::Cancelled) && !self.is_cancelled() {
            let falls_silent = *fact == Fact::Closing(Outcome::Cancelled);
            return law(falls_silent, "who has heard a cancel falls silent before anything else");
        }
        let among = placed.is_some() || matches!(fact, Fact::Woke { .. } | Fact::Compacted { .. });
        law(self.placing.is_none() || among, "a reply's calls are placed before anything else")
    }

    fn check_origin(&self, ask: &Ask, origin: Origin) -> Law {
        let fits = match ask {
            Ask::Model(_) | Ask::Check(_) => origin == Origin::Course,
            Ask::Tool(_) | Ask::Question { .. } => matches!(origin, Origin::Call(_)),
            Ask::Hire { .. } => origin != Origin::Course,
            Ask::Tell { what, .. } => match origin {
                Origin::Call(_) => matches!(what, Stimulus::Message(_) | Stimulus::Cancel),
                Origin::Course => match self.phase {
                    Phase::Working => matches!(what, Stimulus::TopUp { .. }),
                    Phase::Closing(_) | Phase::Closed(_) => matches!(what, Stimulus::WrapUp | Stimulus::Cancel),
                },
                Origin::Cascade | Origin::Promise | Origin::Outside => false,
            },
        };
        law(fits, "an ask has an origin that could ask for it")?;
        let checked = !matches!(ask, Ask::Check(_)) || self.finale.is_some();
        law(checked, "only a final text is checked")?;
        self.check_stead(origin)
    }

    /// The runtime hires on an agent's behalf only after the agent's text.
    fn check_stead(&self, origin: Origin) -> Law {
        let instead = matches!(origin, Origin::Cascade | Origin::Promise);
        law(!instead || self.finale.is_some(), "nobody is hired on an agent's behalf before the agent has spoken")
    }

    fn check_woke(&self, pause: Pause, why: Waking) -> Law {
        let Pause::Call(call) = pause else {
            return law(why == Waking::Words, "only words let a blocking hire go on in the background");
        };
        let wait = self.waits.iter().find(|wait| wait.call == call).ok_or("only what waits can wake")?;
        law(wait.ready == (why == Waking::Reported), "a call wakes by reports when it has those it needs")?;
        match why {
            Waking::Reported => Ok(()),
            Waking::TimedOut => law(wait.until.is_some(), "only a wait with an end times out"),
            Waking::Words => law(self.phase == Phase::Working, "who is ending is not interrupted"),
            Waking::Closing => law(self.phase != Phase::Working, "only who is ending wakes to end"),
        }
    }

    fn check_nudged(&self, nudge: Nudge) -> Law {
        let found = match nudge {
            Nudge::Required | Nudge::Promise => false,
            Nudge::Mend => self.round.can_be_corrected(),
            Nudge::Empty => self.finale.is_none(),
        };
        let undone = self.finale.and_then(|finale| finale.undone);
        law(found || undone == Some(nudge), "an agent is told what its reply gave reason for")
    }

    /// Somebody must have asked for an ending that is asked for.
    fn check_told(&self, outcome: Outcome) -> Law {
        let wanted = match outcome {
            Outcome::Done | Outcome::Exhausted(Limit::Asked) => Some(Outcome::Exhausted(Limit::Asked)),
            Outcome::Cancelled => Some(Outcome::Cancelled),
            Outcome::Exhausted(Limit::Purse | Limit::Turns | Limit::Deadline) | Outcome::Failed => None,
        };
        law(wanted.is_none() || wanted == self.told, "an ending that somebody asks for was heard")
    }

    fn check_claims(&self, report: &Report) -> Law {
        law(report.text == self.wording(), "a report is the final text, or what there is")?;
        law(report.output == self.finale.and_then(|finale| finale.output), "an output comes with its text")?;
        law(report.unheeded == self.finale.and_then(|finale| finale.undone), "a report says what was left undone")?;
        let passed = self.finale.is_some() && self.round.passed(self.brief.checks.len());
        law(report.acceptance == Acceptance::NotAccepted || passed, "only what passed its checks is accepted")
    }
}

impl Leave {
    /// Whether a fact does as the owner said: what was approved is asked for or can't be had, what was not is refused.
    fn permits(&self, fact: &Fact) -> bool {
        if let Fact::Asked { ask: Ask::Tool(tool), .. } = fact {
            return self.approved.as_ref() == Some(tool);
        }
        matches!(fact, Fact::Refused { why, .. } if (*why == Refusal::NotApproved) == self.approved.is_none())
    }
}

/// The call that a fact places.
fn placed(fact: &Fact) -> Option<CallRef> {
    match fact {
        Fact::Asked { origin: Origin::Call(call), .. }
        | Fact::Refused { origin: Origin::Call(call), .. }
        | Fact::Waiting { call, .. } => Some(*call),
        Fact::Asked { .. }
        | Fact::Refused { .. }
        | Fact::Opened(_)
        | Fact::Answered { .. }
        | Fact::Raised { .. }
        | Fact::Heard { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => None,
    }
}

/// Whether a fact passes money on, or says that it stays.
fn passes(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Raised { .. }
            | Fact::Asked { ask: Ask::Tell { what: Stimulus::TopUp { .. }, .. }, .. }
            | Fact::Refused { why: Refusal::TopUpStays { .. }, .. }
    )
}
