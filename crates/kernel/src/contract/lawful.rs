//! Checks whether a fact may come now: a step that has begun is finished first, every ask has a reason, and a report
//! claims only what happened. Nothing here changes the state.

use super::fold::{Law, ending, law};
use super::{AnsweredApproval, Contract, Phase};
use crate::ask::{Ask, Origin, Request, Stimulus, Turn};
use crate::fact::{Fact, Pause, Waking};
use crate::path::{AskId, CallRef};
use crate::refusal::Refusal;
use crate::repeats::REPEATS_MAX;
use crate::report::{Acceptance, Limit, Nudge, Outcome, Report, Undone};

impl Contract {
    /// Refuses a fact that can't come now, whatever its details are.
    pub(super) fn check_lawful(&self, fact: &Fact) -> Law {
        self.check_order(fact)?;
        match fact {
            Fact::Asked { ask, origin, .. } => self.check_origin(ask, *origin),
            Fact::Queued { origin, .. } => {
                law(*origin != Origin::Course, "an ask has an origin that allows it")?;
                self.check_on_behalf(*origin)
            }
            Fact::Refused { origin, ordinal: None, .. } => self.check_on_behalf(*origin),
            Fact::Woke { pause, why } => self.check_woke(*pause, *why),
            Fact::Nudged(nudge) => self.check_nudged(*nudge),
            Fact::Compacted { .. } => law(
                self.placing.is_none_or(|placing| placing.next == 0),
                "facts are shortened before calls are decided on",
            ),
            Fact::Closing(outcome) => self.check_asked_to_end(*outcome),
            Fact::Closed(report) => self.check_claims(report),
            // A hire that waits was checked when it was queued.
            Fact::Refused { ordinal: Some(_), .. }
            | Fact::Opened(_)
            | Fact::Answered { .. }
            | Fact::Raised { .. }
            | Fact::Heard { .. }
            | Fact::Waiting { .. } => Ok(()),
        }
    }

    /// Checks that a step that has begun is finished first: an approved call, money to pass on, a cancel, a reply's
    /// calls.
    fn check_order(&self, fact: &Fact) -> Law {
        let placed = placed(fact);
        if let Some(approval) = &self.answered_approval {
            law(
                placed == Some(approval.call),
                "after an approval is answered, its call is decided on before anything else",
            )?;
            return law(approval.permits(fact), "a tool call that needs approval follows the owner's answer");
        }
        if self.passing.is_some() {
            return law(passes(fact), "money that was heard is passed on or kept before anything else happens");
        }
        if self.asked_to_end == Some(Outcome::Cancelled) && !self.is_cancelled() {
            let begins_to_cancel = *fact == Fact::Closing(Outcome::Cancelled);
            return law(
                begins_to_cancel,
                "a contract that has heard a cancel begins to close before anything else happens",
            );
        }
        // A call may stop a hire that waits, whoever hired it.
        let stops = matches!(fact, Fact::Refused { ordinal: Some(_), .. });
        let among = placed.is_some() || stops || matches!(fact, Fact::Woke { .. } | Fact::Compacted { .. });
        law(self.placing.is_none() || among, "a reply's calls are decided on before anything else happens")
    }

    fn check_origin(&self, ask: &Ask, origin: Origin) -> Law {
        let fits = match ask {
            Ask::Model(_) | Ask::Check(_) | Ask::Draw { .. } => origin == Origin::Course,
            Ask::Tool(_) | Ask::Question { .. } => matches!(origin, Origin::Call(_)),
            Ask::Hire { .. } => origin != Origin::Course,
            Ask::Tell { what, .. } => match origin {
                Origin::Call(_) => matches!(what, Stimulus::Message(_) | Stimulus::Cancel),
                Origin::Course => match self.phase {
                    Phase::Working => matches!(what, Stimulus::TopUp { .. } | Stimulus::RefuseDraw { .. }),
                    Phase::Closing(_) | Phase::Closed(_) => matches!(what, Stimulus::WrapUp | Stimulus::Cancel),
                },
                Origin::Outside => matches!(what, Stimulus::Cancel),
                Origin::Cascade => false,
            },
        };
        law(fits, "an ask has an origin that allows it")?;
        let checked = !matches!(ask, Ask::Check(_)) || self.final_text.is_some();
        law(checked, "only a final text is checked")?;
        let repeated = matches!(ask, Ask::Tool(call) if self.repeats.of(call) >= REPEATS_MAX);
        law(!repeated, "a call that had the same result seven times is refused")?;
        let has_waited = ask.brief().is_some_and(|brief| self.queue.contains_key(&brief.path.ordinal()));
        if has_waited { Ok(()) } else { self.check_on_behalf(origin) }
    }

