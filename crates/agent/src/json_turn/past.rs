//! What a contract has done so far, as far as this decides what its next JSON turn may be.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_kernel::{Ask, AskId, Fact, Origin, Stimulus};

/// The facts of a contract.
#[derive(Clone, Copy)]
pub(super) struct Past<'a> {
    facts: &'a [Fact],
    /// The facts since the newest message to the agent: a message is a reason to hire again.
    newest: &'a [Fact],
}

impl<'a> Past<'a> {
    pub(super) fn of(facts: &'a [Fact]) -> Past<'a> {
        let is_message = |fact: &Fact| matches!(fact, Fact::Heard { stimulus: Stimulus::Message(_), .. });
        Past { facts, newest: &facts[facts.iter().rposition(is_message).unwrap_or(0)..] }
    }

    /// Whether the agent has made a call. Each call of a reply is answered or refused before the next turn.
    pub(super) fn has_called(self) -> bool {
        self.facts.iter().filter_map(Fact::said).any(|(_, said)| said.calls > 0)
    }

    /// Whether a hire was admitted or refused. A person may have made it.
    pub(super) fn has_tried_to_hire(self) -> bool {
        self.facts.iter().any(|fact| origin_of_hire(fact).is_some())
    }

    /// Whether a hire was admitted since the newest message.
    pub(super) fn has_hired(self) -> bool {
        self.newest.iter().filter(|fact| round(fact).is_some()).any(|fact| fact.asked().is_some())
    }

    /// The number of replies with hires since the newest message.
    pub(super) fn rounds(self) -> usize {
        self.newest.iter().filter_map(round).collect::<BTreeSet<Round>>().len()
    }

    pub(super) fn was_nudged(self) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Fact::Nudged(_)))
    }

    /// Whether hires have not reported yet, or wait for money.
    pub(super) fn has_hires_at_work(self) -> bool {
        let (mut at_work, mut asked) = (BTreeSet::new(), BTreeMap::new());
        for fact in self.facts {
            if let Some((id, Ask::Hire { brief, .. })) = fact.asked() {
                at_work.insert(brief.path.ordinal());
                asked.insert(id, brief.path.ordinal());
            } else if let Fact::Queued { ordinal, .. } = fact {
                at_work.insert(*ordinal);
            } else if let Fact::Refused { ordinal: Some(ordinal), .. } = fact {
                at_work.remove(ordinal);
            } else if let Some(ordinal) = fact.answered().and_then(|(id, _)| asked.get(&id)) {
                at_work.remove(ordinal);
            }
        }
        !at_work.is_empty()
    }
}

/// Hires that an agent makes at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Round {
    Reply(AskId),
    Cascade,
}

/// Returns the round of a hire that the agent made.
fn round(fact: &Fact) -> Option<Round> {
    match origin_of_hire(fact)? {
        Origin::Call(call) => Some(Round::Reply(call.reply)),
        Origin::Cascade => Some(Round::Cascade),
        Origin::Outside | Origin::Course => None,
    }
}

/// Returns the origin of a hire that was admitted, waits for money, or was refused. A call that was written wrongly counts, so that
/// a model that can't write one is not made to try for ever.
fn origin_of_hire(fact: &Fact) -> Option<Origin> {
    match fact {
        Fact::Asked { ask: Ask::Hire { .. }, origin, .. } | Fact::Queued { origin, .. } => Some(*origin),
        Fact::Refused { agent, why, origin, .. } if agent.is_some() || why.has_example() => Some(*origin),
        Fact::Opened(_)
        | Fact::Asked { .. }
        | Fact::Answered { .. }
        | Fact::Refused { .. }
        | Fact::Raised { .. }
        | Fact::Heard { .. }
        | Fact::Waiting { .. }
        | Fact::Woke { .. }
        | Fact::Nudged(_)
        | Fact::Compacted { .. }
        | Fact::Closing(_)
        | Fact::Closed(_) => None,
    }
}
