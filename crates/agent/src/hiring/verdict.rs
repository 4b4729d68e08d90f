//! What the agent layer makes of a reply without a call, if its agent has a team: whether a hire is missing, and who is hired
//! in its stead. The kernel tells the agent once before it acts on this.

use guildhall_kernel::{
    Ask, Brief, Fact, HireReason, Inherit, Mode, Nudge, Offer, Origin, Sender, Standing, Stay, Stimulus,
};
use guildhall_kernel::{ThenHire, Verdict};

use super::choose::{is_named, words_of};
use super::offer::Order;
use super::{Team, Worker};
use crate::promise::{Promise, promised};
use crate::roster::DelegationMode;
use crate::runtime::asked;
use crate::text::{Redactor, Text};
use crate::wording;

/// A reply without a call, and what came before it.
pub(crate) struct FinalText<'a> {
    /// What the agent said.
    pub(crate) words: &'a str,
    /// What it was hired for.
    pub(crate) brief: &'a Brief,
    /// What it works on.
    pub(crate) task: &'a str,
    /// Its facts.
    pub(crate) facts: &'a [Fact],
}

/// Judges a reply. The texts that the offers name are added to `texts`.
pub(crate) fn verdict(team: &Team, spoken: &FinalText<'_>, redactor: &Redactor, texts: &mut Vec<Text>) -> Verdict {
    let before = HiringSoFar::of(spoken);
    let mut hire = |why, workers: Vec<&Worker>| {
        let offers: Vec<Offer> =
            workers.iter().map(|worker| handed_on(worker, team, spoken, redactor, texts)).collect();
        (!offers.is_empty()).then_some(ThenHire { why, offers })
    };
    match team.mode {
        DelegationMode::Required if before.hired.is_empty() => {
            return Verdict { nudge: Some(Nudge::Required), ..Verdict::default() };
        }
        DelegationMode::Cascade if before.hired.is_empty() && !before.cascaded => {
            return Verdict { then_hire: hire(HireReason::Cascade, audience(team, spoken)), ..Verdict::default() };
        }
        DelegationMode::Offered | DelegationMode::Required | DelegationMode::Cascade => {}
    }
    let Some(promised) = unkept(team, spoken.words, &before) else { return Verdict::default() };
    // What the runtime has once kept it does not keep again: the report says what is left undone.
    let kept = if before.kept { None } else { hire(HireReason::Promise, promised) };
    Verdict { nudge: Some(Nudge::Promise), then_hire: kept, compact: None }
}

/// What was done about hiring so far: since the owner last spoke, where that begins anew.
struct HiringSoFar<'a> {
    /// Who was hired.
    hired: Vec<&'a str>,
    /// Whether the first reply has been handed on.
    cascaded: bool,
    /// Whether the runtime has kept a promise.
    kept: bool,
}

impl<'a> HiringSoFar<'a> {
    fn of(spoken: &FinalText<'a>) -> HiringSoFar<'a> {
        let facts = match spoken.brief.stay {
            Stay::Once => spoken.facts,
            Stay::Open => since_owner_spoke(spoken.facts),
        };
        let instead = |wanted: Origin| {
            facts.iter().any(
                |fact| matches!(fact, Fact::Asked { origin, .. } | Fact::Refused { origin, .. } if *origin == wanted),
            )
        };
        let hire = |(_, ask): (_, &'a Ask)| {
            if let Ask::Hire { brief, .. } = ask { Some(brief.agent.as_str()) } else { None }
        };
        let hired = facts.iter().filter_map(asked).filter_map(hire).collect();
        HiringSoFar { hired, cascaded: instead(Origin::Cascade), kept: instead(Origin::Promise) }
    }
}

fn since_owner_spoke(facts: &[Fact]) -> &[Fact] {
    let spoke =
        |fact: &Fact| matches!(fact, Fact::Heard { from: Sender::Owner { .. }, stimulus: Stimulus::Message(_) });
    facts.iter().rposition(spoke).map_or(facts, |at| &facts[at..])
}

/// Whom a first reply is handed to: those whom it names, else those whom the task is about, else all.
fn audience<'a>(team: &'a Team, spoken: &FinalText<'_>) -> Vec<&'a Worker> {
    let words = words_of(spoken.words);
    let all: Vec<&Worker> = team.others().collect();
    let named: Vec<&Worker> = all.iter().copied().filter(|worker| is_named(worker.name.as_str(), &words)).collect();
    if !named.is_empty() {
        return named;
    }
    let about: Vec<&Worker> = all.iter().copied().filter(|worker| worker.is_about(spoken.task)).collect();
    if about.is_empty() { all } else { about }
}

/// Whom the agent promised to hire and did not; nobody in particular is an empty list.
fn unkept<'a>(team: &'a Team, words: &str, before: &HiringSoFar<'_>) -> Option<Vec<&'a Worker>> {
    let all: Vec<&Worker> = team.others().collect();
    let names: Vec<&str> = all.iter().map(|worker| worker.name.as_str()).collect();
    match promised(words, &names) {
        Promise::None => None,
        Promise::Someone if !before.hired.is_empty() => None,
        // Of a team of one it is clear who is meant.
        Promise::Someone => Some(if all.len() == 1 { all } else { Vec::new() }),
        Promise::Named(who) => {
            let workers = who.into_iter().filter_map(|at| all.get(at).copied());
            let missing: Vec<&Worker> =
                workers.filter(|worker| !before.hired.contains(&worker.name.as_str())).collect();
            (!missing.is_empty()).then_some(missing)
        }
    }
}

/// Hands the agent's words on, with what it works on.
fn handed_on(
    worker: &Worker,
    team: &Team,
    spoken: &FinalText<'_>,
    redactor: &Redactor,
    texts: &mut Vec<Text>,
) -> Offer {
    let task = wording::handed_on(spoken.brief.agent.as_str(), spoken.words, spoken.task);
    let order = Order {
        worker,
        name: worker.name.clone(),
        standing: Standing::Listed,
        task: &task,
        inherit: Inherit::Fresh,
        // It goes on only with their reports.
        mode: Mode::Blocking,
        budget: None,
        model_slot: None,
    };
    order.offer(team, spoken.brief, redactor, texts)
}
