//! The facts of one cause: stored together or not at all. What a fact obliges its batch to contain is noted here and
//! looked at when the batch is over, so that the order inside a batch stays the kernel's business.

use guildhall_kernel::{Answer, AskId, CallRef, Cause, Fact, Millis, Msat, Offer, Outcome, Path, Stored};

use crate::contract::{Contract, Kind, Phase, Tree, Wish};
use crate::form::Form;
use crate::shares::Shares;
use crate::violation::{Found, Law};

/// The batch that is being stored.
pub(crate) struct Batch {
    pub(crate) contract: usize,
    pub(crate) cause: Cause,
    pub(crate) at: Millis,
    version: u16,
    /// The newest of its facts.
    pub(crate) seq: u64,
    /// How many facts it has.
    pub(crate) facts: u32,
    pub(crate) top_up: Option<TopUp>,
    /// A hire that was offered from outside and that nothing was decided about yet.
    pub(crate) offer: Option<Box<Offer>>,
    /// The hires that follow from a reply: those of its calls, or those that the runtime makes by itself.
    pub(crate) shares: Option<Shares>,
    duties: Vec<Duty>,
}

/// Money that was heard for somebody below.
pub(crate) struct TopUp {
    pub(crate) to: Path,
    pub(crate) money: Msat,
    pub(crate) stage: Stage,
}

/// How far a top-up has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Heard,
    Raised(AskId),
    PassedOn,
    Stays,
}

/// What must be true when a batch is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Every call of the newest reply is placed.
    PlaceCalls,
    /// An approval's answer was acted upon.
    FollowUp(CallRef),
    /// No call waits for what has come.
    WakeWaiting,
    /// No call waits at all: there are words to be heard.
    WakeAll,
    /// Money for somebody below was passed on, or stays.
    PassOn,
    /// A hire that was offered from outside was admitted or refused.
    Consider,
    /// Live hires were told that their hirer is ending.
    TellHires,
    /// Something was refused because the contract is ending, so it must be.
    BeEnding,
    /// A cancel was heard.
    BeCancelled,
    /// A wrap-up was heard.
    BeWrappingUp,
}

impl Batch {
    pub(crate) fn new(contract: usize, stored: &Stored) -> Batch {
        Batch {
            contract,
            cause: stored.cause.clone(),
            at: stored.at,
            version: stored.v,
            seq: stored.seq,
            facts: 0,
            top_up: None,
            offer: None,
            shares: None,
            duties: Vec::new(),
        }
    }

    /// Returns whether a fact belongs to this batch. Two ticks differ by their time alone.
    pub(crate) fn goes_on(&self, tree: &Tree, stored: &Stored) -> bool {
        let again = self.cause != Cause::Tick || self.at == stored.at;
        again && self.cause == stored.cause && *tree.contracts[self.contract].path() == stored.contract
    }

    pub(crate) fn must(&mut self, duty: Duty) {
        if !self.duties.contains(&duty) {
            self.duties.push(duty);
        }
    }

    /// Checks that a fact can stand where it stands under its cause.
    pub(crate) fn check_cause(&self, stored: &Stored, found: &mut Found<'_>) {
        found.demand(self.at == stored.at, Law::Replay, format_args!("the facts of one cause have different times"));
        found.demand(
            self.version == stored.v,
            Law::Replay,
            format_args!("the facts of one cause have different forms"),
        );
        let first = self.facts == 0;
        let fits = match (&stored.cause, &stored.fact) {
            (Cause::Opening, Fact::Opened(_)) => first,
            // A question that nobody answered in time is noticed at the next occasion.
            (Cause::Answer(_), Fact::Answered { answer: Answer::NoReply, .. }) if !first => true,
            (Cause::Answer(cause), Fact::Answered { id, .. }) => first && cause == id,
            (Cause::Stimulus(cause), Fact::Heard { from, .. }) => first && cause == from,
            // Money that goes astray is refused and not heard.
            (Cause::Stimulus(_), Fact::Refused { .. }) => true,
            (_, Fact::Opened(_) | Fact::Heard { .. }) => false,
            (Cause::Opening | Cause::Answer(_) | Cause::Stimulus(_), _) => !first,
            (Cause::Tick, _) => true,
        };
        found.demand(fits, Law::Replay, format_args!("{} does not follow from {:?}", stored.fact.kind(), stored.cause));
    }

