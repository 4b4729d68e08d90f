//! Offers: the teams that the operator publishes. A session names an offer, never a path.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use guildhall::kernel::{AgentName, Msat, SessionKind};
use guildhall::{Hall, HallError, Paid, Staffing, Undertaking};
use serde::Serialize;
use utoipa::ToSchema;

/// How many costs of earlier requests to a team are remembered.
const COSTS_MAX: usize = 1000;

/// The kind of money of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoneyKind {
    /// Play money: settling an invoice costs nothing.
    Play,
    /// Satoshis: an invoice is paid over Lightning.
    Real,
}

/// A team that the operator publishes.
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What the team can do, in one sentence.
    pub description: String,
    /// The team: its project and its roster.
    pub hall: Hall,
    /// The first agent. Without it, the only agent that no other agent hires.
    pub entry: Option<AgentName>,
    /// The model of all agents. Without it, each agent has its own, or the default.
    pub model: Option<String>,
    /// The kind of money.
    pub money: MoneyKind,
    /// The budget that is proposed for one request, in satoshis.
    pub budget_sats: u64,
    /// An example of a task.
    pub example: Option<String>,
}

/// An offer with everything that is known before work starts.
pub(crate) struct Published {
    pub(crate) offer: Offer,
    pub(crate) staffing: Staffing,
    /// Whether a provider sends a bill for one of its models.
    pub(crate) is_priced: bool,
}

impl Published {
    pub(crate) async fn new(offer: Offer) -> Result<Published, HallError> {
        let staffing = describe(&offer, String::new()).staffing().await?;
        let mut is_priced = false;
        for model in staffing.models() {
            let name = offer.hall.models().find(Some(model))?;
            is_priced |= offer.hall.models().paid(&name) == Paid::Provider;
        }
        Ok(Published { offer, staffing, is_priced })
    }

    /// Describes work of the team.
    pub(crate) fn work(&self, task: String) -> Undertaking {
        describe(&self.offer, task).from_balance()
    }

    /// Whether only the operator may use sessions in play money: play money must not reach a model that somebody bills. The session
    /// may be older than the offer.
    pub(crate) fn needs_operator_for(&self, kind: &SessionKind) -> bool {
        *kind == SessionKind::Play && self.is_priced
    }

    /// Whether only the operator may make a session.
    pub(crate) fn needs_operator(&self) -> bool {
        self.offer.money == MoneyKind::Play && self.is_priced
    }

    pub(crate) fn view(&self, costs: &Costs) -> OfferView {
        let models = self.staffing.models().into_iter().map(str::to_owned).collect();
        let (median_msat, percentile_90_msat, requests) = costs.of(&self.offer.name);
        OfferView {
            team: self.offer.name.clone(),
            description: self.offer.description.clone(),
            example: self.offer.example.clone(),
            agents: cast(&self.staffing),
            models,
            money: self.offer.money,
            needs_operator: self.needs_operator(),
            budget_sats: self.offer.budget_sats,
            cost: (requests > 0).then_some(CostView { requests, median_msat, percentile_90_msat }),
        }
    }
}

fn describe(offer: &Offer, task: String) -> Undertaking {
    let mut work = offer.hall.run(task);
    if let Some(entry) = &offer.entry {
        work = work.entry(entry.clone());
    }
    match &offer.model {
        Some(model) => work.model(model),
        None => work,
    }
}

/// An offer as it is shown.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct OfferView {
    /// The name to use in `POST /api/sessions`.
    pub(crate) team: String,
    /// What the team can do.
    pub(crate) description: String,
    /// An example of a task.
    pub(crate) example: Option<String>,
    /// The agents.
    pub(crate) agents: Vec<CastMember>,
    /// The models.
    pub(crate) models: Vec<String>,
    /// Play or real money.
    pub(crate) money: MoneyKind,
    /// Whether only the operator can make sessions with this team.
    pub(crate) needs_operator: bool,
    /// The budget that is proposed for one request.
    pub(crate) budget_sats: u64,
    /// What requests to this team have cost on this server. Absent if there were none.
    pub(crate) cost: Option<CostView>,
}

/// What requests have cost.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct CostView {
    /// The number of requests that count.
    pub(crate) requests: u64,
    /// Half of the requests cost at most this much.
    pub(crate) median_msat: u64,
    /// Nine of ten requests cost at most this much.
    pub(crate) percentile_90_msat: u64,
}

/// An agent, as everybody may know it: without its instructions.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CastMember {
    /// Its name.
    pub(crate) name: String,
    /// When to hire it.
    pub(crate) description: String,
    /// The specialties by which it can be hired.
    pub(crate) specialties: Vec<String>,
    /// Its model.
    pub(crate) model: Option<String>,
}

/// The agents of a team, the first one first.
pub(crate) fn cast(staffing: &Staffing) -> Vec<CastMember> {
    let member = |agent: &guildhall::Agent| CastMember {
        name: agent.name.to_string(),
        description: agent.description.clone(),
        specialties: agent.specialties.clone(),
        model: staffing.model_of_agent.get(&agent.name).cloned(),
    };
    staffing.agents.iter().map(member).collect()
}

/// What requests to each team have cost.
#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<BTreeMap<String, Vec<u64>>>);

impl Costs {
    /// Adds the cost of a request. The oldest costs are forgotten.
    pub(crate) fn add(&self, team: &str, cost: Msat) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let costs = all.entry(team.to_owned()).or_default();
        if costs.len() >= COSTS_MAX {
            costs.remove(0);
        }
        costs.push(cost.get());
    }

    /// Returns the median, the 90th percentile and the number of costs.
    fn of(&self, team: &str) -> (u64, u64, u64) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut costs = all.get(team).cloned().unwrap_or_default();
        costs.sort_unstable();
        // The smallest cost that at least this share of all requests does not exceed.
        let share = |percent: usize| costs.get((costs.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        (share(50).unwrap_or(0), share(90).unwrap_or(0), costs.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use guildhall::kernel::Msat;

    use super::{COSTS_MAX, Costs};

    #[test]
    fn the_median_and_the_90th_percentile_are_costs_that_occurred() {
        let costs = Costs::default();
        assert_eq!(costs.of("demo"), (0, 0, 0));
        for cost in [5, 1, 4, 2, 3, 10, 9, 8, 7, 6] {
            costs.add("demo", Msat::capped(cost));
        }
        assert_eq!(costs.of("demo"), (5, 9, 10));
        costs.add("one", Msat::capped(7));
        assert_eq!(costs.of("one"), (7, 7, 1));
        for _ in 0..2 * COSTS_MAX {
            costs.add("one", Msat::capped(8));
        }
        assert_eq!(costs.of("one"), (8, 8, COSTS_MAX as u64));
    }
}
