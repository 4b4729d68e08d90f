//! Offers: the proposal of a hire to the kernel. The worker brings the conditions, the call brings the task.

use guildhall_kernel::{
    AgentName, Brief, Check, FRAME_TOKENS, Inherit, Mode, Msat, Offer, Standing, Tariff, TextKind, TextRef,
};

use super::choose::Choice;
use super::{Team, Worker, members_above};
use crate::checks;
use crate::text::{LazyText, Redactor, Text, task_key};
use crate::wording;

/// The parts of an offer that depend on the call.
pub(super) struct Order<'a> {
    pub(super) choice: Choice<'a>,
    pub(super) task: &'a str,
    pub(super) inherit: Inherit,
    pub(super) mode: Mode,
    pub(super) budget: Option<Msat>,
    /// The model to use, if it is not the agent's own: its number in the team's list, counted from 1, and its prices.
    pub(super) model_slot: Option<(u16, Tariff)>,
    pub(super) label: Option<&'a str>,
}

impl<'a> Order<'a> {
    /// Orders a hire that knows only its task, on the worker's own conditions.
    pub(super) fn new(choice: Choice<'a>, task: &'a str, mode: Mode) -> Order<'a> {
        Order { choice, task, inherit: Inherit::Fresh, mode, budget: None, model_slot: None, label: None }
    }

    /// Makes the offer. The texts that the offer names are added to `texts`. Hires of the same agent have the same opening, which
    /// is added once.
    pub(super) fn offer(self, team: &Team, hirer: &Brief, redactor: &Redactor, texts: &mut Vec<Text>) -> Offer {
        let Order { choice, task, inherit, mode, budget, model_slot, label } = self;
        let Choice { worker, name, standing } = choice;
        let label = label.and_then(|label| redactor.label(label));
        let task = redactor.text(TextKind::Task, task);
        let (of, key) = (task.of, task_key(&task.says));
        texts.push(task);
        texts.extend(label.clone());
        let checks: Vec<&(Text, Msat)> = team.checks_for(&name, standing).collect();
        texts.extend(worker.adds.iter().chain(checks.iter().map(|(what, _)| what)).cloned());
        let opening = worker.opening.as_ref().filter(|_| inherit == Inherit::Fresh);
        if let Some(opening) = opening.filter(|opening| texts.iter().all(|text| text.of != *opening.of())) {
            texts.push(opening.text().clone());
        }
        let budget = budget.or(worker.budget_default);
        let (fee, payee) = if can_earn(worker, !checks.is_empty(), inherit, standing) {
            (worker.fee, worker.payee.clone().map(Box::new))
        } else {
            (Msat::ZERO, None)
        };
        Offer {
            agent: name,
            standing,
            label: label.map(|label| Box::new(label.of)),
            task: of,
            task_key: key,
            inherit,
            mode,
            budget: budget.map(|budget| worker.budget_max.map_or(budget, |max| budget.min(max))),
            share_max: worker.budget_max,
            heads: None,
            depth: None,
            deadline: None,
            terms: [].into(),
            adds: worker.adds.iter().map(|text| text.of).collect(),
            fee,
            payee,
            severance: worker.severance,
            model_slot: model_slot.map_or(0, |(number, _)| number),
            tariff: model_slot.map_or(worker.tariff, |(_, tariff)| tariff),
            same_model: has_same_model(worker, model_slot.map(|(number, _)| number), team, hirer),
            turns_max: worker.turns_max,
            opening_bytes: opening_bytes(worker, inherit, of, hirer)
                + checks::described(&checks::read(checks.iter().map(|(what, _)| what.says.as_str()))).len() as u64,
            opening: opening.map(LazyText::of),
            powers: worker.powers.clone(),
            hiring: worker.hiring.clone(),
            checks: checks.iter().map(|(what, price)| Check { what: what.of, price: *price }).collect(),
        }
    }
}

impl Team {
    /// Returns the checks that the report of a hire must pass. An ad-hoc specialist may have the name of a listed agent.
    fn checks_for(&self, agent: &AgentName, standing: Standing) -> impl Iterator<Item = &(Text, Msat)> {
        let own = self.checks_of.get(agent).filter(|_| standing == Standing::Listed);
        self.checks.iter().chain(own.into_iter().flatten())
    }

    /// Makes the offer for a hire that a person asks for. Returns the offer with the texts that it names, or `None` if the team
    /// has no agent of that name.
    pub fn offer(
        &self,
        name: &AgentName,
        task: &str,
        budget: Option<Msat>,
        hirer: &Brief,
        redactor: &Redactor,
    ) -> Option<(Offer, Vec<Text>)> {
        let worker = self.workers.iter().find(|worker| worker.name == *name)?;
        let mut texts = Vec::new();
        let order = Order { budget, ..Order::new(Choice::of(worker), task, Mode::Background) };
        Some((order.offer(self, hirer, redactor, &mut texts), texts))
    }
}

/// Whether a hire has its hirer's model, so that both count tokens alike.
fn has_same_model(worker: &Worker, asked_for: Option<u16>, team: &Team, hirer: &Brief) -> bool {
    let own = |slot: u16, worker: &Worker| if slot > 0 { slot } else { worker.model_slot };
    let (hire, hirer) = (own(asked_for.unwrap_or(0), worker), own(hirer.model_slot, &team.own));
    hire > 0 && hire == hirer
}

/// Whether a hire can earn its agent's fee. A fork and an ad-hoc specialist are not the agent that the fee belongs to. Real money
/// is paid only for a report that was checked.
fn can_earn(worker: &Worker, is_checked: bool, inherit: Inherit, standing: Standing) -> bool {
    inherit == Inherit::Fresh && standing == Standing::Listed && (worker.payee.is_none() || is_checked)
}

/// Returns the size of what precedes the transcript, and of the brief as its agent is shown it. A fork's brief is preceded by
/// its hirer's request, which the kernel counts.
fn opening_bytes(worker: &Worker, inherit: Inherit, task: TextRef, hirer: &Brief) -> u64 {
    let before = match inherit {
        Inherit::Fresh => {
            let own = hirer.link();
            let above = members_above(worker.hiring.as_ref(), std::iter::once(&own).chain(hirer.lineage.upward()));
            let heading = wording::task_heading(hirer.agent.as_str());
            worker.opening_bytes + (heading.len() + wording::members_above(&above).len()) as u64
        }
        Inherit::Fork => wording::FORK.len() as u64,
    };
    let terms: Vec<u64> = hirer.terms.iter().chain(hirer.adds.iter()).map(|term| u64::from(term.bytes)).collect();
    let listed = terms.iter().map(|bytes| bytes + wording::TERM.len() as u64).sum::<u64>();
    let heading = if terms.is_empty() { 0 } else { wording::TERMS.len() as u64 };
    before + u64::from(task.bytes) + heading + listed + FRAME_TOKENS
}
