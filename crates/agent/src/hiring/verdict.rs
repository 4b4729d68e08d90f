//! Judges a reply without a call: what it leaves undone, and which agents the runtime hires on the agent's behalf. The
//! kernel nudges the agent once before it acts on a verdict. Only the modes `required` and `cascade` hire on an agent's behalf:
//! no agent is hired because of a guess about prose.

use guildhall_kernel::{CloseWhen, Fact, Mode, Offer, Origin, Sender, Stimulus, Undone, Verdict};

use super::choose::{Choice, mentions, words_of};
use super::offer::Order;
use super::promise::{CallsSoFar, FinalText};
use super::{Team, Worker};
use crate::roster::DelegationMode;
use crate::text::{Redactor, Text};
use crate::wording;

/// Judges a reply. The texts that the offers name are added to `texts`.
pub(crate) fn verdict(
    team: Option<&Team>,
    reply: &FinalText<'_>,
    redactor: &Redactor,
    texts: &mut Vec<Text>,
) -> Verdict {
    // In a conversation, only the facts since the owner's newest message count.
    let is_message =
        |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::Message(_) });
    let start = match reply.brief.close_when {
        CloseWhen::FinalText => None,
        CloseWhen::Asked => reply.facts.iter().rposition(is_message),
    };
    let facts = &reply.facts[start.unwrap_or(0)..];
    let is_cascade = |fact: &Fact| matches!(fact, Fact::Asked { origin, .. } | Fact::Queued { origin, .. } | Fact::Refused { origin, .. } if *origin == Origin::Cascade);
    let has_cascaded = facts.iter().any(is_cascade);
    if let Some(team) = team.filter(|_| !CallsSoFar::of(facts).has_hired()) {
        let mut cascade = || {
            let task = wording::cascade_task(reply.words, reply.task);
            let offers = audience(team, reply).into_iter().map(|worker| {
                // The agent continues only when the reports have arrived.
                let order = Order::new(Choice::of(worker), &task, Mode::Blocking);
                order.offer(team, reply.brief, redactor, texts)
            });
            offers.collect::<Vec<Offer>>()
        };
        match team.mode {
            DelegationMode::Required => {
                let then_hire = if has_cascaded { Vec::new() } else { cascade() };
                return Verdict { undone: Some(Undone::RequiredHire), then_hire, compact: None };
            }
            DelegationMode::Cascade if !has_cascaded => {
                return Verdict { then_hire: cascade(), ..Verdict::default() };
            }
            DelegationMode::Offered | DelegationMode::Cascade => {}
        }
    }
    Verdict { undone: reply.undone(team), ..Verdict::default() }
}

/// Returns the agents that a first reply goes to: those that it names, else those that the task is about, else all.
fn audience<'a>(team: &'a Team, reply: &FinalText<'_>) -> Vec<&'a Worker> {
    let words = words_of(reply.words);
    let all: Vec<&Worker> = team.others().collect();
    let named: Vec<&Worker> = all.iter().copied().filter(|worker| mentions(worker.name.as_str(), &words)).collect();
    if !named.is_empty() {
        return named;
    }
    let about: Vec<&Worker> = all.iter().copied().filter(|worker| worker.is_about(reply.task)).collect();
    if about.is_empty() { all } else { about }
}
