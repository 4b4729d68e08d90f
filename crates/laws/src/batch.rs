//! A batch: the facts of one cause, stored together or not at all. A fact may require other facts in its batch. These
//! duties are noted here and checked at the end of the batch, so that the checker does not depend on the order inside a
//! batch.

use guildhall_kernel::{Answer, AskId, CallRef, Cause, Fact, Millis, Msat, Offer, Outcome, Path, Stored};

use crate::contract::{Contract, Ending, Kind, Phase, Tree};
use crate::shares::Shares;
use crate::violation::{Found, Law};
use crate::{draws, queue};

/// The batch that is being stored.
pub(crate) struct Batch {
    pub(crate) contract: usize,
    pub(crate) cause: Cause,
    pub(crate) at: Millis,
    /// The number of its newest fact.
    pub(crate) seq: u64,
    /// The number of its facts.
    pub(crate) facts: u32,
    pub(crate) top_up: Option<TopUp>,
    /// An offer from outside that is neither admitted nor refused yet.
    pub(crate) offer: Option<Box<Offer>>,
    /// The money that was available at the reply or the stimulus that may hire.
    pub(crate) hiring_with: Option<i128>,
    /// The money that the contract gives to its hires.
    pub(crate) shares: Shares,
    pub(crate) draws: draws::Notes,
    /// The ordinal of a hire that a person gives up.
    pub(crate) dropped: Option<u32>,
    duties: Vec<Duty>,
}

/// Money that was heard for a contract below.
pub(crate) struct TopUp {
    pub(crate) to: Path,
    pub(crate) money: Msat,
    pub(crate) stage: Stage,
}

/// The progress of a top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Heard,
    Raised(AskId),
    PassedOn,
    Stays,
}

/// A condition that must be true at the end of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Every call of the newest reply is decided on: asked, refused or waiting.
    PlaceCalls,
    /// After an approval was answered, its call was asked or refused.
    FollowUp(CallRef),
    /// No call waits for reports that have already come.
    WakeWaiting,
    /// No call waits for hires, because there is an urgent message.
    WakeAll,
    /// Money for a contract below was passed on or kept.
    PassOn,
    /// An offer from outside was admitted or refused.
    Consider,
    /// The ending was sent to all live hires.
    SendEnding,
    /// The contract is ending: a refusal in the batch says so.
    BeEnding,
    /// The contract is cancelled: it heard a cancel.
    BeCancelled,
    /// The contract is ending: it heard a wrap-up.
    BeWrappingUp,
}

impl Batch {
    pub(crate) fn new(contract: usize, stored: &Stored) -> Batch {
        Batch {
            contract,
            cause: stored.cause.clone(),
            at: stored.at,
            seq: stored.seq,
            facts: 0,
            top_up: None,
            offer: None,
            hiring_with: None,
            shares: Shares::default(),
            draws: draws::Notes::default(),
            dropped: None,
            duties: Vec::new(),
        }
    }

    /// Returns whether a fact belongs to this batch. Two ticks differ only by their time.
    pub(crate) fn contains(&self, tree: &Tree, stored: &Stored) -> bool {
        let again = self.cause != Cause::Tick || self.at == stored.at;
        again && self.cause == stored.cause && *tree.contracts[self.contract].path() == stored.contract
    }

    pub(crate) fn must(&mut self, duty: Duty) {
        if !self.duties.contains(&duty) {
            self.duties.push(duty);
        }
    }

    /// Checks that a fact can follow from its cause at this place in the batch.
    pub(crate) fn check_cause(&self, stored: &Stored, found: &mut Found<'_>) {
        found.demand(self.at == stored.at, Law::Replay, format_args!("the facts of one cause have different times"));
        let first = self.facts == 0;
        let fits = match (&stored.cause, &stored.fact) {
            (Cause::Opening, Fact::Opened(_)) => first,
            // A question whose time limit was reached ends with the next input of any kind.
            (Cause::Answer(_), Fact::Answered { answer: Answer::NoReply, .. }) if !first => true,
            // A draw is answered when the contract has heard enough, never by the world.
            (_, Fact::Answered { answer: Answer::Met | Answer::NotMet, .. }) => !first || self.cause == Cause::Tick,
            (Cause::Answer(cause), Fact::Answered { id, .. }) => first && cause == id,
            (Cause::Stimulus(cause), Fact::Heard { from, .. }) => first && cause == from,
            // A top-up from a wrong sender is refused and not heard.
            (Cause::Stimulus(_), Fact::Refused { .. }) => true,
            (_, Fact::Opened(_) | Fact::Heard { .. }) => false,
            (Cause::Opening | Cause::Answer(_) | Cause::Stimulus(_), _) => !first,
            (Cause::Tick, _) => true,
        };
        found.demand(fits, Law::Replay, format_args!("{} does not follow from {:?}", stored.fact.kind(), stored.cause));
    }