    /// The runtime hires on an agent's behalf only after the agent's text.
    fn check_on_behalf(&self, origin: Origin) -> Law {
        law(
            origin != Origin::Cascade || self.final_text.is_some(),
            "the runtime hires on an agent's behalf only after the agent's final text",
        )
    }

    fn check_woke(&self, pause: Pause, why: Waking) -> Law {
        let Pause::Call(call) = pause else {
            return law(
                why == Waking::Message,
                "a blocking hire continues in the background only because of a message",
            );
        };
        let wait = self.waits.iter().find(|wait| wait.call == call).ok_or("only a pause that exists can end")?;
        law(
            wait.ready == (why == Waking::Reported),
            "a wait ends because of reports exactly when the reports it needs are there",
        )?;
        match why {
            Waking::Reported => Ok(()),
            Waking::TimedOut => law(wait.until.is_some(), "only a wait with a time limit times out"),
            Waking::Message => {
                law(self.phase == Phase::Working, "a message does not interrupt a contract that is ending")
            }
            Waking::Closing => {
                law(self.phase != Phase::Working, "a wait ends because of the ending only if the contract is ending")
            }
        }
    }

    fn check_nudged(&self, nudge: Nudge) -> Law {
        let found = match nudge {
            Nudge::Required | Nudge::ConfirmReport => {
                self.final_text.as_ref().and_then(|text| text.undone).map(Undone::nudge) == Some(nudge)
            }
            Nudge::FixReport => self.round.can_be_corrected(),
            Nudge::Empty => self.final_text.is_none(),
        };
        law(found, "a nudge has its reason in the agent's reply")
    }

    /// An ending on request needs the request.
    fn check_asked_to_end(&self, outcome: Outcome) -> Law {
        let cut = self.final_text.as_ref().is_some_and(|text| text.cut) && self.part.is_none();
        law(
            outcome != Outcome::Exhausted(Limit::Length) || cut,
            "only a text that was cut ends a contract by its length",
        )?;
        let request = match outcome {
            Outcome::Done | Outcome::Exhausted(Limit::Asked) => Some(Outcome::Exhausted(Limit::Asked)),
            Outcome::Cancelled => Some(Outcome::Cancelled),
            Outcome::Exhausted(Limit::Purse | Limit::Turns | Limit::Deadline | Limit::Length) | Outcome::Failed => None,
        };
        law(
            request.is_none() || request == self.asked_to_end,
            "an ending on request follows a stimulus that asked for it",
        )
    }

    fn check_claims(&self, report: &Report) -> Law {
        law(report.text == self.wording(), "a report has the final text, or the newest text if there is none")?;
        law(
            report.output == self.final_text.as_ref().and_then(|final_text| final_text.output),
            "a report has the output of its final text",
        )?;
        law(report.undone == self.undone_in_report(), "a report says what its final text leaves undone")?;
        let passed = self.final_text.is_some() && self.round.passed(self.brief.checks.len());
        law(!report.cut || report.acceptance == Acceptance::NotAccepted, "a text that was cut is not accepted")?;
        law(!report.cut || report.outcome != Outcome::Done, "a text that was cut is not the end of the work")?;
        law(
            report.acceptance == Acceptance::NotAccepted || passed,
            "only a final text that passed its checks is accepted",
        )
    }

