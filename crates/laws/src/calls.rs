//! The calls of a reply: each is decided on once, in order, in the reply's own batch, and has an answer before the next
//! request.

use std::collections::BTreeSet;

use guildhall_kernel::{AskId, CALLS_MAX, CallRef, Millis, Need, Pause, Waking};

use crate::contract::{Contract, Phase};
use crate::violation::{Found, Law};

/// The calls of the newest reply.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) reply: Option<AskId>,
    /// The number of calls in the reply.
    pub(crate) made: u32,
    placed: Vec<Call>,
    /// The places of the calls that wait for hires.
    waiting: BTreeSet<usize>,
}

/// The state of a call.
pub(crate) enum Call {
    /// It waits for the answer to an ask.
    Asked,
    /// It waits for the report of a hire.
    Hire,
    /// It waits for the owner's approval.
    Approval,
    /// It was approved: the tool call must follow.
    Approved,
    /// It was not approved: a refusal must follow.
    Denied,
    /// It waits for hires.
    Waiting(Wait),
    /// It has its answer.
    Resolved,
}

/// A wait for hires.
pub(crate) struct Wait {
    /// The ordinals of the hires that have not reported.
    left: BTreeSet<u32>,
    /// The number of hires at the beginning.
    all: usize,
    need: Need,
    until: Option<Millis>,
}

impl Wait {
    pub(crate) fn new(on: &[u32], need: Need, until: Option<Millis>) -> Wait {
        let left: BTreeSet<u32> = on.iter().copied().collect();
        Wait { all: left.len(), left, need, until }
    }

    /// Returns whether enough of the hires have reported or were refused.
    fn is_over(&self) -> bool {
        match self.need {
            Need::Any => self.left.is_empty() || self.left.len() < self.all,
            Need::All => self.left.is_empty(),
        }
    }
}

/// What a fact does with a call that needed approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Tool,
    Refusal,
    Other,
}

impl Calls {
    /// Starts again with a new reply.
    pub(crate) fn begin(&mut self, reply: AskId, made: u32) {
        self.reply = Some(reply);
        self.made = made;
        self.placed.clear();
        self.waiting.clear();
    }

    /// Returns how many decisions there must be: all calls beyond the limit are refused together.
    fn due(&self) -> u32 {
        self.made.min(CALLS_MAX + 1)
    }

    pub(crate) fn get(&self, call: CallRef) -> Option<&Call> {
        if self.reply != Some(call.reply) {
            return None;
        }
        self.placed.get(usize::try_from(call.index).ok()?)
    }

    fn get_mut(&mut self, call: CallRef) -> Option<&mut Call> {
        if self.reply != Some(call.reply) {
            return None;
        }
        self.placed.get_mut(usize::try_from(call.index).ok()?)
    }

    /// Decides on a call, or decides again after its approval was answered.
    pub(crate) fn place(&mut self, call: CallRef, act: Act, new: Call, found: &mut Found<'_>) {
        let CallRef { reply, index } = call;
        if self.reply != Some(reply) {
            return found
                .broken(Law::Reports, format_args!("call {index} belongs to {reply}, which is not the newest reply"));
        }
        if let Some(old) = self.get_mut(call) {
            let fits = match old {
                Call::Approved => matches!(act, Act::Tool | Act::Refusal),
                Call::Denied => act == Act::Refusal,
                Call::Asked | Call::Hire | Call::Approval | Call::Waiting(_) | Call::Resolved => false,
            };
            *old = new;
            return found.demand(fits, Law::Reports, format_args!("call {index} of {reply} is decided on twice"));
        }
        let next = u32::try_from(self.placed.len()).unwrap_or(u32::MAX);
        found.demand(
            index == next,
            Law::Reports,
            format_args!("call {index} of {reply} is decided on, but call {next} is next"),
        );
        let (made, due) = (self.made, self.due());
        found.demand(index < due, Law::Reports, format_args!("call {index} is beyond the {made} calls of {reply}"));
        let considered = index < CALLS_MAX || act == Act::Refusal;
        found.demand(considered, Law::Refusals, format_args!("call {index} of {reply} is over the limit"));
        if index == next && index < due {
            if let Call::Waiting(_) = new {
                self.waiting.insert(self.placed.len());
            }
            self.placed.push(new);
        }
    }