    /// Checks all duties of the batch.
    pub(crate) fn check_over(&self, tree: &Tree, found: &mut Found<'_>) {
        let contract = &tree.contracts[self.contract];
        for duty in &self.duties {
            self.check_duty(*duty, contract, found);
        }
        self.shares.check(contract, found);
        draws::check_over(&self.draws, contract, found);
        if let Some(ordinal) = self.dropped {
            queue::check_dropped(contract, ordinal, found);
        }
    }

    fn check_duty(&self, duty: Duty, contract: &Contract, found: &mut Found<'_>) {
        match duty {
            Duty::PlaceCalls => contract.calls.check_placed(found),
            Duty::FollowUp(call) => contract.calls.check_followed_up(call, found),
            Duty::WakeWaiting => contract.calls.check_waiting(contract, found),
            Duty::WakeAll => {
                let free = contract.is_closed() || !contract.calls.blocked();
                found.demand(
                    free,
                    Law::Liveness,
                    format_args!("an urgent message came, but a call still waits for a hire"),
                );
            }
            Duty::PassOn => self.check_passed_on(found),
            Duty::Consider => {
                let done = self.offer.is_none();
                found.demand(
                    done,
                    Law::Refusals,
                    format_args!("an offer from outside was neither admitted nor refused"),
                );
            }
            Duty::SendEnding => {
                check_ending_sent(contract, found);
                queue::check_ended(contract, found);
            }
            Duty::BeEnding => {
                let ending = !matches!(contract.phase, Phase::Working);
                found.demand(
                    ending,
                    Law::Refusals,
                    format_args!("a call was refused because the contract is ending, but it is not ending"),
                );
            }
            Duty::BeCancelled => {
                let cancelled = matches!(contract.phase, Phase::Closing(Outcome::Cancelled) | Phase::Closed(_));
                found.demand(
                    cancelled,
                    Law::Closing,
                    format_args!("a cancel was heard, but the contract does not end"),
                );
            }
            Duty::BeWrappingUp => {
                let checking = contract.asks.iter().any(|ask| ask.is_open() && matches!(ask.kind, Kind::Check(_)));
                let ending = checking || !matches!(contract.phase, Phase::Working);
                found.demand(ending, Law::Closing, format_args!("a wrap-up was heard, but the contract does not end"));
            }
        }
    }

    fn check_passed_on(&self, found: &mut Found<'_>) {
        let Some(top_up) = &self.top_up else { return };
        let (to, money) = (&top_up.to, top_up.money);
        match top_up.stage {
            Stage::Heard => found.broken(Law::Hires, format_args!("{money} for {to} was neither passed on nor kept")),
            Stage::Raised(hire) => {
                found.broken(Law::Hires, format_args!("{money} for {to} was added to {hire}, but not sent to it"));
            }
            Stage::PassedOn | Stage::Stays => {}
        }
    }
}

/// Checks that each live hire was sent its hirer's ending.
pub(crate) fn check_ending_sent(contract: &Contract, found: &mut Found<'_>) {
    let due = match contract.phase {
        Phase::Working | Phase::Closed(_) => return,
        Phase::Closing(Outcome::Cancelled) => Ending::Cancel,
        Phase::Closing(Outcome::Done | Outcome::Exhausted(_) | Outcome::Failed) => Ending::WrapUp,
    };
    for id in &contract.live {
        let Some(hired) = contract.hired(*id) else { continue };
        let (path, sent) = (&hired.brief.path, hired.ending_sent);
        found.demand(sent >= due, Law::Closing, format_args!("{path} must be sent {due:?}, but was sent {sent:?}"));
    }
}