    /// Checks everything that the batch had to contain.
    pub(crate) fn check_over(&self, tree: &Tree, found: &mut Found<'_>) {
        let contract = &tree.contracts[self.contract];
        for duty in &self.duties {
            self.check_duty(*duty, contract, found);
        }
        // The first release divided by other rules.
        if let Some(shares) = &self.shares
            && Form::of(self.version) == Form::Second
        {
            shares.check(contract, found);
        }
    }

    fn check_duty(&self, duty: Duty, contract: &Contract, found: &mut Found<'_>) {
        match duty {
            Duty::PlaceCalls => contract.calls.check_placed(found),
            Duty::FollowUp(call) => contract.calls.check_followed_up(call, found),
            Duty::WakeWaiting => contract.calls.check_waiting(contract, found),
            Duty::WakeAll => {
                let free = contract.is_closed() || !contract.calls.blocked();
                found.demand(free, Law::Liveness, format_args!("words came, and a call still waits for a hire"));
            }
            Duty::PassOn => self.check_passed_on(found),
            Duty::Consider => {
                let done = self.offer.is_none();
                found.demand(done, Law::Refusals, format_args!("an offered hire was neither admitted nor refused"));
            }
            Duty::TellHires => check_told(contract, found),
            Duty::BeEnding => {
                let ending = !matches!(contract.phase, Phase::Working);
                found.demand(ending, Law::Refusals, format_args!("refused for closing, but the contract is not"));
            }
            Duty::BeCancelled => {
                let cancelled = matches!(contract.phase, Phase::Closing(Outcome::Cancelled) | Phase::Closed(_));
                found.demand(cancelled, Law::Closing, format_args!("a cancel was heard and not obeyed"));
            }
            Duty::BeWrappingUp => {
                let checking = contract.asks.iter().any(|ask| ask.is_open() && matches!(ask.kind, Kind::Check(_)));
                let ending = checking || !matches!(contract.phase, Phase::Working);
                found.demand(ending, Law::Closing, format_args!("a wrap-up was heard and not obeyed"));
            }
        }
    }

    fn check_passed_on(&self, found: &mut Found<'_>) {
        let Some(top_up) = &self.top_up else { return };
        let (to, money) = (&top_up.to, top_up.money);
        match top_up.stage {
            Stage::Heard => found.broken(Law::Hires, format_args!("{money} for {to} went no further and says nothing")),
            Stage::Raised(hire) => {
                found.broken(Law::Hires, format_args!("{money} for {to} was added to {hire}, which was not told"));
            }
            Stage::PassedOn | Stage::Stays => {}
        }
    }
}

/// Checks that each live hire was told what its hirer's ending means for it.
pub(crate) fn check_told(contract: &Contract, found: &mut Found<'_>) {
    let due = match contract.phase {
        Phase::Working | Phase::Closed(_) => return,
        Phase::Closing(Outcome::Cancelled) => Wish::Cancel,
        Phase::Closing(Outcome::Done | Outcome::Exhausted(_) | Outcome::Failed) => Wish::WrapUp,
    };
    for id in &contract.live {
        let Some(Kind::Hire(hired)) = contract.ask(*id).map(|ask| &ask.kind) else { continue };
        let (path, told) = (&hired.brief.path, hired.told);
        found.demand(told >= due, Law::Closing, format_args!("{path} should have been told {due:?}, and was {told:?}"));
    }
}