    /// A hire has reported, or was refused after it waited for money.
    pub(crate) fn reported(&mut self, ordinal: u32) {
        for place in &self.waiting {
            if let Some(Call::Waiting(wait)) = self.placed.get_mut(*place) {
                wait.left.remove(&ordinal);
            }
        }
    }

    /// Sets the state of a call of the newest reply.
    pub(crate) fn turn(&mut self, call: CallRef, to: Call) {
        if let Some(place) = self.get_mut(call) {
            *place = to;
            if let Ok(index) = usize::try_from(call.index) {
                self.waiting.remove(&index);
            }
        }
    }

    /// Returns the first call that has no answer.
    pub(crate) fn unresolved(&self) -> Option<usize> {
        self.placed.iter().position(|call| !matches!(call, Call::Resolved))
    }

    /// Returns whether a call waits for a hire.
    pub(crate) fn blocked(&self) -> bool {
        self.placed.iter().any(|call| matches!(call, Call::Hire | Call::Waiting(_)))
    }

    pub(crate) fn check_placed(&self, found: &mut Found<'_>) {
        let (placed, due) = (self.placed.len(), self.due());
        let all = u32::try_from(placed) == Ok(due);
        found.demand(all, Law::Reports, format_args!("{placed} calls of the reply were decided on, but {due} must be"));
    }

    pub(crate) fn check_followed_up(&self, call: CallRef, found: &mut Found<'_>) {
        let pending = matches!(self.get(call), Some(Call::Approved | Call::Denied));
        found.demand(
            !pending,
            Law::Reports,
            format_args!("an approval was answered, but its call was neither asked nor refused"),
        );
    }

    /// Checks that no call waits for reports that have already come.
    pub(crate) fn check_waiting(&self, contract: &Contract, found: &mut Found<'_>) {
        if contract.is_closed() {
            return;
        }
        for index in &self.waiting {
            let over = matches!(self.placed.get(*index), Some(Call::Waiting(wait)) if wait.is_over());
            found.demand(!over, Law::Liveness, format_args!("call {index} waits for reports that have already come"));
        }
    }
}

/// A call begins to wait.
pub(crate) fn waiting(contract: &mut Contract, call: CallRef, wait: Wait, found: &mut Found<'_>) {
    let working = matches!(contract.phase, Phase::Working);
    found.demand(working, Law::Closing, format_args!("a call begins to wait while the contract is ending"));
    for hire in &wait.left {
        let live = contract.expects(*hire);
        found.demand(live, Law::Liveness, format_args!("a call waits for hire {hire}, which neither lives nor waits"));
        let stuck = contract.is_asked_by(*hire);
        found.demand(
            !stuck,
            Law::Refusals,
            format_args!("a call waits for hire {hire}, which waits for an answer itself"),
        );
    }
    contract.calls.place(call, Act::Other, Call::Waiting(wait), found);
}

/// A pause is over.
pub(crate) fn woke(contract: &mut Contract, pause: Pause, why: Waking, at: Millis, found: &mut Found<'_>) {
    let ending = !matches!(contract.phase, Phase::Working);
    let fits = match pause {
        Pause::Call(call) => match (contract.calls.get(call), why) {
            (Some(Call::Waiting(_)), Waking::Message) => true,
            (Some(Call::Waiting(_)), Waking::Closing) => ending,
            (Some(Call::Waiting(wait)), Waking::Reported) => wait.is_over(),
            (Some(Call::Waiting(wait)), Waking::TimedOut) => wait.until.is_some_and(|until| until <= at),
            (Some(_) | None, _) => false,
        },
        Pause::Hire(hire) => contract.row.blocking.contains(&hire) && why == Waking::Message,
    };
    found.demand(fits, Law::Reports, format_args!("{pause:?} can't end because of {why:?}"));
    let call = match pause {
        Pause::Call(call) => Some(call),
        Pause::Hire(hire) => contract.unblock(hire),
    };
    if let Some(call) = call {
        contract.calls.turn(call, Call::Resolved);
    }
}