    /// Returns why the contract's facts can't end here, if they can't: a journal ends only between steps.
    pub(super) fn incomplete(&self) -> Option<&'static str> {
        let ready = self.waits.iter().any(|wait| wait.ready);
        if ready || self.placing.is_some() || self.answered_approval.is_some() || self.passing.is_some() {
            return Some("the journal ends in the middle of a step");
        }
        match self.phase {
            Phase::Working if self.asked_to_end.is_some() => Some("a contract that is asked to end begins to close"),
            Phase::Working if self.open.is_empty() && !self.is_idle() => {
                Some("a contract that is not closed has an open ask")
            }
            Phase::Closing(_) if self.open.is_empty() => Some("a contract that is ending and has no open ask closes"),
            Phase::Closing(_) if !self.waits.is_empty() || !self.questions.is_empty() => {
                Some("a contract that is ending has no open waits or questions")
            }
            Phase::Closing(outcome) => {
                let sent = |id: &AskId| self.open[id].ending_sent.is_some_and(|sent| sent == ending(outcome));
                (!self.live.values().all(sent))
                    .then_some("a contract that is ending sends the ending to its live hires")
            }
            Phase::Working | Phase::Closed(_) => None,
        }
    }

    /// Checks that the contract may make this ask in its phase.
    pub(super) fn check_phase(&self, ask: &Ask) -> Law {
        let tells = |allowed: Stimulus| match ask {
            Ask::Tell { what, .. } => *what == allowed,
            Ask::Model(_)
            | Ask::Tool(_)
            | Ask::Hire { .. }
            | Ask::Check(_)
            | Ask::Question { .. }
            | Ask::Draw { .. } => false,
        };
        let last = matches!(ask, Ask::Model(Request { turn: Turn::Last, .. }));
        match self.phase {
            Phase::Working => law(!last, "the severance is for the last request only"),
            Phase::Closing(Outcome::Cancelled) => {
                law(tells(Stimulus::Cancel), "a cancelled contract asks nothing except to cancel its hires")
            }
            Phase::Closing(Outcome::Failed) => {
                law(tells(Stimulus::WrapUp), "a failed contract asks nothing except that its hires wrap up")
            }
            Phase::Closing(Outcome::Exhausted(_)) => {
                let ending = last || matches!(ask, Ask::Check(_)) || tells(Stimulus::WrapUp);
                law(
                    ending,
                    "a contract that wraps up asks only for its last reply, its checks, and that its hires wrap up",
                )
            }
            Phase::Closing(Outcome::Done) => {
                law(matches!(ask, Ask::Check(_)), "while a conversation ends, its only asks are its checks")
            }
            Phase::Closed(_) => Err("a closed contract asks nothing"),
        }
    }
}

impl AnsweredApproval {
    /// Returns whether a fact follows the owner's answer: an approved call is asked, or refused for another reason; a
    /// call that was not approved is refused for that.
    fn permits(&self, fact: &Fact) -> bool {
        if let Fact::Asked { ask: Ask::Tool(tool), .. } = fact {
            return self.approved.as_ref() == Some(tool);
        }
        matches!(fact, Fact::Refused { why, .. } if (*why == Refusal::NotApproved) == self.approved.is_none())
    }
}

/// Returns the call that a fact decides on.
fn placed(fact: &Fact) -> Option<CallRef> {
    match fact {
        Fact::Asked { origin: Origin::Call(call), .. }
        | Fact::Queued { origin: Origin::Call(call), .. }
        | Fact::Refused { origin: Origin::Call(call), .. }
        | Fact::Waiting { call, .. } => Some(*call),
        Fact::Asked { .. }
        | Fact::Queued { .. }
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

/// Returns whether a fact passes money on, or says that the money stays.
fn passes(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Raised { .. }
            | Fact::Asked { ask: Ask::Tell { what: Stimulus::TopUp { .. }, .. }, .. }
            | Fact::Refused { why: Refusal::TopUpStays { .. }, .. }
    )
}
